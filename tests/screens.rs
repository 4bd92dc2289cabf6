//! What a person sees in a terminal, held as text; and that nothing else reaches it.
//!
//! `INTERPRETER_SCREENS=write` writes the screens anew, to be read before they are committed.
#![cfg(target_os = "linux")]

mod support;

use open_interpreter::cli::slash::COMMANDS;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use support::script::*;
use support::server::{Kind, Server};
use support::terminal::{Look, PLAIN, Terminal};

const QUESTION: &str = "your answer (no): ";
const WIDTHS: [u16; 2] = [80, 40];

fn narrow(columns: u16) -> Look {
    Look { columns, ..PLAIN }
}

fn on(columns: u16, config: &str, steps: Vec<Step>, prompt: Option<&str>) -> Terminal {
    let server = Server::start(Kind::LlamaServer, 32_768, steps);
    let config = format!("harness_guidance = false\n{config}");
    Terminal::with(narrow(columns), server, &config, prompt)
}

/// A row without what is another one in each run: times, speeds, ids, folders, ports, tokens.
fn lasting(row: &str, t: &Terminal) -> String {
    let home = t.home.path().display().to_string();
    let row = row
        .replace(&home, "/tmp/.tmpHOME00")
        .replace(&t.server.port().to_string(), "40000");
    let words: Vec<&str> = row.split(' ').collect();
    let is_number = |word: &str| word.replace(',', "").parse::<f64>().is_ok();
    let mut out: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).copied();
        let before = at.checked_sub(1).and_then(|at| words.get(at).copied());
        out.push(match *word {
            w if next == Some("s") && is_number(w) => "0.0".into(),
            w if w.ends_with("/s") && is_number(w.trim_end_matches("/s")) => "1000.0/s".into(),
            w if before == Some("window") && is_number(w) => "N".into(),
            w if next == Some("tokens") && is_number(w) => "N".into(),
            w if next.is_some_and(|n| n.starts_with('%')) => {
                w.trim_end_matches(|c: char| c.is_ascii_digit()).into()
            }
            w if w.len() == 36 && w.matches('-').count() == 4 => "ID".into(),
            w => w.into(),
        });
    }
    let row = out.join(" ");
    let row = row.trim_end();
    // A deed that took longer than usual says so.
    match row.starts_with(['✓', '✗', '!']) {
        true => row.trim_end_matches(" · 0.0 s").to_owned(),
        false => row.to_owned(),
    }
}

/// An id that the terminal broke in two.
fn without_ids(rows: &mut [String]) {
    let is_id = |text: &str| {
        let digits = text.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        digits && text.len() == 36 && text.matches('-').count() == 4
    };
    for at in 1..rows.len() {
        let whole = format!("{}{}", rows[at - 1].trim(), rows[at]);
        if is_id(&whole) {
            let indent = rows[at - 1].len() - rows[at - 1].trim_start().len();
            rows[at - 1] = format!("{}ID", " ".repeat(indent));
            rows[at].clear();
        }
    }
}

/// The screen is the one that is kept. It is looked at when the prompt is there.
fn holds(name: &str, t: &Terminal) {
    t.at_prompt();
    let rows = t.rows();
    let begin = rows.iter().position(|row| row.starts_with('›'));
    let rows = &rows[begin.unwrap_or(0)..];
    let mut rows: Vec<String> = rows.iter().map(|row| lasting(row, t)).collect();
    without_ids(&mut rows);
    let text = rows.join("\n") + "\n";
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/screens")
        .join(format!("{name}.txt"));
    if std::env::var_os("INTERPRETER_SCREENS").is_some_and(|v| v == "write") {
        fs::write(&file, &text).expect("the screen is written");
        return;
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(text, kept, "{name} is another screen now");
}

/// Every kind of question, and every answer but the one that stops.
#[test]
fn questions_of_each_kind() {
    let ask = json!({"questions": [{"question": "Which colour?", "header": "Colour",
        "options": [{"label": "red", "description": "like a rose"}, {"label": "green", "description": "like grass"}],
        "multiSelect": false}]});
    for columns in WIDTHS {
        let steps = script![
            run("touch one.txt && echo a command that is longer than the narrow one of two rows"),
            run("touch one.txt"),
            write("new.txt", "first\nsecond\n"),
            read("a.py"),
            edit("a.py", "two", "2"),
            call("ask_user_question", ask.clone()),
            run("rm -rf build"),
            run("touch \u{202e}x\u{200b}"),
            say("all done")
        ];
        let mut t = on(columns, "approval_policy = \"untrusted\"\n", steps, None);
        let file = t.home.path().join("ws/a.py");
        fs::write(file, "one\ntwo\nthree\n").expect("a file");
        t.wait_for_prompt();
        t.types("go\r");
        let mut asked = 0;
        let mut next = |t: &Terminal, mark: &str| {
            asked += 1;
            let end = Instant::now() + Duration::from_secs(20);
            while t.screen().matches(mark).count() < asked && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(20));
            }
            // The question is there to be answered once its keys are listened to.
            std::thread::sleep(Duration::from_millis(100));
        };
        for answer in ["n", "s", "y", "t"] {
            next(&t, QUESTION);
            t.types(answer);
        }
        t.wait_for("what to do instead: ");
        t.types("leave two alone\r");
        t.wait_for("a number, or your own words: ");
        std::thread::sleep(Duration::from_millis(100));
        t.types("2\r");
        for answer in ["\r", "n"] {
            next(&t, QUESTION);
            t.types(answer);
        }
        t.wait_for("all done");
        t.wait_for("9 requests");
        holds(&format!("questions-{columns}"), &t);
        let words = t
            .server
            .requests()
            .last()
            .expect("a request")
            .body
            .to_string();
        assert!(words.contains("green") && words.contains("leave two alone"));
        assert!(t.home.path().join("ws/one.txt").is_file());
    }
}

/// Answers the questions in turn with these keys, each when it is there.
fn answers(t: &mut Terminal, keys: &[&str]) {
    let asked = |t: &Terminal| t.screen().matches(QUESTION).count();
    let before = asked(t);
    for (at, key) in keys.iter().enumerate() {
        let end = Instant::now() + Duration::from_secs(20);
        while asked(t) < before + at + 1 {
            assert!(Instant::now() < end, "no question {at}: {}", t.screen());
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(100));
        t.types(key);
    }
}

/// The kinds of questions that the first test has not: what leaves the sandbox, what a rule asks
/// about, long commands, input, patches, tools of servers, pages, other folders, plans.
#[test]
fn questions_of_further_kinds() {
    const RULES: &str = "prefix_rule(pattern=[\"make\", \"deploy\"], decision=\"prompt\", justification=\"it reaches the customers\")\n";
    const PATCH: &str = "*** Begin Patch\n*** Update File: a.py\n@@\n one\n-two\n+2\n*** Add File: b.py\n+new\n*** End Patch";
    const PLAN: &str = "# Plan\n\n1. Look at `a.py`, which is where the numbers are written as words.\n2. Write them as digits.\n\n| file | change |\n|---|---|\n| a.py | digits |\n";
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/mcp_server.py");
    let config = format!(
        "approval_policy = \"untrusted\"\nharness_guidance = false\n[mcp_servers.demo]\ncommand = \"python3\"\nargs = [{script:?}, \"../demo.log\"]\n"
    );
    let long: String = (1..=30).map(|n| format!("echo {n} && \\\n")).collect();
    let files = [("home/rules/r.rules", RULES), ("ws/a.py", "one\ntwo\n")];
    let wish = json!({"cmd": "make install", "sandbox_permissions": "require_escalated", "justification": "May I install it for all users?"});
    for columns in WIDTHS {
        let steps = script![
            call("exec_command", wish.clone()),
            run("make deploy TARGET=everyone"),
            run(&format!("{long}rm -rf /srv/data")),
            call(
                "exec_command",
                json!({"cmd": "sh -c 'sleep 60'", "yield_time_ms": 250})
            ),
            call(
                "write_stdin",
                json!({"session_id": 1, "chars": "cd /tmp\nrm -r made-up\n"})
            ),
            call("apply_patch", json!({"input": PATCH})),
            call("mcp__demo__touch", json!({"path": "touched.txt"})),
            say("first part done"),
            call(
                "web_fetch",
                json!({"url": "https://example.com/a?b=1", "prompt": "what is there?"})
            ),
            write("/srv/made-up/x.txt", "x\n"),
            say("second part done"),
            call("exit_plan_mode", json!({"plan": PLAN})),
            say("all done")
        ];
        let server = Server::start(Kind::LlamaServer, 32_768, steps);
        let mut t = Terminal::set_up(narrow(columns), server, &config, &files, None);
        t.wait_for_prompt();
        t.says("/harness native");
        t.types("go\r");
        answers(&mut t, &["n", "n", "n", "y", "n", "y", "y"]);
        t.wait_for("first part done");
        t.wait_for("8 requests");
        t.at_prompt();
        t.says("/stop");
        t.says("/harness qwen-code");
        t.types("and go on\r");
        answers(&mut t, &["n", "n"]);
        t.wait_for("second part done");
        t.wait_for("3 requests");
        holds(&format!("further-questions-{columns}"), &t);
        let ws = t.home.path().join("ws");
        let text = |name: &str| fs::read_to_string(ws.join(name)).expect("the file");
        assert_eq!(
            (text("a.py").as_str(), text("b.py").as_str()),
            ("one\n2\n", "new\n")
        );
        // A plan is put where planning was asked for.
        t.says("/plan on");
        let from = t.screen().len();
        t.types("plan it\r");
        answers(&mut t, &["y"]);
        let shown = t.screen()[from..].to_owned();
        assert!(shown.contains("Shall it be carried"), "{shown}");
        assert!(shown.contains("  a.py │ digits"), "{shown}");
        t.wait_for("all done");
        assert!(t.screen()[from..].contains("planning ends"));
    }
}

/// Commands whose text is of this machine, and how a row of it begins.
const OF_THE_MACHINE: [(&str, &str); 5] = [
    ("permissions never", "nothing was changed"),
    ("status", "sandbox "),
    ("context", "window "),
    ("doctor", ""),
    ("debug-config", "model "),
];

/// Every command of the table is typed, at both widths.
#[test]
fn every_command() {
    for columns in WIDTHS {
        let finding = "{\"findings\":[{\"title\":\"Bad\",\"body\":\"Really.\",\"code_location\":{\"absolute_file_path\":\"b.txt\",\"line_range\":{\"start\":1,\"end\":1}}}],\"overall_explanation\":\"Hm.\"}";
        let steps = script![
            write("a.txt", "one\n"),
            say("written"),
            say(finding),
            say("AGENTS.md is there already"),
            say("again")
        ];
        let mut t = on(columns, "approval_policy = \"never\"\n", steps, None);
        let ws = t.home.path().join("ws");
        let git = |args: &[&str]| {
            let done = Command::new("git").args(args).current_dir(&ws).output();
            assert!(done.expect("git is there").status.success());
        };
        git(&["init", "-q"]);
        t.wait_for_prompt();
        t.says("make a.txt");
        let mut typed: Vec<&str> = Vec::new();
        for line in [
            "/help",
            "/model mock mock",
            "/harness qwen-code",
            "/compact",
            "/diff",
            "/diff --turn",
            "/undo",
            "/redo",
            "/review",
            "/init",
            "/plan on",
            "/plan off",
            "/rename a name",
            "/sessions",
            "/skills",
            "/trust",
            "/hooks",
            "/mcp",
            "/ps",
            "/stop",
            "/export talk.md",
            "/fork nothing-like-it",
            "/resume nothing-like-it",
            "/statsu",
        ] {
            t.says(line);
            typed.push(line);
        }
        holds(&format!("commands-{columns}"), &t);
        for (name, begins) in OF_THE_MACHINE {
            let shown = t.says(&format!("/{name}"));
            assert!(
                shown.lines().any(|l| l.trim_start().starts_with(begins)),
                "/{name}:\n{shown}"
            );
            typed.push(name);
        }
        // The one sequence that carries what somebody else wrote, as letters and digits.
        let copied = t.says("/copy");
        let letters = copied
            .split_once("\x1b]52;c;")
            .and_then(|(_, rest)| rest.split_once('\x07'));
        let letters = letters.expect("the answer is put on the clipboard").0;
        assert!(
            letters
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+/=".contains(c))
        );
        typed.push("copy");
        for line in ["/new", "/clear"] {
            t.says(line);
            typed.push(line);
        }
        t.types("/exit\r");
        typed.push("exit");
        assert_eq!(t.exit_code(), Some(0));
        for command in COMMANDS {
            let is_it = |line: &&str| {
                let name = line.trim_start_matches('/').split(' ').next();
                name == Some(command.name)
            };
            // A command that is new stands here, too.
            assert!(typed.iter().any(is_it), "/{} is not typed", command.name);
        }
        assert_clean(&t.screen().replace(&format!("\x1b]52;c;{letters}\x07"), ""));
    }
}

/// A session whose words have no marks, in colour or without.
fn plain_words(columns: u16, color: bool) -> Terminal {
    let steps = script![
        write("a.txt", "one\ntwo\n"),
        run("seq 1 9; echo wrong >&2; exit 3"),
        call(
            "todo_write",
            json!({"todos": [{"id": "1", "content": "Look", "status": "completed"}, {"id": "2", "content": "Mend", "status": "in_progress"}]})
        ),
        say("all done")
    ];
    let server = Server::start(Kind::LlamaServer, 32_768, steps);
    let look = Look {
        color,
        ..narrow(columns)
    };
    let config = "approval_policy = \"untrusted\"\nharness_guidance = false\n";
    let mut t = Terminal::with(look, server, config, None);
    t.wait_for_prompt();
    t.types("go\r");
    answers(&mut t, &["y", "y"]);
    t.wait_for("4 requests");
    t.at_prompt();
    for line in [
        "/diff --turn",
        "/undo",
        "/redo",
        "/plan on",
        "/plan off",
        "/statsu",
    ] {
        t.says(line);
    }
    t.at_prompt();
    t
}

/// Colour adds styles and changes no word.
#[test]
fn colour_changes_no_word() {
    for columns in WIDTHS {
        let (plain, colour) = (plain_words(columns, false), plain_words(columns, true));
        let rows = |t: &Terminal| -> Vec<String> {
            let rows = t.rows();
            let begin = rows.iter().position(|row| row.starts_with('›'));
            let rows = rows.iter().skip(begin.unwrap_or(0));
            rows.map(|row| lasting(row, t)).collect()
        };
        assert_eq!(rows(&plain), rows(&colour));
        for styled in [
            "\x1b[32m✓\x1b[0m \x1b[1mwrite\x1b[0m a.txt",
            "\x1b[31m✗\x1b[0m \x1b[1mrun\x1b[0m",
            "  \x1b[32m    1 +one\x1b[0m",
        ] {
            assert!(
                colour.screen().contains(styled),
                "{styled:?}: {:?}",
                colour.screen()
            );
        }
        assert!(!plain.screen().contains("\x1b[32m"));
    }
}

/// What waits for trust, and what a person turns off.
#[test]
fn what_a_project_brings() {
    const HOOKS: &str = r#"{"hooks": {"PostToolUse": [{"matcher": "Edit|Write", "hooks": [{"command": "./scripts/format.sh --quiet"}]}]}}"#;
    const SERVER: &str =
        "[mcp_servers.weather]\ncommand = \"weather-server\"\nargs = [\"--verbose\"]\n";
    const SKILL: &str = "---\nname: pdf\ndescription: Fills in forms of PDF files and reads text out of them.\n---\nx\n";
    let files = [
        ("ws/.git/HEAD", "ref: refs/heads/main\n"),
        ("ws/.openinterpreter/config.toml", SERVER),
        ("ws/.openinterpreter/hooks.json", HOOKS),
        ("home/skills/pdf/SKILL.md", SKILL),
    ];
    for columns in WIDTHS {
        let server = Server::start(Kind::LlamaServer, 32_768, script![say("done")]);
        let mut t = Terminal::set_up(narrow(columns), server, "", &files, None);
        t.wait_for("your answer (not now): ");
        std::thread::sleep(Duration::from_millis(100));
        t.types("\r");
        t.wait_for_prompt();
        t.types("/trust\r");
        let end = Instant::now() + Duration::from_secs(20);
        while t.screen().matches("your answer (not now): ").count() < 2 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(100));
        t.types("\r");
        t.wait_for("nothing was changed");
        for line in [
            "/hooks",
            "/mcp",
            "/skills",
            "/skills off pdf",
            "/skills pd",
            "/skills off",
        ] {
            t.says(line);
        }
        holds(&format!("project-{columns}"), &t);
    }
}

/// What may reach a terminal: text, and the sequences that the program itself sends.
fn assert_clean(bytes: &str) {
    const OURS: [&str; 20] = [
        "\x1b[K",
        "\x1b[J",
        "\x1b[H",
        "\x1b[?7l",
        "\x1b[?7h",
        "\x1b[?1004h",
        "\x1b[?1004l",
        "\x1b[?2004h",
        "\x1b[?2004l",
        "\x1b[?2026h",
        "\x1b[?2026l",
        "\x1b[22;2t",
        "\x1b[23;2t",
        "\x1b[2J",
        "\x1b[?25l",
        "\x1b[?25h",
        "\x1b[6n",
        "\x1b[?u",
        "\x1b[c",
        "\x1b[m",
    ];
    let mut rest = bytes;
    while let Some(at) = rest.find('\x1b') {
        let (before, from) = rest.split_at(at);
        assert_plain(before);
        let moves = from.strip_prefix("\x1b[").and_then(|r| {
            let end = r.find(|c: char| !c.is_ascii_digit())?;
            ['A', 'B', 'C', 'D', 'G']
                .contains(&r[end..].chars().next()?)
                .then_some(end + 3)
        });
        let title = from.strip_prefix("\x1b]2;").and_then(|r| {
            let end = r.find('\x07')?;
            assert!(r[..end].ends_with("interpreter"), "{:?}", &r[..end]);
            assert_plain(&r[..end]);
            Some(end + 5)
        });
        let known = OURS.iter().find(|s| from.starts_with(**s)).map(|s| s.len());
        let length = known.or(moves).or(title);
        let shown: String = from.chars().take(20).collect();
        rest = &from[length.unwrap_or_else(|| panic!("{shown:?} reached the terminal"))..];
    }
    assert_plain(rest);
}

fn assert_plain(text: &str) {
    let bad = text
        .chars()
        .find(|c| c.is_control() && !"\r\n\t".contains(*c));
    assert_eq!(bad, None, "{text:?}");
    let hides = text.chars().find(|c| ('\u{202a}'..='\u{202e}').contains(c));
    assert_eq!(hides, None, "{text:?}");
}

/// Without colour the program sends no styles, so that every style would be somebody else's.
#[test]
fn nothing_raw_of_anyone_reaches_the_terminal() {
    const EVIL: &str = "a\x1b[31mred\x1b[2J\x1b]0;evil\x07\x1b]52;c;ZXZpbA==\x07\x1b[?1049h\x1bPq\x1b\\\u{9b}5m\x08\x08b\u{202e}c\x00";
    let name = "ev\x1b[31mil\x07.txt";
    let steps = script![
        think(EVIL)
            .with_text(EVIL)
            .and(run("printf 'o\\033[31mut\\033]0;evil\\007\\n'; ls")),
        read(name),
        write("b\x1b[2J.txt", EVIL),
        edit(name, "x", EVIL),
        call(EVIL, json!({EVIL: EVIL})),
        call(
            "todo_write",
            json!({"todos": [{"id": "1", "content": EVIL, "status": "pending"}]})
        ),
        call(
            "ask_user_question",
            json!({"questions": [{"question": EVIL, "header": EVIL,
            "options": [{"label": EVIL, "description": EVIL}, {"label": "b", "description": EVIL}], "multiSelect": false}]})
        ),
        fail(400, &json!({"error": {"message": EVIL}}).to_string()),
        say(EVIL)
    ];
    let mut t = on(80, "approval_policy = \"untrusted\"\n", steps, None);
    let ws = t.home.path().join("ws");
    fs::write(ws.join(name), "x\n").expect("a file");
    t.wait_for_prompt();
    t.types("go\r");
    let end = Instant::now() + Duration::from_secs(40);
    let mut answered = 0;
    while !t.screen().contains("\x1b[?2004h\x1b[?2026h") || t.server.requests().len() < 8 {
        let asked =
            t.screen().matches(QUESTION).count() + t.screen().matches("your own words: ").count();
        if asked > answered {
            answered = asked;
            std::thread::sleep(Duration::from_millis(100));
            t.types(if t.screen().ends_with("your own words: ") {
                "1\r"
            } else {
                "y"
            });
        }
        assert!(Instant::now() < end, "{:?}", t.screen());
        std::thread::sleep(Duration::from_millis(50));
    }
    t.wait_for("8 requests");
    t.at_prompt();
    for line in [
        "/diff",
        "/sessions",
        "/context",
        "/export a.md",
        "!printf 'x\\033[31my'",
    ] {
        t.says(line);
    }
    assert!(answered >= 3, "{}", t.screen());
    assert_clean(&t.screen());
}

/// The same of servers, hooks, skills, sessions, branches and settings.
#[test]
fn nothing_raw_of_a_server_or_a_project_reaches_the_terminal() {
    const EVIL: &str =
        "a\x1b[31mred\x1b[2J\x1b]0;evil\x07\x1b]52;c;ZXZpbA==\x07\u{9b}5m\x08\u{202e}c";
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/mcp_server.py");
    let table = |name: &str, more: &str| {
        format!(
            "[mcp_servers.{name}]\ncommand = \"python3\"\nargs = [{script:?}, \"../{name}.log\", \"--evil\"{more}]\n"
        )
    };
    let config = format!(
        "approval_policy = \"untrusted\"\nharness_guidance = false\n{}{}",
        table("demo", ""),
        table("dead", ", \"--hang\"")
    );
    // What a hook says in its answer, what it complains, and what it is.
    let said = json!({"systemMessage": EVIL, "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": EVIL}});
    let hooks = json!({"hooks": {
        "UserPromptSubmit": [{"hooks": [{"command": "cat ../said.json", "statusMessage": EVIL}]}],
        "PostToolUse": [{"matcher": "x", "hooks": [{"command": format!("echo '{EVIL}'")}]}],
        "Stop": [{"hooks": [{"command": "cat ../evil.txt >&2; exit 3"}]}]}});
    let (said, hooks) = (said.to_string(), hooks.to_string());
    let escaped = json!(EVIL).to_string();
    let skill = format!("---\nname: pdf\ndescription: {escaped}\n---\n{EVIL}\n");
    let settings = format!("developer_instructions = {escaped}\n");
    let head = format!("ref: refs/heads/{EVIL}\n");
    let files = [
        ("said.json", said.as_str()),
        ("evil.txt", EVIL),
        ("home/hooks.json", hooks.as_str()),
        ("home/skills/pdf/SKILL.md", skill.as_str()),
        ("ws/.git/HEAD", head.as_str()),
        ("ws/.openinterpreter/config.toml", settings.as_str()),
    ];
    let steps = vec![
        call(
            &open_interpreter::tools::mcp::shown_name("demo", EVIL),
            json!({EVIL: 1}),
        ),
        call("mcp__demo__form", json!({})),
        call("mcp__demo__fail", json!({})),
        call("mcp__demo__wrong", json!({})),
        say("all done"),
        fail(401, &json!({"error": {"message": EVIL}}).to_string()),
        fail(400, EVIL),
        raw(&[&format!(
            "data: {}\n\n",
            json!({"error": {"message": EVIL, "code": 400}})
        )]),
        say("again"),
    ];
    let server = Server::start(Kind::LlamaServer, 32_768, steps);
    let mut t = Terminal::among(server, &config, &files, Some(EVIL));
    t.wait_for("your answer (not now): ");
    std::thread::sleep(Duration::from_millis(200));
    t.types("y\r");
    t.wait_for("let them run");
    std::thread::sleep(Duration::from_millis(200));
    t.types("y\r");
    let end = Instant::now() + Duration::from_secs(40);
    let mut answered = 2;
    while !t.screen().contains("all done") {
        let asked = t.screen().matches("your answer").count();
        if asked > answered {
            answered = asked;
            std::thread::sleep(Duration::from_millis(100));
            t.types(if t.screen().ends_with("(no): ") {
                "y"
            } else {
                "\r"
            });
        }
        assert!(Instant::now() < end, "{}", t.screen());
        std::thread::sleep(Duration::from_millis(50));
    }
    t.wait_for("5 requests");
    t.at_prompt();
    for line in [
        "/mcp",
        "/mcp tools",
        "/hooks",
        "/skills",
        "/skills pdf",
        "/trust",
        "/status",
        "/sessions",
        "/context",
        "/debug-config",
        "use $pdf",
        "more",
        "and more",
        "/doctor",
        "/export a.md",
    ] {
        t.says(line);
    }
    t.says("/new");
    t.types("/resume\r");
    t.wait_for("Enter takes it");
    t.types("\x1b");
    t.wait_for("nothing was changed");
    // All of it was there to be seen, and nothing as it came.
    for shown in ["demo", "dead", "$pdf", "call demo"] {
        assert!(t.screen().contains(shown), "{shown}: {}", t.screen());
    }
    assert_clean(&t.screen());
    t.types("/exit\r");
    let t = t.again(&["resume"]);
    t.wait_for("Enter takes it");
    assert_clean(&t.screen());
}

#[test]
fn ten_megabytes_of_output_are_no_trouble() {
    let steps = script![run("seq 1 1400000; echo THE-END"), say("all done")];
    let began = Instant::now();
    let mut t = on(80, "approval_policy = \"never\"\n", steps, Some("go"));
    t.wait_for("all done");
    t.wait_for("2 requests");
    assert!(
        t.screen().len() < 300_000,
        "{} bytes were shown",
        t.screen().len()
    );
    let words = t.server.requests()[1].body.to_string();
    assert!(
        words.contains("THE-END") && words.len() < 200_000,
        "{}",
        words.len()
    );
    assert!(began.elapsed() < Duration::from_secs(60));
    t.types("/exit\r");
    assert_eq!(t.exit_code(), Some(0));
}

/// What is printed after the window got another width is laid out for it, and nothing is lost.
#[test]
fn the_window_changes_while_a_reply_streams() {
    let line = |n: usize| {
        format!(
            "{n} words that go on until the line is longer than the window is wide now, {n}.\n\n"
        )
    };
    let text: String = (1..=12).map(line).collect();
    let steps = script![say(&text).paced(Duration::from_millis(12))];
    let mut t = on(80, "", steps, Some("go"));
    t.wait_for("2 words that go on");
    t.resize(40);
    t.wait_for("1 request");
    let rows: Vec<String> = t.rows().iter().map(|r| r.trim_end().to_owned()).collect();
    let first = rows
        .iter()
        .position(|r| r == "12 words that go on until the line is");
    let next = first.and_then(|at| rows.get(at + 1)).map(String::as_str);
    assert_eq!(
        next,
        Some("longer than the window is wide now, 12."),
        "{rows:#?}"
    );
    let all = t.screen();
    for n in 1..=12 {
        assert!(all.contains(&format!("now, {n}.")), "{n}: {all}");
    }
}

#[test]
fn a_closed_window_ends_the_session_which_resumes() {
    let steps = script![
        say("one"),
        say("two").after(Duration::from_secs(30)),
        say("three")
    ];
    let mut t = on(80, "", steps, Some("the word is albatross"));
    t.wait_for("1 request");
    t.types("and\r");
    let end = Instant::now() + Duration::from_secs(20);
    while t.server.requests().len() < 2 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    t.close();
    let code = t.exit_code();
    assert!(matches!(code, Some(143) | None), "{code:?}");
    let mut t = t.again(&["resume", "--last"]);
    t.wait_for_prompt();
    t.says("what was it?");
    let words = t
        .server
        .requests()
        .last()
        .expect("a request")
        .body
        .to_string();
    assert!(words.contains("albatross"), "{words}");
}

const HABITS: &str = include_str!("../examples/habit-tracker/habits.py");
const TESTS: &str = include_str!("../examples/habit-tracker/test_habits.py");
const WRONG: &str = "        if previous is not None and day.day == previous.day + 1:";
const RIGHT: &str = "        if previous is not None and (day - previous).days == 1:";

/// A morning with the habit tracker, by keys.
#[test]
fn the_habit_tracker_is_played_through() {
    let steps = script![
        read("habits.py"),
        say("The months are wrong."),
        say("Right: it is the comparison of days."),
        edit("habits.py", WRONG, RIGHT),
        run("python3 -B test_habits.py"),
        say("Fixed, all tests pass."),
        read("habits.py"),
        edit("habits.py", WRONG, RIGHT),
        run("python3 -B test_habits.py"),
        say("Fixed once more.")
    ];
    let mut t = on(80, "", steps, None);
    let ws = t.home.path().join("ws");
    fs::write(ws.join("habits.py"), HABITS).expect("a file");
    fs::write(ws.join("test_habits.py"), TESTS).expect("a file");
    for args in [
        "init -q",
        "add .",
        "-c user.name=a -c user.email=a@b commit -qm a",
    ] {
        let done = Command::new("git")
            .args(args.split(' '))
            .current_dir(&ws)
            .status();
        assert!(done.expect("git is there").success());
    }
    let now = || fs::read_to_string(ws.join("habits.py")).expect("the file");
    t.wait_for_prompt();
    t.says("Why do the tests fail? Look, and change nothing.");
    assert_eq!(now(), HABITS);
    t.says("No, the months are fine. Look at the comparison.");
    let shown = t.says("Yes. Fix it and run the tests.");
    assert!(shown.contains("3 passed"), "{shown}");
    let fixed = HABITS.replace(WRONG, RIGHT);
    assert_eq!(now(), fixed);
    let shown = t.says("/diff");
    assert!(shown.contains("habits.py  +1, -1"), "{shown}");
    assert!(
        shown.contains("+        if previous is not None and (day - previous).days == 1:"),
        "{shown}"
    );
    t.says("!git restore habits.py");
    assert_eq!(now(), HABITS);
    t.says("/harness minimal");
    t.says("Yes. Fix it and run the tests.");
    assert_eq!(now(), fixed);
    holds("habit-tracker", &t);
}

/// The first start: no config. The model is chosen by a word of its name, and kept after a yes.
#[test]
fn the_first_start_finds_the_model_and_asks_before_it_writes() {
    for (answer, kept) in [("y", true), ("n", false)] {
        let server = Server::start(Kind::Ollama, 32_768, script![say("all done")]);
        let mut t = Terminal::first(PLAIN, server);
        t.wait_for("Enter takes it");
        let shown = t.screen();
        assert!(shown.contains("Which model?"), "{shown}");
        assert!(shown.contains("1  mock "), "{shown}");
        // Hosted providers stand below, with the variable of their key.
        t.types("OpenAI ");
        t.wait_for("hosted, needs OPENAI_API_KEY");
        t.types(&"\x7f".repeat(7));
        let config = t.home.path().join("home/config.toml");
        t.types("mock");
        std::thread::sleep(Duration::from_millis(200));
        assert!(!config.exists());
        t.types("\r");
        t.wait_for("Write it? [y] yes  [n] no: ");
        std::thread::sleep(Duration::from_millis(200));
        assert!(!config.exists());
        t.types(answer);
        t.wait_for("harness ");
        assert_eq!(config.exists(), kept);
        if kept {
            let text = fs::read_to_string(&config).expect("the config");
            assert_eq!(text, "model = \"mock\"\nmodel_provider = \"ollama\"\n");
        }
        assert!(t.says("hi").contains("all done"));
        assert_clean(&t.screen());
        // A second start asks only where nothing was written.
        t.types("/exit\r");
        let t = t.again(&[]);
        t.wait_for(if kept { "harness " } else { "Which model?" });
        assert_eq!(t.screen().contains("Which model?"), !kept);
    }
}

/// A command that asks at the terminal finds none, and the terminal is as before (case O21).
#[test]
fn a_command_cannot_ask_at_the_terminal() {
    let steps = script![
        run("read -p 'Name? ' n < /dev/tty; echo got=$n"),
        run("python3 -c \"import getpass; getpass.getpass()\""),
        say("all done")
    ];
    let began = Instant::now();
    let mut t = on(80, "approval_policy = \"never\"\n", steps, Some("go"));
    t.wait_for("all done");
    assert!(began.elapsed() < Duration::from_secs(30));
    assert!(!t.screen().contains("\nName? "), "{}", t.screen());
    t.wait_for_prompt();
    t.types("/exit\r");
    assert_eq!(t.exit_code(), Some(0));
    assert!(t.is_as_it_was());
}

/// Undo brings back files that git does not know, with bytes and mode (case O30).
#[test]
fn undo_brings_back_untracked_files() {
    use std::os::unix::fs::PermissionsExt;
    let steps = script![
        read("notes.txt"),
        write("notes.txt", "gone"),
        run("rm run.sh;touch extra.txt"),
        say("all done"),
        read("notes.txt"),
        write("notes.txt", "gone again"),
        say("all done")
    ];
    let mut t = on(40, "approval_policy = \"never\"\n", steps, None);
    let ws = t.home.path().join("ws");
    let git = |args: &str| {
        let done = Command::new("git")
            .args(args.split(' '))
            .current_dir(&ws)
            .output();
        String::from_utf8(done.expect("git is there").stdout).expect("text")
    };
    git("init -q");
    fs::write(ws.join("notes.txt"), "keep me").expect("a file");
    fs::write(ws.join("run.sh"), "#!x").expect("a file");
    fs::set_permissions(ws.join("run.sh"), fs::Permissions::from_mode(0o755)).expect("a mode");
    let before = git("status --porcelain");
    t.wait_for_prompt();
    t.says("tidy");
    assert!(!ws.join("run.sh").exists());
    let shown = t.says("/undo");
    for part in [
        "took back turn 1",
        "restored notes.txt",
        "restored run.sh",
        "removed extra.txt",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let text = |name: &str| fs::read_to_string(ws.join(name)).expect("the file");
    assert_eq!(
        (text("notes.txt").as_str(), text("run.sh").as_str()),
        ("keep me", "#!x")
    );
    let mode = fs::metadata(ws.join("run.sh"))
        .expect("the file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o755);
    assert_eq!(git("status --porcelain"), before);
    // What the person changed since stays, and is shown.
    t.says("again");
    fs::write(ws.join("notes.txt"), "mine").expect("a file");
    let shown = t.says("/undo");
    assert!(shown.contains("mine"), "{shown}");
    assert_eq!(text("notes.txt"), "mine");
    holds("undo-40", &t);
}
