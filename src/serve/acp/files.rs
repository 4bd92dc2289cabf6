//! The files that the editor has open.

use super::front::Client;
use crate::agent::session::Session;
use crate::cancel::Cancel;
use crate::jsonrpc::{CallError, Peer};
use crate::store::paths::canonical;
use crate::tools::Buffers;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long an editor may take for a file.
const LIMIT: Duration = Duration::from_secs(5);

/// The editor of one session, asked for files.
pub struct EditorFiles {
    client: Client,
    peer: Peer,
    session: String,
    cancel: Cancel,
    /// The folder as the editor calls it, and as the gate does.
    root: (PathBuf, PathBuf),
    /// It let a request go unanswered, and is asked no more.
    is_silent: AtomicBool,
}

impl EditorFiles {
    /// `None` for an editor that does neither. `cwd` is the session's folder as it calls it.
    pub fn of(client: &Client, session: &Session, cwd: &Path, peer: &Peer) -> Option<Self> {
        (client.reads || client.writes).then(|| EditorFiles {
            client: *client,
            peer: peer.clone(),
            session: session.info().id.clone(),
            cancel: session.cancel().clone(),
            root: (cwd.to_owned(), canonical(cwd)),
            is_silent: AtomicBool::new(false),
        })
    }

    fn ask(&self, method: &str, path: &Path, content: Option<&str>) -> Option<Value> {
        if self.is_silent.load(Ordering::SeqCst) {
            return None;
        }
        let path = match path.strip_prefix(&self.root.1) {
            Ok(rest) => self.root.0.join(rest),
            Err(_) => path.to_owned(),
        };
        let mut params = json!({"sessionId": self.session, "path": path.to_str()?});
        if let Some(content) = content {
            params["content"] = json!(content);
        }
        match self.peer.request(method, params, LIMIT, &self.cancel) {
            Ok(answer) => Some(answer),
            Err(CallError::TimedOut(_)) => {
                self.is_silent.store(true, Ordering::SeqCst);
                super::log(&format!(
                    "the editor did not answer {method} within {} s; files are read and written without it from now on",
                    LIMIT.as_secs()
                ));
                None
            }
            // It has no such file open, or none of its project: the disk has it.
            Err(_) => None,
        }
    }
}

impl Buffers for EditorFiles {
    fn read(&self, path: &Path) -> Option<String> {
        let answer = self
            .client
            .reads
            .then(|| self.ask("fs/read_text_file", path, None))?;
        Some(answer?.get("content")?.as_str()?.to_owned())
    }

    fn write(&self, path: &Path, text: &str) -> bool {
        self.client.writes && self.ask("fs/write_text_file", path, Some(text)).is_some()
    }
}
