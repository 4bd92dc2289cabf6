//! `<function=NAME><parameter=KEY>` with raw values: Qwen3-Coder and its relatives, the
//! surrounding `<tool_call>` present or not. Also MiniCPM's `<function name=…><param name=…>` and
//! Llama's `<function=NAME>` around JSON.

use super::position::CLOSERS;
use super::xml::Syntax;
use super::{Form, tagged_json};

pub(super) const FORM: Form = Form {
    name: "function-xml",
    openers: SYNTAX.openers,
    ends: &["</function>"],
    find: |text, from, cx| SYNTAX.find(text, from, cx),
};

const SYNTAX: Syntax = Syntax {
    openers: &["<function=", "<function name="],
    outer: &tagged_json::OPENERS,
    parameters: &["<parameter=", "<parameter name=", "<param name="],
    value_ends: &["</parameter>", "</param>"],
    closers: &CLOSERS,
};
