//! Numbers that look random and are the same in each run.

/// Knuth's MMIX generator.
pub struct Numbers(pub u64);

impl Numbers {
    /// A number below `most`; zero where that is zero.
    pub fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % most.max(1)
    }
}
