//! What a hook's exit code and output mean, moment by moment.

use crate::project::hooks::{Answer, Moment};
use serde_json::Value;

/// What one hook said.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Reading {
    /// For the user.
    pub message: Option<String>,
    /// For the model.
    pub context: Option<String>,
    /// Why it must not be done, or not be over.
    pub blocked: Option<String>,
    /// Why everything must stop.
    pub stopped: Option<String>,
    /// What runs in its place.
    pub instead: Option<String>,
    /// A permission, and what is said with it.
    pub permitted: Option<(bool, String)>,
}

/// Reads an answer. `Err` says how the hook failed: it then has no effect.
pub(super) fn read(moment: Moment, answer: &Answer) -> Result<Reading, String> {
    match answer.code {
        0 => output(moment, answer.out.trim()),
        2 => {
            let reason = answer.err.trim();
            if reason.is_empty() {
                return Err("it ended with code 2 and gave no reason on standard error".into());
            }
            let reason = reason.to_owned();
            Ok(match moment {
                Moment::PermissionRequest => Reading {
                    permitted: Some((false, reason)),
                    ..Reading::default()
                },
                _ if can_block(moment) => Reading {
                    blocked: Some(reason),
                    ..Reading::default()
                },
                _ => {
                    return Err(format!(
                        "it ended with code 2, but nothing can be blocked here: {reason}"
                    ));
                }
            })
        }
        code => {
            let line = answer.err.lines().find(|l| !l.trim().is_empty());
            Err(match line {
                Some(line) => format!("it ended with code {code}: {}", line.trim()),
                None => format!("it ended with code {code}"),
            })
        }
    }
}

fn can_block(moment: Moment) -> bool {
    matches!(
        moment,
        Moment::UserPromptSubmit
            | Moment::PreToolUse
            | Moment::PostToolUse
            | Moment::Stop
            | Moment::SubagentStop
    )
}

fn output(moment: Moment, out: &str) -> Result<Reading, String> {
    let gives_context = matches!(
        moment,
        Moment::SessionStart | Moment::UserPromptSubmit | Moment::SubagentStart
    );
    if !out.starts_with('{') {
        if !out.is_empty() && matches!(moment, Moment::Stop | Moment::SubagentStop) {
            return Err("its output is no JSON object".into());
        }
        let context = (gives_context && !out.is_empty()).then(|| out.to_owned());
        return Ok(Reading {
            context,
            ..Reading::default()
        });
    }
    let said: Value =
        serde_json::from_str(out).map_err(|e| format!("its output is no JSON: {e}"))?;
    let text = |of: &Value, key: &str| of.get(key).and_then(Value::as_str).map(str::to_owned);
    let special = said
        .get("hookSpecificOutput")
        .cloned()
        .unwrap_or(Value::Null);
    if special.is_object() && text(&special, "hookEventName").as_deref() != Some(moment.name()) {
        return Err(format!(
            "its hookSpecificOutput is not for {}",
            moment.name()
        ));
    }
    let mut reading = Reading {
        message: text(&said, "systemMessage"),
        ..Reading::default()
    };
    let stops = said.get("continue").and_then(Value::as_bool) == Some(false);
    let refused = |what: &str| {
        Err(format!(
            "it gave {what}, which has no meaning for {}",
            moment.name()
        ))
    };
    let about_tools = matches!(
        moment,
        Moment::PreToolUse | Moment::PermissionRequest | Moment::PostToolUse
    );
    if about_tools && said.get("suppressOutput").is_some() {
        return refused("suppressOutput");
    }
    if stops {
        if matches!(moment, Moment::PreToolUse | Moment::PermissionRequest) {
            return refused("continue: false");
        }
        let why = text(&said, "stopReason").unwrap_or_else(|| "it said so".into());
        reading.stopped = Some(why);
    }
    if moment == Moment::PreToolUse && said.get("stopReason").is_some() {
        return refused("stopReason");
    }
    match text(&said, "decision").as_deref() {
        None => {}
        Some("block") if can_block(moment) => {
            let reason = text(&said, "reason").filter(|r| !r.trim().is_empty());
            reading.blocked = Some(reason.ok_or("it blocks and gives no reason")?);
        }
        Some(other) => return refused(&format!("the decision {other:?}")),
    }
    if gives_context || matches!(moment, Moment::PreToolUse | Moment::PostToolUse) {
        reading.context = text(&special, "additionalContext").filter(|t| !t.trim().is_empty());
    }
    match moment {
        Moment::PreToolUse => {
            let instead = special.get("updatedInput").map(|i| text(i, "command"));
            match (text(&special, "permissionDecision").as_deref(), instead) {
                (None, None) => {}
                (Some("deny"), None) => {
                    let why = text(&special, "permissionDecisionReason");
                    reading.blocked = Some(why.unwrap_or_else(|| "it gave no reason".into()));
                }
                (Some("allow"), Some(Some(command))) => reading.instead = Some(command),
                (Some("allow"), Some(None)) => return refused("an updatedInput without a command"),
                (Some(other), _) => {
                    return refused(&format!("the permissionDecision {other:?} like that"));
                }
                (None, Some(_)) => {
                    return refused("an updatedInput without permissionDecision \"allow\"");
                }
            }
        }
        Moment::PermissionRequest => {
            let decision = special.get("decision").cloned().unwrap_or(Value::Null);
            for key in ["updatedInput", "updatedPermissions", "interrupt"] {
                if decision.get(key).is_some() {
                    return refused(key);
                }
            }
            let message = text(&decision, "message").unwrap_or_default();
            reading.permitted = match text(&decision, "behavior").as_deref() {
                None => None,
                Some("allow") => Some((true, message)),
                Some("deny") => Some((false, message)),
                Some(other) => return refused(&format!("the behavior {other:?}")),
            };
        }
        _ => {}
    }
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Moment::*;

    fn of(moment: Moment, code: i32, out: &str, err: &str) -> Result<Reading, String> {
        let (out, err) = (out.to_owned(), err.to_owned());
        read(moment, &Answer { code, out, err })
    }

    fn blocked(reading: Result<Reading, String>) -> Option<String> {
        reading.unwrap().blocked
    }

    #[test]
    fn exit_codes() {
        for moment in [
            UserPromptSubmit,
            PreToolUse,
            PostToolUse,
            Stop,
            SubagentStop,
        ] {
            assert_eq!(
                blocked(of(moment, 2, "ignored", " no \n")).as_deref(),
                Some("no")
            );
            assert!(of(moment, 2, "", " \n").is_err());
            assert!(
                of(moment, 1, "", "boom")
                    .unwrap_err()
                    .contains("code 1: boom")
            );
        }
        assert_eq!(
            of(PermissionRequest, 2, "", "no").unwrap().permitted,
            Some((false, "no".into()))
        );
        assert!(of(SessionStart, 2, "", "no").is_err());
    }

    #[test]
    fn plain_output_is_context_where_there_is_some() {
        for moment in [SessionStart, UserPromptSubmit, SubagentStart] {
            assert_eq!(
                of(moment, 0, "hello\n", "").unwrap().context.as_deref(),
                Some("hello")
            );
        }
        assert_eq!(of(PreToolUse, 0, "hello", "").unwrap(), Reading::default());
        assert_eq!(of(PreCompact, 0, "hello", "").unwrap(), Reading::default());
        assert!(of(Stop, 0, "hello", "").is_err());
        assert_eq!(of(Stop, 0, "", "").unwrap(), Reading::default());
    }

    #[test]
    fn the_json_of_each_moment() {
        let special = |event: &str, rest: &str| {
            format!("{{\"hookSpecificOutput\": {{\"hookEventName\": \"{event}\", {rest}}}}}")
        };
        let context = special("SessionStart", "\"additionalContext\": \"c\"");
        assert_eq!(
            of(SessionStart, 0, &context, "")
                .unwrap()
                .context
                .as_deref(),
            Some("c")
        );
        assert!(of(UserPromptSubmit, 0, &context, "").is_err());
        assert!(of(SessionStart, 0, "{nonsense", "").is_err());

        let stop = r#"{"continue": false, "stopReason": "enough", "systemMessage": "m"}"#;
        let reading = of(PostToolUse, 0, stop, "").unwrap();
        assert_eq!(
            (reading.stopped.as_deref(), reading.message.as_deref()),
            (Some("enough"), Some("m"))
        );
        assert!(of(PreCompact, 0, stop, "").unwrap().stopped.is_some());
        assert!(of(PreToolUse, 0, stop, "").is_err());

        let block = r#"{"decision": "block", "reason": "r"}"#;
        for moment in [
            UserPromptSubmit,
            PreToolUse,
            PostToolUse,
            Stop,
            SubagentStop,
        ] {
            assert_eq!(blocked(of(moment, 0, block, "")).as_deref(), Some("r"));
        }
        assert!(of(SessionStart, 0, block, "").is_err());
        assert!(of(Stop, 0, r#"{"decision": "block"}"#, "").is_err());
        assert!(of(Stop, 0, r#"{"decision": "approve"}"#, "").is_err());

        let pre = |rest: &str| of(PreToolUse, 0, &special("PreToolUse", rest), "");
        assert_eq!(
            blocked(pre(
                r#""permissionDecision": "deny", "permissionDecisionReason": "d""#
            ))
            .as_deref(),
            Some("d")
        );
        assert_eq!(
            pre(r#""permissionDecision": "allow", "updatedInput": {"command": "ls"}"#)
                .unwrap()
                .instead
                .as_deref(),
            Some("ls")
        );
        for wrong in [
            r#""permissionDecision": "allow""#,
            r#""permissionDecision": "ask""#,
            r#""permissionDecision": "allow", "updatedInput": {"x": 1}"#,
            r#""updatedInput": {"command": "ls"}"#,
        ] {
            assert!(pre(wrong).is_err(), "{wrong}");
        }

        let ask = |rest: &str| {
            let text = special("PermissionRequest", &format!("\"decision\": {{{rest}}}"));
            of(PermissionRequest, 0, &text, "").map(|r| r.permitted)
        };
        assert_eq!(
            ask(r#""behavior": "allow""#),
            Ok(Some((true, String::new())))
        );
        assert_eq!(
            ask(r#""behavior": "deny", "message": "m""#),
            Ok(Some((false, "m".into())))
        );
        assert!(ask(r#""behavior": "allow", "updatedInput": {}"#).is_err());
        assert!(of(PermissionRequest, 0, r#"{"suppressOutput": true}"#, "").is_err());
    }
}
