//! The scripted model server: all four wires, requests recorded, strictness of a real server.

use super::script::Step;
use super::strict::{self, Api};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Which server it plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Ollama,
    /// An Ollama whose model cannot call tools.
    OllamaWithoutTools,
    /// An Ollama with several models, of which one is elsewhere; see [`several`].
    OllamaWithSeveral,
    LlamaServer,
    Vllm,
    /// LM Studio 0.4: the model is loaded with the window of the server, and again when asked.
    LmStudio,
    /// `/v1/models` and nothing else.
    Plain,
    /// Chat completions and no other way to ask for text.
    ChatOnly,
}

/// One request that asks for text.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
    pub bytes: usize,
    pub at: Instant,
}

struct Shared {
    steps: Vec<Step>,
    /// The answer to a request for a summary, which then takes no step.
    summary: Option<Step>,
    /// The model is not in memory, and takes so long to get there.
    loads_for: Duration,
    /// What its slot says to have generated.
    generated: u64,
    /// The `parameters` text of Ollama's model, and its family.
    parameters: String,
    family: String,
    /// What its only model is called.
    name: String,
    /// The window with which LM Studio has loaded its model.
    loaded: u32,
    at: usize,
    requests: Vec<Recorded>,
    /// Paths of all requests, probes included.
    paths: Vec<String>,
    clients_that_left: usize,
    /// It plays a hosted provider: custom tools, sealed thoughts, no field that is not in its API.
    hosted: Option<Api>,
}

/// A server on a port of its own; it ends with the test program.
#[derive(Clone)]
pub struct Server {
    port: u16,
    kind: Kind,
    window: u32,
    shared: Arc<Mutex<Shared>>,
}

const GENERATING: [&str; 4] = [
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/messages",
    "/api/chat",
];

impl Server {
    pub fn start(kind: Kind, window: u32, steps: Vec<Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Shared {
            steps,
            summary: None,
            loads_for: Duration::ZERO,
            generated: 0,
            parameters: String::new(),
            family: "mock".into(),
            name: "mock".into(),
            loaded: window,
            at: 0,
            requests: Vec::new(),
            paths: Vec::new(),
            clients_that_left: 0,
            hosted: None,
        };
        let server = Server {
            port,
            kind,
            window,
            shared: Arc::new(Mutex::new(shared)),
        };
        let handler = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = handler.clone();
                std::thread::spawn(move || server.serve(stream));
            }
        });
        server
    }

    /// Answers requests for a summary with this text.
    pub fn summarise_with(&self, text: &str) {
        self.summarise_by(super::script::say(text));
    }

    /// Answers them with this step.
    pub fn summarise_by(&self, step: Step) {
        self.shared.lock().expect("not poisoned").summary = Some(step);
    }

    /// From the next request on it answers with this step.
    pub fn then(&self, step: Step) {
        let mut shared = self.shared.lock().expect("not poisoned");
        shared.steps = vec![step];
    }

    /// The model has to be loaded first, which takes so long.
    pub fn loads_for(&self, time: Duration) {
        self.shared.lock().expect("not poisoned").loads_for = time;
    }

    /// From now on it is as strict as a hosted provider.
    pub fn set_hosted(&self) {
        self.set_hosted_as(Api::Usual);
    }

    /// The same with the rules of one provider.
    pub fn set_hosted_as(&self, api: Api) {
        self.shared.lock().expect("not poisoned").hosted = Some(api);
    }

    /// Its model has this name.
    pub fn set_name(&self, name: &str) {
        self.shared.lock().expect("not poisoned").name = name.into();
    }

    /// Ollama's model is of this family.
    pub fn set_family(&self, name: &str) {
        self.shared.lock().expect("not poisoned").family = name.into();
    }

    /// Ollama's model has these parameters.
    pub fn set_parameters(&self, text: &str) {
        self.shared.lock().expect("not poisoned").parameters = text.into();
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.lock().expect("not poisoned").requests.clone()
    }

    pub fn paths(&self) -> Vec<String> {
        self.shared.lock().expect("not poisoned").paths.clone()
    }

    pub fn clients_that_left(&self) -> usize {
        self.shared.lock().expect("not poisoned").clients_that_left
    }

    fn serve(&self, mut stream: TcpStream) -> Option<()> {
        let _ = stream.set_nodelay(true);
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let mut words = line.split_whitespace();
            let (method, path) = (
                words.next()?.to_owned(),
                words.next()?.split('?').next()?.to_owned(),
            );
            let mut headers = Vec::new();
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).ok()?;
                let Some((name, value)) = line.trim_end().split_once(": ") else {
                    break;
                };
                headers.push((name.to_lowercase(), value.to_owned()));
            }
            let length = headers
                .iter()
                .find(|(n, _)| n == "content-length")
                .and_then(|(_, v)| v.parse().ok())
                .unwrap_or(0);
            let mut body = vec![0; length];
            reader.read_exact(&mut body).ok()?;
            self.shared.lock().ok()?.paths.push(path.clone());
            let json: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
            let asks = method == "POST" && GENERATING.contains(&path.as_str());
            if asks && self.kind == Kind::ChatOnly && path != GENERATING[0] {
                let no =
                    r#"{"error":{"message":"File Not Found","type":"not_found_error","code":404}}"#;
                plain(&mut stream, 404, no)?;
                continue;
            }
            if asks && json["model"].is_null() {
                plain(
                    &mut stream,
                    400,
                    r#"{"error":{"message":"model is missing"}}"#,
                )?;
                continue;
            }
            if method == "POST"
                && GENERATING.contains(&path.as_str())
                && json["messages"] != json!([])
            {
                self.generate(&mut stream, path, headers, json, length)?;
                return None;
            }
            let time = self.shared.lock().ok()?.loads_for;
            let loads = path.ends_with("/load") || path == "/api/chat";
            if loads && self.left_while_waiting(&stream, time) {
                return None;
            }
            let name = self.shared.lock().ok()?.name.clone();
            let rename = |value: &Value, from: &str, to: &str| {
                let text = value.to_string();
                text.replace(&format!("{from:?}"), &format!("{to:?}"))
            };
            let asked = serde_json::from_str(&rename(&json, &name, "mock")).ok()?;
            let (status, answer) = self.describe(&path, &asked);
            plain(&mut stream, status, &rename(&answer, "mock", &name))?;
        }
    }

    fn is_cold(&self) -> bool {
        self.shared.lock().is_ok_and(|s| !s.loads_for.is_zero())
    }

    fn describe(&self, path: &str, body: &Value) -> (u16, Value) {
        let model = json!({"id": "mock", "object": "model", "owned_by": "mock"});
        let (kind, tools) = match self.kind {
            Kind::OllamaWithoutTools => (Kind::Ollama, json!(["completion"])),
            Kind::OllamaWithSeveral => match several(path, body) {
                Some(answer) => return (200, answer),
                None => (Kind::Ollama, json!(["completion", "tools"])),
            },
            kind => (kind, json!(["completion", "tools"])),
        };
        match (kind, path) {
            (Kind::Ollama, "/api/version") => (200, json!({"version": "0.33.0"})),
            (Kind::Ollama, "/api/tags") => (
                200,
                json!({"models": [{"name": "mock", "model": "mock", "size": 1, "details": {"family": "mock"}}]}),
            ),
            (Kind::Ollama, "/api/ps") if self.is_cold() => (200, json!({"models": []})),
            (Kind::Ollama, "/api/ps") => (
                200,
                json!({"models": [{"name": "mock", "model": "mock", "context_length": self.window}]}),
            ),
            (Kind::Ollama, "/api/show")
                if !matches!(body["model"].as_str(), Some("mock" | "mock:cloud")) =>
            {
                (
                    404,
                    json!({"error": format!("model '{}' not found", body["model"].as_str().unwrap_or(""))}),
                )
            }
            (Kind::Ollama, "/api/show") => (
                200,
                json!({"capabilities": tools, "details": {"family": self.shared.lock().map_or(String::new(), |s| s.family.clone())},
                    "model_info": {"general.architecture": "mock", "mock.context_length": 131_072}, "parameters": self.shared.lock().map_or(String::new(), |s| s.parameters.clone())}),
            ),
            (Kind::LlamaServer, "/props") => (
                200,
                json!({"build_info": "b1-mock", "total_slots": 1, "default_generation_settings": {"n_ctx": self.window},
                    "chat_template_caps": {"supports_tools": true, "supports_tool_calls": true}}),
            ),
            (Kind::LlamaServer, "/slots") => {
                let generated = self.shared.lock().map_or(0, |s| s.generated);
                (
                    200,
                    json!([{"id": 0, "is_processing": true, "next_token": [{"n_decoded": generated}]}]),
                )
            }
            (Kind::LlamaServer, "/health") => (200, json!({"status": "ok"})),
            (Kind::LlamaServer, "/v1/models") => (
                200,
                json!({"object": "list", "data": [{"id": "mock", "owned_by": "llamacpp", "meta": {"n_ctx": self.window, "n_ctx_train": 131_072}}]}),
            ),
            (Kind::LmStudio, "/api/v1/models") => {
                let loaded = self.shared.lock().map_or(0, |s| s.loaded);
                (
                    200,
                    json!({"models": [{"type": "llm", "key": "mock", "max_context_length": 131_072,
                        "loaded_instances": [{"id": "mock", "config": {"context_length": loaded}}],
                        "capabilities": {"vision": false, "trained_for_tool_use": true}}]}),
                )
            }
            (Kind::LmStudio, "/api/v1/models/unload") => (200, json!({"instance_id": "mock"})),
            (Kind::LmStudio, "/api/v1/models/load") => {
                let tokens = body["context_length"].as_u64().unwrap_or(0);
                if let Ok(mut shared) = self.shared.lock() {
                    shared.loaded = tokens as u32;
                }
                (
                    200,
                    json!({"instance_id": "mock", "load_config": {"context_length": tokens}}),
                )
            }
            (Kind::Vllm, "/version") => (200, json!({"version": "0.31.0"})),
            (Kind::Vllm, "/v1/models") => (
                200,
                json!({"data": [{"id": "mock", "owned_by": "vllm", "max_model_len": self.window}]}),
            ),
            (_, "/v1/models") => (200, json!({"object": "list", "data": [model]})),
            _ => (404, json!({"error": {"message": "not found"}})),
        }
    }

    fn generate(
        &self,
        stream: &mut TcpStream,
        path: String,
        headers: Vec<(String, String)>,
        body: Value,
        bytes: usize,
    ) -> Option<()> {
        let (step, cached) = {
            let mut shared = self.shared.lock().ok()?;
            let cached = match shared.requests.last() {
                Some(last) if self.kind == Kind::LlamaServer => cached(last, &path, &body),
                _ => 0,
            };
            shared.requests.push(Recorded {
                path: path.clone(),
                headers,
                body: body.clone(),
                bytes,
                at: Instant::now(),
            });
            if let Some(step) = shared.summary.clone()
                && strict::asks_for_summary(&path, &body)
            {
                (step, cached)
            } else {
                let at = shared.at.min(shared.steps.len().saturating_sub(1));
                shared.at += 1;
                (shared.steps.get(at).cloned()?, cached)
            }
        };
        let hosted = self.shared.lock().ok()?.hosted;
        let checked = strict::check(&path, &body).and_then(|()| match hosted {
            Some(api) => strict::check_hosted(&path, &body, api),
            None => Ok(()),
        });
        if let Err(why) = checked {
            return plain(stream, 400, &json!({"error": {"message": format!("refused by the strict server: {why}"), "type": "invalid_request_error"}}).to_string());
        }
        if let Ok(mut shared) = self.shared.lock() {
            shared.generated = step.held_back;
        }
        if !step.delay.is_zero() && self.left_while_waiting(stream, step.delay) {
            return None;
        }
        if let Some((status, body)) = &step.status {
            return plain(stream, *status, body);
        }
        let tools = strict::tools(&body);
        let (mut text, calls) = step.resolve(&tools);
        if let Some(answer) = step.answer {
            text.push_str(&answer(&body));
        }
        let usage = step
            .usage
            .unwrap_or((bytes as u64 / 4, cached.min(bytes as u64 / 4), 10));
        let chunks = match &step.raw {
            Some(raw) => raw.clone(),
            None => match path.as_str() {
                "/v1/responses" if hosted.is_some() => {
                    let custom = strict::custom_tools(&body);
                    let plain = responses(&step, &text, &calls, usage);
                    sealed(plain, &custom)
                }
                "/v1/responses" => responses(&step, &text, &calls, usage),
                "/v1/messages" => messages(&step, &text, &calls, usage),
                "/api/chat" => ollama(&step, &text, &calls, usage),
                _ => chat(&step, &text, &calls, usage),
            },
        };
        let chunks = match step.bend {
            Some(bend) => bend(&path, chunks),
            None => chunks,
        };
        let kind = if path == "/api/chat" {
            "application/x-ndjson"
        } else {
            "text/event-stream"
        };
        let more = match step.header {
            "" => String::new(),
            line => format!("{line}\r\n"),
        };
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n{more}transfer-encoding: chunked\r\n\r\n"
        )
        .ok()?;
        let send = if step.cut {
            chunks.len().saturating_sub(1)
        } else {
            chunks.len()
        };
        for chunk in &chunks[..send] {
            std::thread::sleep(step.pace);
            if write!(stream, "{:x}\r\n{chunk}\r\n", chunk.len())
                .and_then(|()| stream.flush())
                .is_err()
            {
                self.shared.lock().ok()?.clients_that_left += 1;
                return None;
            }
        }
        if !step.cut {
            let _ = stream.write_all(b"0\r\n\r\n");
        }
        let _ = stream.shutdown(std::net::Shutdown::Both);
        None
    }

    /// Waits, and notices at once when the client goes away.
    fn left_while_waiting(&self, stream: &TcpStream, time: Duration) -> bool {
        let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
        let end = Instant::now() + time;
        while Instant::now() < end {
            if matches!(stream.peek(&mut [0]), Ok(0)) {
                self.shared.lock().expect("not poisoned").clients_that_left += 1;
                return true;
            }
        }
        false
    }
}

/// What an Ollama says that has a loaded model of its own `num_ctx`, one that is too large for any
/// machine, one without tools, one elsewhere, and one for embeddings.
fn several(path: &str, body: &Value) -> Option<Value> {
    let facts = |layers: u64| {
        json!({"general.architecture": "x", "x.context_length": 262_144, "x.block_count": layers,
            "x.attention.head_count": 32, "x.attention.head_count_kv": 4, "x.embedding_length": 4096,
            "x.attention.key_length": 128, "x.attention.value_length": 128})
    };
    let shown = |tools: bool, layers: u64, parameters: &str| {
        let list = if tools {
            json!(["completion", "tools"])
        } else {
            json!(["completion"])
        };
        json!({"capabilities": list, "details": {"family": "x", "parameter_size": "7.6B", "quantization_level": "Q4_K_M"},
            "model_info": facts(layers), "parameters": parameters})
    };
    match path {
        "/api/tags" => Some(json!({"models": [
            {"name": "huge:1t", "size": 9_000_000_000_000_000u64, "details": {"quantization_level": "Q8_0"}},
            {"name": "far:480b-cloud", "size": 384, "remote_host": "https://ollama.com:443", "capabilities": ["completion", "tools"]},
            {"name": "plain:1b", "size": 1_000_000u64, "details": {"quantization_level": "Q4_0"}},
            {"name": "coder:7b", "size": 4_700_000_000u64, "details": {"quantization_level": "Q4_K_M"}},
            {"name": "embed:1b", "size": 1_000u64, "capabilities": ["embedding"], "details": {"context_length": 2048}},
        ]})),
        "/api/ps" => Some(json!({"models": [
            {"name": "coder:7b", "model": "coder:7b", "context_length": 32_768, "size": 100, "size_vram": 60},
        ]})),
        "/api/show" => match body["model"].as_str()? {
            "coder:7b" => Some(shown(true, 28, "num_ctx 32768\nstop \"<end>\"")),
            "huge:1t" => Some(shown(true, 100, "")),
            "plain:1b" => Some(shown(false, 16, "")),
            _ => None,
        },
        _ => None,
    }
}

/// Tokens of a prompt that begin the last one, too: what a server with one slot has in its cache.
fn cached(last: &Recorded, path: &str, body: &Value) -> u64 {
    let (old, new) = (
        strict::parts(&last.path, &last.body),
        strict::parts(path, body),
    );
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b);
    same.map(|(part, _)| part.len() as u64).sum::<u64>() / 4
}

fn plain(stream: &mut TcpStream, status: u16, body: &str) -> Option<()> {
    write!(stream, "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len()).ok()
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn event(value: &Value) -> String {
    format!(
        "event: {}\ndata: {value}\n\n",
        value["type"].as_str().unwrap_or_default()
    )
}

/// Pieces of a text, a few characters each, so that every reader meets cuts.
fn pieces(text: &str) -> Vec<String> {
    text.chars()
        .collect::<Vec<_>>()
        .chunks(7)
        .map(|c| c.iter().collect())
        .collect()
}

fn chat(
    step: &Step,
    text: &str,
    calls: &[(String, Value)],
    (prompt, cached, output): (u64, u64, u64),
) -> Vec<String> {
    let chunk = |delta: Value, finish: Value| {
        data(
            &json!({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}),
        )
    };
    let mut out = vec![chunk(
        json!({"role": "assistant", "content": null}),
        Value::Null,
    )];
    out.extend(
        pieces(&step.reasoning)
            .iter()
            .map(|p| chunk(json!({"reasoning_content": p}), Value::Null)),
    );
    out.extend(
        pieces(text)
            .iter()
            .map(|p| chunk(json!({"content": p}), Value::Null)),
    );
    for (index, (name, arguments)) in calls.iter().enumerate() {
        let id = format!("call_{}", uuid_like(index));
        out.push(chunk(json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}]}), Value::Null));
        let arguments = argument_text(arguments);
        out.extend(pieces(&arguments).iter().map(|p| {
            chunk(
                json!({"tool_calls": [{"index": index, "function": {"arguments": p}}]}),
                Value::Null,
            )
        }));
    }
    out.push(chunk(
        json!({}),
        json!(match (step.full, calls.is_empty()) {
            (true, _) => "length",
            (_, true) => "stop",
            (_, false) => "tool_calls",
        }),
    ));
    out.push(data(&json!({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output, "prompt_tokens_details": {"cached_tokens": cached}}})));
    out.push("data: [DONE]\n\n".into());
    if step.cut {
        // A cut stream breaks off before its finish marker, not only before [DONE].
        out.truncate(out.len() - 2);
    }
    out
}

fn responses(
    step: &Step,
    text: &str,
    calls: &[(String, Value)],
    (prompt, cached, output): (u64, u64, u64),
) -> Vec<String> {
    let mut out = vec![event(
        &json!({"type": "response.created", "response": {"id": "r", "status": "in_progress"}}),
    )];
    let mut items = Vec::new();
    if !step.reasoning.is_empty() {
        items.push(json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": step.reasoning}]}));
    }
    if !text.is_empty() {
        items.push(json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}));
    }
    for (n, (name, arguments)) in calls.iter().enumerate() {
        items.push(json!({"type": "function_call", "id": format!("fc_{n}"), "call_id": format!("call_{}", uuid_like(n)), "name": name, "arguments": argument_text(arguments), "status": "completed"}));
    }
    for (index, item) in items.iter().enumerate() {
        let mut begun = item.clone();
        for (part, empty) in [
            ("arguments", json!("")),
            ("content", json!([])),
            ("summary", json!([])),
        ] {
            if begun.get(part).is_some() {
                begun[part] = empty;
            }
        }
        out.push(event(
            &json!({"type": "response.output_item.added", "output_index": index, "item": begun}),
        ));
        if item["type"] == "message" {
            out.extend(pieces(text).iter().map(|p| event(&json!({"type": "response.output_text.delta", "output_index": index, "item_id": item["id"], "content_index": 0, "delta": p}))));
        }
        out.push(event(
            &json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        ));
    }
    let (status, why) = match step.full {
        true => ("incomplete", json!({"reason": "max_output_tokens"})),
        false => ("completed", Value::Null),
    };
    out.push(event(&json!({"type": format!("response.{status}"), "response": {"id": "r", "status": status, "incomplete_details": why, "output": items,
        "usage": {"input_tokens": prompt, "input_tokens_details": {"cached_tokens": cached}, "output_tokens": output, "output_tokens_details": {"reasoning_tokens": 0}}}})));
    out
}

/// The events of a reply as a hosted provider sends them: thoughts are sealed, and a custom tool is
/// called with its bare input.
fn sealed(events: Vec<String>, custom: &[String]) -> Vec<String> {
    fn change(value: &mut Value, custom: &[String]) {
        match value {
            Value::Array(list) => list.iter_mut().for_each(|v| change(v, custom)),
            Value::Object(_) => {
                let name = value["name"].as_str().unwrap_or_default().to_owned();
                if value["type"] == "reasoning" && value.get("summary").is_some() {
                    value["encrypted_content"] = json!("sealed");
                }
                if value["type"] == "function_call" && custom.contains(&name) {
                    let text = value["arguments"].as_str().unwrap_or_default();
                    let arguments: Value = serde_json::from_str(text).unwrap_or_default();
                    let input = arguments
                        .as_object()
                        .and_then(|a| a.values().next()?.as_str());
                    let input = input.unwrap_or(text).to_owned();
                    *value = json!({"type": "custom_tool_call", "id": "ctc_1", "call_id": value["call_id"], "name": name, "input": input});
                    return;
                }
                if let Some(fields) = value.as_object_mut() {
                    fields.values_mut().for_each(|v| change(v, custom));
                }
            }
            _ => {}
        }
    }
    let one = |text: String| {
        let (head, data) = text.split_once("data: ").expect("an event");
        let mut value: Value = serde_json::from_str(data.trim()).expect("JSON");
        change(&mut value, custom);
        format!("{head}data: {value}\n\n")
    };
    events.into_iter().map(one).collect()
}

fn messages(
    step: &Step,
    text: &str,
    calls: &[(String, Value)],
    (prompt, cached, output): (u64, u64, u64),
) -> Vec<String> {
    let usage = json!({"input_tokens": prompt - cached, "cache_read_input_tokens": cached, "output_tokens": 1});
    let mut out = vec![event(
        &json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": usage}}),
    )];
    let mut index = 0;
    let mut block =
        |start: Value, deltas: Vec<Value>, out: &mut Vec<String>| {
            out.push(event(
                &json!({"type": "content_block_start", "index": index, "content_block": start}),
            ));
            out.extend(deltas.iter().map(|d| {
                event(&json!({"type": "content_block_delta", "index": index, "delta": d}))
            }));
            out.push(event(
                &json!({"type": "content_block_stop", "index": index}),
            ));
            index += 1;
        };
    if !step.reasoning.is_empty() {
        let deltas = vec![
            json!({"type": "thinking_delta", "thinking": step.reasoning}),
            json!({"type": "signature_delta", "signature": "sig"}),
        ];
        block(
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            deltas,
            &mut out,
        );
    }
    if !text.is_empty() {
        let deltas = pieces(text)
            .iter()
            .map(|p| json!({"type": "text_delta", "text": p}))
            .collect();
        block(json!({"type": "text", "text": ""}), deltas, &mut out);
    }
    for (n, (name, arguments)) in calls.iter().enumerate() {
        let deltas = pieces(&argument_text(arguments))
            .iter()
            .map(|p| json!({"type": "input_json_delta", "partial_json": p}))
            .collect();
        block(
            json!({"type": "tool_use", "id": format!("toolu_{}", uuid_like(n)), "name": name, "input": {}}),
            deltas,
            &mut out,
        );
    }
    let stop = match (step.full, calls.is_empty()) {
        (true, _) => "max_tokens",
        (_, true) => "end_turn",
        (_, false) => "tool_use",
    };
    out.push(event(&json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": output}})));
    out.push(event(&json!({"type": "message_stop"})));
    if step.cut {
        out.truncate(out.len() - 1);
    }
    out
}

fn ollama(
    step: &Step,
    text: &str,
    calls: &[(String, Value)],
    (prompt, _, output): (u64, u64, u64),
) -> Vec<String> {
    let row = |message: Value| {
        format!(
            "{}\n",
            json!({"model": "mock", "message": message, "done": false})
        )
    };
    let mut out: Vec<String> = pieces(&step.reasoning)
        .iter()
        .map(|p| row(json!({"role": "assistant", "content": "", "thinking": p})))
        .collect();
    out.extend(
        pieces(text)
            .iter()
            .map(|p| row(json!({"role": "assistant", "content": p}))),
    );
    for (name, arguments) in calls {
        out.push(row(json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": name, "arguments": arguments}}]})));
    }
    out.push(format!(
        "{}\n",
        json!({"model": "mock", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": if step.full { "length" } else { "stop" },
            "prompt_eval_count": prompt, "eval_count": output, "prompt_eval_duration": 1_000_000, "eval_duration": 1_000_000})
    ));
    out
}

/// Arguments are an object, or a text that is sent as it is.
fn argument_text(arguments: &Value) -> String {
    arguments
        .as_str()
        .map_or_else(|| arguments.to_string(), str::to_owned)
}

/// An id that is new in every reply.
fn uuid_like(n: usize) -> String {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("{:06x}{n}", NEXT.fetch_add(1, Ordering::Relaxed))
}
