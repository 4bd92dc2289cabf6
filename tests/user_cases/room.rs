//! Nothing fills the window, and what is left out is said.

use crate::script;
use crate::support::script::*;
use crate::support::{Agent, harnesses};
use crate::{numbers, result, tells};

/// Agents whose originals show the end of a long output alone, and may not say how long it was.
/// They name the file of the whole all the same.
const END_ONLY: [&str; 2] = ["opencode", "pi"];

#[test]
pub fn o04_one_tool_result_never_fills_the_window() {
    for harness in harnesses() {
        let run = Agent::new()
            .harness(harness)
            .window(8_192)
            .model(script![run("seq 1 200000"), finish(harness, "done")])
            .run("count")
            .expect_exit(0)
            .expect_stdout("done\n");
        assert!(run.server.requests()[1].bytes <= 32_768, "{harness}");
        let said = result(&run, 2);
        let shown: &[&str] = match END_ONLY.contains(&harness) {
            true => &["199999\n200000"],
            false => &["1\n2\n3\n", "199999\n200000"],
        };
        for part in shown {
            assert!(said.contains(part), "{harness}: {part:?} is not in\n{said}");
        }
        let told = tells(&said, 150_000) || END_ONLY.contains(&harness);
        assert!(told, "{harness}: how much is left out is not in\n{said}");
        assert!(told_file(&said).is_some(), "{harness}: no file in\n{said}");
    }
}

/// The file that a result names.
fn told_file(said: &str) -> Option<&str> {
    said.split([' ', '\n', '`', '"', '\'', ';', ')', ']', '<', '>'])
        .map(|word| word.trim_end_matches(['.', ',']))
        .find(|word| word.contains("/home/outputs/"))
}

#[test]
pub fn o05_compaction_that_cannot_help_stops() {
    let rules = "Follow these rules to the letter.\n".repeat(180);
    for harness in harnesses() {
        for window in [512, 1_024, 2_048] {
            let run = Agent::new()
                .harness(harness)
                .window(window)
                .file("AGENTS.md", &rules)
                .model(script![finish(harness, "summary")])
                .run("hello")
                .expect_stderr("raise project_doc_max_bytes")
                .expect_stderr(&format!("a window of {window} tokens is too small"));
            let requests = run.server.requests();
            match requests.as_slice() {
                // Nothing is asked, no summary either, and the prompt's own size is told.
                [] => {
                    let run = run
                        .expect_exit(1)
                        .expect_stderr(&format!("the window holds {window}"));
                    let (before, _) = run
                        .stderr
                        .split_once("of them system prompt and tools), ")
                        .expect("the sentence");
                    let fixed = numbers(before).last().copied().unwrap_or_default();
                    assert!((50..2_048).contains(&fixed), "{harness}: {fixed}");
                    let refused = run.stderr.contains("the server refused");
                    assert!(!refused, "{harness}: {}", run.stderr);
                }
                [one] => {
                    assert!(one.bytes / 4 < window as usize, "{harness}");
                    run.expect_exit(0).expect_stdout("summary\n");
                }
                more => panic!("{harness}: {} requests", more.len()),
            }
        }
    }
}

#[test]
pub fn o22_output_caps_keep_what_matters() {
    let command = "head -c 300000 /dev/zero | tr '\\0' x; echo; seq 1 20000; \
        echo 'error[E1234]: middle'; seq 1 20000; echo LAST; exit 3";
    for harness in harnesses() {
        let run = Agent::new()
            .harness(harness)
            .model(script![
                run(command),
                // The failed command is asked about once.
                finish(harness, "done"),
                finish(harness, "done")
            ])
            .run("go")
            .expect_exit(0)
            .expect_stdout("done\n");
        let said = result(&run, 2);
        // Once in the command, where a harness repeats it, and once in the output.
        let last = said.rfind("\nLAST\n").or(said.rfind("\nLAST"));
        assert!(last.is_some(), "{harness}: {said}");
        assert!(
            said.contains("\nerror[E1234]: middle\n"),
            "{harness}: {said}"
        );
        let code = said.lines().any(|line| {
            let line = line.to_lowercase();
            line.contains("code") && numbers(&line).contains(&3)
        });
        assert!(code, "{harness}: {said}");
        let longest = said.lines().map(str::len).max().unwrap_or(0);
        assert!(longest <= 4_096, "{harness}: a line of {longest} bytes");
        let told = tells(&said, 40_000) || END_ONLY.contains(&harness);
        assert!(told, "{harness}: how much is left out is not in\n{said}");
        let path =
            told_file(&said).unwrap_or_else(|| panic!("{harness}: no file is named in\n{said}"));
        let whole =
            std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{harness}: {path}: {e}"));
        // Three hundred thousand and a line end, twice the numbers, and the two lines.
        assert_eq!(whole.len(), 300_001 + 2 * 108_894 + 21 + 5, "{harness}");
    }
}
