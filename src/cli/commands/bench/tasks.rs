//! The built-in tasks: files, words, and a check that the model never sees.

/// A language, and the command that succeeds where it is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Language {
    /// Its name for people.
    pub name: &'static str,
    /// A shell command line.
    pub probe: &'static str,
}

const PYTHON: Language = language("Python", "python3 --version");
const NODE: Language = language("Node", "node --version");
const SHELL: Language = language("shell", "sh -c :");
const C: Language = language("C", "cc --version");
const RUST: Language = language("Rust", "rustc --version");

const fn language(name: &'static str, probe: &'static str) -> Language {
    Language { name, probe }
}

/// A file: its name, and what is in it. All files of a task lie in one folder.
pub type File = (&'static str, &'static str);

/// One task.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    /// Its name, which is also the name of its folder; at most 14 characters, to fit the table.
    pub name: &'static str,
    /// What must be installed.
    pub language: Language,
    /// What the model is told.
    pub prompt: &'static str,
    /// What is there at the beginning.
    pub files: &'static [File],
    /// The files that must stay as they are: the tests that the model sees.
    pub kept: &'static [&'static str],
    /// What is put into the folder after the model has ended.
    pub hidden: &'static [File],
    /// The shell command line that judges the folder then. It gets one more word, and prints that
    /// word as its last line if all is right: an exit code alone could come from the model's code.
    pub check: &'static str,
}

macro_rules! files {
    ($task:literal: $($name:literal),*) => {
        &[$(($name, include_str!(concat!("tasks/", $task, "/", $name)))),*]
    };
}

/// Python must not take a compiled file that is older than the source but looks as new.
const PYTHON_CHECK: &str = "python3 -X pycache_prefix=.check check.py";

/// Every task, from easy to hard within a language.
#[rustfmt::skip]
pub const TASKS: &[Task] = &[
    Task {
        name: "greet", language: PYTHON, files: &[], kept: &[],
        prompt: "Create a file greet.py that prints exactly this line: Hello, bench!\nThen run it with python3 greet.py to check.",
        hidden: files!("greet": "check.py"), check: PYTHON_CHECK,
    },
    Task {
        name: "habit-tracker", language: PYTHON,
        files: &[
            ("habits.py", include_str!("../../../../examples/habit-tracker/habits.py")),
            ("test_habits.py", include_str!("../../../../examples/habit-tracker/test_habits.py")),
        ],
        kept: &["test_habits.py"],
        prompt: "The tests in this project are failing. Find the cause, fix habits.py, and run python3 test_habits.py to check. Do not edit the tests.",
        hidden: files!("habit-tracker": "check.py"), check: PYTHON_CHECK,
    },
    Task {
        name: "rename", language: PYTHON, kept: &[],
        files: files!("rename": "shapes.py", "report.py", "main.py"),
        prompt: "Rename the function calc in shapes.py to area, everywhere it is used. The function calc_all keeps its name. Run python3 main.py to check that it still prints the same.",
        hidden: files!("rename": "check.py"), check: PYTHON_CHECK,
    },
    Task {
        name: "invoice", language: PYTHON, kept: &["test_invoice.py"],
        files: files!("invoice": "prices.py", "invoice.py", "test_invoice.py"),
        prompt: "python3 test_invoice.py fails. The comments in prices.py and invoice.py say what the functions should do. Find the bugs in both files and fix them until the tests pass. Do not edit the tests.",
        hidden: files!("invoice": "check.py"), check: PYTHON_CHECK,
    },
    Task {
        name: "slug", language: NODE, kept: &["test.js"],
        files: files!("slug": "slug.js", "test.js"),
        prompt: "The function in slug.js is wrong: every run of characters that are no letters or digits should become one dash, with no dash at the start or the end. Fix it and run node test.js to check. Do not edit the test.",
        hidden: files!("slug": "check.js"), check: "node check.js",
    },
    Task {
        name: "stock", language: NODE, kept: &["test.js", "store.js"],
        files: files!("stock": "store.js", "stock.js", "test.js"),
        prompt: "node test.js fails. store.js is right and must stay as it is; the bugs are in stock.js. Fix them until the test passes. Do not edit the test.",
        hidden: files!("stock": "check.js"), check: "node check.js",
    },
    Task {
        name: "settings", language: SHELL, kept: &[],
        files: files!("settings": "settings.ini"),
        prompt: "In settings.ini, set the port of the server to 9090 and the log level to debug. Change nothing else.",
        hidden: files!("settings": "check.sh"), check: "sh check.sh",
    },
    Task {
        name: "top", language: SHELL, kept: &["words.txt"],
        files: files!("top": "words.txt"),
        prompt: "Write a shell script top.sh that takes a file name as its argument and prints the most frequent word of the file, a space, and how often it occurs. `sh top.sh words.txt` should print: red 3\nIt should work for file names with spaces, and print nothing for an empty file.",
        hidden: files!("top": "check.sh"), check: "sh check.sh",
    },
    Task {
        name: "spaces", language: SHELL, kept: &["test.sh"],
        files: files!("spaces": "archive.sh", "test.sh"),
        prompt: "The script archive.sh fails when the folder or a file has spaces in its name. Fix it, and run sh test.sh to check. In a folder without .log files it should say: 0 moved\nDo not edit test.sh.",
        hidden: files!("spaces": "check.sh"), check: "sh check.sh",
    },
    Task {
        name: "stats", language: C, kept: &["test.c", "stats.h"],
        files: files!("stats": "stats.h", "stats.c", "test.c"),
        prompt: "The functions in stats.c do not do what stats.h says. Fix stats.c, and check with: cc -o test test.c stats.c && ./test\nDo not change test.c and stats.h.",
        hidden: files!("stats": "check.c"), check: "cc -o check check.c stats.c && ./check",
    },
    Task {
        name: "join", language: C, kept: &["test.c", "join.h"],
        files: files!("join": "join.h", "join.c", "test.c"),
        prompt: "The function in join.c does not do what join.h says. Fix join.c, and check with: cc -o test test.c join.c && ./test\nDo not change test.c and join.h.",
        hidden: files!("join": "check.c"), check: "cc -o check check.c join.c && ./check",
    },
    Task {
        name: "clock", language: RUST, kept: &["test.rs"],
        files: files!("clock": "clock.rs", "test.rs"),
        prompt: "The functions in clock.rs do not do what their comments say. Fix them, and check with: rustc --test -o test test.rs && ./test\nDo not change test.rs.",
        hidden: files!("clock": "check.rs"), check: "rustc -A warnings -o check check.rs && ./check",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tasks_are_what_they_should_be() {
        assert!(TASKS.len() >= 10);
        let mut languages: Vec<_> = TASKS.iter().map(|t| t.language.name).collect();
        languages.dedup();
        assert!(languages.len() >= 3);
        for (n, task) in TASKS.iter().enumerate() {
            let name = task.name;
            assert!(TASKS[..n].iter().all(|t| t.name != name), "{name} twice");
            assert!(name.len() <= 14, "{name}");
            for (file, text) in task.files.iter().chain(task.hidden) {
                assert!(text.lines().count() <= 60, "{name}/{file}");
                assert!(!file.contains('/'), "{name}/{file}");
            }
            for kept in task.kept {
                assert!(task.files.iter().any(|(f, _)| f == kept), "{name}/{kept}");
            }
            for (hidden, _) in task.hidden {
                assert!(
                    task.files.iter().all(|(f, _)| f != hidden),
                    "{name}/{hidden}"
                );
            }
        }
    }
}
