//! Changes of files, by the place that each of them is at.

use super::super::paths::{self, Place};
use super::{Judge, Question};
use crate::sandbox::{Approval, Lift, Mode};
use std::path::{Path, PathBuf};

impl Judge {
    /// `Err` is a refusal whatever the approval policy.
    pub(super) fn about_change(&self, touched: &[PathBuf]) -> Result<Option<Question>, String> {
        let each_asks = || {
            (self.approval == Approval::Untrusted).then(|| {
                Question::untrusted(
                    "Every change of a file is asked about under the approval policy `untrusted`.",
                )
            })
        };
        if self.policy.mode == Mode::DangerFullAccess {
            return Ok(each_asks());
        }
        let mut folders = Vec::new();
        let mut git = false;
        let mut why = None;
        for path in touched {
            let shown = path.display();
            match paths::place(path, &self.policy, &self.writable) {
                Place::Writable => {}
                Place::Ours => {
                    return Err(format!(
                        "{shown} belongs to this program itself and cannot be changed in a session; leave it as it is."
                    ));
                }
                Place::Git => {
                    git = true;
                    why.get_or_insert_with(|| format!("{shown} is protected, because what is in `.git` can make programs run code"));
                }
                Place::Protected(folder) => {
                    why.get_or_insert_with(|| format!("{shown} is protected, because what is in {} can make programs run code", folder.display()));
                    folders.push(folder);
                }
                Place::Outside => {
                    why.get_or_insert_with(|| match self.policy.mode {
                        Mode::ReadOnly => {
                            format!("{shown} cannot be written in the sandbox mode `read-only`")
                        }
                        _ => format!("{shown} is outside of the workspace"),
                    });
                    folders.extend(path.parent().map(Path::to_owned));
                }
            }
        }
        let Some(why) = why else {
            return Ok(each_asks());
        };
        let lift = match (git, paths::common(&folders, &self.policy.roots)) {
            (true, _) if folders.is_empty() => Lift::Git,
            (false, Some(folder)) => Lift::Folder(folder),
            _ if self.approval == Approval::Never => Lift::Nothing,
            _ => {
                return Err(format!(
                    "{why}, and so are other files of this change, in other folders; one approval covers one folder, so send a change for each."
                ));
            }
        };
        Ok(Some(Question {
            ask: format!("{why}."),
            refuse: format!(
                "{why}, and under the approval policy `never` nobody is asked. Write inside the workspace instead, or say in your answer what is left to do."
            ),
            lift,
        }))
    }
}
