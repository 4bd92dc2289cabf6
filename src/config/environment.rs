//! The environment of the commands that a model runs.

use super::{EnvironmentPolicy, Inherit};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Names that look like secrets; removed unless the policy says otherwise.
const SECRETS: [&str; 4] = ["*KEY*", "*TOKEN*", "*SECRET*", "*PASSWORD*"];

/// What `inherit = "core"` keeps.
#[cfg(not(windows))]
const CORE: &[&str] = &[
    "PATH", "SHELL", "TMPDIR", "TEMP", "TMP", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME",
    "USER",
];
#[cfg(windows)]
const CORE: &[&str] = &[
    "PATH",
    "PATHEXT",
    "COMSPEC",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "USERNAME",
    "USERDOMAIN",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "TEMP",
    "TMP",
    "SHELL",
];

/// What every command sees: no colours, no pager, no question of git, one encoding.
const ALWAYS: &[(&str, &str)] = &[
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
    ("COLORTERM", ""),
    ("LANG", "C.UTF-8"),
    ("LC_CTYPE", "C.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("INTERPRETER_CI", "1"),
];

/// Tells a command that its sandbox has no network. The second name is the one of Codex, which
/// test suites look for.
const NO_NETWORK: [&str; 2] = [
    "INTERPRETER_SANDBOX_NETWORK_DISABLED",
    "CODEX_SANDBOX_NETWORK_DISABLED",
];

/// What the environment tells a command about its session.
#[derive(Debug, Clone, Copy, Default)]
pub struct Marks<'a> {
    /// The sandbox lets commands use the network.
    pub network: bool,
    /// The session's id, as `INTERPRETER_SESSION_ID`.
    pub session: Option<&'a str>,
    /// Names of variables that hold keys of providers. They count as secrets whatever their name.
    pub secrets: &'a [String],
}

/// The environment of a command: from `vars` by `inherit`, without secrets, without `exclude`,
/// then what every command sees, then `set`, then only `include_only`. Globs know `*` and `?` and
/// no case.
///
/// What every command sees stays whatever `include_only` says, but yields to `set`.
pub fn environment(
    policy: &EnvironmentPolicy,
    vars: impl Iterator<Item = (OsString, OsString)>,
    marks: Marks<'_>,
) -> Vec<(OsString, OsString)> {
    let any = |globs: &[String], name: &str| globs.iter().any(|g| matches(g, name));
    let listed = |names: &[&str], name: &str| names.iter().any(|n| matches(n, name));
    let kept = |name: &str| {
        let inherited = match policy.inherit {
            Inherit::All => true,
            Inherit::Core => listed(CORE, name),
            Inherit::None => false,
        };
        let secret =
            listed(&SECRETS, name) || marks.secrets.iter().any(|s| s.eq_ignore_ascii_case(name));
        let hidden = secret && !policy.ignore_default_excludes && !any(&policy.allow, name);
        inherited && !hidden && !any(&policy.exclude, name)
    };
    let mut all: BTreeMap<OsString, OsString> = BTreeMap::new();
    for (name, value) in vars.filter(|(name, _)| kept(&name.to_string_lossy())) {
        put(&mut all, name, value);
    }
    for (name, value) in &policy.set {
        put(&mut all, name.into(), value.into());
    }
    if !policy.include_only.is_empty() {
        all.retain(|name, _| any(&policy.include_only, &name.to_string_lossy()));
    }
    let off = NO_NETWORK
        .into_iter()
        .filter(|_| !marks.network)
        .map(|n| (n, "1"));
    let session = marks.session.map(|id| ("INTERPRETER_SESSION_ID", id));
    for (name, value) in ALWAYS.iter().copied().chain(off).chain(session) {
        if !policy
            .set
            .keys()
            .any(|k| same(OsStr::new(k), OsStr::new(name)))
        {
            put(&mut all, name.into(), value.into());
        }
    }
    all.into_iter().collect()
}

fn put(all: &mut BTreeMap<OsString, OsString>, name: OsString, value: OsString) {
    all.retain(|n, _| !same(n, &name));
    all.insert(name, value);
}

/// On Windows, names that differ in case are one variable.
fn same(a: &OsStr, b: &OsStr) -> bool {
    match cfg!(windows) {
        true => a.eq_ignore_ascii_case(b),
        false => a == b,
    }
}

/// A glob of `*` and `?` over a whole name, without regard to case.
fn matches(glob: &str, name: &str) -> bool {
    let glob: Vec<char> = glob.to_lowercase().chars().collect();
    let name: Vec<char> = name.to_lowercase().chars().collect();
    let (mut g, mut n) = (0, 0);
    // Where the last `*` stood, and where the text began that it took.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match glob.get(g) {
            Some('*') => {
                star = Some((g, n));
                g += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => {
                g += 1;
                n += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    g = at + 1;
                    n = taken + 1;
                }
                None => return false,
            },
        }
    }
    glob[g..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(policy: &EnvironmentPolicy, marks: Marks<'_>) -> BTreeMap<String, String> {
        let vars = [
            ("PATH", "/bin"),
            ("EDITOR", "vi"),
            ("OPENAI_API_KEY", "k"),
            ("db_password", "p"),
            ("MY_TOKENS", "t"),
            ("CORP_LOGIN", "l"),
            ("TERM", "xterm"),
        ];
        let vars = vars.into_iter().map(|(k, v)| (k.into(), v.into()));
        environment(policy, vars, marks)
            .into_iter()
            .map(|(k, v)| (k.into_string().unwrap(), v.into_string().unwrap()))
            .collect()
    }

    #[test]
    fn secrets_go_and_the_fixed_variables_come() {
        let secrets = ["CORP_LOGIN".to_owned()];
        let marks = Marks {
            secrets: &secrets,
            ..Marks::default()
        };
        let env = run(&EnvironmentPolicy::default(), marks);
        for gone in ["OPENAI_API_KEY", "db_password", "MY_TOKENS", "CORP_LOGIN"] {
            assert!(!env.contains_key(gone), "{gone}");
        }
        for (name, value) in [
            ("PATH", "/bin"),
            ("EDITOR", "vi"),
            ("TERM", "dumb"),
            ("NO_COLOR", "1"),
            ("GIT_PAGER", "cat"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("LC_ALL", "C.UTF-8"),
            ("COLORTERM", ""),
            ("INTERPRETER_SANDBOX_NETWORK_DISABLED", "1"),
            ("CODEX_SANDBOX_NETWORK_DISABLED", "1"),
        ] {
            assert_eq!(env.get(name).map(String::as_str), Some(value), "{name}");
        }
        let online = run(
            &EnvironmentPolicy::default(),
            Marks {
                network: true,
                ..marks
            },
        );
        assert!(!online.keys().any(|k| k.ends_with("NETWORK_DISABLED")));
    }

    #[test]
    fn the_policy_adds_and_takes_away() {
        let list = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
        let allow = EnvironmentPolicy {
            allow: list(&["openai_*"]),
            exclude: list(&["edit?r"]),
            ..Default::default()
        };
        let env = run(&allow, Marks::default());
        assert!(env.contains_key("OPENAI_API_KEY") && !env.contains_key("MY_TOKENS"));
        assert!(!env.contains_key("EDITOR"));

        let open = EnvironmentPolicy {
            ignore_default_excludes: true,
            ..Default::default()
        };
        assert!(run(&open, Marks::default()).contains_key("db_password"));

        let core = EnvironmentPolicy {
            inherit: Inherit::Core,
            ..Default::default()
        };
        let env = run(&core, Marks::default());
        assert!(env.contains_key("PATH") && !env.contains_key("EDITOR"));

        let set = EnvironmentPolicy {
            set: [("TERM", "vt100"), ("X_KEY", "1"), ("Y", "2")]
                .map(|(k, v)| (k.into(), v.into()))
                .into(),
            include_only: list(&["TERM", "X*"]),
            ..Default::default()
        };
        let env = run(&set, Marks::default());
        assert_eq!(env["TERM"], "vt100");
        assert_eq!(env["X_KEY"], "1");
        assert!(!env.contains_key("Y") && !env.contains_key("PATH"));
        assert_eq!(env["PAGER"], "cat");
    }

    #[test]
    fn globs() {
        for (glob, name, is) in [
            ("*KEY*", "MONKEY", true),
            ("*KEY*", "ke", false),
            ("A*B*C", "aXbYbc", true),
            ("A?", "ab", true),
            ("A?", "a", false),
            ("", "", true),
            ("*", "", true),
            ("a*", "ba", false),
        ] {
            assert_eq!(matches(glob, name), is, "{glob} {name}");
        }
    }
}
