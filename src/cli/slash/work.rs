//! Commands that let the model do something, or see to what it does.

use super::{Desk, Done};
use crate::agent::open::Open;
use crate::agent::review::Target;
use crate::agent::session::Session;
use crate::cli::render::phrases::{duration, thousands};
use crate::cli::render::sanitize::one_line;
use crate::config::{Config, ConfigError};
use crate::harnesses::Input;
use crate::project::git;

/// The sizes were shown as they changed; only a failure is left to say.
pub(super) fn compact() -> Done {
    Done::Work(Box::new(|session, front| match session.compact(front) {
        Ok((before, after)) => format!("{} tokens won", thousands(before.saturating_sub(after))),
        Err(why) => one_line(&why),
    }))
}

/// What is found is shown as it comes. `review_model` reviews in a session of its own, and this one
/// is told what it found.
pub(super) fn review(desk: &Desk, words: &str) -> Done {
    let target = target(words);
    let other = match reviewer(desk) {
        Ok(other) => other,
        Err(why) => return Done::Said(one_line(&why.to_string())),
    };
    let home = desk.setup.home.clone();
    Done::Work(Box::new(move |session, front| {
        let reviewed = match &other {
            Some((config, ask)) => session.review_by(config, &home, ask, &target, front),
            None => session.review(&target, true, front),
        };
        reviewed.map_or_else(|why| one_line(&why), |_| String::new())
    }))
}

/// The settings of a review by `review_model`, where that is another model than the session's: what
/// may be done and what is asked is as in the session.
fn reviewer(desk: &Desk) -> Result<Option<(Config, Open)>, ConfigError> {
    let config = desk.config()?;
    let model = config.review_model.value.clone();
    let Some(model) = model.filter(|model| model != desk.session.model().1) else {
        return Ok(None);
    };
    let info = desk.session.info();
    let changes = [
        ("model", model.into()),
        ("sandbox_mode", info.sandbox.name().into()),
        ("approval_policy", info.approval.into()),
    ];
    let mut config = config.changed(&changes, "review_model")?;
    // They are this session's, and a review only looks.
    config.mcp_servers.clear();
    let ask = Open {
        cwd: info.cwd.clone(),
        ephemeral: true,
        mcp_servers: Vec::new(),
        ..desk.setup.ask(desk.options)
    };
    Ok(Some((config, ask)))
}

/// The words `base B` and `commit SHA` name a change, with dashes too; any others say what to look
/// at.
fn target(words: &str) -> Target {
    let list: Vec<&str> = words.split_whitespace().collect();
    match list[..] {
        [] | ["uncommitted" | "--uncommitted"] => Target::Uncommitted,
        ["base" | "--base", base] => Target::Base(base.to_owned()),
        ["commit" | "--commit", id] => Target::Commit {
            id: id.to_owned(),
            title: None,
        },
        _ => Target::Words(words.to_owned()),
    }
}

/// Lets the model write AGENTS.md, or mend the one that is there.
pub(super) fn init(desk: &Desk) -> Done {
    let cwd = &desk.session.info().cwd;
    let root = git::facts(cwd).map_or_else(|| cwd.clone(), |facts| facts.root);
    let file = root.join("AGENTS.md");
    let begin = match file.exists() {
        true => {
            "There is an AGENTS.md already: keep what is still right, mend what is not, and add what is missing."
        }
        false => "Write the file AGENTS.md.",
    };
    Done::Turn(Input::text(format!(
        "{begin} It stands at {} and tells whoever works on this project next what cannot be guessed from a single file: \
         the commands that build it, check it and run all tests or one of them; what lies in which folder, in a few lines; \
         the rules that the code follows; what is easy to get wrong.\n\
         Look first: the README, the build files, the settings of tests and checks, and some of the code. \
         Run a command before you write it down, where that is harmless. Write at most 60 lines, as Markdown, and nothing that you did not see.",
        file.display()
    )))
}

/// Begins or ends the planning mode.
pub(super) fn plan(desk: &mut Desk, words: &str) -> String {
    let on = match words {
        "" => !desk.session.is_planning(),
        "on" => true,
        "off" => false,
        other => return format!("`{}` is neither on nor off", one_line(other)),
    };
    if on == desk.session.is_planning() {
        return format!("planning is {} already", if on { "on" } else { "off" });
    }
    desk.session.set_planning(on, desk.front);
    String::new()
}

pub(super) fn jobs(session: &mut Session) -> String {
    let jobs = session.workbench().jobs();
    if jobs.is_empty() {
        return "no command is running".into();
    }
    jobs.iter()
        .map(|j| format!("{}  {}  {}", j.id, duration(j.age), one_line(&j.command)))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Ends one background command, or all of them. The model learns of it before it goes on.
pub(super) fn stop(desk: &mut Desk, words: &str) -> String {
    let jobs = desk.session.workbench().jobs();
    let chosen = match words.parse::<u32>() {
        _ if jobs.is_empty() => return "no command is running".into(),
        _ if words.is_empty() => jobs,
        Ok(id) => jobs.into_iter().filter(|j| j.id == id).collect(),
        Err(_) => Vec::new(),
    };
    if chosen.is_empty() {
        return format!("no command {} is running; /ps lists them", one_line(words));
    }
    let mut said = Vec::new();
    for job in chosen {
        said.push(match desk.session.workbench().stop_job(job.id) {
            Ok(()) => format!("{} was ended: {}", job.id, one_line(&job.command)),
            Err(why) => one_line(&why.to_string()),
        });
    }
    said.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_a_change_or_say_what_to_look_at() {
        assert_eq!(target(""), Target::Uncommitted);
        assert_eq!(target("base main"), Target::Base("main".into()));
        assert_eq!(target("--base main"), Target::Base("main".into()));
        let commit = Target::Commit {
            id: "HEAD~1".into(),
            title: None,
        };
        assert_eq!(target("commit HEAD~1"), commit);
        for words in ["base", "commit the parser to memory", "src/a.rs"] {
            assert_eq!(target(words), Target::Words(words.into()));
        }
    }
}
