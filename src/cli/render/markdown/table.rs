//! A table: lined up where it fits, else a block of named values for each row.

use super::{inline, merged};
use crate::cli::render::Theme;
use crate::cli::render::wrap::{Cell, Side, cells, paint, rows, width};
use nu_ansi_term::Style;

/// The most bytes that are held back for a table; what is larger is printed in parts.
const MOST: usize = 64 << 10;
/// Between two columns.
const GAP: &str = " │ ";

/// The lines of a table so far.
#[derive(Debug, Default)]
pub struct Table {
    lines: Vec<String>,
    bytes: usize,
}

impl Table {
    /// True while there is none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Takes a line. False when the table has become too large for it.
    pub fn push(&mut self, line: &str) -> bool {
        self.bytes += line.len();
        let fits = self.bytes <= MOST || self.lines.is_empty();
        if fits {
            self.lines.push(line.to_owned());
        }
        fits
    }

    /// The table in at most so many columns.
    pub fn render(&self, columns: usize, base: Style, theme: &Theme, rich: bool) -> String {
        let mut grid: Vec<Vec<String>> = self.lines.iter().map(|l| split(l)).collect();
        let sides = grid.get(1).and_then(|row| sides(row));
        let Some(sides) = sides else {
            // Without the line below its head it is text that begins with a bar.
            return self
                .lines
                .iter()
                .map(|l| format!("{}\n", paint(&cells(l, base))))
                .collect();
        };
        grid.remove(1);
        let count = grid.iter().map(Vec::len).max().unwrap_or(0);
        let painted: Vec<Vec<Vec<Cell>>> = grid
            .iter()
            .enumerate()
            .map(|(n, row)| {
                let style = if n == 0 {
                    merged(base, theme.action)
                } else {
                    base
                };
                let cell = |i: usize| match (row.get(i), rich) {
                    (Some(text), true) => inline::parse(text, style, theme, true),
                    (Some(text), false) => cells(text, style),
                    (None, _) => Vec::new(),
                };
                (0..count).map(cell).collect()
            })
            .collect();
        let widths: Vec<usize> = (0..count)
            .map(|i| {
                painted
                    .iter()
                    .map(|row| columns_of(&row[i]))
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let gaps = width(GAP) * count.saturating_sub(1);
        if widths.iter().sum::<usize>() + gaps <= columns {
            lined_up(&painted, &widths, &sides, theme)
        } else {
            named(&painted, columns, theme)
        }
    }
}

fn columns_of(cells: &[Cell]) -> usize {
    width(&cells.iter().map(|(c, _)| *c).collect::<String>())
}

fn lined_up(grid: &[Vec<Vec<Cell>>], widths: &[usize], sides: &[Side], theme: &Theme) -> String {
    let mut out = String::new();
    for (n, row) in grid.iter().enumerate() {
        let mut line = String::new();
        for (i, (cell, columns)) in row.iter().zip(widths).enumerate() {
            if i > 0 {
                line.push_str(&theme.dim.paint(GAP).to_string());
            }
            let free = columns.saturating_sub(columns_of(cell));
            let before = match sides.get(i).copied().unwrap_or_default() {
                Side::Left => 0,
                Side::Middle => free / 2,
                Side::Right => free,
            };
            let after = if i + 1 == row.len() { 0 } else { free - before };
            line.push_str(&format!("{:before$}{}{:after$}", "", paint(cell), ""));
        }
        out.push_str(line.trim_end());
        out.push('\n');
        if n == 0 {
            let rule: Vec<String> = widths.iter().map(|w| "─".repeat(*w)).collect();
            out.push_str(&format!("{}\n", theme.dim.paint(rule.join("─┼─"))));
        }
    }
    out
}

/// Each row as lines of `Name: value`.
fn named(grid: &[Vec<Vec<Cell>>], columns: usize, theme: &Theme) -> String {
    let Some((head, body)) = grid.split_first() else {
        return String::new();
    };
    let mut out = String::new();
    for (n, row) in body.iter().enumerate() {
        if n > 0 {
            out.push_str(&format!(
                "{}\n",
                theme.dim.paint("─".repeat(columns.min(8)))
            ));
        }
        for (name, value) in head.iter().zip(row).filter(|(_, value)| !value.is_empty()) {
            let mut line = name.clone();
            line.extend(cells(": ", theme.action));
            line.extend_from_slice(value);
            for (at, row) in rows(&line, columns.saturating_sub(2))
                .into_iter()
                .enumerate()
            {
                let lead = if at > 0 { "  " } else { "" };
                out.push_str(&format!("{lead}{}\n", paint(row)));
            }
        }
    }
    out
}

/// The cells of a line; a bar in code or after a backslash is text.
fn split(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut cells = vec![String::new()];
    let (mut code, mut chars) = (false, line.chars().peekable());
    while let Some(c) = chars.next() {
        match (c, cells.last_mut()) {
            ('\\', Some(cell)) if chars.peek() == Some(&'|') => {
                cell.push('|');
                chars.next();
            }
            ('|', _) if !code => cells.push(String::new()),
            (c, Some(cell)) => {
                code ^= c == '`';
                cell.push(c);
            }
            (_, None) => {}
        }
    }
    // The bar at the end closes the last cell.
    if cells.len() > 1 && cells.last().is_some_and(|c| c.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|c| c.trim().to_owned()).collect()
}

/// The sides of the columns, if this is the line below the head.
fn sides(row: &[String]) -> Option<Vec<Side>> {
    let side = |cell: &String| {
        let dashes = cell.trim_start_matches(':').trim_end_matches(':');
        let is_mark = !dashes.is_empty() && dashes.chars().all(|c| c == '-');
        is_mark.then(|| match (cell.starts_with(':'), cell.ends_with(':')) {
            (true, true) => Side::Middle,
            (false, true) => Side::Right,
            _ => Side::Left,
        })
    };
    row.iter().map(side).collect()
}
