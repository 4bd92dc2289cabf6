//! The layouts in which results are told; they are those of the original.

use super::{READ_BYTES, TOOLS};
use crate::harnesses::format::args::Args;
use crate::harnesses::format::cut::Limit;
use crate::harnesses::format::skills;
use crate::harnesses::format::{
    answer, answer_parts, changed_files, clip, exit_code, matched_by, not_done, numbered, page,
    plain, whereabouts,
};
use crate::harnesses::{CallError, Done, Item};
use crate::tools::action::{
    Action, DelegateOut, FileChange, FoundOut, GrepOut, ListOut, Outcome, PageOut, Read, ReadOut,
    Shell, ShellOut, ShellStatus, ToolError,
};
use std::fmt::Write;

/// The most characters of one line of a file, and bytes of one of a search.
const LINE: usize = 2000;
/// The end of an output is what stays.
const OUTPUT: Limit = Limit {
    bytes: 51_200,
    lines: 2000,
    head_percent: 0,
};
/// What the lines around an output or a file may take.
const FRAME: usize = 500;

/// The answer to one call.
pub fn item(done: &Done, room: usize) -> Item {
    let (action, outcome) = match &done.result {
        Ok(pair) => (&pair.0, &pair.1),
        Err(error) => return answer(done, misfit(error), true, room),
    };
    if let Outcome::Image { part, .. } = outcome {
        return answer_parts(done, vec![part.clone()], false);
    }
    // A command that fails is an ordinary result here.
    let is_error = outcome.is_error() && !matches!(outcome, Outcome::Shell(_));
    answer(done, text(done, action, outcome, room), is_error, room)
}

/// A call that was not understood.
fn misfit(error: &CallError) -> String {
    let CallError::BadArgument { tool, why, .. } = error else {
        return error.to_string();
    };
    // What is wrong names its argument in quotes.
    let place = why.split('"').nth(1).map_or_else(String::new, |name| {
        format!("\n  at [\"{}\"]", name.replace('.', "\"][\""))
    });
    format!(
        "The arguments of the {tool} tool do not fit: SchemaError({why}{place}).\nSend the call again in the right form. {error}"
    )
}

fn text(done: &Done, action: &Action, outcome: &Outcome, room: usize) -> String {
    match (action, outcome) {
        (_, Outcome::Read(out)) => file(out, room),
        (Action::Read(read), Outcome::Listed(out)) => folder(read, out),
        (Action::Write { .. }, Outcome::Changed(_)) => "The file was written.".into(),
        (Action::Patch { .. }, Outcome::Changed(changes)) => format!(
            "The patch was applied to these files:\n{}",
            changed_files(changes)
        ),
        (_, Outcome::Changed(changes)) => edited(changes),
        (_, Outcome::Found(out)) => found(out),
        (_, Outcome::Matches(out)) => matches(out, room),
        (Action::Shell(shell), Outcome::Shell(out)) => command(shell, out, room),
        (_, Outcome::Planned) => todos(done),
        (_, Outcome::Skill(out)) => skills::content(out),
        (_, Outcome::Fetched(out)) => fetched(out, room),
        (_, Outcome::Delegated(out)) => task(out),
        (_, Outcome::Failed(error)) => failed(action, error),
        (_, other) => not_done(other).unwrap_or_else(|| "Done.".into()),
    }
}

fn file(out: &ReadOut, room: usize) -> String {
    let lines: Vec<String> = out.text.lines().map(shorten).collect();
    let path = out.path.display().to_string();
    let room = room.saturating_sub(FRAME + path.len());
    let (text, shown) = numbered(&lines.join("\n"), out.first, ": ", room);
    let last = (out.first + shown).saturating_sub(1);
    let (first, total) = (out.first, out.total);
    let footer = if last >= total {
        format!("End of file - total {total} lines")
    } else if shown < out.lines || out.cut {
        let most = READ_BYTES.min(room) / 1024;
        format!(
            "Output capped at {most} KB. Showing lines {first}-{last}. Use offset={} to continue.",
            last + 1
        )
    } else {
        format!(
            "Showing lines {first}-{last} of {total}. Use offset={} to continue.",
            last + 1
        )
    };
    format!("<path>{path}</path>\n<type>file</type>\n<content>\n{text}\n({footer})\n</content>")
}

fn shorten(line: &str) -> String {
    match line.char_indices().nth(LINE) {
        Some((end, _)) => format!("{}... (line truncated to {LINE} chars)", &line[..end]),
        None => line.to_owned(),
    }
}

fn folder(read: &Read, out: &ListOut) -> String {
    let mut text = format!(
        "<path>{}</path>\n<type>directory</type>\n<entries>\n",
        out.path.display()
    );
    for entry in &out.entries {
        let mark = if entry.is_dir { "/" } else { "" };
        let _ = writeln!(text, "{}{mark}", entry.name);
    }
    let first = read.first.max(1);
    let last = first - 1 + out.entries.len();
    let total = last + out.more;
    let footer = match out.more {
        0 => format!("{total} entries"),
        _ => format!(
            "Showing entries {first}-{last} of {total}. Use offset={} to continue.",
            last + 1
        ),
    };
    format!("{text}\n({footer})\n</entries>")
}

fn edited(changes: &[FileChange]) -> String {
    let mut text = String::from("The edit was applied.");
    let places = changes.iter().map(|change| change.places).sum::<usize>();
    if places > 1 {
        let _ = write!(text, " {places} places were replaced.");
    }
    if let Some(note) = matched_by(changes) {
        let _ = write!(text, " {note}");
    }
    text
}

fn found(out: &FoundOut) -> String {
    if out.paths.is_empty() {
        return "No files found".into();
    }
    let mut lines: Vec<String> = out.paths.iter().map(|p| p.display().to_string()).collect();
    if out.total > lines.len() {
        lines.push(format!(
            "\n(The first {} of {} files are shown. A narrower pattern or path shows the others.)",
            lines.len(),
            out.total
        ));
    }
    lines.join("\n")
}

/// The matches under the name of their file.
fn matches(out: &GrepOut, room: usize) -> String {
    if out.lines.is_empty() {
        return "No files found".into();
    }
    let mut body = String::new();
    let mut shown = 0;
    let mut file = None;
    for line in &out.lines {
        let mut row = String::new();
        if file != Some(&line.path) {
            let gap = if file.is_some() { "\n" } else { "" };
            let _ = writeln!(row, "{gap}{}:", line.path.display());
        }
        let _ = writeln!(row, "  Line {}: {}", line.number, clip(&line.text, LINE));
        if shown > 0 && body.len() + row.len() > room.saturating_sub(FRAME) {
            break;
        }
        body.push_str(&row);
        file = Some(&line.path);
        shown += 1;
    }
    let total = out.total.max(shown);
    if total == shown && !out.cut {
        return format!("Found {shown} matches\n{}", body.trim_end());
    }
    format!(
        "Found {shown} matches (more matches available)\n{body}\n(The first {shown} of {total} matches are shown. A narrower path, include or pattern shows the others.)"
    )
}

/// Output, then what else there is to know about the command. The original does not tell the exit
/// code, so that a failure looks like a success.
fn command(shell: &Shell, out: &ShellOut, room: usize) -> String {
    let mut facts = Vec::new();
    match out.status {
        ShellStatus::Exited(0) => {}
        ShellStatus::TimedOut => {
            let ms = shell.time_limit.map_or(0, |limit| limit.as_millis());
            facts.push(format!(
                "The command was stopped with everything that it had started, after its timeout of {ms} ms. If it needs longer, send it again with a larger timeout."
            ));
        }
        ShellStatus::Running { id, pid } => facts.push(format!(
            "The command still runs (number {id}, process {pid})."
        )),
        status => facts.extend(
            exit_code(status).map(|code| format!("The command ended with exit code {code}.")),
        ),
    }
    facts.extend(out.fence.clone());
    let metadata = match facts.is_empty() {
        true => String::new(),
        false => format!(
            "\n\n<shell_metadata>\n{}\n</shell_metadata>",
            facts.join("\n")
        ),
    };
    let output = plain(&out.output.text);
    let output = output.trim_end_matches('\n');
    if output.is_empty() {
        return format!("(no output){metadata}");
    }
    let cut = OUTPUT.output(output, metadata.len(), room, FRAME);
    if !cut.split {
        return format!("{}{metadata}", cut.head);
    }
    let place = match &out.output.file {
        Some(file) => format!("Full output saved to: {}", file.display()),
        None => whereabouts(out),
    };
    format!(
        "...output truncated...\n\n{place}\n\n({} of {} bytes are left out before the end that follows.)\n{}{}{metadata}",
        cut.omitted_bytes,
        out.output.bytes,
        cut.errors_block(),
        cut.tail
    )
}

/// The text of a page, and nothing around it.
fn fetched(out: &PageOut, room: usize) -> String {
    if let Some(to) = &out.redirect {
        return page::elsewhere(to, "webfetch");
    }
    let (text, rest) = page::text(out, OUTPUT.bytes.min(room.saturating_sub(FRAME)));
    match rest {
        Some(rest) => format!("{text}\n\n({rest})"),
        None => text.to_owned(),
    }
}

/// The list as it was sent.
fn todos(done: &Done) -> String {
    done.call
        .as_ref()
        .and_then(|call| Args::of(call, TOOLS).ok())
        .and_then(|args| serde_json::to_string_pretty(args.value("todos")?).ok())
        .unwrap_or_else(|| "The todo list was saved.".into())
}

fn task(out: &DelegateOut) -> String {
    let (state, error) = match &out.failure {
        None => ("completed", String::new()),
        Some(why) => ("error", format!("<task_error>\n{why}\n</task_error>\n")),
    };
    let report = match out.text.trim() {
        "" => "(It wrote no report. Look at what it did yourself.)",
        text => text,
    };
    format!(
        "<task id=\"ses_{}\" state=\"{state}\">\n{error}<task_result>\n{report}\n</task_result>\n</task>",
        out.id
    )
}

fn failed(action: &Action, error: &ToolError) -> String {
    match (action, error) {
        (Action::Patch { .. }, _) => format!("apply_patch verification failed: {error}"),
        (_, ToolError::NotFetched { url, why }) => format!("Transport error (GET {url}): {why}"),
        (Action::Shell(_), ToolError::NotFound { .. }) => format!("NotFound: {error}"),
        (_, ToolError::NotFound { path, instead }) => {
            let (first, hint) = match action {
                Action::Edit { .. } => (
                    format!("File {path} not found"),
                    "An empty oldString makes a new file.",
                ),
                _ => (
                    format!("File not found: {path}"),
                    "glob, and read on the folder, show what is there.",
                ),
            };
            let next = match instead {
                Some(other) => format!("Did you mean this one?\n{other}"),
                None => hint.to_owned(),
            };
            format!("{first}\n\n{next}")
        }
        (Action::Edit { .. }, ToolError::Ambiguous { .. }) => {
            format!("{error}, or set replaceAll to true")
        }
        _ => error.to_string(),
    }
}
