//! Hooks in a session: what they are told at each moment, and what their answers do.

mod answer;
mod told;

use super::event::{EndReason, Event, Frontend};
use super::input;
use super::session::Session;
use crate::cancel::Cancel;
use crate::harnesses::Notice;
use crate::model::Item;
use crate::project::hooks::{self, Hooks, Moment};
use crate::sandbox::Approval;
use crate::tools::action::{Action, Outcome, ToolError};
use crate::words::head;
use answer::Reading;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The most bytes of a hook's text that a model sees; the rest is in a file that is named.
const MOST_TEXT: usize = 10_000;
/// The most bytes of one hook in the line about all of them.
const BRIEF: usize = 100;
/// How often hooks may let one turn go on although the model was done.
const MOST_GOING_ON: u32 = 20;

/// Everything that a session keeps for its hooks.
#[derive(Debug, Default)]
pub(super) struct Hooked {
    pub hooks: Hooks,
    /// Why the next turn is a beginning; `None`: it is not.
    begins: Option<&'static str>,
    /// The id of the running turn.
    turn: String,
    /// The nested agent at work: its id and role.
    pub agent: Option<(String, String)>,
    /// What the model is told after the results of its calls.
    later: Vec<String>,
    /// A hook ended the turn.
    stopped: bool,
    /// How often this turn went on because of a hook.
    going_on: u32,
    ended: bool,
}

impl Hooked {
    pub(super) fn new(hooks: Hooks, resumed: bool) -> Self {
        Hooked {
            hooks,
            begins: Some(if resumed { "resume" } else { "startup" }),
            ..Hooked::default()
        }
    }
}

/// What all hooks of a moment said together.
#[derive(Debug, Default)]
struct Said {
    context: Vec<String>,
    /// The first reason to block.
    blocked: Option<String>,
    /// The first reason to stop.
    stopped: Option<String>,
    /// What runs instead.
    instead: Option<String>,
    /// A permission, and what is said with it. Any no wins.
    permitted: Option<(bool, String)>,
}

impl Session {
    /// Which hooks run, for the start of a session; `None` where there are none.
    pub(super) fn hooks_in_words(&self) -> Option<String> {
        let hooks = &self.hooked.hooks;
        let list = |hooks: Vec<String>| hooks.join("; ");
        let brief = |hook: &hooks::Hook| {
            let words = hook.words();
            match head(&words, BRIEF) {
                short if short.len() < words.len() => format!("{short}…"),
                whole => whole.to_owned(),
            }
        };
        let on: Vec<String> = hooks.trusted().map(brief).collect();
        let new: Vec<String> = hooks.new_ones().map(brief).collect();
        let mut parts = Vec::new();
        if !on.is_empty() {
            parts.push(format!("{} run ({})", on.len(), list(on)));
        }
        if !new.is_empty() {
            parts.push(format!(
                "{} not trusted and not run ({}); /hooks shows and trusts them, --trust-hooks runs them once",
                new.len(),
                list(new)
            ));
        }
        (!parts.is_empty()).then(|| format!("hooks: {}", parts.join("; ")))
    }

    /// The hooks of the session.
    pub fn hooks(&self) -> &Hooks {
        &self.hooked.hooks
    }

    /// The user looked at the hooks that were not trusted, and wants them to run.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub fn trust_hooks(&mut self, home: &Path) -> Result<(), String> {
        self.hooked.hooks.trust(home)
    }

    /// The session begins anew in its next turn, for this reason.
    pub fn begins_by(&mut self, source: &'static str) {
        self.hooked.begins = Some(source);
    }

    /// Runs the hooks of a moment and gathers what they said.
    fn hook(
        &mut self,
        moment: Moment,
        names: &[&str],
        more: Value,
        front: &mut dyn Frontend,
    ) -> Said {
        let mut said = Said::default();
        let hooks = self.hooked.hooks.at(moment, names);
        if hooks.is_empty() {
            return said;
        }
        for status in hooks.iter().filter_map(|h| h.status.as_deref()) {
            front.event(&Event::Note(status.to_owned()));
        }
        let input = self.hook_input(moment, more).to_string();
        // At the end of a session the stop flag is set more often than not.
        let cancel = match moment {
            Moment::SessionEnd => Cancel::new(),
            _ => self.cancel.clone(),
        };
        let answers = hooks::run(&hooks, &input, &self.info.cwd, &cancel);
        let words: Vec<String> = hooks.iter().map(|h| h.words()).collect();
        for (words, answer) in words.iter().zip(answers) {
            let reading = match answer {
                None => continue,
                Some(Err(why)) => Err(why),
                Some(Ok(answer)) => answer::read(moment, &answer),
            };
            match reading {
                Err(why) => front.event(&Event::Note(format!("hook {words} failed: {why}"))),
                Ok(reading) => said.add(reading, front),
            }
        }
        said.context = said.context.drain(..).map(|text| self.fit(text)).collect();
        said
    }

    /// A long text goes into a file that the model can read.
    fn fit(&self, text: String) -> String {
        let outputs = self.workbench.outputs();
        match input::fit(text.clone(), MOST_TEXT, outputs) {
            Ok((text, _)) => text,
            Err(_) => head(&text, MOST_TEXT).to_owned(),
        }
    }

    fn hook_input(&self, moment: Moment, more: Value) -> Value {
        let mut all = Map::new();
        all.insert("session_id".into(), json!(self.info.id));
        all.insert(
            "transcript_path".into(),
            json!(self.info.file.as_ref().map(|f| f.display().to_string())),
        );
        all.insert("cwd".into(), json!(self.info.cwd.display().to_string()));
        all.insert("hook_event_name".into(), json!(moment.name()));
        if moment != Moment::SessionEnd {
            all.insert("model".into(), json!(self.model));
        }
        let compacts = matches!(moment, Moment::PreCompact | Moment::PostCompact);
        if moment != Moment::SessionEnd && !compacts {
            let free = self.judge.approval == Approval::Never;
            let mode = if free { "bypassPermissions" } else { "default" };
            all.insert("permission_mode".into(), json!(mode));
        }
        if !matches!(moment, Moment::SessionStart | Moment::SessionEnd) {
            all.insert("turn_id".into(), json!(self.hooked.turn));
        }
        if let Some((id, role)) = &self.hooked.agent {
            all.insert("agent_id".into(), json!(id));
            all.insert("agent_type".into(), json!(role));
        }
        if let Value::Object(more) = more {
            all.extend(more);
        }
        Value::Object(all)
    }

    /// A turn begins.
    pub(super) fn hooks_begin_turn(&mut self) {
        self.hooked.turn = uuid::Uuid::now_v7().to_string();
        self.hooked.stopped = false;
        self.hooked.going_on = 0;
    }

    /// The id of the running turn.
    pub(super) fn turn_id(&self) -> &str {
        &self.hooked.turn
    }

    /// What hooks add before and after the words of the user; `Err` ends the turn before it begins.
    pub(super) fn hooks_before(
        &mut self,
        prompt: Option<&str>,
        front: &mut dyn Frontend,
    ) -> Result<(Vec<String>, Vec<String>), (EndReason, String)> {
        if let Some((_, role)) = self.hooked.agent.clone() {
            let said = self.hook(Moment::SubagentStart, &[role.as_str()], json!({}), front);
            return match said.stopped {
                Some(why) => Err(self.stopped_by(Moment::SubagentStart, &why, front)),
                None => Ok((Vec::new(), said.context)),
            };
        }
        let mut before = Vec::new();
        if let Some(source) = self.hooked.begins.take() {
            let more = json!({ "source": source });
            let said = self.hook(Moment::SessionStart, &[source], more, front);
            if let Some(why) = said.stopped {
                return Err(self.stopped_by(Moment::SessionStart, &why, front));
            }
            before = said.context;
        }
        let Some(prompt) = prompt else {
            return Ok((before, Vec::new()));
        };
        let more = json!({ "prompt": prompt });
        let said = self.hook(Moment::UserPromptSubmit, &[], more, front);
        match said.blocked.or(said.stopped) {
            Some(why) => Err(self.stopped_by(Moment::UserPromptSubmit, &why, front)),
            None => Ok((before, said.context)),
        }
    }

    /// The end of a turn that a hook wants to end. It is as the user's hooks want it, so no failure.
    fn stopped_by(
        &mut self,
        moment: Moment,
        why: &str,
        front: &mut dyn Frontend,
    ) -> (EndReason, String) {
        self.hooked.stopped = true;
        front.event(&Event::Warning(format!(
            "a {} hook stopped the turn: {why}",
            moment.name()
        )));
        (EndReason::Done, String::new())
    }

    /// Before a tool runs: what runs in its place, or why it does not run.
    pub(super) fn hooks_before_tool(
        &mut self,
        action: &Action,
        id: &str,
        front: &mut dyn Frontend,
    ) -> Result<Option<Action>, String> {
        let Some(tool) = told::tool(action) else {
            return Ok(None);
        };
        let more = json!({
            "tool_name": tool.name, "tool_input": tool.input, "tool_use_id": id,
        });
        let said = self.hook(Moment::PreToolUse, &tool.names(), more, front);
        self.hooked.later.extend(said.context);
        if let Some(why) = said.blocked {
            let what = match action {
                Action::Shell(shell) => format!(" Command: {}", shell.command),
                _ => String::new(),
            };
            front.event(&Event::Note(format!(
                "a PreToolUse hook blocked {}: {why}",
                tool.name
            )));
            return Err(format!(
                "It did not run: a PreToolUse hook blocked it: {why}.{what}"
            ));
        }
        Ok(said.instead.and_then(|text| told::changed(action, text)))
    }

    /// Before the person would be asked: the answer of the hooks, if they have one.
    pub(super) fn hooks_permission(
        &mut self,
        action: &Action,
        front: &mut dyn Frontend,
    ) -> Option<Result<(), String>> {
        let tool = told::tool(action)?;
        let mut input = tool.input.clone();
        if let (Action::Shell(shell), Some(fields)) = (action, input.as_object_mut())
            && let Some(wish) = &shell.escalate
        {
            fields.insert("description".into(), json!(wish.justification));
        }
        let more = json!({ "tool_name": tool.name, "tool_input": input });
        let said = self.hook(Moment::PermissionRequest, &tool.names(), more, front);
        said.permitted.map(|(yes, message)| match yes {
            true => Ok(()),
            false if message.is_empty() => Err("a PermissionRequest hook said no".into()),
            false => Err(format!("a PermissionRequest hook said no: {message}")),
        })
    }

    /// After a tool ran: the outcome that the model sees. `end` is set when the turn must stop.
    pub(super) fn hooks_after_tool(
        &mut self,
        action: &Action,
        outcome: Outcome,
        id: &str,
        end: &mut Option<(EndReason, String)>,
        front: &mut dyn Frontend,
    ) -> Outcome {
        let nothing_ran = matches!(
            outcome,
            Outcome::Refused { .. } | Outcome::Interrupted | Outcome::Skipped(_)
        );
        let tool = told::tool(action).filter(|_| !nothing_ran);
        let Some(tool) = tool else {
            return outcome;
        };
        let more = json!({
            "tool_name": tool.name, "tool_input": tool.input, "tool_use_id": id,
            "tool_response": told::response(&outcome),
        });
        let said = self.hook(Moment::PostToolUse, &tool.names(), more, front);
        self.hooked.later.extend(said.context);
        if let Some(why) = said.stopped {
            let stop = self.stopped_by(Moment::PostToolUse, &why, front);
            end.get_or_insert(stop);
        }
        match said.blocked {
            Some(reason) => Outcome::Failed(ToolError::Other(reason)),
            None => outcome,
        }
    }

    /// Tells the model what hooks said about the calls whose results it just got.
    pub(super) fn hooks_tell(&mut self) {
        for text in std::mem::take(&mut self.hooked.later) {
            self.hook_says(text);
        }
    }

    /// Words of a hook, in the form in which the harness tells something.
    pub(super) fn hook_says(&mut self, text: String) {
        let items = self.harness.notice(&mut self.state, &Notice::Nudge(text));
        self.push_all(items);
    }

    /// The model is done: true when a hook lets it go on.
    pub(super) fn hooks_go_on(&mut self, answer: &str, front: &mut dyn Frontend) -> bool {
        if self.hooked.stopped {
            return false;
        }
        let agent = self.hooked.agent.clone();
        let (moment, name) = match &agent {
            Some((_, role)) => (Moment::SubagentStop, role.clone()),
            None => (Moment::Stop, String::new()),
        };
        let mut more = json!({
            "stop_hook_active": self.hooked.going_on > 0, "last_assistant_message": answer,
        });
        if let Some((id, _)) = &agent {
            let file = self.workbench.outputs().join(format!("agent-{id}.jsonl"));
            more["agent_transcript_path"] = json!(file.display().to_string());
        }
        let said = self.hook(moment, &[name.as_str()], more, front);
        if let Some(why) = said.stopped {
            front.event(&Event::Note(format!("a {} hook: {why}", moment.name())));
            return false;
        }
        let Some(reason) = said.blocked else {
            return false;
        };
        self.hooked.going_on += 1;
        if self.hooked.going_on > MOST_GOING_ON {
            front.event(&Event::Warning(format!(
                "a {} hook let the turn go on {MOST_GOING_ON} times; it ends now",
                moment.name()
            )));
            return false;
        }
        front.event(&Event::Note(format!(
            "a {} hook lets it go on: {reason}",
            moment.name()
        )));
        let run = uuid::Uuid::now_v7();
        let text = self.fit(reason);
        self.push_all(vec![Item::user(format!(
            "<hook_prompt hook_run_id=\"{run}\">{text}</hook_prompt>"
        ))]);
        true
    }

    /// Before a summary: why there shall be none.
    pub(super) fn hooks_before_compact(
        &mut self,
        trigger: &'static str,
        front: &mut dyn Frontend,
    ) -> Option<String> {
        let more = json!({ "trigger": trigger });
        self.hook(Moment::PreCompact, &[trigger], more, front)
            .stopped
    }

    /// After a summary.
    pub(super) fn hooks_after_compact(&mut self, trigger: &'static str, front: &mut dyn Frontend) {
        let more = json!({ "trigger": trigger });
        self.hook(Moment::PostCompact, &[trigger], more, front);
        if self.hooked.agent.is_none() {
            self.hooked.begins = Some("compact");
        }
    }

    /// The session ends; what is done once.
    pub fn end(&mut self, reason: &str, front: &mut dyn Frontend) {
        if !std::mem::replace(&mut self.hooked.ended, true) {
            let more = json!({ "reason": reason });
            self.hook(Moment::SessionEnd, &[reason], more, front);
        }
    }
}

impl Said {
    fn add(&mut self, reading: Reading, front: &mut dyn Frontend) {
        if let Some(message) = reading.message {
            front.event(&Event::Note(message));
        }
        self.context.extend(reading.context);
        self.blocked = self.blocked.take().or(reading.blocked);
        self.stopped = self.stopped.take().or(reading.stopped);
        self.instead = self.instead.take().or(reading.instead);
        self.permitted = match (self.permitted.take(), reading.permitted) {
            (Some((false, why)), _) | (_, Some((false, why))) => Some((false, why)),
            (before, now) => before.or(now),
        };
    }
}
