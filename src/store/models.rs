//! What was learnt about models, in `models.json` of the home: a small JSON object with an entry a
//! model, whose meaning is the agent's business.

use super::paths::{Home, private_replace};
use serde_json::{Map, Value};
use std::fs;
use std::io::Read;
use std::path::PathBuf;

/// The most bytes of the file, and the most models in it.
const MOST_BYTES: u64 = 256 * 1024;
const MOST_MODELS: usize = 500;

/// The file. It helps and is never needed: what cannot be read or written is passed over.
#[derive(Debug, Clone)]
pub struct ModelFile {
    path: PathBuf,
    keep: bool,
}

impl ModelFile {
    /// The file of a home; with `keep` false it is only read.
    pub fn of(home: &Home, keep: bool) -> Self {
        ModelFile {
            path: home.path().join("models.json"),
            keep,
        }
    }

    fn entries(&self) -> Map<String, Value> {
        let read = || {
            let mut text = String::new();
            let file = fs::File::open(&self.path).ok()?;
            file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
            match serde_json::from_str(&text).ok()? {
                Value::Object(entries) => Some(entries),
                _ => None,
            }
        };
        read().unwrap_or_default()
    }

    /// What is known of a model.
    pub fn get(&self, model: &str) -> Option<Value> {
        self.entries().get(model).cloned()
    }

    /// Puts an entry in the place of the model's old one; the oldest model makes room. A reader
    /// never sees half a file.
    pub fn put(&self, model: &str, entry: Value) {
        let mut entries = self.entries();
        if !self.keep || entries.get(model) == Some(&entry) {
            return;
        }
        entries.shift_remove(model);
        while entries.len() >= MOST_MODELS {
            let Some(oldest) = entries.keys().next().cloned() else {
                break;
            };
            entries.shift_remove(&oldest);
        }
        entries.insert(model.to_owned(), entry);
        let text = format!("{}\n", Value::Object(entries));
        let _ = private_replace(&self.path, text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_entry_is_found_again_and_a_broken_file_is_begun_anew() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        let file = ModelFile::of(&home, true);
        assert_eq!(file.get("m"), None);
        ModelFile::of(&home, false).put("m", json!(1));
        assert_eq!(file.get("m"), None);
        file.put("m", json!({"fixed": 1.5}));
        file.put("n", json!(2));
        file.put("n", json!(3));
        assert_eq!(file.get("m"), Some(json!({"fixed": 1.5})));
        assert_eq!(file.get("n"), Some(json!(3)));
        fs::write(home.path().join("models.json"), "{\"m\": ").unwrap();
        assert_eq!(file.get("m"), None);
        file.put("m", json!(4));
        assert_eq!(file.get("m"), Some(json!(4)));
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_oldest_model_makes_room() {
        let dir = tempfile::tempdir().unwrap();
        let file = ModelFile::of(&Home::at(dir.path()), true);
        let all: Map<String, Value> = (0..MOST_MODELS)
            .map(|n| (format!("m{n}"), json!(n)))
            .collect();
        fs::write(
            dir.path().join("models.json"),
            Value::Object(all).to_string(),
        )
        .unwrap();
        file.put("new", json!(1));
        assert_eq!((file.get("m0"), file.get("m1")), (None, Some(json!(1))));
    }
}
