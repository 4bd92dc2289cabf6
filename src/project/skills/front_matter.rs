//! The front matter of a `SKILL.md`: enough of YAML for names and descriptions.

/// The lines between two lines of `---` at the beginning, and what comes after them.
pub(super) fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rest = text.strip_prefix("---")?;
    let (first, rest) = rest.split_once('\n')?;
    if !first.trim().is_empty() {
        return None;
    }
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&rest[..at], &rest[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

/// The text of a top-level field: plain, quoted, or a block (`|`, `>`) on the lines below.
pub(super) fn field(front: &str, name: &str) -> Option<String> {
    let mut lines = front.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(value) = line
            .strip_prefix(name)
            .and_then(|l| l.trim_start().strip_prefix(':'))
        else {
            continue;
        };
        let value = value.trim();
        let mut below = Vec::new();
        while let Some(next) = lines.next_if(|l| l.starts_with([' ', '\t']) || l.trim().is_empty())
        {
            below.push(next.trim());
        }
        while below.last().is_some_and(|l| l.is_empty()) {
            below.pop();
        }
        return Some(match value.chars().next() {
            Some('|') => below.join("\n"),
            Some('>') => below.join(" "),
            Some(quote @ ('"' | '\'')) => {
                let mut whole = vec![value];
                whole.extend(below);
                quoted(&whole.join(" "), quote)?
            }
            _ => {
                let mut whole = vec![value.split(" #").next().unwrap_or(value).trim_end()];
                whole.extend(below);
                whole.join(" ").trim().to_owned()
            }
        });
    }
    None
}

fn quoted(text: &str, quote: char) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.chars().skip(1).peekable();
    loop {
        match chars.next()? {
            '\\' if quote == '"' => out.push(match chars.next()? {
                'n' => '\n',
                't' => '\t',
                c => c,
            }),
            c if c == quote => match chars.next_if(|c| quote == '\'' && *c == '\'') {
                Some(_) => out.push('\''),
                None => return Some(out),
            },
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_and_body() {
        assert_eq!(
            split("---\na: b\n---\nbody\n---\n"),
            Some(("a: b\n", "body\n---\n"))
        );
        assert_eq!(
            split("\u{feff}--- \r\na: b\r\n---\r\nbody"),
            Some(("a: b\r\n", "body"))
        );
        assert_eq!(split("---\n---"), Some(("", "")));
        for none in ["", "body", "---\na: b\n", "----\na\n---\n", " ---\n---\n"] {
            assert_eq!(split(none), None, "{none:?}");
        }
    }

    #[test]
    fn fields_in_the_ways_that_people_write_them() {
        let front = "name: pdf-tools # mine\ndescription: >\n  Fill forms,\n  merge files.\n\nlicense: \"a \\\"b\\\" c\"\n\
                     single: 'it''s'\nblock: |\n  one\n  two\nlong: begins\n  and goes on\nmetadata:\n  short-description: s\n  name: no\n";
        for (name, value) in [
            ("name", "pdf-tools"),
            ("description", "Fill forms, merge files."),
            ("license", "a \"b\" c"),
            ("single", "it's"),
            ("block", "one\ntwo"),
            ("long", "begins and goes on"),
        ] {
            assert_eq!(field(front, name).as_deref(), Some(value), "{name}");
        }
        assert_eq!(field(front, "nam"), None);
        assert_eq!(field(front, "short-description"), None);
        assert_eq!(field("x: \"open", "x"), None);
        assert_eq!(
            field("description: a: b", "description").as_deref(),
            Some("a: b")
        );
    }
}
