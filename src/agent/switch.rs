//! Another model in the middle of a session: the same conversation, sent to somebody else.

use super::connect::{Wish, connect};
use super::event::{Event, Frontend};
use super::record::ToolMode;
use super::reports::Reports;
use super::session::{Session, can_count, counter};
use super::{hosted, open};
use crate::config::Config;
use crate::harnesses::Context;
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

    /// Whether the model thinks, where its server says so.
    pub fn thinks(&self) -> Option<bool> {
        self.thinks
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
        let from = (
            self.provider.id.as_str(),
            self.model.as_str(),
            self.provider.is_local(),
        );
        if let Some((transcript, lost)) = hosted::handed_over(&self.transcript, from, &connection) {
            self.transcript = transcript;
            if lost > 0 {
                let text = hosted::lost_thoughts(lost, &self.model, &connection.model);
                front.event(&Event::Note(text));
            }
        }
        self.prices = connection.info.listed.as_ref().map(|m| m.prices);
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
        let listed = connection.info.listed.as_ref();
        self.budget.limit_reply(listed.and_then(|m| m.output));
        self.reports = Reports::new(connection.provider.is_llama_server());
        self.told_cold = false;
        self.summarised_at = None;
        self.can_count = can_count(&connection.provider);
        self.window_request = window.request;
        self.sampling = open::sampling(config, &connection);
        self.may_vary = config.sampling.is_default();
        self.is_stuck = false;
        // A server refuses an effort for a model that it knows not to think.
        self.vision = connection.info.vision != Some(false);
        self.thinks = connection.info.thinking;
        let thinks = self.thinks != Some(false);
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
        self.shape_refused = false;
        self.raw_calls = false;
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
