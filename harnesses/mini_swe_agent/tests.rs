//! Golden layouts of `mini-swe-agent` in text mode: what the original sends.

use super::*;
use crate::harnesses::tests::{context, instructions, long_shell_out, reply, shell_out};
use crate::harnesses::{CallError, Size};
use crate::tools::action::{Outcome, ShellStatus, ToolError};

fn told(outcome: Outcome) -> (String, State) {
    let mut state = State::default();
    let done = Done {
        call: None,
        result: Ok((Action::Shell(Shell::new("make", TIME_LIMIT)), outcome)),
        notes: Vec::new(),
    };
    let items = MiniSweAgent.results(&mut state, &[done], 30_000);
    assert!(matches!(items.as_slice(), [Item::User { .. }]));
    (items[0].text(), state)
}

fn read(text: &str) -> Step {
    MiniSweAgent.read(&State::default(), &reply(text, Vec::new()))
}

/// The constants, against the recorded facts.
#[test]
fn constants_are_the_recorded_ones() {
    let facts: serde_json::Value = serde_json::from_str(include_str!(
        "../../tests/fixtures/harness-facts/mini-swe-agent.json"
    ))
    .expect("the fixture is JSON");
    assert_eq!(facts["modes"]["textbased"]["fence"], FENCE);
    assert_eq!(facts["request"]["tokens"]["finish"], DONE_TOKEN);
    let limits = &facts["request"]["limits"];
    assert_eq!(limits["consecutive_format_errors"], FORMAT_ERRORS);
    assert_eq!(limits["command_timeout_s"], TIME_LIMIT.as_secs());
    let env: serde_json::Value = ENV
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).into()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    assert_eq!(facts["request"]["env"], env);
}

/// "Execution": /bin/sh, 30 s, the extra variables, nothing persists.
#[test]
fn a_command_is_read() {
    let Step::Act(actions) = read("I look.\n```mswea_bash_command\nls\n```") else {
        panic!()
    };
    let [Ok(Action::Shell(shell))] = actions.as_slice() else {
        panic!("{actions:?}")
    };
    assert_eq!(shell.command, "ls");
    assert_eq!(shell.shell, ShellKind::Sh);
    assert_eq!(shell.time_limit, Some(Duration::from_secs(30)));
    assert!(!shell.cwd_persists && shell.env.len() == 5);
}

/// "Finishing".
#[test]
fn the_final_word_ends_the_task() {
    let finish = |text: &str| {
        read(&format!(
            "{text}```mswea_bash_command\necho {DONE_TOKEN}\n```"
        ))
    };
    let expected = |text: &str| Step::Act(vec![Ok(Action::Finish { text: text.into() })]);
    assert_eq!(finish("It works now.\n"), expected("It works now."));
    assert_eq!(finish(""), expected(""));

    let over = |output: &str, code| {
        let outcome = shell_out("x", output, ShellStatus::Exited(code));
        MiniSweAgent.is_over(&told(outcome).1)
    };
    let output = format!("\n{DONE_TOKEN}\nthe patch\n");
    assert_eq!(over(&output, 0).as_deref(), Some("the patch"));
    assert_eq!(over(&output, 1), None);
    assert_eq!(over(&format!("first {DONE_TOKEN}"), 0), None);
    // The next task begins anew.
    let (_, mut state) = told(shell_out("x", &output, ShellStatus::Exited(0)));
    MiniSweAgent.user(&mut state, &Input::text("More."));
    assert_eq!(MiniSweAgent.is_over(&state), None);
}

/// "Format errors": only a message of the user is kept; the third in a row ends the run.
#[test]
fn a_reply_without_one_command_is_asked_again() {
    let Step::Requery { show, keep } = read("All done!") else {
        panic!()
    };
    assert!(show.is_empty());
    let [item @ Item::User { .. }] = keep.as_slice() else {
        panic!("{keep:?}")
    };
    let text = item.text();
    assert!(text.contains("<error>\nYour reply had no command.") && text.contains(DONE_TOKEN));

    let two = "```bash\nls\n```\n```bash\npwd\n```";
    let Step::Requery { keep, .. } = read(two) else {
        panic!()
    };
    assert!(keep[0].text().contains("had 2 commands"));

    let mut cut = reply("```mswea_bash_command\ncat > a <<EOF\nx", Vec::new());
    cut.finish = Finish::Length;
    let Step::Requery { keep, .. } = MiniSweAgent.read(&State::default(), &cut) else {
        panic!()
    };
    assert!(keep[0].text().contains("output limit"));

    let mut state = State::default();
    for (before, stops) in [(1, false), (2, true)] {
        state.counters.insert(REQUERIES.into(), before);
        let step = MiniSweAgent.read(&state, &reply("Hm.", Vec::new()));
        assert_eq!(matches!(step, Step::Stop(_)), stops, "{before}");
    }
}

/// "Observations", text mode: the output is followed directly by the closing tag.
#[test]
fn observations_are_told() {
    let text = told(shell_out("make", "built\n", ShellStatus::Exited(2))).0;
    assert_eq!(
        text,
        "<returncode>2</returncode>\n<output>\nbuilt\n</output>"
    );
    let text = told(shell_out("make", "half", ShellStatus::TimedOut)).0;
    assert_eq!(
        text,
        "<exception>The command `make` was stopped after 1 seconds.</exception>\n<returncode>-1</returncode>\n<output>\nhalf</output>"
    );
    let text = told(Outcome::Failed(ToolError::Other("no shell".into()))).0;
    assert_eq!(
        text,
        "<exception>no shell</exception>\n<returncode>-1</returncode>\n<output>\n</output>"
    );
    let refused = CallError::Refused("Not that.".into());
    let done = Done {
        call: None,
        result: Err(refused),
        notes: Vec::new(),
    };
    assert_eq!(
        MiniSweAgent.results(&mut State::default(), &[done], 1000),
        [Item::user("Not that.")]
    );
}

/// "Observations": 10,000 characters or more are shown as head and tail of 5,000.
#[test]
fn long_observations_are_cut() {
    let text = told(long_shell_out("make")).0;
    assert!(text.starts_with("<returncode>3</returncode>\n<warning>\n"));
    for part in [
        "</warning>\n<output_head>\nline number 1\n",
        "</output_head>\n<elided_chars>\n",
        " characters elided\n",
        "error: the middle broke",
        "</elided_chars>\n<output_tail>\n",
    ] {
        assert!(text.contains(part), "{part}");
    }
    assert!(text.ends_with("line number 3000\n</output_tail>"));
    assert!(text.len() < 10_600);
    let short = "x".repeat(100).to_owned() + "\n";
    let text = told(shell_out("x", &short.repeat(99), ShellStatus::Exited(0))).0;
    assert!(text.contains("<output_head>") != (short.len() * 99 < 10_000));
}

/// "Placement and request": the task first, then how to work; AGENTS.md last.
#[test]
fn the_first_message_is_in_order() {
    let mut cx = context(Size::Full);
    cx.instructions = instructions();
    let start = MiniSweAgent.begin(&cx);
    assert!(start.tools.is_empty() && start.opening.is_empty());
    assert!(start.system.contains("```mswea_bash_command\n"));
    let mut state = start.state;
    let text = MiniSweAgent.user(&mut state, &Input::text("Fix it."))[0].text();
    let places: Vec<Option<usize>> = [
        "Fix it.",
        "## How to work",
        "## Rules",
        "<system_information>\nLinux 6.8.0 x86_64\n</system_information>",
        "Be kind.",
        "Use tabs.",
    ]
    .iter()
    .map(|part| text.find(part))
    .collect();
    assert_eq!(places[0], Some(0));
    assert!(places.iter().all(Option::is_some) && places.is_sorted());
    assert!(text.contains("sed -i 's/"));
    cx.os = "macOS 15.1".into();
    let mut state = MiniSweAgent.begin(&cx).state;
    let text = MiniSweAgent.user(&mut state, &Input::text("Fix it."))[0].text();
    assert!(text.contains("sed -i '' 's/"));
}

/// Recorded runs: every reply is one command.
#[test]
fn recorded_commands_are_understood() {
    let file: serde_json::Value = serde_json::from_str(include_str!(
        "../../tests/fixtures/trajectories/mini-swe-agent.json"
    ))
    .expect("the fixture is JSON");
    let mut understood = 0;
    for run in file["runs"].as_array().expect("runs") {
        let fence = run["fence"].as_str().expect("a label");
        for command in run["commands"].as_array().expect("commands") {
            let command = command.as_str().expect("a text");
            let Step::Act(actions) = read(&format!("I go on.\n\n```{fence}\n{command}\n```"))
            else {
                panic!("{command}")
            };
            match actions.as_slice() {
                [Ok(Action::Shell(shell))] => assert_eq!(shell.command, command),
                [Ok(Action::Finish { .. })] => assert_eq!(command, format!("echo {DONE_TOKEN}")),
                other => panic!("{command}: {other:?}"),
            }
            understood += 1;
        }
    }
    assert_eq!(understood, 12);
}

/// A second block ends the reply after the first command; a first block alone does not.
#[test]
fn the_first_of_several_commands_ends_the_reply() {
    let one = "Look.\n```mswea_bash_command\nls\n```\n";
    assert_eq!(MiniSweAgent.enough(one), None);
    let two = format!("{one}Then:\n```bash");
    assert_eq!(MiniSweAgent.enough(&two), Some(one.len()));
    let shell = "```bash\ncat a\n```\n\n```bash\n";
    assert_eq!(
        MiniSweAgent.enough(shell),
        Some("```bash\ncat a\n```\n".len())
    );
    let thought = "<think>\n```bash\nrm a\n```\n```bash\n";
    assert_eq!(MiniSweAgent.enough(thought), None);
    let after = format!("{thought}x\n```\n</think>\n{one}");
    assert_eq!(MiniSweAgent.enough(&after), None);
    assert_eq!(
        MiniSweAgent.enough(&format!("{after}```sh\n")),
        Some(after.len())
    );
    // Another language is no command, and a fence in a document is not the end of its block.
    assert_eq!(
        MiniSweAgent.enough("```python\nx\n```\n```bash\nls\n```\n"),
        None
    );
    let document = "```bash\ncat > a.md <<'EOF'\n```\ncode\n```\nEOF\n```\n";
    assert_eq!(MiniSweAgent.enough(document), None);
}

/// An action is written as the block that asks for it.
#[test]
fn blocks_return_to_themselves() {
    let again = |action: &Action| {
        let (label, arguments) = MiniSweAgent.write(action).expect("a block");
        let command = arguments["command"].as_str().expect("a command");
        match read(&format!("```{label}\n{command}\n```")) {
            Step::Act(mut actions) => actions.pop().expect("an action"),
            other => panic!("{other:?}"),
        }
    };
    let Step::Act(actions) = read("```mswea_bash_command\nmake && ls\n```") else {
        panic!()
    };
    let [Ok(make)] = actions.as_slice() else {
        panic!()
    };
    assert_eq!(again(make).as_ref(), Ok(make));
    for text in ["", "Fixed it."] {
        let finish = Action::Finish { text: text.into() };
        assert_eq!(again(&finish), Ok(finish));
    }
    let quoting = Action::Finish {
        text: "say \"hi\"".into(),
    };
    assert_eq!(MiniSweAgent.write(&quoting), None);
    let elsewhere = Shell {
        dir: Some("my web".into()),
        ..Shell::new("ls", TIME_LIMIT)
    };
    let (_, arguments) = MiniSweAgent
        .write(&Action::Shell(elsewhere))
        .expect("a block");
    assert_eq!(arguments["command"], "cd 'my web' && ls");
}
