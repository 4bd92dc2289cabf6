//! Changing one entry of a config file that a person wrote: everything else stays as it is.

use super::{ConfigError, file};
use crate::store::paths::{canonical, private_dir};
use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

/// Sets `[table] key = value` in a config file, which is made if it does not exist.
///
/// Comments, order and every other entry stay. The file is replaced in one step and keeps its
/// permissions; a new one is for the user's eyes only. A link is followed, since the file may live
/// among other dotfiles.
///
/// # Errors
/// When the file cannot be read or written, is not TOML, or has the table in a form that cannot be
/// changed safely. It is then as it was.
pub fn set(path: &Path, table: &str, key: &str, value: &str) -> Result<(), ConfigError> {
    let path = canonical(path);
    let failed = |why: String| ConfigError::Write {
        path: path.clone(),
        why,
    };
    let text = file::read(&path)?.unwrap_or_default();
    file::parse(&text, &path.display().to_string())?;
    let line = entry(key, value);
    let changed = changed(&text, table, key, value)
        .ok_or_else(|| failed(format!("add the line {line} to its [{table}] by hand")))?;
    replace(&path, &changed).map_err(|e| failed(e.to_string()))
}

/// The text with the entry in it; `None` when that would change anything else.
fn changed(text: &str, table: &str, key: &str, value: &str) -> Option<String> {
    let new = edited(text, table, key, value)?;
    let mut wanted: Table = text.parse().ok()?;
    let section = wanted
        .entry(table)
        .or_insert_with(|| Value::Table(Table::new()));
    section.as_table_mut()?.insert(key.into(), value.into());
    // The tables are equal whatever the order of their keys.
    (new.parse::<Table>().ok()? == wanted).then_some(new)
}

fn edited(text: &str, table: &str, key: &str, value: &str) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let Some((name, section)) = find(document.get_ref(), table) else {
        let gap = match text {
            "" => "",
            t if t.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        return Some(format!("{text}{gap}[{table}]\n{}\n", entry(key, value)));
    };
    let DeValue::Table(section) = section.get_ref() else {
        return None;
    };
    if let Some((_, old)) = find(section, key) {
        let old = old.span();
        let (before, after) = (text.get(..old.start)?, text.get(old.end..)?);
        return Some(format!("{before}{}{after}", quoted(value)));
    }
    let start = text
        .get(..name.span().start)?
        .rfind('\n')
        .map_or(0, |n| n + 1);
    let line_end = text.get(start..)?.find('\n').map(|n| start + n);
    let header = text.get(start..line_end.unwrap_or(text.len()))?;
    if !header.trim_start().starts_with('[') {
        return None;
    }
    let (before, after) = text.split_at(line_end.unwrap_or(text.len()));
    Some(format!("{before}\n{}{after}", entry(key, value)))
}

/// A key of a table and its value, with their places in the text.
fn find<'t, 'i>(table: &'t DeTable<'i>, name: &str) -> Option<Pair<'t, 'i>> {
    table.iter().find(|(k, _)| k.get_ref().as_ref() == name)
}

type Pair<'t, 'i> = (&'t Spanned<Cow<'i, str>>, &'t Spanned<DeValue<'i>>);

fn entry(key: &str, value: &str) -> String {
    format!("{} = {}", quoted(key), quoted(value))
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Writes a new file beside the old one and moves it there.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    private_dir(folder).map_err(io::Error::other)?;
    let beside = folder.join(format!(".config-{}.tmp", uuid::Uuid::now_v7().simple()));
    let fill = |mut file: File| {
        if let Ok(old) = fs::metadata(path) {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let done = options
        .open(&beside)
        .and_then(fill)
        .and_then(|()| fs::rename(&beside, path));
    if done.is_err() {
        let _ = fs::remove_file(&beside);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_in(text: &str) -> Option<String> {
        changed(text, "model_harness", "qwen3:30b", "minimal")
    }

    #[test]
    fn the_entry_goes_where_its_table_is_and_the_rest_stays() {
        for (before, after) in [
            ("", "[model_harness]\n\"qwen3:30b\" = \"minimal\"\n"),
            (
                "# mine\nmodel = \"x\" # why",
                "# mine\nmodel = \"x\" # why\n\n[model_harness]\n\"qwen3:30b\" = \"minimal\"\n",
            ),
            (
                "[model_harness] # best\nother = \"native\"\n\n[history]\npersistence = \"none\"\n",
                "[model_harness] # best\n\"qwen3:30b\" = \"minimal\"\nother = \"native\"\n\n[history]\npersistence = \"none\"\n",
            ),
            (
                "[model_harness]",
                "[model_harness]\n\"qwen3:30b\" = \"minimal\"",
            ),
            (
                "[model_harness]\n'qwen3:30b'  =  'native' # old\n",
                "[model_harness]\n'qwen3:30b'  =  \"minimal\" # old\n",
            ),
            (
                "model_harness = { \"qwen3:30b\" = \"native\" }\n",
                "model_harness = { \"qwen3:30b\" = \"minimal\" }\n",
            ),
        ] {
            assert_eq!(set_in(before).as_deref(), Some(after), "{before}");
        }
    }

    #[test]
    fn what_only_looks_like_the_table_is_left_alone() {
        let text = "developer_instructions = \"\"\"\n[model_harness]\n\"\"\"\n";
        let new = set_in(text).unwrap();
        assert!(
            new.starts_with(text)
                && new.ends_with("\n[model_harness]\n\"qwen3:30b\" = \"minimal\"\n")
        );
        // An inline table with other models: a person has to say how it should look.
        assert_eq!(set_in("model_harness = { a = \"native\" }\n"), None);
        assert_eq!(set_in("model_harness = 1\n"), None);
    }

    #[cfg(unix)]
    #[test]
    fn the_file_keeps_its_permissions_and_a_link_stays_a_link() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let mode = |p: &Path| fs::metadata(p).unwrap().permissions().mode() & 0o777;
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (
            dir.path().join("dotfiles.toml"),
            dir.path().join("config.toml"),
        );
        fs::write(&real, "model = \"x\"\n").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&real, &link).unwrap();
        set(&link, "model_harness", "x", "native").unwrap();
        assert!(link.is_symlink());
        assert_eq!(mode(&real), 0o640);
        assert!(
            fs::read_to_string(&real)
                .unwrap()
                .contains("\"x\" = \"native\"")
        );

        let new = dir.path().join("new/config.toml");
        set(&new, "model_harness", "x", "native").unwrap();
        assert_eq!(mode(&new), 0o600);
        fs::write(&real, "model = ").unwrap();
        assert!(set(&link, "model_harness", "x", "native").is_err());
        assert_eq!(fs::read_to_string(&real).unwrap(), "model = ");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
    }
}
