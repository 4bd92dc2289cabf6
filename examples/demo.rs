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
use std::path::Path;
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
    let cancel = &signals.cancel;
    let folder =
        tempfile::tempdir().map_err(|e| format!("no temporary folder can be made: {e}"))?;
    let root = folder.path().canonicalize();
    let root = root.map_err(|e| format!("the temporary folder cannot be read: {e}"))?;
    let (work, home) = (root.join("habit-tracker"), root.join("home"));
    fs::create_dir(&work).map_err(|e| format!("{} cannot be made: {e}", work.display()))?;
    write(&work, "habits.py", CODE)?;
    write(&work, "test_habits.py", TESTS)?;

    let theme = Theme::new(ColorChoice::Auto, &io::stdout());
    let mut front = Human::new(io::stdout(), theme, true, false, None);
    let live = match recorded {
        true => None,
        false => with_local_server(&work, &home, cancel, &mut front)?,
    };
    let mut session = match live {
        Some(session) => session,
        None => with_recording(&work, &home, cancel, &mut front)?,
    };
    session.announce(&mut front);
    say(&format!("\ntask: {TASK}\n"))?;
    let end = session.turn(&Input::text(TASK), &mut front);
    match end.reason {
        EndReason::Interrupted => Err("interrupted".into()),
        _ => judge(&work, &theme),
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

/// A session with the first local server that has a model which can call tools.
fn with_local_server(
    work: &Path,
    home: &Path,
    cancel: &Cancel,
    front: &mut dyn Frontend,
) -> Result<Option<Session>, String> {
    let config = settings(work, home, Overrides::default())?;
    let env = |name: &str| std::env::var(name).ok();
    let candidates = LocalServer::ALL
        .iter()
        .filter_map(|s| provider::resolve(s.id(), &config, &env, false).ok());
    let servers = local::detect(&candidates.collect::<Vec<_>>(), cancel);
    if servers.is_empty() {
        say("No local model server is up.")?;
    }
    for found in servers {
        match start(
            &settings(work, home, at(found.server, &found.base_url))?,
            work,
            home,
            cancel,
            front,
        ) {
            Ok(session) => {
                say(&format!(
                    "Model: {} at the {} of this machine.",
                    sanitize(&session.info().model),
                    found.server.name()
                ))?;
                return Ok(Some(session));
            }
            Err(why) => say(&format!(
                "{} is up, but cannot be used: {}",
                found.server.name(),
                sanitize(&why)
            ))?,
        }
    }
    Ok(None)
}

/// A session with the model that is recorded here.
fn with_recording(
    work: &Path,
    home: &Path,
    cancel: &Cancel,
    front: &mut dyn Frontend,
) -> Result<Session, String> {
    say(
        "Model: a recording inside this demo. Its replies are played back; all they lead to is done for real.",
    )?;
    let replies = vec![
        script::read("habits.py").with_text("I will read the code first."),
        script::edit(
            "habits.py",
            "day.day == previous.day + 1",
            "(day - previous).days == 1",
        )
        .with_text("It compares the days of the month, so a run ends with the month. The distance of the dates is what counts."),
        script::run("python3 test_habits.py"),
        script::say("The run broke at the end of a month, because days of the month were compared. habits.py now compares dates, and all three tests pass."),
    ];
    let port = server::Server::start(server::Kind::LlamaServer, 32_768, replies).port();
    let mut overrides = at(
        LocalServer::LlamaServer,
        &format!("http://127.0.0.1:{port}/v1"),
    );
    overrides.sets.push("model=mock".into());
    start(&settings(work, home, overrides)?, work, home, cancel, front)
}

/// The settings that name a server and its address.
fn at(server: LocalServer, base_url: &str) -> Overrides {
    let id = server.id();
    Overrides {
        local_provider: Some(id.into()),
        sets: vec![format!("model_providers.{id}.base_url={base_url:?}")],
        ..Overrides::default()
    }
}

fn settings(work: &Path, home: &Path, mut overrides: Overrides) -> Result<Config, String> {
    overrides.sets.push(MOST_STEPS.into());
    config::load(home, work, &overrides).map_err(|e| e.to_string())
}

fn start(
    config: &Config,
    work: &Path,
    home: &Path,
    cancel: &Cancel,
    front: &mut dyn Frontend,
) -> Result<Session, String> {
    config
        .warnings
        .iter()
        .for_each(|w| front.event(&Event::Warning(w.clone())));
    let ask = Open {
        cwd: work.to_owned(),
        ..Open::default()
    };
    open::open(config, &Home::at(home), &ask, cancel, front).map_err(|e| e.to_string())
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
