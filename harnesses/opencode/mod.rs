//! `opencode`: the surface of opencode. Models of the GPT family get its patch tool instead of
//! its editing tools.

mod results;
mod write;

use super::format::agents::reference;
use super::format::args::{self, Args};
use super::format::edit::EditTool;
use super::format::{documents, is_picture, prompt, skills, surface, told};
use super::{
    CallError, CompactPlan, Context, Document, Done, Harness, Item, Nested, Notice, Start, State,
};
use crate::model::ToolCall;
use crate::tools::action::{
    Action, Delegate, Fetch, Glob, Grep, PageForm, PatchForm, PlanStep, Read, Shell, WriteRule,
};
use serde_json::Value;
use std::fmt::Write;
use std::time::Duration;

/// The harness of opencode.
pub struct Opencode;

const SYSTEM: &str = include_str!("system.md");
const TOOLS: &str = include_str!("tools.json");

/// Lines of a read by default, and the most bytes of text.
const READ_LINES: usize = 2000;
const READ_BYTES: usize = 51_200;
/// How long a command may take unless the call says otherwise.
const TIMEOUT: Duration = Duration::from_millis(120_000);
/// Seconds that a page may take by default, and at most.
const FETCH: (u64, u64) = (30, 120);
/// The most matches of a search, and files of a glob.
const FOUND: usize = 100;
/// The roles of `task`.
const GENERAL: &str = "general";
const EXPLORE: &str = "explore";
/// What an agent of the role `explore` has.
const EXPLORE_TOOLS: [&str; 5] = ["bash", "glob", "grep", "read", "webfetch"];

/// What a model is asked before its conversation is cut. The headings are those of the original.
const SUMMARY: &str = "The conversation is about to be cut, and only what you write now stays of it. Do not call a tool. Write, in at most {words} words in all, facts and no prose, under these headings:

## Objective
what the user wants
## Important Details
constraints, decisions, commands that work, what was found out
## Work State
### Completed
### Active
### Blocked
## Next Move
the next step
## Relevant Files
paths, and what is in them that matters";

const LEFT_OUT: &[(&str, &str)] = &[
    (
        "question",
        "its form is not recorded; questions to the user are asked in the answer instead",
    ),
    (
        "plan_exit",
        "its form is not recorded; the user ends the planning",
    ),
];

/// Unlike what its description claims, the original lets an unread file be edited.
const EDIT: EditTool = EditTool {
    path: "filePath",
    old: "oldString",
    new: "newString",
    all: "replaceAll",
    read_first: false,
    may_create: true,
};

impl Harness for Opencode {
    fn id(&self) -> &'static str {
        "opencode"
    }

    fn about(&self) -> &'static str {
        "opencode: a broad set of tools, for models that were trained with many agents"
    }

    fn begin(&self, cx: &Context) -> Start {
        start(cx, "main")
    }

    fn child(&self, role: &str, cx: &Context) -> Start {
        if role != EXPLORE {
            return start(cx, "main");
        }
        let mut start = start(cx, "explore");
        surface::keep_only(&mut start, &EXPLORE_TOOLS, "an explore agent only looks");
        start
    }

    fn action(&self, call: &ToolCall) -> Result<Action, CallError> {
        action(call)
    }

    fn result(&self, done: &Done, room: usize) -> Item {
        results::item(done, room)
    }

    fn nested(&self, document: &Document) -> Option<Nested> {
        Some(Nested::InResult(format!(
            "<system-reminder>\nInstructions from: {}\n{}\n\n</system-reminder>",
            document.path.display(),
            document.text.trim_end()
        )))
    }

    fn write(&self, action: &Action) -> Option<(&'static str, Value)> {
        write::call(action)
    }

    fn notice(&self, _: &mut State, notice: &Notice) -> Vec<Item> {
        let text = told(notice);
        vec![Item::user(format!(
            "<system-reminder>\n{text}\n</system-reminder>"
        ))]
    }

    fn compact(&self, _: &Context) -> CompactPlan {
        CompactPlan {
            ask: SUMMARY.into(),
            element: None,
            lead: "The conversation before this point was replaced by this summary of it. Go on with the next move.",
            acknowledge: None,
            go_on: None,
            keeps_words: false,
        }
    }
}

/// True when the original gives a model of that name its patch tool: GPT-5 and later, and Codex
/// models; gpt-oss and GPT-4 edit.
fn patches(model: &str) -> bool {
    let model = model.to_lowercase();
    model.contains("gpt-") && !["gpt-4", "oss"].iter().any(|part| model.contains(part))
}

/// The beginning for the user's own session (`main`) or for an agent that explores.
fn start(cx: &Context, role: &str) -> Start {
    let patches = patches(&cx.model);
    let mut start = surface::start(TOOLS, "", LEFT_OUT, cx);
    let (gone, why): (&[&str], _) = match patches {
        true => (&["edit", "write"], "apply_patch takes its place"),
        false => (&["apply_patch"], "edit and write take its place"),
    };
    start
        .tools
        .retain(|tool| !gone.contains(&tool.name.as_str()));
    let gone = gone.iter().map(|name| ((*name).to_owned(), why.to_owned()));
    start.left_out.extend(gone);
    start.system = system(cx, role, patches);
    start
}

/// The base prompt with the environment (or the user's own in their place), then the instruction
/// files and the developer's words.
fn system(cx: &Context, role: &str, patches: bool) -> String {
    let mut words = vec![role, if patches { "patches" } else { "edits" }];
    if cx.depth == 0 {
        words.push("delegates");
    } else if role == "main" {
        words.push("general");
    }
    let root = cx.git_root.as_ref().unwrap_or(&cx.cwd);
    let root = root.display().to_string();
    let git = if cx.git_root.is_some() { "yes" } else { "no" };
    let mut text = cx
        .system_override
        .clone()
        .unwrap_or_else(|| prompt(SYSTEM, cx, &words, &[("root", &root), ("git", git)]));
    for document in documents(&cx.instructions) {
        let path = document.path.display();
        let _ = write!(
            text,
            "\nInstructions from: {path}\n{}",
            document.text.trim_end()
        );
    }
    if !cx.skills.is_empty() {
        let _ = write!(
            text,
            "\nSkills tell how a kind of task is done here. Read the one that fits with the skill tool before you begin.\n{}",
            skills::available(cx, true)
        );
    }
    if let Some(words) = &cx.developer_instructions {
        let _ = write!(text, "\n{words}");
    }
    text
}

fn action(call: &ToolCall) -> Result<Action, CallError> {
    let args = Args::of(call, TOOLS)?;
    match call.name.as_str() {
        "apply_patch" => Ok(Action::Patch {
            text: args.need_filled("patchText")?,
            form: PatchForm::Codex,
            dir: None,
        }),
        "bash" => {
            let limit = args
                .positive("timeout")
                .map_or(TIMEOUT, Duration::from_millis);
            Ok(Action::Shell(Shell {
                dir: args.filled("workdir"),
                ..Shell::new(args.need_filled("command")?, limit)
            }))
        }
        "edit" => EDIT.action(&args),
        "glob" => Ok(Action::Glob(Glob {
            path: args.filled("path"),
            ..Glob::new(args.need_filled("pattern")?, FOUND)
        })),
        "grep" => Ok(Action::Grep(Grep {
            path: args.filled("path"),
            include: args.filled("include"),
            ..Grep::new(args.need_filled("pattern")?, FOUND)
        })),
        "read" => Ok(read(&args, args.need_filled("filePath")?)),
        "task" => task(&args),
        "todowrite" => todos(&args),
        "webfetch" => fetch(&args),
        "write" => Ok(Action::Write {
            path: args.need_filled("filePath")?,
            content: args.need("content")?,
            rule: WriteRule::default(),
        }),
        "skill" => skills::call(&args, "name"),
        name => Err(surface::unknown(TOOLS, name)),
    }
}

/// A file, a folder, or a picture, which is told by its name.
fn read(args: &Args, path: String) -> Action {
    if is_picture(&path) {
        return Action::ViewImage { path };
    }
    Action::Read(Read {
        first: args.size("offset").unwrap_or(1),
        or_list: true,
        ..Read::new(path, args.size("limit").or(Some(READ_LINES)), READ_BYTES)
    })
}

fn fetch(args: &Args) -> Result<Action, CallError> {
    let form = match args.text("format") {
        None | Some("markdown") => PageForm::Markdown,
        Some("text") => PageForm::Text,
        Some("html") => PageForm::Source,
        Some(_) => return Err(args.wrong("\"format\" must be text, markdown or html")),
    };
    let seconds = args.positive("timeout").unwrap_or(FETCH.0).min(FETCH.1);
    Ok(Action::Fetch(Fetch {
        form,
        ..Fetch::new(args.need_filled("url")?, Duration::from_secs(seconds))
    }))
}

fn task(args: &Args) -> Result<Action, CallError> {
    let role = args.need_filled("subagent_type")?.trim().to_lowercase();
    if ![GENERAL, EXPLORE].contains(&role.as_str()) {
        return Err(args.wrong(format!(
            "\"subagent_type\" is \"{role}\" but must be {GENERAL} or {EXPLORE}"
        )));
    }
    Ok(Action::Delegate(Delegate {
        read_only: role == EXPLORE,
        role,
        title: args.filled("description").unwrap_or_default(),
        prompt: args.need_filled("prompt")?,
        agent: args.filled("task_id").map(|id| reference("ses", &id)),
        ..Delegate::default()
    }))
}

fn todos(args: &Args) -> Result<Action, CallError> {
    if !args.value("todos").is_some_and(Value::is_array) {
        return Err(args.wrong("\"todos\" must be a list"));
    }
    let mut steps = Vec::new();
    for (at, entry) in args.list("todos").iter().enumerate() {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let (content, name) = (text("content"), text("status"));
        if content.trim().is_empty() {
            return Err(args.wrong(format!("todo {} has no \"content\"", at + 1)));
        }
        // What was given up is no longer a step of the plan.
        if name == "cancelled" {
            continue;
        }
        let Some(status) = args::status(name) else {
            return Err(args.wrong(format!(
                "todo {} has the status \"{name}\"; it must be pending, in_progress, completed or cancelled",
                at + 1
            )));
        };
        steps.push(PlanStep {
            text: content.to_owned(),
            status,
            id: None,
        });
    }
    Ok(Action::Plan {
        steps,
        explanation: None,
    })
}

#[cfg(test)]
mod tests;
