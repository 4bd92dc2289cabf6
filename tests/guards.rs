//! A model that loses the thread is helped once, then stopped; one that makes progress never is.

mod support;

use serde_json::json;
use support::script::*;
use support::{Agent, Run, WIRES, harnesses, on_hosted_wires};

/// Two harnesses with tools, and the one that reads commands from the text.
const TOOLS: [&str; 2] = ["qwen-code", "minimal"];
const TEXT: &str = "mini-swe-agent";

fn agent(harness: &str, steps: Vec<Step>) -> Agent {
    Agent::new().harness(harness).model(steps)
}

/// How often the last request holds these words.
fn count(run: &Run, words: &str) -> usize {
    let text = run.request_text(run.server.requests().len());
    text.matches(words).count()
}

/// A command that leaves a mark in a file each time it really runs.
fn marked(more: &str) -> String {
    format!("echo x >> runs; {more}")
}

fn runs(run: &Run) -> usize {
    let text = std::fs::read_to_string(run.workspace().join("runs")).unwrap_or_default();
    text.lines().count()
}

#[test]
fn the_same_call_with_the_same_result_is_run_three_times() {
    for harness in harnesses() {
        let done = agent(harness, script![run(&marked("echo same"))]).run("go");
        let done = done.expect_exit(1).expect_stderr("the same call 5 times");
        assert_eq!(runs(&done), 3, "{harness}");
        assert_eq!(count(&done, "This call was not run"), 2, "{harness}");
        done.expect_requests(6);
    }
}

#[test]
fn alternation_is_the_same_with_two_calls() {
    for harness in harnesses() {
        let pair = [run(&marked("cat a")), run(&marked("cat b"))];
        let steps = std::iter::repeat_n(pair, 8).flatten().collect();
        let done = agent(harness, steps).run("go");
        let done = done.expect_exit(1).expect_stderr("the same 2 calls");
        assert_eq!(runs(&done), 6, "{harness}");
    }
}

#[test]
fn a_check_after_each_edit_and_a_poll_are_no_loops() {
    for harness in harnesses() {
        let mut steps = Vec::new();
        for n in 0..6 {
            steps.push(write("a.txt", &format!("{n}\n")));
            steps.push(run(&marked("false")));
        }
        steps.push(finish(harness, "it fails"));
        steps.push(finish(harness, "it cannot be done"));
        let done = agent(harness, steps).run("go").expect_exit(0);
        assert_eq!(runs(&done), 6, "{harness}");
        assert_eq!(count(&done, "was not run"), 0, "{harness}");

        let mut steps = vec![run_again("sleep 0.01; true"); 8];
        steps.push(finish(harness, "over"));
        let done = agent(harness, steps).run("go").expect_exit(0);
        assert_eq!(runs(&done), 8, "{harness}");
    }
}

fn run_again(command: &str) -> Step {
    run(&marked(command))
}

#[test]
fn the_failing_check_is_the_same_however_long_it_took() {
    for harness in harnesses() {
        let command = marked("echo \"1 failed in 0.0$(wc -l < runs)s\"; false");
        let done = agent(harness, script![run(&command)])
            .run("go")
            .expect_exit(1);
        assert_eq!(runs(&done), 3, "{harness}");
    }
}

#[test]
fn a_change_that_changes_nothing_is_answered_with_what_to_do() {
    for harness in TOOLS {
        let steps = script![
            read("a.txt"),
            edit("a.txt", "one", "one"),
            write("a.txt", "one\n"),
            say("nothing to do"),
        ];
        let done = agent(harness, steps).file("a.txt", "one\n").run("go");
        let done = done.expect_exit(0).expect_stdout("nothing to do\n");
        assert_eq!(count(&done, "nothing in"), 1, "{harness}: the edit");
        // The editor of `minimal` cannot write over a file.
        if harness != "minimal" {
            assert_eq!(count(&done, "nothing changed"), 1, "{harness}: the write");
        }
        assert_eq!(count(&done, "Nothing was run after"), 0, "{harness}");
    }
}

#[test]
fn writes_of_the_same_content_are_counted() {
    for harness in ["qwen-code", "native", TEXT] {
        let done = agent(harness, script![write("a.txt", "one\n")]).run("go");
        let done = done.expect_exit(1).expect_stderr("the same call 5 times");
        assert_eq!(count(&done, "This call was not run"), 2, "{harness}");
        done.expect_file("a.txt", "one\n");
    }
}

#[test]
fn five_replies_with_invalid_calls_end_the_turn() {
    for harness in TOOLS {
        for arguments in [json!({}), json!("{\"path\": ")] {
            let tool = if harness == "minimal" {
                "str_replace_editor"
            } else {
                "read_file"
            };
            let done = agent(harness, script![call(tool, arguments)]).run("go");
            let done = done
                .expect_exit(1)
                .expect_stderr("invalid tool calls in 5 replies");
            done.expect_stderr("--harness").expect_requests(5);
        }
        // A valid call between them is progress.
        let bad = call("no_such_tool_at_all", json!({"n": 1}));
        let mut steps = vec![bad; 4];
        steps.push(run("echo fine"));
        steps.extend(vec![call("no_such_tool_at_all", json!({"n": 2})); 4]);
        steps.push(say("done"));
        agent(harness, steps)
            .run("go")
            .expect_exit(0)
            .expect_stdout("done\n");
    }
    // Without tools a reply without a command is the invalid call.
    agent(TEXT, script![say("I think that all is well.")])
        .run("go")
        .expect_exit(1)
        .expect_requests(3);
}

/// The last try with a silent model is held in shape where tools are offered on a wire that can do that.
fn held(harness: &str) -> bool {
    let can = !matches!(support::usual_wire(), "responses" | "messages");
    can && support::with_tools().any(|id| id == harness)
}

#[test]
fn only_thinking_is_asked_again() {
    for harness in harnesses() {
        let steps = script![think("I should answer now."), finish(harness, "final")];
        let done = agent(harness, steps).run("go");
        done.expect_exit(0)
            .expect_stdout("final\n")
            .expect_requests(2);
        let done = agent(harness, script![think("I should answer now.")]).run("go");
        done.expect_exit(1)
            .expect_stderr("no answer")
            .expect_requests(3 + usize::from(held(harness)));
        // A reply full of thoughts takes minutes: one more, with a hint, and no third.
        let done = agent(harness, script![think("Hmm, but then again.").full()]).run("go");
        let done = done
            .expect_exit(1)
            .expect_stderr("no answer")
            .expect_requests(2);
        assert_eq!(count(&done, "all thinking"), 1, "{harness}");
    }
}

#[test]
fn thoughts_that_go_in_circles_are_cut() {
    let circle = "But wait, the file may be another one, so I look again. ".repeat(400);
    for harness in harnesses() {
        let steps = script![think(&circle), finish(harness, "final")];
        let done = agent(harness, steps)
            .run("go")
            .expect_exit(0)
            .expect_requests(2);
        assert_eq!(count(&done, "all thinking"), 1, "{harness}");
    }
}

#[test]
fn a_text_that_repeats_itself_is_cut_and_the_model_told() {
    let line = "The function returns the wrong value here.\n".repeat(200);
    for harness in TOOLS {
        let done = agent(harness, script![say(&line), say("done")]).run("go");
        let done = done
            .expect_exit(0)
            .expect_stdout("done\n")
            .expect_requests(2);
        assert_eq!(count(&done, "repeating yourself"), 1, "{harness}");
        assert!(
            count(&done, "wrong value") < 20,
            "{harness}: the loop was kept"
        );
        let done = agent(harness, script![say(&line)]).run("go");
        done.expect_exit(1)
            .expect_stderr("repeats itself")
            .expect_requests(4);
    }
    let steps = script![say(&line), finish(TEXT, "done")];
    agent(TEXT, steps)
        .run("go")
        .expect_exit(0)
        .expect_requests(2);
}

#[test]
fn an_answer_that_the_limit_cut_is_gone_on_with_once() {
    for wire in WIRES {
        for harness in TOOLS {
            let steps = script![say("One, two, thr").full(), say("ee, four.")];
            let done = agent(harness, steps).wire(wire).run("count");
            done.expect_exit(0)
                .expect_stdout("One, two, three, four.\n")
                .expect_requests(2);
        }
    }
    let done = agent("qwen-code", script![say("More and more").full()]).run("count");
    done.expect_exit(0)
        .expect_stderr("its end is missing")
        .expect_requests(2);
    // Work that goes on is no second half.
    let steps = script![say("Now I will").full(), run("echo x"), say("done")];
    let done = agent("qwen-code", steps)
        .run("go")
        .expect_exit(0)
        .expect_stdout("done\n");
    done.expect_requests(3);
    // Without tools the cut reply is no command, which is answered as such.
    let steps = script![
        say("```mswea_bash_command\necho cut").full(),
        finish(TEXT, "done")
    ];
    let done = agent(TEXT, steps)
        .run("go")
        .expect_exit(0)
        .expect_requests(2);
    assert_eq!(count(&done, "output limit"), 1);
}

#[test]
fn a_full_reply_is_known_by_its_count_where_the_server_does_not_say() {
    // A quarter of the window is the limit of a reply.
    for (harness, prompt) in [("qwen-code", 2_200), ("minimal", 900)] {
        let steps = script![say("One, two, thr").usage(prompt, 0, 4_096), say("ee.")];
        let done = agent(harness, steps)
            .wire("responses")
            .window(16_384)
            .run("count");
        done.expect_exit(0)
            .expect_stdout("One, two, three.\n")
            .expect_requests(2);
    }
}

#[test]
fn an_end_after_a_failed_check_is_questioned_once() {
    for harness in harnesses() {
        let steps = script![
            run("echo broken; false"),
            finish(harness, "all done"),
            finish(harness, "it does not work"),
        ];
        let done = agent(harness, steps).run("go");
        let done = done
            .expect_exit(0)
            .expect_stdout("it does not work\n")
            .expect_requests(3);
        assert_eq!(count(&done, "The last command failed"), 1, "{harness}");
        // Who mends it is not asked again, and who says nothing has answered before.
        let steps = script![
            run("false"),
            finish(harness, "all done"),
            run("true"),
            finish(harness, "now it works"),
        ];
        let done = agent(harness, steps).run("go");
        done.expect_exit(0)
            .expect_stdout("now it works\n")
            .expect_requests(4);
    }
    for harness in TOOLS {
        let steps = script![run("false"), say("it fails"), say("")];
        let done = agent(harness, steps).run("go");
        done.expect_exit(0)
            .expect_stdout("it fails\n")
            .expect_requests(3);
    }
}

#[test]
fn an_end_without_a_run_after_the_last_edit_is_questioned_once() {
    for harness in harnesses() {
        let steps = script![
            write("a.py", "print(1)\n"),
            finish(harness, "written"),
            run("python3 a.py"),
            finish(harness, "it prints 1"),
        ];
        let done = agent(harness, steps).run("go");
        let done = done
            .expect_exit(0)
            .expect_stdout("it prints 1\n")
            .expect_requests(4);
        assert_eq!(count(&done, "Nothing was run after"), 1, "{harness}");
    }
    // Guidance that is off, and a server that costs money, get no reminder.
    let steps = script![write("a.py", "print(1)\n"), say("written")];
    let quiet = agent("qwen-code", steps).config("harness_guidance = false\n");
    quiet.run("go").expect_exit(0).expect_requests(2);
}

#[test]
fn silence_in_the_middle_of_the_work_is_asked_about() {
    for harness in TOOLS {
        let steps = script![
            say("I will look into it first."),
            write("a.py", "print(1)\n"),
            say(""),
            run("python3 a.py"),
            say("it prints 1"),
        ];
        let done = agent(harness, steps).run("Write a.py.");
        let done = done
            .expect_exit(0)
            .expect_stdout("it prints 1\n")
            .expect_requests(5);
        assert_eq!(count(&done, "Nothing was run after"), 1, "{harness}");
    }
}

#[test]
fn a_task_is_not_done_while_its_file_is_missing_or_empty() {
    for harness in harnesses() {
        let steps = script![
            run("touch hello.py"),
            run("cat hello.py"),
            finish(harness, "done"),
            run("echo 'print(\"hello\")' > hello.py"),
            run("python3 hello.py"),
            finish(harness, "it prints hello"),
        ];
        let done = agent(harness, steps).run("Create hello.py that prints hello, then run it.");
        let done = done.expect_exit(0).expect_requests(6);
        assert_eq!(count(&done, "hello.py is empty"), 1, "{harness}");
    }
    // One that goes in circles is told the same.
    let steps = script![
        run("cat hello.py"),
        run("cat hello.py"),
        write("hello.py", "print(1)\n"),
        run("python3 hello.py"),
        say("done")
    ];
    let done = agent("qwen-code", steps).run("Create hello.py that prints 1, then run it.");
    let told = "hello.py does not exist yet. Write it now: call write_file";
    assert_eq!(count(&done, told), 1);
    // What was refused is not asked for again.
    let steps = script![run("touch ../hello.py; rm -rf /"), say("I may not do that")];
    let done = agent("qwen-code", steps).run("Create hello.py that prints 1.");
    done.expect_exit(0).expect_requests(2);
    // A file that is told by its short name is there, and nobody asked to make it.
    let steps = script![
        write("src/b.py", "x = 1\n"),
        run("python3 src/b.py"),
        say("done")
    ];
    let done = agent("qwen-code", steps)
        .file("src/parser.py", "x = 1\n")
        .run("Write src/b.py as parser.py has it.");
    done.expect_exit(0).expect_requests(3);
}

#[test]
fn what_a_rewritten_file_lost_is_told() {
    const BEFORE: &str =
        "import math\n\ndef half(x):\n    return math.floor(x)\n\ndef twice(x):\n    return x\n";
    const WRONG: &str = "def twice(x):\n    return 2 * x\n";
    const RIGHT: &str = "import math\n\ndef half(x):\n    return math.floor(x)\n\ndef twice(x):\n    return 2 * x\n";
    let told = "Gone from a.py: half. Unless the task wants that";
    for harness in harnesses() {
        let rewrite = |text: &str| run(&format!("cat > a.py <<'EOF'\n{text}EOF"));
        let steps = script![
            read("a.py"),
            rewrite(WRONG),
            rewrite(RIGHT),
            run("python3 a.py"),
            finish(harness, "done"),
        ];
        let done = agent(harness, steps)
            .file("a.py", BEFORE)
            .run("Fix twice in a.py.");
        let done = done.expect_exit(0).expect_file("a.py", RIGHT);
        assert_eq!(count(&done, told), 1, "{harness}");
    }
    // What the task wants gone is not mourned.
    let steps = script![
        run("sed -i 's/half/part/' a.py"),
        run("python3 a.py"),
        say("done")
    ];
    let done = agent("qwen-code", steps)
        .file("a.py", BEFORE)
        .run("Rename half in a.py to part.");
    assert_eq!(count(&done.expect_exit(0), "Gone from"), 0);
}

#[test]
fn a_file_that_is_only_run_is_not_the_one_to_change() {
    let steps = script![
        read("a.py"),
        edit("a.py", "1", "3"),
        run("python3 check.py"),
        say("done"),
    ];
    let done = agent("qwen-code", steps)
        .file("a.py", "x = 1\n")
        .file("check.py", "import a\nassert a.x == 2\n")
        .run("Fix a.py, and run python3 check.py to check.");
    let told = "Your change of a.py does not work yet";
    assert_eq!(count(&done, told), 1);
    assert_eq!(count(&done, "check.py is still as it was"), 0);
}

/// A small model that read once that it has no tools believes it for ever.
#[test]
fn the_turn_after_a_step_limit_has_tools_and_knows_no_limit() {
    for harness in harnesses() {
        let steps = script![
            run("echo one"),
            finish(harness, "not done"),
            run("echo two"),
            finish(harness, "done"),
        ];
        let agent = agent(harness, steps).config("max_steps = 1\n");
        let first = agent.run("go").expect_exit(3);
        let told = |n: usize| {
            let text = support::strict::all_text(&first.server.requests()[n].body);
            text.contains("step limit")
        };
        assert!(!told(0) && told(1), "{harness}");
        let line = ["exec", "--skip-git-repo-check", "resume", "--last"];
        let second = first.again(&line, Some("go on"));
        let request = &second.server.requests()[2].body;
        let text = support::strict::all_text(request);
        assert!(!text.contains("step limit"), "{harness}: {text}");
    }
}

#[test]
fn the_step_limit_ends_a_run_that_changes_for_ever() {
    for harness in harnesses() {
        let steps = script![run("echo x >> runs; date +%N")];
        for (flag, config) in [(Some("--max-steps=5"), ""), (None, "max_steps = 5\n")] {
            let mut line = vec!["exec", "--skip-git-repo-check"];
            line.extend(flag);
            let done = agent(harness, steps.clone()).config(config);
            let done = done.start(&line, Some("go")).finish();
            let done = done
                .expect_exit(3)
                .expect_stderr("5 steps")
                .expect_requests(6);
            assert_eq!(runs(&done), 5, "{harness}");
            let last = &done.server.requests()[5].body;
            assert!(
                last.get("tools").is_none(),
                "{harness}: tools in the last request"
            );
        }
    }
}

#[test]
fn the_guards_hold_on_the_wires_of_hosted_models_too() {
    on_hosted_wires(&[
        ("O12", only_thinking_is_asked_again),
        ("O13", the_step_limit_ends_a_run_that_changes_for_ever),
    ]);
}

/// A model that repeats itself is drawn more freely for one reply, unless the user chose the values.
#[test]
fn a_repeated_call_is_followed_by_a_freer_reply() {
    let go = |config: &str| {
        let same = || run("ls");
        Agent::new()
            .harness("qwen-code")
            .config(config)
            .model(script![same(), same(), run("echo other"), say("done")])
            .run("look around")
            .expect_exit(0)
            .expect_requests(4)
    };
    let temperature =
        |run: &Run, n: usize| run.server.requests()[n].body.get("temperature").cloned();
    let free = go("");
    assert_eq!(temperature(&free, 1), None);
    assert_eq!(temperature(&free, 2), Some(json!(0.8)));
    assert_eq!(temperature(&free, 3), None);
    let own = go("sampling.temperature = 0.1\n");
    assert_eq!(temperature(&own, 2), Some(json!(0.1)));
}

/// A small model submits after its first look: a task that asks for a change is not done by that.
#[test]
fn a_submission_without_the_change_is_questioned_once() {
    for harness in [TEXT, "swe-agent"] {
        let look = || run("ls");
        let early = script![
            look(),
            finish(harness, ""),
            run("echo 1 > new.txt; cat new.txt"),
            finish(harness, ""),
        ];
        let done = agent(harness, early).run("Create new.txt with the line 1.");
        let done = done
            .expect_exit(0)
            .expect_file("new.txt", "1\n")
            .expect_requests(4);
        let told = "The task is not done. new.txt does not exist yet";
        assert_eq!(count(&done, told), 1, "{harness}");
        // Said once; and not where no change is asked for.
        let stubborn = script![look(), finish(harness, ""), finish(harness, "")];
        let done = agent(harness, stubborn).run("Create new.txt with the line 1.");
        done.expect_exit(0).expect_requests(3);
        let done = agent(harness, script![look(), finish(harness, "")]).run("What is in here?");
        done.expect_exit(0).expect_requests(2);
    }
}
