//! Replacing text in one file.

use super::Workbench;
use super::action::{Base, ChangeKind, Outcome, Pass, Replace, ToolError, Unique};
use super::files::{Knows, changed};
use super::matching::{self, Matches};
use super::memory::Standing;
use super::text::{LIMIT, Text, to_lf};
use crate::sandbox::Lift;
use std::ops::Range;

/// The replacements of one action and how they are meant.
pub(super) struct Edit<'a> {
    pub edits: &'a [Replace],
    pub base: Base,
    pub unique: Unique,
    pub passes: &'a [Pass],
    pub may_create: bool,
}

/// What replacements made of a text.
#[derive(Debug, PartialEq)]
struct Edited {
    text: String,
    places: usize,
    pass: Option<Pass>,
    /// Some replacement had the choice between several places.
    chose: bool,
}

impl Workbench {
    pub(super) fn edit(
        &mut self,
        shown: &str,
        edit: &Edit,
        read_first: bool,
        lift: &Lift,
    ) -> Result<Outcome, ToolError> {
        let Some(one) = edit.edits.first() else {
            return Err(ToolError::Other(format!(
                "{shown} was not changed: the edit holds no replacement; send at least one"
            )));
        };
        let path = self.writable(shown, lift)?;
        let Some(bytes) = self.load(&path, shown, LIMIT)? else {
            if !(edit.may_create && one.old.is_empty() && edit.edits.len() == 1) {
                return Err(self.missing(shown));
            }
            let after = Some(one.new.as_bytes().to_vec());
            let change = self.change(path, shown, None, after, Knows::All)?;
            return Ok(Outcome::Changed(vec![change]));
        };
        let old = Text::decode(&bytes).ok_or_else(|| ToolError::Binary { path: shown.into() })?;
        let standing = self.memory.standing(&path, &bytes);
        if read_first {
            self.check_seen(&path, shown, &bytes, !bytes.is_empty())?;
        }
        let edited = edit.apply(&old.lf, shown)?;
        if standing == Standing::Changed && edited.chose {
            return Err(ToolError::ChangedSince { path: shown.into() });
        }
        let encoded = old.encode(&edited.text);
        self.change(path.clone(), shown, Some(bytes), Some(encoded), Knows::Part)?;
        Ok(Outcome::Changed(vec![changed(
            path,
            shown,
            ChangeKind::Update,
            Some(old.lf),
            Some(edited.text),
            edited.places,
            edited.pass,
        )]))
    }
}

impl Edit<'_> {
    fn apply(&self, text: &str, shown: &str) -> Result<Edited, ToolError> {
        let mut out = Edited {
            text: text.into(),
            places: 0,
            pass: None,
            chose: false,
        };
        // For `Base::Original`: every place with its new text, and which replacement it is of.
        let mut all: Vec<(Range<usize>, String, usize)> = Vec::new();
        for (index, one) in self.edits.iter().enumerate() {
            let base = match self.base {
                Base::Original => text,
                Base::Evolving => &out.text,
            };
            let found = self.find(base, one, index, shown)?;
            out.chose |= found.places.len() > 1;
            out.pass = out.pass.or(found.pass);
            let taken = match self.unique {
                Unique::All => found.places.len(),
                Unique::Require | Unique::First => 1,
            };
            let places = found.places.into_iter().take(taken);
            out.places += taken;
            match self.base {
                Base::Original => all.extend(places.map(|p| (p, found.new.clone(), index))),
                Base::Evolving => out.text = replace(base, places.map(|p| (p, found.new.as_str()))),
            }
        }
        if self.base == Base::Original {
            all.sort_by_key(|(place, _, _)| (place.start, place.end));
            if let Some(pair) = all.windows(2).find(|p| p[0].0.end > p[1].0.start) {
                let (a, b) = (pair[0].2 + 1, pair[1].2 + 1);
                return Err(ToolError::Other(format!(
                    "{shown} was not changed: replacements {a} and {b} touch the same text; send them as one"
                )));
            }
            out.text = replace(
                text,
                all.iter().map(|(p, new, _)| (p.clone(), new.as_str())),
            );
        }
        if out.text == text {
            return Err(ToolError::Identical { path: shown.into() });
        }
        Ok(out)
    }

    /// The places of one replacement: at least one, and only one where that is required.
    fn find(
        &self,
        text: &str,
        one: &Replace,
        index: usize,
        shown: &str,
    ) -> Result<Matches, ToolError> {
        let (old, new) = (to_lf(&one.old), to_lf(&one.new));
        if old.is_empty() {
            return if text.is_empty() {
                Ok(Matches {
                    places: std::iter::once(0..0).collect(),
                    new,
                    pass: None,
                })
            } else if self.may_create {
                Err(ToolError::Exists { path: shown.into() })
            } else {
                Err(ToolError::Other(format!(
                    "{shown} was not changed: the text to replace is empty; send the lines that stand there now"
                )))
            };
        }
        if old == new {
            return Err(ToolError::Identical { path: shown.into() });
        }
        let found = matching::find(text, &old, &new, self.passes);
        if found.places.is_empty() {
            return Err(ToolError::NoMatch {
                path: shown.into(),
                index,
                near: matching::near(text, &old),
            });
        }
        let must = self.unique == Unique::Require || found.must_be_unique();
        if must && found.places.len() > 1 {
            return Err(ToolError::Ambiguous {
                path: shown.into(),
                index,
                lines: found.lines(text),
            });
        }
        Ok(found)
    }
}

/// The text with other texts in some places, which are in order and do not overlap.
fn replace<'a>(text: &str, places: impl Iterator<Item = (Range<usize>, &'a str)>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (place, new) in places {
        out.push_str(&text[at..place.start]);
        out.push_str(new);
        at = place.end;
    }
    out + &text[at..]
}
