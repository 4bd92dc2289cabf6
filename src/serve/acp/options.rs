//! What a person can choose for a session: mode, model, harness, reasoning effort.

use crate::agent::permissions::Permissions;
use crate::config::keys::EFFORTS;
use crate::harnesses;
use crate::sandbox::{Approval, Mode};
use serde_json::{Value, json};

/// The word for the effort that the server has by itself.
pub const DEFAULT_EFFORT: &str = "default";
/// Names of effort that differ from each other; the others are read as the last one.
const EFFORTS_SHOWN: usize = 5;

/// A mode as editors know it: what it is called in the protocol, what it is, and what it means.
struct Row(&'static str, Mode, &'static str, &'static str);

/// Every mode.
#[rustfmt::skip]
const MODES: [Row; 3] = [
    Row("read-only", Mode::ReadOnly, "Read only", "Files are read and harmless commands run; for anything else you are asked"),
    Row("workspace-write", Mode::WorkspaceWrite, "Write in the workspace", "Files in the workspace are changed; you are asked before anything leaves it"),
    Row("full-access", Mode::DangerFullAccess, "Full access", "Nothing is asked and commands run without a sandbox"),
];

/// What may be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Sandbox and questions.
    Mode,
    /// The model.
    Model,
    /// The agent that it is taken for.
    Harness,
    /// How long it may think.
    Effort,
}

impl Choice {
    /// By its id in the protocol.
    pub fn by_id(id: &str) -> Option<Self> {
        match id {
            "mode" => Some(Choice::Mode),
            "model" => Some(Choice::Model),
            "harness" => Some(Choice::Harness),
            "reasoning_effort" => Some(Choice::Effort),
            _ => None,
        }
    }
}

/// What is chosen now, and what else there is.
#[derive(Debug, Clone, PartialEq)]
pub struct Choices {
    /// The mode.
    pub mode: Mode,
    /// The model.
    pub model: String,
    /// Every model of the server, as far as it told them.
    pub models: Vec<String>,
    /// The harness.
    pub harness: &'static str,
    /// The effort; `None`: the server's own.
    pub effort: Option<String>,
    /// The model is known not to think.
    pub thoughtless: bool,
}

/// The mode of that id; the sandbox's own names are understood too.
pub fn mode(id: &str) -> Option<Mode> {
    let row = MODES.iter().find(|row| row.0 == id);
    row.map(|row| row.1).or_else(|| Mode::from_name(id))
}

/// The id of a mode.
pub fn mode_id(mode: Mode) -> &'static str {
    let row = MODES.iter().find(|row| row.1 == mode);
    row.map_or(mode.name(), |row| row.0)
}

/// What a mode lets a session do. `usual` are the permissions of the settings.
pub fn permitted(mode: Mode, usual: &Permissions) -> Permissions {
    let unlimited = usual.mode == Mode::DangerFullAccess;
    Permissions {
        mode,
        network: match mode {
            Mode::ReadOnly => false,
            Mode::WorkspaceWrite => usual.network && !unlimited,
            Mode::DangerFullAccess => true,
        },
        approval: match mode {
            Mode::DangerFullAccess => Approval::Never,
            // Who runs without a fence has no questions, which a fence has to ask.
            _ if unlimited && usual.approval == Approval::Never => Approval::OnRequest,
            _ => usual.approval,
        },
        roots: usual.roots.clone(),
    }
}

impl Choices {
    /// The `modes` of a session.
    pub fn modes(&self) -> Value {
        let modes = MODES
            .iter()
            .map(|Row(id, _, name, about)| json!({"id": id, "name": name, "description": about}));
        json!({"currentModeId": mode_id(self.mode), "availableModes": modes.collect::<Vec<_>>()})
    }

    /// The `configOptions` of a session.
    pub fn options(&self) -> Value {
        let modes = MODES
            .iter()
            .map(|Row(id, _, name, about)| value(id, name, about));
        let mut models: Vec<&str> = self.models.iter().map(String::as_str).collect();
        if !models.contains(&self.model.as_str()) {
            models.insert(0, &self.model);
        }
        let models = models.into_iter().map(|name| value(name, name, ""));
        let harnesses = harnesses::ALL
            .iter()
            .map(|h| value(h.id(), h.id(), h.about()));
        let mut list = vec![
            select("mode", "Mode", "mode", mode_id(self.mode), modes.collect()),
            select("model", "Model", "model", &self.model, models.collect()),
            select(
                "harness",
                "Harness",
                "_harness",
                self.harness,
                harnesses.collect(),
            ),
        ];
        if !self.thoughtless {
            let now = self.effort.as_deref().unwrap_or(DEFAULT_EFFORT);
            let mut names = vec![DEFAULT_EFFORT];
            names.extend(EFFORTS.iter().take(EFFORTS_SHOWN));
            if !names.contains(&now) {
                names.push(now);
            }
            let names = names.into_iter().map(|name| value(name, name, ""));
            list.push(select(
                "reasoning_effort",
                "Reasoning effort",
                "thought_level",
                now,
                names.collect(),
            ));
        }
        json!(list)
    }
}

fn select(id: &str, name: &str, category: &str, now: &str, options: Vec<Value>) -> Value {
    json!({"id": id, "name": name, "category": category, "type": "select", "currentValue": now, "options": options})
}

fn value(id: &str, name: &str, about: &str) -> Value {
    match about {
        "" => json!({"value": id, "name": name}),
        about => json!({"value": id, "name": name, "description": about}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual(mode: Mode, approval: Approval) -> Permissions {
        Permissions {
            mode,
            network: mode == Mode::DangerFullAccess,
            approval,
            roots: vec!["/w".into()],
        }
    }

    #[test]
    fn a_mode_has_one_id_and_is_known_by_both_names() {
        for id in ["read-only", "workspace-write", "full-access"] {
            assert_eq!(mode(id).map(mode_id), Some(id));
        }
        assert_eq!(mode("danger-full-access"), Some(Mode::DangerFullAccess));
        assert_eq!(mode("yolo"), None);
    }

    #[test]
    fn full_access_asks_nothing_and_the_others_ask_as_the_settings_say() {
        let of = |mode, approval| permitted(mode, &usual(Mode::WorkspaceWrite, approval));
        let full = of(Mode::DangerFullAccess, Approval::Untrusted);
        assert_eq!((full.approval, full.network), (Approval::Never, true));
        let write = of(Mode::WorkspaceWrite, Approval::Untrusted);
        assert_eq!(
            (write.approval, write.network),
            (Approval::Untrusted, false)
        );
        let back = permitted(
            Mode::ReadOnly,
            &usual(Mode::DangerFullAccess, Approval::Never),
        );
        assert_eq!((back.approval, back.network), (Approval::OnRequest, false));
    }

    #[test]
    fn options_hold_what_is_chosen_and_no_effort_for_a_model_without_thoughts() {
        let mut choices = Choices {
            mode: Mode::WorkspaceWrite,
            model: "b".into(),
            models: vec!["a".into(), "b".into()],
            harness: "native",
            effort: Some("ultra".into()),
            thoughtless: false,
        };
        let ids = |choices: &Choices| {
            let options = choices.options();
            let list = options.as_array().cloned().unwrap_or_default();
            for option in &list {
                let now = &option["currentValue"];
                let values = option["options"].as_array().expect("options");
                assert!(values.iter().any(|v| v["value"] == *now), "{option}");
            }
            list.iter()
                .map(|o| o["id"].as_str().unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            ids(&choices),
            ["mode", "model", "harness", "reasoning_effort"]
        );
        choices.thoughtless = true;
        choices.model = "c".into();
        assert_eq!(ids(&choices), ["mode", "model", "harness"]);
    }
}
