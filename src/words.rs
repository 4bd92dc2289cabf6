//! Small things that every floor does with words: cutting them, comparing them, quoting them.

/// The first bytes of a text, at most so many, cut between characters.
pub fn head(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// The last bytes of a text, at most so many, cut between characters.
pub fn tail(text: &str, most: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(most))..]
}

/// How alike two names are, from 0 to 1, whatever their case.
pub fn likeness(a: &str, b: &str) -> f64 {
    strsim::normalized_damerau_levenshtein(&a.to_lowercase(), &b.to_lowercase())
}

/// True when one name is a part of the other one, and long enough to mean something.
pub fn is_part(a: &str, b: &str) -> bool {
    const LONG: usize = 3;
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    a.len() >= LONG && b.contains(&a) || b.len() >= LONG && a.contains(&b)
}

/// The candidate that `word` was most likely meant to be, if any is near enough to be worth naming.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const NEAR: f64 = 0.6;
    candidates
        .into_iter()
        .map(|c| (likeness(word, c), c))
        // A part of a name is near enough, but never nearer than a name that is more alike.
        .filter(|(likeness, c)| *likeness >= NEAR || is_part(word, c))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, c)| c)
}

/// A word as a POSIX shell reads it back.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!((head("aüb", 2), tail("aüb", 2)), ("a", "b"));
        assert_eq!((head("aüb", 3), tail("aüb", 3)), ("aü", "üb"));
        assert_eq!((head("aüb", 99), tail("aüb", 99)), ("aüb", "aüb"));
        assert_eq!((head("ü", 0), tail("ü", 0)), ("", ""));
    }

    #[test]
    fn a_typing_error_finds_the_word_and_another_word_does_not() {
        let words = ["model", "model_provider", "sandbox_mode", "oss"];
        assert_eq!(nearest("modle", words), Some("model"));
        assert_eq!(nearest("sandbox", words), Some("sandbox_mode"));
        assert_eq!(nearest("Model_Provder", words), Some("model_provider"));
        assert_eq!(nearest("x", words), None);
        assert_eq!(nearest("zzzz", words), None);
    }

    #[test]
    fn a_shell_reads_a_quoted_word_back() {
        assert_eq!(quote("src/a-b.rs"), "src/a-b.rs");
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("$HOME"), "'$HOME'");
    }
}
