//! Reports of users of other agents, each as a run of our own binary. A test is named after its
//! case. Those that stand elsewhere, over all harnesses:
//!
//! | case | what a user met | held by |
//! |---|---|---|
//! | O01 | Ollama gets the window it needs | `window::ollama_gets_the_window_that_the_session_needs` |
//! | O03 | silent truncation is noticed | `window::a_prompt_that_the_server_cut_is_noticed` |
//! | O06 | a call written as text | `repair::a_call_written_as_text` |
//! | O07 | the server cannot parse its own model | `repair::the_server_cannot_read_its_own_model` |
//! | O09 | an edit with drifted indentation | `repair::an_edit_with_drifted_indentation` |
//! | O10 | one system message | `main_job::one_system_message_first_and_a_person_or_tool_last` |
//! | O11 | a model without tools | `repair::a_model_without_tools_is_prompted` |
//! | O12 | only thinking came back | `guards::only_thinking_is_asked_again` |
//! | O13 | an enforced step limit | `guards::the_step_limit_ends_a_run_that_changes_for_ever` |
//! | O14 | no repeat of a hopeless request | `window::a_hopeless_request_is_not_repeated` |
//! | O15 | streams that break off | `main_job::a_call_from_a_broken_stream_is_not_run` |
//! | O17 | cancel frees the server | `main_job::an_interrupt_frees_the_server_and_the_session_goes_on` |
//! | O19 | no fallback to another host | `offline::a_dead_server_is_named_and_no_other_is_tried` |
//! | O20 | a schema for the final answer | `exec::an_answer_that_does_not_is_asked_for_once_more_in_shape` |
//! | O24 | resume keeps the sandbox | `main_job::resume_keeps_the_sandbox_unless_a_flag_widens_it` |
//! | O25 | one bad MCP server | `mcp_client::stdio::one_bad_server_is_named_and_the_others_work` |
//! | O26 | clean protocol stdout | `acp::standard_output_is_the_protocol_alone` |
//! | O28 | nothing but the model server | `offline::a_session_has_one_peer_and_looks_nothing_up` |
//! | O31 | numbers the user can see | `doctor::the_numbers_of_a_run_agree_with_the_server` |
//! | O32 | a small fixed prompt | `doctor::the_tier_is_named_and_small` |

#[path = "user_cases/room.rs"]
mod room;
#[path = "user_cases/safety.rs"]
mod safety;
#[path = "user_cases/server.rs"]
mod server;
mod support;
#[path = "user_cases/work.rs"]
mod work;

use support::{Run, on_hosted_wires, strict};

/// The cases that are about no wire in particular. Those that stand elsewhere are run again beside
/// themselves; O01, O02, O11 and O27 are about Ollama's own API alone.
const ON_ANY_WIRE: [(&str, fn()); 10] = [
    ("O04", room::o04_one_tool_result_never_fills_the_window),
    ("O05", room::o05_compaction_that_cannot_help_stops),
    ("O16", server::o16_a_slow_first_token),
    ("O18", work::o18_stdin_that_never_closes),
    ("O22", room::o22_output_caps_keep_what_matters),
    ("O23", work::o23_failure_carries_its_text),
    ("O33", work::o33_the_shell_is_named),
    ("O34", safety::o34_patches_stay_inside),
    ("O35", safety::o35_secrets_stay_out_of_commands),
    ("O36", safety::o36_a_cloned_repository_is_inert),
];

/// Nothing of what users met depends on the API that the server speaks.
#[test]
fn the_cases_again_on_the_wires_of_hosted_models() {
    on_hosted_wires(&ON_ANY_WIRE);
}

/// The text of the newest result in a request.
fn result(run: &Run, request: usize) -> String {
    let body = &run.server.requests()[request - 1].body;
    let list = [&body["messages"], &body["input"]];
    let messages = list
        .into_iter()
        .find_map(|l| l.as_array())
        .expect("messages");
    strict::all_text(messages.last().expect("a message"))
}

/// The numbers in a text, with or without commas between their digits; those of a path are none.
fn numbers(text: &str) -> Vec<u64> {
    let words = text
        .split_whitespace()
        .filter(|word| !word.contains("/home/"));
    words
        .flat_map(|word| word.split(|c: char| !c.is_ascii_digit() && c != ','))
        .filter_map(|digits| digits.replace(',', "").parse().ok())
        .collect()
}

/// True when a sentence in a text tells a number that is at least so large, or so many kilobytes.
fn tells(text: &str, least: u64) -> bool {
    let mut sentences = text.lines().filter(|l| l.contains(char::is_alphabetic));
    sentences.any(|line| {
        let least = if line.contains("KB") {
            least / 1_000
        } else {
            least
        };
        numbers(line).into_iter().any(|n| n >= least)
    })
}
