//! The slash commands that see to sessions, model and permissions, as a person types them.
#![cfg(unix)]

mod support;

use std::fs;
use std::process::Command;
use std::time::Duration;
use support::script::*;
use support::server::{Kind, Server};
use support::strict;
use support::terminal::Terminal;

/// A session that asks nothing, with a first turn behind it.
fn session(steps: Vec<Step>) -> Terminal {
    let server = Server::start(Kind::LlamaServer, 32_768, steps);
    let t = Terminal::on(
        server,
        "approval_policy = \"never\"\nharness_guidance = false\n",
        Some("the word is albatross"),
    );
    t.wait_for_prompt();
    t
}

/// The text of the latest request.
fn latest(t: &Terminal) -> String {
    let requests = t.server.requests();
    strict::all_text(&requests.last().expect("a request").body)
}

#[test]
fn sessions_are_begun_named_listed_and_gone_on_with() {
    let mut t = session(script![say("one"), say("two"), say("three"), say("four")]);
    assert!(
        t.says("/rename Sea  birds")
            .contains("is called Sea birds now")
    );
    let shown = t.says("/new");
    assert!(shown.contains("interpreter mock at"), "{shown}");
    let (_, old) = shown
        .split_once("the session before: /resume ")
        .expect("the way back");
    let old = old.trim().lines().next().expect("an id").to_owned();
    t.says("the word is pelican");
    assert!(!latest(&t).contains("albatross"));
    let list = t.says("/sessions");
    assert!(
        list.contains("Sea birds") && list.contains("the word is pelican"),
        "{list}"
    );
    assert!(list.contains("(this one)") && list.contains(&old), "{list}");
    // The list holds the other sessions of the folder, and Enter takes the first.
    t.types("/resume\r");
    t.wait_for("Enter takes it, Esc leaves");
    t.types("\x1b[B\x1b[A\r");
    t.wait_for("resumed mock");
    t.says("and now?");
    let text = latest(&t);
    assert!(text.contains("albatross") && !text.contains("pelican"));
    let shown = t.says("/fork");
    assert!(shown.contains("resumed mock"), "{shown}");
    t.says("in the copy");
    assert!(latest(&t).contains("albatross"));
    let shown = t.says("/resume sea birds");
    assert!(shown.contains("several sessions begin with"), "{shown}");
    assert!(t.says(&format!("/resume {old}")).contains("resumed mock"));
    t.types("/exit\r");
    assert_eq!(t.exit_code(), Some(0));
    assert!(t.screen().contains(&format!("interpreter resume {old}")));
}

#[test]
fn escape_leaves_a_list_and_clear_begins_anew() {
    let mut t = session(script![say("one"), say("two")]);
    t.says("/clear");
    t.types("/resume\r");
    t.wait_for("Enter takes it, Esc leaves");
    t.types("\x1b");
    t.wait_for("nothing was changed");
    t.says("the word is pelican");
    assert!(!latest(&t).contains("albatross"));
}

/// A session in which nothing was said is in no list, and one with a name is.
#[test]
fn what_was_never_used_leaves_nothing() {
    let mut t = session(vec![say("one")]);
    t.says("/new");
    let shown = t.says("/new");
    assert!(!shown.contains("the session before"), "{shown}");
    t.says("/rename kept");
    let shown = t.says("/new");
    assert!(shown.contains("the session before"), "{shown}");
    let list = t.says("/sessions");
    assert!(
        list.contains("albatross") && list.contains("kept"),
        "{list}"
    );
    assert_eq!(list.matches("(nothing said yet)").count(), 1, "{list}");
    t.types("/exit\r");
    assert_eq!(t.exit_code(), Some(0));
    let (_, last) = t
        .screen()
        .rsplit_once("/exit")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .expect("the end");
    assert!(!last.contains("resume with"), "{last}");
    let mut t = t.again(&["resume", "--last"]);
    t.at_prompt();
    assert!(!t.says("/sessions").contains("(nothing said yet)"));
}

#[test]
fn permissions_change_for_the_session_and_never_widen_without_a_yes() {
    let mut t = session(script![
        say("one"),
        run("touch a.txt"),
        say("two"),
        run("touch a.txt"),
        say("three")
    ]);
    let shown = t.says("/permissions read-only");
    assert!(
        shown.contains("for this session: sandbox read-only"),
        "{shown}"
    );
    t.says("make a.txt");
    assert!(!t.has_file());
    assert!(latest(&t).contains("The user changed what you may do"));
    t.types("/permissions workspace-write\r");
    t.wait_for("files in the workspace may be changed. Shall it be so?");
    t.types("n\n");
    t.wait_for("nothing was changed: sandbox read-only");
    t.types("/approvals danger-full-access\r");
    t.wait_for("commands run without a sandbox");
    t.types("y\n");
    t.wait_for("for this session: sandbox danger-full-access");
    assert!(t.says("/status").contains("danger-full-access"));
    t.says("make a.txt");
    assert!(t.has_file());
    let shown = t.says("/permissions all");
    assert!(shown.contains("`all` is none of read-only"), "{shown}");
    // The next session has what the settings say.
    let shown = t.says("/new");
    assert!(shown.contains("workspace-write"), "{shown}");
}

#[test]
fn the_model_changes_with_the_conversation() {
    let other = Server::start(Kind::Ollama, 65_536, script![say("other")]);
    let server = Server::start(
        Kind::LlamaServer,
        32_768,
        script![run("echo first-output"), say("one"), say("two")],
    );
    let config = format!(
        "approval_policy = \"never\"\n[model_providers.far]\nname = \"Far\"\nwire_api = \"ollama\"\nbase_url = \"http://127.0.0.1:{}\"\n",
        other.port()
    );
    let mut t = Terminal::on(server, &config, Some("the word is albatross"));
    t.wait_for_prompt();
    assert!(
        t.says("/model high")
            .contains("the reasoning effort is high")
    );
    let shown = t.says("/model far nothing-like-that");
    assert!(shown.contains("nothing-like-that"), "{shown}");
    assert!(
        t.says("/status").contains("mock at http"),
        "it is as it was"
    );
    t.types("/model\r");
    t.wait_for("Which provider?");
    t.types("far\r");
    t.wait_for("Which model?");
    t.types("1\r");
    // That server says that its model does not think.
    t.wait_for("the reasoning effort is the server's own");
    let status = t.says("/status");
    assert!(status.contains("(ollama wire)\n"), "{status}");
    assert!(status.contains("provider  Far\n"), "{status}");
    t.says("and now?");
    let requests = other.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].path, "/api/chat");
    let text = strict::all_text(&requests[0].body);
    for word in ["albatross", "first-output", "and now?"] {
        assert!(text.contains(word), "no {word}");
    }
    // And back, with all of it.
    let shown = t.says("/model mock mock low");
    assert!(shown.contains("interpreter mock"), "{shown}");
    t.says("once more");
    let text = latest(&t);
    for word in ["albatross", "first-output", "other", "once more"] {
        assert!(text.contains(word), "no {word}");
    }
    let settings = t.says("/debug-config");
    assert!(
        settings.contains("approval_policy = \"never\"  ("),
        "{settings}"
    );
    assert!(
        settings.contains("model_reasoning_effort = \"low\"  (this session)"),
        "{settings}"
    );
}

#[test]
fn the_answer_is_copied_and_the_conversation_exported() {
    let mut t = session(script![say("the answer\x1b[31m"), say("two")]);
    let shown = t.says("/copy");
    // "the answer[31m" in base64.
    assert!(
        t.screen().contains("\x1b]52;c;dGhlIGFuc3dlclszMW0=\x07"),
        "{shown}"
    );
    assert!(shown.contains("by way of the terminal"), "{shown}");
    assert!(t.says("/export talk.md").contains("talk.md"));
    let file = t.home.path().join("ws/talk.md");
    let text = fs::read_to_string(&file).expect("a file");
    assert!(
        text.contains("## User\n\nthe word is albatross\n"),
        "{text}"
    );
    assert!(text.contains("## Assistant\n\nthe answer"), "{text}");
    assert!(t.says("/export talk.md").contains("is there already"));
}

#[test]
fn review_init_and_plan_are_turns() {
    let mut t = session(script![
        say("one"),
        write("a.txt", "broken\n"),
        say(
            "{\"findings\":[{\"title\":\"Bad\",\"body\":\"Really.\",\"code_location\":{\"absolute_file_path\":\"b.txt\",\"line_range\":{\"start\":1,\"end\":1}}}],\"overall_explanation\":\"Hm.\"}"
        ),
        write("AGENTS.md", "Build with make.\n"),
        say("written"),
        write("a.txt", "x\n"),
        run("cat b.txt"),
        run("touch a.txt"),
        say("three")
    ]);
    let ws = t.home.path().join("ws");
    assert!(t.says("/review").contains("is not inside a git repository"));
    let git = Command::new("git")
        .args(["init", "-q"])
        .current_dir(&ws)
        .status();
    assert!(git.expect("git is there").success());
    fs::write(ws.join("b.txt"), "new\n").expect("a file");
    let shown = t.says("/review");
    assert!(shown.contains("- Bad — b.txt:1-1"), "{shown}");
    assert!(shown.contains("Nothing may be changed here"), "{shown}");
    assert!(!shown.contains("\"findings\"") && !t.has_file(), "{shown}");
    assert!(t.says("/init").contains("written"));
    assert!(ws.join("AGENTS.md").is_file(), "{}", t.screen());
    assert!(t.says("/plan maybe").contains("neither on nor off"));
    assert!(t.says("/plan").contains("planning is on"));
    t.says("make a.txt");
    assert!(!t.has_file());
    // Who plans may look by command.
    let last = latest(&t);
    assert!(last.contains("Output: new"), "{last}");
    assert_eq!(
        last.matches("Nothing may be changed while you plan")
            .count(),
        2
    );
    assert!(t.says("/plan off").contains("planning is off"));
}

/// `review_model` looks in a session of its own; this one goes on as it was, and knows what was found.
#[test]
fn a_review_by_another_model() {
    let finding = "{\"findings\":[{\"title\":\"Bad\",\"body\":\"Really.\",\"code_location\":{\"absolute_file_path\":\"b.txt\",\"line_range\":{\"start\":1,\"end\":1}}}],\"overall_explanation\":\"Hm.\"}";
    let server = Server::start(
        Kind::LlamaServer,
        32_768,
        script![
            say("one"),
            run("cat b.txt; touch a.txt"),
            say(finding),
            say("two")
        ],
    );
    let config =
        "approval_policy = \"never\"\nharness_guidance = false\nreview_model = \"critic\"\n";
    let mut t = Terminal::on(server, config, Some("the word is albatross"));
    t.wait_for_prompt();
    let ws = t.home.path().join("ws");
    let git = Command::new("git")
        .args(["init", "-q"])
        .current_dir(&ws)
        .status();
    assert!(git.expect("git is there").success());
    assert!(t.says("/review").contains("there is nothing to review"));
    fs::write(ws.join("b.txt"), "new\n").expect("a file");
    let shown = t.says("/review");
    assert!(shown.contains("critic reviews"), "{shown}");
    assert!(shown.contains("- Bad — b.txt:1-1"), "{shown}");
    assert!(!t.has_file(), "{shown}");
    t.says("mend it");
    let requests = t.server.requests();
    let models: Vec<&str> = requests
        .iter()
        .map(|r| r.body["model"].as_str().expect("a model"))
        .collect();
    assert_eq!(models, ["mock", "critic", "critic", "mock"]);
    assert!(!strict::all_text(&requests[1].body).contains("albatross"));
    let text = latest(&t);
    for part in ["albatross", "the model critic review", "Bad", "mend it"] {
        assert!(text.contains(part), "no {part}: {text}");
    }
    // What was sent before stays as it was.
    let parts = |at: usize| strict::parts(&requests[at].path, &requests[at].body);
    assert_eq!(parts(0)[..], parts(3)[..parts(0).len()]);
    // The session has one file, and its own model.
    assert!(t.says("/status").contains("mock at http"));
    assert!(!t.says("/sessions").contains("critic"));
}

#[test]
fn background_commands_are_stopped_by_number() {
    let start = call(
        "run_shell_command",
        serde_json::json!({"command": "sleep 987", "is_background": true}),
    );
    let mut t = session(script![start, say("one"), say("two")]);
    std::thread::sleep(Duration::from_millis(300));
    let list = t.says("/ps");
    assert!(list.contains("sleep 987"), "{list}");
    assert!(t.says("/stop 99").contains("no command 99"));
    assert!(t.says("/stop").contains("was ended: sleep 987"));
    assert!(t.says("/ps").contains("no command is running"));
    t.says("and?");
    assert!(latest(&t).contains("sleep 987"));
}

#[test]
fn a_question_that_was_left_open_is_put_again() {
    const QUESTION: &str = "your answer (no): ";
    let ways = [
        (libc::SIGHUP, "y", true),
        (libc::SIGHUP, "n", false),
        (libc::SIGTERM, "y", true),
        (libc::SIGKILL, "y", true),
    ];
    for (signal, answer, made) in ways {
        let steps = script![write("a.txt", "x\n"), say("all done"), say("more")];
        let t = Terminal::start(steps, Some("go"));
        t.wait_for(QUESTION);
        // The terminal is closed, or the machine shuts down.
        t.signal(signal);
        let mut t = t.again(&["resume", "--last"]);
        t.wait_for("here is the question again");
        t.wait_for(QUESTION);
        assert!(!t.has_file());
        t.types(answer);
        t.wait_for("all done");
        assert_eq!(t.has_file(), made);
        t.wait_for_prompt();
        // The model sees the answer and nothing about an end of the session.
        let requests = t.server.requests();
        assert_eq!(requests.len(), 2);
        let text = strict::all_text(&requests[1].body);
        assert!(!text.contains("session ended"), "{text}");
        let (old, new) = (&requests[0], &requests[1]);
        let old = strict::parts(&old.path, &old.body);
        assert_eq!(old[..], strict::parts(&new.path, &new.body)[..old.len()]);
        t.says("and?");
        t.types("/exit\r");
        // Nothing is left to ask.
        let t = t.again(&["resume", "--last"]);
        t.wait_for_prompt();
        assert!(!t.screen().contains("question again"));
    }
}
