//! Commands: what the rules and the policy say of one, and what it is the same as.

use super::super::rules::Decision;
use super::super::windows::{self, Family};
use super::super::{drivers, is_dangerous, is_known_safe, paths, shell};
use super::{Judge, Question, Verdict};
use crate::sandbox::{Approval, Lift, Mode, Strength};
use crate::tools::action::{Action, Shell, ShellKind};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Everything that makes one command the same as another.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Command {
    line: String,
    dir: PathBuf,
    shell: ShellKind,
    env: Vec<(String, String)>,
    escalated: bool,
}

impl Command {
    pub(super) fn of(shell: &Shell, cwd: &Path) -> Self {
        Command {
            line: shell.command.clone(),
            dir: paths::resolve(shell.dir.as_deref().unwrap_or("."), cwd),
            shell: shell.shell.clone(),
            env: shell.env.clone(),
            escalated: shell.escalate.is_some(),
        }
    }
}

/// Variables that harnesses set so that programs print plainly. They change nothing of what runs.
const QUIET: [(&str, &str); 6] = [
    ("PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("LESS", "-R"),
    ("PIP_PROGRESS_BAR", "off"),
    ("TQDM_DISABLE", "1"),
];

impl Judge {
    /// The action as it is run: a command that nobody was asked about, because it only reads, has
    /// whatever a repository could make git start switched off. `harmless` gives the settings of git for
    /// the folders that it runs in; `cwd` is the folder that relative paths belong to.
    pub fn quieted<'a>(
        &self,
        action: &'a Action,
        cwd: &Path,
        harmless: impl FnOnce(&[PathBuf]) -> Vec<(String, String)>,
    ) -> Cow<'a, Action> {
        let Action::Shell(shell) = action else {
            return Cow::Borrowed(action);
        };
        if self.approval != Approval::Untrusted || !is_harmless(shell) {
            return Cow::Borrowed(action);
        }
        let Some(folders) = folders_of_git(shell, cwd) else {
            return Cow::Borrowed(action);
        };
        let mut quiet = shell.clone();
        quiet.command = drivers::without(&shell.command);
        let mut set = |name: String, value: &str| quiet.env.push((name, value.to_owned()));
        let settings = harmless(&folders);
        set("GIT_CONFIG_COUNT".into(), &settings.len().to_string());
        for (at, (key, value)) in settings.iter().enumerate() {
            set(format!("GIT_CONFIG_KEY_{at}"), key);
            set(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        set("GIT_OPTIONAL_LOCKS".into(), "0");
        set("GIT_NO_LAZY_FETCH".into(), "1");
        // Before a pager that the settings name for one subcommand.
        set("GIT_PAGER".into(), "cat");
        Cow::Owned(Action::Shell(quiet))
    }

    /// What the rules say of a command, and where they say nothing, the policy. `Err` is final.
    pub(super) fn ruled(
        &self,
        shell: &Shell,
        strength: &Strength,
    ) -> Result<Option<Question>, Verdict> {
        let ruled = self.rules.judge(&shell.command);
        let allowed = ruled.decision == Some(Decision::Allow) && runs_as_read(shell);
        match ruled.decision {
            Some(Decision::Forbidden) => Err(forbidden("command", &ruled.why())),
            Some(Decision::Allow) if allowed && !ruled.sandboxed => {
                let is_fenced = self.policy.mode != Mode::DangerFullAccess;
                Err(Verdict::Allow(match is_fenced {
                    true => Lift::Everything,
                    false => Lift::Nothing,
                }))
            }
            Some(Decision::Prompt) if !self.is_unlimited() => {
                let question = self.about_command(shell, strength, false);
                Ok(Some(by_rule(question, &ruled.why())))
            }
            _ => Ok(self.about_command(shell, strength, allowed)),
        }
    }

    /// `allowed`: a rule allows it inside the sandbox.
    fn about_command(&self, shell: &Shell, strength: &Strength, allowed: bool) -> Option<Question> {
        if self.is_unlimited() {
            return None;
        }
        let is_fenced = self.policy.mode != Mode::DangerFullAccess;
        let dangerous = !allowed && removes_by_force(&shell.command, family(&shell.shell));
        let question = match (strength, &shell.escalate) {
            (Strength::Nothing(why), _) if is_fenced => Some(Question {
                ask: format!("This command cannot be confined here: {why}. Run it unconfined?"),
                refuse: format!(
                    "The command did not run: it cannot be confined here ({why}), and under the approval policy `never` nobody is asked. Use the file tools instead."
                ),
                lift: Lift::Everything,
            }),
            (_, Some(wish)) if is_fenced => Some(Question {
                ask: match wish.justification.as_deref().map(str::trim) {
                    Some(why) if !why.is_empty() => {
                        format!("The model asks to run this command outside the sandbox: {why}")
                    }
                    _ => "The model asks to run this command outside the sandbox.".to_owned(),
                },
                refuse: "The command did not run: under the approval policy `never` no command leaves the sandbox. Send it again without asking for that.".to_owned(),
                lift: Lift::Everything,
            }),
            _ => None,
        };
        match question {
            Some(mut question) if dangerous => {
                question.ask.push_str(" It removes files by force.");
                Some(question)
            }
            Some(question) => Some(question),
            None if dangerous => Some(by_force("This command")),
            None if self.approval == Approval::Untrusted && !allowed && !is_harmless(shell) => {
                Some(Question::untrusted(
                    "This command is not known to be harmless.",
                ))
            }
            // Nothing of git's is known to be safe in a shell of Windows.
            None if self.approval == Approval::Untrusted
                && !allowed
                && family(&shell.shell).is_none()
                && drivers::may_start(&drivers::without(&shell.command)) =>
            {
                Some(Question::untrusted(
                    "A repository can make this command start other programs.",
                ))
            }
            None => None,
        }
    }

    /// What is typed into a running command may be a command itself.
    pub(super) fn about_input(&self, chars: &str) -> Result<Option<Question>, Verdict> {
        let ruled = self.rules.judge(chars);
        if ruled.decision == Some(Decision::Forbidden) {
            return Err(forbidden("input to a running command", &ruled.why()));
        }
        if self.is_unlimited() || chars.is_empty() {
            return Ok(None);
        }
        let question = if removes_by_force(chars, cfg!(windows).then_some(Family::Either)) {
            Some(by_force("This input to a running command"))
        } else {
            (self.approval == Approval::Untrusted).then(|| {
                Question::untrusted(
                    "This input goes to a running command and is not known to be harmless.",
                )
            })
        };
        Ok(match ruled.decision {
            Some(Decision::Prompt) => Some(by_rule(question, &ruled.why())),
            _ => question,
        })
    }
}

fn by_force(what: &str) -> Question {
    Question {
        ask: format!("{what} removes files by force."),
        refuse: format!(
            "{what} did not run: `rm` with a force flag is not permitted under the approval policy `never`. Remove the files without force, or leave them."
        ),
        lift: Lift::Nothing,
    }
}

fn forbidden(what: &str, why: &str) -> Verdict {
    Verdict::Refuse {
        reason: format!(
            "This {what} did not run: {why} forbids it. Do not try it in another form; find another way, or say in your answer what is left to do."
        ),
    }
}

/// The question of a rule, together with the one of the policy, if there is one.
fn by_rule(question: Option<Question>, why: &str) -> Question {
    let ask = format!("This is asked because of {why}.");
    match question {
        Some(question) => Question {
            ask: format!("{} {ask}", question.ask),
            ..question
        },
        None => Question {
            ask,
            refuse: String::new(),
            lift: Lift::Nothing,
        },
    }
    .refused(&format!(
        "The command did not run: {why} asks first, and under the approval policy `never` nobody is asked. Find another way, or say in your answer what is left to do."
    ))
}

/// The shells of Windows that a command may be for; `None` for those of POSIX.
fn family(kind: &ShellKind) -> Option<Family> {
    match kind {
        ShellKind::Sh => None,
        ShellKind::User { .. } => cfg!(windows).then_some(Family::Either),
        ShellKind::Named { program, .. } => windows::family(program),
    }
}

fn removes_by_force(line: &str, family: Option<Family>) -> bool {
    match family {
        None => is_dangerous(line),
        // The shell of a person on Windows may be the one that comes with Git.
        Some(Family::Either) => is_dangerous(line) || windows::is_dangerous(line),
        Some(_) => windows::is_dangerous(line),
    }
}

/// The folders in which a known-safe script runs git, each `cd` of it followed; `None` when it runs none.
fn folders_of_git(shell: &Shell, cwd: &Path) -> Option<Vec<PathBuf>> {
    let mut folders = vec![paths::resolve(shell.dir.as_deref().unwrap_or("."), cwd)];
    // In a shell of Windows no command of git's is known to be safe.
    let mut runs_git = false;
    for argv in shell::commands(&shell.command)? {
        let words: Vec<&str> = argv.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["cd", to] | ["cd", "--", to] => {
                let from = folders.last().map_or(cwd, PathBuf::as_path);
                folders.push(paths::resolve(to, from));
            }
            [program, ..] => runs_git |= shell::base_name(program) == "git",
            [] => {}
        }
    }
    runs_git.then_some(folders)
}

/// True for a known-safe script that a shell of the known grammar runs as it stands.
fn is_harmless(shell: &Shell) -> bool {
    let command = &shell.command;
    match (family(&shell.shell), &shell.shell) {
        (None, _) => runs_as_read(shell) && is_known_safe(command),
        _ if !is_quiet(shell) => false,
        (Some(Family::Either), _) => {
            windows::is_known_safe(command, Family::Either) && is_known_safe(command)
        }
        (Some(_), ShellKind::Named { program, .. }) if program.contains(['/', '\\']) => false,
        (Some(family), _) => windows::is_known_safe(command, family),
    }
}

/// True when the words of the script are exactly what runs: a shell of the known grammar, and no
/// variables that could change what a program does.
fn runs_as_read(shell: &Shell) -> bool {
    let known_shell = match &shell.shell {
        ShellKind::User { .. } | ShellKind::Sh => true,
        ShellKind::Named { program, .. } => shell::is_shell(program) && !program.contains('/'),
    };
    known_shell && is_quiet(shell)
}

/// No variable of the command could change what a program does.
fn is_quiet(shell: &Shell) -> bool {
    shell
        .env
        .iter()
        .all(|(name, value)| QUIET.contains(&(name, value)))
}
