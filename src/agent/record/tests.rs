//! What is written is read back.

use super::*;
use crate::agent::transcript::Elision;
use crate::model::{Reasoning, ToolCall, ToolResult, WireApi};

fn call(id: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: "read".into(),
        arguments: "{ \"b\":1, \"a\": 2}".into(),
        kind: CallKind::Function,
        recovered: false,
    }
}

fn result(id: &str) -> Item {
    Item::ToolResult(ToolResult {
        call_id: id.into(),
        name: "read".into(),
        content: vec![Part::text("out")],
        is_error: false,
        kind: CallKind::Function,
    })
}

fn lines(items: &[Item]) -> Vec<Value> {
    items
        .iter()
        .enumerate()
        .flat_map(|(n, i)| item_lines(i, n as u64, Mark::Plain))
        .collect()
}

#[test]
fn what_is_written_is_read_back_to_the_byte() {
    let reasoning = Reasoning {
        text: "hm".into(),
        signature: Some("s".into()),
        opaque: Some(json!({"z": 1, "a": 2})),
        wire: WireApi::Messages,
    };
    let freeform = ToolCall {
        kind: CallKind::Freeform,
        arguments: "*** Begin Patch".into(),
        ..call("c2")
    };
    let items = vec![
        Item::Developer {
            text: "rules".into(),
        },
        Item::User {
            content: vec![
                Part::text("hi"),
                Part::Image {
                    media_type: "image/png".into(),
                    data: "AAAA".into(),
                },
            ],
        },
        Item::Assistant(Assistant {
            reasoning: vec![reasoning],
            text: "ok".into(),
            calls: vec![call("c1"), freeform],
        }),
        result("c1"),
        Item::ToolResult(ToolResult {
            call_id: "c2".into(),
            name: "read".into(),
            content: vec![],
            is_error: true,
            kind: CallKind::Freeform,
        }),
        Item::Assistant(Assistant {
            text: "one".into(),
            ..Assistant::default()
        }),
        Item::Assistant(Assistant {
            text: "two".into(),
            ..Assistant::default()
        }),
    ];
    let restored = restore(&lines(&items));
    assert_eq!(restored.transcript.items(), items);
    assert!(restored.added.is_empty());
    assert_eq!(restored.next_reply, 7);
}

#[test]
fn a_kill_between_call_and_result_leaves_a_pair() {
    let items = vec![
        Item::user("go"),
        Item::Assistant(Assistant {
            calls: vec![call("c1"), call("c2")],
            ..Assistant::default()
        }),
        result("c1"),
    ];
    let restored = restore(&lines(&items));
    assert_eq!(restored.transcript.items().len(), 4);
    assert_eq!(restored.added.len(), 1);
    assert!(matches!(&restored.added[0], Item::ToolResult(r) if r.call_id == "c2" && r.is_error));
}

#[test]
fn a_result_without_a_call_is_dropped() {
    assert!(
        restore(&lines(&[Item::user("go"), result("c9")]))
            .transcript
            .items()
            .len()
            == 1
    );
}

#[test]
fn elision_is_made_again() {
    let items = vec![
        Item::user("go"),
        Item::Assistant(Assistant {
            calls: vec![call("c1")],
            ..Assistant::default()
        }),
        result("c1"),
    ];
    let mut all = lines(&items);
    all.push(line(
        "elided",
        Elision {
            lines: vec![(2, "gone".into())],
        },
    ));
    assert_eq!(restore(&all).transcript.items()[2].text(), "gone");
}

#[test]
fn a_compacted_conversation_takes_the_place_of_the_old_one() {
    let old = vec![
        Item::user("go"),
        Item::Assistant(Assistant {
            calls: vec![call("c1")],
            ..Assistant::default()
        }),
        result("c1"),
    ];
    let mut new = Transcript::default();
    new.push(Item::user("go"), Mark::Task);
    new.push(Item::user("what was done"), Mark::Plain);
    for id in ["c2", "c3"] {
        let reply = Assistant {
            calls: vec![call(id)],
            ..Assistant::default()
        };
        new.push(Item::Assistant(reply), Mark::Plain);
        new.push(result(id), Mark::Answer);
    }
    let mut all = lines(&old);
    all.push(compacted_line("what was done", &new, 7));
    all.extend(item_lines(&Item::user("more"), 9, Mark::Task));
    let restored = restore(&all);
    assert_eq!(&restored.transcript.items()[..6], new.items());
    assert_eq!(restored.transcript.items()[6].text(), "more");
    assert_eq!(restored.transcript.mark(0), Mark::Task);
    assert_eq!(restored.next_reply, 9);
    // The next turn makes it an earlier word of the user.
    all.push(line("event_msg", json!({"type": "task_started"})));
    assert_eq!(restore(&all).transcript.mark(0), Mark::Words);
}

#[test]
fn a_question_is_open_until_its_answer_or_the_next_item() {
    let reply = Item::Assistant(Assistant {
        calls: vec![call("c1"), call("c2"), call("c3")],
        ..Assistant::default()
    });
    let mut all = lines(&[Item::user("go"), reply]);
    all.push(question_line(Some(1)));
    let restored = restore(&all);
    assert_eq!(restored.asked.map(|c| c.id).as_deref(), Some("c2"));
    let texts: Vec<String> = restored.added.iter().map(Item::text).collect();
    assert!(texts[0].contains("may have run or not"));
    assert!(
        texts[1..]
            .iter()
            .all(|t| t.contains("before this call was run"))
    );
    all.push(question_line(None));
    assert_eq!(restore(&all).asked, None);
    all.pop();
    all.extend(lines(&[result("c1")]));
    assert_eq!(restore(&all).asked, None);
}

#[test]
fn the_news_of_all_steps_make_up_what_is_known_of_files() {
    let path = Path::new("/w/a.txt");
    let mut known = crate::tools::FileMemory::default();
    let mut stored = Vec::new();
    known.read(path, b"one", Some((1, 1)));
    stored.extend(known.news().map(|news| line("files", news)));
    known.read(Path::new("/w/b.txt"), b"two", None);
    stored.extend(known.news().map(|news| line("files", news)));
    assert_eq!(stored.len(), 2);
    let restored = restore(&stored).files;
    assert_eq!(
        restored.files().collect::<Vec<_>>(),
        known.files().collect::<Vec<_>>()
    );
    assert_eq!(
        restored.standing(path, b"one"),
        known.standing(path, b"one")
    );
    assert_ne!(
        restored.standing(path, b"two"),
        known.standing(path, b"one")
    );
}
