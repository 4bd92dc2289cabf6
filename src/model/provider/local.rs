//! The local servers that need no entry in the config.

use crate::model::WireApi;

/// The kinds of local server that are built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LocalServer {
    /// Ollama.
    Ollama,
    /// LM Studio.
    LmStudio,
    /// llama.cpp's `llama-server`.
    LlamaServer,
    /// vLLM.
    Vllm,
}

impl LocalServer {
    /// All kinds, in the order in which they are looked for.
    pub const ALL: [LocalServer; 4] = [
        LocalServer::Ollama,
        LocalServer::LmStudio,
        LocalServer::LlamaServer,
        LocalServer::Vllm,
    ];

    /// The id of its built-in provider.
    pub fn id(self) -> &'static str {
        match self {
            LocalServer::Ollama => "ollama",
            LocalServer::LmStudio => "lmstudio",
            LocalServer::LlamaServer => "llamacpp",
            LocalServer::Vllm => "vllm",
        }
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            LocalServer::Ollama => "Ollama",
            LocalServer::LmStudio => "LM Studio",
            LocalServer::LlamaServer => "llama-server",
            LocalServer::Vllm => "vLLM",
        }
    }
}

/// A local server that needs no entry in the config. Hosted ones are rows of [`Catalog`].
#[derive(Debug)]
pub struct Builtin {
    /// Its id.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// Where it is, unless the config or `OLLAMA_HOST` says otherwise.
    pub base_url: &'static str,
    /// The wire that suits it best.
    pub wire: WireApi,
    /// The kind of server.
    pub local: LocalServer,
}

/// Every built-in local server.
pub const BUILTIN: [Builtin; 4] = [
    Builtin {
        id: "ollama",
        name: "Ollama",
        base_url: "http://127.0.0.1:11434",
        wire: WireApi::Ollama,
        local: LocalServer::Ollama,
    },
    Builtin {
        id: "lmstudio",
        name: "LM Studio",
        base_url: "http://127.0.0.1:1234/v1",
        wire: WireApi::Chat,
        local: LocalServer::LmStudio,
    },
    Builtin {
        id: "llamacpp",
        name: "llama.cpp",
        base_url: "http://127.0.0.1:8080/v1",
        wire: WireApi::Chat,
        local: LocalServer::LlamaServer,
    },
    Builtin {
        id: "vllm",
        name: "vLLM",
        base_url: "http://127.0.0.1:8000/v1",
        wire: WireApi::Chat,
        local: LocalServer::Vllm,
    },
];
