//! Loops, empty replies and runaway output: what small models do when they lose the thread.
//!
//! Progress is never stopped: the same command with another result is work, not a loop.

mod calls;
mod stream;

pub use calls::{CallGuard, CallVerdict, remark};
pub use stream::{Cut, MOST_CALLS, StreamGuard};

use super::approval::is_known_safe;
use super::hint::command::did_not_start;
use crate::model::dialect::announces;
use crate::tools::action::{Action, Outcome, ShellStatus};
use calls::changed_nothing;

/// Watches whether a turn checks what it does. A small model likes to stop one step too early; it
/// is reminded once of each thing.
#[derive(Debug, Default)]
pub struct CheckGuard {
    acted: bool,
    changed_since_run: bool,
    last_run_failed: bool,
    /// It failed before the program began.
    did_not_start: bool,
    told: Vec<Complaint>,
    /// Something was done after the last reminder.
    acted_since: bool,
    /// The last action was refused.
    refused: bool,
    /// Commands that print files.
    shown: Vec<String>,
    /// Something may have been changed.
    changed: bool,
}

impl CheckGuard {
    /// Takes in what came of an action.
    pub fn record(&mut self, action: &Action, outcome: &Outcome) {
        self.acted = true;
        self.acted_since = true;
        self.refused = matches!(outcome, Outcome::Refused { .. });
        match (action, outcome) {
            (_, Outcome::Changed(changes)) => {
                self.changed_since_run |= !changed_nothing(changes);
                self.changed |= !changed_nothing(changes);
            }
            (Action::Shell(shell), Outcome::Shell(out)) => {
                if out.succeeded() && self.shown.len() < SHOWN && prints_a_file(&shell.command) {
                    self.shown.push(shell.command.clone());
                }
                self.changed |= out.succeeded() && !is_known_safe(&shell.command);
                self.last_run_failed = !out.succeeded();
                self.did_not_start = did_not_start(out);
                self.changed_since_run = writes_only(&shell.command) && out.succeeded();
            }
            // One in the background that came to its end by itself.
            (Action::ShellInput { chars, .. }, _) if chars == "\u{3}" => {}
            (Action::ShellWait { .. } | Action::ShellInput { .. }, Outcome::Shell(out))
                if !matches!(out.status, ShellStatus::Running { .. }) =>
            {
                self.last_run_failed = !out.succeeded();
            }
            _ => {}
        }
    }

    /// A command of this turn printed that file.
    pub fn has_shown(&self, file: &str) -> bool {
        self.shown.iter().any(|command| command.contains(file))
    }

    /// The last command failed.
    pub fn has_failed(&self) -> bool {
        self.last_run_failed
    }

    /// The last command failed before its program began, so no file is to blame.
    pub fn did_not_start(&self) -> bool {
        self.did_not_start
    }

    /// Something was done in this turn.
    pub fn has_acted(&self) -> bool {
        self.acted
    }

    /// The model was reminded, and did nothing since.
    pub fn is_reminded(&self) -> bool {
        !self.told.is_empty() && !self.acted_since
    }

    /// What is wrong with stopping here; nothing when the same was said in this turn. `wants_change`
    /// tells that the task asks for a change, `lacks` that it asks for a file that is not there.
    pub fn complaint(&self, answer: &str, wants_change: bool, lacks: bool) -> Option<Complaint> {
        // What a rule or the person refused is not asked for again.
        let wants_change = wants_change && !self.refused;
        let faults = [
            (lacks && self.acted && !self.refused, Complaint::Lacking),
            (self.last_run_failed, Complaint::Failed),
            (
                !self.last_run_failed && self.changed_since_run,
                Complaint::Unchecked,
            ),
            (
                wants_change && !self.changed && !self.told.contains(&Complaint::Lacking),
                Complaint::Unchanged,
            ),
            (!self.acted && is_announcement(answer), Complaint::NotBegun),
            (announces(answer), Complaint::Announced),
        ];
        faults
            .into_iter()
            .find(|(holds, fault)| *holds && !self.told.contains(fault))
            .map(|(_, fault)| fault)
    }

    /// The model was told this. Each is said once in a turn.
    pub fn has_told(&mut self, complaint: Complaint) {
        self.told.push(complaint);
        self.acted_since = false;
    }
}

/// Why a model should not stop yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Complaint {
    /// A file that the task asks for is not there, or empty.
    Lacking,
    /// The last command failed.
    Failed,
    /// Nothing was run after the last change.
    Unchecked,
    /// The task asks for a change, and there was none.
    Unchanged,
    /// It says what it would do, and did nothing.
    NotBegun,
    /// It says what it will do next.
    Announced,
}

impl Complaint {
    /// In words for the model. `shell` is the name of the tool that runs commands, if there is one;
    /// `next` is a step that the model did not take.
    pub fn words(self, shell: Option<&str>, next: Option<&str>) -> String {
        let call = shell.map_or_else(|| "Send the command".into(), |name| format!("Call {name}"));
        match (self, next) {
            (Complaint::Lacking, next) => format!(
                "The task is not done. {}",
                next.unwrap_or("A file that it asks for is missing: write it now.")
            ),
            (Complaint::Failed, Some(next)) => format!(
                "The last command failed, so the task is not done. {next} Then run the command again."
            ),
            (Complaint::Failed, None) => format!(
                "The last command failed. Correct what it shows, then run it again. {call} now; if it cannot be corrected, say plainly what does not work."
            ),
            (Complaint::Unchecked, _) => format!(
                "Nothing was run after the last change, so nobody knows whether it works. {call} now to run the program or its tests. Only if there is nothing to run, answer in a sentence."
            ),
            (Complaint::Unchanged, next) => format!(
                "Nothing was changed yet. {} If nothing has to be changed, say why in a sentence.",
                next.unwrap_or("Make the change; do not only tell how.")
            ),
            (Complaint::NotBegun, _) => "Nothing was done yet. Do it now, with a tool. If no tool is needed, give the answer itself.".into(),
            (Complaint::Announced, _) => "You announced a step and did not take it. Call the tool now, or answer.".into(),
        }
    }
}

/// Commands that print files which are remembered.
const SHOWN: usize = 64;

/// True for a command that shows what is in a file.
fn prints_a_file(command: &str) -> bool {
    const PROGRAMS: [&str; 8] = ["cat", "head", "tail", "sed", "nl", "less", "more", "awk"];
    let words = command.split(|c: char| c.is_whitespace() || ";&|".contains(c));
    words.into_iter().any(|word| PROGRAMS.contains(&word)) && !command.contains("<<")
}

/// True for a command that writes a file and runs nothing after it: it ends with the end of a here
/// document or with a redirection into a file.
fn writes_only(command: &str) -> bool {
    let last = command.trim_end().lines().last().unwrap_or_default().trim();
    let lines: Vec<&str> = command.lines().map(str::trim).collect();
    let marker = |line: &str| {
        let (_, marker) = line.split_once("<<")?;
        let name = marker.trim_start_matches('-').trim_start();
        let name = name.trim_start_matches(['\'', '"']);
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
        let name = &name[..end.unwrap_or(name.len())];
        line.contains('>').then(|| name.to_owned())
    };
    // A document that never ends takes all that follows.
    let closes_document = lines.iter().enumerate().any(|(at, line)| {
        marker(line).is_some_and(|name| {
            !name.is_empty() && (last == name || !lines[at + 1..].contains(&name.as_str()))
        })
    });
    let target = last
        .rsplit_once('>')
        .map(|(before, to)| (before, to.trim()));
    let redirects = target.is_some_and(|(before, to)| {
        !before.ends_with(['2', '&'])
            && !to.is_empty()
            && !to.starts_with(['&', '/'])
            && !to.contains([' ', ';', '|', '\'', '"'])
    });
    closes_document || redirects
}

/// True for a text that only says what will be done, or asks what to do: the words with which
/// small models stop before they began.
fn is_announcement(text: &str) -> bool {
    const WORDS: [&str; 12] = [
        "let me",
        "i will",
        "i'll",
        "let's",
        "please provide",
        "shall i",
        "would you like",
        "how can i",
        "noted",
        "understood",
        "sure",
        "to create",
    ];
    let text = text.trim().to_lowercase();
    text.len() <= 600
        && WORDS.iter().any(|w| {
            text.starts_with(w)
                || text.contains(&format!(". {w}"))
                || text.contains(&format!("\n{w}"))
        })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::tools::action::{Output, Shell, ShellOut, ShellStatus};
    use std::time::Duration;

    pub(super) fn shell(command: &str) -> Action {
        Action::Shell(Shell::new(command, Duration::from_secs(1)))
    }

    pub(super) fn ran(text: &str) -> Outcome {
        ended(text, 0)
    }

    pub(in crate::agent) fn ended(text: &str, code: i32) -> Outcome {
        Outcome::Shell(ShellOut {
            command: String::new(),
            dir: "/".into(),
            job: None,
            output: Output {
                text: text.into(),
                bytes: text.len() as u64,
                file: None,
            },
            status: ShellStatus::Exited(code),
            wall: Duration::ZERO,
            fence: None,
            back_in: None,
        })
    }

    fn wrote() -> Outcome {
        Outcome::Changed(Vec::new())
    }

    #[test]
    fn a_change_without_a_run_is_reminded_of_once() {
        let mut guard = CheckGuard::default();
        let edit = Action::UndoEdit { path: "a".into() };
        guard.record(&edit, &wrote());
        let complaint = guard.complaint("Done.", false, false);
        assert_eq!(complaint, Some(Complaint::Unchecked));
        let words = Complaint::Unchecked.words(Some("bash"), None);
        assert!(words.contains("Call bash now"));
        guard.has_told(Complaint::Unchecked);
        assert_eq!(guard.complaint("Done.", false, false), None);
        assert!(guard.is_reminded());
        guard.record(&edit, &wrote());
        assert!(!guard.is_reminded());
        let mut guard = CheckGuard::default();
        guard.record(&edit, &wrote());
        guard.record(&shell("python3 a.py"), &ran("ok"));
        assert_eq!(guard.complaint("Done.", true, false), None);
    }

    #[test]
    fn a_command_in_the_background_fails_when_it_ends() {
        let wait = Action::ShellWait {
            id: Some(1),
            wait: Duration::from_secs(1),
            all: true,
        };
        let Outcome::Shell(mut running) = ran("") else {
            panic!("a command");
        };
        running.status = ShellStatus::Running { id: 1, pid: 7 };
        let mut guard = CheckGuard::default();
        guard.record(&wait, &ended("1 failed", 1));
        assert!(guard.has_failed());
        guard.record(&wait, &Outcome::Shell(running));
        assert!(guard.has_failed(), "one that runs says nothing of it");
        guard.record(&wait, &ran("ok"));
        assert!(!guard.has_failed());
        let stop = Action::ShellInput {
            id: 1,
            chars: "\u{3}".into(),
            wait: Duration::ZERO,
        };
        guard.record(&stop, &ended("", 130));
        assert!(!guard.has_failed(), "the model ended it");
    }

    #[test]
    fn a_shell_that_only_writes_is_a_change() {
        for command in [
            "cat > a.py <<'EOF'\nprint(1)\nEOF",
            "echo hi > a.txt",
            "cat <<EOF > b\nx\nEOF\n",
            // The end of the document was forgotten.
            "cat > a.py <<'EOF'\nprint(1)",
        ] {
            assert!(writes_only(command), "{command}");
        }
        for command in [
            "cat > a.py <<'EOF'\nprint(1)\nEOF\npython3 a.py",
            "ls 2>&1",
            "make 2>/dev/null",
            "grep '>' a",
            "python3 - <<'EOF'\nprint(1)\nEOF",
        ] {
            assert!(!writes_only(command), "{command}");
        }
    }

    #[test]
    fn an_announcement_is_told_from_an_answer() {
        let complaint = |answer| CheckGuard::default().complaint(answer, false, false);
        for text in [
            "I will look at the file first.",
            "Noted. What shall I do next?",
        ] {
            assert_eq!(complaint(text), Some(Complaint::NotBegun), "{text}");
        }
        assert_eq!(complaint("The capital of France is Paris."), None);
    }

    #[test]
    fn advice_is_no_change() {
        let mut guard = CheckGuard::default();
        guard.record(&shell("cat a.py"), &ran("x = 1"));
        let answer = "You should replace 1 by 2.";
        assert_eq!(
            guard.complaint(answer, true, false),
            Some(Complaint::Unchanged)
        );
        assert_eq!(guard.complaint(answer, false, false), None);
        assert!(guard.has_shown("a.py") && !guard.has_shown("b.py"));
        // A command that may have changed something counts as a change.
        guard.record(&shell("sed -i s/1/2/ a.py && python3 a.py"), &ran("2"));
        assert_eq!(guard.complaint(answer, true, false), None);
    }
}
