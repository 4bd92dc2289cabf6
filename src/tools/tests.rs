//! The tools through the workbench, on real files and with a real shell.

use super::action::*;
use super::*;
use crate::sandbox::{Mode, Policy};
use std::fs;

mod buffers;
mod files;
#[cfg(unix)]
mod gate;
mod patches;
mod search;
#[cfg(unix)]
mod shell;

/// A workbench in a folder of its own.
struct Bench {
    bench: Workbench,
    dir: PathBuf,
    _keep: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let keep = tempfile::tempdir().expect("a folder");
        let top = keep.path().canonicalize().expect("there");
        let dir = top.join("work");
        fs::create_dir(&dir).expect("new");
        let policy = Policy {
            mode: Mode::WorkspaceWrite,
            roots: vec![dir.clone()],
            network: false,
            slash_tmp: false,
            tmpdir: false,
            own_homes: vec![dir.join("home")],
            readable: vec![top.join("outputs")],
        };
        let environment = std::env::var_os("PATH").map(|p| ("PATH".into(), p));
        let bench = Workbench::new(Setup {
            cwd: dir.clone(),
            gate: Gate::new(&policy, &dir),
            // What the fence holds is tested with the fence, and not every machine has one.
            sandbox: Sandbox::new(Policy {
                mode: Mode::DangerFullAccess,
                ..policy
            }),
            outputs: top.join("outputs"),
            environment: environment.into_iter().collect(),
            shell: "/bin/sh".into(),
        });
        Bench {
            bench,
            dir,
            _keep: keep,
        }
    }

    fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.dir.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, content).expect("written");
        self
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.dir.join(path)).expect(path)
    }

    fn run(&mut self, action: Action) -> Outcome {
        let cancel = Cancel::new();
        self.bench
            .run(&action, &Lift::Nothing, 10_000, &cancel, &mut |_| {})
    }

    fn error(&mut self, action: Action) -> ToolError {
        match self.run(action) {
            Outcome::Failed(error) => error,
            other => panic!("a failure, not {other:?}"),
        }
    }

    fn changed(&mut self, action: Action) -> Vec<FileChange> {
        match self.run(action) {
            Outcome::Changed(changes) => changes,
            other => panic!("a change, not {other:?}"),
        }
    }

    fn read_all(&mut self, path: &str) -> ReadOut {
        match self.run(read(path)) {
            Outcome::Read(out) => out,
            other => panic!("text, not {other:?}"),
        }
    }
}

fn read(path: &str) -> Action {
    Action::Read(Read::new(path, None, usize::MAX))
}

fn write(path: &str, content: &str, read_first: bool) -> Action {
    Action::Write {
        path: path.into(),
        content: content.into(),
        rule: WriteRule {
            read_first,
            must_be_new: false,
            append: false,
        },
    }
}

fn edit(path: &str, old: &str, new: &str) -> Action {
    edits(path, &[(old, new)], Base::Evolving, Unique::Require)
}

fn edits(path: &str, pairs: &[(&str, &str)], base: Base, unique: Unique) -> Action {
    Action::Edit {
        path: path.into(),
        edits: pairs
            .iter()
            .map(|(old, new)| Replace {
                old: old.to_string(),
                new: new.to_string(),
            })
            .collect(),
        base,
        unique,
        passes: Pass::ALL.to_vec(),
        read_first: false,
        may_create: true,
    }
}

fn patch(text: &str) -> Action {
    Action::Patch {
        text: format!("*** Begin Patch\n{text}\n*** End Patch"),
        form: PatchForm::Codex,
        dir: None,
    }
}

fn diff(text: &str) -> Action {
    Action::Patch {
        text: text.into(),
        form: PatchForm::Unified,
        dir: None,
    }
}

#[test]
fn no_text_of_a_model_makes_a_tool_panic() {
    const PIECES: [&str; 36] = [
        "*** Begin Patch\n",
        "*** Update File: f\n",
        "*** Add File: n\n",
        "*** Move to: g\n",
        "*** End of File\n",
        "*** End Patch",
        "diff --git a/f b/f\n",
        "diff --git ",
        "--- a/f\n",
        "+++ b/f\n",
        "--- /dev/null\n",
        "+++ \"b/\\303\\",
        "rename from f\nrename to g\n",
        "@@ -1,2 +1 @@\n",
        "@@ -99999999999999999999,18446744073709551615 +1 @@\n",
        "@@ -18446744073709551615,0 +18446744073709551615 @@\n",
        "\\ No newline at end of file\n",
        "```\n",
        "@@",
        " a\n",
        "-a\n",
        "+b\n",
        "é",
        "\u{2019}",
        "\t",
        " ",
        "\n",
        "\r\n",
        "\\n",
        "\\\"",
        "1| ",
        "2→",
        "a",
        "'",
        "😀",
        "-",
    ];
    let mut seed = 7u64;
    let mut text = |most: u64| -> String {
        let mut next = |below: u64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        (0..next(most)).map(|_| PIECES[next(36) as usize]).collect()
    };
    for _ in 0..3000 {
        let file = text(12);
        let (old, new) = (text(5), text(5));
        let mut b = matching::find(&file, &old, &new, &Pass::ALL);
        let mut out = file.clone();
        for place in b.places.drain(..).rev() {
            out.replace_range(place, &b.new);
        }
        let _ = matching::near(&file, &old);
        let _ = patch::apply_to(&file, &text(14), PatchForm::Codex);
        let _ = patch::apply_to(&file, &text(14), PatchForm::Unified);
        let diff = format!("--- a/f\n+++ b/f\n@@{}", text(14));
        let _ = patch::apply_to(&file, &diff, PatchForm::Unified);
    }
}
