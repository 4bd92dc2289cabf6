//! Tool names: which offered tool a written name means, and what kind of deed a tool is.

use crate::model::{ToolCall, ToolSpec};
use crate::words::{is_part, likeness};
use serde_json::Value;

/// What a tool does, judged by its name. A tool of no known class counts as one that changes
/// things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Read,
    List,
    Glob,
    Grep,
    /// Shows a picture.
    Look,
    /// Writes the plan, nothing else.
    Plan,
    Write,
    Edit,
    Shell,
}

/// Names that well-known agents give to tools of one class, normalised.
const CLASSES: &[(Class, &[&str])] = &[
    (
        Class::Read,
        &["read", "read_file", "view", "view_file", "cat", "open_file"],
    ),
    (
        Class::List,
        &["ls", "list", "list_files", "list_directory", "list_dir"],
    ),
    (Class::Glob, &["glob", "find", "find_files", "file_search"]),
    (
        Class::Grep,
        &[
            "grep",
            "grep_search",
            "grep_files",
            "search",
            "ripgrep",
            "search_files",
        ],
    ),
    (Class::Look, &["view_image"]),
    (
        Class::Plan,
        &[
            "update_plan",
            "todo_write",
            "todowrite",
            "todo_list",
            "set_todo_list",
        ],
    ),
    (
        Class::Write,
        &[
            "write",
            "write_file",
            "create_file",
            "write_to_file",
            "save_file",
        ],
    ),
    (
        Class::Edit,
        &[
            "edit",
            "edit_file",
            "str_replace",
            "str_replace_editor",
            "str_replace_file",
            "replace",
            "replace_in_file",
            "search_replace",
            "apply_diff",
        ],
    ),
    (
        Class::Shell,
        &[
            "bash",
            "shell",
            "shell_command",
            "run",
            "execute",
            "exec",
            "exec_command",
            "exec_shell",
            "run_command",
            "run_shell_command",
            "execute_command",
            "terminal",
            "container_exec",
        ],
    ),
];

/// The class of a tool by its own name.
pub(crate) fn class(name: &str) -> Option<Class> {
    let name = normal(name);
    CLASSES
        .iter()
        .find(|(_, names)| names.contains(&name.as_str()))
        .map(|(class, _)| *class)
}

/// True when a tool of this name changes nothing outside the conversation.
pub(crate) fn reads_only(name: &str) -> bool {
    matches!(
        class(name),
        Some(Class::Read | Class::List | Class::Glob | Class::Grep | Class::Look | Class::Plan)
    )
}

/// True when this call changes nothing outside the conversation. The editor tool with several
/// commands is judged by its command.
pub(crate) fn read_only(call: &ToolCall) -> bool {
    reads_only(&call.name)
        || class(&call.name) == Some(Class::Edit)
            && serde_json::from_str::<Value>(&call.arguments)
                .is_ok_and(|args| args.get("command").and_then(Value::as_str) == Some("view"))
}

/// The tool that a name means.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'a> {
    pub tool: &'a ToolSpec,
    /// It was another agent's name for such a tool: right only if the arguments fit as well.
    pub alias: bool,
}

/// Finds the tool that `name` means: as written, without regard to case, with `-`, `.`, blanks
/// and camel case as snake case, without prefixes, and last by the names of other agents. A
/// misspelt name counts only for a tool that reads.
pub(crate) fn resolve<'a>(name: &str, tools: &'a [ToolSpec]) -> Option<Found<'a>> {
    let sure = |tool| Found { tool, alias: false };
    let stripped = strip(name);
    tools
        .iter()
        .find(|t| t.name == name)
        .or_else(|| only(tools, |t| t.name.eq_ignore_ascii_case(name.trim())))
        .or_else(|| only(tools, |t| normal(&t.name) == normal(name)))
        .or_else(|| only(tools, |t| normal(&t.name) == normal(stripped)))
        .or_else(|| only(tools, |t| normal(strip(&t.name)) == normal(stripped)))
        .map(sure)
        .or_else(|| {
            let wanted = class(name).or_else(|| class(stripped))?;
            only(tools, |t| class(&t.name) == Some(wanted)).map(|tool| Found { tool, alias: true })
        })
        .or_else(|| misspelt(stripped, tools).map(sure))
}

/// The one tool for which `test` holds; none when there are several.
fn only(tools: &[ToolSpec], test: impl Fn(&ToolSpec) -> bool) -> Option<&ToolSpec> {
    let mut hits = tools.iter().filter(|t| test(t));
    hits.next().filter(|_| hits.next().is_none())
}

fn misspelt<'a>(name: &str, tools: &'a [ToolSpec]) -> Option<&'a ToolSpec> {
    let name = normal(name);
    if name.len() < 6 || name.len() > 64 {
        return None;
    }
    let distance = |t: &ToolSpec| strsim::damerau_levenshtein(&name, &normal(&t.name));
    let best = tools.iter().map(distance).min()?;
    let tool = only(tools, |t| distance(t) == best)?;
    (best <= 2 && reads_only(&tool.name)).then_some(tool)
}

/// The at most three tools whose names are most like `name`.
pub(crate) fn nearest(name: &str, tools: &[ToolSpec]) -> Vec<String> {
    let name = normal(&strip(name).chars().take(64).collect::<String>());
    let mut scored = tools
        .iter()
        .map(|t| (&t.name, normal(&t.name)))
        .map(|(shown, n)| (likeness(&name, &n), is_part(&name, &n), shown))
        .filter(|(score, part, _)| *score > 0.5 || *part)
        .collect::<Vec<_>>();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored
        .into_iter()
        .take(3)
        .map(|(.., n)| n.clone())
        .collect()
}

/// A name that every server accepts in a history: letters, digits, `_`, `-`, at most 64.
pub(crate) fn sendable(name: &str) -> String {
    let name = strip(name)
        .chars()
        .take(64)
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect::<String>();
    if name.is_empty() {
        "unknown".into()
    } else {
        name
    }
}

/// Takes off what models and servers glue to a name: namespaces, `()`, `:0`, control tokens.
fn strip(name: &str) -> &str {
    let name = name.split("<|").next().unwrap_or_default();
    let name = name.split(['<', '(']).next().unwrap_or_default().trim();
    let name = match name.rsplit_once(':') {
        Some((rest, index)) if index.chars().all(|c| c.is_ascii_digit()) => rest,
        Some((_, tail)) => tail,
        None => name,
    };
    let name = ["functions.", "default_api.", "tools."]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name);
    match name.strip_prefix("mcp__").and_then(|n| n.split_once("__")) {
        Some((_, tool)) => tool,
        None => name,
    }
}

/// Lower snake case: `ReadFile`, `read-file` and `readFile` are all `read_file`.
pub(crate) fn normal(name: &str) -> String {
    let mut out = String::new();
    let mut after_lower = false;
    for c in name.trim().chars() {
        if matches!(c, '-' | '.' | ' ' | '_') {
            if !out.ends_with('_') && !out.is_empty() {
                out.push('_');
            }
            after_lower = false;
        } else {
            if c.is_uppercase() && after_lower {
                out.push('_');
            }
            after_lower = c.is_lowercase() || c.is_ascii_digit();
            out.extend(c.to_lowercase());
        }
    }
    out
}
