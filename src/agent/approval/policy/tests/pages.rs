//! Pages of the web.

use super::*;

/// A page of the web goes where commands may go; one of a server nearby is asked about anywhere,
/// but where nothing is.
#[test]
fn pages_are_judged_like_the_network() {
    let page = |url: &str| Action::Fetch(Fetch::new(url, Duration::from_secs(1)));
    let (far, near) = (
        page("https://example.org/a"),
        page("http://127.0.0.1:8080/"),
    );
    let with = |approval, mode, network| {
        let mut judge = judge(approval, mode);
        judge.policy.network = network;
        judge
    };
    use Approval::{Never, OnRequest, Untrusted};
    use Mode::{DangerFullAccess, ReadOnly, WorkspaceWrite};
    for (approval, mode, network, page, want) in [
        (OnRequest, WorkspaceWrite, false, &far, "ask"),
        (OnRequest, WorkspaceWrite, true, &far, "allow"),
        (Untrusted, WorkspaceWrite, true, &far, "ask"),
        (Never, WorkspaceWrite, false, &far, "refuse"),
        (Never, WorkspaceWrite, true, &far, "allow"),
        (Never, ReadOnly, false, &far, "refuse"),
        (OnRequest, DangerFullAccess, false, &far, "allow"),
        (OnRequest, WorkspaceWrite, true, &near, "ask"),
        (OnRequest, DangerFullAccess, false, &near, "ask"),
        (Never, WorkspaceWrite, true, &near, "refuse"),
        (Never, DangerFullAccess, false, &near, "allow"),
    ] {
        let got = short(decide(&with(approval, mode, network), page));
        assert_eq!(got.0, want, "{approval:?} {mode:?} {network} {page:?}");
    }
    // A yes for the session is one for that server, in all of its pages, and for no other.
    let mut judge = judge(OnRequest, WorkspaceWrite);
    judge.remember(&far);
    for (url, want) in [
        ("https://example.org/b?c=d", "allow"),
        ("https://EXAMPLE.org:443/", "allow"),
        ("http://example.org/a", "ask"),
        ("https://example.org.evil.example/", "ask"),
        ("https://www.example.org/", "ask"),
    ] {
        assert_eq!(short(decide(&judge, &page(url))).0, want, "{url}");
    }
}
