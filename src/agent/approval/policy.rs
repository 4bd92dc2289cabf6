//! Asking, allowing and refusing, by approval policy and sandbox policy.

mod change;
mod command;
#[cfg(test)]
mod tests;

use super::paths;
use super::rules::{Rule, Rules};
use crate::model::provider::{is_local, origin};
use crate::sandbox::{Approval, Lift, Mode, Policy, Strength};
use crate::tools::action::{Action, Fetch, Mcp, ToolApproval};
use command::Command;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// What is to be done with an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Do it, with this much of the fence lifted.
    Allow(Lift),
    /// Ask the person.
    Ask {
        /// Why, in a sentence for the person.
        reason: String,
        /// What a yes lifts.
        lift: Lift,
    },
    /// Do not do it, and do not ask.
    Refuse {
        /// Why and what to do instead, in a sentence for the model.
        reason: String,
    },
}

/// Decides over the actions of one session.
#[derive(Debug, Clone)]
pub struct Judge {
    /// When the person is asked.
    pub approval: Approval,
    /// What the sandbox lets through.
    pub policy: Policy,
    /// Folders that may be written without asking; empty in `read-only`.
    writable: Vec<PathBuf>,
    granted_commands: Vec<Command>,
    granted_paths: HashSet<PathBuf>,
    rules: Rules,
    /// Tools of MCP servers: server and tool.
    granted_tools: HashSet<(String, String)>,
    granted_origins: HashSet<String>,
}

/// Why something is asked, and how it is refused where nobody may be asked.
struct Question {
    ask: String,
    refuse: String,
    lift: Lift,
}

impl Question {
    /// One that only the policy `untrusted` asks, which refuses nothing.
    fn untrusted(ask: &str) -> Self {
        Question {
            ask: ask.to_owned(),
            refuse: String::new(),
            lift: Lift::Nothing,
        }
    }

    /// The same, refused in other words if the policy has none.
    fn refused(self, words: &str) -> Self {
        let refuse = if self.refuse.is_empty() {
            words.to_owned()
        } else {
            self.refuse
        };
        Question { refuse, ..self }
    }
}

impl Judge {
    /// A judge with nothing granted yet. The temporary folder is the one of now.
    pub fn new(approval: Approval, policy: Policy) -> Self {
        let temp = if cfg!(windows) {
            Some(std::env::temp_dir())
        } else {
            std::env::var_os("TMPDIR").map(PathBuf::from)
        };
        let writable = paths::writable(&policy, temp.filter(|t| t.is_absolute()));
        Judge {
            approval,
            policy,
            writable,
            granted_commands: Vec::new(),
            granted_paths: HashSet::new(),
            rules: Rules::default(),
            granted_tools: HashSet::new(),
            granted_origins: HashSet::new(),
        }
    }

    /// The same judge with these rules.
    pub fn with_rules(self, rules: Rules) -> Self {
        Judge { rules, ..self }
    }

    /// Goes on with other rules.
    pub fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// The rules about commands.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Takes a yes for good: see [`Rules::save`].
    ///
    /// # Errors
    /// When it cannot be kept.
    pub fn always(&mut self, prefix: &[String], sandboxed: bool) -> Result<Rule, String> {
        self.rules.save(prefix, sandboxed)
    }

    /// Judges an action of the model. `strength` says how well commands can be confined on this
    /// system, `cwd` is the folder that relative paths belong to.
    pub fn decide(&self, action: &Action, strength: &Strength, cwd: &Path) -> Verdict {
        match action {
            Action::Shell(shell) => {
                let granted = || self.granted_commands.contains(&Command::of(shell, cwd));
                match self.ruled(shell, strength) {
                    Ok(question) => self.answer(question, granted),
                    Err(verdict) => verdict,
                }
            }
            Action::ShellInput { chars, .. } => match self.about_input(chars) {
                Ok(question) => self.answer(question, || false),
                Err(verdict) => verdict,
            },
            Action::Fetch(fetch) => {
                let granted = || self.granted_origins.contains(&origin_of(fetch));
                self.answer(self.about_page(fetch), granted)
            }
            Action::Write { .. }
            | Action::Edit { .. }
            | Action::Insert { .. }
            | Action::EditCell(_)
            | Action::Patch { .. }
            | Action::UndoEdit { .. } => {
                let touched = paths::touched(action, cwd);
                match self.about_change(&touched) {
                    Ok(question) => self.answer(question, || {
                        !touched.is_empty()
                            && touched.iter().all(|p| self.granted_paths.contains(p))
                    }),
                    Err(reason) => Verdict::Refuse { reason },
                }
            }
            Action::Mcp(call) => {
                let key = (call.server.clone(), call.tool.clone());
                self.answer(self.about_mcp(call), || self.granted_tools.contains(&key))
            }
            Action::FindTools { .. }
            | Action::ShellStop { .. }
            | Action::ShellWait { .. }
            | Action::ShellList
            | Action::Read(_)
            | Action::List { .. }
            | Action::Glob(_)
            | Action::Grep(_)
            | Action::Plan { .. }
            | Action::PlanRead
            | Action::Mode { .. }
            | Action::Ask { .. }
            | Action::Delegate(_)
            | Action::Agents { .. }
            | Action::Skill { .. }
            | Action::ViewImage { .. }
            | Action::Finish { .. } => Verdict::Allow(Lift::Nothing),
        }
    }

    /// Takes a yes for the rest of the session: the same command in the same folder, changes of
    /// the same files, or pages of the same server. Relative paths are taken from the first folder of the workspace, so a yes
    /// that was given elsewhere is asked for again.
    pub fn remember(&mut self, action: &Action) {
        let Some(cwd) = self.policy.roots.first() else {
            return;
        };
        match action {
            Action::Shell(shell) => {
                let command = Command::of(shell, cwd);
                if !self.granted_commands.contains(&command) {
                    self.granted_commands.push(command);
                }
            }
            Action::Mcp(call) => {
                self.granted_tools
                    .insert((call.server.clone(), call.tool.clone()));
            }
            Action::Fetch(fetch) => {
                self.granted_origins.insert(origin_of(fetch));
            }
            _ => self.granted_paths.extend(paths::touched(action, cwd)),
        }
    }

    /// True where the fence and the questions are both off.
    fn is_unlimited(&self) -> bool {
        self.policy.mode == Mode::DangerFullAccess && self.approval == Approval::Never
    }

    fn answer(&self, question: Option<Question>, granted: impl FnOnce() -> bool) -> Verdict {
        match question {
            None => Verdict::Allow(Lift::Nothing),
            Some(q) if self.approval == Approval::Never => Verdict::Refuse { reason: q.refuse },
            Some(q) if granted() => Verdict::Allow(q.lift),
            Some(q) => Verdict::Ask {
                reason: q.ask,
                lift: q.lift,
            },
        }
    }

    /// A server runs outside of the fence, so that its tools ask unless they only read, or the user
    /// has said otherwise.
    fn about_mcp(&self, call: &Mcp) -> Option<Question> {
        let (server, tool) = (&call.server, &call.tool);
        let asks = match call.approval {
            ToolApproval::Approve => false,
            ToolApproval::Prompt => true,
            ToolApproval::Auto | ToolApproval::Writes => !call.read_only && !self.is_unlimited(),
        };
        asks.then(|| Question {
            ask: format!("The tool {tool} of the MCP server {server} may change things, and no sandbox holds it."),
            refuse: format!(
                "The tool {tool} of the MCP server {server} did not run: it may change things, and under the approval policy `never` nobody is asked. The user can allow it with approval_mode = \"approve\" in [mcp_servers.{server}.tools.{tool}]. Do without it."
            ),
            lift: Lift::Nothing,
        })
    }

    /// A page is asked about where commands may not use the network, and where it is at a server
    /// nearby: such servers often trust whoever reaches them.
    fn about_page(&self, fetch: &Fetch) -> Option<Question> {
        if self.is_unlimited() {
            return None;
        }
        let ask = |why: &str, refuse: &str| Question {
            ask: why.to_owned(),
            refuse: format!(
                "The page was not fetched: {refuse}, and under the approval policy `never` nobody is asked. Go on without it, or say in your answer what is missing."
            ),
            lift: Lift::Network,
        };
        let has_network = self.policy.network || self.policy.mode == Mode::DangerFullAccess;
        if is_local(&fetch.url) {
            Some(ask(
                "This page is at a server on this machine or in its own network.",
                "it is at a server on this machine or in its own network",
            ))
        } else if !has_network {
            Some(ask(
                "The sandbox has no network, and this page is on the web.",
                "the sandbox has no network",
            ))
        } else if self.approval == Approval::Untrusted {
            Some(Question {
                lift: Lift::Network,
                ..Question::untrusted(
                    "This page is on the web, and what stands there is not known.",
                )
            })
        } else {
            None
        }
    }
}

/// The server that a yes for the session is about.
fn origin_of(fetch: &Fetch) -> String {
    origin(&fetch.url).unwrap_or_else(|| fetch.url.clone())
}
