//! `<invoke name=…><parameter name=…>` with raw values: MiniMax and those who learnt from Claude,
//! the surrounding tag present or not.

use super::Form;
use super::xml::Syntax;

pub(super) const FORM: Form = Form {
    name: "invoke-xml",
    openers: &["<invoke name=", "<minimax:tool_call>", "]<]minimax[>["],
    ends: &["</invoke>"],
    find: |text, from, cx| SYNTAX.find(text, from, cx),
};

const SYNTAX: Syntax = Syntax {
    openers: &["<invoke name=", "]<]minimax[>[<invoke name="],
    outer: &[
        "<minimax:tool_call>",
        "<function_calls>",
        "<tool_call>",
        "<tool_calls>",
        "]<]minimax[>[",
    ],
    parameters: &["<parameter name=", "]<]minimax[>[<parameter name="],
    value_ends: &["]<]minimax[>[</parameter>", "</parameter>"],
    closers: &["]<]minimax[>[</invoke>", "</invoke>"],
};
