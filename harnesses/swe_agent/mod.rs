//! `swe-agent`: the surface of SWE-agent, one tool call a reply.
//!
//! Size full is its preset `default`: shell, editor, and a `submit` that shows the changes once
//! before it counts. The smaller sizes are its preset `bash_only`, with calls in place of fences.

mod replies;
mod results;

use super::format::args::Args;
use super::format::editor::Editor;
use super::format::{documents, prompt, sed_suffix, skills, surface, told, user_parts};
use super::{
    CallError, Context, Done, Harness, Input, Item, Notice, REQUERIES, Size, Start, State, Step,
};
use crate::model::{Part, Reply, ToolCall};
use crate::tools::action::{Action, Outcome, PatchForm, Shell};
use crate::words::quote;
use serde_json::{Value, json};
use std::time::Duration;

/// The harness for models that were trained on runs of SWE-agent.
pub struct SweAgent;

const SYSTEM: &str = include_str!("system.md");
const INSTANCE: &str = include_str!("instance.md");
const TOOLS: &str = include_str!("tools.json");

const EDITOR: Editor = Editor {
    view_bytes: 16_000,
    lists: true,
    deletes: true,
    overwrites: false,
};
/// Seconds of a command in the presets `default` and `bash_only`.
const SECONDS: (u64, u64) = (30, 60);
const ENV: [(&str, &str); 6] = [
    ("PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("LESS", "-R"),
    ("PIP_PROGRESS_BAR", "off"),
    ("TQDM_DISABLE", "1"),
    ("GIT_PAGER", "cat"),
];
/// Programs that need a terminal. The original also refuses `make`, `nohup` and `python -m venv`,
/// which work here.
const NEED_TERMINAL: [&str; 7] = ["vim", "vi", "emacs", "nano", "gdb", "less", "tail -f"];
/// Programs that need one when nothing follows.
const NEED_MORE: [&str; 8] = [
    "python",
    "python3",
    "ipython",
    "bash",
    "sh",
    "/bin/bash",
    "/bin/sh",
    "su",
];
/// The end of a here-document with a patch.
const PATCH_END: &str = "EOF_PATCH";
/// What a review shows: changes of known files, then the names of new ones. The original puts
/// everything into the index first, which belongs to the user here.
const DIFF: &str = "git --no-pager diff HEAD; git --no-pager status --short";

/// What stands before and after the first task, until it was sent.
const NOTE_BEFORE: &str = "before";
const NOTE_AFTER: &str = "after";
/// Set in the preset `bash_only`.
const BASH_ONLY: &str = "bash_only";
/// Set when the folder is in a git work tree.
const GIT: &str = "git";
/// Set when something was done in this turn, and when the changes of this turn were shown.
const ACTED: &str = "acted";
const REVIEWED: &str = "reviewed";

const WINDOWED: &str = "a tool of the presets 07, 07_fcalling and windowed_replace, which move a window over one open file";
const LEFT_OUT: &[(&str, &str)] = &[
    (
        "preset default_backticks",
        "the tools of `default` without their descriptions",
    ),
    (
        "preset 07",
        "commands as text; mini-swe-agent is the harness for models without tool calls",
    ),
    (
        "preset 07_thought_action_xml",
        "commands as text; mini-swe-agent is the harness for models without tool calls",
    ),
    (
        "preset 07_fcalling",
        "an older set of tools than that of `default`",
    ),
    (
        "preset windowed_replace",
        "an older set of tools than that of `default`",
    ),
    ("goto", WINDOWED),
    ("open", WINDOWED),
    ("create", WINDOWED),
    ("scroll_up", WINDOWED),
    ("scroll_down", WINDOWED),
    ("find_file", WINDOWED),
    ("search_dir", WINDOWED),
    ("search_file", WINDOWED),
    ("edit", WINDOWED),
    ("insert", WINDOWED),
    ("filemap", "in no preset"),
    ("exit_forfeit", "in no preset; submit says what is missing"),
    ("view_image", "in no preset"),
];

impl Harness for SweAgent {
    fn id(&self) -> &'static str {
        "swe-agent"
    }

    fn about(&self) -> &'static str {
        "SWE-agent: a shell, an editor, one call a reply; for models trained on its runs"
    }

    fn begin(&self, cx: &Context) -> Start {
        let bash_only = cx.size < Size::Full;
        let mut state = State::default();
        let (before, after) = instance(cx);
        state.notes.insert(NOTE_BEFORE.into(), before);
        state.notes.insert(NOTE_AFTER.into(), after);
        for (key, is_set) in [(BASH_ONLY, bash_only), (GIT, cx.git_root.is_some())] {
            if is_set {
                state.counters.insert(key.into(), 1);
            }
        }
        let mut system = cx
            .system_override
            .clone()
            .unwrap_or_else(|| prompt(SYSTEM, cx, &[], &[]));
        if !cx.skills.is_empty() {
            system.push_str("\n\n");
            system.push_str(&skills::block(cx, "print its file with a command"));
        }
        if let Some(words) = &cx.developer_instructions {
            system.push_str("\n\n");
            system.push_str(words);
        }
        let mut start = surface::start(TOOLS, "", LEFT_OUT, cx);
        for tool in &mut start.tools {
            tool.description = tool
                .description
                .replace("{seconds}", &seconds(bash_only).to_string());
        }
        Start {
            system,
            state,
            ..start
        }
    }

    fn user(&self, state: &mut State, input: &Input) -> Vec<Item> {
        for key in [ACTED, REVIEWED, REQUERIES] {
            state.counters.remove(key);
        }
        let mut content = user_parts(input);
        if let Some(before) = state.notes.remove(NOTE_BEFORE) {
            let after = state.notes.remove(NOTE_AFTER).unwrap_or_default();
            content.pop();
            content.push(Part::text(format!("{before}\n{}\n{after}", input.text)));
        }
        vec![Item::User { content }]
    }

    fn spoken<'a>(&self, start: &'a Start, text: &'a str) -> &'a str {
        let note = |key: &str| start.state.notes.get(key).map_or("", String::as_str);
        let words = |text: &'a str| {
            text.strip_prefix(note(NOTE_BEFORE))?
                .strip_prefix('\n')?
                .strip_suffix(note(NOTE_AFTER))?
                .strip_suffix('\n')
        };
        words(text).unwrap_or(text)
    }

    fn action(&self, call: &ToolCall) -> Result<Action, CallError> {
        action(call, false)
    }

    fn read(&self, state: &State, reply: &Reply) -> Step {
        let bash_only = is_set(state, BASH_ONLY);
        replies::read(state, reply, |call| {
            if call.name == "submit" && wants_review(state) {
                Args::of(call, TOOLS)?;
                return Ok(shell(DIFF, bash_only));
            }
            action(call, bash_only)
        })
    }

    fn result(&self, done: &Done, room: usize) -> Item {
        results::item(done, false, room)
    }

    fn results(&self, state: &mut State, done: &[Done], room: usize) -> Vec<Item> {
        let bash_only = is_set(state, BASH_ONLY);
        for done in done {
            if let (Some(call), Ok((_, outcome))) = (&done.call, &done.result)
                && !matches!(outcome, Outcome::Finished)
            {
                let key = if call.name == "submit" {
                    REVIEWED
                } else {
                    ACTED
                };
                state.counters.insert(key.into(), 1);
            }
        }
        done.iter()
            .map(|done| results::item(done, bash_only, room))
            .collect()
    }

    fn write(&self, action: &Action) -> Option<(&'static str, Value)> {
        match action {
            Action::Shell(shell) => {
                let command = match &shell.dir {
                    Some(dir) => format!("cd {} && {}", quote(dir), shell.command),
                    None => shell.command.clone(),
                };
                Some(("bash", json!({"command": command})))
            }
            // The program takes such a here-document for what it is.
            Action::Patch {
                text,
                form: PatchForm::Codex,
                dir: None,
            } if !text.lines().any(|line| line == PATCH_END) => {
                let text = text.trim_end();
                let command = format!("apply_patch <<'{PATCH_END}'\n{text}\n{PATCH_END}");
                Some(("bash", json!({"command": command})))
            }
            Action::Finish { .. } => Some(("submit", json!({}))),
            other => Some(("str_replace_editor", EDITOR.write(other)?)),
        }
    }

    fn notice(&self, _: &mut State, notice: &Notice) -> Vec<Item> {
        let text = told(notice);
        vec![Item::user(text)]
    }
}

fn is_set(state: &State, key: &str) -> bool {
    state.counters.contains_key(key)
}

/// The first `submit` of a turn shows the changes, where there can be any that git can show; the
/// preset `bash_only` has no such step.
fn wants_review(state: &State) -> bool {
    is_set(state, GIT)
        && is_set(state, ACTED)
        && !is_set(state, REVIEWED)
        && !is_set(state, BASH_ONLY)
}

fn seconds(bash_only: bool) -> u64 {
    match bash_only {
        true => SECONDS.1,
        false => SECONDS.0,
    }
}

/// What stands around the first task. The original has no place for AGENTS.md; here it stands at
/// the end.
fn instance(cx: &Context) -> (String, String) {
    let values = [("sed_suffix", sed_suffix(cx))];
    let part = |template| prompt(template, cx, &[], &values);
    let (before, after) = INSTANCE.split_once("{task}\n").unwrap_or((INSTANCE, ""));
    let mut after = part(after);
    for document in documents(&cx.instructions) {
        after.push_str(&format!(
            "\n\n## Instructions from {}\n\n{}",
            document.shown,
            document.text.trim_end()
        ));
    }
    (part(before), after)
}

fn action(call: &ToolCall, bash_only: bool) -> Result<Action, CallError> {
    let args = Args::of(call, TOOLS)?;
    match call.name.as_str() {
        "bash" => bash(&args, bash_only),
        "str_replace_editor" => EDITOR.action(&args),
        "submit" => Ok(Action::Finish {
            text: String::new(),
        }),
        name => Err(surface::unknown(TOOLS, name)),
    }
}

fn bash(args: &Args, bash_only: bool) -> Result<Action, CallError> {
    let command = args.need_filled("command")?;
    let bare = command.trim();
    // In the original this word ends the run, too.
    if bare == "exit" {
        return Ok(Action::Finish {
            text: String::new(),
        });
    }
    let begins = |word: &str| {
        bare.strip_prefix(word)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    };
    let program = NEED_TERMINAL
        .into_iter()
        .find(|word| begins(word))
        .or_else(|| NEED_MORE.into_iter().find(|word| bare == *word));
    if let Some(program) = program {
        return Err(CallError::Refused(format!(
            "`{program}` was not run: it waits for somebody at a terminal, and there is none. Use a command that ends by itself, for example `cat FILE` to see a file or `python3 FILE` to run one."
        )));
    }
    Ok(shell(&command, bash_only))
}

fn shell(command: &str, bash_only: bool) -> Action {
    Action::Shell(Shell {
        cwd_persists: true,
        env: ENV
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        ..Shell::new(command, Duration::from_secs(seconds(bash_only)))
    })
}

#[cfg(test)]
mod tests;
