//! `kimi-code`: the surface of Kimi Code, Moonshot AI's agent, as of its release 0.38.

mod results;

use super::format::args::{Args, always, object, unless};
use super::format::edit::{EditTool, SNAKE};
use super::format::kimi::{self, agents, calls, opening::Agent, tasks, written};
use super::format::{skills, surface};
use super::{
    CallError, CompactPlan, Context, Document, Done, Harness, Input, Item, Nested, Notice, Start,
    State, Step,
};
use crate::model::{Reply, ToolCall};
use crate::tools::action::{Action, AgentWant, Glob, Ignored, OnTimeout, Shell};
use serde_json::{Value, json};
use std::time::Duration;

/// The harness for Kimi models.
pub struct KimiCode;

const TOOLS: &str = include_str!("tools.json");

/// The most files of a glob.
const FILES: usize = 100;
/// Seconds that a background command may take by default, and the most that a wait may take.
const BACKGROUND_SECONDS: u64 = 600;
const WAIT_SECONDS: u64 = 600;
/// Replies without a change of the todo list after which it is recalled.
const TODO_REPLIES: u64 = 10;
/// Replies after which planning is recalled in a few words, and at length.
const PLAN_REPLIES: (u64, u64) = (2, 5);
/// The counter of replies since the todo list was set or recalled.
const TODOS: &str = "todos";

const AGENT: Agent = Agent {
    tools: TOOLS,
    left_out: LEFT_OUT,
    system: include_str!("system.md"),
    fence: 7,
    roles: &[
        (
            "coder",
            &[
                "Bash",
                "Edit",
                "EnterPlanMode",
                "ExitPlanMode",
                "FetchURL",
                "Glob",
                "Grep",
                "Read",
                "Skill",
                "TaskList",
                "TaskOutput",
                "TaskStop",
                "TodoList",
                "WaitFor",
                "Write",
            ],
        ),
        ("explore", &["Bash", "Glob", "Grep", "Read", "FetchURL"]),
        ("plan", &["Glob", "Grep", "Read", "FetchURL"]),
    ],
    tells_alone: true,
};

const LEFT_OUT: &[(&str, &str)] = &[
    ("AgentSwarm", "nested agents run one at a time"),
    (
        "CreateGoal",
        "a goal lets the original go on over many turns by itself; here a turn ends with its answer",
    ),
    (
        "GetGoal",
        "a goal lets the original go on over many turns by itself; here a turn ends with its answer",
    ),
    (
        "SetGoalBudget",
        "a goal lets the original go on over many turns by itself; here a turn ends with its answer",
    ),
    (
        "UpdateGoal",
        "a goal lets the original go on over many turns by itself; here a turn ends with its answer",
    ),
    ("CronCreate", "nothing runs by the clock"),
    ("CronDelete", "nothing runs by the clock"),
    ("CronList", "nothing runs by the clock"),
    ("WebSearch", "no search service is set up"),
    ("ReadMediaFile", "pictures are given with the task"),
];

/// What a model is asked before its conversation is cut.
const HAND_OVER: &str = "The conversation is about to be cut, and only what you write now stays of it. Do not call a tool. Write a note to yourself in the first person, in the language of the conversation and at most {words} words: what the user wants, what I did and found out with exact commands, paths and results, what I do not know yet, and what I will do next. No fixed headings, nothing that did not happen.";

const EDIT: EditTool = EditTool {
    path: "path",
    may_create: false,
    ..SNAKE
};

impl Harness for KimiCode {
    fn id(&self) -> &'static str {
        "kimi-code"
    }

    fn about(&self) -> &'static str {
        "Kimi Code: for Kimi models"
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
        items.extend(recall_todos(state, done));
        items
    }

    fn nested(&self, document: &Document) -> Option<Nested> {
        Some(Nested::Behind(Item::user(kimi::reminder(&format!(
            "A folder that you read in has instructions of its own: {}. Read them before you change anything there, and keep to them.",
            document.path.display()
        )))))
    }

    fn nested_by_command(&self) -> bool {
        true
    }

    fn write(&self, action: &Action) -> Option<(&'static str, Value)> {
        write(action)
    }

    fn notice(&self, state: &mut State, notice: &Notice) -> Vec<Item> {
        kimi::notice(state, notice, results::ended)
    }

    fn compact(&self, _: &Context) -> CompactPlan {
        CompactPlan {
            ask: HAND_OVER.into(),
            element: None,
            lead: "The conversation was cut to make room. You wrote this note to yourself before; go on from it, and look again at what you are not sure of.",
            acknowledge: None,
            go_on: None,
            keeps_words: true,
        }
    }
}

/// The todo list, when it stood unchanged for long. A list that was never made is not asked for:
/// the tool may not even be on offer.
fn recall_todos(state: &mut State, done: &[Done]) -> Option<Item> {
    let open = state
        .plan
        .iter()
        .any(|step| step.status != crate::tools::action::StepStatus::Completed);
    let count = state.counters.entry(TODOS.into()).or_default();
    *count = if open && !kimi::set_todos(done) {
        *count + 1
    } else {
        0
    };
    if *count < TODO_REPLIES {
        return None;
    }
    *count = 0;
    let list: Vec<String> = state
        .plan
        .iter()
        .enumerate()
        .map(|(at, step)| {
            format!(
                "{}. [{}] {}",
                at + 1,
                kimi::status_name(step.status),
                step.text
            )
        })
        .collect();
    Some(Item::user(kimi::reminder(&format!(
        "The todo list has stood as it is for a while. If the work has gone on, bring it up to date with TodoList; else leave it. Do not mention this to the user.\n\n{}",
        list.join("\n")
    ))))
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
        "Bash" => Ok(Action::Shell(shell(&args)?)),
        "Edit" => edit(&args),
        "EnterPlanMode" => Ok(Action::Mode {
            planning: true,
            plan: String::new(),
        }),
        "ExitPlanMode" => Ok(calls::exit_plan(&args)),
        "FetchURL" => calls::fetch(&args),
        "Glob" => Ok(Action::Glob(Glob {
            path: args.filled("path"),
            ignored: calls::ignored(&args),
            folders: args.flag("include_dirs").unwrap_or(false),
            ..Glob::new(args.need_filled("pattern")?, FILES)
        })),
        "Grep" => calls::grep(&args),
        "Read" => calls::read(&args),
        "TaskList" => Ok(Action::ShellList),
        "TaskOutput" => Ok(Action::ShellWait {
            id: Some(tasks::need(&args)?),
            wait: Duration::ZERO,
            all: true,
        }),
        "TaskStop" => match agents::task(&args, AgentWant::Close) {
            Some(action) => Ok(action),
            None => Ok(Action::ShellStop {
                id: tasks::need(&args)?,
            }),
        },
        "TodoList" => calls::todos(&args),
        "WaitFor" => {
            let seconds = args
                .positive("timeout")
                .ok_or_else(|| args.wrong("\"timeout\" must be a number of seconds above 0"))?;
            Ok(Action::ShellWait {
                id: tasks::named(&args)?,
                wait: Duration::from_secs(seconds.min(WAIT_SECONDS)),
                all: true,
            })
        }
        "Write" => calls::write(&args, true),
        "Skill" => skills::call(&args, "skill"),
        name => Err(surface::unknown(TOOLS, name)),
    }
}

/// A foreground command goes on in the background at its limit; one that began there is ended.
fn shell(args: &Args) -> Result<Shell, CallError> {
    let (default, most, most_behind) = calls::SECONDS;
    let background = args.flag("run_in_background").unwrap_or(false);
    let asked = args.positive("timeout");
    let (seconds, on_timeout) = if background {
        let seconds = asked.unwrap_or(BACKGROUND_SECONDS).min(most_behind);
        (seconds, OnTimeout::Kill)
    } else {
        (asked.unwrap_or(default).min(most), OnTimeout::Background)
    };
    let endless = background && args.flag("disable_timeout").unwrap_or(false);
    Ok(Shell {
        dir: args.filled("cwd"),
        time_limit: (!endless).then_some(Duration::from_secs(seconds)),
        on_timeout,
        background,
        ..Shell::new(args.need_filled("command")?, Duration::ZERO)
    })
}

fn edit(args: &Args) -> Result<Action, CallError> {
    if args.need(EDIT.old)?.is_empty() {
        return Err(args.wrong("\"old_string\" is empty; a new file is made with Write"));
    }
    EDIT.action(args)
}

fn write(action: &Action) -> Option<(&'static str, Value)> {
    Some(match action {
        Action::Read(read) => ("Read", written::read(read)),
        Action::Write {
            path,
            content,
            rule,
        } => ("Write", written::write(path, content, *rule)),
        Action::Edit { .. } => ("Edit", EDIT.write(action)?),
        Action::Glob(glob) => (
            "Glob",
            object([
                ("pattern", always(glob.pattern.as_str())),
                ("path", glob.path.as_deref().map(Value::from)),
                (
                    "include_ignored",
                    unless(false, glob.ignored == Ignored::Included),
                ),
                ("include_dirs", unless(false, glob.folders)),
            ]),
        ),
        Action::Grep(grep) => ("Grep", written::grep(grep)),
        Action::Shell(shell) => ("Bash", written_shell(shell)),
        Action::ShellWait { id, wait, .. } => {
            let id = id.map(|id| Value::from(tasks::id(id)));
            match (id, wait.as_secs()) {
                (Some(id), 0) => ("TaskOutput", json!({"task_id": id})),
                (id, seconds) => (
                    "WaitFor",
                    object([("timeout", Some(seconds.max(1).into())), ("task_id", id)]),
                ),
            }
        }
        Action::ShellList => ("TaskList", json!({})),
        Action::ShellStop { id } => ("TaskStop", json!({"task_id": tasks::id(*id)})),
        Action::Plan { steps, .. } => ("TodoList", written::todos(steps)),
        Action::PlanRead => ("TodoList", json!({})),
        Action::Mode { planning, .. } => match planning {
            true => ("EnterPlanMode", json!({})),
            false => ("ExitPlanMode", json!({})),
        },
        Action::Ask { questions } => ("AskUserQuestion", written::questions(questions)),
        Action::Delegate(part) => ("Agent", agents::written(part)),
        Action::Agents { agents, want } => return agents::written_task(agents, *want),
        Action::Skill { name, args } => ("Skill", skills::written("skill", name, args.as_deref())),
        Action::Fetch(fetch) => ("FetchURL", json!({"url": fetch.url})),
        Action::Insert { .. }
        | Action::EditCell(_)
        | Action::Patch { .. }
        | Action::UndoEdit { .. }
        | Action::Mcp(_)
        | Action::FindTools { .. }
        | Action::List { .. }
        | Action::ShellInput { .. }
        | Action::ViewImage { .. }
        | Action::Finish { .. } => return None,
    })
}

fn written_shell(shell: &Shell) -> Value {
    let default = match shell.background {
        true => BACKGROUND_SECONDS,
        false => calls::SECONDS.0,
    };
    let seconds = shell.time_limit.map(|limit| limit.as_secs().max(1));
    object([
        ("command", always(shell.command.as_str())),
        ("cwd", shell.dir.as_deref().map(Value::from)),
        (
            "timeout",
            seconds.filter(|n| *n != default).map(Value::from),
        ),
        ("run_in_background", unless(false, shell.background)),
        (
            "disable_timeout",
            unless(false, shell.background && seconds.is_none()),
        ),
    ])
}

#[cfg(test)]
mod tests;
