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

/// Gives a file a time of change.
fn age(b: &Bench, path: &str, seconds: u64) {
    let file = fs::File::options().append(true).open(b.dir.join(path));
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    file.expect("there").set_modified(time).expect("mine");
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
fn a_grep_goes_on_where_it_left_off() {
    let mut b = Bench::new().file("f", "1 x\n2\n3 x\n4 x\n5\n6 x\n");
    let page = |skip, limit, context| {
        Action::Grep(Grep {
            skip,
            context,
            ..Grep::new("x", limit)
        })
    };
    let text = |found: Vec<String>| found.join(" ");
    for (action, want, cut) in [
        (page(0, 2, (0, 0)), "f:1:1 x f:3:3 x", true),
        (page(2, 2, (0, 0)), "f:4:4 x f:6:6 x", false),
        (page(1, 1, (0, 1)), "f:3:3 x", true),
        (page(2, 1, (0, 1)), "f:4:4 x f-5-5", true),
        (page(3, 1, (1, 0)), "f-5-5 f:6:6 x", false),
        (page(1, 1, (1, 0)), "f-2-2 f:3:3 x", true),
        (page(4, 9, (1, 1)), "", false),
        (page(9, usize::MAX, (0, 0)), "", false),
    ] {
        let (found, total, is_cut) = lines(&mut b, action.clone());
        assert_eq!(
            (text(found).as_str(), total, is_cut),
            (want, 4, cut),
            "{action:?}"
        );
    }
}

/// What `rg -nU --multiline-dotall` prints for these files.
#[test]
fn a_grep_matches_across_lines() {
    let code = "fn a(\n    x: u32,\n) {}\n\nfn b() {}\nfn c(\n  y: u8,\n) {}\nend\n";
    let mut b = Bench::new()
        .file("a.rs", code)
        .file("crlf", "one\r\ntwo\r\nthree\r\n");
    let across = |pattern: &str, context, want| {
        Action::Grep(Grep {
            multiline: true,
            context,
            want,
            ..Grep::new(pattern, 100)
        })
    };
    let functions = r"fn \w\([^)]*\)";
    let found = lines(&mut b, across(functions, (0, 0), GrepWant::Lines));
    let want = "a.rs:1:fn a(|a.rs:2:    x: u32,|a.rs:3:) {}|a.rs:5:fn b() {}|a.rs:6:fn c(|a.rs:7:  y: u8,|a.rs:8:) {}";
    assert_eq!((found.0.join("|").as_str(), found.1), (want, 7));
    let found = lines(&mut b, across("u32,\n\\)", (1, 1), GrepWant::Lines));
    let want = "a.rs-1-fn a(|a.rs:2:    x: u32,|a.rs:3:) {}|a.rs-4-";
    assert_eq!(found.0.join("|"), want);
    let found = lines(&mut b, across("^one$.*thr", (0, 0), GrepWant::Lines));
    assert_eq!(found.0, ["crlf:1:one", "crlf:2:two", "crlf:3:three"]);
    for (pattern, count) in [(functions, 3), ("fn.*?\\}", 3), ("fn.*\\}", 1)] {
        let out = b.run(across(pattern, (0, 0), GrepWant::Counts));
        let Outcome::Counted(out) = out else {
            panic!("{out:?}");
        };
        assert_eq!(out.files, [(b.dir.join("a.rs"), count)], "{pattern}");
    }
    // A line end in the expression says the same as the option; `.` stays within a line.
    assert_eq!(lines(&mut b, grep(r"u32,\n\)")).1, 2);
    assert_eq!(lines(&mut b, grep(r"u32.\n.*")).1, 2);
    assert_eq!(lines(&mut b, grep("u32.*end")).1, 0);
}

#[test]
fn a_grep_gives_the_files_newest_first() {
    let mut b = workspace();
    age(&b, "src/main.rs", 1000);
    age(&b, "src/lib/deep.rs", 2000);
    let dir = b.dir.clone();
    let mut files = |pattern: &str, skip, limit| match b.run(Action::Grep(Grep {
        want: GrepWant::Files,
        skip,
        ..Grep::new(pattern, limit)
    })) {
        Outcome::Found(out) => {
            let names = out.paths.iter().map(|p| p.strip_prefix(&dir));
            let names = names.map(|p| p.expect("inside").display().to_string());
            (names.collect::<Vec<_>>().join(" "), out.total)
        }
        other => panic!("{other:?}"),
    };
    let (deep, main) = ("src/lib/deep.rs", "src/main.rs");
    assert_eq!(files("needle", 0, 9), (format!("{deep} {main}"), 2));
    assert_eq!(files("needle", 0, 1), (deep.into(), 2));
    assert_eq!(files("needle", 1, 9), (main.into(), 2));
    assert_eq!(files("needle", 2, 9), (String::new(), 2));
    assert_eq!(files("nothing", 0, 9), (String::new(), 0));
}

/// What `rg -c` counts.
#[test]
fn a_grep_counts_by_path() {
    let mut b = workspace().file("z.rs", "e\n").file("src/a", "e e\nx\ne\n");
    let count = |skip, limit| {
        Action::Grep(Grep {
            want: GrepWant::Counts,
            skip,
            ..Grep::new("e", limit)
        })
    };
    let dir = b.dir.clone();
    let at = |path: &str| dir.join(path);
    let mut counted = |action| match b.run(action) {
        Outcome::Counted(out) => out,
        other => panic!("{other:?}"),
    };
    let all = counted(count(0, 9));
    let want = [
        (at(".gitignore"), 1),
        (at("README.md"), 1),
        (at("src/a"), 2),
        (at("src/lib/deep.rs"), 4),
        (at("src/main.rs"), 1),
        (at("z.rs"), 1),
    ];
    assert_eq!(all.files, want);
    assert_eq!((all.total_files, all.total), (6, 10));
    let part = counted(count(2, 2));
    assert_eq!(part.files, want[2..4]);
    assert_eq!((part.total_files, part.total), (6, 10));
}

#[test]
fn a_grep_knows_the_types_of_ripgrep() {
    let mut b = workspace()
        .file("a.py", "needle\n")
        .file("b.tsx", "needle\n");
    let of = |kind: &str, path: Option<&str>| {
        Action::Grep(Grep {
            file_type: Some(kind.into()),
            path: path.map(String::from),
            ..Grep::new("needle", 9)
        })
    };
    assert_eq!(lines(&mut b, of("py", None)).0, ["a.py:1:needle"]);
    assert_eq!(lines(&mut b, of("Rust", None)).1, 2);
    assert_eq!(lines(&mut b, of("ts", None)).0, ["b.tsx:1:needle"]);
    assert_eq!(lines(&mut b, of("go", None)).1, 0);
    assert_eq!(lines(&mut b, of("javascript", None)).1, 0);
    assert_eq!(lines(&mut b, of("", None)).1, 4);
    assert_eq!(lines(&mut b, of("rust", Some("a.py"))).1, 1);
    for (wrong, near) in [
        ("rs", "rust"),
        (".tsx", "ts, typescript"),
        ("pyton", "python"),
        ("??", "py"),
    ] {
        let error = b.error(of(wrong, None));
        assert!(matches!(&error, ToolError::BadPattern { pattern, .. } if pattern == wrong));
        assert!(error.to_string().contains(near), "{error}");
    }
}

#[test]
fn a_glob_gives_the_newest_first() {
    let mut b = workspace();
    age(&b, "src/main.rs", 1000);
    age(&b, "src/lib/deep.rs", 2000);
    let dir = b.dir.clone();
    let mut glob = |pattern: &str, path: Option<&str>, limit| match b.run(Action::Glob(Glob {
        path: path.map(String::from),
        ..Glob::new(pattern, limit)
    })) {
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
    let bad = Action::Glob(Glob::new("[", 1));
    assert!(matches!(b.error(bad), ToolError::BadPattern { .. }));
}

/// What `rg --files` and `rg --files --no-ignore` list, and `find` with its folders.
#[test]
fn a_search_finds_ignored_files_and_folders_where_they_are_wanted() {
    let mut b = workspace()
        .file("target/build.log", "needle\n")
        .file("target/a.o", "x");
    let dir = b.dir.clone();
    let names = |outcome| match outcome {
        Outcome::Found(out) => {
            let names = out.paths.iter().map(|path| {
                let relative = path.strip_prefix(&dir).expect("inside");
                relative.display().to_string()
            });
            let mut names: Vec<String> = names.collect();
            names.sort();
            names.join(" ")
        }
        other => panic!("{other:?}"),
    };
    let glob = |pattern: &str, ignored, folders| {
        Action::Glob(Glob {
            ignored,
            folders,
            ..Glob::new(pattern, 99)
        })
    };
    for (pattern, ignored, folders, wanted) in [
        ("target/*", Ignored::LeftOut, true, ""),
        (
            "target/*",
            Ignored::IfNothingElse,
            false,
            "target/a.o target/build.log target/out.rs",
        ),
        (
            "*.{rs,o}",
            Ignored::IfNothingElse,
            false,
            "src/lib/deep.rs src/main.rs",
        ),
        (
            "*.{rs,o}",
            Ignored::Included,
            false,
            "src/lib/deep.rs src/main.rs target/a.o target/out.rs",
        ),
        ("src/*", Ignored::LeftOut, false, "src/main.rs"),
        ("src/*", Ignored::LeftOut, true, "src/lib src/main.rs"),
    ] {
        let found = names(b.run(glob(pattern, ignored, folders)));
        assert_eq!(found, wanted, "{pattern} {ignored:?} {folders}");
    }
    let grep = |ignored| {
        Action::Grep(Grep {
            want: GrepWant::Files,
            ignored,
            ..Grep::new("needle", 99)
        })
    };
    let left_out = names(b.run(grep(Ignored::LeftOut)));
    assert!(!left_out.contains("build.log"), "{left_out}");
    let all = names(b.run(grep(Ignored::Included)));
    assert!(
        all.contains("target/build.log") && !all.contains(".git/"),
        "{all}"
    );
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
