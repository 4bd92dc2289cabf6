use super::*;

/// The text after the replacement of every place.
fn replaced(text: &str, old: &str, new: &str) -> (String, usize, Option<Pass>) {
    let found = find(text, old, new, &Pass::ALL);
    let mut out = text.to_string();
    for place in found.places.iter().rev() {
        out.replace_range(place.clone(), &found.new);
    }
    (out, found.places.len(), found.pass)
}

#[test]
fn a_text_is_found_in_the_closest_way() {
    use Pass::*;
    for (text, old, new, want, count, pass) in [
        ("a b a", "a", "c", "c b c", 2, None),
        // Exact wins over everything looser.
        (
            "x = 'a'\nx = ‘a’\n",
            "'a'",
            "'b'",
            "x = 'b'\nx = ‘a’\n",
            1,
            None,
        ),
        (
            "é “q” – x\n",
            "\"q\" - x",
            "\"r\"",
            "é \"r\"\n",
            1,
            Some(Punctuation),
        ),
        (
            "a \u{a0}b “c” d\n",
            "\"c\"",
            "e",
            "a \u{a0}b e d\n",
            1,
            Some(Punctuation),
        ),
        ("a  \nb\n", "a\nb\n", "c\n", "c\n", 1, Some(TrailingSpace)),
        ("a\nb\n", "a  \nb", "c", "c\n", 1, Some(TrailingSpace)),
        ("a\nb", "a \nb\n", "c\n", "c", 1, Some(TrailingSpace)),
        ("z\na \nb\n", "a\nb\n", "", "z\n", 1, Some(TrailingSpace)),
        // Spaces for tabs.
        (
            "def f():\n\tif x:\n\t\treturn 1\n",
            "    if x:\n        return 1",
            "    if x:\n        return 2",
            "def f():\n\tif x:\n\t\treturn 2\n",
            1,
            Some(Indentation),
        ),
        (
            "say(\"a\")\n",
            "say(\\\"a\\\")",
            "say(\\\"b\\\")",
            "say(\"b\")\n",
            1,
            Some(Escapes),
        ),
        (
            "a\n\tb\n",
            "a\\n\\tb",
            "a\\n\\tc",
            "a\n\tc\n",
            1,
            Some(Escapes),
        ),
        // Only the quotes are escaped: the \n inside the string stays.
        (
            "p(\"a\\n\")\n",
            "p(\\\"a\\n\\\")",
            "p(\\\"b\\n\\\")",
            "p(\"b\\n\")\n",
            1,
            Some(Escapes),
        ),
        // Numbers of a listing.
        (
            "a\n  b\n",
            "1| a\n2|   b\n",
            "1| a\n2| c\n",
            "a\nc\n",
            1,
            None,
        ),
        ("a\n  b\n", "     1\ta\n     2\t  b", "a", "a\n", 1, None),
        ("x\na\n  b\n", "2→a\n3→  b", "2→c", "x\nc\n", 1, None),
        // Numbers that do not count up belong to the text.
        ("a\nb\n", "3| a\n7| b\n", "c", "a\nb\n", 0, None),
        ("a\n", "zzz", "c", "a\n", 0, None),
        ("a\n\n\nb\n", " \n", "c", "a\n\n\nb\n", 0, None),
    ] {
        let got = replaced(text, old, new);
        assert_eq!(got, (want.to_string(), count, pass), "{old:?} in {text:?}");
    }
}

#[test]
fn a_loose_match_in_two_places_names_both() {
    let text = "\tif x:\n\t\treturn 1\n\tz\n\tif x:\n\t\treturn 1\n";
    let found = find(text, "    if x:\n        return 1", "", &Pass::ALL);
    assert!(found.must_be_unique());
    assert_eq!(found.lines(text), [1, 4]);
}

#[test]
fn only_the_ways_that_are_allowed_are_tried() {
    assert!(
        find("\ta\n", "    a\n", "b", &[Pass::TrailingSpace])
            .places
            .is_empty()
    );
    assert!(find("“a”", "\"a\"", "b", &[]).places.is_empty());
}

#[test]
fn the_most_similar_lines_are_shown_with_their_numbers() {
    let text = "import os\n\ndef longest_run(days):\n    best = 0\n    return best\n";
    let got = near(text, "def longest_runs(day):\n    best = 1\n");
    assert_eq!(
        got.as_deref(),
        Some("3| def longest_run(days):\n4|     best = 0")
    );
    assert_eq!(near(text, "SELECT * FROM zxcv"), None);
    assert_eq!(near("", "a"), None);
}
