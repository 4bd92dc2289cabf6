//! `[[skills.config]]`: whether a skill is on.

use super::{comments_at_the_end, rewrite};
use crate::config::ConfigError;
use std::path::Path;
use toml::{Table, Value};

/// Turns a skill on or off in a config file: its row of `[[skills.config]]`, by the path of its
/// `SKILL.md`, is taken out, and one is written where the skill would be in the other state without.
///
/// # Errors
/// As of [`set`](super::set).
pub fn set_skill(path: &Path, file: &Path, name: &str, on: bool) -> Result<(), ConfigError> {
    let row = format!(
        "[[skills.config]]\npath = {}\nenabled = {on}\n",
        Value::from(file.to_string_lossy().into_owned())
    );
    let change = |text: &str| changed(text, file, name, on, &row);
    rewrite(path, change, &format!("add these lines by hand:\n{row}"))
}

/// The text with the skill in that state; `None` when that would change anything else.
fn changed(text: &str, file: &Path, name: &str, on: bool, row: &str) -> Option<String> {
    let is_it = |row: &Value| {
        let path = row.get("path").and_then(Value::as_str).map(Path::new);
        path.is_some_and(|p| p == file || Some(p) == file.parent())
    };
    let table: Table = text.parse().ok()?;
    let mut wanted = rows(&table);
    wanted.retain(|row| !is_it(row));
    let off_by_name = |row: &Value| {
        let named = row.get("name").and_then(Value::as_str) == Some(name);
        named && row.get("enabled").and_then(Value::as_bool) == Some(false)
    };
    let mut new = without(text, is_it);
    if !on || wanted.iter().any(off_by_name) {
        wanted.extend(rows(&row.parse().ok()?));
        let gap = match new.as_str() {
            "" => "",
            t if t.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        new.push_str(&format!("{gap}{row}"));
    }
    let found: Table = new.parse().ok()?;
    (rows(&found) == wanted && rest(&found) == rest(&table)).then_some(new)
}

/// The rows of a config.
fn rows(table: &Table) -> Vec<Value> {
    let rows = table.get("skills").and_then(|s| s.get("config"));
    rows.and_then(Value::as_array).cloned().unwrap_or_default()
}

/// Everything else in it.
fn rest(table: &Table) -> Table {
    let mut rest = table.clone();
    if let Some(Value::Table(skills)) = rest.get_mut("skills") {
        skills.remove("config");
        if skills.is_empty() {
            rest.remove("skills");
        }
    }
    rest
}

/// The text without the tables of those rows, comments above the next table kept.
fn without(text: &str, is_it: impl Fn(&Value) -> bool) -> String {
    let (mut kept, mut part) = (String::new(), String::new());
    let close = |part: &mut String, kept: &mut String| {
        let table: Option<Table> = part.parse().ok();
        let gone = match table.as_ref().map(rows).as_deref() {
            Some([row]) => part.trim_start().starts_with("[[") && is_it(row),
            _ => false,
        };
        kept.push_str(if gone {
            comments_at_the_end(part)
        } else {
            part
        });
        part.clear();
    };
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('[') {
            close(&mut part, &mut kept);
        }
        part.push_str(line);
    }
    close(&mut part, &mut kept);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const OFF: &str = "[[skills.config]]\npath = \"/s/pdf/SKILL.md\"\nenabled = false\n";

    fn after(before: &str, on: bool) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        fs::write(&path, before).unwrap();
        set_skill(&path, Path::new("/s/pdf/SKILL.md"), "pdf", on).unwrap();
        fs::read_to_string(&path).unwrap()
    }

    /// The form that Codex writes and reads.
    #[test]
    fn a_skill_is_turned_off_and_on_and_the_rest_stays() {
        assert_eq!(after("", false), OFF);
        assert_eq!(after(OFF, false), OFF);
        assert_eq!(after(OFF, true), "");
        let mine = "# mine\nmodel = \"x\"\n";
        assert_eq!(after(mine, false), format!("{mine}\n{OFF}"));
        let both =
            format!("{OFF}# of b\n[[skills.config]]\nname = \"b\"\nenabled = false\n[tui]\n");
        let other = "# of b\n[[skills.config]]\nname = \"b\"\nenabled = false\n[tui]\n";
        assert_eq!(after(&both, true), other);
        // A row of its folder is one of it, too.
        assert_eq!(after(&OFF.replace("/SKILL.md", ""), true), "");
    }

    #[test]
    fn a_skill_that_is_off_by_its_name_needs_a_row_to_be_on() {
        let named = "[[skills.config]]\nname = \"pdf\"\nenabled = false\n";
        let on = OFF.replace("false", "true");
        assert_eq!(after(named, true), format!("{named}\n{on}"));
    }

    #[test]
    fn what_cannot_be_changed_safely_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        let inline = "skills = { config = [{ path = \"/s/pdf/SKILL.md\", enabled = false }] }\n";
        fs::write(&path, inline).unwrap();
        let failed = set_skill(&path, Path::new("/s/pdf/SKILL.md"), "pdf", true).unwrap_err();
        assert!(failed.to_string().contains("by hand"), "{failed}");
        assert_eq!(fs::read_to_string(&path).unwrap(), inline);
    }
}
