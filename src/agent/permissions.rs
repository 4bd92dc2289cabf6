//! What a session may do and when it asks: how two such answers compare, and how they change.
//!
//! Nothing here widens by itself: what a change would let through is said in sentences first.

use super::approval::Judge;
use super::event::{Event, Frontend};
use super::open::{has_network, is_flag, policy};
use super::record::TurnContext;
use super::session::Session;
use crate::config::Config;
use crate::harnesses::{Notice, SandboxFacts};
use crate::sandbox::{Approval, Gate, Mode, Policy, Sandbox};
use crate::store::paths::Home;
use std::path::{Path, PathBuf};

/// What is done without asking, and what is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permissions {
    /// The sandbox mode.
    pub mode: Mode,
    /// Commands may use the network.
    pub network: bool,
    /// When the person is asked.
    pub approval: Approval,
    /// Folders that may be written in `workspace-write`.
    pub roots: Vec<PathBuf>,
}

impl Permissions {
    /// Those of a policy.
    pub fn of(policy: &Policy, approval: Approval) -> Self {
        Permissions {
            mode: policy.mode,
            network: has_network(policy),
            approval,
            roots: policy.roots.clone(),
        }
    }

    /// What these let happen without a question that `other` does not, a clause each; empty when
    /// they are not wider.
    pub fn beyond(&self, other: &Permissions) -> Vec<String> {
        let mut more = Vec::new();
        if self.mode > other.mode {
            more.push(match self.mode {
                Mode::DangerFullAccess => {
                    "commands run without a sandbox: they may change every file of yours and use the network".into()
                }
                _ => "files in the workspace may be changed".into(),
            });
        }
        if self.network && !other.network && self.mode != Mode::DangerFullAccess {
            more.push("commands may use the network".into());
        }
        if self.mode == Mode::WorkspaceWrite {
            let new = self.roots.iter().filter(|r| !other.roots.contains(r));
            more.extend(new.map(|r| format!("files in {} may be changed", r.display())));
        }
        let unlimited =
            |p: &Permissions| p.approval == Approval::Never && p.mode == Mode::DangerFullAccess;
        if unlimited(self) && !unlimited(other) {
            more.push(
                "nothing is asked any more, not even before files are removed by force".into(),
            );
        } else if self.approval != Approval::Untrusted && other.approval == Approval::Untrusted {
            more.push("changes and commands inside the sandbox are not asked about".into());
        }
        more
    }
}

/// The policy and approvals of a session. One that goes on keeps its own unless a flag says
/// otherwise; where they let more happen than the settings of now do, only a person's yes keeps
/// them.
pub(super) fn permitted(
    config: &Config,
    home: &Home,
    cwd: &Path,
    recorded: Option<&TurnContext>,
    front: &mut dyn Frontend,
) -> (Policy, Approval) {
    let mut kept = policy(config, home, cwd, recorded);
    let mut approval = recorded
        .filter(|_| !is_flag(&config.approval_policy.source))
        .and_then(|r| Approval::from_name(&r.approval_policy))
        .unwrap_or(*config.approval_policy);
    if recorded.is_none() {
        return (kept, approval);
    }
    let usual = policy(config, home, cwd, None);
    let had = Permissions::of(&kept, approval);
    let now = Permissions::of(&usual, *config.approval_policy);
    let more = had.beyond(&now);
    if more.is_empty() {
        return (kept, approval);
    }
    let list = more.join("; ");
    let agreed = front.interactive()
        && front.confirm(&format!(
            "this session ran with more than your settings allow now: {list}. Go on like that?"
        ));
    if !agreed {
        front.event(&Event::Warning(format!(
            "the session ran with more than your settings allow now ({list}); it goes on without that, unless a flag such as --sandbox or --add-dir says otherwise"
        )));
        kept.mode = kept.mode.min(usual.mode);
        kept.network &= usual.network;
        kept.roots.retain(|root| usual.roots.contains(root));
        // Judged again, since a question more or less may be due to the sandbox alone.
        if !Permissions::of(&kept, approval).beyond(&now).is_empty() {
            approval = *config.approval_policy;
        }
    }
    (kept, approval)
}

impl Session {
    /// What the session may do now.
    pub fn permissions(&self) -> Permissions {
        Permissions::of(&self.judge.policy, self.judge.approval)
    }

    /// Goes on with other permissions; what was allowed for the session before is asked about
    /// again. The model is told. Commands that run already keep the sandbox that they have.
    pub fn change_permissions(&mut self, new: &Permissions) {
        self.permit(new);
        // Before the first word of the user there is nothing that said otherwise.
        if self.transcript.items().is_empty() {
            self.untold = None;
            self.begin_again(self.harness);
        } else {
            self.tell_permissions();
        }
    }

    /// Puts other permissions into force. The model is told by [`Session::tell_permissions`], at a
    /// place where the conversation takes a message.
    pub(super) fn permit(&mut self, new: &Permissions) {
        let policy = Policy {
            mode: new.mode,
            network: new.network && new.mode == Mode::WorkspaceWrite,
            roots: new.roots.clone(),
            ..self.judge.policy.clone()
        };
        let variables = self.shell_environment.variables(&policy, &self.info.id);
        self.workbench.set_environment(variables);
        self.judge = self.fence_in(policy.clone(), new.approval);
        self.info.sandbox = policy.mode;
        self.info.network = policy.network;
        self.info.approval = new.approval.name();
        self.context.sandbox = facts(&policy, new.approval);
        let text = format!(
            "The user changed what you may do from here on: the sandbox mode is {}, commands {} use the network, the approval policy is {}.",
            policy.mode.name(),
            if has_network(&policy) {
                "may"
            } else {
                "may not"
            },
            new.approval.name(),
        );
        self.untold = Some(text);
    }

    /// Tells the model what it may do from here on, if that changed. A nested agent is not told: it
    /// meets the new fence, and the main one goes on with it.
    pub(super) fn tell_permissions(&mut self) {
        if self.context.depth > 0 {
            return;
        }
        if let Some(text) = self.untold.take() {
            let notice = Notice::Nudge(text);
            let items = self.harness.notice(&mut self.state, &notice);
            self.push_all(items);
            self.record_turn_context();
        }
    }

    /// Puts another fence around commands and file tools. Gives a judge for it.
    pub(super) fn fence_in(&mut self, policy: Policy, approval: Approval) -> Judge {
        let gate = Gate::new(&policy, &self.info.cwd);
        self.workbench.set_fence(Sandbox::new(policy.clone()), gate);
        Judge::new(approval, policy).with_rules(self.judge.rules().clone())
    }
}

/// The same for prompts.
pub(super) fn facts(policy: &Policy, approval: Approval) -> SandboxFacts {
    SandboxFacts {
        mode: policy.mode.name().into(),
        network: has_network(policy),
        writable: policy.roots.clone(),
        approval: approval.name().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mode: Mode, approval: Approval) -> Permissions {
        Permissions {
            mode,
            network: mode == Mode::DangerFullAccess,
            approval,
            roots: vec!["/w".into()],
        }
    }

    #[test]
    fn what_is_wider_is_said_and_what_is_not_is_silent() {
        use Approval::{Never, OnRequest, Untrusted};
        use Mode::{DangerFullAccess, ReadOnly, WorkspaceWrite};
        let cases = [
            ((WorkspaceWrite, OnRequest), (WorkspaceWrite, OnRequest), 0),
            ((ReadOnly, Never), (WorkspaceWrite, OnRequest), 0),
            ((WorkspaceWrite, OnRequest), (ReadOnly, OnRequest), 1),
            ((DangerFullAccess, OnRequest), (ReadOnly, OnRequest), 1),
            ((DangerFullAccess, Never), (WorkspaceWrite, OnRequest), 2),
            // Under a fence `never` refuses what would be asked.
            ((WorkspaceWrite, Never), (WorkspaceWrite, OnRequest), 0),
            ((WorkspaceWrite, Never), (WorkspaceWrite, Untrusted), 1),
            ((DangerFullAccess, Never), (DangerFullAccess, OnRequest), 1),
            ((WorkspaceWrite, Untrusted), (DangerFullAccess, Never), 0),
        ];
        for ((mode, approval), (other, asks), wider) in cases {
            let more = of(mode, approval).beyond(&of(other, asks));
            assert_eq!(more.len(), wider, "{mode:?} {approval:?}: {more:?}");
        }
        let net = Permissions {
            network: true,
            roots: vec!["/w".into(), "/other".into()],
            ..of(WorkspaceWrite, OnRequest)
        };
        let more = net.beyond(&of(WorkspaceWrite, OnRequest));
        assert_eq!(
            more,
            [
                "commands may use the network",
                "files in /other may be changed"
            ]
        );
    }
}
