//! Skills that are turned on and off while the session runs.

use super::session::Session;
use crate::harnesses::{Notice, Skill};
use crate::project::skills::Skills;

impl Session {
    /// Turns a skill on or off for this session, also when it is resumed. Before the first word the
    /// list of the prompt has it so; later the model is told, and the prompt stays as it was sent.
    /// False when there is no such skill, or it is so already.
    pub fn turn_skill(&mut self, name: &str, on: bool) -> bool {
        let Some(skill) = self.skills.turn(name, on) else {
            return false;
        };
        let skill = skill.clone();
        if self.skills.is_listed && skill.implicit {
            self.tell_skills(match on {
                true => format!("The user turned on the skill {}", line(&skill)),
                false => format!("The user turned off the skill `{name}`: do not use it."),
            });
        }
        self.record_state();
        true
    }

    /// The config says now what [`Session::turn_skill`] said of a skill.
    pub fn settle_skill(&mut self, name: &str) {
        self.skills.turned.remove(name);
        self.record_state();
    }

    /// Goes on with the skills that are there now. What the model was told before stays, and what is
    /// new to it or gone is told.
    pub(super) fn take_up_skills(&mut self, mut new: Skills) {
        new.turn_all(std::mem::take(&mut self.skills.turned));
        let old = std::mem::replace(&mut self.skills, new);
        let told = |skills: &Skills| -> Vec<Skill> {
            let all = skills.all.iter();
            let told = all.filter(|s| s.enabled && s.implicit && skills.is_listed);
            told.cloned().collect()
        };
        let (before, now) = (told(&old), told(&self.skills));
        let mut words: Vec<String> = Vec::new();
        let is_in = |list: &[Skill], skill: &Skill| list.iter().any(|s| s.name == skill.name);
        for skill in now.iter().filter(|s| !is_in(&before, s)) {
            words.push(format!("There is a new skill: {}", line(skill)));
        }
        for skill in before.iter().filter(|s| !is_in(&now, s)) {
            words.push(format!(
                "The skill `{}` is gone: do not use it.",
                skill.name
            ));
        }
        if !words.is_empty() {
            self.tell_skills(words.join("\n"));
        }
    }

    /// Before the first word of the user the beginning is made anew; later the model is told.
    fn tell_skills(&mut self, text: String) {
        if self.transcript.items().is_empty() {
            self.begin_again(self.harness);
        } else {
            let items = self.harness.notice(&mut self.state, &Notice::Nudge(text));
            self.push_all(items);
        }
    }
}

/// A skill as the model is told of it in mid-session.
fn line(skill: &Skill) -> String {
    format!(
        "`{}`: {} (file: {})",
        skill.name,
        skill.description,
        skill.path.display()
    )
}
