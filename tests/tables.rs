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
