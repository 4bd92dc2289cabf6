//! Approvals as elicitations: with the extras that clients of Codex read, and both of the forms in
//! which clients answer.

use crate::agent::event::{Answer, Question};
use crate::jsonrpc::Id;
use crate::tools::action::{Action, Shell};
use crate::tools::patch_paths;
use serde_json::{Value, json};

/// The longest message.
const MOST: usize = 2_000;

/// The parameters of `elicitation/create` for a question.
pub(super) fn question(question: &Question, thread: &str, call: &Id, number: u64) -> Value {
    let cwd = question.cwd.to_string_lossy();
    let mut params = json!({
        "requestedSchema": {"type": "object", "properties": {}},
        "threadId": thread,
        "codex_mcp_tool_call_id": call.to_value(),
        "codex_event_id": number.to_string(),
        "codex_call_id": format!("approval-{number}"),
    });
    let message = match &question.action {
        Action::Shell(Shell { command, .. }) => {
            params["codex_elicitation"] = "exec-approval".into();
            params["codex_command"] = json!(["bash", "-lc", command]);
            params["codex_cwd"] = cwd.clone().into();
            params["codex_parsed_cmd"] = json!([{"type": "unknown", "cmd": command}]);
            format!("Allow this command in {cwd}?\n{command}")
        }
        action => {
            let paths = changed(action);
            if !paths.is_empty() {
                params["codex_elicitation"] = "patch-approval".into();
                let changes = paths
                    .iter()
                    .map(|path| (path.clone(), json!({"type": "update"})));
                params["codex_changes"] = Value::Object(changes.collect());
                params["codex_reason"] = question.reason.clone().into();
            }
            let what = match action {
                Action::Mcp(call) => format!("{} {} {}", call.server, call.tool, call.arguments),
                _ => paths.join(", "),
            };
            format!("Allow this: {} {what}?", action.verb())
        }
    };
    let message = format!("{message}\n{}", question.reason);
    params["message"] = crate::words::head(&message, MOST).into();
    params
}

fn changed(action: &Action) -> Vec<String> {
    match action {
        Action::Write { path, .. }
        | Action::Edit { path, .. }
        | Action::Insert { path, .. }
        | Action::UndoEdit { path } => vec![path.clone()],
        Action::EditCell(edit) => vec![edit.path.clone()],
        Action::Patch { text, form, .. } => patch_paths(text, *form).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// What an answer means: Codex's `decision`, or the standard `action`. Anything else is a no.
pub(super) fn answer(answer: &Value) -> Answer {
    let word = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let decision =
        word(answer.get("decision")).or_else(|| word(answer.pointer("/content/decision")));
    match (decision.as_deref(), word(answer.get("action")).as_deref()) {
        (Some("approved"), _) => Answer::Yes,
        (Some("approved_for_session"), _) => Answer::YesForSession,
        (Some("abort"), _) => Answer::Stop,
        (Some(_), _) => Answer::No(None),
        (None, Some("accept")) => Answer::Yes,
        (None, _) => Answer::No(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_an_answer_are_read_and_the_rest_is_a_no() {
        for (value, expected) in [
            (json!({"decision": "approved"}), Answer::Yes),
            (
                json!({"decision": "approved_for_session"}),
                Answer::YesForSession,
            ),
            (json!({"decision": "denied"}), Answer::No(None)),
            (json!({"decision": "abort"}), Answer::Stop),
            (json!({"action": "accept"}), Answer::Yes),
            (json!({"action": "accept", "content": {}}), Answer::Yes),
            (
                json!({"action": "accept", "content": {"decision": "denied"}}),
                Answer::No(None),
            ),
            (json!({"action": "decline"}), Answer::No(None)),
            (json!({"action": "cancel"}), Answer::No(None)),
            (json!({}), Answer::No(None)),
            (json!("approved"), Answer::No(None)),
        ] {
            assert_eq!(answer(&value), expected, "{value}");
        }
    }
}
