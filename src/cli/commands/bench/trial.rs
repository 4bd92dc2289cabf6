//! One try: a fresh folder, a session that works in it, and the hidden check afterwards.

use super::place::Place;
use super::tasks::{File, Language, Task};
use crate::agent::event::{Answer, EndReason, Event, Frontend, Question};
use crate::agent::open::{self, Open};
use crate::agent::session::Counts;
use crate::cancel::Cancel;
use crate::cli::render::sanitize::one_line;
use crate::config::{Config, Marks, environment};
use crate::harnesses::Input;
use crate::model::Usage;
use crate::sandbox::{Gate, Lift, Sandbox, Strength};
use crate::store::paths::Home;
use crate::tools::action::{Action, Outcome, Shell, ShellKind, ShellOut, ShellStatus};
use crate::tools::{Setup, Workbench};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long the model may work on one task.
pub const LIMIT: Duration = Duration::from_secs(600);
/// How long the hidden check may take.
const CHECK_LIMIT: Duration = Duration::from_secs(60);
/// How long a language may take to say that it is there.
const PROBE_LIMIT: Duration = Duration::from_secs(20);
/// The longest time until an interrupt is seen.
const LOOK: Duration = Duration::from_millis(50);
/// How much of the output of a check is looked at, in bytes.
const OUTPUT: usize = 16 << 10;
/// How much of a reason is shown, in characters.
const REASON: usize = 100;

/// What came of a try.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The task's name.
    pub task: &'static str,
    /// Which run it belongs to, from 0.
    pub round: u32,
    /// `None`: the check passed; else why the task is not solved.
    pub fault: Option<String>,
    /// How the turn ended.
    pub end: String,
    /// Requests, steps, repairs and faults.
    pub counts: Counts,
    /// Tokens.
    pub usage: Usage,
    /// How long the model worked.
    pub took: Duration,
}

impl Trial {
    /// True when the check passed.
    pub fn is_solved(&self) -> bool {
        self.fault.is_none()
    }

    /// It in a line, for people.
    pub fn line(&self) -> String {
        let (steps, time) = (self.counts.steps, self.took.as_secs_f64());
        let judged = match &self.fault {
            None => "solved".to_owned(),
            Some(why) => format!("not solved: {why}"),
        };
        format!("{judged} ({}; {steps} steps, {time:.1} s)", self.end)
    }
}

/// Where tries are made.
pub struct Ground<'a> {
    /// The folder for their folders.
    pub place: Place,
    /// The user's own home, which no try may touch.
    pub home: &'a Home,
    /// The user wants to stop.
    pub cancel: &'a Cancel,
    /// Leave the folders there, to look at.
    pub keep: bool,
}

impl Ground<'_> {
    /// Tries a task under these settings. `None`: the user interrupted it.
    ///
    /// # Errors
    /// One sentence when no session can be opened, or the folder cannot be made.
    pub fn run(
        &self,
        config: &Config,
        task: &'static Task,
        round: u32,
    ) -> Result<Option<Trial>, String> {
        let mut fresh = self.place.fresh()?;
        fresh.keep = self.keep;
        let (home, work) = (Home::at(fresh.folder("home")?), fresh.folder(task.name)?);
        for file in task.files {
            put(&work, file)
                .map_err(|e| format!("{} cannot be written: {e}", work.join(file.0).display()))?;
        }
        let ask = Open {
            cwd: work.clone(),
            own_homes: vec![self.home.path().to_owned()],
            debug: self.keep,
            ..Open::default()
        };
        let cancel = Cancel::new();
        let _watch = Watch::start(self.cancel, &cancel, LIMIT);
        let mut front = Silent;
        let mut session = match open::open(config, &home, &ask, &cancel, &mut front) {
            Ok(session) => session,
            Err(_) if self.cancel.is_cancelled() => return Ok(None),
            Err(e) => return Err(e.to_string()),
        };
        let end = session.turn(&Input::text(task.prompt), &mut front);
        let counts = session.counts();
        // Background commands end with the session.
        drop(session);
        if self.cancel.is_cancelled() {
            return Ok(None);
        }
        let mut fault = self.judge(config, task, &home, &work);
        if self.cancel.is_cancelled() {
            return Ok(None);
        }
        if self.keep {
            fault = fault.map(|why| format!("{why} [{}]", fresh.path().display()));
        }
        Ok(Some(Trial {
            task: task.name,
            round,
            fault,
            end: ending(&end.reason),
            counts,
            usage: end.usage,
            took: end.took,
        }))
    }

    /// Why the task is not solved, if it is not.
    fn judge(&self, config: &Config, task: &Task, home: &Home, work: &Path) -> Option<String> {
        for file in task.files.iter().filter(|f| task.kept.contains(&f.0)) {
            if !is_same(&work.join(file.0), file.1) {
                return Some(format!("{} was changed", file.0));
            }
        }
        // A link in place of the folder would take the check elsewhere.
        if work.canonicalize().ok().as_deref() != Some(work) {
            return Some("its folder is gone".into());
        }
        for file in task.hidden {
            if let Err(e) = put(work, file) {
                return Some(format!("{} cannot be put in: {e}", file.0));
            }
        }
        // Only the check knows this word, so nothing that the model wrote can print it.
        let word = uuid::Uuid::now_v7().simple().to_string();
        let command = format!("{} {word}", task.check);
        let out = match self.shell(config, home, work, &command, CHECK_LIMIT) {
            Ok(out) => out,
            Err(why) => return Some(why),
        };
        let last = out.output.text.trim_end().lines().next_back();
        match (out.status, last) {
            (ShellStatus::Exited(0), Some(last)) if last == word => None,
            (ShellStatus::TimedOut, _) => Some("the check ran into its time limit".into()),
            (_, Some(last)) => Some(format!("the check fails: {}", short(last))),
            (_, None) => Some("the check fails".into()),
        }
    }

    /// Whether a language is installed, and works inside the sandbox. The inner error is why not.
    ///
    /// # Errors
    /// When nothing at all can be run here.
    pub fn probe(
        &self,
        config: &Config,
        language: &Language,
    ) -> Result<Result<(), String>, String> {
        let fresh = self.place.fresh()?;
        let (home, work) = (Home::at(fresh.folder("home")?), fresh.folder("work")?);
        let out = self.shell(config, &home, &work, language.probe, PROBE_LIMIT)?;
        Ok(match out.status {
            ShellStatus::Exited(0) => Ok(()),
            _ => Err(format!(
                "{} is not installed (`{}` fails)",
                language.name, language.probe
            )),
        })
    }

    /// Runs a command line as the model's are run.
    fn shell(
        &self,
        config: &Config,
        home: &Home,
        work: &Path,
        command: &str,
        limit: Duration,
    ) -> Result<ShellOut, String> {
        let mut policy = open::policy(config, home, work, None);
        policy.own_homes.push(self.home.path().to_owned());
        let sandbox = Sandbox::new(policy.clone());
        if let Strength::Nothing(why) = sandbox.strength() {
            return Err(format!(
                "what a model writes is run only inside the sandbox, which cannot be enforced here: {why}"
            ));
        }
        let mut workbench = Workbench::new(Setup {
            cwd: work.to_owned(),
            gate: Gate::new(&policy, work),
            sandbox,
            outputs: home.all_outputs(),
            environment: environment(&config.environment, std::env::vars_os(), Marks::default()),
            shell: PathBuf::from("/bin/sh"),
        });
        let shell = Shell {
            shell: ShellKind::Sh,
            ..Shell::new(command, limit)
        };
        let action = Action::Shell(shell);
        match workbench.run(&action, &Lift::Nothing, OUTPUT, self.cancel, &mut |_| {}) {
            Outcome::Shell(out) => Ok(out),
            Outcome::Interrupted => Err("interrupted".into()),
            Outcome::Refused { reason } => Err(reason),
            Outcome::Failed(error) => Err(error.to_string()),
            other => Err(format!("the check did not run: {other:?}")),
        }
    }
}

/// Puts a file in the folder, in place of whatever has its name there.
fn put(folder: &Path, (name, text): &File) -> io::Result<()> {
    let path = folder.join(name);
    if path.symlink_metadata().is_ok_and(|m| m.is_dir()) {
        fs::remove_dir_all(&path)?;
    } else if let Err(e) = fs::remove_file(&path)
        && e.kind() != io::ErrorKind::NotFound
    {
        return Err(e);
    }
    fs::File::create_new(&path)?.write_all(text.as_bytes())
}

/// True when the file is a plain one that holds this text.
fn is_same(path: &Path, text: &str) -> bool {
    if !path.symlink_metadata().is_ok_and(|m| m.is_file()) {
        return false;
    }
    let mut found = Vec::new();
    let most = text.len() as u64 + 1;
    let read = fs::File::open(path).and_then(|f| f.take(most).read_to_end(&mut found));
    read.is_ok() && found == text.as_bytes()
}

fn ending(reason: &EndReason) -> String {
    match reason {
        EndReason::Done => "done".into(),
        EndReason::NoAnswer => "no answer".into(),
        EndReason::Failed(why) | EndReason::Refused(why) | EndReason::NoSandbox(why) => short(why),
        EndReason::StepLimit(_) => "step limit".into(),
        EndReason::Interrupted => "time limit".into(),
    }
}

/// The beginning of a text of others, in one line.
fn short(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(REASON) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// Stops a run when the user wants to stop, or when its time is over; ends when it is dropped.
struct Watch {
    _alive: Sender<()>,
}

impl Watch {
    fn start(user: &Cancel, run: &Cancel, limit: Duration) -> Self {
        let (alive, gone) = channel::<()>();
        let (user, run, began) = (user.clone(), run.clone(), Instant::now());
        thread::spawn(move || {
            while gone.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if user.is_cancelled() || began.elapsed() > limit {
                    run.cancel();
                    return;
                }
            }
        });
        Watch { _alive: alive }
    }
}

/// Nobody watches and nobody can be asked.
struct Silent;

impl Frontend for Silent {
    fn event(&mut self, _: &Event) {}

    fn ask(&mut self, _: &Question) -> Answer {
        Answer::No(None)
    }

    fn interactive(&self) -> bool {
        false
    }
}
