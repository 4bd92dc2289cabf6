//! How skills are told: the lists that agents have of them, and the text of one that was asked for.

use super::args::Args;
use crate::harnesses::{CallError, Context, Skill};
use crate::tools::action::{Action, SkillOut};
use serde_json::{Value, json};
use std::fmt::Write;

/// A line a skill: `- name: description`, with the file where the model has to open it itself.
pub fn lines(cx: &Context, with_file: bool) -> String {
    let line = |skill: &Skill| {
        let mut line = format!("- {}", skill.name);
        if !skill.description.is_empty() {
            let _ = write!(line, ": {}", skill.description);
        }
        if with_file {
            let _ = write!(line, " (file: {})", skill.path.display());
        }
        line
    };
    cx.skills.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The list of an agent that opens `SKILL.md` with its own tools; empty when there are no skills.
/// `open` says with what.
pub fn block(cx: &Context, open: &str) -> String {
    if cx.skills.is_empty() {
        return String::new();
    }
    format!(
        "<skills_instructions>\n## Skills\nA skill is a folder whose SKILL.md tells how something is done. These are there:\n{}\nWhen one fits the task, or the user names it, {open} first and do as it says. Its paths count from its folder. Run its scripts instead of writing your own.\n</skills_instructions>",
        lines(cx, true)
    )
}

/// `<available_skills>` with an entry a skill; empty when there are none.
pub fn available(cx: &Context, with_location: bool) -> String {
    if cx.skills.is_empty() {
        return String::new();
    }
    let mut text = "<available_skills>\n".to_owned();
    for skill in &cx.skills {
        let _ = write!(
            text,
            "  <skill>\n    <name>{}</name>\n    <description>{}</description>\n",
            skill.name,
            escape(&skill.description)
        );
        if with_location {
            let path = escape(&skill.path.display().to_string());
            let _ = writeln!(text, "    <location>{path}</location>");
        }
        text.push_str("  </skill>\n");
    }
    text.push_str("</available_skills>");
    text
}

/// The list of the Kimi agents: by where they are from, each with its path.
pub fn grouped(cx: &Context) -> String {
    let mut text = String::new();
    let mut last = None;
    for skill in &cx.skills {
        if last != Some(skill.scope) {
            let _ = write!(text, "\n### {}\n", skill.scope.name());
            last = Some(skill.scope);
        }
        let _ = write!(
            text,
            "- {}\n  - Path: {}\n  - Description: {}\n",
            skill.name,
            skill.path.display(),
            skill.description
        );
    }
    text.trim().to_owned()
}

/// The call of a skill, whose name stands under `key`.
///
/// # Errors
/// When it is missing.
pub fn call(args: &Args, key: &str) -> Result<Action, CallError> {
    let name = args.need_filled(key)?;
    Ok(Action::Skill {
        // Models write it as they would type it.
        name: name.trim().trim_start_matches(['/', '$']).to_owned(),
        args: args.filled("args"),
    })
}

/// The arguments of the call that reads a skill.
pub fn written(key: &str, name: &str, args: Option<&str>) -> Value {
    let mut call = json!({ key: name });
    if let Some(args) = args {
        call["args"] = json!(args);
    }
    call
}

/// The folder of a skill, its text, and what the call gave it.
pub fn text(out: &SkillOut) -> String {
    let mut text = format!(
        "Base directory for this skill: {}\n\n{}",
        out.folder.display(),
        out.text.trim()
    );
    if let Some(args) = &out.args {
        let _ = write!(text, "\n\nARGUMENTS: {args}");
    }
    text
}

/// The same in a block, as OpenCode and ZCode have it.
pub fn content(out: &SkillOut) -> String {
    let mut text = format!(
        "<skill_content name=\"{}\">\n# Skill: {}\n\n{}\n",
        out.name,
        out.name,
        out.text.trim()
    );
    if let Some(args) = &out.args {
        let _ = write!(text, "\nARGUMENTS: {args}\n");
    }
    let _ = write!(
        text,
        "\nBase directory for this skill: {}\n</skill_content>",
        out.folder.display()
    );
    text
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
