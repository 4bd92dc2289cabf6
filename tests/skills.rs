//! Skills: how each harness shows them, how a model reads one, and what never acts by itself.
#![cfg(unix)]

mod support;

use serde_json::json;
use support::script::*;
use support::server::{Kind, Server};
use support::terminal::Terminal;
use support::{Agent, harnesses, strict};

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nbody-of-{name}\n")
}

fn agent(harness: &str) -> Agent {
    Agent::new()
        .harness(harness)
        .git()
        .file(".agents/skills/pdf/SKILL.md", skill("pdf", "forms-4711"))
        .file("../home/skills/own/SKILL.md", skill("own", "mine-4712"))
}

#[test]
fn every_harness_tells_of_skills_and_a_name_brings_the_whole() {
    for harness in harnesses() {
        let run = agent(harness)
            .model(script![
                finish(harness, "ok"),
                finish(harness, "ok"),
                finish(harness, "ok")
            ])
            .run("use $pdf now")
            .expect_exit(0);
        let body = run.server.requests()[0].body.to_string();
        for part in ["pdf", "forms-4711", "own", "mine-4712"] {
            assert!(body.contains(part), "{harness}: no {part} in {body}");
        }
        assert!(
            body.contains("<skill>\\n<name>pdf</name>\\n<path>"),
            "{harness}: {body}"
        );
        assert!(
            body.contains("body-of-pdf") && !body.contains("body-of-own"),
            "{harness}"
        );
    }
}

#[test]
fn a_harness_with_a_tool_reads_one_by_name() {
    for (harness, tool, key, begins) in [
        ("claude-code", "Skill", "skill", "Launching skill: pdf"),
        ("zcode", "Skill", "skill", "<skill_content name=\"pdf\">"),
        (
            "kimi-code",
            "Skill",
            "skill",
            "Base directory for this skill: ",
        ),
        (
            "qwen-code",
            "skill",
            "skill",
            "Base directory for this skill: ",
        ),
        ("opencode", "skill", "name", "<skill_content name=\"pdf\">"),
        ("deepseek-tui", "load_skill", "name", "# Skill: pdf"),
    ] {
        let run = agent(harness)
            .model(script![
                call(tool, json!({ key: "pdf" })),
                call(tool, json!({ key: "nope" })),
                say("ok"),
                say("ok")
            ])
            .run("go")
            .expect_exit(0);
        let told = run.request_text(2);
        let at = told
            .find(begins)
            .unwrap_or_else(|| panic!("{harness}: no {begins} in {told}"));
        let shown = &told[at..];
        assert!(
            shown.contains("body-of-pdf") && shown.contains(".agents/skills/pdf"),
            "{harness}: {shown}"
        );
        assert!(
            !shown.contains("description:"),
            "{harness}: the front matter is shown"
        );
        let told = run.request_text(3);
        assert!(
            told.contains("there is no skill `nope`; there are: pdf, own"),
            "{harness}: {told}"
        );
    }
}

#[test]
fn without_skills_there_is_no_tool_and_no_word_of_them() {
    for harness in harnesses() {
        let run = Agent::new()
            .harness(harness)
            .model(script![
                finish(harness, "ok"),
                finish(harness, "ok"),
                finish(harness, "ok")
            ])
            .run("go")
            .expect_exit(0);
        let tools = run.server.requests()[0].body["tools"]
            .to_string()
            .to_lowercase();
        assert!(!tools.contains("skill"), "{harness}: {tools}");
    }
}

#[test]
fn the_files_of_a_skill_can_be_read_and_its_scripts_stay_in_the_sandbox() {
    for harness in ["native", "claude-code", "pi", "minimal"] {
        let agent = Agent::new()
            .harness(harness)
            .config("[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n")
            .file("../home/skills/own/SKILL.md", skill("own", "mine"))
            .file("../home/skills/own/scripts/go.sh", "echo script-4713; echo x > ../pwned; echo y > made.txt\n");
        let script = agent
            .workspace()
            .with_file_name("home")
            .join("skills/own/scripts/go.sh");
        let run = agent
            .model(script![
                run(&format!("cat {0} && sh {0}", script.display())),
                finish(harness, "ok"),
                finish(harness, "ok")
            ])
            .run("go")
            .expect_file("made.txt", "y\n")
            .expect_no_file("../pwned");
        assert!(
            run.request_text(2).contains("script-4713"),
            "{harness}: {}",
            run.request_text(2)
        );
    }
}

#[test]
fn a_project_s_skill_with_scripts_is_shown_after_trust_only() {
    let start = || {
        agent("opencode")
            .file(
                ".agents/skills/armed/SKILL.md",
                skill("armed", "armed-4714"),
            )
            .file(".agents/skills/armed/scripts/x.sh", "true\n")
            .model(script![say("ok")])
    };
    let run = start()
        .run("go")
        .expect_stderr("the skill .agents/skills/armed (it has scripts)");
    assert!(
        !run.request_text(1).contains("armed-4714") && run.request_text(1).contains("forms-4711")
    );
    let run = start().args(["--trust"]).run("go");
    assert!(run.request_text(1).contains("armed-4714"));
}

#[test]
fn the_list_keeps_to_its_share_of_the_window() {
    let mut agent = Agent::new()
        .harness("native")
        .window(32_768)
        .model(script![say("ok")]);
    for n in 0..60 {
        agent = agent.file(
            &format!("../home/skills/s{n}/SKILL.md"),
            skill(&format!("s{n}"), &"long words ".repeat(80)),
        );
    }
    let run = agent
        .run("go")
        .expect_exit(0)
        .expect_stderr("skills are not told to the model");
    let text = run.request_text(1);
    let from = text.find("<skills_instructions>").unwrap();
    let to = text.find("</skills_instructions>").unwrap();
    // 2 % of 32,768 tokens, at 4 bytes a token, and the frame around the list.
    assert!(to - from < 32_768 * 4 / 50 + 600, "{}", to - from);
}

/// What a resumed session sends begins with what it sent before, whatever skills came in between.
#[test]
fn the_list_is_frozen_for_the_session() {
    for harness in ["claude-code", "qwen-code", "native"] {
        let run = agent(harness)
            .model(script![say("one"), say("two")])
            .run("go")
            .expect_exit(0);
        std::fs::remove_dir_all(run.workspace().join(".agents")).unwrap();
        let run = run
            .again(
                &["exec", "resume", "--last", "--skip-git-repo-check"],
                Some("more"),
            )
            .expect_exit(0);
        let body = |n: usize| run.server.requests()[n].body.clone();
        let (one, two) = (body(0), body(1));
        assert_eq!(one["tools"], two["tools"], "{harness}");
        let (a, b) = (
            one["messages"].as_array().unwrap(),
            two["messages"].as_array().unwrap(),
        );
        assert_eq!(a[0], b[0], "{harness}");
    }
}

/// Off and on by keys: for the session at once, and for later ones when that is asked for.
#[test]
fn a_person_turns_a_skill_off_and_on() {
    let server = Server::start(
        Kind::LlamaServer,
        32_768,
        script![say("one"), say("two"), say("three"), say("four")],
    );
    let text = skill("own", "mine-4712");
    let files = [("home/skills/own/SKILL.md", text.as_str())];
    let latest = |t: &Terminal| {
        let requests = t.server.requests();
        strict::all_text(&requests.last().expect("a request").body)
    };
    let mut t = Terminal::among(server, "", &files, None);
    t.wait_for_prompt();
    assert!(t.says("/skills").contains("$own  mine-4712"));
    // Before the first word it is not told at all.
    assert!(
        t.says("/skills off own")
            .contains("own is off for this session")
    );
    assert!(t.says("/skills off own").contains("off already"));
    assert!(t.says("/skills").contains("$own (off)"));
    t.says("use $own");
    assert!(!latest(&t).contains("mine-4712") && !latest(&t).contains("body-of-own"));
    // Later the model is told, and the prompt stays as it was.
    assert!(
        t.says("/skills on $own")
            .contains("own is on for this session")
    );
    t.says("and now use $own");
    let body = latest(&t);
    assert!(
        body.contains("The user turned on the skill `own`: mine-4712")
            && body.contains("body-of-own")
    );
    let requests = t.server.requests();
    let parts = |at: usize| strict::parts(&requests[at].path, &requests[at].body);
    assert_eq!(parts(0)[..], parts(1)[..parts(0).len()]);
    assert!(
        t.says("/skills off ow")
            .contains("there is no skill ow; did you mean own?")
    );
    let saved = t.says("/skills off own save");
    assert!(saved.contains("now and in later sessions"), "{saved}");
    t.says("go on");
    assert!(latest(&t).contains("The user turned off the skill `own`"));
    t.types("/exit\r");
    let mut t = t.again(&[]);
    t.wait_for_prompt();
    assert!(t.says("/skills").contains("$own (off)"));
    assert!(
        t.says("/skills on own save")
            .contains("now and in later sessions")
    );
    let config = std::fs::read_to_string(t.home.path().join("home/config.toml"));
    assert!(!config.expect("the config").contains("skills.config"));
    t.says("use it");
    assert!(latest(&t).contains("mine-4712"));
}

/// A session in a terminal with the skill `own`, whose description is that.
fn by_keys(description: &str, steps: Vec<Step>) -> Terminal {
    let server = Server::start(Kind::LlamaServer, 32_768, steps);
    let text = skill("own", description);
    let files = [("home/skills/own/SKILL.md", text.as_str())];
    let t = Terminal::among(server, "", &files, None);
    t.wait_for_prompt();
    t
}

fn latest(t: &Terminal) -> String {
    let requests = t.server.requests();
    strict::all_text(&requests.last().expect("a request").body)
}

/// However a harness tells of them: in its prompt, in a message, or in the words of a tool.
#[test]
fn what_skills_take_of_the_window_is_told() {
    let mut t = by_keys(&"long words ".repeat(80), Vec::new());
    let row = |t: &mut Terminal, name: &str| -> u64 {
        let table = t.says("/context");
        let row = table.lines().find_map(|line| line.strip_prefix(name));
        let number = row.and_then(|row| row.split_whitespace().next());
        let number = number.map(|n| n.replace(',', ""));
        let number = number.and_then(|n| n.parse().ok());
        number.unwrap_or_else(|| panic!("no {name} in {table}"))
    };
    let all = |t: &mut Terminal| -> u64 {
        let parts = ["system", "tools", "instructions", "skills", "task"];
        parts.iter().map(|part| row(t, part)).sum()
    };
    for harness in harnesses() {
        t.says(&format!("/harness {harness}"));
        let (skills, with) = (row(&mut t, "skills"), all(&mut t));
        // 880 characters of description are 160 words; a frame has at most as many.
        assert!((100..500).contains(&skills), "{harness}: {skills}");
        t.says("/skills off own");
        assert_eq!(row(&mut t, "skills"), 0, "{harness}");
        let without = all(&mut t);
        assert!(
            with.abs_diff(without + skills) <= 5,
            "{harness}: {with} and {without} + {skills}"
        );
        t.says("/skills on own");
    }
}

#[test]
fn what_was_turned_off_for_a_session_is_off_when_it_goes_on() {
    let steps = script![say("one"), say("two"), say("three"), say("four")];
    let mut t = by_keys("mine-4712", steps);
    t.says("go");
    assert!(latest(&t).contains("mine-4712"));
    t.says("/skills off own");
    t.types("/exit\r");
    let mut t = t.again(&["resume", "--last"]);
    t.wait_for_prompt();
    assert!(t.says("/skills").contains("$own (off)"));
    t.says("use $own");
    assert!(!latest(&t).contains("body-of-own"));
    // A copy begins so, too, and a new session has it.
    t.says("/fork");
    assert!(t.says("/skills").contains("$own (off)"));
    t.says("/skills on own");
    t.says("use $own");
    assert!(latest(&t).contains("body-of-own"));
    t.says("/skills off own");
    t.says("/new");
    assert!(t.says("/skills").contains("$own  mine-4712"));
}
