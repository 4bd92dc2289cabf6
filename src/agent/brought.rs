//! What exactly a project would have run, allowed or set, in lines for the question whether to trust
//! it.

use crate::config::Trust;
use crate::project::hooks::Hooks;
use crate::project::read_whole;
use std::path::Path;
use toml::Value;

/// The most bytes of a file that is read, the most lines that are shown, and the most characters of
/// one.
const MOST_BYTES: u64 = 1 << 20;
const MOST_LINES: usize = 200;
const LONGEST: usize = 400;

/// What a hook and what a server of a project does, in [`Line::does`].
pub const RUNS_HOOK: &str = "runs, unconfined, at";
/// The same of an MCP server.
pub const STARTS_SERVER: &str = "starts the MCP server";

/// The same of a setting.
pub const SETS: &str = "sets";

/// One thing that a project brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What it would do: `runs`, `sets`, `allows`, …
    pub does: &'static str,
    /// The command, setting or rule, as it stands there.
    pub what: String,
    /// The file.
    pub file: String,
}

/// Everything that counts only after the project is trusted, what runs programs first.
pub fn lines(trust: &Trust) -> Vec<Line> {
    let brought = &trust.brought;
    let mut lines = Vec::new();
    let mut add = |does, what: String, file: &Path| {
        lines.push(Line {
            does,
            what: short(&what),
            file: brought.shown(file),
        });
    };
    for file in brought.hooks.iter().chain(&brought.configs) {
        let hooks = Hooks::of_file(file);
        for hook in hooks.all() {
            add(RUNS_HOOK, hook.words(), file);
        }
        for why in hooks.warnings {
            add("has a mistake:", why, file);
        }
    }
    let mut settings = Vec::new();
    for file in &brought.configs {
        let text = read_whole(file, MOST_BYTES).map_err(|e| e.to_string());
        let table = text.and_then(|t| t.parse::<toml::Table>().map_err(|e| e.message().to_owned()));
        match table {
            Err(why) => add("cannot be read:", why, file),
            Ok(table) => {
                for (name, server) in table
                    .get("mcp_servers")
                    .and_then(Value::as_table)
                    .into_iter()
                    .flatten()
                {
                    add(STARTS_SERVER, server_words(name, server), file);
                }
                flatten(
                    &Value::Table(table),
                    &mut String::new(),
                    &mut |key, value| {
                        settings.push((format!("{key} = {value}"), file));
                    },
                );
            }
        }
    }
    for file in &brought.rules {
        match read_whole(file, MOST_BYTES) {
            Err(why) => add("cannot be read:", why.to_string(), file),
            Ok(text) => {
                let lines = text.lines().map(str::trim);
                for line in lines.filter(|l| !l.is_empty() && !l.starts_with('#')) {
                    add("rules", line.to_owned(), file);
                }
            }
        }
    }
    for (folder, scripts) in &brought.skills {
        let names: Vec<String> = scripts
            .iter()
            .map(|s| s.strip_prefix(folder).unwrap_or(s).display().to_string())
            .collect();
        add("offers the skill with scripts", names.join(", "), folder);
    }
    for (what, file) in settings {
        add(SETS, what, file);
    }
    for file in &brought.named {
        add("names, and so may run,", brought.shown(file), file);
    }
    if lines.len() > MOST_LINES {
        let more = lines.split_off(MOST_LINES).len();
        lines.push(Line {
            does: "brings",
            what: format!("{more} more things; look at its files before you trust it"),
            file: String::new(),
        });
    }
    lines
}

fn server_words(name: &str, server: &Value) -> String {
    let text = |key: &str| server.get(key).and_then(Value::as_str).unwrap_or_default();
    let args = server.get("args").and_then(Value::as_array);
    let mut words = vec![text("command").to_owned()];
    words.extend(args.into_iter().flatten().map(|a| match a.as_str() {
        Some(text) => crate::words::quote(text),
        None => a.to_string(),
    }));
    let call = match text("url") {
        "" => words.join(" "),
        url => url.to_owned(),
    };
    format!("{name}: {call}")
}

/// Every value with its dotted key; what has its own lines is left out.
fn flatten(value: &Value, path: &mut String, each: &mut dyn FnMut(&str, String)) {
    match value {
        Value::Table(table) => {
            for (name, inner) in table {
                if path.is_empty() && matches!(name.as_str(), "hooks" | "mcp_servers") {
                    continue;
                }
                let before = path.len();
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
                flatten(inner, path, each);
                path.truncate(before);
            }
        }
        leaf => each(path, leaf.to_string()),
    }
}

/// A long one is cut in its middle, since its end may be what matters.
fn short(text: &str) -> String {
    let line = text.trim().to_owned();
    let count = line.chars().count();
    if count <= LONGEST {
        return line;
    }
    let half = LONGEST / 2;
    let first: String = line.chars().take(half).collect();
    let last: String = line.chars().skip(count - half).collect();
    format!("{first} … ({} characters more) … {last}", count - 2 * half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Overrides, load};
    use std::fs;

    #[test]
    fn every_thing_is_a_line_with_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let put = |name: &str, text: &str| {
            let path = root.join("p").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put(
            ".openinterpreter/config.toml",
            "sandbox_mode = \"danger-full-access\"\n[mcp_servers.x]\ncommand = \"sh\"\nargs = [\"-c\", \"a b\"]\n\
             [[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = \"python3 tools/x.py\"\n",
        );
        put(
            ".openinterpreter/hooks.json",
            "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"command\": \"y\"}]}]}}",
        );
        put(
            ".openinterpreter/rules/r.rules",
            "# why\nprefix_rule(pattern=[\"git\"], decision=\"allow\")\n",
        );
        put(".agents/skills/s/SKILL.md", "");
        put(".agents/skills/s/scripts/go.sh", "");
        put("tools/x.py", "");
        let config = load(&root.join("h"), &root.join("p"), &Overrides::default()).unwrap();
        let got: Vec<String> = lines(&config.trust)
            .iter()
            .map(|l| format!("{} {} ({})", l.does, l.what, l.file))
            .collect();
        assert_eq!(
            got,
            [
                "runs, unconfined, at PreToolUse of Bash: y (.openinterpreter/hooks.json)",
                "runs, unconfined, at Stop: python3 tools/x.py (.openinterpreter/config.toml)",
                "starts the MCP server x: sh -c 'a b' (.openinterpreter/config.toml)",
                "rules prefix_rule(pattern=[\"git\"], decision=\"allow\") (.openinterpreter/rules/r.rules)",
                "offers the skill with scripts scripts/go.sh (.agents/skills/s)",
                "sets sandbox_mode = \"danger-full-access\" (.openinterpreter/config.toml)",
                "names, and so may run, tools/x.py (tools/x.py)",
            ]
        );
        assert!(
            short(&"x".repeat(1000))
                .ends_with(&format!("(600 characters more) … {}", "x".repeat(200)))
        );
    }
}
