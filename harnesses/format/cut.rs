//! Cutting a long text so that what matters stays: its head, its tail, and the lines in between
//! that look like errors.

use crate::words;

/// No line that a model reads is longer, in bytes.
pub const LINE_MAX: usize = 4000;

/// The most bytes of one kept line between head and tail, and the most such lines.
const KEPT_LINE: usize = 300;
const KEPT_LINES: usize = 20;

/// How much may stay.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// Bytes in all.
    pub bytes: usize,
    /// Lines of head and tail together.
    pub lines: usize,
    /// How much of both goes to the head.
    pub head_percent: usize,
}

impl Limit {
    /// So many bytes on any number of lines.
    pub const fn bytes(bytes: usize, head_percent: usize) -> Self {
        Limit {
            bytes,
            lines: usize::MAX,
            head_percent,
        }
    }

    /// Cuts the output of a command within this limit for an answer of `room` bytes, beside the
    /// `around` bytes of its labels. `frame` is what the sentences of a cut take.
    pub fn output(self, text: &str, around: usize, room: usize, frame: usize) -> Cut {
        let free = allowance(text.len(), around, room, frame + around);
        let bytes = self.bytes.min(free);
        cut(text, Limit { bytes, ..self })
    }
}

/// A text, cut if it had to be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cut {
    /// The beginning; the whole text when nothing was left out.
    pub head: String,
    /// Lines from between that look like errors.
    pub errors: Vec<String>,
    /// The end.
    pub tail: String,
    /// Bytes left out.
    pub omitted_bytes: usize,
    /// Whole lines left out.
    pub omitted_lines: usize,
    /// There is something between head and tail that is left out.
    pub split: bool,
}

impl Cut {
    /// Head, `mark`, the error-like lines and tail, each on lines of their own; the head alone
    /// when nothing is missing.
    pub fn join(&self, mark: &str) -> String {
        if !self.split {
            return self.head.clone();
        }
        let mut text = self.head.clone();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(mark);
        text.push('\n');
        text.push_str(&self.errors_block());
        text.push_str(&self.tail);
        text
    }

    /// Advice, head, what is left out, and tail, each in a tag of its own: `{tag}_head` and
    /// `{tag}_tail` for the two ends.
    pub fn tagged(&self, tag: &str, advice: &str) -> String {
        format!(
            "<warning>\n{advice}\n</warning>\n<{tag}_head>\n{}</{tag}_head>\n<elided_chars>\n{} characters elided\n{}</elided_chars>\n<{tag}_tail>\n{}</{tag}_tail>",
            self.head,
            self.omitted_bytes,
            self.errors_block(),
            self.tail
        )
    }

    /// The error-like lines under a line that names them; empty when there are none.
    pub fn errors_block(&self) -> String {
        if self.errors.is_empty() {
            return String::new();
        }
        format!(
            "[left-out lines that look like errors:]\n{}\n[end of these lines]\n",
            self.errors.join("\n")
        )
    }
}

/// The bytes that an output of `len` bytes may have in an answer of `room`: all of it where it fits
/// beside the `around` bytes of its labels. Only a longer one is cut, and leaves `frame` to the
/// sentences that tell so: they must not take the place of a text that is shorter than they are.
pub fn allowance(len: usize, around: usize, room: usize, frame: usize) -> usize {
    if len + around <= room {
        len
    } else {
        room.saturating_sub(frame)
    }
}

/// Cuts `text` to `limit`. Lines above [`LINE_MAX`] lose their middle in any case.
pub fn cut(text: &str, limit: Limit) -> Cut {
    let lines: Vec<String> = text.split_inclusive('\n').map(shorten).collect();
    let short: usize = lines.iter().map(String::len).sum();
    if short <= limit.bytes && lines.len() <= limit.lines {
        return Cut {
            head: lines.concat(),
            omitted_bytes: text.len().saturating_sub(short),
            ..Cut::default()
        };
    }
    let plain = split(&lines, limit, limit.bytes);
    let parts = if error_lines(&lines[plain.0..plain.1], limit.bytes).is_empty() {
        plain
    } else {
        split(&lines, limit, limit.bytes - limit.bytes / 4)
    };
    let (first, last) = (parts.0, parts.1);
    let mut head = lines[..first].concat();
    let mut tail = lines[last..].concat();
    // A first or last line that does not fit as a whole would leave nothing to see.
    if head.is_empty() && first < last {
        let line = &lines[first];
        head = words::head(line, limit.bytes * limit.head_percent / 400).to_owned();
    }
    if tail.is_empty() && first < last {
        let line = &lines[last - 1];
        let want = limit.bytes * (100 - limit.head_percent.min(100)) / 400;
        tail = words::tail(line, want).to_owned();
    }
    let errors = error_lines(&lines[first..last], limit.bytes / 4);
    let shown = head.len() + tail.len() + errors.iter().map(String::len).sum::<usize>();
    Cut {
        omitted_bytes: text.len().saturating_sub(shown),
        omitted_lines: last - first,
        head,
        errors,
        tail,
        split: true,
    }
}

/// How many lines from the start, and from which line to the end, fit into `bytes`.
fn split(lines: &[String], limit: Limit, bytes: usize) -> (usize, usize) {
    let share = |of: usize| of / 100 * limit.head_percent + of % 100 * limit.head_percent / 100;
    let head_bytes = share(bytes);
    let head_lines = share(limit.lines.min(lines.len()));
    let fitting = |lines: &mut dyn Iterator<Item = &String>, bytes: usize, most: usize| {
        let mut used = 0;
        lines
            .take(most)
            .take_while(|line| {
                used += line.len();
                used <= bytes
            })
            .count()
    };
    let first = fitting(&mut lines.iter(), head_bytes, head_lines);
    let rest = limit.lines.saturating_sub(head_lines);
    let last = fitting(&mut lines[first..].iter().rev(), bytes - head_bytes, rest);
    (first, lines.len() - last)
}

/// The lines that look like errors, without copies, in order; errors before warnings when not all
/// fit into `bytes`.
fn error_lines(lines: &[String], bytes: usize) -> Vec<String> {
    const STRONG: [&str; 6] = [
        "error",
        "failed",
        "panic",
        "traceback",
        "exception",
        "fatal",
    ];
    let mut found: Vec<(usize, &str)> = Vec::new();
    let mut used = 0;
    for strong in [true, false] {
        for (at, line) in lines.iter().enumerate() {
            let line = line.trim_end();
            let lower = line.to_lowercase();
            let is_strong = STRONG.iter().any(|word| lower.contains(word));
            let wanted = if strong {
                is_strong
            } else {
                !is_strong && lower.contains("warning")
            };
            if !wanted || found.iter().any(|(_, known)| *known == line) {
                continue;
            }
            let size = line.len().min(KEPT_LINE) + 1;
            if found.len() >= KEPT_LINES || used + size > bytes {
                break;
            }
            used += size;
            found.push((at, line));
        }
    }
    found.sort_unstable();
    found
        .into_iter()
        .map(|(_, line)| super::clip(line, KEPT_LINE))
        .collect()
}

/// The line, or its beginning and end when it is longer than [`LINE_MAX`].
fn shorten(line: &str) -> String {
    if line.len() <= LINE_MAX {
        return line.to_owned();
    }
    let head = words::head(line, LINE_MAX * 3 / 4);
    let tail = words::tail(line, LINE_MAX / 8);
    let left_out = line.len() - head.len() - tail.len();
    format!("{head}[... {left_out} bytes of this line left out ...]{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(bytes: usize) -> Limit {
        Limit {
            bytes,
            lines: usize::MAX,
            head_percent: 50,
        }
    }

    #[test]
    fn a_short_text_stays() {
        let cut = cut("one\ntwo\n", limit(100));
        assert_eq!(
            (cut.head.as_str(), cut.omitted_bytes, cut.split),
            ("one\ntwo\n", 0, false)
        );
    }

    /// A huge line, two long lists, an error between them, and the end.
    #[test]
    fn head_tail_and_errors_stay() {
        let numbers: String = (1..=20_000).map(|n| format!("{n}\n")).collect();
        let text = format!(
            "{}\n{numbers}error[E1234]: middle\n{numbers}LAST\n",
            "x".repeat(300_000)
        );
        let cut = cut(&text, limit(10_000));
        let shown = cut.join("[cut]");
        assert!(shown.starts_with("xxx") && shown.ends_with("LAST\n"));
        assert_eq!(cut.errors, ["error[E1234]: middle"]);
        assert!(shown.len() < 10_200, "{}", shown.len());
        assert!(shown.lines().all(|line| line.len() <= 4096));
        let kept = cut.head.len() + cut.tail.len() + 20;
        assert_eq!(cut.omitted_bytes, text.len() - kept);
    }

    #[test]
    fn lines_are_limited_too() {
        let text: String = (1..=100).map(|n| format!("{n}\n")).collect();
        let limit = Limit {
            bytes: 10_000,
            lines: 10,
            head_percent: 20,
        };
        let cut = cut(&text, limit);
        assert_eq!(cut.head, "1\n2\n");
        assert_eq!(cut.tail, "93\n94\n95\n96\n97\n98\n99\n100\n");
        assert_eq!(cut.omitted_lines, 90);
    }

    #[test]
    fn one_endless_line_shows_both_ends() {
        let text = format!("A{}Z", "ü".repeat(5000));
        let cut = cut(&text, limit(1000));
        assert!(cut.head.starts_with('A') && cut.tail.ends_with('Z'));
        assert!(cut.head.len() + cut.tail.len() <= 1000);
    }

    #[test]
    fn warnings_give_way_to_errors() {
        let lines: Vec<String> = (0..30)
            .map(|n| format!("warning {n}\n"))
            .chain(["fatal: disk\n".to_owned()])
            .collect();
        let kept = error_lines(&lines, 10_000);
        assert_eq!(kept.len(), KEPT_LINES);
        assert_eq!(kept.last().map(String::as_str), Some("fatal: disk"));
    }

    #[test]
    fn any_limit_is_safe() {
        let text = "häßlich error\n".repeat(400);
        for bytes in [0, 1, 3, 50, 399, 5000, 100_000] {
            for head_percent in [0, 20, 50, 100] {
                for lines in [0, 1, 7, 1000] {
                    let cut = cut(
                        &text,
                        Limit {
                            bytes,
                            lines,
                            head_percent,
                        },
                    );
                    assert!(cut.head.len() + cut.tail.len() <= bytes.max(1), "{bytes}");
                }
            }
        }
    }
}
