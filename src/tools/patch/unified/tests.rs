//! The texts of diffs are what `diff -u` and git write, or such a one with what models do to it.

use super::*;
use crate::tools::action::{PatchForm, ToolError};
use crate::tools::patch::{apply_to, touched};

fn applied(file: &str, diff: &str) -> Result<String, ToolError> {
    apply_to(file, diff, PatchForm::Unified)
}

/// The only section of a diff.
fn section(diff: &str) -> Section {
    let sections = parse(diff).expect(diff);
    let [one] = sections.as_slice() else {
        panic!("one section, not {sections:?}");
    };
    one.clone()
}

#[test]
fn a_diff_is_applied_as_git_does_it() {
    const TWELVE: &str =
        "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\n";
    let changed = TWELVE.replace("two", "TWO").replace("eleven", "ELEVEN");
    let plain = "diff --git a/a.txt b/a.txt\nindex e031777..73b32b4 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,5 +1,5 @@\n one\n-two\n+TWO\n three\n four\n five\n@@ -8,5 +8,5 @@ seven\n eight\n nine\n ten\n-eleven\n+ELEVEN\n twelve\n";
    let bare = "--- a/a.txt\n+++ b/a.txt\n@@ -2 +2 @@ one\n-two\n+TWO\n@@ -11 +11 @@ ten\n-eleven\n+ELEVEN\n";
    for (name, file, diff, want) in [
        ("git diff", TWELVE, plain, changed.as_str()),
        ("git diff -U0", TWELVE, bare, &changed),
        (
            "diff -u with its times",
            "a\nb\n",
            "--- x/f.txt\t2026-11-30 17:07:12.345782800 +0000\n+++ y/f.txt\t2026-11-30 17:07:12.345782800 +0000\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
            "a\nc\n",
        ),
        (
            "lines that look like names",
            "-- comment\nselect 1;\n",
            "--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- comment\n+++ new\n select 1;\n",
            "++ new\nselect 1;\n",
        ),
        (
            "the last line end comes",
            "x\ny",
            "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n x\n-y\n\\ No newline at end of file\n+Y\n",
            "x\nY\n",
        ),
        (
            "the last line end goes",
            "x\ny\n",
            "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n x\n-y\n+y\n\\ No newline at end of file\n",
            "x\ny",
        ),
        (
            "there was none and will be none",
            "x\ny",
            "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-x\n+X\n y\n\\ No newline at end of file\n",
            "X\ny",
        ),
        (
            "lines come into an empty file",
            "",
            "--- a/f\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n",
            "a\nb\n",
        ),
        (
            "lines come after the second, without context",
            "a\nb\nc\n",
            "--- a/f\n+++ b/f\n@@ -2,0 +3 @@\n+x\n",
            "a\nb\nx\nc\n",
        ),
        (
            "the line number chooses",
            "{\n  x\n}\n{\n  x\n}\n{\n  x\n}\n",
            "--- a/f\n+++ b/f\n@@ -4,3 +4,3 @@\n {\n-  x\n+  y\n }\n",
            "{\n  x\n}\n{\n  y\n}\n{\n  x\n}\n",
        ),
    ] {
        assert_eq!(applied(file, diff), Ok(want.to_string()), "{name}");
    }
}

#[test]
fn a_diff_is_read_as_models_write_it() {
    let file = "def f(x):\n    y = x\n\n    return y\n\ndef g():\n    pass\n";
    let want = "def f(x):\n    y = x + 1\n\n    return y\n\ndef g():\n    return 2\n";
    let first = " def f(x):\n-    y = x\n+    y = x + 1\n \n     return y\n";
    let second = " def g():\n-    pass\n+    return 2\n";
    let names = "--- a/m.py\n+++ b/m.py\n";
    for (name, diff) in [
        ("no numbers", format!("{names}@@\n{first}@@\n{second}")),
        (
            "wrong numbers",
            format!("{names}@@ -1,9 +1,2 @@\n{first}@@ -1,1 +1,7 @@ class X\n{second}"),
        ),
        (
            "signs instead of numbers",
            format!("{names}@@ ... @@\n{first}@@ -,+ @@\n{second}"),
        ),
        (
            "half a head",
            format!("{names}@@ -1,4 +1,4\n{first}@@ -6,2\n{second}"),
        ),
        ("no head", format!("{names}{first}@@\n{second}")),
        (
            "a head that names the place",
            format!("{names}@@ def f(x):\n{first}@@ def g():\n-    pass\n+    return 2\n"),
        ),
        (
            "both changes as one each",
            format!("{names}@@\n{first}\n{names}@@\n{second}"),
        ),
        (
            "a fence and words around it",
            format!(
                "Here it is:\n\n```diff\n{names}@@ -1,4 +1,4 @@\n{first}@@ -6,2 +6,2 @@\n{second}```\n\nIt does:\n- one thing\n+ another\n"
            ),
        ),
        (
            "words behind it",
            format!("{names}@@ -1,9 +1,9 @@\n{first}@@ -6,9 +6,9 @@\n{second}\nThat is all.\n"),
        ),
        (
            "a heredoc",
            format!("cat <<'EOF'\n{names}@@\n{first}@@\n{second}EOF\n"),
        ),
        (
            "markers of the other form",
            format!("*** Begin Patch\n{names}@@\n{first}@@\n{second}*** End Patch\n"),
        ),
        (
            "blanks forgotten before context",
            format!(
                "{names}@@\n{}@@\n{second}",
                first
                    .replace(" def", "def")
                    .replace(" \n", "\n")
                    .replace("     return", "    return")
            ),
        ),
        (
            "blanks at the end",
            format!(
                "{names}@@\n{}@@\n{second}\n\n",
                first.replace(" def f(x):", " def f(x):  ")
            ),
        ),
        (
            "another indentation",
            format!("{names}@@\n{first}@@\n def g():\n-\tpass\n+\treturn 2\n"),
        ),
        (
            "out of order",
            format!("{names}@@ -6,2 +6,2 @@\n{second}@@ -1,4 +1,4 @@\n{first}"),
        ),
        (
            "changes that share lines, the second seen after the first",
            format!(
                "{names}@@ -1,4 +1,4 @@\n{first}@@ -2,6 +2,6 @@\n     y = x + 1\n \n     return y\n \n{second}"
            ),
        ),
        (
            "line ends of Windows",
            format!("{names}@@\n{first}@@\n{second}").replace('\n', "\r\n"),
        ),
        (
            "the signature of a mail",
            format!(
                "From 1 Mon\nSubject: x\n---\n m.py | 4 ++--\n\n{names}@@ -1,4 +1,4 @@\n{first}@@ -6,2 +6,2 @@\n{second}-- \n2.39.0\n\n"
            ),
        ),
    ] {
        assert_eq!(
            applied(file, &diff),
            Ok(want.to_string()),
            "{name}:\n{diff}"
        );
        let codex = apply_to(file, &diff, PatchForm::Codex);
        assert_eq!(codex, Ok(want.to_string()), "{name}, for Codex");
    }
}

#[test]
fn the_form_of_codex_is_understood_too() {
    let codex = "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch";
    assert_eq!(applied("a\n", codex), Ok("b\n".into()));
}

#[test]
fn names_are_read_with_and_without_their_letters() {
    let one = |old: &str, new: &str| {
        let diff = format!("--- {old}\n+++ {new}\n@@ -1 +1 @@\n-x\n+y\n");
        match section(&diff) {
            Section {
                path,
                deed: Deed::Update { move_to, .. },
            } => (path, move_to),
            other => panic!("an update, not {other:?}"),
        }
    };
    for (old, new, path) in [
        ("a/src/x.py", "b/src/x.py", "src/x.py"),
        ("src/x.py", "src/x.py", "src/x.py"),
        ("a/x.py", "a/x.py", "a/x.py"),
        ("i/x.py", "w/x.py", "x.py"),
        ("src/x.py", "b/src/x.py", "src/x.py"),
        ("a/src/x.py", "src/x.py", "src/x.py"),
        ("a/my file.txt\t", "b/my file.txt\t", "my file.txt"),
        ("a/my file.txt", "b/my file.txt", "my file.txt"),
        (
            "\"a/\\303\\274 \\\"q\\\".txt\"\t",
            "\"b/\\303\\274 \\\"q\\\".txt\"",
            "ü \"q\".txt",
        ),
        ("x.c.orig\t2024-01-01", "x.c\t2024-01-01", "x.c"),
        ("x.c 2024-01-01 10:00:00", "x.c 2024-01-02 10:00:00", "x.c"),
        ("x.c~", "x.c", "x.c"),
        ("a//tmp/x", "b//tmp/x", "/tmp/x"),
        ("`x`", "`x`", "x"),
    ] {
        assert_eq!(one(old, new), (path.to_string(), None), "{old} {new}");
    }
    assert_eq!(one("a/x", "b/y"), ("x".into(), Some("y".into())));
}

#[test]
fn files_come_go_and_move() {
    let add = |path: &str, content: &str| Section {
        path: path.into(),
        deed: Deed::Add(content.into()),
    };
    for (diff, want) in [
        (
            "diff --git a/new.txt b/new.txt\nnew file mode 100644\nindex 0000000..d514c78\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+no end\n\\ No newline at end of file\n",
            add("new.txt", "no end"),
        ),
        (
            "diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n",
            add("e", ""),
        ),
        (
            "--- /dev/null\n+++ n.py\n@@\n+a\n+\n+b\n",
            add("n.py", "a\n\nb\n"),
        ),
        (
            "diff --git a/old.txt b/old.txt\ndeleted file mode 100644\nindex abaddc0..0000000\n--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-del\n",
            Section {
                path: "old.txt".into(),
                deed: Deed::Delete,
            },
        ),
        (
            "--- a/old.txt\n+++ /dev/null\n",
            Section {
                path: "old.txt".into(),
                deed: Deed::Delete,
            },
        ),
        (
            "diff --git a/a b.txt b/c d.txt\nsimilarity index 100%\nrename from a b.txt\nrename to c d.txt\n",
            Section {
                path: "a b.txt".into(),
                deed: Deed::Update {
                    move_to: Some("c d.txt".into()),
                    chunks: vec![],
                },
            },
        ),
    ] {
        assert_eq!(section(diff), want, "{diff}");
    }
    // Names with blanks where nothing but the line for git has them.
    let mode = "diff --git a/a b c b/a b c\nnew file mode 100644\n";
    assert_eq!(section(mode), add("a b c", ""));
}

#[test]
fn all_paths_are_told() {
    let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/o b/n\nsimilarity index 90%\nrename from o\nrename to n\n--- a/o\n+++ b/n\n@@ -1 +1 @@\n-a\n+b\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+a\n";
    assert_eq!(
        touched(diff, PatchForm::Unified),
        Ok(["x", "o", "n", "gone", "new"].map(String::from).to_vec())
    );
}

#[test]
fn what_cannot_be_read_is_named_with_its_line() {
    for (diff, says) in [
        ("", "changes no file"),
        ("just words\n", "changes no file"),
        ("x\n@@ -1 +1 @@\n-a\n+b\n", "line 2"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n a\n", "line 1"),
        ("--- a/f\n+++ b/f\n", "nothing is changed"),
        ("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n-a\n", "new file"),
        (
            "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n",
            "chmod",
        ),
        (
            "diff --git a/p b/p\nindex 1..2 100644\nBinary files a/p and b/p differ\n",
            "not text",
        ),
        (
            "diff --git a/p b/q\nsimilarity index 100%\ncopy from p\ncopy to q\n",
            "copy",
        ),
    ] {
        match parse(diff) {
            Err(ToolError::BadPatch { why }) => assert!(why.contains(says), "{why}"),
            other => panic!("{diff}: {other:?}"),
        }
    }
    let missing = applied(
        "let b = 1;\n",
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-let a = 1;\n+x\n",
    );
    match missing {
        Err(ToolError::PatchMismatch { expected, near, .. }) => {
            assert_eq!(expected, "let a = 1;");
            assert_eq!(near.as_deref(), Some("1| let b = 1;"));
        }
        other => panic!("{other:?}"),
    }
    // Which of two places is meant is not known from another indentation and a wrong number.
    let twice = applied(
        "\tx\n\ty\n\tx\n",
        "--- a/f\n+++ b/f\n@@ -7 +7 @@\n-  x\n+  z\n",
    );
    assert!(matches!(twice, Err(ToolError::Ambiguous { lines, .. }) if lines == [1, 3]));
}
