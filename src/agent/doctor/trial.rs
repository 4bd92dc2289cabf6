//! A tiny task in the chosen harness: the model reads a file with a random word in it and says
//! the word. What came over the wire meanwhile tells the rest.

use super::model::Model;
use super::{Case, Finding, Listener, bounded};
use crate::agent::event::{Answer, EndReason, Event, Frontend, Question, TurnEnd};
use crate::agent::metrics::Metrics;
use crate::agent::open::{Open, open};
use crate::agent::session::Session;
use crate::cancel::Cancel;
use crate::config::{Config, Setting, Source};
use crate::harnesses::Input;
use crate::model::provider::{LocalServer, Provider};
use crate::model::{Item, Timing, Usage};
use crate::sandbox::{Approval, Mode};
use crate::store::paths;
use crate::tools::action::{Action, Outcome};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// How long the task may take. A large prompt on a slow machine takes minutes.
const LIMIT: Duration = Duration::from_secs(300);
/// How long a server may be silent, unless the config says otherwise.
const SILENCE_MS: u64 = 120_000;
/// Replies with calls that the model gets: one is enough, a small model needs some luck.
const STEPS: u32 = 4;
/// The file with the word.
const FILE: &str = "word.txt";
/// The task.
const TASK: &str = "Read the file word.txt in this folder with one tool call. Then answer with the word that is in it, and nothing else.";
/// Characters of an answer that are shown.
const SHOWN: usize = 60;

/// Lets the model do the task and tells what came of it.
pub fn examine(
    case: &Case,
    provider: &Provider,
    model: &Model,
    cancel: &Cancel,
    listener: &mut dyn Listener,
) {
    let place = match Place::new() {
        Ok(place) => place,
        Err(why) => {
            let text = format!("no temporary folder for a trial: {why}");
            listener.found(&Finding::fail("call", text).fix("export TMPDIR=FOLDER"));
            return;
        }
    };
    listener.waiting("waiting for a tool call of the model");
    let config = settings(case.config, provider, model);
    let ask = Open {
        cwd: place.folder.clone(),
        cwd_named: true,
        ephemeral: true,
        chat_completions: case.chat_completions,
        ..Open::default()
    };
    let mut seen = Seen::new(listener);
    let (ran, late) = bounded(LIMIT, cancel, |c| {
        let mut session = open(&config, case.home, &ask, c, &mut seen)?;
        seen.window = session.budget().window();
        let end = session.turn(&Input::text(TASK), &mut seen);
        Ok::<_, crate::agent::connect::ConnectError>((session, end))
    });
    let findings = match ran {
        Err(error) => vec![Finding::fail("call", error.to_string()).fix("interpreter models")],
        Ok((session, end)) => {
            let mut findings = vec![call(provider, model, &place, &session, &seen, &end, late)];
            findings.extend(seen.streaming());
            findings.extend(seen.thinking(model));
            findings.extend(seen.speed());
            findings.extend(seen.cache(provider));
            findings
        }
    };
    if !cancel.is_cancelled() {
        findings.iter().for_each(|f| seen.listener.found(f));
    }
}

/// The folder of the task; gone when dropped.
struct Place {
    folder: PathBuf,
    word: String,
}

impl Place {
    fn new() -> Result<Self, String> {
        let id = uuid::Uuid::now_v7().simple().to_string();
        // The end of such an id is random, its start is the time.
        let word = format!("w{}", id.get(id.len() - 6..).unwrap_or(&id));
        let folder = std::env::temp_dir().join(format!("interpreter-doctor-{id}"));
        paths::private_dir(&folder).map_err(|e| e.to_string())?;
        let folder = paths::canonical(&folder);
        let place = Place { folder, word };
        fs::write(place.folder.join(FILE), format!("{}\n", place.word))
            .map_err(|e| e.to_string())?;
        Ok(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The user's settings, made harmless and impatient: nothing can be written, nobody is asked, and
/// what breaks is shown instead of tried again.
fn settings(config: &Config, provider: &Provider, model: &Model) -> Config {
    let mut config = config.clone();
    config.sandbox_mode = Setting::default_of(Mode::ReadOnly);
    config.approval_policy = Setting::default_of(Approval::Never);
    config.max_steps = Setting::default_of(Some(STEPS));
    config.model.value.get_or_insert(model.name.clone());
    // The kind of a server that was only detected may still change its id.
    let ids = LocalServer::ALL.map(LocalServer::id);
    for id in ids.into_iter().chain([provider.id.as_str()]) {
        let entry = config
            .model_providers
            .entry(id.to_owned())
            .or_insert_with(|| Setting {
                value: Default::default(),
                source: Source::Default,
            });
        entry.value.stream_max_retries = Some(0);
        entry.value.request_max_retries = Some(1);
        entry.value.stream_idle_timeout_ms.get_or_insert(SILENCE_MS);
    }
    config
}

/// What came of the task, and in which form the call came.
fn call(
    provider: &Provider,
    model: &Model,
    place: &Place,
    session: &Session,
    seen: &Seen,
    end: &TurnEnd,
    late: bool,
) -> Finding {
    let form = form(model, session);
    let tool = tool_name(session).or(seen.tool.clone());
    let tool = tool.unwrap_or_default();
    let said: String = end.answer.trim().chars().take(SHOWN).collect();
    let finding = match &end.reason {
        EndReason::Interrupted if late => Finding::fail(
            "call",
            format!("no end of a small task within {} s", LIMIT.as_secs()),
        )
        .fix("--size tiny, or -m MODEL, of a smaller one"),
        EndReason::Failed(why) => Finding::fail("call", why.clone()).fix(again(provider)),
        EndReason::NoSandbox(why) => Finding::fail(
            "call",
            format!("this harness needs commands, and they cannot be confined: {why}"),
        )
        .fix("--harness minimal"),
        EndReason::NoAnswer => Finding::fail("call", "the model gave neither text nor a call")
            .fix("--harness NAME, or -m MODEL"),
        _ if end.answer.contains(&place.word) && seen.read => {
            let text = format!("{tool} worked, {}, in {} requests", form.0, end.requests);
            match form.1 {
                true => Finding::warn("call", text).fix(structured(provider)),
                false => Finding::ok("call", text),
            }
        }
        _ if seen.tool.is_none() => {
            Finding::fail("call", format!("the model made no call; it said `{said}`"))
                .fix("--harness NAME, or -m MODEL")
        }
        _ => Finding::fail(
            "call",
            format!("the model made a call, but its answer is wrong: `{said}`"),
        )
        .fix("-m MODEL, of a stronger one, or --harness NAME"),
    };
    finding
        .fact("form", seen.tool.is_some().then_some(form.0))
        .fact("tool", seen.tool.is_some().then_some(tool))
        .fact("requests", end.requests)
        .fact("repairs", session.repairs)
        .fact("seconds", crate::agent::metrics::seconds(end.took))
}

/// The first tool that was called, by the name that the model knows.
fn tool_name(session: &Session) -> Option<String> {
    session
        .transcript
        .items()
        .iter()
        .find_map(|item| match item {
            Item::Assistant(a) => a.calls.first().map(|c| c.name.clone()),
            _ => None,
        })
}

/// How the calls were written, and whether they had to be dug out of the text.
fn form(model: &Model, session: &Session) -> (String, bool) {
    let recovered = session
        .transcript
        .items()
        .iter()
        .any(|item| matches!(item, Item::Assistant(a) if a.calls.iter().any(|c| c.recovered)));
    match session.text_form.filter(|_| recovered) {
        Some(form) => (format!("as text ({form})"), true),
        None if model.harness.reads_text() => {
            ("as text, as this harness wants it".to_owned(), false)
        }
        None => ("as a structured call".to_owned(), false),
    }
}

/// How a server is made to send structured calls.
fn structured(provider: &Provider) -> String {
    match provider.local {
        Some(LocalServer::Ollama) => "ollama pull a model whose `ollama show` lists tools".into(),
        Some(LocalServer::LlamaServer) => {
            "llama-server --jinja --chat-template-file FILE, of its family".into()
        }
        Some(LocalServer::Vllm) => {
            "vllm serve MODEL --enable-auto-tool-choice --tool-call-parser NAME".into()
        }
        _ => "-m MODEL, of one that was trained for tools".into(),
    }
}

/// Where to look when a request failed.
fn again(provider: &Provider) -> String {
    match provider.local {
        Some(LocalServer::Ollama) => "look at its log (OLLAMA_DEBUG=1 ollama serve)".into(),
        Some(LocalServer::LmStudio) => "lms log stream".into(),
        _ => "look at the server's log, then interpreter doctor again".into(),
    }
}

/// What was seen of the session.
struct Seen<'a> {
    listener: &'a mut dyn Listener,
    window: u32,
    replies: Vec<Reply>,
    /// Thinking that came in a field of its own.
    own_field: bool,
    /// The first tool that was called.
    tool: Option<String>,
    /// A call succeeded.
    read: bool,
}

struct Reply {
    text: bool,
    reasoning: bool,
    usage: Option<Usage>,
    timing: Timing,
}

impl Frontend for Seen<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Phase(phase) => self.listener.waiting(phase.words()),
            Event::Reasoning(_) => self.own_field = true,
            Event::Replied {
                text,
                reasoning,
                usage,
                timing,
            } => self.replies.push(Reply {
                text: !text.trim().is_empty(),
                reasoning: !reasoning.trim().is_empty(),
                usage: *usage,
                timing: *timing,
            }),
            Event::Started { action, .. } if !matches!(action, Action::Plan { .. }) => {
                self.tool.get_or_insert_with(|| action.verb().to_owned());
            }
            Event::Finished { outcome, .. } => {
                self.read |= match outcome {
                    Outcome::Read(_) | Outcome::Matches(_) => true,
                    Outcome::Shell(shell) => shell.succeeded(),
                    _ => false,
                };
            }
            _ => {}
        }
    }

    fn ask(&mut self, _: &Question) -> Answer {
        Answer::No(None)
    }

    fn interactive(&self) -> bool {
        false
    }
}

impl<'a> Seen<'a> {
    fn new(listener: &'a mut dyn Listener) -> Self {
        Seen {
            listener,
            window: 0,
            replies: Vec::new(),
            own_field: false,
            tool: None,
            read: false,
        }
    }

    fn metrics(&self) -> Vec<Metrics> {
        let counted = |r: &Reply| Some(Metrics::new(r.usage?, &r.timing, self.window));
        self.replies.iter().filter_map(counted).collect()
    }

    /// Whether text comes while it is written.
    fn streaming(&self) -> Option<Finding> {
        let texts = self.replies.iter().filter(|r| r.text);
        let most = texts.map(|r| r.timing.pieces).max()?;
        let finding = match most {
            0 | 1 => Finding::warn("streaming", "replies come in one piece, when they are done")
                .fix("look for a proxy that holds answers back"),
            n => Finding::ok("streaming", format!("yes, {n} pieces")),
        };
        Some(finding.fact("pieces", most))
    }

    /// Whether the model thinks, and how that reaches us.
    fn thinking(&self, model: &Model) -> Option<Finding> {
        if self.replies.is_empty() {
            return None;
        }
        let thought = self.replies.iter().any(|r| r.reasoning);
        let (text, format) = match (thought, self.own_field, model.info.thinking) {
            (true, true, _) => ("yes, in a field of its own", "field"),
            (true, false, _) => ("yes, between tags in the text; taken out", "tags"),
            (false, _, Some(true)) => ("the model can, and did not here", "none"),
            (false, ..) => ("none", "none"),
        };
        Some(Finding::ok("thinking", text).fact("format", format))
    }

    /// How fast prompts are read and replies written.
    fn speed(&self) -> Option<Finding> {
        let all = self.metrics();
        let fresh =
            |m: &Metrics| m.prompt_tokens - m.cached_tokens.unwrap_or(0).min(m.prompt_tokens);
        let read = all.iter().max_by_key(|m| fresh(m))?;
        let written = all.iter().max_by_key(|m| m.output_tokens)?;
        let mut parts = Vec::new();
        if let Some(rate) = read.prompt_tokens_per_second {
            parts.push(format!("reads {rate} tokens/s"));
        }
        if let Some(rate) = written.output_tokens_per_second {
            parts.push(format!("writes {rate} tokens/s"));
        }
        if let Some(first) = all.first().and_then(|m| m.seconds_to_first_token) {
            parts.push(format!("first token after {first:.1} s"));
        }
        let finding = match parts.is_empty() {
            true => Finding::ok("speed", "the server tells no numbers"),
            false => Finding::ok("speed", parts.join(", ")),
        };
        Some(
            finding
                .fact("prompt_tokens_per_second", read.prompt_tokens_per_second)
                .fact("output_tokens_per_second", written.output_tokens_per_second)
                .fact(
                    "seconds_to_first_token",
                    all.first().and_then(|m| m.seconds_to_first_token),
                )
                .fact("requests", serde_json::json!(all)),
        )
    }

    /// Whether the second request was read from the cache: by the server's count, else by its time.
    fn cache(&self, provider: &Provider) -> Option<Finding> {
        let [first, second, ..] = self.replies.as_slice() else {
            return None;
        };
        let (before, usage) = (first.usage?.input.max(1), second.usage?);
        let finding = match usage.cached {
            Some(cached) => {
                let share = (cached * 100 / before).min(100);
                let text = format!("{share} % of the first request was reused by the second");
                let finding = match share {
                    50.. => Finding::ok("cache", text),
                    _ => Finding::warn("cache", text).fix(keep(provider)),
                };
                finding.fact("percent", share)
            }
            None => {
                let (one, two) = (first.timing.prompt?, second.timing.prompt?);
                let text = format!(
                    "reading took {:.2} s, then {:.2} s",
                    one.as_secs_f64(),
                    two.as_secs_f64()
                );
                // Two short times say nothing against it.
                let short = two < Duration::from_millis(500);
                match short || two * 2 <= one {
                    true => Finding::ok("cache", format!("{text}: it works")),
                    false => Finding::warn("cache", format!("{text}: not seen to work"))
                        .fix(keep(provider)),
                }
            }
        };
        Some(finding)
    }
}

/// How the cache of a server is kept.
fn keep(provider: &Provider) -> String {
    match provider.local {
        Some(LocalServer::Ollama) => "OLLAMA_NUM_PARALLEL=1 ollama serve".into(),
        Some(LocalServer::LlamaServer) => "llama-server -np 1, and no other client".into(),
        Some(LocalServer::Vllm) => {
            "vllm serve MODEL --enable-prefix-caching --enable-prompt-tokens-details".into()
        }
        _ => "let no other program use the server meanwhile".into(),
    }
}
