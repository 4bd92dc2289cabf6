//! What calls ask for, and which call asks for an action.

use super::*;

/// Read: offset from 1, 0 like 1; 2000 lines; a picture is shown.
#[test]
fn reads_are_read() {
    let stretch = |arguments| match read(&ClaudeCode, call("Read", arguments)) {
        Ok(Action::Read(Read { first, lines, .. })) => (first, lines),
        other => panic!("{other:?}"),
    };
    assert_eq!(stretch(json!({"file_path": "a"})), (1, Some(2000)));
    assert_eq!(
        stretch(json!({"file_path": "a", "offset": 0})),
        (1, Some(2000))
    );
    assert_eq!(
        stretch(json!({"file_path": "a", "offset": 10, "limit": 5})),
        (10, Some(5))
    );
    let cells = |path: &str| match read(&ClaudeCode, call("Read", json!({"file_path": path}))) {
        Ok(Action::Read(read)) => read.cells,
        other => panic!("{other:?}"),
    };
    assert!(cells("a.ipynb") && !cells("a.py"));
    assert_eq!(
        read(&ClaudeCode, call("Read", json!({"file_path": "a.PNG"}))),
        Ok(Action::ViewImage {
            path: "a.PNG".into()
        })
    );
}

/// Bash: 120,000 ms, at most 600,000; into the background at the limit, unless it sleeps; the
/// folder persists.
#[test]
fn commands_are_read() {
    let shell = |arguments| match read(&ClaudeCode, bash(arguments)) {
        Ok(Action::Shell(shell)) => shell,
        other => panic!("{other:?}"),
    };
    let seconds = |n| Some(Duration::from_secs(n));
    let plain = shell(json!({"command": "make"}));
    assert!(plain.cwd_inside && plain.may_read);
    assert_eq!(plain.time_limit, seconds(120));
    assert_eq!(plain.on_timeout, OnTimeout::Background);
    assert!(plain.cwd_persists && plain.escalate.is_none());
    let long = shell(json!({"command": "sleep 900", "timeout": 900_000}));
    assert_eq!(long.time_limit, seconds(600));
    assert_eq!(long.on_timeout, OnTimeout::Kill);
    let server = shell(json!({"command": "serve", "run_in_background": true}));
    assert_eq!((server.time_limit, server.background), (None, true));
    let outside = shell(
        json!({"command": "curl x", "description": "Fetch x", "dangerouslyDisableSandbox": true}),
    );
    assert_eq!(
        outside.escalate.and_then(|wish| wish.justification),
        Some("Fetch x".into())
    );
}

/// Glob: 100 files; ignored ones as well. Grep: files by default, 250 of them, 0 for all.
#[test]
fn searches_are_read() {
    let glob = read(&ClaudeCode, call("Glob", json!({"pattern": "*.py"})));
    let expected = Glob {
        ignored: Ignored::IfNothingElse,
        ..Glob::new("*.py", 100)
    };
    assert_eq!(glob, Ok(Action::Glob(expected)));
    let grep = |arguments| match read(&ClaudeCode, call("Grep", arguments)) {
        Ok(Action::Grep(query)) => query,
        other => panic!("{other:?}"),
    };
    let plain = grep(json!({"pattern": "x"}));
    assert_eq!(
        (plain.want, plain.limit, plain.skip),
        (GrepWant::Files, 250, 0)
    );
    let all = grep(
        json!({"pattern": "x", "head_limit": 0, "offset": 3, "-C": 2, "-A": 5, "-i": true,
        "type": "py", "glob": "*.py", "multiline": true, "output_mode": "content"}),
    );
    assert_eq!(
        (all.want, all.context, all.skip),
        (GrepWant::Lines, (2, 5), 3)
    );
    assert!(all.limit >= 20_000 && all.ignore_case && all.multiline);
    assert_eq!(all.file_type.as_deref(), Some("py"));
    assert_eq!(
        grep(json!({"pattern": "x", "output_mode": "count"})).want,
        GrepWant::Counts
    );
}

/// TaskOutput, TaskStop: by the id that Bash gave; shell_id is the old name.
#[test]
fn tasks_are_read() {
    let task = |name, arguments| read(&ClaudeCode, call(name, arguments));
    let wait = |ms| {
        Ok(Action::ShellWait {
            id: Some(3),
            wait: Duration::from_millis(ms),
            all: true,
        })
    };
    let output = |block, timeout| {
        task(
            "TaskOutput",
            json!({"task_id": "bash_3", "block": block, "timeout": timeout}),
        )
    };
    assert_eq!(output(true, 30_000), wait(30_000));
    assert_eq!(output(true, 9_000_000), wait(600_000));
    assert_eq!(output(false, 30_000), wait(0));
    for key in ["task_id", "shell_id"] {
        assert_eq!(
            task("TaskStop", json!({key: "bash_3"})),
            Ok(Action::ShellStop { id: 3 })
        );
    }
    assert!(task("TaskStop", json!({"task_id": "the server"})).is_err());
}

/// Agent: general-purpose by default; Explore and Plan only look.
#[test]
fn delegation_is_read() {
    let part = |kind: Option<&str>| {
        let mut arguments =
            json!({"description": "find it", "prompt": "Find x.", "run_in_background": true});
        if let Some(kind) = kind {
            arguments["subagent_type"] = kind.into();
        }
        match read(&ClaudeCode, call("Agent", arguments)) {
            Ok(Action::Delegate(part)) => (part.role, part.read_only),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(part(None), ("general-purpose".into(), false));
    assert_eq!(part(Some("Explore")), ("Explore".into(), true));
    assert_eq!(part(Some("Plan")), ("Plan".into(), true));
    assert_eq!(part(Some("code-reviewer")), ("code-reviewer".into(), false));
}

/// ExitPlanMode has no plan argument: the plan is the text of the reply.
#[test]
fn the_plan_is_the_text_of_the_reply() {
    let leave = || vec![call("ExitPlanMode", json!({}))];
    let step = |text: &str| ClaudeCode.read(&State::default(), &reply(text, leave()));
    assert_eq!(
        step("1. Do it.\n"),
        Step::Act(vec![Ok(Action::Mode {
            planning: false,
            plan: "1. Do it.".into()
        })])
    );
    let Step::Act(actions) = step(" ") else {
        panic!()
    };
    assert!(matches!(&actions[0], Err(CallError::Refused(why)) if why.contains("ExitPlanMode")));
    let step = ClaudeCode.read(
        &State::default(),
        &reply("", vec![call("EnterPlanMode", json!({}))]),
    );
    assert_eq!(
        step,
        Step::Act(vec![Ok(Action::Mode {
            planning: true,
            plan: String::new()
        })])
    );
}

/// AskUserQuestion: 1 to 4 questions.
#[test]
fn questions_are_read_and_answers_told() {
    let question = |text: &str| {
        json!({"question": text, "header": "Which", "multiSelect": true,
            "options": [{"label": "A", "description": "the first"}, {"label": "B", "description": ""}]})
    };
    let ask = |questions: Vec<Value>| call("AskUserQuestion", json!({"questions": questions}));
    let Ok(Action::Ask { questions }) = read(&ClaudeCode, ask(vec![question("A or B?")])) else {
        panic!()
    };
    assert_eq!(
        questions,
        [AskedQuestion {
            id: None,
            header: "Which".into(),
            question: "A or B?".into(),
            options: vec![
                ("A".into(), "the first".into()),
                ("B".into(), String::new())
            ],
            several: true,
        }]
    );
    assert!(read(&ClaudeCode, ask(vec![])).is_err());
    assert!(read(&ClaudeCode, ask(vec![question("x"); 5])).is_err());
    let answers = vec![vec!["A".into(), "B".into()]];
    assert_eq!(
        told(ask(vec![question("A or B?")]), Outcome::Answered(answers)),
        "The user answered: \"A or B?\"=\"A, B\". Go on with that in mind."
    );
}

/// Everything that a call can ask for is written as that call.
#[test]
fn what_is_written_is_read_the_same() {
    for action in actions() {
        let (name, arguments) = ClaudeCode.write(&action).expect("a tool for it");
        assert_eq!(
            read(&ClaudeCode, call(name, arguments)),
            Ok(action),
            "{name}"
        );
        let offered = ClaudeCode.begin(&person()).tools;
        assert!(offered.iter().any(|tool| tool.name == name), "{name}");
    }
    let other = Action::UndoEdit { path: "a".into() };
    assert_eq!(ClaudeCode.write(&other), None);
    // Steps of another agent have ids, and commands a folder.
    let step = PlanStep {
        text: "Look".into(),
        status: StepStatus::Pending,
        id: Some("1".into()),
    };
    let plan = Action::Plan {
        steps: vec![step],
        explanation: None,
    };
    let todo = json!({"content": "Look", "status": "pending", "activeForm": "Look"});
    let written = ClaudeCode.write(&plan);
    assert_eq!(written, Some(("TodoWrite", json!({"todos": [todo]}))));
    let there = Shell {
        dir: Some("it's".into()),
        ..Shell::new("ls", Duration::from_secs(120))
    };
    let expected = json!({"command": r"(cd 'it'\''s' && ls)"});
    assert_eq!(
        ClaudeCode.write(&Action::Shell(there)),
        Some(("Bash", expected))
    );
}
