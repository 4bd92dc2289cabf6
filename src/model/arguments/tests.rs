use super::*;
use crate::model::ToolInput;
use serde_json::json;

pub(crate) fn tool(name: &str, schema: Value) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: String::new(),
        input: ToolInput::Function(schema),
    }
}

/// Tools with the argument names of three agents.
pub(crate) fn tools() -> Vec<ToolSpec> {
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required});
    vec![
        tool(
            "read_file",
            object(
                json!({"path": {"type": "string"}, "limit": {"type": "integer"}}),
                json!(["path"]),
            ),
        ),
        tool(
            "edit_file",
            object(
                json!({"path": {"type": "string"}, "old": {"type": "string"}, "new": {"type": "string"}, "all": {"type": "boolean"}}),
                json!(["path", "old", "new"]),
            ),
        ),
        tool(
            "write_file",
            object(
                json!({"file_path": {"type": "string"}, "content": {"type": "string"}}),
                json!(["file_path", "content"]),
            ),
        ),
        tool(
            "bash",
            object(
                json!({"command": {"type": "string"}, "timeout": {"type": "number"}}),
                json!(["command"]),
            ),
        ),
        tool(
            "todo_write",
            object(
                json!({"todos": {"type": "array", "items": object(
                    json!({"content": {"type": "string"}, "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]}}),
                    json!(["content", "status"]),
                )}}),
                json!(["todos"]),
            ),
        ),
        tool(
            "list_dir",
            object(
                json!({"path": {"type": "string"}, "ignore": {"type": "array", "items": {"type": "string"}}}),
                json!([]),
            ),
        ),
        ToolSpec {
            name: "apply_patch".into(),
            description: String::new(),
            input: ToolInput::Freeform {
                grammar: String::new(),
            },
        },
    ]
}

fn call(name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: "call_1".into(),
        name: name.into(),
        arguments: arguments.into(),
        kind: CallKind::Function,
        recovered: false,
    }
}

fn settled(name: &str, arguments: &str) -> Settled {
    settle(call(name, arguments), &tools(), &Finish::Stop)
}

/// The arguments after settling, which must go well.
fn fine(name: &str, arguments: &str) -> Value {
    let settled = settled(name, arguments);
    assert_eq!(settled.fault, None, "{name} {arguments}");
    serde_json::from_str(&settled.call.arguments).unwrap()
}

/// The form that pi had before its `edits`, and other agents' names for the fields.
#[test]
fn a_list_of_one_may_be_left_out() {
    let text = || json!({"type": "string"});
    let item = json!({"type": "object", "properties": {"oldText": text(), "newText": text()},
        "required": ["oldText", "newText"], "additionalProperties": false});
    let edit = tool(
        "edit",
        json!({"type": "object", "properties": {"path": text(), "edits": {"type": "array", "items": item}},
            "required": ["path", "edits"], "additionalProperties": false}),
    );
    let settled = |arguments: Value| {
        let tools = [edit.clone()];
        settle(call("edit", &arguments.to_string()), &tools, &Finish::Stop)
    };
    let expected = json!({"path": "a", "edits": [{"oldText": "x", "newText": "y"}]});
    for written in [
        json!({"path": "a", "oldText": "x", "newText": "y"}),
        json!({"path": "a", "old_string": "x", "new_string": "y"}),
        json!({"path": "a", "edits": [{"old_string": "x", "new_string": "y"}]}),
        json!({"path": "a", "edits": {"oldText": "x", "newText": "y"}}),
    ] {
        let settled = settled(written.clone());
        assert_eq!(settled.fault, None, "{written}");
        let arguments: Value = serde_json::from_str(&settled.call.arguments).unwrap();
        assert_eq!(arguments, expected, "{written}");
    }
    let half = settled(json!({"path": "a", "oldText": "x"}));
    assert!(half.fault.is_some());
}

#[test]
fn valid_arguments_keep_their_bytes() {
    let text = "{\"path\" : \"a.rs\",\n \"limit\":2}";
    let settled = settled("read_file", text);
    assert_eq!(settled.call.arguments, text);
    assert_eq!((settled.fault, settled.repaired), (None, None));
    assert!(settled.notes.is_empty());
}

#[test]
fn json_faults_of_section_4() {
    let path = json!({"path": "a.rs"});
    for text in [
        "```json\n{\"path\":\"a.rs\"}\n```",
        "\u{feff}{\"path\":\"a.rs\"}",
        "{\"path\":\"a.rs\"};",
        "{\"path\":\"a.rs\",}",
        "{\"path\":\"a.rs\"}}",
        "{\"path\":\"a.rs\"}]",
        "{\"path\":\"a.rs\"",
        "{'path':'a.rs'}",
        "{path:\"a.rs\"}",
        "{“path”:“a.rs”}",
        "{\"path\":`a.rs`}",
        "{\"path\":\"\"\"a.rs\"\"\"}",
        "{\"path\":\"a.rs\" /* which */} // done",
        "{\"path\":\"x\",\"path\":\"a.rs\"}",
        "{\"path\":\"a.rs\",\"limit\":None}",
        "\"{\\\"path\\\":\\\"a.rs\\\"}\"",
        "[{\"path\":\"a.rs\"}]",
        "{\"path\":\"a.rs\"}{\"path\":\"a.rs\"}",
        "Arguments: {\"path\":\"a.rs\"}",
    ] {
        assert_eq!(fine("read_file", text), path, "{text}");
    }
    // Raw control characters, and escapes that JSON does not know.
    assert_eq!(
        fine("bash", "{\"command\":\"cat <<E\n\tx\nE\"}"),
        json!({"command": "cat <<E\n\tx\nE"})
    );
    assert_eq!(
        fine("bash", r#"{"command":"grep '\d\w' C:\dir \u12"}"#),
        json!({"command": r"grep '\d\w' C:\dir \u12"})
    );
    // Content is never touched: it holds everything that is repaired elsewhere.
    let content = "{'a': True,} // \"x\" }} ]] \\d,\n```\r\n\u{1F600}";
    let text = json!({"file_path": "a", "content": content}).to_string();
    assert_eq!(fine("write_file", &format!("{text},"))["content"], content);
    assert_eq!(
        fine("bash", "{'command': 'echo \u{1F600} \\ud83d\\ude00'}")["command"],
        "echo \u{1F600} \u{1F600}"
    );
}

#[test]
fn what_has_two_readings_stays_an_error() {
    for text in [
        r#"{"command":"say "hi" now"}"#,
        r#"{"command":"ls" "timeout":2}"#,
        r#"{"command":"ls"#,
        r#"{"command":"#,
        r#"{'command':"it's"}"#,
        r#"{"command":"ls"}, "timeout": 3}"#,
        "ls -R",
        "[1,2]",
        "7",
    ] {
        let settled = settled("bash", text);
        assert_eq!(settled.call.arguments, "{}", "{text}");
        assert!(
            matches!(settled.fault, Some(CallError::BadJson { ref expected, .. })
                if expected == r#"{"command": string, "timeout"?: number}"#),
            "{text}: {:?}",
            settled.fault
        );
    }
}

#[test]
fn a_cut_call_is_never_completed() {
    let whole = r#"{"file_path":"a.py","content":"print(\"x\")\nif a:\n"}"#;
    for (at, _) in whole.char_indices() {
        for finish in [Finish::Length, Finish::Cut] {
            let settled = settle(call("write_file", &whole[..at]), &tools(), &finish);
            // Nothing at all is an empty call, not half a one.
            let fault = settled.fault.expect("cut");
            assert!(
                at == 0 || matches!(fault, CallError::CutOff { .. }),
                "{at}: {fault}"
            );
        }
    }
    let all = settle(call("write_file", whole), &tools(), &Finish::Length);
    assert_eq!((all.fault, all.call.arguments.as_str()), (None, whole));
}

#[test]
fn no_arguments_in_all_their_forms() {
    for text in ["", "null", "[]", "\"{}\"", "\"\\\"{}\\\"\"", "{}", "\"\""] {
        assert_eq!(fine("list_dir", text), json!({}), "{text}");
    }
}

#[test]
fn names_of_section_5() {
    for name in [
        "read_file",
        "Read_File",
        "ReadFile",
        "read-file",
        "readFile",
        "functions.read_file",
        "default_api.read_file",
        "mcp__fs__read_file",
        "ns:read_file",
        "read_file()",
        "read_file:0",
        "read_file<|channel|>commentary",
        "cat",
        "raed_file",
    ] {
        let settled = settled(name, r#"{"path":"a"}"#);
        assert_eq!(settled.call.name, "read_file", "{name}");
        assert_eq!(settled.fault, None);
    }
    assert_eq!(
        settled("run_shell_command", r#"{"cmd":"ls"}"#)
            .call
            .arguments,
        r#"{"command":"ls"}"#
    );
    assert_eq!(
        settled("container.exec", r#"{"command":["bash","-lc","ls"]}"#)
            .call
            .name,
        "bash"
    );
    // An alias whose arguments do not fit, near names that write, deeds of no known class.
    for (name, arguments) in [
        ("view", r#"{"symbol":"x"}"#),
        ("writ_file", r#"{"file_path":"a","content":""}"#),
        ("delete", r#"{"command":"rm a"}"#),
        ("git_commit", r#"{"command":"x"}"#),
        ("", "{}"),
    ] {
        let settled = settled(name, arguments);
        let Some(CallError::UnknownTool {
            available, nearest, ..
        }) = settled.fault
        else {
            panic!("{name}");
        };
        assert_eq!(available.len(), 7);
        assert!(nearest.len() <= 3);
        assert!(!settled.call.name.is_empty());
    }
}

#[test]
fn arguments_of_section_6() {
    let edit = json!({"path": "a", "old": "x", "new": "y"});
    for text in [
        r#"{"file_path":"a","old_string":"x","newText":"y"}"#,
        r#"{"filePath":"a","search":"x","replace":"y"}"#,
        r#"{"path":"a","file":"b","old":"x","new":"y"}"#,
        r#"{"parameters":{"path":"a","old":"x","new":"y"}}"#,
        r#"{"path":"`a`","old":"x","new":"y","explanation":"why"}"#,
        r#"{"path":"a","old":"x","new":"y","all":null}"#,
        r#"{"path":"a","old":"x","new":"y","all":""}"#,
    ] {
        assert_eq!(fine("edit_file", text), edit, "{text}");
    }
    assert_eq!(
        settled("edit_file", r#"{"file":"a","old":"x","new":"y"}"#).notes,
        [r#"note: "file" was read as "path""#]
    );
    assert_eq!(
        fine("read_file", r#"{"path":"a","limit":"20"}"#)["limit"],
        20
    );
    assert_eq!(
        fine("read_file", r#"{"path":"a","limit":20.0}"#)["limit"],
        json!(20)
    );
    assert_eq!(
        fine("read_file", r#"{"path":7,"more":1}"#),
        json!({"path": "7"})
    );
    assert_eq!(fine("read_file", r#"{"path":["a"]}"#), json!({"path": "a"}));
    assert_eq!(
        fine("read_file", r#"{"uri":"file:///a"}"#),
        json!({"path": "/a"})
    );
    assert_eq!(
        fine(
            "edit_file",
            r#"{"path":"a","old":"1","new":"true","all":"True"}"#
        ),
        json!({"path": "a", "old": "1", "new": "true", "all": true})
    );
    assert_eq!(
        fine("list_dir", r#"{"ignore":"*.o"}"#),
        json!({"ignore": ["*.o"]})
    );
    assert_eq!(
        fine("list_dir", r#"{"ignore":"[\"a\",\"b\"]"}"#),
        json!({"ignore": ["a", "b"]})
    );
    assert_eq!(
        fine("bash", r#"{"command":["ls","-l","a b","it's"]}"#)["command"],
        r"ls -l 'a b' 'it'\''s'"
    );
    assert_eq!(
        fine("bash", r#"{"command":["bash","-lc","ls | wc"]}"#)["command"],
        "ls | wc"
    );
    assert_eq!(
        fine("bash", r#"{"command":"```bash\nls\n```"}"#)["command"],
        "ls"
    );
    assert_eq!(fine("bash", r#"{"command":"$ ls"}"#)["command"], "ls");
    assert_eq!(
        fine(
            "write_file",
            r#"{"file_path":"p.json","content":{"a":[1]}}"#
        )["content"],
        "{\n  \"a\": [\n    1\n  ]\n}"
    );
    assert_eq!(
        fine(
            "todo_write",
            r#"{"todos":"[{\"content\":\"a\",\"status\":\"In Progress\"}]"}"#
        ),
        json!({"todos": [{"content": "a", "status": "in_progress"}]})
    );
}

#[test]
fn a_wrong_argument_is_named() {
    for (name, text, wanted) in [
        ("edit_file", r#"{"path":"a","new":"y"}"#, r#"missing "old""#),
        (
            "edit_file",
            r#"{"path":"a","old":null,"new":"y"}"#,
            r#""old" must be a string"#,
        ),
        (
            "read_file",
            r#"{"path":"a","limit":"many"}"#,
            r#""limit" must be a whole number"#,
        ),
        (
            "bash",
            r#"{"command":"ls","cwd":"/"}"#,
            r#"unknown argument "cwd""#,
        ),
        (
            "todo_write",
            r#"{"todos":[{"content":"a","status":"x"}]}"#,
            r#""todos[0].status" must be one of "pending", "in_progress", "completed""#,
        ),
        (
            "todo_write",
            r#"{"todos":[{"status":"pending"}]}"#,
            r#"missing "todos[0].content""#,
        ),
    ] {
        let settled = settled(name, text);
        let Some(CallError::BadArgument { why, .. }) = &settled.fault else {
            panic!("{text}: {:?}", settled.fault);
        };
        assert_eq!(why, wanted);
        assert!(serde_json::from_str::<Map<String, Value>>(&settled.call.arguments).is_ok());
    }
    // The form of section 8.
    assert_eq!(
        settled("edit_file", r#"{"path":"a","new":"y"}"#)
            .fault
            .unwrap()
            .to_string(),
        r#"edit_file: missing "old". Received keys: path, new. Expected: {"path": string, "old": string, "new": string, "all"?: boolean}."#
    );
}

#[test]
fn concatenated_arguments() {
    let two = r#"{"path":"a"}{"path":"b"};{"path":"a"}"#;
    let settled = settled("read_file", two);
    assert_eq!(settled.call.arguments, r#"{"path":"a"}"#);
    assert_eq!(settled.more.len(), 1);
    assert_eq!(settled.more[0].arguments, r#"{"path":"b"}"#);
    assert_ne!(settled.more[0].id, settled.call.id);
    let write = super::settle(
        call("bash", "{\"command\":\"a\"}\n{\"command\":\"b\"}"),
        &tools(),
        &Finish::Stop,
    );
    assert_eq!(write.call.arguments, r#"{"command":"a"}"#);
    assert!(write.more.is_empty() && write.notes.len() == 1);
}

#[test]
fn a_freeform_text_comes_out_of_every_wrapper() {
    let patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch";
    for wrapped in [
        json!(patch),
        json!({"input": patch}),
        json!({"patch": patch}),
        json!(["apply_patch", patch]),
        json!({"command": ["apply_patch", patch]}),
        json!({"input": json!({"input": patch}).to_string()}),
    ] {
        let settled = settled("apply_patch", &wrapped.to_string());
        assert_eq!(settled.call.arguments, patch, "{wrapped}");
        assert_eq!(settled.call.kind, CallKind::Freeform);
    }
    assert_eq!(settled("apply_patch", patch).call.arguments, patch);
    let cut = settle(call("apply_patch", &patch[..40]), &tools(), &Finish::Length);
    assert!(matches!(cut.fault, Some(CallError::CutOff { .. })));
}

#[test]
fn control_tokens_are_not_echoed() {
    let settled = settled("bash", "<tool_call><|im_start|>[TOOL_CALLS]");
    let text = settled.fault.unwrap().to_string();
    assert!(!text.contains("<|") && !text.contains("<tool_call") && !text.contains("[TOOL_"));
    assert_eq!(harmless(&"é".repeat(300), 200).chars().count(), 201);
}

#[test]
fn no_bytes_can_make_it_panic() {
    let seeds = [
        r#"{"path":"a.rs","limit":[{"x":'y'}],"z":"\ud83d\u00e9"}"#,
        "{'a':\"\"\"x\"\"\",“b”:`c`} // x\n{{[",
        "\"\\\"{\\\\\\\"path\\\\\\\":1}\\\"\"",
    ];
    for text in crate::model::dialect::tests::mutations(&seeds, 3000) {
        for (name, finish) in [("read_file", Finish::Stop), ("apply_patch", Finish::Length)] {
            let settled = settle(call(name, &text), &tools(), &finish);
            if settled.call.kind == CallKind::Function {
                let object = serde_json::from_str::<Map<String, Value>>(&settled.call.arguments);
                assert!(object.is_ok(), "{text}");
            }
        }
        let _ = settle(call(&text, "{}"), &tools(), &Finish::Stop);
    }
}

/// A value of which the schema allows several forms: its parts are fitted by the form that it has.
#[test]
fn one_of_several_forms_is_fitted() {
    let edit = json!({"type": "object", "required": ["old", "new"], "properties": {
        "old": {"type": "string"}, "new": {"type": "string"}, "replace_all": {"type": "boolean"}}});
    let schema = json!({"type": "object", "required": ["path", "edit"], "properties": {
        "path": {"type": "string"},
        "edit": {"anyOf": [edit, {"type": "array", "items": edit}]},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}});
    assert_eq!(
        expected(&schema),
        "{\"path\": string, \"edit\": [{\"old\": string, \"new\": string, \"replace_all\"?: boolean}] | {\"old\": string, \"new\": string, \"replace_all\"?: boolean}, \"limit\"?: integer}"
    );
    let tools = [tool("str_replace_file", schema)];
    let settled = |arguments: Value| {
        let call = ToolCall {
            id: "1".into(),
            name: "StrReplaceFile".into(),
            arguments: arguments.to_string(),
            kind: CallKind::Function,
            recovered: false,
        };
        let settled = settle(call, &tools, &Finish::Stop);
        let arguments = serde_json::from_str::<Value>(&settled.call.arguments);
        (
            settled.fault.map(|fault| fault.to_string()),
            arguments.expect("JSON"),
        )
    };
    let one = json!({"old": "x", "new": "y"});
    for (written, read) in [
        (one.clone(), one.clone()),
        (Value::String(one.to_string()), one.clone()),
        (json!([one]), json!([one])),
        (
            json!([{"old": "x", "new": "y", "replace_all": "true"}]),
            json!([{"old": "x", "new": "y", "replace_all": true}]),
        ),
    ] {
        let (fault, arguments) = settled(json!({"path": "a", "edit": written, "limit": null}));
        assert_eq!((fault, &arguments["edit"]), (None, &read));
    }
    let (fault, _) = settled(json!({"path": "a", "edit": {"old": "x"}}));
    assert!(fault.is_some_and(|why| why.contains("missing \"edit.new\"")));
    let (fault, _) = settled(json!({"path": "a", "edit": 3}));
    assert!(fault.is_some_and(|why| why.contains("must be an object or an array")));
}
