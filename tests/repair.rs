//! Calls that small models and their servers break: each is done, or answered with what to send.

mod support;

use serde_json::{Value, json};
use std::time::Duration;
use support::script::*;
use support::server::Kind;
use support::{Agent, WIRES, ending_with_words, harnesses, on_hosted_wires, shell, with_tools};

/// A run without reminders: what is counted here are the requests that a broken call costs.
fn agent() -> Agent {
    Agent::new().config("harness_guidance = false\n")
}

fn xml(name: &str, arguments: &[(&str, &str)]) -> String {
    let parameters = arguments
        .iter()
        .map(|(key, value)| format!("<parameter={key}>\n{value}\n</parameter>\n"));
    let parameters = parameters.collect::<String>();
    format!("<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>")
}

/// O06: a call written as text is run; an example is not.
#[test]
fn a_call_written_as_text() {
    for harness in with_tools() {
        for wire in WIRES {
            let (name, arguments) = shell(harness, "echo hi > made.txt");
            let call = json!({"name": name, "arguments": arguments});
            let text = format!("I will create it.\n```json\n{call}\n```");
            let run = agent()
                .harness(harness)
                .wire(wire)
                .model(script![say(&text), finish(harness, "finished")])
                .run("create made.txt")
                .expect_exit(0)
                .expect_stdout("finished\n")
                .expect_file("made.txt", "hi\n")
                .expect_stderr("repaired calls of mock: bare-json 1");
            assert!(!run.stderr.contains("```"), "{harness}: {}", run.stderr);
            agent()
                .harness(harness)
                .wire(wire)
                .args(["-c", "approval_policy=\"untrusted\""])
                .model(script![say(&text), finish(harness, "finished")])
                .run("show me an example call, don't run it")
                .expect_exit(0)
                .expect_no_file("made.txt");
        }
    }
}

/// The forms of other families, on a wire that does not know them.
#[test]
fn calls_in_the_tokens_of_their_family() {
    let args = r#"{"command":"echo hi > made.txt"}"#;
    for text in [
        format!("<|tool_calls_section_begin|><|tool_call_begin|>functions.bash:0<|tool_call_argument_begin|>{args}<|tool_call_end|><|tool_calls_section_end|>"),
        format!("[TOOL_CALLS]bash[ARGS]{args}"),
        format!("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>bash<｜tool▁sep｜>{args}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
        format!("commentary to=functions.bash json{args}"),
        "<tool_call>bash<arg_key>command</arg_key><arg_value>echo hi > made.txt</arg_value></tool_call>".into(),
        "[bash(command='echo hi > made.txt')]".into(),
        "<bash>\n<command>echo hi > made.txt</command>\n</bash>".into(),
    ] {
        agent()
            .harness("minimal")
            .model(script![say(&text), say("done")])
            .run("make it")
            .expect_exit(0)
            .expect_stdout("done\n")
            .expect_file("made.txt", "hi\n");
    }
}

/// O07: the server cannot parse its own model.
#[test]
fn the_server_cannot_read_its_own_model() {
    let body = r#"{"error":"error parsing tool call: raw='{\"command\":\"ls -R', err=unexpected end of JSON input"}"#;
    for harness in harnesses() {
        let run = agent()
            .harness(harness)
            .wire("ollama")
            .model(script![
                fail(500, body),
                run("echo ok > ok.txt"),
                finish(harness, "done")
            ])
            .run("go")
            .expect_exit(0)
            .expect_file("ok.txt", "ok\n")
            .expect_stderr("model produced a broken tool call")
            .expect_requests(3);
        assert!(
            run.request_text(2).contains("could not be read"),
            "{harness}"
        );
        let run = agent()
            .harness(harness)
            .wire("ollama")
            .model(script![fail(500, body)])
            .run("go")
            .expect_requests(3)
            .expect_stderr("the model wrote a broken tool call");
        assert_ne!(run.code, 0, "{harness}");
    }
    // The same from llama-server, which says what it expected.
    let body = r#"{"error":{"code":500,"message":"The model produced output that does not match the expected peg-native format","type":"server_error"}}"#;
    for wire in ["chat", "responses", "messages"] {
        agent()
            .wire(wire)
            .model(script![
                fail(500, body),
                run("echo ok > ok.txt"),
                say("done")
            ])
            .run("go")
            .expect_exit(0)
            .expect_file("ok.txt", "ok\n")
            .expect_requests(3);
    }
}

/// A quoted call that can mean one thing only is taken.
#[test]
fn a_call_that_the_error_quotes_is_run() {
    let body = r#"{"error":"error parsing tool call: raw='{\"command\":\"echo ok > ok.txt\"}]', err=invalid character ']' after top-level value"}"#;
    let run = agent()
        .harness("minimal")
        .wire("ollama")
        .model(script![fail(500, body), say("done")])
        .run("go")
        .expect_exit(0)
        .expect_file("ok.txt", "ok\n")
        .expect_requests(2)
        .expect_stderr("server-error 1");
    assert!(run.request_text(2).contains("ok.txt"));
}

/// O09: an edit with drifted indentation; two places are named, not guessed.
#[test]
fn an_edit_with_drifted_indentation() {
    let old = "    if x:\n        return 1";
    let new = "    if x:\n        return 2";
    let once = "def f():\n\tif x:\n\t\treturn 1\n";
    for harness in with_tools() {
        agent()
            .harness(harness)
            .file("m.py", once)
            .model(script![
                read("m.py"),
                edit("m.py", old, new),
                finish(harness, "done")
            ])
            .run("go")
            .expect_exit(0)
            .expect_file("m.py", "def f():\n\tif x:\n\t\treturn 2\n");
        let twice = format!("{once}\n{}", once.replace("f()", "g()"));
        let run = agent()
            .harness(harness)
            .file("m.py", &twice)
            .model(script![
                read("m.py"),
                edit("m.py", old, new),
                finish(harness, "done")
            ])
            .run("go")
            .expect_exit(0)
            .expect_file("m.py", &twice);
        let said = run.request_text(3);
        let both = ["2", "6"].iter().all(|line| said.contains(line));
        assert!(both, "{harness}: {said}");
    }
}

#[test]
fn a_drifted_edit_is_mended_on_the_wires_of_hosted_models_too() {
    on_hosted_wires(&[("O09", an_edit_with_drifted_indentation)]);
}

/// O11: a model without tools works from its prompt, and over a resume.
#[test]
fn a_model_without_tools_is_prompted() {
    for harness in with_tools() {
        let (name, arguments) = shell(harness, "echo hi > made.txt");
        let arguments = arguments.as_object().expect("an object");
        let arguments = arguments
            .iter()
            .filter_map(|(k, v)| Some((k.as_str(), v.as_str()?)));
        let call = xml(&name, &arguments.collect::<Vec<_>>());
        // An end that is a call is written as text as well.
        let end = |text: &str| match finish(harness, text).calls.first() {
            Some(Call::Raw(name, _)) => say(&format!("{text}\n{}", xml(name, &[]))),
            _ => say(text),
        };
        let run = agent()
            .harness(harness)
            .server_kind(Kind::OllamaWithoutTools)
            .wire_only("ollama")
            .model(script![
                say(&format!("I make it.\n{call}")),
                end("done"),
                end("again")
            ])
            .run("make it")
            .expect_exit(0)
            .expect_stdout("done\n")
            .expect_file("made.txt", "hi\n")
            .expect_stderr("has no tool support")
            .again(
                &["exec", "--skip-git-repo-check", "resume", "--last"],
                Some("and now"),
            )
            .expect_exit(0)
            .expect_requests(3);
        assert!(!run.stderr.contains("<function="), "{}", run.stderr);
        let requests = run.server.requests();
        for request in &requests {
            assert!(request.body.get("tools").is_none());
        }
        let texts = [1, 2, 3].map(|n| run.request_text(n));
        assert!(texts[0].contains("# Tools") && texts[0].contains(&format!("## {name}\n")));
        assert!(texts[1].contains("<tool_response>") && texts[1].contains(&call));
        let messages = |n: usize| {
            requests[n].body["messages"]
                .as_array()
                .cloned()
                .unwrap_or_default()
        };
        for n in 0..2 {
            let (old, new) = (messages(n), messages(n + 1));
            assert_eq!(old[..], new[..old.len()], "{harness}: request {n}");
        }
    }
}

/// A server that refuses tools only when it is asked: the mode changes once.
#[test]
fn tools_that_are_refused_go_into_the_prompt() {
    let body = r#"{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}}"#;
    let call = xml("bash", &[("command", "echo hi > made.txt")]);
    agent()
        .harness("minimal")
        .server_kind(Kind::Vllm)
        .model(script![fail(400, body), say(&call), say("done")])
        .run("make it")
        .expect_exit(0)
        .expect_file("made.txt", "hi\n")
        .expect_stderr("the server takes no tools")
        .expect_request(1, |body| body["tools"].is_array())
        .expect_request(2, |body| body.get("tools").is_none())
        .expect_requests(3);
    let run = agent()
        .harness("minimal")
        .server_kind(Kind::Vllm)
        .model(script![fail(400, body)])
        .run("make it")
        .expect_requests(2);
    assert_ne!(run.code, 0);
}

/// Two broken calls in a row, and the answers are held in shape.
#[test]
fn answers_are_held_in_shape_after_two_faults() {
    for wire in ["chat", "ollama"] {
        let schema = move |body: &Value| match wire {
            "chat" => body["response_format"]["json_schema"]["schema"].clone(),
            _ => body["format"].clone(),
        };
        let held = |name: &str, arguments: Value| {
            say(&json!({"name": name, "arguments": arguments}).to_string())
        };
        let run = agent()
            .harness("minimal")
            .wire(wire)
            .model(script![
                call("no_such_tool", json!({})),
                call("no_such_tool", json!({"a": 1})),
                held("bash", json!({"command": "echo hi > made.txt"})),
                held("final_answer", json!({"text": "all done"})),
            ])
            .run("make it")
            .expect_exit(0)
            .expect_stdout("all done\n")
            .expect_file("made.txt", "hi\n")
            .expect_request(2, |body| schema(body).is_null())
            .expect_request(3, |body| {
                let choices = schema(body)["anyOf"].clone();
                let of_bash = |c: &Value| c["properties"]["name"]["const"] == "bash";
                choices.as_array().is_some_and(|c| c.iter().any(of_bash))
                    && !choices.to_string().contains("final_answer")
            })
            .expect_request(4, |body| {
                let choices = schema(body)["anyOf"].clone();
                let ends = |c: &Value| c["properties"]["name"]["const"] == "final_answer";
                choices.as_array().is_some_and(|c| c.iter().any(ends))
            });
        assert!(!run.stderr.contains("\"final_answer\""), "{}", run.stderr);
    }
}

/// A model that did its work and then stays silent is made to say so, once; its next turn is free again.
#[test]
fn a_silent_model_is_held_in_the_shape_of_an_answer() {
    let shaped = |body: &Value| !body["response_format"].is_null();
    let answer = json!({"name": "final_answer", "arguments": {"text": "The file is made."}});
    agent()
        .harness("minimal")
        .wire("chat")
        .model(script![
            run("echo hi > made.txt; cat made.txt"),
            say(""),
            say(""),
            say(""),
            say(&answer.to_string()),
            say("Nothing else."),
        ])
        .run("make it")
        .expect_exit(0)
        .expect_stdout("The file is made.\n")
        .expect_stderr("stays silent")
        .expect_request(4, |body| !shaped(body))
        .expect_request(5, |body| {
            let choices = body["response_format"].to_string();
            choices.contains("final_answer") && choices.contains("bash")
        })
        .again(
            &["exec", "--skip-git-repo-check", "resume", "--last"],
            Some("and what else"),
        )
        .expect_exit(0)
        .expect_stdout("Nothing else.\n")
        .expect_request(6, |body| !shaped(body));
    // Silence without end is no success.
    agent()
        .harness("minimal")
        .wire("chat")
        .model(script![run("echo hi > made.txt"), say("")])
        .run("make it")
        .expect_exit(1)
        .expect_stderr("neither text nor a call")
        .expect_requests(5);
}

/// llama-server's grammar lets a small model begin one call after another; other servers have none.
#[test]
fn llama_server_is_asked_for_one_call_a_reply() {
    for (kind, wire, several) in [
        (Kind::LlamaServer, "chat", false),
        (Kind::LlamaServer, "responses", false),
        (Kind::Vllm, "chat", true),
    ] {
        agent()
            .harness("minimal")
            .server_kind(kind)
            .wire(wire)
            .model(script![say("done")])
            .run("go")
            .expect_exit(0)
            .expect_request(1, |body| body["parallel_tool_calls"] == several);
    }
}

/// llama-server holds back, and then drops, what it cannot read as a call: it is told to pass on what
/// the model writes, and the same prompt goes out again.
#[test]
fn calls_that_the_server_holds_back_are_read_here() {
    let held_back = say("").after(Duration::from_secs(40)).holding_back(900);
    let swallowed = say("").usage(900, 0, 60);
    let call = xml("bash", &[("command", "echo hi > made.txt")]);
    for step in [held_back, swallowed] {
        let raw = |body: &Value| body["tool_choice"] == "none" && body["tools"].is_array();
        let run = agent()
            .harness("minimal")
            .wire("chat")
            .model(script![step, say(&call), say("done")])
            .run("make it")
            .expect_exit(0)
            .expect_stdout("done\n")
            .expect_file("made.txt", "hi\n")
            .expect_stderr("from here on they are read here")
            .expect_request(1, |body| body.get("tool_choice").is_none())
            .expect_request(2, raw)
            .again(
                &["exec", "--skip-git-repo-check", "resume", "--last"],
                Some("and now"),
            )
            .expect_request(4, raw);
        let requests = run.server.requests();
        assert_eq!(requests[0].body["messages"], requests[1].body["messages"]);
    }
}

/// A script that may not be executed is run, not written anew; both in the words of every harness.
#[test]
fn a_command_that_did_not_start_is_told_the_way_that_works() {
    for harness in ending_with_words() {
        let done = Agent::new()
            .harness(harness)
            .file("hello.py", "print('hello')\n")
            .model(script![
                run("./hello.py"),
                run("python3 hello.py"),
                say("It says hello.")
            ])
            .run("run it")
            .expect_exit(0);
        let said = done.request_text(2);
        assert!(
            said.contains("Run it with `python3 ./hello.py`"),
            "{harness}: {said}"
        );
    }
}

/// llama-server makes no grammar of some schemas: measured with the Qwen3-Coder template and tools.
#[test]
fn a_server_that_cannot_hold_answers_in_shape_is_gone_on_with() {
    let refusal = "{\"error\":{\"code\":400,\"message\":\"Failed to initialize samplers: failed to parse grammar\",\"type\":\"invalid_request_error\"}}";
    let shaped = |body: &Value| !body["response_format"].is_null();
    let fault = |n: u32| call("no_such_tool", json!({"a": n}));
    agent()
        .harness("minimal")
        .wire("chat")
        .model(script![
            fault(1),
            fault(2),
            fail(400, refusal),
            run("echo hi > made.txt"),
            fault(3),
            fault(4),
            say("all done"),
        ])
        .run("make it")
        .expect_exit(0)
        .expect_stdout("all done\n")
        .expect_stderr("cannot hold answers in shape (Failed to initialize samplers")
        .expect_file("made.txt", "hi\n")
        .expect_request(3, shaped)
        .expect_request(4, |body| !shaped(body))
        // It is not tried again.
        .expect_request(7, |body| !shaped(body));
}

/// Trouble of another kind while answers are held in shape is trouble.
#[test]
fn an_error_that_is_not_about_the_shape_ends_the_run() {
    let fault = |n: u32| call("no_such_tool", json!({"a": n}));
    let run = agent()
        .harness("minimal")
        .wire("chat")
        .model(script![
            fault(1),
            fault(2),
            fail(
                400,
                "{\"error\":{\"message\":\"the image cannot be read\"}}"
            ),
            say("never"),
        ])
        .run("make it")
        .expect_exit(1)
        .expect_stderr("the image cannot be read")
        .expect_requests(3);
    assert!(
        !run.stderr.contains("in shape (the image"),
        "{}",
        run.stderr
    );
}

/// A reply that only announces the next step is asked for it, once.
#[test]
fn an_announced_step_is_asked_for_once() {
    for harness in ending_with_words() {
        let announce = || say("The file is there. Let me read it now.");
        let done = Agent::new()
            .harness(harness)
            .file("a.py", "x = 1\n")
            .model(script![run("ls"), announce(), say("It is fine.")])
            .run("check it")
            .expect_exit(0)
            .expect_stdout("It is fine.\n")
            .expect_requests(3);
        assert!(done.request_text(3).contains("You announced a step"));
        Agent::new()
            .harness(harness)
            .model(script![run("ls"), announce()])
            .run("check it")
            .expect_exit(0)
            .expect_requests(3);
    }
}

/// A path that does not exist but whose base name is the only one of its kind is named.
#[test]
fn the_only_file_of_that_name_is_named() {
    for harness in with_tools() {
        if harness == "native" {
            // It reads with the shell, which says what it found itself.
            continue;
        }
        let run = agent()
            .harness(harness)
            .file("src/deep/habits.py", "x = 1\n")
            .model(script![read("tests/habits.py"), finish(harness, "done")])
            .run("read it")
            .expect_exit(0);
        let said = run.request_text(2);
        assert!(said.contains("src/deep/habits.py"), "{harness}: {said}");
    }
    let run = agent()
        .harness("native")
        .file("src/deep/habits.py", "x = 1\n")
        .model(script![
            edit("tests/habits.py", "x = 1", "x = 2"),
            say("done")
        ])
        .run("edit it")
        .expect_exit(0);
    let said = run.request_text(2);
    assert!(said.contains("src/deep/habits.py"), "native: {said}");
}

/// Paths with an addition are those that exist.
#[test]
fn a_path_with_an_addition_is_found() {
    let run = agent()
        .harness("qwen-code")
        .file("src/a.py", "one\ntwo\nthree\n")
        .model(script![
            read("@src/a.py:2-2"),
            edit("/workspace/src/a.py", "two", "2"),
            say("done")
        ])
        .run("go")
        .expect_exit(0)
        .expect_file("src/a.py", "one\n2\nthree\n");
    let said = run.request_text(2);
    assert!(said.contains("\ntwo"), "{said}");
    assert!(!said.contains("\nthree"), "{said}");
}

/// The stream of a reply with these calls (id, command) on a wire, all under one index where the
/// wire has one. `cut`: the token limit ends it inside the last call.
fn stream(wire: &str, calls: &[(Value, &str)], cut: bool) -> Vec<String> {
    let sse = |v: Value| format!("data: {v}\n\n");
    let event = |v: Value| format!("event: {}\ndata: {v}\n\n", v["type"].as_str().unwrap_or(""));
    let text = |at: usize, command: &str| {
        let whole = json!({"command": command}).to_string();
        let end = if cut && at + 1 == calls.len() {
            whole.len() - 6
        } else {
            whole.len()
        };
        whole[..end].to_owned()
    };
    let mut out = Vec::new();
    match wire {
        "chat" => {
            let chunk = |delta: Value, finish: Value| {
                sse(
                    json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}),
                )
            };
            for (at, (id, command)) in calls.iter().enumerate() {
                let function = json!({"name": "bash", "arguments": text(at, command)});
                let mut call = json!({"index": 0, "type": "function", "function": function});
                if !id.is_null() {
                    call["id"] = id.clone();
                }
                out.push(chunk(json!({"tool_calls": [call]}), Value::Null));
            }
            let finish = if cut { "length" } else { "tool_calls" };
            out.push(chunk(json!({}), json!(finish)));
            out.push("data: [DONE]\n\n".into());
        }
        "ollama" => {
            for (id, command) in calls {
                let function =
                    json!({"index": 0, "name": "bash", "arguments": {"command": command}});
                let mut call = json!({"function": function});
                if !id.is_null() {
                    call["id"] = id.clone();
                }
                let message = json!({"role": "assistant", "content": "", "tool_calls": [call]});
                out.push(format!("{}\n", json!({"message": message, "done": false})));
            }
            let message = json!({"role": "assistant", "content": ""});
            out.push(format!(
                "{}\n",
                json!({"message": message, "done": true, "done_reason": "stop"})
            ));
        }
        "responses" => {
            for (at, (id, command)) in calls.iter().enumerate() {
                let status = if cut { "incomplete" } else { "completed" };
                let mut item = json!({"type": "function_call", "id": format!("fc_{at}"), "name": "bash", "arguments": text(at, command), "status": status});
                if !id.is_null() {
                    item["call_id"] = id.clone();
                }
                out.push(event(
                    json!({"type": "response.output_item.done", "output_index": at, "item": item}),
                ));
            }
            let (kind, status) = if cut {
                ("response.incomplete", "incomplete")
            } else {
                ("response.completed", "completed")
            };
            out.push(event(json!({"type": kind, "response": {"id": "r", "status": status, "incomplete_details": {"reason": "max_output_tokens"}, "output": []}})));
        }
        _ => {
            out.push(event(json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}})));
            for (at, (id, command)) in calls.iter().enumerate() {
                let mut block = json!({"type": "tool_use", "name": "bash", "input": {}});
                if !id.is_null() {
                    block["id"] = id.clone();
                }
                out.push(event(
                    json!({"type": "content_block_start", "index": 0, "content_block": block}),
                ));
                out.push(event(json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text(at, command)}})));
                out.push(event(json!({"type": "content_block_stop", "index": 0})));
            }
            let stop = if cut { "max_tokens" } else { "tool_use" };
            out.push(event(json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}})));
            out.push(event(json!({"type": "message_stop"})));
        }
    }
    out
}

/// Two calls under one index, their ids missing or the same: both run, each has its result.
#[test]
fn two_calls_under_one_index_and_without_ids() {
    for wire in WIRES {
        for ids in [
            [json!("call_1"), json!("call_2")],
            [json!("same"), json!("same")],
            [Value::Null, Value::Null],
            [json!(""), json!("")],
        ] {
            let label = format!("{wire} {ids:?}");
            let [a, b] = ids;
            let calls = [(a, "echo 1 > 1.txt"), (b, "echo 2 > 2.txt")];
            let stream = stream(wire, &calls, false);
            let stream = stream.iter().map(String::as_str).collect::<Vec<_>>();
            println!("{label}");
            // The strict server refuses a request whose calls and results do not pair up.
            agent()
                .harness("minimal")
                .wire(wire)
                .model(script![raw(&stream), say("done")])
                .run("go")
                .expect_exit(0)
                .expect_stdout("done\n")
                .expect_file("1.txt", "1\n")
                .expect_file("2.txt", "2\n")
                .expect_requests(2);
        }
    }
}

/// A call that the token limit cut is not run, and the model is told so.
#[test]
fn a_cut_call_is_not_run() {
    for wire in ["chat", "responses", "messages"] {
        let stream = stream(wire, &[(json!("c1"), "echo 1 > 1.txt")], true);
        let stream = stream.iter().map(String::as_str).collect::<Vec<_>>();
        let run = agent()
            .harness("minimal")
            .wire(wire)
            .model(script![raw(&stream), say("done")])
            .run("go")
            .expect_exit(0)
            .expect_no_file("1.txt")
            .expect_requests(2);
        let said = run.request_text(2);
        assert!(said.contains("output limit"), "{wire}: {said}");
    }
}
