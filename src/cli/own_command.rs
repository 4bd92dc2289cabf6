//! `!command`: a command of the person's own, in their own shell. It is no deed of the model, so no
//! fence and no question stand before it; the model sees what came of it with the next message.

use super::render::sanitize::sanitize;
use super::signals::Signals;
use crate::words::{head, tail};
use std::ffi::OsString;
use std::io::{self, PipeReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often the stop flag is looked at.
const TICK: Duration = Duration::from_millis(50);
/// After the command, what it left running may still write for so long.
const DRAIN: Duration = Duration::from_millis(200);
/// An interrupt reaches the command itself; at this one it is killed.
const KILL_AT: u32 = 2;
/// Bytes of the output that the model sees: of its beginning, and of its end.
const SEEN: usize = 6 << 10;

/// Runs `command` in `cwd`, shows its output on `out` as it comes, and gives what the model is told.
///
/// # Errors
/// One sentence, when it cannot be started.
pub fn run(
    command: &str,
    cwd: &Path,
    signals: &Signals,
    out: &mut impl Write,
) -> Result<String, String> {
    let began = Instant::now();
    let (mut child, pipe) =
        start(command, cwd).map_err(|e| format!("the command cannot be started: {e}"))?;
    let pieces = read(pipe);
    let mut output = Output::default();
    let mut shown = Shown::default();
    let (mut interrupts, mut ended): (u32, Option<(ExitStatus, Instant)>) = (0, None);
    signals.begin();
    loop {
        match pieces.recv_timeout(TICK) {
            Ok(piece) => {
                let text = String::from_utf8_lossy(&piece);
                output.push(&text);
                shown.show(&text, out);
            }
            Err(RecvTimeoutError::Disconnected) if ended.is_some() => break,
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(TICK),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if signals.cancel.is_cancelled() {
            signals.begin();
            interrupts += 1;
            if interrupts >= KILL_AT {
                let _ = child.kill();
            }
        }
        if ended.is_none() {
            let status = child.try_wait().map_err(|e| format!("it is lost: {e}"))?;
            ended = status.map(|status| (status, Instant::now()));
        }
        if ended.is_some_and(|(_, at)| at.elapsed() > DRAIN) || signals.is_terminated() {
            break;
        }
    }
    shown.end(out);
    let code = match ended {
        Some((status, _)) => status.code().map_or(status.to_string(), |c| c.to_string()),
        None => "none, it still runs".to_owned(),
    };
    if code != "0" {
        let _ = writeln!(out, "exit code: {code}");
    }
    Ok(told(command, &code, began.elapsed(), &output))
}

/// What the model is told, in the form that Codex has for it.
fn told(command: &str, code: &str, took: Duration, output: &Output) -> String {
    format!(
        "<user_shell_command>\n<command>\n{command}\n</command>\n<result>\nExit code: {code}\nDuration: {:.4} seconds\nOutput:\n{}\n</result>\n</user_shell_command>",
        took.as_secs_f64(),
        output.text().trim_end_matches('\n')
    )
}

#[cfg(unix)]
fn shell(command: &str) -> (OsString, [OsString; 2]) {
    let shell = std::env::var_os("SHELL").filter(|s| !s.is_empty());
    let shell = shell.unwrap_or_else(|| "/bin/sh".into());
    (shell, ["-c".into(), command.into()])
}

#[cfg(not(unix))]
fn shell(command: &str) -> (OsString, [OsString; 2]) {
    let shell = std::env::var_os("COMSPEC").unwrap_or_else(|| "cmd".into());
    (shell, ["/C".into(), command.into()])
}

fn start(command: &str, cwd: &Path) -> io::Result<(Child, PipeReader)> {
    let (reader, writer) = io::pipe()?;
    let (program, arguments) = shell(command);
    let child = Command::new(program)
        .args(arguments)
        .current_dir(cwd)
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()?;
    Ok((child, reader))
}

/// The pieces of a pipe. The thread ends with the last writer, or when nobody listens.
fn read(mut pipe: PipeReader) -> Receiver<Vec<u8>> {
    let (send, receive) = mpsc::sync_channel(16);
    std::thread::spawn(move || {
        let mut buffer = vec![0; 16 << 10];
        loop {
            match pipe.read(&mut buffer) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Ok(n @ 1..) if send.send(buffer[..n].to_vec()).is_ok() => {}
                _ => return,
            }
        }
    });
    receive
}

/// Both ends of an output, however long it is.
#[derive(Default)]
struct Output {
    first: String,
    last: String,
    bytes: usize,
}

impl Output {
    fn push(&mut self, text: &str) {
        self.bytes += text.len();
        let begin = head(text, SEEN.saturating_sub(self.first.len()));
        // Nothing may come between the beginning and what follows it.
        let begin = if self.last.is_empty() { begin } else { "" };
        self.first.push_str(begin);
        self.last.push_str(&text[begin.len()..]);
        if self.last.len() > 2 * SEEN {
            self.last = tail(&self.last, SEEN).to_owned();
        }
    }

    fn text(&self) -> String {
        let last = tail(&self.last, SEEN);
        match self.bytes - self.first.len() - last.len() {
            0 => format!("{}{last}", self.first),
            left => format!("{}\n[{left} bytes left out]\n{last}", self.first),
        }
    }
}

/// The output for the person: sanitised, in whole lines, so that no sequence is cut in two.
#[derive(Default)]
struct Shown(String);

impl Shown {
    /// A line that is longer is shown in parts.
    const LONGEST: usize = 8 << 10;

    fn show(&mut self, text: &str, out: &mut impl Write) {
        self.0.push_str(text);
        let whole = match self.0.rfind('\n') {
            Some(at) => at + 1,
            None if self.0.len() > Self::LONGEST => self.0.len(),
            None => return,
        };
        let _ = out.write_all(sanitize(&self.0[..whole]).as_bytes());
        let _ = out.flush();
        self.0.drain(..whole);
    }

    fn end(&mut self, out: &mut impl Write) {
        let rest = std::mem::take(&mut self.0);
        if !rest.is_empty() {
            let _ = writeln!(out, "{}", sanitize(&rest));
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn ran(command: &str) -> (String, String) {
        let signals = Signals::install(true).expect("handlers");
        let mut out = Vec::new();
        let told = run(command, Path::new("/"), &signals, &mut out).expect("it starts");
        (told, String::from_utf8(out).expect("text"))
    }

    #[test]
    fn the_output_is_shown_and_told() {
        let (told, shown) = ran("pwd; printf 'a\\033[2Jb' >&2; exit 3");
        assert_eq!(shown, "/\na^[[2Jb\nexit code: 3\n");
        assert!(told.starts_with(
            "<user_shell_command>\n<command>\npwd; printf 'a\\033[2Jb' >&2; exit 3\n</command>\n<result>\nExit code: 3\nDuration: 0."
        ));
        assert!(told.ends_with("Output:\n/\na\u{1b}[2Jb\n</result>\n</user_shell_command>"));
    }

    #[test]
    fn what_it_leaves_running_is_not_waited_for() {
        let began = Instant::now();
        let (told, _) = ran("sleep 20 & echo done");
        assert!(told.contains("done"));
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn of_a_long_output_both_ends_are_told() {
        let mut output = Output::default();
        (0..10_000).for_each(|n| output.push(&format!("line {n}\n")));
        let text = output.text();
        assert!(text.starts_with("line 0\nline 1\n") && text.ends_with("line 9999\n"));
        assert!(text.contains(" bytes left out]") && text.len() < 3 * SEEN);
        let mut short = Output::default();
        short.push("a\n");
        short.push("b\n");
        assert_eq!(short.text(), "a\nb\n");
    }
}
