use super::parse::parse;
use super::*;

fn patched(file: &str, patch: &str) -> Result<(String, Option<Pass>), ToolError> {
    let sections = parse(patch)?;
    let [Section { path, deed }] = sections.as_slice() else {
        panic!("one section, not {sections:?}");
    };
    match deed {
        Deed::Update { chunks, .. } => update(file, chunks, path, Path::new("/w/f")),
        _ => panic!("an update, not {deed:?}"),
    }
}

#[test]
fn an_update_finds_its_lines() {
    for (name, file, body, want) in [
        ("plain", "a\nb\nc\n", "@@\n a\n-b\n+B\n c", "a\nB\nc\n"),
        (
            "no @@ before the first change",
            "a\nb\n",
            " a\n-b\n+B",
            "a\nB\n",
        ),
        (
            "a context chooses",
            "x\n1\ny\n1\n",
            "@@ y\n-1\n+2",
            "x\n1\ny\n2\n",
        ),
        (
            "nested contexts",
            "class A\n f\n  1\nclass B\n f\n  1\n",
            "@@ class B\n@@  f\n-  1\n+  2",
            "class A\n f\n  1\nclass B\n f\n  2\n",
        ),
        (
            "numbers of a unified diff",
            "a\nb\n",
            "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@ fn x\n a\n-b\n+c",
            "a\nc\n",
        ),
        (
            "two changes",
            "a\nb\nc\nd\n",
            "@@\n-a\n+A\n@@\n-d\n+D",
            "A\nb\nc\nD\n",
        ),
        ("only new lines", "a\n", "@@\n+b", "a\nb\n"),
        (
            "new lines after a context",
            "a\nb\n",
            "@@ a\n+x",
            "a\nx\nb\n",
        ),
        (
            "at the end",
            "x\ny\nx\n",
            "@@\n-x\n+z\n*** End of File",
            "x\ny\nz\n",
        ),
        ("no last line end", "a\nb", "@@\n-b\n+c", "a\nc"),
        (
            "the first of two equal places",
            "x\nx\n",
            "@@\n-x\n+y",
            "y\nx\n",
        ),
        (
            "a blank line without its blank",
            "a\n\nb\n",
            "@@\n a\n\n-b\n+c",
            "a\n\nc\n",
        ),
        (
            "a blank line that is not in the file",
            "a\nb\n",
            "@@\n-a\n+A\n\n@@\n-b\n+B",
            "A\nB\n",
        ),
        (
            "the context is repeated",
            "f\n1\n",
            "@@ f\n f\n-1\n+2",
            "f\n2\n",
        ),
        (
            "a context that is wrong",
            "f\n1\n",
            "@@ g\n-1\n+2",
            "f\n2\n",
        ),
        (
            "white space at the end",
            "a  \nb\n",
            "@@\n a\n-b\n+c",
            "a  \nc\n",
        ),
        (
            "typographic signs stay",
            "“a”\nb\n",
            "@@\n \"a\"\n-b\n+c",
            "“a”\nc\n",
        ),
        (
            "spaces for tabs",
            "def f():\n\tif x:\n\t\treturn 1\n",
            "@@\n     if x:\n-        return 1\n+        return 2",
            "def f():\n\tif x:\n\t\treturn 2\n",
        ),
    ] {
        let patch = format!("*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch\n");
        let got = patched(file, &patch).map(|(text, _)| text);
        assert_eq!(got, Ok(want.to_string()), "{name}");
    }
}

#[test]
fn what_is_not_there_is_named() {
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n-let total = sum(a)\n+x\n*** End Patch";
    let error = patched("let total = sum(b)\n", patch).expect_err("not there");
    assert_eq!(
        error,
        ToolError::PatchMismatch {
            path: "f".into(),
            absolute: "/w/f".into(),
            expected: "let total = sum(a)".into(),
            near: Some("1| let total = sum(b)".into()),
        }
    );
    // Another indentation does not choose between two places.
    let twice = "\tx\n\ty\n\tx\n\ty\n";
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n-  x\n-  y\n+  z\n*** End Patch";
    assert_eq!(
        patched(twice, patch),
        Err(ToolError::Ambiguous {
            path: "f".into(),
            index: 0,
            lines: vec![1, 3],
        })
    );
}

#[test]
fn wrappings_are_taken_off() {
    let add = Section {
        path: "a.txt".into(),
        deed: Deed::Add("one\n\n*** two\n".into()),
    };
    let inner = "*** Add File: a.txt\n+one\n\n+*** two";
    for patch in [
        format!("*** Begin Patch\n{inner}\n*** End Patch"),
        format!("apply_patch <<'EOF'\n*** Begin Patch\n{inner}\n*** End Patch\nEOF\n"),
        format!("<<EOF\n*** Begin Patch\n{inner}\nEOF"),
        format!("apply_patch \"*** Begin Patch\n{inner}\n*** End Patch\""),
        format!("```\n  *** Begin Patch  \r\n{inner}\r\n*** End Patch\n```"),
        format!("*** Begin Patch\n{inner}\n"),
        inner.to_string(),
    ] {
        assert_eq!(parse(&patch), Ok(vec![add.clone()]), "{patch}");
    }
}

#[test]
fn several_sections_are_read() {
    let patch = "*** Begin Patch\n*** Delete File: old\n\n*** Update File: `a b`\n*** Move to: c\n*** Add File: d\n*** End Patch\n*** Begin Patch\n*** Delete File: e\n*** End Patch";
    let got = parse(patch).expect("a patch");
    let paths: Vec<&str> = got.iter().map(|s| s.path.as_str()).collect();
    assert_eq!(paths, ["old", "a b", "d", "e"]);
    assert_eq!(
        touched(patch, PatchForm::Codex),
        Ok(["old", "a b", "c", "d", "e"].map(String::from).to_vec())
    );
}

#[test]
fn a_bad_line_is_named_with_its_number() {
    for (patch, number) in [
        (
            "*** Begin Patch\n*** Add File: a\nno plus\n*** End Patch",
            "line 3",
        ),
        (
            "*** Begin Patch\n*** Rename File: a\n*** End Patch",
            "line 2",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n@@\n-x\nnaked\n*** End Patch",
            "line 5",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n*** End Patch",
            "line 2",
        ),
        ("*** Begin Patch\n*** End Patch", "changes no file"),
        ("", "changes no file"),
    ] {
        match parse(patch) {
            Err(ToolError::BadPatch { why }) => assert!(why.contains(number), "{why}"),
            other => panic!("{patch}: {other:?}"),
        }
    }
}
