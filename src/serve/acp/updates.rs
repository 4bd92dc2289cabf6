//! What an editor is told of a session, in the order of the world.

use crate::jsonrpc::Peer;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// Small pieces of text that come within this time are sent as one.
const TOGETHER: Duration = Duration::from_millis(30);
/// The most bytes that wait for that.
const MOST: usize = 4 << 10;

/// The stream of updates of one session.
pub struct Updates {
    peer: Peer,
    session: String,
    /// Pieces of one kind that wait to be sent.
    held: Option<(&'static str, String)>,
    sent: Instant,
    /// The number of the running reply, which is the id of its message.
    reply: u64,
    /// What was shown of the reply, by kind: words, and thoughts.
    shown: [String; 2],
    /// What was shown of a reply that broke off, which comes again in other or the same words.
    void: [String; 2],
    /// What has come again so far and is shown already.
    again: [String; 2],
}

/// Words of the model.
pub const WORDS: &str = "agent_message_chunk";
/// Thoughts of the model.
pub const THOUGHTS: &str = "agent_thought_chunk";
/// Words of the user, in a conversation that is shown again.
pub const USER: &str = "user_message_chunk";

fn slot(kind: &str) -> usize {
    usize::from(kind == THOUGHTS)
}

impl Updates {
    /// Those of that session, over that connection.
    pub fn new(peer: Peer, session: String) -> Self {
        Updates {
            peer,
            session,
            held: None,
            sent: Instant::now(),
            reply: 0,
            shown: Default::default(),
            void: Default::default(),
            again: Default::default(),
        }
    }

    /// The connection.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The session's id.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Sends an update; text that waits goes first.
    pub fn send(&mut self, tag: &str, fields: Value) {
        self.flush();
        self.write(tag, fields);
    }

    fn write(&mut self, tag: &str, fields: Value) {
        let mut update = Map::new();
        update.insert("sessionUpdate".into(), json!(tag));
        if let Value::Object(fields) = fields {
            update.extend(fields);
        }
        let params = json!({"sessionId": self.session, "update": update});
        // An editor that left is seen by who reads from it.
        let _ = self.peer.notify("session/update", params);
    }

    /// A piece of a reply.
    pub fn piece(&mut self, kind: &'static str, text: &str) {
        let at = slot(kind);
        self.shown[at].push_str(text);
        if self.void[at].is_empty() {
            return self.hold(kind, text);
        }
        // What came before the break is on the screen and cannot be taken back.
        self.again[at].push_str(text);
        if self.void[at].starts_with(&self.again[at]) {
            return;
        }
        let again = std::mem::take(&mut self.again[at]);
        let void = std::mem::take(&mut self.void[at]);
        match again.strip_prefix(&void) {
            Some(more) => self.hold(kind, more),
            None => self.hold(kind, &format!("\n\n{again}")),
        }
    }

    fn hold(&mut self, kind: &'static str, text: &str) {
        match &mut self.held {
            Some((held, before)) if *held == kind => before.push_str(text),
            _ => {
                self.flush();
                self.held = Some((kind, text.to_owned()));
            }
        }
        let size = self.held.as_ref().map_or(0, |(_, text)| text.len());
        if self.sent.elapsed() >= TOGETHER || size > MOST {
            self.flush();
        }
    }

    /// Sends the text that waits.
    pub fn flush(&mut self) {
        let Some((kind, text)) = self.held.take() else {
            return;
        };
        self.sent = Instant::now();
        if text.is_empty() {
            return;
        }
        let id = format!("{}-{}", self.session, self.reply);
        let content = json!({"type": "text", "text": text});
        self.write(kind, json!({"content": content, "messageId": id}));
    }

    /// The request is sent again; what was shown of its reply is void.
    pub fn broke_off(&mut self) {
        self.flush();
        for at in 0..2 {
            self.again[at].clear();
            let shown = std::mem::take(&mut self.shown[at]);
            if shown.len() > self.void[at].len() {
                self.void[at] = shown;
            }
        }
    }

    /// The reply is whole. What was not streamed of it is shown now.
    pub fn replied(&mut self, words: &str, thoughts: &str) {
        for (kind, text) in [(THOUGHTS, thoughts), (WORDS, words)] {
            let at = slot(kind);
            if self.shown[at].is_empty() && !text.trim().is_empty() {
                self.piece(kind, text);
            }
        }
        self.flush();
        self.reply += 1;
        for at in 0..2 {
            self.shown[at].clear();
            self.void[at].clear();
            self.again[at].clear();
        }
    }

    /// A message of its own, as a whole.
    pub fn message(&mut self, kind: &'static str, text: &str) {
        self.flush();
        self.held = Some((kind, text.to_owned()));
        self.flush();
        self.reply += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::Settings;
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Out(Arc<Mutex<Vec<u8>>>);

    impl Write for Out {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A stream that stays silent, so that the connection lives.
    struct Silent;

    impl io::Read for Silent {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            std::thread::sleep(Duration::from_secs(60));
            Ok(0)
        }
    }

    /// The kinds and texts that an editor gets.
    fn told(what: impl FnOnce(&mut Updates)) -> Vec<(String, String)> {
        let out = Out::default();
        let peer = Peer::start(Silent, out.clone(), Settings::server("test"), |_, _| {});
        let mut updates = Updates::new(peer.clone(), "s".into());
        what(&mut updates);
        updates.flush();
        assert!(peer.flush(Duration::from_secs(5)));
        let bytes = out.0.lock().unwrap().clone();
        let text = String::from_utf8(bytes).unwrap();
        let mut all: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            let value: Value = serde_json::from_str(line).unwrap();
            let update = &value["params"]["update"];
            let kind = update["sessionUpdate"].as_str().unwrap_or_default();
            let text = update["content"]["text"].as_str().unwrap_or_default();
            match all.last_mut() {
                Some((last, before)) if last == kind => before.push_str(text),
                _ => all.push((kind.to_owned(), text.to_owned())),
            }
        }
        all
    }

    fn pair(kind: &str, text: &str) -> (String, String) {
        (kind.to_owned(), text.to_owned())
    }

    #[test]
    fn pieces_are_sent_in_order_and_nothing_twice() {
        let all = told(|u| {
            u.piece(THOUGHTS, "hm");
            u.piece(WORDS, "one ");
            u.piece(WORDS, "two");
            u.replied("one two", "hm");
            u.send("plan", json!({"entries": []}));
            u.replied("not streamed", "");
        });
        let wanted = [
            pair(THOUGHTS, "hm"),
            pair(WORDS, "one two"),
            pair("plan", ""),
            pair(WORDS, "not streamed"),
        ];
        assert_eq!(all, wanted);
    }

    #[test]
    fn a_reply_that_broke_off_goes_on_where_it_stopped() {
        let all = told(|u| {
            u.piece(WORDS, "one two");
            u.broke_off();
            u.piece(WORDS, "one ");
            u.piece(WORDS, "two three");
            u.replied("one two three", "");
            u.piece(WORDS, "red");
            u.broke_off();
            u.piece(WORDS, "blue");
            u.replied("blue", "");
        });
        assert_eq!(all, [pair(WORDS, "one two threered\n\nblue")]);
    }
}
