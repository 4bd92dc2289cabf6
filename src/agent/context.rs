//! What fills the window: the data of `/context`.

use super::session::Session;
use super::tokens::Size;
use crate::harnesses::Context;

impl Session {
    /// The estimated tokens of the next prompt.
    pub fn prompt_tokens(&self) -> u64 {
        self.budget.tokens(self.rest(&[]))
    }

    /// The parts of the next request with their estimated tokens, and at the end what is kept for
    /// the reply. All but the last add up to the estimate of the prompt.
    pub fn context(&self) -> Vec<(&'static str, u64)> {
        let tools = serde_json::to_string(&self.start.tools).unwrap_or_default();
        let tools = Size::of(&tools);
        let task: Size = self
            .transcript
            .entries()
            .filter(|(_, mark, _)| mark.is_task())
            .map(|(_, _, size)| size)
            .sum();
        // Instructions stand in the beginning, or in a harness without a place for them behind the
        // first task; there they are counted with it.
        let opening = self.start.opening.iter().map(|item| item.text());
        let beginning = opening.chain([self.start.system.clone()]);
        let instructions = instruction_size(&self.context, &beginning.collect::<Vec<_>>());
        let parts = [
            (
                "system",
                self.budget.counter().fixed() - tools - instructions,
            ),
            ("tools", tools),
            ("instructions", instructions),
            ("skills", Size::default()),
            ("task", task),
            ("transcript", self.transcript.size() - task),
        ];
        let total = self.budget.tokens(self.rest(&[]));
        let mut shares = split(total, parts.map(|(_, size)| size.pieces));
        shares.push(self.budget.reply_reserve().into());
        let names = parts.map(|(name, _)| name).into_iter().chain(["reserve"]);
        names.zip(shares).collect()
    }
}

/// The instruction files that stand in one of these texts.
fn instruction_size(context: &Context, texts: &[String]) -> Size {
    let files = &context.instructions;
    let documents = files.global.iter().chain(&files.project);
    documents
        .map(|d| d.text.trim_end())
        .filter(|text| texts.iter().any(|t| t.contains(text)))
        .map(Size::of)
        .sum()
}

/// Divides `total` by weight; the parts add up to it.
fn split(total: u64, weights: [usize; 6]) -> Vec<u64> {
    let all = weights.iter().sum::<usize>().max(1) as u64;
    let (mut done, mut given) = (0, 0);
    let part = |weight: &usize| {
        done += *weight as u64;
        let upto = total.saturating_mul(done) / all;
        let part = upto - given;
        given = upto;
        part
    };
    weights.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up() {
        assert_eq!(split(1_000, [1, 1, 1, 0, 0, 0]), [333, 333, 334, 0, 0, 0]);
        assert_eq!(split(7, [0; 6]), [0; 6]);
    }
}
