//! The binary in a pseudo-terminal, and a person who types.

use super::script::Step;
use super::server::{Kind, Server};
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const OURS: &str = env!("CARGO_BIN_EXE_interpreter");

/// What a terminal is like.
#[derive(Clone, Copy)]
pub struct Look {
    pub columns: u16,
    pub term: &'static str,
    pub color: bool,
}

/// 80 columns without colour.
pub const PLAIN: Look = Look {
    columns: 80,
    term: "xterm",
    color: false,
};

/// The binary in a pseudo-terminal.
pub struct Terminal {
    keys: File,
    screen: Arc<Mutex<String>>,
    closed: Arc<AtomicBool>,
    child: Child,
    look: Look,
    pub home: tempfile::TempDir,
    pub server: Server,
}

impl Terminal {
    /// A session that asks before everything.
    pub fn start(steps: Vec<Step>, prompt: Option<&str>) -> Self {
        let server = Server::start(Kind::LlamaServer, 32_768, steps);
        Self::on(server, "approval_policy = \"untrusted\"\n", prompt)
    }

    /// A session with that server and these lines of config.
    pub fn on(server: Server, config: &str, prompt: Option<&str>) -> Self {
        Self::with(PLAIN, server, config, prompt)
    }

    /// The same in a terminal that looks like this.
    pub fn with(look: Look, server: Server, config: &str, prompt: Option<&str>) -> Self {
        Self::set_up(look, server, config, &[], prompt)
    }

    /// A session on the own API of an Ollama.
    pub fn ollama(server: Server, config: &str, prompt: Option<&str>) -> Self {
        let config = format!("{config}[model_providers.mock]\nwire_api = \"ollama\"\n");
        Self::on(server, &config, prompt)
    }

    /// The same with these files in the home of everything: below `ws/` is the workspace, below
    /// `home/` our own.
    pub fn among(
        server: Server,
        config: &str,
        files: &[(&str, &str)],
        prompt: Option<&str>,
    ) -> Self {
        Self::set_up(PLAIN, server, config, files, prompt)
    }

    /// A session whose far servers are behind the proxy on this port.
    pub fn behind(proxy: u16, server: Server, config: &str, prompt: Option<&str>) -> Self {
        let home = Self::home(&server, config, &[]);
        let proxy = format!("http://127.0.0.1:{proxy}");
        let env = [("HTTP_PROXY", proxy.as_str())];
        Self::spawn(PLAIN, home, server, prompt.as_slice(), &env)
    }

    /// A shell with job control; `$INTERPRETER` is the binary.
    pub fn in_shell(server: Server, config: &str) -> Self {
        let home = Self::home(&server, config, &[]);
        let args = ["--norc", "--noprofile", "-i"];
        Self::spawn_in(PLAIN, home, server, ("bash", &args), &[])
    }

    /// The same in a terminal that looks like this.
    pub fn set_up(
        look: Look,
        server: Server,
        config: &str,
        files: &[(&str, &str)],
        prompt: Option<&str>,
    ) -> Self {
        let home = Self::home(&server, config, files);
        Self::spawn(look, home, server, prompt.as_slice(), &[])
    }

    /// A folder with a workspace, these files, and our own home with this config.
    fn home(server: &Server, config: &str, files: &[(&str, &str)]) -> tempfile::TempDir {
        let home = tempfile::tempdir().expect("a folder");
        // The table of the provider may have begun.
        let table = match config.ends_with("wire_api = \"ollama\"\n") {
            true => "",
            false => "[model_providers.mock]\n",
        };
        let config = format!(
            "model = \"mock\"\nmodel_provider = \"mock\"\nharness = \"qwen-code\"\n{config}\
             {table}base_url = \"http://127.0.0.1:{}/v1\"\n",
            server.port()
        );
        std::fs::create_dir(home.path().join("home")).expect("a home");
        std::fs::create_dir(home.path().join("ws")).expect("a workspace");
        std::fs::write(home.path().join("home/config.toml"), config).expect("a config");
        for (name, text) in files {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            std::fs::write(path, text).expect("a file");
        }
        home
    }

    /// A session of somebody who has no config yet, and an Ollama as the only server that answers
    /// by that name.
    pub fn first(look: Look, server: Server) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(home.path().join("ws")).expect("a workspace");
        Self::spawn(look, home, server, &[], &[])
    }

    /// The binary again in the same home, with these arguments, after the end of the first.
    pub fn again(mut self, args: &[&str]) -> Self {
        self.exit_code();
        let other = tempfile::tempdir().expect("a folder");
        let home = std::mem::replace(&mut self.home, other);
        Self::spawn(self.look, home, self.server.clone(), args, &[])
    }

    fn spawn(
        look: Look,
        home: tempfile::TempDir,
        server: Server,
        args: &[&str],
        env: &[(&str, &str)],
    ) -> Self {
        Self::spawn_in(look, home, server, (OURS, args), env)
    }

    fn spawn_in(
        look: Look,
        home: tempfile::TempDir,
        server: Server,
        (program, args): (&str, &[&str]),
        env: &[(&str, &str)],
    ) -> Self {
        let (mut ours, mut theirs) = (-1, -1);
        let mut size = size(look.columns);
        // SAFETY: both descriptors are written by the call and the size is valid; name and settings
        // are not given.
        let made = unsafe {
            libc::openpty(
                &mut ours,
                &mut theirs,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                &raw mut size,
            )
        };
        assert_eq!(made, 0, "a pseudo-terminal");
        // SAFETY: the call above succeeded, so both are open and nobody else's.
        let (ours, theirs) = unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
        // No program keeps our end open, else the window could not be closed.
        // SAFETY: the descriptor is open.
        unsafe { libc::fcntl(ours.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
        let end = || Stdio::from(theirs.try_clone().expect("a descriptor"));
        let mut command = Command::new(program);
        command
            .args(args)
            .env_clear()
            .env("INTERPRETER", OURS)
            .current_dir(home.path().join("ws"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .env("INTERPRETER_HOME", home.path().join("home"))
            .env("TERM", look.term)
            .env("PAGER", "cat")
            .env("EDITOR", "sed -i.bak s/fix/mend/")
            .envs(env.iter().copied())
            .stdin(end())
            .stdout(end())
            .stderr(end());
        let config = std::fs::read_to_string(home.path().join("home/config.toml"));
        if !config.is_ok_and(|text| text.contains("[model_providers.mock]")) {
            command.env("OLLAMA_HOST", format!("127.0.0.1:{}", server.port()));
        }
        if !look.color {
            command.env("NO_COLOR", "1");
        }
        let terminal = theirs.as_raw_fd();
        // SAFETY: between fork and exec, only calls that are allowed there: a session of its own,
        // whose terminal this one is, so that Ctrl+C is a signal.
        unsafe {
            command.pre_exec(move || {
                libc::setsid();
                match libc::ioctl(terminal, libc::TIOCSCTTY, 0) {
                    0 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                }
            });
        }
        let child = command.spawn().expect("the binary starts");
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut reader, seen) = (ours.try_clone().expect("a descriptor"), screen.clone());
        let closed = Arc::new(AtomicBool::new(false));
        let ends = closed.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 65_536];
            // A character may be cut in two.
            let mut rest: Vec<u8> = Vec::new();
            while !ends.load(Ordering::SeqCst) {
                let mut input = libc::pollfd {
                    fd: reader.as_raw_fd(),
                    events: libc::POLLIN,
                    revents: 0,
                };
                // SAFETY: one valid pollfd for the time of the call.
                if unsafe { libc::poll(&mut input, 1, 20) } <= 0 {
                    continue;
                }
                let Ok(n @ 1..) = reader.read(&mut bytes) else {
                    return;
                };
                rest.extend_from_slice(&bytes[..n]);
                let whole = match std::str::from_utf8(&rest) {
                    Ok(_) => rest.len(),
                    Err(e) if e.error_len().is_none() => e.valid_up_to(),
                    Err(_) => rest.len(),
                };
                let text: Vec<u8> = rest.drain(..whole).collect();
                let text = String::from_utf8_lossy(&text).into_owned();
                seen.lock().expect("the screen").push_str(&text);
            }
        });
        Terminal {
            keys: ours,
            screen,
            closed,
            child,
            look,
            home,
            server,
        }
    }

    pub fn screen(&self) -> String {
        self.screen.lock().expect("the screen").clone()
    }

    pub fn wait_for(&self, text: &str) {
        let end = Instant::now() + Duration::from_secs(20);
        while !self.screen().contains(text) {
            assert!(
                Instant::now() < end,
                "`{text}` is not on:\n{}",
                self.screen()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for the prompt of the line editor.
    pub fn wait_for_prompt(&self) {
        self.wait_for("› ");
    }

    /// Waits until the latest row is that of an empty prompt.
    pub fn at_prompt(&self) {
        let end = Instant::now() + Duration::from_secs(20);
        while self.rows().last().is_none_or(|row| row.trim_end() != "›") {
            assert!(
                Instant::now() < end,
                "no prompt:\n{}",
                self.rows().join("\n")
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Types a line at the prompt, and gives what is shown until the next prompt.
    pub fn says(&mut self, line: &str) -> String {
        // Pasting is taken as such from the first key of a line to its end.
        const READS: (&str, &str) = ("\u{1b}[?2004h", "\u{1b}[?2004l");
        let from = self.screen().len();
        self.types(&format!("{line}\r"));
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            // A turn marks pasting, too, with news about the focus beside it.
            let screen = self.screen();
            let typed = screen[from..]
                .replace("\u{1b}[?1004h\u{1b}[?2004h", "")
                .replace("\u{1b}[?2004l\u{1b}[?1004l", "");
            let shown = typed.split_once(READS.1);
            if let Some((shown, _)) = shown.and_then(|(_, rest)| rest.split_once(READS.0)) {
                return shown.replace('\r', "");
            }
            assert!(Instant::now() < end, "`{line}` had no end:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn types(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).expect("typed");
    }

    /// What a person sees: everything that was printed, as rows, the end of the prompt included.
    pub fn rows(&self) -> Vec<String> {
        seen(&self.screen(), self.look.columns)
    }

    /// The window gets so many columns.
    pub fn resize(&mut self, columns: u16) {
        self.look.columns = columns;
        let size = size(columns);
        // SAFETY: the descriptor is open and the size valid.
        let set = unsafe { libc::ioctl(self.keys.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
        assert_eq!(set, 0);
    }

    /// The window is closed.
    pub fn close(&mut self) {
        self.closed.store(true, Ordering::SeqCst);
        self.keys = File::open("/dev/null").expect("a file");
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, number: i32) {
        let id = i32::try_from(self.child.id()).expect("a process id");
        // SAFETY: takes no pointers; the child is ours and was not waited for.
        assert_eq!(unsafe { libc::kill(id, number) }, 0);
    }

    pub fn exit_code(&mut self) -> Option<i32> {
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(status) = self.child.try_wait().expect("the child can be waited for") {
                self.drain();
                return status.code();
            }
            if Instant::now() > end {
                let _ = self.child.kill();
                panic!("it did not end; screen:\n{}", self.screen());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the last words of a program that ended are on the screen.
    fn drain(&self) {
        let end = Instant::now() + Duration::from_secs(2);
        let mut size = None;
        while Instant::now() < end {
            let mut input = libc::pollfd {
                fd: self.keys.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            // SAFETY: one valid pollfd for the time of the call.
            unsafe { libc::poll(&mut input, 1, 0) };
            let now = self.screen().len();
            if input.revents & libc::POLLIN == 0 && size == Some(now) {
                return;
            }
            size = Some(now);
            std::thread::sleep(Duration::from_millis(40));
        }
    }

    /// What the model was told last by the person.
    pub fn last_words(&self) -> String {
        let requests = self.server.requests();
        let last = requests.last().expect("a request");
        let messages = last.body["messages"].as_array().expect("messages");
        let said = messages.iter().rfind(|m| m["role"] == "user");
        said.expect("words of the person")["content"].to_string()
    }

    /// The terminal edits lines and shows what is typed.
    pub fn is_as_it_was(&self) -> bool {
        let mut settings = std::mem::MaybeUninit::<libc::termios>::uninit();
        // SAFETY: there is room for the settings, which a call that succeeds fills.
        let settings = unsafe {
            let asked = libc::tcgetattr(self.keys.as_raw_fd(), settings.as_mut_ptr());
            assert_eq!(asked, 0);
            settings.assume_init()
        };
        settings.c_lflag & libc::ICANON != 0 && settings.c_lflag & libc::ECHO != 0
    }

    pub fn has_file(&self) -> bool {
        self.home.path().join("ws/a.txt").exists()
    }
}

fn size(columns: u16) -> libc::winsize {
    libc::winsize {
        ws_row: 24,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

/// Bytes as a terminal with so many columns shows them, with all that scrolled away.
pub fn seen(bytes: &str, columns: u16) -> Vec<String> {
    const ROWS: NonZeroU16 = NonZeroU16::new(24).expect("a number");
    const KEPT: usize = 20_000;
    let wide = NonZeroU16::new(columns).expect("a window");
    let mut terminal = vt100::Parser::new(ROWS, wide, KEPT);
    terminal.process(bytes.as_bytes());
    terminal.screen_mut().set_scrollback(KEPT);
    let above = terminal.screen().scrollback();
    let mut rows = Vec::new();
    for back in (1..=above).rev() {
        terminal.screen_mut().set_scrollback(back);
        rows.extend(terminal.screen().rows(0, columns).next());
    }
    terminal.screen_mut().set_scrollback(0);
    rows.extend(terminal.screen().rows(0, columns));
    let shown = rows.iter().rposition(|row| !row.trim().is_empty());
    rows.truncate(shown.map_or(0, |at| at + 1));
    rows
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
