//! How things are told in a line: actions, the sandbox, numbers and times.

use super::sanitize::one_line;
use crate::sandbox::{Mode, Strength};
use crate::tools::action::{Action, AgentWant, Glob, Grep, Outcome, Read};
use crate::tools::patch_paths;
use std::path::Path;
use std::time::Duration;

/// Characters of a command or path in a line.
const GIST: usize = 160;

/// The mode and its strength, for `status` and the first command of a session.
pub fn strength_text(mode: Mode, strength: &Strength) -> String {
    match (mode, strength) {
        (Mode::DangerFullAccess, _) => "danger-full-access (no fence)".into(),
        (mode, Strength::Enforced) => format!("{} (enforced)", mode.name()),
        (mode, Strength::Partial(missing)) => format!("{} (partial: {missing})", mode.name()),
        (mode, Strength::Nothing(why)) => format!(
            "{} (cannot be enforced here: {why}; asking for each command)",
            mode.name()
        ),
    }
}

/// What an action is about, in one line.
pub fn gist(action: &Action) -> String {
    shorten(&whole_gist(action))
}

/// [`gist`] for somebody in `cwd`: a path below it is told from there.
pub fn gist_in(action: &Action, cwd: &Path) -> String {
    let whole = whole_gist(action);
    match action {
        // A command is told as it is.
        Action::Shell(_) | Action::Mcp(_) | Action::Ask { .. } => shorten(&whole),
        _ => shorten(&near(&whole, cwd)),
    }
}

/// A text with the paths below that folder told from there, and the folder itself at its end.
pub fn near(text: &str, cwd: &Path) -> String {
    let folder = one_line(&cwd.display().to_string());
    if folder.is_empty() || folder == "/" {
        return text.to_owned();
    }
    let text = text.replace(&format!("{folder}/"), "");
    match text.strip_suffix(&folder) {
        Some(before) if before.is_empty() || before.ends_with(' ') => format!("{before}."),
        _ => text,
    }
}

/// The same when it is over. Where a whole file was read, it does not matter how far it would have
/// been.
pub fn gist_of(action: &Action, outcome: &Outcome, cwd: &Path) -> String {
    match (action, outcome) {
        (Action::Read(read), Outcome::Read(out)) if out.lines == out.total => {
            gist_in(&Action::Read(Read::new(&read.path, None, 0)), cwd)
        }
        _ => gist_in(action, cwd),
    }
}

/// `1 line`, `2 lines`.
pub fn lines(count: usize) -> String {
    match count {
        1 => "1 line".to_owned(),
        n => format!("{n} lines"),
    }
}

/// [`gist`], however long it is.
pub fn whole_gist(action: &Action) -> String {
    let text = match action {
        Action::Read(read) => match (read.first, read.lines, &read.path) {
            (last, _, path) if read.from_end => format!("{path}, the last {last} lines"),
            (1, None, path) => path.clone(),
            (first, None, path) => format!("{path} from line {first}"),
            (first, Some(n), path) => {
                let last = first.saturating_add(n.saturating_sub(1));
                format!("{path} lines {first}–{last}")
            }
        },
        Action::Write { path, content, .. } => {
            format!("{path} ({})", lines(content.lines().count()))
        }
        Action::Edit { path, .. }
        | Action::Insert { path, .. }
        | Action::UndoEdit { path }
        | Action::List { path, .. }
        | Action::ViewImage { path } => path.clone(),
        Action::EditCell(edit) => match &edit.cell {
            Some(cell) => format!("{} cell {cell}", edit.path),
            None => edit.path.clone(),
        },
        Action::Patch { text, form, .. } => patch_paths(text, *form).unwrap_or_default().join(", "),
        Action::Glob(Glob { pattern, path, .. }) | Action::Grep(Grep { pattern, path, .. }) => {
            match path {
                Some(path) => format!("{pattern} in {path}"),
                None => pattern.clone(),
            }
        }
        Action::Shell(s) => s.command.clone(),
        Action::Fetch(fetch) => fetch.url.clone(),
        Action::ShellInput { id, .. }
        | Action::ShellStop { id }
        | Action::ShellWait { id: Some(id), .. } => format!("command {id}"),
        Action::Mode { planning, .. } => match planning {
            true => "begins".into(),
            false => "ends".into(),
        },
        Action::Ask { questions } => {
            let words: Vec<&str> = questions.iter().map(|q| q.question.as_str()).collect();
            words.join(" / ")
        }
        Action::Skill { name, .. } => name.clone(),
        Action::Mcp(call) => format!("{} {} {}", call.server, call.tool, call.arguments),
        Action::FindTools { query, .. } => query.clone(),
        Action::Delegate(part) => format!("{}: {}", part.role, part.title),
        Action::Agents { agents, want } => {
            let names = agents.join(", ");
            match want {
                AgentWant::Answer => names,
                AgentWant::Close => format!("{names}: closed"),
                AgentWant::Reopen => format!("{names}: taken up again"),
            }
        }
        Action::ShellWait { id: None, .. } | Action::ShellList => "background commands".into(),
        Action::Plan { .. } | Action::PlanRead | Action::Finish { .. } => String::new(),
    };
    one_line(&text)
}

/// At most a line's worth of characters.
pub fn shorten(text: &str) -> String {
    match text.char_indices().nth(GIST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// `12345` as `12,345`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A time as `0.4 s` or `3 min 20 s`.
pub fn duration(time: Duration) -> String {
    match time.as_secs() {
        s if s >= 60 => format!("{} min {} s", s / 60, s % 60),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_below_the_folder_is_told_from_there() {
        let read = |path: &str| Action::ViewImage { path: path.into() };
        let cwd = Path::new("/home/ann/p");
        assert_eq!(gist_in(&read("/home/ann/p/a/b.png"), cwd), "a/b.png");
        assert_eq!(
            gist_in(&read("/home/ann/other.png"), cwd),
            "/home/ann/other.png"
        );
        assert_eq!(gist_in(&read("/a.png"), Path::new("/")), "/a.png");
        assert_eq!(near("x in /home/ann/p", cwd), "x in .");
        assert_eq!(near("/home/ann/p", cwd), ".");
        assert_eq!(
            near("x in /other/home/ann/p", cwd),
            "x in /other/home/ann/p"
        );
        assert_eq!((lines(1), lines(0)), ("1 line".into(), "0 lines".into()));
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(
            [thousands(7), thousands(1_234), thousands(1_234_567)],
            ["7", "1,234", "1,234,567"]
        );
    }
}
