//! Loops, empty replies and runaway output: what small models do when they lose the thread.
//!
//! Progress is never stopped: the same command with another result is work, not a loop.

use crate::model::Delta;
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
/// A repeated tool call written as text is cut at this copy.
const CALL_COPIES: usize = 3;
/// Marks of a tool call written as text.
const CALL_MARKS: [&str; 5] = ["<tool_call>", "<function=", "\"arguments\"", "\"parameters\"", "```"];

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
        let same = self.recent.iter().rev().take_while(|(call, _)| *call == print).count();
        let results_equal = self.recent.iter().rev().take(same).map(|(_, r)| r).collect::<Vec<_>>().windows(2).all(|w| w[0] == w[1]);
        let alternating = self.recent.len() >= 6 && {
            let last: Vec<_> = self.recent.iter().rev().take(6).collect();
            last[1].0 == print && (0..4).all(|i| last[i] == last[i + 2]) && last[0] != last[1]
        };
        if same >= GIVE_UP && results_equal {
            CallVerdict::GiveUp(format!("the model made the same call {same} times and got the same result each time"))
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

/// Watches one reply while it streams.
#[derive(Debug, Default)]
pub struct StreamGuard {
    text: String,
    checked: usize,
    calls: Vec<(String, String)>,
}

impl StreamGuard {
    /// Takes one delta; says why the stream should be cut, if it should.
    pub fn watch(&mut self, delta: &Delta) -> Option<&'static str> {
        match delta {
            Delta::Retry { .. } => {
                *self = StreamGuard::default();
                None
            }
            Delta::CallStart { index, name } => {
                if self.calls.len() <= *index {
                    self.calls.resize(index + 1, Default::default());
                }
                self.calls[*index].0.push_str(name);
                // The third copy begins: two complete equal calls stand before it.
                let n = self.calls.len();
                (n >= CALL_COPIES && self.calls[n - 3] == self.calls[n - 2] && self.calls[n - 1].0 == self.calls[n - 2].0)
                    .then_some("the model repeats one call")
            }
            Delta::CallArguments { index, text } => {
                let call = self.calls.get_mut(*index)?;
                call.1.push_str(text);
                let args = std::mem::take(&mut call.1);
                let looping = self.grown(&args);
                self.calls[*index].1 = args;
                looping
            }
            Delta::Text(text) | Delta::Reasoning(text) => {
                self.text.push_str(text);
                let all = std::mem::take(&mut self.text);
                let looping = self.grown(&all);
                self.text = all;
                looping
            }
            Delta::Progress { .. } | Delta::Waiting(_) => None,
        }
    }

    /// Looks for a loop at the end of `text`, every hundred bytes.
    fn grown(&mut self, text: &str) -> Option<&'static str> {
        if text.len() < self.checked {
            self.checked = 0;
        }
        if text.len() < self.checked + 100 {
            return None;
        }
        self.checked = text.len();
        loops(text.as_bytes()).then_some("the model repeats itself")
    }
}

/// True when the text ends in a stretch that repeats: at least 2,000 bytes and four times over,
/// or three times over when what repeats holds a tool call.
fn loops(text: &[u8]) -> bool {
    let n = text.len();
    (1..=LONGEST_PERIOD.min(n / CALL_COPIES)).any(|period| {
        let repeated = (period..n).take_while(|i| text[n - 1 - (i - period)] == text[n - 1 - i]).count() + period;
        if repeated >= LOOP_BYTES.max(4 * period) {
            return true;
        }
        period >= 30 && repeated >= CALL_COPIES * period && {
            let block = String::from_utf8_lossy(&text[n - period..]);
            CALL_MARKS.iter().any(|m| block.contains(m))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::action::{Output, Shell, ShellOut, ShellStatus};
    use std::time::Duration;

    fn shell(command: &str) -> Action {
        Action::Shell(Shell::new(command, Duration::from_secs(1)))
    }

    fn ran(text: &str) -> Outcome {
        Outcome::Shell(ShellOut {
            command: String::new(),
            dir: "/".into(),
            output: Output { text: text.into(), bytes: text.len() as u64, file: None },
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
            let CallVerdict::Skip(why) = guard.judge(&shell("ls")) else { panic!("should be skipped") };
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

    #[test]
    fn the_third_copy_of_a_call_cuts_the_stream() {
        let mut guard = StreamGuard::default();
        let mut cut_at = None;
        for index in 0..5 {
            let start = guard.watch(&Delta::CallStart { index, name: "read".into() });
            let arguments = guard.watch(&Delta::CallArguments { index, text: "{\"path\":\"a\"}".into() });
            if start.or(arguments).is_some() {
                cut_at = Some(index);
                break;
            }
        }
        assert_eq!(cut_at, Some(2));
    }

    #[test]
    fn a_call_repeated_as_text_is_cut_and_ordinary_text_is_not() {
        let call = "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.rs\"}}\n</tool_call>\n";
        let mut guard = StreamGuard::default();
        let copies = (1..10).find(|_| guard.watch(&Delta::Text(call.into())).is_some());
        assert!(copies.is_some_and(|n| n <= 4), "{copies:?}");
        let mut guard = StreamGuard::default();
        for line in 0..500 {
            let text = format!("let x{line} = {};\n", line * 7);
            assert_eq!(guard.watch(&Delta::Text(text)), None);
        }
    }
}
