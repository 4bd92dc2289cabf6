//! What stands before the first message of the user, and what a nested agent is told.

use super::{Family, GENERAL, only_looks, reminder};
use crate::harnesses::format::{documents, prompt};
use crate::harnesses::{Context, Item, Start};
use std::fmt::Write;

const CHILD: &str = include_str!("child.md");

/// Tools that a nested agent goes without, beside those for which it has no one to ask.
const NOT_NESTED: [(&str, &str); 2] = [
    ("TaskOutput", "a nested agent reads the output file"),
    ("ToolSearch", "a nested agent has all its tools before it"),
];
/// Tools that one which only looks goes without.
const NOT_LOOKING: [&str; 3] = ["Edit", "Write", "TodoRead"];

/// The message before the first one of the user: instruction files and, with `date`, the day.
pub fn context(cx: &Context, date: bool) -> Vec<Item> {
    let mut parts = Vec::new();
    if !cx.instructions.is_empty() {
        let mut text = "# claudeMd\nInstructions of the user and of this project. Follow them exactly; they go before your own habits.".to_owned();
        for document in documents(&cx.instructions) {
            let _ = write!(
                text,
                "\n\nContents of {}:\n\n{}",
                document.shown,
                document.text.trim_end()
            );
        }
        parts.push(text);
    }
    if date {
        parts.push(format!("# currentDate\nToday is {}.", cx.date));
    }
    if parts.is_empty() {
        return Vec::new();
    }
    vec![Item::user(reminder(&format!(
        "Context for what follows.\n{}",
        parts.join("\n\n")
    )))]
}

/// Whether this is a git work tree, and its branch, for prompts.
pub fn git_state(cx: &Context) -> String {
    match (&cx.git_root, &cx.git_branch) {
        (None, _) => "no".into(),
        (Some(_), None) => "yes".into(),
        (Some(_), Some(branch)) => format!("yes, on the branch {branch} when the session began"),
    }
}

impl Family {
    /// What a nested agent of that role sees.
    pub fn child(&self, role: &str, cx: &Context) -> Start {
        let looks = only_looks(role);
        let word = match role {
            _ if !looks => "general",
            role if role.eq_ignore_ascii_case("Plan") => "planner",
            _ => "explorer",
        };
        let alone = Context {
            interactive: false,
            depth: cx.depth.max(1),
            ..cx.clone()
        };
        let role = if looks { role } else { GENERAL };
        let mut words = vec![word];
        if looks {
            words.push("looks");
        }
        let git = git_state(cx);
        let system = || {
            prompt(
                CHILD,
                &alone,
                &words,
                &[("role", role), ("git_state", &git)],
            )
        };
        let mut start = self.start(system, context(&alone, true), &alone);
        let mut drop = |name: &str, why: &str| {
            let before = start.tools.len();
            start.tools.retain(|tool| tool.name != name);
            if start.tools.len() < before {
                start.left_out.push((name.to_owned(), why.to_owned()));
            }
        };
        for (name, why) in NOT_NESTED {
            drop(name, why);
        }
        start.deferred.clear();
        for name in NOT_LOOKING.iter().filter(|_| looks) {
            drop(name, "this agent changes nothing");
        }
        start
    }
}
