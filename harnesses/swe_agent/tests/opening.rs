//! How a session begins, and words of the program.

use super::*;

/// "Messages": the task in `<pr_description>` after the uploaded files; AGENTS.md last.
#[test]
fn the_first_message_is_in_order() {
    let mut cx = context(Size::Full);
    cx.instructions = instructions();
    let start = SweAgent.begin(&cx);
    assert!(start.opening.is_empty());
    let mut state = start.state.clone();
    let text = SweAgent.user(&mut state, &Input::text("Fix {cwd}."))[0].text();
    assert_eq!(SweAgent.spoken(&start, &text), "Fix {cwd}.");
    let places: Vec<Option<usize>> = [
        "<uploaded_files>\n/home/ada/projects/shop\n</uploaded_files>\n",
        "<pr_description>\nFix {cwd}.\n</pr_description>\n",
        "1. ",
        "5. ",
        "Be kind.",
        "Use tabs.",
    ]
    .iter()
    .map(|part| text.find(part))
    .collect();
    assert_eq!(places[0], Some(0));
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{text}"
    );
    let mut state = self::state(Size::Compact);
    state.notes.clear();
    assert_eq!(
        SweAgent.user(&mut state, &Input::text("More.")),
        [Item::user("More.")]
    );
}
