//! Marks inside a line: bold, italic, code, links.

use super::merged;
use crate::cli::render::Theme;
use crate::cli::render::wrap::{Cell, cells};
use nu_ansi_term::Style;

/// What begins with a mark ends within so many characters, or it is no mark.
const LONGEST: usize = 400;
/// Marks within marks.
const DEEPEST: usize = 4;

/// The characters of a line, painted. Of a line that is not `whole`, those before the first mark
/// whose end may still come.
pub fn parse(text: &str, style: Style, theme: &Theme, whole: bool) -> Vec<Cell> {
    let chars: Vec<char> = text.chars().collect();
    let mut out = Vec::with_capacity(chars.len());
    let parser = Parser { theme, whole };
    parser.run(&chars, style, DEEPEST, &mut out);
    out
}

struct Parser<'a> {
    theme: &'a Theme,
    whole: bool,
}

/// What stands at a place.
enum Found {
    /// A span of so many characters, which was painted.
    Span(usize),
    /// An ordinary character.
    Plain,
    /// It depends on what comes.
    Open,
}

impl Parser<'_> {
    fn run(&self, chars: &[char], style: Style, depth: usize, out: &mut Vec<Cell>) {
        let mut at = 0;
        while let Some(c) = chars.get(at) {
            let found = match c {
                '\\' => self.escape(&chars[at..], style, out),
                '`' => self.code(&chars[at..], style, out),
                '*' | '_' | '~' if depth > 0 => self.emphasis(chars, at, style, depth, out),
                '[' => self.link(&chars[at..], 0, style, out),
                '!' if chars.get(at + 1) == Some(&'[') => self.link(&chars[at..], 1, style, out),
                _ => Found::Plain,
            };
            match found {
                Found::Span(length) => at += length.max(1),
                Found::Plain => {
                    out.push((*c, style));
                    at += 1;
                }
                Found::Open => return,
            }
        }
    }

    /// No end was found among `seen` characters.
    fn no_end(&self, seen: usize) -> Found {
        match self.whole || seen > LONGEST {
            true => Found::Plain,
            false => Found::Open,
        }
    }

    fn escape(&self, chars: &[char], style: Style, out: &mut Vec<Cell>) -> Found {
        match chars.get(1) {
            Some(c) if c.is_ascii_punctuation() => {
                out.push((*c, style));
                Found::Span(2)
            }
            Some(_) => Found::Plain,
            None => self.no_end(0),
        }
    }

    fn code(&self, chars: &[char], style: Style, out: &mut Vec<Cell>) -> Found {
        let ticks = run_of(chars, '`');
        let mut at = ticks;
        while at < chars.len().min(LONGEST) {
            match run_of(&chars[at..], '`') {
                0 => at += 1,
                n if n == ticks && (self.whole || at + n < chars.len()) => {
                    let mut inner = &chars[ticks..at];
                    if let [' ', middle @ .., ' '] = inner
                        && ticks > 1
                    {
                        inner = middle;
                    }
                    let style = merged(style, self.theme.code);
                    out.extend(inner.iter().map(|c| (*c, style)));
                    return Found::Span(at + n);
                }
                n => at += n,
            }
        }
        match self.no_end(chars.len()) {
            Found::Plain => {
                out.extend(chars[..ticks].iter().map(|c| (*c, style)));
                Found::Span(ticks)
            }
            open => open,
        }
    }

    fn emphasis(
        &self,
        chars: &[char],
        at: usize,
        style: Style,
        depth: usize,
        out: &mut Vec<Cell>,
    ) -> Found {
        let sign = chars[at];
        let signs = run_of(&chars[at..], sign);
        let plain = |out: &mut Vec<Cell>| {
            out.extend(std::iter::repeat_n((sign, style), signs));
            Found::Span(signs)
        };
        let word = |c: Option<&char>| c.is_some_and(|c| c.is_alphanumeric());
        let before = at.checked_sub(1).and_then(|i| chars.get(i));
        // Inside a word a mark is mostly a multiplication, or a part of a name.
        let inside = word(before) && (sign == '_' || signs == 1);
        if signs > 3 || inside || (sign == '~' && signs != 2) {
            return plain(out);
        }
        let begin = at + signs;
        match chars.get(begin) {
            None if !self.whole => return Found::Open,
            None => return plain(out),
            Some(c) if c.is_whitespace() => return plain(out),
            Some(_) => {}
        }
        let mut end = begin + 1;
        while end < chars.len().min(begin + LONGEST) {
            match chars[end] {
                '`' => {
                    // Marks inside of code are none.
                    let ticks = run_of(&chars[end..], '`');
                    let close = chars[end + ticks..].iter().position(|c| *c == '`');
                    end += ticks + close.map_or(0, |n| n + ticks);
                }
                '\\' => end += 2,
                c if c == sign => {
                    let n = run_of(&chars[end..], sign);
                    let after = chars.get(end + n);
                    if after.is_none() && !self.whole {
                        return Found::Open;
                    }
                    let closes = n == signs
                        && !chars[end - 1].is_whitespace()
                        && !(word(after) && (sign == '_' || signs == 1));
                    if closes {
                        let style = merged(style, self.style(sign, signs));
                        let whole = Parser {
                            theme: self.theme,
                            whole: true,
                        };
                        whole.run(&chars[begin..end], style, depth - 1, out);
                        return Found::Span(end + n - at);
                    }
                    end += n;
                }
                _ => end += 1,
            }
        }
        match self.no_end(chars.len() - begin) {
            Found::Plain => plain(out),
            open => open,
        }
    }

    fn style(&self, sign: char, signs: usize) -> Style {
        let style = Style::new();
        match (sign, signs) {
            ('~', _) => style.strikethrough(),
            (_, 1) => style.italic(),
            (_, 2) => style.bold(),
            _ => style.bold().italic(),
        }
    }

    /// `[words](address)`, `bang` being the length of what stands before the bracket.
    fn link(&self, chars: &[char], bang: usize, style: Style, out: &mut Vec<Cell>) -> Found {
        let seen = &chars[..chars.len().min(LONGEST)];
        let Some(close) = seen.iter().position(|c| *c == ']') else {
            return self.no_end(chars.len());
        };
        match seen.get(close + 1) {
            Some('(') => {}
            None if !self.whole && chars.len() < LONGEST => return Found::Open,
            _ => return Found::Plain,
        }
        let Some(length) = seen[close + 2..].iter().position(|c| *c == ')') else {
            return self.no_end(chars.len());
        };
        let words: String = seen[bang + 1..close].iter().collect();
        let address: String = seen[close + 2..close + 2 + length].iter().collect();
        // A title may stand behind the address.
        let address = address.split_whitespace().next().unwrap_or_default();
        if address.is_empty() {
            return Found::Plain;
        }
        let underlined = merged(style, Style::new().underline());
        if words.is_empty() || words == address {
            out.extend(cells(address, underlined));
        } else {
            out.extend(cells(&words, underlined));
            out.extend(cells(
                &format!(" ({address})"),
                merged(style, self.theme.dim),
            ));
        }
        Found::Span(close + 2 + length + 1)
    }
}

/// How many of these characters stand at the beginning.
fn run_of(chars: &[char], sign: char) -> usize {
    chars.iter().take_while(|c| **c == sign).count()
}
