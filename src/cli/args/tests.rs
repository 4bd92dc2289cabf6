use super::table::{FLAGS, Take};
use super::*;
use toml::Value;

fn ok(line: &[&str]) -> Invocation {
    parse(line).unwrap_or_else(|e| panic!("{line:?}: {e}"))
}

fn error(line: &[&str]) -> String {
    parse(line).unwrap_err().to_string()
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn task(words: &str) -> Prompt {
    Prompt::Text(words.into())
}

#[test]
fn what_each_line_asks_for() {
    let cases: [(&str, Command); 32] = [
        ("", Command::Run(Prompt::Absent)),
        ("fix", Command::Run(task("fix"))),
        ("-", Command::Run(Prompt::Stdin)),
        ("exec", Command::Exec(Prompt::Absent)),
        ("e -", Command::Exec(Prompt::Stdin)),
        ("--oss exec fix -m x", Command::Exec(task("fix"))),
        ("exec -- resume", Command::Exec(task("resume"))),
        ("-- --json", Command::Run(task("--json"))),
        (
            "exec resume abc",
            Command::Resume {
                exec: true,
                fork: false,
                session: Session::Id("abc".into()),
                prompt: Prompt::Absent,
            },
        ),
        (
            "exec resume abc -",
            Command::Resume {
                exec: true,
                fork: false,
                session: Session::Id("abc".into()),
                prompt: Prompt::Stdin,
            },
        ),
        (
            "e resume --last go",
            Command::Resume {
                exec: true,
                fork: false,
                session: Session::Last,
                prompt: task("go"),
            },
        ),
        (
            "resume go --last",
            Command::Resume {
                exec: false,
                fork: false,
                session: Session::Last,
                prompt: task("go"),
            },
        ),
        (
            "resume abc go",
            Command::Resume {
                exec: false,
                fork: false,
                session: Session::Id("abc".into()),
                prompt: task("go"),
            },
        ),
        (
            "resume",
            Command::Resume {
                exec: false,
                fork: false,
                session: Session::Unnamed,
                prompt: Prompt::Absent,
            },
        ),
        (
            "fork --last",
            Command::Resume {
                exec: false,
                fork: true,
                session: Session::Last,
                prompt: Prompt::Absent,
            },
        ),
        (
            "exec fork abc go",
            Command::Resume {
                exec: true,
                fork: true,
                session: Session::Id("abc".into()),
                prompt: task("go"),
            },
        ),
        (
            "exec review --uncommitted --json",
            Command::Review {
                exec: true,
                what: Review::Change(Target::Uncommitted),
            },
        ),
        (
            "review --base main",
            Command::Review {
                exec: false,
                what: Review::Change(Target::Base("main".into())),
            },
        ),
        (
            "e review --commit abc --title T",
            Command::Review {
                exec: true,
                what: Review::Change(Target::Commit {
                    id: "abc".into(),
                    title: Some("T".into()),
                }),
            },
        ),
        (
            "exec review -",
            Command::Review {
                exec: true,
                what: Review::Words(Prompt::Stdin),
            },
        ),
        ("harness", Command::HarnessList),
        ("harness list", Command::HarnessList),
        (
            "harness --json show native",
            Command::HarnessShow("native".into()),
        ),
        (
            "harness bench --runs 2 --task a,b --save",
            Command::HarnessBench,
        ),
        ("models --oss --json", Command::Models),
        ("doctor --harness minimal --json", Command::Doctor),
        (
            "sandbox -s read-only -- ls -l --json",
            Command::Sandbox(vec!["ls".into(), "-l".into(), "--json".into()]),
        ),
        (
            "sandbox ls -l -- x",
            Command::Sandbox(
                words("ls -l -- x")
                    .into_iter()
                    .map(OsString::from)
                    .collect(),
            ),
        ),
        ("exec -h", Command::Help(Verb::Exec)),
        ("--help exec resume", Command::Help(Verb::ExecResume)),
        ("help harness", Command::Help(Verb::HarnessList)),
        ("-V", Command::Version),
    ];
    for (line, command) in cases {
        assert_eq!(ok(&words(line)).command, command, "{line}");
    }
}

/// Every part of the argv of the Codex SDK, in its order.
#[test]
fn the_command_line_of_the_sdk() {
    let line = [
        "exec",
        "--experimental-json",
        "--config",
        "mcp_servers.x={}",
        "--config",
        "show_raw_agent_reasoning=true",
        "--config",
        "openai_base_url=\"http://127.0.0.1:1/v1\"",
        "--model",
        "m",
        "--thread-source",
        "user",
        "--sandbox",
        "workspace-write",
        "--cd",
        "/w",
        "--add-dir",
        "/a",
        "--add-dir",
        "/b",
        "--skip-git-repo-check",
        "--output-schema",
        "/tmp/schema.json",
        "--cyber-access-program",
        "standard",
        "--config",
        "model_reasoning_effort=\"high\"",
        "--config",
        "sandbox_workspace_write.network_access=true",
        "--config",
        "web_search=\"live\"",
        "--config",
        "approval_policy=\"on-request\"",
        "resume",
        "0199-abc",
        "--image",
        "/1.png",
        "--image",
        "/2.png",
    ];
    let Invocation { command, options } = ok(&line);
    let session = Session::Id("0199-abc".into());
    assert_eq!(
        command,
        Command::Resume {
            exec: true,
            fork: false,
            session,
            prompt: Prompt::Absent
        }
    );
    assert!(options.json && options.skip_git_repo_check);
    assert_eq!(options.cd, Some("/w".into()));
    assert_eq!(options.output_schema, Some("/tmp/schema.json".into()));
    assert_eq!(options.images, [PathBuf::from("/1.png"), "/2.png".into()]);
    let o = &options.overrides;
    assert_eq!(o.add_dirs, [PathBuf::from("/a"), "/b".into()]);
    assert_eq!(o.sets.len(), 7);
    assert_eq!(o.sets[3], "model_reasoning_effort=\"high\"");
    assert_eq!(o.flags[0], ("model", Value::from("m"), "--model m".into()));
    assert_eq!(o.flags[1].1, Value::from("workspace-write"));

    let home = tempfile::tempdir().unwrap();
    let config = crate::config::load(home.path(), home.path(), o).unwrap();
    assert_eq!(
        config.openai_base_url.as_deref(),
        Some("http://127.0.0.1:1/v1")
    );
    assert!(
        config.network_access.value && config.warnings.is_empty(),
        "{:?}",
        config.warnings
    );
}

#[test]
fn flags_mean_the_same_before_and_after_the_subcommand() {
    let before = ok(&words("-s read-only -c a=1 --oss -C /w --yolo exec go"));
    let after = ok(&words("exec go -s read-only -c a=1 --oss -C /w --yolo"));
    assert_eq!(before, after);
    assert_eq!(
        before.options.overrides.flags,
        [
            (
                "sandbox_mode",
                Value::from("read-only"),
                "-s read-only".to_owned()
            ),
            (
                "sandbox_mode",
                Value::from("danger-full-access"),
                "--yolo".to_owned()
            ),
            ("approval_policy", Value::from("never"), "--yolo".to_owned()),
        ]
    );
    assert_eq!(ok(&words("exec go -mqwen -C=/w")), {
        let mut same = ok(&words("exec go -m qwen -C /w"));
        same.options.overrides.flags[0].2 = "-m qwen".into();
        same
    });
}

#[test]
fn images_are_a_list_and_may_stand_last() {
    let images = |line: &str| {
        let names = ok(&words(line)).options.images;
        names
            .iter()
            .map(|p| p.display().to_string())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(images("exec go -i a.png,b.png"), "a.png b.png");
    assert_eq!(images("exec go -i a.png b.png --json"), "a.png b.png");
    assert_eq!(images("exec resume ID --image a.png b.png"), "a.png b.png");
    assert_eq!(images("exec -i a.png go"), "a.png");
    assert_eq!(
        ok(&words("exec -i a.png go")).command,
        Command::Exec(task("go"))
    );
    assert_eq!(images("exec -i=a.png -- go"), "a.png");
    assert_eq!(images("exec go -i=a.png -i b.png"), "a.png b.png");
}

#[test]
fn other_flags() {
    let o = ok(&words(
        "exec go --max-steps 5 --color never --ephemeral -o out.txt --debug --enable x --disable y \
         --harness qwen-code --size tiny --chat-completions --ignore-user-config -p fast",
    ))
    .options;
    assert!(o.ephemeral && o.debug && o.chat_completions && o.overrides.ignore_user_config);
    assert_eq!(
        (o.color, o.output_last_message),
        (ColorChoice::Never, Some("out.txt".into()))
    );
    assert_eq!(o.overrides.profile.as_deref(), Some("fast"));
    assert_eq!(o.overrides.sets, ["features.x=true", "features.y=false"]);
    assert_eq!(
        o.overrides.flags,
        [
            ("max_steps", Value::Integer(5), "--max-steps 5".to_owned()),
            (
                "harness",
                Value::from("qwen-code"),
                "--harness qwen-code".to_owned()
            ),
            (
                "harness_size",
                Value::from("tiny"),
                "--size tiny".to_owned()
            ),
        ]
    );
    assert_eq!(
        ok(&words("harness show x --wire messages")).options.wire,
        Some(WireApi::Messages)
    );
    assert_eq!(
        ok(&words("--local-provider vllm"))
            .options
            .overrides
            .local_provider
            .as_deref(),
        Some("vllm")
    );
    assert_eq!(
        ok(&["--harness", ""]).options.overrides.flags[0].1,
        Value::from("")
    );
}

#[test]
fn mistakes_name_the_nearest_right_thing() {
    let cases = [
        (
            "exec --jsn",
            "there is no flag `--jsn`; did you mean `--json`? See `interpreter exec --help`",
        ),
        ("--sandbx read-only", "did you mean `--sandbox`?"),
        ("--approval never", "did you mean `--ask-for-approval`?"),
        ("-S read-only", "did you mean `-s`?"),
        (
            "-z",
            "there is no flag `-z`; a prompt that begins with - stands after --",
        ),
        (
            "-s read",
            "-s: `read` is none of read-only, workspace-write, danger-full-access; did you mean read-only?",
        ),
        ("--local-provider olama", "did you mean ollama?"),
        (
            "--color blue",
            "--color: `blue` is none of always, never, auto",
        ),
        (
            "--max-steps 0",
            "--max-steps: `0` is not a whole number from 1 to 4294967295",
        ),
        (
            "--max-steps many",
            "--max-steps: `many` is not a whole number",
        ),
        ("exec go -m", "-m needs a value: -m MODEL"),
        ("exec -m --oss", "-m needs a value: -m MODEL"),
        ("exec --json=yes go", "--json"),
        (
            "-c model",
            "-c: `model` sets nothing; write it as key=value",
        ),
        (
            "modles",
            "`modles` is no subcommand; did you mean `models`? To send it as a prompt, put -- before it",
        ),
        ("exec resum", "did you mean `exec resume`?"),
        (
            "harness lst",
            "`harness lst` is no subcommand; did you mean `harness list`?",
        ),
        (
            "harness zz",
            "`harness zz` is no subcommand; there are: list, show, bench",
        ),
        (
            "fix the bug",
            "\"the\" is one word too many; a prompt of several words stands in quotes",
        ),
        ("resume --last a b", "\"b\" is one word too many"),
        ("models x", "`interpreter models` takes nothing but flags"),
        (
            "sandbox --json -- ls",
            "--json has no meaning for `interpreter sandbox`; it belongs to: interpreter exec, interpreter exec resume, interpreter exec fork, interpreter exec review, interpreter harness list, interpreter harness show, interpreter harness bench, interpreter models, interpreter login status, interpreter doctor",
        ),
        ("sandbox", "sandbox needs a command to run"),
        ("exec resume", "needs the id of a session, or --last"),
        ("harness show", "harness show needs an id"),
        ("help exce", "`exce` is no subcommand; did you mean `exec`?"),
    ];
    for (line, wanted) in cases {
        let text = error(&words(line));
        assert!(text.contains(wanted), "{line}: {text}");
        assert!(!text.contains('\n'), "{text}");
    }
}

#[test]
fn every_flag_name_stands_once() {
    let mut names: Vec<String> = FLAGS
        .iter()
        .flat_map(|f| {
            f.long
                .iter()
                .map(|n| n.to_string())
                .chain(f.short.map(|s| s.to_string()))
        })
        .collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
    for flag in FLAGS {
        let takes = matches!(flag.take, Take::Value(_) | Take::Key(_) | Take::Images);
        assert_eq!(takes, !flag.value.is_empty(), "--{}", flag.name());
        if let Take::Key(key) = flag.take {
            assert!(crate::config::keys::by_path(key).is_some(), "{key}");
        }
    }
}

#[cfg(unix)]
#[test]
fn words_that_are_not_utf8_are_an_error_or_a_path() {
    use std::os::unix::ffi::OsStringExt;
    let bad = OsString::from_vec(vec![b'a', 0xff]);
    let text = parse([OsString::from("exec"), bad.clone()])
        .unwrap_err()
        .to_string();
    assert!(text.contains("is not UTF-8"), "{text}");
    let line = [OsString::from("-C"), bad.clone()];
    assert_eq!(parse(line).unwrap().options.cd, Some(bad.into()));
}

#[test]
fn a_review_is_of_one_thing() {
    for (line, word) in [
        (
            "exec review --uncommitted --base main",
            "--uncommitted and --base",
        ),
        ("review --commit a look", "--commit says what to review"),
        ("review --title T", "name it with --commit"),
        ("review a b", "one word too many"),
        ("exec --uncommitted", "belongs to: interpreter exec review"),
        ("exec fork", "exec fork needs the id"),
    ] {
        let why = error(&words(line));
        assert!(why.contains(word), "{line}: {why}");
    }
}
