//! Git commands that only read may still start programs that a repository names for its files. Those
//! that nobody is asked about get the options that keep git from it.

use super::shell::{base_name, commands, is_shell};
use std::ops::Range;

/// Subcommands that show what is in files, and what keeps them from starting anything. The last one
/// keeps git out of submodules, which have settings of their own.
const SHOWING: [(&str, &[&str]); 4] = [
    ("diff", &OPTIONS),
    ("log", &OPTIONS),
    ("show", &OPTIONS),
    ("status", &[OPTIONS[2]]),
];
const OPTIONS: [&str; 3] = [
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=dirty",
];
/// How deep `bash -c '…'` is followed.
const MAX_DEPTH: usize = 8;

/// True when git would show what is in files and was not told to start nothing for it; also for a
/// script that is not plain.
pub(super) fn may_start(script: &str) -> bool {
    let may = |argv: &Vec<String>| {
        let Some((program, args)) = argv.split_first() else {
            return false;
        };
        let has = |option: &&str| args.iter().any(|a| a == option);
        let lacks = |(name, options): &(&str, &[&str])| has(name) && !options.iter().all(has);
        base_name(program) == "git" && SHOWING.iter().any(lacks)
    };
    commands(script).is_none_or(|all| all.iter().any(may))
}

/// A plain script with these options for each such command. Where one is written in a way that
/// cannot be added to, the script stays as it is there, and [`may_start`] says so.
pub(super) fn without(script: &str) -> String {
    added(script, 0)
}

fn added(script: &str, depth: usize) -> String {
    let mut out = String::with_capacity(script.len() + 64);
    let mut copied = 0;
    for words in plain_commands(script) {
        let word = |at: usize| {
            words
                .get(at)
                .and_then(|w: &Range<usize>| script.get(w.clone()))
        };
        let program = word(0).unwrap_or_default();
        let at = usize::from(word(1) == Some("--no-pager")) + 1;
        let shows = SHOWING.iter().find(|(name, _)| word(at) == Some(name));
        if let (Some((_, options)), "git") = (shows, base_name(program)) {
            let end = words.get(at).map_or(0, |w| w.end);
            out.push_str(script.get(copied..end).unwrap_or_default());
            for option in *options {
                out.push(' ');
                out.push_str(option);
            }
            copied = end;
        } else if is_shell(program)
            && matches!(word(1), Some("-c" | "-lc"))
            && depth < MAX_DEPTH
            && let Some(inner) = words.get(2).and_then(|w| quoted(script, w))
        {
            out.push_str(script.get(copied..inner.start).unwrap_or_default());
            out.push_str(&added(
                script.get(inner.clone()).unwrap_or_default(),
                depth + 1,
            ));
            copied = inner.end;
        }
    }
    out.push_str(script.get(copied..).unwrap_or_default());
    out
}

/// The inside of a word that is one pair of quotes.
fn quoted(script: &str, word: &Range<usize>) -> Option<Range<usize>> {
    let text = script.get(word.clone())?;
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inner.contains(quote)).then_some(word.start + 1..word.end - 1)
}

/// Where the words of each command of a plain script stand.
fn plain_commands(script: &str) -> Vec<Vec<Range<usize>>> {
    let mut all = vec![Vec::new()];
    let (mut start, mut quote) = (None, None);
    // A last line end ends the last word.
    for (at, c) in script.char_indices().chain([(script.len(), '\n')]) {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => {
                quote = Some(c);
                start.get_or_insert(at);
            }
            (None, ' ' | '\t' | '\n' | ';' | '|' | '&') => {
                if let (Some(from), Some(words)) = (start.take(), all.last_mut()) {
                    words.push(from..at);
                }
                if !matches!(c, ' ' | '\t') {
                    all.push(Vec::new());
                }
            }
            (None, _) => {
                start.get_or_insert(at);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_showing_command_gets_the_options() {
        const O: &str = "--no-ext-diff --no-textconv --ignore-submodules=dirty";
        const S: &str = "--ignore-submodules=dirty";
        for (script, want) in [
            ("git diff", format!("git diff {O}")),
            ("git log -p | cat", format!("git log {O} -p | cat")),
            (
                "cat 'git diff' && git --no-pager show HEAD; git status",
                format!("cat 'git diff' && git --no-pager show {O} HEAD; git status {S}"),
            ),
            (
                "bash -lc 'ls; git diff' || git diff",
                format!("bash -lc 'ls; git diff {O}' || git diff {O}"),
            ),
            (
                "sh -c \"bash -c 'git diff'\"",
                format!("sh -c \"bash -c 'git diff {O}'\""),
            ),
            ("echo git diff", "echo git diff".to_owned()),
            ("", String::new()),
        ] {
            assert_eq!(without(script), want);
            assert!(
                script.is_empty() || !may_start(&without(script)),
                "{script}"
            );
        }
        for script in ["'git' diff", "git 'diff'", "bash -c 'git'' diff'"] {
            assert_eq!(without(script), script);
            assert!(may_start(script), "{script}");
        }
        assert!(may_start("git status && ls"));
        assert!(!may_start("git branch && ls"));
        assert!(may_start("git diff > x"));
    }
}
