//! One task from the command line or a pipe; in a terminal without `exec`, a whole session.

use super::choose::choose;
use super::session::Setup;
use crate::agent::event::{EndReason, Event, Frontend, TurnEnd};
use crate::agent::input;
use crate::agent::review::Target;
use crate::agent::schema::AnswerSchema;
use crate::agent::session::Session;
use crate::agent::stored;
use crate::cancel::Cancel;
use crate::cli::args::{self, Options, Prompt};
use crate::cli::first;
use crate::cli::render::Theme;
use crate::cli::render::human::Human;
use crate::cli::render::sanitize::sanitize;
use crate::cli::render::screen::Screen;
use crate::cli::repl::{Console, Repl};
use crate::cli::signals::Signals;
use crate::cli::{Failure, exit, say, stdin, trust};
use crate::config::Source;
use crate::harnesses::Input;
use crate::model::Part;
use crate::project::{git, read_whole};
use crate::serve::exec_json::ExecJson;
use crate::store::sessions;
use crate::tools::image;
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most bytes of a schema file.
const MOST_SCHEMA: u64 = 1 << 20;

/// A stored session to go on with.
#[derive(Debug, Clone, Copy)]
pub struct Resume<'a> {
    /// Which one.
    pub which: &'a args::Session,
    /// With a copy of it.
    pub fork: bool,
    /// Where there is no latest one, a new one begins, as scripts of Codex expect it.
    pub or_new: bool,
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
    let prepared = prepare(resume, options, interactive, &signals.cancel);
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
) -> Result<(bool, Option<Arc<AnswerSchema>>), Failure> {
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
    let prepared = prepare(None, options, false, &signals.cancel);
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
    let Some((mut setup, _)) = prepared? else {
        return Ok(exit::OK);
    };
    // A model that was named on this command line is the one that is meant.
    let named = matches!(setup.config.model.source, Source::Flag(_));
    if let Some(model) = setup.config.review_model.value.clone().filter(|_| !named) {
        let changes = [("model", model.into())];
        let changed = setup.config.changed(&changes, "review_model");
        setup.config = changed.map_err(|e| e.to_string())?;
    }
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
    let screen = Screen::new(io::stderr(), theme.dim);
    let mut front = Human::new(screen, theme, false, show_reasoning, None);
    once(setup, options, task, signals, &mut front, false)
}

/// Settings, the file of the session to go on with, and the rules of `--offline`; `None` when the
/// person was asked for a session and wanted none. With a person, what the project brings is asked
/// about.
fn prepare(
    resume: Option<Resume>,
    options: &Options,
    interactive: bool,
    cancel: &Cancel,
) -> Result<Option<(Setup, Option<Begun>)>, String> {
    let mut setup = Setup::load(options)?;
    if interactive {
        trust::ask(&mut setup, options, cancel)?;
        trust::ask_about_hooks(&setup, options, cancel)?;
    }
    let stored = match resume {
        None => None,
        Some(resume) if resume.or_new && has_no_last(&setup, resume.which, options) => {
            let _ = writeln!(
                io::stderr(),
                "there is no session to go on with, so a new one begins"
            );
            None
        }
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

/// The latest session is wanted, and there is none.
fn has_no_last(setup: &Setup, which: &args::Session, options: &Options) -> bool {
    let folder = (!options.all).then_some(setup.cwd.as_path());
    *which == args::Session::Last && sessions::last(&setup.home, folder).is_none()
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
    schema: Option<Arc<AnswerSchema>>,
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
        let text = match options.ephemeral {
            true => "not a git repository: changes here cannot be taken back",
            false => "not a git repository: interpreter undo takes changes back here, git cannot",
        };
        front.event(&Event::Note(text.into()));
    }
    if task.review.is_some() && task.schema.take().is_some() {
        front.event(&Event::Warning(
            "--output-schema has no effect on a review, whose answer has a form of its own".into(),
        ));
    }
    let mut session = opened(setup, options, &mut task, signals, front)?;
    if let Some(target) = &task.review {
        let end = session.review(target, false, front)?;
        session.end("other", front);
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
    session.end("other", front);
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
    mut setup: Setup,
    options: &Options,
    mut task: Task,
    signals: &Signals,
) -> Result<u8, Failure> {
    let show_reasoning = !*setup.config.hide_agent_reasoning;
    let theme = Theme::new(options.color, &io::stderr());
    let notifications = setup.config.notifications.clone();
    let mut console = Console::new(theme, show_reasoning, notifications, signals, &setup.cwd);
    let is_first = task.stored.is_none() && first::is_first(&setup);
    if is_first {
        first::choose(&mut setup, options, &signals.cancel, &mut console.front)?;
        if signals.is_terminated() {
            return Ok(exit::TERMINATED);
        }
        if signals.cancel.is_cancelled() {
            return Ok(exit::INTERRUPTED);
        }
    }
    if options.ephemeral {
        console.front.event(&Event::Note(
            "--ephemeral: nothing of this session is kept, so it can be neither resumed nor undone"
                .into(),
        ));
    }
    if !task.in_git && !options.ephemeral {
        console.front.event(&Event::Note(
            "not a git repository: /undo takes changes back here, git cannot".into(),
        ));
    }
    let session = opened(&setup, options, &mut task, signals, &mut console.front)?;
    if is_first {
        console.front.event(&Event::Note(
            "say what is to be done; /help lists commands and keys, Ctrl+D leaves".into(),
        ));
    }
    let images = read_images(options, &mut console.front);
    let first = match task.text {
        Some(text) => Some(Input {
            text: session.fit_input(text).map_err(|e| e.to_string())?.0,
            images,
        }),
        None => None,
    };
    let repl = Repl {
        session,
        console,
        signals,
        setup: &mut setup,
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

fn read_schema(path: &Path) -> Result<Arc<AnswerSchema>, String> {
    let text = read_whole(path, MOST_SCHEMA)
        .map_err(|e| format!("the schema {} cannot be read: {e}", path.display()))?;
    let schema = serde_json::from_str(&text)
        .map_err(|e| format!("the schema {} is not JSON: {e}", path.display()))?;
    AnswerSchema::new(schema)
        .map(Arc::new)
        .map_err(|why| format!("the schema {} is {why}", path.display()))
}
