//! The next request: what stands in it, and whether it fits.

use super::Session;
use crate::agent::record::ToolMode;
use crate::agent::tokens::Size;
use crate::agent::transcript::item_size;
use crate::model::provider::LocalServer;
use crate::model::{Item, Request, Sampling, Vendor, constrained, local, prompted};

/// A count is asked for when the estimate is within this part of the window from the limit.
const NEAR_LIMIT: u32 = 10;

/// The temperature for a model that repeats itself: at a low one it would do so for ever.
const STUCK: f64 = 0.8;

impl Session {
    /// What the next prompt has after its fixed beginning.
    pub(in crate::agent) fn rest(&self, show: &[Item]) -> Size {
        self.transcript.size() + show.iter().map(item_size).sum()
    }

    /// True when the next request fits. Where the estimate is near the limit, a server that can
    /// count is asked once.
    pub(in crate::agent) fn fits_exactly(&mut self, show: &[Item]) -> bool {
        let rest = self.rest(show);
        let near = u64::from(self.budget.window() / NEAR_LIMIT);
        if self.can_count && self.budget.free(rest).unsigned_abs() <= near {
            let mut request = self.request(show, self.budget.reply_limit(rest));
            let prompted = self.prompted(&request);
            if let Some(prompted) = &prompted {
                prompted.put_into(&mut request);
            }
            match local::count(&self.provider, &request, &self.cancel) {
                Some(tokens) => self.budget.learn(rest, tokens),
                None => self.can_count = false,
            }
        }
        self.budget.fits(rest)
    }

    /// The next request.
    pub(in crate::agent) fn request<'a>(
        &'a self,
        show: &'a [Item],
        max_output_tokens: u32,
    ) -> Request<'a> {
        Request {
            model: &self.model,
            system: &self.start.system,
            tools: &self.start.tools,
            items: self
                .start
                .opening
                .iter()
                .chain(self.transcript.items())
                .chain(show)
                .collect(),
            max_output_tokens,
            window: self.window_request,
            sampling: self.sampling_now(),
            reasoning_effort: self.effort.as_deref(),
            cache_key: &self.info.id,
            // Its grammar keeps a small model in the form of a call, and one that may go on with
            // another call then never comes to an end (measured: 500 tokens and more instead of 47).
            one_call: self.provider.local == Some(LocalServer::LlamaServer),
            raw_calls: self.raw_calls,
            schema: match &self.schema {
                Some(schema) if self.is_shaping => Some(schema.value()),
                _ => self.call_schema.as_ref(),
            },
            local: self.provider.is_local(),
            vendor: Vendor::of(&self.provider.base_url, self.provider.is_local()),
            extra: &self.provider.extra_body,
        }
    }

    /// The sampling values of the next request.
    fn sampling_now(&self) -> Sampling {
        let mut sampling = self.sampling.clone();
        if self.is_stuck && self.may_vary && self.provider.is_local() {
            sampling.temperature = Some(sampling.temperature.unwrap_or_default().max(STUCK));
        }
        sampling
    }

    /// Sends tools and reads calls in this way from now on.
    pub(in crate::agent) fn set_tool_mode(&mut self, mode: ToolMode) {
        self.tool_mode = mode;
        let tools = &self.start.tools;
        self.call_schema =
            (mode == ToolMode::Constrained).then(|| constrained::schema(tools, false));
        if mode == ToolMode::Prompted && !tools.is_empty() {
            let system = prompted::system_text(&self.start.system, tools);
            let opening: Size = self.start.opening.iter().map(item_size).sum();
            self.budget.begin_with(Size::of(&system) + opening);
            self.reports.prefix_event();
        }
    }
}
