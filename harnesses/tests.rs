//! What holds for every harness: the surface is that of the emulated agent, by the recorded facts
//! in `tests/fixtures/harness-facts`; sizes are kept; nothing depends on anything but the context.

mod facts;
mod golden;
mod outcomes;
mod world;

use super::*;
use crate::model::ToolInput;
use crate::tools::action::{PatchForm, Shell};
use serde_json::{Value, json};
use std::time::Duration;
pub use world::*;

fn fixture(id: &str) -> Value {
    let path = format!(
        "{}/tests/fixtures/harness-facts/{id}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_json::from_str(&text).expect("fixtures are JSON")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The recorded tools, by name, and the recorded order.
fn recorded(id: &str) -> (Vec<(String, Value)>, Vec<String>) {
    let facts = fixture(id);
    let tools: Vec<(String, Value)> = match &facts["tools"] {
        Value::Array(list) => list
            .iter()
            .chain(facts["deferred_tools"].as_array().into_iter().flatten())
            .map(|tool| {
                (
                    tool["name"].as_str().unwrap_or_default().to_owned(),
                    tool.clone(),
                )
            })
            .collect(),
        Value::Object(map) => map
            .iter()
            .flat_map(|(name, tool)| match tool["tools"].as_array() {
                // A namespace: its tools stand for it.
                Some(inner) => inner
                    .iter()
                    .map(|t| (text(&t["name"]), t.clone()))
                    .collect(),
                None => vec![(name.clone(), tool.clone())],
            })
            .collect(),
        _ => panic!("{id}: no tools"),
    };
    let names = |list: &Value| -> Vec<String> {
        list.as_array()
            .expect("a list of names")
            .iter()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect()
    };
    let order = match id {
        // Agents come after pictures for models that the agent does not know.
        "native" => names(&facts["tool_order"]["0.148.0 model with freeform patch metadata"])
            .into_iter()
            .flat_map(|name| {
                match (
                    name.as_str(),
                    facts["tools"]["multi_agent_v1"]["tools"].as_array(),
                ) {
                    ("view_image", Some(inner)) => {
                        let inner = inner.iter().map(|tool| text(&tool["name"]));
                        [name].into_iter().chain(inner).collect()
                    }
                    _ => vec![name],
                }
            })
            .collect(),
        // A deferred tool comes in at its place in the registry, which is after the todo list.
        "qwen-code" => names(&facts["tool_sets"]["yolo"])
            .into_iter()
            .flat_map(|name| match name.as_str() {
                "todo_write" => vec![name, "ask_user_question".into(), "exit_plan_mode".into()],
                _ => vec![name],
            })
            .collect(),
        "opencode" => names(&facts["tool_sets"]["build"]),
        _ => tools.iter().map(|(name, _)| name.clone()).collect(),
    };
    (tools, order)
}

/// A schema without the words that are ours to choose.
fn bare(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => map
            .iter()
            .filter(|(key, value)| {
                !(*key == "description" && value.is_string()) && *key != "schema_draft"
            })
            .map(|(key, value)| (key.clone(), bare(value)))
            .collect(),
        Value::Array(list) => list.iter().map(bare).collect(),
        other => other.clone(),
    }
}

/// The recorded schema of a tool. One without properties is sent with none named, since some
/// servers refuse it otherwise.
fn recorded_parameters(tool: &Value) -> Value {
    let mut schema = bare(&tool["parameters"]);
    if schema == json!({"type": "object"}) {
        schema["properties"] = json!({});
    }
    schema
}

/// Every property has words of its own, unless its name and values say it all.
fn described(schema: &Value) -> usize {
    match schema {
        Value::Object(map) => {
            usize::from(map.get("description").is_some_and(Value::is_string))
                + map.values().map(described).sum::<usize>()
        }
        Value::Array(list) => list.iter().map(described).sum(),
        _ => 0,
    }
}

#[test]
fn surfaces_are_those_of_the_originals() {
    for harness in ALL {
        let id = harness.id();
        let (tools, order) = recorded(id);
        let cases = Size::ALL
            .into_iter()
            .flat_map(|size| [(size, false), (size, true)]);
        for ((size, name), interactive) in cases {
            let start = harness.begin(&Context {
                interactive,
                ..context(size)
            });
            let mut positions = Vec::new();
            let shown = start.tools.len();
            for (at, tool) in start.tools.iter().chain(&start.deferred).enumerate() {
                let recorded = tools
                    .iter()
                    .find(|(name, _)| *name == tool.name)
                    .unwrap_or_else(|| panic!("{id} has no {}", tool.name));
                assert!(!tool.description.trim().is_empty(), "{id} {}", tool.name);
                assert!(!tool.description.contains("{cwd}"), "{id} {}", tool.name);
                match &tool.input {
                    // Of some only the name is known.
                    _ if recorded.1["parameters"] == "not observed" => {}
                    // As text, since the order of keys is part of the surface.
                    ToolInput::Function(schema) => assert_eq!(
                        bare(schema).to_string(),
                        recorded_parameters(&recorded.1).to_string(),
                        "{id} {} {name}",
                        tool.name
                    ),
                    ToolInput::Freeform { grammar } => {
                        assert_eq!(recorded.1["type"], "custom", "{id} {}", tool.name);
                        assert!(grammar.contains("*** Begin Patch"));
                    }
                }
                if at < shown {
                    positions.push(order.iter().position(|name| *name == tool.name));
                }
            }
            assert!(positions.is_sorted(), "{id} {name}: {positions:?}");
            assert!(positions.iter().all(Option::is_some), "{id} {name}");
            // What is not offered is named with a reason.
            for name in &order {
                let offered = start.tools.iter().any(|tool| tool.name == *name);
                let left_out = start
                    .left_out
                    .iter()
                    .any(|(left, why)| left == name && !why.is_empty());
                assert!(offered != left_out, "{id} {name}");
            }
        }
    }
}

#[test]
fn properties_are_described_from_compact_on() {
    for harness in ALL {
        for tool in harness.begin(&context(Size::Compact)).tools {
            if let ToolInput::Function(schema) = &tool.input {
                let has_any = schema["properties"]
                    .as_object()
                    .is_some_and(|p| !p.is_empty());
                let is_described = described(schema) > 0;
                assert_eq!(is_described, has_any, "{} {}", harness.id(), tool.name);
            }
        }
        for tool in harness.begin(&context(Size::Tiny)).tools {
            if let ToolInput::Function(schema) = &tool.input {
                let words = bare(schema);
                assert_eq!(words.to_string(), schema.to_string(), "{}", tool.name);
            }
        }
    }
}

/// System and tools as a chat request carries them.
fn bytes(start: &Start) -> (usize, usize) {
    let tools: Vec<Value> = start
        .tools
        .iter()
        .map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.schema()}})
        })
        .collect();
    let tools = match tools.is_empty() {
        true => 0,
        false => Value::Array(tools).to_string().len(),
    };
    (Value::from(start.system.as_str()).to_string().len(), tools)
}

/// System and tools, and the whole first request: in tiny at most a quarter of an 8k window.
#[test]
fn sizes_are_kept() {
    println!(
        "{:16} {:8} {:>7} {:>7} {:>7} {:>8}",
        "harness", "size", "system", "tools", "both", "request"
    );
    for harness in ALL {
        for (size, name) in Size::ALL {
            let start = harness.begin(&context(size));
            let (system, tools) = bytes(&start);
            let mut state = start.state.clone();
            let mut items = start.opening.clone();
            items.extend(harness.user(&mut state, &Input::text("Fix the failing test.")));
            let words: usize = items
                .iter()
                .map(|item| Value::from(item.text()).to_string().len() + 60)
                .sum();
            let request = system + tools + words + 300;
            println!(
                "{:16} {name:8} {system:7} {tools:7} {:7} {request:8}",
                harness.id(),
                system + tools
            );
            let (both, whole) = match size {
                Size::Full => (12_000, 12_000),
                Size::Compact => (7_000, 10_000),
                Size::Tiny => (4_000, 8_192),
            };
            assert!(system + tools <= both, "{} {name}", harness.id());
            assert!(request <= whole, "{} {name}: {request}", harness.id());
        }
    }
}

/// With a person and the web there are more tools, and still room for them.
#[test]
fn everything_together_has_its_bound() {
    for harness in ALL {
        let mut cx = Context {
            interactive: true,
            ..context(Size::Full)
        };
        cx.sandbox.network = true;
        let (system, tools) = bytes(&harness.begin(&cx));
        let both = system + tools;
        assert!(both <= 14_000, "{}: {both}", harness.id());
    }
}

#[test]
fn a_smaller_size_is_smaller() {
    for harness in ALL {
        let sum = |size| {
            let (system, tools) = bytes(&harness.begin(&context(size)));
            system + tools
        };
        assert!(sum(Size::Full) >= sum(Size::Compact));
        assert!(sum(Size::Compact) >= sum(Size::Tiny));
    }
}

/// System prompt or shell tool text name the system, the shell and the folder.
#[test]
fn system_shell_and_folder_are_named() {
    for harness in ALL {
        for (size, _) in Size::ALL {
            let start = harness.begin(&context(size));
            let words: String = start
                .tools
                .iter()
                .map(|tool| tool.description.as_str())
                .chain([start.system.as_str()])
                .collect();
            let shell = match harness.id() {
                "mini-swe-agent" => "/bin/sh",
                _ => "bash",
            };
            for fact in ["Linux 6.8.0", shell, "/home/ada/projects/shop"] {
                assert!(words.contains(fact), "{}: {fact}", harness.id());
            }
        }
    }
}

#[test]
fn guidance_adds_and_false_adds_nothing() {
    for harness in ALL {
        for (size, _) in Size::ALL {
            let with = context(size);
            let without = Context {
                guidance: false,
                ..context(size)
            };
            let text = |cx: &Context| {
                let start = harness.begin(cx);
                let mut state = start.state.clone();
                let task = harness.user(&mut state, &Input::text("x"));
                format!("{}{:?}", start.system, task)
            };
            let (with, without) = (text(&with), text(&without));
            assert!(!without.contains("twice"), "{}", harness.id());
            assert_eq!(with != without, size != Size::Tiny, "{}", harness.id());
        }
    }
}

#[test]
fn no_template_mark_reaches_the_model() {
    for harness in ALL {
        for (size, _) in Size::ALL {
            let start = harness.begin(&context(size));
            let mut state = start.state.clone();
            let task = harness.user(&mut state, &Input::text("x"));
            let all = format!("{start:?}{task:?}");
            for mark in [
                "%%", "{cwd}", "{os}", "{shell}", "{example", "{arch}", "{sed",
            ] {
                assert!(!all.contains(mark), "{} {mark}", harness.id());
            }
        }
    }
}

/// Instructions and developer words reach the model in every harness, once.
#[test]
fn instructions_are_never_dropped() {
    for harness in ALL {
        for (size, _) in Size::ALL {
            let cx = Context {
                instructions: instructions(),
                developer_instructions: Some("Answer in German.".into()),
                ..context(size)
            };
            let start = harness.begin(&cx);
            assert_eq!(start, harness.begin(&cx), "{}", harness.id());
            let mut state = start.state.clone();
            let mut items = start.opening.clone();
            items.extend(harness.user(&mut state, &Input::text("The task.")));
            let text: String = items.iter().map(Item::text).collect();
            let all = format!("{}{text}", start.system);
            for words in ["Be kind.", "Use tabs.", "Answer in German.", "The task."] {
                assert_eq!(all.matches(words).count(), 1, "{} {words}", harness.id());
            }
            let again = harness.user(&mut state, &Input::text("More."));
            assert_eq!(again, [Item::user("More.")], "{}", harness.id());
        }
    }
}

#[test]
fn a_system_override_replaces_the_prompt() {
    for harness in ALL {
        let cx = Context {
            system_override: Some("Only this.".into()),
            ..context(Size::Full)
        };
        assert_eq!(harness.begin(&cx).system, "Only this.", "{}", harness.id());
    }
}

#[test]
fn pictures_come_before_the_words() {
    for harness in ALL {
        let image = Part::Image {
            media_type: "image/png".into(),
            data: "AAAA".into(),
        };
        let input = Input {
            text: "What is this?".into(),
            images: vec![image.clone()],
        };
        let items = harness.user(&mut State::default(), &input);
        let [Item::User { content }] = items.as_slice() else {
            panic!("{}: {items:?}", harness.id());
        };
        assert!(content.contains(&image));
        assert_eq!(content.last(), Some(&Part::text("What is this?")));
    }
}

/// Every outcome that is no result of its own is told by its sentence, and everything fits.
#[test]
fn every_answer_fits_its_room() {
    let outcomes = [
        Outcome::Refused {
            reason: "The user said no.".into(),
        },
        Outcome::Skipped("The same call gave the same result before.".into()),
        Outcome::Interrupted,
        long_shell_out("make"),
    ];
    for harness in ALL {
        for outcome in &outcomes {
            for room in [200, 2_000, 8_000, 100_000] {
                let shell = Shell::new("make", Duration::from_secs(1));
                let done = Done {
                    call: Some(call("bash", json!({"command": "make"}))),
                    result: Ok((Action::Shell(shell), outcome.clone())),
                    notes: vec!["The call was repaired.".into()],
                };
                let items = harness.results(&mut State::default(), &[done], room);
                let text = items[0].text();
                assert!(text.len() <= room, "{} {}", harness.id(), text.len());
                match outcome {
                    Outcome::Refused { reason } => assert!(text.contains(reason)),
                    Outcome::Skipped(why) => assert!(text.contains(why)),
                    Outcome::Interrupted => assert!(text.contains("interrupted")),
                    _ if room >= 2_000 => {
                        // Where all of it is shown, nothing has to be looked up.
                        let is_whole = (1..=2999)
                            .all(|n| n == 1500 || text.contains(&format!("number {n}\n")));
                        for part in [
                            "line number 3000",
                            "error: the middle broke",
                            if is_whole {
                                ""
                            } else {
                                "/home/ada/x/outputs/1.txt"
                            },
                            "The call was repaired.",
                        ] {
                            assert!(text.contains(part), "{} {room} {part}", harness.id());
                        }
                        assert!(text.contains('3'), "the exit code");
                    }
                    _ => {}
                }
            }
        }
    }
}

/// An unknown tool and bad arguments are answered with what is right, one answer per call.
#[test]
fn call_errors_are_told() {
    let errors = [
        CallError::UnknownTool {
            name: "reed".into(),
            available: vec!["read".into(), "write".into()],
            nearest: vec!["read".into()],
        },
        CallError::BadArgument {
            tool: "read".into(),
            why: "missing \"path\"".into(),
            received: vec!["file".into()],
            expected: "{\"path\": string}".into(),
        },
    ];
    for harness in ALL {
        let done: Vec<Done> = errors
            .iter()
            .map(|error| Done {
                call: Some(call("reed", json!({}))),
                result: Err(error.clone()),
                notes: Vec::new(),
            })
            .collect();
        let items = harness.results(&mut State::default(), &done, 4_000);
        assert_eq!(items.len(), errors.len());
        for (item, error) in items.iter().zip(&errors) {
            assert!(item.text().contains(&error.to_string()), "{}", harness.id());
            assert!(matches!(item, Item::ToolResult(result) if result.is_error));
        }
    }
}

/// A patch that was given to the shell is applied by the program itself: its files are told, or why
/// it was not applied.
#[test]
fn a_patch_in_the_shell_is_told() {
    let patch = Action::Patch {
        text: String::new(),
        form: PatchForm::Codex,
        dir: None,
    };
    for harness in ALL {
        let make = Action::Shell(Shell::new("make", Duration::from_secs(60)));
        let (name, arguments) = harness.write(&make).expect("a shell");
        for (outcome, parts) in [
            ("patched", ["a.py", "new.py", "old.py"]),
            ("bad patch", ["line 2 is no hunk", "", ""]),
        ] {
            let done = Done {
                call: (!harness.reads_text()).then(|| call(name, arguments.clone())),
                result: Ok((patch.clone(), outcomes::outcome(outcome))),
                notes: Vec::new(),
            };
            let items = harness.results(&mut State::default(), &[done], 4_000);
            let text = items[0].text();
            for part in parts {
                assert!(text.contains(part), "{} {outcome}: {text}", harness.id());
            }
        }
    }
}

/// No argument that JSON allows can break a harness, and a call is never without an entry.
#[test]
fn any_arguments_are_understood_or_explained() {
    let odd = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!(""),
        json!("\u{0}é"),
        json!([]),
        json!([1, "a", null]),
        json!({"a": 1}),
        json!([{"step": 1}]),
    ];
    for harness in ALL {
        for tool in harness.begin(&context(Size::Full)).tools {
            let schema = tool.schema();
            let properties = schema["properties"].as_object().expect("properties");
            for value in &odd {
                let arguments: serde_json::Map<String, Value> = properties
                    .keys()
                    .map(|key| (key.clone(), value.clone()))
                    .collect();
                let _ = read(*harness, call(&tool.name, Value::Object(arguments)));
            }
            for broken in ["", "{", "[]", "null"] {
                let mut call = call(&tool.name, json!({}));
                call.arguments = broken.into();
                let result = read(*harness, call);
                assert!(matches!(result, Err(CallError::BadJson { .. })), "{broken}");
            }
        }
    }
}
