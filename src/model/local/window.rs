//! The window of a session: what the server will really use, or what we make it use.

use super::{Memory, ModelInfo, Window};
use crate::model::WireApi;
use crate::model::provider::{LocalServer, Provider, is_loopback};

/// What is asked for, and what is asked for where there is memory enough.
const USUAL: u32 = 32_768;
const LARGE: u32 = 65_536;
/// What Ollama uses on most machines unless told otherwise; LM Studio's default is no smaller.
const UNTOLD: u32 = 4_096;
/// What is assumed where nothing is known.
const UNKNOWN: u32 = 8_192;
/// The same of a hosted provider: none of today has less.
const UNKNOWN_HOSTED: u32 = 32_768;

/// The window in force. In this order: the config; the model's own `num_ctx`; the loaded window if
/// it holds `need` tokens; on Ollama's own wire a larger one, asked for; what the server reports.
///
/// `info` is what the server said about the model, `need` what the session cannot do without in
/// tokens (prompt and reply), and `memory` that of this machine, which counts only when the server
/// runs here. A window that a server reports and that we cannot change is never exceeded, whatever
/// the config says: the server would cut the prompt without a word.
pub fn window(
    provider: &Provider,
    info: Option<&ModelInfo>,
    configured: Option<u32>,
    need: u32,
    memory: Option<Memory>,
) -> Window {
    let unknown = ModelInfo::default();
    let info = info.unwrap_or(&unknown);
    let configured = configured.filter(|n| *n > 0);
    if provider.wire == WireApi::Ollama {
        settable(provider, info, configured, need, memory)
    } else {
        fixed(provider, info, configured, need)
    }
}

/// Ollama's own wire: whatever we decide goes out with every request.
fn settable(
    provider: &Provider,
    info: &ModelInfo,
    configured: Option<u32>,
    need: u32,
    memory: Option<Memory>,
) -> Window {
    let memory = memory.filter(|_| is_loopback(&provider.base_url));
    let (wish, source) = if let Some(n) = configured {
        (n, "model_context_window in the config")
    } else if let Some(n) = info.configured_window {
        (n, "num_ctx of the model itself")
    } else if let Some(n) = info.loaded_window.filter(|n| *n >= need) {
        (n, "the window that is loaded")
    } else {
        (affordable(info, need, memory), "asked of Ollama")
    };
    // Ollama caps a larger value to the training length by itself, without saying so.
    let tokens = info.trained_window.map_or(wish, |most| wish.min(most));
    let mut notices = Vec::new();
    if configured.is_some() && tokens < wish {
        notices.push(format!(
            "model_context_window is {wish}, but the model was trained for {tokens}, which is used"
        ));
    }
    match info.loaded_window {
        Some(loaded) if loaded != tokens => notices.push(format!(
            "the model is loaded with a window of {loaded}; Ollama loads it again with {tokens}, once"
        )),
        _ => {}
    }
    if tokens < need {
        let cure = if info.trained_window == Some(tokens) {
            "choose a model with a longer one"
        } else {
            "raise model_context_window"
        };
        notices.push(too_small(tokens, need, cure));
    }
    Window {
        tokens,
        source: source.into(),
        request: Some(tokens),
        notice: join(notices),
    }
}

/// The window with which LM Studio should load the model, where the one that is loaded, or its
/// default for one that is not, holds less than the session needs or the user configured. `None`:
/// it may stay as it is, or a larger one is beyond the model.
pub fn to_load(
    provider: &Provider,
    info: &ModelInfo,
    configured: Option<u32>,
    need: u32,
    memory: Option<Memory>,
) -> Option<u32> {
    if provider.local != Some(LocalServer::LmStudio) {
        return None;
    }
    let configured = configured.filter(|n| *n > 0);
    let now = info.loaded_window.unwrap_or(UNTOLD);
    if now >= configured.unwrap_or(need) {
        return None;
    }
    let memory = memory.filter(|_| is_loopback(&provider.base_url));
    let wish = configured.unwrap_or_else(|| affordable(info, need, memory));
    let wish = info.trained_window.map_or(wish, |most| wish.min(most));
    (wish > now).then_some(wish)
}

/// The usual window, or the large one where its cache takes at most half of the memory that is
/// left beside the weights; more if the session needs it. A multiple of 1024.
fn affordable(info: &ModelInfo, need: u32, memory: Option<Memory>) -> u32 {
    let weights = if info.loaded {
        0
    } else {
        info.bytes.unwrap_or(0)
    };
    let fits = memory
        .zip(info.kv_bytes_per_token)
        .is_some_and(|(memory, per_token)| {
            let room = memory.free.saturating_sub(weights) / 2;
            per_token.saturating_mul(u64::from(LARGE)) <= room
        });
    let wish = if fits { LARGE } else { USUAL };
    wish.max(need.min(u32::MAX - 1023).next_multiple_of(1024))
}

/// All other wires: the server was started, or has loaded the model, with some window.
fn fixed(provider: &Provider, info: &ModelInfo, configured: Option<u32>, need: u32) -> Window {
    let (real, source) = match (provider.local, info.loaded_window) {
        // The next request through this API loads the model by its own parameters again.
        (Some(LocalServer::Ollama), loaded) => match (info.configured_window, loaded) {
            (Some(own), loaded) => (
                Some(loaded.map_or(own, |l| l.min(own))),
                "num_ctx of the model itself".to_string(),
            ),
            (None, Some(loaded)) => (Some(loaded), "the window that is loaded".to_string()),
            (None, None) => (Some(UNTOLD), "Ollama's own default".to_string()),
        },
        (server, Some(loaded)) => {
            let name = server.map_or("the server", LocalServer::name);
            (Some(loaded), format!("reported by {name}"))
        }
        (Some(LocalServer::LmStudio), None) => {
            (Some(UNTOLD), "LM Studio's own default".to_string())
        }
        // A hosted model is served with the window that it was made for.
        (None, None) if !provider.is_local() && info.trained_window.is_some() => {
            let source = match &info.listed {
                Some(_) => "the table of hosted models",
                None => "hosted models of that name",
            };
            (info.trained_window, source.to_string())
        }
        (_, None) => (None, String::new()),
    };
    let unknown = match provider.is_local() {
        true => UNKNOWN,
        false => UNKNOWN_HOSTED,
    };
    // A default that nobody reported is only a guess, and the user's word counts for more.
    let reported = info.loaded_window.or(info.configured_window).and(real);
    let mut notices = Vec::new();
    let (tokens, source) = match (configured, reported, real) {
        (Some(wish), Some(real), _) if real < wish => {
            notices.push(format!(
                "model_context_window is {wish}, but the server's window is {real}, which is used; {}",
                cure(provider, wish)
            ));
            (real, source)
        }
        (Some(wish), ..) => (wish, "model_context_window in the config".to_string()),
        (None, _, Some(real)) => (real, source),
        (None, _, None) => {
            notices.push(format!(
                "the server does not tell its window; {unknown} tokens are assumed: set model_context_window to the real number"
            ));
            (unknown, "assumed".to_string())
        }
    };
    if tokens < need && notices.is_empty() {
        let wish = need.max(USUAL).min(info.trained_window.unwrap_or(u32::MAX));
        notices.push(too_small(tokens, need, &cure(provider, wish)));
    }
    Window {
        tokens,
        source,
        request: None,
        notice: join(notices),
    }
}

fn too_small(tokens: u32, need: u32, cure: &str) -> String {
    format!("a window of {tokens} tokens is too small for this session, which needs {need}; {cure}")
}

/// How a server that cannot be asked in a request gets a window of `wish` tokens.
fn cure(provider: &Provider, wish: u32) -> String {
    match provider.local {
        Some(LocalServer::Ollama) => format!(
            "Ollama's OpenAI-style API cannot set it: leave out --chat-completions (wire_api = \"ollama\"), or start Ollama with OLLAMA_CONTEXT_LENGTH={wish}"
        ),
        Some(LocalServer::LmStudio) => {
            format!("load the model with `lms load MODEL --context-length {wish}`")
        }
        Some(LocalServer::LlamaServer) => {
            format!("start llama-server with -c {wish} (and -np 1, since slots share it)")
        }
        Some(LocalServer::Vllm) => format!("start vLLM with --max-model-len {wish}"),
        None => {
            "start the server with a larger one, or set model_context_window if it has one".into()
        }
    }
}

fn join(notices: Vec<String>) -> Option<String> {
    (!notices.is_empty()).then(|| notices.join(". "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::local::tests::provider;

    const GIB: u64 = 1 << 30;

    fn ollama() -> Provider {
        provider(
            "http://127.0.0.1:11434",
            WireApi::Ollama,
            Some(LocalServer::Ollama),
        )
    }

    fn chat(server: Option<LocalServer>) -> Provider {
        provider("http://127.0.0.1:8080/v1", WireApi::Chat, server)
    }

    fn qwen30(loaded_window: Option<u32>) -> ModelInfo {
        ModelInfo {
            id: "qwen3-coder:30b".into(),
            trained_window: Some(262_144),
            loaded_window,
            loaded: loaded_window.is_some(),
            kv_bytes_per_token: Some(96 * 1024),
            bytes: Some(18 * GIB),
            ..Default::default()
        }
    }

    fn free(gib: u64) -> Option<Memory> {
        Some(Memory {
            total: 64 * GIB,
            free: gib * GIB,
        })
    }

    #[test]
    fn ollama_is_asked_for_what_the_session_needs() {
        // Trained for 131072, loaded with 4096.
        let info = ModelInfo {
            trained_window: Some(131_072),
            loaded_window: Some(4096),
            loaded: true,
            ..Default::default()
        };
        let w = window(&ollama(), Some(&info), None, 6000, None);
        assert_eq!((w.tokens, w.request), (32_768, Some(32_768)));
        assert!(w.notice.unwrap().contains("window of 4096"));
        // A loaded window that holds the session is kept: no reload.
        let w = window(&ollama(), Some(&info), None, 4000, None);
        assert_eq!((w.tokens, w.request, w.notice), (4096, Some(4096), None));
    }

    #[test]
    fn lm_studio_loads_only_what_is_too_small() {
        let lm_studio = chat(Some(LocalServer::LmStudio));
        let load =
            |loaded, configured| to_load(&lm_studio, &qwen30(loaded), configured, 16_384, free(4));
        assert_eq!(load(Some(4096), None), Some(32_768));
        assert_eq!(load(None, None), Some(32_768));
        assert_eq!(load(Some(16_384), None), None);
        assert_eq!(load(Some(32_768), Some(20_000)), None);
        assert_eq!(load(Some(16_384), Some(20_000)), Some(20_000));
        let small = ModelInfo {
            trained_window: Some(4096),
            ..qwen30(Some(4096))
        };
        assert_eq!(to_load(&lm_studio, &small, None, 16_384, None), None);
        let other = chat(Some(LocalServer::LlamaServer));
        assert_eq!(
            to_load(&other, &qwen30(Some(4096)), None, 16_384, None),
            None
        );
    }

    #[test]
    fn a_slot_of_llama_server_is_the_window() {
        // `-c 4096 -np 2` reports 2048 a slot; a router's model tells its own.
        for tokens in [2048, 16_384] {
            let info = ModelInfo {
                loaded_window: Some(tokens),
                trained_window: Some(32_768),
                loaded: true,
                ..Default::default()
            };
            let server = chat(Some(LocalServer::LlamaServer));
            let w = window(&server, Some(&info), None, 8_192, None);
            assert_eq!((w.tokens, w.request), (tokens, None));
            assert_eq!(
                w.notice.is_some_and(|n| n.contains("-np 1")),
                tokens == 2048
            );
        }
    }

    #[test]
    fn the_config_wins_then_the_models_own_parameter() {
        // num_ctx 32768 in the Modelfile, trained for 262144.
        let info = ModelInfo {
            configured_window: Some(32_768),
            ..qwen30(Some(32_768))
        };
        let w = window(&ollama(), Some(&info), None, 6000, free(64));
        assert_eq!((w.tokens, w.notice), (32_768, None));
        assert!(w.source.contains("num_ctx"), "{}", w.source);
        let w = window(&ollama(), Some(&info), Some(16_384), 6000, None);
        assert_eq!((w.tokens, w.request), (16_384, Some(16_384)));
        assert!(w.source.contains("model_context_window"));
        let w = window(&ollama(), Some(&info), Some(1_000_000), 6000, None);
        assert_eq!(w.tokens, 262_144);
        assert!(w.notice.unwrap().contains("trained for 262144"));
    }

    #[test]
    fn sixty_four_k_only_where_memory_allows() {
        let asked = |info: &ModelInfo, need, memory| {
            window(&ollama(), Some(info), None, need, memory).tokens
        };
        // 64k takes 6 GiB: half of what 12 GiB leave. Not loaded, the 18 GiB of weights come first.
        assert_eq!(asked(&qwen30(None), 8000, free(30)), 65_536);
        assert_eq!(asked(&qwen30(None), 8000, free(29)), 32_768);
        assert_eq!(asked(&qwen30(Some(4096)), 8000, free(12)), 65_536);
        assert_eq!(asked(&qwen30(Some(4096)), 8000, free(11)), 32_768);
        assert_eq!(asked(&qwen30(None), 8000, None), 32_768);
        assert_eq!(asked(&qwen30(None), 40_001, None), 40_960);
        // Another machine's memory is not ours.
        let far = Provider {
            base_url: "http://10.0.0.2:11434".into(),
            ..ollama()
        };
        assert_eq!(
            window(&far, Some(&qwen30(None)), None, 8000, free(60)).tokens,
            32_768
        );
        let small = ModelInfo {
            trained_window: Some(8192),
            ..Default::default()
        };
        let w = window(&ollama(), Some(&small), None, 9000, None);
        assert_eq!(w.tokens, 8192);
        assert!(w.notice.unwrap().contains("needs 9000"));
    }

    #[test]
    fn ollama_over_chat_has_what_is_loaded() {
        let provider = chat(Some(LocalServer::Ollama));
        let w = window(&provider, Some(&qwen30(None)), None, 6000, None);
        assert_eq!((w.tokens, w.request), (4096, None));
        let notice = w.notice.unwrap();
        assert!(
            notice.contains("4096") && notice.contains("OLLAMA_CONTEXT_LENGTH=32768"),
            "{notice}"
        );
        let w = window(&provider, Some(&qwen30(Some(40_960))), None, 6000, None);
        assert_eq!((w.tokens, w.notice), (40_960, None));
        // The config cannot make a loaded window larger than it is.
        let w = window(
            &provider,
            Some(&qwen30(Some(4096))),
            Some(32_768),
            6000,
            None,
        );
        assert_eq!(w.tokens, 4096);
        assert!(w.notice.unwrap().contains("32768"));
        // But it stands where nothing is loaded yet: the user knows the server's settings.
        let w = window(&provider, Some(&qwen30(None)), Some(32_768), 6000, None);
        assert_eq!((w.tokens, w.notice), (32_768, None));
    }

    #[test]
    fn other_servers_report_theirs() {
        let info = ModelInfo {
            loaded_window: Some(16_384),
            loaded: true,
            ..Default::default()
        };
        let w = window(
            &chat(Some(LocalServer::LlamaServer)),
            Some(&info),
            None,
            6000,
            None,
        );
        assert_eq!(
            (w.tokens, w.source.as_str()),
            (16_384, "reported by llama-server")
        );
        let w = window(
            &chat(Some(LocalServer::LlamaServer)),
            Some(&info),
            None,
            20_000,
            None,
        );
        assert!(w.notice.unwrap().contains("-c 32768"));
        let w = window(
            &chat(Some(LocalServer::Vllm)),
            Some(&info),
            Some(8192),
            6000,
            None,
        );
        assert_eq!((w.tokens, w.notice), (8192, None));
        let w = window(&chat(None), None, None, 6000, None);
        assert_eq!(w.tokens, 8192);
        assert!(w.notice.unwrap().contains("model_context_window"));
    }
}
