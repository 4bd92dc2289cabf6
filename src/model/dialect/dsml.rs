//! `<｜DSML｜invoke name=…>` with raw values: DeepSeek V3.2 and V4.
//!
//! A parameter marked `string="false"` holds JSON; the tool's schema says the same, so the mark is
//! not needed.

use super::Form;
use super::xml::Syntax;

pub(super) const FORM: Form = Form {
    name: "dsml",
    // The wrapping tag begins alike.
    openers: &["<｜DSML｜", "<|DSML|"],
    ends: SYNTAX.closers,
    find: |text, from, cx| SYNTAX.find(text, from, cx),
};

const SYNTAX: Syntax = Syntax {
    openers: &["<｜DSML｜invoke name=", "<|DSML|invoke name="],
    outer: &[
        "<｜DSML｜function_calls>",
        "<｜DSML｜tool_calls>",
        "<|DSML|function_calls>",
        "<|DSML|tool_calls>",
    ],
    parameters: &["<｜DSML｜parameter name=", "<|DSML|parameter name="],
    value_ends: &["</｜DSML｜parameter>", "</|DSML|parameter>"],
    closers: &["</｜DSML｜invoke>", "</|DSML|invoke>"],
};
