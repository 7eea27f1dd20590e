//! Chooses the next token by its logits.

/// Chooses among tokens; the same seed and logits give the same choices.
pub(super) struct Sampler {
    temperature: f32,
    top_p: f32,
    state: u64,
}

impl Sampler {
    pub(super) fn new(temperature: f32, top_p: f32, seed: u64) -> Self {
        Self {
            // What is no number, or below 0, counts as 0.
            temperature: temperature.max(0.0),
            top_p,
            state: seed,
        }
    }

    /// Returns the next token, or `None` when every logit is negative infinity or no number.
    pub(super) fn choose(&mut self, logits: &[f32]) -> Option<u32> {
        let mut best: Option<(usize, f32)> = None;
        for (at, logit) in logits.iter().enumerate() {
            // Of equals the first, so that the choice does not hang on how they are compared.
            if *logit > best.map_or(f32::NEG_INFINITY, |(_, best)| best) {
                best = Some((at, *logit));
            }
        }
        let (best, peak) = best?;
        if self.temperature == 0.0 || !peak.is_finite() {
            return Some(best as u32);
        }
        let weight =
            |logit: f32| ((f64::from(logit) - f64::from(peak)) / f64::from(self.temperature)).exp();
        let weights = logits.iter().map(|logit| weight(*logit));
        let mut weights: Vec<(usize, f64)> = weights
            .enumerate()
            .filter(|(_, weight)| *weight > 0.0)
            .collect();
        let mut sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
        if self.top_p < 1.0 {
            weights.sort_by(|(_, a), (_, b)| b.total_cmp(a));
            let mut kept = 0.0;
            let enough = f64::from(self.top_p.max(0.0)) * sum;
            let few = weights.iter().take_while(|(_, weight)| {
                let more = kept < enough;
                kept += if more { weight } else { &0.0 };
                more
            });
            weights.truncate(few.count().max(1));
            sum = weights.iter().map(|(_, weight)| weight).sum();
        }
        let mut left = self.next() * sum;
        let chosen = weights.iter().find(|(_, weight)| {
            left -= weight;
            left < 0.0
        });
        Some(chosen.map_or(best, |(at, _)| *at) as u32)
    }

    /// Returns a number from 0 to 1, without 1 (SplitMix64).
    fn next(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        (bits >> 11) as f64 / (1_u64 << 53) as f64
    }
}
