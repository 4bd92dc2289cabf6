//! Reading a `*.rules` file: calls with named arguments, texts, lists and `True`, in the syntax of
//! Starlark. There is nothing else in it: no variables, no control flow.

use super::{Decision, Rule};
use crate::project::read_whole;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

/// The most bytes of a file, and how deep lists stand in lists.
const MOST_BYTES: u64 = 1 << 20;
const MOST_DEPTH: usize = 4;

/// What a file says.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub rules: Vec<Rule>,
    pub hosts: BTreeMap<String, Vec<String>>,
    pub tests: Vec<Test>,
}

/// A command that a rule must or must not match.
#[derive(Debug)]
pub(super) struct Test {
    pub rule: usize,
    pub command: String,
    pub matches: bool,
    pub line: usize,
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Text(String),
    List(Vec<Value>),
    Flag(bool),
}

type Arguments = Vec<(String, Value)>;

/// Reads a file; the error names the line.
pub(super) fn file(path: &Path) -> Result<Read, String> {
    let text = read_whole(path, MOST_BYTES)
        .map_err(|e| format!("{} cannot be read: {e}", path.display()))?;
    let mut parser = Parser {
        chars: text.chars().peekable(),
        line: 1,
    };
    let mut read = Read::default();
    parser
        .file(path, &mut read)
        .map_err(|why| format!("{}:{}: {why}", path.display(), parser.line))?;
    Ok(read)
}

struct Parser<'a> {
    chars: Peekable<Chars<'a>>,
    line: usize,
}

impl Parser<'_> {
    fn file(&mut self, path: &Path, read: &mut Read) -> Result<(), String> {
        loop {
            self.space();
            while self.chars.next_if_eq(&';').is_some() {
                self.space();
            }
            if self.chars.peek().is_none() {
                return Ok(());
            }
            let line = self.line;
            let name = self.name()?;
            self.expect('(')?;
            let arguments = self.arguments()?;
            match name.as_str() {
                "prefix_rule" => prefix_rule(arguments, path, line, read)?,
                "host_executable" => host_executable(arguments, read)?,
                // The network of commands is decided by the sandbox here.
                "network_rule" => {}
                other => {
                    return Err(format!(
                        "`{other}` is no rule; there are prefix_rule and host_executable"
                    ));
                }
            }
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.chars.next();
        self.line += usize::from(c == Some('\n'));
        c
    }

    /// White space and comments.
    fn space(&mut self) {
        while let Some(c) = self.chars.peek() {
            match c {
                '#' => while self.chars.next_if(|c| *c != '\n').is_some() {},
                c if c.is_whitespace() => drop(self.next()),
                _ => return,
            }
        }
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        self.space();
        match self.next() {
            Some(c) if c == wanted => Ok(()),
            Some(c) => Err(format!("`{wanted}` was expected and not {c:?}")),
            None => Err(format!("the file ends where `{wanted}` was expected")),
        }
    }

    fn name(&mut self) -> Result<String, String> {
        let mut name = String::new();
        while let Some(c) = self
            .chars
            .next_if(|c| c.is_ascii_alphanumeric() || *c == '_')
        {
            name.push(c);
        }
        match (name.is_empty(), self.chars.peek()) {
            (false, _) => Ok(name),
            (true, Some(c)) => Err(format!("a name was expected and not {c:?}")),
            (true, None) => Err("the file ends where a name was expected".into()),
        }
    }

    /// `name=value, …)`.
    fn arguments(&mut self) -> Result<Arguments, String> {
        let mut arguments: Arguments = Vec::new();
        loop {
            self.space();
            if self.chars.next_if_eq(&')').is_some() {
                return Ok(arguments);
            }
            let name = self.name()?;
            self.expect('=')?;
            let value = self.value(0)?;
            if arguments.iter().any(|(n, _)| *n == name) {
                return Err(format!("`{name}` is given twice"));
            }
            arguments.push((name, value));
            self.space();
            if self.chars.peek() != Some(&')') {
                self.expect(',')?;
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        self.space();
        match self.chars.peek() {
            Some('"' | '\'') => self.text().map(Value::Text),
            Some('[' | '(') if depth < MOST_DEPTH => {
                let close = if self.next() == Some('[') { ']' } else { ')' };
                let mut items = Vec::new();
                loop {
                    self.space();
                    if self.chars.next_if_eq(&close).is_some() {
                        return Ok(Value::List(items));
                    }
                    items.push(self.value(depth + 1)?);
                    self.space();
                    if self.chars.peek() != Some(&close) {
                        self.expect(',')?;
                    }
                }
            }
            _ => match self.name()?.as_str() {
                "True" => Ok(Value::Flag(true)),
                "False" => Ok(Value::Flag(false)),
                // A raw text.
                "r" if matches!(self.chars.peek(), Some('"' | '\'')) => self.raw().map(Value::Text),
                other => Err(format!("`{other}` is no value; texts stand in quotes")),
            },
        }
    }

    fn raw(&mut self) -> Result<String, String> {
        let quote = self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                c if c == quote => return Ok(text),
                Some(c) if c != '\n' => text.push(c),
                _ => return Err("a text has no end".into()),
            }
        }
    }

    fn text(&mut self) -> Result<String, String> {
        let quote = self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                c if c == quote => return Ok(text),
                Some('\\') => match self.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(c @ ('\\' | '"' | '\'')) => text.push(c),
                    Some(c) => return Err(format!("`\\{c}` is no escape that is known here")),
                    None => return Err("a text has no end".into()),
                },
                Some(c) if c != '\n' => text.push(c),
                _ => return Err("a text has no end".into()),
            }
        }
    }
}

fn prefix_rule(
    arguments: Arguments,
    path: &Path,
    line: usize,
    read: &mut Read,
) -> Result<(), String> {
    let mut rule = Rule {
        pattern: Vec::new(),
        decision: Decision::Allow,
        sandboxed: false,
        justification: None,
        file: path.to_owned(),
        line,
    };
    let mut tests = Vec::new();
    for (name, value) in arguments {
        match (name.as_str(), value) {
            ("pattern", Value::List(items)) => {
                let part = |item: Value| match item {
                    Value::Text(word) => Some(vec![word]),
                    item => texts(item).filter(|a| !a.is_empty()),
                };
                rule.pattern = items
                    .into_iter()
                    .map(part)
                    .collect::<Option<_>>()
                    .ok_or("`pattern` is a list of words, or of lists of alternative words")?;
            }
            ("decision", Value::Text(word)) => {
                rule.decision = Decision::from_name(&word).ok_or_else(|| {
                    format!("`{word}` is no decision; there are allow, prompt and forbidden")
                })?;
            }
            ("justification", Value::Text(why)) => rule.justification = Some(why),
            ("sandboxed", Value::Flag(is)) => rule.sandboxed = is,
            (kind @ ("match" | "not_match"), Value::List(items)) => {
                for item in items {
                    // A command as a line, or as a list of words.
                    let command = match item {
                        Value::Text(line) => Some(line),
                        item => texts(item).map(|words| {
                            words
                                .iter()
                                .map(|w| crate::words::quote(w))
                                .collect::<Vec<_>>()
                                .join(" ")
                        }),
                    };
                    let command = command.ok_or(format!("`{kind}` is a list of commands"))?;
                    tests.push((command, kind == "match"));
                }
            }
            (name, _) => {
                return Err(format!(
                    "`{name}` is not known to prefix_rule, or its value is of another kind"
                ));
            }
        }
    }
    if rule.pattern.is_empty() {
        return Err("a prefix_rule needs a `pattern` of at least one word".into());
    }
    let at = read.rules.len();
    read.tests
        .extend(tests.into_iter().map(|(command, matches)| Test {
            rule: at,
            command,
            matches,
            line,
        }));
    read.rules.push(rule);
    Ok(())
}

fn host_executable(arguments: Arguments, read: &mut Read) -> Result<(), String> {
    let (mut name, mut paths) = (None, None);
    for (key, value) in arguments {
        match (key.as_str(), value) {
            ("name", Value::Text(text)) => name = Some(text),
            ("paths", value @ Value::List(_)) => paths = texts(value),
            (key, _) => {
                return Err(format!(
                    "`{key}` is not known to host_executable, or its value is of another kind"
                ));
            }
        }
    }
    let (Some(name), Some(paths)) = (name, paths) else {
        return Err("host_executable needs a `name` and a list of `paths`".into());
    };
    if let Some(path) = paths.iter().find(|p| !Path::new(p).is_absolute()) {
        return Err(format!("the path `{path}` is not absolute"));
    }
    read.hosts.entry(name).or_default().extend(paths);
    Ok(())
}

fn texts(value: Value) -> Option<Vec<String>> {
    let Value::List(items) = value else {
        return None;
    };
    let text = |item| match item {
        Value::Text(text) => Some(text),
        _ => None,
    };
    items.into_iter().map(text).collect()
}
