//! Columns: how wide a text is, and how it fits.

use nu_ansi_term::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The columns of a text without line ends.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The columns of one character; control characters have none.
pub fn char_width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// The beginning of a text, in at most so many columns, the last one a mark when it was cut.
pub fn fit_start(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut used = 0;
    let kept = text.chars().take_while(|c| {
        used += char_width(*c);
        used < columns
    });
    let kept: String = kept.collect();
    if columns == 0 {
        kept
    } else {
        format!("{kept}…")
    }
}

/// The same with the end of the text.
pub fn fit_end(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut used = 0;
    let kept = text.chars().rev().take_while(|c| {
        used += char_width(*c);
        used < columns
    });
    let kept: String = kept.collect::<Vec<_>>().into_iter().rev().collect();
    if columns == 0 {
        kept
    } else {
        format!("…{kept}")
    }
}

/// Breaks a text into lines of at most `width` characters. A longer word is cut.
pub fn break_lines(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        if used > 0 && used + 1 + word.len() <= width {
            used += 1;
            if let Some(line) = lines.last_mut() {
                line.push(' ');
            }
        } else if used > 0 {
            lines.push(String::new());
            used = 0;
        }
        while !word.is_empty() {
            if used == width {
                lines.push(String::new());
                used = 0;
            }
            let rest = word.split_off(word.len().min(width - used));
            used += word.len();
            if let Some(line) = lines.last_mut() {
                line.extend(word);
            }
            word = rest;
        }
    }
    lines
}

/// A character and how it is painted.
pub type Cell = (char, Style);

/// The characters of a text in one style.
pub fn cells(text: &str, style: Style) -> Vec<Cell> {
    text.chars().map(|c| (c, style)).collect()
}

/// Characters as they are written to the terminal.
pub fn paint(cells: &[Cell]) -> String {
    let mut out = String::new();
    for run in cells.chunk_by(|a, b| a.1 == b.1) {
        let text: String = run.iter().map(|(c, _)| *c).collect();
        match run.first() {
            Some((_, style)) if *style != Style::default() => {
                out.push_str(&style.paint(text).to_string());
            }
            _ => out.push_str(&text),
        }
    }
    out
}

/// Rows of at most so many columns, broken between words, and between wide characters. A word
/// that is longer stays whole, so that it can be copied; the terminal breaks it.
///
/// The rows of a beginning are those of the whole, except for its last row.
pub fn rows(cells: &[Cell], columns: usize) -> Vec<&[Cell]> {
    let mut rows = Vec::new();
    let (mut start, mut used) = (0, 0);
    // Where the row may end, and where the next one would begin.
    let mut gap: Option<(usize, usize)> = None;
    for (at, (c, _)) in cells.iter().enumerate() {
        let wide = char_width(*c);
        if *c == ' ' {
            // Spaces at the beginning of a row are its indentation.
            if at > start && cells[at - 1].0 != ' ' || gap.is_some() {
                gap = Some((gap.filter(|g| g.1 == at).map_or(at, |g| g.0), at + 1));
            }
        } else {
            if wide == 2 && at > start {
                let follows = gap.is_some_and(|g| g.1 == at);
                if !follows {
                    gap = Some((at, at));
                }
            }
            if used + wide > columns
                && let Some((end, next)) = gap
            {
                rows.push(&cells[start..end]);
                start = next;
                used = cells[next..at].iter().map(|(c, _)| char_width(*c)).sum();
                gap = None;
            }
        }
        used += wide;
    }
    let rest = &cells[start..];
    let end = rest
        .iter()
        .rposition(|(c, _)| *c != ' ')
        .map_or(0, |at| at + 1);
    rows.push(&rest[..end]);
    rows
}

/// The same as lines, each row ended.
pub fn lines(cells: &[Cell], columns: usize) -> String {
    let lines = cells.split(|(c, _)| *c == '\n');
    let rows = lines.flat_map(|line| rows(line, columns));
    rows.map(|row| format!("{}\n", paint(row))).collect()
}

/// A word that is seen and what it is about, as lines.
pub fn headed(head: &str, style: Style, text: &str, columns: usize) -> String {
    let mut cells = self::cells(head, style);
    cells.extend(self::cells(&format!(" {text}"), Style::default()));
    lines(&cells, columns)
}

/// Lines of names and what they say, in at most so many columns: what goes on in another row stands
/// below its beginning, behind the name, or below a name that takes too much of the row.
pub fn hanging(text: &str, columns: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let (lead, name, rest, indent) = parted(line, columns);
        let rest = cells(rest, Style::default());
        out.push_str(&lead);
        for (at, row) in rows(&rest, columns.saturating_sub(indent))
            .iter()
            .enumerate()
        {
            if at > 0 || name {
                out.push_str(&" ".repeat(indent));
            }
            out.push_str(&paint(row));
            out.push('\n');
        }
    }
    out
}

/// What stands before the words of a line, whether that is a row of its own, the words, and the
/// columns before their rows.
fn parted(line: &str, columns: usize) -> (String, bool, &str, usize) {
    /// The indentation of words that have no room behind their name.
    const BELOW: usize = 4;
    if width(line) <= columns {
        return (String::new(), false, line, 0);
    }
    let start = line.len() - line.trim_start().len();
    let gap = line[start..].find("  ").map(|at| start + at);
    let words = gap.and_then(|at| line[at..].find(|c| c != ' ').map(|more| at + more));
    let (name, rest) = line.split_at(words.unwrap_or(start));
    match (words, width(name)) {
        (_, wide) if wide <= columns / 2 => (name.to_owned(), false, rest, wide),
        (Some(_), _) => (format!("{}\n", name.trim_end()), true, rest, BELOW),
        (None, _) => (" ".repeat(BELOW), false, rest, BELOW),
    }
}

/// Where a text stands in its column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Side {
    /// At the left.
    #[default]
    Left,
    /// In the middle.
    Middle,
    /// At the right.
    Right,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_have_two_columns() {
        assert_eq!([width("日本"), width("grün"), width("e\u{301}")], [4, 4, 1]);
        assert_eq!(fit_start("日本語", 5), "日本…");
        assert_eq!(fit_start("日本語", 4), "日…");
        assert_eq!(fit_end("日本語", 4), "…語");
        assert_eq!(fit_start("short", 5), "short");
        assert_eq!(fit_start("x", 0), "");
    }

    fn broken(text: &str, columns: usize) -> Vec<String> {
        let cells = cells(text, Style::default());
        rows(&cells, columns).into_iter().map(paint).collect()
    }

    #[test]
    fn rows_break_between_words_and_wide_characters() {
        assert_eq!(broken("one two  three", 8), ["one two", "three"]);
        assert_eq!(broken("a verylongword b", 6), ["a", "verylongword", "b"]);
        assert_eq!(broken("日本語です", 5), ["日本", "語で", "す"]);
        assert_eq!(broken("exactly8 x", 8), ["exactly8", "x"]);
        assert_eq!(broken("", 8), [""]);
    }

    #[test]
    fn the_rows_of_a_beginning_stay() {
        let text = "Wide 日本語 and  narrow words, averylongwordthatstayswhole and an end.";
        for columns in [8, 13, 40] {
            let all = broken(text, columns);
            for (at, _) in text.char_indices() {
                let part = broken(&text[..at], columns);
                let sure = part.len() - 1;
                assert_eq!(part[..sure], all[..sure], "{columns} columns, {at} bytes");
            }
        }
    }

    #[test]
    fn what_a_line_says_stands_behind_its_name() {
        let text = "model  a name that is long\nno gap in this line of words\nshort  x\n";
        assert_eq!(
            hanging(text, 20),
            "model  a name that\n       is long\nno gap in this line\nof words\nshort  x\n"
        );
        assert_eq!(
            hanging("  /a/very/long/path/of/a/file", 20),
            "  /a/very/long/path/of/a/file\n"
        );
        // A name that leaves no room, and wide letters.
        assert_eq!(
            hanging("a-long-name  and words", 16),
            "a-long-name\n    and words\n"
        );
        assert_eq!(
            hanging("            and some words", 16),
            "    and some\n    words\n"
        );
        assert_eq!(
            hanging("日本  一 二 三 四", 12),
            "日本  一 二\n      三 四\n"
        );
    }

    #[test]
    fn a_text_is_broken_between_words_and_loses_nothing() {
        assert_eq!(break_lines("a bb ccc", 4), ["a bb", "ccc"]);
        assert_eq!(break_lines("abcdefgh ij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(break_lines("", 4), [""]);
        let text = "one two three four five six seven eight nine ten".repeat(9);
        let lines = break_lines(&text, 64);
        assert!(lines.iter().all(|l| l.chars().count() <= 64));
        assert_eq!(lines.join(" "), text);
    }
}
