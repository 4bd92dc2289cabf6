//! How what came of a call is told.

use super::*;

/// ask_user_question and exit_plan_mode: only where a person is.
#[test]
fn questions_and_plans_are_told() {
    assert_eq!(
        read(&QwenCode, question()),
        Ok(Action::Ask {
            questions: vec![AskedQuestion {
                id: None,
                header: "Database".into(),
                question: "Which one?".into(),
                options: vec![
                    ("SQLite".into(), "a file".into()),
                    ("Postgres".into(), "a server".into())
                ],
                several: true,
            }]
        })
    );
    let answers = Outcome::Answered(vec![vec!["SQLite".into(), "in memory".into()]]);
    assert_eq!(
        told(question(), answers),
        "The user answered:\n\n**Database**: SQLite, in memory"
    );
    let plan = call("exit_plan_mode", json!({"plan": "First this."}));
    assert!(told(plan, Outcome::ModeSet).starts_with("The user agreed"));
    let empty = call("ask_user_question", json!({"questions": []}));
    assert!(read(&QwenCode, empty).is_err());
    let alone = QwenCode.begin(&context(Size::Full));
    for name in ["ask_user_question", "exit_plan_mode"] {
        assert!(alone.tools.iter().all(|tool| tool.name != name));
        assert!(alone.left_out.iter().any(|(left, _)| left == name));
    }
}

/// agent: the final text of the agent, nothing around it; facts, `subagent_Explore`.
#[test]
fn agents_are_told_and_have_their_roles() {
    let report = |text: &str, failure: Option<&str>| {
        Outcome::Delegated(DelegateOut {
            id: 1,
            text: text.into(),
            failure: failure.map(str::to_owned),
            actions: 3,
            tokens: 900,
            took: Duration::from_secs(2),
        })
    };
    let agent = || call("agent", json!({"description": "d", "prompt": "p"}));
    assert_eq!(told(agent(), report("In a.py.", None)), "In a.py.");
    let text = told(agent(), report("In a.py.", Some("It was stopped.")));
    assert!(text.starts_with("In a.py.\n\n") && text.contains("It was stopped."));
    let other = json!({"description": "d", "prompt": "p", "subagent_type": "statusline-setup"});
    let error = read(&QwenCode, call("agent", other)).expect_err("no such agent");
    assert!(error.to_string().contains("general-purpose"));

    let mut cx = Context {
        depth: 1,
        ..context(Size::Full)
    };
    cx.sandbox.network = true;
    let names = |role| -> Vec<String> {
        let tools = QwenCode.child(role, &cx).tools;
        tools.into_iter().map(|tool| tool.name).collect()
    };
    // There are no skills here.
    assert_eq!(names("Explore"), EXPLORE_TOOLS[..7]);
    let general = names("general-purpose");
    assert!(general.contains(&"edit".into()) && !general.contains(&"agent".into()));
    assert!(
        QwenCode
            .child("Explore", &cx)
            .system
            .contains("your last message")
    );
}
