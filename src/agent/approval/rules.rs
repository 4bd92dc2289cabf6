//! Rules of the user, and of a trusted project, about commands: `*.rules` files.
//!
//! A rule names the first words of a command and says `allow` (run it outside the sandbox without
//! asking), `prompt` or `forbidden`. Of all rules that match, whatever file they stand in, the
//! strictest holds. To allow, each command of the line must be allowed and be readable to its last
//! word; to ask or forbid, it is enough that such a command can be made out anywhere in it.

mod broad;
mod read;
#[cfg(test)]
mod tests;

pub use broad::is_too_broad;

use super::dangerous::{RUNNERS, everything, is_unknown};
use super::shell::{base_name, commands};
use crate::config::Config;
use crate::store::belongings::rule_files;
use crate::store::paths::private_file;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The most rules in all.
const MOST_RULES: usize = 5_000;
/// What a rule says of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// Run it without asking.
    Allow,
    /// Ask first.
    Prompt,
    /// Never run it.
    Forbidden,
}

impl Decision {
    const ALL: [(Decision, &'static str); 3] = [
        (Decision::Allow, "allow"),
        (Decision::Prompt, "prompt"),
        (Decision::Forbidden, "forbidden"),
    ];

    /// The name in files.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(d, _)| *d == self)
            .map_or("forbidden", |(_, n)| n)
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(d, _)| *d)
    }
}

/// One `prefix_rule`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The first words of a command; of each place one of several.
    pub pattern: Vec<Vec<String>>,
    /// What it says.
    pub decision: Decision,
    /// An allowed command stays in the sandbox.
    pub sandboxed: bool,
    /// Why, in the words of its author.
    pub justification: Option<String>,
    /// The file that it stands in.
    pub file: PathBuf,
    /// Its line, from 1.
    pub line: usize,
}

impl Rule {
    /// How many words of a command it matches; `None`: it does not match.
    fn matches(&self, argv: &[String], program: impl Fn(&str, &str) -> bool) -> Option<usize> {
        let fits = |(at, alternatives): (usize, &Vec<String>)| {
            let word = argv.get(at)?;
            alternatives
                .iter()
                .any(|a| if at == 0 { program(a, word) } else { a == word })
                .then_some(())
        };
        self.pattern
            .iter()
            .enumerate()
            .try_for_each(|p| fits(p).ok_or(()))
            .ok()?;
        Some(self.pattern.len())
    }

    /// True when it would match, should the words that only the shell knows come out so, or should what
    /// stands before the subcommand be options of the program.
    fn may_match(&self, argv: &[String], program: impl Fn(&str, &str) -> bool) -> bool {
        let (Some((word, args)), Some((first, rest))) =
            (argv.split_first(), self.pattern.split_first())
        else {
            return false;
        };
        // Another name for something, which the shell will take for it.
        if is_unknown(word) || word == "alias" && !args.is_empty() {
            return true;
        }
        if !first.iter().any(|a| program(a, word)) {
            return false;
        }
        let is_option = |at: usize| args.get(at).is_some_and(|w| w.starts_with('-'));
        // An option may have a value, which nobody here knows.
        let is_passed = |at: usize| is_option(at) || at > 0 && is_option(at - 1);
        let end = (0..args.len()).position(|at| !is_passed(at));
        (0..=end.unwrap_or(args.len()))
            .any(|at| may_begin(args.get(at..).unwrap_or_default(), rest))
    }

    /// Where it stands.
    pub fn place(&self) -> String {
        format!("{}:{}", self.file.display(), self.line)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |alternatives: &Vec<String>| match alternatives.as_slice() {
            [one] => quoted(one),
            several => {
                let all: Vec<String> = several.iter().map(|a| quoted(a)).collect();
                format!("[{}]", all.join(", "))
            }
        };
        let parts: Vec<String> = self.pattern.iter().map(part).collect();
        write!(
            f,
            "prefix_rule(pattern=[{}], decision={:?}",
            parts.join(", "),
            self.decision.name()
        )?;
        if self.sandboxed {
            f.write_str(", sandboxed=True")?;
        }
        if let Some(why) = &self.justification {
            write!(f, ", justification={}", quoted(why))?;
        }
        f.write_str(")")
    }
}

/// A text as [`read`] reads it back.
fn quoted(text: &str) -> String {
    let text = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{text}\"")
}

/// A rule and the command that it matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The whole command.
    pub command: Vec<String>,
    /// Its words that the rule matched.
    pub prefix: Vec<String>,
}

/// What the rules say of a command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgement<'a> {
    /// What holds; `None`: the rules say nothing, and the approval policy decides.
    pub decision: Option<Decision>,
    /// An allowed command stays in the sandbox.
    pub sandboxed: bool,
    /// Every rule that matched.
    pub matches: Vec<Match<'a>>,
    /// Every word of every command is known, so that it could be allowed.
    pub is_plain: bool,
    /// Commands that no rule allows.
    pub unmatched: Vec<Vec<String>>,
}

/// All rules of a session.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    rules: Vec<Rule>,
    /// Where a program of that name may lie to be allowed by its path.
    hosts: BTreeMap<String, Vec<String>>,
    /// The home whose file gets new rules; `None`: none are kept.
    home: Option<PathBuf>,
}

/// The file of rules that a person said yes to for good.
fn own_file(home: &Path) -> PathBuf {
    home.join("rules").join("default.rules")
}

impl Rules {
    /// The rules of the home and of a trusted project, and warnings about files of the project.
    ///
    /// # Errors
    /// When a file of the user's own has a mistake: a rule that is not read would not hold.
    pub fn load(config: &Config, home: &Path) -> Result<(Self, Vec<String>), String> {
        let mut rules = Rules {
            home: Some(home.to_owned()),
            ..Rules::default()
        };
        let mut warnings = Vec::new();
        for file in rule_files(&home.join("rules")) {
            rules.add(&file).map_err(|e| {
                format!("{e}; mend the file, or use --ignore-rules to run without rules")
            })?;
        }
        if config.trust.holds() {
            let brought = &config.trust.brought;
            for file in brought.rules.iter().filter(|f| brought.is_same(f)) {
                if let Err(why) = rules.add(file) {
                    warnings.push(format!("{why}; no rule of this file holds"));
                }
            }
        }
        Ok((rules, warnings))
    }

    /// The rules of these files alone.
    ///
    /// # Errors
    /// The first mistake.
    pub fn of_files(files: &[PathBuf]) -> Result<Self, String> {
        let mut rules = Rules::default();
        files.iter().try_for_each(|file| rules.add(file))?;
        Ok(rules)
    }

    fn add(&mut self, file: &Path) -> Result<(), String> {
        let read = read::file(file)?;
        // A file holds whole or not at all, and is judged with its own tests alone.
        let alone = Rules {
            rules: read.rules,
            hosts: read.hosts,
            home: None,
        };
        for test in &read.tests {
            let is = alone.allows_or_more(&test.command, test.rule);
            if is != test.matches {
                let should = if test.matches {
                    "should match"
                } else {
                    "should not match"
                };
                return Err(format!(
                    "{}:{}: the rule {should} `{}`",
                    file.display(),
                    test.line,
                    test.command
                ));
            }
        }
        self.rules.extend(alone.rules);
        self.rules.truncate(MOST_RULES);
        for (name, paths) in alone.hosts {
            self.hosts.entry(name).or_default().extend(paths);
        }
        Ok(())
    }

    /// True when the rule of that place in the list matches the command.
    fn allows_or_more(&self, command: &str, at: usize) -> bool {
        let rule = self.rules.get(at);
        let argv = commands(command).and_then(|mut all| (all.len() == 1).then(|| all.remove(0)));
        match (rule, argv) {
            (Some(rule), Some(argv)) => {
                let program = |name: &str, word: &str| self.is_program(name, word);
                rule.matches(&argv, program).is_some()
            }
            _ => false,
        }
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// All of them.
    pub fn all(&self) -> &[Rule] {
        &self.rules
    }

    /// `word` runs the program that a rule calls `name`: the same word, or a path that the rules
    /// know. Any other path may lead to something else of that name.
    fn is_program(&self, name: &str, word: &str) -> bool {
        name == word
            || base_name(word) == name
                && self
                    .hosts
                    .get(name)
                    .is_some_and(|paths| paths.iter().any(|p| p == word))
    }

    /// What the rules say of a script.
    pub fn judge(&self, script: &str) -> Judgement<'_> {
        let mut judgement = Judgement::default();
        if self.rules.is_empty() {
            return judgement;
        }
        // What asks or forbids holds for the program of that name wherever it lies.
        let named = |name: &str, word: &str| name == word || base_name(word) == base_name(name);
        let strict = |r: &&Rule| r.decision != Decision::Allow;
        match everything(script) {
            Some(all) => {
                for argv in &all {
                    for rest in within(argv) {
                        for rule in self.rules.iter().filter(strict) {
                            judgement.add(rule, rest, rule.matches(rest, named));
                        }
                    }
                    // Nobody can say that it is none of those, so it asks.
                    let may = |r: &Rule| r.may_match(argv, named);
                    if self.rules.iter().any(|r| strict(&r) && may(r)) {
                        judgement.decision = judgement.decision.max(Some(Decision::Prompt));
                    }
                }
            }
            // Nobody can say what it runs, so it is as strict as what would only ask.
            None if self.rules.iter().any(|r| strict(&r)) => {
                judgement.decision = Some(Decision::Prompt);
            }
            None => {}
        }
        let Some(plain) = commands(script) else {
            return judgement;
        };
        judgement.is_plain = true;
        for argv in plain {
            let program = |name: &str, word: &str| self.is_program(name, word);
            let before = judgement.matches.len();
            let allows = self.rules.iter().filter(|r| r.decision == Decision::Allow);
            for rule in allows {
                judgement.add(rule, &argv, rule.matches(&argv, program));
            }
            match &judgement.matches[before..] {
                [] => judgement.unmatched.push(argv),
                // Of several, one that lifts the fence is enough.
                found => judgement.sandboxed |= found.iter().all(|m| m.rule.sandboxed),
            }
        }
        if judgement.decision.is_none() && judgement.unmatched.is_empty() {
            judgement.decision = Some(Decision::Allow);
        }
        judgement
    }

    /// Adds a rule that allows commands with these first words, for good: to the user's own file and
    /// to this session. This is what a person's "always" does. `sandboxed` keeps such commands in the
    /// sandbox, for a question that would not have lifted it.
    ///
    /// # Errors
    /// When the words are too broad to be allowed for good, or the file cannot be written.
    pub fn save(&mut self, prefix: &[String], sandboxed: bool) -> Result<Rule, String> {
        let home = self.home.clone().ok_or("this session keeps no rules")?;
        let rule = written(prefix, sandboxed, own_file(&home))?;
        let known = |r: &Rule| {
            (&r.pattern, r.decision, r.sandboxed) == (&rule.pattern, rule.decision, rule.sandboxed)
        };
        if !self.rules.iter().any(known) {
            let mut file = private_file(&rule.file, false).map_err(|e| e.to_string())?;
            // The last line may have no end. Rules are split by line ends alone, so an empty line is
            // no harm.
            file.write_all(format!("\n{rule}\n").as_bytes())
                .and_then(|()| file.sync_all())
                .map_err(|e| format!("{} cannot be written: {e}", rule.file.display()))?;
            self.rules.push(rule.clone());
        }
        Ok(rule)
    }
}

/// The rule that [`Rules::save`] would add, to be shown before.
///
/// # Errors
/// When the words are none that may be allowed for good.
pub fn written(prefix: &[String], sandboxed: bool, file: PathBuf) -> Result<Rule, String> {
    if prefix.is_empty()
        || prefix
            .iter()
            .any(|w| w.is_empty() || w.chars().any(char::is_control))
    {
        return Err("a rule needs the first words of a command".into());
    }
    if is_too_broad(prefix) {
        return Err(format!(
            "`{}` alone would allow anything; name more words of the command",
            prefix.join(" ")
        ));
    }
    Ok(Rule {
        pattern: prefix.iter().map(|w| vec![w.clone()]).collect(),
        decision: Decision::Allow,
        sandboxed,
        justification: None,
        file,
        line: 0,
    })
}

impl<'a> Judgement<'a> {
    fn add(&mut self, rule: &'a Rule, command: &[String], matched: Option<usize>) {
        let Some(words) = matched else { return };
        let prefix = command.get(..words).unwrap_or(command).to_vec();
        self.matches.push(Match {
            rule,
            command: command.to_vec(),
            prefix,
        });
        if rule.decision != Decision::Allow {
            self.decision = self.decision.max(Some(rule.decision));
        }
    }

    /// Why, in a sentence: the strictest rule, its author's words, and its place.
    pub fn why(&self) -> String {
        let top = self
            .matches
            .iter()
            .find(|m| Some(m.rule.decision) == self.decision);
        match top {
            Some(m) => {
                let words = m.prefix.join(" ");
                let why = m.rule.justification.as_deref().unwrap_or_default().trim();
                let why = match why {
                    "" => String::new(),
                    why => format!(": {}", why.trim_end_matches('.')),
                };
                format!("a rule about `{words}` ({}){why}", m.rule.place())
            }
            None => "the command cannot be read well enough to hold the rules against it".into(),
        }
    }
}

/// True when words may begin so. From one on that only the shell knows, anything may stand anywhere.
fn may_begin(words: &[String], pattern: &[Vec<String>]) -> bool {
    for (at, alternatives) in pattern.iter().enumerate() {
        match words.get(at) {
            Some(word) if is_unknown(word) => return true,
            Some(word) if alternatives.contains(word) => {}
            _ => return false,
        }
    }
    true
}

/// A command, and what stands behind a program that runs other commands: it may begin anywhere.
fn within(argv: &[String]) -> impl Iterator<Item = &[String]> {
    let runs = argv
        .first()
        .is_some_and(|p| RUNNERS.contains(&base_name(p)));
    let most = if runs { argv.len() } else { argv.len().min(1) };
    (0..most).map(|at| &argv[at..])
}
