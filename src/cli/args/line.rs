//! Reading a command line word by word.

mod command;

use super::table::{self, FLAGS, Flag, SUBCOMMANDS, Subcommand, Take, Verb};
use super::{Command, Invocation, Options};
use crate::words::nearest;
use lexopt::{Arg, Parser};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// A command line that is being read.
pub(super) struct Line {
    parser: Parser,
    /// The words that name the subcommand.
    words: Vec<&'static str>,
    /// The words that it takes itself.
    own: Vec<OsString>,
    /// The flags that were given.
    given: Vec<&'static Flag>,
    options: Options,
    /// Help or the version was asked for.
    wants: Option<Take>,
}

impl Line {
    pub(super) fn new(parser: Parser) -> Line {
        Line {
            parser,
            words: Vec::new(),
            own: Vec::new(),
            given: Vec::new(),
            options: Options::default(),
            wants: None,
        }
    }

    /// Sorts every word into subcommand, flag or word of the subcommand's own.
    pub(super) fn read(&mut self) -> Result<(), String> {
        loop {
            // Seen here, since words after `--` never name a subcommand.
            if let Some(mut rest) = self.parser.try_raw_args()
                && rest.peek().is_some_and(|a| a == "--")
            {
                rest.next();
                self.own.extend(rest);
                return Ok(());
            }
            let arg = self.parser.next().map_err(|e| e.to_string())?;
            let (flag, typed) = match arg {
                None => return Ok(()),
                Some(Arg::Value(word)) => {
                    self.word(word)?;
                    continue;
                }
                Some(Arg::Long(name)) => (Flag::by_long(name), format!("--{name}")),
                Some(Arg::Short(letter)) => (Flag::by_short(letter), format!("-{letter}")),
            };
            let flag = flag.ok_or_else(|| unknown_flag(&typed))?;
            self.given.push(flag);
            self.flag(flag, &typed)?;
        }
    }

    fn word(&mut self, word: OsString) -> Result<(), String> {
        if self.own.is_empty() {
            let next = table::next_words(&self.words);
            if let Some(name) = next.iter().find(|n| word == **n) {
                let alias = SUBCOMMANDS.iter().find(|s| s.alias == Some(name));
                self.words
                    .push(alias.and_then(|s| s.words.last().copied()).unwrap_or(name));
                return Ok(());
            }
            self.refuse_near_miss(&word, &next)?;
        }
        self.own.push(word);
        if matches!(self.verb(), Some(Verb::Sandbox | Verb::RulesCheck)) {
            // The rest is the command's, flags and all.
            let rest = self.parser.raw_args().map_err(|e| e.to_string())?;
            self.own.extend(rest);
        }
        Ok(())
    }

    /// One word that is nearly a subcommand was meant to be it: a prompt has more to say.
    fn refuse_near_miss(&self, word: &OsStr, next: &[&'static str]) -> Result<(), String> {
        let text = word.to_string_lossy();
        let must = self.verb().is_none();
        let typo = |n: &str| {
            let far = if n.len() > 5 { 2 } else { 1 };
            n.len() >= 4 && strsim::damerau_levenshtein(n, &text) <= far
        };
        let near = match must {
            true => nearest(&text, next.iter().copied()),
            false if text == "-" => None,
            false => next.iter().copied().find(|n| typo(n)),
        };
        let call = |n: &str| {
            let words = self.words.iter().copied().chain([n]);
            words.collect::<Vec<_>>().join(" ")
        };
        match near {
            None if must => Err(format!(
                "`{}` is no subcommand; there are: {}",
                call(&text),
                next.join(", ")
            )),
            None => Ok(()),
            Some(n) if must => Err(format!(
                "`{}` is no subcommand; did you mean `{}`?",
                call(&text),
                call(n)
            )),
            Some(n) => Err(format!(
                "`{text}` is no subcommand; did you mean `{}`? To send it as a prompt, put -- before it",
                call(n)
            )),
        }
    }

    fn flag(&mut self, flag: &'static Flag, typed: &str) -> Result<(), String> {
        match flag.take {
            Take::Switch(set) => set(&mut self.options),
            Take::Help | Take::Version => {
                self.wants.get_or_insert(flag.take);
            }
            Take::Value(set) => {
                let value = self.value(flag, typed)?;
                set(&mut self.options, &value).map_err(|e| format!("{typed}: {e}"))?;
            }
            Take::Key(key) => {
                let text = self.value(flag, typed)?;
                let value = table::key_value(key, &text).map_err(|e| format!("{typed}: {e}"))?;
                let typed = format!("{typed} {}", text.to_string_lossy());
                self.options.overrides.set(key, value, &typed);
            }
            Take::Images => {
                let first = self.value(flag, typed)?;
                self.images(&first);
                if !self.own.is_empty() {
                    let more: Vec<OsString> = self
                        .parser
                        .values()
                        .map(Iterator::collect)
                        .unwrap_or_default();
                    more.iter().for_each(|m| self.images(m));
                }
            }
        }
        Ok(())
    }

    /// The value of a flag. A flag in its place means that it was forgotten.
    fn value(&mut self, flag: &Flag, typed: &str) -> Result<OsString, String> {
        let missing = || format!("{typed} needs a value: {typed} {}", flag.value);
        if let Some(rest) = self.parser.try_raw_args() {
            let next = rest
                .as_slice()
                .first()
                .and_then(|a| a.to_str())
                .unwrap_or("");
            let long = next
                .strip_prefix("--")
                .map(|n| n.split('=').next().unwrap_or(n));
            if next == "--" || long.is_some_and(|n| Flag::by_long(n).is_some()) {
                return Err(missing());
            }
        }
        self.parser.value().map_err(|_| missing())
    }

    fn images(&mut self, list: &OsStr) {
        match list.to_str() {
            Some(text) => {
                let names = text.split(',').filter(|n| !n.is_empty());
                self.options.images.extend(names.map(PathBuf::from));
            }
            None => self.options.images.push(list.into()),
        }
    }

    /// The subcommand that the words name so far; `None` in the middle of `harness …`.
    pub(super) fn verb(&self) -> Option<Verb> {
        SUBCOMMANDS
            .iter()
            .find(|s| s.words == self.words)
            .map(|s| s.verb)
    }

    /// What all of it asks for.
    pub(super) fn finish(&mut self) -> Result<Invocation, String> {
        let verb = match self.verb() {
            Some(verb) => verb,
            // A group alone lists what is in it.
            None if self.own.is_empty() && self.words == ["harness"] => Verb::HarnessList,
            None if self.own.is_empty() && self.words == ["mcp"] => Verb::McpList,
            None if self.own.is_empty() => {
                let next = table::next_words(&self.words).join(", ");
                let group = self.words.join(" ");
                return Err(format!("`{group}` needs a subcommand; there are: {next}"));
            }
            None => {
                return Err(format!(
                    "`{}` needs a subcommand before --",
                    self.words.join(" ")
                ));
            }
        };
        let command = match self.wants {
            Some(Take::Version) => Command::Version,
            Some(_) => Command::Help(verb),
            None => {
                if verb != Verb::Help {
                    self.check_flags(verb)?;
                }
                self.command(verb)?
            }
        };
        Ok(Invocation {
            command,
            options: std::mem::take(&mut self.options),
        })
    }

    fn check_flags(&self, verb: Verb) -> Result<(), String> {
        match self.given.iter().find(|f| !f.on.contains(&verb)) {
            None => Ok(()),
            Some(flag) => {
                let on: Vec<String> = flag.on.iter().map(|v| Subcommand::of(*v).call()).collect();
                Err(format!(
                    "--{} has no meaning for `{}`; it belongs to: {}",
                    flag.name(),
                    Subcommand::of(verb).call(),
                    on.join(", ")
                ))
            }
        }
    }
}

fn unknown_flag(typed: &str) -> String {
    match typed.strip_prefix("--") {
        Some(name) => {
            let shown = FLAGS.iter().filter(|f| !f.doc.is_empty());
            let near = nearest(name, shown.map(|f| f.name()));
            let hint = near
                .map(|n| format!("; did you mean `--{n}`?"))
                .unwrap_or_default();
            format!("there is no flag `{typed}`{hint}")
        }
        None => {
            let letter = typed.chars().nth(1).unwrap_or_default();
            let other_case = [letter.to_ascii_lowercase(), letter.to_ascii_uppercase()];
            let near = FLAGS
                .iter()
                .find(|f| f.short.is_some_and(|s| other_case.contains(&s)));
            let hint = match near.and_then(|f| f.short) {
                Some(short) => format!("did you mean `-{short}`?"),
                None => "a prompt that begins with - stands after --".into(),
            };
            format!("there is no flag `{typed}`; {hint}")
        }
    }
}
