//! Hooks: programs of the user's that run at moments of a session. What they are, where they stand,
//! and which of them are trusted. What their answers mean is the agent's business.

mod run;
#[cfg(test)]
mod tests;

pub use run::{Answer, run};

use super::read_whole;
use crate::config::Config;
use crate::store::belongings::{digest_of, digest_of_text, files_named};
use crate::store::trust::Pins;
use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The most bytes of a file with hooks, and the most hooks in all.
const MOST_BYTES: u64 = 1 << 20;
const MOST_HOOKS: usize = 200;
/// How long a hook may take unless it says otherwise, and at most.
const TIMEOUT: Duration = Duration::from_secs(600);
const TIMEOUT_AT_END: Duration = Duration::from_secs(1);
const LONGEST: u64 = 24 * 3600;

/// A moment at which hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// A session begins, goes on, or begins anew.
    SessionStart,
    /// The user said something.
    UserPromptSubmit,
    /// Before a tool runs.
    PreToolUse,
    /// Before the person would be asked.
    PermissionRequest,
    /// After a tool ran.
    PostToolUse,
    /// Before the conversation is summarised.
    PreCompact,
    /// After that.
    PostCompact,
    /// A nested agent begins.
    SubagentStart,
    /// A nested agent would stop.
    SubagentStop,
    /// The model would stop.
    Stop,
    /// The session ends.
    SessionEnd,
}

impl Moment {
    /// Every moment: its name in files, and in the keys of trust.
    pub const ALL: [(Moment, &'static str, &'static str); 11] = [
        (Moment::SessionStart, "SessionStart", "session_start"),
        (
            Moment::UserPromptSubmit,
            "UserPromptSubmit",
            "user_prompt_submit",
        ),
        (Moment::PreToolUse, "PreToolUse", "pre_tool_use"),
        (
            Moment::PermissionRequest,
            "PermissionRequest",
            "permission_request",
        ),
        (Moment::PostToolUse, "PostToolUse", "post_tool_use"),
        (Moment::PreCompact, "PreCompact", "pre_compact"),
        (Moment::PostCompact, "PostCompact", "post_compact"),
        (Moment::SubagentStart, "SubagentStart", "subagent_start"),
        (Moment::SubagentStop, "SubagentStop", "subagent_stop"),
        (Moment::Stop, "Stop", "stop"),
        (Moment::SessionEnd, "SessionEnd", "session_end"),
    ];

    /// The name in files and in what a hook reads.
    pub fn name(self) -> &'static str {
        Self::row(self).1
    }

    /// The name in the keys of trust.
    fn key(self) -> &'static str {
        Self::row(self).2
    }

    fn row(self) -> (Moment, &'static str, &'static str) {
        Self::ALL
            .into_iter()
            .find(|(m, ..)| *m == self)
            .unwrap_or(Self::ALL[0])
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|(_, n, _)| *n == name)
            .map(|(m, ..)| m)
    }

    /// A matcher has something to match.
    fn is_matched(self) -> bool {
        !matches!(self, Moment::UserPromptSubmit | Moment::Stop)
    }
}

/// What a hook matches.
#[derive(Debug, Clone)]
enum Matching {
    All,
    Names(Vec<String>),
    Pattern(RegexMatcher),
}

impl Matching {
    fn of(text: &str) -> Result<Self, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '|');
        match text {
            "" | "*" => Ok(Matching::All),
            text if text.chars().all(plain) => Ok(Matching::Names(
                text.split('|').map(str::to_owned).collect(),
            )),
            text => RegexMatcher::new(text)
                .map(Matching::Pattern)
                .map_err(|e| format!("the matcher {text:?} is no regular expression: {e}")),
        }
    }

    fn fits(&self, name: &str) -> bool {
        match self {
            Matching::All => true,
            Matching::Names(names) => names.iter().any(|n| n == name),
            Matching::Pattern(pattern) => pattern.is_match(name.as_bytes()).unwrap_or(false),
        }
    }
}

/// Why a hook does or does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It runs.
    Trusted,
    /// The user has not looked at it yet, or it was changed since.
    New,
    /// The user turned it off.
    Off,
}

/// One hook.
#[derive(Debug, Clone)]
pub struct Hook {
    /// When it runs.
    pub moment: Moment,
    matching: Matching,
    /// The matcher as it was written.
    pub matcher: Option<String>,
    /// The command line, for the shell.
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
    /// What is shown while it runs.
    pub status: Option<String>,
    /// Nobody waits for it, and its answer is not read.
    pub is_async: bool,
    /// The file that it stands in.
    pub source: PathBuf,
    /// Its name in what is trusted: file, moment and place.
    pub key: String,
    /// The digest of its definition.
    pub digest: String,
    /// A project brings it.
    pub of_project: bool,
    /// Whether it runs.
    pub state: State,
    /// Files that its command names, with their digests when the session began: what is changed in
    /// the session is not run.
    files: Vec<(PathBuf, Option<String>)>,
}

impl Hook {
    /// In a line, for people.
    pub fn words(&self) -> String {
        let of = match self.matcher.as_deref() {
            None | Some("" | "*") => String::new(),
            Some(matcher) => format!(" of {matcher}"),
        };
        format!("{}{of}: {}", self.moment.name(), self.command)
    }

    /// The file of its command that was changed since the session began, if one was.
    pub fn changed_file(&self) -> Option<&Path> {
        let changed = |(path, then): &&(PathBuf, Option<String>)| digest_of(path) != *then;
        self.files
            .iter()
            .find(changed)
            .map(|(path, _)| path.as_path())
    }
}

/// The hooks of a session.
#[derive(Debug, Clone, Default)]
pub struct Hooks {
    all: Vec<Hook>,
    /// Files that cannot be read, in sentences.
    pub warnings: Vec<String>,
}

/// Where a file with hooks belongs.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    file: &'a Path,
    of_project: bool,
}

impl Hooks {
    /// The hooks of the user and of a trusted project. `all_trusted` runs those, too, that nobody
    /// looked at.
    pub fn load(config: &Config, home: &Path, cwd: &Path, all_trusted: bool) -> Self {
        let mut hooks = Hooks::default();
        if !*config.hooks {
            return hooks;
        }
        let own = home.join("hooks.json");
        if config.user_file.is_some() && own.symlink_metadata().is_ok() {
            hooks.add_json(Place {
                file: &own,
                of_project: false,
            });
        }
        if let Some(file) = &config.user_file {
            hooks.add_toml(Place {
                file,
                of_project: false,
            });
        }
        if config.trust.holds() {
            // What was written since the start is not what was trusted.
            let brought = &config.trust.brought;
            for file in brought.hooks.iter().filter(|f| brought.is_same(f)) {
                hooks.add_json(Place {
                    file,
                    of_project: true,
                });
            }
            for file in brought.configs.iter().filter(|f| brought.is_same(f)) {
                hooks.add_toml(Place {
                    file,
                    of_project: true,
                });
            }
        }
        hooks.all.truncate(MOST_HOOKS);
        let states = config.user_file.as_deref().and_then(states);
        let pins = Pins::read(home);
        let root = &config.trust.brought.root;
        for hook in &mut hooks.all {
            let said = states.as_ref().and_then(|s| s.get(&hook.key));
            let off = said.and_then(|s| s.get("enabled")) == Some(&Value::Bool(false));
            let by_config = said
                .and_then(|s| s.get("trusted_hash"))
                .and_then(Value::as_str);
            let by_config = by_config.map(|h| h.trim_start_matches("sha256:"));
            let known = pins.hooks.get(&hook.key).map(String::as_str);
            let digest = Some(hook.digest.as_str());
            // A project's hooks are a part of what the project is trusted with.
            hook.state = match off {
                true => State::Off,
                false if hook.of_project || all_trusted => State::Trusted,
                false if digest == known || digest == by_config => State::Trusted,
                false => State::New,
            };
            let files = files_named(&hook.command, cwd, root);
            hook.files = files
                .into_iter()
                .map(|f| (f.clone(), digest_of(&f)))
                .collect();
        }
        hooks
    }

    /// These in the place of older ones of the session. Where nothing changed, the files of a command
    /// are still held against what they were when the session began.
    pub fn in_place_of(mut self, old: &Hooks) -> Hooks {
        for hook in &mut self.all {
            let same = |h: &&Hook| h.key == hook.key && h.digest == hook.digest;
            if let Some(before) = old.all.iter().find(same) {
                hook.files.clone_from(&before.files);
            }
        }
        self
    }

    /// What one file of a project would run, for a question about it; a file that is broken is said.
    pub fn of_file(file: &Path) -> Hooks {
        let mut hooks = Hooks::default();
        let place = Place {
            file,
            of_project: true,
        };
        match file.extension().is_some_and(|e| e == "json") {
            true => hooks.add_json(place),
            false => hooks.add_toml(place),
        }
        hooks
    }

    /// All of them, in the order of their files.
    pub fn all(&self) -> &[Hook] {
        &self.all
    }

    /// Those that run.
    pub fn trusted(&self) -> impl Iterator<Item = &Hook> {
        self.all.iter().filter(|h| h.state == State::Trusted)
    }

    /// Those that the user has to look at first.
    pub fn new_ones(&self) -> impl Iterator<Item = &Hook> {
        self.all.iter().filter(|h| h.state == State::New)
    }

    /// Those that run at this moment. `names` are what a matcher is held against; one is enough.
    pub fn at(&self, moment: Moment, names: &[&str]) -> Vec<&Hook> {
        let fits = |hook: &&Hook| {
            hook.moment == moment
                && (!moment.is_matched() || names.iter().any(|n| hook.matching.fits(n)))
        };
        self.trusted().filter(fits).collect()
    }

    /// The user looked at these and wants them to run from now on.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub fn trust(&mut self, home: &Path) -> Result<(), String> {
        let new: Vec<(String, String)> = self
            .new_ones()
            .map(|h| (h.key.clone(), h.digest.clone()))
            .collect();
        Pins::change(home, |pins| pins.hooks.extend(new)).map_err(|e| e.to_string())?;
        for hook in self.all.iter_mut().filter(|h| h.state == State::New) {
            hook.state = State::Trusted;
        }
        Ok(())
    }

    fn add_json(&mut self, place: Place) {
        let read = || {
            let text = read_whole(place.file, MOST_BYTES).map_err(|e| e.to_string())?;
            serde_json::from_str::<Value>(&text).map_err(|e| e.to_string())
        };
        match read() {
            Ok(value) => self.add(value.get("hooks").unwrap_or(&Value::Null), place),
            Err(why) => self.trouble(place.file, &why),
        }
    }

    fn add_toml(&mut self, place: Place) {
        // A config that is broken was said already.
        if let Some(table) = toml_hooks(place.file) {
            self.add(&table, place);
        }
    }

    fn trouble(&mut self, file: &Path, why: &str) {
        self.warnings
            .push(format!("hooks of {}: {why}", file.display()));
    }

    /// The hooks of one file: `{Event: [{"matcher", "hooks": [handler…]}]}`. Unknown events are for
    /// other programs.
    fn add(&mut self, events: &Value, place: Place) {
        for (name, groups) in events.as_object().into_iter().flatten() {
            let Some(moment) = Moment::of(name) else {
                continue;
            };
            for (group, entry) in groups.as_array().into_iter().flatten().enumerate() {
                let handlers = entry.get("hooks").and_then(Value::as_array);
                for (at, handler) in handlers.into_iter().flatten().enumerate() {
                    let key = format!("{}:{}:{group}:{at}", place.file.display(), moment.key());
                    match hook(moment, entry, handler, key, place) {
                        Ok(hook) => self.all.push(hook),
                        Err(why) => self.trouble(place.file, &format!("{name}: {why}")),
                    }
                }
            }
        }
    }
}

fn hook(
    moment: Moment,
    entry: &Value,
    handler: &Value,
    key: String,
    place: Place,
) -> Result<Hook, String> {
    let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
    let kind = text(handler, "type");
    if kind.as_deref().is_some_and(|k| k != "command") {
        let kind = kind.unwrap_or_default();
        return Err(format!(
            "hooks of the type {kind:?} are not known; only \"command\" is"
        ));
    }
    let command = text(handler, "command").filter(|c| !c.trim().is_empty());
    let command = command.ok_or("a hook has no command")?;
    let matcher = text(entry, "matcher");
    let matching = Matching::of(matcher.as_deref().unwrap_or_default())?;
    let timeout = match handler.get("timeout").and_then(Value::as_f64) {
        Some(seconds) if seconds > 0.0 => Duration::from_secs_f64(seconds.min(LONGEST as f64)),
        Some(_) => return Err("the timeout of a hook is a number of seconds above 0".into()),
        None if moment == Moment::SessionEnd => TIMEOUT_AT_END,
        None => TIMEOUT,
    };
    let is_async = handler
        .get("async")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let status = text(handler, "statusMessage");
    let definition = json!({
        "async": is_async, "command": command, "event": moment.key(), "matcher": matcher,
        "statusMessage": status, "timeout": timeout.as_millis() as u64,
    });
    Ok(Hook {
        moment,
        matching,
        matcher,
        command,
        timeout,
        status,
        is_async,
        source: place.file.to_owned(),
        key,
        digest: digest_of_text(&definition.to_string()),
        of_project: place.of_project,
        state: State::New,
        files: Vec::new(),
    })
}

/// The `[hooks]` table of a config file, without what it says of trust.
fn toml_hooks(file: &Path) -> Option<Value> {
    let text = read_whole(file, MOST_BYTES).ok()?;
    let table: toml::Table = text.parse().ok()?;
    let mut hooks = serde_json::to_value(table.get("hooks")?).ok()?;
    hooks.as_object_mut()?.shift_remove("state");
    Some(hooks)
}

/// `[hooks.state."KEY"]` of the user's config.
fn states(file: &Path) -> Option<Map<String, Value>> {
    let text = read_whole(file, MOST_BYTES).ok()?;
    let table: toml::Table = text.parse().ok()?;
    let states = serde_json::to_value(table.get("hooks")?.get("state")?).ok()?;
    match states {
        Value::Object(states) => Some(states),
        _ => None,
    }
}
