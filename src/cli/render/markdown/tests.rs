use super::*;
use crate::cli::render::ColorChoice;

const TEXT: &str = "\
# The plan

Some **bold** words, `code` and a [link](https://example.com/a) that make a line which is broken.

- one item that is long enough to be broken at forty columns
  - [x] a nested one
12. twelfth

> quoted words that go on for longer than one row has

| Name | Größe |
|------|------:|
| 日本 | 7 |
| b | 1,000 |

```rust
let a_long_line = \"is not broken, because code is there to be copied\";
```
---
The end.
";

fn styled() -> Theme {
    Theme::new(ColorChoice::Always, &std::io::stderr())
}

/// The text without its styles.
fn bare(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        out.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    out + rest
}

fn whole(text: &str, theme: Theme, columns: usize) -> String {
    let mut markdown = Markdown::new(theme, Some(columns));
    markdown.push(text) + &markdown.finish()
}

#[test]
fn at_80_columns() {
    assert_eq!(
        bare(&whole(TEXT, styled(), 80)),
        include_str!("golden/80.txt")
    );
}

#[test]
fn at_40_columns() {
    let text = bare(&whole(TEXT, styled(), 40));
    assert_eq!(text, include_str!("golden/40.txt"));
    let outside_of_code = text.lines().filter(|l| !l.contains("let a_long_line"));
    assert!(outside_of_code.into_iter().all(|l| width(l) <= 40));
}

#[test]
fn without_styles_the_marks_stay() {
    let text = "**bold** and `code`, [a](b)\n- item\n# head\n";
    assert_eq!(whole(text, Theme::default(), 80), text);
    let mut plain = Markdown::new(Theme::default(), None);
    assert_eq!(plain.push(TEXT) + &plain.finish(), TEXT);
}

#[test]
fn in_pieces_it_is_the_same() {
    for theme in [styled(), Theme::default()] {
        for columns in [20, 40, 80] {
            let all = whole(TEXT, theme, columns);
            for size in [1, 3, 17] {
                let mut markdown = Markdown::new(theme, Some(columns));
                let chars: Vec<char> = TEXT.chars().collect();
                let mut out = String::new();
                for piece in chars.chunks(size) {
                    out.push_str(&markdown.push(&piece.iter().collect::<String>()));
                    assert!(out.is_empty() || out.ends_with('\n'));
                }
                out.push_str(&markdown.finish());
                assert_eq!(out, all, "{columns} columns, pieces of {size}");
            }
        }
    }
}

#[test]
fn rows_come_before_the_line_ends() {
    let mut markdown = Markdown::new(styled(), Some(20));
    assert_eq!(
        markdown.push("These words are more than one row, "),
        "These words are more\n"
    );
    // What is bold is not known before its end.
    assert_eq!(markdown.push("**and these are"), "");
    let rest = markdown.push(" bold** too, and more follows here\n");
    assert_eq!(
        bare(&rest),
        "than one row, and\nthese are bold too,\nand more follows\nhere\n"
    );
}

#[test]
fn marks_that_are_none_stay() {
    for text in [
        "2 * 3 * 4 and snake_case_name and a*b",
        "an open **mark and an open `tick",
        "[not a link] and [x](",
        "** spaced **",
        "a ~ b",
    ] {
        assert_eq!(bare(&whole(text, styled(), 80)), format!("{text}\n"));
    }
    assert_eq!(
        bare(&whole(r"\*stars\* and `a*b*`", styled(), 80)),
        "*stars* and a*b*\n"
    );
    assert_eq!(whole("**a**", styled(), 80), "\x1b[1ma\x1b[0m\n");
    assert_eq!(whole("`a`", styled(), 80), "\x1b[36ma\x1b[0m\n");
}

#[test]
fn a_table_that_is_too_wide_becomes_rows() {
    let table = "| Key | What it is for |\n|---|---|\n| a | the first of all the keys |\n| b | |\n";
    assert_eq!(
        bare(&whole(table, styled(), 24)),
        "Key: a\nWhat it is for: the\n  first of all the keys\n────────\nKey: b\n"
    );
    assert_eq!(whole("| no table |\n", styled(), 24), "| no table |\n");
}

#[test]
fn nothing_raw_comes_out_and_nothing_is_too_long() {
    let evil = "a\x1b[2J `\x1b]0;x\x07` | \u{202e}\r\n| \x1b[0m |\n|-|\n```\n\x1b[31m\n";
    let text = whole(evil, Theme::default(), 40);
    assert!(
        !text.contains(['\x1b', '\x07', '\u{202e}', '\r']),
        "{text:?}"
    );
    let mut markdown = Markdown::new(styled(), Some(40));
    let mut out = String::new();
    for _ in 0..1_500 {
        out.push_str(&markdown.push("word **"));
        assert!(markdown.line.len() < 2 * LONGEST_LINE);
    }
    assert!(out.len() > 9_000);
}

#[test]
fn any_text_is_taken() {
    let signs = [
        "*", "_", "`", "[", "](", ")", "|", "\n", "#", "> ", "- ", "\\", "ä", "日", " ", "~~", "!",
        "1. ",
    ];
    let mut seed = 7_u32;
    for _ in 0..2_000 {
        let mut text = String::new();
        for _ in 0..12 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.push_str(signs[(seed >> 16) as usize % signs.len()]);
        }
        let all = whole(&text, styled(), 20);
        let mut markdown = Markdown::new(styled(), Some(20));
        let mut out = String::new();
        for c in text.chars() {
            out.push_str(&markdown.push(&c.to_string()));
        }
        out.push_str(&markdown.finish());
        assert_eq!(out, all, "{text:?}");
    }
}

#[test]
fn another_width_counts_from_the_next_line() {
    let mut markdown = Markdown::new(Theme::default(), Some(20));
    let first = markdown.push("one two three four five six ");
    assert_eq!(first, "one two three four\n");
    markdown.resize(Some(10));
    let rest = markdown.push("seven\neight nine ten eleven\n");
    assert_eq!(rest, "five six seven\neight nine\nten eleven\n");
}
