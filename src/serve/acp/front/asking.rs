//! Questions to the person in the editor, and their answers.

use super::Front;
use crate::agent::event::Question;
use crate::cli::render::sanitize::one_line;
use crate::jsonrpc::CallError;
use crate::sandbox::Lift;
use crate::tools::action::AskedQuestion;
use serde_json::{Value, json};
use std::time::Duration;

/// How often a wait for an answer looks at the stop flag.
const TICK: Duration = Duration::from_millis(50);

impl Front {
    /// Puts a request to the editor and waits, however long it takes, until it answers or the turn
    /// is stopped. `None`: stopped, or the editor left.
    pub(super) fn request(
        &mut self,
        method: &str,
        params: Value,
    ) -> Option<Result<Value, CallError>> {
        self.updates.flush();
        let pending = match self.updates.peer().ask(method, params) {
            Ok(pending) => pending,
            Err(why) => return Some(Err(why)),
        };
        loop {
            if let Some(answer) = pending.poll(TICK) {
                return Some(answer);
            }
            if self.handle.cancel.is_cancelled() {
                return None;
            }
        }
    }

    /// Asks for one of these: (id, name, kind). `None`: the turn is stopped.
    pub(super) fn choose(&mut self, call: Value, options: &[(&str, &str, &str)]) -> Option<String> {
        let option = |(id, name, kind): &(&str, &str, &str)| json!({"optionId": id, "name": name, "kind": kind});
        let options: Vec<Value> = options.iter().map(option).collect();
        let params =
            json!({"sessionId": self.updates.session(), "toolCall": call, "options": options});
        let answer = match self.request("session/request_permission", params)? {
            Ok(answer) => answer,
            // An editor that cannot ask has nobody who said yes.
            Err(_) => return Some(String::new()),
        };
        let outcome = &answer["outcome"];
        match outcome["outcome"].as_str() {
            Some("selected") => Some(outcome["optionId"].as_str().unwrap_or_default().to_owned()),
            Some("cancelled") => None,
            _ => Some(String::new()),
        }
    }

    /// A question of the model, as a form.
    pub(super) fn form(&mut self, questions: &[AskedQuestion]) -> Option<Vec<Vec<String>>> {
        let key = |at: usize| format!("q{}", at + 1);
        let mut properties = serde_json::Map::new();
        for (at, question) in questions.iter().enumerate() {
            properties.insert(key(at), field(question));
        }
        let required: Vec<String> = (0..questions.len()).map(key).collect();
        let title = questions.first().map_or("", |q| q.header.as_str());
        let message = match title {
            "" => "The model asks",
            title => title,
        };
        let params = json!({
            "sessionId": self.updates.session(), "mode": "form", "message": message,
            "requestedSchema": {"type": "object", "properties": properties, "required": required},
        });
        let answer = self.request("elicitation/create", params)?.ok()?;
        if answer["action"] != "accept" {
            return None;
        }
        let answers = (0..questions.len()).map(|at| match &answer["content"][key(at)] {
            Value::String(text) => vec![text.clone()],
            Value::Array(list) => list
                .iter()
                .filter_map(|v| v.as_str().map(String::from))
                .collect(),
            Value::Null => Vec::new(),
            other => vec![other.to_string()],
        });
        Some(answers.collect())
    }

    /// A question with answers to choose one from, where the editor has no forms.
    pub(super) fn pick(&mut self, question: &AskedQuestion) -> Option<Vec<String>> {
        if question.options.is_empty() || question.several {
            return None;
        }
        let id = self.next_call();
        let call = json!({"toolCallId": id, "title": one_line(&question.question), "kind": "other", "status": "pending"});
        self.updates.send("tool_call", call.clone());
        let ids: Vec<String> = (0..question.options.len()).map(|n| n.to_string()).collect();
        let mut options: Vec<(&str, &str, &str)> = Vec::new();
        for (id, (label, _)) in ids.iter().zip(&question.options) {
            options.push((id, label, "allow_once"));
        }
        options.push(("none", "None of these", "reject_once"));
        let chosen = self.choose(call, &options);
        let label = chosen
            .as_deref()
            .and_then(|id| id.parse::<usize>().ok())
            .and_then(|at| Some(question.options.get(at)?.0.clone()));
        let status = if label.is_some() {
            "completed"
        } else {
            "failed"
        };
        let fields = json!({"toolCallId": id, "status": status});
        self.updates.send("tool_call_update", fields);
        label.map(|label| vec![label])
    }
}

/// The field of a form for one question.
fn field(question: &AskedQuestion) -> Value {
    let title = one_line(&question.question);
    let choices = question.options.iter().map(|(label, meaning)| {
        let title = match meaning.as_str() {
            "" => label.clone(),
            words => format!("{label}: {words}"),
        };
        json!({"const": label, "title": one_line(&title)})
    });
    let choices: Vec<Value> = choices.collect();
    match (choices.is_empty(), question.several) {
        (true, _) => json!({"type": "string", "title": title}),
        (false, false) => json!({"type": "string", "title": title, "oneOf": choices}),
        (false, true) => json!({"type": "array", "title": title, "items": {"anyOf": choices}}),
    }
}

/// Why a person is asked, and what a yes lets happen.
pub(super) fn why(question: &Question) -> String {
    let found = match question.recovered {
        true => " The call was found in the text of the reply.",
        false => "",
    };
    let lift = match &question.lift {
        Lift::Nothing => String::new(),
        Lift::Network => " A yes lets it use the network.".into(),
        Lift::Git => " A yes lets it write .git.".into(),
        Lift::Folder(path) => format!(" A yes lets it write in {}.", path.display()),
        Lift::Everything => " A yes runs it without the sandbox.".into(),
    };
    let reason = question.reason.trim_end_matches('.');
    let begin = reason.chars().take(1).flat_map(char::to_uppercase);
    let reason: String = begin.chain(reason.chars().skip(1)).collect();
    format!("{reason}.{found}{lift}")
}
