//! Programs of the user's that run at moments of a session, and `notify`.
#![cfg(unix)]

mod support;

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use support::script::*;
use support::server::{Kind, Server};
use support::terminal::Terminal;
use support::{Agent, Run};

/// Harnesses of different families, whose tools hooks know by the same names.
const SEVERAL: [&str; 4] = ["native", "claude-code", "qwen-code", "mini-swe-agent"];

/// A run with these hooks of the user's own, each a moment, a matcher and a command.
fn hooked(harness: &str, hooks: &[(&str, &str, &str)]) -> Agent {
    untrusted(harness, hooks).args(["--trust-hooks"])
}

fn untrusted(harness: &str, hooks: &[(&str, &str, &str)]) -> Agent {
    let mut all = json!({});
    for (moment, matcher, command) in hooks {
        let group = json!({"matcher": matcher, "hooks": [{"type": "command", "command": command}]});
        match all.get_mut(moment).and_then(Value::as_array_mut) {
            Some(groups) => groups.push(group),
            None => all[moment] = json!([group]),
        }
    }
    Agent::new()
        .harness(harness)
        .file("../home/hooks.json", json!({ "hooks": all }).to_string())
}

/// What the hooks were told, one JSON object a line.
fn log(run: &Run) -> Vec<Value> {
    let text = std::fs::read_to_string(run.home.path().join("log")).unwrap_or_default();
    text.lines()
        .map(|l| serde_json::from_str(l).expect("a JSON line"))
        .collect()
}

const LOG: &str = "cat >> ~/log; echo >> ~/log";

#[test]
fn each_moment_is_told_what_it_is_about() {
    let run = hooked(
        "claude-code",
        &[
            ("SessionStart", "startup", LOG),
            ("SessionStart", "resume", LOG),
            ("UserPromptSubmit", "ignored", LOG),
            ("PreToolUse", "Bash", LOG),
            ("PostToolUse", "Bash", LOG),
            ("PostToolUse", "Write", LOG),
            ("Stop", "", LOG),
            ("SessionEnd", "", LOG),
        ],
    )
    .model(script![
        run("echo hello"),
        write("a.txt", "x\n"),
        say("all done"),
        say("all done"),
        say("all done"),
        say("all done")
    ])
    .run("do it")
    .expect_exit(0)
    .expect_stderr("hooks: 8 run (SessionStart of startup: ");
    let told = log(&run);
    let names: Vec<&str> = told
        .iter()
        .map(|t| t["hook_event_name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PostToolUse",
            "Stop",
            "SessionEnd"
        ]
    );
    let session = run.session_file();
    for one in &told {
        assert!(
            session
                .to_string_lossy()
                .contains(one["session_id"].as_str().unwrap())
        );
        assert_eq!(one["transcript_path"], json!(session.display().to_string()));
        assert_eq!(
            one["cwd"],
            json!(
                run.workspace()
                    .canonicalize()
                    .unwrap()
                    .display()
                    .to_string()
            )
        );
    }
    assert_eq!(told[0]["source"], "startup");
    assert_eq!(
        (&told[0]["model"], &told[0]["permission_mode"]),
        (&json!("mock"), &json!("bypassPermissions"))
    );
    assert_eq!(told[1]["prompt"], "do it");
    assert_eq!(
        (&told[2]["tool_name"], &told[2]["tool_input"]),
        (&json!("Bash"), &json!({"command": "echo hello"}))
    );
    assert_eq!(told[2]["tool_use_id"], told[3]["tool_use_id"]);
    assert_eq!(told[3]["tool_response"], "hello\n");
    assert_eq!(
        (&told[4]["tool_name"], &told[4]["tool_input"]["content"]),
        (&json!("Write"), &json!("x\n"))
    );
    assert_eq!(
        (
            &told[5]["stop_hook_active"],
            &told[5]["last_assistant_message"]
        ),
        (&json!(false), &json!("all done"))
    );
    assert_eq!(
        (&told[6]["reason"], told[6].get("model")),
        (&json!("other"), None)
    );
    let turn = &told[1]["turn_id"];
    assert!(turn.is_string() && told[1..6].iter().all(|t| t["turn_id"] == *turn));

    let run = run
        .again(
            &[
                "exec",
                "resume",
                "--last",
                "--skip-git-repo-check",
                "--trust-hooks",
            ],
            Some("more"),
        )
        .expect_exit(0);
    assert_eq!(log(&run)[7]["source"], "resume");
}

#[test]
fn tools_of_mcp_servers_are_seen_by_their_names() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/mcp_server.py");
    let config = format!(
        "[mcp_servers.it]\ncommand = \"python3\"\nargs = [{script:?}, \"../mcp.log\"]\nrequired = true\ndefault_tools_approval_mode = \"approve\"\n"
    );
    let no = "cat >/dev/null; echo 'not this one' >&2; exit 2";
    for harness in ["native", "qwen-code"] {
        let run = hooked(
            harness,
            &[
                ("PreToolUse", "mcp__it__fail", no),
                ("PostToolUse", "mcp__.*", LOG),
            ],
        )
        .config(config.as_str())
        .model(script![
            call("mcp__it__add", json!({"a": 40, "b": 2})),
            call("mcp__it__fail", json!({})),
            say("done"),
        ])
        .run("go")
        .expect_exit(0);
        let told = log(&run);
        assert_eq!(told.len(), 1, "{harness}: {told:?}");
        assert_eq!(told[0]["tool_name"], "mcp__it__add");
        assert_eq!(told[0]["tool_input"], json!({"a": 40, "b": 2}));
        assert!(
            told[0]["tool_response"].to_string().contains("42"),
            "{told:?}"
        );
        let last = support::strict::all_text(&run.server.requests()[2].body);
        assert!(last.contains("not this one"), "{harness}: {last}");
    }
}

#[test]
fn a_tool_is_blocked_and_the_model_is_told_why() {
    let no = r#"grep -q danger && { echo "not on my machine" >&2; exit 2; }; exit 0"#;
    let json = r#"echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not on my machine"}}'"#;
    for harness in SEVERAL {
        for command in [no, json] {
            let run = hooked(harness, &[("PreToolUse", "Bash", command)])
                .model(script![
                    run("echo danger > made.txt"),
                    finish(harness, "ok"),
                    finish(harness, "ok"),
                    finish(harness, "ok")
                ])
                .run("go")
                .expect_no_file("made.txt");
            let told = run.request_text(2);
            assert!(
                told.contains("PreToolUse hook blocked it: not on my machine"),
                "{harness}: {told}"
            );
        }
    }
}

#[test]
fn another_command_runs_in_its_place_and_is_judged_like_any() {
    let instead = |command: &str| {
        let out = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": command}}});
        format!("echo '{out}'")
    };
    let agent = |command: &str| {
        hooked("native", &[("PreToolUse", "Bash", &instead(command))]).model(script![
            run("echo a > a.txt"),
            say("ok"),
            say("ok")
        ])
    };
    agent("echo b > b.txt")
        .run("go")
        .expect_file("b.txt", "b\n")
        .expect_no_file("a.txt");
    let run = agent("rm -rf b.txt")
        .file("b.txt", "")
        .run("go")
        .expect_file("b.txt", "");
    assert!(
        run.request_text(2).contains("not permitted"),
        "{}",
        run.request_text(2)
    );
}

#[test]
fn hooks_add_to_the_conversation_and_the_prompt_stays_append_only() {
    for harness in SEVERAL {
        let run = hooked(
            harness,
            &[
                ("SessionStart", "", "echo start-4711"),
                ("UserPromptSubmit", "", r#"echo '{"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "prompt-4712"}}'"#),
                ("PostToolUse", "Bash", r#"echo '{"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "after-4713"}}'"#),
            ],
        )
        .model(script![run("ls"), finish(harness, "ok"), finish(harness, "ok")])
        .run("the-task")
        .expect_exit(0);
        let first = run.request_text(1);
        let at = |text: &str| {
            first
                .find(text)
                .unwrap_or_else(|| panic!("{harness}: no {text} in {first}"))
        };
        assert!(
            at("start-4711") < at("the-task") && at("the-task") < at("prompt-4712"),
            "{harness}"
        );
        let second = run.request_text(2);
        assert!(second.contains("after-4713"), "{harness}: {second}");
        assert!(!first.contains("after-4713"));
    }
}

#[test]
fn a_prompt_is_blocked_before_any_request() {
    let run = hooked(
        "native",
        &[("UserPromptSubmit", "", "echo 'no secrets here' >&2; exit 2")],
    )
    .model(script![say("never")])
    .run("my password")
    .expect_exit(0)
    .expect_stdout("")
    .expect_stderr("a UserPromptSubmit hook stopped the turn: no secrets here")
    .expect_requests(0);
    let lines = run.again(
        &["exec", "--skip-git-repo-check", "--trust-hooks", "--json"],
        Some("my password"),
    );
    let last: Value = serde_json::from_str(lines.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["type"], "turn.completed");
}

#[test]
fn a_result_is_replaced_and_a_turn_is_stopped() {
    let ran = hooked(
        "qwen-code",
        &[(
            "PostToolUse",
            "Bash",
            "echo 'look at the log instead' >&2; exit 2",
        )],
    )
    .model(script![
        run("printf 'secret-%s' output"),
        say("ok"),
        say("ok")
    ])
    .run("go");
    let told = ran.request_text(2);
    assert!(
        told.contains("look at the log instead") && !told.contains("secret-output"),
        "{told}"
    );

    hooked(
        "qwen-code",
        &[(
            "PostToolUse",
            "Bash",
            r#"echo '{"continue": false, "stopReason": "enough"}'"#,
        )],
    )
    .model(script![run("ls"), say("never")])
    .run("go")
    .expect_exit(0)
    .expect_stderr("a PostToolUse hook stopped the turn: enough")
    .expect_requests(1);
}

#[test]
fn a_stop_hook_lets_the_model_go_on_and_cannot_do_so_for_ever() {
    let once = r#"grep -q '"stop_hook_active":true' || { echo 'run the tests' >&2; exit 2; }"#;
    let run = hooked("claude-code", &[("Stop", "", once)])
        .model(script![say("one"), say("two"), say("three")])
        .run("go")
        .expect_exit(0)
        .expect_stdout("two\n")
        .expect_requests(2);
    let told = run.request_text(2);
    assert!(
        told.contains("<hook_prompt hook_run_id=\"")
            && told.contains("\">run the tests</hook_prompt>"),
        "{told}"
    );

    hooked("claude-code", &[("Stop", "", "echo again >&2; exit 2")])
        .model((0..40).map(|n| say(&format!("answer {n}"))).collect())
        .run("go")
        .expect_exit(0)
        .expect_requests(21);
}

#[test]
fn a_hook_answers_in_the_place_of_the_person() {
    let answer = |yes: bool| {
        let behavior = if yes { "allow" } else { "deny" };
        let out = json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": behavior, "message": "ask me later"}}});
        format!("{LOG}; echo '{out}'")
    };
    let agent = |commands: &[String]| {
        let hooks: Vec<_> = commands
            .iter()
            .map(|c| ("PermissionRequest", "Bash", c.as_str()))
            .collect();
        hooked("native", &hooks)
            .args(["--ask-for-approval", "on-request"])
            .file("f.txt", "")
            .model(script![run("rm -f f.txt"), say("ok"), say("ok")])
            .run("go")
    };
    let run = agent(&[answer(true)]).expect_no_file("f.txt");
    assert_eq!(log(&run)[0]["tool_input"]["command"], "rm -f f.txt");
    let run = agent(&[answer(true), answer(false)]).expect_file("f.txt", "");
    assert!(
        run.request_text(2).contains("ask me later"),
        "{}",
        run.request_text(2)
    );
}

#[test]
fn what_nobody_looked_at_does_not_run_and_a_broken_hook_stops_nothing() {
    let run = untrusted("native", &[("SessionStart", "", "touch ~/ran")])
        .model(script![say("ok"), say("ok")])
        .run("go")
        .expect_exit(0)
        .expect_stderr("hooks: 1 not trusted and not run (SessionStart: touch ~/ran)");
    assert!(!run.home.path().join("ran").exists());
    let off = run.again(
        &[
            "exec",
            "--skip-git-repo-check",
            "--trust-hooks",
            "-c",
            "features.hooks=false",
        ],
        Some("go"),
    );
    assert!(!off.home.path().join("ran").exists() && !off.stderr.contains("hooks:"));

    hooked(
        "native",
        &[
            ("Stop", "", "exit 7"),
            ("SessionStart", "", "no-such-program-4711"),
            ("UserPromptSubmit", "", "echo '{'"),
        ],
    )
    .model(script![say("fine")])
    .run("go")
    .expect_exit(0)
    .expect_stdout("fine\n")
    .expect_stderr("hook Stop: exit 7 failed: it ended with code 7");
}

#[test]
fn a_session_asks_about_new_hooks_and_keeps_the_answer() {
    let hooks = r#"{"hooks": {"UserPromptSubmit": [{"hooks": [{"command": "echo hook-4711"}]}]}}"#;
    let files = [("home/hooks.json", hooks)];
    let server = Server::start(Kind::LlamaServer, 32_768, script![say("one"), say("two")]);
    let mut t = Terminal::among(server, "", &files, Some("go"));
    t.wait_for("UserPromptSubmit: echo hook-4711");
    t.wait_for("let them run");
    t.types("y\n");
    t.wait_for("one");
    t.wait_for("› ");
    let body = t.server.requests()[0].body.to_string();
    assert!(body.contains("hook-4711"), "{body}");
    let said = t.says("/hooks");
    assert!(
        said.contains("runs") && said.contains("UserPromptSubmit: echo hook-4711"),
        "{said}"
    );
    let kept = std::fs::read_to_string(t.home.path().join("home/trust.json")).unwrap();
    assert!(kept.contains("hooks.json:user_prompt_submit:0:0"), "{kept}");
}

#[test]
fn nested_agents_have_moments_of_their_own() {
    let delegate = call(
        "Agent",
        json!({"description": "look", "prompt": "look around", "subagent_type": "Explore"}),
    );
    let run = hooked(
        "claude-code",
        &[
            ("SubagentStart", "Explore", LOG),
            ("SubagentStop", "", LOG),
            ("UserPromptSubmit", "", LOG),
            ("Stop", "", LOG),
        ],
    )
    .model(script![
        delegate,
        say("seen"),
        say("all done"),
        say("all done")
    ])
    .run("go")
    .expect_exit(0);
    let told = log(&run);
    let names: Vec<&str> = told
        .iter()
        .map(|t| t["hook_event_name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["UserPromptSubmit", "SubagentStart", "SubagentStop", "Stop"]
    );
    assert_eq!(
        (&told[1]["agent_type"], &told[1]["agent_id"]),
        (&json!("Explore"), &json!("1"))
    );
    assert_eq!(told[2]["last_assistant_message"], "seen");
    assert!(
        told[2]["agent_transcript_path"]
            .as_str()
            .unwrap()
            .ends_with("agent-1.jsonl")
    );
    assert!(told[3].get("agent_id").is_none());
}

/// A server whose window turns out smaller makes room in mid-task: once, with its moments around it.
#[test]
fn a_summary_in_mid_task_has_its_moments_and_can_be_stopped() {
    let overflow = r#"{"error":{"message":"This model's maximum context length is 6000 tokens. Please reduce the length of the messages."}}"#;
    let talk = |n: usize| -> String {
        (0..60)
            .map(|k| format!("Point {} is about file {}. ", k * 31 + n, k * 7 + n))
            .collect()
    };
    let agent = |hooks: &[(&str, &str, &str)]| {
        let mut steps: Vec<Step> = (0..8)
            .map(|n| run(&format!("echo {n}")).with_text(&format!("Step {n}: {}", talk(n))))
            .collect();
        steps.push(fail(400, overflow));
        steps.push(say("done"));
        hooked("qwen-code", hooks)
            .window(8_192)
            .summary("<state_snapshot>eight steps were done</state_snapshot>")
            .model(steps)
    };
    let run = agent(&[
        ("PreCompact", "auto", LOG),
        ("PostCompact", "auto", LOG),
        ("PreCompact", "manual", "touch ~/manual"),
        ("Stop", "", LOG),
    ])
    .run("go")
    .expect_exit(0)
    .expect_stdout("done\n")
    .expect_stderr("summarised by the model");
    let told = log(&run);
    let names: Vec<&Value> = told.iter().map(|t| &t["hook_event_name"]).collect();
    assert_eq!(names, ["PreCompact", "PostCompact", "Stop"]);
    for one in &told[..2] {
        assert_eq!(one["trigger"], "auto");
        assert_eq!(one["turn_id"], told[2]["turn_id"]);
        assert_eq!(one["model"], "mock");
        assert!(one.get("permission_mode").is_none(), "{one}");
    }
    assert!(!run.home.path().join("manual").exists());

    let no = r#"echo '{"continue": false, "stopReason": "keep it all"}'"#;
    let run = agent(&[("PreCompact", "", no), ("PostCompact", "", LOG)])
        .run("go")
        .expect_stderr("a PreCompact hook stopped the summary: keep it all");
    assert!(log(&run).is_empty());
    assert!(!run.stderr.contains("summarised by the model"));
}

/// The same by hand; the turn after it is a beginning, as that of a new conversation is.
#[test]
fn a_summary_by_hand_has_its_moments_and_begins_anew() {
    let group = |command: &str| json!([{"hooks": [{"command": command}]}]);
    let all = ["SessionStart", "PreCompact", "PostCompact", "SessionEnd"];
    let hooks: serde_json::Map<String, Value> = all
        .iter()
        .map(|name| ((*name).into(), group(LOG)))
        .collect();
    let hooks = json!({ "hooks": hooks }).to_string();
    let files = [("home/hooks.json", hooks.as_str())];
    let steps = script![
        run("seq 1 3000"),
        say("counted-0"),
        say("counted-1"),
        say("counted-2"),
        say("counted-3")
    ];
    let server = Server::start(Kind::LlamaServer, 32_768, steps);
    server.summarise_with("We counted.");
    let mut t = Terminal::among(server, "harness_guidance = false\n", &files, Some("go"));
    t.wait_for("let them run");
    t.types("y\n");
    t.wait_for("counted-0");
    t.wait_for_prompt();
    assert!(t.says("and again").contains("counted-1"));
    let said = t.says("/compact");
    assert!(said.contains("tokens won"), "{said}");
    assert!(t.says("more").contains("counted-2"));
    t.says("/clear");
    assert!(t.says("from the start").contains("counted-3"));
    t.types("/exit\r");
    t.exit_code();
    let text = std::fs::read_to_string(t.home.path().join("log")).expect("a log");
    let told: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).expect("JSON"))
        .collect();
    let brief: Vec<String> = told
        .iter()
        .map(|t| {
            let more = ["source", "trigger", "reason"].map(|k| t[k].as_str().unwrap_or_default());
            format!(
                "{} {}",
                t["hook_event_name"].as_str().unwrap_or_default(),
                more.concat()
            )
        })
        .collect();
    assert_eq!(
        brief,
        [
            "SessionStart startup",
            "PreCompact manual",
            "PostCompact manual",
            "SessionStart compact",
            "SessionEnd clear",
            "SessionStart clear",
            "SessionEnd prompt_input_exit"
        ]
    );
}

#[test]
fn notify_is_told_of_a_turn() {
    let run = Agent::new()
        .config("notify = [\"sh\", \"-c\", 'printf %s \"$1\" > ~/told.tmp && mv ~/told.tmp ~/told', \"-\"]\n")
        .model(script![say("the answer")])
        .run("the question")
        .expect_exit(0);
    let file = run.home.path().join("told");
    let end = Instant::now() + Duration::from_secs(10);
    while !file.exists() {
        assert!(Instant::now() < end, "notify did not run");
        std::thread::sleep(Duration::from_millis(20));
    }
    let told: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(told["type"], "agent-turn-complete");
    assert_eq!(told["input-messages"], json!(["the question"]));
    assert_eq!(told["last-assistant-message"], "the answer");
    assert!(run.stderr.contains(told["thread-id"].as_str().unwrap()));
    for key in ["turn-id", "cwd", "client"] {
        assert!(told[key].is_string(), "{key}");
    }
}
