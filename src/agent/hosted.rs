//! What is particular to hosted models: what the tables know of them, thoughts that only their maker
//! reads, and wires that a server turns out not to have.

use super::connect::{ConnectError, Connection, Wish};
use super::event::{Event, Frontend};
use super::session::Session;
use super::transcript::Transcript;
use crate::cancel::Cancel;
use crate::config::Config;
use crate::model::catalog::{Catalog, Listed};
use crate::model::local::{ModelInfo, lacks_wire};
use crate::model::provider::{self, Provider};
use crate::model::{Item, ModelError, WireApi};
use crate::store::models::ModelFile;
use crate::store::paths::Home;
use serde_json::{Value, json};

/// What the tables say about this model of this provider; nothing for a local server.
pub fn listed(config: &Config, provider: &Provider, model: &str) -> Option<Listed> {
    if provider.is_local() {
        return None;
    }
    Catalog::of(config.home.as_deref()).model(&provider.id, model)
}

/// The models that the tables have for a hosted provider; none for any other.
pub fn models(provider: &Provider, config: &Config) -> Vec<ModelInfo> {
    if provider.is_local() {
        return Vec::new();
    }
    let bare = |id: String| ModelInfo {
        id,
        generates: true,
        cloud: true,
        ..ModelInfo::default()
    };
    let catalog = Catalog::of(config.home.as_deref());
    let listed = catalog.models(&provider.id).into_iter();
    listed.map(|m| facts_of(bare(m.id.clone()), m)).collect()
}

/// The provider on the wire that this model wants, where its provider has several and neither the
/// config nor the command line names one.
///
/// # Errors
/// When the provider cannot be resolved on that wire.
pub fn on_its_wire(
    provider: Provider,
    model: &str,
    config: &Config,
    wish: &Wish,
) -> Result<Provider, ConnectError> {
    let entry = config.model_providers.get(&provider.id);
    if wish.chat_completions || entry.is_some_and(|e| e.wire_api.is_some()) {
        return Ok(provider);
    }
    let wire = listed(config, &provider, model).and_then(|m| m.wire);
    match wire.filter(|w| *w != provider.wire) {
        None => Ok(provider),
        Some(wire) => {
            let env = |name: &str| std::env::var(name).ok();
            provider::resolve_on(&provider.id, config, &env, Some(wire))
                .map_err(|e| ConnectError(e.to_string()))
        }
    }
}

/// The description with what the tables know of a hosted model: its window and limits, what it can.
/// For a gateway of one's own, the window is the smallest that any hosted provider gives a model of
/// that name.
pub fn with_facts(mut info: ModelInfo, provider: &Provider, config: &Config) -> ModelInfo {
    if provider.is_local() {
        return info;
    }
    let catalog = Catalog::of(config.home.as_deref());
    let Some(listed) = catalog.model(&provider.id, &info.id) else {
        if catalog.provider(&provider.id).is_none() {
            let alike = catalog.smallest_window(&info.id);
            info.trained_window = info.trained_window.or(alike);
        }
        return info;
    };
    facts_of(info, listed)
}

fn facts_of(mut info: ModelInfo, listed: Listed) -> ModelInfo {
    info.trained_window = info.trained_window.or(listed.window);
    info.tools = info.tools.or(Some(true));
    info.thinking = info.thinking.or(Some(listed.thinks));
    info.vision = info.vision.or(Some(listed.sees));
    info.listed = Some(listed);
    info
}

/// The conversation without what only its maker can read, and how many replies lost something. A
/// signature or a sealed thought is refused by everybody else; between a hosted model and any other
/// (`sealed`) the words of thinking go, too.
pub fn without_foreign_thoughts(old: &Transcript, sealed: bool) -> (Transcript, usize) {
    let mut out = Transcript::default();
    let mut dropped = 0;
    for (item, mark, _) in old.entries() {
        let mut item = item.clone();
        if let Item::Assistant(reply) = &mut item {
            let had = reply.reasoning.len();
            reply.reasoning.retain(|r| !sealed && !r.text.is_empty());
            for reasoning in &mut reply.reasoning {
                reasoning.signature = None;
                reasoning.opaque = None;
            }
            dropped += usize::from(had > reply.reasoning.len());
        }
        out.push(item, mark);
    }
    (out, dropped)
}

/// The conversation for a model that did not begin it, and how many replies lose thoughts by that;
/// `None` where it is the same one. `from` is the old provider's id, the model, and whether it was a
/// local server.
pub fn handed_over(
    old: &Transcript,
    from: (&str, &str, bool),
    to: &Connection,
) -> Option<(Transcript, usize)> {
    let (provider, model, was_local) = from;
    let local = to.provider.is_local();
    let other = provider != to.provider.id || (model != to.model && !local);
    other.then(|| without_foreign_thoughts(old, !was_local || !local))
}

/// What is said about it.
pub fn lost_thoughts(count: usize, from: &str, to: &str) -> String {
    let replies = match count {
        1 => "1 reply loses its thoughts".to_owned(),
        n => format!("{n} replies lose their thoughts"),
    };
    format!("{replies}: {to} cannot read those of {from}")
}

/// True for the refusal of thoughts that were sent back: another model's, or some that lost their
/// signature. Such a history is refused for ever.
pub fn is_about_thoughts(error: &ModelError) -> bool {
    let ModelError::Status {
        status: 400 | 422,
        message,
        ..
    } = error
    else {
        return false;
    };
    let lower = message.to_lowercase();
    let names = [
        "thinking",
        "reasoning",
        "thought_signature",
        "encrypted_content",
    ];
    let wrong = [
        "cannot be modified",
        "invalid signature",
        "invalid `signature`",
        "could not be verified",
        "could not be decrypted",
        "not valid",
        "corrupted",
        "without its required",
    ];
    names.iter().any(|word| lower.contains(word)) && wrong.iter().any(|word| lower.contains(word))
}

/// The name under which it is kept which wires a server does not have.
fn key(base_url: &str) -> String {
    format!("wires of {base_url}")
}

/// The provider over the chat wire, where an earlier session learnt that it lacks its own.
pub fn without_missing_wire(provider: &Provider, config: &Config) -> Option<Provider> {
    if !matches!(provider.wire, WireApi::Responses | WireApi::Messages) {
        return None;
    }
    let learnt = ModelFile::of(&Home::at(config.home.clone()?), false);
    let known = learnt.get(&key(provider::server_root(&provider.base_url)))?;
    let lacks = known.get("lacks")?.as_array()?;
    lacks
        .iter()
        .any(|w| w == provider.wire.name())
        .then(|| Provider {
            wire: WireApi::Chat,
            ..provider.clone()
        })
}

impl Session {
    /// Leaves all thoughts out of the conversation, once a server refuses them. False when there are
    /// none.
    pub(super) fn forget_thoughts(&mut self, front: &mut dyn Frontend) -> bool {
        let (transcript, dropped) = without_foreign_thoughts(&self.transcript, true);
        if dropped == 0 {
            return false;
        }
        self.transcript = transcript;
        self.reports.prefix_event();
        front.event(&Event::Warning(format!(
            "the server refuses the thoughts of earlier replies; those of {dropped} are left out from here on"
        )));
        true
    }

    /// Goes on over the chat wire when the server does not have the one that was asked for, and
    /// remembers it for the next session. False when the error means anything else.
    pub(super) fn go_to_other_wire(
        &mut self,
        error: &ModelError,
        front: &mut dyn Frontend,
    ) -> bool {
        let wire = self.provider.wire;
        let absent = match error {
            ModelError::Status { status, .. } => matches!(status, 404 | 405 | 501),
            ModelError::NoModel { message, .. } => !message.contains(&self.model),
            _ => false,
        };
        if !absent || !matches!(wire, WireApi::Responses | WireApi::Messages) {
            return false;
        }
        let cancel: Cancel = self.cancel.clone();
        let mut other = self.provider.clone();
        other.wire = WireApi::Chat;
        if !lacks_wire(&self.provider, &cancel) || lacks_wire(&other, &cancel) {
            return false;
        }
        let name = key(provider::server_root(&other.base_url));
        let mut lacks: Vec<Value> = match self.learnt.get(&name) {
            Some(known) => known["lacks"].as_array().cloned().unwrap_or_default(),
            None => Vec::new(),
        };
        lacks.push(wire.name().into());
        self.learnt.put(&name, json!({"lacks": lacks}));
        front.event(&Event::Warning(format!(
            "{} has no {} API; its chat completions are used from here on (wire_api = \"chat\" says so from the start)",
            other.name,
            wire.name()
        )));
        self.provider = other;
        self.info.wire = WireApi::Chat.name();
        self.reports.prefix_event();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::transcript::Mark;
    use super::*;
    use crate::model::{Assistant, Reasoning};

    fn status(status: u16, message: &str) -> ModelError {
        ModelError::Status {
            url: String::new(),
            status,
            message: message.into(),
            retry_after: None,
        }
    }

    /// The words are those of Anthropic, OpenAI and Gemini.
    #[test]
    fn a_refusal_of_thoughts_is_known_by_its_words() {
        for (message, is) in [
            (
                "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
                true,
            ),
            (
                "messages.3.content.0: Invalid `signature` in `thinking` block",
                true,
            ),
            (
                "The encrypted_content for item rs_1 could not be verified.",
                true,
            ),
            (
                "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item",
                true,
            ),
            ("Corrupted thought_signature.", true),
            (
                "\"thinking.type.enabled\" is not supported for this model.",
                false,
            ),
            ("tools: too many", false),
        ] {
            assert_eq!(is_about_thoughts(&status(400, message)), is, "{message}");
        }
        assert!(!is_about_thoughts(&status(
            500,
            "thinking cannot be modified"
        )));
    }

    #[test]
    fn thoughts_of_others_are_dropped_and_counted() {
        let reply = |text: &str, signature: Option<&str>| {
            Item::Assistant(Assistant {
                text: "said".into(),
                reasoning: vec![Reasoning {
                    text: text.into(),
                    signature: signature.map(str::to_owned),
                    ..Reasoning::default()
                }],
                ..Assistant::default()
            })
        };
        let mut old = Transcript::default();
        old.push(Item::user("task"), Mark::Task);
        old.push(reply("why", Some("s")), Mark::Answer);
        old.push(reply("", Some("s")), Mark::Answer);
        let thoughts = |t: &Transcript| -> Vec<(String, bool)> {
            let replies = t.entries().filter_map(|(item, ..)| match item {
                Item::Assistant(a) => Some(a.reasoning.clone()),
                _ => None,
            });
            let all = replies.flatten();
            all.map(|r| (r.text, r.signature.is_some())).collect()
        };
        let (near, dropped) = without_foreign_thoughts(&old, false);
        assert_eq!((thoughts(&near), dropped), (vec![("why".into(), false)], 1));
        let (far, dropped) = without_foreign_thoughts(&old, true);
        assert_eq!((thoughts(&far), dropped), (vec![], 2));
    }
}
