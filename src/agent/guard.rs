//! Loops, empty replies and runaway output: what small models do when they lose the thread.
//!
//! Progress is never stopped: the same command with another result is work, not a loop.

use crate::model::dialect::Repeats;
use crate::model::{Delta, ToolSpec};
use crate::tools::action::{Action, Outcome};
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The same call with the same result is not run again after so many times.
const SAME_RESULT: usize = 3;
/// The turn ends after so many.
const GIVE_UP: usize = 5;
/// A stretch of text that is periodic over this many bytes is a loop.
const LOOP_BYTES: usize = 2_000;
/// The longest period that is looked for.
const LONGEST_PERIOD: usize = 1_000;
/// A growing text is looked at again after this many bytes.
const CHECK_EVERY: usize = 100;
/// The stream is cut when a call is written this often in a row.
const CALL_COPIES: usize = 3;

/// Watches the calls of a session.
#[derive(Debug, Default)]
pub struct CallGuard {
    /// Fingerprints of the latest calls and their results.
    recent: VecDeque<(u64, u64)>,
}

/// What to do with a call.
#[derive(Debug, PartialEq, Eq)]
pub enum CallVerdict {
    /// Run it.
    Run,
    /// Answer with this sentence instead.
    Skip(String),
    /// End the turn: nothing helped.
    GiveUp(String),
}

impl CallGuard {
    /// Forgets everything, at the start of a turn.
    pub fn reset(&mut self) {
        self.recent.clear();
    }

    /// Judges a call before it is run.
    pub fn judge(&self, action: &Action) -> CallVerdict {
        let print = fingerprint(action);
        let same = self
            .recent
            .iter()
            .rev()
            .take_while(|(call, _)| *call == print)
            .count();
        let results_equal = self
            .recent
            .iter()
            .rev()
            .take(same)
            .map(|(_, r)| r)
            .collect::<Vec<_>>()
            .windows(2)
            .all(|w| w[0] == w[1]);
        let alternating = self.recent.len() >= 6 && {
            let last: Vec<_> = self.recent.iter().rev().take(6).collect();
            last[1].0 == print && (0..4).all(|i| last[i] == last[i + 2]) && last[0] != last[1]
        };
        if same >= GIVE_UP && results_equal {
            CallVerdict::GiveUp(format!(
                "the model made the same call {same} times and got the same result each time"
            ))
        } else if (same >= SAME_RESULT && results_equal) || alternating {
            let times = if alternating { 3 } else { same };
            CallVerdict::Skip(format!(
                "This call was not run: it gave the same result the last {times} times. Try something else, or answer with what you know."
            ))
        } else {
            CallVerdict::Run
        }
    }

    /// Remembers what came of a call.
    pub fn record(&mut self, action: &Action, outcome: &Outcome) {
        let result = match outcome {
            // A skipped call stands for the result that it would have had again.
            Outcome::Skipped(_) => self.recent.back().map_or(0, |(_, r)| *r),
            Outcome::Shell(s) => hash(&(format!("{:?}", s.status), &s.output.text)),
            other => hash(&format!("{other:?}")),
        };
        self.recent.push_back((fingerprint(action), result));
        if self.recent.len() > 16 {
            self.recent.pop_front();
        }
    }
}

fn fingerprint(action: &Action) -> u64 {
    hash(&serde_json::to_string(action).unwrap_or_default())
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Watches whether a turn checks what it does. A small model likes to stop one step too early; it
/// is reminded once.
#[derive(Debug, Default)]
pub struct CheckGuard {
    acted: bool,
    changed_since_run: bool,
    last_run_failed: bool,
    nudged: bool,
}

impl CheckGuard {
    /// Takes in what came of an action.
    pub fn record(&mut self, action: &Action, outcome: &Outcome) {
        self.acted = true;
        match (action, outcome) {
            (_, Outcome::Changed(_)) => self.changed_since_run = true,
            (Action::Shell(shell), Outcome::Shell(out)) => {
                self.last_run_failed = !out.succeeded();
                self.changed_since_run = writes_only(&shell.command) && out.succeeded();
            }
            _ => {}
        }
    }

    /// The one reminder of the turn, if the model wants to stop where it should not. `shell` is the
    /// name of the tool that runs commands, if there is one.
    pub fn nudge(&mut self, answer: &str, shell: Option<&str>) -> Option<String> {
        let call = shell.map_or_else(|| "Send the command".into(), |name| format!("Call {name}"));
        let words = if self.last_run_failed {
            format!(
                "The last command failed. Correct what it shows, then run it again. {call} now; if it cannot be corrected, say plainly what does not work."
            )
        } else if self.changed_since_run {
            format!(
                "Nothing was run after the last change, so nobody knows whether it works. {call} now to run the program or its tests. Only if there is nothing to run, answer in a sentence."
            )
        } else if !self.acted && is_announcement(answer) {
            "Nothing was done yet. Do it now, with a tool. If no tool is needed, give the answer itself.".into()
        } else {
            return None;
        };
        (!std::mem::replace(&mut self.nudged, true)).then_some(words)
    }
}

/// True for a command that writes a file and runs nothing after it: it ends with the end of a here
/// document or with a redirection into a file.
fn writes_only(command: &str) -> bool {
    let last = command.trim_end().lines().last().unwrap_or_default().trim();
    let closes_document = !last.is_empty()
        && command.lines().any(|l| {
            let marker = l
                .split_once("<<")
                .map(|(_, m)| m.trim_start_matches('-').trim());
            marker.is_some_and(|m| m.trim_start_matches(['\'', '"']).starts_with(last))
                && l.contains('>')
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

/// Watches one reply while it streams.
pub struct StreamGuard<'t> {
    tools: &'t [ToolSpec],
    repeats: Repeats<'t>,
    text: String,
    arguments: String,
    /// The size at which the growing text was last looked at.
    checked: usize,
}

impl<'t> StreamGuard<'t> {
    /// For a reply to a request that offered these tools.
    pub fn new(tools: &'t [ToolSpec]) -> Self {
        StreamGuard {
            tools,
            repeats: Repeats::new(tools),
            text: String::new(),
            arguments: String::new(),
            checked: 0,
        }
    }

    /// Takes one delta; says why the stream should be cut, if it should.
    pub fn watch(&mut self, delta: &Delta) -> Option<&'static str> {
        if let Delta::Retry { .. } = delta {
            *self = StreamGuard::new(self.tools);
            return None;
        }
        if self.repeats.push(delta) >= CALL_COPIES {
            return Some("the model repeats one call");
        }
        let grown = match delta {
            Delta::CallStart { .. } => {
                self.arguments.clear();
                self.checked = 0;
                return None;
            }
            Delta::CallArguments { text, .. } => {
                self.arguments.push_str(text);
                &self.arguments
            }
            Delta::Text(text) | Delta::Reasoning(text) => {
                self.text.push_str(text);
                &self.text
            }
            _ => return None,
        };
        if grown.len() < self.checked + CHECK_EVERY {
            return None;
        }
        self.checked = grown.len();
        loops(grown.as_bytes()).then_some("the model repeats itself")
    }
}

/// True when the text ends in a stretch that repeats itself: at least 2,000 bytes and four times.
fn loops(text: &[u8]) -> bool {
    let n = text.len();
    (1..=LONGEST_PERIOD.min(n / 4)).any(|period| {
        let equal = (0..n - period)
            .take_while(|i| text[n - 1 - i] == text[n - 1 - i - period])
            .count();
        equal + period >= LOOP_BYTES.max(4 * period)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ToolInput;
    use crate::tools::action::{Output, Shell, ShellOut, ShellStatus};
    use std::time::Duration;

    fn shell(command: &str) -> Action {
        Action::Shell(Shell::new(command, Duration::from_secs(1)))
    }

    fn ran(text: &str) -> Outcome {
        Outcome::Shell(ShellOut {
            command: String::new(),
            dir: "/".into(),
            output: Output {
                text: text.into(),
                bytes: text.len() as u64,
                file: None,
            },
            status: ShellStatus::Exited(0),
            wall: Duration::ZERO,
            fence: None,
        })
    }

    #[test]
    fn the_same_result_three_times_is_not_run_again_and_five_end_the_turn() {
        let mut guard = CallGuard::default();
        for _ in 0..3 {
            assert_eq!(guard.judge(&shell("ls")), CallVerdict::Run);
            guard.record(&shell("ls"), &ran("a"));
        }
        for _ in 0..2 {
            let CallVerdict::Skip(why) = guard.judge(&shell("ls")) else {
                panic!("should be skipped")
            };
            guard.record(&shell("ls"), &Outcome::Skipped(why));
        }
        assert!(matches!(guard.judge(&shell("ls")), CallVerdict::GiveUp(_)));
        assert_eq!(guard.judge(&shell("pwd")), CallVerdict::Run);
    }

    #[test]
    fn a_changing_result_is_progress() {
        let mut guard = CallGuard::default();
        for i in 0..10 {
            assert_eq!(guard.judge(&shell("date")), CallVerdict::Run);
            guard.record(&shell("date"), &ran(&i.to_string()));
        }
    }

    #[test]
    fn alternation_is_a_loop() {
        let mut guard = CallGuard::default();
        for _ in 0..3 {
            guard.record(&shell("a"), &ran("1"));
            guard.record(&shell("b"), &ran("2"));
        }
        assert!(matches!(guard.judge(&shell("a")), CallVerdict::Skip(_)));
        assert_eq!(guard.judge(&shell("c")), CallVerdict::Run);
    }

    fn wrote() -> Outcome {
        Outcome::Changed(Vec::new())
    }

    #[test]
    fn a_change_without_a_run_is_reminded_of_once() {
        let mut guard = CheckGuard::default();
        let edit = Action::UndoEdit { path: "a".into() };
        guard.record(&edit, &wrote());
        assert!(
            guard
                .nudge("Done.", Some("bash"))
                .is_some_and(|w| w.contains("Call bash now"))
        );
        assert_eq!(guard.nudge("Done.", None), None);
        let mut guard = CheckGuard::default();
        guard.record(&edit, &wrote());
        guard.record(&shell("python3 a.py"), &ran("ok"));
        assert_eq!(guard.nudge("Done.", None), None);
    }

    #[test]
    fn a_shell_that_only_writes_is_a_change() {
        for command in [
            "cat > a.py <<'EOF'\nprint(1)\nEOF",
            "echo hi > a.txt",
            "cat <<EOF > b\nx\nEOF\n",
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
        assert!(
            CheckGuard::default()
                .nudge("I will look at the file first.", None)
                .is_some()
        );
        assert!(
            CheckGuard::default()
                .nudge("Noted. What shall I do next?", None)
                .is_some()
        );
        assert_eq!(
            CheckGuard::default().nudge("The capital of France is Paris.", None),
            None
        );
    }

    fn cut_after(mut deltas: impl Iterator<Item = Delta>) -> Option<&'static str> {
        let schema = serde_json::json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
        let tools = [ToolSpec {
            name: "read_file".into(),
            description: String::new(),
            input: ToolInput::Function(schema),
        }];
        let mut guard = StreamGuard::new(&tools);
        deltas.find_map(|d| guard.watch(&d))
    }

    #[test]
    fn the_third_copy_of_a_call_cuts_the_stream() {
        let copy = |index| {
            [
                Delta::CallStart {
                    index,
                    name: "read_file".into(),
                },
                Delta::CallArguments {
                    index,
                    text: "{\"path\":\"a\"}".into(),
                },
            ]
        };
        assert_eq!(cut_after((0..2).flat_map(copy)), None);
        assert_eq!(
            cut_after((0..3).flat_map(copy)),
            Some("the model repeats one call")
        );
    }

    #[test]
    fn a_call_repeated_as_text_is_cut() {
        let call = "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.rs\"}}\n</tool_call>\n";
        assert_eq!(cut_after((0..2).map(|_| Delta::Text(call.into()))), None);
        assert!(cut_after((0..4).map(|_| Delta::Text(call.into()))).is_some());
    }

    #[test]
    fn a_text_that_repeats_is_cut_and_ordinary_text_is_not() {
        assert!(cut_after((0..400).map(|_| Delta::Text("the same line again\n".into()))).is_some());
        assert_eq!(
            cut_after((0..500).map(|n| Delta::Text(format!("let x{n} = {};\n", n * 7)))),
            None
        );
    }
}
