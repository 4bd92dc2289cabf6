use super::tests::{BASH, READ, edit_xml};
use super::{Holdback, Repeats};
use crate::model::Delta;
use crate::model::arguments::tests::tools;

/// What is shown of a text that is fed in pieces of `size` bytes, and what is held at its end.
pub(super) fn shown(text: &str, size: usize) -> (String, String) {
    let mut hold = Holdback::new(&tools());
    let mut out = String::new();
    let mut piece = String::new();
    for c in text.chars() {
        piece.push(c);
        if piece.len() >= size {
            out.push_str(&hold.push(&piece));
            piece.clear();
        }
    }
    out.push_str(&hold.push(&piece));
    (out, hold.finish())
}

#[test]
fn markup_is_never_shown_while_it_may_be_a_call() {
    for (text, visible) in [
        (format!("<tool_call>\n{READ}\n</tool_call>"), ""),
        (
            format!("I read it.\n<tool_call>\n{READ}\n</tool_call>\n<tool_call>{READ}"),
            "I read it.\n",
        ),
        (edit_xml("a < b\n</parameter>\n}}"), ""),
        (
            format!("Now: {}", edit_xml("y").replace("<tool_call>\n", "")),
            "Now: ",
        ),
        (
            format!("I create it:\n\n```json\n{BASH}\n```\n"),
            "I create it:\n\n",
        ),
        (
            format!("A:\n```json\n{BASH}\n```\nThen:\n```json\n{BASH}\n```"),
            "A:\n",
        ),
        (BASH.to_owned(), ""),
        (format!("<think>plan {READ}</think>\n\nok\n{READ}"), "ok\n"),
    ] {
        for size in 1..40 {
            assert_eq!(shown(&text, size).0, visible, "pieces of {size}: {text}");
        }
    }
}

#[test]
fn text_comes_through_whole() {
    for text in [
        "Plain words, a < b, x[1], {y}, `code`.\n- [ ] item\n[link](x)\n".to_owned(),
        "```python\nd = {\"name\": 1}\n<tool_call>\n```\nDone.".into(),
        "The `<tool_call>` tag.\n<table><tr></table>\n#include <functional>".into(),
        format!(
            "```json\n{BASH}\n```\nThis is an example. It is not run. So there is more text here, \nwith lines."
        ),
        "{\"name\": \"x\"}\n".into(),
        "fn main() {\n}\n{\n  a\n}\n".into(),
        "ünï <tool \u{1F600} <|im\n```".into(),
        "```json\n[1, 2]\n```".into(),
    ] {
        for size in 1..40 {
            let (out, held) = shown(&text, size);
            assert_eq!(out + &held, text, "pieces of {size}");
        }
    }
    // And without delay where it cannot be a call.
    assert_eq!(shown("```python\nx = {", 1).0, "```python\nx = {");
    let fence = format!("```json\n{BASH}\n```\n");
    let long = format!("{fence}It does this. It does that. And it does more.");
    assert_eq!(shown(&long, 1).0, long);
    let mut hold = Holdback::new(&[]);
    assert_eq!(hold.push(READ), READ);
}

#[test]
fn copies_are_counted_as_they_stream() {
    let tools = tools();
    let count = |text: &str| {
        let mut repeats = Repeats::new(&tools);
        let counts = text.chars().map(|c| repeats.push(&Delta::Text(c.into())));
        counts.max().unwrap_or(0)
    };
    let fence = format!("```json\n{BASH}\n```\n");
    assert_eq!(count(&format!("I do it:\n{fence}{fence}{fence}")), 3);
    assert_eq!(
        count(&format!("<tool_call>\n{READ}\n</tool_call>\n").repeat(4)),
        4
    );
    assert_eq!(count(&edit_xml("a { b\n").repeat(3)), 3);
    assert_eq!(
        count(&format!("{fence}{}", fence.replace("made", "other"))),
        1
    );
    assert_eq!(count("{\"a\": 1}\n{\"a\": 1}\n{\"a\": 1}"), 0);
    let mut repeats = Repeats::new(&tools);
    let mut last = 0;
    for index in 0..3 {
        repeats.push(&Delta::CallStart {
            index,
            name: "bash".into(),
        });
        repeats.push(&Delta::CallArguments {
            index,
            text: "{\"command\":".into(),
        });
        last = repeats.push(&Delta::CallArguments {
            index,
            text: "\"ls\"}".into(),
        });
    }
    assert_eq!(last, 3);
}
