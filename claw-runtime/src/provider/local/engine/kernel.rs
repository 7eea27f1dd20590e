//! The innermost loops: products of whole numbers, and of plain ones.
//!
//! Vector instructions are chosen when the program runs, so a plain build is fast on any machine. A product of a row of
//! weights with the numbers of one token reads far more memory than it computes; AVX2 reaches what memory gives, and
//! wider instructions were measured to add nothing.

use pulp::{Arch, WithSimd};

/// Numbers that share a scale.
pub(super) const BLOCK: usize = 32;

/// Weights that share a scale.
pub(super) trait Block: Copy + Default + Send + Sync {
    /// Returns the weights, those of the first half first.
    fn unpack(&self) -> [i16; BLOCK];

    /// Returns the same as two vectors.
    #[cfg(target_arch = "x86_64")]
    fn unpack_v3(&self, v3: pulp::x86::V3) -> [V3Half; 2];
}

#[cfg(target_arch = "x86_64")]
type V3Half = std::arch::x86_64::__m256i;

/// Weights of 8 bits.
pub(super) type Eight = [i8; BLOCK];

/// Weights of 4 bits, from 0: the first half low, the second high.
pub(super) type Four = [u8; BLOCK / 2];

impl Block for Eight {
    #[inline(always)]
    fn unpack(&self) -> [i16; BLOCK] {
        self.map(i16::from)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn unpack_v3(&self, v3: pulp::x86::V3) -> [V3Half; 2] {
        let halves: [[i8; BLOCK / 2]; 2] = pulp::cast(*self);
        halves.map(|half| v3.avx2._mm256_cvtepi8_epi16(pulp::cast(half)))
    }
}

impl Block for Four {
    #[inline(always)]
    fn unpack(&self) -> [i16; BLOCK] {
        std::array::from_fn(|at| i16::from(self[at % 16] >> (at / 16 * 4) & 15))
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn unpack_v3(&self, v3: pulp::x86::V3) -> [V3Half; 2] {
        let both = v3.avx2._mm256_cvtepu8_epi16(pulp::cast(*self));
        let low = v3.avx2._mm256_and_si256(both, v3.avx._mm256_set1_epi16(15));
        [low, v3.avx2._mm256_srli_epi16::<4>(both)]
    }
}

/// One row of weights: each is its whole number times the block's scale, and the block's least weight on top.
#[derive(Clone, Copy)]
pub(super) struct Row<'a, B> {
    pub blocks: &'a [B],
    pub scales: &'a [f32],
    /// Empty where all are 0.
    pub least: &'a [f32],
}

/// The numbers of one token.
#[derive(Clone, Copy)]
pub(super) struct Token<'a> {
    pub quants: &'a [[i16; BLOCK]],
    pub scales: &'a [f32],
    /// What the numbers of each block add up to.
    pub sums: &'a [f32],
}

/// Multiplies rows with each of `tokens`; `out` holds the products of one row side by side, for as many rows as it has
/// room for.
///
/// Weights have 8 bits or 4. The other side has 15, so next to nothing is lost on it: a sum of 32 such products still
/// fits.
pub(super) fn products<'a, B: Block + 'a>(
    row: impl Fn(usize) -> Row<'a, B>,
    tokens: &[Token<'a>],
    out: &mut [f32],
) {
    Arch::new().dispatch(Products { row, tokens, out });
}

struct Products<'t, 'a, F> {
    row: F,
    tokens: &'t [Token<'a>],
    out: &'t mut [f32],
}

impl<'a, B: Block + 'a, F: Fn(usize) -> Row<'a, B>> WithSimd for Products<'_, 'a, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let width = self.tokens.len();
        for (at, out) in self.out.chunks_exact_mut(width).enumerate() {
            let row = (self.row)(at);
            // A block that was unpacked serves four tokens.
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
fn row_times<S: pulp::Simd, B: Block, const N: usize>(
    simd: S,
    row: Row<'_, B>,
    tokens: &[Token<'_>; N],
) -> [f32; N] {
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = v3(simd) {
        return avx2(v3, row, tokens);
    }
    let _ = simd;
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
fn avx2<B: Block, const N: usize>(
    v3: pulp::x86::V3,
    row: Row<'_, B>,
    tokens: &[Token<'_>; N],
) -> [f32; N] {
    let count = row.blocks.len();
    let scales = &row.scales[..count];
    let numbers = tokens.map(|token| (&token.quants[..count], &token.scales[..count]));
    // Two sums each, so that an addition need not wait for the one before it.
    let mut sums = [[v3.avx._mm256_setzero_ps(); N]; 2];
    for at in 0..count {
        let [first, second] = row.blocks[at].unpack_v3(v3);
        for (place, (quants, token_scales)) in numbers.iter().enumerate() {
            let halves: [[i16; BLOCK / 2]; 2] = pulp::cast(quants[at]);
            let low = v3.avx2._mm256_madd_epi16(first, pulp::cast(halves[0]));
            let high = v3.avx2._mm256_madd_epi16(second, pulp::cast(halves[1]));
            let both = v3
                .avx
                ._mm256_cvtepi32_ps(v3.avx2._mm256_add_epi32(low, high));
            let scale = v3.avx._mm256_set1_ps(scales[at] * token_scales[at]);
            sums[0][place] = v3.fma._mm256_fmadd_ps(both, scale, sums[0][place]);
        }
        sums.swap(0, 1);
    }
    let [even, odd] = sums;
    let (least, least_rest) = row.least.as_chunks::<8>();
    let mut products = [0.0; N];
    for (at, product) in products.iter_mut().enumerate() {
        let mut sum = v3.avx._mm256_add_ps(even[at], odd[at]);
        let (others, others_rest) = tokens[at].sums.as_chunks::<8>();
        for (least, other) in least.iter().zip(others) {
            let (least, other) = (pulp::cast(*least), pulp::cast(*other));
            sum = v3.fma._mm256_fmadd_ps(least, other, sum);
        }
        *product = total(pulp::cast(sum));
        for (least, other) in least_rest.iter().zip(others_rest) {
            *product += least * other;
        }
    }
    products
}

#[inline(always)]
fn plain<B: Block, const N: usize>(row: Row<'_, B>, tokens: &[Token<'_>; N]) -> [f32; N] {
    tokens.map(|token| {
        let mut sums = [0.0; BLOCK / 2];
        let numbers = token.quants.iter().zip(token.scales);
        for ((block, scale), (quants, other)) in row.blocks.iter().zip(row.scales).zip(numbers) {
            let (block, scale) = (block.unpack(), scale * other);
            for (at, sum) in sums.iter_mut().enumerate() {
                let first = i32::from(block[2 * at]) * i32::from(quants[2 * at]);
                let second = i32::from(block[2 * at + 1]) * i32::from(quants[2 * at + 1]);
                *sum += (first + second) as f32 * scale;
            }
        }
        let least = row.least.iter().zip(token.sums);
        sums.iter().sum::<f32>() + least.map(|(least, sum)| least * sum).sum::<f32>()
    })
}

/// Adds up in pairs: sums of sums need not wait for each other.
#[inline(always)]
pub(super) fn total(lanes: [f32; 8]) -> f32 {
    let mut four = [0.0; 4];
    for at in 0..4 {
        four[at] = lanes[at] + lanes[at + 4];
    }
    (four[0] + four[2]) + (four[1] + four[3])
}

/// A whole number that weights or activations are written as.
pub(super) trait Quant: Copy + Default + Send + Sync {
    /// The largest there is; the smallest is as far below 0.
    const MOST: f32;

    /// Takes a number that is no larger.
    fn from_whole(whole: u32) -> Self;
}

impl Quant for i8 {
    const MOST: f32 = 127.0;

    #[inline(always)]
    fn from_whole(whole: u32) -> Self {
        whole as Self
    }
}

impl Quant for i16 {
    const MOST: f32 = 32_767.0;

    #[inline(always)]
    fn from_whole(whole: u32) -> Self {
        whole as Self
    }
}

/// Writes numbers as whole ones with a scale for each [`BLOCK`]. A block that has a number that is not finite becomes
/// zeros.
pub(super) fn quantise<T: Quant>(numbers: &[f32], quants: &mut [[T; BLOCK]], scales: &mut [f32]) {
    Arch::new().dispatch(Quantise {
        numbers,
        quants,
        scales,
    });
}

struct Quantise<'a, T> {
    numbers: &'a [f32],
    quants: &'a mut [[T; BLOCK]],
    scales: &'a mut [f32],
}

impl<T: Quant> pulp::NullaryFnOnce for Quantise<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let (blocks, _) = self.numbers.as_chunks::<BLOCK>();
        let out = self.quants.iter_mut().zip(self.scales);
        for (block, (quants, scale)) in blocks.iter().zip(out) {
            *scale = shrink(block, quants);
        }
    }
}

/// Writes numbers as whole ones, and returns what they are times of. If one is not finite, all become zeros.
#[inline(always)]
pub(super) fn shrink<T: Quant>(numbers: &[f32], quants: &mut [T]) -> f32 {
    // Sizes of numbers sort like their bits, and those of what is not finite are the largest.
    let mut peak = 0;
    for number in numbers {
        peak = peak.max(number.to_bits() & 0x7fff_ffff);
    }
    let peak = f32::from_bits(peak);
    if !peak.is_normal() {
        quants.fill(T::default());
        return 0.0;
    }
    let factor = T::MOST / peak;
    for (quant, number) in quants.iter_mut().zip(numbers) {
        // Added to this, a number is rounded to a whole one, which is then its lowest bits.
        *quant = T::from_whole((number * factor + 12_582_912.0).to_bits());
    }
    peak / T::MOST
}

/// Multiplies `numbers` by how much of `gate` passes: `gate / (1 + e^-gate)`.
pub(super) fn gated(gate: &mut [f32], numbers: &[f32]) {
    Arch::new().dispatch(Gated { gate, numbers });
}

struct Gated<'a> {
    gate: &'a mut [f32],
    numbers: &'a [f32],
}

impl pulp::NullaryFnOnce for Gated<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (gate, number) in self.gate.iter_mut().zip(self.numbers) {
            *gate = *gate / (1.0 + exp(-*gate)) * number;
        }
    }
}

/// e to the power of `x`, to the last bits of single precision, without a branch so that many are computed at once.
///
/// The power is split into a whole one of 2, which is an exponent, and one of at most a half, whose series ends soon.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    // The logarithm of 2 in two parts, so that nothing is lost where they nearly cancel.
    let rest = x - whole * 0.693_359_4 + whole * 2.121_944_4e-4;
    let series = 1.0 / 720.0;
    let series = [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0]
        .iter()
        .fold(series, |series, term| series * rest + term);
    series * f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000))
}
