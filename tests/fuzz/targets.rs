//! What must hold for any bytes: no panic, no endless loop, and the property that each target names.

use open_interpreter::agent::approval;
use open_interpreter::cli::render::Theme;
use open_interpreter::cli::render::markdown::Markdown;
use open_interpreter::cli::render::sanitize::{one_line, sanitize};
use open_interpreter::config::{self, Overrides};
use open_interpreter::jsonrpc::{Line, Lines, Message};
use open_interpreter::model::dialect::{Finding, Holdback, Surroundings, recover, split_thinking};
use open_interpreter::model::sse::Frames;
use open_interpreter::model::{
    Assistant, CallKind, Finish, Framing, Reply, Timing, ToolCall, ToolInput, ToolSpec, WireApi,
    arguments,
};
use open_interpreter::sandbox::{Gate, Lift, Mode, PROTECTED, Policy};
use open_interpreter::store::rollout;
use open_interpreter::tools::action::PatchForm;
use open_interpreter::tools::{patch_paths, patched};
use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tempfile::TempDir;

/// Takes any bytes.
type Target = fn(&[u8]);

/// Every target by its name.
#[allow(dead_code)] // The fuzzers call them one by one.
pub const ALL: [(&str, Target); 12] = [
    ("sse", sse),
    ("ndjson", ndjson),
    ("dialects", dialects),
    ("json_repair", json_repair),
    ("patch", patch),
    ("shell", shell),
    ("path_gate", path_gate),
    ("config", config),
    ("rollout", rollout),
    ("sanitize", sanitize_text),
    ("jsonrpc", jsonrpc),
    ("markdown", markdown),
];

fn text(data: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(data)
}

fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str, schema: &str| ToolSpec {
        name: name.into(),
        description: String::new(),
        input: ToolInput::Function(serde_json::from_str(schema).expect("a schema")),
    };
    vec![
        tool(
            "bash",
            r#"{"type":"object","required":["command"],"properties":{"command":{"type":"string"},"limit":{"type":"integer"}}}"#,
        ),
        tool(
            "read_file",
            r#"{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"lines":{"type":"array","items":{"type":"integer"}}}}"#,
        ),
    ]
}

/// The frames are the same however the stream is cut, and no wire stumbles over them.
fn frames(data: &[u8], framing: Framing) {
    let read = |pieces: &[&[u8]]| {
        let mut reader = Frames::new(framing);
        let mut out = Vec::new();
        let fine = pieces
            .iter()
            .all(|piece| reader.push(piece, &mut out).is_ok());
        (fine && reader.end(&mut out).is_ok()).then_some(out)
    };
    let whole = read(&[data]);
    assert_eq!(whole, read(&data.chunks(1).collect::<Vec<_>>()));
    assert_eq!(whole, read(&data.chunks(7).collect::<Vec<_>>()));
    let tools = tools();
    for (api, _) in WireApi::ALL {
        let wire = api.wire();
        let mut decoders = [wire.decoder(&tools), wire.decoder(&tools)];
        for frame in whole.iter().flatten() {
            let _ = frame.json();
            for decoder in &mut decoders {
                let _ = decoder.feed(frame, &mut Vec::new());
            }
        }
        let [one, other] = decoders;
        let _ = one.is_done();
        let _ = one.finish();
        let _ = other.cut();
    }
}

pub fn sse(data: &[u8]) {
    frames(data, Framing::Sse);
}

pub fn ndjson(data: &[u8]) {
    frames(data, Framing::Ndjson);
}

/// Calls in a text are found or not; what is found is valid JSON under an offered name.
pub fn dialects(data: &[u8]) {
    let text = text(data);
    let tools = tools();
    for (finish, enforced) in [(Finish::Stop, true), (Finish::Length, false)] {
        let reply = Reply {
            assistant: Assistant {
                text: text.clone().into_owned(),
                ..Assistant::default()
            },
            finish,
            usage: None,
            timing: Timing::default(),
        };
        let around = Surroundings {
            user_texts: &["do it"],
            tool_texts: &[],
            enforced,
            interactive: false,
        };
        if let Finding::Calls(found) = recover(&tools, &reply, &around) {
            assert!(!found.calls.is_empty());
        }
    }
    let _ = split_thinking(&text);
    let mut hold = Holdback::new(&tools);
    for c in text.chars() {
        hold.push(c.encode_utf8(&mut [0; 4]));
    }
    hold.finish();
}

/// What comes back is a JSON object, whatever was written.
pub fn json_repair(data: &[u8]) {
    let text = text(data);
    let tools = tools();
    for finish in [Finish::Stop, Finish::Length] {
        for name in ["bash", "read_file", "Read"] {
            let call = ToolCall {
                id: "1".into(),
                name: name.into(),
                arguments: text.clone().into_owned(),
                kind: CallKind::Function,
                recovered: false,
            };
            let settled = arguments::settle(call, &tools, &finish);
            let arguments: Result<serde_json::Map<_, _>, _> =
                serde_json::from_str(&settled.call.arguments);
            assert!(arguments.is_ok(), "{}", settled.call.arguments);
        }
    }
}

/// A patch is read as the same files in both places that read it, and applied or explained.
pub fn patch(data: &[u8]) {
    let text = text(data);
    let (file, patch) = text
        .split_once('\0')
        .unwrap_or(("one\ntwo\n\tthree\n", &text));
    for form in [PatchForm::Codex, PatchForm::Unified] {
        let _ = patch_paths(patch, form);
        let _ = patched(file, patch, form);
    }
    let _ = approval::patch_command(patch);
}

/// A script that is known to be safe is plain, and none that is dangerous is known to be safe.
pub fn shell(data: &[u8]) {
    let script = text(data);
    let dangerous = approval::is_dangerous(&script);
    let _ = approval::patch_command(&script);
    if approval::is_known_safe(&script) {
        assert!(!dangerous, "{script}");
        assert!(matches!(
            approval::parse(&script),
            approval::Script::Plain(_)
        ));
        assert!(!script.contains(['$', '`', '>', '<', '\r', '\0']) || script.contains('\''));
        let all = approval::commands(&script).expect("plain");
        assert!(all.iter().all(|argv| !argv.is_empty()) && all.len() <= 200);
    }
}

struct World {
    base: TempDir,
    gate: Gate,
}

/// Made once: the gate only looks.
static WORLD: LazyLock<World> = LazyLock::new(|| {
    let base = tempfile::tempdir().expect("a folder");
    let path = base.path().canonicalize().expect("a path");
    for folder in [
        "work/src",
        "work/sub/.git",
        "work-twin",
        "home/outputs",
        "other",
    ] {
        fs::create_dir_all(path.join(folder)).expect("a folder");
    }
    fs::write(path.join("home/auth.json"), "key").expect("a file");
    fs::write(path.join("work/sub/.git/HEAD"), "ref: refs/heads/main\n").expect("a file");
    #[cfg(unix)]
    for (target, link) in [
        ("../other", "work/link"),
        ("..", "work/up"),
        ("../missing", "work/dangling"),
        ("../home", "work/home"),
        ("loop", "work/loop"),
        ("/proc/self/root", "work/root"),
    ] {
        std::os::unix::fs::symlink(target, path.join(link)).expect("a link");
    }
    let policy = Policy {
        mode: Mode::WorkspaceWrite,
        roots: vec![path.join("work")],
        network: false,
        slash_tmp: false,
        tmpdir: false,
        own_homes: vec![path.join("home")],
        readable: vec![path.join("home/outputs")],
    };
    let gate = Gate::new(&policy, &path.join("work"));
    World { base, gate }
});

/// What may be written is really in the workspace and has no protected name; what may be read is
/// not in our own home, but for what is shown there.
pub fn path_gate(data: &[u8]) {
    let wanted = text(data);
    let world = &*WORLD;
    let base = world.base.path().canonicalize().expect("a path");
    let work = base.join("work");
    let lower = |path: &Path| PathBuf::from(path.to_string_lossy().to_lowercase());
    if let Ok(real) = world.gate.writable(&wanted, &Lift::Nothing) {
        let inside = real.strip_prefix(&work).expect("inside the workspace");
        let first = inside
            .iter()
            .next()
            .map(|f| f.to_string_lossy().to_lowercase());
        let is_protected = first.is_some_and(|f| PROTECTED.contains(&f.as_str()));
        assert!(!is_protected, "{wanted:?} is {}", real.display());
        let plain = real
            .components()
            .all(|c| !matches!(c, std::path::Component::ParentDir));
        assert!(plain && !wanted.contains('\0'));
        assert!(!lower(inside).starts_with("sub/.git/config"));
        let above = real.ancestors().find(|a| a.exists()).expect("a folder");
        assert_eq!(above.canonicalize().ok().as_deref(), Some(above));
    }
    if let Ok(real) = world.gate.readable(&wanted) {
        let hidden =
            real.starts_with(base.join("home")) && !real.starts_with(base.join("home/outputs"));
        assert!(!hidden, "{wanted:?} is {}", real.display());
    }
}

/// A file of settings is taken or named with a sentence.
pub fn config(data: &[u8]) {
    let home = tempfile::tempdir().expect("a folder");
    fs::write(home.path().join("config.toml"), data).expect("a file");
    let overrides = Overrides {
        sets: text(data).lines().take(4).map(str::to_owned).collect(),
        ..Overrides::default()
    };
    for overrides in [Overrides::default(), overrides] {
        match config::load(home.path(), home.path(), &overrides) {
            Ok(config) => assert!(!config.rows().is_empty()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// A session file of any content is read, with a warning for what is not understood.
pub fn rollout(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rollout.jsonl");
    fs::write(&path, data).expect("a file");
    let _ = rollout::first_record(&path);
    let lines = data.split(|b| *b == b'\n').count();
    if let Ok((records, _)) = rollout::read(&path) {
        assert!(records.len() <= lines);
    }
}

/// Nothing that a terminal acts on is left, and plain text stays as it is.
pub fn sanitize_text(data: &[u8]) {
    let text = text(data);
    let clean = sanitize(&text);
    assert!(
        clean
            .chars()
            .all(|c| !c.is_control() || matches!(c, '\n' | '\t'))
    );
    assert!(!clean.contains(['\u{202e}', '\u{2066}', '\u{200b}', '\u{feff}']));
    assert_eq!(sanitize(&clean), clean);
    assert!(!one_line(&text).contains(char::is_control));
}

/// A line is read as messages or answered with a fault; what was read is written as it was.
pub fn jsonrpc(data: &[u8]) {
    let mut lines = Lines::new(data, 256);
    let mut bytes = 0;
    while let Ok(Some(line)) = lines.next_line() {
        let line = match line {
            Line::Whole(line) => line,
            Line::TooLong(beginning) => {
                assert!(beginning.len() <= 256);
                continue;
            }
        };
        bytes += line.len();
        for message in Message::read_all(&line).into_iter().flatten().flatten() {
            let again = Message::read_all(message.to_line().as_bytes());
            assert!(again.is_ok_and(|all| all.len() == 1 && all.iter().all(Result::is_ok)));
        }
    }
    assert!(bytes <= data.len());
}

/// Text is laid out in any pieces, and without colours nothing is added that a terminal acts on.
pub fn markdown(data: &[u8]) {
    let text = text(data);
    let clean = sanitize(&text);
    for columns in [None, Some(20)] {
        let mut view = Markdown::new(Theme::default(), columns);
        let mut out = String::new();
        for piece in clean.split_inclusive(char::is_whitespace) {
            out.push_str(&view.push(piece));
        }
        out.push_str(&view.finish());
        assert!(
            out.chars()
                .all(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        );
    }
}
