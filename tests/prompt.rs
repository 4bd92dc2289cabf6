//! At the prompt, and while a turn runs: keys, lines, what is shown, and how it is left.
#![cfg(unix)]

mod support;

use std::time::{Duration, Instant};
use support::script::*;
use support::server::{Kind, Server};
use support::terminal::{Look, PLAIN, Terminal};

const QUESTION: &str = "your answer (no): ";

fn start(steps: Vec<Step>, prompt: Option<&str>) -> Terminal {
    of(PLAIN, steps, prompt)
}

/// A session that asks before everything, and that gets no reminders.
fn of(look: Look, steps: Vec<Step>, prompt: Option<&str>) -> Terminal {
    let server = Server::start(Kind::LlamaServer, 32_768, steps);
    let config = "approval_policy = \"untrusted\"\nharness_guidance = false\n";
    Terminal::with(look, server, config, prompt)
}

fn asks() -> Vec<Step> {
    script![
        write("a.txt", "x\n").after(Duration::from_millis(700)),
        say("all done")
    ]
}

#[test]
fn words_are_an_answer() {
    let mut t = start(asks(), Some("go"));
    t.wait_for(QUESTION);
    t.types("t");
    t.wait_for("what to do instead: ");
    t.types("use another name\n");
    t.wait_for("all done");
    assert!(!t.has_file());
    let told = t.server.requests()[1].body.to_string();
    assert!(
        told.contains("the user said no: use another name"),
        "{told}"
    );
}

#[test]
fn what_is_typed_while_it_works_is_the_next_message() {
    let slow = || say("one moment").after(Duration::from_millis(1_500));
    let mut t = start(script![slow(), slow()], Some("go"));
    t.wait_for("harness qwen-code");
    t.types("and then thiz\x7fs\rhalf a");
    t.wait_for("1 waiting › half a");
    t.wait_for("› and then this");
    t.types(" word");
    t.wait_for("half a word");
    let end = Instant::now() + Duration::from_secs(20);
    while t.server.requests().len() < 2 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(
        t.last_words().contains("and then this"),
        "{}",
        t.last_words()
    );
    // What was not sent is at the prompt.
    t.types("\x1b");
    t.wait_for("interrupted");
    t.wait_for("› half a word");
}

#[test]
fn an_interrupt_keeps_what_waited_and_a_second_one_leaves() {
    let slow = say("one moment").after(Duration::from_secs(30));
    let mut t = start(script![slow], Some("go"));
    t.wait_for("harness qwen-code");
    t.types("then this\r");
    t.wait_for("1 waiting");
    t.types("\x03");
    t.wait_for("interrupted");
    t.wait_for("› then this");
    assert_eq!(t.server.requests().len(), 1);
    t.types("\x03");
    assert_eq!(t.exit_code(), Some(0));
    assert!(t.is_as_it_was());
}

#[test]
fn the_terminal_is_as_it_was_whatever_ends_a_turn() {
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        let slow = say("one moment").after(Duration::from_secs(30));
        let mut t = start(script![slow], Some("go"));
        t.wait_for("reading the prompt");
        t.types("x");
        t.wait_for("› x");
        assert!(!t.is_as_it_was());
        t.signal(signal);
        t.exit_code();
        assert!(t.is_as_it_was(), "after signal {signal}");
    }
}

#[test]
fn a_pasted_block_of_5000_lines_is_one_message() {
    let mut t = start(script![say("all done")], None);
    t.wait_for("› ");
    let lines: String = (1..=5_000).map(|n| format!("line {n}\r")).collect();
    t.types(&format!("\x1b[200~{lines}\x1b[201~"));
    t.wait_for("line 5000");
    t.types("!\r");
    t.wait_for("all done");
    assert_eq!(t.server.requests().len(), 1);
    let words = t.last_words();
    assert!(words.contains("line 1\\nline 2\\n") && words.contains("line 5000\\n!"));
}

#[test]
fn the_prompt_takes_lines_completes_names_and_opens_an_editor() {
    let mut t = start(script![say("all done")], None);
    std::fs::write(t.home.path().join("ws/notes.md"), "").expect("a file");
    t.wait_for("› ");
    t.types("/harn\tmini-s\t");
    t.wait_for("/harness mini-swe-agent");
    t.types("\x15fix @nts\t");
    t.wait_for("fix @notes.md");
    t.types("\x1b\rtwo\\\rthree\x07");
    t.wait_for("mend @notes.md");
    t.types("\r");
    t.wait_for("all done");
    assert_eq!(t.last_words(), "\"mend @notes.md\\ntwo\\nthree\"");
}

/// Also in a later session, whose history is that of all.
#[test]
fn the_history_is_searched() {
    let mut t = start(script![say("one"), say("two"), say("three")], None);
    t.wait_for("› ");
    t.says("look for the albatross");
    t.says("and the pelican");
    t.types("/exit\r");
    let mut t = t.again(&[]);
    t.wait_for("› ");
    t.types("\x12albat");
    t.wait_for("look for the albatross");
    t.types("\r");
    t.wait_for("three");
    assert_eq!(t.last_words(), "\"look for the albatross\"");
}

#[test]
fn an_own_command_is_shown_and_told_with_the_next_message() {
    let mut t = start(script![say("all done")], None);
    t.wait_for("› ");
    t.types("!printf 'o\\033[2Jk\\n' > a.txt; cat a.txt\r");
    t.wait_for("o^[[2Jk");
    assert!(t.has_file() && t.server.requests().is_empty());
    t.types("what was it?\r");
    t.wait_for("all done");
    let words = t.last_words();
    assert!(words.contains("<user_shell_command>"), "{words}");
    assert!(words.contains("Exit code: 0"), "{words}");
    assert!(words.ends_with("\\n\\nwhat was it?\""), "{words}");
}

#[test]
fn a_named_picture_is_attached() {
    let mut t = start(script![say("all done")], None);
    std::fs::write(t.home.path().join("ws/shot.png"), b"\x89PNG\r\n\x1a\n").expect("a file");
    t.wait_for("› ");
    t.types("what is on @shot.png ?\r");
    t.wait_for("all done");
    assert!(
        t.last_words()
            .contains("data:image/png;base64,iVBORw0KGgo=")
    );
}

const MARKDOWN: &str = "# Head\n\nSome **bold** words that are more than one row of forty columns.\n\n| A | B |\n|---|---|\n| 日本 | 1 |\n| x | 2 |\n";

#[test]
fn replies_fit_40_and_80_columns() {
    let look = Look {
        columns: 40,
        color: true,
        ..PLAIN
    };
    let t = of(look, script![say(MARKDOWN)], Some("go"));
    t.wait_for("1 request");
    let text = t.screen();
    assert!(text.contains("\x1b[1mHead\x1b[0m\r\n"), "{text}");
    assert!(
        text.contains("Some \x1b[1mbold\x1b[0m words that are more than one\r\n"),
        "{text}"
    );
    assert!(text.contains("row of forty columns.\r\n"), "{text}");
    let t = start(script![say(MARKDOWN)], Some("go"));
    t.wait_for("1 request");
    let text = t.screen();
    assert!(
        text.contains("Some **bold** words that are more than one row of forty columns.\r\n"),
        "{text}"
    );
    assert!(
        text.contains("A    │ B\r\n─────┼──\r\n日本 │ 1\r\nx    │ 2\r\n"),
        "{text}"
    );
}

#[test]
fn a_dumb_terminal_gets_plain_lines() {
    let look = Look {
        term: "dumb",
        color: true,
        ..PLAIN
    };
    let mut steps = asks();
    steps.push(say(MARKDOWN));
    let mut t = of(look, steps, Some("go"));
    t.wait_for(QUESTION);
    t.types("y\n");
    t.wait_for("all done");
    assert!(t.has_file());
    t.types("again\n");
    t.wait_for("2 |");
    assert!(!t.screen().contains('\x1b'), "{}", t.screen());
    assert!(t.screen().contains("Some **bold** words"));
    t.types("\x04");
    assert_eq!(t.exit_code(), Some(0));
}
