//! An answer that announces a step and does not take it.

/// How such a sentence begins.
const BEGINNINGS: &[&str] = &[
    "let me ",
    "let's ",
    "i'll ",
    "i will ",
    "i'm going to ",
    "i am going to ",
    "i need to ",
    "first, i ",
    "next, i ",
    "now i ",
    "now, i ",
    "now let me ",
    "now let's ",
];

/// Ends of such sentences that hand the word to the person: they are answers.
const TO_THE_PERSON: &[&str] = &[
    "let me know",
    "if you",
    "you can",
    "you want",
    "you like",
    "wait",
];

/// The longest text that is looked at, in bytes.
const SHORT: usize = 400;

/// True for a short text whose last sentence says what the model is about to do. A finished task
/// is told in the past tense.
pub fn announces(text: &str) -> bool {
    let text = text.trim();
    if text.len() > SHORT || text.ends_with('?') || text.contains("```") {
        return false;
    }
    let body = text.trim_end_matches(['.', '!', ':', '…']);
    let last = body
        .rfind(['\n', '!', '?'])
        .into_iter()
        .chain(body.rfind(". ").map(|at| at + 1))
        .max()
        .map_or(body, |at| body.get(at + 1..).unwrap_or_default());
    let last = last.trim().to_lowercase().replace('’', "'");
    BEGINNINGS.iter().any(|b| last.starts_with(b))
        && !TO_THE_PERSON.iter().any(|w| last.contains(w))
}

#[cfg(test)]
mod tests {
    use super::announces;

    #[test]
    fn a_plan_is_told_from_an_answer() {
        for text in [
            "Let me check the file.",
            "I'll read `habits.py` first:",
            "The test fails. Now I will fix it.",
            "Let’s look at the tests…",
            "First, I need to see the code.",
        ] {
            assert!(announces(text), "{text}");
        }
        for text in [
            "Done.",
            "I fixed the comparison. All tests pass.",
            "Let me know if you need more.",
            "Shall I go on? Let me know.",
            "I will wait for your answer.",
            "Should I let me?",
            "It is 42.",
            "",
        ] {
            assert!(!announces(text), "{text}");
        }
    }
}
