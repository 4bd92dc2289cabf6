//! `interpreter harness bench`: built-in tasks through each harness, on the user's own model.

mod export;
mod place;
mod score;
mod tasks;
mod trial;

use super::session::Setup;
use crate::agent::connect::{Connection, Wish, connect};
use crate::agent::event::{Answer, Event, Frontend, Question};
use crate::agent::open;
use crate::cli::args::Options;
use crate::cli::render::sanitize::one_line;
use crate::cli::signals::Signals;
use crate::cli::{Failure, exit, say};
use crate::config::{self, Config, Overrides, Setting, Source, edit};
use crate::harnesses::{self, Harness};
use crate::sandbox::{Approval, Mode};
use crate::words::nearest;
use place::Place;
use score::Score;
use std::io::Write;
use tasks::{Language, TASKS, Task};
use trial::Ground;

/// How often every harness tries every task unless `--runs` says otherwise.
const RUNS: u32 = 3;
/// The most replies with tool calls of one try.
const STEPS: u32 = 20;

/// Everything that was measured, and under which conditions.
struct Bench {
    /// Provider, model and window.
    connection: Connection,
    /// The tasks that were run.
    tasks: Vec<&'static Task>,
    /// Tasks that were left out, each with the reason.
    left_out: Vec<(&'static Task, String)>,
    /// How often each was to be tried.
    runs: u32,
    /// One row per harness.
    scores: Vec<Score>,
    /// False when it was interrupted.
    complete: bool,
}

/// Runs the tasks and prints what came of them. An interrupt ends it with what there is.
///
/// # Errors
/// One sentence: an unknown task or harness, no server, no model, no sandbox, an unwritable folder.
pub fn run(options: &Options) -> Result<u8, Failure> {
    let tasks = chosen_tasks(&options.tasks)?;
    if let Some(folder) = &options.export {
        return export::write(folder, &tasks);
    }
    let mut setup = Setup::load(options)?;
    setup.hold_offline(None)?;
    setup.tell_offline(&mut Teller);
    let harnesses = named_harnesses(&setup.config)?;
    let signals = Signals::install(true).map_err(|e| format!("signals cannot be handled: {e}"))?;
    let ground = Ground {
        place: Place::new()?,
        home: &setup.home,
        cancel: &signals.cancel,
        keep: options.debug,
    };
    let mut bench = prepare(&setup.config, &ground, tasks, harnesses)?;
    bench.runs = options.runs.unwrap_or(RUNS);
    bench.measure(&setup.config, &ground);
    bench.scores.sort_by(Score::better);
    let saved = match options.save {
        true => bench.save(&setup),
        false => Ok(None),
    };
    // What took hours to measure is printed first, whatever became of the file.
    let id = saved.as_ref().ok().and_then(|s| s.as_deref());
    match options.json {
        true => say(&format!("{}\n", score::json(&bench, id)))?,
        false => say(&score::table(&bench))?,
    };
    saved?;
    let measured = bench.scores.iter().any(|s| !s.trials.is_empty());
    Ok(match (bench.complete, measured) {
        (true, true) => exit::OK,
        (true, false) => exit::FAILED,
        (false, _) if signals.is_terminated() => exit::TERMINATED,
        (false, _) => exit::INTERRUPTED,
    })
}

/// The tasks of those names; all of them when none is named.
fn chosen_tasks(names: &[String]) -> Result<Vec<&'static Task>, Failure> {
    if names.is_empty() {
        return Ok(TASKS.iter().collect());
    }
    let known = || TASKS.iter().map(|t| t.name);
    if let Some(name) = names.iter().find(|n| !known().any(|k| k == *n)) {
        let near = nearest(name, known())
            .map(|n| format!("did you mean {n}? "))
            .unwrap_or_default();
        return Err(usage(format!(
            "there is no task `{name}`; {near}known are {}",
            known().collect::<Vec<_>>().join(", ")
        )));
    }
    let named = |task: &&Task| names.iter().any(|n| n == task.name);
    Ok(TASKS.iter().filter(named).collect())
}

/// The word of `--harness` for every harness.
const EVERY: &str = "all";
/// Harnesses that are tried beside the model's own when none is named: small ones, which most local
/// models do best in. All of them would take hours on a laptop.
const LIGHT: [&str; 4] = ["minimal", "mini-swe-agent", "pi", "claude-code-bare"];

/// The harnesses of `--harness A,B`. `None` when the flag is not given.
fn named_harnesses(config: &Config) -> Result<Option<Vec<&'static dyn Harness>>, Failure> {
    let list = match (&config.harness.value, &config.harness.source) {
        (Some(list), Source::Flag(_)) => list,
        _ => return Ok(None),
    };
    if list == EVERY {
        return Ok(Some(harnesses::ALL.to_vec()));
    }
    let mut chosen: Vec<&'static dyn Harness> = Vec::new();
    for id in list.split(',').map(str::trim).filter(|id| !id.is_empty()) {
        let harness = open::known_harness(id).map_err(usage)?;
        if !chosen.iter().any(|h| h.id() == harness.id()) {
            chosen.push(harness);
        }
    }
    match chosen.is_empty() {
        true => Err(usage("--harness names no harness".into())),
        false => Ok(Some(chosen)),
    }
}

/// The model's own harness and the light ones.
fn usual_harnesses(
    config: &Config,
    connection: &Connection,
) -> Result<Vec<&'static dyn Harness>, Failure> {
    let family = connection.info.family.as_deref();
    let own = open::usual_harness(config, &connection.provider, &connection.model, family)?;
    let light = LIGHT.iter().filter_map(|id| harnesses::by_id(id));
    Ok(std::iter::once(own)
        .chain(light.filter(|h| h.id() != own.id()))
        .collect())
}

/// Finds the model, and what is installed.
fn prepare(
    config: &Config,
    ground: &Ground,
    tasks: Vec<&'static Task>,
    harnesses: Option<Vec<&'static dyn Harness>>,
) -> Result<Bench, Failure> {
    for warning in &config.warnings {
        tell(&format!("warning: {warning}\n"));
    }
    let wish = Wish {
        // What a harness with tools makes of such a model is seen when it is tried.
        without_tools: true,
        ..Wish::default()
    };
    let connection = connect(config, &wish, ground.cancel, &mut Teller)?;
    let harnesses = match harnesses {
        Some(named) => named,
        None => usual_harnesses(config, &connection)?,
    };
    let config = settings(config, &connection.model, "");
    let mut bench = Bench {
        tasks: Vec::new(),
        left_out: Vec::new(),
        runs: RUNS,
        scores: harnesses.iter().map(|h| Score::new(*h)).collect(),
        complete: true,
        connection,
    };
    let mut probed: Vec<(Language, Result<(), String>)> = Vec::new();
    for task in tasks {
        let known = probed.iter().find(|(l, _)| *l == task.language);
        let found = match known {
            Some((_, found)) => found.clone(),
            None => {
                let found = ground.probe(&config, &task.language)?;
                probed.push((task.language, found.clone()));
                found
            }
        };
        match found {
            Ok(()) => bench.tasks.push(task),
            Err(why) => {
                tell(&format!("{} is left out: {why}\n", task.name));
                bench.left_out.push((task, why));
            }
        }
    }
    Ok(bench)
}

impl Bench {
    /// Tries everything in turn.
    fn measure(&mut self, config: &Config, ground: &Ground) {
        let order = order(self.runs, self.tasks.len(), self.scores.len());
        let c = &self.connection;
        tell(&format!(
            "{} on {}, window {}: {} tasks, {} harnesses, {} runs, so {} tries of at most {} minutes\n",
            one_line(&c.model),
            one_line(&c.provider.name),
            c.window.tokens,
            self.tasks.len(),
            self.scores.len(),
            self.runs,
            order.len(),
            trial::LIMIT.as_secs() / 60,
        ));
        for (number, &(round, task, row)) in order.iter().enumerate() {
            let (task, score) = (self.tasks[task], &mut self.scores[row]);
            if score.dropped.is_some() || ground.cancel.is_cancelled() {
                continue;
            }
            let id = score.harness.id();
            tell(&format!(
                "[{}/{}] {:15} {id:16} run {}: ",
                number + 1,
                order.len(),
                task.name,
                round + 1,
            ));
            match ground.run(&settings(config, &c.model, id), task, round) {
                Ok(Some(trial)) => {
                    tell(&format!("{}\n", trial.line()));
                    score.trials.push(trial);
                }
                Ok(None) => tell("interrupted\n"),
                Err(why) => {
                    tell(&format!(
                        "{id} is left out from here on: {}\n",
                        one_line(&why)
                    ));
                    score.dropped = Some(why);
                }
            }
        }
        self.complete = !ground.cancel.is_cancelled();
    }

    /// The harness that solved most, and the fastest of those; none when nothing was solved.
    fn best(&self) -> Option<&Score> {
        let usable = |s: &&Score| s.dropped.is_none() && s.solved() > 0;
        self.scores.iter().find(usable)
    }

    /// Writes the best harness into the user's config. Gives its id.
    fn save(&self, setup: &Setup) -> Result<Option<String>, Failure> {
        let best = match self.best() {
            Some(best) if self.complete => best,
            Some(_) => {
                tell("nothing is saved, since the comparison was interrupted\n");
                return Ok(None);
            }
            None => {
                tell("nothing is saved, since no harness solved a task\n");
                return Ok(None);
            }
        };
        let (model, id) = (&self.connection.model, best.harness.id());
        let file = setup.home.config_file();
        edit::set(&file, &["model_harness"], model, id)?;
        tell(&format!(
            "saved: {} uses {id} from now on ([model_harness] in {})\n",
            one_line(model),
            file.display()
        ));
        let now = config::load(setup.home.path(), &setup.cwd, &Overrides::default())?;
        if let Setting {
            value: Some(other),
            source,
        } = now.harness
        {
            tell(&format!(
                "but `harness = {other:?}` in {source} wins over it; remove that line\n"
            ));
        }
        Ok(Some(id.to_owned()))
    }
}

/// All tries as run, task and harness, each from 0. The harnesses change places with every task, so
/// that load, heat and the server's cache treat them alike.
fn order(runs: u32, tasks: usize, harnesses: usize) -> Vec<(u32, usize, usize)> {
    let mut order = Vec::new();
    for run in 0..runs {
        for task in 0..tasks {
            let first = run as usize + task;
            let turns = (0..harnesses).map(|turn| (run, task, (first + turn) % harnesses));
            order.extend(turns);
        }
    }
    order
}

/// The user's settings, but everything that decides a comparison is the same for everybody.
fn settings(config: &Config, model: &str, harness: &str) -> Config {
    fn fixed<T>(value: T) -> Setting<T> {
        Setting {
            value,
            source: Source::Flag("harness bench".into()),
        }
    }
    let mut config = config.clone();
    config.model = fixed(Some(model.to_owned()));
    config.harness = fixed(Some(harness.to_owned()));
    config.max_steps = fixed(Some(STEPS));
    config.approval_policy = fixed(Approval::Never);
    config.sandbox_mode = fixed(Mode::WorkspaceWrite);
    config.writable_roots = fixed(Vec::new());
    config.network_access = fixed(false);
    // Compilers need a place for their own files.
    config.exclude_slash_tmp = fixed(false);
    config.exclude_tmpdir_env_var = fixed(false);
    config.log_dir = fixed(None);
    config
}

/// Says what the search for a model has to say, and answers no.
struct Teller;

impl Frontend for Teller {
    fn event(&mut self, event: &Event) {
        if let Event::Warning(text) | Event::Note(text) = event {
            tell(&format!("{}\n", one_line(text)));
        }
    }

    fn ask(&mut self, _: &Question) -> Answer {
        Answer::No(None)
    }

    fn interactive(&self) -> bool {
        false
    }
}

fn usage(message: String) -> Failure {
    Failure {
        message,
        code: exit::USAGE,
    }
}

/// Progress, on standard error at once.
fn tell(text: &str) {
    let mut err = std::io::stderr();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_harness_meets_every_task_in_every_run_and_none_is_always_first() {
        let order = order(3, 4, 2);
        assert_eq!(order.len(), 24);
        let mut all = order.clone();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 24);
        let first = order.iter().step_by(2).filter(|t| t.2 == 0);
        assert_eq!(first.count(), 6);
    }
}
