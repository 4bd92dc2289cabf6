//! Which harness a model gets: the one of its family, judged by names.

/// The harness for a model of no known family.
pub const GENERAL: &str = "qwen-code";

/// The harness for the `messages` wire when nothing else is known: who speaks it was made for it.
const MESSAGES: &str = "claude-code";

/// Words that mark a model family, and the harness it was trained in. The first row that matches
/// wins. A distillation carries two names and goes by the model that was tuned to think, which is
/// why DeepSeek stands before the families that it was distilled into.
const FAMILIES: &[(&[&str], &str)] = &[
    (&["deepseek"], "claude-code-bare"),
    (&["qwen", "qwq", "dashscope"], "qwen-code"),
    (&["kimi", "moonshot"], "kimi-code"),
    (
        &["glm", "chatglm", "zhipu", "zai", "z.ai", "bigmodel"],
        "zcode",
    ),
    (&["claude", "anthropic"], "claude-code"),
    (
        &["gpt-oss", "gptoss", "gpt", "chatgpt", "codex", "openai"],
        "native",
    ),
];

/// What is known about a model and its server.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clues<'a> {
    /// The model's name.
    pub model: &'a str,
    /// The family that the server names; for a fine-tune, that of its base.
    pub family: Option<&'a str>,
    /// The provider's id in the config.
    pub provider_id: &'a str,
    /// The provider's name for people.
    pub provider_name: &'a str,
    /// The provider's address.
    pub base_url: &'a str,
    /// The provider speaks the `messages` wire.
    pub messages: bool,
}

/// The harness of a model's family, judged by the model's own name, then by the family that the
/// server tells, then by the provider. `None`: nothing is known; the caller takes [`GENERAL`].
pub fn for_model(clues: Clues) -> Option<&'static str> {
    // Of the address only the host: many providers have `/openai` in their path.
    let host = clues
        .base_url
        .split_once("://")
        .map_or("", |(_, rest)| rest);
    let texts = [
        clues.model,
        clues.family.unwrap_or_default(),
        clues.provider_id,
        clues.provider_name,
        host.split('/').next().unwrap_or_default(),
    ];
    texts
        .into_iter()
        .find_map(family)
        .or(clues.messages.then_some(MESSAGES))
}

fn family(text: &str) -> Option<&'static str> {
    let text = text.to_lowercase();
    let marks = |words: &[&str]| words.iter().any(|word| begins_a_word(&text, word));
    FAMILIES
        .iter()
        .find(|(words, _)| marks(words))
        .map(|(_, id)| *id)
}

/// True when `word` stands in `text` with no letter before it: `glm-4` but not `realglm`.
fn begins_a_word(text: &str, word: &str) -> bool {
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(|c: char| c.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_name(model: &str) -> Option<&'static str> {
        for_model(Clues {
            model,
            ..Clues::default()
        })
    }

    /// Ids as Ollama, LM Studio, Hugging Face and OpenRouter spell them.
    #[test]
    fn a_model_gets_the_harness_of_its_family() {
        for (model, harness) in [
            ("qwen3-coder:30b", "qwen-code"),
            ("Qwen/QwQ-32B", "qwen-code"),
            ("unsloth/Qwen2.5-Coder-7B-Instruct-GGUF", "qwen-code"),
            ("moonshotai/Kimi-K2-Instruct", "kimi-code"),
            ("moonshot-v1-128k", "kimi-code"),
            ("glm-4.6", "zcode"),
            ("zai-org/GLM-4.5-Air", "zcode"),
            ("deepseek-chat", "claude-code-bare"),
            ("DeepSeek-R1-Distill-Qwen-14B", "claude-code-bare"),
            ("deepseek-r1-distill-llama-8b", "claude-code-bare"),
            ("gpt-oss:20b", "native"),
            ("openai/gpt-5", "native"),
            ("anthropic/claude-sonnet-4.5", "claude-code"),
        ] {
            assert_eq!(by_name(model), Some(harness), "{model}");
        }
        for model in [
            "devstral:24b",
            "mistral-small3.2",
            "llama3.1:8b",
            "my-model",
            "realglmx",
        ] {
            assert_eq!(by_name(model), None, "{model}");
        }
    }

    #[test]
    fn a_fine_tune_goes_by_its_base_and_a_strange_name_by_its_provider() {
        let tune = Clues {
            model: "hermes-coder:8b",
            family: Some("qwen3"),
            ..Clues::default()
        };
        assert_eq!(for_model(tune), Some("qwen-code"));
        // Ollama names the family of a distillation after its base; its own name says more.
        let distilled = Clues {
            model: "deepseek-r1:14b",
            family: Some("qwen2"),
            ..Clues::default()
        };
        assert_eq!(for_model(distilled), Some("claude-code-bare"));
        let hosted = Clues {
            model: "k2-latest",
            provider_id: "mine",
            base_url: "https://api.MOONSHOT.cn/v1",
            ..Clues::default()
        };
        assert_eq!(for_model(hosted), Some("kimi-code"));
        let named = Clues {
            model: "latest",
            provider_name: "Zhipu",
            messages: true,
            ..Clues::default()
        };
        assert_eq!(for_model(named), Some("zcode"));
    }

    #[test]
    fn the_path_of_an_address_names_no_family() {
        let hosted = Clues {
            model: "llama-3.3-70b",
            base_url: "https://api.groq.com/openai/v1",
            ..Clues::default()
        };
        assert_eq!(for_model(hosted), None);
    }

    #[test]
    fn the_wire_decides_only_when_nothing_else_does() {
        let unknown = Clues {
            model: "mystery",
            messages: true,
            ..Clues::default()
        };
        assert_eq!(for_model(unknown), Some("claude-code"));
        let known = Clues {
            model: "qwen3",
            ..unknown
        };
        assert_eq!(for_model(known), Some("qwen-code"));
    }
}
