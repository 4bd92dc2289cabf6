//! The names of files in a unified diff.

/// The name of no file: before one that comes, after one that goes.
pub const NO_FILE: &str = "/dev/null";
/// What git writes before the names of the old and the new file.
const PREFIXES: [(&str, &str); 5] = [
    ("a/", "b/"),
    ("i/", "w/"),
    ("c/", "i/"),
    ("c/", "w/"),
    ("o/", "w/"),
];

/// The path behind `---` or `+++`, without the time that `diff -u` writes behind it.
pub fn name(text: &str) -> String {
    let text = text.split('\t').next().unwrap_or(text).trim();
    if let Some(inner) = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')) {
        return unquoted(inner);
    }
    let digits = |word: &str| {
        let shape: String = word
            .chars()
            .map(|c| if c.is_ascii_digit() { '0' } else { c })
            .collect();
        shape == "0000-00-00"
    };
    let mut end = text.len();
    let mut at = 0;
    for word in text.split(' ') {
        if at > 0 && digits(word) {
            end = at - 1;
            break;
        }
        at += word.len() + 1;
    }
    let text = text.get(..end).unwrap_or(text).trim();
    text.trim_matches(['`', '\'']).to_owned()
}

/// A path as git quotes it, without the quotes.
fn unquoted(text: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(first @ b'0'..=b'7') => {
                let mut code = u32::from(first - b'0');
                for _ in 0..2 {
                    if let Some(digit) = bytes.next_if(|b| (b'0'..=b'7').contains(b)) {
                        code = code * 8 + u32::from(digit - b'0');
                    }
                }
                out.push(code as u8);
            }
            Some(b'n') => out.push(b'\n'),
            Some(b't') => out.push(b'\t'),
            Some(other) => out.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The two names of a `diff --git` line, which may have blanks: the same name twice, if they can be
/// that.
pub fn both(text: &str) -> (String, String) {
    let bare = |name: &str| {
        name.split_once('/')
            .map_or(name, |(_, rest)| rest)
            .to_owned()
    };
    let split = |at: usize| Some((text.get(..at)?, text.get(at + 1..)?));
    let mut blanks = text.match_indices(' ').filter_map(|(at, _)| split(at));
    let twice = blanks.find(|(old, new)| bare(&name(old)) == bare(&name(new)));
    let first = || text.find(" b/").and_then(split);
    let (old, new) = twice.or_else(first).unwrap_or((text, text));
    (name(old), name(new))
}

/// Both paths without the letters that git writes before them.
pub fn paths(old: Option<String>, new: Option<String>) -> (Option<String>, Option<String>) {
    let without = |path: &String, prefix: &str| path.strip_prefix(prefix).map(String::from);
    let (Some(a), Some(b)) = (&old, &new) else {
        let old = old.map(|p| without(&p, "a/").unwrap_or(p));
        let new = new.map(|p| without(&p, "b/").unwrap_or(p));
        return (old, new);
    };
    let none = |path: &String| path == NO_FILE;
    let pairs = PREFIXES.iter();
    let bare = pairs.filter_map(|(x, y)| match (none(a), none(b)) {
        (true, _) => Some((a.clone(), without(b, y)?)),
        (_, true) => Some((without(a, x)?, b.clone())),
        _ => Some((without(a, x)?, without(b, y)?)),
    });
    let half = || match (without(a, "a/"), without(b, "b/")) {
        (Some(bare), _) if bare == *b => Some((bare, b.clone())),
        (_, Some(bare)) if bare == *a => Some((a.clone(), bare)),
        _ => None,
    };
    match bare.take(1).next().or_else(half) {
        Some((old, new)) => (Some(old), Some(new)),
        None => (old, new),
    }
}

/// True for an old name like `a.c.orig` beside `a.c`: a copy that was compared, not a file to move.
pub fn is_backup(old: &str, new: &str) -> bool {
    let rest = old.strip_prefix(new).unwrap_or("");
    rest == "~" || (rest.starts_with('.') && !rest.contains('/'))
}
