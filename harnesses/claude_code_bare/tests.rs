//! What `claude-code-bare` has of its own, by tests/fixtures/harness-facts/claude-code-bare.json
//! and the notes on it; the rest is tested in `claude-code`.

use super::*;
use crate::harnesses::claude_code::tests::actions;
use crate::harnesses::tests::{call, context, instructions, read, shell_out, tell};
use crate::harnesses::{Size, Step};
use crate::tools::action::{Outcome, Output, Shell, ShellOut, ShellStatus};
use serde_json::json;
use std::time::Duration;

/// Tools: Bash, Edit, Read, in every size.
#[test]
fn there_are_three_tools() {
    for (size, _) in Size::ALL {
        let start = ClaudeCodeBare.begin(&context(size));
        let names: Vec<&str> = start.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["Bash", "Edit", "Read"]);
    }
}

/// System prompt: `CWD: {dir}`, `Date: {yyyy-mm-dd}`, a blank line, what git says.
#[test]
fn the_prompt_is_two_lines() {
    let mut cx = context(Size::Tiny);
    let lines = "CWD: /home/ada/projects/shop\nDate: 2025-03-01";
    assert_eq!(
        ClaudeCodeBare.begin(&cx).system,
        format!("{lines}\n\nCurrent branch: main")
    );
    cx.git_root = None;
    let start = ClaudeCodeBare.begin(&cx);
    assert_eq!((start.system.as_str(), start.opening.len()), (lines, 0));
    cx.size = Size::Full;
    let system = ClaudeCodeBare.begin(&cx).system;
    assert!(system.starts_with(&format!("{lines}\n\n")));
    // Instructions, which the original leaves out, stand where its relative puts them.
    cx.instructions = instructions();
    let text = ClaudeCodeBare.begin(&cx).opening[0].text();
    assert!(text.starts_with("<system-reminder>\n") && text.contains("# claudeMd\n"));
    assert!(!text.contains("# currentDate"));
}

/// "The real bare mode switches background tasks off (timeout kills the command)"; one that is
/// asked for is ended through Bash.
#[test]
fn a_timeout_kills() {
    let run = |arguments| call("Bash", arguments);
    let Ok(Action::Shell(shell)) = read(&ClaudeCodeBare, run(json!({"command": "make"}))) else {
        panic!()
    };
    assert_eq!(shell.on_timeout, OnTimeout::Kill);
    let running = Outcome::Shell(ShellOut {
        job: None,
        command: "serve".into(),
        dir: "/w".into(),
        output: Output {
            file: Some("/o/2.txt".into()),
            ..Output::default()
        },
        status: ShellStatus::Running { id: 2, pid: 77 },
        wall: Duration::ZERO,
        fence: None,
        back_in: None,
    });
    let start = run(json!({"command": "serve", "run_in_background": true}));
    let text = tell(&ClaudeCodeBare, start, running).0;
    for part in ["bash_2", "/o/2.txt", "`kill -- -77`"] {
        assert!(text.contains(part), "{text}");
    }
}

/// Edit and Read are those of the relative; there are no reminders.
#[test]
fn nothing_reminds() {
    let mut state = ClaudeCodeBare.begin(&context(Size::Full)).state;
    let make = || call("Bash", json!({"command": "make"}));
    for _ in 0..30 {
        let done = Done {
            call: Some(make()),
            result: read(&ClaudeCodeBare, make())
                .map(|action| (action, shell_out("make", "ok\n", ShellStatus::Exited(0)))),
            notes: Vec::new(),
        };
        let items = ClaudeCodeBare.results(&mut state, &[done], 4000);
        assert_eq!(items.len(), 1);
        assert_eq!(items[0].text(), "ok");
    }
    let text = ClaudeCodeBare.notice(&mut state, &Notice::Planning(true))[0].text();
    assert!(text.starts_with("<system-reminder>\n") && !text.contains("ExitPlanMode"));
}

/// A step without calls is the end; what three tools can say is written as their calls.
#[test]
fn what_is_written_is_read_the_same() {
    let mut written = 0;
    for action in actions() {
        let action = match action {
            Action::Shell(shell) => Action::Shell(Shell {
                on_timeout: OnTimeout::Kill,
                ..shell
            }),
            other => other,
        };
        if let Some((name, arguments)) = ClaudeCodeBare.write(&action) {
            assert!(["Bash", "Edit", "Read"].contains(&name));
            let again = read(&ClaudeCodeBare, call(name, arguments));
            assert_eq!(again, Ok(action), "{name}");
            written += 1;
        }
    }
    // Two reads, two edits, three commands.
    assert_eq!(written, 7);
    let reply = crate::harnesses::tests::reply("Done.", Vec::new());
    assert_eq!(ClaudeCodeBare.read(&State::default(), &reply), Step::Done);
}
