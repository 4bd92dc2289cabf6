//! What calls mean.

use super::*;

/// Facts, `tool_sets`: a GPT model has `apply_patch` in place of `edit` and `write`.
#[test]
fn a_gpt_model_patches() {
    let offered = |model: &str| {
        let cx = Context {
            model: model.into(),
            ..context(Size::Full)
        };
        let start = Opencode.begin(&cx);
        let names: Vec<String> = start.tools.into_iter().map(|tool| tool.name).collect();
        let left_out: Vec<String> = start.left_out.into_iter().map(|(name, _)| name).collect();
        (names, left_out)
    };
    let facts: Value = serde_json::from_str(include_str!(
        "../../../tests/fixtures/harness-facts/opencode.json"
    ))
    .expect("the fixture is JSON");
    for (model, set) in [("qwen3-coder:30b", "build"), (GPT, "gpt_family")] {
        let (names, left_out) = offered(model);
        let wanted: Vec<&str> = facts["tool_sets"][set]
            .as_array()
            .expect("names")
            .iter()
            .filter_map(Value::as_str)
            .filter(|name| !left_out.iter().any(|left| left == name))
            .collect();
        assert_eq!(names, wanted, "{model}");
    }
    assert!(offered(GPT).1.contains(&"edit".into()));
    for model in ["gpt-oss:20b", "gpt-4.1", "glm-4.6"] {
        assert!(offered(model).0.contains(&"edit".into()), "{model}");
    }
    let cx = Context {
        model: GPT.into(),
        ..context(Size::Full)
    };
    let start = Opencode.begin(&cx);
    assert!(start.system.contains("*** Begin Patch") && !start.system.contains("`edit`"));
    let patch = start.tools.first().expect("a tool");
    let recorded = &facts["tools_gpt_family"][0]["parameters"]["properties"];
    assert_eq!(
        patch.schema()["properties"]["patchText"]["type"],
        recorded["patchText"]["type"]
    );
}

/// Facts, `limits`: 2000 lines and 51,200 bytes from line 1; folders are listed.
#[test]
fn reads_are_read() {
    let expected = |first, lines| {
        Ok(Action::Read(Read {
            first,
            or_list: true,
            ..Read::new("a.py", Some(lines), 51_200)
        }))
    };
    assert_eq!(super::action(&file()), expected(1, 2000));
    let part = json!({"filePath": "a.py", "offset": 7, "limit": 5});
    assert_eq!(super::action(&call("read", part)), expected(7, 5));
    let zero = json!({"filePath": "a.py", "offset": 0, "limit": 0});
    assert_eq!(super::action(&call("read", zero)), expected(1, 2000));
    assert_eq!(
        super::action(&call("read", json!({"filePath": "a.PNG"}))),
        Ok(Action::ViewImage {
            path: "a.PNG".into()
        })
    );
}

/// Facts, 5: no read-before-edit rule; an empty `oldString` makes a file; 120,000 ms.
#[test]
fn deeds_are_read() {
    assert!(matches!(
        read(&Opencode, edit()),
        Ok(Action::Edit {
            unique: Unique::Require,
            read_first: false,
            may_create: true,
            ..
        })
    ));
    let Ok(Action::Shell(shell)) = read(&Opencode, bash()) else {
        panic!()
    };
    assert_eq!(shell.time_limit, Some(Duration::from_secs(120)));
    assert!(!shell.background && !shell.cwd_persists);
    assert!(matches!(
        read(&Opencode, call("grep", json!({"pattern": "x"}))),
        Ok(Action::Grep(Grep {
            ignore_case: false,
            limit: 100,
            ..
        }))
    ));
    let todos = json!({"todos": [
        {"content": "look", "status": "completed", "priority": "high"},
        {"content": "stop", "status": "cancelled", "priority": "low"}]});
    let Ok(Action::Plan { steps, .. }) = read(&Opencode, call("todowrite", todos)) else {
        panic!()
    };
    assert_eq!(steps.len(), 1);
    assert_eq!(steps[0].status, StepStatus::Completed);
    let task = |role: &str| {
        let arguments = json!({"description": "d", "prompt": "p", "subagent_type": role});
        read(&Opencode, call("task", arguments))
    };
    assert_eq!(
        task("explore"),
        Ok(Action::Delegate(Delegate {
            role: "explore".into(),
            title: "d".into(),
            prompt: "p".into(),
            read_only: true,
            ..Delegate::default()
        }))
    );
    let error = task("plumber").expect_err("no such role").to_string();
    assert!(error.contains("general or explore"));
}

/// Every call has an action, and every action its call.
#[test]
fn calls_return_to_themselves() {
    let mut calls = vec![
        bash(),
        call(
            "bash",
            json!({"command": "ls", "timeout": 5000, "workdir": "src"}),
        ),
        edit(),
        call(
            "edit",
            json!({"filePath": "a", "oldString": "x", "newString": "", "replaceAll": true}),
        ),
        call("glob", json!({"pattern": "*.py", "path": "src"})),
        call("webfetch", json!({"url": "https://example.org/a"})),
        call(
            "webfetch",
            json!({"url": "http://example.org", "format": "html", "timeout": 5}),
        ),
        call(
            "grep",
            json!({"pattern": "x", "path": "src", "include": "*.py"}),
        ),
        file(),
        call("read", json!({"filePath": "a", "offset": 3, "limit": 9})),
        call("read", json!({"filePath": "a.png"})),
        call(
            "task",
            json!({"description": "d", "prompt": "p", "subagent_type": "general"}),
        ),
        call(
            "task",
            json!({"description": "d", "prompt": "p", "subagent_type": "explore"}),
        ),
        call(
            "todowrite",
            json!({"todos": [{"content": "x", "status": "pending", "priority": "low"}]}),
        ),
        call("write", json!({"content": "x\n", "filePath": "a"})),
    ];
    calls_return(&Opencode, "qwen3", &calls, &[]);
    calls.retain(|call| !["edit", "write"].contains(&call.name.as_str()));
    calls.push(call("apply_patch", json!({"patchText": "*** Begin Patch"})));
    calls_return(&Opencode, GPT, &calls, &[]);
}

/// Actions of other agents, as far as this surface has them.
#[test]
fn other_actions_find_a_call() {
    let write = |action| Opencode.write(&action);
    let list = Action::List {
        path: "src".into(),
        ignore: Vec::new(),
        respect_ignore: true,
        limit: 100,
    };
    assert_eq!(write(list), Some(("read", json!({"filePath": "src"}))));
    let grep = Grep {
        ignore_case: true,
        ..Grep::new("x", 9)
    };
    assert_eq!(
        write(Action::Grep(grep)),
        Some(("grep", json!({"pattern": "(?i)x"})))
    );
    let append = Action::Write {
        path: "a".into(),
        content: "x".into(),
        rule: WriteRule {
            append: true,
            ..WriteRule::default()
        },
    };
    assert_eq!(write(append), None);
    assert_eq!(write(Action::UndoEdit { path: "a".into() }), None);
}
