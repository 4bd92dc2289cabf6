//! The Markdown of a model as rows of a terminal, while it streams.
//!
//! A row is given once and never taken back, so it is given when nothing that may still come can
//! change it. Without styles the words stay as they are written, marks included, and only lines
//! are broken and tables lined up.

mod inline;
mod table;

use super::Theme;
use super::sanitize::sanitize;
use super::wrap::{Cell, cells, paint, rows, width};
use nu_ansi_term::Style;
use table::Table;

/// The most characters of a line that is not complete: then it is broken.
const LONGEST_LINE: usize = 2 << 10;
/// With so many characters of a line, its kind is known.
const KNOWN: usize = 12;
/// The most columns that a line may be indented by.
const MOST_INDENT: usize = 24;
/// Columns of a rule.
const RULE: usize = 40;

/// A stream of Markdown.
#[derive(Debug)]
pub struct Markdown {
    theme: Theme,
    /// What everything is painted in besides.
    base: Style,
    /// Marks become styles.
    rich: bool,
    /// The columns of a row; `None`: lines are not broken.
    columns: Option<usize>,
    /// Those of the next line.
    wanted: Option<usize>,
    /// The line that is not complete.
    line: String,
    /// Rows of it that were given.
    given: usize,
    /// The line was too long and goes on.
    goes_on: bool,
    /// Inside a block of code: its mark, and whether it is a diff.
    code: Option<(String, bool)>,
    table: Table,
    /// Nothing but empty lines came, or the latest was one.
    blank: bool,
}

/// How a line begins, and what is left of it.
struct Line {
    /// Before the first row, and before each further one.
    lead: (String, String),
    /// The style of the lead.
    lead_style: Style,
    style: Style,
    text: String,
}

impl Markdown {
    /// The answer of a model.
    pub fn new(theme: Theme, columns: Option<usize>) -> Self {
        Markdown {
            theme,
            base: Style::default(),
            rich: theme.has_styles(),
            columns,
            wanted: columns,
            line: String::new(),
            given: 0,
            goes_on: false,
            code: None,
            table: Table::default(),
            blank: true,
        }
    }

    /// Its thinking: plain words in one style.
    pub fn thinking(theme: Theme, columns: Option<usize>) -> Self {
        Markdown {
            base: theme.dim,
            rich: false,
            ..Markdown::new(theme, columns)
        }
    }

    /// The window has so many columns now, which counts from the next line on.
    pub fn resize(&mut self, columns: Option<usize>) {
        self.wanted = columns;
    }

    /// The rows that are sure with this piece, each with its line end.
    pub fn push(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for part in piece.split_inclusive('\n') {
            if self.line.is_empty() && self.given == 0 {
                self.columns = self.wanted;
            }
            match part.strip_suffix('\n') {
                Some(end) => {
                    self.line.push_str(end);
                    self.whole_line(&mut out);
                }
                None => self.line.push_str(part),
            }
        }
        self.part_of_line(&mut out);
        out
    }

    /// What is left at the end. The next piece begins anew.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        if !self.line.is_empty() {
            self.whole_line(&mut out);
        }
        self.end_table(&mut out);
        *self = Markdown {
            base: self.base,
            rich: self.rich,
            ..Markdown::new(self.theme, self.wanted)
        };
        out
    }

    fn whole_line(&mut self, out: &mut String) {
        let line = std::mem::take(&mut self.line);
        let line = sanitize(line.strip_suffix('\r').unwrap_or(&line)).into_owned();
        let (given, goes_on) = (
            std::mem::take(&mut self.given),
            std::mem::take(&mut self.goes_on),
        );
        if self.is_table(&line, given, goes_on) {
            if self.table.push(&line) {
                return;
            }
            self.end_table(out);
        }
        self.end_table(out);
        if self.code_line(&line, goes_on, out) {
            return;
        }
        if line.trim().is_empty() && !goes_on {
            if !std::mem::replace(&mut self.blank, true) {
                out.push('\n');
            }
            return;
        }
        self.blank = false;
        if self.rich && !goes_on && given == 0 && is_rule(&line) {
            let rule = "─".repeat(self.columns.unwrap_or(RULE).min(RULE));
            out.push_str(&format!("{}\n", self.theme.dim.paint(rule)));
            return;
        }
        let all = self.rows_of(&line, goes_on, true);
        all.iter().skip(given).for_each(|row| {
            out.push_str(row);
            out.push('\n');
        });
    }

    /// Rows of a line that is still being written.
    fn part_of_line(&mut self, out: &mut String) {
        if self.line.len() > LONGEST_LINE {
            let at = self.line.rfind(' ').map_or(self.line.len(), |at| at + 1);
            let rest = self.line.split_off(at);
            self.whole_line(out);
            self.line = rest;
            self.goes_on = true;
        }
        let known = self.goes_on || self.line.trim_start().chars().nth(KNOWN).is_some();
        if self.columns.is_none()
            || self.code.is_some()
            || !known
            || self.is_table(&self.line, 0, self.goes_on)
            || fence(&self.line).is_some()
            || is_rule(&self.line)
        {
            return;
        }
        self.end_table(out);
        // A carriage return may be the half of a line end.
        let line = sanitize(self.line.trim_end_matches('\r')).into_owned();
        let all = self.rows_of(&line, self.goes_on, false);
        let sure = all.len().saturating_sub(1);
        for row in all.iter().take(sure).skip(self.given) {
            self.blank = false;
            out.push_str(row);
            out.push('\n');
        }
        self.given = self.given.max(sure);
    }

    /// The rows of a line. One that is not `whole` ends where something may still change.
    fn rows_of(&self, line: &str, goes_on: bool, whole: bool) -> Vec<String> {
        let parts = self.parts(line, goes_on);
        let style = merged(self.base, parts.style);
        let text: Vec<Cell> = match self.rich {
            true => inline::parse(&parts.text, style, &self.theme, whole),
            false => cells(&parts.text, style),
        };
        let lead_style = merged(self.base, parts.lead_style);
        let room = self.columns.map_or(usize::MAX, |columns| {
            columns.saturating_sub(width(&parts.lead.0)).max(KNOWN)
        });
        let leads = std::iter::once(&parts.lead.0).chain(std::iter::repeat(&parts.lead.1));
        let painted = rows(&text, room).into_iter().zip(leads).map(|(row, lead)| {
            let lead = paint(&cells(lead, lead_style));
            format!("{lead}{}", paint(row))
        });
        painted.collect()
    }

    /// How a line begins: quote, list, heading, or just indented.
    fn parts(&self, line: &str, goes_on: bool) -> Line {
        let mut rest = line;
        let mut lead = (String::new(), String::new());
        let (mut lead_style, mut style) = (Style::default(), Style::default());
        if goes_on {
            return Line {
                lead,
                lead_style,
                style,
                text: rest.to_owned(),
            };
        }
        while let Some(quoted) = rest
            .trim_start()
            .strip_prefix('>')
            .filter(|_| lead.0.len() < MOST_INDENT)
        {
            let mark = if self.rich { "│ " } else { "> " };
            lead.0.push_str(mark);
            lead.1.push_str(mark);
            rest = quoted.strip_prefix(' ').unwrap_or(quoted);
            (lead_style, style) = (self.theme.dim, self.theme.dim);
        }
        let inner = rest.trim_start_matches([' ', '\t']);
        let indent: usize = rest[..rest.len() - inner.len()]
            .chars()
            .map(|c| if c == '\t' { 4 } else { 1 })
            .sum();
        let indent = " ".repeat(indent.min(MOST_INDENT));
        lead.0.push_str(&indent);
        lead.1.push_str(&indent);
        let mut text = inner;
        if let Some((mark, item)) = list_item(inner) {
            let bullet = self.rich && matches!(mark, "-" | "*" | "+");
            let (tick, item) = match (self.rich && bullet, item) {
                (true, item) if item.starts_with("[ ] ") => (Some("☐"), &item[4..]),
                (true, item) if item.starts_with("[x] ") || item.starts_with("[X] ") => {
                    (Some("✓"), &item[4..])
                }
                _ => (None, item),
            };
            let mark = tick.unwrap_or(if bullet { "•" } else { mark });
            lead.0.push_str(&format!("{mark} "));
            lead.1.push_str(&" ".repeat(width(mark) + 1));
            text = item;
        } else if self.rich
            && let Some(heading) = heading(inner)
        {
            (text, style) = (heading, merged(style, self.theme.action));
        }
        Line {
            lead,
            lead_style,
            style,
            text: text.to_owned(),
        }
    }

    /// True for a line of a block of code, which is printed as it stands: it is there to be copied.
    fn code_line(&mut self, line: &str, goes_on: bool, out: &mut String) -> bool {
        let mark = fence(line).filter(|_| !goes_on);
        let (style, ends) = match (&self.code, mark) {
            (None, None) => return false,
            (None, Some((mark, language))) => {
                self.code = Some((mark.to_owned(), language == "diff" || language == "patch"));
                (self.theme.dim, false)
            }
            (Some((open, _)), Some((mark, ""))) if mark.starts_with(open.as_str()) => {
                (self.theme.dim, true)
            }
            (Some((_, is_diff)), _) => {
                let style = match line.as_bytes().first() {
                    Some(b'+') if *is_diff => self.theme.good,
                    Some(b'-') if *is_diff => self.theme.bad,
                    _ if *is_diff => Style::default(),
                    _ => self.theme.code,
                };
                (style, false)
            }
        };
        if ends {
            self.code = None;
        }
        self.blank = false;
        out.push_str(&paint(&cells(line, merged(self.base, style))));
        out.push('\n');
        true
    }

    fn is_table(&self, line: &str, given: usize, goes_on: bool) -> bool {
        let starts = line.trim_start().starts_with('|');
        starts && given == 0 && !goes_on && self.code.is_none() && self.columns.is_some()
    }

    fn end_table(&mut self, out: &mut String) {
        let table = std::mem::take(&mut self.table);
        if table.is_empty() {
            return;
        }
        self.blank = false;
        let columns = self.columns.unwrap_or(usize::MAX);
        out.push_str(&table.render(columns, self.base, &self.theme, self.rich));
    }
}

/// Both styles at once; the second wins where they differ.
fn merged(under: Style, over: Style) -> Style {
    Style {
        foreground: over.foreground.or(under.foreground),
        is_bold: under.is_bold || over.is_bold,
        is_dimmed: under.is_dimmed || over.is_dimmed,
        is_italic: under.is_italic || over.is_italic,
        is_underline: under.is_underline || over.is_underline,
        is_strikethrough: under.is_strikethrough || over.is_strikethrough,
        ..under
    }
}

/// The mark that begins or ends a block of code, and the words after it.
fn fence(line: &str) -> Option<(&str, &str)> {
    let text = line.trim();
    let sign = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = text.trim_start_matches(sign);
    let mark = &text[..text.len() - rest.len()];
    (mark.len() >= 3 && !rest.contains('`')).then_some((mark, rest.trim()))
}

fn is_rule(line: &str) -> bool {
    let mut signs = line.chars().filter(|c| !c.is_whitespace());
    let Some(first) = signs.next().filter(|c| matches!(c, '-' | '*' | '_')) else {
        return false;
    };
    let rest: Vec<char> = signs.collect();
    rest.len() >= 2 && rest.iter().all(|c| *c == first)
}

/// The text of a heading.
fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let text = rest.strip_prefix(' ')?;
    (1..=6)
        .contains(&level)
        .then(|| text.trim().trim_end_matches('#').trim_end())
}

/// The mark of a list item, and its text.
fn list_item(line: &str) -> Option<(&str, &str)> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let mark = match line.as_bytes() {
        [b'-' | b'*' | b'+', b' ', ..] => 1,
        bytes if (1..=4).contains(&digits) && matches!(bytes.get(digits), Some(b'.' | b')')) => {
            digits + 1
        }
        _ => return None,
    };
    let text = line[mark..].strip_prefix(' ')?;
    Some((&line[..mark], text.trim_start()))
}

#[cfg(test)]
mod tests;
