//! Unified diffs on real files. What they are to do is what `git apply` does with them.

use super::*;

#[test]
fn a_diff_of_git_changes_all_its_files() {
    let mut b = Bench::new()
        .file("open.txt", "x\ny")
        .file("old.txt", "del\n")
        .file("src/mv.txt", "mv1\nmv2\nmv3\nmv4\nmv5\n")
        .file("empty.txt", "");
    let text = "diff --git a/new.txt b/new.txt
new file mode 100644
index 0000000..d514c78
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+no end
\\ No newline at end of file
diff --git a/empty.txt b/newempty.txt
similarity index 100%
rename from empty.txt
rename to newempty.txt
diff --git a/old.txt b/old.txt
deleted file mode 100644
index abaddc0..0000000
--- a/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-del
diff --git a/open.txt b/open.txt
index 1b32298..7061c57 100644
--- a/open.txt
+++ b/open.txt
@@ -1,2 +1,2 @@
 x
-y
\\ No newline at end of file
+Y
diff --git a/src/mv.txt b/src/moved.txt
similarity index 80%
rename from src/mv.txt
rename to src/moved.txt
index 8fbb09f..9261dcf 100644
--- a/src/mv.txt
+++ b/src/moved.txt
@@ -1,5 +1,5 @@
 mv1
 mv2
-mv3
+MV3
 mv4
 mv5
";
    let changes = b.changed(diff(text));
    let told: Vec<_> = changes
        .iter()
        .map(|c| {
            let to = c.moved_to.as_ref().map(|(_, shown)| shown.as_str());
            (c.shown.as_str(), c.kind, to)
        })
        .collect();
    assert_eq!(
        told,
        [
            ("new.txt", ChangeKind::Add, None),
            ("empty.txt", ChangeKind::Update, Some("newempty.txt")),
            ("old.txt", ChangeKind::Delete, None),
            ("open.txt", ChangeKind::Update, None),
            ("src/mv.txt", ChangeKind::Update, Some("src/moved.txt")),
        ]
    );
    assert_eq!(b.text("new.txt"), "no end");
    assert_eq!(b.text("open.txt"), "x\nY\n");
    assert_eq!(b.text("src/moved.txt"), "mv1\nmv2\nMV3\nmv4\nmv5\n");
    assert_eq!(b.text("newempty.txt"), "");
    for gone in ["empty.txt", "old.txt", "src/mv.txt"] {
        assert!(!b.dir.join(gone).exists(), "{gone}");
    }
    b.changed(Action::UndoEdit {
        path: "open.txt".into(),
    });
    assert_eq!(b.text("open.txt"), "x\ny");
}

#[test]
fn a_diff_is_applied_as_a_whole_or_not_at_all() {
    let mut b = Bench::new().file("a", "one\n").file("b", "two\n");
    let text =
        "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+ONE\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-three\n+3\n";
    match b.error(diff(text)) {
        ToolError::PatchMismatch { path, expected, .. } => {
            assert_eq!((path.as_str(), expected.as_str()), ("b", "three"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(b.text("a"), "one\n");
    let outside = "--- a/../x\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n";
    assert!(matches!(b.error(diff(outside)), ToolError::Denied { path, .. } if path == "../x"));
    let exists = "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n";
    assert!(matches!(b.error(diff(exists)), ToolError::Exists { path } if path == "a"));
    let missing = "--- a/c\n+++ b/c\n@@ -1 +1 @@\n-x\n+y\n";
    assert!(matches!(b.error(diff(missing)), ToolError::NotFound { path, .. } if path == "c"));
    let taken = "--- a/a\n+++ b/b\n@@ -1 +1 @@\n-one\n+1\n";
    assert!(matches!(b.error(diff(taken)), ToolError::Exists { path } if path == "b"));
}

#[test]
fn a_diff_may_be_meant_otherwise_than_it_says() {
    let mut b = Bench::new()
        .file("crlf", "one\r\ntwo\r\n")
        .file("sub/new", "x\n");
    // A new file whose old name is not `/dev/null`.
    b.changed(diff("--- a/n\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n"));
    assert_eq!(b.text("n"), "a\nb\n");
    // A file that has its new name already.
    let renamed = "--- a/old\n+++ b/new\n@@ -1 +1 @@\n-x\n+y\n";
    let change = b.changed(Action::Patch {
        text: renamed.into(),
        form: PatchForm::Unified,
        dir: Some("sub".into()),
    });
    assert_eq!(
        (change[0].shown.as_str(), &change[0].moved_to),
        ("new", &None)
    );
    assert_eq!(b.text("sub/new"), "y\n");
    b.changed(diff(
        "--- a/crlf\n+++ b/crlf\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n",
    ));
    assert_eq!(b.text("crlf"), "one\r\nthree\r\n");
}
