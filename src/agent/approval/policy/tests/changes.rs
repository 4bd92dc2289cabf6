//! Changes of files, by where they lie.

use super::*;

#[cfg(unix)]
#[test]
fn changes_by_policy_and_place() {
    use Approval::{Never, OnRequest, Untrusted};
    use Mode::{DangerFullAccess, ReadOnly, WorkspaceWrite};
    let folder = |p: &str| Lift::Folder(p.into());
    for (approval, mode, action, want, lift) in [
        (Untrusted, WorkspaceWrite, write("a"), "ask", Lift::Nothing),
        (Untrusted, WorkspaceWrite, patch(&[]), "ask", Lift::Nothing),
        (
            Untrusted,
            DangerFullAccess,
            write("a"),
            "ask",
            Lift::Nothing,
        ),
        (
            Untrusted,
            WorkspaceWrite,
            write("/etc/x"),
            "ask",
            folder("/etc"),
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write("a"),
            "allow",
            Lift::Nothing,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write("/more/a"),
            "allow",
            Lift::Nothing,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write("/tmp/a"),
            "allow",
            Lift::Nothing,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write("sub/.git/x"),
            "allow",
            Lift::Nothing,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            patch(&["a", "b/c"]),
            "allow",
            Lift::Nothing,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write("/tmpx/a"),
            "ask",
            folder("/tmpx"),
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write("../../etc/x"),
            "ask",
            folder("/etc"),
        ),
        (
            OnRequest,
            WorkspaceWrite,
            patch(&["a", "/etc/x"]),
            "ask",
            folder("/etc"),
        ),
        (
            OnRequest,
            WorkspaceWrite,
            patch(&["/o/a/x", "/o/y"]),
            "ask",
            folder("/o"),
        ),
        (
            OnRequest,
            WorkspaceWrite,
            patch(&["/o/x", "/p/y"]),
            "refuse",
            Lift::Nothing,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write(".git/hooks/x"),
            "ask",
            Lift::Git,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write(".GIT/config"),
            "ask",
            Lift::Git,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write("sub/../.git"),
            "ask",
            Lift::Git,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write("/tmp/.git/x"),
            "ask",
            Lift::Git,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write(".codex/x"),
            "ask",
            folder("/tmp/w/.codex"),
        ),
        (
            OnRequest,
            WorkspaceWrite,
            patch(&[".git/x", "/etc/y"]),
            "refuse",
            Lift::Nothing,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write("/home/me/.openinterpreter/x"),
            "refuse",
            Lift::Nothing,
        ),
        (OnRequest, ReadOnly, write("b/c"), "ask", folder("/tmp/w/b")),
        (
            OnRequest,
            ReadOnly,
            patch(&["a/x", "b/x"]),
            "ask",
            folder("/tmp/w"),
        ),
        (
            OnRequest,
            DangerFullAccess,
            write("/etc/x"),
            "allow",
            Lift::Nothing,
        ),
        (
            OnRequest,
            DangerFullAccess,
            write(".git/x"),
            "allow",
            Lift::Nothing,
        ),
        (Never, WorkspaceWrite, write("a"), "allow", Lift::Nothing),
        (
            Never,
            WorkspaceWrite,
            write("/etc/x"),
            "refuse",
            Lift::Nothing,
        ),
        (
            Never,
            WorkspaceWrite,
            write(".git/x"),
            "refuse",
            Lift::Nothing,
        ),
        (Never, ReadOnly, write("a"), "refuse", Lift::Nothing),
        (
            Never,
            DangerFullAccess,
            write("/etc/x"),
            "allow",
            Lift::Nothing,
        ),
    ] {
        let got = short(decide(&judge(approval, mode), &action));
        assert_eq!(got, (want, lift), "{approval:?} {mode:?} {action:?}");
    }
}
