//! An "always" of the person: a rule that lets commands with a beginning run without a question.
//!
//! A rule is a line of a file, in the form that other agents read, too:
//! `prefix_rule(pattern=["cargo", "test"], decision="allow")`.

use super::rules;
use super::shell::{self, Script};
use super::{is_dangerous, is_known_safe};
use crate::tools::action::{Shell, ShellKind};
use crate::words::quote;
use std::path::PathBuf;

/// The beginning of commands that run without a question, as the words of its argument list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    prefix: Vec<String>,
    sandboxed: bool,
}

impl Rule {
    /// The narrowest rule with which this command would run without a question, or the one that the
    /// model asks for, if that is one. `None` for a command that no rule can name: a script that is
    /// more than plain commands, several commands that are not known to be harmless, one with an
    /// environment or a shell of its own, one that removes by force. `sandboxed`: a yes would leave it
    /// in the sandbox, and so does the rule.
    pub fn proposed(shell: &Shell, sandboxed: bool) -> Option<Rule> {
        let open = open_part(shell)?;
        let asked = shell.escalate.iter().map(|wish| &wish.prefix);
        let rule = |prefix: &Vec<String>| Rule {
            prefix: prefix.clone(),
            sandboxed,
        };
        let asked = asked.map(rule);
        let whole = rule(&open);
        let fits = |rule: &Rule| rule.covers(&open) && rule.written().is_ok();
        asked.chain([whole]).find(fits)
    }

    /// The same rule for a beginning that a person typed, which must be one of this command.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn edited(&self, words: &str, shell: &Shell) -> Result<Rule, String> {
        let rule = match shell::parse(words) {
            Script::Plain(parts) => match <[Vec<String>; 1]>::try_from(parts) {
                Ok([prefix]) => Rule {
                    prefix,
                    sandboxed: self.sandboxed,
                },
                Err(_) => return Err("these are several commands".into()),
            },
            Script::Opaque => return Err("these are not plain words".into()),
        };
        let covered = open_part(shell).is_some_and(|open| rule.covers(&open));
        match rule.written() {
            _ if !covered => Err("the command does not begin so".into()),
            Err(why) => Err(why),
            Ok(_) => Ok(rule),
        }
    }

    /// Its words as a person types them.
    pub fn words(&self) -> String {
        let words: Vec<String> = self.prefix.iter().map(|word| quote(word)).collect();
        words.join(" ")
    }

    /// Its line in a file of rules.
    pub fn line(&self) -> String {
        self.written()
            .map_or_else(|why| why, |rule| rule.to_string())
    }

    /// Its first words, and whether what it allows stays in the sandbox.
    pub fn parts(&self) -> (&[String], bool) {
        (&self.prefix, self.sandboxed)
    }

    fn written(&self) -> Result<rules::Rule, String> {
        rules::written(&self.prefix, self.sandboxed, PathBuf::new())
    }

    /// The command begins so.
    fn covers(&self, argv: &[String]) -> bool {
        !self.prefix.is_empty() && argv.starts_with(&self.prefix)
    }
}

/// The one command of a script that is not known to be harmless, or its only one.
fn open_part(shell: &Shell) -> Option<Vec<String>> {
    let mut parts = parts(shell)?;
    if parts.len() > 1 {
        parts.retain(|p| !is_harmless(p));
    }
    <[Vec<String>; 1]>::try_from(parts).ok().map(|[only]| only)
}

/// The commands of a script that a rule can speak about.
fn parts(shell: &Shell) -> Option<Vec<Vec<String>>> {
    let own_shell = match &shell.shell {
        ShellKind::User { .. } | ShellKind::Sh => true,
        ShellKind::Named { program, .. } => shell::is_shell(program) && !program.contains('/'),
    };
    let plain = own_shell && shell.env.is_empty() && !is_dangerous(&shell.command);
    plain.then(|| shell::commands(&shell.command)).flatten()
}

fn is_harmless(argv: &[String]) -> bool {
    let words: Vec<String> = argv.iter().map(|word| quote(word)).collect();
    is_known_safe(&words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::action::Escalation;
    use std::time::Duration;

    fn shell(command: &str) -> Shell {
        Shell::new(command, Duration::from_secs(60))
    }

    fn proposed(command: &str) -> Option<String> {
        Rule::proposed(&shell(command), false).map(|r| r.words())
    }

    #[test]
    fn the_rule_is_the_command_itself() {
        assert_eq!(
            proposed("cargo test --lib").as_deref(),
            Some("cargo test --lib")
        );
        assert_eq!(
            proposed("cd src && make check | tail -5").as_deref(),
            Some("make check")
        );
        assert_eq!(proposed("bash -lc 'npm test'").as_deref(), Some("npm test"));
        for none in [
            "make > log",
            "echo $(make)",
            "make && npm test",
            "rm -rf build",
            "sudo",
            "python3 -",
            "bash",
            "if true; then make; fi",
        ] {
            assert_eq!(proposed(none), None, "{none}");
        }
        let mut own = shell("make");
        own.env.push(("CC".into(), "evil".into()));
        assert_eq!(Rule::proposed(&own, false), None);
    }

    #[test]
    fn the_model_may_ask_for_less_words_but_not_for_anything() {
        let asks = |prefix: &[&str]| {
            let mut it = shell("git push origin main");
            it.escalate = Some(Escalation {
                justification: None,
                prefix: prefix.iter().map(|w| (*w).to_owned()).collect(),
            });
            Rule::proposed(&it, false).expect("a rule").words()
        };
        assert_eq!(asks(&["git", "push"]), "git push");
        assert_eq!(asks(&["git"]), "git push origin main");
        assert_eq!(asks(&["curl"]), "git push origin main");
        assert_eq!(asks(&[]), "git push origin main");
    }

    #[test]
    fn a_person_may_shorten_it() {
        let it = shell("cd a && npm run test -- --watch");
        let rule = Rule::proposed(&it, true).expect("a rule");
        let edited = |words: &str| rule.edited(words, &it).map(|r| r.words());
        assert_eq!(edited("npm run test"), Ok("npm run test".into()));
        for bad in [
            "npm run",
            "npm",
            "",
            "npm run build",
            "npm run test; rm x",
            "cd a",
            "npm $x",
        ] {
            assert!(edited(bad).is_err(), "{bad}");
        }
        let it = shell("/usr/bin/python3 -c 'print(1)'");
        let rule = Rule::proposed(&it, true).expect("a rule");
        assert!(rule.edited("/usr/bin/python3 -c", &it).is_err());
        let line = rule
            .edited("/usr/bin/python3 -c 'print(1)'", &it)
            .map(|r| r.line());
        let want = r#"prefix_rule(pattern=["/usr/bin/python3", "-c", "print(1)"], decision="allow", sandboxed=True)"#;
        assert_eq!(line.as_deref(), Ok(want));
    }
}
