//! The fuzz targets over their corpora and a bounded number of changes of them, always the same.
//!
//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz NAME` looks for new inputs; what it finds becomes
//! a file of the corpus here.

#[path = "support/numbers.rs"]
mod numbers;
#[path = "fuzz/targets.rs"]
mod targets;

use numbers::Numbers;
use std::fs;
use std::path::Path;

/// How many changed inputs each target gets.
const ROUNDS: usize = 1000;

/// A corpus, file by file in the order of its names.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    let entries = fs::read_dir(folder.join(name)).expect("a corpus");
    let mut files: Vec<_> = entries.map(|e| e.expect("an entry").path()).collect();
    files.sort();
    files.iter().map(|f| fs::read(f).expect("a file")).collect()
}

/// One input made of others: cut, joined, repeated, with bytes changed.
fn changed(seeds: &[Vec<u8>], numbers: &mut Numbers) -> Vec<u8> {
    let mut out = seeds[numbers.below(seeds.len())].clone();
    for _ in 0..1 + numbers.below(4) {
        let at = numbers.below(out.len() + 1);
        match numbers.below(6) {
            0 => out.truncate(at),
            1 => out.extend_from_slice(&seeds[numbers.below(seeds.len())]),
            2 if at < out.len() => out[at] = u8::try_from(numbers.below(256)).unwrap_or(0),
            3 => out.insert(
                at,
                b"\0\n\r'\"{}[]\\/.$`<>|&;=:@~\xf0\xe2"[numbers.below(25)],
            ),
            4 => {
                let piece = out[at..out.len().min(at + 12)].to_vec();
                for _ in 0..numbers.below(8) {
                    out.splice(at..at, piece.iter().copied());
                }
            }
            _ if at < out.len() => {
                out.remove(at);
            }
            _ => {}
        }
    }
    out
}

fn exercise(target: &str) {
    let (name, run) = targets::ALL
        .iter()
        .find(|(name, _)| *name == target)
        .expect("a target");
    let seeds = corpus(name);
    assert!(!seeds.is_empty());
    for seed in &seeds {
        run(seed);
    }
    // More of them, and others: `FUZZ_ROUNDS=1000000 FUZZ_SEED=8`.
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let mut numbers = Numbers(number("FUZZ_SEED").unwrap_or(7));
    for _ in 0..number("FUZZ_ROUNDS").unwrap_or(ROUNDS as u64) {
        let input = changed(&seeds, &mut numbers);
        // So that a failure shows its input.
        if std::panic::catch_unwind(|| run(&input)).is_err() {
            panic!("{name}: {:?}", String::from_utf8_lossy(&input));
        }
    }
}

macro_rules! exercised {
    ($($name:ident),* $(,)?) => {
        $(#[test] fn $name() { exercise(stringify!($name)); })*

        #[test]
        fn every_target_is_exercised_and_has_a_fuzzer() {
            let here = [$(stringify!($name)),*];
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz");
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
            for (name, _) in targets::ALL {
                assert!(here.contains(&name), "{name}");
                assert!(folder.join(format!("fuzz_targets/{name}.rs")).is_file(), "{name}");
                assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
            }
        }
    };
}

exercised!(
    config,
    dialects,
    json_repair,
    jsonrpc,
    markdown,
    ndjson,
    patch,
    path_gate,
    rollout,
    sanitize,
    shell,
    sse,
);
