//! Finding the one command of a reply.
//!
//! The original takes only its own fence. Small models forget the label, or the fence: a shell
//! fence that is the only one, and a reply that is nothing but commands, count as well.

use super::{DONE_TOKEN, FENCE};

/// What a reply holds.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// Exactly one command; identical copies count once.
    Command(String),
    /// None, or so many different ones.
    Number(usize),
}

/// A block between fences.
#[derive(Debug, PartialEq, Eq)]
struct Block {
    label: String,
    body: String,
    closed: bool,
}

/// Labels that mark a block as shell commands.
const SHELL_LABELS: [&str; 6] = ["bash", "sh", "shell", "console", "zsh", "shell-session"];

/// The most lines outside here-documents of a reply without a fence.
const BARE_LINES: usize = 20;

/// Looks for the command of a reply; `cut` says that the output limit ended it.
pub fn find(reply: &str, cut: bool) -> Found {
    let (blocks, _) = blocks(reply);
    let whole: Vec<&Block> = blocks
        .iter()
        .filter(|block| (block.closed || !cut) && !block.body.trim().is_empty())
        .collect();
    let distinct = |blocks: &mut dyn Iterator<Item = &&Block>| {
        let mut bodies: Vec<String> = blocks.map(|block| block.body.trim().to_owned()).collect();
        bodies.sort_unstable();
        bodies.dedup();
        bodies
    };
    let mut own = distinct(&mut whole.iter().filter(|block| block.label == FENCE));
    if own.len() > 1 {
        return Found::Number(own.len());
    }
    if let Some(command) = own.pop() {
        return Found::Command(without_prompts(&command));
    }
    let is_shell = |block: &Block| SHELL_LABELS.contains(&block.label.as_str());
    let mut all = distinct(&mut whole.iter());
    if all.len() > 1 {
        return Found::Number(distinct(&mut whole.iter().filter(|b| is_shell(b))).len());
    }
    if let Some(body) = all.pop() {
        let command = without_prompts(&body);
        let counts = whole
            .iter()
            .any(|block| is_shell(block) || block.label.is_empty() && is_commands(&command));
        return if counts {
            Found::Command(command)
        } else {
            Found::Number(0)
        };
    }
    if !cut && blocks.is_empty() && is_commands(reply) {
        return Found::Command(without_prompts(reply.trim()));
    }
    Found::Number(0)
}

/// Where the first command of a reply ends, once another block has begun after it. Thoughts are no
/// part of the reply.
pub fn first_command_end(reply: &str) -> Option<usize> {
    let from = match (reply.rfind("<think>"), reply.rfind("</think>")) {
        (Some(open), Some(close)) if open < close => close,
        (Some(_), _) => return None,
        (None, close) => close.unwrap_or(0),
    };
    let mut at = from;
    let mut lines = Vec::new();
    for line in reply[from..].split_inclusive('\n') {
        at += line.len();
        lines.push((line.trim_end(), at));
    }
    let texts: Vec<&str> = lines.iter().map(|(line, _)| *line).collect();
    let mut next = 0;
    let mut command = None;
    while let Some(line) = texts.get(next) {
        next += 1;
        let Some(label) = line.trim_start().strip_prefix("```") else {
            continue;
        };
        if command.is_some() {
            return command;
        }
        let label = label.trim().to_lowercase();
        let length = block_end(&texts[next..])?;
        let is_command = label == FENCE || SHELL_LABELS.contains(&label.as_str());
        next += length + 1;
        command = is_command.then(|| lines[next - 1].1);
    }
    None
}

/// The words of a reply outside its blocks; empty for a reply without one.
pub fn prose(reply: &str) -> String {
    let (blocks, prose) = blocks(reply);
    if blocks.is_empty() {
        return String::new();
    }
    prose.trim().to_owned()
}

/// For a command that only prints the final word: the words after it.
pub fn only_finishes(command: &str) -> Option<String> {
    let words = command.trim().strip_prefix("echo ")?.trim();
    let quoted = |quote: char| words.strip_prefix(quote)?.strip_suffix(quote);
    let (words, is_quoted) = match quoted('"').or_else(|| quoted('\'')) {
        Some(inner) => (inner, true),
        None => (words, false),
    };
    let rest = words.strip_prefix(DONE_TOKEN)?;
    if rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let special: &[char] = if is_quoted {
        &['"', '\'', '`', '$', '\n']
    } else {
        &[
            '"', '\'', '`', '$', '\n', '|', '&', ';', '<', '>', '(', '\\',
        ]
    };
    (!rest.contains(special)).then(|| rest.trim_start_matches([':', ' ']).trim().to_owned())
}

/// The command that only prints the final word and these words; `None` when a shell would change
/// them.
pub fn finish(words: &str) -> Option<String> {
    let command = match words.trim() {
        "" => format!("echo {DONE_TOKEN}"),
        words => format!("echo \"{DONE_TOKEN}: {words}\""),
    };
    let again = only_finishes(&command)?;
    (again == words.trim()).then_some(command)
}

/// All fenced blocks, and the text outside them. A fence inside an open here-document belongs to
/// the document, unless that document never ends.
fn blocks(reply: &str) -> (Vec<Block>, String) {
    let lines: Vec<&str> = reply.lines().collect();
    let mut blocks = Vec::new();
    let mut prose = String::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        let Some(label) = line.trim_start().strip_prefix("```") else {
            prose.push_str(line);
            prose.push('\n');
            continue;
        };
        let (length, closed) = match block_end(&lines[at..]) {
            Some(length) => (length, true),
            None => (lines.len() - at, false),
        };
        blocks.push(Block {
            label: label.trim().to_lowercase(),
            body: lines[at..at + length].join("\n"),
            closed,
        });
        at += length + usize::from(closed);
    }
    (blocks, prose)
}

/// How many lines stand before the closing fence.
fn block_end(lines: &[&str]) -> Option<usize> {
    let mut first = None;
    let mut document: Option<String> = None;
    for (at, line) in lines.iter().enumerate() {
        match &document {
            Some(word) if line.trim() == word => document = None,
            None if line.trim() == "```" => return Some(at),
            Some(_) if line.trim() == "```" => first = first.or(Some(at)),
            Some(_) => {}
            None => document = document_word(line),
        }
    }
    first
}

/// The closing word of a here-document that begins in this line.
fn document_word(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("<<")?;
    // `<<<` is a here-string.
    if rest.starts_with('<') {
        return None;
    }
    let word: String = rest
        .trim_start_matches('-')
        .trim_start()
        .trim_start_matches(['\'', '"', '\\'])
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    // A number after `<<` is a shift.
    (!word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit())).then_some(word)
}

/// Takes `$ ` prompts away; where some lines have one, the others are output and go too.
fn without_prompts(text: &str) -> String {
    if !text.starts_with("$ ") {
        return text.to_owned();
    }
    text.lines()
        .filter_map(|line| line.strip_prefix("$ "))
        .collect::<Vec<_>>()
        .join("\n")
}

/// True when a text is nothing but shell commands.
fn is_commands(text: &str) -> bool {
    let mut count = 0;
    let mut document: Option<String> = None;
    let mut continued = false;
    for line in text.lines().map(str::trim) {
        if let Some(word) = &document {
            if line == word {
                document = None;
            }
            continue;
        }
        let line = line.strip_prefix("$ ").unwrap_or(line);
        document = document_word(line);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        count += 1;
        let inner = count > 1 && INNER.contains(&line.split([' ', ';']).next().unwrap_or_default());
        if count > BARE_LINES || !(continued || inner || is_command(line)) {
            return false;
        }
        continued = line.ends_with('\\') || line.ends_with('|') || line.ends_with("&&");
    }
    count > 0
}

/// Programs that a command may begin with.
const PROGRAMS: &str = " ls cd cat pwd echo printf mkdir rmdir rm cp mv ln chmod grep egrep fgrep \
rg sed awk tr wc uniq diff xargs tee nl tree stat du df ps env export source bash sh zsh python \
python3 pip pip3 pytest uv poetry tox mypy ruff node npm npx yarn pnpm deno bun tsc jest cargo \
rustc gcc g++ clang cmake javac java mvn gradle dotnet ruby bundle rake perl php composer git \
gh curl wget tar unzip gzip jq docker apply_patch sudo basename dirname realpath uname whoami ";

/// Words that begin the inner lines of a loop or a condition.
const INNER: [&str; 6] = ["then", "do", "done", "fi", "else", "elif"];

/// Programs whose names are common words too: such a line has to look like a command.
const WORDS: &str = " find make test sort head tail time touch which cut kill file less more date \
patch set for while if go ";

/// True when one line reads as a shell command and not as a sentence.
fn is_command(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let Some(first) = words.next() else {
        return false;
    };
    let rest: Vec<&str> = words.collect();
    let listed = |list: &str| list.contains(&format!(" {first} "));
    let is_sentence =
        rest.len() >= 3 && line.ends_with(['.', '?', '!', ':']) && !line.ends_with(" .");
    if is_sentence {
        return false;
    }
    let joined = [" && ", " || ", " | ", " > ", " >> ", "; "]
        .iter()
        .any(|operator| line.contains(operator));
    let looks = joined
        || rest.iter().any(|word| {
            word.starts_with('-') || word.contains(['/', '.', '*', '$', '"', '\'', '=', '<', '>'])
        });
    if listed(PROGRAMS) {
        return looks || rest.len() <= 4;
    }
    if listed(WORDS) {
        return looks
            || match first {
                "make" => rest.len() <= 1 && !rest.contains(&"sure"),
                "date" => rest.is_empty(),
                "go" => matches!(
                    rest.first(),
                    Some(&("build" | "test" | "run" | "vet" | "mod" | "fmt" | "get" | "generate"))
                ),
                _ => false,
            };
    }
    let is_path = first.starts_with("./") || (first.starts_with('/') && first.len() > 1);
    let is_assignment = first.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    });
    is_path || is_assignment || (joined && first.chars().all(|c| c.is_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(reply: &str) -> Option<String> {
        match find(reply, false) {
            Found::Command(command) => Some(command),
            Found::Number(_) => None,
        }
    }

    /// The fence of the original.
    #[test]
    fn its_own_fence_counts_once() {
        let block = "```mswea_bash_command\nls -la\n```\n";
        let expected = Some("ls -la".to_owned());
        assert_eq!(command(&format!("I look.\n\n{block}")), expected);
        assert_eq!(command(&block.repeat(3)), expected);
        let other = block.replace("ls", "cat x; ls");
        assert_eq!(find(&format!("{block}{other}"), false), Found::Number(2));
        assert_eq!(
            command(&format!("```python\nx = 1\n```\n{block}")),
            expected
        );
    }

    #[test]
    fn other_shell_fences_count_when_alone() {
        for label in ["bash", "sh", "shell", "console", ""] {
            let reply = format!("First I look.\n```{label}\nls src\n```");
            assert_eq!(command(&reply).as_deref(), Some("ls src"), "{label}");
        }
        assert_eq!(
            command("```console\n$ ls\na.py\n$ pwd\n```").as_deref(),
            Some("ls\npwd")
        );
        assert_eq!(command("```python\nprint(1)\n```"), None);
        assert_eq!(command("```\n{\"name\": \"x\"}\n```"), None);
        assert_eq!(
            find("```bash\nls\n```\n```bash\npwd\n```", false),
            Found::Number(2)
        );
    }

    #[test]
    fn a_fence_without_an_end_counts_unless_the_reply_was_cut() {
        let reply = "```mswea_bash_command\ncat a.py";
        assert_eq!(command(reply).as_deref(), Some("cat a.py"));
        assert_eq!(find(reply, true), Found::Number(0));
    }

    #[test]
    fn a_fence_in_a_here_document_belongs_to_it() {
        let body = "cat > README.md <<'EOF'\n```\ncode\n```\nEOF\necho ok";
        let reply = format!("```mswea_bash_command\n{body}\n```");
        assert_eq!(command(&reply).as_deref(), Some(body));
        let open = "```mswea_bash_command\ncat > a <<EOF\nx\n```\nThen more.";
        assert_eq!(command(open).as_deref(), Some("cat > a <<EOF\nx"));
    }

    /// Small models often send a shell command and nothing else.
    #[test]
    fn a_reply_that_is_commands_counts() {
        for reply in [
            "ls",
            "cat habits.py",
            "python3 -m pytest -q",
            "$ git status",
            "find . -name '*.py'",
            "make test",
            "./run.sh",
            "FOO=1 ./run.sh | tee log",
            "cd src && ls",
            "go test",
            "for f in *.py\ndo\n  python3 $f\ndone",
            "cat > a.py <<'EOF'\nprint('hello world.')\nAnd any text here.\nEOF\npython3 a.py",
            "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT",
        ] {
            let expected = reply.trim_start_matches("$ ").to_owned();
            assert_eq!(command(reply), Some(expected));
        }
        for reply in [
            "",
            "The tests pass now.",
            "done",
            "go on and fix it",
            "I will run ls && cat.",
            "Make sure that the tests pass.",
            "Find the cause, then fix it.",
            "find the bug in habits",
            "test it again",
            "The fix is in habits.py; it works.",
            "ls\nThis lists the files.",
            "{\"command\": \"ls\"}",
        ] {
            assert_eq!(command(reply), None, "{reply}");
        }
    }

    #[test]
    fn only_the_bare_word_ends_the_task() {
        let said = |text: &str| only_finishes(&text.replace("TOKEN", DONE_TOKEN));
        assert_eq!(said("echo TOKEN"), Some(String::new()));
        assert_eq!(
            said("echo \"TOKEN: fixed it\"").as_deref(),
            Some("fixed it")
        );
        assert_eq!(said("echo TOKEN && cat patch.txt"), None);
        assert_eq!(said("echo TOKENS"), None);
        assert_eq!(said("pytest && echo TOKEN"), None);
    }
}
