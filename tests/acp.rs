//! `interpreter acp`, as an editor meets it. What real clients see stands in `.ci/clients`.

#![cfg(unix)]

#[path = "acp/editor.rs"]
mod editor;
#[path = "acp/files.rs"]
mod files;
#[path = "acp/servers.rs"]
mod servers;
mod support;

use editor::{Editor, allow, cancelled, decline, silent, stop};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use support::Agent;
use support::script::*;

fn agent(steps: Vec<Step>) -> Agent {
    Agent::new()
        .harness("qwen-code")
        .limit(Duration::from_secs(90))
        .config_of("approval_policy", "on-request")
        .model(steps)
}

fn kinds(updates: &[Value]) -> Vec<&str> {
    let kinds = updates.iter().filter_map(|u| u["sessionUpdate"].as_str());
    kinds.collect()
}

/// The life of each call: its title, and the statuses that it had.
fn calls(updates: &[Value]) -> Vec<(String, Vec<String>)> {
    let mut calls: Vec<(String, String, Vec<String>)> = Vec::new();
    for update in updates {
        let text = |key: &str| update[key].as_str().unwrap_or_default().to_owned();
        let id = text("toolCallId");
        match update["sessionUpdate"].as_str() {
            Some("tool_call") => {
                assert!(calls.iter().all(|(known, ..)| *known != id), "{id} twice");
                calls.push((id, text("title"), vec![text("status")]));
            }
            Some("tool_call_update") => {
                let call = calls.iter_mut().find(|(known, ..)| *known == id);
                let (_, _, statuses) = call.expect("a call before its update");
                if update.get("status").is_some() {
                    statuses.push(text("status"));
                }
            }
            _ => {}
        }
    }
    calls
        .into_iter()
        .map(|(_, title, all)| (title, all))
        .collect()
}

#[test]
fn versions_meet_and_capabilities_are_told() {
    for (asked, answered) in [(1, 1), (0, 1), (2, 1), (99, 1)] {
        let mut editor = Editor::bare(agent(script![]));
        let answer = editor.ask("initialize", json!({"protocolVersion": asked}));
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], answered);
        assert_eq!(result["authMethods"], json!([]));
        let can = &result["agentCapabilities"];
        assert_eq!(can["loadSession"], true);
        for name in ["list", "resume", "close"] {
            assert_eq!(can["sessionCapabilities"][name], json!({}));
        }
        assert_eq!(can["mcpCapabilities"], json!({"http": true, "sse": false}));
        let (code, took) = editor.leave();
        assert_eq!(code, 0);
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
}

#[test]
fn a_turn_is_streamed_with_its_calls_plan_and_numbers() {
    let plan = json!({"todos": [{"id": "1", "content": "mend", "status": "in_progress"}]});
    let mut editor = Editor::start(
        agent(script![
            call("todo_write", plan)
                .with_reasoning("I must look.")
                .with_text("I look at it."),
            read("a.txt"),
            edit("a.txt", "old", "new"),
            run("echo out; exit 3"),
            say("It is done.").usage(3_300, 10, 20),
            say("It is really done.")
        ])
        .file("a.txt", "one\nold\n"),
    );
    let session = editor.open();
    let root = editor
        .running
        .home
        .path()
        .join("ws")
        .canonicalize()
        .expect("a folder");
    let from = editor.told.len();
    let answer = editor.prompt(&session, "Mend a.txt");
    assert_eq!(stop(&answer), "end_turn");
    let updates = editor.updates(&session, from);
    assert_eq!(
        editor.text(&session, "agent_thought_chunk", from),
        "I must look."
    );
    assert_eq!(
        editor.text(&session, "agent_message_chunk", from),
        "I look at it.It is done.It is really done."
    );
    let kinds = kinds(&updates);
    assert!(
        !kinds.contains(&"user_message_chunk"),
        "the prompt is shown twice"
    );
    let plan = updates.iter().find(|u| u["sessionUpdate"] == "plan");
    assert_eq!(
        plan.expect("a plan")["entries"],
        json!([{"content": "mend", "priority": "medium", "status": "in_progress"}])
    );
    let titles = calls(&updates);
    let wanted = [
        ("Read a.txt", "completed"),
        ("Edit a.txt", "completed"),
        ("echo out; exit 3", "failed"),
    ];
    for ((title, statuses), (wanted, end)) in titles.iter().zip(wanted) {
        assert!(title.starts_with(wanted), "{title}");
        assert_eq!(statuses.join(" "), format!("in_progress {end}"));
    }
    assert_eq!(titles.len(), 3);
    let path = root.join("a.txt").to_string_lossy().into_owned();
    let diff =
        json!({"type": "diff", "path": path, "oldText": "one\nold\n", "newText": "one\nnew\n"});
    let with_diff = updates.iter().filter(|u| u["content"][0] == diff).count();
    assert_eq!(with_diff, 2, "before and after: {updates:#?}");
    let text = updates.iter().find_map(|u| {
        u["content"][0]["content"]["text"]
            .as_str()
            .filter(|t| t.contains("exit code 3"))
    });
    assert_eq!(text, Some("```console\nout\nexit code 3\n```"));
    let places: Vec<&Value> = updates
        .iter()
        .filter_map(|u| u["locations"].get(0))
        .collect();
    assert!(
        places.iter().all(|p| p["path"] == path.as_str()),
        "{places:?}"
    );
    let usage = updates
        .iter()
        .find(|u| u["sessionUpdate"] == "usage_update" && u["used"] == 3_320);
    assert_eq!(usage.expect("numbers")["size"], 32_768);
    let info = updates
        .iter()
        .find(|u| u["sessionUpdate"] == "session_info_update");
    assert_eq!(info.expect("a title")["title"], "Mend a.txt");
    // Nothing comes behind the answer.
    assert_eq!(editor.next(Duration::from_millis(300)), None);
    assert_eq!(editor.leave().0, 0);
}

#[test]
fn nothing_of_a_new_session_is_told_before_it_is_known() {
    let mut editor = Editor::start(agent(script![]));
    let session = editor.open();
    let about = |m: &Value| m["params"]["sessionId"] == session.as_str();
    assert!(!editor.told.iter().any(about));
    let commands = editor.until("commands", |m| {
        m["params"]["update"]["sessionUpdate"] == "available_commands_update"
    });
    let list = commands["params"]["update"]["availableCommands"]
        .as_array()
        .cloned();
    let list = list.expect("a list");
    assert!(list.iter().any(|c| c["name"] == "compact"));
    assert!(
        list.iter()
            .all(|c| c["name"].as_str().is_some_and(|n| !n.contains(['/', ' '])))
    );
}

#[test]
fn a_person_is_asked_and_the_answer_counts() {
    let steps = || {
        script![
            run("rm -rf gone").with_text("I remove it."),
            say("done"),
            say("done")
        ]
    };
    let asks = |reply: editor::Reply| {
        let mut editor = Editor::start(
            agent(steps())
                .file("gone/x", "x")
                .config_of("approval_policy", "untrusted"),
        );
        editor.reply = reply;
        let session = editor.open();
        let from = editor.told.len();
        let answer = editor.prompt(&session, "go");
        let asked = editor
            .told
            .iter()
            .find(|m| m["method"] == "session/request_permission");
        let asked = asked.expect("a question")["params"].clone();
        assert_eq!(asked["sessionId"], session.as_str());
        assert_eq!(asked["toolCall"]["title"], "rm -rf gone");
        assert_eq!(asked["toolCall"]["kind"], "execute");
        let kinds: Vec<&Value> = asked["options"]
            .as_array()
            .expect("options")
            .iter()
            .map(|o| &o["kind"])
            .collect();
        assert_eq!(kinds, ["allow_once", "allow_always", "reject_once"]);
        let updates = editor.updates(&session, from);
        let shown = updates
            .iter()
            .find(|u| u["sessionUpdate"] == "tool_call")
            .expect("a call");
        assert_eq!(shown["toolCallId"], asked["toolCall"]["toolCallId"]);
        let there = editor.running.home.path().join("ws/gone").exists();
        let life = calls(&updates).remove(0).1.join(" ");
        let requests = editor.running.server.requests().len();
        (stop(&answer).to_owned(), there, life, requests)
    };
    let (reason, there, life, _) = asks(allow);
    assert_eq!(
        (reason.as_str(), there, life.as_str()),
        ("end_turn", false, "pending in_progress completed")
    );
    let (reason, there, life, requests) = asks(decline);
    assert_eq!((reason.as_str(), there), ("end_turn", true));
    assert!(life.ends_with("failed"), "{life}");
    assert!(requests >= 2, "the model is told");
    let (reason, there, life, requests) = asks(cancelled);
    assert_eq!((reason.as_str(), there, requests), ("cancelled", true, 1));
    assert!(life.ends_with("failed"), "{life}");
    // An editor that cannot ask has nobody who said yes.
    let (reason, there, ..) = asks(|_| Some(json!({"nothing": 1})));
    assert_eq!((reason.as_str(), there), ("end_turn", true));
}

#[test]
fn a_cancel_ends_the_turn_at_any_stage_and_the_next_one_is_clean() {
    // While the model is waited for, while a command runs, while the person is asked.
    let marker = format!("73{}", std::process::id());
    let slow = || say("too late").after(Duration::from_secs(20));
    let command = run(&format!("(setsid sleep {marker} &); sleep {marker}"));
    let stages: [(&str, Step, editor::Reply); 3] = [
        ("waiting", slow(), allow),
        ("command", command, allow),
        ("asked", run("rm -rf gone"), silent),
    ];
    for (stage, step, reply) in stages {
        let policy = if stage == "asked" {
            "untrusted"
        } else {
            "on-request"
        };
        let mut editor =
            Editor::start(agent(script![step, say("fresh")]).config_of("approval_policy", policy));
        editor.reply = reply;
        let session = editor.open();
        let from = editor.told.len();
        let prompt = editor.begin(&session, "go");
        match stage {
            "waiting" => editor.running.wait_for_requests(1),
            "command" => {
                editor.until("a call", |m| {
                    m["params"]["update"]["status"] == "in_progress"
                });
                let began = Instant::now();
                while !alive(&marker) {
                    assert!(began.elapsed() < Duration::from_secs(10));
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
            _ => {
                editor.until("a question", |m| {
                    m["method"] == "session/request_permission"
                });
            }
        }
        let began = Instant::now();
        editor.notify("session/cancel", json!({"sessionId": session}));
        let answer = editor.answer(prompt);
        assert_eq!(stop(&answer), "cancelled", "{stage}");
        assert!(
            began.elapsed() < Duration::from_secs(1),
            "{stage}: {:?}",
            began.elapsed()
        );
        for (title, life) in calls(&editor.updates(&session, from)) {
            assert_eq!(
                life.last().map(String::as_str),
                Some("failed"),
                "{stage}: {title}"
            );
        }
        let gone = Instant::now();
        while alive(&marker) {
            assert!(
                gone.elapsed() < Duration::from_secs(1),
                "{stage}: a child lives"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        // A cancel of an idle session, and of none, is nothing.
        editor.notify("session/cancel", json!({"sessionId": session}));
        editor.notify("session/cancel", json!({"sessionId": "nobody"}));
        editor.reply = allow;
        let from = editor.told.len();
        assert_eq!(
            stop(&editor.prompt(&session, "again")),
            "end_turn",
            "{stage}"
        );
        assert_eq!(
            editor.text(&session, "agent_message_chunk", from),
            "fresh",
            "{stage}"
        );
    }
}

fn alive(marker: &str) -> bool {
    let out = std::process::Command::new("ps")
        .args(["-eo", "args"])
        .output()
        .expect("ps");
    String::from_utf8_lossy(&out.stdout)
        .lines()
        .any(|l| l == format!("sleep {marker}"))
}

#[test]
fn a_session_is_loaded_with_all_that_was_said_and_resumed_without() {
    let mut editor = Editor::start(agent(script![
        write("a.txt", "x = 1\n")
            .with_reasoning("hm")
            .with_text("I write it."),
        run("exit 4"),
        say("Done."),
        say("Done, I said."),
        say("loaded"),
        say("resumed")
    ]));
    let session = editor.open();
    let from = editor.told.len();
    assert_eq!(stop(&editor.prompt(&session, "Make a.txt")), "end_turn");
    let live = editor.updates(&session, from);
    let answer = editor.ask("session/close", json!({"sessionId": session}));
    assert_eq!(answer["result"], json!({}));
    let answer = editor.prompt(&session, "still there?");
    assert_eq!(answer["error"]["code"], -32002, "{answer}");

    let cwd = editor.running.home.path().join("ws");
    let list = editor.ask("session/list", json!({"cwd": cwd}));
    let row = &list["result"]["sessions"][0];
    assert_eq!(row["sessionId"], session.as_str());
    assert_eq!(row["title"], "Make a.txt");
    assert!(row["updatedAt"].as_str().is_some_and(|t| t.ends_with('Z')));
    let none = editor.ask("session/list", json!({"cwd": "/"}));
    assert_eq!(none["result"]["sessions"], json!([]));

    let from = editor.told.len();
    let open = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
    let answer = editor.ask("session/load", open.clone());
    assert_eq!(
        answer["result"]["modes"]["currentModeId"], "workspace-write",
        "{answer}"
    );
    let shown = editor.updates(&session, from);
    assert_eq!(
        editor.text(&session, "user_message_chunk", from),
        "Make a.txt"
    );
    assert_eq!(editor.text(&session, "agent_thought_chunk", from), "hm");
    assert_eq!(
        editor.text(&session, "agent_message_chunk", from),
        "I write it.Done.Done, I said."
    );
    // Whether a command succeeded is not stored; that it ended is.
    let titles = |updates: &[Value]| -> Vec<String> {
        let calls = calls(updates).into_iter();
        let ended = calls.inspect(|(_, life)| {
            let end = life.last().map(String::as_str);
            assert!(matches!(end, Some("completed" | "failed")), "{life:?}");
        });
        ended.map(|(title, _)| title).collect()
    };
    assert_eq!(titles(&shown), titles(&live));
    let from = editor.told.len();
    assert_eq!(stop(&editor.prompt(&session, "and now?")), "end_turn");
    assert_eq!(editor.text(&session, "agent_message_chunk", from), "loaded");
    let last = |editor: &Editor| {
        support::strict::all_text(&editor.running.server.requests().last().expect("one").body)
    };
    assert!(last(&editor).contains("Make a.txt"));
    // No id of a call is used twice, in the first life and in the second.
    let ids = |updates: &[Value]| -> Vec<String> {
        let calls = updates.iter().filter(|u| u["sessionUpdate"] == "tool_call");
        calls.map(|u| u["toolCallId"].to_string()).collect()
    };
    assert!(ids(&live).iter().all(|id| !ids(&shown).contains(id)));

    // Open already: shown again by its own thread.
    let from = editor.told.len();
    editor.ask("session/load", open.clone());
    assert!(
        editor
            .text(&session, "user_message_chunk", from)
            .contains("and now?")
    );
    editor.ask("session/close", json!({"sessionId": session}));
    let from = editor.told.len();
    let answer = editor.ask("session/resume", json!({"sessionId": session, "cwd": cwd}));
    assert!(answer["result"]["configOptions"].is_array(), "{answer}");
    assert_eq!(editor.text(&session, "user_message_chunk", from), "");
    assert_eq!(stop(&editor.prompt(&session, "and again?")), "end_turn");
    assert!(last(&editor).contains("and now?"));
    let unknown = json!({"sessionId": &session[..30], "cwd": cwd, "mcpServers": []});
    for method in ["session/load", "session/resume", "session/close"] {
        let answer = editor.ask(method, unknown.clone());
        assert_eq!(answer["error"]["code"], -32002, "{method}: {answer}");
    }
}

#[test]
fn a_deleted_session_is_gone_whether_it_is_open_or_not() {
    let mut editor = Editor::start(agent(script![
        write("a.txt", "1\n"),
        say("Done."),
        say("Hello."),
        say("Still here.")
    ]));
    let (open, stored) = (editor.open(), editor.open());
    editor.prompt(&open, "Make a.txt");
    editor.prompt(&stored, "Hello");
    editor.ask("session/close", json!({"sessionId": stored}));
    let home = editor.running.home.path().to_owned();
    let kept = |id: &str| -> usize {
        let files = support::files_below(&home);
        let named = files.iter().filter(|f| f.to_string_lossy().contains(id));
        named.count()
    };
    assert!(kept(&open) > 0 && kept(&stored) > 0);

    // A part of an id is no id: nothing may go by mistake.
    let part = json!({"sessionId": &open[..30]});
    assert_eq!(editor.ask("session/delete", part)["result"], json!({}));
    assert_eq!(stop(&editor.prompt(&open, "still there?")), "end_turn");
    for id in [&open, &stored, &open] {
        let answer = editor.ask("session/delete", json!({"sessionId": id}));
        assert_eq!(answer["result"], json!({}), "{answer}");
        assert_eq!(kept(id), 0);
    }
    let answer = editor.prompt(&open, "still there?");
    assert_eq!(answer["error"]["code"], -32002, "{answer}");
    assert_eq!(
        editor.ask("session/list", json!({}))["result"]["sessions"],
        json!([])
    );
    assert!(home.join("ws/a.txt").exists());
}

#[test]
fn a_mode_holds_from_the_next_call_on_and_options_agree_with_it() {
    let mut editor = Editor::start(agent(script![
        run("echo 1 > one.txt"),
        run("echo 2 > two.txt").after(Duration::from_secs(2)),
        say("done"),
        say("done"),
        run("echo 3 > three.txt"),
        say("done"),
        say("done")
    ]));
    editor.reply = decline;
    let session = editor.open();
    let prompt = editor.begin(&session, "go");
    editor.running.wait_for_requests(2);
    let answer = editor.ask(
        "session/set_mode",
        json!({"sessionId": session, "modeId": "read-only"}),
    );
    assert_eq!(answer["result"], json!({}));
    let told = editor.until_told("config_option_update");
    assert_eq!(told["configOptions"][0]["currentValue"], "read-only");
    assert_eq!(stop(&editor.answer(prompt)), "end_turn");
    let ws = editor.running.home.path().join("ws");
    assert!(ws.join("one.txt").exists());
    assert!(
        !ws.join("two.txt").exists(),
        "the mode did not hold within the turn"
    );
    // Both spellings; in full access nothing is asked.
    let set = json!({"sessionId": session, "configId": "mode", "value": "danger-full-access"});
    let answer = editor.ask("session/set_config_option", set);
    assert_eq!(
        answer["result"]["configOptions"][0]["currentValue"], "full-access",
        "{answer}"
    );
    assert_eq!(stop(&editor.prompt(&session, "and three")), "end_turn");
    assert!(ws.join("three.txt").exists());
    for (method, params) in [
        (
            "session/set_mode",
            json!({"sessionId": session, "modeId": "yolo"}),
        ),
        (
            "session/set_config_option",
            json!({"sessionId": session, "configId": "mode", "value": "yolo"}),
        ),
        (
            "session/set_config_option",
            json!({"sessionId": session, "configId": "nothing", "value": "x"}),
        ),
        (
            "session/set_config_option",
            json!({"sessionId": session, "configId": "harness", "value": "nobody"}),
        ),
        (
            "session/set_config_option",
            json!({"sessionId": session, "configId": "reasoning_effort", "value": "huge"}),
        ),
    ] {
        let answer = editor.ask(method, params.clone());
        assert_eq!(answer["error"]["code"], -32602, "{params}: {answer}");
    }
}

#[test]
fn model_harness_and_effort_are_chosen_in_mid_session() {
    let mut editor = Editor::start(agent(script![say("one"), say("two")]));
    let session = editor.open();
    assert_eq!(stop(&editor.prompt(&session, "first")), "end_turn");
    let mut set = |id: &str, value: &str| {
        let params = json!({"sessionId": session, "configId": id, "value": value});
        let answer = editor.ask("session/set_config_option", params);
        let options = answer["result"]["configOptions"].as_array().cloned();
        let options = options.unwrap_or_else(|| panic!("{answer}"));
        let option = options.iter().find(|o| o["id"] == id).expect("the option");
        assert_eq!(option["currentValue"], value);
    };
    set("harness", "minimal");
    set("reasoning_effort", "high");
    assert_eq!(stop(&editor.prompt(&session, "second")), "end_turn");
    let requests = editor.running.server.requests();
    let tools = |n: usize| support::strict::tools(&requests[n].body).len();
    assert_ne!(tools(0), tools(1));
    assert_eq!(requests[1].body["reasoning_effort"], "high");
}

#[test]
fn faults_are_told_in_words_and_nothing_stops_by_them() {
    let mut editor = Editor::start(agent(script![
        fail(400, "{\"error\":{\"message\":\"no such thing\"}}"),
        say("fine")
    ]));
    let cwd = editor.running.home.path().join("ws");
    for (method, params, code) in [
        (
            "session/new",
            json!({"cwd": "relative", "mcpServers": []}),
            -32602,
        ),
        (
            "session/new",
            json!({"cwd": "/no/such/folder", "mcpServers": []}),
            -32602,
        ),
        ("session/new", json!({}), -32602),
        ("session/fork", json!({}), -32601),
        ("_vendor/x", json!({}), -32601),
        (
            "session/prompt",
            json!({"sessionId": "nobody", "prompt": []}),
            -32002,
        ),
        (
            "session/set_mode",
            json!({"sessionId": "nobody", "modeId": "read-only"}),
            -32002,
        ),
        ("authenticate", json!({"methodId": "x"}), -32602),
    ] {
        let answer = editor.ask(method, params);
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
        assert!(
            answer["error"]["message"]
                .as_str()
                .is_some_and(|m| m.len() > 10)
        );
    }
    editor.write("this is no JSON");
    let answer = editor.until("a fault", |m| m["id"].is_null() && m.get("error").is_some());
    assert_eq!(answer["error"]["code"], -32700);
    editor.write("[]");
    let answer = editor.until("a fault", |m| m["id"].is_null() && m.get("error").is_some());
    assert_eq!(answer["error"]["code"], -32600);
    editor.write("");
    editor.notify("_vendor/happened", json!({}));
    // An id is given back in its own form.
    editor.write(&json!({"jsonrpc": "2.0", "id": "word", "method": "nothing"}).to_string());
    editor.until("an answer", |m| {
        m["id"] == "word" && m["error"]["code"] == -32601
    });

    let answer = editor.ask(
        "session/new",
        json!({"cwd": cwd, "unknown": 1, "_meta": {"x": 1}}),
    );
    let session = answer["result"]["sessionId"]
        .as_str()
        .expect("an id")
        .to_owned();
    let answer = editor.ask(
        "session/prompt",
        json!({"sessionId": session, "prompt": [{"type": "text", "text": " "}]}),
    );
    assert_eq!(answer["error"]["code"], -32602);
    let answer = editor.prompt(&session, "go");
    assert_eq!(answer["error"]["code"], -32603);
    assert!(
        answer["error"]["message"]
            .as_str()
            .is_some_and(|m| m.contains("no such thing")),
        "{answer}"
    );
    assert_eq!(stop(&editor.prompt(&session, "go on")), "end_turn");
}

#[test]
fn a_missing_key_asks_for_a_login_and_a_request_can_be_cancelled_by_its_id() {
    let hosted = ["-c", "model_provider=\"openai\"", "-c", "model=\"gpt\""];
    let mut editor = Editor::start(agent(script![]).args(hosted));
    let cwd = editor.running.home.path().join("ws");
    let answer = editor.ask("session/new", json!({"cwd": cwd, "mcpServers": []}));
    assert_eq!(answer["error"]["code"], -32000, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("OPENAI_API_KEY"), "{message}");

    let mut editor = Editor::start(agent(script![say("late").after(Duration::from_secs(20))]));
    let session = editor.open();
    let prompt = editor.begin(&session, "go");
    editor.running.wait_for_requests(1);
    editor.notify("$/cancel_request", json!({"requestId": prompt}));
    assert_eq!(stop(&editor.answer(prompt)), "cancelled");
}

#[test]
fn a_busy_session_says_so_and_others_work_meanwhile() {
    let late = |body: &Value| {
        // Who is asked is told apart by the words of the task.
        let text = support::strict::all_text(body);
        let name = ["red", "green", "blue"]
            .into_iter()
            .find(|n| text.contains(&format!("I am {n}")));
        format!("You are {}.", name.unwrap_or("nobody"))
    };
    let slow = || answer(late).after(Duration::from_secs(2));
    let mut editor = Editor::start(agent(script![slow(), slow(), slow()]));
    let names = ["red", "green", "blue"];
    let sessions: Vec<String> = names.iter().map(|_| editor.open()).collect();
    let began = Instant::now();
    let prompts: Vec<u64> = sessions
        .iter()
        .zip(names)
        .map(|(session, name)| editor.begin(session, &format!("I am {name}")))
        .collect();
    let busy = editor.prompt(&sessions[0], "and this?");
    assert_eq!(busy["error"]["code"], -32600, "{busy}");
    editor.until("all answers", {
        let left = std::cell::Cell::new(prompts.len());
        move |m| {
            if m.get("result").is_some() {
                left.set(left.get() - 1);
            }
            left.get() == 0
        }
    });
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "one after the other: {:?}",
        began.elapsed()
    );
    for (session, name) in sessions.iter().zip(names) {
        assert_eq!(
            editor.text(session, "agent_message_chunk", 0),
            format!("You are {name}.")
        );
    }
}

#[test]
fn an_editor_that_leaves_in_mid_turn_leaves_nothing_behind() {
    let marker = format!("74{}", std::process::id());
    let command = format!("(setsid sleep {marker} &); sleep {marker}");
    for step in [say("late").after(Duration::from_secs(20)), run(&command)] {
        let is_command = !step.calls.is_empty();
        let mut editor = Editor::start(agent(script![step]));
        let session = editor.open();
        editor.begin(&session, "go");
        editor.running.wait_for_requests(1);
        let began = Instant::now();
        while is_command && !alive(&marker) {
            editor.next(Duration::from_millis(20));
            assert!(began.elapsed() < Duration::from_secs(10));
        }
        let (code, took) = editor.leave();
        assert_eq!(code, 0);
        assert!(took < Duration::from_millis(1_500), "{took:?}");
        let gone = Instant::now();
        while alive(&marker) {
            assert!(gone.elapsed() < Duration::from_secs(1), "a child lives");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_kill_leaves_a_session_that_loads() {
    let mut editor = Editor::start(agent(script![
        run("echo made > made.txt"),
        say("late").after(Duration::from_secs(20)),
        say("back")
    ]));
    let session = editor.open();
    editor.begin(&session, "first words");
    editor.running.wait_for_requests(2);
    editor.running.signal(9);
    editor.stdin = None;
    let run = editor.running.finish().expect_exit(137);
    let resume = ["exec", "--skip-git-repo-check", "resume", session.as_str()];
    run.again(&resume, Some("second words"))
        .expect_exit(0)
        .expect_stdout("back\n")
        .expect_request(3, |body| {
            let text = support::strict::all_text(body);
            text.contains("first words") && text.contains("second words")
        });
}

#[test]
fn pictures_files_and_commands_of_a_prompt() {
    let mut editor = Editor::start(agent(script![say("seen")]));
    let session = editor.open();
    let prompt = json!([
        {"type": "text", "text": "What is in "},
        {"type": "resource_link", "name": "it", "uri": "file:///w/my%20file.rs#L3"},
        {"type": "resource", "resource": {"uri": "file:///w/b.rs", "text": "fn b() {}"}},
        {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgotb25l"},
    ]);
    let answer = editor.ask(
        "session/prompt",
        json!({"sessionId": session, "prompt": prompt}),
    );
    assert_eq!(stop(&answer), "end_turn");
    let request = editor.running.server.requests()[0].body.to_string();
    for part in [
        "[it](/w/my file.rs:3)",
        "<context ref=\\\"/w/b.rs\\\">",
        "data:image/png;base64,iVBORw0KGgotb25l",
    ] {
        assert!(request.contains(part), "no {part} in {request}");
    }
    let from = editor.told.len();
    assert_eq!(stop(&editor.prompt(&session, "/status")), "end_turn");
    let said = editor.text(&session, "agent_message_chunk", from);
    assert!(said.contains("workspace-write"), "{said}");
    assert_eq!(
        editor.running.server.requests().len(),
        1,
        "a command is no request"
    );
}

#[test]
fn standard_output_is_the_protocol_alone() {
    let cwd = |agent: &Agent| agent.workspace().to_string_lossy().into_owned();
    let agent = agent(script![run("echo hi"), say("done")])
        .env("RUST_LOG", "debug")
        .file("../.bashrc", "echo a banner\n")
        .file("../.bash_profile", "echo a banner\n")
        .file("../.profile", "echo a banner\n");
    let lines = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}).to_string(),
        "this is no JSON".to_owned(),
        json!({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": cwd(&agent), "mcpServers": []}}).to_string(),
        json!({"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": {"sessionId": "unknown yet", "prompt": []}}).to_string(),
    ];
    let run = agent
        .stdin(format!("{}\n", lines.join("\n")))
        .start(&["acp"], None)
        .finish()
        .expect_exit(0);
    assert!(run.took < Duration::from_secs(10), "{:?}", run.took);
    let answers: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line:?}: {e}")))
        .collect();
    assert!(answers.iter().all(|a| a["jsonrpc"] == "2.0"));
    assert_eq!(answers[0]["id"], 0);
    let faults: Vec<&Value> = answers.iter().map(|a| &a["error"]["code"]).collect();
    assert!(faults.contains(&&json!(-32700)), "{}", run.stdout);
    // The same in a whole session, with a command in the person's own shell.
    let steps = script![run_in_login_shell(), say("done")];
    let mut editor = Editor::start(
        self::agent(steps)
            .env("RUST_LOG", "debug")
            .file("../.bash_profile", "echo a banner\n"),
    );
    let session = editor.open();
    assert_eq!(stop(&editor.prompt(&session, "go")), "end_turn");
    assert_eq!(editor.leave().0, 0);
}

fn run_in_login_shell() -> Step {
    run("bash -lc 'echo hi'")
}

/// An editor that shows summaries gets one as such; any other gets no update that it does not know.
#[test]
fn a_summary_is_told_to_who_shows_it() {
    for can in [
        json!({"session": {"compaction": {}, "notices": {}}}),
        json!({}),
    ] {
        let count = || run("seq 1 3000");
        let steps = script![count(), say("one"), count(), say("two"), say("three")];
        let mut editor = Editor::bare(agent(steps).summary("We counted."));
        let shows = can != json!({});
        editor.ask(
            "initialize",
            json!({"protocolVersion": 1, "clientCapabilities": can}),
        );
        let session = editor.open();
        for task in ["first", "second", "third"] {
            editor.prompt(&session, task);
        }
        let from = editor.told.len();
        assert_eq!(stop(&editor.prompt(&session, "/compact")), "end_turn");
        let updates = editor.updates(&session, from);
        let told: Vec<&Value> = updates
            .iter()
            .filter(|u| u["sessionUpdate"] == "compaction_update")
            .collect();
        assert_eq!(told.len(), usize::from(shows), "{updates:?}");
        assert!(shows || !kinds(&updates).contains(&"notice"));
        if let Some(one) = told.first() {
            assert_eq!(one["status"], "completed");
            assert!(one["compactionId"].is_string());
            assert!(
                one["summary"][0]["text"]
                    .as_str()
                    .is_some_and(|t| t.contains("We counted.")),
                "{one}"
            );
        }
    }
}

#[test]
fn commands_of_the_terminal_work_and_what_was_summarised_is_shown_again() {
    let mut editor = Editor::start(
        agent(script![
            write("a.txt", "x\n"),
            say("written"),
            run("seq 1 3000"),
            say("counted"),
            say("and more")
        ])
        .config("harness_guidance = false\n")
        .summary("We wrote a file and counted."),
    );
    let session = editor.open();
    let file = editor.running.home.path().join("ws/a.txt");
    assert_eq!(stop(&editor.prompt(&session, "Write a.txt")), "end_turn");
    assert!(file.exists());
    let said = |editor: &mut Editor, line: &str| {
        let from = editor.told.len();
        assert_eq!(stop(&editor.prompt(&session, line)), "end_turn");
        editor.text(&session, "agent_message_chunk", from)
    };
    said(&mut editor, "/undo");
    assert!(!file.exists(), "the change is taken back");
    assert_eq!(stop(&editor.prompt(&session, "Count for me")), "end_turn");
    let won = said(&mut editor, "/compact");
    assert!(won.contains("tokens won"), "{won}");
    said(&mut editor, "/rename The count");
    assert_eq!(said(&mut editor, "And more?"), "and more");
    editor.ask("session/close", json!({"sessionId": session}));
    let cwd = editor.running.home.path().join("ws");
    let list = editor.ask("session/list", json!({"cwd": cwd}));
    assert_eq!(list["result"]["sessions"][0]["title"], "The count");
    let from = editor.told.len();
    editor.ask(
        "session/load",
        json!({"sessionId": session, "cwd": cwd, "mcpServers": []}),
    );
    let words = editor.text(&session, "user_message_chunk", from);
    assert_eq!(words, "Write a.txtCount for meAnd more?");
    let answers = editor.text(&session, "agent_message_chunk", from);
    assert_eq!(answers, "writtencountedand more");
    let titles: Vec<String> = calls(&editor.updates(&session, from))
        .into_iter()
        .map(|c| c.0)
        .collect();
    assert_eq!(titles.last().map(String::as_str), Some("seq 1 3000"));
}
