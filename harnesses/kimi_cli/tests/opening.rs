//! How a session begins, and words of the program.

use super::*;

/// facts: Placement: AGENTS.md between nine backticks.
#[test]
fn the_opening_is_in_order() {
    let mut cx = context(Size::Full);
    cx.instructions = instructions();
    let start = KimiCli.begin(&cx);
    assert!(start.opening.is_empty());
    assert!(start.system.contains(
        "\n\n`````````\n<!-- From: /home/ada/x/AGENTS.md -->\nBe kind.\n\n<!-- From: /home/ada/projects/shop/AGENTS.md -->\nUse tabs.\n`````````\n\n# Ultimate Reminders\n"
    ));
    let mut state = start.state;
    assert_eq!(
        KimiCli.user(&mut state, &Input::text("Go.")),
        [Item::user("Go.")]
    );
}
