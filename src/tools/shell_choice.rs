//! The shell on Windows, where none comes with the system that models write for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The best shell of a Windows system: the bash of Git, since models write for it; else the newer
/// PowerShell, the older one, and at last `cmd.exe`. A `bash.exe` of the system folder is the door
/// to WSL, where paths have other names, and does not count.
pub fn on_windows(
    variable: impl Fn(&str) -> Option<OsString>,
    exists: impl Fn(&Path) -> bool,
) -> PathBuf {
    let below = |name: &str, rest: &[&str]| {
        let folder = variable(name).filter(|v| !v.is_empty())?;
        let mut path = PathBuf::from(folder);
        path.extend(rest);
        Some(path).filter(|p| exists(p))
    };
    let bash = ["Git", "bin", "bash.exe"];
    below("ProgramW6432", &bash)
        .or_else(|| below("ProgramFiles", &bash))
        .or_else(|| below("LOCALAPPDATA", &["Programs", "Git", "bin", "bash.exe"]))
        .or_else(|| below("ProgramW6432", &["PowerShell", "7", "pwsh.exe"]))
        .or_else(|| below("ProgramFiles", &["PowerShell", "7", "pwsh.exe"]))
        .or_else(|| {
            let rest = ["System32", "WindowsPowerShell", "v1.0", "powershell.exe"];
            below("SystemRoot", &rest)
        })
        .or_else(|| below("SystemRoot", &["System32", "cmd.exe"]))
        .unwrap_or_else(|| "cmd.exe".into())
}

/// The command with what makes a shell of Windows write UTF-8; for other shells, as it is.
pub fn in_utf8(shell: &str, command: &str) -> String {
    match shell {
        "powershell" | "pwsh" => {
            format!("[Console]::OutputEncoding=[System.Text.UTF8Encoding]::new($false);{command}")
        }
        "cmd" => format!("chcp 65001>nul&{command}"),
        _ => command.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_shell_that_is_there() {
        let choose = |there: &[&str]| {
            let variable = |name: &str| match name {
                "ProgramFiles" => Some("P".into()),
                "LOCALAPPDATA" => Some("L".into()),
                "SystemRoot" => Some("S".into()),
                _ => None,
            };
            let exists = |path: &Path| {
                let parts: Vec<_> = path.iter().map(|p| p.to_string_lossy()).collect();
                there.contains(&parts.join("/").as_str())
            };
            let chosen = on_windows(variable, exists);
            chosen.file_name().unwrap().to_string_lossy().into_owned()
        };
        let cmd = "S/System32/cmd.exe";
        let old = "S/System32/WindowsPowerShell/v1.0/powershell.exe";
        let new = "P/PowerShell/7/pwsh.exe";
        assert_eq!(choose(&[]), "cmd.exe");
        assert_eq!(choose(&[cmd, "S/System32/bash.exe"]), "cmd.exe");
        assert_eq!(choose(&[cmd, old]), "powershell.exe");
        assert_eq!(choose(&[cmd, old, new]), "pwsh.exe");
        assert_eq!(choose(&[cmd, new, "P/Git/bin/bash.exe"]), "bash.exe");
        assert_eq!(choose(&[new, "L/Programs/Git/bin/bash.exe"]), "bash.exe");
    }

    #[test]
    fn only_shells_of_windows_need_help_with_utf8() {
        assert_eq!(in_utf8("bash", "ls"), "ls");
        assert!(in_utf8("cmd", "dir").ends_with("&dir"));
        assert!(in_utf8("pwsh", "dir").ends_with(";dir"));
    }
}
