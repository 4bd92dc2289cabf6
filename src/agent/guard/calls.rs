//! The same calls with the same results, again and again.

use crate::tools::action::{Action, AgentOut, AgentState, FileChange, Outcome, ShellStatus};
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Rounds of the same calls with the same results after which the next is not run, and after which
/// the turn ends.
const ROUNDS: (usize, usize) = (3, 5);
/// The same for rounds that wait: polling is no loop, but it may not go on for ever.
const WAITING_ROUNDS: (usize, usize) = (100, 105);
/// The most calls of a round: alternation has two.
const LONGEST_ROUND: usize = 4;
/// A request for output waits from this long on.
const A_WAIT: u128 = 1_000;

/// Watches the calls of a turn.
#[derive(Debug, Default)]
pub struct CallGuard {
    recent: VecDeque<Call>,
}

/// Fingerprints of a call and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Call {
    action: u64,
    result: u64,
    waits: bool,
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
        for length in 1..=LONGEST_ROUND {
            let Some((rounds, waits)) = self.rounds(print, length) else {
                continue;
            };
            let (skip, give_up) = if waits { WAITING_ROUNDS } else { ROUNDS };
            let what = match length {
                1 => "the same call".to_owned(),
                n => format!("the same {n} calls"),
            };
            if rounds >= give_up {
                return CallVerdict::GiveUp(format!(
                    "the model made {what} {rounds} times and got the same result each time; say it in other words, or try another model or harness"
                ));
            }
            if rounds >= skip {
                return CallVerdict::Skip(format!(
                    "This call was not run: {what} gave the same result the last {rounds} times. Try something else, or answer with what you know."
                ));
            }
        }
        CallVerdict::Run
    }

    /// How often the latest calls went round in `length` calls, when this one would go on with
    /// that; and whether a round waits.
    fn rounds(&self, print: u64, length: usize) -> Option<(usize, bool)> {
        let calls = &self.recent;
        let round = calls.range(calls.len().checked_sub(length)?..);
        if round.clone().next()?.action != print {
            return None;
        }
        let waits = round.clone().any(|c| c.waits);
        Some(((self.equal(length) + length) / length, waits))
    }

    /// How many of the latest calls are the same as the one `length` calls before them.
    fn equal(&self, length: usize) -> usize {
        let newest = self.recent.iter().rev();
        let pairs = newest.clone().zip(newest.skip(length));
        pairs.take_while(|(new, old)| new == old).count()
    }

    /// Remembers what came of a call.
    pub fn record(&mut self, action: &Action, outcome: &Outcome) {
        let print = fingerprint(action);
        let before = self.recent.iter().rev().find(|c| c.action == print);
        let mut waits = waits(action, outcome);
        let result = match outcome {
            // A skipped call stands for the result that it would have had again.
            Outcome::Skipped(_) => {
                waits |= before.is_some_and(|c| c.waits);
                before.map_or(0, |c| c.result)
            }
            Outcome::Shell(s) if s.succeeded() => {
                hash(&(format!("{:?}", s.status), &s.output.text))
            }
            // What failed without a change in between fails again, however long it took this time.
            Outcome::Shell(s) => hash(&(format!("{:?}", s.status), without_times(&s.output.text))),
            Outcome::Read(read) => hash(&(&read.text, read.first)),
            // These are the same whatever the file was before; another edit may be a step further.
            Outcome::Changed(_)
                if matches!(action, Action::Write { .. } | Action::Insert { .. }) =>
            {
                0
            }
            // Neither the age of a command nor the time and tokens of an agent is another result.
            Outcome::Jobs(jobs) => {
                let jobs: Vec<_> = jobs.iter().map(|j| (j.id, j.status)).collect();
                hash(&format!("{jobs:?}"))
            }
            Outcome::Delegated(part) => hash(&(&part.text, &part.failure)),
            Outcome::Agents(agents) => {
                let one = |agent: &AgentOut| match &agent.state {
                    AgentState::Done(part) => Some((part.text.clone(), part.failure.clone())),
                    AgentState::Waiting | AgentState::Closed => None,
                };
                hash(&agents.iter().map(|a| (a.id, one(a))).collect::<Vec<_>>())
            }
            // Each time the whole text is in another file.
            Outcome::Fetched(page) => hash(&(&page.output.text, &page.redirect)),
            other => hash(&format!("{other:?}")),
        };
        self.recent.push_back(Call {
            action: print,
            result,
            waits,
        });
        if self.recent.len() > LONGEST_ROUND * (WAITING_ROUNDS.1 + 1) {
            self.recent.pop_front();
        }
    }

    /// The latest call looked at something that goes on by itself, so that another look is no loop.
    pub fn is_a_look(&mut self) {
        if let Some(latest) = self.recent.back_mut() {
            latest.waits = true;
        }
    }

    /// The latest calls, one or a round of several, were the same as those before them and had the
    /// same results.
    pub fn has_just_repeated(&self) -> bool {
        let repeats = |length: usize| {
            let mut round = self.recent.iter().rev().take(length);
            self.equal(length) >= length && round.all(|call| !call.waits)
        };
        (1..=LONGEST_ROUND).any(repeats)
    }
}

/// What a model should hear beside the result of a change that changed nothing.
pub fn remark(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Changed(changes) if changed_nothing(changes) => Some(
            "The file had exactly this content before, so nothing changed. Do not write it again; run it, or change what is still wrong.".into(),
        ),
        _ => None,
    }
}

/// True for a change after which every file is as it was.
pub fn changed_nothing(changes: &[FileChange]) -> bool {
    let same = |c: &FileChange| c.before.is_some() && c.before == c.after && c.moved_to.is_none();
    !changes.is_empty() && changes.iter().all(same)
}

/// True for an action that lets time pass, or looks at a command that still runs.
fn waits(action: &Action, outcome: &Outcome) -> bool {
    let runs = |status: &ShellStatus| matches!(status, ShellStatus::Running { .. });
    match action {
        Action::Shell(shell) => {
            let words = shell
                .command
                .split(|c: char| !c.is_alphanumeric() && c != '_');
            words.into_iter().any(|w| w == "sleep" || w == "wait")
        }
        Action::ShellInput { chars, wait, .. } => chars.is_empty() && wait.as_millis() >= A_WAIT,
        Action::ShellWait { .. } | Action::ShellList => match outcome {
            Outcome::Shell(out) => runs(&out.status),
            Outcome::Jobs(jobs) => jobs.iter().any(|job| runs(&job.status)),
            _ => false,
        },
        _ => false,
    }
}

/// The text without how long something took: `in 0.03s`, `12 ms`.
fn without_times(text: &str) -> String {
    let is_unit = |rest: &str| {
        let rest = rest.strip_prefix(' ').unwrap_or(rest);
        let unit: String = rest.chars().take_while(|c| c.is_alphabetic()).collect();
        [
            "s", "ms", "µs", "us", "ns", "sec", "secs", "second", "seconds",
        ]
        .contains(&unit.as_str())
    };
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c| !is_number(c)).unwrap_or(from.len());
        let (number, after) = from.split_at(end);
        out.push_str(before);
        out.push_str(if is_unit(after) { "#" } else { number });
        rest = after;
    }
    out.push_str(rest);
    out
}

fn fingerprint(action: &Action) -> u64 {
    hash(&serde_json::to_string(action).unwrap_or_default())
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ended, ran, shell};
    use super::*;
    use crate::tools::action::{Delegate, DelegateOut, JobOut, Read, ToolError};
    use std::time::Duration;

    /// Calls that were run, were skipped, and whether the turn ended, over so many rounds.
    fn play(rounds: usize, calls: &[(Action, Outcome)]) -> (usize, usize, bool) {
        let mut guard = CallGuard::default();
        let (mut ran, mut skipped) = (0, 0);
        for (action, outcome) in std::iter::repeat_n(calls, rounds).flatten() {
            match guard.judge(action) {
                CallVerdict::Run => {
                    ran += 1;
                    guard.record(action, outcome);
                }
                CallVerdict::Skip(why) => {
                    skipped += 1;
                    guard.record(action, &Outcome::Skipped(why));
                }
                CallVerdict::GiveUp(_) => return (ran, skipped, true),
            }
        }
        (ran, skipped, false)
    }

    #[test]
    fn the_same_result_three_times_is_not_run_again_and_five_end_the_turn() {
        assert_eq!(play(9, &[(shell("ls"), ran("a"))]), (3, 2, true));
        let alternation = [(shell("a"), ran("1")), (shell("b"), ran("2"))];
        assert_eq!(play(9, &alternation), (6, 4, true));
        let three = ["a", "b", "c"].map(|c| (shell(c), ran(c)));
        assert_eq!(play(9, &three), (9, 6, true));
        let edit = Action::UndoEdit { path: "a".into() };
        let nothing = Outcome::Failed(ToolError::Identical { path: "a".into() });
        assert_eq!(play(9, &[(edit, nothing)]), (3, 2, true));
    }

    #[test]
    fn progress_is_never_stopped() {
        let date: Vec<_> = (0..10)
            .map(|n| (shell("date"), ran(&n.to_string())))
            .collect();
        assert_eq!(play(1, &date), (10, 0, false));
        // A check with the same result, and another edit before each.
        let work: Vec<_> = (0..10)
            .flat_map(|n| {
                let edit = Action::UndoEdit {
                    path: n.to_string(),
                };
                [(edit, ran("")), (shell("make test"), ended("1 failed", 1))]
            })
            .collect();
        assert_eq!(play(1, &work), (20, 0, false));
        // A result that changed starts the count again.
        let calls: Vec<_> = ["a", "a", "a"].iter().chain(&["b", "b", "b"]).collect();
        let mut guard = CallGuard::default();
        for text in &calls[..4] {
            guard.record(&shell("x"), &ran(text));
        }
        assert_eq!(guard.judge(&shell("x")), CallVerdict::Run);
    }

    #[test]
    fn polling_with_a_wait_is_no_loop() {
        assert_eq!(
            play(50, &[(shell("sleep 5; cat log"), ran(""))]),
            (50, 0, false)
        );
        let rounds = [(shell("sleep 5"), ran("")), (shell("cat log"), ran(""))];
        assert_eq!(play(50, &rounds), (100, 0, false));
        assert!(play(200, &rounds).2);
        let poll = |seconds| Action::ShellInput {
            id: 1,
            chars: String::new(),
            wait: std::time::Duration::from_secs(seconds),
        };
        assert_eq!(play(50, &[(poll(10), ran(""))]), (50, 0, false));
        assert!(play(50, &[(poll(0), ran(""))]).2);
    }

    #[test]
    fn a_look_at_what_runs_is_no_loop() {
        let status = ShellStatus::Running { id: 1, pid: 7 };
        let running = || match ran("") {
            Outcome::Shell(mut out) => {
                out.status = status;
                Outcome::Shell(out)
            }
            other => other,
        };
        let jobs = |status, seconds| {
            Outcome::Jobs(vec![JobOut {
                id: 1,
                command: "make".into(),
                status,
                age: Duration::from_secs(seconds),
            }])
        };
        let look = |id| Action::ShellWait {
            id,
            wait: Duration::ZERO,
            all: true,
        };
        assert_eq!(play(50, &[(look(Some(1)), running())]), (50, 0, false));
        assert_eq!(play(50, &[(look(None), jobs(status, 1))]), (50, 0, false));
        assert_eq!(
            play(50, &[(Action::ShellList, jobs(status, 1))]),
            (50, 0, false)
        );
        assert!(play(200, &[(look(Some(1)), running())]).2, "not for ever");
        // What is over does not change any more, though it grows older.
        assert_eq!(play(9, &[(look(Some(1)), ran("done"))]), (3, 2, true));
        let mut guard = CallGuard::default();
        for age in 0..3 {
            let over = jobs(ShellStatus::Exited(0), age);
            guard.record(&Action::ShellList, &over);
        }
        assert!(matches!(
            guard.judge(&Action::ShellList),
            CallVerdict::Skip(_)
        ));
        // A file that a command fills while it runs.
        let read = Action::Read(Read::new("out", None, 100));
        let mut guard = CallGuard::default();
        for _ in 0..50 {
            assert_eq!(guard.judge(&read), CallVerdict::Run);
            guard.record(&read, &ran(""));
            guard.is_a_look();
        }
        assert!(!guard.has_just_repeated());
    }

    #[test]
    fn a_part_that_was_done_is_not_done_again_and_again() {
        let part = Action::Delegate(Delegate {
            role: "explore".into(),
            title: "look".into(),
            prompt: "find x".into(),
            read_only: true,
            ..Delegate::default()
        });
        let out = |id, text: &str| {
            Outcome::Delegated(DelegateOut {
                id,
                text: text.into(),
                failure: None,
                actions: id,
                tokens: u64::from(id) * 100,
                took: Duration::from_secs(u64::from(id)),
            })
        };
        let mut guard = CallGuard::default();
        for id in 1..=3 {
            assert_eq!(guard.judge(&part), CallVerdict::Run);
            guard.record(&part, &out(id, "x is here"));
        }
        assert!(matches!(guard.judge(&part), CallVerdict::Skip(_)));
        let other: Vec<_> = (1..=9)
            .map(|id| (part.clone(), out(id, &id.to_string())))
            .collect();
        assert_eq!(play(1, &other), (9, 0, false));
    }

    #[test]
    fn a_failure_is_the_same_however_long_it_took() {
        let texts = [
            "1 failed in 0.03s",
            "1 failed in 0.04s",
            "1 failed in 1.25s",
        ];
        let failures = texts.map(|t| (shell("pytest"), ended(t, 1)));
        assert_eq!(play(3, &failures).0, 3);
        let counts: Vec<_> = (1..9)
            .map(|n| (shell("t"), ended(&format!("{n} failed"), 1)))
            .collect();
        assert_eq!(play(1, &counts), (8, 0, false));
        assert_eq!(
            without_times("3 of 12 in 0.03s, v1.2"),
            "3 of 12 in #s, v1.2"
        );
    }

    #[test]
    fn a_write_that_changes_nothing_is_said_and_its_repetition_counted() {
        let write = Action::Write {
            path: "a".into(),
            content: "x".into(),
            rule: Default::default(),
        };
        let change = |before: Option<&str>| {
            Outcome::Changed(vec![FileChange {
                path: "/a".into(),
                shown: "a".into(),
                kind: crate::tools::action::ChangeKind::Update,
                moved_to: None,
                before: before.map(str::to_owned),
                after: Some("x".into()),
                places: 1,
                lines: None,
                matched_by: None,
            }])
        };
        assert_eq!(remark(&change(None)), None);
        assert_eq!(remark(&change(Some("y"))), None);
        assert!(remark(&change(Some("x"))).is_some_and(|r| r.contains("nothing changed")));
        let mut guard = CallGuard::default();
        for before in [None, Some("x"), Some("x")] {
            guard.record(&write, &change(before));
        }
        assert!(matches!(guard.judge(&write), CallVerdict::Skip(_)));
    }
}
