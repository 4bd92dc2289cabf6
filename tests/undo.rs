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
