//! How much memory there is, and how much of it a window takes.

use serde_json::Value;

/// The machine's main memory in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// All of it.
    pub total: u64,
    /// What programs can still get without swapping.
    pub free: u64,
}

/// The memory of this machine; `None` where the system is not asked (Windows).
#[cfg(target_os = "linux")]
pub fn free_memory() -> Option<Memory> {
    use std::io::Read;
    let mut text = String::new();
    let file = std::fs::File::open("/proc/meminfo").ok()?;
    file.take(64 * 1024).read_to_string(&mut text).ok()?;
    read_meminfo(&text)
}

/// The memory of this machine. macOS keeps nearly all of it in use as cache, so half of the total
/// is taken for free.
#[cfg(target_os = "macos")]
pub fn free_memory() -> Option<Memory> {
    let mut command = std::process::Command::new("/usr/sbin/sysctl");
    command.args(["-n", "hw.memsize"]);
    let limit = std::time::Duration::from_secs(1);
    let text = crate::model::provider::output(command, limit).ok()?;
    let total = text.trim().parse::<u64>().ok()?;
    let free = total / 2;
    Some(Memory { total, free })
}

/// The memory of this machine; `None`: this system is not asked.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub fn free_memory() -> Option<Memory> {
    None
}

#[cfg(any(target_os = "linux", test))]
fn read_meminfo(text: &str) -> Option<Memory> {
    let field = |name: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(name))?;
        let kib = line.split_whitespace().next()?.parse::<u64>().ok()?;
        kib.checked_mul(1024)
    };
    Some(Memory {
        total: field("MemTotal:")?,
        free: field("MemAvailable:")?,
    })
}

/// Architectures whose sliding-window pattern is fixed in llama.cpp and not in the file: every
/// n-th layer sees the whole window.
const SLIDING: [(&str, u64); 5] = [
    ("gptoss", 2),
    ("gpt-oss", 2),
    ("gemma2", 2),
    ("gemma3", 6),
    ("cohere2", 4),
];

/// Bytes of cache that one token of the window takes at 16 bits, from the `model_info` of Ollama's
/// `/api/show`. Layers that hold a fixed amount (sliding window, recurrent state) do not count.
/// `None` when a value is missing, or is a list that the server left blank.
pub(super) fn kv_bytes_per_token(facts: &Value) -> Option<u64> {
    const BYTES: u64 = 2;
    let arch = facts.get("general.architecture")?.as_str()?;
    let get = |key: &str| facts.get(format!("{arch}.{key}"));
    let number = |key: &str| get(key).and_then(Value::as_u64);
    let layers = number("block_count")?;
    if let Some(rank) = number("attention.kv_lora_rank").filter(|r| *r > 0) {
        // Latent attention keeps one compressed vector and the rotary part a layer.
        let vector = rank.checked_add(number("rope.dimension_count")?)?;
        return layers.checked_mul(vector)?.checked_mul(BYTES);
    }
    let head = || {
        let heads = number("attention.head_count").filter(|h| *h > 0)?;
        Some(number("embedding_length")? / heads)
    };
    let key = number("attention.key_length").or_else(head)?;
    let value = number("attention.value_length").or_else(head)?;
    let heads = full_window_heads(arch, layers, &get)?;
    heads
        .checked_mul(key.checked_add(value)?)?
        .checked_mul(BYTES)
}

/// The key-value heads of all layers that see the whole window, summed up.
fn full_window_heads<'a>(
    arch: &str,
    layers: u64,
    get: &dyn Fn(&str) -> Option<&'a Value>,
) -> Option<u64> {
    let number = |key: &str| get(key).and_then(Value::as_u64);
    let slides = number("attention.sliding_window").is_some_and(|w| w > 0);
    let fixed = SLIDING.iter().find(|(a, _)| *a == arch).map(|(_, n)| *n);
    let pattern = match get("attention.sliding_window_pattern") {
        Some(pattern) if slides => Some(pattern),
        _ => None,
    };
    // In a list, true marks a sliding layer.
    let sliding: Option<Vec<bool>> = match pattern {
        Some(Value::Array(list)) => Some(list.iter().map(Value::as_bool).collect::<Option<_>>()?),
        Some(Value::Null) => return None,
        _ => None,
    };
    let every = match pattern {
        Some(Value::Number(n)) => n.as_u64(),
        None if slides => fixed,
        _ => number("full_attention_interval"),
    };
    match get("attention.head_count_kv")? {
        Value::Array(list) => {
            if list.is_empty() {
                return None;
            }
            let mut sum = 0u64;
            for (layer, heads) in list.iter().enumerate() {
                let skip = match (&sliding, every) {
                    (Some(s), _) => s.get(layer).copied().unwrap_or(false),
                    (None, Some(n)) if n > 1 && slides => !(layer as u64 + 1).is_multiple_of(n),
                    _ => false,
                };
                if !skip {
                    sum = sum.checked_add(heads.as_u64()?)?;
                }
            }
            Some(sum)
        }
        heads => {
            let full = match (&sliding, every) {
                (Some(s), _) => s.iter().filter(|slides| !**slides).count() as u64,
                (None, Some(n)) if n > 1 => layers / n,
                _ => layers,
            };
            full.checked_mul(heads.as_u64()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cache_sizes_of_known_models() {
        let kib = |facts: Value| kv_bytes_per_token(&facts).map(|b| b / 1024);
        // Head sizes from the embedding, as Qwen2.5's files leave them out: 1536 / 12 = 128.
        let qwen25 = json!({"general.architecture": "qwen2", "qwen2.block_count": 28,
            "qwen2.attention.head_count": 12, "qwen2.attention.head_count_kv": 2, "qwen2.embedding_length": 1536});
        assert_eq!(kib(qwen25), Some(28));
        let coder30 = json!({"general.architecture": "qwen3moe", "qwen3moe.block_count": 48,
            "qwen3moe.attention.head_count": 32, "qwen3moe.attention.head_count_kv": 4, "qwen3moe.embedding_length": 2048,
            "qwen3moe.attention.key_length": 128, "qwen3moe.attention.value_length": 128});
        assert_eq!(kib(coder30), Some(96));
        let gptoss = json!({"general.architecture": "gptoss", "gptoss.block_count": 24,
            "gptoss.attention.head_count": 64, "gptoss.attention.head_count_kv": 8,
            "gptoss.attention.key_length": 64, "gptoss.attention.value_length": 64,
            "gptoss.attention.sliding_window": 128});
        assert_eq!(kib(gptoss), Some(24));
    }

    #[test]
    fn special_attention() {
        let base = json!({"general.architecture": "x", "x.block_count": 48, "x.attention.head_count": 16,
            "x.attention.head_count_kv": 2, "x.attention.key_length": 256, "x.attention.value_length": 256});
        let with = |more: Value| {
            let mut facts = base.clone();
            for (k, v) in more.as_object().unwrap() {
                facts[k] = v.clone();
            }
            kv_bytes_per_token(&facts)
        };
        let layer = 2 * 512 * 2;
        assert_eq!(with(json!({})), Some(48 * layer));
        // Hybrid: every fourth layer attends.
        assert_eq!(
            with(json!({"x.full_attention_interval": 4})),
            Some(12 * layer)
        );
        // Sliding window with a pattern as a number, as a list, and left blank.
        let sliding = |pattern: Value| {
            with(
                json!({"x.attention.sliding_window": 1024, "x.attention.sliding_window_pattern": pattern}),
            )
        };
        assert_eq!(sliding(json!(6)), Some(8 * layer));
        assert_eq!(sliding(json!([true, true, true, false])), Some(layer));
        assert_eq!(sliding(Value::Null), None);
        // An unknown architecture with a sliding window is counted in full rather than too small.
        assert_eq!(
            with(json!({"x.attention.sliding_window": 1024})),
            Some(48 * layer)
        );
        // Heads per layer: counted, or blank.
        assert_eq!(
            with(json!({"x.attention.head_count_kv": [0, 0, 0, 2]})),
            Some(layer)
        );
        assert_eq!(with(json!({"x.attention.head_count_kv": null})), None);
        // Latent attention: (512 + 64) x 2 bytes a layer.
        assert_eq!(
            with(json!({"x.attention.kv_lora_rank": 512, "x.rope.dimension_count": 64})),
            Some(48 * 576 * 2)
        );
        assert_eq!(kv_bytes_per_token(&json!({})), None);
        assert_eq!(with(json!({"x.block_count": u64::MAX})), None);
    }

    #[test]
    fn meminfo_is_read() {
        let text = "MemTotal:       16303428 kB\nMemFree:          512000 kB\nMemAvailable:    8000000 kB\n";
        let memory = read_meminfo(text).unwrap();
        assert_eq!(
            (memory.total, memory.free),
            (16_303_428 * 1024, 8_000_000 * 1024)
        );
        assert_eq!(read_meminfo("MemTotal: x kB"), None);
    }
}
