//! What the tests of both agents need, and what holds for both.

use super::*;
use crate::harnesses::tests::{call, context, read, reply, tell};
use crate::harnesses::{ALL, Context, Size};
use crate::model::ToolSpec;
use crate::tools::action::{
    AgentWant, ChangeKind, Delegate, FileChange, Grep, GrepWant, Outcome, ReadOut, Shell, ToolError,
};
use serde_json::{Value, json};

/// A file of `total` lines, of which `lines` are given from `first` on.
pub fn read_out(text: &str, first: usize, total: usize) -> Outcome {
    Outcome::Read(ReadOut {
        path: "/w/a.py".into(),
        text: text.into(),
        first,
        lines: text.lines().count(),
        total,
        cut: false,
        repeated: false,
    })
}

/// A change of `a.py` in so many places.
pub fn changed(kind: ChangeKind, places: usize, after: &str) -> Outcome {
    Outcome::Changed(vec![FileChange {
        path: "/w/a.py".into(),
        shown: "a.py".into(),
        kind,
        moved_to: None,
        before: None,
        after: Some(after.into()),
        places,
        lines: Some((1, 1)),
        matched_by: None,
    }])
}

fn both() -> impl Iterator<Item = &'static dyn Harness> {
    ALL.iter()
        .copied()
        .filter(|harness| harness.id().starts_with("kimi-"))
}

/// The plan is the text of the reply, since there is no plan file; else it is the todo list.
#[test]
fn the_plan_stands_in_the_reply() {
    for harness in both() {
        let submit = |text: &str, state: &State| {
            let options =
                json!({"options": [{"label": "A", "description": "fast"}, {"label": "B"}]});
            let reply = reply(text, vec![call("ExitPlanMode", options)]);
            match harness.read(state, &reply) {
                Step::Act(mut actions) => actions.pop().expect("one"),
                other => panic!("{other:?}"),
            }
        };
        let plan = |text: &str| -> Result<Action, CallError> {
            Ok(Action::Mode {
                planning: false,
                plan: format!("{text}\n\nOptions:\n- A: fast\n- B"),
            })
        };
        let mut state = State::default();
        assert_eq!(submit("1. Look.", &state), plan("1. Look."));
        assert!(matches!(submit(" ", &state), Err(CallError::Refused(_))));
        state.plan = vec![PlanStep {
            text: "look".into(),
            status: StepStatus::Pending,
            id: None,
        }];
        assert_eq!(submit("", &state), plan("- [pending] look"));
        let agreed = plan("1. Look.").expect("a plan");
        assert_eq!(harness.write(&agreed), Some(("ExitPlanMode", json!({}))));
    }
}

/// facts: kimi-code.md, Bash: agents without task tools get a slow command killed.
#[test]
fn without_task_tools_nothing_goes_on_by_itself() {
    let cx = Context {
        depth: 1,
        ..context(Size::Full)
    };
    for (harness, shell) in both().zip(["Bash", "Shell"]) {
        let state = harness.child("explore", &cx).state;
        let arguments = json!({"command": "make", "run_in_background": true});
        let reply = reply("", vec![call(shell, arguments.clone())]);
        let Step::Act(actions) = harness.read(&state, &reply) else {
            panic!("a call is an action")
        };
        let Some(Ok(Action::Shell(Shell {
            background,
            on_timeout,
            ..
        }))) = actions.first()
        else {
            panic!("{actions:?}")
        };
        assert_eq!((*background, *on_timeout), (false, OnTimeout::Kill));
        // The session itself has them in every size.
        let state = harness.begin(&context(Size::Tiny)).state;
        let Step::Act(actions) = harness.read(&state, &reply) else {
            panic!("a call is an action")
        };
        assert!(matches!(&actions[0], Ok(Action::Shell(shell)) if shell.background));
    }
}

/// facts: `subagents`; an unknown role may do what the default may.
#[test]
fn a_role_has_its_tools_and_words() {
    let cx = Context {
        depth: 1,
        ..context(Size::Full)
    };
    for harness in both() {
        let main: Vec<ToolSpec> = harness.begin(&context(Size::Full)).tools;
        for (role, words) in [
            ("coder", "part of its task"),
            ("explore", "find something out"),
            ("plan", "plan a change"),
            ("general", "part of its task"),
        ] {
            let start = harness.child(role, &cx);
            let second = start.system.split("\n\n").nth(1).unwrap_or_default();
            assert!(second.contains(words), "{role}: {second}");
            assert!(start.tools.iter().all(|tool| tool.name != "Agent"));
            assert!(start.tools.iter().all(|tool| main.contains(tool)));
            for tool in &main {
                let offered = start.tools.contains(tool);
                let left = start.left_out.iter().any(|(name, _)| *name == tool.name);
                assert!(offered != left, "{role} {}", tool.name);
                // What is not there is not spoken of; one name is also an English word.
                let mut words = start.system.split(|c: char| !c.is_alphanumeric());
                let spoken = words.any(|word| word == tool.name && word != "Shell");
                assert!(offered || !spoken, "{role} {}", tool.name);
            }
        }
    }
}

/// facts: `explore_prompt_prefix`.
#[test]
fn who_explores_is_told_of_the_repository() {
    let cx = Context {
        depth: 1,
        ..context(Size::Full)
    };
    for harness in both() {
        let mut state = harness.child("explore", &cx).state;
        let items = harness.user(&mut state, &Input::text("Where is it?"));
        assert_eq!(items.len(), 1);
        let text = items[0].text();
        assert!(
            text.starts_with("<git-context>\n") && text.ends_with("</git-context>\nWhere is it?")
        );
        assert!(text.contains("Branch: main\n"));
        let items = harness.user(&mut state, &Input::text("More."));
        assert_eq!(items, [Item::user("More.")]);
    }
}

/// facts: Agent; persistent and resumable by id.
#[test]
fn agents_are_read() {
    for harness in both() {
        let agent = |more: Value| {
            let mut arguments = json!({"prompt": "look", "description": "a look"});
            arguments
                .as_object_mut()
                .expect("an object")
                .extend(more.as_object().expect("an object").clone());
            read(harness, call("Agent", arguments))
        };
        let Ok(Action::Delegate(part)) = agent(json!({})) else {
            panic!("an agent")
        };
        assert_eq!((part.role.as_str(), part.read_only), ("coder", false));
        let Ok(Action::Delegate(part)) = agent(json!({"subagent_type": "explore"})) else {
            panic!("an agent")
        };
        assert_eq!((part.role.as_str(), part.read_only), ("explore", true));
        assert!(agent(json!({"subagent_type": "writer"})).is_err());
        let resumed = json!({"resume": "a0000001a", "run_in_background": true});
        let Ok(Action::Delegate(resumed)) = agent(resumed) else {
            panic!("an agent")
        };
        assert_eq!(
            (resumed.agent.as_deref(), resumed.later),
            (Some("26"), true)
        );
        let (_, written) = harness.write(&Action::Delegate(resumed)).expect("an agent");
        assert_eq!(written["resume"], "a0000001a");
        // Tasks of agents are looked at and stopped like those of commands.
        for (tool, want) in [
            ("TaskOutput", AgentWant::Answer),
            ("TaskStop", AgentWant::Close),
        ] {
            let action = read(harness, call(tool, json!({"task_id": "agent-0000001a"})));
            let agents = vec!["26".into()];
            assert_eq!(action, Ok(Action::Agents { agents, want }));
        }
        // The role of another harness becomes the one that may do as much.
        let other = Action::Delegate(Delegate {
            role: "general-purpose".into(),
            ..part
        });
        let (_, written) = harness.write(&other).expect("an agent");
        assert_eq!(written["subagent_type"], "explore");
    }
}

/// Ids of tasks: `bash-` and eight characters; the bare number will do.
#[test]
fn task_ids_are_read() {
    for harness in both() {
        let stop = |id: &str| read(harness, call("TaskStop", json!({"task_id": id})));
        assert_eq!(tasks::id(26), "bash-0000001a");
        assert_eq!(stop("bash-0000001a"), Ok(Action::ShellStop { id: 26 }));
        assert_eq!(stop("26"), Ok(Action::ShellStop { id: 26 }));
        let error = stop("the server").expect_err("no id").to_string();
        assert!(error.contains("bash-00000001"), "{error}");
    }
}

/// facts: Read, ReadFile: 1000 lines; a negative offset counts from the end, at most 1000 back.
#[test]
fn reads_are_read() {
    for (harness, name) in both().zip(["Read", "ReadFile"]) {
        let stretch = |more: Value| {
            let mut arguments = json!({"path": "a"});
            arguments
                .as_object_mut()
                .expect("an object")
                .extend(more.as_object().expect("an object").clone());
            match read(harness, call(name, arguments)) {
                Ok(Action::Read(read)) => (read.first, read.from_end, read.lines, read.max_bytes),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(stretch(json!({})), (1, false, Some(1000), 102_400));
        assert_eq!(
            stretch(json!({"line_offset": 7, "n_lines": 3})),
            (7, false, Some(3), 102_400)
        );
        assert_eq!(stretch(json!({"line_offset": 0})).0, 1);
        assert_eq!(
            stretch(json!({"line_offset": -20})),
            (20, true, Some(1000), 102_400)
        );
        assert_eq!(
            stretch(json!({"line_offset": -5000, "n_lines": 9999})).0,
            1000
        );
    }
}

/// facts: Grep: three modes, 250 results, 0 for all; `-C` is both of the others.
#[test]
fn searches_are_read() {
    for harness in both() {
        let grep = |arguments: Value| match read(harness, call("Grep", arguments)) {
            Ok(Action::Grep(grep)) => grep,
            other => panic!("{other:?}"),
        };
        let plain = grep(json!({"pattern": "x"}));
        assert_eq!((plain.want, plain.limit), (GrepWant::Files, 250));
        let full = grep(
            json!({"pattern": "x", "path": "src", "glob": "*.py", "type": "py",
            "output_mode": "content", "-i": true, "-C": 2, "-A": 5, "head_limit": 0,
            "offset": 3, "multiline": true}),
        );
        let expected = Grep {
            path: Some("src".into()),
            include: Some("*.py".into()),
            file_type: Some("py".into()),
            ignore_case: true,
            multiline: true,
            context: (2, 5),
            want: GrepWant::Lines,
            skip: 3,
            ..Grep::new("x", calls::HITS.1)
        };
        assert_eq!(full, expected);
        let wrong = call("Grep", json!({"pattern": "x", "output_mode": "lines"}));
        assert!(read(harness, wrong).is_err());
    }
}

/// facts: `plan_mode_reminder`; entering is told at once, and so is a new message of the user.
#[test]
fn planning_is_recalled() {
    for (harness, due) in both().zip([
        &[(2, "short"), (4, "short"), (5, "long"), (7, "short")][..],
        &[
            (5, "short"),
            (10, "short"),
            (15, "short"),
            (20, "short"),
            (25, "long"),
        ][..],
    ]) {
        let mut state = State {
            planning: true,
            ..State::default()
        };
        let entry = harness.notice(&mut state, &Notice::Planning(true));
        let long = entry[0].text();
        assert!(long.starts_with("<system-reminder>\n") && long.contains("ExitPlanMode"));
        assert_eq!(harness.user(&mut state, &Input::text("x"))[1].text(), long);
        for reply in 1..=7.max(due[due.len() - 1].0) {
            let items = harness.results(&mut state, &[], 1_000);
            let expected = due.iter().find(|(at, _)| *at == reply);
            assert_eq!(items.len(), usize::from(expected.is_some()), "{reply}");
            if let Some((_, length)) = expected {
                assert_eq!(items[0].text() == long, *length == "long", "{reply}");
            }
        }
        state.planning = false;
        for _ in 0..9 {
            assert!(harness.results(&mut state, &[], 1_000).is_empty());
        }
        let end = harness.notice(&mut state, &Notice::Planning(false));
        assert!(end[0].text().contains("ended the planning"));
    }
}

/// An agent that only looks is held to planning, and cannot end it.
#[test]
fn who_cannot_end_the_planning_is_not_told_to() {
    let cx = Context {
        depth: 1,
        interactive: true,
        ..context(Size::Full)
    };
    for harness in both() {
        let mut state = harness.child("plan", &cx).state;
        state.planning = true;
        let items = harness.user(&mut state, &Input::text("x"));
        assert_eq!(items, [Item::user("x")]);
        for _ in 0..30 {
            assert!(harness.results(&mut state, &[], 1_000).is_empty());
        }
    }
}

/// Reminders are tagged.
#[test]
fn nudges_are_reminders() {
    for harness in both() {
        let nudge = Notice::Nudge("Go on.".into());
        assert_eq!(
            harness.notice(&mut State::default(), &nudge),
            [Item::user("<system-reminder>\nGo on.\n</system-reminder>")]
        );
    }
}

/// Where a person is there, questions and planning are offered, and all of it still fits.
#[test]
fn a_person_can_be_asked() {
    let cx = Context {
        interactive: true,
        ..context(Size::Full)
    };
    for harness in both() {
        let start = harness.begin(&cx);
        for name in ["AskUserQuestion", "EnterPlanMode", "ExitPlanMode"] {
            assert!(start.tools.iter().any(|tool| tool.name == name), "{name}");
        }
        let tools: usize = start
            .tools
            .iter()
            .map(|tool| {
                json!({"type": "function", "function": {"name": tool.name,
                    "description": tool.description, "parameters": tool.schema()}})
                .to_string()
                .len()
            })
            .sum();
        assert!(tools + start.system.len() < 13_500, "{}", harness.id());
        let mut state = start.state;
        assert_eq!(harness.user(&mut state, &Input::text("x")).len(), 1);
    }
}

/// A command that was not known by its number is answered with the ids that are.
#[test]
fn an_unknown_task_is_answered_with_the_known_ones() {
    for harness in both() {
        let stop = call("TaskStop", json!({"task_id": "bash-00000009"}));
        let error = ToolError::NoSuchCommand {
            id: 9,
            running: vec![1, 2],
        };
        let (text, is_error) = tell(harness, stop, Outcome::Failed(error));
        assert!(is_error);
        assert!(text.contains("no task bash-00000009. These are: bash-00000001, bash-00000002."));
    }
}
