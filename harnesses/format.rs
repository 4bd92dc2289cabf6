//! What several harnesses share: templates, line numbers, paths, and the frame of a tool result.

pub mod agents;
pub mod args;
pub mod ask;
pub mod claude;
pub mod cut;
pub mod diff;
pub mod edit;
pub mod editor;
pub mod kimi;
pub mod page;
pub mod skills;
pub mod surface;

use super::{Context, Document, Done, Input, Instructions, Notice, Size};
use crate::model::{Item, Part, ToolResult};
use crate::tools::action::{
    Action, AgentOut, AgentState, ChangeKind, FileChange, Outcome, Pass, ShellOut, ShellStatus,
};
use crate::words::head;
use cut::{Limit, cut};
use std::fmt::Write;

/// Replaces each `{name}` of a known name. Values are taken as they are: a brace in one is never
/// read as a name, and other braces of the template stay.
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = values.iter().find(|(name, _)| {
            rest[1..]
                .strip_prefix(name)
                .is_some_and(|after| after.starts_with('}'))
        });
        match known {
            Some((name, value)) => {
                out.push_str(value);
                rest = &rest[name.len() + 2..];
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// The names that every prompt and tool description may use, with their values.
fn facts(cx: &Context) -> [(&'static str, String); 6] {
    [
        ("model", cx.model.clone()),
        ("cwd", cx.cwd.display().to_string()),
        ("os", cx.os.clone()),
        ("arch", cx.arch.clone()),
        ("shell", cx.shell.clone()),
        ("date", cx.date.clone()),
    ]
}

/// [`fill`] with the facts of this session and `more`.
pub fn fill_facts(template: &str, cx: &Context, more: &[(&str, &str)]) -> String {
    let facts = facts(cx);
    let mut values: Vec<(&str, &str)> = facts.iter().map(|(n, v)| (*n, v.as_str())).collect();
    values.extend_from_slice(more);
    fill(template, &values)
}

/// Makes a system prompt from a template in which a line `%% WORD …` begins a part that is only
/// kept when all its words hold, and `%%` alone begins one that is always kept.
///
/// Words: `full`; `compact` (compact or larger); `small` (below full); `tiny`; `git` (the folder is
/// in a git work tree); `read_only`, `workspace_write` and `no_sandbox` (where commands may write);
/// `network_off`; `nested` (a nested agent); `guidance` (the reliability block is wanted and there is room for it); and the
/// harness's own in `words`. `values` are further names for [`fill_facts`].
pub fn prompt(template: &str, cx: &Context, words: &[&str], values: &[(&str, &str)]) -> String {
    let holds = |word: &str| match word {
        "full" => cx.size == Size::Full,
        "compact" => cx.size >= Size::Compact,
        "small" => cx.size < Size::Full,
        "tiny" => cx.size == Size::Tiny,
        "git" => cx.git_root.is_some(),
        "read_only" => cx.sandbox.mode == "read-only",
        "workspace_write" => cx.sandbox.mode == "workspace-write",
        "no_sandbox" => !matches!(cx.sandbox.mode.as_str(), "read-only" | "workspace-write"),
        "network_off" => !cx.sandbox.network,
        "nested" => cx.depth > 0,
        "guidance" => cx.guidance && cx.size >= Size::Compact,
        other => words.contains(&other),
    };
    let mut keep = true;
    let mut text = String::with_capacity(template.len());
    for line in template.lines() {
        if let Some(words) = line.strip_prefix("%%") {
            keep = words.split_whitespace().all(holds);
        } else if keep {
            text.push_str(line);
            text.push('\n');
        }
    }
    fill_facts(text.trim_end(), cx, values)
}

/// What stands after `sed -i`: BSD sed wants a suffix for its backup file, even an empty one.
pub fn sed_suffix(cx: &Context) -> &'static str {
    match cx.os.starts_with("macOS") {
        true => " ''",
        false => "",
    }
}

/// All instruction files, the user's own first.
pub fn documents(instructions: &Instructions) -> impl Iterator<Item = &Document> {
    instructions.global.iter().chain(&instructions.project)
}

/// The parts of a message of the user: pictures first, then the words.
pub fn user_parts(input: &Input) -> Vec<Part> {
    let mut parts = input.images.clone();
    parts.push(Part::text(input.text.clone()));
    parts
}

/// Lines with their numbers, `{number}{between}{line}`, as many whole lines as fit into `room`
/// bytes, and how many those are. A line that alone is longer is cut.
pub fn numbered(text: &str, first: usize, between: &str, room: usize) -> (String, usize) {
    numbered_wide(text, first, 0, between, room)
}

/// [`numbered`] with the numbers on the right of `width` columns.
pub fn numbered_wide(
    text: &str,
    first: usize,
    width: usize,
    between: &str,
    room: usize,
) -> (String, usize) {
    let mut out = String::new();
    let mut count = 0;
    for line in text.lines() {
        let mut row = format!("{:>width$}{between}{line}", first.saturating_add(count));
        if out.len() + row.len() + 1 > room {
            if count > 0 {
                break;
            }
            row.truncate(row.floor_char_boundary(room.saturating_sub(16)));
            row.push_str("... [cut]");
        }
        out.push_str(&row);
        out.push('\n');
        count += 1;
    }
    (out, count)
}

/// One line, cut to `max` bytes with a mark.
pub fn clip(line: &str, max: usize) -> String {
    if line.len() <= max {
        return line.to_owned();
    }
    format!("{}...", head(line, max.saturating_sub(3)))
}

/// Text without terminal escape sequences: they carry no meaning for a model and cost tokens.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            out.push(c);
            continue;
        }
        match chars.next() {
            // CSI: parameters, then one final byte.
            Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
            // OSC: until BEL or ESC \.
            Some(']') => {
                while let Some(c) = chars.next() {
                    if c == '\u{7}' {
                        break;
                    }
                    if c == '\u{1b}' {
                        chars.next();
                        break;
                    }
                }
            }
            // A choice of character set: one more byte.
            Some('(' | ')') => {
                chars.next();
            }
            _ => {}
        }
    }
    out
}

/// The last safety: a whole result within `room` bytes.
pub fn fit(text: String, room: usize) -> String {
    if text.len() <= room {
        return text;
    }
    let cut = cut(
        &text,
        Limit {
            bytes: room.saturating_sub(100),
            lines: usize::MAX,
            head_percent: 60,
        },
    );
    let left_out = format!("[... {} bytes left out ...]", cut.omitted_bytes);
    let mut text = cut.join(&left_out);
    text.truncate(text.floor_char_boundary(room));
    text
}

/// The item that answers `done`: a tool result, or a message of the user when the action stood in
/// the text of the reply. The remarks are put after the text; the whole fits `room`.
pub fn answer(done: &Done, mut text: String, is_error: bool, room: usize) -> Item {
    for note in &done.notes {
        let _ = write!(text, "\n\nNote: {note}");
    }
    answer_parts(done, vec![Part::text(fit(text, room))], is_error)
}

/// [`answer`] with ready parts.
pub fn answer_parts(done: &Done, content: Vec<Part>, is_error: bool) -> Item {
    match &done.call {
        Some(call) => Item::ToolResult(ToolResult {
            call_id: call.id.clone(),
            name: call.name.clone(),
            content,
            is_error,
            kind: call.kind,
        }),
        None => Item::User { content },
    }
}

/// The answer to a call of a tool that is no tool of the harness: that of an MCP server, or a search
/// for such. `None` for any other.
pub fn further_tool(done: &Done, room: usize) -> Option<Item> {
    done.call.as_ref()?;
    let Ok((Action::Mcp(_) | Action::FindTools { .. }, outcome)) = &done.result else {
        return None;
    };
    let is_error = outcome.is_error();
    Some(match outcome {
        Outcome::Mcp(out) => {
            let mut parts = out.parts.clone();
            for note in &done.notes {
                parts.push(Part::text(format!("Note: {note}")));
            }
            answer_parts(done, parts, is_error)
        }
        Outcome::ToolsFound(text) => answer(done, text.clone(), is_error, room),
        Outcome::Failed(why) => answer(done, why.to_string(), is_error, room),
        other => answer(done, not_done(other).unwrap_or_default(), is_error, room),
    })
}

/// The parts of an answer.
pub fn content(item: &mut Item) -> Option<&mut Vec<Part>> {
    match item {
        Item::ToolResult(ToolResult { content, .. }) | Item::User { content } => Some(content),
        _ => None,
    }
}

/// Puts words of the program at the end of an answer: after its text, or after its picture.
pub fn append(item: &mut Item, words: &str) {
    let Some(content) = content(item) else {
        return;
    };
    match content.last_mut() {
        Some(Part::Text { text }) => {
            text.push_str("\n\n");
            text.push_str(words);
        }
        _ => content.push(Part::text(words)),
    }
}

/// What is said alike in all harnesses: why nothing, or not all, was done. `None` for an outcome
/// that has a result of its own, and for a failure, whose words depend on the tool.
pub fn not_done(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Refused { reason } => Some(reason.clone()),
        Outcome::Interrupted => Some(
            "The user interrupted this call. What it did until then stands; do not repeat it without being asked."
                .into(),
        ),
        Outcome::Skipped(why) => Some(why.clone()),
        _ => None,
    }
}

/// The files of a change, one a line: `A`, `M` or `D` and the path as the model wrote it; for a
/// move, the new path.
pub fn changed_files(changes: &[FileChange]) -> String {
    let lines: Vec<String> = changes
        .iter()
        .map(|change| {
            let mark = match change.kind {
                ChangeKind::Add => 'A',
                ChangeKind::Update => 'M',
                ChangeKind::Delete => 'D',
            };
            let path = change
                .moved_to
                .as_ref()
                .map_or(&change.shown, |(_, shown)| shown);
            format!("{mark} {path}")
        })
        .collect();
    lines.join("\n")
}

/// What a model is told when the person begins or ends the planning mode.
pub fn planning(on: bool) -> &'static str {
    match on {
        true => {
            "The user switched to planning. Until the user agrees to a plan, change nothing: look around, ask what is unclear, and answer with the plan."
        }
        false => "The user ended the planning. Files may be changed and commands run again.",
    }
}

/// True when a file is a picture by its name: where an agent reads text and pictures by one tool.
pub fn is_picture(path: &str) -> bool {
    let path = path.to_lowercase();
    [".png", ".jpg", ".jpeg", ".gif", ".webp"]
        .iter()
        .any(|end| path.ends_with(end))
}

/// That a command in the background ended.
pub fn job_ended(command: &str, code: Option<i32>) -> String {
    match code {
        Some(code) => format!("The background command `{command}` ended with exit code {code}."),
        None => format!("The background command `{command}` was stopped."),
    }
}

/// That a nested agent has worked, with its answer.
pub fn agent_done(agent: &AgentOut) -> String {
    let name = agent.name.clone().unwrap_or(agent.id.to_string());
    match &agent.state {
        AgentState::Done(out) => match &out.failure {
            None => format!("The nested agent {name} has answered:\n{}", out.text),
            Some(why) => format!("The nested agent {name} failed: {why}\n{}", out.text),
        },
        AgentState::Waiting | AgentState::Closed => format!("The nested agent {name} was ended."),
    }
}

/// A notice in plain words, for a harness whose original has none of its own.
pub fn told(notice: &Notice) -> String {
    match notice {
        Notice::JobEnded { command, code, .. } => job_ended(command, *code),
        Notice::AgentDone(agent) => agent_done(agent),
        Notice::Planning(on) => planning(*on).into(),
        Notice::Nudge(text) => text.clone(),
    }
}

/// The exit code of a command as a shell would report it; `None` while it runs.
pub fn exit_code(status: ShellStatus) -> Option<i32> {
    match status {
        ShellStatus::Exited(code) => Some(code),
        ShellStatus::Signaled(signal) => Some(128 + signal),
        ShellStatus::TimedOut => Some(124),
        ShellStatus::Running { .. } => None,
    }
}

/// Where the rest of a cut output is, as a sentence; empty when it was not kept.
pub fn whereabouts(out: &ShellOut) -> String {
    out.output.file.as_ref().map_or_else(
        || "The rest could not be kept in a file; run the command again with head, tail or grep to see a part.".to_owned(),
        |file| format!("The whole output is in {}.", file.display()),
    )
}

/// What the model should know when its text matched only loosely.
pub fn matched_by(changes: &[FileChange]) -> Option<&'static str> {
    changes
        .iter()
        .find_map(|c| c.matched_by)
        .map(|pass| match pass {
            Pass::Punctuation => {
                "The old text matched after typographic quotes, dashes and spaces were read as plain ones."
            }
            Pass::TrailingSpace => {
                "The old text matched after white space at line ends was ignored."
            }
            Pass::Indentation => {
                "The old text matched with another indentation; the new text was indented like the file."
            }
            Pass::Escapes => {
                "The old text matched after written-out escapes (\\n, \\t, \\\") were read as the characters."
            }
        })
}

/// The id of a background command where ids are a word and eight digits, like `bg_0000000a`.
pub fn job_id(word: &str, number: u32) -> String {
    format!("{word}_{number:08x}")
}

/// The number of a background command from its id, or from the bare number.
pub fn job_number(word: &str, id: &str) -> Option<u32> {
    let id = id.trim();
    match id
        .strip_prefix(word)
        .and_then(|rest| rest.strip_prefix('_'))
    {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => id.parse().ok(),
    }
}

/// A number made from a text (FNV-1a), for ids that must be the same in every run.
pub fn fingerprint(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_never_read_as_a_name() {
        assert_eq!(
            fill("{a}{b}{c} {", &[("a", "{b}"), ("b", "x")]),
            "{b}x{c} {"
        );
    }

    #[test]
    fn numbered_lines_fit() {
        assert_eq!(
            numbered("a\nb\n", 9, "\t", 100),
            ("9\ta\n10\tb\n".into(), 2)
        );
        assert_eq!(numbered("aa\nbb\n", 1, "\t", 5), ("1\taa\n".into(), 1));
        let (text, count) = numbered(&"é".repeat(500), 1, "\t", 100);
        assert!(count == 1 && text.len() <= 100 && text.ends_with("[cut]\n"));
    }

    #[test]
    fn escape_sequences_go() {
        let text =
            "\u{1b}[1;31mred\u{1b}[0m \u{1b}]0;title\u{7}x\u{1b}]8;;u\u{1b}\\y\u{1b}(B \u{1b}";
        assert_eq!(plain(text), "red xy ");
    }

    #[test]
    fn nothing_is_larger_than_its_room() {
        for room in [0, 50, 200, 1000] {
            assert!(fit("wörter\n".repeat(1000), room).len() <= room.max(1));
        }
    }
}
