use super::*;
use std::time::{Duration, SystemTime};

fn workspace() -> Bench {
    Bench::new()
        .file(".gitignore", "target/\n*.log\n")
        .file(".git/config", "needle\n")
        .file("home/auth.json", "needle\n")
        .file("src/main.rs", "fn main() {\n    needle();\n}\n")
        .file(
            "src/lib/deep.rs",
            "one\r\nNeedle\r\nthree\r\nfour\r\nneedle\r\n",
        )
        .file("target/out.rs", "needle\n")
        .file("x.log", "needle\n")
        .file("pic.bin", b"needle\n\0\x01")
        .file("README.md", "text\n")
}

fn grep(pattern: &str) -> Action {
    Action::Grep(Grep::new(pattern, 100))
}

/// The lines of a grep as `path:number:text`, with `-` for context, and the total.
fn lines(b: &mut Bench, action: Action) -> (Vec<String>, usize, bool) {
    let Outcome::Matches(out) = b.run(action) else {
        panic!("matches");
    };
    let show = |l: &GrepLine| {
        let path = l.path.strip_prefix(&b.dir).expect("inside").display();
        let sign = if l.is_match { ':' } else { '-' };
        format!("{path}{sign}{}{sign}{}", l.number, l.text)
    };
    (out.lines.iter().map(show).collect(), out.total, out.cut)
}

#[test]
fn a_grep_honours_ignore_rules_and_skips_what_is_not_text() {
    let mut b = workspace();
    let (found, total, cut) = lines(&mut b, grep("needle"));
    assert_eq!(
        found,
        ["src/lib/deep.rs:5:needle", "src/main.rs:2:    needle();"]
    );
    assert_eq!((total, cut), (2, false));
}

#[test]
fn a_grep_has_its_options() {
    let mut b = workspace();
    let wide = |include: Option<&str>, context, limit| {
        Action::Grep(Grep {
            path: Some("src".into()),
            include: include.map(String::from),
            ignore_case: true,
            context: (context, context),
            ..Grep::new("needle$", limit)
        })
    };
    let deep = "src/lib/deep.rs";
    assert_eq!(
        lines(&mut b, wide(Some("*.rs"), 0, 9)).0,
        [format!("{deep}:2:Needle"), format!("{deep}:5:needle")]
    );
    assert_eq!(lines(&mut b, wide(Some("lib/**/*.rs"), 0, 9)).1, 2);
    assert_eq!(lines(&mut b, wide(Some("*.py"), 0, 9)).1, 0);
    assert_eq!(
        lines(&mut b, wide(None, 1, 1)),
        (
            vec![
                format!("{deep}-1-one"),
                format!("{deep}:2:Needle"),
                format!("{deep}-3-three"),
            ],
            2,
            true
        )
    );
    let one = Action::Grep(Grep {
        path: Some(deep.into()),
        ..Grep::new("four", 9)
    });
    assert_eq!(lines(&mut b, one).0, [format!("{deep}:4:four")]);
    assert!(matches!(b.error(grep("a(")), ToolError::BadPattern { .. }));
    let long = "x".repeat(10_000);
    let mut b = Bench::new().file("long", format!("{long}needle"));
    assert_eq!(
        lines(&mut b, grep("needle")).0[0].len(),
        "long:1:".len() + 4096 + "…".len()
    );
}

#[test]
fn a_glob_gives_the_newest_first() {
    let mut b = workspace();
    let age = |path: &str, seconds| {
        let file = fs::File::options()
            .append(true)
            .open(b.dir.join(path))
            .expect("there");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        file.set_modified(time).expect("mine");
    };
    age("src/main.rs", 1000);
    age("src/lib/deep.rs", 2000);
    let dir = b.dir.clone();
    let mut glob = |pattern: &str, path: Option<&str>, limit| match b.run(Action::Glob {
        pattern: pattern.into(),
        path: path.map(String::from),
        limit,
    }) {
        Outcome::Found(out) => {
            let names = out.paths.iter().map(|p| {
                let relative = p.strip_prefix(&dir).expect("inside");
                relative.display().to_string()
            });
            (names.collect::<Vec<_>>().join(" "), out.total)
        }
        other => panic!("{other:?}"),
    };
    let both = "src/lib/deep.rs src/main.rs";
    assert_eq!(glob("*.rs", None, 9), (both.into(), 2));
    assert_eq!(glob("./src/**/*.rs", None, 9), (both.into(), 2));
    assert_eq!(glob("src/*.rs", None, 9), ("src/main.rs".into(), 1));
    assert_eq!(
        glob("**/*.{rs,md}", Some("src"), 1),
        ("src/lib/deep.rs".into(), 2)
    );
    let absolute = format!("{}/src/l*/*", dir.display());
    assert_eq!(glob(&absolute, None, 9), ("src/lib/deep.rs".into(), 1));
    assert_eq!(glob("*.py", None, 9), (String::new(), 0));
    let bad = Action::Glob {
        pattern: "[".into(),
        path: None,
        limit: 1,
    };
    assert!(matches!(b.error(bad), ToolError::BadPattern { .. }));
}

#[test]
fn a_list_has_folders_first_and_counts_what_it_leaves_out() {
    let mut b = workspace();
    let list = |path: &str, ignore: &[&str], respect_ignore, limit| Action::List {
        path: path.into(),
        ignore: ignore.iter().map(|s| s.to_string()).collect(),
        respect_ignore,
        limit,
    };
    let mut names = |action| match b.run(action) {
        Outcome::Listed(out) => {
            let names: Vec<String> = out.entries.into_iter().map(|e| e.name).collect();
            (names.join(" "), out.ignored, out.more)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(
        names(list(".", &["*.bin"], true, 9)),
        ("src .gitignore README.md".into(), 2, 0)
    );
    assert_eq!(
        names(list(".", &[], false, 3)),
        ("src target .gitignore".into(), 0, 3)
    );
    assert_eq!(
        b.error(list("README.md", &[], true, 9)),
        ToolError::NotFolder {
            path: "README.md".into()
        }
    );
}

#[test]
fn a_cancelled_search_stops() {
    let mut b = workspace();
    let cancel = Cancel::new();
    cancel.cancel();
    let mut run = |action| {
        b.bench
            .run(&action, &Lift::Nothing, 100, &cancel, &mut |_| {})
    };
    assert_eq!(run(grep("needle")), Outcome::Interrupted);
}
