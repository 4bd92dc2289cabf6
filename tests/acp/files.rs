//! Files that the editor has open: its unsaved text counts, and changes go through it.

use super::*;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// An editor's open files, and what it was asked for.
#[derive(Default)]
struct Open {
    texts: BTreeMap<PathBuf, String>,
    asked: Vec<(String, PathBuf)>,
    /// It never answers.
    is_silent: bool,
}

impl Open {
    /// Answers a request for a file.
    fn answer(&mut self, editor: &mut Editor, message: &Value) {
        let method = message["method"].as_str().unwrap_or_default();
        if !method.starts_with("fs/") {
            return;
        }
        let params = &message["params"];
        let path = PathBuf::from(params["path"].as_str().expect("a path"));
        assert!(
            path.is_absolute() && params["sessionId"].is_string(),
            "{params}"
        );
        self.asked.push((method.into(), path.clone()));
        if self.is_silent {
            return;
        }
        let mut answer = json!({"jsonrpc": "2.0", "id": message["id"]});
        match (method, self.texts.get(&path)) {
            ("fs/read_text_file", Some(text)) => answer["result"] = json!({"content": text}),
            ("fs/write_text_file", Some(_)) => {
                let text = params["content"].as_str().expect("a text");
                std::fs::write(&path, text).expect("saved");
                self.texts.insert(path, text.into());
                answer["result"] = Value::Null;
            }
            _ => answer["error"] = json!({"code": -32002, "message": "not open here"}),
        }
        editor.write(&answer.to_string());
    }

    /// A whole turn.
    fn turn(&mut self, editor: &mut Editor, session: &str, text: &str) {
        editor.reply = silent;
        let id = editor.begin(session, text);
        loop {
            let message = editor.next(Duration::from_secs(30)).expect("a message");
            if message.get("method").is_none() && message["id"] == id {
                assert_eq!(stop(&message), "end_turn");
                return;
            }
            self.answer(editor, &message);
        }
    }
}

#[test]
fn unsaved_text_is_read_and_changes_go_through_the_editor() {
    for harness in ["qwen-code", "native", "claude-code"] {
        let steps = script![
            read("a.txt"),
            edit("a.txt", "x = 5", "x = 6"),
            write("b.txt", "new\n"),
            say("done"),
            say("done"),
            say("done")
        ];
        let agent = agent(steps).harness(harness).file("a.txt", "x = 1\n");
        let mut editor = Editor::start(agent);
        let folder = editor.running.home.path().join("ws");
        let (a, b) = (folder.join("a.txt"), folder.join("b.txt"));
        let session = editor.open();
        let mut open = Open::default();
        open.texts.insert(a.clone(), "x = 5\n".into());
        open.turn(&mut editor, &session, "go");
        let requests = editor.running.server.requests();
        let seen = support::strict::all_text(&requests[1].body);
        // A harness without a tool for it reads with a command, which sees the disk.
        let reads = harness != "native";
        assert_eq!(seen.contains("x = 5"), reads, "{harness}: {seen}");
        assert_eq!(std::fs::read_to_string(&a).expect("a.txt"), "x = 6\n");
        assert_eq!(open.texts[&a], "x = 6\n");
        assert!(open.asked.contains(&("fs/write_text_file".into(), a)));
        // A file that it would not write is written all the same.
        assert!(
            open.asked
                .contains(&("fs/write_text_file".into(), b.clone()))
        );
        assert_eq!(std::fs::read_to_string(b).expect("b.txt"), "new\n");
        let updates = editor.updates(&session, 0);
        let mut shown = updates
            .iter()
            .filter_map(|u| u["content"].as_array())
            .flatten();
        let diff = |d: &&Value| d["type"] == "diff" && d["newText"] == "x = 6\n";
        let last = shown.rfind(diff).expect("a comparison");
        assert_eq!(last["oldText"], "x = 5\n", "{harness}");
    }
}

#[test]
fn the_gate_judges_before_the_editor_is_asked() {
    let steps = script![
        write("../outside.txt", "x"),
        read("../home/config.toml"),
        say("done")
    ];
    let narrow = "[sandbox_workspace_write]\nexclude_slash_tmp = true\n";
    let agent = agent(steps).config_of("approval_policy", "never");
    let mut editor = Editor::start(agent.config(narrow));
    let session = editor.open();
    let outside = editor.running.home.path().join("outside.txt");
    let mut open = Open::default();
    open.texts.insert(outside.clone(), String::new());
    open.turn(&mut editor, &session, "go");
    assert_eq!(open.asked, []);
    assert!(!outside.exists());
}

/// A command that runs on could put a link in the place of a file that was judged.
#[test]
fn beside_a_running_command_the_disk_is_used() {
    let start = call(
        "Bash",
        json!({"command": "sleep 30", "run_in_background": true, "description": "wait"}),
    );
    let steps = script![start, write("a.txt", "x\n"), say("done")];
    let mut editor = Editor::start(agent(steps).harness("claude-code"));
    let session = editor.open();
    let mut open = Open::default();
    open.turn(&mut editor, &session, "go");
    assert_eq!(open.asked, []);
    assert!(editor.running.home.path().join("ws/a.txt").exists());
}

#[test]
fn an_editor_that_offers_nothing_or_never_answers_holds_nothing_up() {
    let steps = || script![write("a.txt", "x\n"), edit("a.txt", "x", "y"), say("done")];
    let mut editor = Editor::bare(agent(steps()));
    let can = json!({"fs": {"readTextFile": false}, "terminal": true});
    editor.ask(
        "initialize",
        json!({"protocolVersion": 1, "clientCapabilities": can}),
    );
    let session = editor.open();
    let mut open = Open::default();
    open.turn(&mut editor, &session, "go");
    assert_eq!(open.asked, []);

    let mut editor = Editor::start(agent(steps()));
    let session = editor.open();
    let mut open = Open {
        is_silent: true,
        ..Open::default()
    };
    let began = Instant::now();
    open.turn(&mut editor, &session, "go");
    assert_eq!(open.asked.len(), 1);
    assert!(
        began.elapsed() < Duration::from_secs(15),
        "{:?}",
        began.elapsed()
    );
    let file = editor.running.home.path().join("ws/a.txt");
    assert_eq!(std::fs::read_to_string(file).expect("a.txt"), "y\n");
    // A stop does not wait for it either.
    let mut editor = Editor::start(agent(steps()));
    editor.reply = silent;
    let session = editor.open();
    let prompt = editor.begin(&session, "go");
    editor.until("a question for a file", |m| {
        m["method"] == "fs/write_text_file"
    });
    let began = Instant::now();
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(stop(&editor.answer(prompt)), "cancelled");
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
}
