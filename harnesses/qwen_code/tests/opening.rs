//! How a session begins, and words of the program.

use super::*;

/// Environment, acknowledgement; context files at the end of the system prompt.
#[test]
fn the_opening_is_in_order() {
    let mut cx = context(Size::Full);
    cx.instructions = instructions();
    let start = QwenCode.begin(&cx);
    assert!(start.system.ends_with(
        "\n\n---\n\n--- Context from: ~/x/AGENTS.md ---\nBe kind.\n--- End of Context from: ~/x/AGENTS.md ---\n\n--- Context from: AGENTS.md ---\nUse tabs.\n--- End of Context from: AGENTS.md ---"
    ));
    let [Item::User { .. }, Item::Assistant(ack)] = start.opening.as_slice() else {
        panic!("{:?}", start.opening)
    };
    assert!(!ack.text.is_empty() && ack.calls.is_empty());
    assert!(
        start.opening[0]
            .text()
            .ends_with("It holds:\n├───README.md\n├───setup.py\n├───src/\n└───tests/")
    );
    cx.tree = (0..40).map(|n| (format!("f{n}"), false)).collect();
    let text = QwenCode.begin(&cx).opening[0].text();
    assert_eq!(text.matches("├───f").count(), 20);
    assert!(text.ends_with("└───..."));
    cx.instructions = Instructions::default();
    assert!(!QwenCode.begin(&cx).system.contains("---\n"));
}

/// The notation of the example follows the model; its parameters are the real ones.
#[test]
fn examples_speak_the_models_notation() {
    for (model, notation) in [
        ("qwen3-coder:30b", Notation::Xml),
        ("Qwen/Qwen3-Coder-30B-A3B", Notation::Xml),
        ("qwen2.5-coder:1.5b", Notation::Json),
        ("qwen2.5-vl:7b", Notation::Json),
        ("qwen3:8b", Notation::General),
        ("gpt-oss", Notation::General),
    ] {
        assert_eq!(Notation::of(model), notation, "{model}");
    }
    let system = QwenCode.begin(&context(Size::Full)).system;
    assert!(system.contains("<tool_call>\n<function=edit>\n<parameter=file_path>\n"));
    assert!(
        !QwenCode
            .begin(&context(Size::Compact))
            .system
            .contains("<tool_call>")
    );
}

/// Reminders are tagged.
#[test]
fn notices_are_reminders() {
    let ended = Notice::JobEnded {
        file: None,
        id: 2,
        command: "serve".into(),
        code: Some(1),
    };
    assert_eq!(
        QwenCode.notice(&mut State::default(), &ended),
        [Item::user(
            "<system-reminder>\nThe background command bg_00000002 (`serve`) ended with exit code 1.\n</system-reminder>"
        )]
    );
}
