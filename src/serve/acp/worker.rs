//! The thread of one session: opens it, answers for that, and then does one job after the other.

use super::files::EditorFiles;
use super::front::Front;
use super::handle::{Handle, Job};
use super::opening::{self, Begin, Early, choices, opened};
use super::options::{self, Choice};
use super::updates::{Updates, WORDS};
use super::{Server, code, log, prompt, replay};
use crate::agent::event::{EndReason, TurnEnd};
use crate::agent::session::Session;
use crate::cancel::Cancel;
use crate::cli::args::Options;
use crate::cli::commands::session::Setup;
use crate::cli::slash::{self, Desk, Done};
use crate::config::keys::EFFORTS;
use crate::jsonrpc::{Call, Fault};
use crate::store::rollout;
use crate::words::head;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver};
use std::thread;

/// The most bytes of a title.
const TITLE: usize = 80;
/// The slash commands that need no terminal.
const COMMANDS: &[&str] = &[
    "status", "context", "compact", "review", "init", "plan", "undo", "redo", "ps", "stop",
    "rename",
];

/// Opens a session on a thread of its own and works for it until it is closed.
pub fn spawn(server: &Arc<Server>, begin: Begin, call: Call) {
    let server = server.clone();
    let thread = thread::Builder::new().name("acp session".into());
    server.threads.fetch_add(1, Ordering::SeqCst);
    let counted = server.clone();
    let spawned = thread.spawn(move || {
        work(&server, &begin, call);
        server.threads.fetch_sub(1, Ordering::SeqCst);
    });
    if let Err(why) = spawned {
        counted.threads.fetch_sub(1, Ordering::SeqCst);
        log(&format!("no thread for a session: {why}"));
    }
}

fn work(server: &Arc<Server>, begin: &Begin, call: Call) {
    let cancel = Cancel::new();
    let mut early = Early::default();
    let (mut session, setup, options) = match opened(server, begin, &cancel, &mut early) {
        Ok(opened) => opened,
        Err(fault) => return call.answer(Err(fault)),
    };
    let id = session.info().id.clone();
    let (jobs, todo) = mpsc::channel();
    let chosen = choices(&session, &setup, &options, &cancel);
    let handle = Arc::new(Handle::new(cancel, session.permissions(), chosen, jobs));
    if server.stop.is_cancelled() {
        return call.forget();
    }
    if !server.add(&id, &handle) {
        return call.answer(Err(Fault::new(
            code::INVALID_REQUEST,
            "this session is being opened already",
        )));
    }
    if let Some(files) = EditorFiles::of(&server.client(), &session, &begin.cwd, call.peer()) {
        session.workbench().set_buffers(Box::new(files));
    }
    let updates = Updates::new(call.peer().clone(), id.clone());
    let cwd = session.info().cwd.clone();
    let mut front = Front::new(updates, handle.clone(), server.client(), cwd);
    session.announce(&mut front);
    let mut worker = Worker {
        is_named: session.info().resumed,
        session,
        setup,
        options,
        front,
        handle,
    };
    if begin.replay {
        worker.replay();
    }
    let choices = worker.handle.choices();
    let mut result = json!({"modes": choices.modes(), "configOptions": choices.options()});
    if begin.id.is_none() {
        result["sessionId"] = json!(id);
    }
    call.answer(Ok(result));
    for (severity, text) in early.0 {
        worker.front.notice(severity, &text);
    }
    worker.tell_commands();
    // Its own handle keeps the queue open, so its end is a job.
    worker.run(&todo);
}

struct Worker {
    session: Session,
    setup: Setup,
    options: Options,
    front: Front,
    handle: Arc<Handle>,
    /// The editor has a title.
    is_named: bool,
}

impl Worker {
    fn run(mut self, todo: &Receiver<Job>) {
        for job in todo {
            let now = self.session.permissions();
            if let Some(new) = self.handle.wished(&now) {
                self.session.change_permissions(&new);
            }
            match job {
                Job::Prompt(call, blocks) => self.prompt(call, &blocks),
                Job::Set(call, choice, value) => {
                    let done = self.set(choice, &value);
                    self.settle();
                    call.answer(
                        done.map(|()| json!({"configOptions": self.handle.choices().options()})),
                    );
                }
                Job::Replay(call) => {
                    self.replay();
                    let choices = self.handle.choices();
                    call.answer(Ok(
                        json!({"modes": choices.modes(), "configOptions": choices.options()}),
                    ));
                    self.tell_commands();
                }
                Job::Close(call) => {
                    self.session.end("other", &mut self.front);
                    // Its commands end and its file is free before that is said.
                    drop(self);
                    return call.answer(Ok(json!({})));
                }
                Job::Delete(call) => {
                    self.session.end("other", &mut self.front);
                    let (home, id) = (self.setup.home.clone(), self.session.info().id.clone());
                    drop(self);
                    return call.answer(opening::deleted(&home, &id));
                }
                Job::End => return self.session.end("other", &mut self.front),
            }
        }
    }

    /// What is chosen is what the session has.
    fn settle(&mut self) {
        let session = &self.session;
        self.handle.settle(|chosen| {
            chosen.model.clone_from(&session.info().model);
            chosen.harness = session.info().harness.0;
            chosen.effort = session.effort().map(str::to_owned);
            chosen.thoughtless = session.thinks() == Some(false);
        });
    }

    fn prompt(&mut self, call: Call, blocks: &[Value]) {
        let result = match prompt::command(blocks).filter(|line| is_command(line)) {
            Some(line) => self.command(line),
            None => self.turn(blocks),
        };
        self.front.updates.flush();
        let before = self.handle.choices();
        self.settle();
        let after = self.handle.choices();
        if after != before {
            let options = json!({"configOptions": after.options()});
            self.front.updates.send("config_option_update", options);
        }
        // First, so that the next prompt may come as soon as this one is answered.
        self.handle.ended();
        call.answer(result);
    }

    fn turn(&mut self, blocks: &[Value]) -> Result<Value, Fault> {
        let mut input = prompt::input(blocks);
        if prompt::is_empty(&input) {
            return Err(Fault::bad_params("the prompt is empty"));
        }
        let words = input.text.clone();
        let (text, _) = self.session.fit_input(input.text).map_err(|e| {
            let why =
                format!("the prompt is too long for the window and cannot be put into a file: {e}");
            Fault::new(code::INTERNAL, why)
        })?;
        input.text = text;
        let end = self.session.turn(&input, &mut self.front);
        self.tell_title(&words);
        self.ended(&end)
    }

    /// The answer to a prompt whose turn is over.
    fn ended(&mut self, end: &TurnEnd) -> Result<Value, Fault> {
        let reason = match &end.reason {
            EndReason::Done => "end_turn",
            EndReason::Interrupted => "cancelled",
            EndReason::StepLimit(_) => "max_turn_requests",
            EndReason::Refused(_) => {
                let why = end.reason.failure().unwrap_or_default();
                self.front.updates.message(WORDS, &why);
                "refusal"
            }
            EndReason::NoAnswer | EndReason::Failed(_) | EndReason::NoSandbox(_) => {
                let why = end.reason.failure().unwrap_or_default();
                let fault = Fault::new(code::INTERNAL, why.clone());
                return Err(Fault {
                    data: Some(json!({"reason": why})),
                    ..fault
                });
            }
        };
        Ok(json!({"stopReason": reason}))
    }

    /// Runs a slash command; what it says is a message.
    fn command(&mut self, line: &str) -> Result<Value, Fault> {
        self.front.end = None;
        let mut desk = Desk {
            session: &mut self.session,
            front: &mut self.front,
            setup: &mut self.setup,
            options: &self.options,
        };
        let said = match slash::run(line, &mut desk) {
            Done::Said(text) | Done::Show(text, _) => text,
            Done::Turn(input) => {
                let end = self.session.turn(&input, &mut self.front);
                return self.ended(&end);
            }
            Done::Work(work) => work(&mut self.session, &mut self.front),
            Done::Parts | Done::Leave => String::new(),
        };
        if !said.trim().is_empty() {
            self.front.updates.message(WORDS, &said);
        }
        let stopped = self.front.end.take() == Some(EndReason::Interrupted)
            || self.handle.cancel.is_cancelled();
        let reason = if stopped { "cancelled" } else { "end_turn" };
        Ok(json!({"stopReason": reason}))
    }

    fn set(&mut self, choice: Choice, value: &str) -> Result<(), Fault> {
        let front = &mut self.front;
        let done = match choice {
            Choice::Mode => Ok(()),
            Choice::Harness if value == self.session.info().harness.0 => Ok(()),
            Choice::Harness => self.session.change_harness(value, front),
            Choice::Effort if value == options::DEFAULT_EFFORT => {
                self.session.set_effort(None);
                Ok(())
            }
            Choice::Effort if EFFORTS.contains(&value) => {
                self.session.set_effort(Some(value.to_owned()));
                Ok(())
            }
            Choice::Effort => Err(format!(
                "`{value}` is none of default, {}",
                EFFORTS.join(", ")
            )),
            Choice::Model if value == self.session.model().1 => Ok(()),
            Choice::Model => {
                let (provider, _) = self.session.model();
                let mut changes = vec![
                    ("model", value.into()),
                    ("model_provider", provider.into()),
                    ("oss", false.into()),
                ];
                if let Some(effort) = self.session.effort() {
                    changes.push(("model_reasoning_effort", effort.into()));
                }
                let config = self.setup.config.changed(&changes, "the editor");
                config.map_err(|e| e.to_string()).and_then(|config| {
                    let chat = self.options.chat_completions;
                    self.session
                        .change_model(&config, &self.setup.home, chat, front)
                })
            }
        };
        done.map_err(Fault::bad_params)
    }

    fn replay(&mut self) {
        let Some(path) = self.session.info().file.clone() else {
            return;
        };
        let cwd = self.session.info().cwd.clone();
        match rollout::read(&path) {
            Ok((lines, _)) => replay::replay(&lines, &mut self.front, &cwd),
            Err(why) => self.front.notice("warning", &why.to_string()),
        }
    }

    fn tell_commands(&mut self) {
        let known = slash::COMMANDS
            .iter()
            .filter(|c| COMMANDS.contains(&c.name));
        let rows = known.map(|c| {
            let mut row = json!({"name": c.name, "description": c.help});
            if !c.usage.is_empty() {
                row["input"] = json!({"hint": c.usage});
            }
            row
        });
        let rows: Vec<Value> = rows.collect();
        let commands = json!({"availableCommands": rows});
        self.front
            .updates
            .send("available_commands_update", commands);
    }

    /// The name of a session is its first words, until it gets another.
    fn tell_title(&mut self, words: &str) {
        let mut info = json!({"updatedAt": super::time(std::time::SystemTime::now())});
        if !std::mem::replace(&mut self.is_named, true) {
            let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
            info["title"] = json!(head(&line, TITLE));
        }
        self.front.updates.send("session_info_update", info);
    }
}

/// The line begins with a command that an editor is told of.
fn is_command(line: &str) -> bool {
    let name = line.trim_start_matches('/').split_whitespace().next();
    name.is_some_and(|name| COMMANDS.contains(&name))
}
