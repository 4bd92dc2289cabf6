//! What a rewritten file lacks. Small models write a whole file where a line was to be changed, and
//! leave out functions, imports or exports that they did not look at.

use std::collections::BTreeSet;
use std::path::Path;

/// The most names that are told, and the longest line of an export.
const TOLD: usize = 8;
const LINE: usize = 80;
/// Words before the one that says what is defined.
const BEFORE: [&str; 8] = [
    "pub", "export", "default", "async", "static", "public", "private", "unsafe",
];
/// Words after which the name of what is defined stands.
const KINDS: [&str; 11] = [
    "def",
    "class",
    "fn",
    "function",
    "struct",
    "enum",
    "trait",
    "interface",
    "func",
    "module",
    "impl",
];

/// What a file defines, imports and exports, as far as its lines tell.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Names {
    defined: BTreeSet<String>,
    imported: BTreeSet<String>,
    /// The line of JavaScript that says what other files may use.
    exports: Option<String>,
}

impl Names {
    /// Reads the lines of a file. Those of a language that is not known define nothing.
    pub fn of(file: &Path, text: &str) -> Self {
        let ending = file
            .extension()
            .and_then(|e| e.to_str())
            .unwrap_or_default();
        let is_c = matches!(ending, "c" | "cc" | "cpp" | "h" | "hpp");
        let is_shell = matches!(ending, "sh" | "bash");
        let mut names = Names::default();
        for line in text.lines() {
            let bare = line.trim();
            if is_c {
                names.defined.extend(c_function(line));
            } else if is_shell {
                let name = bare.split_once("()").map(|(name, _)| name.trim_end());
                names
                    .defined
                    .extend(name.filter(|n| is_name(n)).map(str::to_owned));
            } else {
                names.defined.extend(definition(bare));
                names.imported.extend(imports(bare));
                if bare.starts_with("module.exports") || bare.starts_with("export default") {
                    names.exports.get_or_insert_with(|| bare.to_owned());
                }
            }
        }
        names
    }

    /// What `self` had and `now`, with the given text, lacks, in words; `spared` are names that are
    /// meant to go.
    pub fn gone(&self, now: &Names, text: &str, spared: impl Fn(&str) -> bool) -> Option<String> {
        let words: BTreeSet<&str> = text.split(|c: char| !is_part(c)).collect();
        let defined = self.defined.difference(&now.defined);
        let mut gone: Vec<String> = defined
            .filter(|name| !now.imported.contains(*name) && !spared(name))
            .cloned()
            .collect();
        let imported = self.imported.difference(&now.imported);
        gone.extend(
            imported
                .filter(|name| words.contains(name.as_str()) && !now.defined.contains(*name))
                .map(|name| format!("the import of {name}, which is still used")),
        );
        if let (Some(line), None) = (&self.exports, &now.exports) {
            gone.push(match line.len() {
                0..=LINE => format!("the line `{line}`"),
                _ => "its exports".into(),
            });
        }
        gone.truncate(TOLD);
        (!gone.is_empty()).then(|| gone.join("; "))
    }
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| is_part(c) && !c.is_ascii_digit()) && text.chars().all(is_part)
}

/// The name at the beginning of a text.
fn name_at(text: &str) -> Option<String> {
    let end = text.find(|c: char| !is_part(c)).unwrap_or(text.len());
    text.get(..end)
        .filter(|name| is_name(name))
        .map(str::to_owned)
}

/// `def NAME`, `export async function NAME`, `pub(crate) fn NAME`, …
fn definition(line: &str) -> Option<String> {
    let mut words = line.split_whitespace().peekable();
    while let Some(word) = words.peek() {
        let plain = word.split('(').next().unwrap_or_default();
        if !BEFORE.contains(&plain) {
            break;
        }
        words.next();
    }
    let kind = words.next().filter(|kind| KINDS.contains(kind))?;
    // What implements a trait has no name of its own.
    let name = words.next().filter(|_| kind != "impl")?;
    name_at(name)
}

/// A function of C: it begins at the margin and ends with an opening brace.
fn c_function(line: &str) -> Option<String> {
    if !line.starts_with(is_part) || !line.trim_end().ends_with('{') {
        return None;
    }
    let (before, _) = line.split_once('(')?;
    let name = before.trim_end().rsplit(|c: char| !is_part(c)).next()?;
    (is_name(name) && before.trim_end() != name).then(|| name.to_owned())
}

/// The names that an import of Python or JavaScript brings.
fn imports(line: &str) -> Vec<String> {
    let list = |names: &str| -> Vec<String> {
        let names = names.split(',').filter_map(|item| {
            let item = item.trim().trim_matches(['{', '}', '(', ')', ';']);
            let own = item.rsplit_once(" as ").map_or(item, |(_, own)| own);
            let own = own.rsplit_once(':').map_or(own, |(_, own)| own);
            name_at(own.trim())
        });
        names.collect()
    };
    if let Some((names, _)) = line
        .strip_prefix("import ")
        .and_then(|rest| rest.split_once(" from "))
    {
        return list(names);
    }
    if let Some(names) = line.strip_prefix("import ") {
        return list(names);
    }
    if let Some((_, names)) = line
        .strip_prefix("from ")
        .and_then(|rest| rest.split_once(" import "))
    {
        return list(names);
    }
    let binding = ["const ", "let ", "var "]
        .iter()
        .find_map(|word| line.strip_prefix(word));
    match binding.and_then(|rest| rest.split_once('=')) {
        Some((names, value)) if value.trim_start().starts_with("require(") => list(names),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone(file: &str, before: &str, after: &str) -> Option<String> {
        let file = Path::new(file);
        Names::of(file, before).gone(&Names::of(file, after), after, |_| false)
    }

    #[test]
    fn what_a_rewritten_file_lacks_is_named() {
        let before = "import json\nfrom datetime import date, timedelta as step\n\nclass Store:\n    def load(self):\n        return json.load(open('x'))\n\ndef streak(days):\n    return step(1)\n";
        assert_eq!(
            gone(
                "a.py",
                before,
                "def streak(days):\n    return step(days=1)\n"
            )
            .unwrap(),
            "Store; load; the import of step, which is still used"
        );
        assert_eq!(gone("a.py", before, before), None);
        // An import that nothing needs may go.
        let slim = before.replace("date, ", "");
        assert_eq!(gone("a.py", before, &slim), None);
        let js = "const { a, b: c } = require('x');\nfunction slug(s) {\n  return a(c(s));\n}\nmodule.exports = { slug };\n";
        assert_eq!(
            gone("a.js", js, "const slug = (s) => a(s);\n").unwrap(),
            "slug; the import of a, which is still used; the line `module.exports = { slug };`"
        );
        assert_eq!(
            gone(
                "a.rs",
                "pub(crate) fn minutes() {}\nimpl Clock {\n    pub fn new() {}\n}\nstruct Clock;\n",
                "struct Clock;\n"
            )
            .unwrap(),
            "minutes; new"
        );
        assert_eq!(
            gone(
                "a.c",
                "#include <x.h>\nint mean(int *a) {\n  if (a) {\n  }\n}\nstatic void *half(void) {\n}\n",
                "int mean(int *a) {\n}\n"
            )
            .unwrap(),
            "half"
        );
        assert_eq!(
            gone("a.sh", "move() {\n}\nmove \"$1\"\n", "mv \"$1\" x\n").unwrap(),
            "move"
        );
        assert_eq!(gone("notes.md", "the def of class x\n", ""), None);
    }

    #[test]
    fn what_is_meant_to_go_is_not_named() {
        let file = Path::new("a.py");
        let (before, after) = ("def calc():\n  1\ndef area():\n  2\n", "x = 1\n");
        let names = Names::of(file, before);
        let told = names.gone(&Names::of(file, after), after, |name| name == "calc");
        assert_eq!(told.unwrap(), "area");
    }
}
