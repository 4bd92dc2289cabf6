//! A fake server for the tests of this folder, and the readers against literal answers.

use super::*;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::time::Duration;

/// Answers paths from a table; everything else is a 404. `POST` bodies are told apart by model.
pub(super) struct Fake {
    answers: Vec<(String, Result<Value, ModelError>)>,
    down: bool,
    asked: Mutex<Vec<String>>,
}

pub(super) fn status(status: u16, message: &str) -> ModelError {
    ModelError::Status {
        url: "http://fake".into(),
        status,
        message: message.into(),
        retry_after: None,
    }
}

impl Fake {
    pub fn new(answers: &[(&str, Value)]) -> Self {
        let answers = answers.iter().map(|(p, v)| (p.to_string(), Ok(v.clone())));
        Fake {
            answers: answers.collect(),
            down: false,
            asked: Mutex::default(),
        }
    }

    pub fn failing(mut self, path: &str, error: ModelError) -> Self {
        self.answers.push((path.into(), Err(error)));
        self
    }

    pub fn down(mut self) -> Self {
        self.down = true;
        self
    }

    pub fn asked(&self) -> Vec<String> {
        let mut asked = self.asked.lock().unwrap().clone();
        asked.sort();
        asked
    }

    fn answer(&self, path: String) -> Result<Value, ModelError> {
        self.asked.lock().unwrap().push(path.clone());
        if self.down {
            return Err(ModelError::Unreachable {
                url: "http://fake".into(),
                why: "refused".into(),
            });
        }
        let found = self.answers.iter().find(|(p, _)| *p == path);
        found.map_or_else(|| Err(status(404, "not found")), |(_, a)| a.clone())
    }
}

impl Ask for Fake {
    fn get(&self, path: &str, _: Duration) -> Result<Value, ModelError> {
        self.answer(path.into())
    }

    fn post(&self, path: &str, body: &Value, _: Duration) -> Result<Value, ModelError> {
        let model = body.get("model").or(body.get("instance_id"));
        let model = model.and_then(Value::as_str).unwrap_or_default();
        self.answer(format!("{path} {model}"))
    }
}

pub(super) fn provider(base_url: &str, wire: WireApi, local: Option<LocalServer>) -> Provider {
    Provider {
        id: "test".into(),
        name: "Test".into(),
        base_url: base_url.into(),
        wire,
        local,
        request_retries: 4,
        stream_retries: 5,
        ..Provider::default()
    }
}

fn at(local: Option<LocalServer>) -> Provider {
    provider("http://127.0.0.1:1/v1", WireApi::Chat, local)
}

fn described(
    fake: &Fake,
    local: Option<LocalServer>,
    model: &str,
) -> Result<ModelInfo, ModelError> {
    look_up(fake, &at(local), model, &Cancel::new())
}

fn show() -> Value {
    json!({
        "details": {"family": "qwen3moe", "parameter_size": "30.5B", "quantization_level": "Q4_K_M"},
        "capabilities": ["completion", "tools"],
        "parameters": "temperature                    0.7\nnum_ctx                        32768\nstop                           \"<|im_end|>\"",
        "model_info": {"general.architecture": "qwen3moe", "general.parameter_count": 30_532_122_624u64,
            "qwen3moe.context_length": 262144, "qwen3moe.block_count": 48, "qwen3moe.attention.head_count": 32,
            "qwen3moe.attention.head_count_kv": 4, "qwen3moe.attention.key_length": 128, "qwen3moe.attention.value_length": 128},
    })
}

#[test]
fn ollama_describes_a_model_with_two_requests() {
    let ps = json!({"models": [{"name": "qwen3-coder:latest", "model": "qwen3-coder:latest", "size": 20, "size_vram": 20, "context_length": 4096}]});
    let fake = Fake::new(&[("/api/show qwen3-coder", show()), ("/api/ps", ps)]);
    let info = described(&fake, Some(LocalServer::Ollama), "qwen3-coder").unwrap();
    assert_eq!(fake.asked(), ["/api/ps", "/api/show qwen3-coder"]);
    assert_eq!(
        (info.trained_window, info.configured_window),
        (Some(262_144), Some(32_768))
    );
    assert_eq!((info.loaded, info.loaded_window), (true, Some(4096)));
    assert_eq!(
        (info.tools, info.thinking, info.vision),
        (Some(true), Some(false), Some(false))
    );
    assert_eq!(info.family.as_deref(), Some("qwen3moe"));
    assert_eq!(info.kv_bytes_per_token, Some(96 * 1024));
    let gigabytes = info.bytes.unwrap() as f64 / 1e9;
    assert!((18.0..19.5).contains(&gigabytes), "{gigabytes}");
    assert!(info.generates && !info.cloud);
}

#[test]
fn ollama_lists_and_asks_for_what_is_not_said() {
    // The size of the cache is in no list, so every model of its own that writes text is asked for.
    let tags = json!({"models": [
        {"name": "full:7b", "size": 4_700_000_000u64, "capabilities": ["completion", "tools"],
         "details": {"family": "qwen2", "parameter_size": "7.6B", "quantization_level": "Q4_K_M", "context_length": 32768}},
        {"name": "qwen3-coder:30b", "size": 18_556_700_761u64, "details": {"family": "qwen3moe"}},
        {"name": "gpt-oss:120b-cloud", "size": 384, "remote_host": "https://ollama.com:443"},
        {"name": "nomic-embed-text:latest", "size": 274, "capabilities": ["embedding"], "details": {"context_length": 2048}},
    ]});
    let fake = Fake::new(&[
        ("/api/tags", tags),
        ("/api/ps", json!({"models": []})),
        ("/api/show qwen3-coder:30b", show()),
    ]);
    let models = list(&fake, &at(Some(LocalServer::Ollama)), &Cancel::new()).unwrap();
    assert_eq!(
        fake.asked(),
        [
            "/api/ps",
            "/api/show full:7b",
            "/api/show qwen3-coder:30b",
            "/api/tags"
        ]
    );
    let ids: Vec<&str> = models.iter().map(|m| m.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "full:7b",
            "qwen3-coder:30b",
            "gpt-oss:120b-cloud",
            "nomic-embed-text:latest"
        ]
    );
    assert_eq!(models[0].trained_window, Some(32_768));
    assert_eq!(
        (models[1].tools, models[1].bytes),
        (Some(true), Some(18_556_700_761))
    );
    assert!(models[2].cloud && !models[3].generates);
}

#[test]
fn a_model_that_ollama_lacks_comes_with_the_command() {
    let tags = json!({"models": [{"name": "llama3.2:3b", "capabilities": ["completion"], "details": {"context_length": 1}}]});
    let fake = Fake::new(&[("/api/tags", tags), ("/api/ps", json!({}))]);
    let text = described(&fake, Some(LocalServer::Ollama), "llama3.1")
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("`ollama pull llama3.1`") && text.contains("llama3.2:3b"),
        "{text}"
    );
}

#[test]
fn lm_studio_by_its_newer_and_its_older_list() {
    let v1 = json!({"models": [
        {"type": "llm", "key": "qwen/qwen3-coder-30b", "architecture": "qwen3moe", "quantization": {"name": "Q4_K_M", "bits_per_weight": 4},
         "size_bytes": 18_000, "params_string": "30B", "max_context_length": 262144,
         "loaded_instances": [{"id": "qwen/qwen3-coder-30b", "config": {"context_length": 8192, "parallel": 4}}],
         "capabilities": {"vision": false, "trained_for_tool_use": true}},
        {"type": "embedding", "key": "nomic", "loaded_instances": [], "max_context_length": 2048},
    ]});
    let fake = Fake::new(&[("/api/v1/models", v1)]);
    let info = described(&fake, Some(LocalServer::LmStudio), "qwen/qwen3-coder-30b").unwrap();
    assert_eq!(
        (info.loaded_window, info.trained_window),
        (Some(8192), Some(262_144))
    );
    assert_eq!(
        (info.loaded, info.tools, info.thinking),
        (true, Some(true), Some(false))
    );

    let v0 = json!({"object": "list", "data": [
        {"id": "m", "type": "vlm", "arch": "qwen2_vl", "state": "loaded", "max_context_length": 32768, "loaded_context_length": 4096, "capabilities": ["tool_use"]},
        {"id": "e", "type": "embeddings", "state": "not-loaded", "max_context_length": 2048},
    ]});
    // The newer path may answer 200 with an error inside.
    let fake = Fake::new(&[("/api/v0/models", v0)]).failing(
        "/api/v1/models",
        status(200, "Unexpected endpoint or method."),
    );
    let models = list(&fake, &at(Some(LocalServer::LmStudio)), &Cancel::new()).unwrap();
    assert_eq!(
        (models[0].loaded_window, models[0].tools, models[0].vision),
        (Some(4096), Some(true), Some(true))
    );
    assert!(!models[1].generates && !models[1].loaded);
}

#[test]
fn lm_studio_loads_in_place_of_what_is_loaded() {
    let list = json!({"models": [{"key": "m", "loaded_instances": [{"id": "m:1"}]}]});
    let fake = Fake::new(&[
        ("/api/v1/models", list),
        ("/api/v1/models/unload m:1", json!({"instance_id": "m:1"})),
        (
            "/api/v1/models/load m",
            json!({"instance_id": "m", "load_config": {"context_length": 16384}}),
        ),
    ]);
    assert_eq!(lmstudio::load(&fake, "m", 32_768), Ok(16_384));
    assert_eq!(
        fake.asked(),
        [
            "/api/v1/models",
            "/api/v1/models/load m",
            "/api/v1/models/unload m:1"
        ]
    );
}

#[test]
fn llama_server_tells_its_slot() {
    let props = json!({"default_generation_settings": {"n_ctx": 2048}, "total_slots": 2, "build_info": "b6000",
        "chat_template_caps": {"supports_tools": true, "supports_tool_calls": true}, "modalities": {"vision": false}});
    let list = json!({"data": [{"id": "/home/ann/models/qwen2.5-coder-q4_k_m.gguf", "owned_by": "llamacpp", "meta": {"n_ctx": 2048, "n_ctx_train": 32768, "ftype": "Q4_K_M", "size": 986_000_000}}]});
    let fake = Fake::new(&[("/props", props), ("/v1/models", list)]);
    let info = described(&fake, Some(LocalServer::LlamaServer), "whatever").unwrap();
    assert_eq!(
        (info.id.as_str(), info.loaded),
        ("qwen2.5-coder-q4_k_m", true)
    );
    assert_eq!(
        (info.loaded_window, info.trained_window),
        (Some(2048), Some(32_768))
    );
    assert_eq!((info.tools, info.vision), (Some(true), Some(false)));
    assert_eq!(fake.asked(), ["/props", "/v1/models"]);
}

#[test]
fn llama_server_tells_how_much_it_has_generated() {
    let slot = |processing: bool, next: serde_json::Value| json!({"is_processing": processing, "next_token": next});
    let of = |slots| llama_server::generated(&Fake::new(&[("/slots", slots)]));
    // As a build of 2026 answers, and as one of 2024.
    let now = slot(true, json!([{"has_next_token": true, "n_decoded": 512}]));
    let older = slot(true, json!({"n_decoded": 96}));
    let idle = slot(false, json!([{"n_decoded": 7}]));
    assert_eq!(of(json!([now, idle])), Some(512));
    assert_eq!(
        of(json!([now, older])),
        Some(96),
        "which of them is ours is unknown"
    );
    assert_eq!(of(json!([idle])), None);
    assert_eq!(of(json!({"error": {"code": 501}})), None);
}

#[test]
fn a_router_of_llama_server_has_several_models() {
    let list_answer = json!({"data": [
        {"id": "a b", "status": {"value": "unloaded"}},
        {"id": "c", "status": {"value": "loaded"}},
    ]});
    let props = json!({"default_generation_settings": {"n_ctx": 0}});
    let fake = Fake::new(&[
        ("/props", props),
        ("/v1/models", list_answer),
        (
            "/props?model=a%20b",
            json!({"default_generation_settings": {"n_ctx": 16384}}),
        ),
    ]);
    let server = Some(LocalServer::LlamaServer);
    let models = list(&fake, &at(server), &Cancel::new()).unwrap();
    assert_eq!((models[0].loaded, models[1].loaded), (false, true));
    assert_eq!(
        described(&fake, server, "a b").unwrap().loaded_window,
        Some(16_384)
    );
    assert!(
        described(&fake, server, "d")
            .unwrap_err()
            .to_string()
            .contains("a b")
    );
}

#[test]
fn an_interrupt_ends_the_wait_for_a_loading_server() {
    let fake = Fake::new(&[]).failing("/props", status(503, "Loading model"));
    let cancel = Cancel::new();
    cancel.cancel();
    let got = look_up(&fake, &at(Some(LocalServer::LlamaServer)), "m", &cancel);
    assert_eq!(got, Err(ModelError::Interrupted));
}

#[test]
fn plain_lists_and_no_list_at_all() {
    let vllm =
        json!({"data": [{"id": "Qwen/Qwen3-8B", "owned_by": "vllm", "max_model_len": 40960}]});
    let fake = Fake::new(&[("/v1/models", vllm)]);
    let info = described(&fake, Some(LocalServer::Vllm), "Qwen/Qwen3-8B").unwrap();
    assert_eq!((info.loaded, info.loaded_window), (true, Some(40_960)));
    let text = described(&fake, Some(LocalServer::Vllm), "other")
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("vllm serve other") && text.contains("Qwen/Qwen3-8B"),
        "{text}"
    );
    // An unknown local server may not list what it takes, or not list anything.
    assert_eq!(described(&fake, None, "other").unwrap().loaded_window, None);
    assert_eq!(described(&Fake::new(&[]), None, "m").unwrap().id, "m");
    assert!(described(&Fake::new(&[]).down(), None, "m").is_err());
    // A hosted provider is asked nothing.
    let fake = Fake::new(&[]);
    let hosted = provider("https://api.example.com/v1", WireApi::Chat, None);
    assert!(look_up(&fake, &hosted, "m", &Cancel::new()).is_ok());
    assert!(fake.asked().is_empty());
}
