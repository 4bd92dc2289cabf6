//! The cells of a Jupyter notebook (nbformat 4), whose file is JSON: read, and changed one by one.

use super::Workbench;
use super::action::{CellEdit, CellKind, CellMode, CellOut, CellsOut, Outcome, Read, ToolError};
use super::files::Knows;
use super::text::{LIMIT, Text, to_lf};
use crate::sandbox::Lift;
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Value, json};
use std::path::PathBuf;

impl Workbench {
    pub(super) fn edit_cell(&mut self, edit: &CellEdit, lift: &Lift) -> Result<Outcome, ToolError> {
        let shown = edit.path.as_str();
        let path = self.writable(shown, lift)?;
        let bytes = self
            .load(&path, shown, LIMIT)?
            .ok_or_else(|| self.missing(shown))?;
        self.check_seen(&path, shown, &bytes, true)?;
        let old = Text::decode(&bytes).ok_or_else(|| ToolError::Binary { path: shown.into() })?;
        let mut notebook: Value = serde_json::from_str(&old.lf).map_err(|why| {
            ToolError::Other(format!(
                "{shown} is no notebook, since it is no JSON: {why}"
            ))
        })?;
        apply(&mut notebook, edit).map_err(ToolError::Other)?;
        let text = written(&notebook).map_err(|why| {
            ToolError::Other(format!("{shown} could not be written as JSON: {why}"))
        })?;
        let encoded = old.encode(&text);
        let change = self.change(path, shown, Some(bytes), Some(encoded), Knows::Part)?;
        Ok(Outcome::Changed(vec![change]))
    }

    /// The cells that a read wants.
    pub(super) fn read_cells(
        &mut self,
        read: &Read,
        path: PathBuf,
        bytes: &[u8],
        mut cells: Vec<CellOut>,
    ) -> Result<Outcome, ToolError> {
        let (first, total) = (read.first.max(1), cells.len());
        if first > total.max(1) {
            return Err(ToolError::PastEnd {
                path: read.path.clone(),
                line: first,
                total,
            });
        }
        cells.drain(..first - 1);
        cells.truncate(read.lines.unwrap_or(total));
        self.memory.read(&path, bytes, None);
        Ok(Outcome::Cells(CellsOut {
            path,
            cells,
            first,
            total,
        }))
    }
}

/// The cells of a notebook; `None`: it is none.
pub(super) fn cells(bytes: &[u8]) -> Option<Vec<CellOut>> {
    let text = Text::decode(bytes)?;
    let notebook: Value = serde_json::from_str(&text.lf).ok()?;
    let cells = notebook.get("cells")?.as_array()?;
    let word = |cell: &Value, key: &str| {
        let word = cell.get(key).and_then(Value::as_str);
        word.unwrap_or_default().to_owned()
    };
    let cell = |(at, cell): (usize, &Value)| CellOut {
        id: name(cells, at),
        kind: word(cell, "cell_type"),
        source: joined(cell.get("source")),
        printed: printed(cell.get("outputs")),
    };
    Some(cells.iter().enumerate().map(cell).collect())
}

/// A text that is kept as one, or as its lines.
fn joined(text: Option<&Value>) -> String {
    match text {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// What a cell printed: streams and errors as they are, of a value its text, else its type.
fn printed(outputs: Option<&Value>) -> String {
    let mut out = String::new();
    for output in outputs.and_then(Value::as_array).into_iter().flatten() {
        let text = match output.get("data").and_then(Value::as_object) {
            None => match output.get("traceback") {
                Some(Value::Array(lines)) => {
                    let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
                    lines.join("\n")
                }
                _ => joined(output.get("text")),
            },
            Some(data) => {
                let picture = data.keys().find(|kind| kind.starts_with("image/"));
                match (picture, data.get("text/plain")) {
                    (Some(kind), _) => format!("[{kind}]"),
                    (None, Some(text)) => joined(Some(text)),
                    (None, None) => data
                        .keys()
                        .next()
                        .map_or_else(String::new, |k| format!("[{k}]")),
                }
            }
        };
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&text);
    }
    out
}

/// Notebooks are kept with an indentation of one blank and a line end.
fn written(notebook: &Value) -> Result<String, String> {
    let mut out = Vec::new();
    let mut json = Serializer::with_formatter(&mut out, PrettyFormatter::with_indent(b" "));
    notebook.serialize(&mut json).map_err(|e| e.to_string())?;
    let text = String::from_utf8(out).map_err(|e| e.to_string())?;
    Ok(text + "\n")
}

/// Makes the change in the notebook; the error is a sentence.
fn apply(notebook: &mut Value, edit: &CellEdit) -> Result<(), String> {
    let version = |key: &str| notebook.get(key).and_then(Value::as_u64).unwrap_or(0);
    let has_ids = (version("nbformat"), version("nbformat_minor")) >= (4, 5);
    let path = &edit.path;
    let Some(cells) = notebook.get_mut("cells").and_then(Value::as_array_mut) else {
        return Err(format!("{path} is no notebook: it has no list `cells`"));
    };
    let place = match &edit.cell {
        Some(id) => Some(find(cells, id).ok_or_else(|| {
            let ids: Vec<String> = (0..cells.len().min(50)).map(|at| name(cells, at)).collect();
            format!("{path} has no cell {id}; it has {}", ids.join(", "))
        })?),
        None => None,
    };
    match (edit.mode, place) {
        (CellMode::Insert, place) => {
            let at = place.map_or(0, |at| at + 1);
            cells.insert(at, new(edit, has_ids));
        }
        (_, None) => return Err("name the cell by its id, or as cell-0 for the first one".into()),
        (CellMode::Delete, Some(at)) => {
            cells.remove(at);
        }
        (CellMode::Replace, Some(at)) => {
            if let Some(cell) = cells.get_mut(at) {
                replace(cell, edit);
            }
        }
    }
    Ok(())
}

/// The place of a cell by its id, or by its number as in `cell-0`.
fn find(cells: &[Value], id: &str) -> Option<usize> {
    let id = id.trim();
    let named = |cell: &Value| cell.get("id").and_then(Value::as_str) == Some(id);
    cells.iter().position(named).or_else(|| {
        let number = id.strip_prefix("cell-").unwrap_or(id).parse().ok()?;
        (number < cells.len()).then_some(number)
    })
}

fn name(cells: &[Value], at: usize) -> String {
    let id = cells.get(at).and_then(|cell| cell.get("id"));
    id.and_then(Value::as_str)
        .map_or_else(|| format!("cell-{at}"), str::to_owned)
}

/// A source is a list of lines, each with its end.
fn source(text: &str) -> Value {
    let text = to_lf(text);
    text.split_inclusive('\n').collect()
}

fn kind(kind: CellKind) -> &'static str {
    match kind {
        CellKind::Code => "code",
        CellKind::Markdown => "markdown",
    }
}

fn new(edit: &CellEdit, has_ids: bool) -> Value {
    let mut cell = json!({"cell_type": kind(edit.kind.unwrap_or(CellKind::Code))});
    if has_ids {
        let id = uuid::Uuid::now_v7().simple().to_string();
        cell["id"] = id.get(id.len() - 8..).unwrap_or(&id).into();
    }
    cell["metadata"] = json!({});
    cell["source"] = source(&edit.source);
    run_anew(&mut cell);
    cell
}

fn replace(cell: &mut Value, edit: &CellEdit) {
    if !cell.is_object() {
        return;
    }
    if let Some(to) = edit.kind {
        cell["cell_type"] = kind(to).into();
    }
    cell["source"] = source(&edit.source);
    run_anew(cell);
}

/// What code printed before is not what it prints now; other cells print nothing.
fn run_anew(cell: &mut Value) {
    let is_code = cell.get("cell_type").and_then(Value::as_str) == Some("code");
    let Some(fields) = cell.as_object_mut() else {
        return;
    };
    match is_code {
        true => {
            fields.insert("execution_count".into(), Value::Null);
            fields.insert("outputs".into(), json!([]));
        }
        false => {
            fields.shift_remove("execution_count");
            fields.shift_remove("outputs");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the format's own description (nbformat 4.5).
    fn notebook() -> Value {
        json!({
            "cells": [
                {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title\n", "words"]},
                {"cell_type": "code", "id": "sum", "metadata": {}, "execution_count": 3,
                    "source": ["1 + 1"], "outputs": [{"output_type": "execute_result"}]},
            ],
            "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
        })
    }

    fn edit(cell: Option<&str>, source: &str, mode: CellMode) -> CellEdit {
        CellEdit {
            path: "a.ipynb".into(),
            cell: cell.map(str::to_owned),
            source: source.into(),
            kind: None,
            mode,
        }
    }

    #[test]
    fn a_cell_is_replaced_inserted_and_deleted() {
        let mut it = notebook();
        assert!(apply(&mut it, &edit(Some("sum"), "a = 1\na\n", CellMode::Replace)).is_ok());
        assert_eq!(it["cells"][1]["source"], json!(["a = 1\n", "a\n"]));
        assert_eq!(it["cells"][1]["outputs"], json!([]));
        assert_eq!(it["cells"][1]["execution_count"], Value::Null);
        let more = CellEdit {
            kind: Some(CellKind::Markdown),
            ..edit(Some("intro"), "Then:", CellMode::Insert)
        };
        assert!(apply(&mut it, &more).is_ok());
        assert_eq!(it["cells"][1]["source"], json!(["Then:"]));
        assert!(it["cells"][1]["id"].is_string() && it["cells"][1].get("outputs").is_none());
        assert!(apply(&mut it, &edit(Some("cell-0"), "", CellMode::Delete)).is_ok());
        assert_eq!(it["cells"][0]["source"], json!(["Then:"]));
        assert!(apply(&mut it, &edit(None, "first", CellMode::Insert)).is_ok());
        assert_eq!(it["cells"][0]["source"], json!(["first"]));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let mut it = notebook();
        let why = apply(&mut it, &edit(Some("none"), "x", CellMode::Replace)).unwrap_err();
        assert!(why.contains("intro, sum"), "{why}");
        assert!(apply(&mut it, &edit(None, "x", CellMode::Replace)).is_err());
        let why = apply(&mut json!([1]), &edit(None, "x", CellMode::Insert)).unwrap_err();
        assert!(why.contains("no notebook"), "{why}");
        assert_eq!(it, notebook());
    }

    #[test]
    fn all_cells_are_read_with_what_they_printed() {
        let mut it = notebook();
        it["cells"][1]["outputs"] = json!([
            {"output_type": "stream", "name": "stdout", "text": ["one\n", "two"]},
            {"output_type": "execute_result", "data": {"text/plain": ["2"]}},
            {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": ["<Figure>"]}},
            {"output_type": "error", "ename": "E", "evalue": "x", "traceback": ["Traceback", "E: x"]},
        ]);
        let cell = |id: &str, kind: &str, source: &str, printed: &str| CellOut {
            id: id.into(),
            kind: kind.into(),
            source: source.into(),
            printed: printed.into(),
        };
        assert_eq!(
            cells(it.to_string().as_bytes()),
            Some(vec![
                cell("intro", "markdown", "# Title\nwords", ""),
                cell(
                    "sum",
                    "code",
                    "1 + 1",
                    "one\ntwo\n2\n[image/png]\nTraceback\nE: x"
                ),
            ])
        );
        let old = br#"{"cells": [{"cell_type": "code", "source": "x"}]}"#;
        assert_eq!(cells(old), Some(vec![cell("cell-0", "code", "x", "")]));
        for other in ["[]", "{}", "x", r#"{"cells": 1}"#] {
            assert_eq!(cells(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn it_is_written_as_notebooks_are() {
        let text = written(&json!({"cells": [], "nbformat": 4})).expect("JSON");
        assert_eq!(text, "{\n \"cells\": [],\n \"nbformat\": 4\n}\n");
    }
}
