//! The window and what each part of a request may take.

use super::tokens::{Counter, Size};

/// A part of the window and its share.
struct Share {
    part: &'static str,
    /// Parts of 1,000 of the window.
    permille: u32,
    /// Never less than this many tokens.
    least: u32,
    /// Never more than this many tokens.
    most: u32,
}

/// What each part may take. The system text and the tools are held by the harness's size.
const SHARES: [Share; 9] = [
    Share {
        part: "skills",
        permille: 20,
        least: 1,
        most: 8_192,
    },
    Share {
        part: "reply",
        permille: 250,
        least: 512,
        most: 16_384,
    },
    Share {
        part: "instructions",
        permille: 125,
        least: 256,
        most: 16_384,
    },
    Share {
        part: "task",
        permille: 250,
        least: 512,
        most: 65_536,
    },
    // Of a compacted conversation: the last steps, what the user said before, and the summary.
    Share {
        part: "recent",
        permille: 150,
        least: 256,
        most: 32_768,
    },
    Share {
        part: "words",
        permille: 60,
        least: 64,
        most: 16_384,
    },
    Share {
        part: "summary",
        permille: 60,
        least: 200,
        most: 6_144,
    },
    Share {
        part: "free",
        permille: 100,
        least: 64,
        most: 32_768,
    },
    // Of what is left at that moment, not of the whole window.
    Share {
        part: "result",
        permille: 250,
        least: 256,
        most: 16_384,
    },
];

/// The window of a session and how its tokens are counted.
#[derive(Debug, Clone)]
pub struct Budget {
    window: u32,
    counter: Counter,
    result_limit: Option<u32>,
    /// The most tokens of a reply, where the model has a limit of its own.
    most_reply: Option<u32>,
}

impl Budget {
    /// A budget for a window of so many tokens. `result_limit` is the user's own limit for one
    /// tool result, in tokens.
    pub fn new(window: u32, result_limit: Option<u32>) -> Self {
        Budget::of(window, result_limit, Counter::new(Size::default(), None))
    }

    /// The same for prompts that are counted so.
    pub fn of(window: u32, result_limit: Option<u32>, counter: Counter) -> Self {
        Budget {
            window,
            counter,
            result_limit,
            most_reply: None,
        }
    }

    /// A window for another conversation or model, whose prompts are counted so.
    pub fn resized(&self, window: u32, counter: Counter) -> Self {
        Budget::of(window, self.result_limit, counter)
    }

    /// The window in tokens.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// Makes the window smaller, to what the server showed it to be. True when it became smaller.
    pub fn cap_window(&mut self, tokens: u64) -> bool {
        let smaller = tokens > 0 && tokens < u64::from(self.window);
        if smaller {
            self.window = tokens as u32;
        }
        smaller
    }

    /// The estimated tokens of a prompt with this much after its fixed beginning.
    pub fn tokens(&self, rest: Size) -> u64 {
        self.counter.tokens(rest)
    }

    /// How tokens are counted.
    pub fn counter(&self) -> &Counter {
        &self.counter
    }

    /// Counts prompts with another beginning from here on.
    pub fn begin_with(&mut self, fixed: Size) {
        self.counter.begin_with(fixed);
    }

    /// Takes in what the server counted for a prompt with this much after its beginning.
    pub fn learn(&mut self, rest: Size, tokens: u64) {
        self.counter.learn(rest, tokens);
    }

    /// No reply may have more tokens than this, whatever the window; `None`: the window alone
    /// counts.
    pub fn limit_reply(&mut self, most: Option<u32>) {
        self.most_reply = most;
    }

    /// Tokens kept free for the reply.
    pub fn reply_reserve(&self) -> u32 {
        let share = self.share("reply", self.window);
        self.most_reply.map_or(share, |most| share.min(most))
    }

    /// The most tokens that the reply to such a prompt may have: the reserve, and less where the
    /// window ends before.
    pub fn reply_limit(&self, rest: Size) -> u32 {
        let left = u64::from(self.window).saturating_sub(self.tokens(rest)) as u32;
        self.reply_reserve().min(left.max(64))
    }

    /// Bytes that AGENTS.md and its kind may have.
    pub fn instruction_bytes(&self) -> usize {
        self.bytes("instructions")
    }

    /// Bytes that the list of skills may have.
    pub fn skill_bytes(&self) -> usize {
        self.bytes("skills")
    }

    /// Bytes that the user's message may have before its middle goes into a file.
    pub fn task_bytes(&self) -> usize {
        self.bytes("task")
    }

    /// Tokens that the last steps may have in a compacted conversation.
    pub fn recent_tokens(&self) -> u64 {
        self.share("recent", self.window).into()
    }

    /// Tokens that older words of the user may have in a compacted conversation.
    pub fn words_tokens(&self) -> u64 {
        self.share("words", self.window).into()
    }

    /// Bytes that the summary of a compacted conversation may have.
    pub fn summary_bytes(&self) -> usize {
        self.bytes("summary")
    }

    /// Tokens that must be free after old results left; with less, the next step would need room
    /// again.
    pub fn least_free(&self) -> u64 {
        self.share("free", self.window).into()
    }

    /// Bytes that one of `count` results of a reply may have after such a prompt.
    pub fn result_bytes(&self, rest: Size, count: usize) -> usize {
        let left = self.free(rest).max(0) as u32;
        let share = self
            .share("result", left)
            .min(self.result_limit.unwrap_or(u32::MAX));
        // Several results share what one may have, twice over: few replies bring many large ones.
        let each = share / (count.max(1) as u32).div_ceil(2);
        self.counter.bytes(u64::from(each.max(64)))
    }

    /// Tokens that are left beside a prompt and the reserve for its reply; negative when it does
    /// not fit.
    pub fn free(&self, rest: Size) -> i64 {
        let used = self
            .tokens(rest)
            .saturating_add(self.reply_reserve().into());
        i64::from(self.window).saturating_sub(i64::try_from(used).unwrap_or(i64::MAX))
    }

    /// True when a prompt leaves room for a reply.
    pub fn fits(&self, rest: Size) -> bool {
        self.free(rest) >= 0
    }

    fn bytes(&self, part: &str) -> usize {
        self.counter.bytes(self.share(part, self.window).into())
    }

    fn share(&self, part: &str, of: u32) -> u32 {
        SHARES.iter().find(|s| s.part == part).map_or(0, |s| {
            let tokens = (u64::from(of) * u64::from(s.permille) / 1_000) as u32;
            // Half of a tiny window is the most that any part may have, whatever its least share.
            tokens.clamp(s.least, s.most).min(self.window / 2)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A prompt of so many tokens, as the estimate has it before anything was learnt.
    fn prompt(tokens: u32) -> Size {
        Size::new(tokens as usize * 4, (f64::from(tokens) / 1.05) as usize)
    }

    #[test]
    fn shares_hold_at_both_ends() {
        for window in [2_048, 4_096, 8_192, 32_768, 131_072, 1_000_000] {
            let b = Budget::new(window, None);
            assert!(b.reply_reserve() <= window / 2, "{window}");
            assert!(b.reply_reserve() >= 512, "{window}");
            assert!(b.fits(prompt(window / 4)), "{window}");
            assert!(!b.fits(prompt(window)), "{window}");
            assert!(
                b.result_bytes(Size::default(), 1) < window as usize,
                "{window}"
            );
            // What a compaction leaves is well below what it began with.
            let left = b.recent_tokens() + b.words_tokens() + b.summary_bytes() as u64 / 3;
            assert!(left <= u64::from(window) / 3, "{window}: {left}");
        }
    }

    #[test]
    fn a_full_window_still_leaves_a_line_for_a_result() {
        let b = Budget::new(8_192, None);
        assert!(b.result_bytes(prompt(1_000_000), 4) >= 64);
    }

    #[test]
    fn the_users_limit_wins() {
        let b = Budget::new(131_072, Some(1_000));
        assert!(b.result_bytes(Size::default(), 1) <= 3_300);
    }

    #[test]
    fn a_server_can_only_make_the_window_smaller() {
        let mut b = Budget::new(8_192, None);
        assert!(!b.cap_window(0) && !b.cap_window(9_000));
        assert!(b.cap_window(4_096));
        assert_eq!(b.window(), 4_096);
    }
}
