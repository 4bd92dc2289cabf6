//! `interpreter rules check -- CMD…`: what the rules say of a command, and which of them.

use super::session::Setup;
use crate::agent::approval::rules::{Decision, Judgement, Rules};
use crate::cli::args::Options;
use crate::cli::render::sanitize::one_line;
use crate::cli::{Failure, exit, say};
use crate::words::quote;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fmt::Write;
use std::io::{self, Write as _};

/// Prints the verdict on a command: its words, or one word that is a whole command line.
///
/// # Errors
/// A file of rules with a mistake.
pub fn check(command: &[OsString], options: &Options) -> Result<u8, Failure> {
    let words: Vec<String> = command
        .iter()
        .map(|w| w.to_string_lossy().into_owned())
        .collect();
    let script = match words.as_slice() {
        [line] => line.clone(),
        words => words.iter().map(|w| quote(w)).collect::<Vec<_>>().join(" "),
    };
    let rules = if options.rules.is_empty() {
        let setup = Setup::load(options)?;
        let (rules, warnings) = Rules::load(&setup.config, setup.home.path())?;
        for warning in setup.config.warnings.iter().chain(&warnings) {
            let _ = writeln!(io::stderr(), "{}", one_line(warning));
        }
        rules
    } else {
        Rules::of_files(&options.rules)?
    };
    let judgement = rules.judge(&script);
    match options.json {
        true => say(&format!("{:#}\n", as_json(&script, &judgement))),
        false => say(&as_text(&script, &judgement, rules.all().len())),
    }?;
    Ok(exit::OK)
}

fn as_text(script: &str, judgement: &Judgement, all: usize) -> String {
    let mut out = format!("{}\n", one_line(script));
    let verdict = match judgement.decision {
        Some(Decision::Allow) if judgement.sandboxed => {
            "allowed: it runs in the sandbox without a question"
        }
        Some(Decision::Allow) => "allowed: it runs outside the sandbox without a question",
        Some(Decision::Prompt) => "asked about first; refused where nobody can be asked",
        Some(Decision::Forbidden) => "forbidden: it does not run, and nobody is asked",
        None => "no rule decides: the sandbox and the approval policy do",
    };
    let _ = writeln!(out, "  {verdict}");
    for m in &judgement.matches {
        let command = m.command.iter().map(|w| quote(w)).collect::<Vec<_>>();
        let prefix = m.prefix.iter().map(|w| quote(w)).collect::<Vec<_>>();
        let _ = writeln!(
            out,
            "  {}  {}\n    matches `{}` of `{}`",
            one_line(&m.rule.place()),
            one_line(&m.rule.to_string()),
            one_line(&prefix.join(" ")),
            one_line(&command.join(" ")),
        );
    }
    if all == 0 {
        out.push_str("  there are no rules\n");
    } else if !judgement.is_plain {
        out.push_str("  no rule can allow it, because its words are not all known (variables, redirections, patterns, control flow)\n");
    } else {
        for argv in &judgement.unmatched {
            let words = argv.iter().map(|w| quote(w)).collect::<Vec<_>>().join(" ");
            let _ = writeln!(out, "  no rule allows `{}`", one_line(&words));
        }
    }
    out
}

/// In the form that the original prints, with what is our own in further keys.
fn as_json(script: &str, judgement: &Judgement) -> Value {
    let matched = judgement.matches.iter().map(|m| {
        let mut row = json!({
            "matchedPrefix": m.prefix,
            "decision": m.rule.decision.name(),
        });
        if let Some(why) = &m.rule.justification {
            row["justification"] = json!(why);
        }
        json!({
            "prefixRuleMatch": row,
            "command": m.command,
            "rule": m.rule.to_string(),
            "file": m.rule.file.display().to_string(),
            "line": m.rule.line,
        })
    });
    let mut all = json!({ "matchedRules": matched.collect::<Vec<_>>() });
    if let Some(decision) = judgement.decision {
        all["decision"] = json!(decision.name());
    }
    all["command"] = json!(script);
    all["sandboxed"] = json!(judgement.sandboxed);
    all["plain"] = json!(judgement.is_plain);
    all["unmatched"] = json!(judgement.unmatched);
    all
}
