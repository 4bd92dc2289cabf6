//! What the turns of a session changed is taken back, by a person in another process.

mod support;

use std::fs;
use support::Agent;
use support::script::*;

#[test]
fn a_task_is_taken_back_and_the_model_hears_of_it() {
    let run = Agent::new()
        .harness("qwen-code")
        .file("a.txt", "one\n")
        .file("b.txt", "keep\n")
        .model(script![
            write("new.txt", "fresh\n"),
            run("echo two > a.txt"),
            run("rm b.txt"),
            say("done"),
            say("I see")
        ])
        .run("change all of it")
        .expect_exit(0)
        .expect_file("a.txt", "two\n")
        .expect_no_file("b.txt");
    let run = run.again(&["undo", "--list"], None).expect_exit(0);
    for part in [
        "  1  ",
        "change all of it",
        "~ a.txt",
        "- b.txt",
        "+ new.txt",
    ] {
        assert!(run.stdout.contains(part), "{part}:\n{}", run.stdout);
    }
    let run = run.again(&["undo", "--json"], None).expect_exit(0);
    let told: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(told["turns"][0]["files"][2]["exists"], false, "{told}");
    let run = run
        .expect_file("a.txt", "one\n")
        .expect_file("b.txt", "keep\n")
        .expect_no_file("new.txt")
        .again(&["undo"], None)
        .expect_exit(1)
        .expect_stderr("nothing to take back");
    let seen = run.server.requests().len();
    let run = run
        .again(
            &["exec", "resume", "--skip-git-repo-check", "--last"],
            Some("and now?"),
        )
        .expect_exit(0);
    let words = run.request_text(seen + 1);
    assert!(words.contains("took back changes of yours"), "{words}");
    assert!(words.contains("a.txt, b.txt, new.txt"), "{words}");
}

#[test]
fn what_a_person_changed_since_is_shown_and_stays() {
    let run = Agent::new()
        .harness("qwen-code")
        .file("a.txt", "one\n")
        .file("b.txt", "one\n")
        .model(script![
            run("echo two > a.txt; echo two > b.txt"),
            say("done")
        ])
        .run("go")
        .expect_exit(0);
    fs::write(run.workspace().join("a.txt"), "mine\n").expect("written");
    let run = run
        .again(&["undo"], None)
        .expect_exit(1)
        .expect_stderr("1 file has changed since (a.txt)")
        .expect_file("b.txt", "two\n");
    assert!(
        run.stdout.contains("1 -two\n      1 +mine"),
        "{}",
        run.stdout
    );
    run.again(&["undo", "--file", "b.txt"], None)
        .expect_exit(0)
        .expect_stdout("took back turn 1: go\n  restored b.txt\n")
        .expect_file("a.txt", "mine\n")
        .expect_file("b.txt", "one\n")
        .again(&["undo", "--redo"], None)
        .expect_exit(0)
        .expect_file("b.txt", "two\n");
}

#[test]
fn a_task_that_only_looks_or_is_not_kept_leaves_nothing() {
    let look = Agent::new()
        .harness("qwen-code")
        .file("a.txt", "one\n")
        .model(script![run("cat a.txt"), say("done")])
        .run("look")
        .expect_exit(0);
    assert!(!look.home.path().join("home/undo").exists());
    let unkept = Agent::new()
        .harness("qwen-code")
        .args(["--ephemeral"])
        .model(script![write("a.txt", "x\n"), say("done")])
        .run("write")
        .expect_exit(0)
        .expect_file("a.txt", "x\n");
    assert!(!unkept.home.path().join("home/undo").exists());
}

#[cfg(unix)]
mod by_keys {
    use super::support::script::*;
    use super::support::server::{Kind, Server};
    use super::support::strict::all_text;
    use super::support::terminal::Terminal;
    use crate::script;
    use std::fs;

    /// A session in a folder with `a.txt`, whose first turn changes two parts of it.
    fn changed() -> Terminal {
        let steps = script![
            run("sed -i.bak -e s/1/one/ -e s/8/eight/ a.txt && rm a.txt.bak"),
            say("all done"),
            say("understood")
        ];
        let server = Server::start(Kind::LlamaServer, 32_768, steps);
        let mut t = Terminal::on(server, "approval_policy = \"never\"\n", None);
        t.wait_for_prompt();
        put(&t, "1\n2\n3\n4\n5\n6\n7\n8\n");
        assert!(t.says("go").contains("all done"));
        t
    }

    fn put(t: &Terminal, text: &str) {
        fs::write(t.home.path().join("ws/a.txt"), text).expect("a file");
    }

    fn text(t: &Terminal) -> String {
        fs::read_to_string(t.home.path().join("ws/a.txt")).unwrap_or_default()
    }

    #[test]
    fn undo_redo_and_diff() {
        let mut t = changed();
        let shown = t.says("/diff --turn");
        for part in ["a.txt  +2, -2", "1 -1", "1 +one", "8 +eight"] {
            assert!(shown.contains(part), "{part}:\n{shown}");
        }
        assert!(t.says("/diff").contains("no git repository"));
        let shown = t.says("/undo");
        assert!(shown.contains("took back turn 1: go"), "{shown}");
        assert!(shown.contains("restored a.txt"), "{shown}");
        assert!(text(&t).starts_with("1\n") && text(&t).ends_with("\n8\n"));
        assert!(t.says("/diff").contains("nothing is changed"));
        assert!(t.says("/undo").contains("nothing to take back"));
        assert!(t.says("/redo").contains("put back turn 1"));
        assert!(text(&t).starts_with("one\n"));
        put(&t, "mine\n");
        let shown = t.says("/undo");
        assert!(shown.contains("1 file has changed since"), "{shown}");
        assert!(shown.contains("1 +mine"), "{shown}");
        assert_eq!(text(&t), "mine\n");
    }

    #[test]
    fn a_part_is_dropped_and_the_model_is_told() {
        let mut t = changed();
        t.types("/diff --pick\r");
        t.wait_for("part 1 of 2");
        t.types("y\n");
        t.wait_for("part 2 of 2");
        t.types("n\n");
        t.wait_for("one part was taken back");
        assert!(text(&t).starts_with("one\n") && text(&t).ends_with("\n8\n"));
        t.types("go on\r");
        t.wait_for("understood");
        let requests = t.server.requests();
        let words = all_text(&requests[requests.len() - 1].body);
        assert!(words.contains("took this back"), "{words}");
        assert!(
            words.contains("+eight") && !words.contains("+one"),
            "{words}"
        );
    }
}
