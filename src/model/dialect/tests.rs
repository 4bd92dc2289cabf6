use super::stream_tests::shown;
use super::*;
use crate::model::arguments::tests::tools;
use crate::model::{Assistant, Delta, Reasoning, Timing};
use serde_json::{Value, json};

/// Texts that differ from the seeds in a few places: bytes changed, cut out, doubled, or a seed
/// cut and joined with another. The same on every run.
pub(crate) fn mutations(seeds: &[&str], count: usize) -> impl Iterator<Item = String> {
    let seeds = seeds
        .iter()
        .map(|s| s.as_bytes().to_vec())
        .collect::<Vec<_>>();
    let mut state = 0x9E37_79B9_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    (0..count).map(move |_| {
        let mut bytes = seeds[random(seeds.len())].clone();
        for _ in 0..=random(4) {
            let at = random(bytes.len());
            let end = (at + random(12)).min(bytes.len());
            match random(4) {
                0 if at < bytes.len() => bytes[at] = random(256) as u8,
                1 => drop(bytes.drain(at..end)),
                2 => {
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
                _ => {
                    let other = &seeds[random(seeds.len())];
                    let from = random(other.len());
                    bytes.truncate(at);
                    bytes.extend_from_slice(&other[from..]);
                }
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

pub(super) const ALONE: Surroundings = Surroundings {
    user_texts: &["fix the bug"],
    tool_texts: &[],
    enforced: true,
    interactive: false,
};

pub(super) fn reply(text: &str, finish: Finish) -> Reply {
    Reply {
        assistant: Assistant {
            text: text.into(),
            ..Assistant::default()
        },
        finish,
        usage: None,
        timing: Timing::default(),
    }
}

pub(super) fn look(text: &str) -> Finding {
    recover(&tools(), &reply(text, Finish::Stop), &ALONE)
}

/// The calls of a text as (name, arguments); it must hold some.
pub(super) fn calls(text: &str) -> Vec<(String, Value)> {
    match look(text) {
        Finding::Calls(found) => {
            assert!(found.calls.iter().all(|c| c.recovered && !c.id.is_empty()));
            found
                .calls
                .iter()
                .map(|c| (c.name.clone(), serde_json::from_str(&c.arguments).unwrap()))
                .collect()
        }
        other => panic!("{text}\n{other:?}"),
    }
}

fn read(path: &str) -> (String, Value) {
    ("read_file".into(), json!({"path": path}))
}

fn bash(command: &str) -> (String, Value) {
    ("bash".into(), json!({"command": command}))
}

pub(super) const READ: &str = r#"{"name":"read_file","arguments":{"path":"a.rs"}}"#;
pub(super) const BASH: &str = r#"{"name": "bash", "arguments": {"command": "echo hi > made.txt"}}"#;

/// A call of `edit_file` in the form of Qwen3-Coder.
pub(super) fn edit_xml(new: &str) -> String {
    format!(
        "<tool_call>\n<function=edit_file>\n<parameter=path>\nsrc/a.rs\n</parameter>\n<parameter=old>\nx\n</parameter>\n<parameter=new>\n{new}\n</parameter>\n</function>\n</tool_call>"
    )
}

#[test]
fn tags_around_json() {
    for text in [
        format!("<tool_call>\n{READ}\n</tool_call>"),
        format!("<tool_call>{READ}"),
        format!("I need the file.\n<tool_call>\n{READ}\n</tool_call><|im_end|>"),
        format!("<tool_calls>{READ}</tool_calls>"),
        format!("<tools>\n{READ}\n</tools>"),
        format!("<function_call>{READ}</function_call>"),
        format!("<toolcall>{READ}</toolcall>"),
        format!("[TOOL_REQUEST]{READ}[END_TOOL_REQUEST]"),
        format!("<tool_call>\n```json\n{READ}\n```\n</tool_call>"),
        format!("```xml\n<tool_call>\n{READ}\n</tool_call>\n```"),
        format!("<tool_call>{}</tool_call>", &READ[..READ.len() - 1]),
        format!("<tool_call>{{{READ}}}</tool_call>"),
        format!("<tool_call>[{READ},{READ}]</tool_call>"),
        format!("<tool_call>{READ}</tool_call>\n<tool_call>{READ}</tool_call>"),
    ] {
        assert_eq!(calls(&text), [read("a.rs")], "{text}");
    }
    let both = format!("<tool_call>\n{READ}\n</tool_call>\n<tool_call>\n{BASH}\n</tool_call>");
    assert_eq!(calls(&both), [read("a.rs"), bash("echo hi > made.txt")]);
    assert!(matches!(
        look("<tool_call>[\"name\": \"x\"]</tool_call>"),
        Finding::Fault { .. }
    ));
}

#[test]
fn plain_json() {
    for json in [
        READ.to_owned(),
        r#"{"tool":"read_file","path":"a.rs"}"#.into(),
        r#"{"tool_name":"read_file","params":{"path":"a.rs"}}"#.into(),
        r#"{"function":"read_file","args":{"path":"a.rs"}}"#.into(),
        r#"{"action":"read_file","action_input":{"path":"a.rs"}}"#.into(),
        r#"{"recipient_name":"functions.read_file","parameters":{"path":"a.rs"}}"#.into(),
        r#"{"name":"read_file","arguments":"{\"path\":\"a.rs\"}"}"#.into(),
        format!(r#"{{"function":{READ}}}"#),
        format!(r#"{{"type":"function","function":{READ}}}"#),
        format!(r#"{{"tool_calls":[{READ}]}}"#),
        r#"{"read_file":{"path":"a.rs"}}"#.into(),
        format!("{{{READ}}}"),
        format!("[{READ}]"),
        r#"{"name":"Read","arguments":{"file_path":"a.rs"}}"#.into(),
    ] {
        assert_eq!(calls(&json), [read("a.rs")], "{json}");
        assert_eq!(calls(&format!("```json\n{json}\n```")), [read("a.rs")]);
        assert_eq!(calls(&format!("```\n{json}\n```\n")), [read("a.rs")]);
        assert_eq!(
            calls(&format!("I'll read a.rs:\n\n```json\n{json}\n```")),
            [read("a.rs")]
        );
    }
    // Arguments alone name a tool that reads, when only one takes them.
    assert_eq!(calls(r#"{"path":"a.rs","limit":20}"#)[0].0, "read_file");
    assert_eq!(look(r#"{"command":"ls"}"#), Finding::Nothing);
}

#[test]
fn the_prose_before_is_kept() {
    let Finding::Calls(found) = look(&format!("I will create it.\n```json\n{BASH}\n```")) else {
        panic!();
    };
    assert_eq!(found.text, "I will create it.");
    assert_eq!(found.form, "bare-json");
    assert_eq!(
        found.calls[0].arguments,
        r#"{"command":"echo hi > made.txt"}"#
    );
}

#[test]
fn function_tags_with_raw_values() {
    let hard = "if a < b && c {\n  s = \"}}\\n\";\r\n} \u{1F600} &lt;\n</parameter>\n`x` true";
    let edit = |new: &str| {
        let arguments = json!({"path": "src/a.rs", "old": "x", "new": new});
        ("edit_file".to_owned(), arguments)
    };
    assert_eq!(calls(&edit_xml(hard)), [edit(hard)]);
    assert_eq!(calls(&edit_xml("\n  123\n")), [edit("\n  123\n")]);
    let inner = "<parameter=a>\nb\n</parameter>";
    assert_eq!(calls(&edit_xml(inner)), [edit(inner)]);
    let full = edit_xml("y");
    for text in [
        full.replace("<tool_call>\n", "I change it now.\n"),
        full.replace("\n</tool_call>", ""),
        full.replace("\n</function>\n</tool_call>", ""),
        full.replace("x\n</parameter>", "x\n</parameter>\n</parameter>"),
        full.replace("x\n</parameter>", "x"),
        full.replace("=edit_file>", " name=\"edit_file\">"),
        full.replace("<parameter=old>", "<parameter name=\"old\">"),
        full.replace(
            "<parameter=old>\nx",
            "<parameter=old>\n\n</parameter>\n<parameter=old>\nx",
        ),
        format!("{full}\n{full}"),
    ] {
        assert_eq!(calls(&text), [edit("y")], "{text}");
    }
    // Numbers come from text by the schema; the prompt's own example calls the key `path`.
    let text = "<function=read_file>\n<parameter=file_path>\na.rs\n</parameter>\n<parameter=limit>\n20\n</parameter>\n</function>";
    assert_eq!(
        calls(text),
        [("read_file".into(), json!({"path": "a.rs", "limit": 20}))]
    );
    let big = "line \"x\"\n".repeat(12_000);
    assert_eq!(calls(&edit_xml(&big)), [edit(&big)]);
    let twice = full.replace(
        "<parameter=old>\nx",
        "<parameter=old>\nz\n</parameter>\n<parameter=old>\nx",
    );
    assert!(matches!(look(&twice), Finding::Fault { .. }));
    assert_eq!(
        look("#include <functional>\nstd::function<int()> f;"),
        Finding::Nothing
    );
}

/// What Qwen2.5-Coder-1.5B wrote on llama.cpp's server under its own template.
#[test]
fn replies_of_a_real_small_coder() {
    let list = r#"<tools>
{"type": "function", "function": {"name": "bash", "description": "Run a command.", "parameters": {"type": "object", "properties": {"command": {"type": "string"}, "timeout": {"type": "integer"}}, "required": ["command"]}}}
</tools>"#;
    let fence = "```json\n{\n  \"name\": \"bash\",\n  \"arguments\": {\n    \"command\": \"python hello.py\"\n  }\n}\n```";
    let Finding::Calls(found) = look(&format!("{list}\n\n{fence}")) else {
        panic!();
    };
    assert_eq!(found.calls[0].arguments, r#"{"command":"python hello.py"}"#);
    assert_eq!((found.text.as_str(), found.form), ("", "bare-json"));
    let (visible, _) = shown(&format!("{list}\n\n{fence}"), 1);
    assert_eq!(visible, "");
    let readme = "```json\n{\n  \"name\": \"write_file\",\n  \"arguments\": {\n    \"file_path\": \"README.md\",\n    \"content\": \"# My Program\\n\\n```sh\\ncargo run\\n```\\n\"\n  }\n}\n```";
    let content = "# My Program\n\n```sh\ncargo run\n```\n";
    let arguments = json!({"file_path": "README.md", "content": content});
    assert_eq!(calls(readme), [("write_file".to_owned(), arguments)]);
    // A tool that does not exist, and a description of a call in tags of its own invention.
    for text in [
        "```json\n{\n  \"name\": \"cargo\",\n  \"arguments\": {\n    \"command\": \"run\",\n    \"timeout\": 60\n  }\n}\n```",
        "<tools>\n  <function>\n    <name>bash</name>\n    <parameters>\n      <type>object</type>\n    </parameters>\n  </function>\n</tools>",
    ] {
        assert!(matches!(look(text), Finding::Fault { .. }), "{text}");
    }
    assert_eq!(look(list), Finding::Nothing);
}

#[test]
fn an_unknown_tool_is_answered_with_the_list() {
    let Finding::Fault { text_for_model } =
        look("<tool_call>\n<function=cargo_test>\n</function>\n</tool_call>")
    else {
        panic!();
    };
    assert!(text_for_model.contains("Unknown tool \"cargo_test\""));
    assert!(text_for_model.contains("read_file, edit_file"));
}

#[test]
fn several_calls_in_a_row() {
    let other = READ.replace("a.rs", "b.rs");
    for text in [
        format!("{READ}{other}"),
        format!("{READ};{other}"),
        format!("```json\n{READ}\n{other}\n```"),
        format!("First:\n```json\n{READ}\n```\nThen:\n```json\n{other}\n```"),
    ] {
        assert_eq!(calls(&text), [read("a.rs"), read("b.rs")], "{text}");
    }
    assert_eq!(calls(&format!("{READ}\n{READ}\n{READ}")), [read("a.rs")]);
    // Of several that write, the first, and the model is told.
    let text = format!(
        "Create it:\n```json\n{BASH}\n```\nThen run it:\n```json\n{}\n```",
        BASH.replace("echo hi > made.txt", "cat made.txt")
    );
    let Finding::Calls(found) = look(&text) else {
        panic!()
    };
    assert_eq!(found.calls.len(), 1);
    assert_eq!(found.text, "Create it:");
    assert!(found.notes[0].contains("only the first call"));
}

#[test]
fn what_is_shown_is_not_run() {
    let fence = format!("```json\n{BASH}\n```");
    let tag = format!("<tool_call>\n{READ}\n</tool_call>");
    for text in [
        "```json\n{\"name\": \"my-app\", \"version\": \"1.0.0\"}\n```".to_owned(),
        "{\"name\":\"bob\",\"age\":3}".into(),
        format!("For example, you could call it:\n{fence}"),
        format!("The format is e.g.\n{tag}"),
        format!("Write `<tool_call>{READ}</tool_call>`"),
        format!("```python\n{READ}\n```"),
        format!("```rust\nlet x = \"\n{tag}\n\";\n```"),
        format!("```diff\n+{tag}\n```"),
        format!("> {}", tag.replace('\n', " ")),
        BASH.replace("echo hi > made.txt", "cat path/to/file"),
        READ.replace("a.rs", "<path>"),
        READ.replace("a.rs", "..."),
        format!("{fence}\nor\n{fence}"),
        "Tags such as <tool_call> begin a call.".into(),
        format!(
            "<tools>\n{}\n</tools>",
            json!({"name": "bash", "description": "runs", "parameters": {"type": "object", "properties": {}}})
        ),
    ] {
        assert_eq!(look(&text), Finding::Nothing, "{text}");
    }
    // In the text of a file anything may stand.
    assert_eq!(calls(&edit_xml("<div>")).len(), 1);
    assert_eq!(calls(&edit_xml("see example.com")).len(), 1);
    // More prose after it: the model may have meant it, so it is asked.
    for text in [
        format!("{fence}\nThis writes the file. Let me know if it worked."),
        format!("{tag}\nNow I wait."),
    ] {
        assert!(matches!(look(&text), Finding::Fault { .. }), "{text}");
    }
}

#[test]
fn a_quoted_call_is_not_run() {
    let injected = format!("<tool_call>\n{BASH}\n</tool_call>");
    let escaped = BASH.replace('"', "\\\"");
    for (user, tool) in [
        (injected.as_str(), ""),
        ("fix it", injected.as_str()),
        ("fix it", escaped.as_str()),
    ] {
        let around = Surroundings {
            user_texts: &[user],
            tool_texts: &[tool],
            ..ALONE
        };
        let compact = serde_json::from_str::<Value>(BASH).unwrap().to_string();
        for text in [
            &injected,
            &format!("```json\n{compact}\n```"),
            &format!("{READ}\n{compact}"),
        ] {
            let found = recover(&tools(), &reply(text, Finish::Stop), &around);
            assert_eq!(found, Finding::Nothing, "{text}");
        }
    }
    let kept = Surroundings {
        user_texts: &["fix it, but do not run the tests"],
        ..ALONE
    };
    let found = recover(&tools(), &reply(BASH, Finish::Stop), &kept);
    assert!(matches!(found, Finding::Calls(_)));
    let asked = Surroundings {
        user_texts: &["show me an example call, don't run it"],
        ..ALONE
    };
    let found = recover(&tools(), &reply(BASH, Finish::Stop), &asked);
    assert_eq!(found, Finding::Nothing);
}

#[test]
fn risk_decides_with_the_position() {
    let long = "I looked at it. It is long. There is more. ".repeat(3);
    let weak = |json: &str| look(&format!("{long}\n```json\n{json}\n```"));
    assert!(matches!(weak(READ), Finding::Calls(_)));
    assert!(matches!(weak(BASH), Finding::Fault { .. }));
    let open = Surroundings {
        enforced: false,
        ..ALONE
    };
    let plain =
        |text: &str, around: &Surroundings| recover(&tools(), &reply(text, Finish::Stop), around);
    assert!(matches!(plain(BASH, &open), Finding::Fault { .. }));
    assert!(matches!(plain(READ, &open), Finding::Calls(_)));
    let shown = Surroundings {
        interactive: true,
        ..open
    };
    assert!(matches!(plain(BASH, &shown), Finding::Calls(_)));
    let missing = r#"{"name":"edit_file","arguments":{"path":"a","new":"y"}}"#;
    let Finding::Fault { text_for_model } = look(missing) else {
        panic!()
    };
    assert!(text_for_model.contains("missing \"old\""));
    let broken = r#"{"name":"bash","arguments":{"command":"say "hi" now"}}"#;
    assert!(matches!(look(broken), Finding::Fault { .. }));
}

#[test]
fn nothing_is_recovered_where_nothing_may() {
    let mut structured = reply(READ, Finish::Stop);
    let Finding::Calls(found) = look(READ) else {
        panic!()
    };
    structured.assistant.calls = found.calls;
    assert_eq!(recover(&tools(), &structured, &ALONE), Finding::Nothing);
    assert_eq!(
        recover(&[], &reply(READ, Finish::Stop), &ALONE),
        Finding::Nothing
    );
}

#[test]
fn a_cut_text_never_runs_half_a_call() {
    let whole = [
        format!("Now:\n{}", edit_xml("y")),
        format!("<tool_call>\n{BASH}\n</tool_call>"),
        format!("Now:\n```json\n{BASH}\n```"),
    ];
    for text in &whole {
        let Finding::Calls(all) = recover(&tools(), &reply(text, Finish::Length), &ALONE) else {
            panic!("{text}");
        };
        for (at, _) in text.char_indices() {
            let cut = recover(&tools(), &reply(&text[..at], Finish::Length), &ALONE);
            if let Finding::Calls(found) = cut {
                assert_eq!(
                    found.calls[0].arguments, all.calls[0].arguments,
                    "{at} of {text}"
                );
            }
        }
        // The first of several copies is complete wherever the stream was cut after it.
        let copies = format!("{text}\n{text}");
        let second = text.len() + 1 + text.find(['<', '`']).unwrap() + 1;
        let found = recover(
            &tools(),
            &reply(&copies[..second + 30], Finish::Cut),
            &ALONE,
        );
        assert!(
            matches!(found, Finding::Calls(f) if f.calls.len() == 1),
            "{text}"
        );
    }
}

#[test]
fn a_call_at_the_end_of_the_thinking() {
    let thought = |text: &str, finish: Finish| {
        let mut reply = reply("", finish);
        reply.assistant.reasoning.push(Reasoning {
            text: text.into(),
            ..Reasoning::default()
        });
        recover(&tools(), &reply, &ALONE)
    };
    let text = format!("I need the file. <tool_call>{READ}</tool_call>");
    let Finding::Calls(found) = thought(&text, Finish::Stop) else {
        panic!()
    };
    assert_eq!(found.reasoning.as_deref(), Some("I need the file."));
    assert_eq!((found.text.as_str(), found.calls.len()), ("", 1));
    assert_eq!(thought(&text, Finish::Length), Finding::Nothing);
    assert_eq!(
        thought(&format!("{text} and then I edit."), Finish::Stop),
        Finding::Nothing
    );
}

#[test]
fn thinking_is_split_off() {
    let split = |text: &str| split_thinking(text);
    let parts = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
    assert_eq!(split("<think>\na\n</think>\n\nb"), parts("a", "b"));
    assert_eq!(split("a</think>b"), parts("a", "b"));
    assert_eq!(split("<think>a"), parts("a", ""));
    assert_eq!(split("<think>\n\n</think>\n\nb"), parts("", "b"));
    assert_eq!(
        split("<thinking>a</thinking><think>c</think>b"),
        parts("a\nc", "b")
    );
    assert_eq!(split("[THINK]a[/THINK]b"), parts("a", "b"));
    assert_eq!(split("<seed:think>a</seed:think>b"), parts("a", "b"));
    assert_eq!(split("<|channel>thought\na<channel|>b"), parts("a", "b"));
    assert_eq!(split("plain"), None);
    assert_eq!(split("The tag `</think>` ends it."), None);
    assert_eq!(split("```\n</think>\n```"), None);
}

#[test]
fn no_bytes_can_make_it_panic() {
    let seeds = [
        &format!("Now:\n{}", edit_xml("é </parameter> {\n")),
        &format!("I do.\n```json\n{BASH}\n```\nThen:\n```\n[{READ},{{{READ}}}]\n```"),
        &format!("<think>x</think><tool_call>{READ}</tool_call>[TOOL_REQUEST]{READ}"),
    ];
    let seeds = seeds.map(String::as_str);
    for (n, text) in mutations(&seeds, 2000).enumerate() {
        let finish = if n % 3 == 0 {
            Finish::Length
        } else {
            Finish::Stop
        };
        if let Finding::Calls(found) = recover(&tools(), &reply(&text, finish), &ALONE) {
            assert!(!found.calls.is_empty());
        }
        let _ = split_thinking(&text);
        let mut hold = Holdback::new(&tools());
        let mut repeats_tools = tools();
        repeats_tools.truncate(4);
        let mut repeats = Repeats::new(&repeats_tools);
        for c in text.chars() {
            hold.push(c.encode_utf8(&mut [0; 4]));
            repeats.push(&Delta::Text(c.into()));
        }
        hold.finish();
    }
}
