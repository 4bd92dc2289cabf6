//! Reports of users of other agents, each as a run of our own binary. A test is named after its
//! case. Those that stand elsewhere, over all harnesses:
//!
//! | case | what a user met | held by |
//! |---|---|---|
//! | O01 | Ollama gets the window it needs | `window::ollama_gets_the_window_that_the_session_needs` |
//! | O03 | silent truncation is noticed | `window::a_prompt_that_the_server_cut_is_noticed` |
//! | O06 | a call written as text | `repair::a_call_written_as_text` |
//! | O07 | the server cannot parse its own model | `repair::the_server_cannot_read_its_own_model` |
//! | O09 | an edit with drifted indentation | `repair::an_edit_with_drifted_indentation` |
//! | O10 | one system message | `main_job::one_system_message_first_and_a_person_or_tool_last` |
//! | O11 | a model without tools | `repair::a_model_without_tools_is_prompted` |
//! | O12 | only thinking came back | `guards::only_thinking_is_asked_again` |
//! | O13 | an enforced step limit | `guards::the_step_limit_ends_a_run_that_changes_for_ever` |
//! | O14 | no repeat of a hopeless request | `window::a_hopeless_request_is_not_repeated` |
//! | O15 | streams that break off | `main_job::a_call_from_a_broken_stream_is_not_run` |
//! | O17 | cancel frees the server | `main_job::an_interrupt_frees_the_server_and_the_session_goes_on` |
//! | O24 | resume keeps the sandbox | `main_job::resume_keeps_the_sandbox_unless_a_flag_widens_it` |
//! | O28 | nothing but the model server | `offline::a_session_has_one_peer_and_looks_nothing_up` |
//! | O31 | numbers the user can see | `doctor::the_numbers_of_a_run_agree_with_the_server` |
//! | O32 | a small fixed prompt | `doctor::the_tier_is_named_and_small` |

mod support;

use serde_json::{Value, json};
use support::script::*;
use support::server::Kind;
use support::{Agent, Run, harnesses, shell, strict, with_tools};

/// The text of the newest result in a request.
fn result(run: &Run, request: usize) -> String {
    let body = &run.server.requests()[request - 1].body;
    let messages = body["messages"].as_array().expect("messages");
    strict::all_text(messages.last().expect("a message"))
}

/// The numbers in a text, with or without commas between their digits.
fn numbers(text: &str) -> Vec<u64> {
    text.split(|c: char| !c.is_ascii_digit() && c != ',')
        .filter_map(|word| word.replace(',', "").parse().ok())
        .collect()
}

#[test]
fn o02_which_window_wins() {
    for harness in harnesses() {
        let agent = || {
            Agent::new()
                .harness(harness)
                .wire("ollama")
                .server_kind(Kind::OllamaWithSeveral)
                .args(["-m", "coder:7b"])
                .model(script![finish(harness, "done")])
        };
        let own = "num_ctx of the model itself";
        agent()
            .run("say done")
            .expect_exit(0)
            .expect_stdout("done\n")
            .expect_stderr(&format!("window 32,768 ({own})"))
            .expect_request(1, |b| b["options"]["num_ctx"] == 32_768);
        let doctor = agent().start(&["doctor"], None).finish().stdout;
        assert!(doctor.contains(&format!("32768 tokens: {own}")), "{doctor}");
        let set = ["-c", "model_context_window=16384"];
        let own = "model_context_window in the config";
        agent()
            .args(set)
            .run("say done")
            .expect_exit(0)
            .expect_stderr(&format!("window 16,384 ({own})"))
            .expect_request(1, |b| b["options"]["num_ctx"] == 16_384);
        let doctor = agent().args(set).start(&["doctor"], None).finish().stdout;
        assert!(doctor.contains(&format!("16384 tokens: {own}")), "{doctor}");
    }
}

#[test]
fn o04_one_tool_result_never_fills_the_window() {
    for harness in harnesses() {
        let run = Agent::new()
            .harness(harness)
            .window(8_192)
            .model(script![run("seq 1 200000"), finish(harness, "done")])
            .run("count")
            .expect_exit(0)
            .expect_stdout("done\n");
        assert!(run.server.requests()[1].bytes <= 32_768, "{harness}");
        let said = result(&run, 2);
        for part in ["1\n2\n3\n", "199999\n200000"] {
            assert!(said.contains(part), "{harness}: {part:?} is not in\n{said}");
        }
        // The output has 1,288,895 bytes, of which nearly all are left out.
        let told = numbers(&said).into_iter().any(|n| n > 300_000);
        assert!(told, "{harness}: how much is left out is not in\n{said}");
    }
}

#[test]
fn o05_compaction_that_cannot_help_stops() {
    for harness in harnesses() {
        let agent = |window: u32| {
            let rules = "Follow these rules to the letter.\n".repeat(180);
            Agent::new()
                .harness(harness)
                .window(window)
                .file("AGENTS.md", rules)
                .model(script![finish(harness, "summary")])
        };
        // What the file may take is cut and said, and the model is asked once.
        let run = agent(2_048).run("hello").expect_requests(1);
        assert!(run.server.requests()[0].bytes / 4 < 2_048, "{harness}");
        run.expect_exit(0)
            .expect_stdout("summary\n")
            .expect_stderr("raise project_doc_max_bytes")
            .expect_stderr("a window of 2048 tokens is too small");
        // Where even that is too much, nothing is asked, no summary either.
        let run = agent(512).run("hello").expect_requests(0).expect_exit(1);
        let sentence = "of them system prompt and tools), ";
        let (before, after) = run.stderr.split_once(sentence).expect("the sentence");
        assert!(after.contains("the window holds 512"), "{}", run.stderr);
        let fixed = numbers(before).last().copied().unwrap_or_default();
        assert!((50..2_048).contains(&fixed), "{harness}: {fixed}");
    }
}

#[test]
fn o08_a_patch_in_the_wrong_wrapper() {
    let patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch";
    let wrapped = json!(["apply_patch", patch]);
    let done = |harness: &str, call: Step| {
        let steps = script![call, finish(harness, "done"), finish(harness, "done")];
        Agent::new().harness(harness).model(steps).run("go")
    };
    for harness in harnesses() {
        // A model that was trained so writes it into the shell, in whichever harness.
        let heredoc = format!("apply_patch <<'EOF'\n{patch}\nEOF");
        for command in [heredoc, format!("apply_patch '{patch}'")] {
            done(harness, run(&command))
                .expect_exit(0)
                .expect_file("a.txt", "one\n");
        }
    }
    for harness in with_tools() {
        let (shell, arguments) = shell(harness, "");
        let keys = arguments.as_object().map(|o| o.keys().cloned().collect());
        for key in keys.unwrap_or_else(Vec::new) {
            done(harness, call(&shell, json!({key: wrapped})))
                .expect_exit(0)
                .expect_file("a.txt", "one\n");
        }
        let run = done(harness, call("apply_patch", json!({"command": wrapped})));
        let offered = strict::tools(&run.server.requests()[0].body);
        if offered.iter().any(|(name, _)| name == "apply_patch") {
            run.expect_exit(0).expect_file("a.txt", "one\n");
        } else {
            let said = result(&run, 2);
            assert!(said.contains(&shell), "{harness}: {said}");
        }
    }
}

#[test]
fn o22_output_caps_keep_what_matters() {
    let command = "head -c 300000 /dev/zero | tr '\\0' x; echo; seq 1 20000; \
        echo 'error[E1234]: middle'; seq 1 20000; echo LAST; exit 3";
    for harness in harnesses() {
        let run = Agent::new()
            .harness(harness)
            .model(script![
                run(command),
                // The failed command is asked about once.
                finish(harness, "done"),
                finish(harness, "done")
            ])
            .run("go")
            .expect_exit(0)
            .expect_stdout("done\n");
        let said = result(&run, 2);
        // Once in the command, where a harness repeats it, and once in the output.
        let last = said.rfind("\nLAST\n").or(said.rfind("\nLAST"));
        assert!(last.is_some(), "{harness}: {said}");
        assert!(
            said.contains("\nerror[E1234]: middle\n"),
            "{harness}: {said}"
        );
        let code = said.lines().any(|line| {
            let line = line.to_lowercase();
            line.contains("code") && numbers(&line).contains(&3)
        });
        assert!(code, "{harness}: {said}");
        let longest = said.lines().map(str::len).max().unwrap_or(0);
        assert!(longest <= 4_096, "{harness}: a line of {longest} bytes");
        let told = numbers(&said).into_iter().any(|n| n > 100_000);
        assert!(told, "{harness}: how much is left out is not in\n{said}");
        let path = said
            .split([' ', '\n', '`', '"', '\'', ';', ')', ']', '>'])
            .map(|word| word.trim_end_matches(['.', ',']))
            .find(|word| word.contains("/home/outputs/"))
            .unwrap_or_else(|| panic!("{harness}: no file is named in\n{said}"));
        let whole = std::fs::read_to_string(path).expect("the file that was named");
        // Three hundred thousand and a line end, twice the numbers, and the two lines.
        assert_eq!(whole.len(), 300_001 + 2 * 108_894 + 21 + 5, "{harness}");
    }
}

#[test]
fn o27_a_remote_or_moved_ollama() {
    for harness in harnesses() {
        for way in ["host", "url", "entry with /v1", "entry"] {
            let agent = Agent::new()
                .harness(harness)
                .wire("ollama")
                .args(["-c", "model_provider=\"ollama\""])
                .model(script![finish(harness, "done")]);
            let (agent, port) = agent.listening();
            let entry = |path: &str| {
                format!("[model_providers.ollama]\nbase_url = \"http://127.0.0.1:{port}{path}\"\n")
            };
            // The entry wins over the variable, behind which nobody listens.
            let (config, host) = match way {
                "host" => (String::new(), format!("127.0.0.1:{port}")),
                "url" => (String::new(), format!("http://127.0.0.1:{port}/")),
                "entry" => (entry(""), "127.0.0.1:9".into()),
                _ => (entry("/v1"), "127.0.0.1:9".into()),
            };
            let run = agent
                .config(&config)
                .env("OLLAMA_HOST", &host)
                .run("hi")
                .expect_exit(0)
                .expect_stdout("done\n")
                .expect_stderr(&format!("at http://127.0.0.1:{port}"))
                .expect_requests(1);
            assert_eq!(
                run.server.requests()[0].path,
                "/api/chat",
                "{harness} {way}"
            );
        }
    }
}

#[test]
fn o29_models_from_the_server() {
    for harness in harnesses() {
        for (kind, wire, name) in [
            (Kind::Ollama, "ollama", "Ollama"),
            (Kind::LlamaServer, "chat", "llama-server"),
            (Kind::LmStudio, "chat", "LM Studio"),
            (Kind::Vllm, "chat", "vLLM"),
            (Kind::Plain, "chat", "mock"),
        ] {
            let agent = || {
                Agent::new()
                    .harness(harness)
                    .wire(wire)
                    .server_kind(kind)
                    .without_model()
                    .model(script![finish(harness, "done")])
            };
            agent()
                .run("hi")
                .expect_exit(0)
                .expect_stdout("done\n")
                .expect_stderr("model: mock (the one that")
                .expect_request(1, |b| b["model"] == "mock");
            let listed = agent().start(&["models", "--json"], None).finish();
            let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
            let models = listed["models"].as_array().expect("a list");
            let names: Vec<_> = models.iter().filter_map(|m| m["model"].as_str()).collect();
            assert_eq!(names, ["mock"], "{name}: {listed:#}");
        }
    }
}
