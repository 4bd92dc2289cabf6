//! What a project brings comes or goes while the session runs, since the user decided on it.

use super::approval::rules::Rules;
use super::event::{Event, Frontend};
use super::open::Open;
use super::session::Session;
use crate::config::Config;
use crate::project::hooks::Hooks;
use crate::project::skills::Skills;
use crate::store::paths::Home;

impl Session {
    /// Goes on with the rules, hooks, skills and MCP servers that the settings have now. Model,
    /// harness, sandbox and approvals stay those of the session: nothing widens by itself.
    ///
    /// # Errors
    /// A sentence when rules cannot be read. Then nothing has changed.
    pub fn take_up(
        &mut self,
        config: &Config,
        home: &Home,
        ask: &Open,
        front: &mut dyn Frontend,
    ) -> Result<(), String> {
        let mut warnings = Vec::new();
        if !ask.ignore_rules {
            let (rules, told) = Rules::load(config, home.path())?;
            self.judge.set_rules(rules);
            warnings.extend(told);
        }
        let cwd = self.info.cwd.clone();
        let hooks = Hooks::load(config, home.path(), &cwd, ask.all_hooks);
        warnings.extend(hooks.warnings.iter().cloned());
        self.hooked.hooks = hooks.in_place_of(&self.hooked.hooks);
        let skills = Skills::load(config, home.path(), &cwd);
        warnings.extend(skills.warnings.iter().cloned());
        self.take_up_skills(skills);
        self.mcp.take_up(config, &ask.mcp_servers);
        for warning in warnings {
            front.event(&Event::Warning(warning));
        }
        Ok(())
    }
}
