//! How long a model on this wire may think: each generation of Claude asks for it in its own way.

use serde_json::{Map, Value, json};

/// Which Claude a model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Claude {
    /// Version times ten: 4.5 is 45.
    version: u32,
    tier: Tier,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tier {
    Opus,
    Sonnet,
    Haiku,
    /// Fable and Mythos.
    Other,
}

impl Claude {
    /// Reads `claude-opus-4-5-20251101`, `claude-3-7-sonnet-latest`, `anthropic/claude-sonnet-5.5`.
    fn of(model: &str) -> Option<Claude> {
        let name = model.to_lowercase();
        let (_, name) = name.split_once("claude")?;
        let words: Vec<&str> = name.split(['-', '.', '_', ':', '@', '/']).collect();
        let tier = match () {
            () if words.contains(&"opus") => Tier::Opus,
            () if words.contains(&"sonnet") => Tier::Sonnet,
            () if words.contains(&"haiku") => Tier::Haiku,
            () => Tier::Other,
        };
        // Dates have more digits than versions.
        let short = |w: &&&str| (1..=2).contains(&w.len()) && w.bytes().all(|b| b.is_ascii_digit());
        let mut numbers = words.iter().filter(short).filter_map(|w| w.parse().ok());
        let major: u32 = numbers.next()?;
        let minor = numbers.next().filter(|n| *n < 10).unwrap_or(0);
        Some(Claude {
            version: major * 10 + minor,
            tier,
        })
    }
}

/// Puts `thinking` into the body and gives the effort for `output_config`, if there is one.
///
/// `local` servers take both fields of any model and ignore what they do not know.
pub(super) fn put(
    model: &str,
    asked: Option<&str>,
    max_tokens: u32,
    local: bool,
    body: &mut Map<String, Value>,
) -> Option<&'static str> {
    let mut think = |value: Value| drop(body.insert("thinking".to_owned(), value));
    let level = asked.filter(|a| *a != "none").map(level);
    let off = asked == Some("none");
    let disabled = || json!({"type": "disabled"});
    // From Opus 4.7 on the words of thinking come only when asked for.
    let adaptive = || json!({"type": "adaptive", "display": "summarized"});
    let claude = Claude::of(model).filter(|_| !local);
    let Some(claude) = claude else {
        match (off, level, local) {
            (true, ..) => think(disabled()),
            (_, Some(_), false) => think(json!({"type": "enabled"})),
            _ => {}
        }
        return level;
    };
    match (claude.version, claude.tier) {
        // No thinking before 3.7.
        (..37, _) => None,
        (37..46, tier) => {
            // Below this the budget has no room beside an answer.
            if let (Some(level), 2_048..) = (level, max_tokens) {
                let budget = budget(level).min(max_tokens / 2).max(1_024);
                think(json!({"type": "enabled", "budget_tokens": budget}));
            }
            level.filter(|_| claude.version == 45 && tier == Tier::Opus)
        }
        (46, _) => {
            if level.is_some() {
                think(json!({"type": "adaptive"}));
            }
            level
        }
        (47..50, _) => {
            if level.is_some() {
                think(adaptive());
            }
            level
        }
        (50..55, Tier::Opus | Tier::Sonnet | Tier::Haiku) => {
            think(if off { disabled() } else { adaptive() });
            level
        }
        (_, Tier::Sonnet) if off => {
            think(json!({"type": "between_tools"}));
            None
        }
        (_, Tier::Haiku) if off => {
            think(disabled());
            None
        }
        // These always think; the least is what comes nearest to not at all.
        _ => {
            think(adaptive());
            if off { Some("low") } else { level }
        }
    }
}

fn level(asked: &str) -> &'static str {
    super::super::vendor::nearest(asked, &["low", "medium", "high", "xhigh", "max"])
}

/// Tokens of thinking for models that are given a number.
fn budget(level: &str) -> u32 {
    match level {
        "low" => 4_096,
        "medium" => 10_000,
        "high" => 16_000,
        _ => 31_999,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_names() {
        for (name, version, tier) in [
            ("claude-opus-4-5-20251101", 45, Tier::Opus),
            ("claude-3-7-sonnet-latest", 37, Tier::Sonnet),
            ("claude-3-5-haiku-20241022", 35, Tier::Haiku),
            ("anthropic/claude-sonnet-5.5", 55, Tier::Sonnet),
            ("claude-sonnet-4-20250514", 40, Tier::Sonnet),
            ("claude-sonnet-4@20250514", 40, Tier::Sonnet),
            ("claude-opus-5", 50, Tier::Opus),
            ("claude-fable-5-1", 51, Tier::Other),
        ] {
            assert_eq!(Claude::of(name), Some(Claude { version, tier }), "{name}");
        }
        assert_eq!(Claude::of("kimi-k3"), None);
        assert_eq!(Claude::of("claude-instant"), None);
    }

    /// The table of facts about what each generation accepts.
    #[test]
    fn each_generation_is_asked_in_its_own_way() {
        let asked = |model: &str, effort: Option<&str>| {
            let mut body = Map::new();
            let level = put(model, effort, 32_000, false, &mut body);
            (body.remove("thinking").unwrap_or_default(), level)
        };
        let adaptive = json!({"type": "adaptive", "display": "summarized"});
        let none = Value::Null;
        for (model, effort, thinking, level) in [
            ("claude-3-5-sonnet", Some("high"), none.clone(), None),
            (
                "claude-sonnet-4-5",
                Some("high"),
                json!({"type": "enabled", "budget_tokens": 16_000}),
                None,
            ),
            ("claude-sonnet-4-5", Some("none"), none.clone(), None),
            ("claude-sonnet-4-5", None, none.clone(), None),
            (
                "claude-opus-4-5",
                Some("low"),
                json!({"type": "enabled", "budget_tokens": 4_096}),
                Some("low"),
            ),
            (
                "claude-sonnet-4-6",
                Some("high"),
                json!({"type": "adaptive"}),
                Some("high"),
            ),
            (
                "claude-opus-4-8",
                Some("xhigh"),
                adaptive.clone(),
                Some("xhigh"),
            ),
            ("claude-opus-4-8", None, none.clone(), None),
            ("claude-opus-5", None, adaptive.clone(), None),
            (
                "claude-opus-5",
                Some("none"),
                json!({"type": "disabled"}),
                None,
            ),
            (
                "claude-opus-5-5",
                Some("none"),
                adaptive.clone(),
                Some("low"),
            ),
            (
                "claude-sonnet-5-5",
                Some("none"),
                json!({"type": "between_tools"}),
                None,
            ),
            (
                "claude-haiku-5-5",
                Some("none"),
                json!({"type": "disabled"}),
                None,
            ),
            (
                "claude-fable-5",
                Some("minimal"),
                adaptive.clone(),
                Some("low"),
            ),
            (
                "deepseek-v4",
                Some("high"),
                json!({"type": "enabled"}),
                Some("high"),
            ),
            ("deepseek-v4", None, none, None),
        ] {
            assert_eq!(
                asked(model, effort),
                (thinking, level),
                "{model} {effort:?}"
            );
        }
    }

    #[test]
    fn a_budget_leaves_room_for_the_answer() {
        let mut body = Map::new();
        put("claude-sonnet-4-5", Some("max"), 8_000, false, &mut body);
        assert_eq!(body["thinking"]["budget_tokens"], 4_000);
        let mut body = Map::new();
        put("claude-sonnet-4-5", Some("max"), 1_500, false, &mut body);
        assert!(body.is_empty());
    }
}
