//! Every deed in every harness on every wire, against a server as strict as real ones.

mod support;

use open_interpreter::harnesses::{self, Harness};
use open_interpreter::model::{CallKind, ToolCall};
use open_interpreter::tools::action::{
    Action, AgentWant, Base, Delegate, Glob, Grep, Pass, PlanStep, Read, Replace, Shell,
    StepStatus, Unique, WriteRule,
};
use serde_json::{Value, json};
use std::time::Duration;
use support::script::*;
use support::{Agent, Run, WIRES, harnesses, strict, takes_two};

const CODE: &str = "import os\n\n\ndef first():\n    return 1\n\n\ndef second():\n    return 1\n";

fn harness(id: &str) -> &'static dyn Harness {
    harnesses::by_id(id).expect("a known harness")
}

/// The harness's own call for an action; where it has no such tool, a command that does the same.
fn act(id: &str, action: Action) -> Step {
    if let Some((name, arguments)) = harness(id).write(&action)
        && !harness(id).reads_text()
    {
        return call(name, arguments);
    }
    match action {
        Action::Read(it) => read(&it.path),
        Action::Write { path, content, .. } => write(&path, &content),
        Action::Edit { path, edits, .. } => edit(&path, &edits[0].old, &edits[0].new),
        Action::Shell(it) => run(&it.command),
        Action::Grep(it) => run(&format!("grep -rn '{}' .", it.pattern)),
        Action::Glob(Glob { pattern, .. }) => run(&format!("find . -name '{pattern}'")),
        Action::List { path, .. } => run(&format!("ls -a {path}")),
        Action::Plan { .. } => run("echo the plan stands"),
        other => panic!("{id} cannot {}", other.verb()),
    }
}

fn shell(command: &str) -> Action {
    Action::Shell(Shell::new(command, Duration::from_secs(20)))
}

fn replace(old: &str, new: &str) -> Action {
    Action::Edit {
        path: "a.py".into(),
        edits: vec![Replace {
            old: old.into(),
            new: new.into(),
        }],
        base: Base::Original,
        unique: Unique::Require,
        passes: Pass::ALL.to_vec(),
        read_first: true,
        may_create: false,
    }
}

/// An edit of this harness replaces every place where the text stands.
fn replaces_all(id: &str) -> bool {
    let Some((name, arguments)) = harness(id).write(&replace("a", "b")) else {
        return false;
    };
    let call = ToolCall {
        id: "call_1".into(),
        name: name.into(),
        arguments: arguments.to_string(),
        kind: CallKind::Function,
        recovered: false,
    };
    let unique = match harness(id).action(&call) {
        Ok(Action::Edit { unique, .. }) => unique,
        _ => Unique::Require,
    };
    unique == Unique::All
}

/// Each deed, and words that the request after it must hold.
fn deeds(id: &str) -> Vec<(&'static str, Step, Vec<&'static str>)> {
    let write_new = Action::Write {
        path: "new.txt".into(),
        content: "fresh words\n".into(),
        rule: WriteRule::default(),
    };
    let plan = Action::Plan {
        steps: vec![PlanStep {
            text: "look around".into(),
            status: StepStatus::InProgress,
            id: Some("1".into()),
        }],
        explanation: None,
    };
    let list = Action::List {
        path: ".".into(),
        ignore: Vec::new(),
        respect_ignore: true,
        limit: 100,
    };
    let glob = Action::Glob(Glob::new("*.py", 100));
    let grep = Action::Grep(Grep::new("def second", 50));
    let mut deeds = vec![
        (
            "read",
            act(id, Action::Read(Read::new("a.py", None, 20_000))),
            vec!["def second"],
        ),
        ("write", act(id, write_new), vec![]),
        ("edit", act(id, replace("import os", "import sys")), vec![]),
        (
            "edit not unique",
            act(id, replace("    return 1", "    return 2")),
            vec![],
        ),
        ("edit absent", act(id, replace("no such line", "x")), vec![]),
        (
            "shell",
            act(id, shell("echo shell-says-$((40+2))")),
            vec!["shell-says-42"],
        ),
        (
            "shell failing",
            act(id, shell("echo broken >&2; exit 7")),
            vec!["broken", "7"],
        ),
        ("long output", act(id, shell("seq 1 60000")), vec!["60000"]),
        ("grep", act(id, grep), vec!["a.py"]),
        ("glob", act(id, glob), vec!["a.py"]),
        ("list", act(id, list), vec!["new.txt"]),
        ("plan", act(id, plan), vec![]),
    ];
    if !harness(id).reads_text() {
        let shell_name = harness(id).write(&shell("true")).expect("a shell tool").0;
        deeds.push((
            "unknown tool",
            call("make_coffee", json!({"cups": 2})),
            vec!["make_coffee", shell_name],
        ));
        deeds.push((
            "bad arguments",
            call(shell_name, json!({"volume": 11})),
            vec![],
        ));
    }
    deeds
}

fn text_of(run: &Run, request: usize) -> String {
    strict::all_text(&run.server.requests()[request].body)
}

/// The newest result in a request: what was not in the one before.
fn news(run: &Run, request: usize) -> String {
    let requests = run.server.requests();
    let (old, new) = (&requests[request - 1], &requests[request]);
    let before = strict::parts(&old.path, &old.body).len();
    strict::parts(&new.path, &new.body)[before..].join("\n")
}

/// The whole way of each deed: understood, done, told in the harness's words, and accepted by the
/// strict server. The first request that is wrong ends the run with the server's complaint.
#[test]
fn every_deed_works_in_every_harness_on_every_wire() {
    every_deed(&WIRES, false);
}

/// The same at a hosted provider, which is stricter: custom tools, sealed and signed thoughts, cache
/// marks, no unknown field.
#[test]
fn every_deed_works_in_every_harness_at_a_hosted_provider() {
    every_deed(&["chat", "responses", "messages"], true);
}

fn every_deed(wires: &[&str], far: bool) {
    for id in harnesses() {
        for wire in wires {
            let deeds = deeds(id);
            let mut steps: Vec<Step> = deeds.iter().map(|(_, step, _)| step.clone()).collect();
            // Two calls in one reply, where a reply may hold two.
            let both = act(id, shell("echo one-of-two")).and(act(id, shell("echo two-of-two")));
            let parallel = takes_two(id);
            if parallel {
                steps.push(both);
            }
            // A run that works is the last one, so that nothing is left to be asked about.
            steps.push(act(id, shell("echo all is well")));
            steps.push(finish(id, "All of it is done."));
            let count = steps.len();
            let mut edited = CODE.replace("import os", "import sys");
            if replaces_all(id) {
                edited = edited.replace("return 1", "return 2");
            }
            // These originals take the first of several places.
            if matches!(id, "native" | "kimi-cli") {
                edited = edited.replacen("return 1", "return 2", 1);
            }
            for step in steps.iter_mut().filter(|_| far) {
                step.reasoning = "a thought".into();
            }
            let agent = match far {
                true => Agent::new().hosted(),
                false => Agent::new(),
            };
            let run = agent
                .harness(id)
                .wire(wire)
                .window(65_536)
                .file("a.py", CODE)
                .model(steps)
                .run("Do it all.")
                .expect_exit(0)
                .expect_file("new.txt", "fresh words\n")
                .expect_file("a.py", &edited)
                .expect_requests(count);
            for (at, (name, _, words)) in deeds.iter().enumerate() {
                let told = news(&run, at + 1);
                for word in words {
                    assert!(
                        told.contains(word),
                        "{id} on {wire}, {name}: no {word:?} in {told}"
                    );
                }
                assert!(
                    told.len() < 80_000,
                    "{id} on {wire}, {name}: {} bytes",
                    told.len()
                );
            }
            // Both places of the text that stands twice are named by their lines.
            let twice = news(&run, 4);
            if harness(id).write(&replace("a", "b")).is_some() && !replaces_all(id) {
                assert!(
                    twice.contains('5') && twice.contains('9'),
                    "{id} on {wire}: {twice}"
                );
            }
            if parallel {
                let told = news(&run, deeds.len() + 1);
                let first = told.find("one-of-two").expect("the first result");
                let second = told.rfind("two-of-two").expect("the second result");
                assert!(first < second, "{id} on {wire}: {told}");
            }
        }
    }
}

/// An interrupt in the middle of a command, then the session goes on where it was.
#[cfg(unix)]
#[test]
fn an_interrupted_session_resumes_in_every_harness() {
    let pairs = harnesses().flat_map(|id| WIRES.map(|wire| (id, wire)));
    for (id, wire) in pairs {
        let running = Agent::new()
            .harness(id)
            .wire(wire)
            .model(vec![
                act(id, shell("echo begun; sleep 30")),
                act(id, shell("echo resumed-and-run")),
                finish(id, "Done after all."),
            ])
            .start(&["exec", "--skip-git-repo-check"], Some("Wait a little."));
        running.wait_for_requests(1);
        std::thread::sleep(Duration::from_millis(400));
        running.signal(2);
        let run = running.finish();
        assert_eq!(run.code, 130, "{id}: {}", run.stderr);
        let run = run
            .again(
                &["exec", "--skip-git-repo-check", "resume", "--last"],
                Some("Go on."),
            )
            .expect_exit(0);
        let last = run.server.requests().len() - 1;
        let text = text_of(&run, last);
        for words in ["Wait a little.", "Go on.", "resumed-and-run"] {
            assert!(text.contains(words), "{id} on {wire}: {words}");
        }
    }
}

/// A value for one argument, by its name and type.
fn sample(name: &str, schema: &Value) -> Value {
    let first = |list: &Value| list.as_array().and_then(|l| l.first().cloned());
    if let Some(value) = first(&schema["enum"]) {
        return value;
    }
    if let Some(schema) = first(&schema["anyOf"]) {
        return sample(name, &schema);
    }
    match (schema["type"].as_str().unwrap_or_default(), name) {
        ("object", _) => samples(schema),
        ("array", _) => json!([sample(name, &schema["items"])]),
        ("boolean", _) => json!(false),
        ("integer" | "number", _) => json!(1),
        (_, "path" | "file_path" | "filePath") => json!("a.py"),
        (_, "command" | "cmd") => json!("echo hello"),
        (_, "old" | "old_string" | "oldString" | "oldText" | "search") => json!("import os"),
        (_, "new" | "new_string" | "newString" | "newText" | "replace") => json!("import sys"),
        (_, "input" | "patch") => {
            json!("*** Begin Patch\n*** Add File: made.txt\n+made\n*** End Patch")
        }
        (_, "status") => json!("pending"),
        (_, "rev") => json!("HEAD"),
        (_, "ref") => json!("a.py"),
        (_, "task_id") => json!("shell_00000001"),
        (_, "subagent_type") => json!("general"),
        _ => json!("words"),
    }
}

/// All required arguments of a tool.
fn samples(schema: &Value) -> Value {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let pairs = required.iter().filter_map(|name| {
        let name = name.as_str()?;
        Some((name.to_owned(), sample(name, &schema["properties"][name])))
    });
    Value::Object(pairs.collect())
}

/// What a nested agent answers.
const PART: &str = "The nested agent did its part.";

/// One call of each tool for nested agents, in an order in which each can work, with the answers of
/// the agent where it gets its turn.
fn nesting(id: &'static str, tools: &[(String, Value)]) -> Vec<(&'static str, Vec<Step>)> {
    let part = |agent: Option<&str>, later| {
        Action::Delegate(Delegate {
            title: "a part".into(),
            prompt: "Do the part.".into(),
            agent: agent.map(str::to_owned),
            later,
            ..Delegate::default()
        })
    };
    let see = |want| Action::Agents {
        agents: vec!["1".into()],
        want,
    };
    let mut waits = false;
    let mut steps: Vec<(&'static str, Vec<Step>)> = vec![];
    for action in [
        part(None, true),
        see(AgentWant::Answer),
        part(Some("1"), false),
        see(AgentWant::Answer),
        see(AgentWant::Close),
        see(AgentWant::Reopen),
        part(None, false),
    ] {
        let Some((name, arguments)) = harness(id).write(&action) else {
            continue;
        };
        let is_offered = tools.iter().any(|(n, _)| n == name);
        let again = matches!(action, Action::Delegate(Delegate { agent: None, .. }));
        if !is_offered || again && steps.iter().any(|(n, _)| *n == name) {
            continue;
        }
        let mut step = vec![call(name, arguments.clone())];
        let works = match meaning(id, name, arguments) {
            Action::Delegate(part) if part.later => {
                waits = true;
                false
            }
            Action::Delegate(_) => true,
            _ => waits,
        };
        if works {
            waits = false;
            step.push(say(PART));
        }
        steps.push((name, step));
    }
    steps
}

/// The tools that the harness's own search finds, as a session of full size has them.
fn deferred(id: &str) -> Vec<(String, Value)> {
    let home = tempfile::tempdir().expect("a folder");
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_interpreter"))
        .args(["harness", "show", id, "--size", "full", "--json"])
        .current_dir(home.path())
        .env("INTERPRETER_HOME", home.path())
        .env("HOME", home.path())
        .output()
        .expect("it runs");
    let shown: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let tools = shown["deferred"].as_array().cloned().unwrap_or_default();
    let pair = |tool: &Value| {
        let name = tool["name"].as_str().unwrap_or_default().to_owned();
        (name, tool["parameters"].clone())
    };
    // What this one runs is cargo, for a project that is not there.
    let runs_cargo = |(name, _): &(String, Value)| name == "run_tests";
    tools
        .iter()
        .map(pair)
        .filter(|tool| !runs_cargo(tool))
        .collect()
}

/// What the harness makes of a call.
fn meaning(id: &str, name: &str, arguments: Value) -> Action {
    let call = ToolCall {
        id: "1".into(),
        name: name.into(),
        arguments: arguments.to_string(),
        kind: CallKind::Function,
        recovered: false,
    };
    harness(id).action(&call).expect("a good call")
}

/// Nothing is advertised without a handler: each offered tool is called once and understood.
#[test]
fn every_advertised_tool_has_a_handler() {
    let wait = Action::ShellWait {
        id: Some(1),
        wait: Duration::ZERO,
        all: true,
    };
    let input = Action::ShellInput {
        id: 1,
        chars: "x".into(),
        wait: Duration::from_millis(10),
    };
    let background = Action::Shell(Shell {
        background: true,
        time_limit: None,
        ..Shell::new("sleep 5", Duration::from_secs(5))
    });
    for id in support::with_tools() {
        let dry = Agent::new()
            .harness(id)
            .model(script![finish(id, "ok")])
            .run("hi");
        let mut tools = strict::tools(&dry.server.requests()[0].body);
        tools.extend(deferred(id));
        let known: Vec<(&str, Value)> = [&wait, &input, &Action::ShellStop { id: 1 }]
            .into_iter()
            .filter_map(|action| harness(id).write(action))
            .collect();
        // Something runs in the background, so that there is something to ask for.
        let mut steps: Vec<Step> = harness(id)
            .write(&background)
            .map(|(name, arguments)| call(name, arguments))
            .into_iter()
            .collect();
        let nesting = nesting(id, &tools);
        let delegates = !nesting.is_empty();
        let mut tried: Vec<&str> = vec![];
        for (name, step) in nesting {
            tried.push(name);
            steps.extend(step);
        }
        for (name, schema) in &tools {
            if tried.contains(&name.as_str()) {
                continue;
            }
            if harness(id)
                .write(&Action::Finish {
                    text: String::new(),
                })
                .is_some_and(|(n, _)| n == name)
            {
                continue;
            }
            let arguments = known
                .iter()
                .find(|(n, _)| n == name)
                .map(|(_, a)| a.clone());
            let arguments = arguments.unwrap_or_else(|| match name.as_str() {
                // A change of a cell must name it.
                "NotebookEdit" => {
                    json!({"notebook_path": "a.ipynb", "cell_id": "cell-0", "new_source": "1"})
                }
                "str_replace_editor" => json!({"command": "view", "path": "a.py"}),
                // Its form is either of two, so neither is required.
                "apply_patch" if schema["properties"].get("changes").is_some() => {
                    json!({"changes": [{"path": "made.txt", "content": "made\n"}]})
                }
                _ => samples(schema),
            });
            steps.push(call(name, arguments));
        }
        let count = steps.len() + 1;
        steps.push(finish(id, "All tools were tried."));
        let run = Agent::new()
            .harness(id)
            .config("harness_guidance = false\n")
            .file("a.py", CODE)
            .model(steps)
            .run("Try everything.")
            .expect_exit(0)
            .expect_requests(count);
        assert!(
            !run.stderr.contains("call not understood"),
            "{id}: {}",
            run.stderr
        );
        if delegates {
            let told = (1..=count).any(|n| run.request_text(n).contains(PART));
            assert!(told, "{id}: the answer of the nested agent is not told");
        }
    }
}
