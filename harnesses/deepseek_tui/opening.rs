//! The one system message, from what never changes to what may; and the block before a message of
//! the user.

use crate::harnesses::format::{clip, documents, prompt, skills};
use crate::harnesses::{Context, Size, State};
use serde_json::{Value, json};

const SYSTEM: &str = include_str!("system.md");

/// The most entries of the folder in the project's description.
const ENTRIES: usize = 30;
/// The most files that the block before a message names.
const ACTIVE: usize = 8;
/// Files that say what kind of project it is.
pub const CONFIG_FILES: [&str; 16] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "setup.py",
    "requirements.txt",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "CMakeLists.txt",
    "Makefile",
    "Gemfile",
    "composer.json",
    "tsconfig.json",
    "Dockerfile",
    "tox.ini",
    ".gitignore",
];

/// The block of the first message, until it was sent.
const NOTE_META: &str = "turn_meta";
/// Files that were read or changed, the latest first, a line each; and those that the model was
/// last told.
const NOTE_ACTIVE: &str = "active";
const NOTE_TOLD: &str = "told";

/// Base, mode and approval (or the user's own prompt in their place), then project instructions,
/// the project's description, the environment, and developer words.
pub fn system(cx: &Context) -> String {
    let words: &[&str] = match cx.sandbox.approval.as_str() {
        "never" => &[],
        _ => &["asks"],
    };
    let mut parts = vec![
        cx.system_override
            .clone()
            .unwrap_or_else(|| prompt(SYSTEM, cx, words, &[])),
    ];
    parts.extend(documents(&cx.instructions).map(|document| {
        format!(
            "<project_instructions source=\"{}\">\n{}\n</project_instructions>",
            document.shown,
            document.text.trim_end()
        )
    }));
    if cx.system_override.is_none() {
        parts.extend(context_pack(cx));
        parts.push(format!(
            "## Environment\n- platform: {} {}\n- shell: {}\n- pwd: {}",
            cx.os,
            cx.arch,
            cx.shell,
            cx.cwd.display()
        ));
    }
    if !cx.skills.is_empty() {
        parts.push(format!(
            "## Skills\nLoad the one that fits with load_skill before you begin.\n{}",
            skills::lines(cx, false)
        ));
    }
    parts.extend(cx.developer_instructions.iter().cloned());
    parts.join("\n\n")
}

/// The project as JSON, where there is room for it. The original also quotes the README and names
/// source files, for which it reads the whole tree.
fn context_pack(cx: &Context) -> Option<String> {
    if cx.size < Size::Full || cx.tree.is_empty() {
        return None;
    }
    let name = |name: &str| clip(name, 80);
    let structure: Vec<String> = cx
        .tree
        .iter()
        .take(ENTRIES)
        .map(|(entry, is_dir)| format!("{}{}", name(entry), if *is_dir { "/" } else { "" }))
        .collect();
    let config: Vec<&str> = files(cx)
        .filter(|file| CONFIG_FILES.contains(file))
        .collect();
    let project = cx.cwd.file_name().map(|n| n.to_string_lossy().into_owned());
    let count = files(cx).count();
    let pack = json!({
        "project_name": name(&project.unwrap_or_default()),
        "directory_structure": structure,
        "config_files": config,
        "counts": {"files": count, "directories": cx.tree.len() - count},
    });
    Some(format!(
        "## Project Context Pack\n<project_context_pack>\n{}\n</project_context_pack>",
        pretty(&pack)
    ))
}

fn files(cx: &Context) -> impl Iterator<Item = &str> {
    let files = cx.tree.iter().filter(|(_, is_dir)| !is_dir);
    files.map(|(name, _)| name.as_str())
}

/// JSON over several lines.
pub fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Remembers the block of the first message.
pub fn prepare(cx: &Context, state: &mut State) {
    let mut lines = vec![
        format!("Local date: {}", cx.date),
        format!("Workspace: {}", cx.cwd.display()),
    ];
    let key: Vec<&str> = files(cx)
        .filter(|file| CONFIG_FILES.contains(file) || file.to_lowercase().starts_with("readme"))
        .take(ACTIVE)
        .collect();
    if !key.is_empty() {
        lines.push(format!("Key files: {}", key.join(", ")));
    }
    state.notes.insert(NOTE_META.into(), block(&lines));
}

/// The block before a message of the user. It is stored with the message and never changes. After
/// the first one it is made only when other files are at work; the original repeats a mark that
/// says that nothing changed.
pub fn turn_meta(state: &mut State) -> Option<String> {
    if let Some(first) = state.notes.remove(NOTE_META) {
        return Some(first);
    }
    let active = state.notes.get(NOTE_ACTIVE)?.clone();
    if state.notes.get(NOTE_TOLD) == Some(&active) {
        return None;
    }
    let names = active.replace('\n', ", ");
    state.notes.insert(NOTE_TOLD.into(), active);
    Some(block(&[
        format!("Active paths: {names}"),
        "Begin with these if the message is about them.".into(),
    ]))
}

/// The user's words after the block, if there is one.
pub fn without_meta(text: &str) -> &str {
    text.strip_prefix("<turn_meta>\n")
        .and_then(|rest| rest.split_once("\n</turn_meta>\n\n"))
        .map_or(text, |(_, words)| words)
}

fn block(lines: &[String]) -> String {
    format!("<turn_meta>\n{}\n</turn_meta>\n\n", lines.join("\n"))
}

/// Takes in that a file was read or changed.
pub fn touch(state: &mut State, path: &str) {
    let path = clip(path, 200).replace('\n', " ");
    let old = state.notes.remove(NOTE_ACTIVE).unwrap_or_default();
    let mut paths = vec![path.as_str()];
    paths.extend(old.lines().filter(|line| *line != path).take(ACTIVE - 1));
    state.notes.insert(NOTE_ACTIVE.into(), paths.join("\n"));
}
