//! Another model in the middle of a session: the same conversation, sent to somebody else.

use super::connect::{Wish, connect};
use super::event::{Event, Frontend};
use super::open;
use super::record::ToolMode;
use super::reports::Reports;
use super::session::{Session, can_count, counter};
use super::transcript::Transcript;
use crate::config::Config;
use crate::harnesses::Context;
use crate::model::Item;
use crate::store::paths::Home;

impl Session {
    /// The provider's id and the model.
    pub fn model(&self) -> (&str, &str) {
        (&self.provider.id, &self.model)
    }

    /// How long the model may think, where that was said.
    pub fn effort(&self) -> Option<&str> {
        self.effort.as_deref()
    }

    /// Lets the model think for so long from now on; `None`: as its server has it.
    pub fn set_effort(&mut self, effort: Option<String>) {
        self.effort = effort;
        self.record_turn_context();
    }

    /// Goes on with the provider, model and effort of `config`. The harness stays, in the size that
    /// suits the window of that model; the transcript is told in the tools that it gets there. The
    /// server's cache is lost, as after any prefix event.
    ///
    /// # Errors
    /// A sentence when it cannot be reached or is not there. Then nothing has changed.
    pub fn change_model(
        &mut self,
        config: &Config,
        home: &Home,
        chat_completions: bool,
        front: &mut dyn Frontend,
    ) -> Result<(), String> {
        let wish = Wish {
            chat_completions,
            without_tools: self.harness.reads_text(),
            ..Wish::default()
        };
        let cancel = self.cancel.clone();
        let connection = connect(config, &wish, &cancel, front).map_err(|e| e.to_string())?;
        let window = &connection.window;
        let size = open::size(config, window.tokens);
        let (instructions, warnings) =
            open::instructions_for(config, home, &self.info.cwd, window.tokens);
        for warning in warnings {
            front.event(&Event::Warning(warning));
        }
        if self.provider.id != connection.provider.id {
            self.transcript = unsigned(&self.transcript);
        }
        self.context = Context {
            model: connection.model.clone(),
            size,
            instructions,
            ..self.context.clone()
        };
        self.is_cold = connection.is_cold();
        self.budget = self.budget.resized(
            window.tokens,
            counter(&self.learnt, &connection.model, &self.start),
        );
        self.reports = Reports::new(connection.provider.is_llama_server());
        self.told_cold = false;
        self.summarised_at = None;
        self.can_count = can_count(&connection.provider);
        self.window_request = window.request;
        self.sampling = open::sampling(config, &connection);
        self.may_vary = config.sampling.is_default();
        self.is_stuck = false;
        // A server refuses an effort for a model that it knows not to think.
        let thinks = connection.info.thinking != Some(false);
        let effort = config.model_reasoning_effort.value.clone();
        self.effort = effort.filter(|_| thinks);
        self.info.window = (window.tokens, window.source.clone());
        let provider = connection.provider;
        self.info.provider = (provider.name.clone(), provider.base_url.clone());
        self.info.wire = provider.wire.name();
        self.info.model = connection.model.clone();
        self.provider = provider;
        self.model = connection.model;
        self.tool_mode = match connection.prompted {
            true => ToolMode::Prompted,
            false => ToolMode::Native,
        };
        self.constrained_once = false;
        let told = self.begin_again(self.harness);
        self.announce(front);
        if told > 0 {
            front.event(&Event::Note(format!(
                "{told} earlier calls have no counterpart among the tools of this model and are told as text"
            )));
        }
        Ok(())
    }
}

/// The conversation without what only its provider can read: a signature or a sealed thought of
/// another one is refused. The thoughts themselves stay, and the session's file keeps all of it.
fn unsigned(old: &Transcript) -> Transcript {
    let mut out = Transcript::default();
    for (item, mark, _) in old.entries() {
        let mut item = item.clone();
        if let Item::Assistant(reply) = &mut item {
            reply.reasoning.retain(|r| !r.text.is_empty());
            for reasoning in &mut reply.reasoning {
                reasoning.signature = None;
                reasoning.opaque = None;
            }
        }
        out.push(item, mark);
    }
    out
}
