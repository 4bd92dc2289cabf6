//! The edit tool with one replacement, for the agents that have it.

use super::args::{Args, always, object, unless};
use crate::harnesses::CallError;
use crate::tools::action::{Action, Base, Pass, Replace, Unique};
use serde_json::Value;

/// How an edit tool of an agent is called.
#[derive(Debug, Clone, Copy)]
pub struct EditTool {
    /// The argument with the file.
    pub path: &'static str,
    /// That with the text that stands there.
    pub old: &'static str,
    /// That with the text that shall stand there.
    pub new: &'static str,
    /// That which replaces every place.
    pub all: &'static str,
    /// The file must have been read, and be unchanged since.
    pub read_first: bool,
    /// An empty old text makes a file that does not exist.
    pub may_create: bool,
}

/// The names that most agents have.
pub const SNAKE: EditTool = EditTool {
    path: "file_path",
    old: "old_string",
    new: "new_string",
    all: "replace_all",
    read_first: true,
    may_create: true,
};

impl EditTool {
    /// What a call asks for.
    ///
    /// # Errors
    /// What is wrong with it, for the model.
    pub fn action(&self, args: &Args) -> Result<Action, CallError> {
        Ok(Action::Edit {
            path: args.need_filled(self.path)?,
            edits: vec![Replace {
                old: args.need(self.old)?,
                new: args.need(self.new)?,
            }],
            base: Base::Original,
            unique: match args.flag(self.all) {
                Some(true) => Unique::All,
                _ => Unique::Require,
            },
            passes: Pass::ALL.to_vec(),
            read_first: self.read_first,
            may_create: self.may_create,
        })
    }

    /// The arguments of the call that asks for this; `None` for anything but one replacement.
    pub fn write(&self, action: &Action) -> Option<Value> {
        let Action::Edit {
            path,
            edits,
            unique,
            ..
        } = action
        else {
            return None;
        };
        let [edit] = edits.as_slice() else {
            return None;
        };
        Some(object([
            (self.path, always(path.as_str())),
            (self.old, always(edit.old.as_str())),
            (self.new, always(edit.new.as_str())),
            (self.all, unless(false, *unique == Unique::All)),
        ]))
    }
}
