//! The servers of one session: started side by side, listed, called, ended.

mod offered;
mod start;

use super::client::{Client, Limits, Live, Offer};
use super::transport::{McpError, Transport};
use super::{content, schema};
use crate::cancel::Cancel;
use crate::config::McpServer;
use crate::tools::action::McpOut;
use serde_json::Value;
use start::connect;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a list that changed is waited for.
const LIST: Duration = Duration::from_secs(5);
/// How often a server that died is started again.
const RESTARTS: u32 = 1;

pub use offered::Tool;

/// What the servers of a session need to know of it.
#[derive(Debug, Clone)]
pub struct World {
    /// The session's folder.
    pub cwd: PathBuf,
    /// Where long results go.
    pub outputs: PathBuf,
    /// A person can be asked.
    pub asks: bool,
}

/// A configured server.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What the config says of it.
    pub server: McpServer,
    /// Why it may not be used.
    pub refused: Option<String>,
}

/// How a server stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// It has not answered yet.
    Starting,
    /// It is there.
    Ready,
    /// It is not, and why.
    Failed(String),
    /// It is turned off.
    Disabled,
}

/// A server that is there, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// Name, version and revision.
    pub about: String,
    /// Its tools that are offered.
    pub tools: usize,
}

enum State {
    Starting,
    Ready(Arc<Client>, Vec<Offer>),
    Failed(String),
    Disabled,
    /// The settings have it no more.
    Gone,
}

struct Slot {
    entry: Entry,
    state: State,
    /// The way to it while it starts, for what it writes meanwhile.
    starting: Option<Arc<dyn Transport>>,
    /// What went wrong was said.
    told: bool,
    restarts: u32,
}

#[derive(Default)]
struct Shared {
    slots: Mutex<Vec<Slot>>,
    changed: Condvar,
    changes: AtomicU64,
    /// The session is over.
    cancel: Cancel,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The servers of one session. Dropped, they end.
pub struct Servers {
    shared: Arc<Shared>,
    world: World,
}

impl Servers {
    /// Starts all that are enabled, each on a thread of its own, and returns at once.
    pub fn start(entries: Vec<Entry>, world: World) -> Self {
        let servers = Servers {
            shared: Arc::default(),
            world,
        };
        servers.take_up(entries);
        servers
    }

    /// Goes on with these: what is new or has changed is started, what is not among them any more
    /// is ended, and the others are left alone. True when there was any difference.
    pub fn take_up(&self, entries: Vec<Entry>) -> bool {
        let mut begun = Vec::new();
        let mut ended = Vec::new();
        {
            let mut slots = self.shared.lock();
            for slot in slots.iter_mut() {
                let is_kept = entries.contains(&slot.entry);
                if !is_kept && !matches!(slot.state, State::Gone) {
                    ended.push(std::mem::replace(&mut slot.state, State::Gone));
                }
            }
            for entry in entries {
                let same = |s: &Slot| s.entry == entry && !matches!(s.state, State::Gone);
                if slots.iter().any(same) {
                    continue;
                }
                // Slots are known by their place, so that a new one always stands at the end.
                begun.push((slots.len(), entry.clone()));
                slots.push(Slot {
                    state: match (&entry.refused, entry.server.is_enabled()) {
                        (_, false) => State::Disabled,
                        (Some(why), true) => State::Failed(why.clone()),
                        (None, true) => State::Starting,
                    },
                    entry,
                    starting: None,
                    told: false,
                    restarts: 0,
                });
            }
        }
        if begun.is_empty() && ended.is_empty() {
            return false;
        }
        for (at, entry) in begun {
            self.begin(at, entry);
        }
        self.shared.changes.fetch_add(1, Ordering::SeqCst);
        true
    }

    fn begin(&self, at: usize, entry: Entry) {
        if !entry.server.is_enabled() || entry.refused.is_some() {
            return;
        }
        let (own, world) = (self.shared.clone(), self.world.clone());
        let name = entry.name.clone();
        let spawned = thread::Builder::new()
            .name(format!("mcp {name}"))
            .spawn(move || {
                let begun = |way: Arc<dyn Transport>| {
                    if let Some(slot) = own.lock().get_mut(at) {
                        slot.starting = Some(way);
                    }
                };
                let state = state(connect(&entry, &world, &own.cancel, begun));
                own.put(at, state);
            });
        if let Err(e) = spawned {
            self.shared.put(
                at,
                State::Failed(format!("no thread could be started: {e}")),
            );
        }
    }

    /// No server is configured.
    pub fn is_empty(&self) -> bool {
        let gone = |s: &Slot| matches!(s.state, State::Gone);
        self.shared.lock().iter().all(gone)
    }

    /// Waits until every server is there or has failed, at most `limit`. True if so.
    pub fn settled(&self, limit: Duration, cancel: &Cancel) -> bool {
        self.wait(limit, cancel, |_| true)
    }

    /// Waits for those without which there is no session.
    ///
    /// # Errors
    /// A sentence when one of them fails.
    pub fn require(&self, cancel: &Cancel) -> Result<(), String> {
        let required = |slot: &Slot| slot.entry.server.required == Some(true);
        // Each has its own limit.
        self.wait(Duration::MAX, cancel, required);
        for slot in self.shared.lock().iter().filter(|s| required(s)) {
            if let State::Failed(why) = &slot.state {
                return Err(format!(
                    "the required MCP server {} cannot be used: {why}",
                    slot.entry.name
                ));
            }
        }
        Ok(())
    }

    fn wait(&self, limit: Duration, cancel: &Cancel, counts: impl Fn(&Slot) -> bool) -> bool {
        const LOOK: Duration = Duration::from_millis(50);
        let began = Instant::now();
        let mut slots = self.shared.lock();
        loop {
            let open = |s: &Slot| counts(s) && matches!(s.state, State::Starting);
            if !slots.iter().any(open) {
                return true;
            }
            let left = limit.saturating_sub(began.elapsed());
            if left.is_zero() || cancel.is_cancelled() {
                return false;
            }
            let waited = self.shared.changed.wait_timeout(slots, left.min(LOOK));
            slots = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// What should be said of servers that failed, once each. `late`: also of those that have not
    /// answered yet.
    pub fn complaints(&self, late: bool) -> Vec<String> {
        let mut words = Vec::new();
        for slot in self.shared.lock().iter_mut().filter(|s| !s.told) {
            let name = &slot.entry.name;
            match &slot.state {
                State::Failed(why) => {
                    words.push(format!("MCP server {name} cannot be used: {why}"))
                }
                State::Starting if late => {
                    let wrote = slot.starting.as_ref().map(|way| way.trouble());
                    let wrote = wrote.filter(|t| !t.is_empty());
                    let wrote = wrote
                        .map(|t| format!("; it wrote: {t}"))
                        .unwrap_or_default();
                    words.push(format!(
                        "MCP server {name} has not answered yet, so the work begins without it{wrote}"
                    ));
                }
                _ => continue,
            }
            slot.told = true;
        }
        words
    }

    /// How each server stands, in the order of their names.
    pub fn status(&self) -> Vec<(String, Status, Option<Ready>)> {
        let slots = self.shared.lock();
        let one = |slot: &Slot| {
            let (status, ready) = match &slot.state {
                State::Gone => return None,
                State::Starting => (Status::Starting, None),
                State::Failed(why) => (Status::Failed(why.clone()), None),
                State::Disabled => (Status::Disabled, None),
                State::Ready(client, offers) => {
                    let offered = offers.iter().filter(|o| slot.entry.server.offers(&o.name));
                    let ready = Ready {
                        about: client.about(),
                        tools: offered.count(),
                    };
                    (Status::Ready, Some(ready))
                }
            };
            Some((slot.entry.name.clone(), status, ready))
        };
        slots.iter().filter_map(one).collect()
    }

    /// How the servers that are there say their tools are to be used: name and words.
    pub fn instructions(&self) -> Vec<(String, String)> {
        let slots = self.shared.lock();
        let one = |slot: &Slot| match &slot.state {
            State::Ready(client, _) => Some((slot.entry.name.clone(), client.instructions()?)),
            _ => None,
        };
        slots.iter().filter_map(one).collect()
    }

    /// How often a server came, went or changed its tools so far.
    pub fn changes(&self) -> u64 {
        self.shared.changes.load(Ordering::SeqCst)
    }

    /// Lists again what servers said has changed. True if there was any.
    pub fn refresh(&self, cancel: &Cancel) -> bool {
        let stale: Vec<(usize, Arc<Client>)> = {
            let slots = self.shared.lock();
            let one = |(at, slot): (usize, &Slot)| match &slot.state {
                State::Ready(client, _) if client.take_stale() => Some((at, client.clone())),
                _ => None,
            };
            slots.iter().enumerate().filter_map(one).collect()
        };
        let any = !stale.is_empty();
        for (at, client) in stale {
            // One that does not answer keeps the tools that it had.
            if let Ok(offers) = client.list(Limits { time: LIST, cancel }) {
                self.shared.put(at, State::Ready(client, offers));
            }
        }
        any
    }

    /// Calls a tool. The text of the answer has at most `room` bytes. A server that has died is
    /// started again, once.
    ///
    /// # Errors
    /// See [`McpError`]; what a tool itself calls an error is an [`McpOut`].
    pub fn call(
        &self,
        (server, tool): (&str, &str),
        arguments: &Value,
        (room, vision): (usize, bool),
        cancel: &Cancel,
        live: &mut dyn FnMut(Live),
    ) -> Result<McpOut, McpError> {
        let arguments = schema::arguments(arguments).map_err(McpError::Fault)?;
        let (client, offer, time) = self.client(server, tool, cancel)?;
        let result = client.call(&offer, &arguments, Limits { time, cancel }, live);
        let result = result.map_err(|e| match e {
            McpError::Closed(_) => client.explained(e),
            other => other,
        })?;
        Ok(content::read(&result, room, &self.world.outputs, vision))
    }

    fn client(
        &self,
        server: &str,
        tool: &str,
        cancel: &Cancel,
    ) -> Result<(Arc<Client>, Offer, Duration), McpError> {
        let gone = |why: &str| McpError::Other(format!("the MCP server {server} {why}"));
        let (at, entry) = {
            let mut slots = self.shared.lock();
            let found = slots
                .iter_mut()
                .enumerate()
                .find(|(_, s)| s.entry.name == server && !matches!(s.state, State::Gone));
            let (at, slot) = found.ok_or_else(|| gone("is not configured"))?;
            let time = slot.entry.server.tool_limit();
            match &slot.state {
                State::Ready(client, offers) if !client.is_closed() => {
                    let offer = offers.iter().find(|o| o.name == tool).cloned();
                    let offer = offer.ok_or_else(|| gone("has no such tool any more"))?;
                    return Ok((client.clone(), offer, time));
                }
                State::Ready(client, _) if slot.restarts >= RESTARTS => {
                    let trouble = client.trouble();
                    return Err(McpError::Closed(format!("it ended; it wrote: {trouble}")));
                }
                State::Starting => return Err(gone("has not answered yet")),
                State::Failed(why) => return Err(McpError::Closed(why.clone())),
                State::Disabled => return Err(gone("is turned off")),
                State::Gone => return Err(gone("is not configured")),
                State::Ready(..) => slot.restarts += 1,
            }
            (at, slot.entry.clone())
        };
        let (client, offers) = connect(&entry, &self.world, cancel, |_| {})?;
        let offer = offers.iter().find(|o| o.name == tool).cloned();
        self.shared.put(at, State::Ready(client.clone(), offers));
        let offer = offer.ok_or_else(|| gone("has no such tool any more"))?;
        Ok((client, offer, entry.server.tool_limit()))
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.shared.cancel.cancel();
        let slots = std::mem::take(&mut *self.shared.lock());
        // All at once: each may take its time to leave.
        thread::scope(|scope| {
            for slot in &slots {
                if let State::Ready(client, _) = &slot.state {
                    scope.spawn(|| client.close());
                }
            }
        });
    }
}

impl Shared {
    fn put(&self, at: usize, state: State) {
        // A state for a session that is over is dropped here, and its server with it. The same for
        // a server that is not wanted any more.
        let mut old = None;
        let mut slots = self.lock();
        if let Some(slot) = slots.get_mut(at)
            && !matches!(slot.state, State::Gone)
        {
            old = Some((
                std::mem::replace(&mut slot.state, state),
                slot.starting.take(),
            ));
        }
        drop(slots);
        self.changes.fetch_add(1, Ordering::SeqCst);
        self.changed.notify_all();
        // A server takes its time to leave, for which nobody else has to wait.
        drop(old);
    }
}

fn state(connected: Result<(Arc<Client>, Vec<Offer>), McpError>) -> State {
    match connected {
        Ok((client, offers)) => State::Ready(client, offers),
        Err(why) => State::Failed(why.to_string()),
    }
}
