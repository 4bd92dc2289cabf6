//! `/trust`: what the project brings, and whether it counts.

use super::{Desk, Done, sessions};
use crate::agent::brought;
use crate::cli::render::Theme;
use crate::cli::render::sanitize::one_line;
use crate::cli::terminal;
use crate::cli::trust::{Said, accept, listed, put};
use crate::config::Trust;
use crate::store::trust::Standing;
use std::io;

/// Words that may stand after the command.
pub(super) fn words() -> Vec<String> {
    ["yes", "no"].map(str::to_owned).into()
}

/// Shows what the project brings and lets the person decide.
pub(super) fn trust(desk: &mut Desk, words: &str) -> Done {
    // What is shown and decided on is what is there now.
    if let Err(why) = desk.setup.reload(desk.options) {
        return Done::Said(one_line(&why));
    }
    let trust = desk.setup.config.trust.clone();
    if trust.brought.is_empty() {
        return Done::Said(format!(
            "{} brings nothing that would need trust",
            one_line(&trust.folder.display().to_string())
        ));
    }
    if trust.brought.digests.is_none() {
        return Done::Said(told(&trust));
    }
    let holds = trust.standing == Standing::Trusted;
    let said = match words {
        "" if holds => {
            let theme = Theme::new(desk.options.color, &io::stderr());
            let what = listed(&trust, &theme, terminal::columns());
            return Done::Said(format!("{}:\n{what}/trust no takes it back", told(&trust)));
        }
        "yes" if holds => return Done::Said(told(&trust)),
        "no" => Said::Never,
        // What is trusted has been seen.
        "" | "yes" => put(&trust, desk.options, desk.session.cancel()),
        other => {
            return Done::Said(format!("`{}` is neither yes nor no", one_line(other)));
        }
    };
    match said {
        Said::NotNow => Done::Said("nothing was changed".into()),
        said => decided(desk, &trust, said == Said::Yes),
    }
}

/// Keeps the decision. Programs and rules count from the next message on. Settings are those of the
/// session: another one begins where nothing was said yet, else they wait for it.
fn decided(desk: &mut Desk, trust: &Trust, yes: bool) -> Done {
    let kept = accept(&desk.setup.home, trust, yes);
    if let Err(why) = kept.and_then(|()| desk.setup.reload(desk.options)) {
        return Done::Said(one_line(&why));
    }
    let now = told(&desk.setup.config.trust);
    if desk.session.is_new() {
        return match sessions::new(desk, "") {
            Done::Said(said) => Done::Said(format!("{now}\n{said}")),
            other => other,
        };
    }
    let ask = desk.setup.ask(desk.options);
    let (config, home) = (&desk.setup.config, &desk.setup.home);
    if let Err(why) = desk.session.take_up(config, home, &ask, desk.front) {
        return Done::Said(one_line(&why));
    }
    let sets = |line: &brought::Line| line.does == brought::SETS;
    let (settings, others): (Vec<_>, Vec<_>) = brought::lines(trust).into_iter().partition(sets);
    let when = match (settings.is_empty(), others.is_empty()) {
        (true, _) => "from your next message on",
        (false, true) => "from the next session on (/new begins one)",
        (false, false) => {
            "hooks, rules, skills and servers from your next message on, settings from the next session on (/new begins one)"
        }
    };
    Done::Said(format!("{now}: {when}"))
}

/// Whether what the project brings counts, and why not.
pub(super) fn told(trust: &Trust) -> String {
    let what = match (trust.standing, trust.brought.is_empty()) {
        (Standing::Trusted, _) => "trusted, so what it brings counts",
        (Standing::Untrusted, _) => "not trusted, so what it brings does not count",
        (Standing::Changed, _) => "changed since it was trusted, so what it brings does not count",
        (Standing::TooMuch, _) => "not trusted, since it brings more than can be checked",
        (Standing::Unknown, true) => "not known, and brings nothing that would need trust",
        (Standing::Unknown, false) => "not known, so what it brings does not count",
    };
    one_line(&format!("{} is {what}", trust.folder.display()))
}

/// What the project would do of that kind ([`brought::Line::does`]), if it were trusted.
pub(super) fn waiting(desk: &Desk, does: &str) -> Vec<String> {
    let trust = &desk.setup.config.trust;
    if trust.holds() {
        return Vec::new();
    }
    let lines = brought::lines(trust).into_iter();
    let lines = lines.filter(|line| line.does == does);
    let line = |l: brought::Line| {
        format!(
            "not trusted  {}  ({})",
            one_line(&l.what),
            one_line(&l.file)
        )
    };
    lines.map(line).collect()
}
