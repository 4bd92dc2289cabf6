//! Commands that do nothing but show one file, like `cat a.py` and `sed -n 1,40p a.py`: for some
//! agents the model has read the file then.

use super::Workbench;
use super::text::{LIMIT, is_binary};
use std::path::Path;

/// Characters that may make more of a command than one program with plain words.
const SPECIAL: &str = "|&;<>()$`\\\n*?[]{}~#!";

impl Workbench {
    /// Notes that the model read the file that a command, run in `dir`, showed.
    pub(super) fn note_shown(&mut self, command: &str, dir: &Path) {
        let Some(shown) = shown_file(command) else {
            return;
        };
        let spelled = dir.join(shown);
        let Ok(path) = self.setup.gate.readable(&spelled.to_string_lossy()) else {
            return;
        };
        if let Ok(Some(bytes)) = self.load(&path, shown, LIMIT)
            && !is_binary(&bytes)
        {
            self.memory.read(&path, &bytes, None);
        }
    }
}

/// The one file that a command shows and nothing else; `None`: it does more, or less.
fn shown_file(command: &str) -> Option<&str> {
    let words = words(command)?;
    let (program, words) = words.split_first()?;
    let (options, rest): (Vec<&str>, Vec<&str>) = words
        .iter()
        .partition(|word| word.starts_with('-') && word.len() > 1);
    let is_number = |word: &str| word.parse::<u64>().is_ok();
    let file = match (*program, rest.as_slice()) {
        ("cat" | "nl", [file]) => *file,
        ("head" | "tail", [file]) if !is_number(file) => *file,
        // `head -n 20 a.py`
        ("head" | "tail", [count, file])
            if is_number(count) && options.iter().any(|o| matches!(*o, "-n" | "-c")) =>
        {
            *file
        }
        ("sed", [script, file]) if options == ["-n"] && prints_lines(script) => *file,
        ("grep" | "rg", [_, file]) => *file,
        _ => return None,
    };
    (!file.is_empty() && file != "-").then_some(file)
}

/// A script of sed like `3p` and `3,9p`.
fn prints_lines(script: &str) -> bool {
    script.strip_suffix('p').is_some_and(|range| {
        let mut ends = range.split(',');
        let good = |end: &str| end == "$" || end.parse::<u64>().is_ok();
        ends.clone().count() <= 2 && ends.all(good)
    })
}

/// The words of a command without anything special outside of quotes; `None`: it has that.
fn words(command: &str) -> Option<Vec<&str>> {
    let mut words = Vec::new();
    let mut rest = command.trim();
    while !rest.is_empty() {
        let (word, after) = match rest.chars().next()? {
            quote @ ('\'' | '"') => {
                let inside = &rest[1..];
                let end = inside.find(quote)?;
                let (word, after) = (&inside[..end], &inside[end + 1..]);
                let plain = quote == '\'' || !word.contains(['$', '`', '\\', '!']);
                // A word may not go on behind its quotes.
                if !plain || !(after.is_empty() || after.starts_with(char::is_whitespace)) {
                    return None;
                }
                (word, after)
            }
            _ => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                if word.contains(['\'', '"', '=']) || word.contains(|c| SPECIAL.contains(c)) {
                    return None;
                }
                (word, after)
            }
        };
        words.push(word);
        // A line end begins another command.
        let next = after.trim_start_matches([' ', '\t']);
        if next.starts_with(['\n', '\r']) {
            return None;
        }
        rest = next;
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_shows_one_file_is_told_from_others() {
        for (command, file) in [
            ("cat a.py", Some("a.py")),
            (" cat -n 'my file.py' ", Some("my file.py")),
            ("nl -ba a.py", Some("a.py")),
            ("head -20 a.py", Some("a.py")),
            ("tail -n 5 a.py", Some("a.py")),
            ("sed -n 1,40p a.py", Some("a.py")),
            ("sed -n '3,$p' a.py", Some("a.py")),
            ("grep -n \"def x\" a.py", Some("a.py")),
            ("rg x src/a.py", Some("src/a.py")),
            ("cat a.py b.py", None),
            ("cat a.py | head", None),
            ("cat a.py; rm a.py", None),
            ("cat a.py\nrm a.py", None),
            ("cat $(ls)", None),
            ("cat *.py", None),
            ("cat > a.py", None),
            ("cat -", None),
            ("cat", None),
            ("head -n 20", None),
            ("sed -i s/a/b/ a.py", None),
            ("sed -n 1,40p", None),
            ("sed s/a/b/ a.py", None),
            ("sed -n '1w a' a.py", None),
            ("grep x", None),
            ("X=1 cat a.py", None),
            ("ls a.py", None),
            ("", None),
        ] {
            assert_eq!(shown_file(command), file, "{command}");
        }
    }
}
