//! Slash commands: one table of name, help and action.

mod about;
mod hooks;
mod mcp;
mod model;
mod permissions;
mod put;
mod sessions;
mod skills;
mod trust;
mod work;

pub(in crate::cli) use model::choose_model;

use super::args::Options;
use super::commands::session::Setup;
use super::editor::KEYS;
use super::render::sanitize::one_line;
use super::undo;
use crate::agent::event::Frontend;
use crate::agent::session::Session;
use crate::config::{Config, ConfigError};
use crate::harnesses::Input;
use crate::project::compare::Compared;
use crate::words::nearest;

/// What a command leaves to do.
pub enum Done {
    /// Print this, if it is anything.
    Said(String),
    /// Print these words, and then changed files, page by page.
    Show(String, Vec<Compared>),
    /// Go through the parts of the last turn's changes.
    Parts,
    /// Say this to the model.
    Turn(Input),
    /// Do this, which takes its time as a turn does; then print what it says, if it is anything.
    Work(Work),
    /// Leave the session.
    Leave,
}

/// What takes its time.
pub type Work = Box<dyn FnOnce(&mut Session, &mut dyn Frontend) -> String>;

/// What a command works with.
pub struct Desk<'a> {
    /// The session. A command may put another one in its place.
    pub session: &'a mut Session,
    /// Who watches and is asked.
    pub front: &'a mut dyn Frontend,
    /// Home, settings and folder of the program. A decision of the person may change the settings.
    pub setup: &'a mut Setup,
    /// The flags of the command line.
    pub options: &'a Options,
}

impl Desk<'_> {
    /// The settings with what was chosen in this session: model, harness, effort.
    fn config(&self) -> Result<Config, ConfigError> {
        let (provider, model) = self.session.model();
        let mut changes = vec![
            ("model", model.into()),
            ("model_provider", provider.into()),
            ("oss", false.into()),
            ("harness", self.session.info().harness.0.into()),
        ];
        if let Some(effort) = self.session.effort() {
            changes.push(("model_reasoning_effort", effort.into()));
        }
        self.setup.config.changed(&changes, "this session")
    }
}

/// One command.
pub struct Slash {
    /// Its name without the slash.
    pub name: &'static str,
    /// Another name.
    pub alias: Option<&'static str>,
    /// What may stand after it.
    pub usage: &'static str,
    /// What it does, in a line.
    pub help: &'static str,
    /// The words that may stand after it.
    pub complete: Option<fn() -> Vec<String>>,
    run: fn(&mut Desk, &str) -> Done,
}

const fn row(
    name: &'static str,
    usage: &'static str,
    help: &'static str,
    run: fn(&mut Desk, &str) -> Done,
) -> Slash {
    Slash {
        name,
        alias: None,
        usage,
        help,
        complete: None,
        run,
    }
}

impl Slash {
    const fn or(self, alias: &'static str) -> Slash {
        Slash {
            alias: Some(alias),
            ..self
        }
    }

    const fn with(self, words: fn() -> Vec<String>) -> Slash {
        Slash {
            complete: Some(words),
            ..self
        }
    }
}

/// Every command, in the order of the help.
#[rustfmt::skip]
pub const COMMANDS: &[Slash] = &[
    row("help", "", "list these commands", |_, _| Done::Said(help())),
    row("status", "", "model, window, sandbox, trust, session, tokens", |d, _| Done::Said(about::status(d))),
    row("model", "[PROVIDER] [MODEL] [EFFORT]", "go on with another model; alone, choose it", |d, w| Done::Said(model::model(d, w))).with(model::words),
    row("harness", "[ID]", "go on as another agent; alone, list them", |d, w| Done::Said(model::harness(d, w))).with(model::harness_ids),
    row("permissions", "[SANDBOX] [WHEN]", "sandbox and approvals of this session", |d, w| Done::Said(permissions::permissions(d, w))).or("approvals").with(permissions::words),
    row("context", "", "what fills the window", |d, _| Done::Said(about::context(d.session))),
    row("compact", "", "replace the conversation by a summary", |_, _| work::compact()),
    row("review", "[base B | commit SHA | WORDS]", "look for faults in a change; alone, the uncommitted one", |d, w| work::review(d, w)).with(|| ["base", "commit", "uncommitted"].map(str::to_owned).into()),
    row("init", "", "let the model write AGENTS.md", |d, _| work::init(d)),
    row("diff", "[--turn | --pick] [PATH]", "what is changed: in all, by a turn, or in parts", |d, w| undo::diff(d.session, w)),
    row("undo", "[N | FILE]", "take back the last turn, N turns, or one file of it", |d, w| undo::undo(d.session, w)),
    row("redo", "[N]", "put back what /undo took", |d, w| undo::redo(d.session, w)),
    row("plan", "[on | off]", "nothing is changed until a plan is agreed on", |d, w| Done::Said(work::plan(d, w))).with(|| vec!["on".into(), "off".into()]),
    row("new", "[WORDS]", "begin another session", sessions::new),
    row("clear", "", "the same, on a cleared screen", |d, _| sessions::clear(d)),
    row("resume", "[ID | NAME | all]", "go on with a stored session", |d, w| Done::Said(sessions::resume(d, w))),
    row("fork", "[ID | NAME]", "go on with a copy of this session, or of that one", |d, w| Done::Said(sessions::fork(d, w))),
    row("rename", "NAME", "give this session a name", |d, w| Done::Said(sessions::rename(d, w))),
    row("sessions", "[all]", "list the stored sessions", |d, w| Done::Said(sessions::list(d, w))),
    row("skills", "[NAME | on|off NAME [save]]", "what the model can read by name; one whole; on or off", |d, w| Done::Said(skills::skills(d, w))).with(skills::words),
    row("trust", "[yes | no]", "what this project brings, and whether it counts", trust::trust).with(trust::words),
    row("hooks", "[trust]", "programs that run at moments of a session; trust them", |d, w| Done::Said(hooks::hooks(d, w))),
    row("ps", "", "commands that still run", |d, _| Done::Said(work::jobs(d.session))),
    row("stop", "[NUMBER]", "end such a command; alone, all of them", |d, w| Done::Said(work::stop(d, w))),
    row("copy", "", "put the last answer on the clipboard", |d, _| Done::Said(put::copy(d))),
    row("export", "[FILE]", "write the conversation as Markdown", |d, w| Done::Said(put::export(d, w))),
    row("mcp", "[tools]", "MCP servers, and the tools that they give", |d, w| Done::Said(mcp::mcp(d, w))),
    row("doctor", "", "check server, model and sandbox", |d, _| Done::Said(about::doctor(d))),
    row("debug-config", "", "every setting and where it comes from", |d, _| Done::Said(about::settings(d))),
    row("exit", "", "leave; the session can be resumed", |_, _| Done::Leave).or("quit"),
];

/// The command of a name or an alias.
pub fn by_name(name: &str) -> Option<&'static Slash> {
    let is = |c: &&Slash| c.name == name || c.alias == Some(name);
    COMMANDS.iter().find(is)
}

/// Runs a line that begins with a slash.
pub fn run(line: &str, desk: &mut Desk) -> Done {
    let line = line.trim_start_matches('/').trim();
    let (name, words) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match by_name(name) {
        Some(command) => (command.run)(desk, words.trim()),
        None => {
            let names = COMMANDS.iter().flat_map(|c| [Some(c.name), c.alias]);
            let near = nearest(name, names.flatten());
            let near = near
                .map(|n| format!("; did you mean /{n}?"))
                .unwrap_or_default();
            Done::Said(format!(
                "there is no command /{}{near} (/help lists them)",
                one_line(name)
            ))
        }
    }
}

fn help() -> String {
    let call = |c: &Slash| {
        let alias = c.alias.map(|a| format!(", /{a}")).unwrap_or_default();
        format!("/{}{alias} {}", c.name, c.usage)
            .trim_end()
            .to_owned()
    };
    // A long call has its explanation below it.
    const WIDTH: usize = 22;
    let line = |c: &Slash| match call(c) {
        call if call.len() <= WIDTH => format!("{call:WIDTH$}  {}", c.help),
        call => format!("{call}\n{:WIDTH$}  {}", "", c.help),
    };
    let keys = KEYS
        .iter()
        .map(|(key, help)| format!("{key:WIDTH$}  {help}"));
    let commands = COMMANDS.iter().map(line);
    let lines: Vec<String> = commands.chain([String::new()]).chain(keys).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_of_one_command_and_the_help_fits() {
        let mut names: Vec<&str> = COMMANDS
            .iter()
            .flat_map(|c| [Some(c.name), c.alias])
            .flatten()
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        for line in help().lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
