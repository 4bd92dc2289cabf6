//! The sentence that tells a model that the fence, and not its command, is the likely trouble.

use super::{Lift, Mode, Policy};

/// What a blocked network looks like in the output of common tools, in lower case.
const NO_NETWORK: &[&str] = &[
    "network is unreachable",
    "enetunreach",
    "could not resolve",
    "couldn't resolve",
    "name or service not known",
    "temporary failure in name resolution",
    "name resolution",
    "eai_again",
    "getaddrinfo",
    "enotfound",
    "no address associated with hostname",
    "failed to lookup address",
    "dial tcp",
];

/// What a blocked write looks like.
const NO_WRITE: &[&str] = &["read-only file system", "erofs", "errno 30"];

/// What a refused right looks like; it can have other causes than the fence.
const NO_RIGHT: &[&str] = &[
    "permission denied",
    "operation not permitted",
    "eacces",
    "eperm",
];

/// One sentence for the model when the end of a failed command's output suggests that the sandbox
/// is the cause: what is forbidden, and how to ask for more. `None` when it does not.
pub fn hint(output_tail: &str, policy: &Policy, lift: &Lift) -> Option<String> {
    if policy.mode == Mode::DangerFullAccess || *lift == Lift::Everything {
        return None;
    }
    let text = output_tail.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|w| text.contains(w));
    let network = policy.network || *lift == Lift::Network;
    let socket = text.contains("socket") || text.contains("connect");

    if !network && (has(NO_NETWORK) || (has(NO_RIGHT) && socket)) {
        return Some(
            "The sandbox has no network. Do without it, or ask for approval to run this command with network access.".to_owned(),
        );
    }
    if !has(NO_WRITE) && (!has(NO_RIGHT) || about_the_workspace(&text, policy)) {
        return None;
    }
    let sure = if has(NO_WRITE) {
        ""
    } else {
        "may be the cause: it "
    };
    if text.contains(".git/") && *lift != Lift::Git && policy.mode != Mode::ReadOnly {
        return Some(format!(
            "The sandbox {sure}keeps .git read-only, so git can look but not write. Leave commits to the user, or ask for approval of git writes for this command."
        ));
    }
    Some(match policy.mode {
        Mode::ReadOnly => format!(
            "The sandbox {sure}is read-only: commands may write no file. Work without writing, or ask for approval to run this command outside the sandbox."
        ),
        _ => {
            let roots: Vec<_> = policy
                .roots
                .iter()
                .map(|r| r.display().to_string())
                .collect();
            format!(
                "The sandbox {sure}lets commands write only in {} and the temporary folders. Write there, or ask for approval to run this command outside the sandbox.",
                roots.join(", ")
            )
        }
    })
}

/// True when every line that speaks of a refused right is about a file that may be written: then
/// the file's own mode is the cause, for example a script that is not executable.
fn about_the_workspace(text: &str, policy: &Policy) -> bool {
    let roots: Vec<String> = policy
        .roots
        .iter()
        .map(|r| format!("{}/", r.display()).to_lowercase())
        .collect();
    let mut lines = text
        .lines()
        .filter(|l| NO_RIGHT.iter().any(|w| l.contains(w)));
    policy.mode == Mode::WorkspaceWrite
        && lines.all(|l| {
            l.contains(": ./") || roots.iter().any(|r| l.contains(r) && !l.contains("/.git/"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn the_likely_fence_is_named_and_ordinary_errors_are_not() {
        let mut policy = Policy {
            mode: Mode::WorkspaceWrite,
            roots: vec![PathBuf::from("/work")],
            network: false,
            slash_tmp: true,
            tmpdir: true,
            own_homes: vec![],
            readable: vec![],
        };
        let said = |out: &str, policy: &Policy, lift: &Lift| hint(out, policy, lift);
        for output in [
            "/bin/bash: line 2: /work/hello.py: Permission denied",
            "bash: ./run.sh: Permission denied",
        ] {
            assert_eq!(said(output, &policy, &Lift::Nothing), None, "{output}");
        }
        for (output, word) in [
            (
                "sh: 1: cannot create /var/tmp/f: Read-only file system",
                "/work",
            ),
            (
                "fatal: Unable to create '/work/.git/index.lock': Read-only file system",
                ".git",
            ),
            ("curl: (6) Could not resolve host: example.com", "network"),
            (
                "PermissionError: [Errno 1] Operation not permitted (socket)",
                "network",
            ),
        ] {
            let hint = said(output, &policy, &Lift::Nothing).unwrap();
            assert!(hint.contains(word), "{output}: {hint}");
        }
        assert_eq!(said("1 test failed", &policy, &Lift::Nothing), None);
        assert_eq!(
            said("Could not resolve host", &policy, &Lift::Network),
            None
        );
        assert_eq!(
            said("Read-only file system", &policy, &Lift::Everything),
            None
        );
        policy.mode = Mode::ReadOnly;
        let hint = said("Read-only file system", &policy, &Lift::Nothing).unwrap();
        assert!(hint.contains("read-only"));
    }
}
