//! Skills: folders with a `SKILL.md` that tells how something is done. A model always sees their
//! names and descriptions, and reads the rest when it needs it.

mod front_matter;

use super::read_whole;
use crate::config::Config;
use crate::store::belongings::{self, SKILL_FILE, SKILL_FOLDERS};
use crate::store::paths::canonical;
use crate::store::trust;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::Value;

/// The most bytes of a `SKILL.md`, and the most skills.
const MOST_BYTES: u64 = 256 * 1024;
const MOST_SKILLS: usize = 500;
/// The most characters of a name and of a description.
const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1_024;
/// A description that would be cut shorter than this is left out.
const LEAST_DESCRIPTION: usize = 20;

/// Where a skill is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The project.
    Project,
    /// The user.
    User,
    /// The machine.
    System,
}

impl Scope {
    /// In a word, as headings have it.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Project => "Project",
            Scope::User => "User",
            Scope::System => "System",
        }
    }
}

/// One skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skill {
    /// Its name, by which it is called.
    pub name: String,
    /// What it is for; in a listing cut to what fits.
    pub description: String,
    /// Its `SKILL.md`, absolute.
    pub path: PathBuf,
    /// Where it is from.
    pub scope: Scope,
    /// The model may use it without being told to.
    pub implicit: bool,
    /// It is not turned off.
    pub enabled: bool,
}

impl Skill {
    /// Its folder.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Its whole file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn text(&self) -> Result<String, String> {
        read_whole(&self.path, MOST_BYTES)
            .map_err(|e| format!("{} cannot be read: {e}", self.path.display()))
    }

    /// What stands behind the front matter of a file.
    pub fn body(text: &str) -> &str {
        front_matter::split(text).map_or(text, |(_, body)| body)
    }
}

/// The skills of a session, from the strongest folder; of two with one name, the first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skills {
    /// All of them.
    pub all: Vec<Skill>,
    /// Sentences about those that were left out.
    pub warnings: Vec<String>,
    /// They are told to the model.
    pub is_listed: bool,
    /// What was turned on or off for the session, by name.
    pub turned: BTreeMap<String, bool>,
}

impl Skills {
    /// Looks for skills: in the project from `cwd` up to its root, in the home, in the user's
    /// `~/.agents/skills`, and in those of the machine.
    pub fn load(config: &Config, home: &Path, cwd: &Path) -> Self {
        let settings = Settings::of(&config.skills);
        let mut skills = Skills {
            is_listed: settings.is_listed,
            ..Skills::default()
        };
        let (cwd, home) = (canonical(cwd), canonical(home));
        let root = trust::project_root(&cwd, &config.project_root_markers);
        for folder in cwd.ancestors().take_while(|f| f.starts_with(&root)) {
            for name in SKILL_FOLDERS {
                let skills_folder = folder.join(name);
                if !canonical(&skills_folder).starts_with(&home) {
                    skills.add(&skills_folder, Scope::Project, config, &settings);
                }
            }
        }
        skills.add(&home.join("skills"), Scope::User, config, &settings);
        if let Some(user) = std::env::home_dir() {
            skills.add(&user.join(".agents/skills"), Scope::User, config, &settings);
        }
        if cfg!(unix) {
            let system = Path::new("/etc/openinterpreter/skills");
            skills.add(system, Scope::System, config, &settings);
        }
        skills
    }

    fn add(&mut self, root: &Path, scope: Scope, config: &Config, settings: &Settings) {
        for folder in belongings::skill_folders(root) {
            let path = folder.join(SKILL_FILE);
            if self.all.len() >= MOST_SKILLS || self.all.iter().any(|s| s.path == path) {
                continue;
            }
            let mut skill = match read(&path, scope) {
                Ok(skill) => skill,
                Err(why) => {
                    self.warnings
                        .push(format!("the skill {} is left out: {why}", folder.display()));
                    continue;
                }
            };
            // The line about what is not trusted names it.
            if scope == Scope::Project && !may_act(&folder, config) {
                continue;
            }
            if let Some(first) = self.all.iter().find(|s| s.name == skill.name) {
                self.warnings.push(format!(
                    "the skill `{}` in {} is left out, since there is one of that name in {}",
                    skill.name,
                    folder.display(),
                    first.folder().display()
                ));
                continue;
            }
            skill.enabled = settings.enables(&skill);
            self.all.push(skill);
        }
    }

    /// Turns a skill on or off for the session. `None` when there is none of that name, or it is so
    /// already.
    pub fn turn(&mut self, name: &str, on: bool) -> Option<&Skill> {
        let mut all = self.all.iter_mut();
        let skill = all.find(|s| s.name == name && s.enabled != on)?;
        skill.enabled = on;
        self.turned.insert(name.to_owned(), on);
        Some(skill)
    }

    /// Turns all of these on or off, as an earlier run of the session had them.
    pub fn turn_all(&mut self, turned: BTreeMap<String, bool>) {
        for (name, on) in &turned {
            self.turn(name, *on);
        }
        self.turned = turned;
    }

    /// The skill of that name, if it is not turned off.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        self.all.iter().find(|s| s.enabled && s.name == name)
    }

    /// Those that a text names as `$name`, each once, in their order there.
    pub fn mentioned(&self, text: &str) -> Vec<&Skill> {
        let mut found: Vec<&Skill> = Vec::new();
        for (at, _) in text.match_indices('$') {
            let before = text[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$') {
                continue;
            }
            let rest = &text[at + 1..];
            let part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':');
            let end = rest.find(|c| !part(c)).unwrap_or(rest.len());
            // A dash or a colon at the end belongs to the sentence.
            let name = rest[..end].trim_end_matches(['-', ':']);
            if let Some(skill) = self.get(name)
                && !found.iter().any(|s| s.name == skill.name)
            {
                found.push(skill);
            }
        }
        found
    }

    /// What a model is told of them in at most `most` bytes: descriptions are cut first, alike for
    /// all, then the last skills are left out. Beside it, a sentence about what was left out.
    pub fn listing(&self, most: usize) -> (Vec<Skill>, Option<String>) {
        let mut shown: Vec<Skill> = self
            .all
            .iter()
            .filter(|s| s.enabled && s.implicit && self.is_listed)
            .cloned()
            .collect();
        // Names, paths and the marks around them.
        let fixed = |s: &Skill| s.name.len() + s.path.as_os_str().len() + 16;
        let all: usize = shown.iter().map(|s| fixed(s) + s.description.len()).sum();
        if all <= most {
            return (shown, None);
        }
        let named = shown.len();
        while !shown.is_empty() && shown.iter().map(fixed).sum::<usize>() > most {
            shown.pop();
        }
        let room = most - shown.iter().map(fixed).sum::<usize>();
        let each = longest_each(&shown, room);
        for skill in &mut shown {
            if skill.description.len() > each {
                let cut =
                    crate::words::head(&skill.description, each.saturating_sub('…'.len_utf8()));
                skill.description = match each >= LEAST_DESCRIPTION {
                    true => format!("{}…", cut.trim_end()),
                    false => String::new(),
                };
            }
        }
        let lost = named - shown.len();
        let warning = (lost > 0).then(|| {
            format!("{lost} of {named} skills are not told to the model, because their list has more than its share of the window; `$name` still calls them")
        });
        (shown, warning)
    }
}

/// The length to which descriptions are cut so that all of them fit: the short ones leave their room
/// to the long ones.
fn longest_each(skills: &[Skill], room: usize) -> usize {
    let mut lengths: Vec<usize> = skills.iter().map(|s| s.description.len()).collect();
    lengths.sort_unstable();
    let mut left = room;
    for (at, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - at);
        if *length > share {
            return share;
        }
        left -= length;
    }
    usize::MAX
}

/// True for a skill of a project that only is text, or that was trusted with its scripts and is as it
/// was then.
fn may_act(folder: &Path, config: &Config) -> bool {
    let brought = &config.trust.brought;
    let trusted = || {
        let known = brought.skills.iter().any(|(f, _)| f == folder);
        known && belongings::files(folder).iter().all(|f| brought.is_same(f))
    };
    belongings::scripts(folder).is_empty() || config.trust.holds() && trusted()
}

fn read(path: &Path, scope: Scope) -> Result<Skill, String> {
    let text = read_whole(path, MOST_BYTES).map_err(|e| e.to_string())?;
    let (front, _) =
        front_matter::split(&text).ok_or("it has no front matter between lines of ---")?;
    let field = |name: &str| front_matter::field(front, name).filter(|v| !v.is_empty());
    let name = field("name").ok_or("it has no name")?;
    let description = field("description").ok_or("it has no description")?;
    let plain = |c: char| !c.is_control() && !c.is_whitespace() && !"<>\"&`$".contains(c);
    if name.chars().count() > LONGEST_NAME || !name.chars().all(plain) {
        return Err(format!(
            "its name must have at most {LONGEST_NAME} characters, and no spaces"
        ));
    }
    if description.chars().count() > LONGEST_DESCRIPTION {
        return Err(format!(
            "its description has more than {LONGEST_DESCRIPTION} characters"
        ));
    }
    let more = path.with_file_name("agents").join("openai.yaml");
    let more = read_whole(&more, MOST_BYTES).unwrap_or_default();
    let never = more
        .lines()
        .any(|l| l.trim() == "allow_implicit_invocation: false");
    Ok(Skill {
        name,
        // On one line, since it stands in lists.
        description: description.split_whitespace().collect::<Vec<_>>().join(" "),
        path: path.to_owned(),
        scope,
        implicit: !never,
        enabled: true,
    })
}

/// `[skills]` of the config.
struct Settings {
    is_listed: bool,
    /// A path or a name, and whether that skill is on. The last one counts.
    rows: Vec<(Option<PathBuf>, Option<String>, bool)>,
}

impl Settings {
    fn of(table: &toml::Table) -> Self {
        let rows = table.get("config").and_then(Value::as_array);
        let row = |row: &Value| {
            let text = |key: &str| row.get(key).and_then(Value::as_str).map(str::to_owned);
            let on = row.get("enabled").and_then(Value::as_bool).unwrap_or(true);
            (
                text("path").map(|p| canonical(Path::new(&p))),
                text("name"),
                on,
            )
        };
        let listed = table.get("include_instructions");
        Settings {
            is_listed: listed.and_then(Value::as_bool).unwrap_or(true),
            rows: rows.into_iter().flatten().map(row).collect(),
        }
    }

    fn enables(&self, skill: &Skill) -> bool {
        let (file, folder) = (canonical(&skill.path), canonical(skill.folder()));
        let is = |(path, name, _): &&(Option<PathBuf>, Option<String>, bool)| {
            path.as_ref().is_some_and(|p| *p == file || *p == folder)
                || name.as_ref().is_some_and(|n| *n == skill.name)
        };
        self.rows.iter().rev().find(is).is_none_or(|(_, _, on)| *on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Overrides, load};
    use std::fs;

    fn world(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(root.join("p/.git")).unwrap();
        fs::create_dir_all(root.join("p/sub")).unwrap();
        (dir, root)
    }

    fn skills(root: &Path) -> Skills {
        let (home, cwd) = (root.join("h"), root.join("p/sub"));
        let mut skills = Skills::load(
            &load(&home, &cwd, &Overrides::default()).unwrap(),
            &home,
            &cwd,
        );
        // Those of the machine that runs the test are none of its business.
        skills.all.retain(|s| s.path.starts_with(root));
        skills
    }

    fn text(name: &str) -> String {
        format!("---\nname: {name}\ndescription: about {name}\n---\nbody\n")
    }

    #[test]
    fn the_nearest_skill_of_a_name_counts() {
        let (_dir, root) = world(&[
            ("p/sub/.agents/skills/a/SKILL.md", &text("a")),
            ("p/.agents/skills/a/SKILL.md", &text("a")),
            ("p/.codex/skills/deep/er/SKILL.md", &text("b")),
            ("p/.agents/skills/.hidden/SKILL.md", &text("hidden")),
            ("h/skills/b/SKILL.md", &text("b")),
            ("h/skills/c/SKILL.md", &text("c")),
            ("h/skills/bad/SKILL.md", "no front matter"),
            ("h/skills/nameless/SKILL.md", "---\ndescription: x\n---\n"),
            ("h/skills/quiet/SKILL.md", &text("quiet")),
            (
                "h/skills/quiet/agents/openai.yaml",
                "policy:\n  allow_implicit_invocation: false\n",
            ),
            (
                "h/config.toml",
                "[[skills.config]]\nname = \"c\"\nenabled = false\n",
            ),
        ]);
        let skills = skills(&root);
        let paths: Vec<String> = skills
            .all
            .iter()
            .map(|s| s.path.strip_prefix(&root).unwrap().display().to_string())
            .collect();
        assert_eq!(
            paths,
            [
                "p/sub/.agents/skills/a/SKILL.md",
                "p/.codex/skills/deep/er/SKILL.md",
                "h/skills/c/SKILL.md",
                "h/skills/quiet/SKILL.md"
            ]
        );
        assert_eq!(skills.all[1].scope, Scope::Project);
        assert_eq!(skills.warnings.len(), 4, "{:?}", skills.warnings);
        assert!(skills.get("c").is_none() && skills.get("quiet").is_some());
        let listed: Vec<String> = skills
            .listing(10_000)
            .0
            .into_iter()
            .map(|s| s.name)
            .collect();
        assert_eq!(listed, ["a", "b"]);
    }

    #[test]
    fn a_project_s_skill_with_scripts_waits_for_trust_and_a_text_does_not() {
        let (_dir, root) = world(&[
            ("p/.agents/skills/plain/SKILL.md", &text("plain")),
            ("p/.agents/skills/armed/SKILL.md", &text("armed")),
            ("p/.agents/skills/armed/scripts/x.sh", "x"),
        ]);
        let names = || {
            skills(&root)
                .all
                .into_iter()
                .map(|s| s.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(), ["plain"]);
        let config = format!(
            "[projects.{:?}]\ntrust_level = \"trusted\"\n",
            root.join("p")
        );
        fs::create_dir_all(root.join("h")).unwrap();
        fs::write(root.join("h/config.toml"), config).unwrap();
        assert_eq!(names(), ["armed", "plain"]);
        // What is changed while the session runs is not what was trusted.
        let (home, cwd) = (root.join("h"), root.join("p"));
        let config = load(&home, &cwd, &Overrides::default()).unwrap();
        fs::write(root.join("p/.agents/skills/armed/scripts/x.sh"), "y").unwrap();
        assert!(Skills::load(&config, &home, &cwd).get("armed").is_none());
    }

    #[test]
    fn a_mention_is_a_whole_word() {
        let skill = |name: &str| Skill {
            name: name.into(),
            description: "d".into(),
            path: PathBuf::from("/s"),
            scope: Scope::User,
            implicit: true,
            enabled: true,
        };
        let skills = Skills {
            all: vec![skill("pdf"), skill("pdf-forms"), skill("x_y")],
            ..Skills::default()
        };
        let names = |text: &str| {
            skills
                .mentioned(text)
                .iter()
                .map(|s| s.name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            names("use $pdf, then ($x_y) and $pdf again"),
            ["pdf", "x_y"]
        );
        assert_eq!(names("$pdf-forms"), ["pdf-forms"]);
        assert_eq!(names("$pdf- and $pdf: go"), ["pdf"]);
        assert_eq!(names("a$pdf $pdfs $$pdf ${pdf} pdf $PDF"), [""; 0]);
    }

    #[test]
    fn a_long_list_is_cut_to_its_share() {
        let skill = |n: usize, length: usize| Skill {
            name: format!("skill-{n}"),
            description: "ä".repeat(length / 2),
            path: PathBuf::from(format!("/skills/skill-{n}/SKILL.md")),
            scope: Scope::User,
            implicit: true,
            enabled: true,
        };
        let skills = Skills {
            all: (0..10)
                .map(|n| skill(n, if n == 0 { 10 } else { 400 }))
                .collect(),
            is_listed: true,
            ..Skills::default()
        };
        let size = |list: &[Skill]| -> usize {
            list.iter()
                .map(|s| s.name.len() + s.description.len() + s.path.as_os_str().len() + 16)
                .sum()
        };
        let (list, warning) = skills.listing(2_000);
        assert!(
            size(&list) <= 2_000 && size(&list) > 1_900,
            "{}",
            size(&list)
        );
        assert_eq!((list.len(), warning), (10, None));
        assert_eq!(list[0].description, "äääää");
        assert!(list[1].description.ends_with('…'));
        let (list, warning) = skills.listing(250);
        assert!(size(&list) <= 250 && list.len() == 5, "{}", list.len());
        assert!(warning.unwrap().starts_with("5 of 10 skills"));
        assert!(skills.listing(0).0.is_empty());
    }
}
