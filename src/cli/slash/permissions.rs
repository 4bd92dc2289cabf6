//! `/permissions`: what this session may do, and when it asks.

use super::Desk;
use crate::agent::permissions::Permissions;
use crate::cli::pick::pick;
use crate::cli::render::phrases::strength_text;
use crate::cli::render::sanitize::one_line;
use crate::sandbox::{Approval, Mode};

/// What the words after the command change.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    mode: Option<Mode>,
    approval: Option<Approval>,
    network: Option<bool>,
}

impl Wanted {
    fn of(words: &str) -> Result<Self, String> {
        let mut wanted = Wanted::default();
        for word in words.split_whitespace() {
            if let Some(mode) = Mode::from_name(word) {
                wanted.mode = Some(mode);
            } else if let Some(approval) = Approval::from_name(word) {
                wanted.approval = Some(approval);
            } else if word == "network" || word == "no-network" {
                wanted.network = Some(word == "network");
            } else {
                return Err(format!(
                    "`{word}` is none of {}, {}, network, no-network",
                    Mode::ALL.map(|(_, n)| n).join(", "),
                    APPROVALS.map(|(a, _)| a.name()).join(", "),
                ));
            }
        }
        Ok(wanted)
    }
}

/// What each mode and policy means, to choose by.
const MODES: [(Mode, &str); 3] = [
    (Mode::ReadOnly, "nothing is written"),
    (Mode::WorkspaceWrite, "files in the workspace are written"),
    (Mode::DangerFullAccess, "no sandbox at all"),
];
const APPROVALS: [(Approval, &str); 3] = [
    (Approval::Untrusted, "every change asks"),
    (Approval::OnRequest, "what leaves the sandbox asks"),
    (Approval::Never, "nothing asks; what would ask is refused"),
];

/// Every word that may follow the command.
pub(super) fn words() -> Vec<String> {
    let modes = Mode::ALL.iter().map(|(_, name)| *name);
    let approvals = APPROVALS.iter().map(|(a, _)| a.name());
    let all = modes.chain(approvals).chain(["network", "no-network"]);
    all.map(str::to_owned).collect()
}

/// Changes them for this session. What becomes wider is said and needs a yes.
pub(super) fn permissions(desk: &mut Desk, words: &str) -> String {
    let now = desk.session.permissions();
    let wanted = match words.is_empty() {
        true => choose(desk, &now),
        false => Wanted::of(words),
    };
    let wanted = match wanted {
        Ok(wanted) => wanted,
        Err(why) => return one_line(&why),
    };
    let network = desk.session.info().network;
    let mut new = Permissions {
        mode: wanted.mode.unwrap_or(now.mode),
        network: wanted.network.unwrap_or(network),
        approval: wanted.approval.unwrap_or(now.approval),
        roots: now.roots.clone(),
    };
    if wanted.network == Some(true) && new.mode == Mode::ReadOnly {
        return "in the sandbox mode read-only no command uses the network; choose workspace-write for that".into();
    }
    // What a mode says of the network by itself.
    new.network = match new.mode {
        Mode::ReadOnly => false,
        Mode::WorkspaceWrite => new.network,
        Mode::DangerFullAccess => true,
    };
    if new == now {
        return format!("nothing was changed: {}", told(desk));
    }
    let more = new.beyond(&now);
    if !more.is_empty() {
        let question = format!("from here on {}. Shall it be so?", more.join("; "));
        if !desk.front.confirm(&question) {
            return format!("nothing was changed: {}", told(desk));
        }
    }
    let running = desk.session.workbench().jobs().len();
    desk.session.change_permissions(&new);
    let mut said = format!("for this session: {}", told(desk));
    if running > 0 {
        said.push_str(&format!(
            "\n{running} commands that run already keep the sandbox that they have (/stop ends them)"
        ));
    }
    said
}

fn choose(desk: &Desk, now: &Permissions) -> Result<Wanted, String> {
    let cancel = desk.session.cancel();
    let modes = MODES.map(|(mode, what)| format!("{:18}  {what}", mode.name()));
    let at = MODES.iter().position(|(m, _)| *m == now.mode).unwrap_or(0);
    let mode = pick("Which sandbox?", &modes, at, cancel);
    let approvals = APPROVALS.map(|(approval, what)| format!("{:12}  {what}", approval.name()));
    let at = APPROVALS.iter().position(|(a, _)| *a == now.approval);
    let approval = match mode {
        Some(_) => pick("When does it ask?", &approvals, at.unwrap_or(0), cancel),
        None => None,
    };
    match (mode, approval) {
        (Some(mode), Some(approval)) => Ok(Wanted {
            mode: MODES.get(mode).map(|(m, _)| *m),
            approval: APPROVALS.get(approval).map(|(a, _)| *a),
            network: None,
        }),
        _ => Err("nothing was changed".into()),
    }
}

/// What is in force, in a line.
fn told(desk: &mut Desk) -> String {
    let strength = desk.session.workbench().sandbox().strength();
    let info = desk.session.info();
    let network = match info.network {
        true => ", with the network",
        false => "",
    };
    one_line(&format!(
        "sandbox {}{network}, asks {}",
        strength_text(info.sandbox, &strength),
        info.approval
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_taken_by_their_meaning_in_any_order() {
        assert_eq!(
            Wanted::of("never read-only no-network"),
            Ok(Wanted {
                mode: Some(Mode::ReadOnly),
                approval: Some(Approval::Never),
                network: Some(false),
            })
        );
        let why = Wanted::of("all").unwrap_err();
        assert!(
            why.contains("workspace-write") && why.contains("untrusted"),
            "{why}"
        );
    }
}
