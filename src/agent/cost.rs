//! What a session costs, where the tables have prices.

use serde::{Deserialize, Serialize};

/// Money in US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Of the session so far.
    pub session: f64,
    /// Of the running or last turn.
    #[serde(skip)]
    pub turn: f64,
    /// Requests of the session that have a price.
    pub priced: u64,
    /// Requests to hosted models whose price is not known; they are in no sum.
    pub unpriced: u64,
}

impl Cost {
    /// A turn begins.
    pub fn begin_turn(&mut self) {
        self.turn = 0.0;
    }

    /// Takes in one request; `None`: its price is not known.
    pub fn add(&mut self, money: Option<f64>) {
        match money {
            Some(money) => {
                self.session += money;
                self.turn += money;
                self.priced += 1;
            }
            None => self.unpriced += 1,
        }
    }

    /// The turn and the session in words; `None` where nothing has a price.
    pub fn words(&self) -> Option<String> {
        if self.priced == 0 {
            return None;
        }
        let rest = match self.unpriced {
            0 => String::new(),
            1 => ", without 1 request of unknown price".into(),
            n => format!(", without {n} requests of unknown price"),
        };
        let (turn, session) = (money(self.turn), money(self.session));
        Some(match turn == session {
            true => format!("{session}{rest}"),
            false => format!("{turn} ({session} in the session{rest})"),
        })
    }

    /// The sums for scripts; `None` where nothing has a price.
    pub fn as_json(&self) -> Option<serde_json::Value> {
        let round = |usd: f64| (usd * 1e6).round() / 1e6;
        (self.priced > 0).then(|| {
            serde_json::json!({"turn_usd": round(self.turn), "session_usd": round(self.session), "unpriced_requests": self.unpriced})
        })
    }
}

/// Dollars: cents where there are some, else as many digits as say something.
fn money(usd: f64) -> String {
    match usd {
        _ if usd >= 0.995 => format!("${usd:.2}"),
        _ if usd >= 0.01 => format!("${usd:.3}"),
        _ if usd > 0.0 => format!("${usd:.5}"),
        _ => "$0".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_and_sessions_are_summed_and_what_is_unknown_is_said() {
        let mut cost = Cost::default();
        assert_eq!((cost.words(), cost.as_json()), (None, None));
        cost.add(Some(0.5));
        cost.add(Some(0.25));
        assert_eq!(cost.words().as_deref(), Some("$0.750"));
        cost.begin_turn();
        cost.add(Some(0.004));
        cost.add(None);
        let words = cost.words().unwrap();
        assert_eq!(
            words,
            "$0.00400 ($0.754 in the session, without 1 request of unknown price)"
        );
        let json = cost.as_json().unwrap();
        assert_eq!(
            (&json["turn_usd"], &json["session_usd"]),
            (&0.004.into(), &0.754.into())
        );
        assert_eq!(money(12.345), "$12.35");
    }
}
