//! What fills the window: the data of `/context`.

use super::session::{Session, fixed_size};
use super::tokens::Size;
use crate::harnesses::{Context, Skill, Start};

impl Session {
    /// The estimated tokens of the next prompt.
    pub fn prompt_tokens(&self) -> u64 {
        self.budget.tokens(self.rest(&[]))
    }

    /// The parts of the next request with their estimated tokens, and at the end what is kept for
    /// the reply. All but the last add up to the estimate of the prompt.
    pub fn context(&self) -> Vec<(&'static str, u64)> {
        let (skills, skill_tools) = self.skill_sizes();
        let tools = tools_size(&self.start) - skill_tools;
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
                self.budget.counter().fixed() - tools - instructions - skills - skill_tools,
            ),
            ("tools", tools),
            ("instructions", instructions),
            ("skills", skills + skill_tools),
            ("task", task),
            ("transcript", self.transcript.size() - task),
        ];
        let total = self.budget.tokens(self.rest(&[]));
        let mut shares = split(total, parts.map(|(_, size)| size.pieces));
        shares.push(self.budget.reply_reserve().into());
        let names = parts.map(|(name, _)| name).into_iter().chain(["reserve"]);
        names.zip(shares).collect()
    }

    /// What the beginning has for skills: in its text, and among its tools. Each harness tells of
    /// them in its own way, so it is the difference to a beginning without any.
    fn skill_sizes(&self) -> (Size, Size) {
        let with = |skills: &[Skill]| {
            let start = self.harness.begin(&Context {
                skills: skills.to_vec(),
                ..self.context.clone()
            });
            let (all, tools) = (fixed_size(&start), tools_size(&start));
            (all - tools, tools)
        };
        let (text, tools) = with(&self.start.skills);
        let (text_without, tools_without) = with(&[]);
        (text - text_without, tools - tools_without)
    }
}

fn tools_size(start: &Start) -> Size {
    Size::of(&serde_json::to_string(&start.tools).unwrap_or_default())
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
