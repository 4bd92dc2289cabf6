//! One call: a session, one turn, and what the client hears meanwhile.

use super::approval;
use super::{Opener, Wanted, failed};
use crate::agent::event::{Answer, Event, Frontend, Question};
use crate::cancel::Cancel;
use crate::cli::render::sanitize::sanitize;
use crate::harnesses::Input;
use crate::jsonrpc::{Call, Peer};
use crate::tools::action::Action;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often the client hears that the work goes on: often enough that none gives up.
const BEAT: Duration = Duration::from_secs(3);

/// Runs a call to its end.
pub(super) fn run(
    open: &Opener,
    wanted: &Wanted,
    prompt: String,
    call: &Call,
    asks: bool,
    cancel: &Cancel,
) -> Value {
    let token = call.params.pointer("/_meta/progressToken").cloned();
    let progress = token.map(|token| Progress::start(call.peer().clone(), token));
    let mut front = Front {
        call,
        asks,
        cancel: cancel.clone(),
        thread: wanted.resume.clone().unwrap_or_default(),
        questions: 0,
        progress,
    };
    let mut session = match open(wanted, cancel, &mut front) {
        Ok(session) => session,
        Err(why) => return failed(&why, wanted.resume.as_deref()),
    };
    let thread = session.info().id.clone();
    front.thread.clone_from(&thread);
    let text = match session.fit_input(prompt) {
        Ok((text, _)) => text,
        Err(e) => return failed(&format!("the prompt is too long: {e}"), Some(&thread)),
    };
    let end = session.turn(&Input::text(text), &mut front);
    match end.reason.failure() {
        None => json!({
            "content": [{"type": "text", "text": end.answer}],
            "structuredContent": {"threadId": thread, "content": end.answer},
        }),
        Some(why) => failed(&why, Some(&thread)),
    }
}

/// The client as the one who watches and is asked.
struct Front<'a> {
    call: &'a Call,
    asks: bool,
    cancel: Cancel,
    thread: String,
    questions: u64,
    progress: Option<Progress>,
}

impl Frontend for Front<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Warning(text) => {
                let text = sanitize(text).into_owned();
                let _ = writeln!(std::io::stderr(), "warning: {text}");
            }
            Event::Phase(phase) => self.say(phase.words().into()),
            Event::Started { action, .. } => self.say(action.verb().into()),
            _ => {}
        }
    }

    fn ask(&mut self, question: &Question) -> Answer {
        // The end of the planning mode is a question of words, which no client puts.
        if !self.asks || matches!(question.action, Action::Mode { .. }) {
            return Answer::No(None);
        }
        self.questions += 1;
        let params = approval::question(question, &self.thread, &self.call.id, self.questions);
        // A person may take an hour.
        const LIMIT: Duration = Duration::from_secs(3_600);
        let answer = self
            .call
            .peer()
            .request("elicitation/create", params, LIMIT, &self.cancel);
        answer.map_or(Answer::No(None), |answer| approval::answer(&answer))
    }

    fn interactive(&self) -> bool {
        self.asks
    }
}

impl Front<'_> {
    fn say(&self, words: String) {
        if let Some(progress) = &self.progress {
            *progress
                .words
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = words;
        }
    }
}

/// Sends signs of life until it is dropped.
struct Progress {
    words: Arc<Mutex<String>>,
    done: Arc<AtomicBool>,
}

impl Progress {
    fn start(peer: Peer, token: Value) -> Self {
        let progress = Progress {
            words: Arc::new(Mutex::new("starting".into())),
            done: Arc::default(),
        };
        let (words, done) = (progress.words.clone(), progress.done.clone());
        let beat = move || {
            let mut count = 0_u64;
            let mut last = None::<Instant>;
            while !done.load(Ordering::SeqCst) {
                if last.is_none_or(|last| last.elapsed() >= BEAT) {
                    last = Some(Instant::now());
                    count += 1;
                    let message = words.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    let params =
                        json!({"progressToken": token, "progress": count, "message": message});
                    if peer.notify("notifications/progress", params).is_err() {
                        return;
                    }
                }
                thread::sleep(Duration::from_millis(50));
            }
        };
        // Without a thread there are no signs of life, and the work goes on.
        let _ = thread::Builder::new()
            .name("mcp progress".into())
            .spawn(beat);
        progress
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.done.store(true, Ordering::SeqCst);
    }
}
