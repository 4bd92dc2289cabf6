//! The two tables of the command line: subcommands and flags. Parsing and help are made from them.

use super::Options;
use crate::cli::render::ColorChoice;
use crate::config::keys::{self, Kind};
use crate::model::WireApi;
use crate::words::nearest;
use std::ffi::OsStr;
use toml::Value;

/// A subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// No subcommand.
    Run,
    /// `exec`
    Exec,
    /// `exec resume`
    ExecResume,
    /// `exec fork`
    ExecFork,
    /// `exec review`
    ExecReview,
    /// `resume`
    Resume,
    /// `fork`
    Fork,
    /// `review`
    Review,
    /// `harness list`
    HarnessList,
    /// `harness show`
    HarnessShow,
    /// `harness bench`
    HarnessBench,
    /// `mcp list`
    McpList,
    /// `mcp get`
    McpGet,
    /// `mcp add`
    McpAdd,
    /// `mcp remove`
    McpRemove,
    /// `mcp-server`
    McpServer,
    /// `models`
    Models,
    /// `login`
    Login,
    /// `login status`
    LoginStatus,
    /// `logout`
    Logout,
    /// `doctor`
    Doctor,
    /// `undo`
    Undo,
    /// `rules check`
    RulesCheck,
    /// `sandbox`
    Sandbox,
    /// `completion`
    Completion,
    /// `acp`
    Acp,
    /// `help`
    Help,
}

/// A row of the table of subcommands.
#[derive(Debug, Clone, Copy)]
pub struct Subcommand {
    /// Which it is.
    pub verb: Verb,
    /// The words that name it.
    pub words: &'static [&'static str],
    /// A short form of its last word.
    pub alias: Option<&'static str>,
    /// What it takes besides flags.
    pub usage: &'static str,
    /// One line for people.
    pub doc: &'static str,
    /// Command lines to learn from.
    pub examples: &'static [&'static str],
}

/// Every subcommand.
#[rustfmt::skip]
pub const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        verb: Verb::Run, words: &[], alias: None, usage: "[PROMPT]",
        doc: "Start a session; with piped input, run it as one task",
        examples: &["interpreter --oss", "interpreter -m qwen3-coder:30b \"fix the failing test\""],
    },
    Subcommand {
        verb: Verb::Exec, words: &["exec"], alias: Some("e"), usage: "[PROMPT | -]",
        doc: "Run one task without questions; - reads it from stdin",
        examples: &["git diff | interpreter exec --oss \"review this change\""],
    },
    Subcommand {
        verb: Verb::ExecResume, words: &["exec", "resume"], alias: None, usage: "[ID | --last] [PROMPT | -]",
        doc: "Go on with a session, without questions",
        examples: &["interpreter exec resume --last \"now add a test\""],
    },
    Subcommand {
        verb: Verb::ExecFork, words: &["exec", "fork"], alias: None, usage: "[ID | --last] [PROMPT | -]",
        doc: "Go on with a copy of a session, without questions",
        examples: &["interpreter exec fork --last \"try it in another way\""],
    },
    Subcommand {
        verb: Verb::ExecReview, words: &["exec", "review"], alias: None, usage: "[PROMPT | -]",
        doc: "Review a change, or what the prompt says",
        examples: &["interpreter exec review --uncommitted --json", "interpreter exec review --base main"],
    },
    Subcommand {
        verb: Verb::Resume, words: &["resume"], alias: None, usage: "[ID | NAME | --last] [PROMPT]",
        doc: "Go on with a session; alone, it lists them to choose from",
        examples: &["interpreter resume --last", "interpreter resume 0199a2b3 \"now add a test\""],
    },
    Subcommand {
        verb: Verb::Fork, words: &["fork"], alias: None, usage: "[ID | NAME | --last] [PROMPT]",
        doc: "Go on with a copy of a session",
        examples: &["interpreter fork --last"],
    },
    Subcommand {
        verb: Verb::Review, words: &["review"], alias: None, usage: "[PROMPT | -]",
        doc: "Review a change; nothing is changed by it",
        examples: &["interpreter review --uncommitted", "interpreter review --commit HEAD"],
    },
    Subcommand {
        verb: Verb::HarnessList, words: &["harness", "list"], alias: None, usage: "",
        doc: "List the agents whose interface a model can be given",
        examples: &["interpreter harness list"],
    },
    Subcommand {
        verb: Verb::HarnessShow, words: &["harness", "show"], alias: None, usage: "ID",
        doc: "Print the prompt and tools of a harness",
        examples: &["interpreter harness show qwen-code --size compact --json"],
    },
    Subcommand {
        verb: Verb::HarnessBench, words: &["harness", "bench"], alias: None, usage: "",
        doc: "Measure the harnesses on built-in tasks with your model",
        examples: &["interpreter harness bench --oss --harness qwen-code,mini-swe-agent --save"],
    },
    Subcommand {
        verb: Verb::McpList, words: &["mcp", "list"], alias: None, usage: "",
        doc: "List the MCP servers of the config",
        examples: &["interpreter mcp list --json"],
    },
    Subcommand {
        verb: Verb::McpGet, words: &["mcp", "get"], alias: None, usage: "NAME",
        doc: "Show one of them",
        examples: &["interpreter mcp get docs"],
    },
    Subcommand {
        verb: Verb::McpAdd, words: &["mcp", "add"], alias: None, usage: "NAME [--url URL | -- COMMAND [ARG]...]",
        doc: "Add a server that gives the model further tools",
        examples: &["interpreter mcp add --env TOKEN=env:MY_TOKEN docs -- npx -y docs-server", "interpreter mcp add web --url http://127.0.0.1:8000/mcp"],
    },
    Subcommand {
        verb: Verb::McpRemove, words: &["mcp", "remove"], alias: None, usage: "NAME",
        doc: "Take a server out of the config",
        examples: &["interpreter mcp remove docs"],
    },
    Subcommand {
        verb: Verb::McpServer, words: &["mcp-server"], alias: None, usage: "",
        doc: "Be an MCP server: programs give it tasks",
        examples: &["interpreter mcp-server --oss"],
    },
    Subcommand {
        verb: Verb::Models, words: &["models"], alias: None, usage: "",
        doc: "List the models of the local servers, or of a provider",
        examples: &["interpreter models --local-provider lmstudio", "interpreter models --provider openrouter"],
    },
    Subcommand {
        verb: Verb::Login, words: &["login"], alias: None, usage: "PROVIDER",
        doc: "Keep a provider's key, or sign in there",
        examples: &["interpreter login anthropic", "pass show openai | interpreter login openai --with-api-key"],
    },
    Subcommand {
        verb: Verb::LoginStatus, words: &["login", "status"], alias: None, usage: "[PROVIDER]",
        doc: "Say which keys there are",
        examples: &["interpreter login status"],
    },
    Subcommand {
        verb: Verb::Logout, words: &["logout"], alias: None, usage: "PROVIDER",
        doc: "Forget a provider's key, or --all of them",
        examples: &["interpreter logout anthropic"],
    },
    Subcommand {
        verb: Verb::Doctor, words: &["doctor"], alias: None, usage: "",
        doc: "Check server, model and sandbox, and try one tool call",
        examples: &["interpreter doctor --oss", "interpreter doctor --harness minimal --json"],
    },
    Subcommand {
        verb: Verb::Undo, words: &["undo"], alias: None, usage: "[N]",
        doc: "Take back what the last turn, or N turns, changed here",
        examples: &["interpreter undo --list", "interpreter undo --file src/main.rs"],
    },
    Subcommand {
        verb: Verb::RulesCheck, words: &["rules", "check"], alias: None, usage: "-- COMMAND [ARG]...",
        doc: "Tell what your rules say of a command, and which of them",
        examples: &["interpreter rules check -- git push", "interpreter rules check --json -- \"cd x && make\""],
    },
    Subcommand {
        verb: Verb::Sandbox, words: &["sandbox"], alias: None, usage: "-- COMMAND [ARG]...",
        doc: "Run a command inside the sandbox",
        examples: &["interpreter sandbox -s read-only -- touch x"],
    },
    Subcommand {
        verb: Verb::Completion, words: &["completion"], alias: None, usage: "SHELL",
        doc: "Completion for bash, zsh, fish or powershell; or the man page",
        examples: &["interpreter completion bash", "interpreter completion man"],
    },
    Subcommand {
        verb: Verb::Acp, words: &["acp"], alias: None, usage: "",
        doc: "Serve an editor over the Agent Client Protocol",
        examples: &["interpreter acp", "interpreter acp -m qwen3-coder:30b"],
    },
    Subcommand {
        verb: Verb::Help, words: &["help"], alias: None, usage: "[SUBCOMMAND]",
        doc: "Show the help of a subcommand",
        examples: &["interpreter help exec"],
    },
];

/// First words that are no subcommand themselves, and what they are about.
pub const GROUPS: &[(&str, &str)] = &[
    ("harness", "How the model sees the task"),
    (
        "rules",
        "Which commands are allowed, asked about or forbidden",
    ),
    ("mcp", "Servers with further tools"),
];

/// What a flag takes and does.
#[derive(Clone, Copy)]
pub enum Take {
    /// Nothing.
    Switch(fn(&mut Options)),
    /// A value.
    Value(fn(&mut Options, &OsStr) -> Result<(), String>),
    /// The value of this config key.
    Key(&'static str),
    /// Files: a list with commas, and more of them in the words that follow.
    Images,
    /// Ask for help.
    Help,
    /// Ask for the version.
    Version,
}

/// A row of the table of flags.
#[derive(Clone, Copy)]
pub struct Flag {
    /// Its names without dashes; the first is the one of the help.
    pub long: &'static [&'static str],
    /// Its short form.
    pub short: Option<char>,
    /// The name of its value in the help; empty: it takes none.
    pub value: &'static str,
    /// One line for people; empty: accepted, but not shown.
    pub doc: &'static str,
    /// The subcommands that know it.
    pub on: &'static [Verb],
    /// What it does.
    pub take: Take,
}

use Verb::*;
const EVERY: &[Verb] = &[
    Run,
    Exec,
    ExecResume,
    ExecFork,
    ExecReview,
    Resume,
    Fork,
    Review,
    HarnessList,
    HarnessShow,
    HarnessBench,
    Models,
    Login,
    LoginStatus,
    Logout,
    Doctor,
    Undo,
    RulesCheck,
    Sandbox,
    Completion,
    McpList,
    McpGet,
    McpAdd,
    McpRemove,
    McpServer,
    Acp,
];
const EVERY_AND_HELP: &[Verb] = &[
    Run,
    Exec,
    ExecResume,
    ExecFork,
    ExecReview,
    Resume,
    Fork,
    Review,
    HarnessList,
    HarnessShow,
    HarnessBench,
    Models,
    Login,
    LoginStatus,
    Logout,
    Doctor,
    Undo,
    RulesCheck,
    Sandbox,
    Completion,
    Acp,
    Help,
    McpList,
    McpGet,
    McpAdd,
    McpRemove,
    McpServer,
];
const TASKS: &[Verb] = &[
    Run, Exec, ExecResume, ExecFork, ExecReview, Resume, Fork, Review,
];
const WORKS: &[Verb] = &[
    Run, Exec, ExecResume, ExecFork, ExecReview, Resume, Fork, Review, Acp,
];
const TALKS: &[Verb] = &[Run, Exec, ExecResume, ExecFork, Resume, Fork];
const EXECS: &[Verb] = &[Exec, ExecResume, ExecFork, ExecReview];
/// Those that go on with a stored session.
pub const RESUMES: &[Verb] = &[ExecResume, ExecFork, Resume, Fork];
const RESUMES_AND_LOGOUT: &[Verb] = &[ExecResume, ExecFork, Resume, Fork, Logout];
const REVIEWS: &[Verb] = &[ExecReview, Review];
const MODELS: &[Verb] = &[
    Run,
    Exec,
    ExecResume,
    ExecFork,
    ExecReview,
    Resume,
    Fork,
    Review,
    HarnessList,
    HarnessShow,
    HarnessBench,
    Models,
    Doctor,
    McpServer,
    Acp,
];
const FENCED: &[Verb] = &[
    Run, Exec, ExecResume, ExecFork, Resume, Fork, Doctor, Sandbox, McpServer, Acp,
];
const SHAPED: &[Verb] = &[
    Run,
    Exec,
    ExecResume,
    ExecFork,
    ExecReview,
    Resume,
    Fork,
    Review,
    HarnessShow,
    HarnessBench,
    Doctor,
    McpServer,
    Acp,
];
const HARNESSED: &[Verb] = &[
    Run,
    Exec,
    ExecResume,
    ExecFork,
    ExecReview,
    Resume,
    Fork,
    Review,
    HarnessBench,
    Doctor,
    McpServer,
    Acp,
];
const ASKING: &[Verb] = &[
    Run, Exec, ExecResume, ExecFork, ExecReview, Resume, Fork, Review, Doctor, McpServer, Acp,
];
const JSON: &[Verb] = &[
    Exec,
    ExecResume,
    ExecFork,
    ExecReview,
    HarnessList,
    HarnessShow,
    HarnessBench,
    Models,
    LoginStatus,
    Doctor,
    Undo,
    RulesCheck,
    McpList,
    McpGet,
];

/// The most runs of `harness bench`.
const MOST_RUNS: u32 = 1000;

/// Every flag, in the order of the help.
#[rustfmt::skip]
pub const FLAGS: &[Flag] = &[
    Flag { long: &["last"], short: None, value: "", doc: "The latest session of this folder", on: RESUMES,
        take: Take::Switch(|o| o.last = true) },
    Flag { long: &["all"], short: None, value: "", doc: "All of them, not only this folder's or one", on: RESUMES_AND_LOGOUT,
        take: Take::Switch(|o| o.all = true) },
    Flag { long: &["uncommitted"], short: None, value: "", doc: "What is not committed, new files included", on: REVIEWS,
        take: Take::Switch(|o| o.uncommitted = true) },
    Flag { long: &["base"], short: None, value: "BRANCH", doc: "What changed since this work left it", on: REVIEWS,
        take: Take::Value(|o, v| { o.base = Some(utf8(v)?.to_owned()); Ok(()) }) },
    Flag { long: &["commit"], short: None, value: "SHA", doc: "What one commit changed", on: REVIEWS,
        take: Take::Value(|o, v| { o.commit = Some(utf8(v)?.to_owned()); Ok(()) }) },
    Flag { long: &["title"], short: None, value: "TEXT", doc: "With --commit: its subject", on: REVIEWS,
        take: Take::Value(|o, v| { o.title = Some(utf8(v)?.to_owned()); Ok(()) }) },
    Flag { long: &["model"], short: Some('m'), value: "MODEL", doc: "The model; else the loaded or only one", on: MODELS,
        take: Take::Key("model") },
    Flag { long: &["provider"], short: None, value: "ID", doc: "The model provider, local or hosted", on: MODELS,
        take: Take::Key("model_provider") },
    Flag { long: &["providers"], short: None, value: "", doc: "List the hosted providers instead", on: &[Models],
        take: Take::Switch(|o| o.providers = true) },
    Flag { long: &["import"], short: None, value: "FILE", doc: "Take a newer table of hosted models from it", on: &[Models],
        take: Take::Value(|o, v| { o.import = Some(v.into()); Ok(()) }) },
    Flag { long: &["with-api-key"], short: None, value: "", doc: "Read the key from standard input", on: &[Login],
        take: Take::Switch(|o| o.with_api_key = true) },
    Flag { long: &["oss"], short: None, value: "", doc: "Use a local server, whichever answers", on: MODELS,
        take: Take::Switch(|o| o.overrides.oss = true) },
    Flag { long: &["local-provider"], short: None, value: "NAME", doc: "--oss with ollama, lmstudio, llamacpp or vllm", on: MODELS,
        take: Take::Value(|o, v| {
            o.overrides.local_provider = Some(choose(v, keys::LOCAL_PROVIDERS)?.to_owned());
            Ok(())
        }) },
    Flag { long: &["offline"], short: None, value: "", doc: "Local servers only, held by the kernel", on: EVERY,
        take: Take::Switch(|o| o.overrides.set("offline", true.into(), "--offline")) },
    Flag { long: &["chat-completions"], short: None, value: "", doc: "Speak Chat Completions to the provider", on: ASKING,
        take: Take::Switch(|o| o.chat_completions = true) },
    Flag { long: &["effort"], short: None, value: "HOW", doc: "Reasoning effort: none, low, medium, high, ...", on: ASKING,
        take: Take::Key("model_reasoning_effort") },
    Flag { long: &["harness"], short: None, value: "ID", doc: "Agent to emulate (bench: A,B or all)", on: HARNESSED,
        take: Take::Key("harness") },
    Flag { long: &["size"], short: None, value: "SIZE", doc: "Prompt and tools: full, compact or tiny", on: SHAPED,
        take: Take::Key("harness_size") },
    Flag { long: &["wire"], short: None, value: "WIRE", doc: "For chat, responses, messages or ollama", on: &[HarnessShow],
        take: Take::Value(|o, v| {
            let name = choose(v, keys::WIRES)?;
            o.wire = WireApi::ALL.iter().find(|(_, n)| *n == name).map(|(w, _)| *w);
            Ok(())
        }) },
    Flag { long: &["runs"], short: None, value: "N", doc: "How often each task is tried; 3 unless given", on: &[HarnessBench],
        take: Take::Value(|o, v| {
            let runs = utf8(v)?.parse().ok().filter(|n| (1..=MOST_RUNS).contains(n));
            o.runs = Some(runs.ok_or(format!("`{}` is not a whole number from 1 to {MOST_RUNS}", utf8(v)?))?);
            Ok(())
        }) },
    Flag { long: &["task"], short: None, value: "NAME", doc: "Only this task (repeat)", on: &[HarnessBench],
        take: Take::Value(|o, v| {
            let names = utf8(v)?.split(',').map(str::trim).filter(|n| !n.is_empty());
            o.tasks.extend(names.map(str::to_owned));
            Ok(())
        }) },
    Flag { long: &["save"], short: None, value: "", doc: "Make the best one this model's harness", on: &[HarnessBench],
        take: Take::Switch(|o| o.save = true) },
    Flag { long: &["export"], short: None, value: "DIR", doc: "Only write the tasks and their checks there", on: &[HarnessBench],
        take: Take::Value(|o, v| { o.export = Some(v.into()); Ok(()) }) },
    Flag { long: &["sandbox"], short: Some('s'), value: "MODE", doc: "read-only, workspace-write, danger-full-access", on: FENCED,
        take: Take::Key("sandbox_mode") },
    Flag { long: &["ask-for-approval"], short: Some('a'), value: "WHEN", doc: "untrusted, on-request or never", on: WORKS,
        take: Take::Key("approval_policy") },
    Flag { long: &["yolo", "dangerously-bypass-approvals-and-sandbox"], short: None, value: "", doc: "No sandbox, no questions", on: WORKS,
        take: Take::Switch(|o| {
            o.overrides.set("sandbox_mode", "danger-full-access".into(), "--yolo");
            o.overrides.set("approval_policy", "never".into(), "--yolo");
            o.skip_git_repo_check = true;
        }) },
    Flag { long: &["cd"], short: Some('C'), value: "DIR", doc: "Work in this folder", on: EVERY,
        take: Take::Value(|o, v| { o.cd = Some(v.into()); Ok(()) }) },
    Flag { long: &["add-dir"], short: None, value: "DIR", doc: "One more folder to write in (repeat)", on: FENCED,
        take: Take::Value(|o, v| { o.overrides.add_dirs.push(v.into()); Ok(()) }) },
    Flag { long: &["skip-git-repo-check"], short: None, value: "", doc: "Run outside of a git repository", on: TASKS,
        take: Take::Switch(|o| o.skip_git_repo_check = true) },
    Flag { long: &["trust"], short: None, value: "", doc: "Trust what this project brings, as it is now", on: TASKS,
        take: Take::Switch(|o| o.trust = true) },
    Flag { long: &["trust-hooks", "dangerously-bypass-hook-trust"], short: None, value: "", doc: "Run hooks that nobody looked at yet, too", on: TASKS,
        take: Take::Switch(|o| o.all_hooks = true) },
    Flag { long: &["ignore-rules"], short: None, value: "", doc: "Read no rules about commands", on: TASKS,
        take: Take::Switch(|o| o.ignore_rules = true) },
    Flag { long: &["rules"], short: None, value: "FILE", doc: "Only the rules of this file (repeat)", on: &[RulesCheck],
        take: Take::Value(|o, v| { o.rules.push(v.into()); Ok(()) }) },
    Flag { long: &["image"], short: Some('i'), value: "FILE", doc: "Show the model pictures; after the prompt", on: TALKS,
        take: Take::Images },
    Flag { long: &["max-steps"], short: None, value: "N", doc: "Stop after N replies with tool calls", on: WORKS,
        take: Take::Key("max_steps") },
    Flag { long: &["output-last-message"], short: Some('o'), value: "FILE", doc: "Write the final answer to a file, too", on: TASKS,
        take: Take::Value(|o, v| { o.output_last_message = Some(v.into()); Ok(()) }) },
    Flag { long: &["output-schema"], short: None, value: "FILE", doc: "JSON Schema that the answer must follow", on: EXECS,
        take: Take::Value(|o, v| { o.output_schema = Some(v.into()); Ok(()) }) },
    Flag { long: &["list"], short: None, value: "", doc: "Only list the turns that can be taken back", on: &[Undo],
        take: Take::Switch(|o| o.list = true) },
    Flag { long: &["file"], short: None, value: "PATH", doc: "Only this file or folder", on: &[Undo],
        take: Take::Value(|o, v| { o.file = Some(utf8(v)?.to_owned()); Ok(()) }) },
    Flag { long: &["redo"], short: None, value: "", doc: "Put back what the last undo took", on: &[Undo],
        take: Take::Switch(|o| o.redo = true) },
    Flag { long: &["env"], short: None, value: "NAME=VALUE", doc: "A variable of the server (repeat)", on: &[McpAdd],
        take: Take::Value(|o, v| { o.mcp_env.push(utf8(v)?.to_owned()); Ok(()) }) },
    Flag { long: &["url"], short: None, value: "URL", doc: "The address of a server over HTTP", on: &[McpAdd],
        take: Take::Value(|o, v| { o.mcp_url = Some(utf8(v)?.to_owned()); Ok(()) }) },
    Flag { long: &["bearer-token-env-var"], short: None, value: "NAME", doc: "The variable with its token", on: &[McpAdd],
        take: Take::Value(|o, v| { o.mcp_bearer = Some(utf8(v)?.to_owned()); Ok(()) }) },
    Flag { long: &["json", "experimental-json"], short: None, value: "", doc: "Print JSON", on: JSON,
        take: Take::Switch(|o| o.json = true) },
    Flag { long: &["ephemeral"], short: None, value: "", doc: "Keep no session file", on: WORKS,
        take: Take::Switch(|o| o.ephemeral = true) },
    Flag { long: &["config"], short: Some('c'), value: "KEY=VALUE", doc: "Set a config key (repeat)", on: EVERY,
        take: Take::Value(|o, v| {
            let text = utf8(v)?;
            if !text.contains('=') {
                return Err(format!("`{text}` sets nothing; write it as key=value"));
            }
            o.overrides.sets.push(text.to_owned());
            Ok(())
        }) },
    Flag { long: &["profile"], short: Some('p'), value: "NAME", doc: "Use a profile of the config", on: EVERY,
        take: Take::Value(|o, v| { o.overrides.profile = Some(utf8(v)?.to_owned()); Ok(()) }) },
    Flag { long: &["ignore-user-config"], short: None, value: "", doc: "Do not read config.toml", on: EVERY,
        take: Take::Switch(|o| o.overrides.ignore_user_config = true) },
    Flag { long: &["strict-config"], short: None, value: "", doc: "A config key without effect is an error", on: EXECS,
        take: Take::Switch(|o| o.strict_config = true) },
    Flag { long: &["color"], short: None, value: "WHEN", doc: "always, never or auto", on: EVERY,
        take: Take::Value(|o, v| {
            let name = choose(v, &ColorChoice::ALL.map(|(_, n)| n))?;
            o.color = ColorChoice::ALL.iter().find(|(_, n)| *n == name).map(|(c, _)| *c).unwrap_or_default();
            Ok(())
        }) },
    Flag { long: &["debug"], short: None, value: "", doc: "Log contents, too", on: EVERY,
        take: Take::Switch(|o| o.debug = true) },
    Flag { long: &["help"], short: Some('h'), value: "", doc: "Show this help", on: EVERY_AND_HELP, take: Take::Help },
    Flag { long: &["version"], short: Some('V'), value: "", doc: "Show the version", on: EVERY_AND_HELP, take: Take::Version },

    // Accepted because the SDK and scripts of Codex give them.
    Flag { long: &["enable"], short: None, value: "FEATURE", doc: "", on: EVERY,
        take: Take::Value(|o, v| { o.overrides.sets.push(format!("features.{}=true", utf8(v)?)); Ok(()) }) },
    Flag { long: &["disable"], short: None, value: "FEATURE", doc: "", on: EVERY,
        take: Take::Value(|o, v| { o.overrides.sets.push(format!("features.{}=false", utf8(v)?)); Ok(()) }) },
    Flag { long: &["thread-source"], short: None, value: "SOURCE", doc: "", on: EXECS, take: Take::Value(|_, _| Ok(())) },
    Flag { long: &["cyber-access-program"], short: None, value: "NAME", doc: "", on: EXECS, take: Take::Value(|_, _| Ok(())) },
];

impl Flag {
    /// The flag of that long name.
    pub fn by_long(name: &str) -> Option<&'static Flag> {
        FLAGS.iter().find(|f| f.long.contains(&name))
    }

    /// The flag of that letter.
    pub fn by_short(letter: char) -> Option<&'static Flag> {
        FLAGS.iter().find(|f| f.short == Some(letter))
    }

    /// Its name in the help.
    pub fn name(&self) -> &'static str {
        self.long.first().copied().unwrap_or_default()
    }
}

impl Subcommand {
    /// The row of a subcommand.
    pub fn of(verb: Verb) -> &'static Subcommand {
        let row = SUBCOMMANDS.iter().find(|s| s.verb == verb);
        row.unwrap_or(&SUBCOMMANDS[0])
    }

    /// The words that call it: `interpreter exec resume`.
    pub fn call(&self) -> String {
        let words = self.words.iter().copied();
        std::iter::once("interpreter")
            .chain(words)
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// The words that may follow after `words` to name a subcommand, short forms included.
pub fn next_words(words: &[&str]) -> Vec<&'static str> {
    let mut next = Vec::new();
    for row in SUBCOMMANDS {
        if row.words.len() > words.len() && row.words.starts_with(words) {
            next.push(row.words[words.len()]);
            if row.words.len() == words.len() + 1 {
                next.extend(row.alias);
            }
        }
    }
    next.dedup();
    next
}

/// The value of a key as its kind wants it.
pub fn key_value(key: &str, text: &OsStr) -> Result<Value, String> {
    let kind = keys::by_path(key).map_or(Kind::Text, |k| k.kind);
    let value = match kind {
        Kind::OneOf(names) => Value::from(choose(text, names)?),
        Kind::Int(..) => utf8(text)?
            .parse::<i64>()
            .map_or(Value::from(utf8(text)?), Value::from),
        _ => Value::from(utf8(text)?),
    };
    match kind.accepts(&value) {
        true => Ok(value),
        false => Err(format!("`{}` is not {}", utf8(text)?, kind.allowed())),
    }
}

/// The one of `names` that `value` is.
fn choose<'a>(value: &OsStr, names: &[&'a str]) -> Result<&'a str, String> {
    let text = utf8(value)?;
    if let Some(name) = names.iter().find(|n| **n == text) {
        return Ok(name);
    }
    let hint = nearest(text, names.iter().copied()).map(|n| format!("; did you mean {n}?"));
    Err(format!(
        "`{text}` is none of {}{}",
        names.join(", "),
        hint.unwrap_or_default()
    ))
}

fn utf8(value: &OsStr) -> Result<&str, String> {
    value
        .to_str()
        .ok_or_else(|| format!("{value:?} is not UTF-8"))
}
