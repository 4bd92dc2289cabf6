//! The form of an MCP server, field by field. Enter takes the default of a field, and nothing is sent
//! before the person said yes to it.

use super::{Chosen, choice, eprint_safe};
use crate::cancel::Cancel;
use crate::cli::render::Theme;
use crate::cli::render::approval::{Choice, answers, block};
use crate::cli::render::sanitize::{one_line, reveal};
use crate::cli::render::wrap::width;
use crate::cli::terminal;
use crate::tools::mcp::{Asked, Empty, Field, Form};
use nu_ansi_term::Style;
use serde_json::Value;

/// Columns of the words around a default.
const AROUND: usize = 24;

/// What stands above the fields: who asks, what it says, and how to answer.
pub(super) fn text(form: &Form, theme: &Theme, columns: usize) -> String {
    let head = format!("the MCP server {} asks:", one_line(&form.server));
    let mut out = format!("{}\n", theme.warn.paint(head));
    out.push_str(&block(&reveal(&form.message), Style::default(), columns));
    if let Some(url) = &form.url {
        let words = "It wants you to open this page. Say yes when that is done.";
        out.push_str(&block(words, Style::default(), columns));
        out.push_str(&block(&reveal(url), theme.action, columns));
    }
    match form.fields.is_empty() {
        true => out.push_str(&last(columns)),
        false => {
            let help = "Enter alone takes what stands in brackets ( ), Ctrl+D declines.";
            out.push_str(&block(help, theme.dim, columns));
        }
    }
    out
}

/// Asks for every field, and whether the answer is to be sent. `None` at the end of the input and
/// after an interrupt.
pub(super) fn fill_in(form: &Form, theme: &Theme, cancel: &Cancel) -> Option<Asked> {
    let mut values = Vec::new();
    for field in &form.fields {
        values.push(value(field, theme, cancel)?);
    }
    let mut shown = last(terminal::columns());
    if !form.fields.is_empty() {
        let words = format!("Send this to {}?", one_line(&form.server));
        shown = format!(
            "{}{shown}",
            block(&words, Style::default(), terminal::columns())
        );
        eprint_safe(&shown);
    }
    let chosen = choice(&shown, &[Choice::Yes, Choice::No], cancel)?;
    Some(match chosen {
        Chosen::One(Choice::Yes) => Asked::Filled(values),
        Chosen::One(Choice::Stop) => Asked::Cancelled,
        _ => Asked::Declined,
    })
}

fn last(columns: usize) -> String {
    let keys = Choice::ALL.into_iter();
    let keys = keys.filter(|(c, ..)| matches!(c, Choice::Yes | Choice::No));
    let keys = answers(keys.map(|(_, key, words)| (key, words)), columns);
    format!("{keys}  your answer (no): ")
}

/// What the person puts into one field; `None` inside: it is left as it is.
fn value(field: &Field, theme: &Theme, cancel: &Cancel) -> Option<Option<Value>> {
    eprint_safe(&asked(field, theme, terminal::columns()));
    let prompt = prompt(field, terminal::columns());
    loop {
        eprint_safe(&prompt);
        let Some(line) = terminal::line(cancel) else {
            eprint_safe("\n");
            return None;
        };
        let parsed = match (line.trim(), field.empty()) {
            ("", Empty::Needed) => Err("This one is needed.".to_owned()),
            ("", _) => return Some(None),
            (words, _) => field.parse(words),
        };
        match parsed {
            Ok(value) => return Some(Some(value)),
            Err(why) => eprint_safe(&block(&why, theme.warn, terminal::columns())),
        }
    }
}

/// What a field is for and what may stand in it.
fn asked(field: &Field, theme: &Theme, columns: usize) -> String {
    let title = format!("{} ({field})", reveal(field.title()));
    let mut out = block(&title, theme.action, columns);
    for (at, (value, title)) in field.choices().iter().enumerate() {
        let title = match title.as_str() {
            "" => String::new(),
            title => format!(" — {}", one_line(title)),
        };
        let row = format!("[{}] {}{title}", at + 1, one_line(value));
        out.push_str(&block(&row, Style::default(), columns));
    }
    if let Empty::Default(words) = field.empty()
        && !fits(&words, columns)
    {
        out.push_str(&block(
            &format!("unless you say otherwise: {}", reveal(&words)),
            theme.dim,
            columns,
        ));
    }
    out
}

fn fits(default: &str, columns: usize) -> bool {
    width(&one_line(default)) + AROUND <= columns
}

fn prompt(field: &Field, columns: usize) -> String {
    match field.empty() {
        Empty::Needed => "  your answer: ".to_owned(),
        Empty::LeftOut => "  your answer (none): ".to_owned(),
        Empty::Default(words) if fits(&words, columns) => {
            format!("  your answer ({}): ", one_line(&words))
        }
        Empty::Default(_) => "  your answer (that): ".to_owned(),
    }
}
