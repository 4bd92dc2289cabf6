//! What stands before the first message: one developer item, then one user item with AGENTS.md
//! and the environment.

use crate::harnesses::format::skills;
use crate::harnesses::{Context, Instructions, Size};
use crate::model::{Item, Part};
use std::fmt::Write;
use std::path::Path;

/// The items, in the order of the original.
pub fn items(cx: &Context) -> Vec<Item> {
    let mut developer: Vec<String> = cx.developer_instructions.iter().cloned().collect();
    developer.extend(
        Some(skills::block(cx, "open its file with a command")).filter(|text| !text.is_empty()),
    );
    developer.push(permissions(cx));
    let mut content: Vec<Part> = agents_md(&cx.instructions, &cx.cwd)
        .map(Part::text)
        .into_iter()
        .collect();
    content.push(Part::text(environment(cx)));
    vec![
        Item::Developer {
            text: developer.join("\n\n"),
        },
        Item::User { content },
    ]
}

/// The block of AGENTS.md files; `None` when there is none.
fn agents_md(instructions: &Instructions, cwd: &Path) -> Option<String> {
    if instructions.is_empty() {
        return None;
    }
    let project: Vec<&str> = instructions
        .project
        .iter()
        .map(|document| document.text.as_str())
        .collect();
    let mut parts: Vec<&str> = Vec::new();
    if let Some(global) = &instructions.global {
        parts.push(&global.text);
        if !project.is_empty() {
            parts.push("--- project-doc ---");
        }
    }
    parts.extend(project);
    Some(format!(
        "# AGENTS.md instructions for {}\n\n<INSTRUCTIONS>\n{}\n</INSTRUCTIONS>",
        cwd.display(),
        parts.join("\n\n")
    ))
}

/// What commands may do, and how to ask for more. The tags are the format, the words are ours.
fn permissions(cx: &Context) -> String {
    let sandbox = &cx.sandbox;
    let mut text = format!(
        "<permissions instructions>\n`sandbox_mode` is `{}`: ",
        sandbox.mode
    );
    text.push_str(match sandbox.mode.as_str() {
        "read-only" => "commands may read files and write none.",
        "workspace-write" => "commands may read files, and write only in the folders named below.",
        _ => "commands run without a sandbox.",
    });
    text.push_str(if sandbox.network {
        " The network is on."
    } else {
        " The network is off."
    });
    text.push_str(match sandbox.approval.as_str() {
        "never" => {
            "\nNobody can be asked. Do not send `sandbox_permissions`; find a way within the sandbox, or say what stopped you."
        }
        "untrusted" => {
            "\nThe user is asked before every command that is not known to be harmless."
        }
        _ if cx.size == Size::Tiny => {
            "\nOnly if the sandbox stopped a command that you need: send it again with `sandbox_permissions` = `require_escalated` and a question in `justification`."
        }
        _ => {
            "\nCommands run in the sandbox without asking. If a command that you need fails because of the sandbox, send it again with `sandbox_permissions` = `require_escalated` and a one-sentence question to the user in `justification`; `prefix_rule` may name its first words, narrow enough to be allowed for good. The parts of a command line between `|`, `&&`, `||` and `;` are judged one by one. Ask before you delete anything that you did not make."
        }
    });
    if !sandbox.writable.is_empty() {
        let folders: Vec<String> = sandbox
            .writable
            .iter()
            .map(|path| format!("`{}`", path.display()))
            .collect();
        let _ = write!(text, "\nWritable folders: {}.", folders.join(", "));
    }
    text.push_str("\n</permissions instructions>");
    text
}

fn environment(cx: &Context) -> String {
    let mut text = format!(
        "<environment_context>\n  <cwd>{}</cwd>\n  <shell>{}</shell>\n  <current_date>{}</current_date>\n  <timezone>{}</timezone>\n",
        escape(&cx.cwd.display().to_string()),
        escape(&cx.shell),
        escape(&cx.date),
        escape(&cx.timezone),
    );
    if cx.size == Size::Full {
        let _ = writeln!(text, "  {}", filesystem(cx));
    }
    text.push_str("</environment_context>");
    text
}

fn filesystem(cx: &Context) -> String {
    let limited = cx.sandbox.mode != "danger-full-access";
    let mut text = format!(
        "<filesystem><workspace_roots><root>{}</root></workspace_roots>",
        escape(&cx.cwd.display().to_string())
    );
    if limited {
        text.push_str("<permission_profile type=\"managed\"><file_system type=\"restricted\"><entry access=\"read\"><special>:root</special></entry>");
        for path in &cx.sandbox.writable {
            let _ = write!(
                text,
                "<entry access=\"write\"><path>{}</path></entry>",
                escape(&path.display().to_string())
            );
        }
        text.push_str("</file_system></permission_profile></filesystem>");
    } else {
        text.push_str("<permission_profile type=\"disabled\"><file_system type=\"unrestricted\"></file_system></permission_profile></filesystem>");
    }
    text
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
