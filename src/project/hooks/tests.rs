use super::*;
use crate::cancel::Cancel;
use crate::config::{self, Overrides};
use std::fs;

/// A home with these files.
fn home(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

fn load(home: &Path, cwd: &Path) -> Hooks {
    let config = config::load(home, cwd, &Overrides::default()).unwrap();
    Hooks::load(&config, home, cwd, false)
}

/// The shape that both kinds of files have, as users of the original write it.
const JSON: &str = r#"{"hooks": {
    "PreToolUse": [{"matcher": "Bash|apply_patch", "hooks": [
        {"type": "command", "command": "a"}, {"type": "command", "command": "b", "timeout": 5, "async": true}]}],
    "Stop": [{"matcher": "no one", "hooks": [{"type": "command", "command": "c", "statusMessage": "checking"}]}],
    "SessionEnd": [{"hooks": [{"type": "command", "command": "d"}]}],
    "Whatever": [{"hooks": [{"type": "command", "command": "e"}]}],
    "PostToolUse": [{"matcher": "mcp__.*__read", "hooks": [{"command": "f"}]}]
}}"#;

#[test]
fn a_file_with_hooks() {
    let dir = home(&[("h/hooks.json", JSON), ("ws/x", "")]);
    let hooks = Hooks::load(
        &config::load(
            &dir.path().join("h"),
            &dir.path().join("ws"),
            &Overrides::default(),
        )
        .unwrap(),
        &dir.path().join("h"),
        &dir.path().join("ws"),
        true,
    );
    assert!(hooks.warnings.is_empty(), "{:?}", hooks.warnings);
    let at = |moment, names: &[&str]| -> Vec<String> {
        hooks
            .at(moment, names)
            .iter()
            .map(|h| h.command.clone())
            .collect()
    };
    assert_eq!(at(Moment::PreToolUse, &["Bash"]), ["a", "b"]);
    assert_eq!(at(Moment::PreToolUse, &["apply_patch", "Edit"]), ["a", "b"]);
    assert_eq!(at(Moment::PreToolUse, &["Bashful"]), [""; 0]);
    // These two have nothing that a matcher could be held against.
    assert_eq!(at(Moment::Stop, &[]), ["c"]);
    assert_eq!(at(Moment::PostToolUse, &["mcp__files__read_all"]), ["f"]);
    assert_eq!(at(Moment::PostToolUse, &["mcp__files__write"]), [""; 0]);
    let hook = |command: &str| hooks.all().iter().find(|h| h.command == command).unwrap();
    assert_eq!(
        (hook("a").timeout, hook("b").timeout),
        (Duration::from_secs(600), Duration::from_secs(5))
    );
    assert_eq!(hook("d").timeout, Duration::from_secs(1));
    assert!(hook("b").is_async && !hook("a").is_async);
    assert!(
        hook("b").key.ends_with("h/hooks.json:pre_tool_use:0:1"),
        "{}",
        hook("b").key
    );
    assert_eq!(hooks.all().len(), 5);
}

#[test]
fn a_hook_of_the_user_runs_after_a_look_and_a_changed_one_after_another() {
    let toml = |command: &str| {
        format!("[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = {command:?}\n")
    };
    let dir = home(&[("config.toml", &toml("a"))]);
    let mut hooks = load(dir.path(), Path::new("/"));
    assert_eq!((hooks.trusted().count(), hooks.new_ones().count()), (0, 1));
    hooks.trust(dir.path()).unwrap();
    assert_eq!(hooks.trusted().count(), 1);
    assert_eq!(load(dir.path(), Path::new("/")).trusted().count(), 1);

    fs::write(dir.path().join("config.toml"), toml("b")).unwrap();
    let hooks = load(dir.path(), Path::new("/"));
    assert_eq!(hooks.trusted().count(), 0);
    // The config can say so as well, and can turn one off.
    let hook = &hooks.all()[0];
    for (line, state) in [
        (
            format!("trusted_hash = \"sha256:{}\"", hook.digest),
            State::Trusted,
        ),
        (
            format!("trusted_hash = \"{}\"\nenabled = false", hook.digest),
            State::Off,
        ),
        ("trusted_hash = \"sha256:00\"".into(), State::New),
    ] {
        let text = format!("{}[hooks.state.{:?}]\n{line}\n", toml("b"), hook.key);
        fs::write(dir.path().join("config.toml"), text).unwrap();
        assert_eq!(
            load(dir.path(), Path::new("/")).all()[0].state,
            state,
            "{line}"
        );
    }
    fs::write(
        dir.path().join("config.toml"),
        format!("features.hooks = false\n{}", toml("b")),
    )
    .unwrap();
    assert!(load(dir.path(), Path::new("/")).all().is_empty());
}

#[test]
fn what_is_wrong_is_said_and_the_rest_counts() {
    let text = r#"{"hooks": {"Stop": [{"matcher": "(", "hooks": [{"command": "a"}]},
        {"hooks": [{"type": "prompt", "command": "b"}, {"command": " "}, {"command": "c", "timeout": 0}, {"command": "d"}]}]}}"#;
    let dir = home(&[("hooks.json", text)]);
    let hooks = load(dir.path(), Path::new("/"));
    assert_eq!(hooks.all().len(), 1);
    assert_eq!(hooks.warnings.len(), 4, "{:?}", hooks.warnings);
    let dir = home(&[("hooks.json", "{")]);
    assert_eq!(load(dir.path(), Path::new("/")).warnings.len(), 1);
}

#[cfg(unix)]
mod running {
    use super::*;

    fn of(handlers: &[(&str, f64)]) -> Hooks {
        let handlers: Vec<Value> = handlers
            .iter()
            .map(|(command, timeout)| json!({"command": command, "timeout": timeout}))
            .collect();
        let text = json!({"hooks": {"Stop": [{"hooks": handlers}]}}).to_string();
        let dir = home(&[("hooks.json", &text)]);
        let mut hooks = load(dir.path(), Path::new("/"));
        hooks.trust(dir.path()).unwrap();
        hooks
    }

    fn answers(hooks: &Hooks, input: &str) -> Vec<Option<Result<Answer, String>>> {
        let hooks = hooks.at(Moment::Stop, &[]);
        run(&hooks, input, Path::new("/"), &Cancel::new())
    }

    #[test]
    fn input_outputs_and_codes_each_on_their_own_way() {
        let hooks = of(&[
            ("cat; echo bad >&2; exit 2", 10.0),
            ("exit 7", 10.0),
            ("kill -9 $$", 10.0),
        ]);
        let all = answers(&hooks, "{\"a\":1}");
        assert_eq!(
            all[0].clone().unwrap().unwrap(),
            Answer {
                code: 2,
                out: "{\"a\":1}".into(),
                err: "bad\n".into()
            }
        );
        assert_eq!(all[1].clone().unwrap().unwrap().code, 7);
        assert!(all[2].clone().unwrap().unwrap_err().contains("signal 9"));
    }

    #[test]
    fn they_run_at_the_same_time_and_each_has_its_limit() {
        // The first two wait for each other, so one after the other they would never end.
        let dir = tempfile::tempdir().unwrap();
        let meet = |mine: &str, other: &str| {
            let at = dir.path().display();
            format!(
                "touch {at}/{mine}; until [ -e {at}/{other} ]; do sleep 0.02; done; echo {mine}"
            )
        };
        let hooks = of(&[
            (&meet("a", "b"), 30.0),
            (&meet("b", "a"), 30.0),
            ("sleep 60", 0.3),
        ]);
        let all = answers(&hooks, "");
        assert_eq!(all[0].clone().unwrap().unwrap().out, "a\n");
        assert_eq!(all[1].clone().unwrap().unwrap().out, "b\n");
        assert!(
            all[2]
                .clone()
                .unwrap()
                .unwrap_err()
                .contains("longer than 0.3 s")
        );
    }

    #[test]
    fn more_input_than_a_pipe_holds_and_more_output_than_is_kept() {
        let hooks = of(&[("true", 10.0), ("yes | head -c 3000000", 10.0)]);
        let all = answers(&hooks, &"x".repeat(1 << 20));
        assert_eq!(all[0].clone().unwrap().unwrap().code, 0);
        assert_eq!(all[1].clone().unwrap().unwrap().out.len(), 1 << 20);
    }

    #[test]
    fn a_script_that_was_changed_in_the_session_does_not_run() {
        let dir = home(&[
            (
                "h/hooks.json",
                r#"{"hooks": {"Stop": [{"hooks": [{"command": "sh tool.sh"}]}]}}"#,
            ),
            ("ws/tool.sh", "echo old"),
        ]);
        let (home, ws) = (
            dir.path().join("h"),
            dir.path().join("ws").canonicalize().unwrap(),
        );
        let mut hooks = load(&home, &ws);
        hooks.trust(&home).unwrap();
        let go = || {
            run(&hooks.at(Moment::Stop, &[]), "", &ws, &Cancel::new())
                .remove(0)
                .unwrap()
        };
        assert_eq!(go().unwrap().out, "old\n");
        fs::write(ws.join("tool.sh"), "echo new").unwrap();
        assert!(go().unwrap_err().contains("tool.sh was changed"));
    }
}
