//! Reading a command line word by word.

use super::table::{self, FLAGS, Flag, SUBCOMMANDS, Subcommand, Take, Verb};
use super::{Command, Invocation, Options, Prompt, Review, Session, Undoing};
use crate::agent::review::Target;
use crate::cli::undo::MOST_TURNS;
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
        if self.verb() == Some(Verb::Sandbox) {
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
            None if self.own.is_empty() => Verb::HarnessList,
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

    /// What `undo` takes back: `word` is how many turns.
    fn undoing(&self, word: Option<OsString>) -> Result<Undoing, String> {
        let times = match word {
            None => 1,
            Some(word) => {
                let word = text(word)?;
                let number = word.parse().ok().filter(|n| (1..=MOST_TURNS).contains(n));
                number.ok_or(format!(
                    "`{word}` is no number of turns; a file is named with --file"
                ))?
            }
        };
        match (self.options.list, self.options.redo) {
            (true, true) => Err("--list and --redo do not go together".into()),
            (true, _) => Ok(Undoing::List),
            (_, true) if self.options.file.is_some() => {
                Err("--redo puts back all that the last undo took; it takes no --file".into())
            }
            (_, true) => Ok(Undoing::Redo(times)),
            _ => Ok(Undoing::Last(times)),
        }
    }

    fn command(&mut self, verb: Verb) -> Result<Command, String> {
        let mut own = std::mem::take(&mut self.own);
        if verb == Verb::Sandbox {
            return match own.is_empty() {
                true => {
                    Err("sandbox needs a command to run: interpreter sandbox -- COMMAND".into())
                }
                false => Ok(Command::Sandbox(own)),
            };
        }
        let resumes = table::RESUMES.contains(&verb);
        let most = match verb {
            Verb::HarnessList | Verb::HarnessBench | Verb::Models | Verb::Doctor => 0,
            _ if resumes && !self.options.last => 2,
            Verb::Review | Verb::ExecReview if !self.reviewed()?.is_empty() => 0,
            Verb::Help => usize::MAX,
            _ => 1,
        };
        if own.len() > most {
            return Err(match most {
                0 if matches!(verb, Verb::Review | Verb::ExecReview) => {
                    format!(
                        "{} says what to review already; leave out the prompt",
                        self.reviewed()?
                    )
                }
                0 => format!("`{}` takes nothing but flags", Subcommand::of(verb).call()),
                _ if verb == Verb::HarnessShow => "one harness at a time".into(),
                _ => format!(
                    "{:?} is one word too many; a prompt of several words stands in quotes",
                    own[most].to_string_lossy()
                ),
            });
        }
        let session = match self.options.last {
            true => Session::Last,
            false if resumes && !own.is_empty() => Session::Id(text(own.remove(0))?),
            false => Session::Unnamed,
        };
        Ok(match verb {
            Verb::Run => Command::Run(prompt(own)?),
            Verb::Exec => Command::Exec(prompt(own)?),
            Verb::ExecResume | Verb::ExecFork if session == Session::Unnamed => {
                return Err(format!(
                    "{} needs the id of a session, or --last",
                    Subcommand::of(verb).words.join(" ")
                ));
            }
            Verb::Resume | Verb::ExecResume | Verb::Fork | Verb::ExecFork => Command::Resume {
                exec: matches!(verb, Verb::ExecResume | Verb::ExecFork),
                fork: matches!(verb, Verb::Fork | Verb::ExecFork),
                session,
                prompt: prompt(own)?,
            },
            Verb::Review | Verb::ExecReview => Command::Review {
                exec: verb == Verb::ExecReview,
                what: self.review(prompt(own)?),
            },
            Verb::HarnessList => Command::HarnessList,
            Verb::HarnessShow => match own.pop() {
                Some(id) => Command::HarnessShow(text(id)?),
                None => {
                    return Err(
                        "harness show needs an id; `interpreter harness list` has them".into(),
                    );
                }
            },
            Verb::HarnessBench => Command::HarnessBench,
            Verb::Models => Command::Models,
            Verb::Doctor => Command::Doctor,
            Verb::Undo => Command::Undo(self.undoing(own.pop())?),
            Verb::Help | Verb::Sandbox => Command::Help(help_topic(&own)?),
        })
    }
}

impl Line {
    /// The flag that says which change to review; empty: none does.
    fn reviewed(&self) -> Result<String, String> {
        let o = &self.options;
        let flags = [
            o.uncommitted.then_some("--uncommitted"),
            o.base.as_ref().map(|_| "--base"),
            o.commit.as_ref().map(|_| "--commit"),
        ];
        let given: Vec<&str> = flags.into_iter().flatten().collect();
        if let [first, second, ..] = given[..] {
            return Err(format!("{first} and {second} are two reviews; give one"));
        }
        if o.title.is_some() && o.commit.is_none() {
            return Err("--title is the subject of a commit; name it with --commit".into());
        }
        Ok(given.concat())
    }

    /// What to review; [`Line::reviewed`] has checked that it is one thing.
    fn review(&mut self, prompt: Prompt) -> Review {
        let o = &mut self.options;
        if let Some(base) = o.base.take() {
            Review::Change(Target::Base(base))
        } else if let Some(id) = o.commit.take() {
            let title = o.title.take();
            Review::Change(Target::Commit { id, title })
        } else if o.uncommitted {
            Review::Change(Target::Uncommitted)
        } else {
            Review::Words(prompt)
        }
    }
}

fn prompt(own: Vec<OsString>) -> Result<Prompt, String> {
    match own.into_iter().next() {
        None => Ok(Prompt::Absent),
        Some(word) if word == "-" => Ok(Prompt::Stdin),
        Some(word) => Ok(Prompt::Text(text(word)?)),
    }
}

fn text(word: OsString) -> Result<String, String> {
    word.into_string()
        .map_err(|w| format!("{w:?} is not UTF-8"))
}

/// The subcommand that the words after `help` name.
fn help_topic(own: &[OsString]) -> Result<Verb, String> {
    if own.is_empty() {
        return Ok(Verb::Run);
    }
    let asked: Vec<String> = own
        .iter()
        .map(|w| w.to_string_lossy().into_owned())
        .collect();
    let starts = |s: &&Subcommand| {
        s.words.len() >= asked.len() && s.words.iter().zip(&asked).all(|(a, b)| a == b)
            || asked.len() == 1 && s.alias == Some(asked[0].as_str())
    };
    let found = SUBCOMMANDS.iter().find(starts).map(|s| s.verb);
    found.ok_or_else(|| {
        let near = nearest(&asked[0], table::next_words(&[]));
        let hint = near
            .map(|n| format!("; did you mean `{n}`?"))
            .unwrap_or_default();
        format!("`{}` is no subcommand{hint}", asked.join(" "))
    })
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
