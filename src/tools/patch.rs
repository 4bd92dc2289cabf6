//! Patches in the Codex format or as unified diffs: several files, all or nothing.

mod names;
mod parse;
mod place;
mod unified;
mod update;

use super::Workbench;
use super::action::{ChangeKind, FileChange, Outcome, Pass, PatchForm, ToolError};
use super::files::{Knows, changed};
use super::memory::Standing;
use super::text::{LIMIT, Text};
use crate::sandbox::Lift;
use parse::{Chunk, Deed, Line, Section};
use std::path::{Path, PathBuf};
use update::update;

/// The sections of a patch. Models mix the two forms up, so that a text in the other one is read as
/// that.
fn read(text: &str, form: PatchForm) -> Result<Vec<Section>, ToolError> {
    let codex = match form {
        PatchForm::Codex => parse::is_codex(text) || !unified::is_unified(text),
        PatchForm::Unified => parse::is_codex(text),
    };
    match codex {
        true => parse::parse(text),
        false => unified::parse(text),
    }
}

/// The paths that a patch touches, as written: of each section, then where it moves to. For the
/// decision whether the patch may be applied; one that cannot be read touches nothing.
pub fn touched(text: &str, form: PatchForm) -> Result<Vec<String>, ToolError> {
    let mut paths = Vec::new();
    for section in read(text, form)? {
        paths.push(section.path);
        if let Deed::Update {
            move_to: Some(to), ..
        } = section.deed
        {
            paths.push(to);
        }
    }
    Ok(paths)
}

/// One file as the sections read so far leave it.
struct Planned {
    path: PathBuf,
    shown: String,
    /// Its bytes on the disk; `None`: no file.
    before: Option<Vec<u8>>,
    /// Its bytes after the patch; `None`: no file.
    after: Option<Vec<u8>>,
    moved_to: Option<(PathBuf, String)>,
    places: usize,
    pass: Option<Pass>,
    knows: Knows,
}

/// One write to the disk.
#[derive(Clone, Copy)]
struct Write<'a> {
    path: &'a Path,
    shown: &'a str,
    moved_to: Option<&'a Path>,
    before: Option<&'a [u8]>,
    after: Option<&'a [u8]>,
    knows: Knows,
}

impl Workbench {
    pub(super) fn patch(
        &mut self,
        text: &str,
        form: PatchForm,
        dir: Option<&str>,
        lift: &Lift,
    ) -> Result<Outcome, ToolError> {
        let mut plan: Vec<Planned> = Vec::new();
        for section in read(text, form)? {
            self.plan(section, dir, lift, &mut plan)?;
        }
        let writes: Vec<Write> = plan.iter().flat_map(Planned::writes).collect();
        for (index, write) in writes.iter().enumerate() {
            if let (Some(to), Some(_)) = (write.moved_to, write.before) {
                let _ = self.setup.gate.copy_mode(write.path, to);
            }
            let put = self.put(
                write.path,
                write.shown,
                write.before,
                write.after,
                write.knows,
            );
            if let Err(error) = put {
                // Best effort: the disk that refused one file may refuse to restore another.
                for write in writes[..index].iter().rev() {
                    let (now, back) = (write.after, write.before);
                    let _ = self.put(write.path, write.shown, now, back, Knows::Part);
                }
                return Err(error);
            }
        }
        for write in writes {
            let before = write.before.map(<[u8]>::to_vec);
            self.undo.push(write.path, before, write.after);
        }
        Ok(Outcome::Changed(
            plan.into_iter().map(Planned::into_change).collect(),
        ))
    }

    /// Checks one section against the disk and the sections before it; changes nothing.
    fn plan(
        &self,
        section: Section,
        dir: Option<&str>,
        lift: &Lift,
        plan: &mut Vec<Planned>,
    ) -> Result<(), ToolError> {
        let section = self.meant_section(section, dir, plan);
        let shown = section.path;
        let path = self
            .writable(&within(dir, &shown), lift)
            .map_err(|e| renamed(e, &shown))?;
        let index = match plan.iter().position(|f| f.place() == path) {
            Some(index) => index,
            None => {
                let before = self
                    .load(&path, &shown, LIMIT)
                    .map_err(|e| renamed(e, &shown))?;
                plan.push(Planned {
                    path: path.clone(),
                    shown: shown.clone(),
                    after: before.clone(),
                    before,
                    moved_to: None,
                    places: 0,
                    pass: None,
                    knows: Knows::Part,
                });
                plan.len() - 1
            }
        };
        match section.deed {
            Deed::Add(content) => {
                let file = &mut plan[index];
                if let Some(now) = &file.after
                    && !now.is_empty()
                    && self.memory.standing(&path, now) != Standing::Unchanged
                {
                    return Err(ToolError::Exists { path: shown });
                }
                file.after = Some(content.into_bytes());
                file.places += 1;
                file.knows = Knows::All;
            }
            Deed::Delete => {
                let file = &mut plan[index];
                let Some(now) = file.after.take() else {
                    return Err(self.missing(&shown));
                };
                self.check_seen(&path, &shown, &now, false)?;
                file.places += 1;
            }
            Deed::Update { move_to, chunks } => {
                if let Some(to) = move_to {
                    let target = self
                        .writable(&within(dir, &to), lift)
                        .map_err(|e| renamed(e, &to))?;
                    if target != path {
                        let taken = match plan.iter().find(|f| f.place() == target) {
                            Some(file) => file.after.is_some(),
                            None => self.load(&target, &to, LIMIT)?.is_some(),
                        };
                        if taken {
                            return Err(ToolError::Exists { path: to });
                        }
                        plan[index].moved_to = Some((target, to));
                    }
                }
                let file = &mut plan[index];
                let Some(now) = &file.after else {
                    return Err(self.missing(&shown));
                };
                let old = Text::decode(now).ok_or_else(|| ToolError::Binary {
                    path: shown.clone(),
                })?;
                let (text, pass) = update(&old.lf, &chunks, &shown, &path)?;
                if text == old.lf && file.moved_to.is_none() {
                    return Err(ToolError::Identical { path: shown });
                }
                file.after = Some(old.encode(&text));
                file.places += chunks.len();
                file.pass = file.pass.or(pass);
            }
        }
        Ok(())
    }
}

impl Workbench {
    /// A section as it must be meant: a change of a file that was moved already is of the file in
    /// its new place, and one that only adds lines at the top of no file makes it.
    fn meant_section(&self, section: Section, dir: Option<&str>, plan: &[Planned]) -> Section {
        let stands = |shown: &str| {
            let spelled = self.spelled(&within(dir, shown));
            let path = self.setup.gate.absolute(&spelled);
            match plan.iter().find(|f| f.place() == path || f.path == path) {
                Some(file) => file.place() == path && file.after.is_some(),
                None => path.exists(),
            }
        };
        let Section { path, deed } = section;
        match deed {
            Deed::Update {
                move_to: Some(to),
                chunks,
            } if !chunks.is_empty() && !stands(&path) && stands(&to) => Section {
                path: to,
                deed: Deed::Update {
                    move_to: None,
                    chunks,
                },
            },
            Deed::Update {
                move_to: None,
                chunks,
            } if !stands(&path) => Section {
                path,
                deed: match new_content(&chunks) {
                    Some(content) => Deed::Add(content),
                    None => Deed::Update {
                        move_to: None,
                        chunks,
                    },
                },
            },
            deed => Section { path, deed },
        }
    }
}

/// The lines of a change that says of itself that nothing was there.
fn new_content(chunks: &[Chunk]) -> Option<String> {
    let [chunk] = chunks else {
        return None;
    };
    let lines = chunk.lines.iter().map(|line| match line {
        Line::Add(text) => Some(text.as_str()),
        _ => None,
    });
    let lines: Vec<&str> = lines.collect::<Option<_>>()?;
    let end = if chunk.ends == Some(false) { "" } else { "\n" };
    (chunk.line == Some(1)).then(|| lines.join("\n") + end)
}

impl Planned {
    /// Where the file is after the sections so far.
    fn place(&self) -> &Path {
        self.moved_to.as_ref().map_or(&self.path, |(to, _)| to)
    }

    /// What is to be written.
    fn writes(&self) -> Vec<Write<'_>> {
        let whole = Write {
            path: &self.path,
            shown: &self.shown,
            moved_to: self.moved_to.as_ref().map(|(to, _)| to.as_path()),
            before: self.before.as_deref(),
            after: self.after.as_deref(),
            knows: self.knows,
        };
        match whole.moved_to {
            // First the new place, so that a failure in between loses nothing.
            Some(path) if whole.after.is_some() => {
                let new = Write {
                    path,
                    before: None,
                    moved_to: None,
                    ..whole
                };
                let old = Write {
                    after: None,
                    ..whole
                };
                [Some(new), whole.before.map(|_| old)]
                    .into_iter()
                    .flatten()
                    .collect()
            }
            _ if whole.before == whole.after => Vec::new(),
            _ => vec![whole],
        }
    }

    fn into_change(self) -> FileChange {
        let lf = |bytes: &Option<Vec<u8>>| bytes.as_deref().and_then(Text::decode).map(|t| t.lf);
        let kind = match (&self.before, &self.after) {
            (None, _) => ChangeKind::Add,
            (_, None) => ChangeKind::Delete,
            _ => ChangeKind::Update,
        };
        let (before, after) = (lf(&self.before), lf(&self.after));
        let mut change = changed(
            self.path,
            &self.shown,
            kind,
            before,
            after,
            self.places,
            self.pass,
        );
        change.moved_to = self.moved_to;
        change
    }
}

/// A path of a patch that was sent after `cd dir`.
fn within(dir: Option<&str>, path: &str) -> String {
    match dir {
        Some(dir) if !Path::new(path).is_absolute() && !path.starts_with('~') => {
            format!("{}/{path}", dir.trim_end_matches('/'))
        }
        _ => path.into(),
    }
}

/// The same error with the path as the model wrote it.
fn renamed(error: ToolError, shown: &str) -> ToolError {
    match error {
        ToolError::Denied { why, .. } => ToolError::Denied {
            path: shown.into(),
            why,
        },
        error => error,
    }
}

/// The text of a file after every update section of a patch, wherever it says that file is: for tests.
///
/// # Errors
/// What a model would be told.
#[doc(hidden)]
pub fn apply_to(file: &str, patch: &str, form: PatchForm) -> Result<String, ToolError> {
    let mut text = file.to_string();
    for section in read(patch, form)? {
        if let Deed::Update { chunks, .. } = section.deed {
            text = update(&text, &chunks, &section.path, Path::new("f"))?.0;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
