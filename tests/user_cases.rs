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
//! | O24 | resume keeps the sandbox | `main_job::resume_keeps_the_sandbox_unless_a_flag_widens_it` |
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

use support::{Run, strict};

/// The text of the newest result in a request.
fn result(run: &Run, request: usize) -> String {
    let body = &run.server.requests()[request - 1].body;
    let messages = body["messages"].as_array().expect("messages");
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
