//! Black-box tests of the binary: a scripted model, a folder, a command line, and what came of it.
//!
//! ```ignore
//! Agent::new().harness("qwen-code").model(script![run("ls"), say("Done")]).file("a.py", "x = 1\n").run("look").expect_exit(0);
//! ```

#![allow(dead_code)] // Each test file uses its own part of this.

pub mod proxy;
pub mod script;
pub mod server;
pub mod strict;
#[cfg(unix)]
pub mod terminal;

use open_interpreter::tools::action::Action;
use script::Step;
use serde_json::Value;
use server::{Kind, Server};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Steps of a scripted model.
#[macro_export]
macro_rules! script {
    ($($step:expr),* $(,)?) => { vec![$($step),*] };
}

/// All harnesses, that the invariants are held over; a few of each kind where a test is run
/// [again](on_hosted_wires).
pub fn harnesses() -> impl Iterator<Item = &'static str> {
    const FEW: [&str; 4] = ["native", "claude-code", "qwen-code", "mini-swe-agent"];
    let again = AGAIN.get();
    let all = open_interpreter::harnesses::ALL.iter().map(|h| h.id());
    all.filter(move |id| !again || FEW.contains(id))
}

/// Those that offer tools.
pub fn with_tools() -> impl Iterator<Item = &'static str> {
    let reads_text = |id: &str| {
        open_interpreter::harnesses::by_id(id).is_some_and(|harness| harness.reads_text())
    };
    harnesses().filter(move |id| !reads_text(id))
}

/// True when one reply may hold two calls. SWE-agent takes one and asks anew for several.
pub fn takes_two(harness: &str) -> bool {
    harness != "swe-agent" && with_tools().any(|id| id == harness)
}

/// Those whose task ends with a plain answer. swe-agent has a tool for its end, and asks twice for a
/// call before it takes a text as one.
pub fn ending_with_words() -> impl Iterator<Item = &'static str> {
    let end = Action::Finish {
        text: String::new(),
    };
    with_tools().filter(move |id| {
        open_interpreter::harnesses::by_id(id).is_some_and(|h| h.write(&end).is_none())
    })
}

/// The call with which a harness runs a command: name and arguments of a tool that it really
/// offers.
pub fn shell(harness: &str, command: &str) -> (String, Value) {
    let dry = Agent::new().harness(harness).model(vec![script::say("ok")]);
    let body = dry.run("hi").server.requests()[0].body.clone();
    let (_, mut calls) = script::run(command).resolve(&strict::tools(&body));
    calls.remove(0)
}
thread_local! {
    /// The wire of an [`Agent`] that names none.
    static WIRE: std::cell::Cell<&'static str> = const { std::cell::Cell::new("chat") };
    /// Tests are run again.
    static AGAIN: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// The wire of an [`Agent`] that names none. A thread of a test has to be told.
pub fn usual_wire() -> &'static str {
    WIRE.get()
}

/// Runs tests again on the wires of hosted models, wherever they name none.
pub fn on_hosted_wires(tests: &[(&str, fn())]) {
    AGAIN.set(true);
    for wire in ["responses", "messages"] {
        WIRE.set(wire);
        for (name, test) in tests {
            eprintln!("{name} on {wire}");
            test();
        }
    }
    WIRE.set("chat");
    AGAIN.set(false);
}

pub const WIRES: [&str; 4] = ["chat", "responses", "messages", "ollama"];

/// Builds one run of the binary.
pub struct Agent {
    home: TempDir,
    server: Option<Server>,
    steps: Vec<Step>,
    summary: Option<String>,
    parameters: String,
    names_model: bool,
    name: String,
    harness: Option<String>,
    wire: String,
    kind: Kind,
    window: u32,
    config: String,
    standard: Vec<(String, String)>,
    tracer: Vec<String>,
    args: Vec<String>,
    env: Vec<(String, String)>,
    stdin: Option<Vec<u8>>,
    stdin_pipe: Option<std::io::PipeReader>,
    provider_flags: bool,
    git: bool,
    limit: Duration,
    far: bool,
}

impl Agent {
    pub fn new() -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir_all(home.path().join("ws")).expect("a workspace");
        fs::create_dir_all(home.path().join("home")).expect("a home");
        Agent {
            home,
            server: None,
            steps: Vec::new(),
            summary: None,
            parameters: String::new(),
            names_model: true,
            name: "mock".into(),
            harness: None,
            wire: WIRE.get().into(),
            kind: Kind::LlamaServer,
            window: 32_768,
            config: String::new(),
            standard: [
                ("approval_policy", "never"),
                ("sandbox_mode", "workspace-write"),
            ]
            .map(|(key, value)| (key.into(), value.into()))
            .into(),
            tracer: Vec::new(),
            args: Vec::new(),
            env: Vec::new(),
            stdin: None,
            stdin_pipe: None,
            provider_flags: false,
            git: false,
            limit: Duration::from_secs(60),
            far: false,
        }
    }

    /// The server is a hosted provider: its name is not of this network, a proxy leads there, and it
    /// is as strict as such are.
    pub fn hosted(mut self) -> Self {
        self.far = true;
        self
    }

    pub fn harness(mut self, id: &str) -> Self {
        self.harness = Some(id.into());
        self
    }

    pub fn wire(mut self, wire: &str) -> Self {
        self.wire = wire.into();
        if wire == "ollama" {
            self.kind = Kind::Ollama;
        }
        self
    }

    /// Sets the wire and leaves the kind of server as it is.
    pub fn wire_only(mut self, wire: &str) -> Self {
        self.wire = wire.into();
        self
    }

    /// Gives the provider on the command line too, for a run whose home cannot be read.
    pub fn with_provider_flags(mut self) -> Self {
        self.provider_flags = true;
        self
    }

    /// Standard input is a pipe that stays open and silent as long as the second value lives.
    #[cfg(unix)]
    pub fn open_stdin(mut self) -> (Self, std::io::PipeWriter) {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        self.stdin_pipe = Some(reader);
        (self, writer)
    }

    pub fn server_kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    pub fn window(mut self, tokens: u32) -> Self {
        self.window = tokens;
        self
    }

    pub fn model(mut self, steps: Vec<Step>) -> Self {
        self.steps = steps;
        self
    }

    /// What the model writes when it is asked for a summary; takes no step of the script.
    pub fn summary(mut self, text: &str) -> Self {
        self.summary = Some(text.into());
        self
    }

    /// The `parameters` text of Ollama's model.
    pub fn parameters(mut self, text: &str) -> Self {
        self.parameters = text.into();
        self
    }

    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// More lines of the config file, put after the standard ones.
    pub fn config(mut self, toml: &str) -> Self {
        self.config.push_str(toml);
        self
    }

    /// The server's model has this name.
    pub fn named(mut self, model: &str) -> Self {
        self.name = model.into();
        self
    }

    /// The config names no model.
    pub fn without_model(mut self) -> Self {
        self.names_model = false;
        self
    }

    /// Another value for one of the standard lines of the config file.
    pub fn config_of(mut self, key: &str, value: &str) -> Self {
        self.standard.retain(|(known, _)| known != key);
        self.standard.push((key.into(), value.into()));
        self
    }

    /// Starts the binary through another program, which gets it as its last arguments.
    pub fn under<const N: usize>(mut self, tracer: [&str; N]) -> Self {
        self.tracer = tracer.map(String::from).to_vec();
        self
    }

    /// Arguments before the prompt.
    pub fn args<const N: usize>(mut self, args: [&str; N]) -> Self {
        self.args.extend(args.map(String::from));
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.workspace().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, content).expect("a file");
        self
    }

    /// Makes the workspace a git repository (without running git).
    pub fn git(mut self) -> Self {
        self.git = true;
        let git = self.workspace().join(".git");
        fs::create_dir_all(git.join("objects")).expect("objects");
        fs::create_dir_all(git.join("refs/heads")).expect("refs");
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("HEAD");
        fs::write(
            git.join("config"),
            "[core]\n\trepositoryformatversion = 0\n",
        )
        .expect("config");
        self
    }

    pub fn workspace(&self) -> PathBuf {
        self.home.path().join("ws")
    }

    /// The server is up already, on this port, with what was said of it so far.
    pub fn listening(mut self) -> (Self, u16) {
        let server = self.server.take().unwrap_or_else(|| self.server());
        let port = server.port();
        self.server = Some(server);
        (self, port)
    }

    fn server(&mut self) -> Server {
        let server = Server::start(self.kind, self.window, std::mem::take(&mut self.steps));
        server.set_name(&self.name);
        server.set_parameters(&self.parameters);
        if let Some(text) = &self.summary {
            server.summarise_with(text);
        }
        server
    }

    /// `interpreter exec --skip-git-repo-check PROMPT`.
    pub fn run(self, prompt: &str) -> Run {
        self.start(&["exec", "--skip-git-repo-check"], Some(prompt))
            .finish()
    }

    /// `interpreter SUBCOMMAND… [PROMPT]`, while it still runs.
    pub fn start(mut self, subcommand: &[&str], prompt: Option<&str>) -> Running {
        let server = self.server.take().unwrap_or_else(|| self.server());
        if self.provider_flags {
            let set = |key: &str, value: String| {
                [
                    "-c".to_owned(),
                    format!("model_providers.mock.{key}={value:?}"),
                ]
            };
            self.args.extend(set(
                "base_url",
                format!("http://127.0.0.1:{}/v1", server.port()),
            ));
            self.args.extend(set("wire_api", self.wire.clone()));
        }
        if self.far {
            server.set_hosted();
            let (port, _) = proxy::connect(server.port(), None);
            self = self.env("HTTP_PROXY", &format!("http://127.0.0.1:{port}"));
        }
        let config = self.config_file(server.port());
        fs::write(self.home.path().join("home/config.toml"), config).expect("a config");
        let input = match (self.stdin_pipe, self.stdin) {
            (Some(pipe), _) => Input::Pipe(pipe),
            (None, Some(bytes)) => Input::Bytes(bytes),
            (None, None) => Input::Nothing,
        };
        Running::spawn(
            self.home,
            server,
            &self.tracer,
            subcommand,
            &self.args,
            prompt,
            input,
            &self.env,
            self.limit,
        )
    }

    fn config_file(&self, port: u16) -> String {
        let path = if self.wire == "ollama" { "" } else { "/v1" };
        let mut lines = String::new();
        let host = match self.far {
            true => {
                lines.push_str(&format!("model_context_window = {}\n", self.window));
                "far.example".to_owned()
            }
            false => format!("127.0.0.1:{port}"),
        };
        if self.names_model {
            lines.push_str(&format!("model = {:?}\n", self.name));
        }
        if let Some(harness) = &self.harness {
            lines.push_str(&format!("harness = {harness:?}\n"));
        }
        for (key, value) in &self.standard {
            lines.push_str(&format!("{key} = {value:?}\n"));
        }
        format!(
            "model_provider = \"mock\"\n{lines}{}\n\
             [model_providers.mock]\nname = \"mock\"\nbase_url = \"http://{host}{path}\"\nwire_api = {:?}\n",
            self.config, self.wire
        )
    }
}

/// What a run gets on standard input.
enum Input {
    Nothing,
    Bytes(Vec<u8>),
    Pipe(std::io::PipeReader),
}

/// A run that goes on.
pub struct Running {
    pub home: TempDir,
    pub server: Server,
    pub child: std::process::Child,
    began: Instant,
    limit: Duration,
}

impl Running {
    #[allow(clippy::too_many_arguments)]
    fn spawn(
        home: TempDir,
        server: Server,
        tracer: &[String],
        subcommand: &[&str],
        args: &[String],
        prompt: Option<&str>,
        input: Input,
        env: &[(String, String)],
        limit: Duration,
    ) -> Self {
        let binary = env!("CARGO_BIN_EXE_interpreter");
        let mut command = match tracer.split_first() {
            Some((tracer, words)) => {
                let mut command = Command::new(tracer);
                command.args(words).arg(binary);
                command
            }
            None => Command::new(binary),
        };
        command
            .args(subcommand)
            .args(args)
            .args(prompt)
            .current_dir(home.path().join("ws"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .env("INTERPRETER_HOME", home.path().join("home"))
            .env("SHELL", "/bin/bash")
            .envs(env.iter().cloned())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let bytes = match input {
            Input::Nothing => {
                command.stdin(Stdio::null());
                None
            }
            Input::Pipe(pipe) => {
                command.stdin(pipe);
                None
            }
            Input::Bytes(bytes) => {
                command.stdin(Stdio::piped());
                Some(bytes)
            }
        };
        let began = Instant::now();
        let mut child = command.spawn().expect("the binary starts");
        if let Some(bytes) = bytes {
            let mut pipe = child.stdin.take().expect("a pipe");
            // A binary that does not read it all is a case of its own, not a broken test.
            std::thread::spawn(move || {
                let _ = pipe.write_all(&bytes);
            });
        }
        Running {
            home,
            server,
            child,
            began,
            limit,
        }
    }

    /// Waits until the server has seen so many generating requests.
    pub fn wait_for_requests(&self, n: usize) {
        let end = Instant::now() + Duration::from_secs(20);
        while self.server.requests().len() < n {
            assert!(Instant::now() < end, "request {n} did not come");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends a signal by its number.
    #[cfg(unix)]
    pub fn signal(&self, number: i32) {
        let status = Command::new("kill")
            .arg(format!("-{number}"))
            .arg(self.child.id().to_string())
            .status();
        assert!(status.expect("kill is there").success());
    }

    /// Waits for the end, at most the limit.
    pub fn finish(mut self) -> Run {
        fn reader(
            mut pipe: impl std::io::Read + Send + 'static,
        ) -> std::thread::JoinHandle<String> {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = pipe.read_to_end(&mut bytes);
                String::from_utf8_lossy(&bytes).into_owned()
            })
        }
        // A test may have closed standard output on purpose.
        let out = self.child.stdout.take().map(reader);
        let err = reader(self.child.stderr.take().expect("stderr"));
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the child can be waited for") {
                break status;
            }
            if self.began.elapsed() > self.limit {
                let _ = self.child.kill();
                panic!(
                    "the run took longer than {:?}; stderr:\n{}",
                    self.limit,
                    err.join().unwrap_or_default()
                );
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        #[cfg(unix)]
        let code = {
            use std::os::unix::process::ExitStatusExt;
            status
                .code()
                .unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
        };
        #[cfg(not(unix))]
        let code = status.code().unwrap_or(-1);
        Run {
            home: self.home,
            server: self.server,
            code,
            stdout: out
                .map(|o| o.join().expect("stdout was read"))
                .unwrap_or_default(),
            stderr: err.join().expect("stderr was read"),
            took: self.began.elapsed(),
        }
    }
}

/// What came of a run.
pub struct Run {
    pub home: TempDir,
    pub server: Server,
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

impl Run {
    pub fn workspace(&self) -> PathBuf {
        self.home.path().join("ws")
    }

    pub fn expect_exit(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "exit code; stdout:\n{}\nstderr:\n{}",
            self.stdout, self.stderr
        );
        self
    }

    pub fn expect_stdout(self, text: &str) -> Self {
        assert_eq!(self.stdout, text, "stderr:\n{}", self.stderr);
        self
    }

    pub fn expect_stderr(self, part: &str) -> Self {
        assert!(
            self.stderr.contains(part),
            "`{part}` is not in stderr:\n{}",
            self.stderr
        );
        self
    }

    pub fn expect_file(self, path: &str, content: &str) -> Self {
        let found = fs::read_to_string(self.workspace().join(path));
        assert_eq!(
            found.ok().as_deref(),
            Some(content),
            "{path}; stderr:\n{}",
            self.stderr
        );
        self
    }

    pub fn expect_no_file(self, path: &str) -> Self {
        assert!(
            !self.workspace().join(path).exists(),
            "{path} exists; stderr:\n{}",
            self.stderr
        );
        self
    }

    pub fn expect_requests(self, n: usize) -> Self {
        assert_eq!(
            self.server.requests().len(),
            n,
            "requests; stderr:\n{}",
            self.stderr
        );
        self
    }

    /// Checks the body of the n-th generating request, from 1.
    pub fn expect_request(self, n: usize, check: impl Fn(&Value) -> bool) -> Self {
        let requests = self.server.requests();
        let body = requests.get(n - 1).unwrap_or_else(|| {
            panic!("only {} requests; stderr:\n{}", requests.len(), self.stderr)
        });
        assert!(
            check(&body.body),
            "request {n}:\n{}",
            serde_json::to_string_pretty(&body.body).unwrap_or_default()
        );
        self
    }

    /// The text of the n-th request, from 1, for a search.
    pub fn request_text(&self, n: usize) -> String {
        strict::all_text(&self.server.requests()[n - 1].body)
    }

    /// Runs the binary again in the same home with the rest of the script.
    pub fn again(self, subcommand: &[&str], prompt: Option<&str>) -> Run {
        Running::spawn(
            self.home,
            self.server,
            &[],
            subcommand,
            &[],
            prompt,
            Input::Nothing,
            &[],
            Duration::from_secs(60),
        )
        .finish()
    }

    /// The same with bytes on standard input.
    pub fn again_piped(self, subcommand: &[&str], bytes: &str) -> Run {
        Running::spawn(
            self.home,
            self.server,
            &[],
            subcommand,
            &[],
            None,
            Input::Bytes(bytes.as_bytes().to_vec()),
            &[],
            Duration::from_secs(60),
        )
        .finish()
    }

    /// The one session file.
    pub fn session_file(&self) -> PathBuf {
        let mut found = files_below(&self.home.path().join("home/sessions"));
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }
}

/// All files below a folder.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(folder, &mut found);
    found
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => walk(&path, found),
            path => found.push(path),
        }
    }
}
