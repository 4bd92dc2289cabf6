//! How a session begins, and words of the program.

use super::*;

/// Facts, 3: base prompt, `<env>`, then the instruction files by their absolute paths.
#[test]
fn the_system_prompt_is_in_order() {
    let mut cx = context(Size::Full);
    cx.instructions = instructions();
    let system = Opencode.begin(&cx).system;
    assert!(system.contains(
        "\n<env>\n  Working directory: /home/ada/projects/shop\n  Workspace root folder: /home/ada/projects/shop\n  Is directory a git repo: yes\n  Platform: Linux 6.8.0\n  Today's date: 2025-03-01\n</env>\nInstructions from: /home/ada/x/AGENTS.md\nBe kind.\nInstructions from: /home/ada/projects/shop/AGENTS.md\nUse tabs."
    ));
}

/// Facts, `tool_sets`: what a nested agent has.
#[test]
fn nested_agents_have_their_roles() {
    let cx = Context {
        depth: 1,
        ..context(Size::Full)
    };
    let names = |role| -> Vec<String> {
        let tools = Opencode.child(role, &cx).tools;
        tools.into_iter().map(|tool| tool.name).collect()
    };
    assert_eq!(names("explore"), ["bash", "glob", "grep", "read"]);
    assert!(names("general").contains(&"edit".into()));
    assert!(!names("general").contains(&"task".into()));
    let explore = Opencode.child("explore", &cx).system;
    assert!(explore.starts_with("You search a code base") && explore.contains("<env>"));
    assert!(!explore.contains("# Tone"));
    let general = Opencode.child("general", &cx).system;
    assert!(general.contains("your last message"));
}

/// Facts, 3: reminders are tagged.
#[test]
fn notices_are_reminders() {
    let items = Opencode.notice(&mut State::default(), &Notice::Planning(true));
    let text = items[0].text();
    assert!(text.starts_with("<system-reminder>\n") && text.ends_with("\n</system-reminder>"));
}

/// Facts, 7: the headings of a summary.
#[test]
fn a_summary_has_its_headings() {
    let ask = Opencode.compact(&context(Size::Full)).ask;
    for heading in [
        "Objective",
        "Important Details",
        "Work State",
        "Completed",
        "Active",
        "Blocked",
        "Next Move",
        "Relevant Files",
    ] {
        assert!(ask.contains(&format!("# {heading}\n")), "{heading}");
    }
}
