//! What stands around the calls: the opening, reminders, notices, nested agents.

use super::*;

/// TodoWrite: a fixed sentence; after 10 stale steps a reminder at the end of a result, once for
/// each list.
#[test]
fn stale_todos_are_told_once() {
    let mut state = ClaudeCode.begin(&context(Size::Full)).state;
    let done = |call: ToolCall, outcome: Outcome| Done {
        result: read(&ClaudeCode, call.clone()).map(|action| (action, outcome)),
        call: Some(call),
        notes: Vec::new(),
    };
    let write = |state: &mut State, status| {
        let done = done(todos(status), Outcome::Planned);
        if let Ok((Action::Plan { steps, .. }, _)) = &done.result {
            state.plan = steps.clone();
        }
        let text = ClaudeCode.results(state, &[done], 4000)[0].text();
        assert!(text.contains("todo list was saved"));
    };
    let steps = |state: &mut State, count: usize| -> Vec<String> {
        let ok = || shell_out("make", "ok\n", ShellStatus::Exited(0));
        (0..count)
            .map(|_| ClaudeCode.results(state, &[done(make(), ok())], 4000)[0].text())
            .collect()
    };
    write(&mut state, "in_progress");
    let texts = steps(&mut state, 25);
    for (at, text) in texts.iter().enumerate() {
        if at == 9 {
            assert!(text.starts_with("ok\n\n<system-reminder>\n"), "{text}");
            assert!(text.contains("\n1. [in_progress] Look\n</system-reminder>"));
        } else {
            assert_eq!(text, "ok", "{at}");
        }
    }
    write(&mut state, "in_progress");
    assert!(steps(&mut state, 10)[9].contains("<system-reminder>"));
    // Nothing is left to do, so there is nothing to remind of.
    write(&mut state, "completed");
    assert_eq!(steps(&mut state, 12).join(""), "ok".repeat(12));
    // Where there is no such tool there is no reminder.
    let mut tiny = ClaudeCode.begin(&context(Size::Tiny)).state;
    assert_eq!(steps(&mut tiny, 12).join(""), "ok".repeat(12));
}

/// Plan mode: no edits until ExitPlanMode is approved; told in tags of the program.
#[test]
fn plan_mode_is_told() {
    let mut state = ClaudeCode.begin(&person()).state;
    let notice = |state: &mut State, on| {
        let items = ClaudeCode.notice(state, &Notice::Planning(on));
        items.iter().map(Item::text).collect::<String>()
    };
    let text = notice(&mut state, true);
    assert!(text.starts_with("<system-reminder>\n") && text.contains("call ExitPlanMode"));
    assert!(notice(&mut state, false).contains("ended"));
    // Where nobody can be asked there is no such tool.
    let mut alone = ClaudeCode.begin(&context(Size::Full)).state;
    assert!(!notice(&mut alone, true).contains("ExitPlanMode"));
    let enter = call("EnterPlanMode", json!({}));
    assert!(told(enter, Outcome::ModeSet).contains("ExitPlanMode"));
    let action = Action::Mode {
        planning: false,
        plan: "x".into(),
    };
    let leave = call("ExitPlanMode", json!({}));
    let text = tell_action(&ClaudeCode, leave, action, Outcome::ModeSet).0;
    assert!(text.contains("agreed to the plan"));
}

/// First user message: a reminder with `# claudeMd`, then `# currentDate`; nothing of it in the
/// system prompt.
#[test]
fn the_opening_is_in_order() {
    let mut cx = context(Size::Full);
    cx.instructions = instructions();
    let start = ClaudeCode.begin(&cx);
    let [Item::User { .. }] = start.opening.as_slice() else {
        panic!("{:?}", start.opening)
    };
    let text = start.opening[0].text();
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    assert!(text.starts_with("<system-reminder>\n") && text.ends_with("\n</system-reminder>"));
    assert!(at("# claudeMd\n") < at("Contents of ~/x/AGENTS.md:\n\nBe kind."));
    assert!(at("Be kind.") < at("Contents of AGENTS.md:\n\nUse tabs."));
    assert!(at("Use tabs.") < at("# currentDate\n"));
    assert!(text.contains("2025-03-01") && !start.system.contains("2025-03-01"));
    assert!(start.system.contains("yes, on the branch main"));
    let input = Input::text("x");
    let items = ClaudeCode.user(&mut start.state.clone(), &input);
    assert_eq!(items, [Item::user("x")]);
}

/// Subagents: no questions, no plan mode, no TaskOutput; an explorer does not write; an `<env>`
/// block and a line about the model.
#[test]
fn children_see_their_part() {
    let cx = Context {
        depth: 1,
        ..person()
    };
    let names = |start: &Start| -> Vec<String> {
        start.tools.iter().map(|tool| tool.name.clone()).collect()
    };
    let general = ClaudeCode.child("general-purpose", &cx);
    assert_eq!(
        names(&general),
        [
            "Bash",
            "Edit",
            "Glob",
            "Grep",
            "Read",
            "TaskStop",
            "TodoWrite",
            "Write"
        ]
    );
    let explorer = ClaudeCode.child("Explore", &cx);
    assert_eq!(
        names(&explorer),
        ["Bash", "Glob", "Grep", "Read", "TaskStop", "TodoWrite"]
    );
    let planner = ClaudeCode.child("plan", &cx);
    let systems = [&general.system, &explorer.system, &planner.system];
    for system in systems {
        assert!(system.contains("<env>\nWorking directory: /home/ada/projects/shop\n"));
        assert!(system.ends_with("qwen3-coder:30b."));
        assert!(!system.contains("%%") && !system.contains("{git"));
    }
    assert!(systems[0] != systems[1] && systems[1] != systems[2]);
    assert!(explorer.left_out.iter().any(|(name, _)| name == "Write"));
    assert_eq!(ClaudeCode.child("code-reviewer", &cx), general);
}
