use super::*;
use std::fs;

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

fn rules(text: &str) -> Result<Rules, String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.rules");
    fs::write(&file, text).unwrap();
    Rules::of_files(&[file]).map_err(|e| e.replace(&format!("{}/", dir.path().display()), ""))
}

const RULES: &str = r#"
# What the facts of the original show, in its syntax.
prefix_rule(
    pattern = ["git", ["status", "log"]],
    decision = "allow",
    match = ["git status -s", ["git", "log"]],
    not_match = ["git push", "hg status"],
)
prefix_rule(pattern=['git', 'push'], decision='prompt', justification="it leaves the house")
prefix_rule(pattern=["git", "push", "--force"], decision="forbidden"); prefix_rule(pattern=["cat"], sandboxed=True)
prefix_rule(pattern=["curl"], decision="forbidden", justification='use \'fetch\'.')
host_executable(name="git", paths=["/usr/bin/git", "/opt/git/git"])
network_rule(host="x", protocol="https", decision="allow")
"#;

#[test]
fn the_strictest_rule_holds_whatever_the_order_and_wherever_it_stands() {
    use Decision::{Allow, Forbidden, Prompt};
    let rules = rules(RULES).unwrap();
    for (script, decision) in [
        ("git status", Some(Allow)),
        ("git log -3 && git status", Some(Allow)),
        ("bash -lc 'git status'", Some(Allow)),
        ("/usr/bin/git status", Some(Allow)),
        ("git stash", None),
        ("git", None),
        ("ls", None),
        // Not every part is allowed.
        ("git status && ls", None),
        // What cannot be read to its last word is not allowed.
        ("git status > f", None),
        ("git status $X", None),
        ("X=1 git status", None),
        // Another program of that name.
        ("./git status", None),
        ("/tmp/git status", None),
        ("git push", Some(Prompt)),
        ("git status; git push origin", Some(Prompt)),
        ("/tmp/git push", Some(Prompt)),
        ("git push --force", Some(Forbidden)),
        ("git push && git push --force", Some(Forbidden)),
        // Behind everything that runs a command, and in everything that can be made out.
        ("sudo git push", Some(Prompt)),
        ("env A=1 curl x", Some(Forbidden)),
        ("A=1 curl x", Some(Forbidden)),
        ("echo x | xargs curl", Some(Forbidden)),
        ("timeout 5 sh -c 'curl x'", Some(Forbidden)),
        ("flock f curl x", Some(Forbidden)),
        ("exec -a n curl x", Some(Forbidden)),
        ("time -p curl x", Some(Forbidden)),
        // Options of the program itself, and shells that read what they run.
        ("git -C . push", Some(Prompt)),
        ("git --no-pager -c a=b push", Some(Prompt)),
        ("echo 'curl x' | sh", Some(Prompt)),
        ("sh <<< 'curl x'", Some(Prompt)),
        ("git -C . stash push", None),
        ("git commit -m push", None),
        ("sh x.sh", None),
        // What only the shell knows may come out as anything.
        ("X=curl; $X x", Some(Prompt)),
        ("\"$X\" x", Some(Prompt)),
        ("$(echo curl) x", Some(Prompt)),
        ("`echo curl` x", Some(Prompt)),
        ("c{u,}rl x", Some(Prompt)),
        ("/usr/bin/cur? x", Some(Prompt)),
        ("cu$'\\x72'l x", Some(Prompt)),
        ("eval \"$X\"", Some(Prompt)),
        ("git $X", Some(Prompt)),
        ("git \"$@\"", Some(Prompt)),
        ("alias g=git\ng push", Some(Prompt)),
        ("ls *.c $X && [ -f x ] && find . -name '*.c'", None),
        ("git commit -m \"$X\"", None),
        ("timeout 5 curl x", Some(Forbidden)),
        ("find . -exec curl {} +", Some(Forbidden)),
        ("echo $(curl x)", Some(Forbidden)),
        ("if true; then curl x; fi", Some(Forbidden)),
        ("sh <<E\ncurl x\nE", Some(Forbidden)),
        ("bash -c 'bash -c \"curl x\"'", Some(Forbidden)),
        ("curl x > f", Some(Forbidden)),
        ("c''url x", Some(Forbidden)),
        ("/usr/bin/curl x", Some(Forbidden)),
        ("echo curl", None),
        // Too deep to be read: as strict as a question.
        (&"$(".repeat(50), Some(Prompt)),
    ] {
        assert_eq!(rules.judge(script).decision, decision, "{script}");
    }
    assert!(rules.judge("cat a").sandboxed && !rules.judge("git status").sandboxed);
    assert!(rules.judge("git status && cat a").sandboxed);
    let judgement = rules.judge("git push --force");
    assert_eq!(judgement.matches.len(), 2);
    assert!(
        judgement.why().contains("`git push --force`"),
        "{}",
        judgement.why()
    );
    assert!(
        rules.judge("curl x").why().ends_with(": use 'fetch'"),
        "{}",
        rules.judge("curl x").why()
    );
    assert_eq!(rules.all()[1].line, 9);
}

#[test]
fn mistakes_name_their_line() {
    for (text, error) in [
        (
            "\nfoo()",
            "a.rules:2: `foo` is no rule; there are prefix_rule and host_executable",
        ),
        (
            "prefix_rule(",
            "a.rules:1: the file ends where a name was expected",
        ),
        (
            "prefix_rule()",
            "a.rules:1: a prefix_rule needs a `pattern` of at least one word",
        ),
        (
            "prefix_rule(pattern=[])",
            "a.rules:1: a prefix_rule needs a `pattern` of at least one word",
        ),
        (
            "prefix_rule(pattern=[[]])",
            "a.rules:1: `pattern` is a list of words, or of lists of alternative words",
        ),
        (
            "prefix_rule(pattern=[\"a\"], decision=\"deny\")",
            "a.rules:1: `deny` is no decision; there are allow, prompt and forbidden",
        ),
        (
            "prefix_rule(pattern=[\"a\"], pattern=[\"b\"])",
            "a.rules:1: `pattern` is given twice",
        ),
        ("prefix_rule(pattern=[\"a])", "a.rules:1: a text has no end"),
        (
            "prefix_rule(pattern=[a])",
            "a.rules:1: `a` is no value; texts stand in quotes",
        ),
        (
            "prefix_rule(pattern=[\"a\"], match=[\"b\"])",
            "a.rules:1: the rule should match `b`",
        ),
        (
            "prefix_rule(pattern=[\"a\"], not_match=[\"a b\"])",
            "a.rules:1: the rule should not match `a b`",
        ),
        (
            "host_executable(name=\"a\", paths=[\"b\"])",
            "a.rules:1: the path `b` is not absolute",
        ),
    ] {
        assert_eq!(rules(text).unwrap_err(), error, "{text}");
    }
    assert!(rules(&format!("prefix_rule(pattern={}", "[".repeat(10_000))).is_err());
}

#[test]
fn what_would_allow_anything_is_too_broad() {
    for broad in [
        "bash",
        "bash -c",
        "sh -lc",
        "/bin/zsh",
        "python",
        "python3 -c",
        "python3.12",
        "node -e",
        "perl",
        "env",
        "sudo",
        "sudo bash -c",
        "env A=1",
        "git",
        "npm run",
        "npx",
        "cargo",
        "pwsh -Command",
        "cmd /c",
        "xargs",
        "deno eval",
        "bun run",
        "powershell.exe -Command",
        "timeout",
    ] {
        assert!(is_too_broad(&words(broad)), "{broad}");
    }
    for fine in [
        "git status",
        "npm run build",
        "cargo test",
        "ls",
        "python3 manage.py",
        "sudo apt",
        "bash build.sh",
        "pytest",
    ] {
        assert!(!is_too_broad(&words(fine)), "{fine}");
    }
    assert!(is_too_broad(&[]));
}

#[test]
fn a_yes_for_good_is_appended_and_holds_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rules/default.rules");
    fs::create_dir(dir.path().join("rules")).unwrap();
    fs::write(&file, "# mine, without an end").unwrap();
    let mut rules = Rules {
        home: Some(dir.path().to_owned()),
        ..Rules::default()
    };
    rules.save(&words("git push"), false).unwrap();
    rules.save(&words("git push"), false).unwrap();
    rules.save(&words("make \"x\\y\""), true).unwrap();
    assert_eq!(
        rules.judge("git push origin").decision,
        Some(Decision::Allow)
    );
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "# mine, without an end\nprefix_rule(pattern=[\"git\", \"push\"], decision=\"allow\")\n\n\
         prefix_rule(pattern=[\"make\", \"\\\"x\\\\y\\\"\"], decision=\"allow\", sandboxed=True)\n"
    );
    let again = Rules::of_files(&[file]).unwrap();
    assert_eq!(again.all().len(), 2);
    assert!(rules.save(&words("bash -c"), false).is_err());
    assert!(rules.save(&["a\nb".to_owned()], false).is_err());
}
