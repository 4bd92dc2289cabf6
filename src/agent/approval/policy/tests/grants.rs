//! What a yes covers, and what it does not.

use super::*;

/// A yes to one command lifts one thing of it, and nothing of the next one.
#[test]
fn a_yes_lifts_one_thing_for_one_command() {
    let mut judge = judge(Approval::OnRequest, Mode::WorkspaceWrite);
    judge.remember(&escalated("make install"));
    assert_eq!(
        short(decide(&judge, &escalated("make install"))),
        ("allow", Lift::Everything)
    );
    for other in [
        escalated("make install "),
        escalated("make install; make"),
        escalated("make"),
    ] {
        assert_eq!(short(decide(&judge, &other)).0, "ask", "{other:?}");
    }
    assert_eq!(
        short(decide(&judge, &run("make install"))),
        ("allow", Lift::Nothing)
    );
    judge.remember(&write(".git/config"));
    assert_eq!(
        short(decide(&judge, &write(".git/config"))),
        ("allow", Lift::Git)
    );
    assert_eq!(short(decide(&judge, &write(".git/hooks/x"))).0, "ask");
    assert_eq!(short(decide(&judge, &write("/etc/x"))).0, "ask");
}

#[test]
fn a_yes_for_the_session_holds_for_the_same_alone() {
    let mut judge = judge(Approval::OnRequest, Mode::WorkspaceWrite);
    judge.remember(&run("rm -f a"));
    assert_eq!(
        decide(&judge, &run("rm -f a")),
        Verdict::Allow(Lift::Nothing)
    );
    assert_eq!(short(decide(&judge, &run("rm -f b"))).0, "ask");
    assert_eq!(
        short(decide(&judge, &escalated("rm -f a"))),
        ("ask", Lift::Everything)
    );
    let elsewhere = judge.decide(&run("rm -f a"), &ENFORCED, Path::new("/more"));
    assert_eq!(short(elsewhere).0, "ask");
    judge.remember(&escalated("curl x"));
    assert_eq!(
        decide(&judge, &escalated("curl x")),
        Verdict::Allow(Lift::Everything)
    );
    judge.approval = Approval::Never;
    assert_eq!(short(decide(&judge, &escalated("curl x"))).0, "refuse");
}

#[cfg(unix)]
#[test]
fn a_yes_for_paths_covers_these_files_however_they_are_changed() {
    let mut judge = judge(Approval::Untrusted, Mode::WorkspaceWrite);
    judge.remember(&patch(&["a", "/etc/b"]));
    assert_eq!(
        decide(&judge, &write("./x/../a")),
        Verdict::Allow(Lift::Nothing)
    );
    assert_eq!(
        decide(&judge, &write("/etc/b")),
        Verdict::Allow(Lift::Folder("/etc".into()))
    );
    assert_eq!(short(decide(&judge, &patch(&["a", "c"]))).0, "ask");
    assert_eq!(short(decide(&judge, &patch(&[]))).0, "ask");
}
