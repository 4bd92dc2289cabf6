//! How the tools of MCP servers join a conversation, and how they are called.
//!
//! They stand behind the harness's own tools as plain functions, on every wire. They join at the
//! beginning of a turn; with nobody there who would begin another one, as soon as they are there.
//! A later change of them is a prefix event: stored, and told. Tools that would take more than
//! their share of the window are not shown, but found: two functions stand for all of them.

mod calls;
mod find;

use super::event::{Event, Frontend};
use super::offline;
use super::record;
use super::session::{Session, fixed_size};
use super::tokens::Size;
use crate::cancel::Cancel;
use crate::config::{Config, McpServer};
use crate::harnesses::Start;
use crate::model::{Item, ToolSpec};
use crate::tools::mcp::{Entry, Servers, Status, Tool, World};
use std::path::PathBuf;
use std::time::Duration;

pub(super) use calls::as_command;

/// What all names of such tools begin with, and the two that stand for those not shown.
const PREFIX: &str = "mcp__";
const FIND: &str = "find_tools";
const CALL: &str = "call_tool";

/// Shown tools may take one part in so many of the window.
const SHARE: u64 = 10;
/// Instructions of servers the same.
const INSTRUCTIONS_SHARE: u64 = 25;
/// How long the first request waits for servers: while a person waits for it, and while none does.
const GRACE: Duration = Duration::from_secs(2);
const GRACE_ALONE: Duration = Duration::from_secs(10);
/// What the item begins with that tells how servers want to be used.
const HEADING: &str = "# MCP servers";

/// The servers of a session and what the conversation has of them.
pub(super) struct McpServers {
    servers: Servers,
    /// All tools of the servers that are there.
    tools: Vec<Tool>,
    /// They are found, not shown.
    are_hidden: bool,
    /// The first turn has begun.
    has_begun: bool,
    /// The settings named other servers in mid-session.
    has_changed: bool,
    /// How often the servers had changed when they were looked at last.
    seen: u64,
    /// What was said of tools that cannot be offered.
    told: Vec<String>,
}

impl McpServers {
    /// Starts the servers that the settings name. Returns at once.
    pub(super) fn start(
        config: &Config,
        more: &[(String, McpServer)],
        cwd: PathBuf,
        outputs: PathBuf,
        asks: bool,
    ) -> Self {
        let world = World { cwd, outputs, asks };
        McpServers {
            servers: Servers::start(entries(config, more), world),
            tools: Vec::new(),
            are_hidden: false,
            has_begun: false,
            has_changed: false,
            seen: 0,
            told: Vec::new(),
        }
    }

    /// Goes on with the servers that the settings name now. The next turn waits for new ones as the
    /// first one does.
    pub(super) fn take_up(&mut self, config: &Config, more: &[(String, McpServer)]) {
        if self.servers.take_up(entries(config, more)) {
            self.has_begun = false;
            self.has_changed = true;
        }
    }

    /// Waits for the servers without which there is no session.
    ///
    /// # Errors
    /// A sentence when one of them fails.
    pub(super) fn require(&self, cancel: &Cancel) -> Result<(), String> {
        self.servers.require(cancel)
    }
}

/// The servers of the settings, and those in place of ones with the same name.
fn entries(config: &Config, more: &[(String, McpServer)]) -> Vec<Entry> {
    let entry = |(name, server): (&String, &McpServer)| Entry {
        name: name.clone(),
        server: server.clone(),
        refused: match (&server.url, *config.offline) {
            (Some(url), true) => offline::mcp_refusal(config, url),
            _ => None,
        },
    };
    let own = config.mcp_servers.iter().map(|(name, s)| (name, &s.value));
    let own = own.filter(|(name, _)| !more.iter().any(|(other, _)| other == *name));
    let all = own.chain(more.iter().map(|(name, s)| (name, s)));
    all.map(entry).collect()
}

/// True for the name of a tool that is no tool of the harness.
pub(super) fn is_mcp(name: &str) -> bool {
    name.starts_with(PREFIX) || name == FIND || name == CALL
}

impl Session {
    /// How each MCP server stands, for people: its name, a word, and more.
    pub fn mcp_status(&self) -> Vec<(String, String)> {
        let all = self.mcp.servers.status().into_iter();
        all.map(|(name, status, ready)| {
            let words = match (status, ready) {
                (Status::Ready, Some(ready)) => format!("{} tools, {}", ready.tools, ready.about),
                (Status::Failed(why), _) => format!("failed: {why}"),
                (Status::Disabled, _) => "turned off".into(),
                _ => "starting".into(),
            };
            (name, words)
        })
        .collect()
    }

    /// The tools of MCP servers that the model has or can find: the name that it uses, and what the
    /// tool does.
    pub fn mcp_tools(&self) -> impl Iterator<Item = (&str, &str)> {
        let tools = self.mcp.tools.iter();
        tools.map(|t| (t.spec.name.as_str(), t.spec.description.as_str()))
    }

    /// The tools of MCP servers are found by a search.
    pub fn mcp_is_searched(&self) -> bool {
        self.mcp.are_hidden
    }

    /// At the beginning of a turn: the tools of all servers that are there.
    pub(super) fn join_mcp(&mut self, front: &mut dyn Frontend) {
        // Tools of the last server that went are taken out, too.
        let has_changed = self.mcp.has_changed;
        if self.mcp.servers.is_empty() && !has_changed || self.context.depth > 0 {
            return;
        }
        self.mcp.has_changed = false;
        let first = !std::mem::replace(&mut self.mcp.has_begun, true);
        if first {
            let grace = match front.interactive() {
                true => GRACE,
                false => GRACE_ALONE,
            };
            self.mcp.servers.settled(grace, &self.cancel);
        }
        self.say_mcp(first, front);
        self.take_mcp(front);
    }

    /// Before each further request: what servers said has changed, and, where no other turn will
    /// come, servers that are there by now.
    pub(super) fn follow_mcp(&mut self, front: &mut dyn Frontend) {
        if self.mcp.servers.is_empty() || self.context.depth > 0 {
            return;
        }
        let relisted = self.mcp.servers.refresh(&self.cancel);
        let joined = !front.interactive() && self.mcp.servers.changes() != self.mcp.seen;
        if relisted || joined {
            self.say_mcp(false, front);
            self.take_mcp(front);
        }
    }

    fn say_mcp(&mut self, late: bool, front: &mut dyn Frontend) {
        for words in self.mcp.servers.complaints(late) {
            self.log.error(&words);
            front.event(&Event::Warning(words));
        }
    }

    /// Offers the tools of now. When that changes what the model was shown, it is stored and told.
    fn take_mcp(&mut self, front: &mut dyn Frontend) {
        self.mcp.seen = self.mcp.servers.changes();
        let (tools, warnings) = self.mcp.servers.tools(self.provider.is_local());
        for words in warnings {
            if !self.mcp.told.contains(&words) {
                front.event(&Event::Warning(words.clone()));
                self.mcp.told.push(words);
            }
        }
        self.mcp.tools = tools;
        let mut start = self.start.clone();
        self.add_mcp(&mut start);
        if start == self.start {
            return;
        }
        let shown = start.tools.iter().filter(|t| is_mcp(&t.name)).count();
        self.start = start;
        self.budget.begin_with(fixed_size(&self.start));
        self.set_tool_mode(self.tool_mode);
        self.record(&[record::line("start", &self.start)]);
        if !self.transcript.items().is_empty() {
            self.prefix_event();
            front.event(&Event::Note(format!(
                "the tools of MCP servers changed: {shown} are offered now, and the whole prompt is read again"
            )));
        }
    }

    /// Puts the tools of the servers behind those of a beginning, in place of any that are there.
    pub(super) fn add_mcp(&mut self, start: &mut Start) {
        if self.mcp.servers.is_empty() && !start.tools.iter().any(|t| is_mcp(&t.name)) {
            return;
        }
        let old: Vec<ToolSpec> = start.tools.extract_if(.., |t| is_mcp(&t.name)).collect();
        let at = start.opening.iter().position(is_about_servers);
        if let Some(at) = at {
            start.opening.remove(at);
        }
        let mut specs: Vec<ToolSpec> = self.mcp.tools.iter().map(|t| t.spec.clone()).collect();
        // A resumed conversation has tools of servers that are not up again yet.
        for (name, status, _) in self.mcp.servers.status() {
            let own = format!("{PREFIX}{name}__");
            if status == Status::Starting {
                specs.extend(old.iter().filter(|t| t.name.starts_with(&own)).cloned());
            }
        }
        let size = Size::of(&serde_json::to_string(&specs).unwrap_or_default());
        let room = u64::from(self.budget.window()) / SHARE;
        self.mcp.are_hidden = self.budget.counter().part(size) > room;
        if self.mcp.are_hidden {
            specs = self.stand_ins();
        }
        let about = self.about_servers(&specs);
        if !self.harness.reads_text() {
            start.tools.extend(specs);
        }
        if let Some(text) = about {
            let at = at.unwrap_or(start.opening.len()).min(start.opening.len());
            start.opening.insert(at, Item::Developer { text });
        }
    }

    /// How the servers want to be used; for a harness without tools also how it calls them.
    fn about_servers(&self, specs: &[ToolSpec]) -> Option<String> {
        let mut text = String::new();
        let window = u64::from(self.budget.window());
        let room = self.budget.counter().bytes(window / INSTRUCTIONS_SHARE);
        for (name, words) in self.mcp.servers.instructions() {
            let part = format!("\n\n## {name}\n{words}");
            if text.len() + part.len() <= room {
                text.push_str(&part);
            }
        }
        if self.harness.reads_text() && !specs.is_empty() {
            text.push_str("\n\nThese further commands are tools of MCP servers. A command block holds one of them alone: its name, a blank, and its arguments as one JSON object.");
            for spec in specs {
                text.push_str(&format!(
                    "\n- {} {}: {}",
                    spec.name,
                    spec.schema(),
                    spec.description
                ));
            }
        }
        (!text.is_empty()).then(|| format!("{HEADING}{text}"))
    }
}

/// True for the item that tells of servers.
fn is_about_servers(item: &Item) -> bool {
    matches!(item, Item::Developer { text } if text.starts_with(HEADING))
}
