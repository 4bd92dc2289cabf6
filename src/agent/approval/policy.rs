//! Asking, allowing and refusing, by approval policy and sandbox policy.

#[cfg(test)]
mod tests;

use super::paths::{self, Place};
use super::{is_dangerous, is_known_safe, shell};
use crate::sandbox::{Approval, Lift, Mode, Policy, Strength};
use crate::tools::action::{Action, Shell, ShellKind};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// What is to be done with an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Do it, with this much of the fence lifted.
    Allow(Lift),
    /// Ask the person.
    Ask {
        /// Why, in a sentence for the person.
        reason: String,
        /// What a yes lifts.
        lift: Lift,
    },
    /// Do not do it, and do not ask.
    Refuse {
        /// Why and what to do instead, in a sentence for the model.
        reason: String,
    },
}

/// Decides over the actions of one session.
#[derive(Debug, Clone)]
pub struct Judge {
    /// When the person is asked.
    pub approval: Approval,
    /// What the sandbox lets through.
    pub policy: Policy,
    /// Folders that may be written without asking; empty in `read-only`.
    writable: Vec<PathBuf>,
    granted_commands: Vec<Command>,
    granted_paths: HashSet<PathBuf>,
}

/// Everything that makes one command the same as another.
#[derive(Debug, Clone, PartialEq)]
struct Command {
    line: String,
    dir: PathBuf,
    shell: ShellKind,
    env: Vec<(String, String)>,
    escalated: bool,
}

impl Command {
    fn of(shell: &Shell, cwd: &Path) -> Self {
        Command {
            line: shell.command.clone(),
            dir: paths::resolve(shell.dir.as_deref().unwrap_or("."), cwd),
            shell: shell.shell.clone(),
            env: shell.env.clone(),
            escalated: shell.escalate.is_some(),
        }
    }
}

/// Why something is asked, and how it is refused where nobody may be asked.
struct Question {
    ask: String,
    refuse: String,
    lift: Lift,
}

impl Question {
    /// One that only the policy `untrusted` asks, which refuses nothing.
    fn untrusted(ask: &str) -> Self {
        Question {
            ask: ask.to_owned(),
            refuse: String::new(),
            lift: Lift::Nothing,
        }
    }
}

impl Judge {
    /// A judge with nothing granted yet. The temporary folder is the one of now.
    pub fn new(approval: Approval, policy: Policy) -> Self {
        let temp = if cfg!(windows) {
            Some(std::env::temp_dir())
        } else {
            std::env::var_os("TMPDIR").map(PathBuf::from)
        };
        let writable = paths::writable(&policy, temp.filter(|t| t.is_absolute()));
        Judge {
            approval,
            policy,
            writable,
            granted_commands: Vec::new(),
            granted_paths: HashSet::new(),
        }
    }

    /// Judges an action of the model. `strength` says how well commands can be confined on this
    /// system, `cwd` is the folder that relative paths belong to.
    pub fn decide(&self, action: &Action, strength: &Strength, cwd: &Path) -> Verdict {
        match action {
            Action::Shell(shell) => {
                let granted = || self.granted_commands.contains(&Command::of(shell, cwd));
                self.answer(self.about_command(shell, strength), granted)
            }
            Action::ShellInput { chars, .. } => self.answer(self.about_input(chars), || false),
            Action::Write { .. }
            | Action::Edit { .. }
            | Action::Insert { .. }
            | Action::Patch { .. }
            | Action::UndoEdit { .. } => {
                let touched = paths::touched(action, cwd);
                match self.about_change(&touched) {
                    Ok(question) => self.answer(question, || {
                        !touched.is_empty()
                            && touched.iter().all(|p| self.granted_paths.contains(p))
                    }),
                    Err(reason) => Verdict::Refuse { reason },
                }
            }
            Action::ShellStop { .. }
            | Action::ShellWait { .. }
            | Action::ShellList
            | Action::Read(_)
            | Action::List { .. }
            | Action::Glob { .. }
            | Action::Grep(_)
            | Action::Plan { .. }
            | Action::PlanRead
            | Action::Mode { .. }
            | Action::Ask { .. }
            | Action::Delegate(_)
            | Action::ViewImage { .. }
            | Action::Finish { .. } => Verdict::Allow(Lift::Nothing),
        }
    }

    /// Takes a yes for the rest of the session: the same command in the same folder, or changes of
    /// the same files. Relative paths are taken from the first folder of the workspace, so a yes
    /// that was given elsewhere is asked for again.
    pub fn remember(&mut self, action: &Action) {
        let Some(cwd) = self.policy.roots.first() else {
            return;
        };
        match action {
            Action::Shell(shell) => {
                let command = Command::of(shell, cwd);
                if !self.granted_commands.contains(&command) {
                    self.granted_commands.push(command);
                }
            }
            _ => self.granted_paths.extend(paths::touched(action, cwd)),
        }
    }

    /// True where the fence and the questions are both off.
    fn is_unlimited(&self) -> bool {
        self.policy.mode == Mode::DangerFullAccess && self.approval == Approval::Never
    }

    fn answer(&self, question: Option<Question>, granted: impl FnOnce() -> bool) -> Verdict {
        match question {
            None => Verdict::Allow(Lift::Nothing),
            Some(q) if self.approval == Approval::Never => Verdict::Refuse { reason: q.refuse },
            Some(q) if granted() => Verdict::Allow(q.lift),
            Some(q) => Verdict::Ask {
                reason: q.ask,
                lift: q.lift,
            },
        }
    }

    fn about_command(&self, shell: &Shell, strength: &Strength) -> Option<Question> {
        if self.is_unlimited() {
            return None;
        }
        let is_fenced = self.policy.mode != Mode::DangerFullAccess;
        let dangerous = is_dangerous(&shell.command);
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
            None if self.approval == Approval::Untrusted && !is_harmless(shell) => Some(
                Question::untrusted("This command is not known to be harmless."),
            ),
            None => None,
        }
    }

    /// What is typed into a running command may be a command itself.
    fn about_input(&self, chars: &str) -> Option<Question> {
        if self.is_unlimited() || chars.is_empty() {
            return None;
        }
        if is_dangerous(chars) {
            return Some(by_force("This input to a running command"));
        }
        (self.approval == Approval::Untrusted).then(|| {
            Question::untrusted(
                "This input goes to a running command and is not known to be harmless.",
            )
        })
    }

    /// `Err` is a refusal whatever the approval policy.
    fn about_change(&self, touched: &[PathBuf]) -> Result<Option<Question>, String> {
        let each_asks = || {
            (self.approval == Approval::Untrusted).then(|| {
                Question::untrusted(
                    "Every change of a file is asked about under the approval policy `untrusted`.",
                )
            })
        };
        if self.policy.mode == Mode::DangerFullAccess {
            return Ok(each_asks());
        }
        let mut folders = Vec::new();
        let mut git = false;
        let mut why = None;
        for path in touched {
            let shown = path.display();
            match paths::place(path, &self.policy, &self.writable) {
                Place::Writable => {}
                Place::Ours => {
                    return Err(format!(
                        "{shown} belongs to this program itself and cannot be changed in a session; leave it as it is."
                    ));
                }
                Place::Git => {
                    git = true;
                    why.get_or_insert_with(|| format!("{shown} is protected, because what is in `.git` can make programs run code"));
                }
                Place::Protected(folder) => {
                    why.get_or_insert_with(|| format!("{shown} is protected, because what is in {} can make programs run code", folder.display()));
                    folders.push(folder);
                }
                Place::Outside => {
                    why.get_or_insert_with(|| match self.policy.mode {
                        Mode::ReadOnly => {
                            format!("{shown} cannot be written in the sandbox mode `read-only`")
                        }
                        _ => format!("{shown} is outside of the workspace"),
                    });
                    folders.extend(path.parent().map(Path::to_owned));
                }
            }
        }
        let Some(why) = why else {
            return Ok(each_asks());
        };
        let lift = match (git, paths::common(&folders, &self.policy.roots)) {
            (true, _) if folders.is_empty() => Lift::Git,
            (false, Some(folder)) => Lift::Folder(folder),
            _ if self.approval == Approval::Never => Lift::Nothing,
            _ => {
                return Err(format!(
                    "{why}, and so are other files of this change, in other folders; one approval covers one folder, so send a change for each."
                ));
            }
        };
        Ok(Some(Question {
            ask: format!("{why}."),
            refuse: format!(
                "{why}, and under the approval policy `never` nobody is asked. Write inside the workspace instead, or say in your answer what is left to do."
            ),
            lift,
        }))
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

/// True for a known-safe script that a shell of the known grammar runs as it stands.
fn is_harmless(shell: &Shell) -> bool {
    let known_shell = match &shell.shell {
        ShellKind::User { .. } | ShellKind::Sh => true,
        ShellKind::Named { program, .. } => shell::is_shell(program) && !program.contains('/'),
    };
    known_shell && shell.env.is_empty() && is_known_safe(&shell.command)
}
