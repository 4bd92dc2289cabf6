//! What a person sees while it works: one line a tool call, text as it comes, a summary at the end.

use super::phrases::{duration, gist, shorten, thousands};
use super::progress::{Progress, numbers};
use super::sanitize::{one_line, sanitize};
use super::status::Status;
use super::{Theme, outcome};
use crate::agent::event::{Answer, EndReason, Event, Frontend, Question, SessionInfo, TurnEnd};
use crate::agent::metrics::Metrics;
use crate::cli::person::Person;
use crate::tools::action::{Action, AskedQuestion, Outcome, PlanStep, StepStatus};
use std::io::Write;
use std::time::Duration;

/// Prints progress to `out`.
pub struct Human<W: Write> {
    out: W,
    theme: Theme,
    /// Print the model's text as it streams. Without it, texts between tool calls are printed
    /// whole and the final answer is left to the caller.
    stream: bool,
    show_reasoning: bool,
    person: Option<Box<dyn Person>>,
    /// The text of the latest reply, until it is known whether it is the answer.
    pending: String,
    /// The cursor stands behind streamed text.
    in_text: bool,
    in_reasoning: bool,
    status: Status,
    /// The request under way.
    progress: Option<Progress>,
    /// The numbers of the latest request.
    metrics: Option<Metrics>,
    window: u32,
}

impl<W: Write> Human<W> {
    /// The styles that it prints with.
    pub fn theme(&self) -> &Theme {
        &self.theme
    }

    /// A printer. `person` is `None` where nobody can answer.
    pub fn new(
        out: W,
        theme: Theme,
        stream: bool,
        show_reasoning: bool,
        person: Option<Box<dyn Person>>,
    ) -> Self {
        Human {
            out,
            theme,
            stream,
            show_reasoning,
            person,
            pending: String::new(),
            in_text: false,
            in_reasoning: false,
            status: Status::default(),
            progress: None,
            metrics: None,
            window: 0,
        }
    }

    /// With a status line.
    pub fn with_status(mut self, status: Status) -> Self {
        self.status = status;
        self
    }

    /// One line. A reader that went away is no reason to stop the work.
    fn line(&mut self, text: impl AsRef<str>) {
        self.end_text();
        let _ = writeln!(self.out, "{}", text.as_ref());
    }

    fn end_text(&mut self) {
        self.status.clear(&mut self.out);
        if self.in_text || self.in_reasoning {
            let _ = writeln!(self.out);
            self.in_text = false;
            self.in_reasoning = false;
        }
    }

    /// Shows what the model does now, unless its words are being shown.
    fn show_status(&mut self) {
        if let Some(progress) = self.progress.as_ref().filter(|_| self.status.is_on())
            && !self.in_text
            && !self.in_reasoning
        {
            self.status.show(&mut self.out, &progress.line());
        }
    }

    fn session(&mut self, info: &SessionInfo) {
        let t = self.theme;
        self.window = info.window.0;
        let verb = if info.resumed {
            "resumed"
        } else {
            "interpreter"
        };
        let (harness, size) = info.harness;
        let size = if size == "full" {
            String::new()
        } else {
            format!(" ({size})")
        };
        self.line(format!(
            "{} {} at {}",
            t.action.paint(verb),
            one_line(&info.model),
            one_line(&info.provider.1)
        ));
        self.line(format!(
            "{}",
            t.dim.paint(format!(
                "harness {harness}{size} · window {} ({}) · {}",
                thousands(info.window.0.into()),
                info.window.1,
                fence(info)
            ))
        ));
    }

    fn streamed(&mut self, text: &str) {
        if !self.stream {
            return;
        }
        if self.in_reasoning {
            self.end_text();
        }
        // A reply often begins with line ends, which would only push it down.
        let text = if self.in_text {
            text
        } else {
            text.trim_start_matches('\n')
        };
        if !text.is_empty() {
            self.status.clear(&mut self.out);
            let _ = write!(self.out, "{}", sanitize(text));
            let _ = self.out.flush();
            self.in_text = true;
        }
    }

    fn reasoning(&mut self, text: &str) {
        if !self.stream || !self.show_reasoning {
            return;
        }
        if self.in_text {
            self.end_text();
        }
        self.status.clear(&mut self.out);
        let _ = write!(self.out, "{}", self.theme.dim.paint(sanitize(text)));
        let _ = self.out.flush();
        self.in_reasoning = true;
    }

    /// A text that turned out not to be the answer.
    fn flush_pending(&mut self) {
        let text = std::mem::take(&mut self.pending);
        if !self.stream && !text.trim().is_empty() {
            let text = sanitize(text.trim()).into_owned();
            self.line(text);
        }
    }

    fn started(&mut self, action: &Action) {
        self.flush_pending();
        if matches!(action, Action::Plan { .. } | Action::Finish { .. }) {
            return;
        }
        let text = format!(
            "{} {}",
            self.theme.action.paint(format!("• {}", action.verb())),
            gist(action)
        );
        self.line(text);
    }

    fn finished(&mut self, action: &Action, outcome: &Outcome, took: Duration) {
        let text = outcome::told(action, outcome, took, &self.theme);
        if !text.is_empty() {
            self.end_text();
            let _ = write!(self.out, "{text}");
        }
    }

    fn plan(&mut self, steps: &[PlanStep]) {
        self.flush_pending();
        for step in steps {
            let (mark, style) = match step.status {
                StepStatus::Completed => ("✓", self.theme.good),
                StepStatus::InProgress => ("▸", self.theme.action),
                StepStatus::Pending => ("·", self.theme.dim),
            };
            let text = format!("  {} {}", style.paint(mark), one_line(&step.text));
            self.line(text);
        }
    }

    fn turn_done(&mut self, end: &TurnEnd) {
        self.end_text();
        let t = self.theme;
        if end.reason != EndReason::Done {
            // The answer of a turn that failed is no answer; it is shown as what it is.
            self.flush_pending();
        }
        self.pending.clear();
        if let Some(message) = end.reason.failure() {
            let style = if end.reason == EndReason::Interrupted {
                t.warn
            } else {
                t.bad
            };
            let text = style.paint(sanitize(&message)).to_string();
            self.line(text);
        }
        let u = end.usage;
        let cached = u
            .cached
            .filter(|_| u.input > 0)
            .map(|c| format!(" ({} % cached)", c * 100 / u.input.max(1)))
            .unwrap_or_default();
        let requests = if end.requests == 1 {
            "1 request".into()
        } else {
            format!("{} requests", end.requests)
        };
        let text = format!(
            "{} · {requests} · {} tokens in{cached}, {} out",
            duration(end.took),
            thousands(u.input),
            thousands(u.output)
        );
        let text = t.dim.paint(text).to_string();
        self.line(text);
        if let Some(metrics) = self.metrics.take() {
            let text = t.dim.paint(numbers(&metrics)).to_string();
            self.line(text);
        }
    }
}

impl<W: Write> Frontend for Human<W> {
    fn event(&mut self, event: &Event) {
        let t = self.theme;
        match event {
            Event::Session(info) => self.session(info),
            Event::Warning(text) => {
                let text = format!("{} {}", t.warn.paint("warning:"), sanitize(text));
                self.line(text);
            }
            Event::Note(text) | Event::Repaired { text, .. } => {
                let text = t.dim.paint(sanitize(text)).to_string();
                self.line(text);
            }
            Event::Requested { tokens, window, .. } => {
                self.progress = Some(Progress::new(*tokens, *window));
            }
            Event::Phase(phase) => {
                if let Some(progress) = &mut self.progress {
                    progress.enter(*phase);
                }
                self.show_status();
            }
            Event::Waiting(_) if self.status.is_on() => self.show_status(),
            Event::Waiting(time) => self.line(
                t.dim
                    .paint(format!("waiting for the model, {} s", time.as_secs()))
                    .to_string(),
            ),
            Event::Progress { processed, total } => {
                let progress = self.progress.as_mut();
                let line = progress.and_then(|p| p.read(*processed, *total));
                if self.status.is_on() {
                    self.show_status();
                } else if let Some(line) = line {
                    self.line(t.dim.paint(line).to_string());
                }
            }
            Event::Retry { attempt, of, why } => {
                self.end_text();
                let text = format!(
                    "{} {attempt} of {of}: {}",
                    t.warn.paint("trying again"),
                    sanitize(why)
                );
                self.line(text);
            }
            Event::Text(text) => self.streamed(text),
            Event::Reasoning(text) => self.reasoning(text),
            Event::Replied {
                text,
                usage,
                timing,
                ..
            } => {
                self.flush_pending();
                self.end_text();
                self.progress = None;
                self.metrics = usage.map(|u| Metrics::new(u, timing, self.window));
                self.pending = text.clone();
            }
            Event::BadCall { error, .. } => {
                self.flush_pending();
                let text = format!(
                    "  {} {}",
                    t.warn.paint("call not understood:"),
                    shorten(&one_line(&error.to_string()))
                );
                self.line(text);
            }
            Event::Started { action, .. } => self.started(action),
            Event::Finished {
                action,
                outcome,
                took,
                ..
            } => self.finished(action, outcome, *took),
            Event::Plan(steps) => self.plan(steps),
            Event::Elided {
                results,
                before,
                after,
            } => {
                let text = format!(
                    "{results} old tool results left out to make room: {} → {} tokens",
                    thousands(*before),
                    thousands(*after)
                );
                self.line(t.warn.paint(text).to_string());
            }
            Event::Compacted {
                before,
                after,
                written,
                ..
            } => {
                let by = if *written {
                    "summarised by the model"
                } else {
                    "cut down to a list of its last steps (the model wrote no summary)"
                };
                let text = format!(
                    "the conversation was {by}: {} → {} tokens",
                    thousands(*before),
                    thousands(*after)
                );
                self.line(t.warn.paint(text).to_string());
            }
            Event::TurnDone(end) => self.turn_done(end),
            Event::TurnStarted | Event::Output { .. } => {}
        }
    }

    fn ask(&mut self, question: &Question) -> Answer {
        self.flush_pending();
        self.end_text();
        let theme = self.theme;
        match &mut self.person {
            Some(person) => person.ask(question, &theme),
            None => {
                let text = format!(
                    "  {} {}",
                    theme.warn.paint("nobody to ask:"),
                    one_line(&question.reason)
                );
                self.line(text);
                Answer::No(None)
            }
        }
    }

    fn confirm(&mut self, question: &str) -> bool {
        self.end_text();
        let theme = self.theme;
        let person = self.person.as_mut();
        person.is_some_and(|person| person.confirm(question, &theme))
    }

    fn questions(&mut self, questions: &[AskedQuestion]) -> Option<Vec<Vec<String>>> {
        self.end_text();
        let theme = self.theme;
        self.person.as_mut()?.questions(questions, &theme)
    }

    fn interactive(&self) -> bool {
        self.person.is_some()
    }
}

/// The mode line: what really holds.
fn fence(info: &SessionInfo) -> String {
    let network = if info.network { ", network on" } else { "" };
    format!("{}{network} · asks: {}", info.sandbox.name(), info.approval)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Timing, Usage};

    fn printed(stream: bool, events: &[Event]) -> String {
        let mut out = Vec::new();
        let mut human = Human::new(&mut out, Theme::default(), stream, false, None);
        events.iter().for_each(|e| human.event(e));
        drop(human);
        String::from_utf8(out).expect("text")
    }

    fn replied(text: &str) -> Event {
        Event::Replied {
            text: text.into(),
            reasoning: String::new(),
            usage: None,
            timing: Timing::default(),
        }
    }

    fn done(reason: EndReason) -> Event {
        let usage = Usage {
            input: 12_345,
            cached: Some(11_000),
            ..Usage::default()
        };
        Event::TurnDone(TurnEnd {
            reason,
            answer: "the answer".into(),
            requests: 2,
            usage,
            took: Duration::from_millis(1_500),
        })
    }

    #[test]
    fn the_answer_is_left_to_the_caller_and_other_texts_are_printed() {
        let action = Action::List {
            path: "src".into(),
            ignore: vec![],
            respect_ignore: true,
            limit: 10,
        };
        let text = printed(
            false,
            &[
                replied("I will look."),
                Event::Started { id: 1, action },
                replied("the answer"),
                done(EndReason::Done),
            ],
        );
        assert_eq!(
            text,
            "I will look.\n• list src\n1.5 s · 2 requests · 12,345 tokens in (89 % cached), 0 out\n"
        );
    }

    #[test]
    fn nothing_raw_reaches_the_terminal() {
        let evil = "\x1b]0;title\x07\u{202e}".to_string();
        let events = [
            Event::Warning(evil.clone()),
            Event::Note(evil.clone()),
            Event::Text(evil.clone()),
            replied(&evil),
            Event::Started {
                id: 1,
                action: Action::ViewImage { path: evil.clone() },
            },
            done(EndReason::Failed(evil.clone())),
        ];
        let text = printed(true, &events);
        assert!(!text.contains(['\x1b', '\x07', '\u{202e}']), "{text:?}");
    }
}
