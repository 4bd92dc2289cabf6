//! From HTML to text that a model can read: the main part of a page, as Markdown or plain.
//!
//! One pass over the tags, without a tree: real pages are too broken for one that is small, and
//! what is wanted of them is text. Nothing here recurses.

use super::entities::decode;
use super::tags::{attributes, raw};
use crate::model::provider::join;

/// Elements whose inside is neither text nor markup.
const RAW: [&str; 4] = ["script", "style", "textarea", "title"];
/// Elements that are left out with everything in them.
const DROPPED: [&str; 11] = [
    "nav", "footer", "svg", "button", "select", "template", "dialog", "noscript", "iframe",
    "object", "form",
];
/// Elements that begin and end a paragraph.
const BLOCKS: [&str; 18] = [
    "p",
    "div",
    "section",
    "article",
    "main",
    "header",
    "aside",
    "ul",
    "ol",
    "dl",
    "table",
    "blockquote",
    "figure",
    "figcaption",
    "details",
    "fieldset",
    "address",
    "pre",
];
/// Elements that begin and end a line.
const LINES: [&str; 6] = ["li", "tr", "dt", "dd", "summary", "option"];
/// How many bytes the main part of a page must have to be taken for it.
const MAIN: usize = 200;
/// The deepest list that is indented further.
const DEEPEST: usize = 8;

/// The readable text of a page at `base`, and its title. `markdown`: with headings, lists, code
/// and links marked.
pub fn readable(html: &str, base: &str, markdown: bool) -> (String, Option<String>) {
    let mut page = Reader::new(base, markdown, true);
    page.read(html);
    let (mut text, title) = page.end();
    if text.is_empty() {
        // Whatever it is that holds all of the page, leaving it out leaves nothing.
        let mut page = Reader::new(base, markdown, false);
        page.read(html);
        text = page.end().0;
    }
    (text, title)
}

struct Reader<'a> {
    base: &'a str,
    markdown: bool,
    drops: bool,
    out: String,
    title: Option<String>,
    /// How many line ends have to come before the next text.
    ends: usize,
    /// A space has to come before the next text.
    space: bool,
    /// What stands before the next text on its line.
    marker: String,
    /// A link or code has just begun, so that no space comes before its text.
    fresh: bool,
    /// The element that is left out, and how many of its kind are open.
    dropped: Option<(String, usize)>,
    /// Of each open list the number of its next item; `None` for one without numbers.
    lists: Vec<Option<usize>>,
    quotes: usize,
    pre: usize,
    /// Open links: their address, and where their text begins.
    links: Vec<(String, usize)>,
    /// The row has a cell already.
    in_row: bool,
    /// Open main parts, and where the text of the first one began.
    mains: usize,
    main_from: usize,
    main: String,
}

impl<'a> Reader<'a> {
    fn new(base: &'a str, markdown: bool, drops: bool) -> Self {
        Reader {
            base,
            markdown,
            drops,
            out: String::new(),
            title: None,
            ends: 0,
            space: false,
            marker: String::new(),
            fresh: false,
            dropped: None,
            lists: Vec::new(),
            quotes: 0,
            pre: 0,
            links: Vec::new(),
            in_row: false,
            mains: 0,
            main_from: 0,
            main: String::new(),
        }
    }

    fn read(&mut self, html: &str) {
        let mut rest = html;
        while let Some(at) = rest.find('<') {
            self.text(&rest[..at]);
            rest = &rest[at..];
            rest = self.tag(rest);
        }
        self.text(rest);
    }

    /// Reads one tag, or one `<` that begins none, and gives what comes after it.
    fn tag<'t>(&mut self, html: &'t str) -> &'t str {
        if let Some(comment) = html.strip_prefix("<!--") {
            return comment.find("-->").map_or("", |end| &comment[end + 3..]);
        }
        let after = &html[1..];
        if after.starts_with(['!', '?']) {
            return after.find('>').map_or("", |end| &after[end + 1..]);
        }
        let (closes, named) = match after.strip_prefix('/') {
            Some(named) => (true, named),
            None => (false, after),
        };
        if !named.starts_with(|c: char| c.is_ascii_alphabetic()) {
            self.text("<");
            return after;
        }
        let end = named
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '-')
            .unwrap_or(named.len());
        let name = named[..end].to_ascii_lowercase();
        let (attributes, rest) = attributes(&named[end..]);
        if closes {
            self.close(&name);
            return rest;
        }
        if RAW.contains(&name.as_str()) {
            let (inside, rest) = raw(&name, rest);
            if name == "title" && self.title.is_none() && self.dropped.is_none() {
                let title = decode(inside);
                let title: Vec<&str> = title.split_whitespace().collect();
                self.title = Some(title.join(" ")).filter(|title| !title.is_empty());
            }
            return rest;
        }
        self.open(&name, &attributes);
        rest
    }

    fn open(&mut self, name: &str, attributes: &[(String, String)]) {
        if let Some((dropped, count)) = &mut self.dropped {
            *count += usize::from(dropped == name);
            return;
        }
        if self.drops && DROPPED.contains(&name) {
            self.dropped = Some((name.to_owned(), 1));
            return;
        }
        let value = |key: &str| {
            let found = attributes.iter().find(|(name, _)| name == key);
            found
                .map(|(_, value)| value.trim())
                .filter(|v| !v.is_empty())
        };
        if BLOCKS.contains(&name) {
            // The first block of an item stands behind its mark, and lists stand close in it.
            let close = !self.lists.is_empty() && matches!(name, "ul" | "ol");
            let close = close || !self.marker.is_empty();
            self.ends(if close { 1 } else { 2 });
        } else if LINES.contains(&name) {
            self.ends(1);
        }
        match name {
            "main" | "article" => {
                if self.mains == 0 {
                    self.main_from = self.out.len();
                }
                self.mains += 1;
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.ends(2);
                let level = name[1..].parse().unwrap_or(1);
                self.marker = self.marked("#".repeat(level) + " ");
            }
            "br" => self.ends((self.ends + 1).min(2)),
            "hr" => {
                self.ends(2);
                self.word("---");
                self.ends(2);
            }
            "ul" => self.lists.push(None),
            "ol" => {
                let first = value("start").and_then(|n| n.parse().ok());
                self.lists.push(Some(first.unwrap_or(1)));
            }
            "li" => {
                let depth = self.lists.len().clamp(1, DEEPEST);
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let mark = format!("{number}. ");
                        *number = number.saturating_add(1);
                        mark
                    }
                    _ => "- ".to_owned(),
                };
                self.marker = "  ".repeat(depth - 1) + &mark;
            }
            "blockquote" => self.quotes += 1,
            "pre" => {
                self.pre += 1;
                if self.pre == 1 && self.markdown {
                    self.begin();
                    self.out.push_str("```\n");
                }
            }
            "code" if self.pre == 0 && self.markdown => {
                self.begin();
                self.out.push('`');
                self.fresh = true;
            }
            "tr" => self.in_row = false,
            "td" | "th" => self.cell(),
            "img" if self.markdown => {
                if let Some(alt) = value("alt") {
                    let alt = format!("[image: {alt}]");
                    self.text(&alt);
                }
            }
            "a" if self.markdown => {
                let leads = |to: &&str| {
                    let to = to.to_ascii_lowercase();
                    !["#", "javascript:", "data:"]
                        .iter()
                        .any(|no| to.starts_with(no))
                };
                if let Some(to) = value("href").filter(leads) {
                    self.begin();
                    self.links.push((join(self.base, to), self.out.len()));
                    self.out.push('[');
                    self.fresh = true;
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((dropped, count)) = &mut self.dropped {
            if dropped == name {
                *count -= 1;
                if *count == 0 {
                    self.dropped = None;
                }
            }
            return;
        }
        match name {
            "main" | "article" if self.mains > 0 => {
                self.mains -= 1;
                if self.mains == 0 {
                    self.main.push_str(&self.out[self.main_from..]);
                    self.main.push_str("\n\n");
                }
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.ends(2),
            "ul" | "ol" => drop(self.lists.pop()),
            "blockquote" => self.quotes = self.quotes.saturating_sub(1),
            "pre" if self.pre > 0 => {
                self.pre -= 1;
                if self.pre == 0 && self.markdown {
                    if !self.out.ends_with('\n') {
                        self.out.push('\n');
                    }
                    self.out.push_str("```");
                }
            }
            "code" if self.pre == 0 && self.markdown => self.out.push('`'),
            "a" => self.end_link(),
            _ => {}
        }
        if BLOCKS.contains(&name) {
            self.ends(if self.lists.is_empty() { 2 } else { 1 });
        } else if LINES.contains(&name) {
            self.ends(1);
        }
    }

    /// A cell begins; the first of its row stands at the line's beginning.
    fn cell(&mut self) {
        if std::mem::replace(&mut self.in_row, true) {
            self.word(" | ");
        }
    }

    fn end_link(&mut self) {
        let Some((to, from)) = self.links.pop() else {
            return;
        };
        let text = self.out.get(from + 1..).unwrap_or_default();
        if text.trim().is_empty() {
            self.out.truncate(from);
        } else if text.contains('\n') || self.pre > 0 {
            // A link around several blocks, or in code, would be no link.
            self.out.remove(from);
        } else {
            self.out.push_str(&format!("]({to})"));
        }
    }

    fn marked(&self, mark: String) -> String {
        if self.markdown { mark } else { String::new() }
    }

    fn ends(&mut self, ends: usize) {
        self.ends = self.ends.max(ends);
        self.space = false;
    }

    fn text(&mut self, raw: &str) {
        if self.dropped.is_some() || raw.is_empty() {
            return;
        }
        let text = decode(raw);
        if self.pre > 0 {
            if !self.markdown {
                self.begin();
            }
            self.out.push_str(&text);
            return;
        }
        let mut words = text.split_whitespace();
        self.space |= text.starts_with(char::is_whitespace);
        let Some(first) = words.next() else { return };
        self.begin();
        self.out.push_str(first);
        for word in words {
            self.out.push(' ');
            self.out.push_str(word);
        }
        self.space = text.ends_with(char::is_whitespace);
    }

    fn word(&mut self, word: &str) {
        self.begin();
        self.out.push_str(word);
        self.space = false;
    }

    /// What has to stand before the next text.
    fn begin(&mut self) {
        let marker = std::mem::take(&mut self.marker);
        if self.out.is_empty() {
            self.out.push_str(&marker);
        } else if self.ends > 0 {
            for _ in 0..self.ends {
                self.out.push('\n');
            }
            self.out.push_str(&"> ".repeat(self.quotes.min(DEEPEST)));
            match marker.is_empty() {
                true => self
                    .out
                    .push_str(&"  ".repeat(self.lists.len().min(DEEPEST))),
                false => self.out.push_str(&marker),
            }
        } else if self.space && !self.fresh && !self.out.ends_with([' ', '\n']) {
            self.out.push(' ');
        }
        (self.ends, self.space, self.fresh) = (0, false, false);
    }

    fn end(mut self) -> (String, Option<String>) {
        // A link that never ends is text.
        while let Some((_, from)) = self.links.pop() {
            self.out.remove(from);
        }
        if self.mains > 0 {
            self.main.push_str(&self.out[self.main_from..]);
        }
        let text = match self.main.trim().len() >= MAIN {
            true => self.main.as_str(),
            false => self.out.as_str(),
        };
        (tidy(text), self.title)
    }
}

/// Without spaces at line ends and without several empty lines in a row, but for code.
fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut empty, mut code) = (false, false);
    for line in text.trim().lines() {
        let line = line.trim_end();
        code ^= line.trim_start().starts_with("```");
        if line.is_empty() && empty && !code {
            continue;
        }
        empty = line.is_empty();
        out.push_str(line);
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out
}
