//! The tools of all servers, as a model is shown them.

use super::super::{names, schema};
use super::{Servers, State};
use crate::model::{ToolInput, ToolSpec};
use crate::tools::action::ToolApproval;
use std::collections::BTreeSet;

/// The most bytes of a tool's description.
const MOST_WORDS: usize = 1_024;
/// A tool as the model sees it, and what it stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// What is offered.
    pub spec: ToolSpec,
    /// The server.
    pub server: String,
    /// Its name there.
    pub tool: String,
    /// The server says that it changes nothing.
    pub read_only: bool,
    /// When it asks.
    pub approval: ToolApproval,
}

impl Servers {
    /// The tools of the servers that are there, in the order of servers and of their lists, and what
    /// is to be said of those that cannot be offered. `local`: for a server with a grammar maker.
    pub fn tools(&self, local: bool) -> (Vec<Tool>, Vec<String>) {
        let (mut tools, mut warnings) = (Vec::<Tool>::new(), Vec::new());
        let mut taken = BTreeSet::new();
        for slot in self.shared.lock().iter() {
            let State::Ready(_, offers) = &slot.state else {
                continue;
            };
            let (server, config) = (&slot.entry.name, &slot.entry.server);
            let mut seen = BTreeSet::new();
            for offer in offers.iter().filter(|o| config.offers(&o.name)) {
                if !seen.insert(&offer.name) {
                    continue;
                }
                let mut name = names::shown(server, &offer.name);
                if !taken.insert(name.clone()) {
                    name = names::with_hash(&name, server, &offer.name);
                    taken.insert(name.clone());
                }
                let schema = match schema::clean(&offer.schema, local) {
                    Ok(schema) => schema,
                    Err(why) => {
                        let tool = crate::words::head(&offer.name, 100);
                        warnings.push(format!(
                            "the tool {tool} of MCP server {server} is left out: {why}"
                        ));
                        continue;
                    }
                };
                let words = match offer.description.as_str() {
                    "" => &offer.name,
                    words => words,
                };
                let approval = config.approval_of(&offer.name);
                tools.push(Tool {
                    spec: ToolSpec {
                        name,
                        description: crate::words::head(words, MOST_WORDS).to_owned(),
                        input: ToolInput::Function(schema),
                    },
                    server: server.clone(),
                    tool: offer.name.clone(),
                    read_only: offer.read_only,
                    approval: approval
                        .and_then(ToolApproval::from_name)
                        .unwrap_or_default(),
                });
            }
        }
        (tools, warnings)
    }
}
