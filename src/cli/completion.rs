//! Completion of command lines in a shell. The scripts hold no list of their own: they hand over the
//! words and get the candidates, which are made from the tables of the command line.

use super::args::table::{self, FLAGS, Flag, GROUPS, SUBCOMMANDS, Take, Verb};
use super::render::ColorChoice;
use crate::config::keys::{self, KEYS, Kind};
use crate::harnesses;
use std::fmt::Write;

/// What a script can be made for, with the script.
pub const SHELLS: &[(&str, &str)] = &[
    ("bash", include_str!("completion/bash.sh")),
    ("zsh", include_str!("completion/zsh.sh")),
    ("fish", include_str!("completion/fish.fish")),
    ("powershell", include_str!("completion/powershell.ps1")),
];

/// The word that asks for candidates in the place of a shell's name: `=CURRENT` and the words before
/// it follow. An empty current word would get lost on its way in some shells, hence the sign.
pub const WORDS: &str = "words";

/// One thing that may stand at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Candidate {
    /// This word, and what it is.
    Word(String, String),
    /// A file.
    Files,
    /// A folder.
    Folders,
}

/// What only the machine knows. Each is asked for when a word of its kind is wanted.
pub trait Live {
    /// Names of models that servers have, each with where.
    fn models(&self) -> Vec<(String, String)>;
    /// Ids of stored sessions, each with what it is about.
    fn sessions(&self) -> Vec<(String, String)>;
    /// Names of profiles.
    fn profiles(&self) -> Vec<String>;
    /// Ids of providers, each with its name.
    fn providers(&self) -> Vec<(String, String)>;
    /// Names of the MCP servers of the config.
    fn servers(&self) -> Vec<String>;
}

/// What may stand in the place of `current`, after the words `before`.
pub fn candidates(before: &[String], current: &str, live: &dyn Live) -> Vec<Candidate> {
    let typed = Typed::read(before);
    if let Some(flag) = typed.pending {
        return matching(values(flag, live), "", current);
    }
    if typed.ended {
        return vec![Candidate::Files];
    }
    if let Some((name, value)) = current.strip_prefix("--").and_then(|c| c.split_once('=')) {
        let Some(flag) = Flag::by_long(name).filter(|f| !f.value.is_empty()) else {
            return Vec::new();
        };
        return matching(values(flag, live), &format!("--{name}="), value);
    }
    if current.starts_with('-') {
        let shown = FLAGS
            .iter()
            .filter(|f| !f.doc.is_empty() && typed.knows(f))
            .map(|f| word(&format!("--{}", f.name()), f.doc));
        return matching(shown.collect(), "", current);
    }
    let mut found = match typed.own {
        0 => subcommands(&typed.words),
        _ => Vec::new(),
    };
    found.extend(own_words(&typed, live));
    matching(found, "", current)
}

/// The candidates as the scripts read them: a line each, `:files` and `:dirs` for the shell's own.
pub fn lines(candidates: &[Candidate]) -> String {
    let mut out = String::new();
    for candidate in candidates {
        // Writing to a String cannot fail.
        let _ = match candidate {
            Candidate::Word(word, doc) => writeln!(out, "{word}\t{doc}"),
            Candidate::Files => writeln!(out, ":files"),
            Candidate::Folders => writeln!(out, ":dirs"),
        };
    }
    out
}

/// The words before the cursor, as far as they matter.
#[derive(Default)]
struct Typed {
    /// Those that name the subcommand.
    words: Vec<&'static str>,
    /// How many the subcommand got of its own.
    own: usize,
    /// The flag whose value comes next.
    pending: Option<&'static Flag>,
    /// No flags come any more.
    ended: bool,
}

impl Typed {
    fn read(before: &[String]) -> Typed {
        let mut typed = Typed::default();
        for text in before {
            if typed.ended || typed.pending.take().is_some() {
                continue;
            }
            match text.strip_prefix('-') {
                Some("-") => typed.ended = true,
                Some(rest) => typed.pending = pending(rest),
                None => typed.word(text),
            }
            typed.ended |= typed.own > 0 && typed.verb() == Some(Verb::Sandbox);
        }
        typed
    }

    fn word(&mut self, text: &str) {
        let next = table::next_words(&self.words);
        match next.into_iter().find(|n| *n == text && self.own == 0) {
            Some(name) => {
                let row = SUBCOMMANDS.iter().find(|s| s.alias == Some(name));
                let whole = row.and_then(|s| s.words.last().copied());
                self.words.push(whole.unwrap_or(name));
            }
            None => self.own += 1,
        }
    }

    fn verb(&self) -> Option<Verb> {
        let row = SUBCOMMANDS.iter().find(|s| s.words == self.words);
        row.map(|s| s.verb)
    }

    /// True for a flag that may stand here. In the middle of `harness …` any of its members' may.
    fn knows(&self, flag: &Flag) -> bool {
        match self.verb() {
            Some(verb) => flag.on.contains(&verb),
            None => SUBCOMMANDS
                .iter()
                .any(|s| s.words.starts_with(&self.words) && flag.on.contains(&s.verb)),
        }
    }
}

/// The flag that these letters or this name leave without its value. `rest` is the word without
/// its first dash.
fn pending(rest: &str) -> Option<&'static Flag> {
    let flag = match rest.strip_prefix('-') {
        Some(name) => Flag::by_long(name),
        // The last of several short ones; a value may follow a letter at once.
        None => {
            let mut letters = rest.chars();
            let first = letters
                .by_ref()
                .find_map(|letter| Flag::by_short(letter).filter(|flag| !flag.value.is_empty()));
            first.filter(|_| letters.next().is_none())
        }
    };
    flag.filter(|flag| !flag.value.is_empty())
}

/// The subcommands that may follow.
fn subcommands(words: &[&str]) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for row in SUBCOMMANDS {
        let Some([next, rest @ ..]) = row.words.strip_prefix(words) else {
            continue;
        };
        let known = |c: &Candidate| matches!(c, Candidate::Word(name, _) if name == next);
        if found.iter().any(known) {
            continue;
        }
        let group = GROUPS.iter().find(|g| words.is_empty() && g.0 == *next);
        let doc = match rest.is_empty() {
            true => row.doc,
            false => group.map_or(row.doc, |g| g.1),
        };
        found.push(word(next, doc));
    }
    found
}

/// What a subcommand takes besides flags, as far as it can be listed.
fn own_words(typed: &Typed, live: &dyn Live) -> Vec<Candidate> {
    let Some(verb) = typed.verb() else {
        return Vec::new();
    };
    match (verb, typed.own) {
        (verb, 0) if table::RESUMES.contains(&verb) => pairs(live.sessions()),
        (Verb::HarnessShow, 0) => harness_ids(),
        (Verb::Login | Verb::LoginStatus | Verb::Logout, 0) => pairs(live.providers()),
        (Verb::McpGet | Verb::McpRemove, 0) => plain(&live.servers()),
        (Verb::Completion, 0) => {
            let names = SHELLS.iter().map(|(name, _)| *name).chain(["man"]);
            plain(&names.collect::<Vec<_>>())
        }
        (Verb::Help, 0) => subcommands(&[]),
        (Verb::Sandbox, _) => vec![Candidate::Files],
        _ => Vec::new(),
    }
}

/// The values of a flag.
fn values(flag: &Flag, live: &dyn Live) -> Vec<Candidate> {
    match (flag.name(), flag.take) {
        ("model", _) => pairs(live.models()),
        ("harness", _) => harness_ids(),
        ("provider", _) => pairs(live.providers()),
        ("profile", _) => plain(&live.profiles()),
        ("local-provider", _) => plain(keys::LOCAL_PROVIDERS),
        ("wire", _) => plain(keys::WIRES),
        ("color", _) => plain(&ColorChoice::ALL.map(|(_, name)| name)),
        ("config", _) => {
            let settable = KEYS
                .iter()
                .filter(|key| key.acts && !key.path.contains('*'));
            settable
                .map(|key| word(&format!("{}=", key.path), key.doc))
                .collect()
        }
        (_, Take::Key(path)) => match keys::by_path(path).map(|key| key.kind) {
            Some(Kind::OneOf(names)) => plain(names),
            _ => Vec::new(),
        },
        _ => match flag.value {
            "DIR" => vec![Candidate::Folders],
            "FILE" | "PATH" => vec![Candidate::Files],
            _ => Vec::new(),
        },
    }
}

fn harness_ids() -> Vec<Candidate> {
    let all = harnesses::ALL.iter();
    all.map(|harness| word(harness.id(), harness.about()))
        .collect()
}

fn plain(names: &[impl AsRef<str>]) -> Vec<Candidate> {
    names.iter().map(|name| word(name.as_ref(), "")).collect()
}

fn pairs(pairs: Vec<(String, String)>) -> Vec<Candidate> {
    pairs
        .into_iter()
        .map(|(name, doc)| word(&name, &doc))
        .collect()
}

/// A candidate on one line: what a session or a server calls itself may hold anything.
fn word(name: &str, doc: &str) -> Candidate {
    use super::render::sanitize::one_line;
    let tidy = |text: &str| one_line(text).replace('\t', " ");
    Candidate::Word(tidy(name), tidy(doc))
}

/// Those that begin with what stands at the cursor, each with `prefix` before it.
fn matching(found: Vec<Candidate>, prefix: &str, current: &str) -> Vec<Candidate> {
    let fits = |candidate: Candidate| match candidate {
        Candidate::Word(name, doc) => name
            .starts_with(current)
            .then(|| Candidate::Word(format!("{prefix}{name}"), doc)),
        other => Some(other),
    };
    found.into_iter().filter_map(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed;

    impl Live for Fixed {
        fn models(&self) -> Vec<(String, String)> {
            vec![
                ("qwen3-coder:30b".into(), "Ollama".into()),
                ("gpt-oss:20b".into(), "Ollama".into()),
            ]
        }

        fn sessions(&self) -> Vec<(String, String)> {
            vec![("0199a2b3".into(), "fix\u{1b}[31m\tthe\nbug".into())]
        }

        fn profiles(&self) -> Vec<String> {
            vec!["fast".into()]
        }

        fn providers(&self) -> Vec<(String, String)> {
            vec![("groq".into(), "Groq".into())]
        }

        fn servers(&self) -> Vec<String> {
            vec!["docs".into()]
        }
    }

    fn names(line: &str) -> Vec<String> {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let current = words.pop().unwrap();
        let all = candidates(&words, &current, &Fixed);
        lines(&all)
            .lines()
            .map(|l| l.split('\t').next().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn words_flags_and_values_come_from_the_tables() {
        assert!(
            names("").contains(&"exec".to_owned()) && names("").contains(&"harness".to_owned())
        );
        assert_eq!(names("har"), ["harness"]);
        assert_eq!(names("harness s"), ["show"]);
        assert_eq!(names("e res"), ["resume"], "after the short form of exec");
        assert_eq!(names("exec --output-l"), ["--output-last-message"]);
        assert!(names("models --outp").is_empty());
        assert_eq!(names("exec -s read"), ["read-only"]);
        assert_eq!(names("--sandbox=work"), ["--sandbox=workspace-write"]);
        assert_eq!(names("--local-provider l"), ["lmstudio", "llamacpp"]);
        assert_eq!(names("-c model_pro"), ["model_provider="]);
        assert_eq!(names("harness show mini"), ["mini-swe-agent", "minimal"]);
        assert_eq!(names("completion p"), ["powershell"]);
    }

    #[test]
    fn live_names_come_where_they_belong() {
        assert_eq!(names("-m qwen3"), ["qwen3-coder:30b"]);
        assert_eq!(names("exec --model=gpt"), ["--model=gpt-oss:20b"]);
        assert_eq!(names("-p "), ["fast"]);
        assert_eq!(names("exec --provider g"), ["groq"]);
        assert_eq!(names("login g"), ["groq"]);
        assert_eq!(names("mcp remove "), ["docs"]);
        assert_eq!(names("resume 01"), ["0199a2b3"]);
        assert!(
            names("resume 0199a2b3 ").is_empty(),
            "the prompt is anything"
        );
        let all = candidates(&["fork".into()], "", &Fixed);
        assert!(lines(&all).starts_with("0199a2b3\tfix"), "{all:?}");
        assert_eq!(lines(&all).lines().count(), 1);
        assert!(!lines(&all).contains('\u{1b}'));
    }

    #[test]
    fn files_are_the_shells() {
        assert_eq!(names("-C "), [":dirs"]);
        assert_eq!(names("exec -o "), [":files"]);
        assert_eq!(names("sandbox -- "), [":files"]);
        assert_eq!(names("sandbox ls -"), [":files"]);
    }
}
