//! What is made from the tables and sources: completion as the shells use it, reference pages, the page of messages.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

fn bin() -> &'static str {
    env!("CARGO_BIN_EXE_interpreter")
}

fn interpreter(args: &[&str], home: &Path) -> String {
    let done = Command::new(bin())
        .args(args)
        .env("INTERPRETER_HOME", home)
        .output()
        .expect("the program");
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).expect("text")
}

/// What bash offers at the end of this line, by the script that the program prints.
fn bash(line: &str) -> Vec<String> {
    let home = tempfile::tempdir().expect("a home");
    std::fs::create_dir(home.path().join("folder")).expect("a folder");
    let script = interpreter(&["completion", "bash"], home.path());
    let run = format!(
        "{script}\nCOMP_LINE=$1 COMP_POINT=${{#1}}\n_interpreter 2>/dev/null\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let path = Path::new(bin()).parent().expect("a folder");
    let done = Command::new("bash")
        .args(["--norc", "-c", &run, "bash", line])
        .current_dir(home.path())
        .env("INTERPRETER_HOME", home.path().join("i"))
        .env("PATH", format!("{}:/usr/bin:/bin", path.display()))
        .output()
        .expect("bash");
    let text = String::from_utf8(done.stdout).expect("text");
    text.lines()
        .filter(|l| !l.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn bash_completes_words_flags_and_values() {
    assert_eq!(bash("interpreter harn"), ["harness"]);
    assert_eq!(
        bash("interpreter harness show claude-code-"),
        ["claude-code-bare"]
    );
    assert_eq!(bash("i exec --sandbox work"), ["workspace-write"]);
    // Bash takes what stands after the sign for the word.
    assert_eq!(bash("interpreter exec --sandbox=work"), ["workspace-write"]);
    assert_eq!(bash("interpreter -C f"), ["folder"]);
    assert!(bash("interpreter exec --no-such").is_empty());
}

/// True where this shell is installed; `.ci/run` lets none be missing.
fn has(shell: &str) -> bool {
    let found = Command::new(shell).arg("--version").output();
    let found = found.is_ok_and(|done| done.status.success());
    if !found {
        println!("SKIPPED {shell}: it is not installed");
    }
    found
}

/// Runs a shell on `code` with the script of that shell as `$script`'s file and `line` as the last argument.
fn shell(command: &[&str], name: &str, code: &str, line: &str) -> String {
    let home = tempfile::tempdir().expect("a home");
    let work = home.path().join("work");
    std::fs::create_dir_all(work.join("folder")).expect("a folder");
    let script = home.path().join("_interpreter");
    let text = interpreter(&["completion", name], &home.path().join("i"));
    std::fs::write(&script, text).expect("the script");
    let programs = Path::new(bin()).parent().expect("a folder");
    let done = Command::new(command[0])
        .args(&command[1..])
        .args(["-c", code, line])
        .current_dir(&work)
        .env_clear()
        .env("HOME", home.path())
        .env("TERM", "xterm")
        .env("script", &script)
        .env("INTERPRETER_HOME", home.path().join("i"))
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
        .output()
        .expect("the shell");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// What fish offers at the end of this line, without the descriptions.
fn fish(line: &str) -> Vec<String> {
    let code = "source $script; complete -C $argv[1]";
    let text = shell(&["fish", "--no-config"], "fish", code, line);
    text.lines()
        .map(|l| l.split('\t').next().unwrap_or(l).to_owned())
        .collect()
}

#[test]
fn fish_completes_words_flags_and_values() {
    if !has("fish") {
        return;
    }
    assert_eq!(fish("interpreter harn"), ["harness"]);
    assert_eq!(
        fish("interpreter harness show claude-code-"),
        ["claude-code-bare"]
    );
    assert_eq!(fish("i exec --sandbox work"), ["workspace-write"]);
    assert_eq!(
        fish("interpreter exec --sandbox=work"),
        ["--sandbox=workspace-write"]
    );
    assert_eq!(fish("interpreter -C f"), ["folder/"]);
    assert!(fish("interpreter exec --no-such").is_empty());
}

/// What stands on the line of a zsh with its own completion after Tab: zsh shows nothing without a terminal, so it runs
/// in one of its own, until it shows `wanted` or ten seconds have passed.
fn zsh(line: &str, wanted: &str) -> String {
    let code = r#"
        zmodload zsh/zpty zsh/zselect
        zpty -b inner zsh -f -i
        heard() {
            local piece all= at
            for at in {1..200}; do
                while zpty -r -t inner piece; do all+=$piece; done
                [[ $all == *$1* ]] && break
                zselect -t 5
            done
            print -r -- $all
        }
        zpty -w inner "PS1='>'; fpath=(${script:h} \$fpath); autoload -U compinit; compinit -u -D"
        zpty -w inner 'told() print -r -- "<$BUFFER>"; zle -N told; bindkey "^O" told; echo is""ready'
        heard isready >/dev/null
        zpty -n -w inner "$0"$'\t\x0f'
        heard "$WANTED"
        zpty -d inner"#;
    let code = code.replace("$WANTED", wanted);
    shell(&["zsh", "-f"], "zsh", &code, line)
}

#[test]
fn zsh_completes_words_flags_and_values() {
    if !has("zsh") {
        return;
    }
    for (line, wanted) in [
        ("interpreter harn", "<interpreter harness >"),
        ("interpreter harness show claude-code-", "claude-code-bare"),
        ("i exec --sandbox work", "workspace-write"),
        (
            "interpreter exec --sandbox=work",
            "--sandbox=workspace-write",
        ),
        ("interpreter -C f", "folder"),
        (
            "interpreter harness ",
            "Print the prompt and tools of a harness",
        ),
    ] {
        let shown = zsh(line, wanted);
        assert!(shown.contains(wanted), "{line}: {shown:?}");
    }
}

#[test]
fn every_script_is_printed_and_another_name_is_refused() {
    let home = tempfile::tempdir().expect("a home");
    for shell in ["bash", "zsh", "fish", "powershell"] {
        assert!(
            interpreter(&["completion", shell], home.path()).contains("completion words"),
            "{shell}"
        );
    }
    let page = interpreter(&["completion", "man"], home.path());
    assert!(page.starts_with(".TH INTERPRETER 1"));
    let wrong = Command::new(bin())
        .args(["completion", "tcsh"])
        .output()
        .expect("the program");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("bash, zsh, fish, powershell, man"));
}

/// Words from a shell that nobody meant as a command line.
#[test]
fn any_words_are_answered() {
    let home = tempfile::tempdir().expect("a home");
    for words in [
        &["=", "--"][..],
        &["=--=", "-", "--model"],
        &["=x", "harness"],
        &[],
        &["no sign"],
    ] {
        let args: Vec<&str> = ["completion", "words", "--"]
            .iter()
            .chain(words)
            .copied()
            .collect();
        interpreter(&args, home.path());
    }
}

#[test]
fn the_reference_pages_are_made_from_the_tables() {
    use open_interpreter::cli::manual;
    for (name, text) in [
        ("cli.md", manual::command_line()),
        ("config.md", manual::config()),
    ] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(".github/docs")
            .join(name);
        let written = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            written == text,
            "{name} is out of date: run `cargo run --example reference`"
        );
    }
}

/// A page about messages is of use only while the program prints them.
#[test]
fn every_message_of_the_troubleshooting_page_is_printed_somewhere() {
    fn sources(dir: &Path, text: &mut String) {
        for entry in std::fs::read_dir(dir).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                sources(&path, text);
            } else if path.extension().is_some_and(|e| e == "rs") {
                text.push_str(&std::fs::read_to_string(&path).expect("a source"));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page =
        std::fs::read_to_string(root.join(".github/docs/troubleshooting.md")).expect("a page");
    let mut source = String::new();
    sources(&root.join("src"), &mut source);
    let headings = page.lines().filter_map(|line| line.strip_prefix("### "));
    let lost: Vec<&str> = headings
        .filter(|heading| !source.contains(heading))
        .collect();
    assert!(lost.is_empty(), "no longer printed: {lost:?}");
    assert!(page.matches("\n### ").count() >= 25);
}

/// Every page, wherever it lives, and the files that it sends its reader to.
#[test]
fn every_link_of_the_pages_leads_somewhere() {
    fn pages(dir: &Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(dir).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                pages(&path, found);
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![root.join("README.md"), root.join("AGENTS.md")];
    for folder in [".github", "examples", "harnesses"] {
        pages(&root.join(folder), &mut found);
    }
    let (mut lost, mut seen) = (Vec::new(), 0);
    for page in found {
        let text = std::fs::read_to_string(&page).expect("a page");
        for rest in text.split("](").skip(1) {
            let target = rest.split([')', '#']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.contains(char::is_whitespace) {
                continue;
            }
            seen += 1;
            if !page.with_file_name(target).exists() {
                lost.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(lost.is_empty(), "links that lead nowhere: {lost:?}");
    assert!(seen > 15, "the links were not found");
}
