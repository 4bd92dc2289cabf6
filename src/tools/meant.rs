//! Paths as models write them: with `@` before, a line behind, or below a root that only exists in
//! the container of their training.

use super::Workbench;
use super::action::{Action, CellEdit, Glob, Grep, Read};
use std::path::Path;

/// First folders of absolute paths that models make up for the project.
const INVENTED_ROOTS: [&str; 3] = ["/workspace/", "/repo/", "/app/"];

/// A path without its line numbers, and these: the first line and how many.
type Lines = Option<(usize, usize)>;

impl Workbench {
    /// The action with the path that exists, where the one that was written does not and differs
    /// from it only by such an addition.
    pub fn meant(&self, mut action: Action) -> Action {
        let path = match &mut action {
            Action::Read(Read { path, .. })
            | Action::Write { path, .. }
            | Action::Edit { path, .. }
            | Action::Insert { path, .. }
            | Action::EditCell(CellEdit { path, .. })
            | Action::List { path, .. }
            | Action::ViewImage { path } => path,
            Action::Glob(Glob {
                path: Some(path), ..
            })
            | Action::Grep(Grep {
                path: Some(path), ..
            }) => path,
            _ => return action,
        };
        let Some((meant, span)) = self.instead_of(path) else {
            return action;
        };
        *path = meant;
        if let (Action::Read(read), Some((from, count))) = (&mut action, span)
            && read.first <= 1
            && !read.from_end
        {
            let most = read.lines.unwrap_or(count);
            (read.first, read.lines) = (from, Some(count.min(most)));
        }
        action
    }

    fn instead_of(&self, written: &str) -> Option<(String, Lines)> {
        let exists = |path: &str| self.setup.gate.absolute(&self.spelled(path)).exists();
        if written.is_empty() || exists(written) {
            return None;
        }
        let plain = written.strip_prefix('@').unwrap_or(written);
        let (bare, lines) = without_lines(plain);
        let below = |path: &str| {
            let root = INVENTED_ROOTS.iter().find(|r| path.starts_with(**r))?;
            let rest = path.get(root.len()..).filter(|rest| !rest.is_empty())?;
            Some(self.setup.cwd.join(Path::new(rest)).display().to_string())
        };
        let tries = [
            Some((plain.to_owned(), None)),
            Some((bare.to_owned(), lines)),
            below(plain).map(|path| (path, None)),
            below(bare).map(|path| (path, lines)),
        ];
        let differs = |path: &str| !path.is_empty() && path != written;
        tries
            .into_iter()
            .flatten()
            .find(|(path, _)| differs(path) && exists(path))
    }
}

/// Splits `a.rs:12`, `a.rs:12-40` and `a.rs:`.
fn without_lines(path: &str) -> (&str, Lines) {
    let Some((bare, lines)) = path.rsplit_once(':') else {
        return (path, None);
    };
    if lines.is_empty() {
        return (bare, None);
    }
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    match (first.parse::<usize>(), last.parse::<usize>()) {
        (Ok(first), Ok(last)) if first > 0 && last >= first => {
            (bare, Some((first, last - first + 1)))
        }
        _ => (path, None),
    }
}
