//! A conservative parser of shell scripts: plain words, or nothing.

/// The most simple commands of a script.
const MAX_PARTS: usize = 200;
/// The longest script, in bytes.
const MAX_BYTES: usize = 64 * 1024;
/// How deep `bash -c 'bash -c …'` is followed.
const MAX_DEPTH: usize = 8;

/// What a script is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Script {
    /// Simple commands joined by `&&`, `||`, `;`, `|` or line ends, each as its argument list. In
    /// bash, sh and zsh these arguments are exactly what the programs get.
    Plain(Vec<Vec<String>>),
    /// Anything else: a redirection, substitution, variable, pattern, assignment, keyword, …
    Opaque,
}

/// Splits a script.
pub fn parse(script: &str) -> Script {
    if script.len() > MAX_BYTES {
        return Script::Opaque;
    }
    Parser::default()
        .run(script)
        .map_or(Script::Opaque, Script::Plain)
}

/// The simple commands of a script, those inside `bash -c '…'` and its kind included; `None` when
/// any of it is opaque.
pub fn commands(script: &str) -> Option<Vec<Vec<String>>> {
    let mut out = Vec::new();
    unwrap_into(script, 0, &mut out).then_some(out)
}

fn unwrap_into(script: &str, depth: usize, out: &mut Vec<Vec<String>>) -> bool {
    let Script::Plain(parts) = parse(script) else {
        return false;
    };
    for argv in parts {
        let inner = match argv.as_slice() {
            [shell, flag, inner] if is_shell(shell) && ["-c", "-lc"].contains(&flag.as_str()) => {
                Some(inner.clone())
            }
            _ => None,
        };
        let fits = match inner {
            Some(inner) => depth < MAX_DEPTH && unwrap_into(&inner, depth + 1, out),
            None => {
                out.push(argv);
                true
            }
        };
        if !fits || out.len() > MAX_PARTS {
            return false;
        }
    }
    true
}

/// True for a shell whose grammar is the one that is read here.
pub(super) fn is_shell(program: &str) -> bool {
    ["bash", "sh", "zsh"].contains(&base_name(program))
}

/// The last component of a path.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Words that begin a compound command or change how a command is run, in any of the shells.
const KEYWORDS: [&str; 24] = [
    "if",
    "then",
    "else",
    "elif",
    "fi",
    "do",
    "done",
    "case",
    "esac",
    "while",
    "until",
    "for",
    "foreach",
    "in",
    "function",
    "select",
    "time",
    "coproc",
    "repeat",
    "end",
    "nocorrect",
    "noglob",
    "!",
    "-",
];

#[derive(Default)]
struct Parser {
    parts: Vec<Vec<String>>,
    argv: Vec<String>,
    word: Option<String>,
    /// A command must follow: `&&`, `||` or `|` came last.
    wants_more: bool,
}

impl Parser {
    fn run(mut self, script: &str) -> Option<Vec<Vec<String>>> {
        let mut chars = script.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                ' ' | '\t' => self.end_word()?,
                '\n' => {
                    self.end_word()?;
                    if !self.argv.is_empty() {
                        self.end_command()?;
                    }
                }
                ';' => {
                    self.end_word()?;
                    self.end_command()?;
                }
                '|' | '&' => {
                    let doubled = chars.next_if_eq(&c).is_some();
                    if c == '&' && !doubled || chars.peek() == Some(&'&') {
                        return None;
                    }
                    self.end_word()?;
                    self.end_command()?;
                    self.wants_more = true;
                }
                '\'' => {
                    let word = self.word.get_or_insert_default();
                    loop {
                        match chars.next()? {
                            '\'' => break,
                            c if is_hidden(c) => return None,
                            c => word.push(c),
                        }
                    }
                }
                '"' => {
                    let word = self.word.get_or_insert_default();
                    loop {
                        match chars.next()? {
                            '"' => break,
                            '$' | '`' | '\\' => return None,
                            c if is_hidden(c) => return None,
                            c => word.push(c),
                        }
                    }
                }
                // Both begin something special at the start of a word only: a comment, and in zsh
                // the path of a program.
                '#' | '=' if self.word.is_none() => return None,
                c if is_plain(c) => self.word.get_or_insert_default().push(c),
                _ => return None,
            }
        }
        self.end_word()?;
        if !self.argv.is_empty() {
            self.end_command()?;
        }
        (!self.wants_more && !self.parts.is_empty()).then_some(self.parts)
    }

    /// An assignment before a command changes what the command does.
    fn end_word(&mut self) -> Option<()> {
        let Some(word) = self.word.take() else {
            return Some(());
        };
        if self.argv.is_empty() && (KEYWORDS.contains(&word.as_str()) || word.contains('=')) {
            return None;
        }
        self.argv.push(word);
        Some(())
    }

    fn end_command(&mut self) -> Option<()> {
        if self.argv.is_empty() || self.parts.len() >= MAX_PARTS {
            return None;
        }
        self.parts.push(std::mem::take(&mut self.argv));
        self.wants_more = false;
        Some(())
    }
}

/// Characters that stand for themselves outside quotes in all three shells.
///
/// Not those with a byte that is a space or a line end in an older encoding: a shell that goes by
/// single bytes, as the one of macOS does, ends the word there.
fn is_plain(c: char) -> bool {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' => true,
        '_' | '-' | '.' | '/' | ',' | ':' | '@' | '%' | '+' | '=' | '#' => true,
        _ => {
            let mut bytes = [0; 4];
            let ends_words = |b: u8| matches!(b, 0x85 | 0xa0);
            !c.is_ascii()
                && c.is_alphanumeric()
                && !c.encode_utf8(&mut bytes).bytes().any(ends_words)
        }
    }
}

/// Characters that a person would not see in the question, or that end a line for some reader.
fn is_hidden(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(parts: &[&[&str]]) -> Script {
        let words = |argv: &&[&str]| argv.iter().map(|w| (*w).to_owned()).collect();
        Script::Plain(parts.iter().map(words).collect())
    }

    #[test]
    fn plain_scripts_are_split() {
        for (script, want) in [
            ("ls -la", plain(&[&["ls", "-la"]])),
            (
                "a && b || c ; d | e",
                plain(&[&["a"], &["b"], &["c"], &["d"], &["e"]]),
            ),
            ("a;b;", plain(&[&["a"], &["b"]])),
            ("\n a \n\n b\n", plain(&[&["a"], &["b"]])),
            ("a &&\n b", plain(&[&["a"], &["b"]])),
            (
                "echo 'a b'\"c  d\"e ''",
                plain(&[&["echo", "a bc  de", ""]]),
            ),
            (
                "echo '$x `y` \\n * > #'",
                plain(&[&["echo", "$x `y` \\n * > #"]]),
            ),
            (
                "echo \"it's; a|b & c\"",
                plain(&[&["echo", "it's; a|b & c"]]),
            ),
            (
                "git log --format=%H a#b",
                plain(&[&["git", "log", "--format=%H", "a#b"]]),
            ),
            ("cat ä.txt", plain(&[&["cat", "ä.txt"]])),
            ("cat 'à.txt'", plain(&[&["cat", "à.txt"]])),
        ] {
            assert_eq!(parse(script), want, "{script}");
        }
    }

    #[test]
    fn everything_else_is_opaque() {
        for script in [
            "",
            "  ",
            ";",
            "a ;; b",
            "&& a",
            "a &&",
            "a |",
            "a | | b",
            "a || ; b",
            "a > f",
            "a 2>&1",
            "a < f",
            "a << E\nx\nE",
            "a &",
            "a & b",
            "a |& b",
            "a &&& b",
            "$x",
            "echo $HOME",
            "echo ${IFS}",
            "cat$IFS/etc/passwd",
            "echo \"$x\"",
            "echo \"`a`\"",
            "echo \"a\\\"b\"",
            "$(a)",
            "echo \"$(a)\"",
            "`a`",
            "(a)",
            "{ a; }",
            "echo {a,b}",
            "ls *",
            "ls a?",
            "ls [ab]",
            "cd ~",
            "echo ^a",
            "A=1 a",
            "A+=1",
            "=ls",
            "! a",
            "if a; then b; fi",
            "for",
            "while true",
            "time ls",
            "noglob ls",
            "echo 'a",
            "echo \"a",
            "echo a\\ b",
            "echo a # c",
            "# c",
            "a\r\nb",
            "a\u{0}b",
            "echo '\u{1b}[2J'",
            "echo a\u{a0}b",
            "echo a\u{202e}b",
            "echo \u{e0}",
            "echo \u{c5}x",
        ] {
            assert_eq!(parse(script), Script::Opaque, "{script:?}");
        }
    }

    #[test]
    fn size_is_bounded() {
        let parts = |n: usize| vec!["a"; n].join(";");
        assert!(matches!(parse(&parts(200)), Script::Plain(p) if p.len() == 200));
        assert_eq!(parse(&parts(201)), Script::Opaque);
        assert_eq!(
            parse(&format!("echo {}", "a".repeat(MAX_BYTES))),
            Script::Opaque
        );
        assert_eq!(
            commands(&format!("bash -c '{}'; {}", parts(150), parts(100))),
            None
        );
    }

    #[test]
    fn nested_shells_are_unwrapped() {
        let got = commands("bash -lc 'ls && /bin/sh -c \"pwd; id\"' | zsh -c wc").unwrap();
        assert_eq!(got, [["ls"], ["pwd"], ["id"], ["wc"]]);
        assert_eq!(commands("bash -c 'ls > f'"), None);
        assert_eq!(commands("bash -xc ls").unwrap(), [["bash", "-xc", "ls"]]);
        assert_eq!(commands("bash -c ls x").unwrap()[0].len(), 4);
    }
}
