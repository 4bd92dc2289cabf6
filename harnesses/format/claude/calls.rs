//! What a call asks for.

use super::{Family, agents, task_number};
use crate::harnesses::format::args::{self, Args};
use crate::harnesses::format::edit::SNAKE;
use crate::harnesses::format::page::by_https;
use crate::harnesses::format::{skills, surface};
use crate::harnesses::{CallError, Step};
use crate::model::{Reply, ToolCall};
use crate::tools::action::{
    Action, AgentWant, AskedQuestion, CellEdit, CellKind, CellMode, Escalation, Fetch, Glob, Grep,
    GrepWant, Ignored, OnTimeout, PlanStep, Read, Shell, WriteRule,
};
use serde_json::Value;
use std::time::Duration;

/// Milliseconds of a command by default, and at most.
pub(super) const TIMEOUT: (u64, u64) = (120_000, 600_000);
/// The same for a wait for a background command.
pub(super) const WAIT: (u64, u64) = (30_000, 600_000);
/// The most bytes of one read: 25,000 tokens of three bytes.
pub(super) const READ_BYTES: usize = 75_000;
/// How long a page may take.
const FETCH: Duration = Duration::from_secs(60);
/// The most files of a glob.
pub(super) const FILES: usize = 100;
/// Results of a search by default, and of one that asks for all.
pub(super) const MATCHES: (usize, usize) = (250, 20_000);
/// The most questions at once.
const QUESTIONS: usize = 4;
/// Files that are shown instead of read.
const PICTURES: [&str; 5] = [".png", ".jpg", ".jpeg", ".gif", ".webp"];

impl Family {
    /// What a reply asks for. The plan that a call presents is the text beside it, unless the
    /// call has one itself.
    pub fn read(&self, reply: &Reply) -> Step {
        let with_plan = |action| match action {
            Action::Mode {
                planning: false,
                plan,
            } if plan.trim().is_empty() => {
                let plan = reply.assistant.text.trim().to_owned();
                if plan.is_empty() {
                    return Err(CallError::Refused(
                        "There is no plan to agree to yet. Write the plan as text, and call ExitPlanMode in the same reply."
                            .into(),
                    ));
                }
                Ok(Action::Mode {
                    planning: false,
                    plan,
                })
            }
            action => Ok(action),
        };
        match reply.assistant.calls.as_slice() {
            [] => Step::Done,
            calls => Step::Act(
                calls
                    .iter()
                    .map(|call| self.action(call).and_then(with_plan))
                    .collect(),
            ),
        }
    }

    /// What one call asks for.
    ///
    /// # Errors
    /// What is wrong with it, for the model.
    pub fn action(&self, call: &ToolCall) -> Result<Action, CallError> {
        let args = Args::of(call, self.tools)?;
        match call.name.as_str() {
            "Agent" => self.agent(&args),
            "AskUserQuestion" => ask(&args),
            "Bash" => self.bash(&args),
            "Edit" => SNAKE.action(&args),
            "EnterPlanMode" => Ok(Action::Mode {
                planning: true,
                plan: String::new(),
            }),
            "ExitPlanMode" => Ok(Action::Mode {
                planning: false,
                plan: args.text("plan").unwrap_or_default().to_owned(),
            }),
            // The original finds ignored files, too; among theirs the others would not be seen.
            "Glob" => Ok(Action::Glob(Glob {
                path: args.filled("path"),
                ignored: Ignored::IfNothingElse,
                ..Glob::new(args.need_filled("pattern")?, FILES)
            })),
            "Grep" => grep(&args),
            "NotebookEdit" => cell(&args),
            "Read" => self.read_file(&args),
            "SendMessage" => self.send(&args),
            "Skill" => skills::call(&args, "skill"),
            "TaskOutput" => output(&args),
            "TaskStop" => match agents::task(&args, AgentWant::Close) {
                Some(action) => Ok(action),
                None => Ok(Action::ShellStop { id: task(&args)? }),
            },
            "ToolSearch" => Ok(Action::FindTools {
                query: args.need_filled("query")?,
                limit: size(args.positive("max_results")).unwrap_or(5).min(20),
            }),
            "TodoRead" => Ok(Action::PlanRead),
            "TodoWrite" => todos(&args),
            "WebFetch" => {
                args.need_filled("prompt")?;
                Ok(Action::Fetch(Fetch {
                    skip: size(args.positive("offset")).unwrap_or(0),
                    ..Fetch::new(by_https(&args.need_filled("url")?), FETCH)
                }))
            }
            "Write" => Ok(Action::Write {
                path: args.need_filled("file_path")?,
                content: args.need("content")?,
                rule: WriteRule {
                    read_first: true,
                    ..WriteRule::default()
                },
            }),
            name => Err(surface::unknown(self.tools, name)),
        }
    }

    fn bash(&self, args: &Args) -> Result<Action, CallError> {
        let command = args.need_filled("command")?;
        let background = args.flag("run_in_background").unwrap_or(false);
        let ms = args.positive("timeout").unwrap_or(TIMEOUT.0).min(TIMEOUT.1);
        let escalate = args
            .flag("dangerouslyDisableSandbox")
            .unwrap_or(false)
            .then(|| Escalation {
                justification: args.filled("description"),
                prefix: Vec::new(),
            });
        Ok(Action::Shell(Shell {
            time_limit: (!background).then_some(Duration::from_millis(ms)),
            on_timeout: self.on_timeout(&command),
            background,
            cwd_persists: !background,
            cwd_inside: !background,
            may_read: self.shows_count && !background,
            escalate,
            ..Shell::new(command, Duration::ZERO)
        }))
    }

    /// A command that only sleeps is of no use in the background.
    pub(super) fn on_timeout(&self, command: &str) -> OnTimeout {
        match command.split_whitespace().next() {
            Some("sleep") => OnTimeout::Kill,
            _ => self.on_timeout,
        }
    }

    fn read_file(&self, args: &Args) -> Result<Action, CallError> {
        let path = args.need_filled("file_path")?;
        let lower = path.to_lowercase();
        if PICTURES.iter().any(|end| lower.ends_with(end)) {
            return Ok(Action::ViewImage { path });
        }
        Ok(Action::Read(Read {
            // Line 0 is read as line 1.
            first: size(args.positive("offset")).unwrap_or(1),
            cells: lower.ends_with(".ipynb"),
            ..Read::new(
                path,
                size(args.positive("limit")).or(self.lines),
                READ_BYTES,
            )
        }))
    }
}

fn size(number: Option<u64>) -> Option<usize> {
    number.map(|n| usize::try_from(n).unwrap_or(usize::MAX))
}

/// NotebookEdit.
fn cell(args: &Args) -> Result<Action, CallError> {
    let mode = match args.text("edit_mode") {
        None | Some("replace") => CellMode::Replace,
        Some("insert") => CellMode::Insert,
        Some("delete") => CellMode::Delete,
        Some(_) => return Err(args.wrong("\"edit_mode\" must be replace, insert or delete")),
    };
    let kind = match args.text("cell_type") {
        None => None,
        Some("code") => Some(CellKind::Code),
        Some("markdown") => Some(CellKind::Markdown),
        Some(_) => return Err(args.wrong("\"cell_type\" must be code or markdown")),
    };
    let cell = args.filled("cell_id");
    if cell.is_none() && mode != CellMode::Insert {
        return Err(
            args.wrong("\"cell_id\" is missing: the cell that is meant, or cell-0 for the first")
        );
    }
    Ok(Action::EditCell(CellEdit {
        path: args.need_filled("notebook_path")?,
        cell,
        source: args.need("new_source")?,
        kind,
        mode,
    }))
}

/// TaskOutput.
fn output(args: &Args) -> Result<Action, CallError> {
    if let Some(action) = agents::task(args, AgentWant::Answer) {
        return Ok(action);
    }
    Ok(Action::ShellWait {
        id: Some(task(args)?),
        wait: match args.flag("block") {
            Some(false) => Duration::ZERO,
            _ => Duration::from_millis(
                args.whole("timeout")
                    .and_then(|ms| u64::try_from(ms).ok())
                    .unwrap_or(WAIT.0)
                    .min(WAIT.1),
            ),
        },
        all: true,
    })
}

/// The number of the background command that a call names.
fn task(args: &Args) -> Result<u32, CallError> {
    args.filled("task_id")
        .or_else(|| args.filled("shell_id"))
        .as_deref()
        .and_then(task_number)
        .ok_or_else(|| args.wrong("\"task_id\" must be an ID that Bash gave, like bash_1"))
}

fn grep(args: &Args) -> Result<Action, CallError> {
    let lines = |key: &str| size(args.whole(key).and_then(|n| u64::try_from(n).ok()));
    let around = lines("-C").or_else(|| lines("context"));
    let side = |key: &str| lines(key).or(around).unwrap_or(0);
    Ok(Action::Grep(Grep {
        path: args.filled("path"),
        include: args.filled("glob"),
        file_type: args.filled("type"),
        ignore_case: args.flag("-i").unwrap_or(false),
        multiline: args.flag("multiline").unwrap_or(false),
        context: (side("-B"), side("-A")),
        want: match args.text("output_mode") {
            Some("content") => GrepWant::Lines,
            Some("count") => GrepWant::Counts,
            _ => GrepWant::Files,
        },
        skip: lines("offset").unwrap_or(0),
        ..Grep::new(
            args.need_filled("pattern")?,
            match lines("head_limit") {
                Some(0) => MATCHES.1,
                limit => limit.unwrap_or(MATCHES.0).min(MATCHES.1),
            },
        )
    }))
}

fn todos(args: &Args) -> Result<Action, CallError> {
    if !args.value("todos").is_some_and(Value::is_array) {
        return Err(args.wrong("\"todos\" must be a list"));
    }
    let step = |(at, entry): (usize, &Value)| {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        if text("content").trim().is_empty() {
            return Err(args.wrong(format!("todo {} has no \"content\"", at + 1)));
        }
        let status = args::status(text("status")).ok_or_else(|| {
            args.wrong(format!(
                "todo {} has the status \"{}\"; it must be pending, in_progress or completed",
                at + 1,
                text("status")
            ))
        })?;
        Ok(PlanStep {
            text: text("content").to_owned(),
            status,
            id: None,
        })
    };
    Ok(Action::Plan {
        steps: args
            .list("todos")
            .iter()
            .enumerate()
            .map(step)
            .collect::<Result<_, _>>()?,
        explanation: None,
    })
}

fn ask(args: &Args) -> Result<Action, CallError> {
    let asked = args.list("questions");
    if asked.is_empty() || asked.len() > QUESTIONS {
        return Err(args.wrong(format!(
            "\"questions\" must be a list of 1 to {QUESTIONS} questions"
        )));
    }
    let question = |(at, entry): (usize, &Value)| {
        let text = |value: &Value, key: &str| {
            value
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let question = text(entry, "question");
        if question.trim().is_empty() {
            return Err(args.wrong(format!("question {} has no \"question\"", at + 1)));
        }
        let options = entry.get("options").and_then(Value::as_array);
        Ok(AskedQuestion {
            id: None,
            header: text(entry, "header"),
            question,
            options: options
                .map_or(&[][..], Vec::as_slice)
                .iter()
                .map(|option| (text(option, "label"), text(option, "description")))
                .filter(|(label, _)| !label.trim().is_empty())
                .collect(),
            several: entry
                .get("multiSelect")
                .and_then(Value::as_bool)
                .unwrap_or(false),
        })
    };
    Ok(Action::Ask {
        questions: asked
            .iter()
            .enumerate()
            .map(question)
            .collect::<Result<_, _>>()?,
    })
}
