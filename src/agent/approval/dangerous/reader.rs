//! Reading a whole shell script for the simple commands in it, wherever they stand.

use super::{MAX_DEPTH, SHELLS, argv_is, script_is};
use crate::agent::approval::shell::base_name;
use std::iter::Peekable;
use std::str::Chars;

/// Words that stand before a command and leave it what it is.
const KEYWORDS: [&str; 12] = [
    "if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "coproc", "function",
];

/// What stands in a word for everything that only the shell will know.
pub(super) const UNKNOWN: char = '$';

/// A here-document that begins at the next line.
struct Heredoc {
    delimiter: String,
    /// A quoted delimiter: the text is taken as it is.
    literal: bool,
    /// `<<-`: tabs before the lines do not count.
    indented: bool,
}

/// Goes through a script and notes every simple command in it.
pub(super) struct Reader<'a, 's> {
    chars: Peekable<Chars<'a>>,
    depth: usize,
    seen: &'s mut Vec<Vec<String>>,
    /// Something was nested too deep to be followed.
    pub(super) too_deep: bool,
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

impl<'a, 's> Reader<'a, 's> {
    /// A reader of a script that stands `depth` levels inside others.
    pub(super) fn new(script: &'a str, depth: usize, seen: &'s mut Vec<Vec<String>>) -> Self {
        Reader {
            chars: script.chars().peekable(),
            depth,
            seen,
            too_deep: false,
        }
    }

    /// Reads commands up to `close`, or to the end.
    pub(super) fn list(&mut self, close: Option<char>) {
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

    /// Reads something one level deeper; at the limit the rest is given up.
    fn nested(&mut self, read: impl FnOnce(&mut Self)) {
        if self.depth >= MAX_DEPTH {
            self.too_deep = true;
            self.chars.by_ref().for_each(drop);
            return;
        }
        self.depth += 1;
        read(self);
        self.depth -= 1;
    }

    /// A character of a word, with everything that it opens. What a substitution yields is not
    /// known; [`UNKNOWN`] stands for it.
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
            '`' => {
                self.backquoted();
                word.push(UNKNOWN);
            }
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
                '`' => {
                    self.backquoted();
                    word.push(UNKNOWN);
                }
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
        self.too_deep |= script_is(&script, self.depth + 1, self.seen);
    }

    fn dollar(&mut self, word: &mut String) {
        match self.chars.peek() {
            Some('(') => {
                self.chars.next();
                self.deeper(')');
                word.push(UNKNOWN);
            }
            Some('{') => {
                self.chars.next();
                word.push(UNKNOWN);
                self.nested(|reader| {
                    let mut ignored = String::new();
                    while let Some(c) = reader.chars.next().filter(|c| *c != '}') {
                        reader.word_char(c, &mut ignored);
                    }
                });
            }
            // `$'…'`, where an escape may stand for any character.
            Some('\'') => {
                self.chars.next();
                while let Some(c) = self.chars.next().filter(|c| *c != '\'') {
                    match c {
                        '\\' => word.extend(match self.chars.next() {
                            Some(c @ ('\'' | '"' | '\\')) => Some(c),
                            _ => Some(UNKNOWN),
                        }),
                        c => word.push(c),
                    }
                }
            }
            Some('"') => {}
            _ => word.push(UNKNOWN),
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
                self.too_deep |= script_is(&body, self.depth + 1, self.seen);
            } else if !heredoc.literal {
                let mut inner = Reader::new(&body, self.depth, self.seen);
                inner.expansions();
                self.too_deep |= inner.too_deep;
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
        self.too_deep |= argv_is(&argv, self.depth, self.seen);
    }
}
