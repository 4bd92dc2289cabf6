//! `interpreter harness list` and `show ID`: what a model would see.

use super::session::Setup;
use crate::agent::open;
use crate::cli::args::Options;
use crate::cli::render::phrases::thousands;
use crate::cli::render::sanitize::sanitize;
use crate::cli::{Failure, exit, say};
use crate::harnesses::{self, Context, Instructions, Size, Start};
use crate::model::{Item, Request, Sampling, Vendor, WireApi};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Tokens are about so many bytes, for the table.
const BYTES_PER_TOKEN: usize = 4;

/// Every harness with what it costs before the first word.
///
/// # Errors
/// One sentence when the folder or the config cannot be read.
pub fn list(options: &Options) -> Result<u8, Failure> {
    let setup = Setup::load(options)?;
    let mut rows = Vec::new();
    for harness in harnesses::ALL {
        for (size, name) in Size::ALL {
            let context = open::context(&setup.config, &setup.home, &setup.cwd, size)?;
            let start = harness.begin(&bare(context));
            let bytes = surface_bytes(&start);
            rows.push(json!({
                "id": harness.id(), "about": harness.about(), "size": name, "bytes": bytes,
                "tokens": bytes.div_ceil(BYTES_PER_TOKEN), "tools": start.tools.iter().map(|t| &t.name).collect::<Vec<_>>(),
            }));
        }
    }
    if options.json {
        return say(&format!("{}\n", json!(rows)));
    }
    let mut out = String::new();
    for harness in harnesses::ALL {
        let _ = writeln!(out, "{:18}{}", harness.id(), harness.about());
        for row in rows.iter().filter(|r| r["id"] == harness.id()) {
            let number = |key: &str| thousands(row[key].as_u64().unwrap_or(0));
            let tools = row["tools"].as_array().map_or(0, Vec::len);
            let size = row["size"].as_str().unwrap_or_default();
            let _ = writeln!(
                out,
                "{:18}{size:9}{:>7} bytes, about {:>5} tokens, {tools} tools",
                "",
                number("bytes"),
                number("tokens")
            );
        }
    }
    say(&out)
}

/// The context without what the user and the project add to every harness alike.
fn bare(context: Context) -> Context {
    Context {
        instructions: Instructions::default(),
        developer_instructions: None,
        system_override: None,
        ..context
    }
}

/// System text and tools, as a wire writes them.
fn surface_bytes(start: &Start) -> usize {
    start.system.len()
        + if start.tools.is_empty() {
            0
        } else {
            tools_on(start, WireApi::Chat).to_string().len()
        }
}

/// One harness exactly as it would be sent from here.
///
/// # Errors
/// An unknown id or size: one sentence that names the known ones.
pub fn show(id: &str, options: &Options) -> Result<u8, Failure> {
    let usage = |message: String| Failure {
        message,
        code: exit::USAGE,
    };
    let harness = open::known_harness(id).map_err(usage)?;
    let setup = Setup::load(options)?;
    let size = match setup.config.harness_size.as_deref() {
        Some(name) => Size::from_name(name).ok_or_else(|| {
            usage(format!(
                "there is no size `{name}`; known are full, compact, tiny"
            ))
        })?,
        None => Size::Full,
    };
    let wire = options.wire.unwrap_or(WireApi::Chat);
    let context = open::context(&setup.config, &setup.home, &setup.cwd, size)?;
    let start = harness.begin(&context);
    let tools = tools_on(&start, wire);
    if options.json {
        return say(&format!("{}\n", as_json(&start, &tools)));
    }
    let mut out = format!(
        "# {} ({}) on {}\n\n## system\n{}\n\n## tools\n",
        harness.id(),
        size.name(),
        wire.name(),
        start.system
    );
    for tool in tools.as_array().into_iter().flatten() {
        let _ = writeln!(out, "{tool}");
    }
    out.push_str("\n## opening\n");
    for item in &start.opening {
        let _ = writeln!(out, "[{}]\n{}", role(item), item.text());
    }
    if !start.left_out.is_empty() {
        out.push_str("\n## left out\n");
        start.left_out.iter().for_each(|(name, why)| {
            let _ = writeln!(out, "{name}: {why}");
        });
    }
    say(&sanitize(&out))
}

/// For programs: each tool by name and parameters, and as the wire sends it.
fn as_json(start: &Start, sent: &Value) -> Value {
    let sent = sent.as_array().map(Vec::as_slice).unwrap_or_default();
    let tools: Vec<Value> = start
        .tools
        .iter()
        .enumerate()
        .map(|(at, tool)| {
            json!({
                "name": tool.name, "description": tool.description, "parameters": tool.schema(),
                "as_sent": sent.get(at),
            })
        })
        .collect();
    let opening: Vec<Value> = start
        .opening
        .iter()
        .map(|item| json!({"role": role(item), "text": item.text()}))
        .collect();
    let left_out: Vec<Value> = start
        .left_out
        .iter()
        .map(|(name, why)| json!({"name": name, "why": why}))
        .collect();
    let deferred: Vec<Value> = start
        .deferred
        .iter()
        .map(|tool| {
            json!({"name": tool.name, "description": tool.description, "parameters": tool.schema()})
        })
        .collect();
    json!({"system": start.system, "tools": tools, "opening": opening, "left_out": left_out,
        "deferred": deferred})
}

fn role(item: &Item) -> &'static str {
    match item {
        Item::Developer { .. } => "developer",
        Item::User { .. } => "user",
        Item::Assistant(_) => "assistant",
        Item::ToolResult(_) => "tool",
    }
}

/// The tools as the wire writes them into a request.
fn tools_on(start: &Start, wire: WireApi) -> Value {
    let extra = Map::new();
    let request = Request {
        model: "",
        system: &start.system,
        tools: &start.tools,
        items: Vec::new(),
        max_output_tokens: 1,
        window: None,
        sampling: Sampling::default(),
        reasoning_effort: None,
        one_call: false,
        raw_calls: false,
        cache_key: "",
        schema: None,
        local: true,
        vendor: Vendor::of("", true),
        extra: &extra,
    };
    wire.wire()
        .body(&request)
        .get("tools")
        .cloned()
        .unwrap_or_else(|| json!([]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harnesses::tests::{context, instructions};

    /// The README tells what each harness costs; nothing else keeps that true.
    #[test]
    fn the_sizes_in_the_readme_are_those_of_the_harnesses() {
        let kb = |bytes: usize| format!("{:.1}", bytes as f64 / 1000.0);
        let rows = harnesses::ALL.iter().map(|harness| {
            let sizes =
                Size::ALL.map(|(size, _)| kb(surface_bytes(&harness.begin(&context(size)))));
            format!("| `{}` | {} |\n", harness.id(), sizes.join(" | "))
        });
        let table: String = rows.collect();
        let readme = include_str!("../../../README.md");
        assert!(readme.contains(&table), "the README must hold\n{table}");
    }

    /// The form that programs read, on a wire whose tools look different.
    #[test]
    fn a_program_finds_names_parameters_and_what_is_sent() {
        let start = harnesses::by_id("qwen-code")
            .expect("it is there")
            .begin(&context(Size::Tiny));
        let shown = as_json(&start, &tools_on(&start, WireApi::Messages));
        let tools = shown["tools"].as_array().expect("a list");
        assert_eq!(tools.len(), start.tools.len());
        let read = tools
            .iter()
            .find(|t| t["name"] == "read_file")
            .expect("a tool");
        assert_eq!(read["parameters"]["type"], "object");
        assert_eq!(read["as_sent"]["input_schema"], read["parameters"]);
        assert!(
            shown["left_out"]
                .as_array()
                .is_some_and(|l| l.iter().any(|t| t["name"] == "todo_write"))
        );
        assert_eq!(shown["opening"][0]["role"], "user");
    }

    #[test]
    fn what_the_project_adds_is_no_part_of_a_size() {
        let with = Context {
            instructions: instructions(),
            developer_instructions: Some("Be brief.".into()),
            ..context(Size::Full)
        };
        for harness in harnesses::ALL {
            let alone = surface_bytes(&harness.begin(&context(Size::Full)));
            let listed = surface_bytes(&harness.begin(&bare(with.clone())));
            assert_eq!(listed, alone, "{}", harness.id());
        }
    }
}
