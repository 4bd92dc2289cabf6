//! Which server answers at an address. The shape of its JSON decides, never the port or the status.

use super::ask::{Ask, PROBE, Server, text};
use super::{Found, lmstudio};
use crate::cancel::Cancel;
use crate::model::provider::{BUILTIN, LocalServer, Provider, normalise, server_root};
use crate::model::{ModelError, WireApi};
use serde_json::Value;
use std::thread;

/// One question, and how the right server's answer is known; it gives the version if it has one.
struct Probe {
    server: LocalServer,
    path: &'static str,
    read: fn(&Value) -> Option<Option<String>>,
}

/// The questions for an arbitrary address; of several answers the first one counts.
const PROBES: [Probe; 5] = [
    Probe {
        server: LocalServer::LmStudio,
        path: "/api/v1/models",
        read: |v| lmstudio::read_v1(v).map(|_| None),
    },
    Probe {
        server: LocalServer::LlamaServer,
        path: "/props",
        read: |v| {
            v.get("default_generation_settings")?;
            Some(text(v, "/build_info"))
        },
    },
    Probe {
        server: LocalServer::Ollama,
        path: "/api/version",
        read: |v| text(v, "/version").map(Some),
    },
    Probe {
        server: LocalServer::LmStudio,
        path: "/api/v0/models",
        read: |v| lmstudio::read_v0(v).map(|_| None),
    },
    Probe {
        server: LocalServer::Vllm,
        path: "/version",
        read: |v| text(v, "/version").map(Some),
    },
];

/// Every server that answers at one of the candidates' addresses, in their order. All are asked at
/// the same time, each first for what it is expected to be. An address that two of them share
/// counts once.
pub fn detect(candidates: &[Provider], cancel: &Cancel) -> Vec<Found> {
    let answers: Vec<Option<Found>> = thread::scope(|s| {
        let threads: Vec<_> = candidates
            .iter()
            .map(|c| s.spawn(move || identify(c, cancel)))
            .collect();
        threads
            .into_iter()
            .map(|t| t.join().ok().flatten())
            .collect()
    });
    let mut found: Vec<Found> = Vec::new();
    for server in answers.into_iter().flatten() {
        let root = server_root(&server.base_url);
        if found.iter().all(|f| server_root(&f.base_url) != root) {
            found.push(server);
        }
    }
    found
}

/// What kind of server a provider's address belongs to; `None` when nothing answers, or nothing
/// that is known (a server that wants a key answers nothing without it).
pub fn identify(provider: &Provider, cancel: &Cancel) -> Option<Found> {
    let (server, version) = probe(&Server::new(provider, cancel), provider.local)?;
    let wire = BUILTIN
        .iter()
        .find(|b| b.local == server)
        .map_or(WireApi::Chat, |b| b.wire);
    Some(Found {
        server,
        base_url: normalise(server_root(&provider.base_url), wire, Some(server))?,
        version,
    })
}

/// The provider for a server that [`detect`] found: the candidate at that address, changed into
/// what really answers there if it was expected to be something else. `chat_completions` keeps the
/// `chat` wire also for an Ollama.
pub fn adopt(candidates: &[Provider], found: &Found, chat_completions: bool) -> Option<Provider> {
    let root = server_root(&found.base_url);
    let mut provider = candidates
        .iter()
        .find(|c| server_root(&c.base_url) == root)?
        .clone();
    if provider.local == Some(found.server) {
        return Some(provider);
    }
    let builtin = BUILTIN.iter().find(|b| b.local == found.server)?;
    provider.wire = if chat_completions {
        WireApi::Chat
    } else {
        builtin.wire
    };
    provider.base_url = normalise(root, provider.wire, Some(found.server))?;
    provider.local = Some(found.server);
    provider.id = builtin.id.into();
    provider.name = builtin.name.into();
    Some(provider)
}

/// The provider with the kind of its server filled in, when it is a configured one on the user's
/// own machine or network. Its wire and address stay as configured.
pub fn recognise(mut provider: Provider, cancel: &Cancel) -> Provider {
    if provider.local.is_none() && provider.is_local() {
        provider.local = identify(&provider, cancel).map(|found| found.server);
    }
    provider
}

/// Asks first for what is expected, and only who answers something else for the rest, all at the
/// same time: a session waits for two round trips at most before it knows its server.
fn probe(ask: &dyn Ask, expected: Option<LocalServer>) -> Option<(LocalServer, Option<String>)> {
    let (first, rest): (Vec<_>, Vec<_>) = PROBES.iter().partition(|p| Some(p.server) == expected);
    for group in [first, rest] {
        let answers: Vec<Answer> = thread::scope(|s| {
            let threads: Vec<_> = group
                .iter()
                .map(|&probe| s.spawn(move || answer(ask, probe)))
                .collect();
            let joined = threads.into_iter().map(|t| t.join());
            joined.map(|a| a.unwrap_or(Answer::Other)).collect()
        });
        let mut nobody = false;
        for answer in answers {
            match answer {
                Answer::Is(server, version) => return Some((server, version)),
                Answer::Nobody => nobody = true,
                Answer::Other => {}
            }
        }
        if nobody {
            return None;
        }
    }
    None
}

/// What one question brought.
enum Answer {
    Is(LocalServer, Option<String>),
    /// Nothing there, or the user does not want to wait.
    Nobody,
    Other,
}

fn answer(ask: &dyn Ask, probe: &Probe) -> Answer {
    match ask.get(probe.path, PROBE) {
        Ok(answer) if answer.get("error").is_none() => match (probe.read)(&answer) {
            Some(version) => Answer::Is(probe.server, version),
            None => Answer::Other,
        },
        // llama-server says 503 to everything until its model is in memory.
        Err(ModelError::Status {
            status: 503,
            message,
            ..
        }) if message.contains("Loading model") => Answer::Is(LocalServer::LlamaServer, None),
        Err(ModelError::Unreachable { .. } | ModelError::Interrupted | ModelError::Idle { .. }) => {
            Answer::Nobody
        }
        _ => Answer::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Fake, provider, status};
    use super::*;
    use serde_json::json;
    use std::sync::{Condvar, Mutex};
    use std::time::Duration;

    #[test]
    fn the_shape_decides() {
        let kind = |fake: Fake| probe(&fake, None);
        let ollama = Fake::new(&[("/api/version", json!({"version": "0.14.0"}))]);
        assert_eq!(
            kind(ollama),
            Some((LocalServer::Ollama, Some("0.14.0".into())))
        );
        let llama = Fake::new(&[(
            "/props",
            json!({"default_generation_settings": {"n_ctx": 8192}, "build_info": "b6000-abc"}),
        )]);
        assert_eq!(
            kind(llama),
            Some((LocalServer::LlamaServer, Some("b6000-abc".into())))
        );
        let vllm = Fake::new(&[("/version", json!({"version": "0.11.0"}))]);
        assert_eq!(kind(vllm), Some((LocalServer::Vllm, Some("0.11.0".into()))));
        let studio = Fake::new(&[(
            "/api/v0/models",
            json!({"object": "list", "data": [{"id": "m", "state": "loaded"}]}),
        )]);
        assert_eq!(kind(studio), Some((LocalServer::LmStudio, None)));
        assert_eq!(
            kind(Fake::new(&[("/v1/models", json!({"data": []}))])),
            None
        );
    }

    #[test]
    fn an_answer_of_200_proves_nothing() {
        // LM Studio says 200 to unknown paths, with an error inside.
        let error = json!({"error": "Unexpected endpoint or method. (GET /props)"});
        let fake = Fake::new(&[
            ("/props", error.clone()),
            ("/api/version", error),
            ("/api/v1/models", json!({"models": []})),
        ]);
        assert_eq!(
            probe(&fake, Some(LocalServer::Ollama)),
            Some((LocalServer::LmStudio, None))
        );
    }

    #[test]
    fn a_loading_llama_server_is_one() {
        let fake = Fake::new(&[]).failing("/api/version", status(503, "Loading model"));
        let found = probe(&fake, Some(LocalServer::Ollama));
        assert_eq!(found, Some((LocalServer::LlamaServer, None)));
    }

    #[test]
    fn a_server_on_the_port_of_another_is_taken_for_what_it_is() {
        let ollama = provider(
            "http://127.0.0.1:11434",
            WireApi::Ollama,
            Some(LocalServer::Ollama),
        );
        let found = |server, base_url: &str| Found {
            server,
            base_url: base_url.into(),
            version: None,
        };
        let llama = found(LocalServer::LlamaServer, "http://127.0.0.1:11434/v1");
        let taken = adopt(std::slice::from_ref(&ollama), &llama, false).unwrap();
        assert_eq!((taken.id.as_str(), taken.wire), ("llamacpp", WireApi::Chat));
        assert_eq!(taken.base_url, "http://127.0.0.1:11434/v1");
        let same = found(LocalServer::Ollama, "http://127.0.0.1:11434");
        assert_eq!(
            adopt(std::slice::from_ref(&ollama), &same, false),
            Some(ollama)
        );
    }

    /// Answers a question only once all are put.
    struct Patient(Mutex<usize>, Condvar);

    impl Ask for Patient {
        fn get(&self, path: &str, _: Duration) -> Result<Value, ModelError> {
            let mut asked = self.0.lock().unwrap();
            *asked += 1;
            self.1.notify_all();
            let limit = Duration::from_secs(5);
            let all = self
                .1
                .wait_timeout_while(asked, limit, |n| *n < PROBES.len());
            match (path, all.unwrap().1.timed_out()) {
                ("/version", false) => Ok(json!({"version": "0.11.0"})),
                _ => Err(status(404, "not found")),
            }
        }

        fn post(&self, _: &str, _: &Value, _: Duration) -> Result<Value, ModelError> {
            Err(status(404, "not found"))
        }
    }

    #[test]
    fn an_unknown_address_is_asked_everything_at_once() {
        let server = Patient(Mutex::new(0), Condvar::new());
        let found = probe(&server, None);
        assert_eq!(found, Some((LocalServer::Vllm, Some("0.11.0".into()))));
    }

    #[test]
    fn nothing_there_is_asked_once() {
        let fake = Fake::new(&[]).down();
        assert_eq!(probe(&fake, Some(LocalServer::LlamaServer)), None);
        assert_eq!(fake.asked().len(), 1);
        assert_eq!(probe(&Fake::new(&[]).down(), None), None);
    }
}
