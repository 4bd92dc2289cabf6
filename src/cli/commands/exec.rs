//! One task from the command line or a pipe; in a terminal without `exec`, a whole session.

use super::choose::choose;
use super::session::Setup;
use crate::agent::event::{EndReason, Event, Frontend, TurnEnd};
use crate::agent::input;
use crate::agent::review::Target;
use crate::agent::session::Session;
use crate::agent::stored;
use crate::cancel::Cancel;
use crate::cli::args::{self, Options, Prompt};
use crate::cli::render::Theme;
use crate::cli::render::human::Human;
use crate::cli::render::sanitize::sanitize;
use crate::cli::render::status::Status;
use crate::cli::repl::{self, Repl};
use crate::cli::signals::Signals;
use crate::cli::{Failure, exit, say, stdin};
use crate::harnesses::Input;
use crate::model::Part;
use crate::project::{git, read_whole};
use crate::serve::exec_json::ExecJson;
use crate::tools::image;
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// The most bytes of a schema file.
const MOST_SCHEMA: u64 = 1 << 20;

/// A stored session to go on with.
#[derive(Debug, Clone, Copy)]
pub struct Resume<'a> {
    /// Which one.
    pub which: &'a args::Session,
    /// With a copy of it.
    pub fork: bool,
}

/// Runs a task, or a session in a terminal.
///
/// # Errors
/// One sentence with its exit code.
pub fn run(
    prompt: &Prompt,
    resume: Option<Resume>,
    exec: bool,
    options: &Options,
) -> Result<u8, Failure> {
    let terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let interactive = !exec && !options.json && terminal && *prompt != Prompt::Stdin;
    let signals =
        Signals::install(!interactive).map_err(|e| format!("signals cannot be handled: {e}"))?;
    // Settings come first, since the rules of --offline must be there before the thread that reads
    // a pipe. Only then may they fail: a parent that pipes a task in is read, so that it meets no
    // broken pipe.
    let prepared = prepare(resume, options, &signals.cancel);
    if matches!(prepared, Ok(None)) {
        // None of the list was wanted.
        return Ok(exit::OK);
    }
    let text = if interactive {
        typed(prompt)
    } else {
        task(prompt, &signals)?
    };
    let Some((setup, stored)) = prepared? else {
        return Ok(exit::OK);
    };
    let (in_git, schema) = circumstances(&setup, exec, options)?;
    let task = Task {
        text,
        review: None,
        stored,
        schema,
        in_git,
    };
    if interactive {
        return converse(setup, options, task, &signals);
    }
    alone(&setup, options, task, &signals)
}

/// Whether the folder is in a work tree, which `exec` wants, and the schema of the answer.
fn circumstances(
    setup: &Setup,
    exec: bool,
    options: &Options,
) -> Result<(bool, Option<serde_json::Value>), Failure> {
    let in_git = git::facts(&setup.cwd).is_some();
    if exec && !in_git && !options.skip_git_repo_check {
        return Err(no_repository(&setup.cwd).into());
    }
    let schema = options.output_schema.as_deref().map(read_schema);
    Ok((in_git, schema.transpose()?))
}

/// Reviews a change, or what the words say, in a session of its own.
///
/// # Errors
/// One sentence with its exit code.
pub fn review(what: &args::Review, exec: bool, options: &Options) -> Result<u8, Failure> {
    let signals = Signals::install(true).map_err(|e| format!("signals cannot be handled: {e}"))?;
    let prepared = prepare(None, options, &signals.cancel);
    let target = match what {
        args::Review::Change(target) => target.clone(),
        args::Review::Words(Prompt::Absent) if io::stdin().is_terminal() => {
            return Err(
                "say what to review: --uncommitted, --base BRANCH, --commit SHA, or a prompt"
                    .into(),
            );
        }
        args::Review::Words(prompt) => Target::Words(task(prompt, &signals)?.unwrap_or_default()),
    };
    let Some((setup, _)) = prepared? else {
        return Ok(exit::OK);
    };
    let (_, schema) = circumstances(&setup, exec, options)?;
    let task = Task {
        text: None,
        review: Some(target),
        stored: None,
        schema,
        // Nothing is changed, so nobody has to be told what cannot be taken back.
        in_git: true,
    };
    alone(&setup, options, task, &signals)
}

fn no_repository(cwd: &Path) -> String {
    format!(
        "{} is not inside a git repository; --skip-git-repo-check allows that",
        cwd.display()
    )
}

/// One turn without a person.
fn alone(setup: &Setup, options: &Options, task: Task, signals: &Signals) -> Result<u8, Failure> {
    if options.json {
        let mut front = ExecJson::new(io::stdout());
        let code = once(setup, options, task, signals, &mut front, true)?;
        // The work was done all the same, but whoever reads the lines did not get them.
        return match front.trouble() {
            Some(why) if code == exit::OK => {
                Err(format!("standard output cannot be written: {why}").into())
            }
            _ => Ok(code),
        };
    }
    let show_reasoning = !*setup.config.hide_agent_reasoning;
    let theme = Theme::new(options.color, &io::stderr());
    let mut front = Human::new(io::stderr(), theme, false, show_reasoning, None)
        .with_status(Status::on(&io::stderr()));
    once(setup, options, task, signals, &mut front, false)
}

/// Settings, the file of the session to go on with, and the rules of `--offline`; `None` when the
/// person was asked for a session and wanted none.
fn prepare(
    resume: Option<Resume>,
    options: &Options,
    cancel: &Cancel,
) -> Result<Option<(Setup, Option<Begun>)>, String> {
    let mut setup = Setup::load(options)?;
    let stored = match resume {
        None => None,
        Some(resume) => match choose(&setup, resume.which, options.all, cancel)? {
            None => return Ok(None),
            // Nothing is written of an ephemeral session, so it needs no copy.
            Some(path) if resume.fork && !options.ephemeral => {
                let path = stored::fork(&setup.home, &path)?;
                Some(Begun { path, copied: true })
            }
            Some(path) => Some(Begun {
                path,
                copied: false,
            }),
        },
    };
    setup.hold_offline(stored.as_ref().map(|s| s.path.as_path()))?;
    Ok(Some((setup, stored)))
}

/// The session to go on with.
struct Begun {
    path: PathBuf,
    /// It was made just now.
    copied: bool,
}

/// What is to be done, and with which session.
struct Task {
    text: Option<String>,
    /// What to review in its place.
    review: Option<Target>,
    stored: Option<Begun>,
    schema: Option<serde_json::Value>,
    in_git: bool,
}

fn typed(prompt: &Prompt) -> Option<String> {
    match prompt {
        Prompt::Text(text) => Some(text.clone()),
        Prompt::Absent | Prompt::Stdin => None,
    }
}

/// The task from argument and pipe.
fn task(prompt: &Prompt, signals: &Signals) -> Result<Option<String>, Failure> {
    let words = typed(prompt);
    let piped = stdin::read(words.is_some(), &signals.cancel).map_err(|message| {
        match signals.cancel.is_cancelled() {
            true => Failure {
                message,
                code: exit::code(&EndReason::Interrupted, signals.is_terminated()),
            },
            false => message.into(),
        }
    })?;
    if piped.unread {
        let _ = writeln!(
            io::stderr(),
            "standard input stayed open without a byte and was left unread; `-` reads it to its end"
        );
    }
    let text = input::join(words.as_deref(), piped.text.as_deref());
    if text.trim().is_empty() {
        return Err("there is no prompt: give one as an argument, or pipe one in".into());
    }
    Ok(Some(text))
}

/// One turn, then out.
fn once(
    setup: &Setup,
    options: &Options,
    mut task: Task,
    signals: &Signals,
    front: &mut dyn Frontend,
    json: bool,
) -> Result<u8, Failure> {
    if !task.in_git {
        front.event(&Event::Note(
            "not a git repository: changes here cannot be taken back with git".into(),
        ));
    }
    let mut session = opened(setup, options, &mut task, signals, front)?;
    if let Some(target) = &task.review {
        let end = session.review(target, false, front)?;
        deliver(&session, &end, options, json)?;
        return Ok(exit::code(&end.reason, signals.is_terminated()));
    }
    let images = read_images(options, front);
    let (text, _) = session
        .fit_input(task.text.unwrap_or_default())
        .map_err(|e| {
            format!("the input is too long for the window and cannot be put into a file: {e}")
        })?;
    let end = session.turn(&Input { text, images }, front);
    deliver(&session, &end, options, json)?;
    Ok(exit::code(&end.reason, signals.is_terminated()))
}

/// Opens the session of a task. A copy that cannot be gone on with is taken away again.
fn opened(
    setup: &Setup,
    options: &Options,
    task: &mut Task,
    signals: &Signals,
    front: &mut dyn Frontend,
) -> Result<Session, Failure> {
    let (stored, schema) = (task.stored.take(), task.schema.take());
    let path = stored.as_ref().map(|s| s.path.clone());
    let session = setup.open(options, path, schema, &signals.cancel, front);
    session.map_err(|message| {
        if let Some(begun) = stored.filter(|s| s.copied) {
            let _ = std::fs::remove_file(begun.path);
        }
        match signals.cancel.is_cancelled() {
            true => Failure {
                message,
                code: exit::code(&EndReason::Interrupted, signals.is_terminated()),
            },
            false => message.into(),
        }
    })
}

/// The answer to standard output and its file; how to resume to standard error.
fn deliver(session: &Session, end: &TurnEnd, options: &Options, json: bool) -> Result<(), Failure> {
    let answered = matches!(end.reason, EndReason::Done | EndReason::StepLimit(_))
        && !end.answer.trim().is_empty();
    if let Some(path) = &options.output_last_message {
        let text = if answered { end.answer.as_str() } else { "" };
        std::fs::write(path, text)
            .map_err(|e| format!("the answer cannot be written to {}: {e}", path.display()))?;
    }
    if !json {
        if session.info().file.is_some() {
            let _ = writeln!(
                io::stderr(),
                "resume with: interpreter resume {}",
                session.info().id
            );
        }
        if answered {
            // A pipe gets the answer as it is; a terminal gets nothing that it would act on.
            let text = if io::stdout().is_terminal() {
                sanitize(&end.answer)
            } else {
                Cow::Borrowed(end.answer.as_str())
            };
            say(&format!("{}\n", text.trim_end_matches('\n')))?;
        }
    }
    Ok(())
}

/// A session in a terminal.
fn converse(
    setup: Setup,
    options: &Options,
    mut task: Task,
    signals: &Signals,
) -> Result<u8, Failure> {
    let show_reasoning = !*setup.config.hide_agent_reasoning;
    let theme = Theme::new(options.color, &io::stderr());
    let mut front = repl::front(theme, show_reasoning, &signals.cancel);
    if !task.in_git {
        front.event(&Event::Note(
            "not a git repository: changes here cannot be taken back with git".into(),
        ));
    }
    let session = opened(&setup, options, &mut task, signals, &mut front)?;
    let images = read_images(options, &mut front);
    let first = match task.text {
        Some(text) => Some(Input {
            text: session.fit_input(text).map_err(|e| e.to_string())?.0,
            images,
        }),
        None => None,
    };
    let repl = Repl {
        session,
        front,
        signals,
        setup: &setup,
        options,
    };
    // The session at the end may be another one than that at the beginning.
    if let Some(id) = repl.run(first)? {
        let _ = writeln!(io::stderr(), "resume with: interpreter resume {id}");
    }
    Ok(if signals.is_terminated() {
        exit::TERMINATED
    } else {
        exit::OK
    })
}

/// Pictures of the command line. One that cannot be read is said in the message.
fn read_images(options: &Options, front: &mut dyn Frontend) -> Vec<Part> {
    options
        .images
        .iter()
        .map(|path| {
            image::read(path).unwrap_or_else(|why| {
                front.event(&Event::Warning(why.clone()));
                Part::text(format!(
                    "[the picture {} cannot be shown: {why}]",
                    path.display()
                ))
            })
        })
        .collect()
}

fn read_schema(path: &Path) -> Result<serde_json::Value, String> {
    let text = read_whole(path, MOST_SCHEMA)
        .map_err(|e| format!("the schema {} cannot be read: {e}", path.display()))?;
    serde_json::from_str(&text)
        .map_err(|e| format!("the schema {} is not JSON: {e}", path.display()))
}
