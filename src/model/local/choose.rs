//! Which model to take, and whether a wished one will do.

use super::{ModelInfo, ollama};
use crate::model::ModelError;
use crate::model::provider::LocalServer;
use crate::words::{is_part, likeness};

/// How many names a sentence lists.
const SHOWN: usize = 8;

/// The model to use when the user named none: the loaded one, else the only one that can call
/// tools, else the only one there is. Models that run elsewhere are never taken by themselves.
///
/// # Errors
/// A sentence that lists the names, when there is none or the choice is not clear.
pub fn choose(models: &[ModelInfo]) -> Result<&ModelInfo, String> {
    let usable: Vec<&ModelInfo> = models.iter().filter(|m| m.generates && !m.cloud).collect();
    let loaded: Vec<&ModelInfo> = usable.iter().copied().filter(|m| m.loaded).collect();
    let with_tools = |list: &[&'_ ModelInfo]| list.iter().filter(|m| m.tools == Some(true)).count();
    for list in [&loaded, &usable] {
        if let [only] = list.as_slice() {
            return Ok(only);
        }
        if with_tools(list) == 1
            && let Some(only) = list.iter().find(|m| m.tools == Some(true))
        {
            return Ok(only);
        }
    }
    if !usable.is_empty() {
        let names = usable.iter().take(SHOWN).map(|m| summary(m));
        return Err(format!(
            "{} models could be meant; name one with -m: {}{}",
            usable.len(),
            names.collect::<Vec<_>>().join(", "),
            if usable.len() > SHOWN { ", …" } else { "" }
        ));
    }
    let cloud: Vec<&str> = models
        .iter()
        .filter(|m| m.cloud)
        .map(|m| m.id.as_str())
        .take(SHOWN)
        .collect();
    Err(if cloud.is_empty() {
        "the server has no model that writes text; install one first, for example with `ollama pull qwen2.5-coder`".into()
    } else {
        format!(
            "the server has only models that run elsewhere ({}); name one with -m if you mean to send your work there",
            cloud.join(", ")
        )
    })
}

/// A name with what helps to choose: `qwen3-coder:30b (window 262144, 18.6 GB, tools)`.
fn summary(m: &ModelInfo) -> String {
    let mut facts = Vec::new();
    if let Some(window) = m.loaded_window.or(m.configured_window).or(m.trained_window) {
        facts.push(format!("window {window}"));
    }
    if let Some(bytes) = m.bytes {
        facts.push(format!("{:.1} GB", bytes as f64 / 1e9));
    }
    match m.tools {
        Some(true) => facts.push("tools".into()),
        Some(false) => facts.push("no tools".into()),
        None => {}
    }
    if facts.is_empty() {
        m.id.clone()
    } else {
        format!("{} ({})", m.id, facts.join(", "))
    }
}

/// The wished model among those of the server, if it will do. A server that holds one model only
/// and ignores names (llama-server) has every model.
///
/// # Errors
/// [`ModelError::NoModel`] with the command that installs it and the nearest names;
/// [`ModelError::NoTools`] when the server would refuse tools for it. Only Ollama does: LM Studio
/// and llama-server write the tools into the prompt of a model that was not made for them.
pub fn check<'a>(
    models: &'a [ModelInfo],
    wanted: &str,
    server: Option<LocalServer>,
) -> Result<&'a ModelInfo, ModelError> {
    let same = |m: &&ModelInfo| match server {
        Some(LocalServer::Ollama) => ollama::same_name(&m.id, wanted),
        _ => m.id == wanted,
    };
    let info = match (models.iter().find(same), server, models) {
        (Some(info), ..) => info,
        (None, Some(LocalServer::LlamaServer), [only]) => only,
        _ => {
            return Err(ModelError::NoModel {
                model: wanted.into(),
                message: missing(models, wanted, server),
            });
        }
    };
    if server == Some(LocalServer::Ollama) && info.tools == Some(false) {
        return Err(ModelError::NoTools {
            message: format!("Ollama lists no tool support for `{}`", info.id),
        });
    }
    Ok(info)
}

/// The command that gets a model onto a server.
pub fn install_command(server: LocalServer, model: &str) -> String {
    match server {
        LocalServer::Ollama => format!("ollama pull {model}"),
        LocalServer::LmStudio => format!("lms get {model}"),
        LocalServer::LlamaServer => format!("llama-server --jinja -hf {model}"),
        LocalServer::Vllm => format!("vllm serve {model}"),
    }
}

/// What to do about a model that is not there.
fn missing(models: &[ModelInfo], wanted: &str, server: Option<LocalServer>) -> String {
    let get = match server {
        Some(server) => format!("run `{}`", install_command(server, wanted)),
        None => "check the name".to_string(),
    };
    // A name that holds the other one whole is nearer than any misspelling.
    let mut near: Vec<(bool, f64, &str)> = models
        .iter()
        .filter(|m| m.generates)
        .map(|m| (is_part(&m.id, wanted), likeness(&m.id, wanted), &*m.id))
        .collect();
    near.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)));
    let names: Vec<&str> = near.iter().take(SHOWN).map(|(.., id)| *id).collect();
    if names.is_empty() {
        format!("{get}; it has no other model that writes text")
    } else {
        format!("{get}, or pick one of: {}", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(id: &str, loaded: bool, tools: Option<bool>) -> ModelInfo {
        ModelInfo {
            id: id.into(),
            loaded,
            tools,
            generates: true,
            ..Default::default()
        }
    }

    #[test]
    fn the_loaded_one_else_the_only_capable_one() {
        let id = |models: &[ModelInfo]| choose(models).map(|m| m.id.clone());
        let (a, b) = (model("a", false, Some(true)), model("b", true, Some(false)));
        assert_eq!(id(&[a.clone(), b.clone()]), Ok("b".into()));
        let b = model("b", false, Some(false));
        assert_eq!(id(&[a.clone(), b.clone()]), Ok("a".into()));
        assert_eq!(id(std::slice::from_ref(&b)), Ok("b".into()));
        let both = [model("a", true, Some(true)), model("b", true, Some(false))];
        assert_eq!(id(&both), Ok("a".into()));
        let embedding = ModelInfo {
            generates: false,
            ..model("e", true, None)
        };
        assert_eq!(id(&[embedding.clone(), a.clone()]), Ok("a".into()));
        assert!(id(&[embedding]).unwrap_err().contains("ollama pull"));
    }

    #[test]
    fn an_unclear_choice_is_put_to_the_user() {
        let mut big = model("big:30b", false, Some(true));
        (big.trained_window, big.bytes) = (Some(262_144), Some(18_600_000_000));
        let text = choose(&[big, model("small", false, Some(true))]).unwrap_err();
        assert!(
            text.contains("-m: big:30b (window 262144, 18.6 GB, tools), small (tools)"),
            "{text}"
        );
    }

    #[test]
    fn cloud_models_are_never_taken_silently() {
        let cloud = ModelInfo {
            cloud: true,
            ..model("gpt-oss:120b-cloud", true, Some(true))
        };
        let text = choose(std::slice::from_ref(&cloud)).unwrap_err();
        assert!(
            text.contains("gpt-oss:120b-cloud") && text.contains("elsewhere"),
            "{text}"
        );
        let models = [cloud, model("own", false, None)];
        assert_eq!(choose(&models).unwrap().id, "own");
    }

    #[test]
    fn a_missing_model_comes_with_its_cure() {
        let models = [
            model("llama3.2:latest", false, None),
            model("qwen2.5-coder:7b", false, None),
        ];
        let said = |wanted: &str, server| check(&models, wanted, server).unwrap_err().to_string();
        let text = said("qwen2.5-coder", Some(LocalServer::Ollama));
        assert!(text.contains("`ollama pull qwen2.5-coder`"), "{text}");
        assert!(
            text.contains("pick one of: qwen2.5-coder:7b, llama3.2:latest"),
            "{text}"
        );
        assert!(said("x", Some(LocalServer::LmStudio)).contains("`lms get x`"));
        assert!(said("x", Some(LocalServer::Vllm)).contains("`vllm serve x`"));
        assert!(check(&models, "llama3.2", Some(LocalServer::Ollama)).is_ok());
        assert!(check(&models, "llama3.2", Some(LocalServer::Vllm)).is_err());
        assert!(check(&models[..1], "anything", Some(LocalServer::LlamaServer)).is_ok());
    }

    #[test]
    fn only_ollama_refuses_tools() {
        let models = [model("gemma", true, Some(false))];
        let error = check(&models, "gemma", Some(LocalServer::Ollama)).unwrap_err();
        assert!(matches!(error, ModelError::NoTools { .. }));
        assert!(error.to_string().contains("`gemma`"));
        assert!(check(&models, "gemma", Some(LocalServer::LlamaServer)).is_ok());
    }
}
