//! The real agent repairs a real bug, with a local model if there is one.
//!
//! ```sh
//! cargo run --release --example demo                # a tool-capable local server, else the recorded model
//! cargo run --release --example demo -- --recorded  # the recorded model
//! ```
//!
//! The task is `examples/habit-tracker`: a function that counts days breaks at the end of a month.
//! The recorded model is a server inside this program that plays four replies back; the agent, its
//! tools, its sandbox and the tests are the real ones. Ends with 0 only if all tests pass.

// The recorded model is the scripted server of the tests.
#[allow(dead_code)]
#[path = "../tests/support/script.rs"]
mod script;
#[allow(dead_code)]
#[path = "../tests/support/server.rs"]
mod server;
#[allow(dead_code)]
#[path = "../tests/support/strict.rs"]
mod strict;

use open_interpreter::agent::event::{EndReason, Event, Frontend};
use open_interpreter::agent::open::{self, Open};
use open_interpreter::agent::session::Session;
use open_interpreter::cancel::Cancel;
use open_interpreter::cli;
use open_interpreter::cli::render::human::Human;
use open_interpreter::cli::render::sanitize::sanitize;
use open_interpreter::cli::render::screen::Screen;
use open_interpreter::cli::render::{ColorChoice, Theme, diff::diff};
use open_interpreter::cli::signals::Signals;
use open_interpreter::config::{self, Config, Overrides};
use open_interpreter::harnesses::Input;
use open_interpreter::model::local;
use open_interpreter::model::provider::{self, LocalServer};
use open_interpreter::sandbox::{self, End, Lift, Mode, Policy, Run, Sandbox};
use open_interpreter::store::paths::Home;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const CODE: &str = include_str!("habit-tracker/habits.py");
const TESTS: &str = include_str!("habit-tracker/test_habits.py");
const TASK: &str = "The tests in this project are failing. Find the cause, fix habits.py, and run \
                    python3 test_habits.py to check. Do not edit the tests.";
/// A small model that has lost its way is stopped here.
const MOST_STEPS: &str = "max_steps=25";
/// How long the tests may take in the end: the repaired code may well loop for ever.
const TEST_LIMIT: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    sandbox::helper_main();
    match demo() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("demo: {}", sanitize(&why));
            ExitCode::FAILURE
        }
    }
}

/// Runs the task; true if the tests pass in the end.
fn demo() -> Result<bool, String> {
    let recorded = match std::env::args_os().nth(1) {
        None => false,
        Some(flag) if flag == "--recorded" => true,
        Some(other) => {
            let other = other.display();
            return Err(format!(
                "`{other}` is not known here; the one flag is --recorded"
            ));
        }
    };
    if !has_python() {
        let why = "the tests of this task need Python; install python3 and run the demo again";
        return Err(why.into());
    }
    let signals = Signals::install(true).map_err(|e| format!("signals cannot be handled: {e}"))?;
    let folder =
        tempfile::tempdir().map_err(|e| format!("no temporary folder can be made: {e}"))?;
    let root = folder.path().canonicalize();
    let root = root.map_err(|e| format!("the temporary folder cannot be read: {e}"))?;
    let place = Place {
        work: root.join("habit-tracker"),
        home: root.join("home"),
        cancel: signals.cancel,
    };
    let work = &place.work;
    fs::create_dir(work).map_err(|e| format!("{} cannot be made: {e}", work.display()))?;
    write(work, "habits.py", CODE)?;
    write(work, "test_habits.py", TESTS)?;

    let theme = Theme::new(ColorChoice::Auto, &io::stdout());
    let mut front = Human::new(
        Screen::new(io::stdout(), theme.dim),
        theme,
        true,
        false,
        None,
    );
    let live = match recorded {
        true => None,
        false => place.with_local_server(&mut front)?,
    };
    let mut session = match live {
        Some(session) => session,
        None => place.with_recording(&mut front)?,
    };
    session.announce(&mut front);
    say(&format!("\ntask: {TASK}\n"))?;
    let end = session.turn(&Input::text(TASK), &mut front);
    match end.reason {
        EndReason::Interrupted => Err("interrupted".into()),
        _ => judge(work, &theme),
    }
}

/// Shows what became of the code and of its tests; true if they pass.
fn judge(work: &Path, theme: &Theme) -> Result<bool, String> {
    let read = |name: &str| fs::read_to_string(work.join(name));
    let after = read("habits.py").map_err(|e| format!("habits.py cannot be read: {e}"))?;
    let change = match diff(CODE, &after, theme) {
        same if same.is_empty() => "  no change\n".to_owned(),
        change => change,
    };
    say(&format!("\nhabits.py, before and after:\n{change}"))?;
    if read("test_habits.py").ok().as_deref() != Some(TESTS) {
        say("The model touched test_habits.py, against the task; the original is put back.")?;
        write(work, "test_habits.py", TESTS)?;
    }
    let (passed, output) = run_tests(work)?;
    say(&format!("python3 test_habits.py:\n{}", sanitize(&output)))?;
    say(match passed {
        true => "passed: the bug is repaired.",
        false => "not passed: this model did not repair the bug.",
    })?;
    Ok(passed)
}

fn has_python() -> bool {
    let mut python = Command::new("python3");
    let quiet = python
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

fn write(work: &Path, name: &str, text: &str) -> Result<(), String> {
    fs::write(work.join(name), text).map_err(|e| format!("{name} cannot be written: {e}"))
}

/// Where a session works, and what stops it.
struct Place {
    work: PathBuf,
    home: PathBuf,
    cancel: Cancel,
}

impl Place {
    /// A session with the first local server that has a model which can call tools.
    fn with_local_server(&self, front: &mut dyn Frontend) -> Result<Option<Session>, String> {
        let config = self.settings(&Overrides::default())?;
        let env = |name: &str| std::env::var(name).ok();
        let resolve = |s: &LocalServer| provider::resolve(s.id(), &config, &env, false).ok();
        let candidates: Vec<_> = LocalServer::ALL.iter().filter_map(resolve).collect();
        let servers = local::detect(&candidates, &self.cancel);
        if servers.is_empty() {
            say("No local model server is up.")?;
        }
        for found in servers {
            let name = found.server.name();
            match self.open(&at(found.server, &found.base_url), front) {
                Ok(session) => {
                    let model = sanitize(&session.info().model).into_owned();
                    say(&format!("Model: {model} at the {name} of this machine."))?;
                    return Ok(Some(session));
                }
                Err(why) => say(&format!("{name} is up, but no use: {}", sanitize(&why)))?,
            }
        }
        Ok(None)
    }

    /// A session with the model that is recorded here.
    fn with_recording(&self, front: &mut dyn Frontend) -> Result<Session, String> {
        say(
            "Model: a recording. Its replies are played back; what they lead to is done for real.",
        )?;
        let (old, new) = ("day.day == previous.day + 1", "(day - previous).days == 1");
        let replies = vec![
            script::read("habits.py").with_text("I will read the code first."),
            script::edit("habits.py", old, new).with_text(
                "It compares days of the month, so a run ends with the month. What counts is \
                 the distance between the dates.",
            ),
            script::run("python3 test_habits.py"),
            script::say(
                "Runs broke at the end of a month, because days of the month were compared. \
                 habits.py now compares dates, and all three tests pass.",
            ),
        ];
        let server = server::Server::start(server::Kind::LlamaServer, 32_768, replies);
        let url = format!("http://127.0.0.1:{}/v1", server.port());
        let mut overrides = at(LocalServer::LlamaServer, &url);
        overrides.sets.push("model=mock".into());
        self.open(&overrides, front)
    }

    fn open(&self, overrides: &Overrides, front: &mut dyn Frontend) -> Result<Session, String> {
        let config = self.settings(overrides)?;
        let warnings = config.warnings.iter().cloned().map(Event::Warning);
        warnings.for_each(|warning| front.event(&warning));
        let ask = Open {
            cwd: self.work.clone(),
            ..Open::default()
        };
        open::open(&config, &Home::at(&self.home), &ask, &self.cancel, front)
            .map_err(|e| e.to_string())
    }

    fn settings(&self, overrides: &Overrides) -> Result<Config, String> {
        config::load(&self.home, &self.work, overrides).map_err(|e| e.to_string())
    }
}

/// The settings of a run with this server.
fn at(server: LocalServer, base_url: &str) -> Overrides {
    let id = server.id();
    Overrides {
        local_provider: Some(id.into()),
        sets: vec![
            format!("model_providers.{id}.base_url={base_url:?}"),
            MOST_STEPS.into(),
        ],
        ..Overrides::default()
    }
}

/// Runs the tests in a sandbox that may only read, since the code that they run is a model's.
fn run_tests(work: &Path) -> Result<(bool, String), String> {
    let policy = Policy {
        mode: Mode::ReadOnly,
        roots: vec![work.to_owned()],
        network: false,
        slash_tmp: false,
        tmpdir: false,
        own_homes: vec![],
        readable: vec![],
    };
    let run = Run {
        program: "python3".into(),
        args: vec!["test_habits.py".into()],
        dir: work.to_owned(),
        env: std::env::vars_os()
            .filter(|(name, _)| name == "PATH")
            .collect(),
        lift: Lift::Nothing,
        stdin: false,
        split: false,
    };
    let mut running = Sandbox::new(policy)
        .spawn(&run)
        .map_err(|e| e.to_string())?;
    let pipe = running.output();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.map(|p| p.take(1 << 16).read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let began = Instant::now();
    let end = loop {
        match running
            .try_wait()
            .map_err(|e| format!("the tests cannot be waited for: {e}"))?
        {
            Some(end) => break Some(end),
            None if began.elapsed() > TEST_LIMIT => break None,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    if end.is_none() {
        running.stop();
    }
    let mut output = reader.join().unwrap_or_default();
    match &end {
        Some(End::Exited(_)) => {}
        Some(End::Signaled(signal)) => output.push_str(&format!("ended by signal {signal}\n")),
        Some(End::Fence(why)) => return Err(format!("the tests could not be run: {why}")),
        None => output.push_str(&format!("not done after {} s\n", TEST_LIMIT.as_secs())),
    }
    Ok((end == Some(End::Exited(0)), output))
}

/// One line on standard output; an error when nobody reads it any more.
fn say(text: &str) -> Result<(), String> {
    cli::say(&format!("{text}\n"))
        .map(|_| ())
        .map_err(|failure| failure.message)
}
