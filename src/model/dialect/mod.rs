//! Tool calls that a model wrote as text.
//!
//! Small and fine-tuned models often write a call into their answer instead of sending it as one.
//! [`recover`] finds such calls, decides by their position whether they are meant (see
//! [`position`]), and settles them like any other call. The forms are rows of [`FORMS`]; a new
//! one is a file with a [`Form`] and a row there.

mod bare_json;
mod function_xml;
mod holdback;
mod position;
mod repeats;
mod shape;
#[cfg(test)]
mod stream_tests;
mod tagged_json;
#[cfg(test)]
pub(crate) mod tests;
mod thinking;

use crate::model::arguments::{self, CallError, Settled, names};
use crate::model::{CallKind, Finish, Reply, ToolCall, ToolSpec};
use position::Standing;
use std::ops::Range;

pub use holdback::Holdback;
pub use repeats::Repeats;
pub use thinking::split_thinking;

/// Every form, tried in this order where two begin at the same place.
const FORMS: &[&Form] = &[&function_xml::FORM, &tagged_json::FORM, &bare_json::FORM];

/// The most pieces that are looked at in one text.
const MOST_PIECES: usize = 64;

/// What a call may stand next to, to tell a call from a quotation.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The messages of the person, oldest first; never words of the program.
    pub user_texts: &'a [&'a str],
    /// Recent tool results.
    pub tool_texts: &'a [&'a str],
    /// The sandbox is enforced, or a call as text was corrected once already.
    pub enforced: bool,
    /// A person sees each call before it runs.
    pub interactive: bool,
}

/// Calls found in a reply, and what remains of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovered {
    /// The prose before the call.
    pub text: String,
    /// The thinking that replaces the reply's, when the call was taken out of it.
    pub reasoning: Option<String>,
    /// The calls, settled, with ids of our own and marked as recovered; never empty.
    pub calls: Vec<ToolCall>,
    /// The form that they had, for counting.
    pub form: &'static str,
    /// Whole lines that begin with `note:`, for the model.
    pub notes: Vec<String>,
}

/// What a reply without a structured call holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// Text.
    Nothing,
    /// Calls that may go the usual way of approval.
    Calls(Recovered),
    /// Something that looks like a call but may not be run.
    Fault {
        /// Tells the model what to send instead.
        text_for_model: String,
    },
}

/// One way to write a call.
struct Form {
    /// Its name, for counting.
    name: &'static str,
    /// Texts that begin it wherever they stand; the display holds them back.
    openers: &'static [&'static str],
    /// The next piece at or after a place.
    find: fn(&str, usize, &Cx) -> Option<Piece>,
}

/// What a form may know while it reads.
struct Cx<'a> {
    tools: &'a [ToolSpec],
    /// The text ends where the model ended it, not where it was cut.
    whole: bool,
}

/// A stretch of text that is one call, or several without prose between them.
#[derive(Debug)]
struct Piece {
    /// With the tags and the fence around it.
    span: Range<usize>,
    calls: Vec<Written>,
    trouble: Option<Trouble>,
    /// It bears tags that say that it is a call; plain JSON does not.
    tagged: bool,
}

/// A call as it was written.
#[derive(Debug, Clone)]
struct Written {
    name: String,
    /// JSON text.
    arguments: String,
    /// The whole call, to find it again in other texts.
    raw: String,
    /// One of several that were meant to run side by side, each in its own tags or in one array.
    parallel: bool,
    /// It has its arguments under a key of their own, so it can be nothing but a call.
    explicit: bool,
    /// The tool was guessed from the arguments.
    guessed: bool,
}

/// Why a piece is no call though it looks like one.
#[derive(Debug)]
enum Trouble {
    /// The reply ended inside it.
    Cut,
    /// In words.
    Unreadable(String),
}

/// Pieces that belong together, with at most a sentence or two between them.
struct Group {
    span: Range<usize>,
    pieces: Vec<Piece>,
    /// The prose between them.
    between: Vec<Range<usize>>,
    form: &'static str,
}

/// Finds the calls in a reply that brought none as such.
pub fn recover(tools: &[ToolSpec], reply: &Reply, around: &Surroundings) -> Finding {
    let said = &reply.assistant;
    let refused = matches!(reply.finish, Finish::Refused(_));
    if tools.is_empty() || !said.calls.is_empty() || refused {
        return Finding::Nothing;
    }
    if !said.text.trim().is_empty() {
        return in_text(tools, &said.text, &reply.finish, around);
    }
    // A call as the very last thing in the thinking was meant for the answer. What stands
    // earlier is a plan.
    if reply.finish != Finish::Stop {
        return Finding::Nothing;
    }
    let thoughts = said.reasoning.iter().map(|r| r.text.as_str());
    let thoughts = thoughts.collect::<Vec<_>>().join("\n");
    match in_text(tools, &thoughts, &reply.finish, around) {
        Finding::Calls(found) => Finding::Calls(Recovered {
            reasoning: Some(found.text),
            text: String::new(),
            ..found
        }),
        _ => Finding::Nothing,
    }
}

fn in_text(tools: &[ToolSpec], text: &str, finish: &Finish, around: &Surroundings) -> Finding {
    let cx = Cx {
        tools,
        whole: *finish == Finish::Stop,
    };
    let Some(group) = gather(text, &cx) else {
        return Finding::Nothing;
    };
    let standing = position::judge(&group, text, &cx, around);
    if standing == Standing::Text {
        return Finding::Nothing;
    }
    let mut notes = Vec::new();
    let mut calls: Vec<ToolCall> = Vec::new();
    let written = group
        .pieces
        .iter()
        .flat_map(|piece| piece.calls.iter().map(move |call| (piece, call)));
    let parallel = written.clone().all(|(_, call)| call.parallel) && group.between.is_empty();
    for (piece, call) in written.clone() {
        let settled = settle(call, tools);
        if let Some(fault) = settled.fault {
            if !calls.is_empty() {
                notes.push(format!("note: a further call was not run: {fault}"));
                break;
            }
            return reject(piece, call, standing, &fault);
        }
        notes.extend(settled.notes);
        for call in std::iter::once(settled.call).chain(settled.more) {
            let known = calls
                .iter()
                .any(|c| c.name == call.name && c.arguments == call.arguments);
            if !known {
                calls.push(call);
            }
        }
    }
    let trouble = group.pieces.iter().find_map(|p| p.trouble.as_ref());
    let Some(first) = calls.first() else {
        return trouble.map_or(Finding::Nothing, |trouble| unreadable(trouble, tools));
    };
    let name = first.name.clone();
    let reads = calls.iter().all(names::read_only);
    let plain = group.pieces.iter().any(|p| !p.tagged);
    let guessed = written.clone().any(|(_, call)| call.guessed);
    if standing == Standing::Surrounded || guessed && !reads {
        return fault(format!(
            "Your reply shows a call of {name} inside other text, so nothing was run. If it shall run, call {name} again and write nothing after the call. If it was only shown, give your answer in words."
        ));
    }
    if standing == Standing::Weak && !reads {
        return fault(format!(
            "Your reply ends with a call of {name} after a long text, so nothing was run. If it shall run, send the call alone. If it was only shown, give your answer in words."
        ));
    }
    if plain && !reads && !around.enforced && !around.interactive {
        return fault(format!(
            "Your reply holds a call of {name} as plain text. Nothing was run. Send it as a tool call, or answer in words."
        ));
    }
    if calls.len() > 1 && !reads && !parallel {
        calls.truncate(1);
        notes.push(format!(
            "note: only the first call ({name}) was run; send the next one after its result"
        ));
    }
    if let Some(Trouble::Unreadable(why)) = trouble {
        notes.push(format!("note: a further call could not be read: {why}"));
    }
    Finding::Calls(Recovered {
        text: before(text, group.span.start).trim_end().to_owned(),
        reasoning: None,
        calls,
        form: group.form,
        notes,
    })
}

/// The text before a place.
fn before(text: &str, at: usize) -> &str {
    text.get(..at).unwrap_or_default()
}

/// The text from a place on.
fn after(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

/// The last group of pieces in a text.
fn gather(text: &str, cx: &Cx) -> Option<Group> {
    let mut group: Option<Group> = None;
    let mut at = 0;
    for _ in 0..MOST_PIECES {
        let found = FORMS
            .iter()
            .filter_map(|form| Some((form.name, (form.find)(text, at, cx)?)))
            .min_by_key(|(_, piece)| piece.span.start);
        let Some((form, piece)) = found else { break };
        if piece.span.end <= at {
            break;
        }
        at = piece.span.end;
        let near = group.as_mut().and_then(|group| {
            let gap = group.span.end..piece.span.start;
            let prose = text.get(gap.clone()).unwrap_or_default().trim();
            position::is_lead_in(prose).then_some((group, gap, prose.is_empty()))
        });
        match near {
            Some((group, gap, touching)) => {
                if group.pieces.iter().all(|p| p.calls.is_empty()) {
                    group.form = form;
                }
                group.span.end = piece.span.end;
                if !touching {
                    group.between.push(gap);
                }
                group.pieces.push(piece);
            }
            None => {
                group = Some(Group {
                    span: piece.span.clone(),
                    pieces: vec![piece],
                    between: Vec::new(),
                    form,
                });
            }
        }
    }
    group
}

fn settle(call: &Written, tools: &[ToolSpec]) -> Settled {
    let call = ToolCall {
        id: ToolCall::fresh_id(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
        kind: CallKind::Function,
        recovered: true,
    };
    arguments::settle(call, tools, &Finish::Stop)
}

/// A call that does not fit any tool: an error if it can be nothing but a call, else data.
fn reject(piece: &Piece, call: &Written, standing: Standing, why: &CallError) -> Finding {
    let unknown = matches!(why, CallError::UnknownTool { .. });
    let data = !call.explicit || standing == Standing::Surrounded;
    if unknown && !piece.tagged && data {
        return Finding::Nothing;
    }
    fault(format!(
        "Your reply holds a tool call that could not be run. {why}"
    ))
}

fn unreadable(trouble: &Trouble, tools: &[ToolSpec]) -> Finding {
    match trouble {
        Trouble::Cut => fault(
            "Your reply was cut inside a tool call, so it was not run. Send it again in smaller pieces: write a part of the file first and add the rest with edits.".into(),
        ),
        Trouble::Unreadable(why) => {
            let names = tools.iter().map(|t| t.name.as_str()).collect::<Vec<_>>();
            fault(format!(
                "Your reply holds a tool call that cannot be read: {why}. Nothing was run. Send one JSON object with \"name\" and \"arguments\"; line ends inside strings are written as \\n and quotes as \\\". Tools: {}.",
                names.join(", ")
            ))
        }
    }
}

fn fault(text_for_model: String) -> Finding {
    Finding::Fault { text_for_model }
}
