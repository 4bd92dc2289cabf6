//! Which stored session: by id or name, the latest one, or chosen from a list.

use super::session::Setup;
use crate::agent::stored::{self, Shelf, Stored};
use crate::cancel::Cancel;
use crate::cli::args;
use crate::cli::person::eprintln_safe;
use crate::cli::pick::pick;
use crate::cli::render::sanitize::sanitize;
use crate::store::paths::Home;
use crate::store::sessions;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Characters of a name in a row.
const NAME: usize = 44;

/// The file of the session to go on with; `None` when the person chose none of the list.
///
/// # Errors
/// When there is none.
pub fn choose(
    setup: &Setup,
    which: &args::Session,
    all: bool,
    cancel: &Cancel,
) -> Result<Option<PathBuf>, String> {
    match which {
        args::Session::Id(id) => stored::find(&setup.home, id, cancel)
            .map(Some)
            .map_err(|e| e.to_string()),
        args::Session::Last => {
            let folder = (!all).then_some(setup.cwd.as_path());
            let last = sessions::last(&setup.home, folder).map(|s| Some(s.path));
            last.ok_or_else(|| none(&setup.cwd, all))
        }
        args::Session::Unnamed => from_list(&setup.home, &setup.cwd, all, None, cancel),
    }
}

/// The session that the person chooses from those of the folder, or from all of them where it has
/// none. `except` is the one that is open.
///
/// # Errors
/// When there is none to choose from.
pub fn from_list(
    home: &Home,
    cwd: &Path,
    all: bool,
    except: Option<&Path>,
    cancel: &Cancel,
) -> Result<Option<PathBuf>, String> {
    let mut shelf = stored::all(home, cancel);
    shelf.sessions.retain(|s| Some(s.path.as_path()) != except);
    tell_trouble(&shelf);
    let (title, sessions) = shown(&shelf, cwd, all);
    if sessions.is_empty() {
        return Err(match except {
            Some(_) => "there is no other session yet".to_owned(),
            None => none(cwd, true),
        });
    }
    let rows = rows(&sessions);
    let at = pick(&title, &rows, 0, cancel);
    Ok(at
        .and_then(|at| sessions.into_iter().nth(at))
        .map(|s| s.path))
}

/// Those of the folder, or all of them, under a title that says which.
pub fn shown(shelf: &Shelf, cwd: &Path, all: bool) -> (String, Vec<Stored>) {
    let here = if all {
        Vec::new()
    } else {
        shelf.of_folder(cwd)
    };
    let folder = sanitize(&cwd.display().to_string()).into_owned();
    match (here.is_empty(), all) {
        (false, _) => {
            let others = shelf.sessions.len().saturating_sub(here.len());
            let more = match others {
                0 => String::new(),
                n => format!(" ({n} of other folders)"),
            };
            (format!("Sessions of {folder}{more}:"), here)
        }
        (true, true) => ("Sessions:".into(), shelf.sessions.clone()),
        (true, false) => (
            format!("There is none of {folder}; those of other folders:"),
            shelf.sessions.clone(),
        ),
    }
}

/// Says which files are no sessions.
pub fn tell_trouble(shelf: &Shelf) {
    if let Some(trouble) = shelf.trouble() {
        eprintln_safe(&format!("warning: {}", sanitize(&trouble)));
    }
}

fn none(cwd: &Path, all: bool) -> String {
    match all {
        true => "there is no session yet".to_owned(),
        false => format!(
            "there is no session of {} yet; --all looks in every folder",
            cwd.display()
        ),
    }
}

/// A row a session: age, name, model, folder. What matters most comes first, since a narrow
/// terminal cuts the end.
pub fn rows(sessions: &[Stored]) -> Vec<String> {
    let now = SystemTime::now();
    let home = std::env::home_dir();
    let row = |s: &Stored| {
        let name: String = match s.name().chars().count() > NAME {
            true => s.name().chars().take(NAME - 1).chain(['…']).collect(),
            false => s.name().to_owned(),
        };
        let folder = home.as_deref().and_then(|h| s.cwd.strip_prefix(h).ok());
        let folder = match folder {
            Some(rest) if rest.as_os_str().is_empty() => "~".into(),
            Some(rest) => format!("~/{}", rest.display()),
            None => s.cwd.display().to_string(),
        };
        let age = now.duration_since(s.modified).unwrap_or_default().as_secs();
        let row = format!("{:>4}  {name:NAME$}  {}  {folder}", short(age), s.model);
        row.trim_end().to_owned()
    };
    sessions.iter().map(row).collect()
}

/// An age in seconds, in one unit.
fn short(seconds: u64) -> String {
    match seconds {
        0..60 => "now".into(),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        86_400..1_209_600 => format!("{}d", seconds / 86_400),
        _ => format!("{}w", seconds / 604_800),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_one_unit() {
        for (seconds, text) in [
            (0, "now"),
            (61, "1m"),
            (7_300, "2h"),
            (200_000, "2d"),
            (2_000_000, "3w"),
        ] {
            assert_eq!(short(seconds), text);
        }
    }

    #[test]
    fn a_row_begins_with_what_matters() {
        let stored = Stored {
            path: "/s".into(),
            id: "a".into(),
            title: None,
            first: "fix ".repeat(30),
            cwd: "/w/p".into(),
            model: "qwen".into(),
            modified: SystemTime::now(),
        };
        let row = &rows(&[stored])[0];
        assert!(
            row.starts_with(" now  fix fix") && row.ends_with("…  qwen  /w/p"),
            "{row}"
        );
    }
}
