//! What turns changed, as it can be shown.

use super::manifest::{Change, State};
use super::objects::Content;
use super::{Undo, restore, scan};
use crate::project::compare::{Compared, Side};

impl Undo {
    /// The latest turn whose changes stand, and these as they can be shown.
    pub fn last_turn(&mut self) -> Option<(usize, Vec<Compared>)> {
        let at = self.journal.last(None)?;
        let turn = self.journal.turns.get(at)?;
        let number = turn.number;
        let changes: Vec<Change> = turn
            .changes
            .iter()
            .filter(|c| !c.is_undone)
            .cloned()
            .collect();
        let all = changes
            .iter()
            .flat_map(|c| [c.before.as_ref(), c.after.as_ref()]);
        let contents = restore::contents(all, &mut self.objects);
        let show = |c: &Change| diff_of(c, side(c.after.as_ref(), &contents), &contents);
        Some((number, changes.iter().filter_map(show).collect()))
    }

    /// What all turns changed and the disk still shows, for a folder without git.
    pub fn since_the_beginning(&mut self) -> Vec<Compared> {
        let mut first: std::collections::BTreeMap<String, Change> = Default::default();
        for change in self.journal.turns.iter().flat_map(|t| &t.changes) {
            first.entry(change.path.clone()).or_insert(change.clone());
        }
        let contents =
            restore::contents(first.values().map(|c| c.before.as_ref()), &mut self.objects);
        let show = |c: &Change| {
            let path = self.root.join(&c.path);
            let after = Change {
                after: scan::state_of(&path),
                ..c.clone()
            };
            let diff = diff_of(&after, Side::now(&path), &contents)?;
            (diff.before != diff.after || diff.modes.is_some()).then_some(diff)
        };
        first.values().filter_map(show).collect()
    }
}

type Contents = std::collections::HashMap<Content, Vec<u8>>;

/// A change as it is shown; `None` for one of folders alone.
fn diff_of(change: &Change, after: Side, contents: &Contents) -> Option<Compared> {
    let before = side(change.before.as_ref(), contents);
    let is_plain = |side: &Side| matches!(side, Side::Nothing | Side::Folder);
    let mode = |state: &Option<State>| match state {
        Some(State::File { mode, .. }) => Some(*mode),
        _ => None,
    };
    let modes = mode(&change.before).zip(mode(&change.after));
    (!is_plain(&before) || !is_plain(&after)).then(|| Compared {
        path: change.path.clone(),
        before,
        after,
        modes: modes.filter(|(was, is)| was != is),
    })
}

pub(super) fn side(state: Option<&State>, contents: &Contents) -> Side {
    match state {
        None => Side::Nothing,
        Some(State::Folder) => Side::Folder,
        Some(State::Link(to)) => Side::Link(to.clone()),
        Some(State::Unkept { why, .. }) => Side::Unknown(why.words()),
        Some(State::File { content, .. }) => match contents.get(content) {
            Some(bytes) => Side::File(bytes.clone()),
            None => Side::Unknown("its content is gone"),
        },
    }
}
