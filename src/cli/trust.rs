//! Whether to trust what a project brings: the question at the start of a session, and `--trust`.

use super::args::Options;
use super::commands::session::Setup;
use super::person::{eprint_safe, eprintln_safe};
use super::render::Theme;
use super::render::sanitize::one_line;
use super::render::wrap::{hanging, headed, width};
use super::terminal;
use crate::agent::brought;
use crate::cancel::Cancel;
use crate::config::{Trust, edit};
use crate::project::hooks::Hooks;
use crate::store::paths::Home;
use crate::store::trust::Standing;
use std::io;

/// What Enter alone means is said where the answer is typed.
const ANSWER: &str = "  your answer (not now): ";

/// Puts the question where the project brings something that the user has not decided on, or that
/// was changed since. After a yes the settings are read again. Enter is no.
///
/// # Errors
/// When the answer cannot be kept, or the project's settings are wrong.
pub fn ask(setup: &mut Setup, options: &Options, cancel: &Cancel) -> Result<(), String> {
    let trust = setup.config.trust.clone();
    let open = matches!(trust.standing, Standing::Unknown | Standing::Changed);
    if trust.brought.is_empty() || !open || trust.brought.digests.is_none() {
        return Ok(());
    }
    let said = put(&trust, options, cancel);
    if said == Said::Yes {
        accept(&setup.home, &trust, true)?;
        return setup.reload(options);
    }
    // Who just answered knows what a warning would say.
    if let Some(words) = trust.ignored(setup.home.path()) {
        setup.config.warnings.retain(|warning| *warning != words);
    }
    if said == Said::Never {
        return accept(&setup.home, &trust, false);
    }
    eprintln_safe("not trusted, so none of it has an effect; /trust asks again");
    Ok(())
}

/// What a person says to what a project brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// It counts.
    Yes,
    /// It does not, this time.
    NotNow,
    /// It does not, and is not asked about again.
    Never,
}

/// Shows all of it and reads the answer. Enter is not now.
pub fn put(trust: &Trust, options: &Options, cancel: &Cancel) -> Said {
    let theme = Theme::new(options.color, &io::stderr());
    terminal::forget_typed();
    eprint_safe(&question(trust, &theme));
    let answer = terminal::line(cancel).unwrap_or_else(|| "\n".into());
    match answer.trim() {
        "y" | "yes" => Said::Yes,
        "never" => Said::Never,
        _ => Said::NotNow,
    }
}

/// Shows the hooks of the user's own that are new or were changed, and asks whether they shall run.
/// Enter is no.
///
/// # Errors
/// When a yes cannot be kept.
pub fn ask_about_hooks(setup: &Setup, options: &Options, cancel: &Cancel) -> Result<(), String> {
    let home = setup.home.path();
    let mut hooks = Hooks::load(&setup.config, home, &setup.cwd, options.all_hooks);
    if hooks.new_ones().next().is_none() {
        return Ok(());
    }
    let theme = Theme::new(options.color, &io::stderr());
    let columns = terminal::columns();
    let head = "These hooks of yours are new or were changed. They run unconfined:";
    let mut text = headed("hooks?", theme.warn, head, columns);
    for hook in hooks.new_ones() {
        let what = format!("  {}", one_line(&hook.words()));
        let file = format!("({})", one_line(&hook.source.display().to_string()));
        text.push_str(&with_file(&what, &file, &theme, columns));
    }
    text.push_str("  [y] let them run  [n] not now\n");
    text.push_str(ANSWER);
    terminal::forget_typed();
    eprint_safe(&text);
    let answer = terminal::line(cancel).unwrap_or_else(|| "\n".into());
    match answer.trim() {
        "y" | "yes" => hooks.trust(home),
        _ => Ok(()),
    }
}

/// Keeps what the user decided on a project.
///
/// # Errors
/// When the config or the file of what was trusted cannot be written.
pub fn accept(home: &Home, trust: &Trust, yes: bool) -> Result<(), String> {
    let level = if yes { "trusted" } else { "untrusted" };
    let folder = trust.folder.to_str().ok_or_else(|| {
        format!(
            "{} is not UTF-8, so that the config cannot name it",
            trust.folder.display()
        )
    })?;
    let known = Trust {
        standing: Standing::Trusted,
        ..trust.clone()
    };
    if yes {
        known.pin(home.path()).map_err(|e| e.to_string())?;
    }
    edit::set(
        &home.config_file(),
        &["projects", folder],
        "trust_level",
        level,
    )
    .map_err(|e| e.to_string())
}

/// The screen: what would run, be allowed and be set, each with its file.
fn question(trust: &Trust, theme: &Theme) -> String {
    let head = match trust.standing {
        Standing::Changed => "What this project brings was changed since you trusted it.",
        _ => "This project brings its own settings or programs.",
    };
    let columns = terminal::columns();
    let head = format!("{head} If you trust it:");
    let mut text = headed("trust?", theme.warn, &head, columns);
    text.push_str(&listed(trust, theme, columns));
    let folder = one_line(&trust.folder.display().to_string());
    let words = format!(
        "  in {folder}\nWithout trust none of it has an effect. When any of it changes, you are asked again.\n"
    );
    text.push_str(&hanging(&words, columns));
    text.push_str("  [y] trust it  [n] not now\n  [never] never ask again here\n");
    text.push_str(ANSWER);
    text
}

/// Each thing that a project brings, with its file below it where both are too long for a row.
pub fn listed(trust: &Trust, theme: &Theme, columns: usize) -> String {
    let line = |line: &brought::Line| {
        let what = format!("  it {} {}", line.does, one_line(&line.what));
        match line.file.as_str() {
            "" => format!("{what}\n"),
            file => with_file(&what, &format!("({})", one_line(file)), theme, columns),
        }
    };
    brought::lines(trust).iter().map(line).collect()
}

fn with_file(what: &str, file: &str, theme: &Theme, columns: usize) -> String {
    let gap = match width(what) + width(file) + 2 <= columns {
        true => "  ",
        false => "\n    ",
    };
    format!("{what}{gap}{}\n", theme.dim.paint(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::ColorChoice;
    use crate::config::{Overrides, load};
    use std::fs;

    #[test]
    fn the_screen_shows_hidden_characters_and_no_raw_ones() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("p/.openinterpreter");
        fs::create_dir_all(&own).unwrap();
        let hooks = r#"{"hooks": {"Stop": [{"hooks": [{"command": "echo \u001b[2J\u202e x"}]}]}}"#;
        fs::write(own.join("hooks.json"), hooks).unwrap();
        let config = load(
            &dir.path().join("h"),
            &dir.path().join("p"),
            &Overrides::default(),
        )
        .unwrap();
        let theme = Theme::new(ColorChoice::Never, &io::stderr());
        let text = question(&config.trust, &theme);
        assert!(
            text.contains("it runs, unconfined, at Stop: echo "),
            "{text}"
        );
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    }
}
