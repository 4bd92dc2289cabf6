//! `/hooks`: which programs run at moments of the session, and which wait for a look.

use super::Desk;
use super::trust::waiting;
use crate::agent::brought::RUNS_HOOK;
use crate::cli::render::sanitize::one_line;
use crate::project::hooks::{Hook, State};

/// Lists the hooks; with `trust`, those that nobody looked at run from now on.
pub(super) fn hooks(desk: &mut Desk, words: &str) -> String {
    if words == "trust" {
        let new = desk.session.hooks().new_ones().count();
        if new == 0 {
            return "there is none to trust".into();
        }
        return match desk.session.trust_hooks(desk.setup.home.path()) {
            Ok(()) if new == 1 => "that one runs from now on".into(),
            Ok(()) => format!("these {new} run from now on"),
            Err(why) => one_line(&why),
        };
    }
    if !words.is_empty() {
        return format!(
            "`{}` is not known; /hooks lists them, /hooks trust trusts them",
            one_line(words)
        );
    }
    if !*desk.setup.config.hooks {
        return "features.hooks is false, so none is read".into();
    }
    let mut lines: Vec<String> = desk.session.hooks().all().iter().map(line).collect();
    let waiting = waiting(desk, RUNS_HOOK);
    let of_project = !waiting.is_empty();
    lines.extend(waiting);
    if lines.is_empty() {
        return "there are no hooks; they stand in hooks.json of the home, or under [hooks] in config.toml".into();
    }
    if desk.session.hooks().new_ones().next().is_some() {
        lines.push("/hooks trust lets those run that are new".into());
    }
    if of_project {
        lines.push("/trust shows what the project brings and lets you trust it".into());
    }
    lines.join("\n")
}

fn line(hook: &Hook) -> String {
    let state = match hook.state {
        State::Trusted => "runs",
        State::New => "new",
        State::Off => "off",
    };
    format!(
        "{state:11}  {}  ({})",
        one_line(&hook.words()),
        one_line(&hook.source.display().to_string())
    )
}
