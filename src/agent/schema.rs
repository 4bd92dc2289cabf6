//! A JSON Schema that the answer of a task must follow.
//!
//! It shapes only the last message: the model is told of it with the task, its answer is checked
//! here, and one that does not follow is asked for once more, then held in shape by the server.

use super::event::{EndReason, Event, Frontend};
use super::session::Session;
use super::turn::Progress;
use crate::harnesses::{Input, Notice};
use crate::model::{ModelError, Reply};
use crate::words::head;
use boon::{Compiler, SchemaIndex, Schemas, UrlLoader, ValidationError};
use serde_json::Value;
use std::borrow::Cow;
use std::error::Error;
use std::fmt;

/// Faults that a model is told at once.
const FAULTS: usize = 3;
/// The most bytes of a fault; it may quote what it is about.
const FAULT: usize = 300;

/// The name under which the schema is known to the crate that checks.
const PLACE: &str = "schema.json";

/// A schema, ready to be checked against.
pub struct AnswerSchema {
    schema: Value,
    compiled: Schemas,
    root: SchemaIndex,
}

impl fmt::Debug for AnswerSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AnswerSchema({})", self.schema)
    }
}

/// Loads nothing: a schema stands in one file.
struct Alone;

impl UrlLoader for Alone {
    fn load(&self, url: &str) -> Result<Value, Box<dyn Error>> {
        Err(format!("it refers to {url}, and only one file is read").into())
    }
}

impl AnswerSchema {
    /// Reads a schema of any draft; 2020-12 where it names none.
    ///
    /// # Errors
    /// A sentence when it is no schema, or refers to another file.
    pub fn new(schema: Value) -> Result<Self, String> {
        let fail = |e: boon::CompileError| {
            format!("not a JSON Schema: {}", head(&format!("{e:#}"), FAULT))
        };
        let (mut compiled, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.use_loader(Box::new(Alone));
        compiler.add_resource(PLACE, schema.clone()).map_err(fail)?;
        let root = compiler.compile(PLACE, &mut compiled).map_err(fail)?;
        Ok(AnswerSchema {
            schema,
            compiled,
            root,
        })
    }

    /// The schema itself.
    pub fn value(&self) -> &Value {
        &self.schema
    }

    /// The JSON text in an answer that follows the schema: the whole of it, or what stands in the
    /// one fenced block around it.
    ///
    /// # Errors
    /// What is wrong, for the model.
    pub fn check<'a>(&self, answer: &'a str) -> Result<&'a str, String> {
        let text = fenced(answer.trim());
        let value: Value =
            serde_json::from_str(text).map_err(|e| format!("it is not JSON: {e}"))?;
        let Err(error) = self.compiled.validate(&value, self.root) else {
            return Ok(text);
        };
        let mut faults = Vec::new();
        collect(&error, &mut faults);
        Err(faults.join("; "))
    }
}

/// The faults themselves, without what they are part of.
fn collect(error: &ValidationError, faults: &mut Vec<String>) {
    if faults.len() >= FAULTS {
        return;
    }
    if error.causes.is_empty() {
        let at = error.instance_location.to_string();
        let place = if at.is_empty() { "/" } else { at.as_str() };
        let what = error.kind.to_string();
        faults.push(format!("at {place}: {}", head(&what, FAULT)));
    }
    error.causes.iter().for_each(|e| collect(e, faults));
}

/// What stands in a fenced block that is the whole text; the text itself where there is none.
fn fenced(text: &str) -> &str {
    let inner = || {
        let (label, rest) = text.strip_prefix("```")?.split_once('\n')?;
        let inner = rest.strip_suffix("```")?.trim();
        matches!(label.trim(), "" | "json" | "JSON").then_some(inner)
    };
    inner().unwrap_or(text)
}

impl Session {
    /// The task with what its answer must look like.
    pub(super) fn with_schema<'a>(&self, input: &'a Input) -> Cow<'a, Input> {
        let Some(schema) = &self.schema else {
            return Cow::Borrowed(input);
        };
        let schema = self.told(schema);
        Cow::Owned(Input {
            text: format!(
                "{}\n\nYour last message, and only that one, must be JSON alone, without a code fence{schema}",
                input.text.trim_end_matches('\n')
            ),
            images: input.images.clone(),
        })
    }

    /// The schema at the end of a sentence, if it takes at most half of what a task may take.
    fn told(&self, schema: &AnswerSchema) -> String {
        let text = schema.schema.to_string();
        match text.len() > self.budget.task_bytes() / 2 {
            true => ".".into(),
            false => format!(", that this JSON Schema allows:\n{text}"),
        }
    }

    /// The answer as the schema wants it, if there is one: as it came, without its fence, or asked
    /// for once more.
    pub(super) fn shape(
        &mut self,
        answer: String,
        p: &mut Progress,
        front: &mut dyn Frontend,
    ) -> (EndReason, String) {
        let Some(schema) = self.schema.clone() else {
            return (EndReason::Done, answer);
        };
        let fault = match schema.check(&answer) {
            Ok(json) if json == answer => return (EndReason::Done, answer),
            Ok(json) => {
                let json = json.to_owned();
                say(&json, front);
                return (EndReason::Done, json);
            }
            Err(fault) => fault,
        };
        let text = format!("the answer does not follow the schema ({fault}); asking once more");
        self.repaired("schema", text, front);
        let words = format!(
            "Your last message is not the JSON that was asked for: {fault}. Call no tool. Answer once more, with JSON alone, without a code fence{}",
            self.told(&schema)
        );
        let items = self.harness.notice(&mut self.state, &Notice::Nudge(words));
        self.push_all(items);
        let mut reply = match self.ask_in_shape(p, front) {
            Ok(reply) => reply,
            Err(ModelError::Interrupted) => return (EndReason::Interrupted, String::new()),
            Err(error) => return (EndReason::Failed(error.to_string()), String::new()),
        };
        reply.assistant.calls.clear();
        let said = reply.assistant.text.clone();
        front.event(&Event::Replied {
            text: said.clone(),
            reasoning: String::new(),
            usage: reply.usage,
            timing: reply.timing,
        });
        if !said.trim().is_empty() {
            self.push_reply(reply.assistant);
        }
        match schema.check(&said) {
            Ok(json) => {
                if json != said {
                    say(json, front);
                }
                (EndReason::Done, json.to_owned())
            }
            Err(fault) => (
                EndReason::Failed(format!(
                    "the answer does not follow the schema, nor did it when it was asked for again: {fault}"
                )),
                said,
            ),
        }
    }

    /// Asks with the schema in the request; where the server refuses it, without.
    fn ask_in_shape(
        &mut self,
        p: &mut Progress,
        front: &mut dyn Frontend,
    ) -> Result<Reply, ModelError> {
        self.is_shaping = true;
        let reply = self.ask(&[], true, p, front);
        self.is_shaping = false;
        let mut reply = match reply {
            Err(error) if is_refused(&error) => self.ask(&[], true, p, front)?,
            other => other?,
        };
        super::turn::take_thinking(&mut reply, self.provider.wire);
        Ok(reply)
    }
}

/// The request is one that the server does not take, for its schema or for what it does not name.
fn is_refused(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::Status {
            status: 400 | 422,
            ..
        }
    ) || error.is_about_schema()
}

/// Shows an answer that the model did not write in these bytes.
fn say(json: &str, front: &mut dyn Frontend) {
    front.event(&Event::Replied {
        text: json.to_owned(),
        reasoning: String::new(),
        usage: None,
        timing: Default::default(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> AnswerSchema {
        let schema = json!({"type": "object", "properties": {"final": {"type": "string"}},
            "required": ["final"], "additionalProperties": false});
        AnswerSchema::new(schema).unwrap()
    }

    #[test]
    fn json_alone_or_in_a_fence_is_an_answer() {
        for text in [
            "{\"final\": \"x\"}",
            "\n{\"final\": \"x\"}\n",
            "```json\n{\"final\": \"x\"}\n```",
            "```\n{\"final\": \"x\"}\n```\n",
        ] {
            assert_eq!(
                schema().check(text).unwrap(),
                "{\"final\": \"x\"}",
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let check = |text: &str| schema().check(text).unwrap_err();
        assert!(check("The final is x.").contains("not JSON"));
        assert!(check("{\"final\": 1}").contains("at /final"));
        assert!(check("{}").contains("final"));
        assert!(check("{\"final\": \"x\", \"more\": 1}").contains("more"));
        assert!(check("```python\n{\"final\": \"x\"}\n```").contains("not JSON"));
        assert!(check("{\"final\": \"x\"} and more").contains("not JSON"));
    }

    #[test]
    fn a_schema_that_is_none_is_refused() {
        assert!(AnswerSchema::new(json!({"type": "nothing"})).is_err());
        assert!(AnswerSchema::new(json!([1])).is_err());
        assert!(AnswerSchema::new(json!({"$ref": "https://example.com/s.json"})).is_err());
    }
}
