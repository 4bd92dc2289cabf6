//! Sessions: another one in the place of this one, names, the list.

use super::{Desk, Done};
use crate::agent::open::{Open, open};
use crate::agent::stored;
use crate::cli::commands::choose;
use crate::cli::person::eprint_safe;
use crate::cli::pick::listed;
use crate::cli::render::sanitize::one_line;
use crate::cli::terminal;
use crate::config::Config;
use crate::harnesses::Input;
use std::path::PathBuf;

/// Begins a session with the model and harness of this one; the permissions are those of the
/// settings again.
pub(super) fn new(desk: &mut Desk, words: &str) -> Done {
    let begun = match desk.config() {
        Ok(config) => begin(desk, &config, None, "other"),
        Err(why) => Err(why.to_string()),
    };
    match begun {
        Ok(_) if !words.is_empty() => Done::Turn(Input::text(words)),
        Ok(said) => Done::Said(said),
        Err(why) => Done::Said(one_line(&why)),
    }
}

/// The same on a cleared screen. What stood there is above it.
pub(super) fn clear(desk: &mut Desk) -> Done {
    if !terminal::is_dumb() {
        eprint_safe(&format!("{}\x1b[H", "\n".repeat(terminal::rows())));
    }
    let begun = desk.config().map_err(|e| e.to_string());
    match begun.and_then(|config| begin(desk, &config, None, "clear")) {
        Ok(said) => {
            desk.session.begins_by("clear");
            Done::Said(said)
        }
        Err(why) => Done::Said(one_line(&why)),
    }
}

pub(super) fn resume(desk: &mut Desk, words: &str) -> String {
    let cancel = desk.session.cancel().clone();
    let home = desk.setup.home.clone();
    let now = desk.session.info().file.clone();
    let found = match words {
        "" | "all" => {
            let cwd = desk.session.info().cwd.clone();
            choose::from_list(&home, &cwd, words == "all", now.as_deref(), &cancel)
        }
        id => stored::find(&home, id, &cancel)
            .map(Some)
            .map_err(|e| e.to_string()),
    };
    match found {
        Ok(None) => "nothing was changed".into(),
        Ok(Some(path)) if Some(&path) == now.as_ref() => "that is this session".into(),
        Ok(Some(path)) => go_on(desk, path),
        Err(why) => one_line(&why),
    }
}

/// Goes on with a copy of this session, or of the named one.
pub(super) fn fork(desk: &mut Desk, words: &str) -> String {
    let cancel = desk.session.cancel().clone();
    let home = desk.setup.home.clone();
    let from = match (words, &desk.session.info().file) {
        ("", Some(file)) => Ok(file.clone()),
        ("", None) => Err("this session is not kept, so there is nothing to copy".to_owned()),
        (id, _) => stored::find(&home, id, &cancel).map_err(|e| e.to_string()),
    };
    match from.and_then(|path| stored::fork(&home, &path)) {
        Ok(copy) => {
            let said = go_on(desk, copy.clone());
            if desk.session.info().file.as_ref() != Some(&copy) {
                // It was not begun, so nothing is lost with it.
                let _ = std::fs::remove_file(copy);
            }
            said
        }
        Err(why) => one_line(&why),
    }
}

pub(super) fn rename(desk: &mut Desk, title: &str) -> String {
    if title.is_empty() {
        return match desk.session.title() {
            Some(title) => format!("this session is called {}", one_line(title)),
            None => "this session has no name; /rename NAME gives it one".into(),
        };
    }
    desk.session.rename(title);
    match desk.session.title() {
        Some(title) => format!("this session is called {} now", one_line(title)),
        None => String::new(),
    }
}

pub(super) fn list(desk: &mut Desk, words: &str) -> String {
    let shelf = stored::all(&desk.setup.home, desk.session.cancel());
    choose::tell_trouble(&shelf);
    let (title, sessions) = choose::shown(&shelf, &desk.session.info().cwd, words == "all");
    if sessions.is_empty() {
        return "there is no session yet".into();
    }
    let mut rows = choose::rows(&sessions);
    let now = desk.session.info().file.as_deref();
    for (row, stored) in rows.iter_mut().zip(&sessions) {
        let mark = match Some(stored.path.as_path()) == now {
            true => "  (this one)",
            false => "",
        };
        row.push_str(&format!("  {}{mark}", stored.id));
    }
    listed(&title, &rows).trim_end().to_owned()
}

/// A stored session has its own model, harness and permissions, unless flags say otherwise.
fn go_on(desk: &mut Desk, path: PathBuf) -> String {
    let config = desk.setup.config.clone();
    begin(desk, &config, Some(path), "other").unwrap_or_else(|why| one_line(&why))
}

/// Puts a new or stored session in the place of this one, which can be resumed. `why` this one
/// ends is for hooks.
fn begin(
    desk: &mut Desk,
    config: &Config,
    resume: Option<PathBuf>,
    why: &str,
) -> Result<String, String> {
    let running = desk.session.workbench().jobs().len();
    if running > 0 {
        let question =
            format!("{running} commands of this session still run and end with it. Go on?");
        if !desk.front.confirm(&question) {
            return Err("nothing was changed; /ps lists the commands".into());
        }
    }
    let usual = desk.setup.ask(desk.options);
    let ask = Open {
        cwd: match resume.is_some() {
            true => usual.cwd.clone(),
            false => desk.session.info().cwd.clone(),
        },
        resume,
        ..usual
    };
    let cancel = desk.session.cancel().clone();
    let session = open(config, &desk.setup.home, &ask, &cancel, desk.front);
    let session = session.map_err(|e| e.to_string())?;
    desk.session.end(why, desk.front);
    desk.session.forget_unsaid();
    let old = desk.session.info();
    let said = match (&old.file, session.info().id == old.id) {
        (Some(_), false) => format!("the session before: /resume {}", old.id),
        _ => String::new(),
    };
    *desk.session = session;
    desk.session.announce(desk.front);
    Ok(said)
}
