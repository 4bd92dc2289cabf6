//! What stands around the calls: the opening, reminders, notices, nested agents.

use super::*;

/// update_plan: in plan mode it ends the turn.
#[test]
fn a_plan_in_the_planning_mode_ends_the_turn() {
    let plan = json!({"plan": [{"step": "look", "status": "pending"}, {"step": "act", "status": "pending"}]});
    let given = action("update_plan", plan.clone());
    let Action::Plan { steps, .. } = &given else {
        panic!()
    };
    let over = |planning| {
        let mut state = State {
            planning,
            plan: steps.clone(),
            ..State::default()
        };
        let done = Done {
            call: Some(call("update_plan", plan.clone())),
            result: Ok((given.clone(), Outcome::Planned)),
            notes: Vec::new(),
        };
        DeepseekTui.results(&mut state, &[done], 4_000);
        let over = DeepseekTui.is_over(&state);
        DeepseekTui.user(&mut state, &Input::text("Yes."));
        assert_eq!(DeepseekTui.is_over(&state), None);
        over
    };
    assert_eq!(over(true).as_deref(), Some("1. look\n2. act"));
    assert_eq!(over(false), None);
}

/// One system message: instructions before the project, the environment after it.
#[test]
fn the_prompt_is_in_order() {
    let mut cx = context(Size::Full);
    cx.instructions = instructions();
    cx.developer_instructions = Some("Answer in German.".into());
    let start = DeepseekTui.begin(&cx);
    assert!(start.opening.is_empty());
    let places: Vec<Option<usize>> = [
        "\n## Mode\n",
        "<project_instructions source=\"AGENTS.md\">\nUse tabs.\n</project_instructions>",
        "## Project Context Pack\n<project_context_pack>\n{\n  \"project_name\": \"shop\"",
        "## Environment\n- platform: Linux 6.8.0 x86_64\n- shell: bash\n- pwd: /home/ada/projects/shop",
        "Answer in German.",
    ]
    .iter()
    .map(|part| start.system.find(part))
    .collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{places:?}"
    );
}

/// turn_meta stands before the words, is stored with them, and comes again when other files are
/// at work.
#[test]
fn turn_meta_is_made_once_a_change() {
    let start = DeepseekTui.begin(&context(Size::Full));
    let mut state = start.state.clone();
    let say = |state: &mut State, text: &str| DeepseekTui.user(state, &Input::text(text))[0].text();
    let first = say(&mut state, "Fix it.");
    assert_eq!(
        first,
        "<turn_meta>\nLocal date: 2025-03-01\nWorkspace: /home/ada/projects/shop\nKey files: README.md, setup.py\n</turn_meta>\n\nFix it."
    );
    assert_eq!(DeepseekTui.spoken(&start, &first), "Fix it.");
    assert_eq!(say(&mut state, "More."), "More.");
    for name in ["a.py", "b.py", "a.py"] {
        let out = ReadOut {
            path: format!("/home/ada/projects/shop/{name}").into(),
            text: "x\n".into(),
            first: 1,
            lines: 1,
            total: 1,
            cut: false,
            repeated: false,
        };
        let call = call("read_file", json!({"path": name}));
        let result = Ok((
            action("read_file", json!({"path": name})),
            Outcome::Read(out),
        ));
        let done = Done {
            call: Some(call),
            result,
            notes: Vec::new(),
        };
        DeepseekTui.results(&mut state, &[done], 4_000);
    }
    let text = say(&mut state, "And now?");
    assert!(
        text.starts_with("<turn_meta>\nActive paths: a.py, b.py\n"),
        "{text}"
    );
    assert!(text.ends_with("</turn_meta>\n\nAnd now?"));
    assert_eq!(say(&mut state, "Go on."), "Go on.");
}
