//! The window, the token estimate, and what each part of a request may take.

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
const SHARES: [Share; 4] = [
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
    // Of what is left at that moment, not of the whole window.
    Share {
        part: "result",
        permille: 250,
        least: 256,
        most: 16_384,
    },
];

/// Bytes a token before anything was learnt. Code and JSON come to 3.2 to 4; the low end errs
/// on the safe side.
const FIRST_RATIO: f64 = 3.3;
/// The learnt ratio stays between these, whatever a server reports.
const RATIO_RANGE: (f64, f64) = (1.0, 8.0);
/// How much a new observation counts once there is an older one.
const LEARNING: f64 = 0.5;

/// The window of a session and how its tokens are counted.
#[derive(Debug, Clone)]
pub struct Budget {
    window: u32,
    ratio: f64,
    learnt: bool,
    result_limit: Option<u32>,
}

impl Budget {
    /// A budget for a window of so many tokens. `result_limit` is the user's own limit for one
    /// tool result, in tokens.
    pub fn new(window: u32, result_limit: Option<u32>) -> Self {
        Budget {
            window,
            ratio: FIRST_RATIO,
            learnt: false,
            result_limit,
        }
    }

    /// The window in tokens.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// The estimated tokens of so many bytes.
    pub fn tokens(&self, bytes: usize) -> u64 {
        (bytes as f64 / self.ratio).ceil() as u64
    }

    /// The bytes that so many tokens come to.
    pub fn bytes(&self, tokens: u64) -> usize {
        (tokens as f64 * self.ratio) as usize
    }

    /// Takes in what the server counted for a prompt of so many bytes.
    pub fn learn(&mut self, bytes: usize, tokens: u64) {
        if bytes < 200 || tokens < 20 {
            return;
        }
        let seen = (bytes as f64 / tokens as f64).clamp(RATIO_RANGE.0, RATIO_RANGE.1);
        self.ratio = if self.learnt {
            self.ratio + (seen - self.ratio) * LEARNING
        } else {
            seen
        };
        self.learnt = true;
    }

    /// Tokens kept free for the reply.
    pub fn reply_reserve(&self) -> u32 {
        self.share("reply", self.window)
    }

    /// The most tokens that the reply to a prompt of so many bytes may have: the reserve, and less
    /// where the window ends before.
    pub fn reply_limit(&self, prompt_bytes: usize) -> u32 {
        let left = u64::from(self.window).saturating_sub(self.tokens(prompt_bytes)) as u32;
        self.reply_reserve().min(left.max(64))
    }

    /// Bytes that AGENTS.md and its kind may have.
    pub fn instruction_bytes(&self) -> usize {
        self.bytes(self.share("instructions", self.window).into())
    }

    /// Bytes that the user's message may have before its middle goes into a file.
    pub fn task_bytes(&self) -> usize {
        self.bytes(self.share("task", self.window).into())
    }

    /// Bytes that one of `count` results of a reply may have, when the prompt has so many bytes.
    pub fn result_bytes(&self, prompt_bytes: usize, count: usize) -> usize {
        let left = u64::from(self.window)
            .saturating_sub(self.tokens(prompt_bytes))
            .saturating_sub(self.reply_reserve().into()) as u32;
        let share = self
            .share("result", left)
            .min(self.result_limit.unwrap_or(u32::MAX));
        // Several results share what one may have, twice over: few replies bring many large ones.
        let each = share / (count.max(1) as u32).div_ceil(2);
        self.bytes(u64::from(each.max(64)))
    }

    /// True when a prompt of so many bytes leaves room for a reply.
    pub fn fits(&self, prompt_bytes: usize) -> bool {
        self.tokens(prompt_bytes) + u64::from(self.reply_reserve()) <= u64::from(self.window)
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

    #[test]
    fn after_one_report_the_estimate_is_the_servers() {
        let mut b = Budget::new(32_768, None);
        b.learn(40_000, 10_000);
        assert_eq!(b.tokens(40_000), 10_000);
        assert_eq!(b.tokens(44_000), 11_000);
    }

    #[test]
    fn shares_hold_at_both_ends() {
        for window in [2_048, 4_096, 8_192, 32_768, 131_072, 1_000_000] {
            let b = Budget::new(window, None);
            assert!(b.reply_reserve() <= window / 2, "{window}");
            assert!(b.reply_reserve() >= 512, "{window}");
            assert!(b.fits(b.bytes(u64::from(window / 4))), "{window}");
            assert!(!b.fits(b.bytes(u64::from(window))), "{window}");
            assert!(
                b.tokens(b.result_bytes(0, 1)) < u64::from(window) / 4,
                "{window}"
            );
        }
    }

    #[test]
    fn a_full_window_still_leaves_a_line_for_a_result() {
        let b = Budget::new(8_192, None);
        assert!(b.result_bytes(1_000_000, 4) >= 64);
    }

    #[test]
    fn the_users_limit_wins() {
        let b = Budget::new(131_072, Some(1_000));
        assert!(b.tokens(b.result_bytes(0, 1)) <= 1_000);
    }
}
