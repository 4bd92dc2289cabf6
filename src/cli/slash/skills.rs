//! `/skills`: what the model can read by name, and which of it is on.

use super::Desk;
use crate::cli::render::sanitize::{one_line, sanitize};
use crate::config::edit;
use crate::project::skills::Skill;
use crate::words::nearest;

/// Words that may stand after the command.
pub(super) fn words() -> Vec<String> {
    ["on", "off"].map(str::to_owned).into()
}

/// Lists the skills, shows one, or turns one on or off.
pub(super) fn skills(desk: &mut Desk, words: &str) -> String {
    match words.split_whitespace().collect::<Vec<_>>()[..] {
        [] => list(desk),
        [word @ ("on" | "off"), name] => turn(desk, name, word == "on", false),
        [word @ ("on" | "off"), name, "save"] => turn(desk, name, word == "on", true),
        ["on" | "off"] => "say which one: /skills off NAME, and `save` behind it to keep it".into(),
        [name] => match find(desk, name) {
            Ok(skill) => show(skill),
            Err(why) => why,
        },
        _ => "that is not known: /skills [NAME], /skills on|off NAME [save]".into(),
    }
}

fn find<'a>(desk: &'a Desk, name: &str) -> Result<&'a Skill, String> {
    let name = name.trim_start_matches('$');
    let all = &desk.session.skills().all;
    all.iter().find(|s| s.name == name).ok_or_else(|| {
        let near = nearest(name, all.iter().map(|s| s.name.as_str()));
        let near = near
            .map(|n| format!("; did you mean {}?", one_line(n)))
            .unwrap_or_default();
        format!("there is no skill {}{near}", one_line(name))
    })
}

fn show(skill: &Skill) -> String {
    match skill.text() {
        Ok(text) => format!(
            "{}\n{}",
            one_line(&skill.path.display().to_string()),
            sanitize(text.trim_end())
        ),
        Err(why) => one_line(&why),
    }
}

fn list(desk: &Desk) -> String {
    let skills = desk.session.skills();
    if skills.all.is_empty() {
        return "there are no skills; one is a folder with a SKILL.md in .agents/skills of the project, in skills of the home, or in ~/.agents/skills".into();
    }
    let line = |skill: &Skill| {
        let state = match (skill.enabled, skill.implicit) {
            (false, _) => " (off)",
            (true, false) => " (only when you name it)",
            (true, true) => "",
        };
        format!(
            "${}{state}  {}\n  {}: {}",
            one_line(&skill.name),
            one_line(&skill.description),
            skill.scope.name().to_lowercase(),
            one_line(&skill.path.display().to_string())
        )
    };
    let mut lines: Vec<String> = skills.all.iter().map(line).collect();
    lines.push(
        "$NAME in your message has the model follow it; /skills off NAME turns it off".into(),
    );
    lines.join("\n")
}

/// Turns a skill on or off, for this session or also for later ones.
fn turn(desk: &mut Desk, name: &str, on: bool, save: bool) -> String {
    let (name, file) = match find(desk, name) {
        Ok(skill) => (skill.name.clone(), skill.path.clone()),
        Err(why) => return why,
    };
    let word = if on { "on" } else { "off" };
    let changed = desk.session.turn_skill(&name, on);
    if save {
        let config = desk.setup.home.config_file();
        return match edit::set_skill(&config, &file, &name, on) {
            Ok(()) => {
                desk.session.settle_skill(&name);
                format!(
                    "{} is {word}, now and in later sessions ({})",
                    one_line(&name),
                    one_line(&config.display().to_string())
                )
            }
            Err(why) => one_line(&why.to_string()),
        };
    }
    match changed {
        true => format!(
            "{0} is {word} for this session; /skills {word} {0} save keeps it",
            one_line(&name)
        ),
        false => format!("{} is {word} already", one_line(&name)),
    }
}
