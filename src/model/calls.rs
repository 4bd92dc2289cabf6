//! How tool calls and their ids are written on a wire, and read back.

mod sound;

use super::{CallKind, ToolCall, ToolSpec};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashSet;

/// The longest id that every hosted API takes.
const MAX_ID: usize = 64;

/// The length of an id at Mistral.
const NINE: usize = 9;

/// Maps the ids of a transcript to `[A-Za-z0-9_-]{1,64}`, each used once in a request.
///
/// The mapping of an id depends on earlier ids alone, so a longer transcript keeps the ids of a
/// shorter one.
#[derive(Default)]
pub(super) struct Ids<'a> {
    used: HashSet<Cow<'a, str>>,
    /// The calls of the last reply that are not answered yet, each with what is sent for its id.
    open: Vec<(&'a str, Cow<'a, str>)>,
    keep_numbered: bool,
    nine: bool,
}

impl<'a> Ids<'a> {
    /// Ids for the chat APIs: those of Kimi K2, `functions.read:0`, stay as they are, since the
    /// model goes by them and its servers take them.
    pub(super) fn for_chat() -> Self {
        Ids {
            keep_numbered: true,
            ..Ids::default()
        }
    }

    /// Ids of exactly nine letters and digits, as Mistral wants them.
    pub(super) fn of_nine() -> Self {
        Ids {
            nine: true,
            ..Ids::default()
        }
    }

    /// A new reply begins: what earlier replies left unanswered can no longer be answered.
    pub(super) fn next_reply(&mut self) {
        self.open.clear();
    }

    /// The id to send for a call.
    pub(super) fn call(&mut self, id: &'a str) -> Cow<'a, str> {
        let wanted = self.allowed(id);
        let mut mapped = wanted.clone();
        let mut n = 2;
        while !self.used.insert(mapped.clone()) {
            let (end, most) = match self.nine {
                true => (n.to_string(), NINE),
                false => (format!("_{n}"), MAX_ID),
            };
            let kept = wanted.len().min(most.saturating_sub(end.len()));
            mapped = format!("{}{end}", &wanted[..kept]).into();
            n += 1;
        }
        self.open.push((id, mapped.clone()));
        mapped
    }

    /// The id to send for the result of a call. Results of calls with equal ids come in the order
    /// of the calls.
    pub(super) fn result(&mut self, id: &'a str) -> Cow<'a, str> {
        match self.open.iter().position(|(open, _)| *open == id) {
            Some(at) => self.open.remove(at).1,
            None => self.allowed(id),
        }
    }

    fn allowed(&self, id: &'a str) -> Cow<'a, str> {
        if self.nine {
            return nine(id).into();
        }
        if self.keep_numbered && id.len() <= MAX_ID && is_numbered(id) {
            return id.into();
        }
        allowed(id)
    }
}

/// The last nine letters and digits of `id`, with zeros before fewer.
fn nine(id: &str) -> String {
    let usable: Vec<char> = id.chars().filter(char::is_ascii_alphanumeric).collect();
    let last: String = usable[usable.len().saturating_sub(NINE)..].iter().collect();
    format!("{last:0>NINE$}")
}

/// True for `functions.NAME:NUMBER`.
fn is_numbered(id: &str) -> bool {
    let parts = id
        .strip_prefix("functions.")
        .and_then(|rest| rest.rsplit_once(':'));
    parts.is_some_and(|(name, number)| {
        name.chars().all(is_usable) && number.chars().all(|c| c.is_ascii_digit())
    })
}

fn is_usable(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// `id` with other characters replaced and cut to the limit; ASCII, never empty.
fn allowed(id: &str) -> Cow<'_, str> {
    if id.is_empty() {
        return "call".into();
    }
    if id.len() <= MAX_ID && id.chars().all(is_usable) {
        return id.into();
    }
    let usable = |c| if is_usable(c) { c } else { '_' };
    id.chars().take(MAX_ID).map(usable).collect()
}

/// The arguments of a call as a JSON object. Servers refuse a history in which they are anything
/// else, so a text that is none is carried under `input`.
pub(super) fn object(call: &ToolCall) -> Map<String, Value> {
    if call.kind == CallKind::Function {
        if call.arguments.trim().is_empty() {
            return Map::new();
        }
        if let Ok(Value::Object(map)) = serde_json::from_str(&call.arguments) {
            return map;
        }
    }
    Map::from_iter([("input".to_owned(), Value::from(call.arguments.clone()))])
}

/// The arguments of a call as the text of a JSON object: the model's own bytes where they are one.
pub(super) fn object_text(call: &ToolCall) -> Cow<'_, str> {
    if call.kind == CallKind::Function && sound::is_object(&call.arguments) {
        return Cow::Borrowed(&call.arguments);
    }
    Value::Object(object(call)).to_string().into()
}

/// A call as the server sent it. The call of a freeform tool that was shown as a function is
/// unwrapped: its input is the string `input`, a bare JSON string, or the text as it stands.
pub(super) fn received(
    id: String,
    name: String,
    arguments: String,
    freeform: &HashSet<String>,
) -> ToolCall {
    let (arguments, kind) = if freeform.contains(&name) {
        let input = match serde_json::from_str(&arguments) {
            Ok(Value::String(text)) => Some(text),
            Ok(Value::Object(mut map)) => match map.remove("input") {
                Some(Value::String(text)) => Some(text),
                _ => None,
            },
            _ => None,
        };
        (input.unwrap_or(arguments), CallKind::Freeform)
    } else if arguments.trim().is_empty() {
        ("{}".to_owned(), CallKind::Function)
    } else {
        (arguments, CallKind::Function)
    };
    ToolCall {
        id,
        name,
        arguments,
        kind,
        recovered: false,
    }
}

/// Gives every call an id of its own where the server sent none or sent one twice.
pub(super) fn distinct_ids(calls: &mut [ToolCall]) {
    let mut seen = HashSet::new();
    for call in calls {
        if call.id.is_empty() || !seen.insert(call.id.clone()) {
            call.id = ToolCall::fresh_id();
        }
    }
}

/// The names of the freeform tools among those on offer.
pub(super) fn freeform_names(tools: &[ToolSpec]) -> HashSet<String> {
    tools
        .iter()
        .filter(|t| t.kind() == CallKind::Freeform)
        .map(|t| t.name.clone())
        .collect()
}

/// True when `arguments` are JSON that stops before its end.
pub(super) fn is_cut_off(arguments: &str) -> bool {
    !arguments.trim().is_empty()
        && serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_err_and(|e| e.is_eof())
}

/// True when `arguments` are complete JSON, or empty, which stands for no arguments.
pub(super) fn is_complete(arguments: &str) -> bool {
    arguments.trim().is_empty() || serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(arguments: &str, kind: CallKind) -> ToolCall {
        ToolCall {
            id: "c".into(),
            name: "t".into(),
            arguments: arguments.into(),
            kind,
            recovered: false,
        }
    }

    #[test]
    fn ids_are_allowed_and_unique() {
        let mut ids = Ids::default();
        assert_eq!(ids.call("functions.read:0"), "functions_read_0");
        assert_eq!(ids.call("functions.read.0"), "functions_read_0_2");
        assert_eq!(ids.result("functions.read.0"), "functions_read_0_2");
        assert_eq!(ids.result("functions.read:0"), "functions_read_0");
        let long = "ä".repeat(90);
        assert_eq!(ids.call(&long), "_".repeat(64));
        assert_eq!(ids.call(&long), format!("{}_2", "_".repeat(62)));
        assert_eq!(ids.call(""), "call");
        assert_eq!(ids.result("never called!"), "never_called_");
    }

    #[test]
    fn the_ids_of_kimi_stay_on_the_chat_apis() {
        let mut ids = Ids::for_chat();
        assert_eq!(ids.call("functions.read:0"), "functions.read:0");
        assert_eq!(ids.result("functions.read:0"), "functions.read:0");
        assert_eq!(ids.call("functions.read x:0"), "functions_read_x_0");
        assert_eq!(Ids::default().call("functions.read:0"), "functions_read_0");
    }

    #[test]
    fn ids_of_nine_letters_are_unique_too() {
        let mut ids = Ids::of_nine();
        assert_eq!(ids.call("call_0199abcdef12"), "9abcdef12");
        assert_eq!(ids.call("other-9abcdef12"), "9abcdef13");
        assert_eq!(ids.call("x_1"), "0000000x1");
        assert_eq!(ids.result("call_0199abcdef12"), "9abcdef12");
        for _ in 0..30 {
            let id = ids.call("x_1");
            assert!(
                id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()),
                "{id}"
            );
        }
    }

    #[test]
    fn an_id_used_in_two_replies_is_told_apart() {
        let mut ids = Ids::default();
        ids.next_reply();
        assert_eq!(ids.call("0"), "0");
        ids.next_reply();
        assert_eq!(ids.call("0"), "0_2");
        assert_eq!(ids.result("0"), "0_2", "not the unanswered call before");
    }

    #[test]
    fn history_arguments_are_always_an_object() {
        for (arguments, kind, want) in [
            ("", CallKind::Function, "{}"),
            (
                "{\"b\": 1,  \"a\": 2}",
                CallKind::Function,
                "{\"b\": 1,  \"a\": 2}",
            ),
            ("[1]", CallKind::Function, r#"{"input":"[1]"}"#),
            ("{\"a\":", CallKind::Function, r#"{"input":"{\"a\":"}"#),
            ("{}", CallKind::Freeform, r#"{"input":"{}"}"#),
        ] {
            assert_eq!(object_text(&call(arguments, kind)), want);
        }
    }

    #[test]
    fn a_freeform_call_is_unwrapped_from_each_of_its_forms() {
        let freeform = HashSet::from(["t".to_owned()]);
        for (sent, want) in [
            (r#"{"input":"*** Begin"}"#, "*** Begin"),
            (r#""*** Begin""#, "*** Begin"),
            ("*** Begin", "*** Begin"),
            (r#"{"patch":1}"#, r#"{"patch":1}"#),
        ] {
            let got = received("1".into(), "t".into(), sent.into(), &freeform);
            assert_eq!(
                (got.arguments.as_str(), got.kind),
                (want, CallKind::Freeform)
            );
        }
        let got = received("1".into(), "other".into(), " ".into(), &freeform);
        assert_eq!(
            (got.arguments.as_str(), got.kind),
            ("{}", CallKind::Function)
        );
    }

    #[test]
    fn cut_and_broken_json_are_told_apart() {
        assert!(is_cut_off(r#"{"path":"src/main.rs"#));
        assert!(!is_cut_off(r#"{"path":}"#));
        assert!(!is_cut_off(r#"{"path":1}"#));
        assert!(!is_cut_off(""));
        assert!(is_complete("") && is_complete("{}") && !is_complete("{"));
    }
}
