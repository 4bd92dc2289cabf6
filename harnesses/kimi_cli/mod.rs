//! `kimi-cli`: the surface of Kimi CLI, Moonshot AI's first agent.

mod results;

use super::format::args::{self, Args, always, object, unless};
use super::format::kimi::{self, agents, calls, opening::Agent, tasks, written};
use super::format::surface;
use super::{
    CallError, CompactPlan, Context, Done, Harness, Input, Item, Notice, Start, State, Step,
};
use crate::model::{Reply, ToolCall};
use crate::tools::action::{Action, AgentWant, Base, Glob, Ignored, Pass, Replace, Shell, Unique};
use serde_json::{Value, json};
use std::time::Duration;

/// The harness for Kimi models that were trained in the older agent.
pub struct KimiCli;

const TOOLS: &str = include_str!("tools.json");

/// The most files of a glob.
const FILES: usize = 1000;
/// Seconds that a look at a task waits by default when it waits, and at most.
const WAIT_SECONDS: (u64, u64) = (30, 3600);
/// Replies after which planning is recalled in a few words, and at length.
const PLAN_REPLIES: (u64, u64) = (5, 25);

const AGENT: Agent = Agent {
    tools: TOOLS,
    left_out: LEFT_OUT,
    system: include_str!("system.md"),
    fence: 9,
    roles: &[
        (
            "coder",
            &[
                "Shell",
                "ReadFile",
                "FetchURL",
                "Glob",
                "Grep",
                "WriteFile",
                "StrReplaceFile",
            ],
        ),
        (
            "explore",
            &["Shell", "ReadFile", "Glob", "Grep", "FetchURL"],
        ),
        ("plan", &["ReadFile", "Glob", "Grep", "FetchURL"]),
    ],
    tells_alone: false,
};

const LEFT_OUT: &[(&str, &str)] = &[
    ("SearchWeb", "no search service is set up"),
    ("ReadMediaFile", "pictures are given with the task"),
    ("SendDMail", "the conversation only grows"),
];

/// What a model is asked before its conversation is cut. The names are those of the original.
const SUMMARY: &str = "The conversation is about to be cut, and only what you write now stays of it. Do not call a tool. Answer with these elements, at most {words} words in all. What counts most: the task and where it stands, errors and how they were solved, code as it is now, decisions, what is left to do.

<current_focus>what is being worked on</current_focus>
<environment>project, commands, settings</environment>
<completed_tasks>what is done, with its result</completed_tasks>
<active_issues>what is open or fails</active_issues>
<code_state><file>path: what it holds and what was changed</file></code_state>
<important_context>anything else that must not be lost</important_context>";

impl Harness for KimiCli {
    fn id(&self) -> &'static str {
        "kimi-cli"
    }

    fn about(&self) -> &'static str {
        "Kimi CLI, the agent before Kimi Code: for older Kimi models"
    }

    fn begin(&self, cx: &Context) -> Start {
        AGENT.start(cx, None)
    }

    fn child(&self, role: &str, cx: &Context) -> Start {
        AGENT.start(cx, Some(role))
    }

    fn user(&self, state: &mut State, input: &Input) -> Vec<Item> {
        kimi::user(state, input)
    }

    fn read(&self, state: &State, reply: &Reply) -> Step {
        kimi::read(self, state, reply)
    }

    fn action(&self, call: &ToolCall) -> Result<Action, CallError> {
        action(call)
    }

    fn result(&self, done: &Done, room: usize) -> Item {
        results::item(done, room)
    }

    fn results(&self, state: &mut State, done: &[Done], room: usize) -> Vec<Item> {
        let mut items: Vec<Item> = done.iter().map(|done| self.result(done, room)).collect();
        items.extend(kimi::after_reply(state, PLAN_REPLIES.0, PLAN_REPLIES.1));
        items
    }

    fn write(&self, action: &Action) -> Option<(&'static str, Value)> {
        write(action)
    }

    fn notice(&self, state: &mut State, notice: &Notice) -> Vec<Item> {
        kimi::notice(state, notice, results::ended)
    }

    fn compact(&self, _: &Context) -> CompactPlan {
        CompactPlan {
            ask: SUMMARY.into(),
            element: None,
            lead: "<system>The conversation before this point was cut. This is what you wrote down of it:</system>",
            acknowledge: None,
            go_on: None,
            keeps_words: false,
        }
    }
}

fn action(call: &ToolCall) -> Result<Action, CallError> {
    let args = Args::of(call, TOOLS)?;
    if let ("TaskOutput" | "WaitFor", Some(action)) =
        (call.name.as_str(), agents::task(&args, AgentWant::Answer))
    {
        return Ok(action);
    }
    match call.name.as_str() {
        "Agent" => agents::delegate(&args),
        "AskUserQuestion" => calls::questions(&args),
        "SetTodoList" => calls::todos(&args),
        "Shell" => shell(&args),
        "TaskList" => Ok(Action::ShellList),
        "TaskOutput" => Ok(Action::ShellWait {
            id: Some(tasks::need(&args)?),
            wait: wait(&args),
            all: true,
        }),
        "TaskStop" => match agents::task(&args, AgentWant::Close) {
            Some(action) => Ok(action),
            None => Ok(Action::ShellStop {
                id: tasks::need(&args)?,
            }),
        },
        "ReadFile" => calls::read(&args),
        "FetchURL" => calls::fetch(&args),
        // The original finds ignored files, too; among theirs the others would not be seen.
        "Glob" => Ok(Action::Glob(Glob {
            path: args.filled("directory"),
            ignored: Ignored::IfNothingElse,
            folders: args.flag("include_dirs").unwrap_or(true),
            ..Glob::new(args.need_filled("pattern")?, FILES)
        })),
        "Grep" => calls::grep(&args),
        "WriteFile" => calls::write(&args, false),
        "StrReplaceFile" => edit(&args),
        "EnterPlanMode" => Ok(Action::Mode {
            planning: true,
            plan: String::new(),
        }),
        "ExitPlanMode" => Ok(calls::exit_plan(&args)),
        name => Err(surface::unknown(TOOLS, name)),
    }
}

/// How long a look at a task waits for its end.
fn wait(args: &Args) -> Duration {
    if args.flag("block") != Some(true) {
        return Duration::ZERO;
    }
    let asked = args
        .whole("timeout")
        .map_or(WAIT_SECONDS.0, |n| u64::try_from(n).unwrap_or(0));
    Duration::from_secs(asked.min(WAIT_SECONDS.1))
}

fn shell(args: &Args) -> Result<Action, CallError> {
    let (default, most, most_behind) = calls::SECONDS;
    let background = args.flag("run_in_background").unwrap_or(false);
    let most = if background { most_behind } else { most };
    let seconds = args.positive("timeout").unwrap_or(default).min(most);
    Ok(Action::Shell(Shell {
        background,
        ..Shell::new(args.need_filled("command")?, Duration::from_secs(seconds))
    }))
}

/// One replacement or a list, each on the text that the one before it left. Without `replace_all`
/// the first place is taken.
fn edit(args: &Args) -> Result<Action, CallError> {
    let one = args.value("edit").map(std::slice::from_ref);
    let list = match args.value("edit").and_then(Value::as_array) {
        Some(list) => list.as_slice(),
        None => one.unwrap_or_default(),
    };
    let mut edits = Vec::new();
    let mut all = Vec::new();
    for entry in list {
        let text = |key: &str| Some(entry.get(key)?.as_str()?.to_owned());
        let (Some(old), Some(new)) = (text("old"), text("new")) else {
            return Err(args
                .wrong("\"edit\" must be {\"old\": string, \"new\": string}, or a list of these"));
        };
        edits.push(Replace { old, new });
        let flag = entry.get("replace_all").and_then(Value::as_bool);
        all.push(flag.unwrap_or(false));
    }
    let unique = match (all.contains(&true), all.contains(&false)) {
        (false, true) => Unique::First,
        (true, false) => Unique::All,
        (false, false) => return Err(args.wrong("\"edit\" holds no replacement")),
        (true, true) => {
            return Err(args.wrong(
                "the edits with \"replace_all\" and those without it must be sent in two calls",
            ));
        }
    };
    Ok(Action::Edit {
        path: args.need_filled("path")?,
        edits,
        base: Base::Evolving,
        unique,
        passes: Pass::ALL.to_vec(),
        read_first: false,
        may_create: false,
    })
}

fn write(action: &Action) -> Option<(&'static str, Value)> {
    Some(match action {
        Action::Read(read) => ("ReadFile", written::read(read)),
        Action::Write {
            path,
            content,
            rule,
        } => ("WriteFile", written::write(path, content, *rule)),
        Action::Edit {
            path,
            edits,
            unique,
            ..
        } => ("StrReplaceFile", written_edit(path, edits, *unique)),
        Action::Glob(glob) => (
            "Glob",
            object([
                ("pattern", always(glob.pattern.as_str())),
                ("directory", glob.path.as_deref().map(Value::from)),
                ("include_dirs", unless(true, glob.folders)),
            ]),
        ),
        Action::Grep(grep) => ("Grep", written::grep(grep)),
        Action::Shell(shell) => ("Shell", written_shell(shell)),
        Action::ShellWait {
            id: Some(id), wait, ..
        } => {
            let seconds = wait.as_secs();
            (
                "TaskOutput",
                object([
                    ("task_id", Some(tasks::id(*id).into())),
                    ("block", unless(false, seconds > 0)),
                    ("timeout", (seconds > 0).then(|| seconds.into())),
                ]),
            )
        }
        Action::ShellList => ("TaskList", json!({})),
        Action::ShellStop { id } => ("TaskStop", json!({"task_id": tasks::id(*id)})),
        Action::Plan { steps, .. } => ("SetTodoList", written::todos(steps)),
        Action::PlanRead => ("SetTodoList", json!({})),
        Action::Mode { planning, .. } => match planning {
            true => ("EnterPlanMode", json!({})),
            false => ("ExitPlanMode", json!({})),
        },
        Action::Ask { questions } => ("AskUserQuestion", written::questions(questions)),
        Action::Delegate(part) => ("Agent", agents::written(part)),
        Action::Agents { agents, want } => return agents::written_task(agents, *want),
        Action::Fetch(fetch) => ("FetchURL", json!({"url": fetch.url})),
        Action::ShellWait { id: None, .. }
        | Action::Insert { .. }
        | Action::EditCell(_)
        | Action::Patch { .. }
        | Action::UndoEdit { .. }
        | Action::Mcp(_)
        | Action::FindTools { .. }
        | Action::List { .. }
        | Action::ShellInput { .. }
        | Action::ViewImage { .. }
        | Action::Skill { .. }
        | Action::Finish { .. } => return None,
    })
}

fn written_edit(path: &str, edits: &[Replace], unique: Unique) -> Value {
    let mut list: Vec<Value> = edits
        .iter()
        .map(|edit| {
            object([
                ("old", always(edit.old.as_str())),
                ("new", always(edit.new.as_str())),
                ("replace_all", unless(false, unique == Unique::All)),
            ])
        })
        .collect();
    let edit = match (list.len(), list.pop()) {
        (1, Some(one)) => one,
        (_, last) => {
            list.extend(last);
            Value::Array(list)
        }
    };
    json!({"path": path, "edit": edit})
}

/// The folder of a command becomes a part of it: the tool takes none.
fn written_shell(shell: &Shell) -> Value {
    let command = match &shell.dir {
        Some(dir) => format!("cd {} && {}", crate::words::quote(dir), shell.command),
        None => shell.command.clone(),
    };
    let seconds = args::timeout(shell).map(|limit| limit.as_secs().max(1));
    object([
        ("command", Some(command.into())),
        (
            "timeout",
            seconds.filter(|n| *n != calls::SECONDS.0).map(Value::from),
        ),
        ("run_in_background", unless(false, shell.background)),
    ])
}

#[cfg(test)]
mod tests;
