//! A call of a model as one of a server's tool, and back.

use super::find::{FOUND, MOST_FOUND};
use super::{CALL, FIND, PREFIX, is_mcp};
use crate::agent::event::{Answer, Event, Frontend, Question};
use crate::agent::session::Session;
use crate::harnesses::CallError;
use crate::model::{ToolCall, ToolSpec};
use crate::sandbox::Lift;
use crate::tools::action::{Action, Mcp, McpOut, Outcome, ShellOut, ShellStatus, ToolError};
use crate::tools::mcp::{Ask, Asked, Live, McpError, Tool};
use serde_json::Value;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

impl Session {
    /// The tools that a call may name: those on offer, and those that can be found.
    pub(in crate::agent) fn callable(&self) -> Cow<'_, [ToolSpec]> {
        let hidden: &[Tool] = match self.mcp.are_hidden {
            true => &self.mcp.tools,
            false => &[],
        };
        if hidden.is_empty() && self.start.deferred.is_empty() {
            return Cow::Borrowed(&self.start.tools);
        }
        let mut all = self.start.tools.clone();
        all.extend_from_slice(&self.start.deferred);
        all.extend(hidden.iter().map(|t| t.spec.clone()));
        Cow::Owned(all)
    }

    /// A call under the name that the tool has on its server, in place of the one shown.
    pub(in crate::agent) fn with_shown_name(
        &self,
        mut call: ToolCall,
        offered: &[ToolSpec],
    ) -> ToolCall {
        if offered.iter().any(|t| t.name == call.name) {
            return call;
        }
        let long = |t: &Tool| call.name == format!("{PREFIX}{}__{}", t.server, t.tool);
        let dotted = |t: &Tool| call.name == format!("{}.{}", t.server, t.tool);
        let mut alike = self
            .mcp
            .tools
            .iter()
            .filter(|t| long(t) || dotted(t) || t.tool == call.name);
        if let (Some(tool), None) = (alike.next(), alike.next()) {
            call.name.clone_from(&tool.spec.name);
        }
        call
    }

    /// What a call of such a tool asks for; `None` for a tool of the harness.
    pub(in crate::agent) fn mcp_action(
        &self,
        call: &ToolCall,
    ) -> Option<Result<Action, CallError>> {
        if !is_mcp(&call.name) {
            return None;
        }
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        let text = |key: &str| {
            arguments
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        Some(Ok(match call.name.as_str() {
            FIND => Action::FindTools {
                query: text("query").to_owned(),
                limit: match arguments.get("limit").and_then(Value::as_u64) {
                    Some(limit) => usize::try_from(limit).unwrap_or(FOUND).clamp(1, MOST_FOUND),
                    None => FOUND,
                },
            },
            CALL => {
                let inner = arguments.get("arguments").cloned().unwrap_or_default();
                self.mcp_call(text("name"), inner)
            }
            name => self.mcp_call(name, arguments.clone()),
        }))
    }

    fn mcp_call(&self, name: &str, arguments: Value) -> Action {
        let named = |t: &&Tool| t.spec.name == name;
        let mut alike = self.mcp.tools.iter().filter(|t| t.tool == name);
        let only = alike.next().filter(|_| alike.next().is_none());
        match self.mcp.tools.iter().find(named).or(only) {
            Some(tool) => Action::Mcp(Mcp {
                server: tool.server.clone(),
                tool: tool.tool.clone(),
                arguments,
                read_only: tool.read_only,
                approval: tool.approval,
            }),
            None => {
                let plain = name.strip_prefix(PREFIX).unwrap_or(name);
                let (server, tool) = plain.split_once("__").unwrap_or(("", plain));
                Action::Mcp(Mcp {
                    server: server.to_owned(),
                    tool: tool.to_owned(),
                    arguments,
                    read_only: false,
                    approval: Default::default(),
                })
            }
        }
    }

    /// A command of a harness without tools that names such a tool: the name, and its arguments as
    /// one JSON object.
    pub(in crate::agent) fn as_mcp(&self, action: &Action) -> Option<Action> {
        let Action::Shell(shell) = action else {
            return None;
        };
        if !self.harness.reads_text() {
            return None;
        }
        let line = shell.command.trim();
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let rest = rest
            .strip_prefix('\'')
            .and_then(|r| r.strip_suffix('\''))
            .unwrap_or(rest);
        let known = self.callable().iter().any(|t| t.name == name)
            || self.mcp.tools.iter().any(|t| t.spec.name == name)
            || self.mcp.are_hidden && is_mcp(name);
        if !known || !(rest.is_empty() || rest.starts_with('{')) {
            return None;
        }
        let call = ToolCall {
            id: String::new(),
            name: name.to_owned(),
            arguments: rest.to_owned(),
            kind: Default::default(),
            recovered: false,
        };
        self.mcp_action(&call)?.ok()
    }

    /// Calls a tool of a server.
    pub(in crate::agent) fn call_mcp(
        &mut self,
        call: &Mcp,
        (id, room): (u64, usize),
        front: &mut dyn Frontend,
    ) -> Outcome {
        let cancel = self.cancel.clone();
        let cwd = self.workbench.cwd().to_owned();
        let mut live = |live: Live| match live {
            Live::Progress(text) => front.event(&Event::Output {
                id,
                text: format!("{text}\n"),
            }),
            Live::Ask(ask) => put_to_person(ask, call, &cwd, front),
        };
        let names = (call.server.as_str(), call.tool.as_str());
        let called = self.mcp.servers.call(
            names,
            &call.arguments,
            (room, self.vision),
            &cancel,
            &mut live,
        );
        match called {
            Ok(out) => Outcome::Mcp(out),
            Err(McpError::Cancelled) => Outcome::Interrupted,
            Err(why) => {
                let text = format!("{} of the MCP server {}: {why}", call.tool, call.server);
                Outcome::Failed(ToolError::Other(text))
            }
        }
    }
}

/// A server's question: a form where the front end has such, else questions like those of the model;
/// where nobody answers these, a plain yes or no is asked for.
fn put_to_person(ask: Ask, call: &Mcp, cwd: &Path, front: &mut dyn Frontend) {
    let form = ask.form(&call.server);
    if !front.interactive() {
        return ask.answer(&form, &Asked::Declined);
    }
    if let Some(asked) = front.fill_in(&form) {
        return ask.answer(&form, &asked);
    }
    if let Some(answers) = front.questions(&form.questions()) {
        return ask.answer(&form, &Asked::Answered(answers));
    }
    let question = Question {
        action: Action::Mcp(call.clone()),
        cwd: cwd.to_owned(),
        reason: format!("The MCP server {} asks: {}", call.server, form.message),
        lift: Lift::Nothing,
        recovered: false,
        rule: None,
    };
    let asked = match front.ask(&question) {
        Answer::Yes | Answer::YesForSession | Answer::Always(_) => Asked::Answered(Vec::new()),
        Answer::No(_) => Asked::Declined,
        Answer::Stop => Asked::Cancelled,
    };
    ask.answer(&form, &asked);
}

/// The result of such a tool as that of the command which a harness without tools took it for.
pub(in crate::agent) fn as_command(action: &Action, outcome: Outcome) -> Outcome {
    let Action::Shell(shell) = action else {
        return outcome;
    };
    let (text, failed) = match outcome {
        Outcome::Mcp(McpOut {
            parts, is_error, ..
        }) => (crate::model::join_text(&parts), is_error),
        Outcome::ToolsFound(text) => (text, false),
        Outcome::Failed(why) => (why.to_string(), true),
        other => return other,
    };
    Outcome::Shell(ShellOut {
        command: shell.command.clone(),
        dir: PathBuf::new(),
        job: None,
        output: crate::tools::action::Output {
            bytes: text.len() as u64,
            text,
            file: None,
        },
        status: ShellStatus::Exited(i32::from(failed)),
        wall: Duration::ZERO,
        fence: None,
        back_in: None,
    })
}
