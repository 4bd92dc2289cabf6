//! What a server's own counts tell about the prompt: whether it was cut, and whether the cache of
//! the last one was used.

use super::budget::Budget;
use super::tokens::Size;
use crate::model::Usage;

/// A count this much below the estimate means that the server did not read everything.
const CUT: f64 = 0.75;
/// Fewer missing tokens than this may be an odd text.
const MISSING: u64 = 1_000;
/// No real text has more bytes a token over a whole prompt; the estimate is not taken for more.
const MOST_BYTES: f64 = 5.0;
/// A prompt whose cached part is below this share of the last prompt was read anew.
const COLD: f64 = 0.5;
/// Shorter prompts are read in a moment either way.
const SHORT: u64 = 1_000;

/// What one count means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The whole prompt, as it should be.
    Whole,
    /// The server counts only what was not in its cache, or nothing; it says nothing of the whole.
    Uncached,
    /// The server read only a part of what was sent.
    Cut {
        /// Tokens that the server read.
        read: u64,
        /// Tokens that were sent, about.
        sent: u64,
    },
    /// The prompt was read from its beginning although most of it was sent before.
    Cold {
        /// Tokens that came from the cache.
        cached: u64,
        /// Tokens of the prompt before.
        before: u64,
    },
}

/// Follows the counts of a session.
#[derive(Debug, Clone, Default)]
pub struct Reports {
    /// What the prompt had after its beginning when the last count came; none in the beginning.
    last: Size,
    /// The count of the last prompt, as long as the next one begins with it.
    warm: Option<u64>,
    /// The server has reported cached tokens, or is known to do so.
    tells_cached: bool,
}

impl Reports {
    /// For a server that is known to report cached tokens, or not.
    pub fn new(tells_cached: bool) -> Self {
        Reports {
            tells_cached,
            ..Reports::default()
        }
    }

    /// The next prompt does not begin with the last one.
    pub fn prefix_event(&mut self) {
        self.warm = None;
    }

    /// Judges a count for a prompt with `rest` after its beginning.
    pub fn judge(&mut self, usage: &Usage, rest: Size, budget: &Budget) -> Verdict {
        let all = budget.counter().fixed() + rest;
        let sent = budget.tokens(rest);
        let least = (sent as f64).min(all.bytes as f64 / MOST_BYTES);
        let added = budget.counter().part(rest - self.last);
        self.last = rest;
        let warm = self.warm.take();
        if (usage.input as f64) < least * CUT && sent.saturating_sub(usage.input) > MISSING {
            let near = |tokens: u64| {
                usage.input >= tokens / 2 && usage.input <= tokens.saturating_mul(8) / 5 + 300
            };
            return if usage.input < 16 || near(added) {
                Verdict::Uncached
            } else {
                Verdict::Cut {
                    read: usage.input,
                    sent,
                }
            };
        }
        self.warm = Some(usage.input);
        self.tells_cached |= usage.cached.is_some_and(|c| c > 0);
        match (usage.cached, warm) {
            (Some(cached), Some(before))
                if self.tells_cached
                    && before > SHORT
                    && (cached as f64) < before as f64 * COLD =>
            {
                Verdict::Cold { cached, before }
            }
            _ => Verdict::Whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tokens::Counter;
    use super::*;

    fn usage(input: u64, cached: Option<u64>) -> Usage {
        Usage {
            input,
            cached,
            ..Usage::default()
        }
    }

    fn budget() -> Budget {
        let counter = Counter::new(Size::new(20_000, 5_000), None);
        Budget::of(32_768, None, counter)
    }

    #[test]
    fn a_cut_prompt_is_seen_and_an_odd_text_is_not() {
        // O03: 40,000 bytes of short words; the server read 2,047 tokens.
        let rest = Size::new(40_000, 12_500);
        let judge = |input| Reports::default().judge(&usage(input, None), rest, &budget());
        let Verdict::Cut { read, sent } = judge(2_047) else {
            panic!("{:?}", judge(2_047))
        };
        assert!(read == 2_047 && sent > 10_000);
        // Within a quarter of the estimate, and a tokenizer with large tokens.
        for input in [18_375, 18_375 * 3 / 4, 12_000, 30_000] {
            assert_eq!(judge(input), Verdict::Whole, "{input}");
        }
        // Digits by threes, where the estimate has each on its own.
        let digits = Size::new(40_000, 40_000);
        let read = Reports::default().judge(&usage(5_000 + 14_000, None), digits, &budget());
        assert_eq!(read, Verdict::Whole);
    }

    #[test]
    fn a_window_cut_in_half_in_mid_session_is_seen() {
        let (mut reports, mut budget) = (Reports::default(), budget());
        let mut rest = Size::new(4_000, 1_000);
        assert_eq!(
            reports.judge(&usage(6_000, None), rest, &budget),
            Verdict::Whole
        );
        budget.learn(rest, 6_000);
        rest += Size::new(8_000, 2_000);
        assert_eq!(
            reports.judge(&usage(4_100, None), rest, &budget),
            Verdict::Cut {
                read: 4_100,
                sent: 8_100
            }
        );
    }

    #[test]
    fn a_server_that_counts_only_what_is_new_cuts_nothing() {
        let (mut reports, mut budget) = (Reports::default(), budget());
        let rest = Size::new(4_000, 1_000);
        // Another session with the same beginning was there before.
        assert_eq!(
            reports.judge(&usage(1_020, None), rest, &budget),
            Verdict::Uncached
        );
        budget.learn(rest, 6_000);
        let rest = rest + Size::new(4_000, 1_000);
        assert_eq!(
            reports.judge(&usage(1_100, None), rest, &budget),
            Verdict::Uncached
        );
        assert_eq!(
            reports.judge(&usage(1, None), rest, &budget),
            Verdict::Uncached
        );
    }

    #[test]
    fn a_cold_prompt_is_seen_where_caches_are_reported() {
        let seen = |tells, event: bool, cached: [Option<u64>; 2]| {
            let (mut reports, budget) = (Reports::new(tells), budget());
            let rest = Size::new(4_000, 1_000);
            reports.judge(&usage(6_000, cached[0]), rest, &budget);
            if event {
                reports.prefix_event();
            }
            reports.judge(&usage(6_100, cached[1]), rest, &budget)
        };
        let cold = Verdict::Cold {
            cached: 20,
            before: 6_000,
        };
        assert_eq!(seen(true, false, [Some(0), Some(20)]), cold);
        assert_eq!(seen(false, false, [Some(5_000), Some(20)]), cold);
        assert_eq!(seen(true, false, [Some(0), Some(5_990)]), Verdict::Whole);
        // After a prefix event it is expected; a server that always says 0 does not tell.
        assert_eq!(seen(true, true, [Some(0), Some(20)]), Verdict::Whole);
        assert_eq!(seen(false, false, [Some(0), Some(0)]), Verdict::Whole);
        assert_eq!(seen(true, false, [None, None]), Verdict::Whole);
    }
}
