//! What a person sees while it works: one line a tool call, text as it comes, a summary at the end.

use super::markdown::Markdown;
use super::outcome::told;
use super::phrases::{duration, gist_in, gist_of, near, shorten, thousands};
use super::progress::Progress;
use super::sanitize::{one_line, sanitize};
use super::screen::Screen;
use super::summary;
use super::{Theme, wrap};
use crate::agent::event::{Answer, EndReason, Event, Frontend, Question, SessionInfo, TurnEnd};
use crate::agent::metrics::Metrics;
use crate::cli::person::Person;
use crate::tools::action::{Action, AskedQuestion, Outcome, PlanStep, StepStatus};
use crate::tools::mcp::{Asked, Form};
use nu_ansi_term::Style;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Prints progress to a [`Screen`].
pub struct Human<W: Write> {
    screen: Screen<W>,
    theme: Theme,
    /// Print the model's text as it streams. Without it, texts between tool calls are printed
    /// whole and the final answer is left to the caller.
    stream: bool,
    show_reasoning: bool,
    person: Option<Box<dyn Person>>,
    /// The text of the latest reply, until it is known whether it is the answer.
    pending: String,
    /// What is streamed now.
    flow: Option<Flow>,
    /// What was printed last.
    last: Block,
    /// Where the request stands in a pipe; on a screen the status line knows.
    progress: Option<Progress>,
    /// The numbers of the latest request.
    metrics: Option<Metrics>,
    window: u32,
    /// The working folder.
    cwd: PathBuf,
    /// The person's answer to the latest question was a no.
    said_no: bool,
}

/// A text that streams.
enum Flow {
    Answer(Markdown),
    Thinking(Markdown),
    /// Thinking that is not shown, since when.
    Hidden(Instant),
}

/// Kinds of lines, between which a terminal gets an empty one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Start,
    Answer,
    Thinking,
    Lines,
}

impl<W: Write> Human<W> {
    /// A printer. `person` is `None` where nobody can answer.
    pub fn new(
        screen: Screen<W>,
        theme: Theme,
        stream: bool,
        show_reasoning: bool,
        person: Option<Box<dyn Person>>,
    ) -> Self {
        Human {
            screen,
            theme,
            stream,
            show_reasoning,
            person,
            pending: String::new(),
            flow: None,
            last: Block::Start,
            progress: None,
            metrics: None,
            window: 0,
            cwd: PathBuf::new(),
            said_no: false,
        }
    }

    /// One line.
    fn line(&mut self, text: impl AsRef<str>) {
        self.lines(&format!("{}\n", text.as_ref()));
    }

    /// Whole lines, below a text that ends with them.
    fn lines(&mut self, text: &str) {
        self.end_text();
        self.print(Block::Lines, text);
    }

    fn print(&mut self, block: Block, text: &str) {
        if text.is_empty() {
            return;
        }
        let apart = self.last != block && self.last != Block::Start && self.screen.is_live();
        self.last = block;
        let gap = if apart { "\n" } else { "" };
        self.screen.print(&format!("{gap}{text}"));
    }

    /// Words of the program itself, broken at the width of a terminal.
    fn words(&mut self, style: Style, text: &str) {
        let cells = wrap::cells(&sanitize(text), style);
        let text = wrap::lines(&cells, self.columns().unwrap_or(usize::MAX));
        self.lines(&text);
    }

    /// The same, with a word before it that is seen.
    fn headed(&mut self, head: &str, text: &str) {
        let columns = self.columns().unwrap_or(usize::MAX);
        let text = wrap::headed(head, self.theme.warn, &sanitize(text), columns);
        self.lines(&text);
    }

    /// The columns to lay text out for; `None` where the reader breaks lines.
    fn columns(&self) -> Option<usize> {
        self.screen.is_live().then(|| self.screen.columns())
    }

    /// Ends what streams.
    fn end_text(&mut self) {
        match self.flow.take() {
            Some(Flow::Answer(mut text)) => {
                let rest = text.finish();
                self.print(Block::Answer, &rest);
            }
            Some(Flow::Thinking(mut text)) => {
                let rest = text.finish();
                self.print(Block::Thinking, &rest);
            }
            Some(Flow::Hidden(since)) if self.screen.is_live() => {
                let text = format!("thought for {}", duration(since.elapsed()));
                let text = self.theme.dim.paint(text).to_string();
                self.print(Block::Thinking, &format!("{text}\n"));
            }
            Some(Flow::Hidden(_)) | None => {}
        }
    }

    fn session(&mut self, info: &SessionInfo) {
        self.window = info.window.0;
        self.cwd.clone_from(&info.cwd);
        let (verb, place) = summary::opening(info);
        let columns = self.columns().unwrap_or(usize::MAX);
        let text = wrap::headed(verb, self.theme.action, &place, columns);
        self.lines(&text);
        self.words(self.theme.dim, &summary::terms(info));
    }

    fn streamed(&mut self, text: &str) {
        if !self.stream {
            return;
        }
        if !matches!(self.flow, Some(Flow::Answer(_))) {
            self.end_text();
        }
        let (theme, columns) = (self.theme, self.columns());
        let flow = self
            .flow
            .get_or_insert_with(|| Flow::Answer(Markdown::new(theme, columns)));
        if let Flow::Answer(flow) = flow {
            flow.resize(columns);
            let rows = flow.push(text);
            self.print(Block::Answer, &rows);
        }
    }

    fn reasoning(&mut self, text: &str) {
        if !self.stream {
            return;
        }
        if matches!(self.flow, Some(Flow::Answer(_))) {
            self.end_text();
        }
        let (theme, columns, shown) = (self.theme, self.columns(), self.show_reasoning);
        let flow = self.flow.get_or_insert_with(|| match shown {
            true => Flow::Thinking(Markdown::thinking(theme, columns)),
            false => Flow::Hidden(Instant::now()),
        });
        if let Flow::Thinking(flow) = flow {
            flow.resize(columns);
            let rows = flow.push(text);
            self.print(Block::Thinking, &rows);
        }
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
        let gist = gist_in(action, &self.cwd);
        // A terminal has the status line until there is a result to tell in the same line.
        if self.screen.is_live() {
            let what = format!("{} {gist}", action.verb());
            self.screen.progress(|p| *p = Some(Progress::doing(&what)));
        } else {
            let verb = self.theme.action.paint(format!("• {}", action.verb()));
            self.line(format!("{verb} {gist}"));
        }
    }

    fn finished(&mut self, action: &Action, outcome: &Outcome, took: Duration) {
        self.screen.progress(|p| *p = None);
        let Some(mut told) = told(outcome, &self.theme, self.columns()) else {
            return;
        };
        // Who just said no does not have to read why.
        if std::mem::take(&mut self.said_no) && matches!(outcome, Outcome::Refused { .. }) {
            told.why = None;
        }
        told.why = told.why.map(|why| near(&why, &self.cwd));
        let text = match self.columns() {
            Some(columns) => {
                let gist = gist_of(action, outcome, &self.cwd);
                // The time of a person's answer says nothing about the work.
                let took = match action {
                    Action::Ask { .. } | Action::Mode { .. } => Duration::ZERO,
                    _ => took,
                };
                told.line((action.verb(), &gist), took, &self.theme, columns)
            }
            None => told.below(action, took, &self.theme),
        };
        self.lines(&text);
    }

    fn plan(&mut self, steps: &[PlanStep]) {
        self.flush_pending();
        for step in steps {
            let (mark, style) = match step.status {
                StepStatus::Completed => ("✓", self.theme.good),
                StepStatus::InProgress => ("▸", self.theme.action),
                StepStatus::Pending => ("·", self.theme.dim),
            };
            let columns = self.columns().unwrap_or(usize::MAX);
            let cells = wrap::cells(&one_line(&step.text), Style::default());
            let rows = wrap::rows(&cells, columns.saturating_sub(4));
            let mut text = String::new();
            for (at, row) in rows.iter().enumerate() {
                let lead = if at == 0 {
                    style.paint(mark).to_string()
                } else {
                    " ".to_owned()
                };
                text.push_str(&format!("  {lead} {}\n", wrap::paint(row)));
            }
            self.lines(&text);
        }
    }

    fn turn_done(&mut self, end: &TurnEnd) {
        self.screen.progress(|p| *p = None);
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
            self.words(style, &message);
        }
        let metrics = self.metrics.take();
        for line in summary::closing(end, metrics.as_ref(), self.columns()) {
            self.line(t.dim.paint(line).to_string());
        }
    }

    /// Puts something to the person, with the screen to itself.
    fn person(&mut self) -> Option<&mut Box<dyn Person>> {
        self.flush_pending();
        self.end_text();
        self.screen.progress(|p| *p = None);
        self.last = Block::Lines;
        self.person.as_mut()
    }
}

impl<W: Write> Frontend for Human<W> {
    fn event(&mut self, event: &Event) {
        let t = self.theme;
        match event {
            Event::Session(info) => self.session(info),
            Event::Warning(text) => self.headed("warning:", text),
            Event::Note(text) | Event::Repaired { text, .. } => self.words(t.dim, text),
            Event::Requested { tokens, window, .. } => {
                // A review may be another model's.
                self.window = *window;
                let cached = self.metrics.as_ref().and_then(Metrics::cached_percent);
                self.working(|p| *p = Some(Progress::new(*tokens, *window, cached)));
            }
            Event::Phase(phase) => self.working(|p| {
                if let Some(p) = p {
                    p.enter(*phase);
                }
            }),
            Event::Waiting(_) if self.screen.is_live() => {}
            Event::Waiting(time) => self.line(
                t.dim
                    .paint(format!("waiting for the model, {} s", time.as_secs()))
                    .to_string(),
            ),
            Event::Progress { processed, total } => {
                let line = self.working(|p| p.as_mut().and_then(|p| p.read(*processed, *total)));
                if let Some(line) = line.filter(|_| !self.screen.is_live()) {
                    self.line(t.dim.paint(line).to_string());
                }
            }
            Event::Retry { attempt, of, why } => {
                let what = format!("{attempt} of {of}: {why}");
                self.headed("trying again", &what);
            }
            Event::Text(text) => {
                self.streams(text);
                self.streamed(text);
            }
            Event::Reasoning(text) => {
                self.streams(text);
                self.reasoning(text);
            }
            Event::Replied {
                text,
                usage,
                timing,
                ..
            } => {
                self.flush_pending();
                self.end_text();
                self.working(|p| *p = None);
                self.metrics = usage.map(|u| Metrics::new(u, timing, self.window));
                self.pending = text.clone();
            }
            Event::BadCall { error, .. } => {
                self.flush_pending();
                let text = shorten(&one_line(&error.to_string()));
                self.headed("call not understood:", &text);
            }
            Event::Started { action, .. } => self.started(action),
            Event::Output { text, .. } if self.screen.is_live() => self.screen.progress(|p| {
                if let Some(p) = p {
                    p.prints(text);
                }
            }),
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
                self.words(t.warn, &text);
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
                self.words(t.warn, &text);
            }
            Event::TurnDone(end) => self.turn_done(end),
            Event::TurnStarted | Event::Output { .. } => {}
        }
    }

    fn ask(&mut self, question: &Question) -> Answer {
        let theme = self.theme;
        match self.person() {
            Some(person) => {
                let answer = person.ask(question, &theme);
                self.said_no = matches!(answer, Answer::No(_));
                answer
            }
            None => {
                self.headed("nobody to ask:", &one_line(&question.reason));
                Answer::No(None)
            }
        }
    }

    fn confirm(&mut self, question: &str) -> bool {
        let theme = self.theme;
        self.person()
            .is_some_and(|person| person.confirm(question, &theme))
    }

    fn questions(&mut self, questions: &[AskedQuestion]) -> Option<Vec<Vec<String>>> {
        let theme = self.theme;
        self.person()?.questions(questions, &theme)
    }

    fn fill_in(&mut self, form: &Form) -> Option<Asked> {
        let theme = self.theme;
        Some(self.person()?.fill_in(form, &theme))
    }

    fn interactive(&self) -> bool {
        self.person.is_some()
    }
}

impl<W: Write> Human<W> {
    /// Changes what is known of the request under way.
    fn working<T>(&mut self, change: impl FnOnce(&mut Option<Progress>) -> T) -> T {
        if self.screen.is_live() {
            self.screen.progress(change)
        } else {
            change(&mut self.progress)
        }
    }

    fn streams(&mut self, text: &str) {
        self.working(|p| {
            if let Some(p) = p {
                p.streams(text.len());
            }
        });
    }
}

#[cfg(test)]
mod tests;
