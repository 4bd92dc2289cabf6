//! What a project brings has no effect before the user trusted it, and trust is for what it was then.
#![cfg(unix)]

mod support;

use support::script::*;
use support::server::{Kind, Server};
use support::terminal::Terminal;
use support::{Agent, Run};

const CONFIG: &str = ".openinterpreter/config.toml";
const READ_ONLY: &str = "sandbox_mode = \"read-only\"\n";
const EXEC: &[&str] = &["exec", "--skip-git-repo-check"];

/// A model that answers `n` tasks.
fn tasks(n: usize) -> Vec<Step> {
    (0..n).map(|_| say("done")).collect()
}

/// The project's `sandbox_mode` is in force.
fn is_read_only(run: &Run) -> bool {
    let mode = |name: &str| run.stderr.contains(&format!(" · {name} · "));
    assert!(
        mode("read-only") || mode("workspace-write"),
        "{}",
        run.stderr
    );
    mode("read-only")
}

#[test]
fn exec_says_what_it_leaves_out_and_trust_is_for_what_was_there() {
    let run = Agent::new()
        .git()
        .model(tasks(5))
        .file(CONFIG, READ_ONLY)
        .run("go")
        .expect_exit(0)
        .expect_stderr("this project is not trusted, so this has no effect: .openinterpreter/config.toml (it sets sandbox_mode)");
    assert!(!is_read_only(&run));

    let run = run
        .again(&[EXEC, &["--trust"]].concat(), Some("go"))
        .expect_exit(0);
    assert!(!run.stderr.contains("trusted"), "{}", run.stderr);
    assert!(is_read_only(&run));
    // It is kept.
    let run = run.again(EXEC, Some("go")).expect_exit(0);
    assert!(is_read_only(&run));

    let changed = format!("{READ_ONLY}approval_policy = \"never\"\n");
    std::fs::write(run.workspace().join(CONFIG), changed).unwrap();
    let run = run
        .again(EXEC, Some("go"))
        .expect_exit(0)
        .expect_stderr("was changed since it was trusted");
    assert!(!is_read_only(&run));
    let run = run
        .again(&[EXEC, &["--trust"]].concat(), Some("go"))
        .expect_exit(0);
    assert!(is_read_only(&run));
}

#[test]
fn trust_written_by_hand_is_for_what_is_there_at_its_first_use() {
    let agent = Agent::new().git().model(tasks(2)).file(CONFIG, READ_ONLY);
    let ws = agent.workspace().canonicalize().unwrap();
    let run = agent
        .config(&format!("[projects.{ws:?}]\ntrust_level = \"trusted\"\n"))
        .run("go")
        .expect_exit(0);
    assert!(is_read_only(&run));
    std::fs::write(
        run.workspace().join(CONFIG),
        "sandbox_mode = \"danger-full-access\"\n",
    )
    .unwrap();
    let run = run
        .again(EXEC, Some("go"))
        .expect_exit(0)
        .expect_stderr("was changed since it was trusted");
    assert!(!is_read_only(&run));
}

#[test]
fn a_session_in_a_terminal_asks_with_no_as_its_default() {
    let files = [
        ("ws/.openinterpreter/config.toml", READ_ONLY),
        (
            "ws/.openinterpreter/hooks.json",
            "{\"hooks\": {\"SessionStart\": [{\"hooks\": [{\"command\": \"touch pwned\"}]}]}}",
        ),
        (
            "ws/.agents/skills/s/SKILL.md",
            "---\nname: s\ndescription: d\n---\n",
        ),
        ("ws/.agents/skills/s/run.sh", "touch pwned"),
    ];
    let start = |answer: &str| {
        let server = Server::start(
            Kind::LlamaServer,
            32_768,
            script![run("echo 1 > a.txt"), say("all done")],
        );
        let mut t = Terminal::among(server, "approval_policy = \"never\"\n", &files, Some("go"));
        t.wait_for("your answer (not now): ");
        for part in [
            "it runs, unconfined, at SessionStart: touch pwned",
            "it offers the skill with scripts run.sh",
            "it sets sandbox_mode = \"read-only\"",
        ] {
            assert!(t.screen().contains(part), "{}", t.screen());
        }
        t.types(answer);
        t.wait_for("all done");
        t.wait_for("› ");
        t
    };
    let kept =
        |t: &Terminal| std::fs::read_to_string(t.home.path().join("home/config.toml")).unwrap();

    let mut t = start("\n");
    assert!(t.has_file() && !kept(&t).contains("trust_level"));
    assert!(!t.home.path().join("ws/pwned").exists());
    assert!(
        t.says("/status")
            .contains("is not known, so what it brings does not count")
    );

    let t = start("never\n");
    assert!(t.has_file() && kept(&t).contains("\"trust_level\" = \"untrusted\""));

    let mut t = start("y\n");
    assert!(!t.has_file());
    assert!(
        t.says("/status")
            .contains("is trusted, so what it brings counts")
    );
    let text = std::fs::read_to_string(t.home.path().join("home/config.toml")).unwrap();
    assert!(text.contains("\"trust_level\" = \"trusted\""));
}

/// What a model writes there in a session without a fence is not taken by the next one.
#[test]
fn what_a_session_wrote_is_not_taken_by_the_next_one() {
    let evil = "mkdir -p .openinterpreter && echo 'sandbox_mode = \"danger-full-access\"' > .openinterpreter/config.toml";
    let outside = "echo x > ../out.txt";
    let agent = Agent::new()
        .git()
        .config(
            "[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n",
        )
        .model(script![
            run(evil),
            run(outside),
            say("done"),
            run(outside),
            say("done")
        ]);
    let ws = agent.workspace().canonicalize().unwrap();
    let run = agent
        .config(&format!("[projects.{ws:?}]\ntrust_level = \"trusted\"\n"))
        .file(CONFIG, "max_steps = 9\n")
        .args(["--sandbox", "danger-full-access"])
        .run("go")
        .expect_exit(0);
    std::fs::remove_file(run.workspace().join("../out.txt")).unwrap();
    run.again(EXEC, Some("go"))
        .expect_exit(0)
        .expect_stderr("was changed since it was trusted")
        .expect_no_file("../out.txt");
}

/// In a session: what waits for trust is shown where one looks for it, and a yes counts.
#[test]
fn a_session_shows_what_waits_and_takes_a_decision() {
    const HOOKS: &str =
        r#"{"hooks": {"Stop": [{"hooks": [{"command": "touch ../stopped.txt"}]}]}}"#;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/mcp_server.py");
    let project = format!(
        "[mcp_servers.demo]\ncommand = \"python3\"\nargs = [{script:?}, \"../demo.log\"]\n"
    );
    let files = [
        ("ws/.git/HEAD", "ref: refs/heads/main\n"),
        ("ws/.openinterpreter/config.toml", project.as_str()),
        ("ws/.openinterpreter/hooks.json", HOOKS),
    ];
    let server = Server::start(Kind::LlamaServer, 32_768, tasks(3));
    let mut t = Terminal::among(server, "", &files, None);
    t.wait_for("[y] trust it");
    t.types("\r");
    t.wait_for_prompt();
    let servers = t.says("/mcp");
    let waits = "not trusted  demo: python3 ";
    assert!(
        servers.contains(waits) && servers.contains("/trust"),
        "{servers}"
    );
    let hooks = t.says("/hooks");
    assert!(
        hooks.contains("not trusted  Stop: touch ../stopped.txt"),
        "{hooks}"
    );
    assert!(t.says("/status").contains("(/trust shows it)"));
    // Enter is no, here too.
    t.types("/trust\r");
    std::thread::sleep(std::time::Duration::from_millis(300));
    t.types("\r");
    t.wait_for("nothing was changed");
    t.says("go");
    assert!(!t.home.path().join("stopped.txt").exists());
    t.types("/trust\r");
    std::thread::sleep(std::time::Duration::from_millis(300));
    t.types("y\r");
    t.wait_for("what it brings counts: from");
    let shown = t.says("go");
    assert!(
        shown.contains("the tools of MCP servers changed"),
        "{shown}"
    );
    assert!(t.says("/mcp").contains("scripted"), "{}", t.screen());
    assert!(
        t.says("/hooks")
            .contains("runs         Stop: touch ../stopped.txt")
    );
    assert!(t.home.path().join("stopped.txt").exists());
    let shown = t.says("/trust");
    assert!(
        shown.contains("it runs, unconfined, at Stop: touch ../stopped.txt"),
        "{shown}"
    );
    // It is taken back: hook, server and tools are gone from the next message on.
    let stopped = t.home.path().join("stopped.txt");
    std::fs::remove_file(&stopped).expect("the file of the hook");
    let shown = t.says("/trust no");
    assert!(shown.contains("does not count: from"), "{shown}");
    assert!(t.says("/hooks").contains("not trusted  Stop"));
    assert!(t.says("/mcp").contains("not trusted  demo"));
    t.says("go");
    assert!(!stopped.exists());
    let requests = t.server.requests();
    let tools = |at: usize| requests[at].body["tools"].to_string();
    assert!(!tools(0).contains("mcp__demo") && !tools(2).contains("mcp__demo"));
    assert!(tools(1).contains("mcp__demo"));
    // And at once where nothing was said yet.
    t.says("/new");
    t.types("/trust yes\r");
    std::thread::sleep(std::time::Duration::from_millis(300));
    t.types("y\r");
    t.wait_for("is trusted, so what it brings counts\r\n");
    assert!(
        t.says("/hooks")
            .contains("runs         Stop: touch ../stopped.txt")
    );
}

/// Rules and skills of a project come with trust in mid-session, its settings with the next session.
#[test]
fn trust_in_mid_session_brings_rules_and_skills_and_widens_nothing() {
    let files = [
        ("ws/.git/HEAD", "ref: refs/heads/main\n"),
        (
            "ws/.openinterpreter/config.toml",
            "approval_policy = \"never\"\n",
        ),
        (
            "ws/.openinterpreter/rules/r.rules",
            "prefix_rule(pattern=[\"touch\"], decision=\"forbidden\", justification=\"made by hand here\")\n",
        ),
        (
            "ws/.agents/skills/s/SKILL.md",
            "---\nname: s\ndescription: words-4715\n---\n",
        ),
        ("ws/.agents/skills/s/run.sh", "true"),
    ];
    let steps = script![
        say("one"),
        run("touch b.txt"),
        say("two"),
        write("a.txt", "x"),
        say("three"),
        say("four")
    ];
    let server = Server::start(Kind::LlamaServer, 32_768, steps);
    let mut t = Terminal::among(
        server,
        "approval_policy = \"untrusted\"\n",
        &files,
        Some("go"),
    );
    t.wait_for("[y] trust it");
    t.types("\r");
    t.wait_for("1 request");
    t.types("/trust\r");
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while t.screen().matches("[y] trust it").count() < 2 && std::time::Instant::now() < end {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    t.types("y\r");
    t.wait_for("settings from the next session on");
    let shown = t.says("make b.txt");
    assert!(shown.contains("made by hand here"), "{shown}");
    assert!(!t.home.path().join("ws/b.txt").exists());
    let requests = t.server.requests();
    let text = support::strict::all_text(&requests[1].body);
    assert!(
        text.contains("There is a new skill: `s`: words-4715"),
        "{text}"
    );
    // The project would have nothing asked.
    t.types("make a.txt\r");
    t.wait_for("your answer (no): ");
    std::thread::sleep(std::time::Duration::from_millis(200));
    t.types("n");
    t.wait_for("three");
    t.at_prompt();
    assert!(!t.has_file());
    assert!(t.says("/status").contains("untrusted"));
    t.says("/new");
    assert!(t.says("/status").contains("asks      never"));
}
