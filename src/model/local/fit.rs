//! Whether a model and the cache of its window fit into the memory that is free.

use super::ModelInfo;
use super::memory::free_memory;
use crate::model::provider::output;
use std::process::Command;
use std::time::Duration;

/// What a server needs beside weights and cache: buffers for computing.
const BUFFERS: u64 = 3 << 29;
/// How long the driver's own program may take to answer.
const LIMIT: Duration = Duration::from_secs(2);

/// Free memory of this machine in bytes; `None`: not known, or none of that kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Room {
    /// Main memory.
    pub main: Option<u64>,
    /// Memory of all graphics cards together.
    pub graphics: Option<u64>,
}

/// Where a model has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// It is in memory already, with a window that is large enough.
    Loaded,
    /// All of it in the memory of the graphics cards.
    Graphics,
    /// In main memory.
    Main,
    /// In both together: a part of it runs on the processor, which is slower.
    Split,
    /// Nowhere.
    No,
}

impl Fit {
    /// In a word or two.
    pub fn words(self) -> &'static str {
        match self {
            Fit::Loaded => "loaded",
            Fit::Graphics => "graphics",
            Fit::Main => "yes",
            Fit::Split => "split",
            Fit::No => "no",
        }
    }
}

/// The bytes that the model still has to get for a window of so many tokens, and where they fit.
/// `None` when its size is not known, or the memory is not.
pub fn fit(info: &ModelInfo, window: u32, room: Room) -> Option<(u64, Fit)> {
    let had = if info.loaded {
        info.loaded_window.unwrap_or(window)
    } else {
        0
    };
    let more = u64::from(window.saturating_sub(had));
    if info.loaded && more == 0 {
        return Some((0, Fit::Loaded));
    }
    let weights = match info.loaded {
        true => 0,
        false => info.bytes?.saturating_add(BUFFERS),
    };
    let cache = info.kv_bytes_per_token.map(|b| b.saturating_mul(more));
    let need = weights.saturating_add(cache.unwrap_or(0));
    let (main, graphics) = (room.main, room.graphics.unwrap_or(0));
    let fit = if need <= graphics {
        Fit::Graphics
    } else if main.is_some_and(|main| need <= main) {
        Fit::Main
    } else if need <= main?.saturating_add(graphics) {
        Fit::Split
    } else {
        Fit::No
    };
    // Without the size of the cache, only a no is sure.
    (cache.is_some() || fit == Fit::No).then_some((need, fit))
}

/// The free memory of this machine. Asks the driver of NVIDIA cards by its own program, if there
/// is one, and reads what that of AMD cards tells.
pub fn room() -> Room {
    Room {
        main: free_memory().map(|m| m.free),
        graphics: nvidia().or_else(amd),
    }
}

fn nvidia() -> Option<u64> {
    let mut command = Command::new("nvidia-smi");
    command.args(["--query-gpu=memory.free", "--format=csv,noheader,nounits"]);
    read_nvidia(&output(command, LIMIT).ok()?)
}

/// One number of MiB a line and card.
fn read_nvidia(text: &str) -> Option<u64> {
    let mib: Option<Vec<u64>> = text.lines().map(|l| l.trim().parse().ok()).collect();
    let mib = mib.filter(|list| !list.is_empty())?;
    Some(mib.iter().sum::<u64>().saturating_mul(1 << 20))
}

#[cfg(target_os = "linux")]
fn amd() -> Option<u64> {
    let number = |path: std::path::PathBuf| -> Option<u64> {
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    let cards = std::fs::read_dir("/sys/class/drm").ok()?.flatten().take(64);
    let free: Vec<u64> = cards
        .filter(|card| {
            let name = card.file_name();
            let name = name.to_string_lossy();
            name.starts_with("card") && !name.contains('-')
        })
        .filter_map(|card| {
            let device = card.path().join("device");
            let total = number(device.join("mem_info_vram_total"))?;
            Some(total.saturating_sub(number(device.join("mem_info_vram_used"))?))
        })
        .collect();
    (!free.is_empty()).then(|| free.iter().sum())
}

#[cfg(not(target_os = "linux"))]
fn amd() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn room(main: u64, graphics: u64) -> Room {
        Room {
            main: Some(main * GIB),
            graphics: (graphics > 0).then_some(graphics * GIB),
        }
    }

    #[test]
    fn weights_buffers_and_cache_are_counted() {
        // qwen3-coder:30b: 18 GiB of weights, 96 KiB a token, so 3 GiB for 32k.
        let info = ModelInfo {
            bytes: Some(18 * GIB),
            kv_bytes_per_token: Some(96 << 10),
            ..Default::default()
        };
        let at = |main, graphics| fit(&info, 32_768, room(main, graphics));
        let need = 22 * GIB + GIB / 2;
        assert_eq!(at(64, 24), Some((need, Fit::Graphics)));
        assert_eq!(at(23, 0), Some((need, Fit::Main)));
        assert_eq!(at(16, 12), Some((need, Fit::Split)));
        assert_eq!(at(16, 0), Some((need, Fit::No)));
    }

    #[test]
    fn a_loaded_model_needs_only_what_its_window_lacks() {
        let info = ModelInfo {
            bytes: Some(18 * GIB),
            kv_bytes_per_token: Some(96 << 10),
            loaded: true,
            loaded_window: Some(4_096),
            ..Default::default()
        };
        assert_eq!(fit(&info, 4_096, room(1, 0)), Some((0, Fit::Loaded)));
        let more = (96 << 10) * (32_768 - 4_096);
        assert_eq!(fit(&info, 32_768, room(4, 0)), Some((more, Fit::Main)));
        assert_eq!(fit(&info, 32_768, room(1, 0)), Some((more, Fit::No)));
    }

    #[test]
    fn what_is_not_known_is_not_said() {
        let info = ModelInfo {
            bytes: Some(8 * GIB),
            ..Default::default()
        };
        assert_eq!(fit(&info, 8_192, room(64, 0)), None);
        assert!(matches!(fit(&info, 8_192, room(4, 0)), Some((_, Fit::No))));
        assert_eq!(fit(&ModelInfo::default(), 8_192, room(64, 0)), None);
    }

    #[test]
    fn the_drivers_answer() {
        assert_eq!(read_nvidia("23028\n11264\n"), Some(34_292 << 20));
        assert_eq!(read_nvidia("[N/A]\n"), None);
        assert_eq!(read_nvidia(""), None);
    }
}
