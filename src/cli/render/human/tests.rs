use super::*;
use crate::agent::event::Phase;
use crate::model::{Timing, Usage};
use crate::tools::action::{Output, Read, Shell, ShellOut, ShellStatus};

fn printed(stream: bool, events: &[Event]) -> String {
    let mut out = Vec::new();
    let theme = Theme::default();
    let screen = Screen::with(&mut out, false, theme.dim, || 80);
    let mut human = Human::new(screen, theme, stream, false, None);
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
        cost: Default::default(),
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

/// What is left on a terminal of so many columns: lines that were taken away are gone.
fn screen(columns: fn() -> usize, show_reasoning: bool) -> String {
    let mut out = Vec::new();
    let theme = Theme::default();
    let screen = Screen::with(&mut out, true, theme.dim, columns);
    let mut human = Human::new(screen, theme, true, show_reasoning, None);
    session().iter().for_each(|e| human.event(e));
    drop(human);
    let text = String::from_utf8(out).expect("text");
    let text = text.replace("\x1b[?7l", "").replace("\x1b[?7h", "");
    text.split_inclusive('\n')
        .map(|line| line.rsplit("\r\x1b[K").next().unwrap_or_default())
        .collect()
}

/// A turn with a bit of everything.
fn session() -> Vec<Event> {
    let shell = Action::Shell(Shell::new("make test", Duration::from_secs(9)));
    let ran = Outcome::Shell(ShellOut {
        status: ShellStatus::Exited(2),
        output: Output {
            text: "cc a.c\nFAILED\x1b[2J a_test\n".into(),
            ..Output::default()
        },
        command: "make test".into(),
        dir: "/ws".into(),
        job: None,
        wall: Duration::from_secs(1),
        fence: None,
        back_in: None,
    });
    let read = Action::Read(Read::new("src/a-file-with-a-rather-long-name.c", None, 9));
    let plan = ["look", "mend"].map(|text| PlanStep {
        text: text.into(),
        status: if text == "look" {
            StepStatus::Completed
        } else {
            StepStatus::InProgress
        },
        id: None,
    });
    let finished = |action: &Action, outcome: Outcome| Event::Finished {
        id: 1,
        action: action.clone(),
        outcome,
        took: Duration::from_millis(1_250),
    };
    let started = |action: &Action| Event::Started {
        id: 1,
        action: action.clone(),
    };
    vec![
        Event::Requested {
            bytes: 9,
            tokens: 9,
            window: 8_192,
        },
        Event::Phase(Phase::Thinking),
        Event::Reasoning("The tests fail, so I run them first and look at what they say.".into()),
        Event::Text("\n\nI run **the tests** of the whole project, as you said.\n".into()),
        replied("I run **the tests** of the whole project, as you said."),
        started(&shell),
        Event::Output {
            id: 1,
            text: "cc a.c\n".into(),
        },
        finished(&shell, ran),
        started(&read),
        finished(&read, Outcome::Interrupted),
        Event::Plan(plan.into()),
        Event::Note("a note of the program that is a bit longer than forty columns".into()),
        Event::Text("It is `日本`.".into()),
        replied("It is `日本`."),
        done(EndReason::Done),
    ]
}

#[test]
fn a_session_at_80_columns() {
    assert_eq!(screen(|| 80, true), include_str!("golden/80.txt"));
}

#[test]
fn a_session_at_40_columns_with_thinking_folded() {
    let text = screen(|| 40, false);
    assert_eq!(text, include_str!("golden/40.txt"));
    assert!(text.lines().all(|l| wrap::width(l) <= 40));
}
