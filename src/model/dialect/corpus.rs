//! Every form in which models were seen to write a call, each in the same surroundings: alone,
//! after prose, before prose, several times, cut at every byte, shown, quoted.

use super::stream_tests::shown;
use super::tests::{ALONE, calls, edit_xml, look, reply};
use super::*;
use crate::model::Delta;
use crate::model::arguments::tests::tools;
use serde_json::{Value, json};

/// A call of `read_file` and one of `bash` in one form.
struct Sample {
    form: &'static str,
    reads: String,
    runs: String,
}

/// One sample from a text with `NAME` and `JSON` in it.
fn json_sample(form: &'static str, text: &str) -> Sample {
    let fill = |name: &str, arguments: &str| text.replace("NAME", name).replace("JSON", arguments);
    Sample {
        form,
        reads: fill("read_file", r#"{"path":"a.rs"}"#),
        runs: fill("bash", r#"{"command":"echo \"}}\" > b"}"#),
    }
}

/// One sample from a text with `NAME`, `KEY` and `VALUE` in it.
fn sample(form: &'static str, text: &str) -> Sample {
    let fill = |name: &str, key: &str, value: &str| {
        text.replace("NAME", name)
            .replace("KEY", key)
            .replace("VALUE", value)
    };
    Sample {
        form,
        reads: fill("read_file", "path", "a.rs"),
        runs: fill("bash", "command", r#"echo "}}" > b"#),
    }
}

fn samples() -> Vec<Sample> {
    let both = [
        (
            "deepseek",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME\n```json\nJSON\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ),
        (
            "deepseek",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>NAME<｜tool▁sep｜>JSON<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ),
        (
            "deepseek",
            "<|tool_call_begin|>NAME<|tool_sep|>JSON<|tool_call_end|>",
        ),
        (
            "kimi",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>JSON<|tool_call_end|><|tool_calls_section_end|>",
        ),
        (
            "kimi",
            "<|tool_call_begin|>functions.NAME:3<|tool_call_argument_begin|>JSON<|tool_call_end|>",
        ),
        (
            "harmony",
            "<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>JSON<|call|>",
        ),
        (
            "harmony",
            "<|start|>assistant to=functions.NAME<|channel|>commentary json<|message|>JSON<|call|>",
        ),
        (
            "harmony",
            "<|start|>assistant<|channel|>analysis to=functions.NAME code<|message|>JSON<|call|>",
        ),
        ("harmony", "commentary to=functions.NAME json\nJSON"),
        (
            "mistral",
            r#"[TOOL_CALLS][{"name":"NAME","arguments":JSON}]"#,
        ),
        ("mistral", "[TOOL_CALLS]NAME[ARGS]JSON"),
        ("mistral", "[TOOL_CALLS]NAME[CALL_ID]abcDEF123[ARGS]JSON"),
        (
            "llama",
            r#"<|python_tag|>{"name":"NAME","parameters":JSON}<|eom_id|>"#,
        ),
        ("function-xml", "<function=NAME>JSON</function>"),
        (
            "tagged-json",
            "<tool_call>\n{\"name\":\"NAME\",\"arguments\":JSON}\n</tool_call>",
        ),
        (
            "tagged-json",
            "[TOOL_REQUEST]{\"name\":\"NAME\",\"arguments\":JSON}[END_TOOL_REQUEST]",
        ),
        (
            "tool-tag",
            "<use_mcp_tool>\n<server_name>x</server_name>\n<tool_name>NAME</tool_name>\n<arguments>\nJSON\n</arguments>\n</use_mcp_tool>",
        ),
        (
            "bare-json",
            "```json\n{\"name\":\"NAME\",\"arguments\":JSON}\n```",
        ),
        ("bare-json", "{\"name\":\"NAME\",\"arguments\":JSON}"),
    ];
    let values = [
        (
            "function-xml",
            "<tool_call>\n<function=NAME>\n<parameter=KEY>\nVALUE\n</parameter>\n</function>\n</tool_call>",
        ),
        (
            "function-xml",
            "<function name=\"NAME\"><param name=\"KEY\">VALUE</param></function>",
        ),
        (
            "invoke-xml",
            "<minimax:tool_call>\n<invoke name=\"NAME\">\n<parameter name=\"KEY\">VALUE</parameter>\n</invoke>\n</minimax:tool_call>",
        ),
        (
            "invoke-xml",
            "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"NAME\">]<]minimax[>[<parameter name=\"KEY\">VALUE]<]minimax[>[</parameter>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>",
        ),
        (
            "invoke-xml",
            "<function_calls>\n<invoke name=\"NAME\">\n<parameter name=\"KEY\">VALUE</parameter>\n</invoke>\n</function_calls>",
        ),
        (
            "dsml",
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"NAME\">\n<｜DSML｜parameter name=\"KEY\" string=\"true\">VALUE</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        ),
        (
            "glm",
            "<tool_call>NAME\n<arg_key>KEY</arg_key>\n<arg_value>VALUE</arg_value>\n</tool_call>",
        ),
        (
            "glm",
            "<tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>",
        ),
        (
            "gemma",
            "<|tool_call>call:NAME{KEY:<|\"|>VALUE<|\"|>}<tool_call|>",
        ),
        (
            "gemma",
            "<start_function_call>call:NAME{KEY:<escape>VALUE<escape>}<end_function_call>",
        ),
        ("pythonic", "[NAME(KEY='VALUE')]"),
        ("pythonic", "```tool_code\nNAME(KEY='VALUE')\n```"),
        ("tool-tag", "<NAME>\n<KEY>VALUE</KEY>\n</NAME>"),
    ];
    let escaped = "&lt;tool_call&gt;\n&lt;function=NAME&gt;\n&lt;parameter=KEY&gt;\nVALUE\n&lt;/parameter&gt;\n&lt;/function&gt;\n&lt;/tool_call&gt;";
    let mut escaped = sample("escaped", escaped);
    escaped.runs = escaped.runs.replace("\" > b", "\" &gt; b");
    let json = both.iter().map(|(form, text)| json_sample(form, text));
    let values = values.iter().map(|(form, text)| sample(form, text));
    json.chain(values).chain([escaped]).collect()
}

fn read() -> (String, Value) {
    ("read_file".into(), json!({"path": "a.rs"}))
}

fn bash() -> (String, Value) {
    ("bash".into(), json!({"command": "echo \"}}\" > b"}))
}

fn found(text: &str) -> Recovered {
    match look(text) {
        Finding::Calls(found) => found,
        other => panic!("{text}\n{other:?}"),
    }
}

#[test]
fn each_form_is_read() {
    for s in samples() {
        assert_eq!(calls(&s.reads), [read()], "{}", s.reads);
        assert_eq!(calls(&s.runs), [bash()], "{}", s.runs);
        let alone = found(&s.runs);
        assert_eq!(
            (alone.form, alone.text.as_str()),
            (s.form, ""),
            "{}",
            s.runs
        );
        let lead = found(&format!("I do it now.\n{}", s.runs));
        assert_eq!(lead.text, "I do it now.", "{}", s.runs);
        assert_eq!(calls(&format!("{}\n{}", s.reads, s.reads)), [read()]);
        let two = calls(&format!("{}\n{}", s.reads, s.reads.replace("a.rs", "c.rs")));
        assert_eq!(two.len(), 2, "{}", s.reads);
    }
}

#[test]
fn none_runs_where_it_is_shown_or_quoted() {
    for s in samples() {
        for text in [
            format!("For example, you could call:\n{}", s.runs),
            format!("```python\n{}\n```", s.runs.replace("```", "")),
            format!("Write `{}`", s.runs.replace(['\n', '`'], " ")),
            s.runs
                .replace("> b", "> path/to/b")
                .replace("&gt; b", "&gt; path/to/b"),
        ] {
            let finding = look(&text);
            assert_eq!(finding, Finding::Nothing, "{text}");
        }
        let after = look(&format!(
            "{}\nThat is how it is done. Nothing runs.",
            s.runs
        ));
        assert!(!matches!(after, Finding::Calls(_)), "{}", s.runs);
        for around in [
            Surroundings {
                tool_texts: &[&s.runs],
                ..ALONE
            },
            Surroundings {
                user_texts: &[&format!("what is this: {}", s.runs)],
                ..ALONE
            },
            Surroundings {
                user_texts: &["show me an example call, don't run it"],
                ..ALONE
            },
        ] {
            let finding = recover(&tools(), &reply(&s.runs, Finish::Stop), &around);
            assert_eq!(finding, Finding::Nothing, "{}", s.runs);
        }
    }
}

#[test]
fn an_unknown_tool_is_never_run() {
    for s in samples() {
        let text = s.runs.replace("bash", "cargo_test");
        match look(&text) {
            Finding::Calls(found) => panic!("{text}\n{found:?}"),
            Finding::Fault { text_for_model } => {
                assert!(text_for_model.contains("cargo_test"), "{text_for_model}");
            }
            // Without tags it is text that nobody can tell from data.
            Finding::Nothing => assert!(
                [
                    "pythonic",
                    "tool-tag",
                    "function-xml",
                    "invoke-xml",
                    "dsml",
                    "escaped"
                ]
                .contains(&s.form),
                "{text}"
            ),
        }
    }
}

#[test]
fn cut_anywhere_it_runs_whole_or_not_at_all() {
    for s in samples() {
        for text in [&s.reads, &s.runs] {
            let whole = calls(text);
            for (at, _) in text.char_indices() {
                for finish in [Finish::Length, Finish::Cut] {
                    let cut = recover(&tools(), &reply(&text[..at], finish), &ALONE);
                    if let Finding::Calls(found) = cut {
                        let args: Value = serde_json::from_str(&found.calls[0].arguments).unwrap();
                        assert_eq!(args, whole[0].1, "{at} of {text}");
                    }
                }
            }
        }
    }
}

#[test]
fn markup_is_not_shown_and_copies_are_counted() {
    let tools = tools();
    for s in samples() {
        if s.form == "tool-tag" && s.runs.contains("use_mcp") {
            continue;
        }
        for size in 1..30 {
            let text = format!("Now:\n{}", s.runs);
            assert_eq!(shown(&text, size).0, "Now:\n", "pieces of {size}: {text}");
            let prose = format!("{}\nOne. Two. Three. Four and more.", s.runs);
            let (out, held) = shown(&prose, size);
            assert_eq!(out + &held, prose, "pieces of {size}");
        }
        if ["tool-tag", "pythonic"].contains(&s.form) {
            continue;
        }
        let mut repeats = Repeats::new(&tools);
        let text = format!("{}\n", s.runs).repeat(3);
        let counts = text.chars().map(|c| repeats.push(&Delta::Text(c.into())));
        assert_eq!(counts.max(), Some(3), "{text}");
    }
}

#[test]
fn ids_of_a_family_are_kept() {
    let id = |text: &str| found(text).calls[0].id.clone();
    let kimi = "<|tool_call_begin|>functions.read_file:7<|tool_call_argument_begin|>{\"path\":\"a.rs\"}<|tool_call_end|>";
    assert_eq!(id(kimi), "functions.read_file:7");
    let mistral = "[TOOL_CALLS]read_file[CALL_ID]abcDEF123[ARGS]{\"path\":\"a.rs\"}";
    assert_eq!(id(mistral), "abcDEF123");
    let fresh = id("[TOOL_CALLS][{'name': 'read_file', 'arguments': {'path': 'a.rs'}}]");
    assert_eq!(fresh.len(), 9);
    assert!(fresh.chars().all(|c| c.is_ascii_alphanumeric()));
}

#[test]
fn faults_of_single_forms() {
    for text in [
        // Llama: several calls, a list in Python's syntax.
        "<|python_tag|>{\"name\":\"read_file\",\"parameters\":{\"path\":\"a.rs\"}}; {\"name\":\"list_dir\",\"parameters\":{}}",
        "<|python_tag|>[read_file(path='a.rs'), list_dir()]",
        "[read_file(path=\"a.rs\"), list_dir()]",
        // GLM: no arguments, a tag glued to the name, a value that holds the closing tag.
        "<tool_call>read_file</arg_value><arg_key>path</arg_key><arg_value>a.rs</arg_value></tool_call><tool_call>list_dir</tool_call>",
        // Kimi and DeepSeek: several in one section.
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{\"path\":\"a.rs\"}<|tool_call_end|><|tool_call_begin|>functions.list_dir:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{\"path\":\"a.rs\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>list_dir<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "[TOOL_CALLS]read_file[ARGS]{\"path\":\"a.rs\"}[TOOL_CALLS]list_dir[ARGS]{}",
        "```tool_code\nread_file(path=\"a.rs\")\nprint(list_dir())\n```",
    ] {
        assert_eq!(
            calls(text),
            [read(), ("list_dir".to_owned(), json!({}))],
            "{text}"
        );
    }
    // What would have to be run or guessed is answered or left as text.
    for text in [
        "<|python_tag|>import os\nprint(os.listdir())",
        "<|python_tag|>brave_search.call(query=\"rust\")",
        "[read_file(path=name)]",
        "[read_file(\"a.rs\")]",
        "[bash(command=f\"ls {x}\")]",
        "<|tool_call>call:bash{command:<|\"|>ls}<tool_call|>",
        "<|tool_call>call:bash{command:ls -R}<tool_call|>",
        "<tool_call>bash<arg_key>command</arg_key><arg_key>timeout</arg_key><arg_value>1</arg_value></tool_call>",
        "<|channel|>commentary to=functions.bash<|message|>ls -R<|call|>",
        "<bash>\n<command>ls</command>\n<shell>x</shell>\n</bash>",
        "<bash>\n<command>ls</command>\n</bash> ends it.",
        "&lt;tool_call&gt; is how <b>it</b> begins.",
    ] {
        assert!(!matches!(look(text), Finding::Calls(_)), "{text}");
    }
}

#[test]
fn values_stay_as_they_were_written() {
    let hard = "if a < b && c {\n  s = \"}}\\n\";\r\n} \u{1F600} &lt;\n'x' `y` true";
    let edit = |new: &str| {
        let arguments = json!({"path": "src/a.rs", "old": "x", "new": new});
        vec![("edit_file".to_owned(), arguments)]
    };
    for text in [
        "<invoke name=\"edit_file\">\n<parameter name=\"path\">src/a.rs</parameter>\n<parameter name=\"old\">x</parameter>\n<parameter name=\"new\">NEW</parameter>\n</invoke>",
        "<｜DSML｜invoke name=\"edit_file\">\n<｜DSML｜parameter name=\"path\" string=\"true\">src/a.rs</｜DSML｜parameter>\n<｜DSML｜parameter name=\"old\" string=\"true\">x</｜DSML｜parameter>\n<｜DSML｜parameter name=\"new\" string=\"true\">NEW</｜DSML｜parameter>\n</｜DSML｜invoke>",
        "<tool_call>edit_file<arg_key>path</arg_key><arg_value>src/a.rs</arg_value><arg_key>old</arg_key><arg_value>x</arg_value><arg_key>new</arg_key><arg_value>NEW</arg_value></tool_call>",
        "<|tool_call>call:edit_file{path:<|\"|>src/a.rs<|\"|>,old:<|\"|>x<|\"|>,new:<|\"|>NEW<|\"|>}<tool_call|>",
        "<edit_file><path>src/a.rs</path><old>x</old><new>NEW</new></edit_file>",
    ] {
        assert_eq!(calls(&text.replace("NEW", hard)), edit(hard), "{text}");
        let big = "line \"x\" <y>\n".repeat(9_000) + "z";
        assert_eq!(calls(&text.replace("NEW", &big)), edit(&big), "{text}");
    }
    assert_eq!(calls(&edit_xml("a</new>b")), edit("a</new>b"));
    let tag = "<edit_file><path>src/a.rs</path><old>x</old><new>a</new>b</new></edit_file>";
    assert_eq!(calls(tag), edit("a</new>b"));
    let python = r#"[edit_file(path='src/a.rs', old='x', new="a\n\t\"q\" \\d \d é")]"#;
    assert_eq!(calls(python), edit("a\n\t\"q\" \\d \\d é"));
    let triple = "[edit_file(path='src/a.rs', old='x', new='''a\n'b'\n''')]";
    assert_eq!(calls(triple), edit("a\n'b'\n"));
}

#[test]
fn react_is_good_for_reading_only() {
    let text = |name: &str, input: &str| format!("I look.\nAction: {name}\nAction Input: {input}");
    let reads = text("read_file", r#"{"path":"a.rs"}"#);
    assert_eq!(calls(&reads), [read()]);
    let invented = format!("{reads}\nObservation: fn main() {{}}\nThought: it is empty.");
    assert_eq!(calls(&invented), [read()]);
    let runs = look(&text("bash", r#"{"command":"ls"}"#));
    assert!(matches!(runs, Finding::Fault { .. }), "{runs:?}");
    assert_eq!(look("Action: none\nAction Input: {}"), Finding::Nothing);
}

#[test]
fn harmony_without_its_tokens() {
    let glued = "analysisWe need the file.assistantcommentary to=functions.read_file json{\"path\":\"a.rs\"}";
    let (thought, rest) = split_thinking(glued).unwrap();
    assert_eq!(thought, "We need the file.");
    assert_eq!(calls(&rest), [read()]);
    let parts = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
    assert_eq!(
        split_thinking("analysisThe test passes.assistantfinalAll done."),
        parts("The test passes.", "All done.")
    );
    assert_eq!(
        split_thinking(
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Done.<|return|>"
        ),
        parts("Hm.", "Done.")
    );
    assert_eq!(split_thinking("analysis of the code: fine"), None);
}

#[test]
fn a_call_that_a_server_quotes() {
    let from = |raw: &str, hint| {
        from_raw(&tools(), raw, hint, &ALONE).map(|call| (call.name, call.arguments))
    };
    let ls = Some(("bash".to_owned(), r#"{"command":"ls -R"}"#.to_owned()));
    assert_eq!(from(r#"{"command":"ls -R"}"#, None), ls);
    assert_eq!(from(r#"{"command":"ls -R"}]"#, None), ls);
    assert_eq!(
        from(r#"{"name":"bash","parameters":{"command":"ls -R"}}"#, None),
        ls
    );
    assert_eq!(from(r#"{"command":"ls -R"}}"#, Some("bash")), ls);
    // Cut, not JSON, or a call that two tools could take.
    assert_eq!(from(r#"{"command":"ls -R"#, None), None);
    assert_eq!(from("ls -R", None), None);
    assert_eq!(from("ls -R", Some("bash")), None);
    assert_eq!(from("{}", None), None);
    assert_eq!(from(r#"{"command":"ls"} and more"#, None), None);
}
