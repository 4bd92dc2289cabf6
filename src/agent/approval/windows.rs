//! Commands of PowerShell and `cmd.exe`, judged without their grammar.
//!
//! Both have many ways to write a quote, a separator or an escape. So nothing but plain words is
//! known to be safe, and dangerous words are looked for wherever a command could begin.

/// How many words a command that runs others may have. With more it counts as dangerous.
const MOST_WORDS: usize = 256;
/// The longest line that is read, in bytes. A longer one counts as dangerous, and as not safe.
const MAX_BYTES: usize = 64 * 1024;

/// Whose words a command is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// PowerShell, old or new.
    PowerShell,
    /// `cmd.exe`.
    Cmd,
    /// One of the two; which is not known.
    Either,
}

/// The family of a shell by its program; `None` for every other one.
pub(super) fn family(program: &str) -> Option<Family> {
    let name = program.rsplit(['\\', '/']).next().unwrap_or(program);
    let name = name.to_ascii_lowercase();
    match name.strip_suffix(".exe").unwrap_or(&name) {
        "powershell" | "pwsh" => Some(Family::PowerShell),
        "cmd" => Some(Family::Cmd),
        _ => None,
    }
}

/// Cmdlets and aliases that only read, in PowerShell.
const READING: [&str; 22] = [
    "cat",
    "cd",
    "dir",
    "echo",
    "findstr",
    "gc",
    "gci",
    "get-childitem",
    "get-content",
    "get-location",
    "get-item",
    "gl",
    "ls",
    "measure-object",
    "pwd",
    "resolve-path",
    "select-string",
    "set-location",
    "sls",
    "test-path",
    "type",
    "write-output",
];
/// What `cmd.exe` itself does. It looks for programs in the working folder first, so none of them
/// is known.
const BUILT_IN: [&str; 5] = ["cd", "dir", "echo", "type", "ver"];
/// What removes files, under all names.
const REMOVING: [&str; 8] = [
    "remove-item",
    "ri",
    "rm",
    "rmdir",
    "rd",
    "del",
    "erase",
    "clear-content",
];
/// What runs its words as a command.
const RUNNING: [&str; 12] = [
    "iex",
    "invoke-expression",
    "start-process",
    "saps",
    "start",
    "call",
    "invoke-command",
    "icm",
    "cmd",
    "powershell",
    "pwsh",
    "for",
];

/// True when every command of the line is known to change nothing: plain words only, joined by
/// `|` or `&&`.
pub(super) fn is_known_safe(line: &str, family: Family) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./\\:= |&".contains(c);
    if line.len() > MAX_BYTES || !line.chars().all(plain) {
        return false;
    }
    // A single `&` runs what follows in `cmd.exe`, and calls it in PowerShell.
    let parts = line.replace("&&", "\n").replace("||", "&");
    if parts.contains('&') {
        return false;
    }
    parts.split(['\n', '|']).all(|part| {
        let mut words = part.split_whitespace();
        let Some(program) = words.next().map(str::to_ascii_lowercase) else {
            return false;
        };
        let known: &[&str] = match family {
            Family::PowerShell => &READING,
            Family::Cmd => &BUILT_IN,
            Family::Either => &["cd", "dir", "echo", "type"],
        };
        // A path of another machine sends the person's credentials to it.
        let elsewhere = |word: &str| word.replace('/', "\\").contains("\\\\");
        // `dir` of `cmd.exe` writes nothing, whatever its switches; a cmdlet may take a script block
        // or a file only by quotes, braces or names that are not plain.
        known.contains(&program.as_str()) && !words.any(elsewhere)
    })
}

/// True when the line removes files by force, in either shell.
pub(super) fn is_dangerous(line: &str) -> bool {
    if line.len() > MAX_BYTES {
        return true;
    }
    // A caret in `cmd.exe` and a backtick in PowerShell hide nothing of a word.
    let line: String = line.chars().filter(|c| !"^`".contains(*c)).collect();
    let begins = |c: char| ";|&\n\r(){}$@".contains(c);
    line.split(begins).any(|part| command_is(&words(part)))
}

/// The words of a part, without quotes of any kind.
fn words(part: &str) -> Vec<String> {
    let quote = |c: char| matches!(c, '"' | '\'' | '\u{2018}'..='\u{201f}');
    part.split(|c: char| c.is_whitespace() || c == ',')
        .map(|word| word.replace(quote, "").to_lowercase())
        .filter(|word| !word.is_empty() && word != "--%")
        .collect()
}

fn command_is(words: &[String]) -> bool {
    // What stands before a command: `.` and `=` of PowerShell, the words of a batch file.
    let skipped =
        |w: &&String| [".", "=", "if", "else", "do"].contains(&w.as_str()) || w.ends_with('=');
    let lead = words.iter().take_while(skipped).count();
    let words = words.get(lead..).unwrap_or_default();
    let Some(program) = words.first().map(|p| program_name(p)) else {
        return false;
    };
    // What runs its words has a command somewhere among them. So has `if` with its condition.
    let runs_others = RUNNING.contains(&program) || lead > 0;
    let looked_at = if runs_others { words.len() } else { 1 };
    looked_at > MOST_WORDS || (0..looked_at).any(|at| removes(words.get(at..).unwrap_or_default()))
}

/// The name of a program without folder and ending.
fn program_name(word: &str) -> &str {
    let name = word.rsplit(['\\', '/']).next().unwrap_or(word);
    [".exe", ".cmd", ".com"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name)
}

/// True for a command that removes by force, or that cannot be looked into.
fn removes(words: &[String]) -> bool {
    let Some((program, args)) = words.split_first() else {
        return false;
    };
    match program_name(program) {
        name if REMOVING.contains(&name) => args.iter().any(|a| is_force(a)) || is_tree(name, args),
        "format" => args.iter().any(|a| a.len() == 2 && a.ends_with(':')),
        "powershell" | "pwsh" => args
            .iter()
            .any(|a| a.len() > 1 && "-encodedcommand".starts_with(a.as_str())),
        _ => false,
    }
}

/// `-Force` and its shortened forms, a cluster of short options with `f`, or `/f`.
fn is_force(arg: &str) -> bool {
    let arg = arg.split(':').next().unwrap_or(arg);
    match arg.strip_prefix('-') {
        Some(option) if !option.is_empty() => {
            "force".starts_with(option)
                || option == "-force"
                || option.len() <= 4 && option.contains('f') && !"filter".starts_with(option)
        }
        _ => arg.contains("/f"),
    }
}

/// A whole tree without a question, as `cmd.exe` has it.
fn is_tree(name: &str, args: &[String]) -> bool {
    let has = |switch: &str| args.iter().any(|a| a.contains(switch));
    has("/s") && (has("/q") || ["rd", "rmdir"].contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_safe() {
        for line in [
            "Get-ChildItem -Recurse src",
            "gci | Measure-Object",
            "Get-Content a.txt | Select-String x",
            "dir C:\\work",
            "type a.txt",
        ] {
            assert!(is_known_safe(line, Family::PowerShell), "{line}");
        }
        assert!(is_known_safe("cd src && dir /b", Family::Cmd));
        assert!(is_known_safe("dir", Family::Either));
    }

    #[test]
    fn not_known_safe() {
        for line in [
            "",
            "Remove-Item x",
            "git --% status",
            "echo 'a\u{2019}; rm x; \u{2019}b'",
            "echo $(rm x)",
            "echo $env:KEY",
            "dir > f",
            "dir & del x",
            "dir || del x",
            "dir; rm x",
            "dir\ndel x",
            "echo %PATH%",
            "echo a^&del x",
            "Get-Content \\\\server\\share\\x",
            "dir //server/share",
            "cat a | iex",
            "cat a | % { rm $_ }",
            "& dir",
            ".\\dir.exe",
            "Get-Content (rm x)",
            "ls @args",
            "Set-Content x y",
            "dir |",
        ] {
            for family in [Family::PowerShell, Family::Cmd, Family::Either] {
                assert!(!is_known_safe(line, family), "{line}");
            }
        }
        // The folder may hold a program of this name, and `cmd.exe` takes it first.
        assert!(!is_known_safe("findstr x a.txt", Family::Cmd));
        assert!(!is_known_safe("Get-Content a", Family::Either));
    }

    #[test]
    fn dangerous() {
        for line in [
            "Remove-Item -Recurse -Force x",
            "remove-item x -fo",
            "ri x -Force:$true",
            "rm -r -fo x",
            "rm -rf x",
            "Remove-Item \"-Force\" x",
            "Re`move-Item -Force x",
            "del /f x",
            "DEL /F/Q x",
            "del /s /q x",
            "rd /s /q x",
            "rmdir /s x",
            "d^el /f x",
            "dir & del /f x",
            "dir;rm -force x",
            "ls | ForEach-Object { Remove-Item -Force $_ }",
            "$(Remove-Item -Force x)",
            "& Remove-Item -Force x",
            "cmd /c del /f x",
            "cmd --% /c del /f x",
            "cmd.exe /c \"rd /s /q x\"",
            "C:\\Windows\\System32\\cmd.exe /c del /f x",
            "powershell -Command \"Remove-Item -Force x\"",
            "pwsh -c rm -force x",
            "powershell -EncodedCommand AAAA",
            "powershell -e AAAA",
            "iex \"Remove-Item -Force x\"",
            "Start-Process cmd -ArgumentList '/c','del','/f','x'",
            "if exist x del /f x",
            "for %f in (*) do del /f %f",
            "@del /f x",
            "format c:",
        ] {
            assert!(is_dangerous(line), "{line}");
        }
        assert!(is_dangerous(&"a".repeat(MAX_BYTES + 1)));
        assert!(is_dangerous(&format!("cmd /c {}", "start ".repeat(300))));
    }

    #[test]
    fn not_dangerous() {
        for line in [
            "Remove-Item x",
            "Remove-Item -Recurse x",
            "rm x",
            "del x",
            "dir /s /q",
            "Get-ChildItem -Force",
            "Copy-Item -Force a b",
            "git push --force",
            "echo del /f x",
            "Format-Table x",
            "cmd /c dir",
            "pwsh -File a.ps1",
            "Remove-Item x -Filter *.log",
        ] {
            assert!(!is_dangerous(line), "{line}");
        }
    }
}
