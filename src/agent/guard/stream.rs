//! One reply while it streams: repetition and runaway output cost minutes on a laptop.

use crate::model::dialect::Repeats;
use crate::model::{Delta, ToolSpec};

/// The longest period of a repeating text that is looked for, in bytes.
const LONGEST_PERIOD: usize = 1_000;
/// The most calls of one reply that are done.
pub const MOST_CALLS: usize = 32;
/// A growing text is looked at again after this many bytes.
const CHECK_EVERY: usize = 100;
/// The stream is cut when a call is written this often in a row.
const CALL_COPIES: usize = 3;
/// More bytes than the tokens of a limit have on average, by far: long runs of spaces are one token.
const BYTES_PER_TOKEN: usize = 16;
/// A reply is never too long below this.
const SHORT: usize = 64 << 10;

/// Why a stream is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// One call, or a round of them, was written again and again.
    Call,
    /// There are more calls in it than are done.
    Calls,
    /// The text repeats itself.
    Text,
    /// The server ignores the limit that was sent along.
    TooLong,
    /// The server generates and passes nothing on: it waits for the end of a call that it cannot read.
    HeldBack,
}

impl Cut {
    /// In words that hold for the person and for the model.
    pub fn why(self) -> &'static str {
        match self {
            Cut::Call => "the reply wrote the same calls again and again",
            Cut::Calls => "the reply held too many calls",
            Cut::Text => "the reply repeated itself",
            Cut::TooLong => "the reply was far too long",
            Cut::HeldBack => "the server held the reply back",
        }
    }
}

/// Watches one reply.
pub struct StreamGuard<'t> {
    tools: &'t [ToolSpec],
    most: usize,
    repeats: Repeats<'t>,
    bytes: usize,
    text: String,
    arguments: String,
    /// The size at which the growing text was last looked at.
    checked: usize,
}

impl<'t> StreamGuard<'t> {
    /// For a reply to a request that offered these tools and so many tokens.
    pub fn new(tools: &'t [ToolSpec], tokens: u32) -> Self {
        StreamGuard {
            tools,
            most: (tokens as usize).saturating_mul(BYTES_PER_TOKEN).max(SHORT),
            repeats: Repeats::new(tools),
            bytes: 0,
            text: String::new(),
            arguments: String::new(),
            checked: 0,
        }
    }

    /// Takes one delta; says why the stream should be cut, if it should.
    pub fn watch(&mut self, delta: &Delta) -> Option<Cut> {
        if let Delta::Retry { .. } = delta {
            let most = self.most;
            *self = StreamGuard::new(self.tools, 0);
            self.most = most;
            return None;
        }
        if self.repeats.push(delta) >= CALL_COPIES || self.repeats.goes_round() {
            return Some(Cut::Call);
        }
        if self.repeats.calls() > MOST_CALLS {
            return Some(Cut::Calls);
        }
        let (grown, exact) = match delta {
            Delta::CallStart { .. } => {
                self.arguments.clear();
                self.checked = 0;
                return None;
            }
            Delta::CallArguments { text, .. } => {
                self.bytes += text.len();
                self.arguments.push_str(text);
                (&self.arguments, true)
            }
            Delta::Text(text) | Delta::Reasoning(text) => {
                self.bytes += text.len();
                self.text.push_str(text);
                (&self.text, false)
            }
            _ => return None,
        };
        if self.bytes > self.most {
            return Some(Cut::TooLong);
        }
        if grown.len() < self.checked + CHECK_EVERY {
            return None;
        }
        self.checked = grown.len();
        let exact = exact || in_content(grown);
        loops(grown.as_bytes(), exact).then_some(Cut::Text)
    }
}

/// True when the text ends inside something that goes into a file or a command, where equal lines
/// may be meant: an open fence, or a call as text.
fn in_content(text: &str) -> bool {
    let fences = text.lines().filter(|l| l.trim_start().starts_with("```"));
    fences.count() % 2 == 1
        || ["<function=", "<tool_call", "<invoke", "\"arguments\""]
            .iter()
            .any(|mark| text.contains(mark))
}

/// True when the text ends in a stretch that repeats itself. In prose that is a block of 200 bytes
/// or more four times, or a shorter one twenty times; in `exact` content only a long stretch.
fn loops(text: &[u8], exact: bool) -> bool {
    let n = text.len();
    (1..=LONGEST_PERIOD.min(n / 4)).any(|period| {
        let need = match (exact, period) {
            (false, 200..) => 4 * period,
            (false, _) => (20 * period).clamp(400, 2_000),
            (true, _) => (4 * period).max(2_000),
        };
        let equal = (0..n - period)
            .take_while(|i| text[n - 1 - i] == text[n - 1 - i - period])
            .count();
        equal + period >= need
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ToolInput;

    fn cut_after(mut deltas: impl Iterator<Item = Delta>) -> Option<Cut> {
        let schema = serde_json::json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
        let tools = [ToolSpec {
            name: "read_file".into(),
            description: String::new(),
            input: ToolInput::Function(schema),
        }];
        let mut guard = StreamGuard::new(&tools, 1_000);
        deltas.find_map(|d| guard.watch(&d))
    }

    fn text(count: usize, piece: impl Fn(usize) -> String) -> Option<Cut> {
        cut_after((0..count).map(|n| Delta::Text(piece(n))))
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
        assert_eq!(cut_after((0..3).flat_map(copy)), Some(Cut::Call));
    }

    #[test]
    fn a_circle_of_calls_cuts_the_stream_and_many_calls_do() {
        let calls = |paths: &[&str]| {
            let deltas: Vec<Delta> = paths
                .iter()
                .enumerate()
                .flat_map(|(index, path)| {
                    [
                        Delta::CallStart {
                            index,
                            name: "read_file".into(),
                        },
                        Delta::CallArguments {
                            index,
                            text: format!("{{\"path\":\"{path}\"}}"),
                        },
                    ]
                })
                .collect();
            cut_after(deltas.into_iter())
        };
        assert_eq!(calls(&["a", "b", "a"]), None);
        assert_eq!(calls(&["a", "b", "a", "b"]), Some(Cut::Call));
        // A look after each of several steps.
        assert_eq!(calls(&["a", "t", "b", "t", "c", "t"]), None);
        let names: Vec<String> = (0..=MOST_CALLS).map(|n| format!("f{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(calls(&names[..MOST_CALLS]), None);
        assert_eq!(calls(&names), Some(Cut::Calls));
    }

    #[test]
    fn a_call_repeated_as_text_is_cut() {
        let call = "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.rs\"}}\n</tool_call>\n";
        assert_eq!(text(2, |_| call.into()), None);
        assert!(text(4, |_| call.into()).is_some());
    }

    #[test]
    fn a_text_that_repeats_is_cut_and_ordinary_text_is_not() {
        let line = |_| "the same line once again\n".to_owned();
        assert_eq!(text(15, line), None);
        assert_eq!(text(25, line), Some(Cut::Text));
        let block: String = (0..25).map(|n| format!("word {n}, ")).collect();
        assert!(block.len() >= 200);
        assert_eq!(text(3, |_| block.clone()), None);
        assert_eq!(text(5, |_| block.clone()), Some(Cut::Text));
        assert_eq!(text(500, |n| format!("let x{n} = {};\n", n * 7)), None);
        assert_eq!(
            cut_after((0..25).map(|n| Delta::Reasoning(line(n)))),
            Some(Cut::Text)
        );
    }

    #[test]
    fn equal_lines_of_a_file_are_no_loop() {
        let rows = |n: usize| match n {
            0 => "```sh\ncat > map.txt <<'EOF'\n".to_owned(),
            _ => "0 0 0 0 0 0 0 0 0 0 0 0\n".to_owned(),
        };
        assert_eq!(text(60, rows), None);
        assert_eq!(text(120, rows), Some(Cut::Text));
    }

    #[test]
    fn a_reply_far_above_its_limit_is_cut() {
        let most = (64 << 10) / 20;
        let piece = |n: usize| format!("{:019} ", n * 7919);
        assert_eq!(text(most, piece), None);
        assert_eq!(text(most + 50, piece), Some(Cut::TooLong));
    }
}
