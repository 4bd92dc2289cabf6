//! What stands around the calls: the opening, reminders, notices, nested agents.

use super::*;

/// facts: `todo_reminder`: after ten replies without a change, with the numbered list.
#[test]
fn a_forgotten_todo_list_is_recalled() {
    let mut state = State {
        plan: vec![
            step("look", StepStatus::Completed),
            step("mend", StepStatus::InProgress),
        ],
        ..State::default()
    };
    let mut results = |done: &[Done]| KimiCode.results(&mut state, done, 1_000);
    let set = Done {
        call: Some(call("TodoList", json!({"todos": []}))),
        result: Ok((
            Action::Plan {
                steps: Vec::new(),
                explanation: None,
            },
            Outcome::Planned,
        )),
        notes: Vec::new(),
    };
    for _ in 0..5 {
        assert!(results(&[]).is_empty());
    }
    assert_eq!(results(&[set]).len(), 1);
    for round in 0..2 {
        for _ in 0..9 {
            assert!(results(&[]).is_empty(), "{round}");
        }
        let text = results(&[])[0].text();
        assert!(text.starts_with("<system-reminder>\n"));
        assert!(text.ends_with("\n\n1. [done] look\n2. [in_progress] mend\n</system-reminder>"));
    }
    state.plan.clear();
    for _ in 0..30 {
        assert!(KimiCode.results(&mut state, &[], 1_000).is_empty());
    }
}

/// EnterPlanMode: a numbered way to go; ExitPlanMode: the plan that was agreed to.
#[test]
fn planning_is_told() {
    let text = told("EnterPlanMode", json!({}), Outcome::ModeSet);
    assert!(text.contains("\n1. ") && text.contains("\n4. ") && text.contains("ExitPlanMode"));
    let Step::Act(mut actions) = KimiCode.read(
        &State::default(),
        &reply("Do it.", vec![call("ExitPlanMode", json!({}))]),
    ) else {
        panic!("a call is an action")
    };
    let action = actions.pop().expect("one").expect("a plan");
    let text = tell_action(
        &KimiCode,
        call("ExitPlanMode", json!({})),
        action,
        Outcome::ModeSet,
    )
    .0;
    assert!(text.ends_with("\n\n## Approved Plan:\nDo it."));
}

/// facts: background completion: one element with title, severity, a sentence and the output.
#[test]
fn the_end_of_a_task_is_a_notification() {
    let ended = |code, file: Option<&str>| {
        let notice = Notice::JobEnded {
            id: 2,
            command: "serve".into(),
            code,
            file: file.map(PathBuf::from),
        };
        let items = KimiCode.notice(&mut State::default(), &notice);
        assert_eq!(items.len(), 1);
        items[0].text()
    };
    assert_eq!(
        ended(Some(0), Some("/o/2.txt")),
        "<notification id=\"task:bash-00000002:completed\" category=\"task\" type=\"task.completed\" source_kind=\"background_task\" source_id=\"bash-00000002\">\nTitle: Background process completed\nSeverity: info\n`serve` ended with exit code 0.\n<output-file path=\"/o/2.txt\">\nIts output is in /o/2.txt\n</output-file>\n</notification>"
    );
    assert!(ended(Some(1), None).contains("type=\"task.failed\""));
    assert!(ended(None, None).contains("Title: Background process killed\nSeverity: warning\n"));
}

/// facts: Placement: AGENTS.md between seven backticks near the end of the prompt; the prompt of
/// the user; then a reminder as a message of its own.
#[test]
fn the_opening_is_in_order() {
    let mut cx = context(Size::Full);
    cx.instructions = instructions();
    let start = KimiCode.begin(&cx);
    assert!(start.opening.is_empty());
    assert!(start.system.contains(
        "\n\n```````\n<!-- From: /home/ada/x/AGENTS.md -->\nBe kind.\n\n<!-- From: /home/ada/projects/shop/AGENTS.md -->\nUse tabs.\n```````\n\n# Ultimate Reminders\n"
    ));
    assert!(
        start
            .system
            .contains("```\n├── src/\n├── tests/\n├── README.md\n└── setup.py\n```\n")
    );
    let mut state = start.state;
    let items = KimiCode.user(&mut state, &Input::text("Go."));
    assert_eq!(items[0], Item::user("Go."));
    assert!(
        items[1]
            .text()
            .starts_with("<system-reminder>\nNobody can be asked")
    );
    cx.tree = (0..40).map(|n| (format!("f{n}"), false)).collect();
    let system = KimiCode.begin(&cx).system;
    assert_eq!(system.matches("── f").count(), 30);
    assert!(system.contains("\n└── ... and 10 more\n```"));
}
