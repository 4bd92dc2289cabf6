//! A connection on which both sides ask and answer at the same time.
//!
//! One thread reads, one writes. What comes in goes to a function of the owner, on the reader's
//! thread: it must not wait, or nothing more is read. What goes out is queued, so that a peer
//! that does not read holds nobody up for longer than [`Settings::send_wait`].

use super::call::{Answer, Call, CallError, Pending};
use super::lines::{Line, Lines};
use super::message::{Fault, Id, Message, code};
use crate::cancel::Cancel;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::io::{Read, Write};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What a connection allows.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What the threads are called.
    pub name: String,
    /// The longest line that is read, in bytes. A longer one is skipped and reported.
    pub longest_line: usize,
    /// The most bytes that wait to be written; who sends more waits.
    pub most_queued: usize,
    /// How long a sender waits for room in the queue before the connection counts as dead.
    pub send_wait: Duration,
    /// Arrays are batches of messages; otherwise each is answered with one fault.
    pub batches: bool,
    /// Lines that are no message are answered with a fault. A client stays silent: its server
    /// may print what it likes.
    pub answer_noise: bool,
}

impl Settings {
    /// For our side of a server: faults are answered, lines may have 64 MiB (pictures).
    pub fn server(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            longest_line: 64 << 20,
            most_queued: 64 << 20,
            send_wait: Duration::from_secs(30),
            batches: false,
            answer_noise: true,
        }
    }

    /// For our side of a client: noise is skipped, arrays are batches.
    pub fn client(name: &str) -> Self {
        Self {
            batches: true,
            answer_noise: false,
            send_wait: Duration::from_secs(10),
            ..Self::server(name)
        }
    }
}

/// What came in, other than answers.
#[derive(Debug)]
pub enum Incoming {
    /// A request; answer it, now or later, from any thread.
    Call(Call),
    /// A notification.
    Notification {
        /// What happened.
        method: String,
        /// With what; `null` if there are none.
        params: Value,
    },
    /// A line that is no message, or an answer to nothing: its beginning.
    Noise(String),
    /// The end, once, and why. All waiting requests have failed by now.
    Closed(String),
}

#[derive(Debug, Default)]
struct State {
    waiting: HashMap<u64, Sender<Answer>>,
    last_id: u64,
    queue: VecDeque<String>,
    queued: usize,
    /// The writer holds a line that is not in the queue any more.
    writing: bool,
    /// Why the connection is over.
    closed: Option<String>,
    /// Nothing more will be queued; the writer leaves when the queue is empty.
    ending: bool,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    settings: Settings,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the connection, if it has not ended, and fails all who wait. True the first time.
    fn close(&self, why: &str) -> bool {
        let mut state = self.lock();
        let first = state.closed.is_none();
        let why = state.closed.get_or_insert_with(|| why.to_owned()).clone();
        state.ending = true;
        for (_, waiter) in state.waiting.drain() {
            let _ = waiter.send(Err(CallError::Closed(why.clone())));
        }
        self.changed.notify_all();
        first
    }

    fn write_all(&self, mut stream: impl Write) {
        loop {
            let mut state = self.lock();
            state.writing = false;
            self.changed.notify_all();
            while state.queue.is_empty() && !state.ending {
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            let Some(line) = state.queue.pop_front() else {
                return;
            };
            state.queued -= line.len();
            state.writing = true;
            drop(state);
            if let Err(e) = stream
                .write_all(line.as_bytes())
                .and_then(|()| stream.flush())
            {
                self.close(&format!("it takes no more messages ({e})"));
                let mut state = self.lock();
                state.queue.clear();
                state.queued = 0;
                state.writing = false;
                self.changed.notify_all();
                return;
            }
        }
    }
}

/// Our end of a connection. Clones are the same connection.
#[derive(Debug, Clone)]
pub struct Peer(Arc<Shared>);

impl Peer {
    /// Begins to read and write. `incoming` gets all that is no answer to us, in order, on the
    /// reader's thread, the last time [`Incoming::Closed`] unless [`Peer::close`] came first. The
    /// write stream is dropped when the connection has ended and all is written.
    pub fn start(
        read: impl Read + Send + 'static,
        write: impl Write + Send + 'static,
        settings: Settings,
        mut incoming: impl FnMut(&Peer, Incoming) + Send + 'static,
    ) -> Self {
        let name = settings.name.clone();
        let peer = Self(Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            settings,
        }));
        let shared = peer.0.clone();
        let writer = thread::Builder::new().name(format!("{name} out"));
        let writer = writer.spawn(move || shared.write_all(write));
        let own = peer.clone();
        let reader = thread::Builder::new().name(format!("{name} in"));
        let reader = reader.spawn(move || own.read_all(read, &mut incoming));
        if let Err(e) = writer.and(reader) {
            peer.0.close(&format!("no thread could be started ({e})"));
        }
        peer
    }

    fn read_all(&self, stream: impl Read, incoming: &mut impl FnMut(&Peer, Incoming)) {
        let mut lines = Lines::new(stream, self.0.settings.longest_line);
        let why = loop {
            match lines.next_line() {
                Ok(Some(line)) => self.read_line(line, incoming),
                Ok(None) => break "the other side has left".to_owned(),
                Err(e) => break format!("it cannot be read any more ({e})"),
            }
            if self.is_closed() {
                break String::new();
            }
        };
        if self.0.close(&why) {
            incoming(self, Incoming::Closed(why));
        }
    }

    fn read_line(&self, line: Line, incoming: &mut impl FnMut(&Peer, Incoming)) {
        let settings = &self.0.settings;
        let bytes = match line {
            Line::Whole(bytes) => bytes,
            Line::TooLong(head) => {
                let most = settings.longest_line >> 20;
                let why = format!("the message has more than {most} MiB; send less at a time");
                self.noise(
                    &head,
                    Id::Null,
                    Fault::new(code::INVALID_REQUEST, why),
                    incoming,
                );
                return;
            }
        };
        let is_array = bytes.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'[');
        let messages = match Message::read_all(&bytes) {
            Ok(_) if is_array && !settings.batches => {
                let why = "batches are not spoken here; send one message a line";
                self.noise(
                    &bytes,
                    Id::Null,
                    Fault::new(code::INVALID_REQUEST, why),
                    incoming,
                );
                return;
            }
            Ok(messages) => messages,
            Err(fault) => return self.noise(&bytes, Id::Null, fault, incoming),
        };
        for message in messages {
            match message {
                Ok(Message::Request { id, method, params }) => {
                    let call = Call::new(self.clone(), id, method, params);
                    incoming(self, Incoming::Call(call));
                }
                Ok(Message::Notification { method, params }) => {
                    incoming(self, Incoming::Notification { method, params });
                }
                Ok(Message::Response { id, result }) => {
                    let own = id.as_own();
                    let waiter = own.and_then(|id| self.0.lock().waiting.remove(&id));
                    match (waiter, result) {
                        (Some(waiter), result) => {
                            let _ = waiter.send(result.map_err(CallError::Fault));
                        }
                        // An answer that comes too late is nothing to tell.
                        (None, _) if own.is_some() => {}
                        (None, Err(fault)) => incoming(self, Incoming::Noise(fault.to_string())),
                        (None, Ok(_)) => {}
                    }
                }
                Err(malformed) => self.noise(&bytes, malformed.id, malformed.fault, incoming),
            }
        }
    }

    /// Reports a line that is no message, and answers it where that is wanted.
    fn noise(&self, line: &[u8], id: Id, fault: Fault, incoming: &mut impl FnMut(&Peer, Incoming)) {
        const SHOWN: usize = 200;
        if self.0.settings.answer_noise {
            let result = Err(fault);
            let _ = self.send(&Message::Response { id, result });
        }
        let head = &line[..line.len().min(SHOWN)];
        incoming(self, Incoming::Noise(String::from_utf8_lossy(head).into()));
    }

    pub(super) fn send(&self, message: &Message) -> Result<(), CallError> {
        let line = message.to_line();
        let settings = &self.0.settings;
        let start = Instant::now();
        let mut state = self.0.lock();
        // A single line above the limit goes into an empty queue, or it could never go.
        while state.closed.is_none()
            && state.queued > 0
            && state.queued + line.len() > settings.most_queued
        {
            let Some(left) = settings.send_wait.checked_sub(start.elapsed()) else {
                drop(state);
                let seconds = settings.send_wait.as_secs();
                self.0
                    .close(&format!("it has not read what was sent for {seconds} s"));
                state = self.0.lock();
                break;
            };
            let waited = self.0.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if let Some(why) = &state.closed {
            return Err(CallError::Closed(why.clone()));
        }
        state.queued += line.len();
        state.queue.push_back(line);
        self.0.changed.notify_all();
        Ok(())
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// [`CallError::Closed`].
    pub fn notify(&self, method: &str, params: Value) -> Result<(), CallError> {
        let method = method.to_owned();
        self.send(&Message::Notification { method, params })
    }

    /// Sends a request, to be waited for later.
    ///
    /// # Errors
    /// [`CallError::Closed`].
    pub fn ask(&self, method: &str, params: Value) -> Result<Pending, CallError> {
        let (sender, answer) = channel();
        let id = {
            let mut state = self.0.lock();
            state.last_id += 1;
            let id = state.last_id;
            state.waiting.insert(id, sender);
            id
        };
        let pending = Pending::new(self.clone(), id, answer);
        let (id, method) = (id.into(), method.to_owned());
        self.send(&Message::Request { id, method, params })?;
        Ok(pending)
    }

    /// Sends a request and waits for its answer, at most `limit`.
    ///
    /// # Errors
    /// See [`CallError`]. The other side is not told of a time-out or a cancel: each protocol has
    /// its own word for that; use [`Peer::ask`] to say it.
    pub fn request(
        &self,
        method: &str,
        params: Value,
        limit: Duration,
        cancel: &Cancel,
    ) -> Result<Value, CallError> {
        self.ask(method, params)?.wait(limit, cancel)
    }

    /// Ends the connection: who waits fails with `why`, what is queued is written, for at most
    /// `limit`. The reader's thread ends when its stream does.
    pub fn close(&self, why: &str, limit: Duration) {
        self.0.close(why);
        self.flush(limit);
    }

    /// Waits until all that was sent is written, at most `limit`. True if it is.
    pub fn flush(&self, limit: Duration) -> bool {
        let start = Instant::now();
        let mut state = self.0.lock();
        while !state.queue.is_empty() || state.writing {
            let Some(left) = limit.checked_sub(start.elapsed()) else {
                return false;
            };
            let waited = self.0.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// A late answer to this request of ours is ignored.
    pub(super) fn wait_no_more(&self, id: u64) {
        self.0.lock().waiting.remove(&id);
    }

    /// Why the connection has ended; empty while it has not.
    pub(super) fn why_closed(&self) -> String {
        self.0.lock().closed.clone().unwrap_or_default()
    }

    /// True once the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.0.lock().closed.is_some()
    }
}
