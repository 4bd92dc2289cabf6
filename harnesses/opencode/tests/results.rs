//! How what came of a call is told.

use super::*;

/// Facts, "read": layout, footers, long lines, folders.
#[test]
fn reads_are_told() {
    assert_eq!(
        told(file(), Outcome::Read(out())),
        "<path>/w/a.py</path>\n<type>file</type>\n<content>\n9: x\n10: \ty\n\n(Showing lines 9-10 of 30. Use offset=11 to continue.)\n</content>"
    );
    let footer = |out: ReadOut| {
        let text = told(file(), Outcome::Read(out));
        text.rsplit_once("\n\n")
            .map(|(_, footer)| footer.to_owned())
            .expect("a blank line")
    };
    let end = ReadOut { first: 29, ..out() };
    assert_eq!(footer(end), "(End of file - total 30 lines)\n</content>");
    let text = "0123456789 0123456789 0123456789 0123456789\n".repeat(200);
    let cut = ReadOut {
        text,
        first: 1,
        lines: 200,
        total: 5000,
        cut: true,
        ..out()
    };
    assert_eq!(
        footer(cut.clone()),
        "(Output capped at 28 KB. Showing lines 1-200. Use offset=201 to continue.)\n</content>"
    );
    // With room for them, all 50 KB.
    let done = Done {
        call: Some(file()),
        result: Ok((read(&Opencode, file()).expect("good"), Outcome::Read(cut))),
        notes: Vec::new(),
    };
    let text = Opencode.result(&done, 100_000).text();
    assert!(text.contains("(Output capped at 50 KB. Showing lines 1-200. Use offset=201"));
    let text = Opencode.result(&done, 4_000).text();
    assert!(text.contains("Use offset=") && text.len() <= 4_000);
    assert!(!text.contains("200: "));

    let long = ReadOut {
        text: "x".repeat(2001),
        first: 1,
        lines: 1,
        total: 1,
        ..out()
    };
    let text = told(file(), Outcome::Read(long));
    assert!(text.contains("1: xxx") && text.contains("x... (line truncated to 2000 chars)\n"));
    let empty = ReadOut {
        text: String::new(),
        first: 1,
        lines: 0,
        total: 0,
        ..out()
    };
    assert!(told(file(), Outcome::Read(empty)).contains("(End of file - total 0 lines)"));

    let entry = |name: &str, is_dir| Entry {
        name: name.into(),
        is_dir,
        size: 1,
    };
    let folder = |more| {
        Outcome::Listed(ListOut {
            path: "/w".into(),
            entries: vec![entry("src", true), entry("a.py", false)],
            ignored: 0,
            more,
        })
    };
    let part = call("read", json!({"filePath": ".", "offset": 3, "limit": 2}));
    assert!(
        told(part, folder(5))
            .ends_with("\n\n(Showing entries 3-4 of 9. Use offset=5 to continue.)\n</entries>")
    );
    assert_eq!(
        told(file(), folder(0)),
        "<path>/w</path>\n<type>directory</type>\n<entries>\nsrc/\na.py\n\n(2 entries)\n</entries>"
    );
}
