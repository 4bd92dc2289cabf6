//! Skills that are turned on and off while the session runs.

use super::session::Session;
use crate::harnesses::Notice;

impl Session {
    /// Turns a skill on or off for this session. Before the first word the list of the prompt has it
    /// so; later the model is told, and the prompt stays as it was sent. False when there is no such
    /// skill, or it is so already.
    pub fn turn_skill(&mut self, name: &str, on: bool) -> bool {
        let mut all = self.skills.all.iter_mut();
        let Some(skill) = all.find(|s| s.name == name && s.enabled != on) else {
            return false;
        };
        skill.enabled = on;
        let told = (self.skills.is_listed && skill.implicit).then(|| match on {
            true => format!(
                "The user turned on the skill `{name}`: {} (file: {})",
                skill.description,
                skill.path.display()
            ),
            false => format!("The user turned off the skill `{name}`: do not use it."),
        });
        self.context.skills = self.skills.listing(self.budget.skill_bytes()).0;
        match told {
            None => {}
            Some(_) if self.transcript.items().is_empty() => {
                self.begin_again(self.harness);
            }
            Some(text) => {
                let items = self.harness.notice(&mut self.state, &Notice::Nudge(text));
                self.push_all(items);
            }
        }
        true
    }
}
