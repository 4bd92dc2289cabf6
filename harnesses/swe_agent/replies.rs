//! One call a reply: the rule of the original's function-calling parser.

use super::TOOLS;
use crate::harnesses::format::surface;
use crate::harnesses::{CallError, Item, REQUERIES, State, Step};
use crate::model::{Assistant, Finish, Reply, ToolCall};
use crate::tools::action::Action;

/// So many replies in a row may break the rule; then the best is made of the last one.
const FORMAT_ERRORS: u64 = 3;

/// How a reply breaks the rule; the names are the original's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FormatError {
    Missing,
    Multiple(usize),
}

/// What a reply asks for; `action` reads one call.
///
/// A reply without a call, or with different ones, is asked for anew, and neither it nor the
/// question stays in the transcript. The original gives up at the third and submits what there is.
/// Here a text without a call is then the answer, and of several calls the first is run.
pub fn read(
    state: &State,
    reply: &Reply,
    action: impl Fn(&ToolCall) -> Result<Action, CallError>,
) -> Step {
    let calls = reply.assistant.calls.as_slice();
    let error = match calls {
        [] => Some(FormatError::Missing),
        [first, rest @ ..] => {
            let is_copy = |call: &ToolCall| same(call, first);
            let others = rest.iter().filter(|call| !is_copy(call)).count();
            (others > 0).then_some(FormatError::Multiple(calls.len()))
        }
    };
    let before = state.counters.get(REQUERIES).copied().unwrap_or(0);
    if let Some(error) = error
        && before + 1 < FORMAT_ERRORS
    {
        return Step::Requery {
            show: shown(&reply.assistant, error, reply.finish == Finish::Length),
            keep: Vec::new(),
        };
    }
    let Some(first) = calls.first() else {
        return Step::Done;
    };
    let rest = calls.iter().skip(1).map(|call| {
        Err(CallError::Refused(match same(call, first) {
            true => "This call is the same as the first one, which was run.".into(),
            false => {
                "Only the first call of a reply is run. Send this one alone if it is still needed."
                    .into()
            }
        }))
    });
    Step::Act(std::iter::once(action(first)).chain(rest).collect())
}

fn same(a: &ToolCall, b: &ToolCall) -> bool {
    a.name == b.name && a.arguments == b.arguments
}

/// The reply without its calls, and what is wrong with it.
fn shown(assistant: &Assistant, error: FormatError, cut: bool) -> Vec<Item> {
    let said = (!assistant.text.trim().is_empty()).then(|| {
        Item::Assistant(Assistant {
            text: assistant.text.clone(),
            ..Assistant::default()
        })
    });
    said.into_iter()
        .chain([Item::user(words(error, cut))])
        .collect()
}

fn words(error: FormatError, cut: bool) -> String {
    match error {
        FormatError::Missing if cut => {
            "Your reply reached the output limit before a tool call. Write one short sentence, then exactly ONE tool call.".into()
        }
        FormatError::Missing => format!(
            "Your reply had no tool call. Send exactly ONE now, for example bash with {}. Commands in ``` fences are not run. If the task is done, or needs no command, call submit and write the answer beside it.",
            surface::expected(TOOLS, "bash")
        ),
        FormatError::Multiple(count) => format!(
            "Your reply had {count} tool calls, and none was run. Send exactly ONE: the first. You get its result before the next."
        ),
    }
}
