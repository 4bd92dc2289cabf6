//! Who interrupts or stops a session at any moment has the prompt back, and the conversation goes on.
#![cfg(target_os = "linux")]

mod support;

use serde_json::json;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};
use support::script::*;
use support::server::{Kind, Server};
use support::strict;
use support::terminal::Terminal;

const QUESTION: &str = "your answer (no): ";
const LONG: Duration = Duration::from_secs(60);
const ASKS: &str = "approval_policy = \"untrusted\"\n";
const NEVER: &str = "approval_policy = \"never\"\n";

fn many_words() -> String {
    "many words ".repeat(400)
}

/// Presses the key, and waits for the prompt. What ran has ended, and the conversation goes on with
/// what was said before.
fn interrupted(t: &mut Terminal, phase: &str, key: &str) {
    std::thread::sleep(Duration::from_millis(150));
    let (began, from) = (Instant::now(), t.screen().len());
    t.types(key);
    // The line editor marks each drawing of the prompt.
    while !t.screen()[from..].contains("\x1b[?2026h") {
        let took = began.elapsed();
        assert!(took < Duration::from_secs(5), "{phase}: {}", t.screen());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(
        t.screen()[from..].contains("interrupted"),
        "{phase}: {}",
        t.screen()
    );
    assert!(t.says("/ps").contains("no command is running"), "{phase}");
}

/// No program of a test's own is left.
fn is_gone(command: &str) {
    let left = Command::new("pgrep").args(["-f", command]).output();
    let left = left.expect("pgrep is there").stdout;
    assert!(
        left.is_empty(),
        "{command}: {}",
        String::from_utf8_lossy(&left)
    );
}

fn goes_on(t: &mut Terminal, phase: &str) {
    let shown = t.says("and now?");
    assert!(shown.contains("here I am"), "{phase}: {shown}");
    let requests = t.server.requests();
    let text = strict::all_text(&requests.last().expect("a request").body);
    assert!(
        text.contains("albatross") && text.contains("and now?"),
        "{phase}: {text}"
    );
    t.types("/exit\r");
    assert_eq!(t.exit_code(), Some(0), "{phase}");
    assert!(t.is_as_it_was(), "{phase}");
}

/// A session that waits in a phase, which `mark` tells.
fn waits(server: Server, config: &str, mark: &str) -> Terminal {
    let config = format!("harness_guidance = false\n{config}");
    let t = Terminal::on(server, &config, Some("the word is albatross"));
    t.wait_for(mark);
    t
}

#[test]
fn an_interrupt_in_each_phase_of_a_request() {
    let phases: [(&str, Step, &str); 3] = [
        ("reading", say("x").after(LONG), "reading the prompt"),
        (
            "writing",
            say(&many_words()).paced(Duration::from_millis(100)),
            "many words",
        ),
        (
            "thinking",
            think(&many_words()).paced(Duration::from_millis(100)),
            "thinking",
        ),
    ];
    for (phase, step, mark) in phases {
        for key in ["\x03", "\x1b"] {
            let server = Server::start(
                Kind::LlamaServer,
                32_768,
                vec![step.clone(), say("here I am")],
            );
            let mut t = waits(server, "", mark);
            interrupted(&mut t, phase, key);
            goes_on(&mut t, phase);
            // Writing to a client that left fails at the second piece only.
            let end = Instant::now() + Duration::from_secs(5);
            while t.server.clients_that_left() == 0 {
                assert!(Instant::now() < end, "{phase}: the server works on");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

#[test]
fn an_interrupt_in_each_phase_of_an_action() {
    let part = json!({"description": "a part", "prompt": "think about it"});
    let phases: [(&str, Vec<Step>, &str, &str); 4] = [
        (
            "a command",
            script![run("echo begun; sleep 77.5; echo over")],
            NEVER,
            "sleep 77.5",
        ),
        ("a question", script![run("rm -rf x")], ASKS, QUESTION),
        (
            "a nested agent",
            script![call("agent", part), say("x").after(LONG)],
            NEVER,
            "delegate",
        ),
        (
            "between tries",
            script![fail(503, "{\"error\": {\"message\": \"busy\"}}")],
            NEVER,
            "trying again",
        ),
    ];
    for (phase, mut steps, config, mark) in phases {
        for key in ["\x03", "\x1b"] {
            steps.truncate(2);
            let server = Server::start(Kind::LlamaServer, 32_768, steps.clone());
            let mut t = waits(server.clone(), config, mark);
            if phase == "a nested agent" {
                while server.requests().len() < 2 {
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
            interrupted(&mut t, phase, key);
            is_gone("sleep 77.5");
            server.then(say("here I am"));
            goes_on(&mut t, phase);
        }
    }
}

#[test]
fn an_interrupt_while_a_summary_is_written() {
    for (key, step) in [
        ("\x03", say("x").after(LONG)),
        ("\x1b", say(&many_words()).paced(Duration::from_millis(100))),
    ] {
        let mut steps: Vec<Step> = (1..6).map(|n| run(&format!("seq {n} 2000"))).collect();
        steps.push(say("one"));
        let server = Server::start(Kind::LlamaServer, 32_768, steps);
        server.summarise_by(step);
        let mut t = waits(server.clone(), NEVER, "6 requests");
        t.wait_for("\x1b[?2026h");
        t.types("/compact\r");
        t.wait_for("asked for a summary");
        while server.requests().len() < 7 {
            std::thread::sleep(Duration::from_millis(20));
        }
        interrupted(&mut t, "a summary", key);
        server.then(say("here I am"));
        // Nothing of the conversation is lost.
        let before = server.requests()[5].clone();
        goes_on(&mut t, "a summary");
        let requests = server.requests();
        let after = requests.last().expect("a request");
        let parts = |r: &support::server::Recorded| strict::parts(&r.path, &r.body);
        let (old, new) = (parts(&before), parts(after));
        assert_eq!(old[..], new[..old.len()]);
    }
}

/// The window fills in the middle of a turn, which asks for a summary by itself.
#[test]
fn an_interrupt_while_a_turn_makes_room() {
    for (key, step) in [
        ("\x03", say("x").after(LONG)),
        ("\x1b", say(&many_words()).paced(Duration::from_millis(100))),
    ] {
        let talk = |n: usize| -> String { (0..200).map(|at| format!("w{n}-{at} ")).collect() };
        let steps: Vec<Step> = (1..20)
            .map(|n| run(&format!("echo {n}")).with_text(&talk(n)))
            .collect();
        let server = Server::start(Kind::LlamaServer, 8_192, steps);
        server.summarise_by(step);
        let mut t = waits(server.clone(), NEVER, "making room");
        let asks = |r: &support::server::Recorded| strict::asks_for_summary(&r.path, &r.body);
        let end = Instant::now() + Duration::from_secs(20);
        while !server.requests().last().is_some_and(asks) {
            assert!(Instant::now() < end, "no summary is asked for");
            std::thread::sleep(Duration::from_millis(20));
        }
        let before = server.requests();
        interrupted(&mut t, "making room", key);
        assert_eq!(server.requests().len(), before.len(), "nothing is sent");
        // The next turn needs the room as well, and gets it.
        server.summarise_with("<state_snapshot>some numbers were echoed</state_snapshot>");
        server.then(say("here I am"));
        let shown = t.says("and now?");
        assert!(shown.contains("summarised by the model"), "{shown}");
        assert!(shown.contains("here I am"), "{shown}");
        let requests = server.requests();
        let text = strict::all_text(&requests.last().expect("a request").body);
        assert!(
            text.contains("some numbers were echoed") && text.contains("and now?"),
            "{text}"
        );
        t.types("/exit\r");
        assert_eq!(t.exit_code(), Some(0));
        assert!(t.is_as_it_was());
    }
}

/// Ollama loads a model with the first request that needs it.
#[test]
fn an_interrupt_while_ollama_loads_the_model() {
    for key in ["\x03", "\x1b"] {
        let server = Server::start(
            Kind::Ollama,
            32_768,
            script![say("x").after(LONG), say("here I am")],
        );
        server.loads_for(LONG);
        let mut t = Terminal::ollama(server, NEVER, Some("the word is albatross"));
        t.wait_for("loading the model");
        interrupted(&mut t, "loading", key);
        goes_on(&mut t, "loading");
    }
}

/// LM Studio is asked to load a model before the session begins, and when another one is chosen.
#[test]
fn an_interrupt_while_lm_studio_loads_the_model() {
    let server = Server::start(Kind::LmStudio, 4_096, script![say("done")]);
    server.loads_for(LONG);
    let mut t = Terminal::on(server, NEVER, Some("hi"));
    t.wait_for("  [y] yes  [n] no: ");
    t.types("y\n");
    while !t.server.paths().iter().any(|p| p.ends_with("/models/load")) {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(150));
    t.types("\x03");
    assert_eq!(t.exit_code(), Some(130));
    assert!(t.is_as_it_was());

    let other = Server::start(Kind::LmStudio, 4_096, script![say("x")]);
    other.loads_for(LONG);
    let config = format!(
        "{NEVER}[model_providers.far]\nname = \"Far\"\nbase_url = \"http://127.0.0.1:{}/v1\"\n",
        other.port()
    );
    let server = Server::start(
        Kind::LlamaServer,
        32_768,
        script![say("one"), say("here I am")],
    );
    let mut t = waits(server, &config, "1 request");
    t.wait_for("\x1b[?2026h");
    t.types("/model far mock\r");
    t.wait_for("  [y] yes  [n] no: ");
    t.types("y");
    while !other.paths().iter().any(|p| p.ends_with("/models/load")) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let from = t.screen().len();
    t.types("\x03");
    let end = Instant::now() + Duration::from_secs(5);
    while !t.screen()[from..].contains("\x1b[?2026h") {
        assert!(Instant::now() < end, "{}", t.screen());
        std::thread::sleep(Duration::from_millis(20));
    }
    goes_on(&mut t, "another model");
}

#[test]
fn an_interrupt_while_a_hook_runs() {
    for moment in ["UserPromptSubmit", "PreToolUse", "Stop"] {
        let hooks =
            json!({"hooks": {moment: [{"hooks": [{"command": "touch ../begun; sleep 77.6"}]}]}});
        let hooks = hooks.to_string();
        let steps = script![run("echo hi"), say("x")];
        let server = Server::start(Kind::LlamaServer, 32_768, steps);
        let files = [("home/hooks.json", hooks.as_str())];
        let mut t = Terminal::among(server.clone(), NEVER, &files, Some("the word is albatross"));
        t.wait_for("let them run");
        t.types("y\r");
        while !t.home.path().join("begun").exists() {
            std::thread::sleep(Duration::from_millis(20));
        }
        interrupted(&mut t, moment, "\x03");
        is_gone("sleep 77.6");
        // It does not run again: this is about what is left of the turn.
        fs::write(t.home.path().join("home/hooks.json"), "{}").expect("the file");
        t.types("/exit\r");
        let code = t.exit_code();
        assert_eq!(code, Some(0), "{moment}");
        server.then(say("here I am"));
        let mut t = t.again(&["resume", "--last"]);
        t.wait_for_prompt();
        let shown = t.says("and now?");
        assert!(shown.contains("here I am"), "{moment}: {shown}");
    }
}

#[test]
fn an_interrupt_in_what_asks_the_server() {
    let server = Server::start(
        Kind::LlamaServer,
        32_768,
        script![say("one"), say("x").after(LONG), say("here I am")],
    );
    let mut t = waits(server, NEVER, "1 request");
    t.wait_for("\x1b[?2026h");
    let ws = t.home.path().join("ws");
    let git = Command::new("git")
        .args(["init", "-q"])
        .current_dir(&ws)
        .status();
    assert!(git.expect("git is there").success());
    fs::write(ws.join("b.txt"), "new\n").expect("a file");
    t.types("/review\r");
    while t.server.requests().len() < 2 {
        std::thread::sleep(Duration::from_millis(20));
    }
    interrupted(&mut t, "a review", "\x03");
    goes_on(&mut t, "a review");
}

/// Stopped and continued by somebody else, the session goes on where it was.
#[test]
fn a_session_that_was_stopped_goes_on() {
    let steps = script![say("one").after(Duration::from_millis(1_500)), say("two")];
    let server = Server::start(Kind::LlamaServer, 32_768, steps);
    let mut t = waits(server, "", "reading the prompt");
    t.signal(libc::SIGSTOP);
    std::thread::sleep(Duration::from_millis(300));
    t.signal(libc::SIGCONT);
    t.types("then this\r");
    t.wait_for("1 waiting");
    t.wait_for("› then this");
    t.wait_for("two");
    t.wait_for("\x1b[?2026h");
    // And at the prompt.
    t.signal(libc::SIGSTOP);
    std::thread::sleep(Duration::from_millis(100));
    t.signal(libc::SIGCONT);
    assert!(t.says("/ps").contains("no command is running"));
    t.types("/exit\r");
    assert_eq!(t.exit_code(), Some(0));
    assert!(t.is_as_it_was());
}

/// Ctrl+Z under a shell: it has its terminal back, and `fg` the session.
fn there_and_back(t: &mut Terminal, place: &str) {
    let from = t.screen().len();
    t.types("\x1a");
    let stopped = |t: &Terminal| t.screen()[from..].contains("Stopped");
    let end = Instant::now() + Duration::from_secs(5);
    while !stopped(t) {
        assert!(Instant::now() < end, "{place}: not stopped: {}", t.screen());
        std::thread::sleep(Duration::from_millis(20));
    }
    let asked = t.screen().len();
    t.types("stty -a; echo asked=$?\r");
    let end = Instant::now() + Duration::from_secs(5);
    while !t.screen()[asked..].contains("asked=0") {
        assert!(Instant::now() < end, "{place}: {}", t.screen());
        std::thread::sleep(Duration::from_millis(20));
    }
    let modes = t.screen()[asked..].replace("\r\n", " ");
    let modes = modes.replace('\n', " ");
    for mode in [" icanon", " echo ", " isig", "susp = ^Z"] {
        assert!(modes.contains(mode), "{place}: {mode}: {modes}");
    }
    // Marks of pastes and of the focus would be keys to what runs there: they are off, but for those
    // that the shell itself sets.
    let told = t.screen()[from..asked].to_owned();
    let on = |mark: &str| told.rfind(&format!("{mark}h")) > told.rfind(&format!("{mark}l"));
    assert!(!on("\x1b[?1004"), "{place}: {told:?}");
    t.types("fg\r");
    std::thread::sleep(Duration::from_millis(600));
}

#[test]
fn a_shell_stops_the_session_and_brings_it_back() {
    let choice = json!({"questions": [{"question": "Which colour?", "header": "Colour",
        "options": [{"label": "red", "description": "r"}, {"label": "green", "description": "g"}], "multiSelect": false}]});
    let words: String = (1..80).map(|n| format!("word-{n} ")).collect();
    let steps = script![
        say(&words).paced(Duration::from_millis(50)),
        run("echo begun; sleep 3; echo over"),
        call("ask_user_question", choice),
        say("the end is here")
    ];
    let server = Server::start(Kind::LlamaServer, 32_768, steps);
    let mut t = Terminal::in_shell(server, &format!("harness_guidance = false\n{ASKS}"));
    t.types("$INTERPRETER\r");
    t.wait_for("\x1b[?2026h");
    // At the prompt: what was typed is still there.
    t.types("go ");
    std::thread::sleep(Duration::from_millis(200));
    there_and_back(&mut t, "the prompt");
    t.types("on\r");
    // While a reply streams, with a message begun.
    t.wait_for("word-3");
    t.types("then");
    std::thread::sleep(Duration::from_millis(200));
    there_and_back(&mut t, "a reply");
    t.types(" this\r");
    // At a question of one key; it is shown again.
    t.wait_for(QUESTION);
    std::thread::sleep(Duration::from_millis(200));
    there_and_back(&mut t, "a question");
    assert_eq!(
        t.screen().matches("may this be done?").count(),
        2,
        "{}",
        t.screen()
    );
    t.types("y");
    // While a command runs.
    t.wait_for("· begun");
    there_and_back(&mut t, "a command");
    // At a question that takes a line.
    t.wait_for("your own words: ");
    std::thread::sleep(Duration::from_millis(200));
    there_and_back(&mut t, "a line");
    t.types("2\r");
    t.wait_for("the end is here");
    let requests = t.server.requests();
    let text = strict::all_text(&requests.last().expect("a request").body);
    assert!(text.contains("over") && text.contains("green"), "{text}");
    let end = Instant::now() + Duration::from_secs(10);
    while !t.screen().ends_with("\x1b[?2026l") && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    t.types("/exit\r");
    t.wait_for("resume with: ");
    t.types("stty -a; exit 7\r");
    assert_eq!(t.exit_code(), Some(7));
}
