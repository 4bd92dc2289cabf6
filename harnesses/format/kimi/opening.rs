//! How a session begins: the tools of a role, the system prompt, and what comes with the first
//! words of the user.

use super::{AFTER, BEFORE, NO_PLAN, NO_TASKS};
use crate::harnesses::format::{documents, prompt, skills, surface};
use crate::harnesses::{Context, Size, Start};
use std::fmt::Write;

/// The most entries of the folder that are named, and as many in tiny.
const TREE: (usize, usize) = (30, 10);

/// One of the two agents, as far as its beginning goes.
pub struct Agent {
    /// Its `tools.json`.
    pub tools: &'static str,
    /// Tools that the program has no handler for, each with the reason.
    pub left_out: &'static [(&'static str, &'static str)],
    /// Its `system.md`. A part can ask for a tool by its name, and for a role.
    pub system: &'static str,
    /// How many backticks fence the instruction files.
    pub fence: usize,
    /// The tools of each role of a nested agent.
    pub roles: &'static [(&'static str, &'static [&'static str])],
    /// The session is told by a reminder when nobody can be asked.
    pub tells_alone: bool,
}

impl Agent {
    /// The beginning of a session, or of a nested agent of that role. An unknown role is the first.
    pub fn start(&self, cx: &Context, role: Option<&str>) -> Start {
        let mut start = surface::start(self.tools, "", self.left_out, cx);
        let role = role.and_then(|role| {
            let known = self.roles.iter().find(|(name, _)| *name == role);
            known.or(self.roles.first())
        });
        if let Some((name, tools)) = role {
            start.tools.retain(|tool| {
                let keep = tools.contains(&tool.name.as_str());
                if !keep {
                    let why = format!("not for an agent of the role {name}");
                    start.left_out.push((tool.name.clone(), why));
                }
                keep
            });
        }
        let mut words: Vec<&str> = start.tools.iter().map(|tool| tool.name.as_str()).collect();
        words.extend(role.map(|(name, _)| *name));
        let project = self.project(cx);
        start.system = match &cx.system_override {
            Some(text) => format!("{text}{project}"),
            None => prompt(
                self.system,
                cx,
                &words,
                &[("project", &project), ("tree", &tree(cx))],
            ),
        };
        let offered = |name: &str| start.tools.iter().any(|tool| tool.name == name);
        for (tool, missing) in [("TaskOutput", NO_TASKS), ("ExitPlanMode", NO_PLAN)] {
            if !offered(tool) {
                start.state.counters.insert(missing.into(), 1);
            }
        }
        let notes = &mut start.state.notes;
        if role.is_some_and(|(name, _)| *name == "explore") {
            notes.extend(git_context(cx).map(|text| (BEFORE.into(), text)));
        }
        if self.tells_alone && !cx.interactive && cx.depth == 0 {
            notes.insert(
                AFTER.into(),
                "Nobody can be asked in this run: decide for yourself, and go on until the task is done."
                    .into(),
            );
        }
        start
    }

    /// The instruction files between fences, then the words of the config, each after a blank
    /// line; empty when there are none.
    fn project(&self, cx: &Context) -> String {
        let files: Vec<String> = documents(&cx.instructions)
            .map(|document| {
                format!(
                    "<!-- From: {} -->\n{}",
                    document.path.display(),
                    document.text.trim_end()
                )
            })
            .collect();
        let mut text = String::new();
        if !files.is_empty() {
            let fence = "`".repeat(self.fence);
            let _ = write!(
                text,
                "\n\n# Project Information\nWhat the AGENTS.md files say about this project. Keep to it, unless the user or the rules above say otherwise.\n\n{fence}\n{}\n{fence}",
                files.join("\n\n")
            );
        }
        if !cx.skills.is_empty() {
            let _ = write!(
                text,
                "\n\n# Skills\nA skill tells how a kind of task is done here. When one fits, read its SKILL.md before you begin; its paths count from its folder.\n\n{}",
                skills::grouped(cx)
            );
        }
        if let Some(words) = &cx.developer_instructions {
            let _ = write!(text, "\n\n{}", words.trim());
        }
        text
    }
}

/// The first entries of the working folder in a fence, folders first.
fn tree(cx: &Context) -> String {
    let most = if cx.size == Size::Tiny {
        TREE.1
    } else {
        TREE.0
    };
    let of_kind = |dir: bool| cx.tree.iter().filter(move |(_, is_dir)| *is_dir == dir);
    let mut names: Vec<String> = of_kind(true)
        .map(|(name, _)| format!("{name}/"))
        .chain(of_kind(false).map(|(name, _)| name.clone()))
        .collect();
    if names.is_empty() {
        return "It is empty.".into();
    }
    let more = names.len().saturating_sub(most);
    names.truncate(most);
    if more > 0 {
        names.push(format!("... and {more} more"));
    }
    let last = names.len() - 1;
    let mut text = String::from("```\n");
    for (at, name) in names.iter().enumerate() {
        let branch = if at == last {
            "└── "
        } else {
            "├── "
        };
        let _ = writeln!(text, "{branch}{name}");
    }
    text.push_str("```");
    text
}

/// What an agent that looks something up is told of the repository.
fn git_context(cx: &Context) -> Option<String> {
    let root = cx.git_root.as_ref()?;
    let mut text = format!(
        "<git-context>\nWorking directory: {}\nRepository: {}\n",
        cx.cwd.display(),
        root.display()
    );
    if let Some(branch) = &cx.git_branch {
        let _ = writeln!(text, "Branch: {branch}");
    }
    text.push_str("</git-context>");
    Some(text)
}
