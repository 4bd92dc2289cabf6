//! Help texts, made from the tables of the command line.

use super::args::table::{FLAGS, Flag, GROUPS, SUBCOMMANDS, Subcommand, Verb};
use super::exit;
use super::render::wrap::break_lines;
use std::fmt::Write;

/// The flags that the first help explains; it names the others, which the help of `exec` explains.
const FIRST: [&str; 15] = [
    "model",
    "oss",
    "local-provider",
    "offline",
    "harness",
    "sandbox",
    "ask-for-approval",
    "yolo",
    "cd",
    "add-dir",
    "image",
    "config",
    "profile",
    "help",
    "version",
];

/// The column where the explanations of flags begin.
const COLUMN: usize = 34;

/// The help of a subcommand: at most 80 columns and 52 lines.
pub fn help(verb: Verb) -> String {
    let row = Subcommand::of(verb);
    let mut out = format!("{}.\n\n", row.doc);
    let call = row.call();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "Usage: {}",
        format!("{call} [FLAGS] {}", row.usage).trim_end()
    );
    if verb == Verb::Run {
        out.push_str("\nSubcommands:\n");
        subcommands(&mut out);
    }
    out.push_str("\nFlags:\n");
    let shown = FLAGS
        .iter()
        .filter(|f| f.on.contains(&verb) && !f.doc.is_empty());
    let (shown, others): (Vec<&Flag>, Vec<&Flag>) =
        shown.partition(|f| verb != Verb::Run || FIRST.contains(&f.name()));
    for flag in shown {
        let _ = writeln!(
            out,
            "  {:<width$}{}",
            name(flag),
            flag.doc,
            width = COLUMN - 2
        );
    }
    if !others.is_empty() {
        let names: Vec<String> = others.iter().map(|f| format!("--{}", f.name())).collect();
        let more = format!("and, as in `interpreter help exec`: {}", names.join(", "));
        for line in break_lines(&more, 76) {
            let _ = writeln!(out, "  {line}");
        }
    }
    out.push_str(match row.examples {
        [_] => "\nExample:\n",
        _ => "\nExamples:\n",
    });
    for example in row.examples {
        let _ = writeln!(out, "  {example}");
    }
    if matches!(verb, Verb::Exec | Verb::ExecResume) {
        let codes = exit::CODES.iter().take(5);
        let codes: Vec<String> = codes.map(|(code, doc)| format!("{code} {doc}")).collect();
        let _ = writeln!(out, "\nExit codes: {}", codes.join(", "));
    }
    out
}

/// A line for each subcommand. Those that share a first word share a line, beside the one that is
/// that word alone.
fn subcommands(out: &mut String) {
    let mut grouped = "";
    for row in SUBCOMMANDS {
        let [first, ..] = row.words else { continue };
        if SUBCOMMANDS.iter().all(|s| s.words != [*first]) {
            if grouped != *first {
                grouped = first;
                let members = SUBCOMMANDS
                    .iter()
                    .filter(|s| s.words.first() == Some(first));
                let names: Vec<_> = members.filter_map(|s| s.words.last().copied()).collect();
                let doc = GROUPS.iter().find(|g| g.0 == *first).map_or("", |g| g.1);
                let _ = writeln!(out, "  {first:<16}{doc}: {}", names.join(", "));
            }
            continue;
        }
        if row.words.len() > 1 {
            continue;
        }
        let words = row.words.join(" ");
        let name = match row.alias {
            Some(alias) => format!("{words}, {alias}"),
            None => words,
        };
        let _ = writeln!(out, "  {name:<16}{}", row.doc);
        let below = SUBCOMMANDS
            .iter()
            .filter(|s| s.words.len() > 1 && s.words.first() == Some(first));
        let below: Vec<_> = below.filter_map(|s| s.words.last().copied()).collect();
        if !below.is_empty() {
            let name = format!("{first} ...");
            let _ = writeln!(out, "  {name:<16}{}: the same with those", below.join(", "));
        }
    }
}

/// How a flag is written, with the name of its value.
pub(super) fn name(flag: &Flag) -> String {
    let short = match flag.short {
        Some(letter) => format!("-{letter}, "),
        None => "    ".into(),
    };
    format!("{short}--{} {}", flag.name(), flag.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_help_fits_the_screen_and_teaches() {
        for row in SUBCOMMANDS {
            let text = help(row.verb);
            assert!(text.lines().count() <= 52, "{}:\n{text}", row.call());
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{line}");
                assert_eq!(line, line.trim_end());
            }

            assert!(text.contains("\nExample"), "{text}");
            for flag in FLAGS.iter().filter(|f| f.on.contains(&row.verb)) {
                let named = text.contains(&format!("--{}", flag.name()));
                assert_eq!(named, !flag.doc.is_empty(), "--{} in:\n{text}", flag.name());
            }
        }
    }

    #[test]
    fn every_example_parses() {
        for row in SUBCOMMANDS {
            for example in row.examples {
                let line = example.split(" | ").last().unwrap_or(example);
                let words = line.split_whitespace().skip(1);
                // Quoted words stand for one argument.
                let mut args: Vec<String> = Vec::new();
                let mut open = false;
                for word in words {
                    match args.last_mut().filter(|_| open) {
                        Some(last) => *last = format!("{last} {word}"),
                        None => args.push(word.to_owned()),
                    }
                    open ^= word.matches('"').count() % 2 == 1;
                }
                crate::cli::args::parse(args).unwrap_or_else(|e| panic!("{example}: {e}"));
            }
        }
    }

    #[test]
    fn values_that_a_flag_names_in_its_help_are_the_allowed_ones() {
        use crate::cli::args::parse;
        for (flag, verb, values) in [
            ("--local-provider", "exec", "ollama lmstudio llamacpp vllm"),
            (
                "--sandbox",
                "exec",
                "read-only workspace-write danger-full-access",
            ),
            ("--ask-for-approval", "exec", "untrusted on-request never"),
            ("--color", "exec", "always never auto"),
            ("--size", "exec", "full compact tiny"),
            ("--wire", "harness show x", "chat responses messages ollama"),
        ] {
            let row = FLAGS.iter().find(|f| flag[2..] == *f.name()).unwrap();
            for value in values.split(' ') {
                assert!(row.doc.contains(value), "{flag}");
                let args = verb.split(' ').chain([flag, value]);
                assert!(parse(args).is_ok(), "{flag} {value}");
            }
        }
    }
}
