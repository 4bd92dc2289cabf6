//! What Tab offers: slash commands with their arguments, and files after an `@`.

use crate::cli::render::wrap::fit_start;
use crate::cli::slash::{self, COMMANDS};
use ignore::WalkBuilder;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The most entries that are looked at, and for how long: a key must not be waited for.
const SEEN: usize = 50_000;
const TIME: Duration = Duration::from_millis(250);
/// The most that is offered.
const OFFERED: usize = 20;

/// Completion for a session in a folder.
pub struct Completion {
    cwd: PathBuf,
}

impl Completion {
    /// Files are those below `cwd`.
    pub fn new(cwd: &Path) -> Self {
        Completion {
            cwd: cwd.to_owned(),
        }
    }

    /// Where the last word of `line` begins, and what it may become, the best first.
    pub fn of(&self, line: &str) -> (usize, Vec<String>) {
        if let Some(rest) = line.strip_prefix('/') {
            return command(rest);
        }
        match mention(line) {
            Some((at, word)) => (at, self.files(word)),
            None => (line.len(), Vec::new()),
        }
    }

    /// What would complete a command's name, and what it does, in at most so many columns.
    pub fn hint(&self, line: &str, columns: usize) -> Option<String> {
        let name = line.strip_prefix('/').filter(|n| !n.is_empty())?;
        let command = COMMANDS.iter().find(|c| c.name.starts_with(name))?;
        let rest = command.name.get(name.len()..)?;
        Some(fit_start(&format!("{rest}  {}", command.help), columns)).filter(|h| h.len() > 2)
    }

    /// Files and folders whose path has the letters of `word` in this order. What ignore files
    /// name is left out, as are hidden files unless the word begins with a dot.
    fn files(&self, word: &str) -> Vec<String> {
        let word = word.trim_matches('"');
        // A folder that was typed out is where to look.
        let folder = word.rfind('/').map_or("", |at| &word[..=at]);
        let root = self.cwd.join(folder);
        let (root, base, sought) = match root.is_dir() {
            true => (root, folder, &word[folder.len()..]),
            false => (self.cwd.clone(), "", word),
        };
        let until = Instant::now() + TIME;
        let walk = WalkBuilder::new(&root)
            .hidden(!sought.starts_with('.'))
            .require_git(false)
            .build();
        let mut found = Vec::new();
        for entry in walk.take(SEEN).flatten() {
            if Instant::now() > until {
                break;
            }
            let relative = entry.path().strip_prefix(&root).ok().and_then(Path::to_str);
            // A line end in a name would end the message.
            let Some(name) = relative.filter(|n| !n.is_empty() && !n.contains(char::is_control))
            else {
                continue;
            };
            let name = name.replace('\\', "/");
            if let Some(score) = likeness(&name, sought) {
                let is_dir = entry.file_type().is_some_and(|t| t.is_dir());
                let end = if is_dir { "/" } else { "" };
                found.push((score, format!("{base}{name}{end}")));
            }
        }
        found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        found.truncate(OFFERED);
        found
            .into_iter()
            .map(|(_, path)| as_mention(&path))
            .collect()
    }
}

/// A path as it stands in a message.
fn as_mention(path: &str) -> String {
    match path.contains(char::is_whitespace) {
        true => format!("@\"{path}\""),
        false => format!("@{path}"),
    }
}

/// The word after an `@` at the end of a line, and where the `@` stands.
fn mention(line: &str) -> Option<(usize, &str)> {
    let begins = |at: usize| {
        line[..at]
            .chars()
            .next_back()
            .is_none_or(char::is_whitespace)
    };
    let at = line
        .rmatch_indices('@')
        .map(|(at, _)| at)
        .find(|at| begins(*at))?;
    let word = &line[at + 1..];
    let open = word.starts_with('"') && word.matches('"').count() == 1;
    (open || !word.contains(char::is_whitespace)).then_some((at, word))
}

/// A command's name, or its argument.
fn command(rest: &str) -> (usize, Vec<String>) {
    let Some((name, words)) = rest.split_once(char::is_whitespace) else {
        let names = COMMANDS.iter().flat_map(|c| {
            // What wants an argument gets the space before it.
            let end = if c.complete.is_some() { " " } else { "" };
            let all = std::iter::once(c.name).chain(c.alias);
            all.map(move |name| (name, end))
        });
        let fitting = names.filter(|(name, _)| name.starts_with(rest));
        return (0, fitting.map(|(n, end)| format!("/{n}{end}")).collect());
    };
    let word = words.rsplit(char::is_whitespace).next().unwrap_or(words);
    let start = 1 + rest.len() - word.len();
    let all = slash::by_name(name).and_then(|c| c.complete).map(|f| f());
    let mut found: Vec<(usize, String)> = all
        .unwrap_or_default()
        .into_iter()
        .filter_map(|argument| Some((likeness(&argument, word)?, argument)))
        .collect();
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    found.truncate(OFFERED);
    (
        start,
        found.into_iter().map(|(_, argument)| argument).collect(),
    )
}

/// How well `word` stands for `name`: its letters must be there in order, whatever their case.
/// Better are letters in a row, at the beginning of a part, and in the last part; then short names.
fn likeness(name: &str, word: &str) -> Option<usize> {
    const ROW: usize = 8;
    const BEGINNING: usize = 10;
    const LAST_PART: usize = 4;
    let last_part = name.trim_end_matches('/').rfind('/').map_or(0, |at| at + 1);
    let mut wanted = word.chars().flat_map(char::to_lowercase).peekable();
    let (mut score, mut before, mut in_row) = (1_000, '/', false);
    for (at, c) in name.char_indices() {
        let Some(sought) = wanted.peek() else {
            break;
        };
        let hit = c.to_lowercase().eq([*sought]);
        if hit {
            wanted.next();
            score += usize::from(in_row) * ROW;
            score += usize::from(!before.is_alphanumeric()) * BEGINNING;
            score += usize::from(at >= last_part) * LAST_PART;
        }
        (in_row, before) = (hit, c);
    }
    let depth = name.matches('/').count();
    wanted
        .peek()
        .is_none()
        .then(|| score.saturating_sub(name.len() / 4 + depth * 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn folder() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        for path in [
            "src/cli/repl.rs",
            "src/cli/render.rs",
            "src/model/reply.rs",
            "target/repl.rs",
            "my notes.md",
            ".env",
        ] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, "").expect("written");
        }
        fs::write(dir.path().join(".gitignore"), "target/\n").expect("written");
        dir
    }

    #[test]
    fn letters_in_order_find_files_that_are_not_ignored() {
        let dir = folder();
        let completion = Completion::new(dir.path());
        let (start, found) = completion.of("see @repl");
        assert_eq!((start, found[0].as_str()), (4, "@src/cli/repl.rs"));
        assert!(!found.iter().any(|f| f.contains("target")), "{found:?}");
        assert_eq!(completion.of("@cli/ren").1, ["@src/cli/render.rs"]);
        assert_eq!(completion.of("@src/cli/rp").1, ["@src/cli/repl.rs"]);
        assert_eq!(completion.of("@notes").1, ["@\"my notes.md\""]);
        assert_eq!(completion.of("@\"my no").1, ["@\"my notes.md\""]);
        assert_eq!(completion.of("@.en").1, ["@.env"]);
        assert_eq!(completion.of("@zzz").1, Vec::<String>::new());
    }

    #[test]
    fn an_address_is_no_mention() {
        assert_eq!(mention("mail me@example"), None);
        assert_eq!(mention("see @a and"), None);
        assert_eq!(mention("@"), Some((0, "")));
    }

    #[test]
    fn commands_and_their_arguments_are_completed() {
        let completion = Completion::new(Path::new("/nowhere"));
        assert_eq!(completion.of("/har"), (0, vec!["/harness ".into()]));
        let (start, found) = completion.of("/harness qwen");
        assert_eq!((start, found[0].as_str()), (9, "qwen-code"));
        assert_eq!(completion.of("/zzz").1, Vec::<String>::new());
        let hint = completion.hint("/har", 40).expect("a hint");
        assert!(
            hint.starts_with("ness  go on as") && hint.chars().count() == 40,
            "{hint}"
        );
        assert_eq!(completion.hint("hello", 40), None);
    }

    #[test]
    fn a_better_match_goes_before() {
        let better = |a: &str, b: &str, word: &str| likeness(a, word) > likeness(b, word);
        assert!(better("src/main.rs", "domain/src.rs", "main"));
        assert!(better("a/test.rs", "test/a.rs", "test"));
        assert!(better(
            "src/cli/editor.rs",
            "examples/docs/index-to-r.md",
            "editor"
        ));
        assert_eq!(likeness("abc", "acb"), None);
    }
}
