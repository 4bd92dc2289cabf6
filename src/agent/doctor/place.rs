//! What this machine and its settings say: config, git, sandbox, and who is talked to.

use super::{Case, Finding};
use crate::agent::open;
use crate::model::local::ModelInfo;
use crate::model::provider::Provider;
use crate::project;
use crate::sandbox::{self, Layer, Mode, Offline, Sandbox, Strength};
use serde_json::{Value, json};

/// The config file and what has no effect in it.
pub fn config(case: &Case) -> Finding {
    let path = case.home.config_file();
    let shown = path.display().to_string();
    let warnings = &case.config.warnings;
    let finding = match (warnings.first(), path.is_file()) {
        (Some(first), _) => {
            let more = match warnings.len() - 1 {
                0 => String::new(),
                n => format!(" (and {n} more; --json has them)"),
            };
            Finding::warn("config", format!("{first}{more}")).fix(format!("edit {shown}"))
        }
        (None, true) => Finding::ok("config", format!("{shown}, no warnings")),
        (None, false) => Finding::ok("config", format!("no {shown}; defaults are used")),
    };
    finding
        .fact("path", shown)
        .fact("warnings", warnings.clone())
}

/// Whether changes can be taken back.
pub fn git(case: &Case) -> Finding {
    match project::git::facts(case.cwd) {
        Some(facts) => {
            let branch = match &facts.branch {
                Some(branch) => format!("branch {branch}"),
                None => "a detached HEAD".into(),
            };
            Finding::ok("git", format!("{branch} in {}", facts.root.display()))
                .fact("root", facts.root.display().to_string())
                .fact("branch", facts.branch)
        }
        None => Finding::warn(
            "git",
            "no repository here: exec wants --skip-git-repo-check, and only undo takes changes back",
        )
        .fix("git init"),
    }
}

/// What the sandbox holds, and by which means.
pub fn sandbox(case: &Case) -> Finding {
    let policy = open::policy(case.config, case.home, case.cwd, None);
    let mode = policy.mode;
    let network = policy.network;
    let strength = Sandbox::new(policy).strength();
    let layers = sandbox::layers();
    let means = match &layers {
        Ok(list) => list.iter().map(layer).collect::<Vec<_>>().join(", "),
        Err(why) => why.clone(),
    };
    let named = mode.name();
    let finding = match (mode, &strength) {
        (Mode::DangerFullAccess, _) => Finding::warn(
            "sandbox",
            format!("{named}: commands run without a fence ({means})"),
        )
        .fix("--sandbox workspace-write"),
        (_, Strength::Enforced) => Finding::ok("sandbox", format!("{named}, enforced ({means})")),
        (_, Strength::Partial(missing)) => {
            Finding::warn("sandbox", format!("{named}, partial ({means}): {missing}"))
                .fix("allow user namespaces: sysctl kernel.unprivileged_userns_clone=1")
        }
        (_, Strength::Nothing(why)) => Finding::fail(
            "sandbox",
            format!("{named} cannot be enforced here ({means}): {why}"),
        )
        .fix(match can_fence(&layers) {
            true => "-C FOLDER, another one",
            false => "--sandbox danger-full-access, only inside a container or virtual machine",
        }),
    };
    let (word, missing) = match strength {
        _ if mode == Mode::DangerFullAccess => ("off", None),
        Strength::Enforced => ("enforced", None),
        Strength::Partial(missing) => ("partial", Some(missing)),
        Strength::Nothing(why) => ("nothing", Some(why)),
    };
    let layers: Vec<Value> = layers
        .unwrap_or_default()
        .iter()
        .map(|l| json!({"name": l.name, "works": l.works, "version": l.version}))
        .collect();
    finding
        .fact("mode", named)
        .fact("strength", word)
        .fact("missing", missing)
        .fact("network", network)
        .fact("layers", layers)
}

/// Where the means are there, it is this folder that cannot be fenced.
fn can_fence(layers: &Result<Vec<Layer>, String>) -> bool {
    let layers = layers.as_deref().unwrap_or_default();
    !layers.is_empty() && layers.iter().all(|l| l.works)
}

fn layer(layer: &Layer) -> String {
    match (layer.works, layer.version) {
        (true, Some(version)) => format!("{} {version}", layer.name),
        (true, None) => layer.name.to_owned(),
        (false, _) => format!("no {}", layer.name),
    }
}

/// Whether anything leaves this machine or network.
pub fn offline(case: &Case, provider: &Provider, model: Option<&ModelInfo>) -> Finding {
    let cloud = model.is_some_and(|m| m.cloud);
    let local = provider.is_local();
    let finding = match (local, cloud) {
        (true, false) if let Some(held) = case.offline => match held {
            Offline::Enforced(_) => Finding::ok("offline", held.to_string()),
            Offline::Asked(_) => Finding::warn("offline", held.to_string())
                .fix("a kernel with Landlock 4, Linux 6.7 or later"),
        },
        (true, false) => Finding::ok("offline", "nothing but this server is contacted"),
        (true, true) => Finding::warn(
            "offline",
            "the model runs elsewhere: your work leaves this network",
        )
        .fix("interpreter models, then -m NAME of one that is not marked remote"),
        (false, _) => Finding::warn(
            "offline",
            format!("your work goes to {}, a hosted provider", provider.name),
        )
        .fix("--oss, for a local server"),
    };
    finding.fact("local", local && !cloud).fact(
        "enforced",
        matches!(case.offline, Some(Offline::Enforced(_))),
    )
}
