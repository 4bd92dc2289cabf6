//! Before the first request: which provider, which model, which window.

use super::event::{Event, Frontend};
use super::{hosted, offline};
use crate::cancel::Cancel;
use crate::config::{Config, Source};
use crate::model::WireApi;
use crate::model::local::{self, ModelInfo, Window};
use crate::model::provider::{self, LocalServer, Provider};
use std::fmt;

/// Tokens that a session needs, so that the prompt, some files and a reply have room: what is asked
/// of a server that can be asked, and what others are warned about.
const NEED: (u32, u32) = (16_384, 8_192);

/// Provider, model and window of a session.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The provider, resolved.
    pub provider: Provider,
    /// The model's name.
    pub model: String,
    /// What the server says about the model.
    pub info: ModelInfo,
    /// The window.
    pub window: Window,
    /// The server would refuse or drop tools, so they go into the prompt.
    pub prompted: bool,
}

impl Connection {
    /// True when the server says that the model is not in memory, or when it will be loaded again
    /// for the window that is asked for.
    pub fn is_cold(&self) -> bool {
        let again = self.window.request.is_some() && self.info.loaded_window != self.window.request;
        self.provider.local.is_some() && (!self.info.loaded || again)
    }
}

/// Why a session cannot begin: one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectError(pub String);

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConnectError {}

/// What the caller wants beside the config.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// Use the `chat` wire whatever the provider's own is.
    pub chat_completions: bool,
    /// The provider and model of a resumed session, used where the command line names none.
    pub resumed: Option<(String, String)>,
    /// The harness needs no tool calls, so a model without them will do.
    pub without_tools: bool,
    /// Models whose own harness needs no tool calls.
    pub text_models: Vec<String>,
}

/// Finds the provider, the model and the window.
///
/// At most two round trips when provider and model are named. What was chosen for the user is
/// said in a note.
///
/// # Errors
/// No server, unknown provider, missing key, missing model: one sentence
/// with the command that mends it.
pub fn connect(
    config: &Config,
    wish: &Wish,
    cancel: &Cancel,
    front: &mut dyn Frontend,
) -> Result<Connection, ConnectError> {
    let mut provider = local::recognise(choose_provider(config, wish, cancel, front)?, cancel);
    let fail = |e: crate::model::ModelError| ConnectError(e.to_string());
    let (model, info) = match named_model(config, wish, &provider) {
        Some(model) => {
            provider = hosted::on_its_wire(provider, &model, config, wish)?;
            if let Some(other) = hosted::without_missing_wire(&provider, config) {
                provider = other;
            }
            let info = local::describe(&provider, &model, cancel).map_err(fail)?;
            let info = hosted::with_facts(info, &provider, config);
            (model, info)
        }
        None if provider.is_local() => {
            let models = local::models(&provider, cancel).map_err(fail)?;
            let chosen = local::choose(&models).map_err(ConnectError)?;
            front.event(&Event::Note(format!(
                "model: {} (the one that {} has; choose with -m)",
                chosen.id, provider.name
            )));
            let info = local::describe(&provider, &chosen.id, cancel).map_err(fail)?;
            (chosen.id.clone(), info)
        }
        None => {
            return Err(ConnectError(format!(
                "no model is set for {0}; name one with -m, or set `model` in the config (`interpreter models --provider {1}` lists them)",
                provider.name, provider.id
            )));
        }
    };
    if info.cloud && *config.offline {
        return Err(ConnectError(format!(
            "offline: {model} runs on a remote server although {} lists it; choose another with -m, or leave out --offline",
            provider.name
        )));
    }
    if info.cloud {
        front.event(&Event::Warning(format!(
            "{model} runs on a remote server although {} lists it",
            provider.name
        )));
    }
    let wanted = !wish.without_tools && !wish.text_models.contains(&model);
    let toolless = info.tools == Some(false) && wanted;
    // Ollama refuses tools for such a model, llama-server drops them without a word; LM Studio
    // writes them into the prompt.
    let drops = [LocalServer::Ollama, LocalServer::LlamaServer];
    let prompted = toolless && provider.local.is_some_and(|server| drops.contains(&server));
    if toolless {
        let how = if prompted {
            "its tools are described in the prompt and its calls read from its text; a model made for tools does better"
        } else {
            "calls that it writes as text are understood"
        };
        front.event(&Event::Note(format!(
            "{model} has no tool support, says {}: {how}",
            provider.name
        )));
    }
    let fixed = info.listed.as_ref().is_some_and(|m| m.fixed_sampling);
    if fixed && !config.sampling.is_default() {
        front.event(&Event::Warning(format!(
            "{model} takes no sampling values; [sampling] is left out"
        )));
    }
    let info = with_room(&provider, info, config, cancel, front)?;
    let window = window(config, &provider, &info);
    if let Some(notice) = &window.notice {
        front.event(&Event::Warning(notice.clone()));
    }
    Ok(Connection {
        provider,
        model,
        info,
        window,
        prompted,
    })
}

/// The window that a session with this model would have.
pub fn window(config: &Config, provider: &Provider, info: &ModelInfo) -> Window {
    let need = if provider.wire == WireApi::Ollama {
        NEED.0
    } else {
        NEED.1
    };
    local::window(
        provider,
        Some(info),
        *config.model_context_window,
        need,
        local::free_memory(),
    )
}

/// The window that a session would get, where LM Studio is asked to load the model for it.
pub fn expected_window(config: &Config, provider: &Provider, info: &ModelInfo) -> Window {
    let configured = *config.model_context_window;
    match local::to_load(provider, info, configured, NEED.0, local::free_memory()) {
        Some(tokens) => Window {
            tokens,
            source: format!("asked of {}", provider.name),
            request: None,
            notice: Some(format!(
                "{} loads the model with a window of {tokens}, once",
                provider.name
            )),
        },
        None => window(config, provider, info),
    }
}

/// Has LM Studio load the model with a larger window, where the one it has is too small. A person is
/// asked first; where there is none, it is done and said.
fn with_room(
    provider: &Provider,
    info: ModelInfo,
    config: &Config,
    cancel: &Cancel,
    front: &mut dyn Frontend,
) -> Result<ModelInfo, ConnectError> {
    let configured = *config.model_context_window;
    let Some(tokens) = local::to_load(provider, &info, configured, NEED.0, local::free_memory())
    else {
        return Ok(info);
    };
    let now = match info.loaded_window {
        Some(window) => format!("has {} loaded with a window of {window} tokens", info.id),
        None => format!("has not loaded {}", info.id),
    };
    let name = &provider.name;
    let agreed = !front.interactive()
        || front.confirm(&format!(
            "{name} {now}; may it be loaded with {tokens}, which this session needs?"
        ));
    if cancel.is_cancelled() {
        return Err(ConnectError("interrupted".into()));
    }
    if !agreed {
        return Ok(info);
    }
    front.event(&Event::Note(format!(
        "{name} {now}; loading it with {tokens}, once"
    )));
    match local::load(provider, &info, tokens, cancel) {
        Ok(loaded) => Ok(loaded),
        Err(crate::model::ModelError::Interrupted) => Err(ConnectError("interrupted".into())),
        Err(error) => {
            front.event(&Event::Warning(format!(
                "{name} did not load {} with a larger window ({error}); try `lms load {} --context-length {tokens}`",
                info.id, info.id
            )));
            Ok(info)
        }
    }
}

/// A model that was named: on this command line, in the resumed session, in the config. A resumed
/// session's model belongs to its provider.
pub(super) fn named_model(config: &Config, wish: &Wish, provider: &Provider) -> Option<String> {
    let resumed = wish
        .resumed
        .as_ref()
        .filter(|(id, _)| *id == provider.id)
        .map(|(_, model)| model.clone());
    // An empty name is none: scripts pass `-m "$MODEL"` with nothing in it.
    let set = || config.model.value.clone().filter(|m| !m.trim().is_empty());
    if is_flag(&config.model.source) {
        set()
    } else {
        resumed.or_else(set)
    }
}

/// The id of the provider that was named: on this command line, in the resumed session, in the
/// config, or by the address that was given it. `None`: whichever local server answers.
pub fn named_provider(config: &Config, resumed: Option<&str>) -> Option<String> {
    match (&*config.model_provider, resumed) {
        _ if config.oss => config.oss_provider.value.clone(),
        (Some(id), _) if is_flag(&config.model_provider.source) => Some(id.clone()),
        (_, Some(id)) => Some(id.to_owned()),
        // Who moves the built-in provider, as an SDK of Codex does, means that one.
        (None, None) if config.openai_base_url.is_some() => Some("openai".into()),
        (id, None) => id.clone(),
    }
}

/// True when the provider that was named cannot be used for want of its key. `resumed` is that of
/// a stored session.
pub fn lacks_key(config: &Config, resumed: Option<&str>) -> bool {
    let env = |name: &str| std::env::var(name).ok();
    named_provider(config, resumed).is_some_and(|id| {
        let resolved = provider::resolve(&id, config, &env, false);
        matches!(resolved, Err(provider::ProviderError::MissingKey { .. }))
    })
}

/// The provider of that id, if the settings let it be used.
///
/// # Errors
/// When it is unknown, incomplete, without its key, or far away in an offline run.
pub fn resolve(
    id: &str,
    config: &Config,
    chat_completions: bool,
) -> Result<Provider, ConnectError> {
    let env = |name: &str| std::env::var(name).ok();
    let fail = |e: provider::ProviderError| ConnectError(e.to_string());
    if *config.offline {
        // Before its key is asked for: this refusal is what the user should read.
        let url = provider::address_of(id, config, &env).map_err(fail)?;
        if let Some(why) = offline::refusal(id, &url) {
            return Err(ConnectError(why));
        }
    }
    provider::resolve(id, config, &env, chat_completions).map_err(fail)
}

/// The provider: the named one, or the local server that answers.
pub(super) fn choose_provider(
    config: &Config,
    wish: &Wish,
    cancel: &Cancel,
    front: &mut dyn Frontend,
) -> Result<Provider, ConnectError> {
    let resolve = |id: &str| resolve(id, config, wish.chat_completions);
    let resumed = wish.resumed.as_ref().map(|(id, _)| id.as_str());
    if let Some(id) = named_provider(config, resumed) {
        return resolve(&id);
    }
    let candidates: Vec<Provider> = LocalServer::ALL
        .iter()
        .filter_map(|server| resolve(server.id()).ok())
        .collect();
    let servers = local::detect(&candidates, cancel);
    let Some(first) = servers.first() else {
        return Err(ConnectError(
            "no local model server answers: not Ollama (11434), LM Studio (1234), llama-server (8080) nor vLLM (8000); start one, for example `ollama serve`, or name a provider with `-c model_provider=NAME`".into(),
        ));
    };
    let others: Vec<_> = servers[1..].iter().map(|f| f.server.name()).collect();
    let also = if others.is_empty() {
        String::new()
    } else {
        format!("; also up: {}", others.join(", "))
    };
    front.event(&Event::Note(format!(
        "server: {} at {}{also} (choose with --local-provider)",
        first.server.name(),
        first.base_url
    )));
    local::adopt(&candidates, first, wish.chat_completions).ok_or_else(|| {
        ConnectError(format!(
            "{} answers at an address that cannot be used",
            first.base_url
        ))
    })
}

fn is_flag(source: &Source) -> bool {
    matches!(source, Source::Flag(_))
}
