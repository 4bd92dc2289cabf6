use super::*;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// An editor with these texts, which it keeps in memory or saves in its own way.
#[derive(Clone, Default)]
struct Pretended {
    texts: Arc<Mutex<HashMap<String, String>>>,
    asked: Arc<Mutex<Vec<String>>>,
    save: Option<fn(&str) -> String>,
}

fn name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into()
}

impl Buffers for Pretended {
    fn read(&self, path: &Path) -> Option<String> {
        self.asked
            .lock()
            .unwrap()
            .push(format!("read {}", name(path)));
        self.texts.lock().unwrap().get(&name(path)).cloned()
    }

    fn write(&self, path: &Path, text: &str) -> bool {
        self.asked
            .lock()
            .unwrap()
            .push(format!("write {}", name(path)));
        self.texts.lock().unwrap().insert(name(path), text.into());
        if let Some(save) = self.save {
            fs::write(path, save(text)).expect("written");
        }
        true
    }
}

fn edited(old: &str, new: &str) -> Action {
    Action::Edit {
        path: "a".into(),
        edits: vec![Replace {
            old: old.into(),
            new: new.into(),
        }],
        base: Base::Evolving,
        unique: Unique::Require,
        passes: Pass::ALL.to_vec(),
        read_first: false,
        may_create: false,
    }
}

fn bench(disk: impl AsRef<[u8]>, buffer: &str, editor: &Pretended) -> Bench {
    let mut b = Bench::new().file("a", disk);
    editor
        .texts
        .lock()
        .unwrap()
        .insert("a".into(), buffer.into());
    b.bench.set_buffers(Box::new(editor.clone()));
    b
}

#[test]
fn unsaved_text_counts_and_a_change_reaches_editor_and_disk() {
    // An editor that saves, and one that keeps the change in memory.
    for save in [Some(str::to_owned as fn(&str) -> String), None] {
        let editor = Pretended {
            save,
            ..Pretended::default()
        };
        let mut b = bench("x = 1\n", "x = 5\ny\n", &editor);
        assert_eq!(b.read_all("a").text, "x = 5\ny\n");
        let change = b.changed(edited("x = 5", "x = 6")).remove(0);
        assert_eq!(change.before.as_deref(), Some("x = 5\ny\n"));
        assert_eq!(b.text("a"), "x = 6\ny\n");
        assert_eq!(editor.texts.lock().unwrap()["a"], "x = 6\ny\n");
        // Nobody has changed it since.
        b.changed(write("a", "z\n", true));
        assert_eq!(b.text("a"), "z\n");
    }
}

#[test]
fn the_form_of_a_file_is_kept() {
    let editor = Pretended {
        save: Some(str::to_owned),
        ..Pretended::default()
    };
    let mut b = bench("a\r\nb\r\n", "a\nb\n", &editor);
    b.changed(edited("b", "c"));
    assert_eq!(b.text("a"), "a\r\nc\r\n");
    let mut b = bench("a\r\nb\r\n", "a\nb\nunsaved\n", &editor);
    b.changed(edited("b", "c"));
    assert_eq!(b.text("a"), "a\r\nc\r\nunsaved\r\n");
    // A mark or bytes that are no text stay with the disk.
    let mut b = bench("\u{feff}a\n", "a\n", &editor);
    editor.asked.lock().unwrap().clear();
    b.changed(edited("a", "b"));
    assert_eq!(b.text("a"), "\u{feff}b\n");
    assert_eq!(*editor.asked.lock().unwrap(), ["read a"]);
    let mut b = bench(b"a\0b", "text", &editor);
    editor.asked.lock().unwrap().clear();
    assert!(matches!(b.error(read("a")), ToolError::Binary { .. }));
    assert!(editor.asked.lock().unwrap().is_empty());
}

/// An editor that formats what it saves leaves something that the model has not seen.
#[test]
fn what_an_editor_made_of_it_must_be_read_first() {
    let editor = Pretended {
        save: Some(|text| text.replace("=", " = ")),
        ..Pretended::default()
    };
    let mut b = bench("x\n", "x\n", &editor);
    b.read_all("a");
    b.changed(write("a", "x=1\n", true));
    editor.texts.lock().unwrap().clear();
    assert_eq!(b.text("a"), "x = 1\n");
    let error = b.error(write("a", "x=2\n", true));
    assert_eq!(error, ToolError::ChangedSince { path: "a".into() });
    assert_eq!(b.read_all("a").text, "x = 1\n");
    b.changed(write("a", "x=2\n", true));
}

#[test]
fn what_the_gate_refuses_no_editor_is_asked_for() {
    let editor = Pretended::default();
    let mut b = bench("", "", &editor).file("home/key", "secret");
    assert!(matches!(
        b.error(write("../b", "x", false)),
        ToolError::Denied { .. }
    ));
    assert!(matches!(
        b.error(read("home/key")),
        ToolError::Denied { .. }
    ));
    assert!(editor.asked.lock().unwrap().is_empty());
}
