//! How what came of a call is told.

use super::*;

/// Exit code 1 of a search is no failure; blank lines around an output go.
#[test]
fn commands_are_told() {
    let run = |command: &str, output, status| {
        tell(
            &ClaudeCode,
            bash(json!({"command": command})),
            shell_out(command, output, status),
        )
    };
    let told = |text: &str, is_error| (text.to_owned(), is_error);
    assert_eq!(
        run("make", "\nbuilt\nwell\n\n", ShellStatus::Exited(0)),
        told("built\nwell", false)
    );
    assert_eq!(
        run("make", "", ShellStatus::Signaled(9)),
        told("Exit code 137", true)
    );
    for command in [
        "grep x a",
        "cd a && rg 'x|y'",
        "diff a b",
        "test -f a",
        "git diff a",
    ] {
        assert!(!run(command, "", ShellStatus::Exited(1)).1, "{command}");
    }
    assert!(run("git push", "", ShellStatus::Exited(1)).1);
    assert!(run("grep x a", "", ShellStatus::Exited(2)).1);
}

/// Above 30,000 characters: where it is saved and a preview of 2,000; a failure shows head and tail
/// of 10,000.
#[test]
fn long_output_is_cut() {
    let Outcome::Shell(failed) = long_shell_out("make") else {
        unreachable!()
    };
    let done = |out: ShellOut| Done {
        call: Some(make()),
        result: Ok((
            read(&ClaudeCode, make()).expect("good"),
            Outcome::Shell(out),
        )),
        notes: Vec::new(),
    };
    let good = ShellOut {
        status: ShellStatus::Exited(0),
        ..failed.clone()
    };
    let text = ClaudeCode.result(&done(good), 100_000).text();
    let (top, preview) = text
        .split_once("\n\nPreview (first 2KB):\n")
        .expect("a preview");
    assert!(top.starts_with("<persisted-output>\n") && top.contains("/home/ada/x/outputs/1.txt"));
    let head = preview.split("\n...\n").next().expect("a head");
    assert!(head.starts_with("line number 1\n") && head.len() <= 2000);
    assert!(head.lines().all(|line| line.starts_with("line number ")));
    assert!(preview.contains("error: the middle broke"));
    assert!(preview.ends_with("line number 3000\n</persisted-output>"));

    let text = ClaudeCode.result(&done(failed), 100_000).text();
    assert!(text.starts_with("Exit code 3\nline number 1\n") && text.ends_with("line number 3000"));
    assert!(text.len() < 10_500, "{}", text.len());
}

/// A `<task-notification>` at the end of a background command, with the id of the call.
#[test]
fn background_commands_are_told() {
    let start = || bash(json!({"command": "serve", "run_in_background": true}));
    let mut state = State::default();
    let done = Done {
        result: read(&ClaudeCode, start()).map(|action| (action, running("", None))),
        call: Some(start()),
        notes: Vec::new(),
    };
    ClaudeCode.results(&mut state, &[done], 4000);
    let ended = Notice::JobEnded {
        id: 2,
        command: "serve".into(),
        code: Some(1),
        file: Some("/o/2.txt".into()),
    };
    let expected = "<task-notification>\n<task-id>bash_2</task-id>\n<tool-use-id>call_1</tool-use-id>\n<output-file>/o/2.txt</output-file>\n<status>failed</status>\n<summary>The background command `serve` ended with exit code 1.</summary>\n</task-notification>";
    assert_eq!(
        ClaudeCode.notice(&mut state, &ended),
        [Item::user(expected)]
    );
    assert_eq!(state, State::default());
}
