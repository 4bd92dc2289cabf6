//! Changing one entry of a config file that a person wrote: everything else stays as it is.

mod skills;

pub use skills::set_skill;

use super::{ConfigError, McpServer, file};
use crate::store::paths::{canonical, private_dir};
use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

/// Sets `[table] key = value` in a config file, which is made if it does not exist. `table` is the
/// path of the table: `["projects", "/a/b"]` is `[projects."/a/b"]`.
///
/// Comments, order and every other entry stay. The file is replaced in one step and keeps its
/// permissions; a new one is for the user's eyes only. A link is followed, since the file may live
/// among other dotfiles.
///
/// # Errors
/// When the file cannot be read or written, is not TOML, or has the table in a form that cannot be
/// changed safely. It is then as it was.
pub fn set(path: &Path, table: &[&str], key: &str, value: &str) -> Result<(), ConfigError> {
    let path = canonical(path);
    let failed = |why: String| ConfigError::Write {
        path: path.clone(),
        why,
    };
    let text = file::read(&path)?.unwrap_or_default();
    file::parse(&text, &path.display().to_string())?;
    let line = entry(key, value);
    let changed = changed(&text, table, key, value).ok_or_else(|| {
        let table = header(table);
        failed(format!("add the line {line} to its [{table}] by hand"))
    })?;
    replace(&path, &changed).map_err(|e| failed(e.to_string()))
}

/// Writes `[mcp_servers.NAME]` at the end of a config file, in place of one that is there.
///
/// # Errors
/// As of [`set`].
pub fn put_server(path: &Path, name: &str, server: &McpServer) -> Result<(), ConfigError> {
    let table = Table::try_from(server).unwrap_or_default();
    let written = server_text(name, &table);
    let change = |text: &str| {
        let kept = without_server(text, name)?;
        let gap = match kept.as_str() {
            "" => "",
            t if t.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        let new = format!("{kept}{gap}{written}");
        let mut wanted: Table = kept.parse().ok()?;
        let servers = wanted
            .entry("mcp_servers")
            .or_insert_with(|| Value::Table(Table::new()));
        servers
            .as_table_mut()?
            .insert(name.into(), Value::Table(table.clone()));
        (new.parse::<Table>().ok()? == wanted).then_some(new)
    };
    rewrite(
        path,
        change,
        &format!("add these lines by hand:\n{written}"),
    )
}

/// Takes `[mcp_servers.NAME]` out of a config file. False if it is not there.
///
/// # Errors
/// As of [`set`].
pub fn remove_server(path: &Path, name: &str) -> Result<bool, ConfigError> {
    let text = file::read(&canonical(path))?.unwrap_or_default();
    let table = text.parse::<Table>().ok();
    let servers = table.as_ref().and_then(|t| t.get("mcp_servers"));
    if servers.and_then(|s| s.get(name)).is_none() {
        return Ok(false);
    }
    let by_hand = format!("take its [mcp_servers.{name}] out by hand");
    rewrite(path, |text| without_server(text, name), &by_hand)?;
    Ok(true)
}

fn rewrite(
    path: &Path,
    change: impl Fn(&str) -> Option<String>,
    by_hand: &str,
) -> Result<(), ConfigError> {
    let path = canonical(path);
    let failed = |why: String| ConfigError::Write {
        path: path.clone(),
        why,
    };
    let text = file::read(&path)?.unwrap_or_default();
    file::parse(&text, &path.display().to_string())?;
    let changed = change(&text).ok_or_else(|| failed(by_hand.to_owned()))?;
    replace(&path, &changed).map_err(|e| failed(e.to_string()))
}

/// The tables of a server as text: its own, then those in it.
fn server_text(name: &str, table: &Table) -> String {
    let mut text = format!("[mcp_servers.{name}]\n");
    let (inner, own): (Vec<_>, Vec<_>) = table.iter().partition(|(_, v)| v.is_table());
    for (key, value) in own {
        text.push_str(&format!("{key} = {value}\n"));
    }
    for (key, value) in inner {
        text.push_str(&format!("\n[mcp_servers.{name}.{key}]\n"));
        for (key, value) in value.as_table().into_iter().flatten() {
            text.push_str(&format!("{} = {value}\n", quoted(key)));
        }
    }
    text
}

/// The text without the tables of a server, comments above the next table kept; `None` when that
/// would change anything else, or when they are written in another way.
fn without_server(text: &str, name: &str) -> Option<String> {
    let mut wanted: Table = text.parse().ok()?;
    let servers = wanted.get_mut("mcp_servers").and_then(Value::as_table_mut);
    if servers.and_then(|s| s.remove(name)).is_none() {
        return Some(text.to_owned());
    }
    let is_of = |header: &str| {
        let table: Option<Table> = header.parse().ok();
        let servers = table.as_ref().and_then(|t| t.get("mcp_servers"));
        servers.and_then(|s| s.get(name)).is_some()
    };
    let (mut kept, mut dropped, mut inside) = (String::new(), String::new(), false);
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('[') {
            let was_inside = inside;
            inside = is_of(line);
            if was_inside && !inside {
                kept.push_str(comments_at_the_end(&dropped));
            }
            dropped.clear();
        }
        match inside {
            true => dropped.push_str(line),
            false => kept.push_str(line),
        }
    }
    let mut found: Table = kept.parse().ok()?;
    for table in [&mut found, &mut wanted] {
        // An empty table of servers is none.
        let empty = |v: &Value| v.as_table().is_some_and(Table::is_empty);
        if table.get("mcp_servers").is_some_and(empty) {
            table.remove("mcp_servers");
        }
    }
    (found == wanted).then_some(kept)
}

/// The comment lines at the end of a text: they belong to what follows.
fn comments_at_the_end(text: &str) -> &str {
    let mut at = text.len();
    for line in text.split_inclusive('\n').rev() {
        if !line.trim_start().starts_with('#') {
            break;
        }
        at -= line.len();
    }
    &text[at..]
}

/// The text with the entry in it; `None` when that would change anything else.
fn changed(text: &str, table: &[&str], key: &str, value: &str) -> Option<String> {
    let new = edited(text, table, key, value)?;
    let mut wanted: Table = text.parse().ok()?;
    let mut section = &mut wanted;
    for name in table {
        section = section
            .entry(*name)
            .or_insert_with(|| Value::Table(Table::new()))
            .as_table_mut()?;
    }
    section.insert(key.into(), value.into());
    // The tables are equal whatever the order of their keys.
    (new.parse::<Table>().ok()? == wanted).then_some(new)
}

fn edited(text: &str, table: &[&str], key: &str, value: &str) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let mut place = None;
    for (depth, name) in table.iter().enumerate() {
        let above = match (depth, place) {
            (0, _) => document.get_ref(),
            (_, Some((_, above))) => match Spanned::get_ref(above) {
                DeValue::Table(above) => above,
                _ => return None,
            },
            (_, None) => break,
        };
        place = find(above, name);
    }
    let Some((name, section)) = place else {
        let gap = match text {
            "" => "",
            t if t.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        return Some(format!(
            "{text}{gap}[{}]\n{}\n",
            header(table),
            entry(key, value)
        ));
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

/// The path of a table as its header has it.
fn header(table: &[&str]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let part = |name: &&str| match !name.is_empty() && name.chars().all(plain) {
        true => (*name).to_owned(),
        false => quoted(name),
    };
    table.iter().map(part).collect::<Vec<_>>().join(".")
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
        changed(text, &["model_harness"], "qwen3:30b", "minimal")
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

    #[test]
    fn a_server_is_put_and_taken_and_the_rest_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        let before = "# mine\nmodel = \"x\"\n\n[mcp_servers.a]\ncommand = \"old\"\n[mcp_servers.a.env]\nK = \"1\"\n# of b\n[mcp_servers.b]\nurl = \"http://x\"\n";
        fs::write(&path, before).unwrap();
        let server = McpServer {
            command: Some("npx".into()),
            args: vec!["-y".into(), "a \"b\"".into()],
            env: [("T".to_owned(), "env:T".to_owned())].into(),
            ..McpServer::default()
        };
        put_server(&path, "a", &server).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let rest = "# mine\nmodel = \"x\"\n\n# of b\n[mcp_servers.b]\nurl = \"http://x\"\n";
        assert!(text.starts_with(rest), "{text}");
        let table: Table = text.parse().unwrap();
        assert_eq!(
            table["mcp_servers"]["a"]["args"][1].as_str(),
            Some("a \"b\"")
        );
        assert_eq!(
            table["mcp_servers"]["a"]["env"]["T"].as_str(),
            Some("env:T")
        );
        assert!(remove_server(&path, "a").unwrap());
        assert_eq!(
            fs::read_to_string(&path).unwrap().trim_end(),
            rest.trim_end()
        );
        assert!(!remove_server(&path, "a").unwrap());
        fs::write(&path, "mcp_servers = { a = { command = \"x\" } }\n").unwrap();
        assert!(remove_server(&path, "a").is_err());
    }

    #[test]
    fn a_table_in_a_table() {
        let set = |text: &str| changed(text, &["projects", "/a b"], "trust_level", "trusted");
        let new = "[projects.\"/a b\"]\n\"trust_level\" = \"trusted\"\n";
        for (before, after) in [
            ("", new.to_owned()),
            (
                "[projects.\"/c\"]\ntrust_level = \"untrusted\"\n",
                format!("[projects.\"/c\"]\ntrust_level = \"untrusted\"\n\n{new}"),
            ),
            (
                "[projects.'/a b']\ntrust_level = 'untrusted' # no\n",
                "[projects.'/a b']\ntrust_level = \"trusted\" # no\n".into(),
            ),
            (
                "[projects.'/a b']\n[x]\n",
                "[projects.'/a b']\n\"trust_level\" = \"trusted\"\n[x]\n".into(),
            ),
            (
                "[projects]\n\"/c\" = { trust_level = \"trusted\" }\n",
                format!("[projects]\n\"/c\" = {{ trust_level = \"trusted\" }}\n\n{new}"),
            ),
        ] {
            assert_eq!(set(before).as_deref(), Some(after.as_str()), "{before}");
        }
        assert_eq!(set("projects = 1\n"), None);
        assert_eq!(set("projects = { \"/c\" = {} }\n"), None);
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
        set(&link, &["model_harness"], "x", "native").unwrap();
        assert!(link.is_symlink());
        assert_eq!(mode(&real), 0o640);
        assert!(
            fs::read_to_string(&real)
                .unwrap()
                .contains("\"x\" = \"native\"")
        );

        let new = dir.path().join("new/config.toml");
        set(&new, &["model_harness"], "x", "native").unwrap();
        assert_eq!(mode(&new), 0o600);
        fs::write(&real, "model = ").unwrap();
        assert!(set(&link, &["model_harness"], "x", "native").is_err());
        assert_eq!(fs::read_to_string(&real).unwrap(), "model = ");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
    }
}
