//! A change in parts that a window can take.

use crate::project::git::changes::FileDiff;

/// The most parts of one review.
const PARTS: usize = 200;

/// What the model is given at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The file that it belongs to; `None` for the whole change.
    pub path: Option<String>,
    /// The diff.
    pub text: String,
}

/// The whole change when it has at most `share` bytes; else file by file, and of a larger file some
/// hunks at a time. What fits nowhere is named with the reason.
pub fn parts(files: Vec<FileDiff>, share: usize) -> (Vec<Part>, Vec<(String, String)>) {
    let all: usize = files.iter().map(|f| f.text.len()).sum();
    if all <= share {
        let text = files.into_iter().map(|f| f.text).collect();
        return (vec![Part { path: None, text }], Vec::new());
    }
    let (mut parts, mut left_out) = (Vec::new(), Vec::new());
    for file in files {
        let (texts, dropped) = pieces(&file.text, share);
        if dropped > 0 {
            let why = match texts.is_empty() {
                true => "its change is larger than a review may take".to_owned(),
                false => format!("{dropped} of its hunks are larger than a review may take"),
            };
            left_out.push((file.path.clone(), why));
        }
        for text in texts {
            if parts.len() == PARTS {
                let known = left_out.iter().any(|(path, _)| *path == file.path);
                if !known {
                    let why = format!("a review has at most {PARTS} parts");
                    left_out.push((file.path.clone(), why));
                }
                break;
            }
            parts.push(Part {
                path: Some(file.path.clone()),
                text,
            });
        }
    }
    (parts, left_out)
}

/// One file's diff in texts of at most `share` bytes, each with the header, and how many hunks did
/// not fit.
fn pieces(diff: &str, share: usize) -> (Vec<String>, usize) {
    if diff.len() <= share {
        return (vec![diff.to_owned()], 0);
    }
    let starts: Vec<usize> = diff.match_indices("\n@@ ").map(|(at, _)| at + 1).collect();
    let header = diff
        .get(..starts.first().copied().unwrap_or(0))
        .unwrap_or_default();
    let ends = starts.iter().skip(1).copied().chain([diff.len()]);
    let (mut texts, mut dropped) = (Vec::new(), usize::from(starts.is_empty()));
    let mut text = String::new();
    for (start, end) in starts.iter().zip(ends) {
        let hunk = diff.get(*start..end).unwrap_or_default();
        if header.len() + hunk.len() > share {
            dropped += 1;
            continue;
        }
        if !text.is_empty() && text.len() + hunk.len() > share {
            texts.push(std::mem::take(&mut text));
        }
        if text.is_empty() {
            text.push_str(header);
        }
        text.push_str(hunk);
    }
    if !text.is_empty() {
        texts.push(text);
    }
    (texts, dropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, hunks: &[usize]) -> FileDiff {
        let mut text = format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n");
        for lines in hunks {
            text.push_str("@@ -1 +1 @@\n");
            text.push_str(&"+0123456\n".repeat(*lines));
        }
        FileDiff {
            path: path.into(),
            text,
        }
    }

    #[test]
    fn a_small_change_is_one_part() {
        let (parts, left_out) = parts(vec![file("a", &[1]), file("b", &[2])], 1_000);
        assert_eq!((parts.len(), left_out.len()), (1, 0));
        assert_eq!(parts[0].path, None);
        assert!(parts[0].text.contains("+++ b/a\n") && parts[0].text.contains("+++ b/b\n"));
    }

    #[test]
    fn a_large_change_goes_file_by_file_and_hunk_by_hunk() {
        let files = vec![
            file("small", &[3]),
            file("many", &[20, 20, 20]),
            file("huge", &[5, 200]),
            file("solid", &[300]),
        ];
        let (parts, left_out) = parts(files, 500);
        let names: Vec<_> = parts.iter().map(|p| p.path.as_deref().unwrap()).collect();
        assert_eq!(names, ["small", "many", "many", "huge"]);
        assert!(parts.iter().all(|p| p.text.len() <= 500));
        assert!(parts.iter().all(|p| p.text.starts_with("diff --git ")));
        let lines: usize = parts[1..3]
            .iter()
            .map(|p| p.text.matches("+0123").count())
            .sum();
        assert_eq!(lines, 60);
        let names: Vec<_> = left_out.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(names, ["huge", "solid"]);
        assert!(left_out[0].1.starts_with("1 of its hunks"), "{left_out:?}");
    }
}
