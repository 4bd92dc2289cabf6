//! What the tests of all harnesses share: a context, calls, and outcomes to be told.

use crate::harnesses::*;
use crate::model::{Assistant, CallKind, Finish, Timing, ToolResult};
use crate::tools::action::{Output, ShellOut, ShellStatus};
use serde_json::Value;
use std::time::Duration;

/// A session as a person would have it, without instruction files.
pub fn context(size: Size) -> Context {
    Context {
        model: "qwen3-coder:30b".into(),
        cwd: "/home/ada/projects/shop".into(),
        git_root: Some("/home/ada/projects/shop".into()),
        git_branch: Some("main".into()),
        os: "Linux 6.8.0".into(),
        arch: "x86_64".into(),
        shell: "bash".into(),
        date: "2025-03-01".into(),
        timezone: "Europe/Vienna".into(),
        tree: ["src", "tests"]
            .map(|name| (name.to_owned(), true))
            .into_iter()
            .chain(["README.md", "setup.py"].map(|name| (name.to_owned(), false)))
            .collect(),
        instructions: Instructions::default(),
        skills: Vec::new(),
        developer_instructions: None,
        system_override: None,
        sandbox: SandboxFacts {
            mode: "workspace-write".into(),
            network: false,
            writable: vec!["/home/ada/projects/shop".into(), "/tmp".into()],
            approval: "on-request".into(),
        },
        size,
        guidance: true,
        interactive: false,
        offline: false,
        depth: 0,
    }
}

/// AGENTS.md files: the user's own and one of the project.
pub fn instructions() -> Instructions {
    let document = |path: &str, shown: &str, text: &str| Document {
        path: path.into(),
        shown: shown.into(),
        text: text.into(),
    };
    Instructions {
        global: Some(document(
            "/home/ada/x/AGENTS.md",
            "~/x/AGENTS.md",
            "Be kind.",
        )),
        project: vec![document(
            "/home/ada/projects/shop/AGENTS.md",
            "AGENTS.md",
            "Use tabs.\n",
        )],
    }
}

pub fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall {
        id: "call_1".into(),
        name: name.into(),
        arguments: arguments.to_string(),
        kind: CallKind::Function,
        recovered: false,
    }
}

pub fn reply(text: &str, calls: Vec<ToolCall>) -> Reply {
    Reply {
        assistant: Assistant {
            reasoning: Vec::new(),
            text: text.into(),
            calls,
        },
        finish: Finish::Stop,
        usage: None,
        timing: Timing::default(),
    }
}

/// What a harness makes of one call.
pub fn read(harness: &dyn Harness, call: ToolCall) -> Result<Action, CallError> {
    match harness.read(&State::default(), &reply("", vec![call])) {
        Step::Act(mut actions) => actions.pop().expect("one entry per call"),
        other => panic!("not an action: {other:?}"),
    }
}

/// Each call, read and written again, is a call of the same tool that asks for the same; and every
/// tool that a person's session has is among them, but for those in `but`.
pub fn calls_return(harness: &dyn Harness, model: &str, calls: &[ToolCall], but: &[&str]) {
    for call in calls {
        let action = read(harness, call.clone()).expect("a good call");
        let (name, arguments) = harness.write(&action).expect("a call for it");
        assert_eq!(name, call.name);
        let again = self::call(name, arguments.clone());
        assert_eq!(read(harness, again), Ok(action), "{arguments}");
    }
    let cx = Context {
        model: model.into(),
        interactive: true,
        ..context(Size::Full)
    };
    for tool in harness.begin(&cx).tools {
        let tried = calls.iter().any(|call| call.name == tool.name);
        assert_ne!(tried, but.contains(&tool.name.as_str()), "{}", tool.name);
    }
}

/// Reads `call`, pretends that `outcome` came of it, and gives the answer's text and error mark.
pub fn tell(harness: &dyn Harness, call: ToolCall, outcome: Outcome) -> (String, bool) {
    let action = read(harness, call.clone()).expect("a good call");
    tell_action(harness, call, action, outcome)
}

pub fn tell_action(
    harness: &dyn Harness,
    call: ToolCall,
    action: Action,
    outcome: Outcome,
) -> (String, bool) {
    let done = Done {
        call: Some(call),
        result: Ok((action, outcome)),
        notes: Vec::new(),
    };
    let mut items = harness.results(&mut State::default(), &[done], 30_000);
    assert_eq!(items.len(), 1);
    match items.pop() {
        Some(Item::ToolResult(ToolResult {
            content, is_error, ..
        })) => (crate::model::join_text(&content), is_error),
        other => panic!("not a tool result: {other:?}"),
    }
}

pub fn shell_out(command: &str, output: &str, status: ShellStatus) -> Outcome {
    Outcome::Shell(ShellOut {
        command: command.into(),
        dir: "/home/ada/projects/shop".into(),
        job: None,
        output: Output {
            text: output.into(),
            bytes: output.len() as u64,
            file: None,
        },
        status,
        wall: Duration::from_millis(1500),
        fence: None,
        back_in: None,
    })
}

/// 3,000 numbered lines with an error in the middle, kept in a file.
pub fn long_shell_out(command: &str) -> Outcome {
    let text: String = (1..=3000)
        .map(|n| match n {
            1500 => "error: the middle broke\n".to_owned(),
            n => format!("line number {n}\n"),
        })
        .collect();
    let Outcome::Shell(mut out) = shell_out(command, &text, ShellStatus::Exited(3)) else {
        unreachable!()
    };
    out.output.file = Some("/home/ada/x/outputs/1.txt".into());
    Outcome::Shell(out)
}
