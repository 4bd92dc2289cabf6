//! The layouts in which results are told; they are those of the original.

use super::{TOOLS, agents};
use crate::harnesses::format::args::Args;
use crate::harnesses::format::cut::Limit;
use crate::harnesses::format::{
    answer, answer_parts, changed_files, exit_code, fingerprint, not_done, plain, whereabouts,
};
use crate::harnesses::{CallError, Done, Item};
use crate::tools::action::{Action, FileChange, Outcome, ShellOut, ShellStatus, ToolError};
use std::fmt::Write;

/// Tokens of output that a call gets unless it asks for fewer.
const OUTPUT_TOKENS: u64 = 10_000;
/// What the lines around an output may take.
const FRAME: usize = 500;

/// The answer to one call.
pub fn item(done: &Done, room: usize) -> Item {
    let (action, outcome) = match &done.result {
        Ok(pair) => (&pair.0, &pair.1),
        Err(error) => return answer(done, refusal(done, error), true, room),
    };
    if let Outcome::Image { part, .. } = outcome {
        return answer_parts(done, vec![part.clone()], false);
    }
    let is_error = outcome.is_error() && !matches!(outcome, Outcome::Shell(_));
    answer(done, text(done, action, outcome, room), is_error, room)
}

/// A call that was not understood.
fn refusal(done: &Done, error: &CallError) -> String {
    match error {
        CallError::UnknownTool { name, .. } => {
            let custom = done
                .call
                .as_ref()
                .is_some_and(|call| call.kind == crate::model::CallKind::Freeform);
            let kind = if custom { "custom tool call" } else { "call" };
            format!("unsupported {kind}: {name}\n{error}")
        }
        CallError::BadJson { .. } | CallError::BadArgument { .. } => {
            format!("failed to parse function arguments: {error}")
        }
        _ => error.to_string(),
    }
}

fn text(done: &Done, action: &Action, outcome: &Outcome, room: usize) -> String {
    let is_patch = matches!(action, Action::Patch { .. });
    match outcome {
        Outcome::Shell(out) => command(done, out, room),
        Outcome::Changed(changes) => patched(changes),
        Outcome::Planned => "Plan updated".into(),
        Outcome::Agents(agents) => {
            let call = done.call.as_ref();
            let (tool, id) = call.map_or(("", ""), |c| (c.name.as_str(), c.id.as_str()));
            agents::told_of(tool, id, agents)
        }
        Outcome::Answered(answers) => answered(action, answers),
        Outcome::Failed(error) if is_patch => patch_failed(error),
        Outcome::Refused { reason } if is_patch => format!("patch rejected: {reason}"),
        Outcome::Failed(error) => {
            if let Some(words) = agents::failed(error) {
                return words;
            }
            let tool = done.call.as_ref().map_or("the call", |c| c.name.as_str());
            format!("{tool} failed: {error}")
        }
        other => not_done(other).unwrap_or_else(|| "Done.".into()),
    }
}

/// The answers by the ids of their questions, as JSON.
fn answered(action: &Action, answers: &[Vec<String>]) -> String {
    let Action::Ask { questions } = action else {
        return String::new();
    };
    let by_id: serde_json::Map<String, serde_json::Value> = questions
        .iter()
        .zip(answers)
        .enumerate()
        .map(|(at, (asked, answer))| {
            let id = asked.id.clone().unwrap_or_else(|| (at + 1).to_string());
            (id, serde_json::json!({"answers": answer}))
        })
        .collect();
    serde_json::json!({"answers": by_id}).to_string()
}

fn command(done: &Done, out: &ShellOut, room: usize) -> String {
    let id = done.call.as_ref().map_or("", |call| call.id.as_str());
    let mut text = format!(
        "Chunk ID: {:06x}\nWall time: {:.4} seconds\n",
        fingerprint(id) & 0x00ff_ffff,
        out.wall.as_secs_f64()
    );
    let _ = match (out.status, exit_code(out.status)) {
        (ShellStatus::Running { id, .. }, _) => {
            writeln!(text, "Process running with session ID {id}")
        }
        (_, code) => writeln!(
            text,
            "Process exited with code {}",
            code.unwrap_or_default()
        ),
    };
    let tokens = out.output.bytes.div_ceil(4);
    let _ = writeln!(text, "Original token count: {tokens}\nOutput:");
    let asked = done
        .call
        .as_ref()
        .and_then(|call| Args::of(call, TOOLS).ok())
        .and_then(|args| args.positive("max_output_tokens"))
        .unwrap_or(OUTPUT_TOKENS);
    let labels = text.len() + out.fence.as_ref().map_or(0, |fence| fence.len() + 1);
    text.push_str(&output(out, tokens, asked, labels, room));
    if let Some(fence) = &out.fence {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(fence);
    }
    text
}

/// The output within its limit: head and tail half and half.
fn output(out: &ShellOut, tokens: u64, asked: u64, labels: usize, room: usize) -> String {
    let output = plain(&out.output.text);
    let bytes = usize::try_from(asked.saturating_mul(4)).unwrap_or(usize::MAX);
    let cut = Limit::bytes(bytes, 50).output(&output, labels, room, FRAME);
    if !cut.split {
        return cut.head;
    }
    let place = whereabouts(out);
    let space = if place.is_empty() { "" } else { " " };
    format!(
        "Warning: truncated output (original token count: {tokens}){space}{place}\nTotal output lines: {}\n\n{}…{} tokens truncated…\n{}{}",
        output.lines().count(),
        cut.head,
        cut.omitted_bytes.div_ceil(4),
        cut.errors_block(),
        cut.tail
    )
}

/// A patch is applied inside the program, in no time that this layout could show.
fn patched(changes: &[FileChange]) -> String {
    format!(
        "Exit code: 0\nWall time: 0 seconds\nOutput:\nThe patch was applied to these files:\n{}\n",
        changed_files(changes)
    )
}

fn patch_failed(error: &ToolError) -> String {
    match error {
        ToolError::Denied { .. } => format!("patch rejected: {error}"),
        ToolError::PatchMismatch {
            absolute,
            expected,
            near,
            ..
        } => {
            let mut text = format!(
                "apply_patch verification failed: these lines are not in {}:\n{expected}",
                absolute.display()
            );
            if let Some(near) = near {
                let _ = write!(text, "\nThe most similar lines are:\n{near}");
            }
            text
        }
        _ => format!("apply_patch verification failed: {error}"),
    }
}
