//! Is everything in place? One finding a question, each with the command that mends it.
//!
//! [`place`] looks at this machine, [`server`] and [`model`] ask the server, and [`trial`] lets
//! the model do a tiny task in the chosen harness. Every step has a limit in time: a server that
//! hangs is a finding.

mod model;
mod place;
mod server;
mod trial;

use super::connect::Wish;
use crate::cancel::Cancel;
use crate::config::Config;
use crate::model::provider::Provider;
use crate::sandbox::Offline;
use crate::store::paths::Home;
use serde_json::Value;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How good it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// In order.
    Ok,
    /// It works, but worse than it could.
    Warn,
    /// It keeps a session from working.
    Fail,
}

impl Grade {
    /// `ok`, `warn` or `fail`.
    pub fn name(self) -> &'static str {
        match self {
            Grade::Ok => "ok",
            Grade::Warn => "warn",
            Grade::Fail => "fail",
        }
    }
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The question, in a word.
    pub check: &'static str,
    /// How good it is.
    pub grade: Grade,
    /// The answer in a few words. May hold words of the server or the model.
    pub text: String,
    /// A command or a flag that mends it.
    pub fix: Option<String>,
    /// The same as data, for scripts.
    pub facts: Vec<(&'static str, Value)>,
}

impl Finding {
    fn new(grade: Grade, check: &'static str, text: impl Into<String>) -> Self {
        Finding {
            check,
            grade,
            text: text.into(),
            fix: None,
            facts: Vec::new(),
        }
    }

    fn ok(check: &'static str, text: impl Into<String>) -> Self {
        Self::new(Grade::Ok, check, text)
    }

    fn warn(check: &'static str, text: impl Into<String>) -> Self {
        Self::new(Grade::Warn, check, text)
    }

    /// Also for the command itself, when there are no settings to examine.
    pub fn fail(check: &'static str, text: impl Into<String>) -> Self {
        Self::new(Grade::Fail, check, text)
    }

    fn fix(mut self, command: impl Into<String>) -> Self {
        self.fix = Some(command.into());
        self
    }

    fn fact(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.facts.push((name, value.into()));
        self
    }
}

/// What is examined.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The settings.
    pub config: &'a Config,
    /// The home.
    pub home: &'a Home,
    /// The working folder.
    pub cwd: &'a Path,
    /// Use the `chat` wire.
    pub chat_completions: bool,
    /// How well `--offline` holds, if it was asked for.
    pub offline: Option<&'a Offline>,
}

/// Who is told, while it goes on.
pub trait Listener {
    /// A question was answered.
    fn found(&mut self, finding: &Finding);
    /// What is waited for.
    fn waiting(&mut self, what: &str);
}

/// Asks everything that can be asked. Ends early where an answer makes the rest pointless, and
/// when `cancel` is set.
pub fn examine(case: &Case, cancel: &Cancel, listener: &mut dyn Listener) {
    for finding in [place::config(case), place::git(case), place::sandbox(case)] {
        listener.found(&finding);
    }
    listener.waiting("asking the server");
    let (provider, findings) = server::examine(case, cancel);
    findings.iter().for_each(|f| listener.found(f));
    let Some(provider) = provider.filter(|_| worst(&findings) < Grade::Fail) else {
        return;
    };
    listener.waiting("asking for the model");
    let (model, mut findings) = model::examine(case, &provider, cancel);
    findings.push(place::offline(
        case,
        &provider,
        model.as_ref().map(|m| &m.info),
    ));
    findings.iter().for_each(|f| listener.found(f));
    if let Some(model) = model.filter(|_| worst(&findings) < Grade::Fail) {
        trial::examine(case, &provider, &model, cancel, listener);
    }
}

fn worst(findings: &[Finding]) -> Grade {
    findings.iter().map(|f| f.grade).max().unwrap_or(Grade::Ok)
}

impl Case<'_> {
    fn wish(&self) -> Wish {
        Wish {
            chat_completions: self.chat_completions,
            ..Wish::default()
        }
    }
}

/// A key of this provider's entry, set on the command line.
fn set(provider: &Provider, key: &str, value: &str) -> String {
    format!("-c 'model_providers.{}.{key}=\"{value}\"'", provider.id)
}

/// Runs `work` with a stop flag that is set with `outer`, and when `limit` is over. The second
/// value says that time ran out.
fn bounded<T>(limit: Duration, outer: &Cancel, work: impl FnOnce(&Cancel) -> T) -> (T, bool) {
    const LOOK: Duration = Duration::from_millis(20);
    let (inner, done) = (Cancel::new(), Cancel::new());
    let until = Instant::now() + limit;
    thread::scope(|s| {
        let watch = s.spawn(|| {
            while !done.is_cancelled() && !outer.is_cancelled() {
                if Instant::now() >= until {
                    inner.cancel();
                    return true;
                }
                thread::sleep(LOOK);
            }
            if outer.is_cancelled() {
                inner.cancel();
            }
            false
        });
        let result = work(&inner);
        done.cancel();
        (result, watch.join().unwrap_or(false))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_stopped_at_its_limit_and_by_the_user() {
        let wait = |c: &Cancel| {
            while !c.is_cancelled() {
                thread::sleep(Duration::from_millis(5));
            }
        };
        let user = Cancel::new();
        assert!(bounded(Duration::from_millis(60), &user, wait).1);
        user.cancel();
        assert!(!bounded(Duration::from_secs(60), &user, wait).1);
        assert_eq!(bounded(Duration::from_secs(60), &user, |_| 7), (7, false));
    }

    #[test]
    fn the_worst_finding_decides() {
        let list = [Finding::ok("a", ""), Finding::warn("b", "")];
        assert_eq!(worst(&list), Grade::Warn);
        assert_eq!(worst(&[]), Grade::Ok);
    }
}
