//! How a model family wants to be sampled, for servers that do not know it themselves.
//!
//! Ollama, LM Studio and vLLM bring values with the model; `llama-server` has one set for all. What
//! the user sets in `[sampling]` always wins.

use super::Sampling;

/// A family and its values.
struct Family {
    /// A part of the model's name in lower case; the first row that fits is taken.
    name: &'static str,
    temperature: f64,
    top_p: Option<f64>,
    top_k: Option<u32>,
}

const fn row(
    name: &'static str,
    temperature: f64,
    top_p: Option<f64>,
    top_k: Option<u32>,
) -> Family {
    Family {
        name,
        temperature,
        top_p,
        top_k,
    }
}

/// From the vendors' model cards, but for Qwen2.5-Coder: its card says 0.7, at which the small ones
/// stop calling tools; at 0.2 they go on (measured with the 1.5B).
const FAMILIES: [Family; 9] = [
    row("qwen3-coder-next", 1.0, Some(0.95), Some(40)),
    row("qwen3-coder", 0.7, Some(0.8), Some(20)),
    row("qwen2.5-coder", 0.2, Some(0.8), Some(20)),
    row("qwen3", 0.6, Some(0.95), Some(20)),
    row("gpt-oss", 1.0, Some(1.0), None),
    row("devstral", 0.15, None, None),
    row("glm-4", 1.0, Some(0.95), None),
    row("kimi-k2", 0.6, None, None),
    row("minimax-m2", 1.0, Some(0.95), Some(40)),
];

/// The values for a model; nothing for an unknown one.
pub fn for_model(model: &str) -> Sampling {
    // File names and registries write the same name with other separators.
    let name = model.to_lowercase().replace(['_', ' ', ':'], "-");
    FAMILIES
        .iter()
        .find(|f| name.contains(f.name))
        .map_or_else(Sampling::default, |f| Sampling {
            temperature: Some(f.temperature),
            top_p: f.top_p,
            top_k: f.top_k,
            ..Sampling::default()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_family_wins() {
        assert_eq!(
            for_model("Qwen3-Coder-30B-A3B-Q4.gguf").temperature,
            Some(0.7)
        );
        assert_eq!(for_model("qwen3-coder-next:latest").temperature, Some(1.0));
        assert_eq!(
            for_model("qwen2.5-coder-1.5b-instruct-q4_k_m").temperature,
            Some(0.2)
        );
        assert_eq!(for_model("somebody/else-7b"), Sampling::default());
    }
}
