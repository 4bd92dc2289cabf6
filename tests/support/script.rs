//! What the scripted model says. A deed is neutral: the server turns it into a call of a tool
//! that the request really offers, or into the text form of a harness without tools.

use open_interpreter::tools::action::Action;
use serde_json::{Value, json};
use std::time::Duration;

/// One reply of the model.
#[derive(Debug, Clone, Default)]
pub struct Step {
    pub reasoning: String,
    pub text: String,
    pub calls: Vec<Call>,
    /// Answer with this status and body instead.
    pub status: Option<(u16, String)>,
    /// Send this stream instead.
    pub raw: Option<Vec<String>>,
    /// Close the connection in mid-stream.
    pub cut: bool,
    /// The stream is sent like this: the path of the request, and the pieces that it would have had.
    pub bend: Option<Bend>,
    /// A header more, for example `content-encoding: gzip`.
    pub header: &'static str,
    /// The token limit ended the reply, and the server says so.
    pub full: bool,
    /// Wait before the first byte.
    pub delay: Duration,
    /// Tokens that llama-server says to have generated while it waits.
    pub held_back: u64,
    /// Wait between the pieces of the stream.
    pub pace: Duration,
    /// Report these numbers: prompt, cached, output.
    pub usage: Option<(u64, u64, u64)>,
    /// The text is made from the request.
    pub answer: Option<fn(&Value) -> String>,
}

/// Makes a stream of another one.
pub type Bend = fn(&str, Vec<String>) -> Vec<String>;

/// One tool call.
#[derive(Debug, Clone)]
pub enum Call {
    /// By name, with arguments as they are.
    Raw(String, Value),
    /// A deed, to be turned into a call of an offered tool.
    Deed(Deed),
}

/// A deed that every harness can express.
#[derive(Debug, Clone)]
pub enum Deed {
    Sh(String),
    Read(String),
    Write(String, String),
    Edit(String, String, String),
}

/// The model answers.
pub fn say(text: &str) -> Step {
    Step {
        text: text.into(),
        ..Step::default()
    }
}

/// The model ends the task in the way of its harness: with an answer, or with the command or tool
/// that says so.
pub fn finish(harness: &str, text: &str) -> Step {
    let end = Action::Finish { text: text.into() };
    let it = open_interpreter::harnesses::by_id(harness).expect("a known harness");
    match it.write(&end) {
        _ if it.reads_text() => run("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT").with_text(text),
        Some((name, arguments)) => call(name, arguments).with_text(text),
        None => say(text),
    }
}

/// The model answers with something that it read in the request.
pub fn answer(from: fn(&Value) -> String) -> Step {
    Step {
        answer: Some(from),
        ..Step::default()
    }
}

/// The model thinks and says nothing.
pub fn think(text: &str) -> Step {
    Step {
        reasoning: text.into(),
        ..Step::default()
    }
}

/// The model calls a tool by name.
pub fn call(name: &str, arguments: Value) -> Step {
    Step {
        calls: vec![Call::Raw(name.into(), arguments)],
        ..Step::default()
    }
}

/// The model runs a command.
pub fn run(command: &str) -> Step {
    deed(Deed::Sh(command.into()))
}

/// The model reads a file.
pub fn read(path: &str) -> Step {
    deed(Deed::Read(path.into()))
}

/// The model writes a file.
pub fn write(path: &str, content: &str) -> Step {
    deed(Deed::Write(path.into(), content.into()))
}

/// The model edits a file.
pub fn edit(path: &str, old: &str, new: &str) -> Step {
    deed(Deed::Edit(path.into(), old.into(), new.into()))
}

/// The server answers with an error.
pub fn fail(status: u16, body: &str) -> Step {
    Step {
        status: Some((status, body.into())),
        ..Step::default()
    }
}

/// The server sends exactly this.
pub fn raw(stream: &[&str]) -> Step {
    Step {
        raw: Some(stream.iter().map(|s| s.to_string()).collect()),
        ..Step::default()
    }
}

fn deed(deed: Deed) -> Step {
    Step {
        calls: vec![Call::Deed(deed)],
        ..Step::default()
    }
}

impl Step {
    pub fn with_text(mut self, text: &str) -> Self {
        self.text = text.into();
        self
    }

    pub fn with_reasoning(mut self, text: &str) -> Self {
        self.reasoning = text.into();
        self
    }

    /// Another call in the same reply.
    pub fn and(mut self, other: Step) -> Self {
        self.calls.extend(other.calls);
        self
    }

    pub fn cut(mut self) -> Self {
        self.cut = true;
        self
    }

    pub fn bent(mut self, bend: Bend) -> Self {
        self.bend = Some(bend);
        self
    }

    pub fn header(mut self, line: &'static str) -> Self {
        self.header = line;
        self
    }

    pub fn full(mut self) -> Self {
        self.full = true;
        self
    }

    pub fn holding_back(mut self, tokens: u64) -> Self {
        self.held_back = tokens;
        self
    }

    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The pieces of the stream come with so much time between them.
    pub fn paced(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }

    pub fn usage(mut self, prompt: u64, cached: u64, output: u64) -> Self {
        self.usage = Some((prompt, cached, output));
        self
    }

    /// The calls against the tools of a request, as (name, arguments); and what a harness without
    /// tools gets as text.
    pub fn resolve(&self, tools: &[(String, Value)]) -> (String, Vec<(String, Value)>) {
        let mut text = self.text.clone();
        let mut calls = Vec::new();
        for call in &self.calls {
            match call {
                Call::Raw(name, arguments) => calls.push((name.clone(), arguments.clone())),
                Call::Deed(deed) if tools.is_empty() => {
                    text.push_str(&format!(
                        "\n```mswea_bash_command\n{}\n```",
                        as_command(deed)
                    ));
                }
                Call::Deed(deed) => calls.push(as_call(deed, tools)),
            }
        }
        (text, calls)
    }
}

fn as_command(deed: &Deed) -> String {
    match deed {
        Deed::Sh(command) => command.clone(),
        Deed::Read(path) => format!("cat {path}"),
        Deed::Write(path, content) => format!(
            "cat > {path} <<'EOF_FILE'\n{}\nEOF_FILE",
            content.trim_end_matches('\n')
        ),
        Deed::Edit(path, old, new) => {
            let program = format!(
                "p={path:?}; s=open(p).read(); assert s.count({old:?})==1; open(p,'w').write(s.replace({old:?},{new:?}))"
            );
            format!("python3 - <<'EOF_EDIT'\n{program}\nEOF_EDIT")
        }
    }
}

/// What tools call a path, and a patch.
const PATHS: &[&str] = &["file_path", "path", "filePath"];
const PATCHES: &[&str] = &["input", "patchText"];

fn as_call(deed: &Deed, tools: &[(String, Value)]) -> (String, Value) {
    let pick = |names: &[&str]| {
        names
            .iter()
            .find_map(|n| tools.iter().find(|(t, _)| t == n))
            .cloned()
    };
    let key = |schema: &Value, keys: &[&str]| {
        keys.iter()
            .find(|k| schema["properties"].get(**k).is_some())
            .unwrap_or(&keys[0])
            .to_string()
    };
    match deed {
        Deed::Sh(command) => {
            let (name, schema) = pick(&[
                "exec_command",
                "run_shell_command",
                "exec_shell",
                "bash",
                "Bash",
                "Shell",
            ])
            .expect("a shell tool");
            (name, json!({key(&schema, &["command", "cmd"]): command}))
        }
        Deed::Read(path) => match (
            pick(&["read_file", "read", "Read", "ReadFile"]),
            pick(&["str_replace_editor"]),
        ) {
            (Some((name, schema)), _) => (name, json!({key(&schema, PATHS): path})),
            (_, Some((name, _))) => (name, json!({"command": "view", "path": path})),
            _ => as_call(&Deed::Sh(as_command(deed)), tools),
        },
        Deed::Write(path, content) => match (
            pick(&["write_file", "write", "Write", "WriteFile"]),
            pick(&["str_replace_editor"]),
            pick(&["apply_patch"]),
        ) {
            (Some((name, schema)), ..) => {
                (name, json!({key(&schema, PATHS): path, "content": content}))
            }
            (_, Some((name, _)), _) => (
                name,
                json!({"command": "create", "path": path, "file_text": content}),
            ),
            (_, _, Some((name, schema))) => {
                let lines: String = content.lines().map(|l| format!("+{l}\n")).collect();
                (
                    name,
                    json!({key(&schema, PATCHES): format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch")}),
                )
            }
            _ => as_call(&Deed::Sh(as_command(deed)), tools),
        },
        Deed::Edit(path, old, new) => match (
            pick(&["edit", "Edit", "StrReplaceFile", "edit_file"]),
            pick(&["str_replace_editor"]),
            pick(&["apply_patch"]),
        ) {
            (Some((name, schema)), ..) if schema["properties"].get("edits").is_some() => (
                name,
                json!({key(&schema, PATHS): path, "edits": [{"oldText": old, "newText": new}]}),
            ),
            (Some((name, schema)), ..) if schema["properties"].get("edit").is_some() => (
                name,
                json!({"path": path, "edit": {"old": old, "new": new}}),
            ),
            (Some((name, schema)), ..) => (
                name,
                json!({
                    key(&schema, PATHS): path,
                    key(&schema, &["old_string", "oldString", "search"]): old,
                    key(&schema, &["new_string", "newString", "replace"]): new,
                }),
            ),
            (_, Some((name, _)), _) => (
                name,
                json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new}),
            ),
            (_, _, Some((name, schema))) => {
                let lines = |sign: char, text: &str| {
                    text.lines()
                        .map(|l| format!("{sign}{l}\n"))
                        .collect::<String>()
                };
                let patch = format!(
                    "*** Begin Patch\n*** Update File: {path}\n@@\n{}{}*** End Patch",
                    lines('-', old),
                    lines('+', new)
                );
                (name, json!({key(&schema, PATCHES): patch}))
            }
            _ => as_call(&Deed::Sh(as_command(deed)), tools),
        },
    }
}
