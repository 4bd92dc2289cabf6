//! The standing stream, on which a server asks and tells outside of calls.

use super::events::Place;
use super::exchange::text;
use super::{MOST_RESUMES, MOST_RETRY, RETRY, Shared};
use std::sync::{Arc, PoisonError};
use std::thread;
use ureq::Agent;

impl Shared {
    /// Ends the standing stream; another one may take its place.
    pub(super) fn hang_up(&self, next: Option<Agent>) {
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = std::mem::replace(&mut *standing, next) {
            old.shutdown();
        }
    }

    /// Hears what the server says outside of calls, for as long as the session lasts. A server that
    /// has no such stream says so with a status.
    pub(super) fn stand(self: &Arc<Self>, agent: &Agent, id: &str) {
        let mut place = Place::default();
        for _ in 0..MOST_RESUMES {
            let session = self.now();
            if session.id.as_deref() != Some(id) {
                return;
            }
            let mut headers = self.all_headers(&session, &[]);
            headers.extend(place.id.clone().map(|last| ("Last-Event-ID".into(), last)));
            let request = agent.get(&self.url).header("Accept", "text/event-stream");
            let request = headers.iter().fold(request, |r, (k, v)| r.header(k, v));
            let Ok(response) = request.call() else { return };
            let kind = text(response.headers(), "content-type").unwrap_or_default();
            if !response.status().is_success() || !kind.starts_with("text/event-stream") {
                return;
            }
            // No request of ours has this number.
            let _ = self.events(response, 0, &mut place);
            thread::sleep(place.retry.unwrap_or(RETRY).clamp(RETRY, MOST_RETRY));
        }
    }
}
