//! What calls mean.

use super::*;

/// The constants, against the recorded facts.
#[test]
fn constants_are_the_recorded_ones() {
    let facts = facts();
    let limits = &facts["request"]["limits"];
    assert_eq!(limits["execution_timeout_s"], SECONDS.0);
    assert_eq!(limits["bash_only_timeout_s"], SECONDS.1);
    assert_eq!(limits["editor_response_chars"], EDITOR.view_bytes);
    let env: Value = ENV
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).into()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    assert_eq!(facts["request"]["env"], env);
    let listed = |key: &str, word: &str| {
        let list = facts["request"][key].as_array().expect("a list");
        list.iter().any(|entry| entry == word)
    };
    assert!(NEED_TERMINAL.iter().all(|w| listed("blocklist_prefix", w)));
    assert!(NEED_MORE.iter().all(|w| listed("blocklist_exact", w)));
}

/// The presets: `default` has an editor and a review, `bash_only` has neither; the others and
/// their tools are named.
#[test]
fn a_size_is_a_preset() {
    let tools = |size| {
        let start = SweAgent.begin(&context(size));
        start.tools.into_iter().map(|t| t.name).collect::<Vec<_>>()
    };
    assert_eq!(tools(Size::Full), ["bash", "str_replace_editor", "submit"]);
    assert_eq!(tools(Size::Compact), ["bash", "submit"]);
    assert_eq!(tools(Size::Tiny), ["bash", "submit"]);

    let start = SweAgent.begin(&context(Size::Full));
    let is_named = |name: &str| start.left_out.iter().any(|(left, _)| left == name);
    let facts = facts();
    let presets = facts["parser_by_config"].as_object().expect("presets");
    for preset in presets
        .keys()
        .filter(|p| !["default", "bash_only"].contains(&p.as_str()))
    {
        assert!(is_named(&format!("preset {preset}")), "{preset}");
    }
    for tool in facts["tools_other_bundles"].as_array().expect("tools") {
        let name = tool["name"].as_str().unwrap_or_default();
        assert!(name == "submit" || is_named(name), "{name}");
    }
    let limit = |size| match SweAgent.read(&state(size), &reply("", vec![bash("ls")])) {
        Step::Act(mut actions) => match actions.pop() {
            Some(Ok(Action::Shell(shell))) => shell.time_limit,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert_eq!(limit(Size::Full), Some(Duration::from_secs(30)));
    assert_eq!(limit(Size::Compact), Some(Duration::from_secs(60)));
}

/// "bash and argument rendering": the folder persists; what needs a terminal is not run.
#[test]
fn commands_are_read() {
    let Ok(Action::Shell(shell)) = read(&SweAgent, bash("cd src && ls")) else {
        panic!()
    };
    assert!(shell.cwd_persists && shell.env.len() == 6);
    for command in [
        "vim a.py",
        "python",
        " python3 ",
        "tail -f log",
        "less a",
        "su",
    ] {
        let result = read(&SweAgent, bash(command));
        assert!(matches!(result, Err(CallError::Refused(_))), "{command}");
    }
    for command in [
        "make test",
        "makefile_tool",
        "python a.py",
        "vimdiff a b",
        "tail -n 3 a",
    ] {
        assert!(read(&SweAgent, bash(command)).is_ok(), "{command}");
    }
    assert!(matches!(
        read(&SweAgent, bash("exit")),
        Ok(Action::Finish { .. })
    ));
}

/// "str_replace_editor": `new_str` left out deletes; the other fields of its commands.
#[test]
fn editor_commands_are_read() {
    let ranged = json!({"command": "view", "path": "src", "view_range": [5, 9]});
    assert!(matches!(
        read(&SweAgent, edit(ranged)),
        Ok(Action::Read(Read {
            first: 5,
            lines: Some(5),
            or_list: true,
            max_bytes: 16_000,
            ..
        }))
    ));
    let create = json!({"command": "create", "path": "a", "file_text": "x"});
    assert!(matches!(
        read(&SweAgent, edit(create)),
        Ok(Action::Write {
            rule: WriteRule {
                must_be_new: true,
                ..
            },
            ..
        })
    ));
    let delete = json!({"command": "str_replace", "path": "a", "old_str": "x"});
    let Ok(Action::Edit { edits, unique, .. }) = read(&SweAgent, edit(delete)) else {
        panic!()
    };
    assert_eq!((edits[0].new.as_str(), unique), ("", Unique::Require));
    let insert = json!({"command": "insert", "path": "a", "insert_line": 3, "new_str": "x"});
    assert!(matches!(
        read(&SweAgent, edit(insert)),
        Ok(Action::Insert { after: 3, .. })
    ));
}

/// "Parsers", function_calling: exactly one call; "Format-error loop": the raw text and an error,
/// shown once, three tries in all.
#[test]
fn a_reply_is_one_call() {
    let fresh = State::default();
    let show = shown(&fresh, "I am done.", Vec::new()).expect("a requery");
    let [Item::Assistant(said), Item::User { .. }] = show.as_slice() else {
        panic!("{show:?}")
    };
    assert!(said.text == "I am done." && said.calls.is_empty());
    assert!(show[1].text().contains("exactly ONE") && show[1].text().contains("submit"));

    let two = || vec![bash("ls"), bash("pwd")];
    let show = shown(&fresh, "", two()).expect("a requery");
    assert!(matches!(show.as_slice(), [Item::User { .. }]));
    assert!(show[0].text().contains("2 tool calls"));

    // A copy of the call is no second one.
    let Step::Act(actions) = SweAgent.read(&fresh, &reply("", vec![bash("ls"), bash("ls")])) else {
        panic!()
    };
    assert!(matches!(
        actions.as_slice(),
        [Ok(_), Err(CallError::Refused(_))]
    ));

    let max = facts()["request"]["limits"]["max_requeries"]
        .as_u64()
        .expect("a number");
    let mut last = State::default();
    last.counters.insert(REQUERIES.into(), max - 2);
    assert!(shown(&last, "Done.", Vec::new()).is_some());
    last.counters.insert(REQUERIES.into(), max - 1);
    assert_eq!(
        SweAgent.read(&last, &reply("It was a typo.", Vec::new())),
        Step::Done
    );
    let Step::Act(actions) = SweAgent.read(&last, &reply("", two())) else {
        panic!()
    };
    assert!(matches!(
        actions.as_slice(),
        [Ok(Action::Shell(_)), Err(CallError::Refused(_))]
    ));
    // The next task begins anew.
    SweAgent.user(&mut last, &Input::text("More."));
    assert!(shown(&last, "Done.", Vec::new()).is_some());
}

/// "Submission": the first submit shows the whole diff in `<diff>`, the second one counts.
#[test]
fn a_submission_is_reviewed_once() {
    let step = |state: &State| match SweAgent.read(state, &reply("Fixed.", vec![submit()])) {
        Step::Act(mut actions) => actions.pop().expect("one").expect("a good call"),
        other => panic!("{other:?}"),
    };
    let mut full = state(Size::Full);
    // Nothing was done: there is nothing to review.
    assert!(matches!(step(&full), Action::Finish { .. }));
    let ls = read(&SweAgent, bash("ls")).expect("a good call");
    told(
        &mut full,
        bash("ls"),
        ls,
        shell_out("ls", "a.py\n", ShellStatus::Exited(0)),
    );

    let action = step(&full);
    let Action::Shell(shell) = &action else {
        panic!("{action:?}")
    };
    let outcome = shell_out(&shell.command, "-x\n+y\n", ShellStatus::Exited(0));
    let text = told(&mut full, submit(), action.clone(), outcome);
    assert!(text.starts_with("OBSERVATION:\n") && text.contains("call submit again"));
    assert!(text.ends_with("<diff>\n-x\n+y\n</diff>"));
    let last = step(&full);
    assert!(matches!(last, Action::Finish { .. }));
    told(&mut full, submit(), last, Outcome::Finished);

    // The next task is reviewed again; without git, and with bash only, none is.
    SweAgent.user(&mut full, &Input::text("More."));
    full.counters.insert(ACTED.into(), 1);
    assert!(matches!(step(&full), Action::Shell(_)));
    full.counters.remove(GIT);
    assert!(matches!(step(&full), Action::Finish { .. }));
    let mut compact = state(Size::Compact);
    compact.counters.insert(ACTED.into(), 1);
    assert!(matches!(step(&compact), Action::Finish { .. }));
}

/// What is written is read as what it was written from.
#[test]
fn written_calls_are_read_back() {
    let edit = |old: &str, new: &str| Action::Edit {
        path: "a".into(),
        edits: vec![Replace {
            old: old.into(),
            new: new.into(),
        }],
        base: crate::tools::action::Base::Original,
        unique: Unique::Require,
        passes: crate::tools::action::Pass::ALL.to_vec(),
        read_first: false,
        may_create: false,
    };
    let ranged = |first, lines| {
        Action::Read(Read {
            first,
            or_list: true,
            ..Read::new("a", lines, 16_000)
        })
    };
    for action in [
        shell("make 'a b'", false),
        ranged(1, None),
        ranged(4, None),
        ranged(1, Some(3)),
        ranged(7, Some(1)),
        Action::Write {
            path: "a".into(),
            content: "x".into(),
            rule: WriteRule {
                must_be_new: true,
                ..WriteRule::default()
            },
        },
        edit("x", "y"),
        edit("x", ""),
        Action::Insert {
            path: "a".into(),
            after: 0,
            text: "x\n".into(),
        },
        Action::UndoEdit { path: "a".into() },
        Action::Finish {
            text: String::new(),
        },
    ] {
        let (name, arguments) = SweAgent.write(&action).expect("it has such a tool");
        assert_eq!(read(&SweAgent, call(name, arguments)), Ok(action));
    }
    let elsewhere = Action::Shell(Shell {
        dir: Some("my src".into()),
        ..Shell::new("make", Duration::ZERO)
    });
    assert_eq!(
        SweAgent.write(&elsewhere),
        Some(("bash", json!({"command": "cd 'my src' && make"})))
    );
    let patch = Action::Patch {
        text: "*** Begin Patch\n*** Delete File: a\n*** End Patch\n".into(),
        form: PatchForm::Codex,
        dir: None,
    };
    assert_eq!(
        SweAgent.write(&patch),
        Some((
            "bash",
            json!({"command": "apply_patch <<'EOF_PATCH'\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF_PATCH"})
        ))
    );
    assert_eq!(SweAgent.write(&Action::PlanRead), None);
}

/// Recorded runs: every call is understood; one of another preset is answered with the tools that
/// there are.
#[test]
fn recorded_calls_are_understood() {
    let file: Value = serde_json::from_str(include_str!(
        "../../../tests/fixtures/trajectories/swe-agent.json"
    ))
    .expect("the fixture is JSON");
    let facts = facts();
    let (mut understood, mut others) = (0, 0);
    for run in file["runs"].as_array().expect("runs") {
        for recorded in run["calls"].as_array().expect("calls") {
            let name = recorded["name"].as_str().expect("a name");
            let mut call = call(name, json!({}));
            call.arguments = recorded["arguments"].as_str().expect("a text").into();
            let is_ours = facts["tools"]
                .as_array()
                .is_some_and(|tools| tools.iter().any(|tool| tool["name"] == name));
            match read(&SweAgent, call) {
                Ok(action) if is_ours => {
                    let (again, _) = SweAgent.write(&action).expect("it has such a tool");
                    assert_eq!(again, name);
                    understood += 1;
                }
                Err(CallError::UnknownTool { available, .. }) if !is_ours => {
                    assert_eq!(available, ["bash", "str_replace_editor", "submit"]);
                    others += 1;
                }
                other => panic!("{recorded}: {other:?}"),
            }
        }
    }
    assert_eq!((understood, others), (11, 6));
}
