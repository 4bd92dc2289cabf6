//! Reading piped text: bounded, never stuck behind a pipe that nobody closes.

use crate::cancel::Cancel;
use std::io::{self, IsTerminal, Read};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Beside a prompt, piped text is waited for this long until its first byte.
const FIRST_BYTE: Duration = Duration::from_secs(5);
/// The most that is read.
const MOST_BYTES: usize = 64 << 20;
/// How often the stop flag is looked at.
const TICK: Duration = Duration::from_millis(50);

/// What came from standard input.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Piped {
    /// The text; `None` when there was none or it was not waited for.
    pub text: Option<String>,
    /// Nothing came in time, so it was left unread.
    pub unread: bool,
}

/// Reads standard input. With a prompt beside it (`has_prompt`) a terminal is left alone and a
/// silent pipe is given up after five seconds; without one it is read to its end.
///
/// # Errors
/// One sentence: not text, too long, unreadable, or stopped while waiting.
pub fn read(has_prompt: bool, cancel: &Cancel) -> Result<Piped, String> {
    let stdin = io::stdin();
    if stdin.is_terminal() && has_prompt {
        return Ok(Piped::default());
    }
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let chunk = match input.read(&mut buffer) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                result => result.map(|n| buffer[..n].to_vec()),
            };
            let last = !matches!(&chunk, Ok(c) if !c.is_empty());
            if send.send(chunk).is_err() || last {
                return;
            }
        }
    });
    collect(&receive, has_prompt.then_some(FIRST_BYTE), cancel)
}

fn collect(
    chunks: &mpsc::Receiver<io::Result<Vec<u8>>>,
    first_byte: Option<Duration>,
    cancel: &Cancel,
) -> Result<Piped, String> {
    let began = Instant::now();
    let mut bytes = Vec::new();
    loop {
        match chunks.recv_timeout(TICK) {
            Ok(Ok(chunk)) if chunk.is_empty() => break,
            Ok(Ok(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(Err(e)) => return Err(format!("standard input cannot be read: {e}")),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if cancel.is_cancelled() {
            return Err("stopped while waiting for standard input".into());
        }
        if bytes.len() > MOST_BYTES {
            return Err(format!(
                "standard input has more than {} MiB; put it into a file and name the file in the prompt",
                MOST_BYTES >> 20
            ));
        }
        if bytes.is_empty() && first_byte.is_some_and(|limit| began.elapsed() > limit) {
            return Ok(Piped {
                text: None,
                unread: true,
            });
        }
    }
    match String::from_utf8(bytes) {
        Ok(text) if text.contains('\0') => Err(
            "standard input is not text (it has NUL bytes); name the file in the prompt instead"
                .into(),
        ),
        Ok(text) => Ok(Piped {
            text: Some(text).filter(|t| !t.is_empty()),
            unread: false,
        }),
        Err(e) => Err(format!(
            "standard input is not text (byte {} is not UTF-8); name the file in the prompt instead",
            e.utf8_error().valid_up_to()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(chunks: &[&[u8]], first_byte: Option<Duration>) -> Result<Piped, String> {
        let (send, receive) = mpsc::channel();
        for chunk in chunks {
            send.send(Ok(chunk.to_vec()))
                .expect("the receiver is there");
        }
        // A pipe that stays open: the sender outlives the call.
        let result = collect(&receive, first_byte, &Cancel::new());
        drop(send);
        result
    }

    #[test]
    fn a_silent_pipe_is_given_up_and_said() {
        let piped = collected(&[], Some(Duration::ZERO)).expect("no error");
        assert_eq!(
            piped,
            Piped {
                text: None,
                unread: true
            }
        );
    }

    #[test]
    fn text_is_read_to_its_end_across_chunks() {
        let piped =
            collected(&[b"gr\xc3", b"\xbcn", b""], Some(Duration::from_secs(5))).expect("no error");
        assert_eq!(piped.text.as_deref(), Some("grün"));
    }

    #[test]
    fn bytes_that_are_no_text_are_named() {
        assert!(
            collected(&[b"ab\xff", b""], None)
                .unwrap_err()
                .contains("byte 2 is not UTF-8")
        );
        assert!(
            collected(&[b"a\0b", b""], None)
                .unwrap_err()
                .contains("NUL")
        );
    }
}
