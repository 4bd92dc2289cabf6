//! Pages of the web, in every harness that has a tool for them: offered only where one can be got,
//! judged before it is got, and told.

mod support;

use open_interpreter::harnesses;
use open_interpreter::tools::action::{Action, Fetch};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::script::*;
use support::{Agent, strict};

/// The tool of each harness, by the recorded facts.
const TOOLS: [(&str, &str); 7] = [
    ("claude-code", "WebFetch"),
    ("zcode", "WebFetch"),
    ("kimi-code", "FetchURL"),
    ("kimi-cli", "FetchURL"),
    ("qwen-code", "web_fetch"),
    ("opencode", "webfetch"),
    ("deepseek-tui", "fetch_url"),
];

/// A server of pages, and what it was asked for.
struct Pages {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    hits: Arc<AtomicUsize>,
}

impl Pages {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (asked, hits) = (Arc::new(Mutex::new(Vec::new())), Arc::default());
        let (log, count): (Arc<Mutex<Vec<String>>>, Arc<AtomicUsize>) =
            (Arc::clone(&asked), Arc::clone(&hits));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut stream = stream;
                let mut head = Vec::new();
                let mut byte = [0; 1];
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                count.fetch_add(1, Ordering::SeqCst);
                log.lock().expect("a lock").push(head);
                stream.write_all(answer(&path, port).as_bytes()).ok();
            }
        });
        Pages { port, asked, hits }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }
}

fn answer(path: &str, port: u16) -> String {
    let page = |status: &str, headers: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}",
            body.len()
        )
    };
    let html = "content-type: text/html; charset=utf-8\r\n";
    match path {
        "/guide" => page(
            "200 OK",
            html,
            "<html><head><title>Guide</title></head><body><nav>Menu</nav><h1>Set up</h1><p>Call <code>begin()</code> first &amp; once.</p><script>evil()</script></body></html>",
        ),
        "/moved" => page("302 Found", "location: guide\r\n", ""),
        "/away" => page(
            "302 Found",
            &format!("location: http://localhost:{port}/guide\r\n"),
            "",
        ),
        "/round" => page("302 Found", "location: /round\r\n", ""),
        "/picture" => page("200 OK", "content-type: image/png\r\n", "xx"),
        "/long" => page(
            "200 OK",
            "content-type: text/plain\r\n",
            &"a long page\n".repeat(20_000),
        ),
        _ => page("404 Not Found", html, "<p>nothing</p>"),
    }
}

fn fetch(id: &str, url: &str) -> Step {
    let action = Action::Fetch(Fetch::new(url, Duration::from_secs(20)));
    let harness = harnesses::by_id(id).expect("a harness");
    let (name, arguments) = harness.write(&action).expect("a tool for pages");
    call(name, arguments)
}

/// The tools of the first request of a run with these arguments.
fn offered<const N: usize>(id: &str, args: [&str; N]) -> Vec<String> {
    let run = Agent::new()
        .harness(id)
        .args(args)
        .model(script![say("ok")])
        .run("hi");
    let tools = strict::tools(&run.server.requests()[0].body);
    tools.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn a_page_is_told_in_every_harness() {
    let pages = Pages::start();
    for (id, _) in TOOLS {
        let run = Agent::new()
            .harness(id)
            .args(["--sandbox", "danger-full-access"])
            .config("harness_guidance = false\n")
            .model(script![
                fetch(id, &pages.url("/moved")),
                fetch(id, &pages.url("/none")),
                fetch(id, &pages.url("/picture")),
                fetch(id, &pages.url("/away")),
                fetch(id, &pages.url("/round")),
                fetch(id, &pages.url("/long")),
                say("Done."),
            ])
            .run("What does the guide say?")
            .expect_exit(0)
            .expect_requests(7);
        // The first request has no result yet.
        let told = |n: usize| run.request_text(n + 1);
        for words in ["# Set up", "Call `begin()` first & once."] {
            assert!(told(1).contains(words), "{id}: {}", told(1));
        }
        for no in ["evil", "Menu"] {
            assert!(!told(1).contains(no), "{id}: {no}");
        }
        assert!(told(2).contains("status 404"), "{id}");
        assert!(told(3).contains("image/png"), "{id}");
        let away = format!("http://localhost:{}/guide", pages.port);
        assert!(told(4).contains(&away), "{id}");
        let count = |n: usize, words: &str| told(n).matches(words).count();
        assert_eq!(
            count(4, "begin()"),
            count(3, "begin()"),
            "{id}: it was followed"
        );
        assert!(told(5).contains("redirects more than"), "{id}");
        // What is too long is cut, and stands in a file.
        assert!(count(6, "a long page") < 10_000, "{id}");
        assert!(count(6, "outputs") > count(5, "outputs"), "{id}");
        // Neither key nor cookie goes to a server of pages.
        let heads = pages
            .asked
            .lock()
            .expect("a lock")
            .join("\n")
            .to_lowercase();
        assert!(!heads.contains("authorization") && !heads.contains("cookie"));
    }
}

#[test]
fn the_tool_is_offered_only_where_a_page_can_be_got() {
    for (id, tool) in TOOLS {
        let has = |tools: Vec<String>| tools.iter().any(|name| name == tool);
        assert!(
            has(offered(id, ["--sandbox", "danger-full-access"])),
            "{id}"
        );
        let network = ["-c", "sandbox_workspace_write.network_access=true"];
        assert!(has(offered(id, network)), "{id}: a sandbox with network");
        // Nobody can be asked in `exec`.
        assert!(!has(offered(id, [])), "{id}: a sandbox without network");
        let offline = ["--sandbox", "danger-full-access", "--offline"];
        assert!(!has(offered(id, offline)), "{id}: offline");
    }
}

#[test]
fn no_page_is_got_that_nobody_allowed() {
    let pages = Pages::start();
    let runs: [(&[&str], &str); 3] = [
        // A server nearby is asked about even where commands have the network.
        (
            &["-c", "sandbox_workspace_write.network_access=true"],
            "own network",
        ),
        (&[], ""),
        (&["--sandbox", "danger-full-access", "--offline"], ""),
    ];
    for (args, words) in runs {
        for (id, _) in TOOLS {
            let mut agent = Agent::new().harness(id);
            for pair in args {
                agent = agent.args([*pair]);
            }
            let run = agent
                .model(script![fetch(id, &pages.url("/guide")), say("Done.")])
                .run("What does the guide say?");
            assert_eq!(pages.hits(), 0, "{id} {args:?}");
            let told = run.request_text(2);
            assert!(told.contains(words), "{id}: {told}");
        }
    }
}

/// The facts of opencode, kimi-code and claude-code: the instructions of a folder below come with
/// the first file that is read there, once.
#[test]
fn instructions_of_a_folder_come_with_its_first_file() {
    let read = |id: &str, path: &str| {
        let action = Action::Read(open_interpreter::tools::action::Read::new(
            path, None, 10_000,
        ));
        let (name, arguments) = harnesses::by_id(id)
            .and_then(|h| h.write(&action))
            .expect("a read");
        call(name, arguments)
    };
    for (id, mark) in [
        ("opencode", "<system-reminder>\nInstructions from: "),
        ("kimi-code", "instructions of its own: "),
        ("claude-code", "Use tabs in the parser."),
        ("qwen-code", ""),
    ] {
        let run = Agent::new()
            .harness(id)
            .git()
            .file("AGENTS.md", "Be kind to everyone.")
            .file("src/parser/AGENTS.md", "Use tabs in the parser.")
            .file("src/parser/a.py", "a = 1\n")
            .file("src/parser/b.py", "b = 1\n")
            .model(script![
                read(id, "src/parser/a.py"),
                read(id, "src/parser/b.py"),
                say("Done."),
            ])
            .run("Look at the parser.")
            .expect_exit(0)
            .expect_requests(3);
        let (first, last) = (run.request_text(2), run.request_text(3));
        if mark.is_empty() {
            assert!(!last.contains("parser/AGENTS.md"), "{id}");
            continue;
        }
        assert!(first.contains(mark), "{id}: {first}");
        assert_eq!(last.matches(mark).count(), 1, "{id}: told once");
        assert!(last.contains("AGENTS.md"), "{id}");
        assert_eq!(last.matches("Be kind to everyone.").count(), 1, "{id}");
    }
}

/// The facts of kimi-code: the same for what a command names; of claude-code nothing is known of it.
#[cfg(unix)]
#[test]
fn instructions_of_a_folder_come_with_a_command_too() {
    for (id, times) in [("kimi-code", 1), ("claude-code", 0)] {
        let last = Agent::new()
            .harness(id)
            .git()
            .file("src/parser/AGENTS.md", "Use tabs in the parser.")
            .file("src/parser/a.py", "a = 1\n")
            .model(script![
                run("grep -n 'a' src/parser/a.py"),
                run("ls src/parser"),
                say("Done."),
            ])
            .run("Look at the parser.")
            .expect_exit(0)
            .request_text(3);
        let told = last.matches("instructions of its own: ").count();
        assert_eq!(told, times, "{id}: {last}");
    }
}

/// A person is asked before a page is got, and a yes for the session is one for its server.
#[cfg(unix)]
#[test]
fn a_person_is_asked_about_each_server() {
    use support::server::{Kind, Server};
    use support::terminal::Terminal;
    let pages = Pages::start();
    let steps = script![
        fetch("qwen-code", &pages.url("/guide")),
        fetch("qwen-code", &pages.url("/long")),
        say("all done"),
    ];
    let server = Server::start(Kind::LlamaServer, 32_768, steps);
    let mut t = Terminal::on(server, "", Some("What does the guide say?"));
    t.wait_for("own network");
    t.wait_for(&pages.url("/guide"));
    assert_eq!(pages.hits(), 0);
    t.wait_for("[s] yes, also for this session");
    t.wait_for("your answer (no): ");
    t.types("s\n");
    t.wait_for("all done");
    assert_eq!(pages.hits(), 2);
}
