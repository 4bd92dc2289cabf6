//! The manual page and the reference pages, made from the tables of the command line, the config and
//! the slash commands.

use super::args::table::{FLAGS, Flag, SUBCOMMANDS, Subcommand};
use super::{exit, help, slash};
use crate::config::keys::{KEYS, Key};
use std::fmt::Write;

/// Files of the program below its home folder, each with what it holds.
const FILES: &[(&str, &str)] = &[
    ("config.toml", "Settings."),
    ("NAME.config.toml", "The settings of the profile NAME."),
    ("AGENTS.md", "Words of yours for every session."),
    ("sessions/", "Every session, an event a line."),
    ("history.jsonl", "What was typed."),
    ("log/", "Logs, without contents unless --debug was given."),
];

/// Variables of the environment, each with what it does.
const VARIABLES: &[(&str, &str)] = &[
    (
        "INTERPRETER_HOME",
        "The folder of config and sessions, instead of ~/.openinterpreter.",
    ),
    ("OLLAMA_HOST", "Where Ollama is."),
    ("NO_COLOR", "No colours, whatever its value."),
    ("EDITOR, VISUAL", "The editor of Ctrl+G."),
    (
        "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY",
        "Proxies; never for this machine itself.",
    ),
];

/// The manual page, for `man -l -`.
pub fn page() -> String {
    let mut out = format!(
        ".TH INTERPRETER 1 \"\" \"interpreter {}\" \"User Commands\"\n",
        env!("CARGO_PKG_VERSION")
    );
    out.push_str(
        ".SH NAME\ninterpreter \\- a coding agent for models that run on your own machine\n",
    );
    out.push_str(".SH SYNOPSIS\n");
    for row in SUBCOMMANDS {
        let call = format!("{} [FLAGS] {}", row.call(), row.usage);
        let _ = writeln!(out, ".br\n{}", roff(call.trim_end()));
    }
    let alone = SUBCOMMANDS.iter().filter(|row| row.words.is_empty());
    for row in alone {
        let _ = writeln!(out, ".SH DESCRIPTION\n{}.", roff(row.doc));
    }
    out.push_str(".SH SUBCOMMANDS\n");
    for row in SUBCOMMANDS.iter().filter(|row| !row.words.is_empty()) {
        let _ = writeln!(
            out,
            ".TP\n.B {}\n{}.",
            roff(&row.words.join(" ")),
            roff(row.doc)
        );
    }
    out.push_str(".SH FLAGS\n");
    for flag in flags() {
        let on = on(flag);
        let _ = writeln!(
            out,
            ".TP\n.B {}\n{}. {}",
            roff(help::name(flag).trim()),
            roff(flag.doc),
            roff(&on)
        );
    }
    out.push_str(".SH IN A SESSION\n");
    for row in slash::COMMANDS {
        let name = format!("/{} {}", row.name, row.usage);
        let _ = writeln!(out, ".TP\n.B {}\n{}", roff(name.trim_end()), roff(row.help));
    }
    pairs(
        &mut out,
        "ENVIRONMENT",
        VARIABLES
            .iter()
            .map(|(name, doc)| ((*name).to_owned(), *doc)),
    );
    pairs(
        &mut out,
        "FILES",
        FILES
            .iter()
            .map(|(name, doc)| (format!("~/.openinterpreter/{name}"), *doc)),
    );
    pairs(
        &mut out,
        "EXIT STATUS",
        exit::CODES
            .iter()
            .map(|(code, doc)| (code.to_string(), *doc)),
    );
    out.push_str(".SH EXAMPLES\n");
    for example in SUBCOMMANDS.iter().flat_map(|row| row.examples) {
        let _ = writeln!(out, ".PP\n{}", roff(example));
    }
    out
}

fn pairs<'a>(out: &mut String, title: &str, rows: impl Iterator<Item = (String, &'a str)>) {
    let _ = writeln!(out, ".SH {title}");
    for (name, doc) in rows {
        let _ = writeln!(out, ".TP\n.B {}\n{}", roff(&name), roff(doc));
    }
}

/// Text that is not markup: dashes that can be copied, and no line that begins like a request.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    match text.starts_with(['.', '\'']) {
        true => format!("\\&{text}"),
        false => text,
    }
}

/// The flags that are explained.
fn flags() -> impl Iterator<Item = &'static Flag> {
    FLAGS.iter().filter(|flag| !flag.doc.is_empty())
}

/// Where a flag belongs, in a sentence.
fn on(flag: &Flag) -> String {
    // The one of help and version is everywhere, too, but for words that take no flags.
    let most = SUBCOMMANDS.len() - 1;
    if flag.on.len() >= most {
        return "Everywhere.".into();
    }
    let calls = flag
        .on
        .iter()
        .map(|verb| Subcommand::of(*verb).words.join(" "));
    let calls: Vec<String> = calls
        .map(|words| {
            if words.is_empty() {
                "a session".into()
            } else {
                words
            }
        })
        .collect();
    format!("For {}.", calls.join(", "))
}

/// `cli.md`: every subcommand, flag and slash command.
pub fn command_line() -> String {
    let mut out = String::from(
        "# The command line\n\nMade from the tables in `src/cli`; `cargo run --example reference` writes it anew.\n\n## Subcommands\n\n| call | what it does |\n|---|---|\n",
    );
    for row in SUBCOMMANDS {
        let call = format!("{} {}", row.call(), row.usage);
        let _ = writeln!(out, "| `{}` | {} |", cell(call.trim_end()), cell(row.doc));
    }
    out.push_str("\n## Flags\n\n| flag | what it does | where |\n|---|---|---|\n");
    for flag in flags() {
        let name = cell(help::name(flag).trim());
        let _ = writeln!(
            out,
            "| `{name}` | {} | {} |",
            cell(flag.doc),
            cell(&on(flag))
        );
    }
    out.push_str("\n## In a session\n\n| command | what it does |\n|---|---|\n");
    for row in slash::COMMANDS {
        let mut name = format!("/{} {}", row.name, row.usage);
        if let Some(alias) = row.alias {
            name = format!("{} (/{alias})", name.trim_end());
        }
        let _ = writeln!(out, "| `{}` | {} |", cell(name.trim_end()), cell(row.help));
    }
    out.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
    for (code, doc) in exit::CODES {
        let _ = writeln!(out, "| {code} | {doc} |");
    }
    out.push_str("\n## Environment\n\n| variable | what it does |\n|---|---|\n");
    for (name, doc) in VARIABLES {
        let _ = writeln!(out, "| `{name}` | {doc} |");
    }
    out
}

/// `config.md`: every key.
pub fn config() -> String {
    let mut out = String::from(
        "# The config\n\nMade from the table in `src/config/keys.rs`; `cargo run --example reference` writes it anew. A `*` stands for a name of your choice. What a project's own file may not set is marked with \"yours only\".\n\n| key | value | unset | meaning |\n|---|---|---|---|\n",
    );
    for key in KEYS.iter().filter(|key| key.acts) {
        let whose = if key.project { "" } else { " (yours only)" };
        let default = match key.default {
            "" => String::new(),
            text => format!("`{}`", cell(text)),
        };
        let _ = writeln!(
            out,
            "| `{}` | {} | {default} | {}{whose} |",
            key.path,
            cell(&key.kind.allowed()),
            cell(key.doc)
        );
    }
    let idle: Vec<&Key> = KEYS.iter().filter(|key| !key.acts).collect();
    out.push_str("\n## Keys of Codex that have no effect here\n\nThey are accepted, so that its config loads unchanged.\n\n");
    for key in idle {
        let _ = writeln!(out, "- `{}`: {}", key.path, key.doc);
    }
    out
}

/// Text that stays in one cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_everything() {
        let page = page();
        for row in SUBCOMMANDS {
            assert!(page.contains(&roff(row.doc)), "{}", row.doc);
        }
        for flag in flags() {
            assert!(
                page.contains(&format!("\\-\\-{}", flag.name().replace('-', "\\-"))),
                "{}",
                flag.name()
            );
        }
        assert!(!page.contains("\n'") && page.starts_with(".TH"));
    }

    #[test]
    fn a_line_of_text_is_no_request() {
        assert_eq!(roff(".hidden -x \\"), "\\&.hidden \\-x \\e");
    }
}
