//! A server's question on its way to the person, and the answer on its way back.

use super::form::{Form, is_yes};
use super::transport::Reply;
use crate::jsonrpc::Fault;
use serde_json::{Value, json};

/// A question on its way to the person. Dropped without an answer, it is declined.
pub struct Ask {
    params: Value,
    reply: Option<Reply>,
}

/// What the person did with a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// Filled in: for each field its value, or nothing where it is left at its default.
    Filled(Vec<Option<Value>>),
    /// Answered as questions: for each the chosen or own words; an empty list leaves the field at
    /// its default.
    Answered(Vec<Vec<String>>),
    /// Said no.
    Declined,
    /// Went away.
    Cancelled,
}

impl Ask {
    pub(super) fn new(params: Value, reply: Reply) -> Self {
        Ask {
            params,
            reply: Some(reply),
        }
    }

    /// What the server of that name wants to know.
    pub fn form(&self, server: &str) -> Form {
        Form::read(server, &self.params)
    }

    /// Sends the person's answer back.
    pub fn answer(mut self, form: &Form, asked: &Asked) {
        self.send(Ok(result(form, asked)));
    }

    fn send(&mut self, result: Result<Value, Fault>) {
        if let Some(reply) = self.reply.take() {
            reply(result);
        }
    }
}

impl Drop for Ask {
    fn drop(&mut self) {
        self.send(Ok(json!({"action": "decline"})));
    }
}

fn result(form: &Form, asked: &Asked) -> Value {
    let content = match asked {
        Asked::Declined => return json!({"action": "decline"}),
        Asked::Cancelled => return json!({"action": "cancel"}),
        Asked::Answered(answers) if form.fields.is_empty() => {
            let first = answers.first().and_then(|a| a.first());
            if !first.is_none_or(|a| is_yes(a)) {
                return json!({"action": "decline"});
            }
            Some(json!({}))
        }
        Asked::Answered(answers) => {
            let mut answers = answers.iter();
            let value =
                |field: &super::Field| field.value(answers.next().map_or(&[], Vec::as_slice));
            form.content(form.fields.iter().map(value))
        }
        Asked::Filled(values) => form.content(values.iter().cloned()),
    };
    match (content, &form.url) {
        (Some(_), Some(_)) => json!({"action": "accept"}),
        (Some(content), None) => json!({"action": "accept", "content": content}),
        // A server that needs a field cannot go on without.
        (None, _) => json!({"action": "decline"}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn answered(params: Value, asked: Option<Asked>) -> Value {
        let (sender, result) = channel();
        let reply: Reply = Box::new(move |r| sender.send(r).unwrap());
        let ask = Ask::new(params, reply);
        let form = ask.form("it");
        match asked {
            Some(asked) => ask.answer(&form, &asked),
            None => drop(ask),
        }
        result.recv().unwrap().unwrap()
    }

    /// The schema of the conformance scenario `elicitation-sep1034-client-defaults`.
    fn form() -> Value {
        json!({"message": "Who?", "requestedSchema": {"type": "object", "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive"], "default": "active"},
            "verified": {"type": "boolean", "default": true}}, "required": []}})
    }

    #[test]
    fn what_is_not_answered_gets_its_default() {
        let all = json!({"name": "John Doe", "age": 30, "score": 95.5, "status": "active", "verified": true});
        let empty = Asked::Answered(vec![]);
        assert_eq!(
            answered(form(), Some(empty)),
            json!({"action": "accept", "content": all})
        );
        let own = ["Ann", "x", "7", "inactive", "no"].map(|w| vec![w.to_owned()]);
        let mine = json!({"name": "Ann", "age": 30, "score": 7.0, "status": "inactive", "verified": false});
        let own = Asked::Answered(own.to_vec());
        assert_eq!(answered(form(), Some(own))["content"], mine);
        let filled = Asked::Filled(vec![None, Some(json!(7))]);
        let content = &answered(form(), Some(filled))["content"];
        assert_eq!(
            (&content["name"], &content["age"]),
            (&json!("John Doe"), &json!(7))
        );
    }

    #[test]
    fn nobody_and_no_are_told_apart_and_nothing_is_left_open() {
        assert_eq!(answered(form(), None), json!({"action": "decline"}));
        assert_eq!(answered(form(), Some(Asked::Declined))["action"], "decline");
        assert_eq!(answered(form(), Some(Asked::Cancelled))["action"], "cancel");
        let needed = json!({"message": "m", "requestedSchema": {"properties": {"k": {"type": "string"}}, "required": ["k"]}});
        let empty = Asked::Answered(vec![vec![]]);
        assert_eq!(answered(needed, Some(empty))["action"], "decline");
        let plain =
            json!({"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}});
        let no = Asked::Answered(vec![vec!["no".into()]]);
        assert_eq!(answered(plain, Some(no))["action"], "decline");
    }
}
