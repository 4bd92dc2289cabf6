//! Choosing one of a list: with the arrow keys or a number in a terminal, by a number elsewhere.

use super::person::eprint_safe;
use super::render::sanitize::one_line;
use super::render::wrap::fit_start;
use super::terminal::{self, Pressed};
use crate::cancel::Cancel;
use std::io::{self, IsTerminal};

/// Lines of a list that are shown at once.
const SHOWN: usize = 12;
/// Lines around the list: its title and the line below it, and the one that was typed in.
const AROUND: usize = 4;
/// Keeps a long line from taking a second one, which would not be taken away again.
const NO_WRAP: (&str, &str) = ("\x1b[?7l", "\x1b[?7h");

/// Lets the person choose a row; `None` when they do not want to, or nobody is there. `now` is
/// the row to begin at. Rows may hold words of strangers.
pub fn pick(title: &str, rows: &[String], now: usize, cancel: &Cancel) -> Option<usize> {
    if rows.is_empty() {
        return None;
    }
    let rows: Vec<String> = rows.iter().map(|row| one_line(row)).collect();
    let at_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    if at_terminal && terminal::has_keys() {
        return with_keys(title, rows, now, cancel);
    }
    eprint_safe(&listed(title, &rows));
    eprint_safe("number, or nothing to leave it: ");
    let line = terminal::line(cancel);
    if !at_terminal || line.is_none() {
        // Nobody's Enter ended that line on the screen.
        eprint_safe("\n");
    }
    number(line?.trim(), rows.len())
}

/// The list as lines with numbers from 1.
pub fn listed(title: &str, rows: &[String]) -> String {
    let mut out = format!("{title}\n");
    for (at, row) in rows.iter().enumerate() {
        out.push_str(&format!("{:>4}  {}\n", at + 1, one_line(row)));
    }
    out
}

/// The row that a number names, counted from 0.
pub fn number(text: &str, rows: usize) -> Option<usize> {
    let at = text.parse::<usize>().ok()?.checked_sub(1)?;
    (at < rows).then_some(at)
}

fn with_keys(title: &str, rows: Vec<String>, now: usize, cancel: &Cancel) -> Option<usize> {
    let _mode = terminal::Mode::keys();
    terminal::forget_typed();
    let height = SHOWN.min(terminal::rows().saturating_sub(AROUND)).max(1);
    let mut list = List::new(rows, now, height);
    let cut = |text: &str| cut(text, terminal::columns().saturating_sub(1));
    eprint_safe(&cut(title));
    let mut drawn = 0;
    let chosen = loop {
        let text = cut(&list.drawing());
        let up = match drawn {
            0 => String::new(),
            n => format!("\x1b[{n}A\r\x1b[J"),
        };
        eprint_safe(&format!("{up}{}{text}{}", NO_WRAP.0, NO_WRAP.1));
        drawn = text.matches('\n').count();
        let bytes = match terminal::key(cancel) {
            None => break None,
            Some(Pressed::Resumed) => {
                eprint_safe(&cut(title));
                drawn = 0;
                continue;
            }
            Some(Pressed::Key(bytes)) => bytes,
        };
        match list.press(&bytes) {
            Press::More => {}
            Press::Leave => break None,
            Press::Take(at) => break Some(at),
        }
    };
    // The list stays as what was asked; the line to type in has done its work.
    eprint_safe("\x1b[1A\r\x1b[J");
    chosen
}

/// Each line in at most so many columns, and ended.
fn cut(text: &str, columns: usize) -> String {
    let line = |line: &str| format!("{}\n", fit_start(line, columns));
    text.lines().map(line).collect()
}

/// The length of the first key: a sequence that begins with Escape, or all characters before one.
fn length(bytes: &[u8]) -> usize {
    let rest = bytes.get(1..).unwrap_or_default();
    match (bytes, rest.first()) {
        ([b'\x1b', ..], Some(b'[' | b'O')) => {
            let ends = |b: &u8| (0x40..=0x7e).contains(b);
            let end = rest.iter().skip(1).position(ends);
            end.map_or(bytes.len(), |at| at + 3)
        }
        ([b'\x1b', ..], _) => 1,
        _ => match rest.iter().position(|b| *b == b'\x1b') {
            Some(at) => at + 1,
            None => bytes.len(),
        },
    }
}

/// What a key came to.
#[derive(Debug, PartialEq, Eq)]
enum Press {
    /// Go on.
    More,
    /// Choose nothing.
    Leave,
    /// Choose this row.
    Take(usize),
}

/// A list with a marked row, narrowed by what is typed.
struct List {
    rows: Vec<String>,
    typed: String,
    /// Rows that hold what is typed.
    fits: Vec<usize>,
    /// The marked one of these.
    at: usize,
    /// The first one that is shown.
    top: usize,
    height: usize,
}

impl List {
    fn new(rows: Vec<String>, now: usize, height: usize) -> Self {
        let fits: Vec<usize> = (0..rows.len()).collect();
        let mut list = List {
            at: now.min(rows.len().saturating_sub(1)),
            rows,
            typed: String::new(),
            fits,
            top: 0,
            height,
        };
        list.scroll();
        list
    }

    /// What was typed; several keys may come at once.
    fn press(&mut self, bytes: &[u8]) -> Press {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (key, after) = rest.split_at(length(rest));
            rest = after;
            match self.press_one(key) {
                Press::More => {}
                done => return done,
            }
        }
        Press::More
    }

    fn press_one(&mut self, key: &[u8]) -> Press {
        let last = self.fits.len().saturating_sub(1);
        match key {
            b"\x1b[A" | b"\x1bOA" | b"\x10" => self.at = self.at.checked_sub(1).unwrap_or(last),
            b"\x1b[B" | b"\x1bOB" | b"\x0e" => {
                self.at = if self.at >= last { 0 } else { self.at + 1 }
            }
            b"\x1b[5~" => self.at = self.at.saturating_sub(self.height),
            b"\x1b[6~" => self.at = (self.at + self.height).min(last),
            b"\x1b[H" | b"\x1bOH" | b"\x1b[1~" => self.at = 0,
            b"\x1b[F" | b"\x1bOF" | b"\x1b[4~" => self.at = last,
            // Escape, Ctrl+C where it is a key, and the end of the input.
            b"\x1b" | b"\x03" | b"\x04" => return Press::Leave,
            [b'\x1b', ..] => {}
            keys => return self.type_in(&String::from_utf8_lossy(keys)),
        }
        self.scroll();
        Press::More
    }

    fn type_in(&mut self, keys: &str) -> Press {
        for key in keys.chars() {
            match key {
                '\r' | '\n' => {
                    return match self.fits.get(self.at) {
                        Some(at) => Press::Take(*at),
                        None => Press::More,
                    };
                }
                '\x7f' | '\x08' => {
                    self.typed.pop();
                    self.narrow();
                }
                key if !key.is_control() => {
                    self.typed.push(key);
                    self.narrow();
                }
                _ => {}
            }
        }
        Press::More
    }

    /// A number marks its row; other words leave the rows that hold them.
    fn narrow(&mut self) {
        let all = 0..self.rows.len();
        if let Some(at) = number(&self.typed, self.rows.len()) {
            self.fits = all.collect();
            self.at = at;
        } else {
            let typed = self.typed.to_lowercase();
            let holds = |at: &usize| self.rows[*at].to_lowercase().contains(&typed);
            self.fits = all.filter(holds).collect();
            self.at = 0;
        }
        self.scroll();
    }

    fn scroll(&mut self) {
        if self.at < self.top {
            self.top = self.at;
        } else if self.at >= self.top + self.height {
            self.top = self.at + 1 - self.height;
        }
        self.top = self.top.min(self.fits.len().saturating_sub(self.height));
    }

    /// The lines to show, the last of them the one to type in.
    fn drawing(&self) -> String {
        let mut out = String::new();
        let shown = self
            .fits
            .iter()
            .enumerate()
            .skip(self.top)
            .take(self.height);
        for (place, at) in shown {
            let mark = if place == self.at { "›" } else { " " };
            let row = self.rows.get(*at).map_or("", String::as_str);
            out.push_str(&format!("{mark}{:>3}  {row}\n", at + 1));
        }
        let hidden = self.fits.len().saturating_sub(self.height);
        let more = match (self.fits.is_empty(), hidden) {
            (true, _) => "nothing like that; ".to_owned(),
            (_, 0) => String::new(),
            (_, n) => format!("{n} more; "),
        };
        let typed = match self.typed.is_empty() {
            true => String::new(),
            false => format!("[{}] ", one_line(&self.typed)),
        };
        out.push_str(&format!(
            "  {typed}{more}Enter takes it, Esc leaves; arrows, a number or a word choose\n"
        ));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(rows: &[&str], height: usize) -> List {
        List::new(rows.iter().map(|r| (*r).to_owned()).collect(), 0, height)
    }

    #[test]
    fn arrows_go_round_and_the_marked_row_is_always_shown() {
        let rows: Vec<String> = (0..30).map(|n| format!("row {n}")).collect();
        let mut l = List::new(rows, 0, 5);
        assert_eq!(l.press(b"\x1b[A"), Press::More);
        assert_eq!((l.at, l.top), (29, 25));
        l.press(b"\x1b[B");
        assert_eq!((l.at, l.top), (0, 0));
        l.press(b"\x1b[B\x1b[B\x1b[A\x1b[A");
        assert_eq!(l.at, 0);
        l.press(b"\x1b[6~");
        let text = l.drawing();
        assert!(text.contains("›  6  row 5\n"), "{text}");
        assert_eq!(text.lines().count(), 6);
        assert_eq!(l.press(b"\x1b[A\x1b[B\r"), Press::Take(5));
        assert_eq!(l.press(b"\x1b"), Press::Leave);
    }

    #[test]
    fn a_number_marks_and_a_word_narrows() {
        let mut l = list(&["Fix the bug", "Write docs", "fix tests"], 12);
        assert_eq!(l.press(b"2\r"), Press::Take(1));
        l.press(b"\x7f");
        l.press(b"FIX");
        assert_eq!(l.fits, [0, 2]);
        l.press(b"\x1b[B");
        assert_eq!(l.press(b"\r"), Press::Take(2));
        l.press("qü".as_bytes());
        assert_eq!(l.press(b"\r"), Press::More);
        assert!(l.drawing().contains("nothing like that"));
        assert_eq!(number("3", 3), Some(2));
        for bad in ["0", "4", "", "x", "-1"] {
            assert_eq!(number(bad, 3), None);
        }
    }

    #[test]
    fn a_line_is_cut_to_the_terminal() {
        assert_eq!(cut("abcde\nü", 5), "abcde\nü\n");
        assert_eq!(cut("abcdef", 5), "abcd…\n");
        assert_eq!(cut("日本語", 5), "日本…\n");
    }

    #[test]
    fn a_list_has_numbers_and_nothing_raw() {
        let text = listed("Which?", &["a\x1b[2J\nb".into()]);
        assert_eq!(text, "Which?\n   1  a^[[2J⏎b\n");
    }
}
