//! A small world for a command: a workspace, things outside that it must not reach, and people to hurt.

use open_interpreter::sandbox::{End, Lift, Mode, Policy, Run, Running, Sandbox, Strength};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How a command is fenced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Not at all, and not even watched.
    Control,
    /// By all means: namespaces, Landlock and the filter.
    Auto,
    /// Without namespaces.
    Partial,
    /// By all means, in read-only mode.
    ReadOnly,
}

pub fn is_root() -> bool {
    // SAFETY: no memory is involved.
    unsafe { libc::geteuid() == 0 }
}

pub struct World {
    base: TempDir,
    tcp: TcpListener,
    udp: UdpSocket,
    _stream: UnixListener,
    _abstract: UnixListener,
    datagram: UnixDatagram,
    /// Both ends of a terminal of somebody else.
    terminal: (File, File),
    victim: Child,
}

impl World {
    /// Outside of `/tmp`, which a sandboxed command may write.
    pub fn new() -> Self {
        let base = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = base.path();
        for folder in [
            "ws/src",
            "ws/.git/hooks",
            "ws/nested/.git/hooks",
            "out/empty",
            "home/outputs",
        ] {
            fs::create_dir_all(path.join(folder)).unwrap();
        }
        for (file, text) in [
            ("ws/src/a.txt", "honest\n"),
            ("ws/.git/HEAD", "ref: refs/heads/main\n"),
            ("ws/.git/config", "[core]\n\trepositoryformatversion = 0\n"),
            ("ws/.git/hooks/sample", "sample\n"),
            ("ws/nested/.git/HEAD", "ref: refs/heads/main\n"),
            (
                "ws/nested/.git/config",
                "[core]\n\trepositoryformatversion = 0\n",
            ),
            ("out/victim", "precious\n"),
            ("out/secret.sh", "exit 0\n"),
            ("home/auth.json", "key-in-auth-json\n"),
            ("home/outputs/1.txt", "whole output\n"),
        ] {
            fs::write(path.join(file), text).unwrap();
        }
        for git in ["ws/.git", "ws/nested/.git"] {
            fs::create_dir_all(path.join(git).join("objects")).unwrap();
            fs::create_dir_all(path.join(git).join("refs")).unwrap();
        }
        fs::set_permissions(path.join("out/victim"), fs::Permissions::from_mode(0o644)).unwrap();
        let datagram = UnixDatagram::bind(path.join("out/datagram")).unwrap();
        datagram.set_nonblocking(true).unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        let victim = Command::new("sleep")
            .arg("600")
            .env("CANARY", "canary-value")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let name = format!("open-interpreter-{}", victim.id());
        let address = SocketAddr::from_abstract_name(name).unwrap();
        Self {
            tcp,
            udp,
            _abstract: UnixListener::bind_addr(&address).unwrap(),
            terminal: terminal(),
            _stream: UnixListener::bind(path.join("out/stream")).unwrap(),
            datagram,
            victim,
            base,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.base.path().canonicalize().unwrap().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub fn policy(&self, mode: Mode) -> Policy {
        Policy {
            mode,
            roots: vec![self.path("ws")],
            network: false,
            slash_tmp: true,
            tmpdir: false,
            own_homes: vec![self.path("home")],
            readable: vec![self.path("home/outputs")],
        }
    }

    /// The sandbox of a form, or `None` when this system does not have it.
    pub fn sandbox(&self, form: Form) -> Option<Sandbox> {
        let mode = match form {
            Form::ReadOnly => Mode::ReadOnly,
            Form::Control => Mode::DangerFullAccess,
            Form::Auto | Form::Partial => Mode::WorkspaceWrite,
        };
        let mut sandbox = Sandbox::new(self.policy(mode));
        if form == Form::Partial {
            sandbox = sandbox.without_namespaces();
        }
        match (form, sandbox.strength()) {
            (_, Strength::Enforced) | (Form::Partial, Strength::Partial(_)) => Some(sandbox),
            (_, weaker) => {
                eprintln!("{form:?} cannot be tested here: {weaker:?}");
                None
            }
        }
    }

    /// What scripts may refer to.
    pub fn env(&self) -> Vec<(OsString, OsString)> {
        let path = |name| self.path(name).into_os_string();
        let number = |n: u32| OsString::from(n.to_string());
        let port = |address: std::net::SocketAddr| number(address.port().into());
        [
            (
                "PATH",
                "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".into(),
            ),
            ("HOME", path("ws")),
            ("WS", path("ws")),
            ("SUB", path("ws/nested")),
            ("OUT", path("out")),
            ("OWN", path("home")),
            ("TCP", port(self.tcp.local_addr().unwrap())),
            ("UDP", port(self.udp.local_addr().unwrap())),
            ("VICTIM", number(self.victim.id())),
            ("AGENT", number(std::process::id())),
            ("TERMINAL", {
                let link = format!("/proc/self/fd/{}", self.terminal.1.as_raw_fd());
                fs::read_link(link).unwrap().into()
            }),
        ]
        .map(|(name, value)| (name.into(), value))
        .into()
    }

    pub fn run(&self, script: &str) -> Run {
        Run {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            dir: self.path("ws"),
            env: self.env(),
            lift: Lift::Nothing,
            stdin: false,
            split: false,
        }
    }

    /// Runs a script without any sandbox and gives its output.
    pub fn unfenced(&self, script: &str) -> (bool, String) {
        let done = Command::new("/bin/sh")
            .args(["-c", script])
            .env_clear()
            .envs(self.env())
            .current_dir(self.path("ws"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = [done.stdout, done.stderr].concat();
        (done.status.success(), String::from_utf8_lossy(&text).into())
    }

    /// Runs a script through the program's own `sandbox` subcommand; in the control form that only
    /// watches it. Gives whether it succeeded, and its output.
    pub fn by_binary(&self, form: Form, script: &str) -> (bool, String) {
        let mode = match form {
            Form::Control => "danger-full-access",
            Form::ReadOnly => "read-only",
            Form::Auto | Form::Partial => "workspace-write",
        };
        let mut command = Command::new("/usr/bin/timeout");
        command
            .args(["--kill-after=5", "30"])
            .arg(binary())
            .args(["sandbox", "--sandbox", mode, "--", "/bin/sh", "-c", script])
            .env_clear()
            .envs(self.env())
            .env("INTERPRETER_HOME", self.path("home"))
            .current_dir(self.path("ws"))
            .stdin(Stdio::null());
        if form == Form::Partial {
            // As on a kernel without this call, where nothing can be mounted as it has to be.
            let filter = crate::faults::filter(&[libc::SYS_mount_setattr], libc::ENOSYS);
            let broken = move || seccompiler::apply_filter(&filter).map_err(std::io::Error::other);
            // SAFETY: nothing but system calls, on memory that was made before the fork.
            unsafe { command.pre_exec(broken) };
        }
        let done = command.output().unwrap();
        let text = [done.stdout, done.stderr].concat();
        (done.status.success(), String::from_utf8_lossy(&text).into())
    }

    /// True when a datagram socket or the terminal outside got something.
    pub fn was_reached(&self) -> bool {
        let mut buffer = [0; 16];
        self.datagram.recv(&mut buffer).is_ok()
            || self.udp.recv(&mut buffer).is_ok()
            || (&self.terminal.0).read(&mut buffer).is_ok_and(|n| n > 0)
    }

    /// True when somebody connected to the server outside.
    pub fn was_called(&self) -> bool {
        self.tcp.accept().is_ok()
    }

    /// True when the process outside is gone, stopped or changed.
    pub fn victim_is_hurt(&mut self) -> bool {
        self.victim.try_wait().unwrap().is_some()
    }
}

/// The program: of this build, or the copy that an ordinary user may run.
pub fn binary() -> PathBuf {
    let copy = std::env::var_os("SANDBOX_TEST_BINARY").map(PathBuf::from);
    copy.unwrap_or_else(|| env!("CARGO_BIN_EXE_interpreter").into())
}

/// A new terminal, its controlling end first.
fn terminal() -> (File, File) {
    let (mut outer, mut inner) = (-1, -1);
    let none = std::ptr::null_mut();
    // SAFETY: the two numbers outlive the call, and null is allowed for the rest. Nobody else owns
    // the descriptors that come back.
    unsafe {
        let done = libc::openpty(&mut outer, &mut inner, none, none.cast(), none.cast());
        assert_eq!(done, 0);
        libc::fcntl(outer, libc::F_SETFL, libc::O_NONBLOCK);
        for end in [outer, inner] {
            libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        (File::from_raw_fd(outer), File::from_raw_fd(inner))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

/// Waits for a command, at most 20 seconds, and gives its end and all of its output.
pub fn finish(mut running: Running) -> (End, String) {
    let mut pipe = running.output().unwrap();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let start = Instant::now();
    let end = loop {
        if let Some(end) = running.try_wait().unwrap() {
            break end;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "it does not end");
        std::thread::sleep(Duration::from_millis(2));
    };
    (end, reader.join().unwrap())
}

/// Runs a script in a sandbox to its end.
pub fn fenced(sandbox: &Sandbox, run: &Run) -> (End, String) {
    finish(sandbox.spawn(run).unwrap_or_else(|e| panic!("{e}")))
}

/// True when a condition holds within two seconds.
pub fn soon(mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(2) {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

/// True when no process has this text in its command line.
pub fn nobody_runs(text: &str) -> bool {
    let found = fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        Path::new(&entry.path()).join("cmdline").exists()
            && String::from_utf8_lossy(&line).contains(text)
            && entry.file_name() != *std::process::id().to_string()
    });
    !found
}
