//! What the words after a subcommand say.

use super::Line;
use crate::agent::review::Target;
use crate::cli::args::table::{self, SUBCOMMANDS, Subcommand, Verb};
use crate::cli::args::{Command, Completion, Prompt, Review, Servers, Session, Undoing};
use crate::cli::commands::mcp::from_words;
use crate::cli::completion::{SHELLS, WORDS};
use crate::cli::undo::MOST_TURNS;
use crate::words::nearest;
use std::ffi::OsString;

impl Line {
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

    /// The command of that verb, with the words that stood after it.
    pub(super) fn command(&mut self, verb: Verb) -> Result<Command, String> {
        let mut own = std::mem::take(&mut self.own);
        if verb == Verb::Sandbox {
            return match own.is_empty() {
                true => {
                    Err("sandbox needs a command to run: interpreter sandbox -- COMMAND".into())
                }
                false => Ok(Command::Sandbox(own)),
            };
        }
        if verb == Verb::RulesCheck {
            return match own.is_empty() {
                true => {
                    Err("rules check needs a command: interpreter rules check -- COMMAND".into())
                }
                false => Ok(Command::RulesCheck(own)),
            };
        }
        let resumes = table::RESUMES.contains(&verb);
        let most = match verb {
            Verb::HarnessList | Verb::HarnessBench | Verb::Models | Verb::Doctor | Verb::Acp => 0,
            Verb::McpList | Verb::McpServer => 0,
            Verb::McpAdd => usize::MAX,
            _ if resumes && !self.options.last => 2,
            Verb::Review | Verb::ExecReview if !self.reviewed()?.is_empty() => 0,
            Verb::Help | Verb::Completion => usize::MAX,
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
                _ if matches!(verb, Verb::Login | Verb::LoginStatus | Verb::Logout) => {
                    "one provider at a time".into()
                }
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
            Verb::McpList => Command::Mcp(Servers::List),
            Verb::McpGet => Command::Mcp(Servers::Get(server_name(own)?)),
            Verb::McpRemove => Command::Mcp(Servers::Remove(server_name(own)?)),
            Verb::McpAdd => {
                let mut words = own.into_iter().map(text).collect::<Result<Vec<_>, _>>()?;
                if words.is_empty() {
                    return Err("mcp add needs a name, and a command after -- or --url URL".into());
                }
                let name = words.remove(0);
                let o = &self.options;
                let (url, bearer) = (o.mcp_url.as_deref(), o.mcp_bearer.as_deref());
                let server = from_words(&words, &o.mcp_env, url, bearer)?;
                Command::Mcp(Servers::Add(name, Box::new(server)))
            }
            Verb::McpServer => Command::McpServer,
            Verb::Models => Command::Models,
            Verb::Login => match own.pop() {
                Some(id) => Command::Login(text(id)?),
                None => {
                    return Err("login needs a provider; `interpreter models --providers` lists the hosted ones".into());
                }
            },
            Verb::LoginStatus => Command::LoginStatus(own.pop().map(text).transpose()?),
            Verb::Logout => match (own.pop(), self.options.all) {
                (None, true) => Command::Logout(None),
                (Some(id), false) => Command::Logout(Some(text(id)?)),
                _ => return Err("logout needs one provider, or --all".into()),
            },
            Verb::Doctor => Command::Doctor,
            Verb::Completion => Command::Completion(completion(&own)?),
            Verb::Acp => Command::Acp,
            Verb::Undo => Command::Undo(self.undoing(own.pop())?),
            Verb::Help | Verb::Sandbox | Verb::RulesCheck => Command::Help(help_topic(&own)?),
        })
    }
}

/// The name of a server.
fn server_name(own: Vec<OsString>) -> Result<String, String> {
    let name = own.into_iter().next().map(text);
    name.unwrap_or_else(|| {
        Err("the name of a server is missing; `interpreter mcp list` has them".into())
    })
}

/// What `completion` prints. Words from a shell may be anything at all.
fn completion(own: &[OsString]) -> Result<Completion, String> {
    let mut words = own.iter().map(|word| word.to_string_lossy().into_owned());
    let names = SHELLS.iter().map(|(name, _)| *name).chain(["man"]);
    match words.next() {
        Some(first) if first == WORDS => {
            let current = words.next().unwrap_or_default();
            Ok(Completion::Words {
                current: current.strip_prefix('=').unwrap_or_default().to_owned(),
                before: words.collect(),
            })
        }
        Some(first) if own.len() == 1 && first == "man" => Ok(Completion::Manual),
        Some(first) if own.len() == 1 && names.clone().any(|name| name == first) => {
            Ok(Completion::Script(first))
        }
        _ => Err(format!(
            "completion needs one of: {}",
            names.collect::<Vec<_>>().join(", ")
        )),
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
