//! Commands that are asked about under every policy: `rm` with a force flag.
//!
//! Unlike the parser of known-safe scripts this reader goes through any script, as far as it
//! understands it: control flow, subshells, substitutions, here-documents. Text that is data, such
//! as a quoted argument of another program, is not looked into.

use super::shell::base_name;
use std::iter::Peekable;
use std::str::Chars;

/// How deep scripts within scripts are followed. What is nested deeper counts as dangerous.
const MAX_DEPTH: usize = 8;
/// The longest script that is read, in bytes. A longer one counts as dangerous.
const MAX_BYTES: usize = 1024 * 1024;

/// Shells, whose `-c` argument and here-documents are scripts.
const SHELLS: [&str; 5] = ["bash", "sh", "zsh", "dash", "ksh"];
/// Words that stand before a command and leave it what it is.
const KEYWORDS: [&str; 12] = [
    "if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "coproc", "function",
];
/// Programs that run the command which their arguments are, and take no other arguments than
/// options without a value.
const PREFIXES: [&str; 5] = ["command", "builtin", "exec", "nohup", "time"];
/// Options of `sudo` that take the next word as their value.
const SUDO_VALUES: &str = "CDghpRrTtUu";
/// The same in their long form, where the value is a word of its own.
const SUDO_LONG_VALUES: [&str; 11] = [
    "-chdir",
    "-chroot",
    "-close-from",
    "-command-timeout",
    "-group",
    "-host",
    "-other-user",
    "-prompt",
    "-role",
    "-type",
    "-user",
];

/// True for a script in which `rm` is run with a force flag, at any place.
pub fn is_dangerous(script: &str) -> bool {
    script.len() > MAX_BYTES || script_is(script, 0)
}

fn script_is(script: &str, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return true;
    }
    let mut reader = Reader {
        chars: script.chars().peekable(),
        depth,
        found: false,
    };
    reader.list(None);
    reader.found
}

/// Judges one simple command. `depth` is that of the script it stands in.
fn argv_is(argv: &[String], depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return true;
    }
    let start = argv.iter().position(|w| !is_assignment(w));
    let Some((program, args)) = start.and_then(|i| argv[i..].split_first()) else {
        return false;
    };
    let nested = |script: &str| script_is(script, depth + 1);
    match base_name(program) {
        "rm" => args.iter().take_while(|a| *a != "--").any(|a| is_force(a)),
        "sudo" | "doas" => argv_is(after_sudo_options(args), depth + 1),
        "env" => env_is(args, depth),
        "trap" | "eval" => {
            let words: Vec<&str> = args
                .iter()
                .map(String::as_str)
                .skip_while(|a| a.starts_with('-'))
                .collect();
            // `trap` takes one script, `eval` joins its words to one.
            match base_name(program) {
                "trap" => words.first().is_some_and(|s| nested(s)),
                _ => nested(&words.join(" ")),
            }
        }
        name if SHELLS.contains(&name) => shell_script(args).is_some_and(nested),
        name if PREFIXES.contains(&name) => {
            let rest = args.iter().position(|a| !a.starts_with('-'));
            rest.is_some_and(|i| argv_is(&args[i..], depth + 1))
        }
        _ => false,
    }
}

/// `-f` inside a word of short options, `--force` and its shortened forms.
fn is_force(arg: &str) -> bool {
    match arg.strip_prefix("--") {
        Some(long) => !long.is_empty() && "force".starts_with(long),
        None => arg.starts_with('-') && arg.contains('f'),
    }
}

/// `NAME=value`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn after_sudo_options(args: &[String]) -> &[String] {
    let mut rest = args;
    while let Some((first, more)) = rest.split_first() {
        if first == "--" {
            return more;
        }
        let Some(option) = first.strip_prefix('-') else {
            break;
        };
        let takes_next = if option.starts_with('-') {
            SUDO_LONG_VALUES.contains(&option)
        } else {
            option.ends_with(|c| SUDO_VALUES.contains(c))
        };
        rest = more.get(usize::from(takes_next)..).unwrap_or(&[]);
    }
    rest
}

fn env_is(args: &[String], depth: usize) -> bool {
    let mut rest = args;
    while let Some((first, more)) = rest.split_first() {
        match first.as_str() {
            "-u" | "-C" | "--unset" | "--chdir" => rest = more.get(1..).unwrap_or(&[]),
            "-S" | "--split-string" => return script_is(&more.join(" "), depth + 1),
            option if option.starts_with('-') => {
                let packed = option.strip_prefix("--split-string=");
                if let Some(script) = packed.or(option.strip_prefix("-S")) {
                    return script_is(&format!("{script} {}", more.join(" ")), depth + 1);
                }
                rest = more;
            }
            _ => break,
        }
    }
    argv_is(rest, depth + 1)
}

/// The script of `bash -c SCRIPT`, with other options before and in one word with `c`.
fn shell_script(args: &[String]) -> Option<&str> {
    let mut has_c = false;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let option = arg.strip_prefix(['-', '+']).filter(|o| !o.is_empty());
        match option {
            Some(long) if long.starts_with('-') => {}
            Some(short) => {
                has_c |= short.contains('c') && arg.starts_with('-');
                if short.ends_with(['o', 'O']) {
                    args.next();
                }
            }
            None => return has_c.then_some(arg),
        }
    }
    None
}

/// A here-document that begins at the next line.
struct Heredoc {
    delimiter: String,
    /// A quoted delimiter: the text is taken as it is.
    literal: bool,
    /// `<<-`: tabs before the lines do not count.
    indented: bool,
}

struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
    depth: usize,
    found: bool,
}

/// The words read so far of one line of a list.
#[derive(Default)]
struct Line {
    argv: Vec<String>,
    word: Option<String>,
    heredocs: Vec<Heredoc>,
    /// A shell is on this line, so a here-document may be its script.
    has_shell: bool,
    /// The next word is the target of a redirection, or the name of a function.
    skip_word: bool,
}

impl Reader<'_> {
    /// Reads commands up to `close`, or to the end.
    fn list(&mut self, close: Option<char>) {
        let mut line = Line::default();
        while let Some(c) = self.chars.next() {
            match c {
                _ if Some(c) == close => break,
                ' ' | '\t' | '\r' => self.end_word(&mut line),
                '\n' => {
                    self.end_command(&mut line);
                    self.heredocs(&mut line);
                }
                ';' | '|' | ')' => self.end_command(&mut line),
                '&' => {
                    // `&>` and `2>&1` are redirections; a lone `&` ends a command.
                    if self.chars.peek() != Some(&'>') {
                        self.end_command(&mut line);
                    }
                }
                '(' => {
                    self.end_command(&mut line);
                    self.deeper(')');
                }
                '<' | '>' => self.redirection(c, &mut line),
                '#' if line.word.is_none() => while self.chars.next_if(|c| *c != '\n').is_some() {},
                _ => {
                    let mut word = line.word.take().unwrap_or_default();
                    self.word_char(c, &mut word);
                    line.word = Some(word);
                }
            }
        }
        self.end_command(&mut line);
    }

    /// Reads a nested list up to `close`.
    fn deeper(&mut self, close: char) {
        self.nested(|reader| reader.list(Some(close)));
    }

    /// Reads something one level deeper; at the limit the rest is given up as dangerous.
    fn nested(&mut self, read: impl FnOnce(&mut Self)) {
        if self.depth >= MAX_DEPTH {
            self.found = true;
            self.chars.by_ref().for_each(drop);
            return;
        }
        self.depth += 1;
        read(self);
        self.depth -= 1;
    }

    /// A character of a word, with everything that it opens. What a substitution yields is not
    /// known and adds nothing.
    fn word_char(&mut self, c: char, word: &mut String) {
        match c {
            '\\' => match self.chars.next() {
                Some('\n') | None => {}
                Some(c) => word.push(c),
            },
            '\'' => {
                for c in self.chars.by_ref().take_while(|c| *c != '\'') {
                    word.push(c);
                }
            }
            '"' => self.quoted(word),
            '`' => self.backquoted(),
            '$' => self.dollar(word),
            c => word.push(c),
        }
    }

    fn quoted(&mut self, word: &mut String) {
        while let Some(c) = self.chars.next() {
            match c {
                '"' => return,
                '\\' => match self.chars.next() {
                    Some('\n') | None => {}
                    Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                    Some(c) => word.extend(['\\', c]),
                },
                '`' => self.backquoted(),
                // `$'…'` has no meaning between double quotes.
                '$' if self.chars.peek() != Some(&'\'') => self.dollar(word),
                c => word.push(c),
            }
        }
    }

    fn backquoted(&mut self) {
        let mut script = String::new();
        while let Some(c) = self.chars.next().filter(|c| *c != '`') {
            let escaped = c == '\\';
            match self
                .chars
                .next_if(|c| escaped && matches!(c, '`' | '\\' | '$'))
            {
                Some(c) => script.push(c),
                None => script.push(c),
            }
        }
        self.found |= script_is(&script, self.depth + 1);
    }

    fn dollar(&mut self, word: &mut String) {
        match self.chars.peek() {
            Some('(') => {
                self.chars.next();
                self.deeper(')');
            }
            Some('{') => {
                self.chars.next();
                self.nested(|reader| {
                    let mut ignored = String::new();
                    while let Some(c) = reader.chars.next().filter(|c| *c != '}') {
                        reader.word_char(c, &mut ignored);
                    }
                });
            }
            // `$'…'` with its escapes: enough of it to find the end.
            Some('\'') => {
                self.chars.next();
                while let Some(c) = self.chars.next().filter(|c| *c != '\'') {
                    word.extend(if c == '\\' {
                        self.chars.next()
                    } else {
                        Some(c)
                    });
                }
            }
            Some('"') => {}
            _ => word.push('$'),
        }
    }

    fn redirection(&mut self, c: char, line: &mut Line) {
        // A number right before it is a file descriptor.
        if let Some(word) = line
            .word
            .take_if(|w| !w.bytes().all(|b| b.is_ascii_digit()))
        {
            line.word = Some(word);
            self.end_word(line);
        }
        line.word = None;
        if self.chars.next_if_eq(&'(').is_some() {
            self.deeper(')');
            return;
        }
        if c == '<' && self.chars.next_if_eq(&'<').is_some() {
            if self.chars.next_if_eq(&'<').is_none() {
                self.heredoc_start(line);
                return;
            }
        } else {
            while self
                .chars
                .next_if(|c| matches!(c, '>' | '&' | '|'))
                .is_some()
            {}
        }
        line.skip_word = true;
    }

    fn heredoc_start(&mut self, line: &mut Line) {
        let indented = self.chars.next_if_eq(&'-').is_some();
        while self.chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        let (mut delimiter, mut literal) = (String::new(), false);
        let ends =
            |c: &char| c.is_whitespace() || matches!(c, ';' | '|' | '&' | '<' | '>' | '(' | ')');
        while let Some(c) = self.chars.next_if(|c| !ends(c)) {
            literal |= matches!(c, '\'' | '"' | '\\');
            match c {
                '\'' | '"' => delimiter.extend(self.chars.by_ref().take_while(|d| *d != c)),
                '\\' => delimiter.extend(self.chars.next()),
                c => delimiter.push(c),
            }
        }
        line.heredocs.push(Heredoc {
            delimiter,
            literal,
            indented,
        });
    }

    /// The bodies of the here-documents of the line that just ended.
    fn heredocs(&mut self, line: &mut Line) {
        for heredoc in std::mem::take(&mut line.heredocs) {
            let mut body = String::new();
            while self.chars.peek().is_some() {
                let text: String = self.chars.by_ref().take_while(|c| *c != '\n').collect();
                let shown = if heredoc.indented {
                    text.trim_start_matches('\t')
                } else {
                    &text
                };
                if shown.trim_end_matches('\r') == heredoc.delimiter {
                    break;
                }
                body.push_str(shown);
                body.push('\n');
            }
            if line.has_shell {
                self.found |= script_is(&body, self.depth + 1);
            } else if !heredoc.literal {
                let mut inner = Reader {
                    chars: body.chars().peekable(),
                    depth: self.depth,
                    found: false,
                };
                inner.expansions();
                self.found |= inner.found;
            }
        }
        line.has_shell = false;
    }

    /// Text in which only substitutions run.
    fn expansions(&mut self) {
        let mut ignored = String::new();
        while let Some(c) = self.chars.next() {
            match c {
                '\\' => drop(self.chars.next()),
                '`' => self.backquoted(),
                '$' if !matches!(self.chars.peek(), Some('\'' | '"')) => self.dollar(&mut ignored),
                _ => {}
            }
        }
    }

    fn end_word(&mut self, line: &mut Line) {
        let Some(word) = line.word.take() else { return };
        if std::mem::take(&mut line.skip_word) {
            return;
        }
        if line.argv.is_empty() && KEYWORDS.contains(&word.as_str()) {
            // `function NAME { …`
            line.skip_word = word == "function";
            return;
        }
        line.argv.push(word);
    }

    fn end_command(&mut self, line: &mut Line) {
        self.end_word(line);
        line.skip_word = false;
        let argv = std::mem::take(&mut line.argv);
        line.has_shell |= argv.iter().any(|w| SHELLS.contains(&base_name(w)));
        self.found |= argv_is(&argv, self.depth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dangerous() {
        for script in [
            "rm -f a",
            "rm -rf /",
            "rm -fr a",
            "rm -Rvf a",
            "rm --force a",
            "rm --for a",
            "rm a -f",
            "rm -r -f a",
            "/bin/rm -f a",
            "\\rm -f a",
            "r'm' -f a",
            "rm \"-f\" a",
            "rm -f",
            "A=1 rm -f a",
            "rm \\\n  -f a",
            "sudo rm -f a",
            "sudo -u root -n rm -rf a",
            "sudo -- rm -f a",
            "sudo --user root rm -f a",
            "sudo --user=root rm -f a",
            "sudo A=1 rm -f a",
            "sudo env -i A=1 rm -f a",
            "env rm -f a",
            "env -i A=1 B=2 rm -f a",
            "env -u X rm -f a",
            "env -S 'rm -f a'",
            "env -S'rm -f' a",
            "command rm -f a",
            "exec rm -f a",
            "trap 'rm -rf a' EXIT",
            "trap -- 'rm -f a' EXIT",
            "eval rm -f a",
            "eval 'rm -f a'",
            "ls; rm -f a",
            "ls && rm -f a",
            "ls || rm -f a",
            "ls | rm -f a",
            "ls & rm -f a",
            "ls\nrm -f a",
            "a=1; rm -f a",
            "bash -c 'rm -f a'",
            "sh -lc 'rm -f a'",
            "zsh -c \"rm -f a\"",
            "bash -euo pipefail -c 'rm -f a'",
            "bash --norc -c 'rm -f a'",
            "bash -c 'sh -c \"rm -f a\"'",
            "sudo bash -c 'ls; rm -f a'",
            "if true; then rm -f a; fi",
            "if rm -f a; then :; fi",
            "if a; then b; else rm -f a; fi",
            "for x in a b; do rm -f $x; done",
            "while true; do rm -f a; done",
            "case x in a) rm -f a;; esac",
            "(rm -f a)",
            "{ rm -f a; }",
            "f() { rm -f a; }",
            "! rm -f a",
            "function f { rm -f a; }",
            "time rm -f a",
            "echo $(rm -f a)",
            "echo \"$(rm -f a)\"",
            "echo `rm -f a`",
            "echo \"`rm -f a`\"",
            "echo ${x:-$(rm -f a)}",
            "x=$(rm -f a)",
            "cat <(rm -f a)",
            "echo $(echo $(rm -f a))",
            "rm -f a > /dev/null 2>&1",
            "> out rm -f a",
            "2>/dev/null rm -f a",
            "rm 2>x -f a",
            "rm -f a &> x",
            "cat <<EOF\n$(rm -f a)\nEOF",
            "cat <<EOF\nhello\nEOF\nrm -f a",
            "bash <<'EOF'\nrm -f a\nEOF",
            "cat <<'EOF' | sh\nrm -f a\nEOF",
            "cat <<-EOF\n\tx\n\tEOF\nrm -f a",
            "echo a # b\nrm -f a",
            "echo 'a\nb'; rm -f a",
        ] {
            assert!(is_dangerous(script), "{script}");
        }
    }

    #[test]
    fn not_dangerous() {
        for script in [
            "",
            "rm a",
            "rm -r a",
            "rm -- -f",
            "rm -ri a",
            "rm --recursive a",
            "rm --interactive a",
            "git reset --hard",
            "git rm -f a",
            "echo 'rm -f a'",
            "echo \"rm -f a\"",
            "echo rm -f a",
            "grep -rn 'rm -rf' .",
            "git commit -m 'rm -f a; x'",
            "git commit -m \"say rm -f\"",
            "docker run --rm -f x",
            "cp -f a b",
            "ls rm -f",
            "charm -f",
            "./arm -f a",
            "firm -f",
            "make rm",
            "cat <<'EOF'\nrm -f a\n$(rm -f a)\nEOF",
            "cat > x.sh <<EOF\nrm -f a\nEOF",
            "cat <<EOF\nit's; rm -f a\nEOF",
            "cat <<EOF\n\\$(rm -f a)\nEOF",
            "cat <<A <<B\nrm -f a\nA\nrm -f b\nB",
            "git commit -m \"$(cat <<'EOF'\nfix (rm -f a\nEOF\n)\"",
            "# rm -f a",
            "ls # rm -f a",
            "echo a#b",
            "ls > rm -f",
            "echo ${x#rm -f}",
            "echo $'it\\'s rm -f'",
            "bash a.sh -c 'rm -f a'",
            "bash -x 'rm -f a'",
            "trap 'echo bye' EXIT",
            "python3 -c 'import os; rm = 1'",
            "find . -name rm -type f",
            "sudo ls -f",
            "sudo -u rm ls -f",
            "env A=rm ls -f",
            "echo \"${a}\" 'b' \\' rm -f",
            "test -f rm && echo rm -f",
            "rm a; ls -f",
            "x='rm -f a'",
        ] {
            assert!(!is_dangerous(script), "{script}");
        }
    }

    #[test]
    fn nesting_is_followed_to_its_limit_and_then_not_trusted() {
        let nest =
            |n: usize, inner: &str| format!("{}{inner}{}", "echo $(".repeat(n), ")".repeat(n));
        assert!(is_dangerous(&nest(8, "rm -f a")));
        assert!(!is_dangerous(&nest(8, "rm a")));
        assert!(is_dangerous(&nest(9, "ls")));
        for opener in [
            "$(", "${", "\"${", "`", "(", "<(", "sudo ", "env ", "exec ", "\"$(",
        ] {
            // Only that it ends, and without using up the stack.
            let _ = is_dangerous(&opener.repeat(100_000));
        }
        assert!(is_dangerous(&"$(".repeat(100_000)));
        assert!(is_dangerous(&"${".repeat(100_000)));
        assert!(is_dangerous(&"sudo ".repeat(9)));
        assert!(is_dangerous(&"a".repeat(MAX_BYTES + 1)));
    }
}
