//! Outcomes to be told, by name. All of them are of one small project.

use super::shell_out;
use crate::model::Part;
use crate::tools::action::*;
use std::path::PathBuf;
use std::time::Duration;

const ROOT: &str = "/home/ada/projects/shop";

fn place(path: &str) -> PathBuf {
    PathBuf::from(ROOT).join(path)
}

fn read(text: &str, first: usize, total: usize) -> ReadOut {
    ReadOut {
        path: place("a.py"),
        text: text.into(),
        first,
        lines: text.lines().count(),
        total,
        cut: false,
        repeated: false,
    }
}

fn cell(id: &str, kind: &str, source: &str, printed: &str) -> CellOut {
    CellOut {
        id: id.into(),
        kind: kind.into(),
        source: source.into(),
        printed: printed.into(),
    }
}

fn change(path: &str, kind: ChangeKind, places: usize) -> FileChange {
    FileChange {
        path: place(path),
        shown: path.into(),
        kind,
        moved_to: None,
        before: (kind != ChangeKind::Add).then(|| "a = 1\nb = 2\n".into()),
        after: (kind != ChangeKind::Delete).then(|| "a = 9\nb = 2\n".into()),
        places,
        lines: Some((1, 1)),
        matched_by: None,
    }
}

fn line(path: &str, number: u64, text: &str) -> GrepLine {
    GrepLine {
        path: place(path),
        number,
        text: text.into(),
        is_match: true,
    }
}

fn matches(total: usize, cut: bool) -> Outcome {
    Outcome::Matches(GrepOut {
        root: ROOT.into(),
        lines: vec![line("a.py", 1, "a = 1"), line("src/b.py", 7, "a = 2")],
        total,
        cut,
        searched: 12,
    })
}

fn found(total: usize) -> Outcome {
    let paths = ["src/b.py", "a.py"].into_iter().take(total).map(place);
    Outcome::Found(FoundOut {
        root: ROOT.into(),
        paths: paths.collect(),
        total,
    })
}

fn list(more: usize, ignored: usize) -> Outcome {
    let entry = |name: &str, is_dir| Entry {
        name: name.into(),
        is_dir,
        size: 12,
    };
    Outcome::Listed(ListOut {
        path: ROOT.into(),
        entries: vec![entry("src", true), entry("a.py", false)],
        ignored,
        more,
    })
}

/// A plan of two steps.
pub fn steps() -> Vec<PlanStep> {
    [
        ("Look", StepStatus::Completed),
        ("Change", StepStatus::InProgress),
    ]
    .into_iter()
    .enumerate()
    .map(|(at, (text, status))| PlanStep {
        text: text.into(),
        status,
        id: Some((at + 1).to_string()),
    })
    .collect()
}

fn job(status: ShellStatus, output: &str) -> Outcome {
    let Outcome::Shell(mut out) = shell_out("make", output, status) else {
        unreachable!()
    };
    out.job = Some(1);
    out.output.file = Some("/home/ada/x/outputs/1.txt".into());
    Outcome::Shell(out)
}

fn one_job(id: u32, status: ShellStatus) -> JobOut {
    JobOut {
        id,
        command: "make".into(),
        status,
        age: Duration::from_secs(2),
    }
}

fn long(status: ShellStatus) -> Outcome {
    let text: String = (1..=9000).map(|n| format!("line {n}\n")).collect();
    let Outcome::Shell(mut out) = shell_out("make", &text, status) else {
        unreachable!()
    };
    out.output.file = Some("/home/ada/x/outputs/1.txt".into());
    Outcome::Shell(out)
}

fn page(redirect: Option<&str>) -> Outcome {
    Outcome::Fetched(PageOut {
        url: "https://docs.example.org/guide".into(),
        status: if redirect.is_some() { 302 } else { 200 },
        kind: "text/html".into(),
        size: 512,
        title: Some("Guide".into()),
        extracted: true,
        output: Output {
            text: "# Set up\n\nCall it first.".into(),
            bytes: 24,
            file: None,
        },
        redirect: redirect.map(str::to_owned),
        ..PageOut::default()
    })
}

fn agent(failure: Option<&str>) -> Outcome {
    Outcome::Delegated(DelegateOut {
        id: 1,
        text: "It is in a.py.".into(),
        failure: failure.map(str::to_owned),
        actions: 3,
        tokens: 900,
        took: Duration::from_millis(1500),
    })
}

fn agents(state: AgentState) -> Outcome {
    Outcome::Agents(vec![AgentOut {
        id: 1,
        name: None,
        role: "general".into(),
        prompt: "Find it.".into(),
        forked: false,
        file: Some("/home/ada/x/outputs/agent-1.jsonl".into()),
        state,
    }])
}

fn answer(failure: Option<&str>) -> AgentState {
    match agent(failure) {
        Outcome::Delegated(out) => AgentState::Done(out),
        _ => unreachable!(),
    }
}

const RUNNING: ShellStatus = ShellStatus::Running { id: 1, pid: 4711 };

/// The outcome of that name.
pub fn outcome(name: &str) -> Outcome {
    let path = || "a.py".to_owned();
    let failed = Outcome::Failed;
    match name {
        "read" => Outcome::Read(read("a = 1\nb = 2\n", 1, 2)),
        "read part" => Outcome::Read(read("c = 3\nd = 4\n", 3, 9)),
        "read end" => Outcome::Read(read("h = 8\ni = 9\n", 8, 9)),
        "read too much" => Outcome::Read(ReadOut {
            cut: true,
            ..read("a = 1\nb = 2\n", 1, 9)
        }),
        "read last" => Outcome::Read(read("i = 9\n", 9, 9)),
        "read wide" => {
            let text = format!("short\n{}\n", "x".repeat(2_500));
            Outcome::Read(read(&text, 1, 2))
        }
        "read a thousand" => Outcome::Read(read(&"x\n".repeat(1_000), 1, 1_500)),
        "read inside a line" => Outcome::Read(ReadOut {
            cut: true,
            lines: 1,
            ..read("xxx", 1, 2)
        }),
        "read part again" => Outcome::Read(ReadOut {
            repeated: true,
            ..read("c = 3\nd = 4\n", 3, 9)
        }),
        "read again" => Outcome::Read(ReadOut {
            repeated: true,
            ..read("a = 1\nb = 2\n", 1, 2)
        }),
        "cells" => Outcome::Cells(CellsOut {
            path: place("a.ipynb"),
            cells: vec![
                cell("intro", "markdown", "# Sums", ""),
                cell("cell-1", "code", "1 + 1", "2\n"),
            ],
            first: 1,
            total: 3,
        }),
        "empty" => Outcome::Read(read("", 1, 0)),
        "past the end" => failed(ToolError::PastEnd {
            path: path(),
            line: 90,
            total: 2,
        }),
        "missing" => failed(ToolError::NotFound {
            path: "none.py".into(),
            instead: None,
        }),
        "meant" => failed(ToolError::NotFound {
            path: "none.py".into(),
            instead: Some("src/none.py".into()),
        }),
        "folder" => failed(ToolError::IsFolder { path: "src".into() }),
        "binary" => failed(ToolError::Binary {
            path: "a.bin".into(),
        }),
        "picture" => Outcome::Image {
            path: place("a.png"),
            part: Part::Image {
                media_type: "image/png".into(),
                data: "AAAA".into(),
            },
        },
        "listed" => list(0, 0),
        "listed in part" => list(3, 2),
        "written" => Outcome::Changed(vec![change("a.py", ChangeKind::Add, 1)]),
        "overwritten" | "edited" => Outcome::Changed(vec![change("a.py", ChangeKind::Update, 1)]),
        "edited in the middle" => {
            let text = |tenth: &str| -> String {
                let line = |n| {
                    if n == 10 {
                        tenth.to_owned()
                    } else {
                        format!("l{n}")
                    }
                };
                (1..=20).map(|n| line(n) + "\n").collect()
            };
            let mut one = change("a.py", ChangeKind::Update, 1);
            (one.before, one.after) = (Some(text("old")), Some(text("new")));
            one.lines = Some((10, 10));
            Outcome::Changed(vec![one])
        }
        "written the same" => {
            let mut same = change("a.py", ChangeKind::Update, 1);
            same.before.clone_from(&same.after);
            Outcome::Changed(vec![same])
        }
        "edited the first" => {
            let mut one = change("a.py", ChangeKind::Update, 1);
            one.before = Some("a = 1\nb = 2\na = 3\n".into());
            Outcome::Changed(vec![one])
        }
        "edited in places" => Outcome::Changed(vec![change("a.py", ChangeKind::Update, 3)]),
        "patched" => Outcome::Changed(vec![
            change("a.py", ChangeKind::Update, 1),
            change("new.py", ChangeKind::Add, 1),
            change("old.py", ChangeKind::Delete, 1),
        ]),
        "not read" => failed(ToolError::NotRead { path: path() }),
        "changed since" => failed(ToolError::ChangedSince { path: path() }),
        "no match" => failed(ToolError::NoMatch {
            path: path(),
            index: 0,
            near: Some("1| a = 3".into()),
        }),
        "several" => failed(ToolError::Ambiguous {
            path: path(),
            index: 0,
            lines: vec![1, 7],
        }),
        "identical" => failed(ToolError::Identical { path: path() }),
        "exists" => failed(ToolError::Exists { path: path() }),
        "nothing to undo" => failed(ToolError::NothingToUndo { path: path() }),
        "denied" => failed(ToolError::Denied {
            path: path(),
            why: "it is outside".into(),
        }),
        "bad patch" => failed(ToolError::BadPatch {
            why: "line 2 is no hunk".into(),
        }),
        "no such lines" => failed(ToolError::PatchMismatch {
            path: path(),
            absolute: place("a.py"),
            expected: "c = 3".into(),
            near: None,
        }),
        "found" => found(2),
        "found many" => found(150),
        "found none" => found(0),
        "matches" => matches(2, false),
        "matches around" => {
            let Outcome::Matches(mut out) = matches(2, false) else {
                unreachable!()
            };
            let after = GrepLine {
                is_match: false,
                ..line("a.py", 2, "b = 2")
            };
            out.lines.insert(1, after);
            Outcome::Matches(out)
        }
        "one match" | "wide match" => {
            let text = match name {
                "one match" => "a = 1".to_owned(),
                _ => "x".repeat(2_500),
            };
            Outcome::Matches(GrepOut {
                root: ROOT.into(),
                lines: vec![line("a.py", 1, &text)],
                total: 1,
                cut: false,
                searched: 12,
            })
        }
        "many matches" => matches(300, true),
        "no matches" => Outcome::Matches(GrepOut {
            root: ROOT.into(),
            lines: vec![],
            total: 0,
            cut: false,
            searched: 12,
        }),
        "counted" => Outcome::Counted(CountOut {
            root: ROOT.into(),
            files: vec![(place("a.py"), 1), (place("src/b.py"), 2)],
            total_files: 2,
            total: 3,
        }),
        "bad pattern" => failed(ToolError::BadPattern {
            pattern: "(".into(),
            why: "unclosed group".into(),
        }),
        "ok" => shell_out("make", "built\n", ShellStatus::Exited(0)),
        "silent" => shell_out("make", "", ShellStatus::Exited(0)),
        "failing" => shell_out("make", "boom\n", ShellStatus::Exited(2)),
        "failing silently" => shell_out("make", "", ShellStatus::Exited(2)),
        "too long" => shell_out("make", "half\n", ShellStatus::TimedOut),
        "killed" => shell_out("make", "half\n", ShellStatus::Signaled(9)),
        "background" => job(RUNNING, ""),
        "still running" => job(RUNNING, "more\n"),
        "nothing new" => job(RUNNING, ""),
        "ended" => job(ShellStatus::Exited(0), "done\n"),
        "ended badly" => job(ShellStatus::Exited(3), "bad\n"),
        "stopped" => job(ShellStatus::Signaled(15), ""),
        "much output" => long(ShellStatus::Exited(0)),
        "failing at length" => long(ShellStatus::Exited(3)),
        "one huge line" => {
            let Outcome::Shell(mut out) = long(ShellStatus::Exited(0)) else {
                unreachable!()
            };
            out.output.text = "x".repeat(90_000);
            out.output.bytes = 90_000;
            Outcome::Shell(out)
        }
        "ended outside" => {
            let Outcome::Shell(mut out) = shell_out("make", "built\n", ShellStatus::Exited(0))
            else {
                unreachable!()
            };
            out.back_in = Some(Box::new(ROOT.into()));
            Outcome::Shell(out)
        }
        "jobs" => Outcome::Jobs(vec![one_job(1, RUNNING)]),
        "several jobs" => Outcome::Jobs(vec![
            one_job(1, RUNNING),
            one_job(2, ShellStatus::Exited(0)),
        ]),
        "no jobs" => Outcome::Jobs(Vec::new()),
        "unknown job" => failed(ToolError::NoSuchCommand {
            id: 9,
            running: vec![1],
        }),
        "planned" => Outcome::Planned,
        "plan" => Outcome::Plan(steps()),
        "no plan" => Outcome::Plan(Vec::new()),
        "mode" => Outcome::ModeSet,
        "answered several" => {
            Outcome::Answered(vec![vec!["A".into(), "B".into()], vec!["now".into()]])
        }
        "answered otherwise" => Outcome::Answered(vec![vec!["C".into()]]),
        "answered" => Outcome::Answered(vec![vec!["A".into()]]),
        "dismissed" => Outcome::Answered(vec![Vec::new()]),
        "agent" => agent(None),
        "agent says nothing" => {
            let Outcome::Delegated(mut out) = agent(None) else {
                unreachable!()
            };
            out.text = " ".into();
            Outcome::Delegated(out)
        }
        "agent failed" => agent(Some("it ran out of steps")),
        "agent waits" => agents(AgentState::Waiting),
        "agent answered" => agents(answer(None)),
        "agent answered badly" => agents(answer(Some("it ran out of steps"))),
        "agent closed" => agents(AgentState::Closed),
        "no such agent" => failed(ToolError::NoSuchAgent {
            name: "9".into(),
            known: vec!["1".into()],
        }),
        "agent is closed" => failed(ToolError::AgentClosed { name: "9".into() }),
        "skill" => Outcome::Skill(SkillOut {
            name: "pdf".into(),
            folder: "/home/ada/x/skills/pdf".into(),
            text: "Use forms.\n".into(),
            args: None,
        }),
        "no skill" => failed(ToolError::Other(
            "there is no skill `odf`; there are: pdf".into(),
        )),
        "overlap" => failed(ToolError::Other(
            "a.py was not changed: replacements 1 and 2 touch the same text; send them as one"
                .into(),
        )),
        "not found by grep" => shell_out("grep x a.py", "", ShellStatus::Exited(1)),
        "tools found" => Outcome::ToolsFound("{\"name\":\"git_blame\"}\n".into()),
        "page" => page(None),
        "page elsewhere" => page(Some("https://other.example.org/")),
        "no page" => failed(ToolError::NotFetched {
            url: "https://docs.example.org/guide".into(),
            why: "the server answered with status 404".into(),
        }),
        "not found there" => failed(ToolError::NotFound {
            path: "none".into(),
            instead: None,
        }),
        "refused" => Outcome::Refused {
            reason: "The user said no.".into(),
        },
        "finished" => Outcome::Finished,
        other => panic!("no outcome {other}"),
    }
}
