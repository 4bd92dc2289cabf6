//! One message: read tolerantly, written strictly.

use serde_json::{Map, Number, Value, json};
use std::fmt;

/// The error codes of JSON-RPC 2.0, and those that its users share.
pub mod code {
    /// What came is not JSON.
    pub const PARSE: i64 = -32700;
    /// JSON, but no message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// No such method here.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The method does not take these parameters.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Something on our side failed.
    pub const INTERNAL: i64 = -32603;
    /// The request was cancelled by who sent it.
    pub const CANCELLED: i64 = -32800;
}

/// The name of a request, given back unchanged in its answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Id {
    /// A number, in the form in which it came; 0 is one like any other.
    Number(Number),
    /// A word.
    Text(String),
    /// `null`: of an answer to something whose id could not be read, or of a careless request.
    Null,
}

impl Id {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Number(n) => Some(Id::Number(n.clone())),
            Value::String(s) => Some(Id::Text(s.clone())),
            Value::Null => Some(Id::Null),
            _ => None,
        }
    }

    /// The id as a number, if it is one of ours: also written as a word or with a fraction of
    /// zero, as careless servers give it back.
    pub fn as_own(&self) -> Option<u64> {
        match self {
            Id::Number(n) => n.as_u64().or_else(|| {
                let float = n.as_f64()?;
                let whole = float.fract() == 0.0 && (0.0..9e15).contains(&float);
                whole.then_some(float as u64)
            }),
            Id::Text(s) => s.parse().ok(),
            Id::Null => None,
        }
    }

    /// The id in JSON.
    pub fn to_value(&self) -> Value {
        match self {
            Id::Number(n) => Value::Number(n.clone()),
            Id::Text(s) => Value::String(s.clone()),
            Id::Null => Value::Null,
        }
    }
}

impl From<u64> for Id {
    fn from(id: u64) -> Self {
        Id::Number(id.into())
    }
}

/// An error answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// One of [`code`], or of the protocol above.
    pub code: i64,
    /// What is wrong, in a sentence.
    pub message: String,
    /// More, for programs.
    pub data: Option<Value>,
}

impl Fault {
    /// A fault without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            code,
            message,
            data: None,
        }
    }

    /// The answer to a method that is not known here.
    pub fn no_method(method: &str) -> Self {
        Self::new(
            code::METHOD_NOT_FOUND,
            format!("there is no method {method:?} here"),
        )
    }

    /// The answer to parameters that the method does not take.
    pub fn bad_params(why: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, why)
    }

    fn read(value: &Value) -> Self {
        let message = match value.get("message") {
            Some(Value::String(s)) => s.clone(),
            _ => value.to_string(),
        };
        Self {
            code: value.get("code").and_then(Value::as_i64).unwrap_or(0),
            message,
            data: value.get("data").filter(|d| !d.is_null()).cloned(),
        }
    }

    fn to_value(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let (Some(data), Some(map)) = (&self.data, error.as_object_mut()) {
            map.insert("data".into(), data.clone());
        }
        error
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", self.message, self.code)
    }
}

impl std::error::Error for Fault {}

/// JSON that is no message.
#[derive(Debug, Clone, PartialEq)]
pub struct Malformed {
    /// Whom to answer.
    pub id: Id,
    /// What to answer.
    pub fault: Fault,
}

impl Malformed {
    fn new(id: Id, why: &str) -> Box<Self> {
        let fault = Fault::new(code::INVALID_REQUEST, why);
        Box::new(Self { id, fault })
    }
}

/// One message, or what stands in its place.
pub type Parsed = Result<Message, Box<Malformed>>;

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Wants an answer.
    Request {
        /// Its name, for the answer.
        id: Id,
        /// What to do.
        method: String,
        /// With what; `null` if there are none.
        params: Value,
    },
    /// Wants none.
    Notification {
        /// What happened.
        method: String,
        /// With what; `null` if there are none.
        params: Value,
    },
    /// The answer to a request.
    Response {
        /// Whose answer.
        id: Id,
        /// What came of it.
        result: Result<Value, Fault>,
    },
}

impl Message {
    /// Reads one JSON object. A missing `jsonrpc` is forgiven, a `null` beside a value is absent.
    ///
    /// # Errors
    /// The answer to give, and the id to give it to.
    pub fn read(value: Value) -> Parsed {
        let invalid = Malformed::new;
        let Value::Object(mut map) = value else {
            return Err(invalid(Id::Null, "a message is a JSON object"));
        };
        let id = match map.get("id") {
            None => None,
            Some(value) => Some(Id::read(value).ok_or_else(|| {
                invalid(
                    Id::Null,
                    "the id of a message is a number, a string or null",
                )
            })?),
        };
        if let Some(method) = map.remove("method") {
            let Value::String(method) = method else {
                let id = id.unwrap_or(Id::Null);
                return Err(invalid(id, "the method of a message is a string"));
            };
            let params = map.remove("params").unwrap_or_default();
            return Ok(match id {
                Some(id) => Message::Request { id, method, params },
                None => Message::Notification { method, params },
            });
        }
        let id = id.ok_or_else(|| invalid(Id::Null, "a message has a method or an id"))?;
        let result = match map.remove("error").filter(|e| !e.is_null()) {
            Some(error) => Err(Fault::read(&error)),
            None => match map.remove("result") {
                Some(result) => Ok(result),
                None => return Err(invalid(id, "a message has a method, a result or an error")),
            },
        };
        Ok(Message::Response { id, result })
    }

    /// Reads the bytes of one line or body: an object is one message, an array is several.
    ///
    /// # Errors
    /// The answer to give, if it is not JSON. A faulty message stands in the list.
    pub fn read_all(bytes: &[u8]) -> Result<Vec<Parsed>, Fault> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match serde_json::from_slice(bytes) {
            Ok(Value::Array(several)) => Ok(several.into_iter().map(Self::read).collect()),
            Ok(one) => Ok(vec![Self::read(one)]),
            Err(e) => Err(Fault::new(
                code::PARSE,
                format!("this is not JSON: {e}; send one message a line"),
            )),
        }
    }

    /// The message in JSON. Parameters that are `null` are left out.
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("jsonrpc".into(), "2.0".into());
        let (id, method, params) = match self {
            Message::Request { id, method, params } => (Some(id), Some(method), Some(params)),
            Message::Notification { method, params } => (None, Some(method), Some(params)),
            Message::Response { id, .. } => (Some(id), None, None),
        };
        if let Some(id) = id {
            map.insert("id".into(), id.to_value());
        }
        if let Some(method) = method {
            map.insert("method".into(), method.as_str().into());
        }
        if let Some(params) = params.filter(|p| !p.is_null()) {
            map.insert("params".into(), params.clone());
        }
        match self {
            Message::Response { result: Ok(v), .. } => map.insert("result".into(), v.clone()),
            Message::Response { result: Err(e), .. } => map.insert("error".into(), e.to_value()),
            _ => None,
        };
        Value::Object(map)
    }

    /// The message as one line with its end.
    pub fn to_line(&self) -> String {
        format!("{}\n", self.to_value())
    }
}
