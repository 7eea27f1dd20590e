//! The innermost loops: products of whole numbers, and of plain ones.
//!
//! Vector instructions are chosen when the program runs, so a plain build is fast on any machine. A product of a row of
//! weights with the numbers of one token reads far more memory than it computes; AVX2 reaches what memory gives, and
//! wider instructions were measured to add nothing.

use pulp::{Arch, WithSimd};

/// Numbers that share a scale.
pub(super) const BLOCK: usize = 32;

/// One row of whole numbers with a scale for each [`BLOCK`] of them.
#[derive(Clone, Copy)]
pub(super) struct Scaled<'a, T> {
    pub quants: &'a [[T; BLOCK]],
    pub scales: &'a [f32],
}

/// Multiplies each of `rows` with each of `tokens`; `out` holds the products of one row side by side.
///
/// Weights have 8 bits. The other side has 15, so next to nothing is lost on it: a sum of 32 such products still fits.
pub(super) fn products<'a>(
    rows: impl Iterator<Item = Scaled<'a, i8>>,
    tokens: &[Scaled<'a, i16>],
    out: &mut [f32],
) {
    Arch::new().dispatch(Products { rows, tokens, out });
}

struct Products<'t, 'a, I> {
    rows: I,
    tokens: &'t [Scaled<'a, i16>],
    out: &'t mut [f32],
}

impl<'a, I: Iterator<Item = Scaled<'a, i8>>> WithSimd for Products<'_, 'a, I> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let width = self.tokens.len();
        for (row, out) in self.rows.zip(self.out.chunks_exact_mut(width)) {
            // A row that was unpacked serves four tokens.
            let (fours, rest) = self.tokens.as_chunks::<4>();
            let (out_fours, out_rest) = out.as_chunks_mut::<4>();
            for (four, out) in fours.iter().zip(out_fours) {
                *out = row_times(simd, row, four);
            }
            for (token, out) in rest.iter().zip(out_rest) {
                [*out] = row_times(simd, row, &[*token]);
            }
        }
    }
}

#[inline(always)]
fn row_times<S: pulp::Simd, const N: usize>(
    simd: S,
    row: Scaled<'_, i8>,
    tokens: &[Scaled<'_, i16>; N],
) -> [f32; N] {
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = v3(simd) {
        return avx2(v3, row, tokens);
    }
    plain(row, tokens)
}

/// Returns the proof that AVX2 may be used where `S` is it.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn v3<S: pulp::Simd>(simd: S) -> Option<pulp::x86::V3> {
    (&simd as &dyn std::any::Any).downcast_ref().copied()
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn avx2<const N: usize>(
    v3: pulp::x86::V3,
    row: Scaled<'_, i8>,
    tokens: &[Scaled<'_, i16>; N],
) -> [f32; N] {
    let mut sums = [v3.avx._mm256_setzero_ps(); N];
    let blocks = row.quants.len().min(row.scales.len());
    let tokens = tokens.map(|token| (&token.quants[..blocks], &token.scales[..blocks]));
    for (at, (quants, scale)) in row.quants.iter().zip(row.scales).enumerate() {
        let [low, high]: [[i8; 16]; 2] = pulp::cast(*quants);
        let low = v3.avx2._mm256_cvtepi8_epi16(pulp::cast(low));
        let high = v3.avx2._mm256_cvtepi8_epi16(pulp::cast(high));
        for (sum, (quants, scales)) in sums.iter_mut().zip(tokens) {
            let [first, second]: [[i16; 16]; 2] = pulp::cast(quants[at]);
            let first = v3.avx2._mm256_madd_epi16(low, pulp::cast(first));
            let second = v3.avx2._mm256_madd_epi16(high, pulp::cast(second));
            let both = v3
                .avx
                ._mm256_cvtepi32_ps(v3.avx2._mm256_add_epi32(first, second));
            let scale = v3.avx._mm256_set1_ps(scale * scales[at]);
            *sum = v3.fma._mm256_fmadd_ps(both, scale, *sum);
        }
    }
    sums.map(|sum| pulp::cast::<_, [f32; 8]>(sum).iter().sum())
}

#[inline(always)]
fn plain<const N: usize>(row: Scaled<'_, i8>, tokens: &[Scaled<'_, i16>; N]) -> [f32; N] {
    tokens.map(|token| {
        let mut sums = [0.0; BLOCK / 2];
        let weights = row.quants.iter().zip(row.scales);
        for ((row, scale), (quants, other)) in weights.zip(token.quants.iter().zip(token.scales)) {
            let scale = scale * other;
            for (at, sum) in sums.iter_mut().enumerate() {
                let first = i32::from(row[2 * at]) * i32::from(quants[2 * at]);
                let second = i32::from(row[2 * at + 1]) * i32::from(quants[2 * at + 1]);
                *sum += (first + second) as f32 * scale;
            }
        }
        sums.iter().sum()
    })
}

/// Writes `numbers` as whole numbers from `-most` to `most`, with a scale for each [`BLOCK`]; returns nothing of those
/// that are not finite but zeros.
pub(super) fn quantise<T: Default + Copy>(
    numbers: &[f32],
    most: f32,
    whole: impl Fn(f32) -> T,
    quants: &mut [[T; BLOCK]],
    scales: &mut [f32],
) {
    let (blocks, _) = numbers.as_chunks::<BLOCK>();
    for ((block, quants), scale) in blocks.iter().zip(quants).zip(scales) {
        let peak = block
            .iter()
            .fold(0.0_f32, |peak, number| peak.max(number.abs()));
        if peak.is_normal() {
            *scale = peak / most;
            for (quant, number) in quants.iter_mut().zip(block) {
                // A cast saturates and makes zero of what is no number.
                *quant = whole((number * (most / peak)).round_ties_even());
            }
        } else {
            *scale = 0.0;
            *quants = [T::default(); BLOCK];
        }
    }
}

/// Weighs each of the rows of `memory` against `query` and adds up the rows of `values` by the softmax of the weights.
pub(super) struct Attend<'a> {
    /// One head's numbers for the token that looks back.
    pub query: &'a [f32],
    /// All heads' keys, one row a token.
    pub keys: &'a [f32],
    /// All heads' values, one row a token.
    pub values: &'a [f32],
    /// Numbers in a row of keys or values.
    pub stride: usize,
    /// Where this head's numbers begin in a row.
    pub at: usize,
    /// Receives the weights; one a token.
    pub weights: &'a mut Vec<f32>,
    /// Receives the sum.
    pub out: &'a mut [f32],
}

impl Attend<'_> {
    pub(super) fn run(self) {
        Arch::new().dispatch(self);
    }
}

impl pulp::NullaryFnOnce for Attend<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let size = self.query.len();
        let head = self.at..self.at + size;
        let scale = 1.0 / (size as f32).sqrt();
        self.weights.clear();
        for key in self.keys.chunks_exact(self.stride) {
            self.weights
                .push(dot(self.query, &key[head.clone()]) * scale);
        }
        softmax(self.weights);
        self.out.fill(0.0);
        for (weight, value) in self
            .weights
            .iter()
            .zip(self.values.chunks_exact(self.stride))
        {
            for (out, value) in self.out.iter_mut().zip(&value[head.clone()]) {
                *out += weight * value;
            }
        }
    }
}

/// Turns logits into probabilities, in place.
#[inline(always)]
pub(super) fn softmax(numbers: &mut [f32]) {
    let peak = numbers
        .iter()
        .fold(f32::NEG_INFINITY, |peak, number| peak.max(*number));
    let mut sum = 0.0;
    for number in numbers.iter_mut() {
        *number = (*number - peak).exp();
        sum += *number;
    }
    for number in numbers {
        *number /= sum;
    }
}

/// A sum of products in lanes, so that it can be computed side by side.
#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; 16];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}
