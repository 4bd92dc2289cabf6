//! How many tokens a prompt has, counted by the server that will read it.

use super::ask::{Ask, Server};
use super::kind;
use crate::cancel::Cancel;
use crate::model::provider::{LocalServer, Provider};
use crate::model::{Request, WireApi};
use serde_json::{Value, json};
use std::time::Duration;

/// Counting takes a moment; a server that is busy with something else is not waited for.
const LIMIT: Duration = Duration::from_secs(5);

/// The tokens of a prompt as the server counts them, template and tools included. `None` where it
/// cannot be asked, or does not answer. Every wire of these servers is turned into a chat inside,
/// so the chat form is what is counted.
pub fn count(provider: &Provider, request: &Request, cancel: &Cancel) -> Option<u64> {
    let body = WireApi::Chat.wire().body(request);
    ask_count(&Server::new(provider, cancel), kind(provider)?, body)
}

fn ask_count(ask: &dyn Ask, server: LocalServer, body: Value) -> Option<u64> {
    let (path, body, key) = match server {
        LocalServer::LlamaServer => ("/v1/chat/completions/input_tokens", body, "/input_tokens"),
        LocalServer::Vllm => {
            let mut prompt = json!({"add_generation_prompt": true});
            for part in ["model", "messages", "tools"] {
                if let Some(value) = body.get(part) {
                    prompt[part] = value.clone();
                }
            }
            ("/tokenize", prompt, "/count")
        }
        LocalServer::Ollama | LocalServer::LmStudio => return None,
    };
    let answer = ask.post(path, &body, LIMIT).ok()?;
    answer.pointer(key)?.as_u64().filter(|n| *n > 0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Fake;
    use super::*;

    #[test]
    fn servers_that_count_are_asked_in_their_own_way() {
        let body = json!({"model": "m", "messages": [], "stream": true});
        let fake = Fake::new(&[
            (
                "/v1/chat/completions/input_tokens m",
                json!({"input_tokens": 1234}),
            ),
            (
                "/tokenize m",
                json!({"count": 99, "max_model_len": 4096, "tokens": []}),
            ),
        ]);
        let ask = |server| ask_count(&fake, server, body.clone());
        assert_eq!(ask(LocalServer::LlamaServer), Some(1234));
        assert_eq!(ask(LocalServer::Vllm), Some(99));
        assert_eq!(ask(LocalServer::Ollama), None);
        // An older server has no such path.
        assert_eq!(
            ask_count(&Fake::new(&[]), LocalServer::LlamaServer, body.clone()),
            None
        );
    }
}
