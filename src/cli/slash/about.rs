//! What the session is and what it runs with.

use super::Desk;
use crate::agent::doctor::Case;
use crate::agent::session::Session;
use crate::cli::commands::doctor;
use crate::cli::render::phrases::{strength_text, thousands};
use crate::cli::render::sanitize::one_line;
use crate::config::Row;
use std::fmt::Write;

pub(super) fn status(desk: &mut Desk) -> String {
    let info = desk.session.info().clone();
    let strength = desk.session.workbench().sandbox().strength();
    let session: &Session = desk.session;
    let effort = session.effort().map(|e| format!(", effort {e}"));
    let network = match info.network {
        true => ", with the network",
        false => "",
    };
    let planning = match session.is_planning() {
        true => " (planning: nothing is changed until a plan is agreed on)",
        false => "",
    };
    let (used, window) = (
        session.prompt_tokens(),
        u64::from(session.budget().window()),
    );
    let mut rows = vec![
        (
            "model",
            format!(
                "{} at {} ({} wire){}",
                info.model,
                info.provider.1,
                info.wire,
                effort.unwrap_or_default()
            ),
        ),
        ("provider", info.provider.0.clone()),
        (
            "window",
            format!("{} tokens ({})", thousands(window), info.window.1),
        ),
        (
            "used",
            format!(
                "{} tokens, {} %",
                thousands(used),
                used * 100 / window.max(1)
            ),
        ),
        ("harness", format!("{}, {}", info.harness.0, info.harness.1)),
        (
            "sandbox",
            format!("{}{network}", strength_text(info.sandbox, &strength)),
        ),
        ("asks", format!("{}{planning}", info.approval)),
        ("trust", trust_of(desk.setup)),
        ("folder", info.cwd.display().to_string()),
    ];
    if let Some(title) = session.title() {
        rows.push(("name", title.to_owned()));
    }
    rows.push((
        "session",
        match &info.file {
            Some(file) => file.display().to_string(),
            None => "not kept".into(),
        },
    ));
    let usage = session.usage();
    let cached = usage.cached.filter(|c| *c > 0);
    let cached = cached.map(|c| format!(" ({} cached)", thousands(c)));
    rows.push((
        "tokens",
        format!(
            "{} in{}, {} out",
            thousands(usage.input),
            cached.unwrap_or_default(),
            thousands(usage.output)
        ),
    ));
    rows.extend(session.cost().words().map(|words| ("cost", words)));
    let mut out = String::new();
    for (name, value) in rows {
        let _ = writeln!(out, "{name:8}  {}", one_line(&value));
    }
    out.trim_end().to_owned()
}

/// Whether what the project brings counts, and where a person decides on it.
fn trust_of(setup: &super::Setup) -> String {
    let trust = &setup.config.trust;
    let next = match trust.brought.is_empty() || trust.holds() {
        true => "",
        false => " (/trust shows it)",
    };
    format!("{}{next}", super::trust::told(trust))
}

/// A row a part: tokens and their share of the window.
pub(super) fn context(session: &Session) -> String {
    let window = u64::from(session.budget().window());
    let parts = session.context();
    let used: u64 = parts.iter().map(|(_, tokens)| tokens).sum();
    let free = ("free", window.saturating_sub(used));
    let row = |(name, tokens): &(&str, u64)| {
        let percent = tokens * 100 / window.max(1);
        format!("{name:12} {:>9}  {percent:>3} %", thousands(*tokens))
    };
    let mut rows: Vec<String> = parts.iter().map(row).collect();
    rows.push(row(&free));
    rows.push(format!("{:12} {:>9}", "window", thousands(window)));
    rows.join("\n")
}

/// The findings are printed as they come.
pub(super) fn doctor(desk: &mut Desk) -> String {
    let config = match desk.config() {
        Ok(config) => config,
        Err(why) => return one_line(&why.to_string()),
    };
    let cwd = desk.session.info().cwd.clone();
    let case = Case {
        config: &config,
        home: &desk.setup.home,
        cwd: &cwd,
        chat_completions: desk.options.chat_completions,
        offline: desk.setup.offline.as_ref(),
    };
    doctor::look(&case, desk.options, desk.session.cancel());
    String::new()
}

/// Each setting with its value and who set it; at the end the names of those that nobody set.
pub(super) fn settings(desk: &Desk) -> String {
    let rows = desk.setup.config.rows();
    written(&rows, &in_force(desk.session))
}

/// Settings that the session may have in another way than the config: resumed, or changed in it.
fn in_force(session: &Session) -> Vec<(&'static str, String)> {
    let info = session.info();
    let (provider, model) = session.model();
    let text = |text: &str| format!("{text:?}");
    let mut live = vec![
        ("model", text(model)),
        ("model_provider", text(provider)),
        ("harness", text(info.harness.0)),
        ("harness_size", text(info.harness.1)),
        (
            "model_context_window",
            session.budget().window().to_string(),
        ),
        ("sandbox_mode", text(info.sandbox.name())),
        ("approval_policy", text(info.approval)),
        (
            "sandbox_workspace_write.network_access",
            info.network.to_string(),
        ),
    ];
    if let Some(effort) = session.effort() {
        live.push(("model_reasoning_effort", text(effort)));
    }
    live
}

fn written(rows: &[Row], live: &[(&'static str, String)]) -> String {
    let mut out = String::new();
    let mut unset = Vec::new();
    for row in rows {
        let now = live.iter().find(|(key, _)| *key == row.key);
        let (value, source) = match (&row.value, now) {
            (Some(value), Some((_, now))) if value == now => (value, row.source.to_string()),
            (_, Some((_, now))) => (now, "this session".into()),
            (Some(value), None) => (value, row.source.to_string()),
            (None, None) => {
                unset.push(row.key.as_str());
                continue;
            }
        };
        let _ = writeln!(
            out,
            "{} = {}  ({})",
            one_line(&row.key),
            one_line(value),
            one_line(&source)
        );
    }
    let _ = write!(out, "not set: {}", unset.join(", "));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Source;

    #[test]
    fn what_the_session_has_in_another_way_is_said_to_be_its_own() {
        let row = |key: &str, value: Option<&str>, source| Row {
            key: key.into(),
            value: value.map(str::to_owned),
            source,
        };
        let flag = Source::Flag("-m a".into());
        let rows = [
            row("model", Some("\"a\""), flag.clone()),
            row("harness", None, Source::Default),
            row("max_steps", None, Source::Default),
            row("offline", Some("false"), Source::Default),
        ];
        let live = [("model", "\"a\"".to_owned()), ("harness", "\"pi\"".into())];
        assert_eq!(
            written(&rows, &live),
            "model = \"a\"  (-m a)\nharness = \"pi\"  (this session)\noffline = false  (default)\nnot set: max_steps"
        );
        let other = [("model", "\"b\"".to_owned())];
        assert!(written(&rows, &other).starts_with("model = \"b\"  (this session)\n"));
    }
}
