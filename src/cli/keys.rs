//! While a turn runs: what a person types is collected, shown, and becomes the next message.
//!
//! A thread reads the keys, so that typing stays smooth whatever the turn does. It is the only
//! reader of the terminal; [`Keys::pause`] makes it stand back for a question.

pub(super) mod decode;

use super::render::screen::Screen;
use super::signals::Signals;
use super::terminal::{self, Mode};
use decode::{Decoder, Key};
use std::collections::VecDeque;
use std::io::Stderr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the thread waits for a key before it looks at anything else. An Esc that is followed
/// by nothing for so long is the key, and no sequence.
const TICK: Duration = Duration::from_millis(25);
/// The status line is written anew this often, since its time runs.
const REFRESH: Duration = Duration::from_millis(500);
/// The most bytes that are collected; more is not typed by a person.
const MOST: usize = 4 << 20;

/// The keys of a turn. Clones share everything.
#[derive(Clone)]
pub struct Keys(Arc<Shared>);

struct Shared {
    typed: Mutex<Typed>,
    /// Held by the thread while it reads.
    reading: Mutex<()>,
    paused: AtomicBool,
    /// The terminal has told that it lost the focus.
    away: AtomicBool,
    ended: AtomicBool,
    signals: Signals,
    screen: Screen<Stderr>,
}

/// What was typed and not sent yet.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Typed {
    /// Whole messages, the first one first.
    pub queue: VecDeque<String>,
    /// The message that is being typed.
    pub draft: String,
}

impl Typed {
    /// Takes in a key that is text or changes the text. False for a key that does not.
    pub(super) fn take(&mut self, key: &Key) -> bool {
        match key {
            Key::Char(_) | Key::Paste(_) if self.draft.len() > MOST => {}
            Key::Char(c) => self.draft.push(*c),
            Key::Paste(text) => self.draft.push_str(text),
            Key::NewLine => self.draft.push('\n'),
            Key::Enter if self.draft.ends_with('\\') => {
                self.draft.pop();
                self.draft.push('\n');
            }
            Key::Enter => {
                let text = std::mem::take(&mut self.draft);
                if !text.trim().is_empty() {
                    self.queue.push_back(text);
                }
            }
            Key::Backspace => {
                self.draft.pop();
            }
            Key::DeleteWord => {
                let kept = self.draft.trim_end();
                let at = kept.rfind(char::is_whitespace).map_or(0, |at| at + 1);
                self.draft.truncate(at);
            }
            Key::DeleteAll => self.draft.clear(),
            // The last message comes back to be changed.
            Key::Up if self.draft.is_empty() => {
                self.draft = self.queue.pop_back().unwrap_or_default();
            }
            _ => return false,
        }
        true
    }

    /// Everything as one text to be edited, and nothing left: after an interrupt, what waited is
    /// not sent without another look.
    pub fn recall(&mut self) -> String {
        let mut texts: Vec<String> = self.queue.drain(..).collect();
        texts.push(std::mem::take(&mut self.draft));
        texts.retain(|t| !t.is_empty());
        texts.join("\n")
    }
}

/// The keys are read until this is dropped.
pub struct Watch<'a> {
    keys: &'a Keys,
    thread: Option<JoinHandle<()>>,
    _mode: Option<Mode>,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.keys.0.ended.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
            terminal::set_marks(false);
        }
        self.keys.0.screen.set_draft("", 0);
    }
}

/// Nobody but the holder reads the terminal until this is dropped.
pub struct Pause<'a>(&'a Shared);

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.0.screen.hold(false);
        terminal::set_marks(true);
        self.0.paused.store(false, Ordering::SeqCst);
    }
}

impl Keys {
    /// Keys whose text is shown on `screen`, and whose interrupts reach `signals`.
    pub fn new(signals: &Signals, screen: Screen<Stderr>) -> Self {
        Keys(Arc::new(Shared {
            typed: Mutex::default(),
            reading: Mutex::default(),
            paused: AtomicBool::new(false),
            away: AtomicBool::new(false),
            ended: AtomicBool::new(true),
            signals: signals.clone(),
            screen,
        }))
    }

    /// Begins to read keys. Where single keys cannot be read, nothing is collected, and Ctrl+C
    /// still interrupts.
    pub fn watch(&self) -> Watch<'_> {
        let shared = &self.0;
        shared.away.store(false, Ordering::SeqCst);
        if !terminal::has_keys() {
            return Watch {
                keys: self,
                thread: None,
                _mode: None,
            };
        }
        shared.ended.store(false, Ordering::SeqCst);
        shared.show();
        let mode = Mode::keys();
        terminal::set_marks(true);
        let theirs = self.0.clone();
        let thread = std::thread::Builder::new()
            .name("keys".to_owned())
            .spawn(move || theirs.read_keys())
            .ok();
        Watch {
            keys: self,
            thread,
            _mode: Some(mode),
        }
    }

    /// Makes the thread stand back, while a question is put.
    pub fn pause(&self) -> Option<Pause<'_>> {
        if self.0.ended.load(Ordering::SeqCst) {
            return None;
        }
        self.0.paused.store(true, Ordering::SeqCst);
        // Once the lock was free, the thread has seen the flag.
        drop(lock(&self.0.reading));
        self.0.screen.hold(true);
        terminal::set_marks(false);
        Some(Pause(&self.0))
    }

    /// What was typed and not sent yet.
    pub fn typed(&self) -> MutexGuard<'_, Typed> {
        lock(&self.0.typed)
    }

    /// True when the terminal has said that its window is not the one in use.
    pub fn is_away(&self) -> bool {
        self.0.away.load(Ordering::SeqCst)
    }
}

impl Shared {
    fn read_keys(&self) {
        let mut decoder = Decoder::default();
        let mut refreshed = Instant::now();
        let mut bytes = vec![0; 64 << 10];
        while !self.ended.load(Ordering::SeqCst) {
            if self.paused.load(Ordering::SeqCst) {
                std::thread::sleep(TICK);
                continue;
            }
            let reading = lock(&self.reading);
            if self.paused.load(Ordering::SeqCst) {
                continue;
            }
            let keys = match terminal::read(&mut bytes, TICK) {
                // The terminal went away: nothing more will come, and a signal says so.
                Ok(Some(0)) | Err(_) => return,
                Ok(Some(n)) => decoder.push(&bytes[..n]),
                Ok(None) => decoder.settle(),
            };
            if !keys.is_empty() {
                keys.iter().for_each(|key| self.obey(key));
                self.show();
            }
            if terminal::was_continued() {
                self.go_on();
            }
            drop(reading);
            if refreshed.elapsed() >= REFRESH {
                refreshed = Instant::now();
                self.screen.refresh();
            }
        }
    }

    fn obey(&self, key: &Key) {
        if lock(&self.typed).take(key) {
            return;
        }
        match key {
            Key::Escape => self.signals.cancel.cancel(),
            Key::Focus(here) => self.away.store(!here, Ordering::SeqCst),
            Key::Suspend => {
                self.screen.hold(true);
                terminal::set_marks(false);
                terminal::suspend();
                self.go_on();
            }
            _ => {}
        }
    }

    /// The program was stopped, and whoever had the terminal left it in a mode of its own.
    fn go_on(&self) {
        Mode::take_up();
        terminal::set_marks(true);
        self.screen.hold(false);
    }

    fn show(&self) {
        let typed = lock(&self.typed);
        self.screen.set_draft(&typed.draft, typed.queue.len());
    }
}

/// A panic elsewhere leaves nothing half done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(bytes: &str) -> Typed {
        let mut typed = Typed::default();
        for key in Decoder::default().push(bytes.as_bytes()) {
            typed.take(&key);
        }
        typed
    }

    #[test]
    fn enter_queues_and_the_rest_stays_a_draft() {
        let it = typed("fix it\rand\x1b\rthen\\\rtest\r\r hal");
        assert_eq!(it.queue, ["fix it", "and\nthen\ntest"]);
        assert_eq!(it.draft, " hal");
    }

    #[test]
    fn a_pasted_block_is_one_message() {
        let it = typed("see: \x1b[200~a\r\nb\rc\x1b[201~\r");
        assert_eq!(it.queue, ["see: a\nb\nc"]);
    }

    #[test]
    fn mistakes_are_mended_and_the_last_message_comes_back() {
        assert_eq!(typed("grüß\x7f\x7f").draft, "gr");
        assert_eq!(typed("one two  \x17").draft, "one ");
        assert_eq!(typed("one\x15two").draft, "two");
        let it = typed("one\rtwo\r\x1b[A!");
        assert_eq!(
            (it.queue, it.draft),
            (["one".to_owned()].into(), "two!".into())
        );
    }

    #[test]
    fn what_waited_is_recalled_as_one_text() {
        let mut it = typed("one\rtwo\rthr");
        assert_eq!(it.recall(), "one\ntwo\nthr");
        assert_eq!(it, Typed::default());
    }
}
