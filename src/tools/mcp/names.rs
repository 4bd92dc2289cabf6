//! The names under which a model sees the tools of servers.

use sha2::{Digest, Sha256};

/// The longest name that every wire takes.
const LONGEST: usize = 64;
/// Hex digits of the hash that makes a name the only one.
const HASH: usize = 12;

/// `mcp__server__tool` in letters, digits, `_` and `-`. One that is too long, or that loses
/// something, ends in a hash of what it stands for: the same in every session, whatever the order.
pub fn shown(server: &str, tool: &str) -> String {
    let plain = format!("mcp__{}__{}", clean(server), clean(tool));
    let lossless = clean(tool) == tool && clean(server) == server;
    match plain.len() <= LONGEST && lossless {
        true => plain,
        false => with_hash(&plain, server, tool),
    }
}

/// The same, for a tool whose plain name is that of another one.
pub(super) fn with_hash(plain: &str, server: &str, tool: &str) -> String {
    let hash = Sha256::digest(format!("{server}\0{tool}"));
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let kept = crate::words::head(plain, LONGEST - HASH - 1).trim_end_matches('_');
    format!("{kept}_{}", crate::words::head(&hex, HASH))
}

/// Letters, digits, `_` and `-`.
pub(super) fn clean(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.chars()
        .map(|c| if fits(c) { c } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_every_wire_and_are_the_only_ones() {
        assert_eq!(shown("fs", "read_file"), "mcp__fs__read_file");
        let odd = ["a.b", "a/b", "a b", "a_b"].map(|tool| shown("fs", tool));
        assert_eq!(odd[3], "mcp__fs__a_b");
        let long = shown("server", &"x".repeat(100));
        for name in odd.iter().chain([&long]) {
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            assert!(name.len() <= 64 && name.chars().all(fits), "{name}");
        }
        let mut all = odd.to_vec();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 4);
        assert!(shown("fs", "ü").starts_with("mcp__fs_"));
    }
}
