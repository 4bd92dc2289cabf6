//! What leaves the session: the last answer for the clipboard, the conversation as a file.

use super::Desk;
use crate::cli::person::eprint_safe;
use crate::cli::render::phrases::thousands;
use crate::cli::render::sanitize::one_line;
use crate::cli::terminal;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The most bytes that are sent through the terminal, in base64; some drop longer sequences.
const MOST_SEQUENCE: usize = 74_994;
/// How long a clipboard program may take.
const TIME: Duration = Duration::from_secs(3);

/// Puts the last answer on the clipboard: through the terminal, which also reaches the machine of
/// someone who is logged in from elsewhere, and with this machine's own program.
pub(super) fn copy(desk: &Desk) -> String {
    let Some(answer) = desk.session.last_answer() else {
        return "there is no answer yet".into();
    };
    let text = without_controls(answer);
    let mut ways = Vec::new();
    if io::stderr().is_terminal()
        && !terminal::is_dumb()
        && let Some(sequence) = sequence(&text)
    {
        eprint_safe(&sequence);
        ways.push("the terminal".to_owned());
    }
    ways.extend(with_program(&text));
    match ways.is_empty() {
        true => "no clipboard can be reached: this terminal has none, and there is no program for it; /export writes a file".into(),
        false => format!(
            "{} characters went to the clipboard by way of {}",
            thousands(text.chars().count() as u64),
            ways.join(" and ")
        ),
    }
}

/// What a person pastes must be no keys that a terminal acts on.
fn without_controls(text: &str) -> String {
    let plain = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    text.chars().filter(plain).collect()
}

/// The sequence (OSC 52) that a terminal takes for its clipboard; `None` when it would be too long.
fn sequence(text: &str) -> Option<String> {
    let encoded = STANDARD.encode(text);
    (encoded.len() <= MOST_SEQUENCE).then(|| format!("\x1b]52;c;{encoded}\x07"))
}

/// The programs of this system: the name, its arguments, and the variable without which it cannot
/// work.
const PROGRAMS: &[(&str, &[&str], Option<&str>)] = if cfg!(target_os = "macos") {
    &[("pbcopy", &[], None)]
} else if cfg!(windows) {
    &[("clip.exe", &[], None)]
} else {
    &[
        ("wl-copy", &[], Some("WAYLAND_DISPLAY")),
        ("xclip", &["-selection", "clipboard"], Some("DISPLAY")),
        ("xsel", &["--clipboard", "--input"], Some("DISPLAY")),
    ]
};

/// The name of the program that took the text.
fn with_program(text: &str) -> Option<String> {
    let usable = |needs: &Option<&str>| {
        needs.is_none_or(|name| std::env::var_os(name).is_some_and(|v| !v.is_empty()))
    };
    let programs = PROGRAMS.iter().filter(|(_, _, needs)| usable(needs));
    for (name, args, _) in programs {
        let child = Command::new(name)
            .args(*args)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = child else { continue };
        // A program that does not read must not hold us up.
        if let Some(mut pipe) = child.stdin.take() {
            let text = text.to_owned();
            thread::spawn(move || pipe.write_all(text.as_bytes()));
        }
        let end = Instant::now() + TIME;
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Some((*name).to_owned()),
                Ok(None) if Instant::now() < end => thread::sleep(Duration::from_millis(20)),
                Ok(Some(_)) => break,
                Ok(None) | Err(_) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break;
                }
            }
        }
    }
    None
}

/// Writes the conversation into a new file; one that is there is never replaced.
pub(super) fn export(desk: &Desk, words: &str) -> String {
    let info = desk.session.info();
    let path = file(words, &info.cwd, &info.id);
    let written = desk.session.markdown().and_then(|text| {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // A conversation may hold what only its owner should see.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|e| match e.kind() {
                io::ErrorKind::AlreadyExists => {
                    format!("{} is there already; name another file", path.display())
                }
                _ => format!("{} cannot be written: {e}", path.display()),
            })
    });
    match written {
        Ok(()) => one_line(&format!("the conversation is in {}", path.display())),
        Err(why) => one_line(&why),
    }
}

/// The named file, or one with the session's id in its name in the working folder.
fn file(words: &str, cwd: &Path, id: &str) -> PathBuf {
    match (words, words.strip_prefix("~/"), std::env::home_dir()) {
        ("", ..) => {
            let tail = id.rsplit('-').next().unwrap_or(id);
            cwd.join(format!("conversation-{tail}.md"))
        }
        (_, Some(rest), Some(home)) => home.join(rest),
        (words, ..) => cwd.join(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_to_the_clipboard_is_plain_and_short_enough() {
        assert_eq!(without_controls("a\x1b[31m\r\nb\tc\u{9b}"), "a[31m\nb\tc");
        assert_eq!(sequence("hi").as_deref(), Some("\x1b]52;c;aGk=\x07"));
        assert_eq!(sequence(&"x".repeat(80_000)), None);
    }

    #[test]
    fn a_file_is_named_or_gets_a_name() {
        let cwd = Path::new("/w");
        assert_eq!(file("a/b.md", cwd, "1-2"), Path::new("/w/a/b.md"));
        assert_eq!(file("/t/x", cwd, "1-2"), Path::new("/t/x"));
        assert_eq!(
            file("", cwd, "0199-abc"),
            Path::new("/w/conversation-abc.md")
        );
    }
}
