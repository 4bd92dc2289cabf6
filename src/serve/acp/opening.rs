//! A session of an editor, from the request for it to something that can run a turn.

use super::options::Choices;
use super::{Server, code};
use crate::agent::connect;
use crate::agent::event::{Answer, Event, Frontend, Question};
use crate::agent::open::recorded_provider;
use crate::agent::session::Session;
use crate::cancel::Cancel;
use crate::cli::args::Options;
use crate::cli::commands::session::Setup;
use crate::config::McpServer;
use crate::jsonrpc::Fault;
use crate::model::local;
use crate::store::paths::Home;
use crate::store::sessions;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long a server may take to tell its models before the list is left as it is.
const MODELS: Duration = Duration::from_secs(1);

/// How a session is to be opened.
pub struct Begin {
    /// Which stored one; `None`: a new one.
    pub id: Option<String>,
    /// The conversation is shown again.
    pub replay: bool,
    /// The working folder.
    pub cwd: PathBuf,
    /// Further folders to write in.
    pub folders: Vec<PathBuf>,
    /// MCP servers of the editor.
    pub servers: Vec<Value>,
}

/// Who watches while a session is opened: nobody can be asked yet.
#[derive(Default)]
pub struct Early(pub Vec<(&'static str, String)>);

impl Frontend for Early {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Warning(text) => self.0.push(("warning", text.clone())),
            Event::Note(text) => self.0.push(("info", text.clone())),
            _ => {}
        }
    }

    fn ask(&mut self, _: &Question) -> Answer {
        Answer::No(None)
    }

    fn interactive(&self) -> bool {
        false
    }
}

/// An MCP server as an editor names it: variables and headers are lists of pairs, and a server on
/// standard streams has no type.
fn server_of(entry: &Value) -> Option<(String, McpServer)> {
    let text = |key: &str| entry[key].as_str().map(str::to_owned);
    let list = |key: &str| entry[key].as_array().into_iter().flatten();
    let pairs = |key: &str| {
        let pair = |v: &Value| {
            Some((
                v["name"].as_str()?.to_owned(),
                v["value"].as_str()?.to_owned(),
            ))
        };
        list(key).filter_map(pair).collect()
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name = text("name")?
        .chars()
        .map(|c| if fits(c) { c } else { '_' })
        .collect();
    let server = McpServer {
        command: text("command"),
        args: list("args")
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        env: pairs("env"),
        url: text("url"),
        http_headers: pairs("headers"),
        ..McpServer::default()
    };
    Some((name, server))
}

/// The servers of a request. Names that are the same once they are cleaned get a number.
fn servers_of(entries: &[Value]) -> Vec<(String, McpServer)> {
    let mut all: Vec<(String, McpServer)> = Vec::new();
    for (name, server) in entries.iter().filter_map(server_of) {
        let is_taken = |all: &[(String, _)], name: &str| all.iter().any(|(known, _)| known == name);
        let mut own = name.clone();
        let mut number = 2;
        while is_taken(&all, &own) {
            own = format!("{name}_{number}");
            number += 1;
        }
        all.push((own, server));
    }
    all
}

/// A session with the settings that it was opened by.
type Opened = (Session, Setup, Options);

/// Opens it.
///
/// # Errors
/// The answer to the request.
pub fn opened(
    server: &Server,
    begin: &Begin,
    cancel: &Cancel,
    early: &mut Early,
) -> Result<Opened, Fault> {
    let internal = |why: String| Fault::new(code::INTERNAL, why);
    let mut options = server.options.clone();
    options.cd = Some(begin.cwd.clone());
    options
        .overrides
        .add_dirs
        .extend(begin.folders.iter().cloned());
    let mut setup = Setup::load(&options).map_err(internal)?;
    setup.offline.clone_from(&server.offline);
    setup.asks_later = true;
    setup.mcp_servers = servers_of(&begin.servers);
    let resume = match &begin.id {
        None => None,
        Some(id) => Some(stored(&setup, id)?),
    };
    let provider = resume.as_deref().and_then(recorded_provider);
    let session =
        setup.open(&options, resume, None, cancel, early).map_err(
            |why| match connect::lacks_key(&setup.config, provider.as_deref()) {
                true => Fault::new(code::AUTH_REQUIRED, why),
                false => internal(why),
            },
        )?;
    Ok((session, setup, options))
}

/// The file of the session with exactly that id.
fn stored(setup: &Setup, id: &str) -> Result<PathBuf, Fault> {
    let found = sessions::find(&setup.home, id).ok().filter(|s| s.id == id);
    found.map(|s| s.path).ok_or_else(|| {
        Fault::new(
            code::NOT_FOUND,
            format!("there is no session {id}; session/list tells those that there are"),
        )
    })
}

/// Removes what is stored of a session; one that is not there is no fault, so that a client may ask
/// twice.
///
/// # Errors
/// When another process works on it, or a file cannot be removed.
pub fn deleted(home: &Home, id: &str) -> Result<Value, Fault> {
    if let Some(session) = sessions::find(home, id).ok().filter(|s| s.id == id) {
        sessions::remove(home, &session)
            .map_err(|why| Fault::new(code::INTERNAL, why.to_string()))?;
    }
    Ok(json!({}))
}

/// What is chosen for a session, and what else there is.
pub fn choices(session: &Session, setup: &Setup, options: &Options, cancel: &Cancel) -> Choices {
    Choices {
        mode: session.info().sandbox,
        model: session.info().model.clone(),
        models: models(session, setup, options, cancel),
        harness: session.info().harness.0,
        effort: session.effort().map(str::to_owned),
        thoughtless: session.thinks() == Some(false),
    }
}

/// The models of a local server; of a hosted one only that in use, since it lists what it has, not
/// what can do this work.
fn models(session: &Session, setup: &Setup, options: &Options, cancel: &Cancel) -> Vec<String> {
    let (provider, _) = session.model();
    let chat = options.chat_completions;
    let Ok(provider) = connect::resolve(provider, &setup.config, chat) else {
        return Vec::new();
    };
    if !provider.is_local() {
        return Vec::new();
    }
    let (send, receive) = mpsc::channel();
    let cancel = cancel.clone();
    thread::spawn(move || {
        let list = local::models(&provider, &cancel).unwrap_or_default();
        let _ = send.send(list.into_iter().map(|m| m.id).collect());
    });
    receive.recv_timeout(MODELS).unwrap_or_default()
}

/// A folder of a request.
///
/// # Errors
/// What is wrong with it.
pub fn folder(value: &Value, key: &str) -> Result<PathBuf, Fault> {
    let text = value.as_str().unwrap_or_default();
    let path = Path::new(text);
    match path.is_absolute() {
        false => Err(Fault::bad_params(format!(
            "{key} must be an absolute path, not {text:?}"
        ))),
        true if !path.is_dir() => Err(Fault::bad_params(format!("{key} is no folder: {text}"))),
        true => Ok(path.to_owned()),
    }
}
