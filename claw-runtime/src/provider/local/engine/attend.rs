//! Attention: a token looks back at the keys of those before it, and takes of their values by how well they match.
//!
//! Keys are walked in tiles that stay in the nearest cache while every head and token that needs them is served.

use pulp::{Arch, Simd, WithSimd};

use super::kernel::{exp, total};

/// Keys that are looked at together.
const TILE: usize = 32;
/// Vectors of sums that stay in registers.
const SUMS: usize = 8;

/// The keys and values of one head, within rows that hold those of all heads.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub keys: &'a [f32],
    pub values: &'a [f32],
    /// Numbers in a row.
    pub stride: usize,
    /// Where the head begins in a row.
    pub at: usize,
    /// Numbers of the head.
    pub size: usize,
}

/// A token that looks back: the queries of the heads that share the keys, and the room for what each takes.
pub(super) struct Look<'a> {
    pub queries: &'a [f32],
    pub out: &'a mut [f32],
    /// Tokens it sees, its own included; 1 at least.
    pub tokens: usize,
}

/// Serves `looks`; `weights` is room that is kept between calls.
pub(super) fn attend(seen: Seen<'_>, looks: &mut [Look<'_>], weights: &mut Vec<f32>) {
    Arch::new().dispatch(Attend {
        seen,
        looks,
        weights,
    });
}

struct Attend<'a, 'l> {
    seen: Seen<'a>,
    looks: &'a mut [Look<'l>],
    weights: &'a mut Vec<f32>,
}

impl WithSimd for Attend<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Seen { size, .. } = self.seen;
        let most = self.looks.iter().map(|look| look.tokens).max();
        let most = most.unwrap_or_default();
        let heads = self.looks.iter().map(|look| look.queries.len() / size);
        self.weights.resize(heads.sum::<usize>() * most, 0.0);
        let scale = 1.0 / (size as f32).sqrt();
        for first in (0..most).step_by(TILE) {
            let mut rows = self.weights.chunks_exact_mut(most);
            for look in self.looks.iter() {
                let tile = first..look.tokens.min(first + TILE).max(first);
                for (query, row) in look.queries.chunks_exact(size).zip(&mut rows) {
                    match_keys(simd, query, self.seen, first, &mut row[tile.clone()]);
                }
            }
        }
        let mut rows = self.weights.chunks_exact_mut(most);
        for look in self.looks.iter_mut() {
            look.out.fill(0.0);
            for row in (&mut rows).take(look.queries.len() / size) {
                softmax(&mut row[..look.tokens], scale);
            }
        }
        for first in (0..most).step_by(TILE) {
            let mut rows = self.weights.chunks_exact(most);
            for look in self.looks.iter_mut() {
                let tile = first..look.tokens.min(first + TILE).max(first);
                for (out, row) in look.out.chunks_exact_mut(size).zip(&mut rows) {
                    add_values(simd, &row[tile.clone()], self.seen, first, out);
                }
            }
        }
    }
}

/// Writes the products of `query` with the keys from `first` on.
#[inline(always)]
fn match_keys<S: Simd>(simd: S, query: &[f32], seen: Seen<'_>, first: usize, out: &mut [f32]) {
    let (query, query_rest) = S::as_simd_f32s(query);
    let keys = seen.keys[first * seen.stride..].chunks(seen.stride);
    for (key, out) in keys.zip(out) {
        let (key, key_rest) = S::as_simd_f32s(&key[seen.at..seen.at + seen.size]);
        let mut sums = [simd.splat_f32s(0.0); 2];
        let (twos, one) = query.as_chunks::<2>();
        let (key_twos, key_one) = key.as_chunks::<2>();
        for (query, key) in twos.iter().zip(key_twos) {
            for at in 0..2 {
                sums[at] = simd.mul_add_e_f32s(query[at], key[at], sums[at]);
            }
        }
        for (query, key) in one.iter().zip(key_one) {
            sums[0] = simd.mul_add_e_f32s(*query, *key, sums[0]);
        }
        *out = simd.reduce_sum_f32s(simd.add_f32s(sums[0], sums[1]));
        for (query, key) in query_rest.iter().zip(key_rest) {
            *out += query * key;
        }
    }
}

/// Adds the values from `first` on to `out`, each times its weight.
#[inline(always)]
fn add_values<S: Simd>(simd: S, weights: &[f32], seen: Seen<'_>, first: usize, out: &mut [f32]) {
    let values = &seen.values[first * seen.stride..];
    let (out, out_rest) = S::as_mut_simd_f32s(out);
    let lanes = S::F32_LANES;
    let mut parts = out.chunks_exact_mut(SUMS);
    let mut at = seen.at;
    for out in &mut parts {
        let mut sums = [simd.splat_f32s(0.0); SUMS];
        sums.copy_from_slice(out);
        for (value, weight) in values.chunks(seen.stride).zip(weights) {
            let (value, _) = S::as_simd_f32s(&value[at..at + SUMS * lanes]);
            let weight = simd.splat_f32s(*weight);
            for (sum, value) in sums.iter_mut().zip(value) {
                *sum = simd.mul_add_e_f32s(weight, *value, *sum);
            }
        }
        out.copy_from_slice(&sums);
        at += SUMS * lanes;
    }
    for out in parts.into_remainder() {
        for (value, weight) in values.chunks(seen.stride).zip(weights) {
            let (value, _) = S::as_simd_f32s(&value[at..at + lanes]);
            *out = simd.mul_add_e_f32s(simd.splat_f32s(*weight), value[0], *out);
        }
        at += lanes;
    }
    for out in out_rest {
        for (value, weight) in values.chunks(seen.stride).zip(weights) {
            *out += weight * value[at];
        }
        at += 1;
    }
}

/// Turns numbers, each times `scale`, into probabilities.
#[inline(always)]
fn softmax(numbers: &mut [f32], scale: f32) {
    let (eights, rest) = numbers.as_chunks_mut::<8>();
    let mut peaks = [f32::NEG_INFINITY; 8];
    for eight in eights.iter() {
        for at in 0..8 {
            peaks[at] = if eight[at] > peaks[at] {
                eight[at]
            } else {
                peaks[at]
            };
        }
    }
    let peak = peaks.iter().chain(rest.iter());
    let peak = peak.fold(f32::NEG_INFINITY, |peak, number| peak.max(*number));
    let mut sums = [0.0; 8];
    for eight in eights.iter_mut() {
        for at in 0..8 {
            eight[at] = exp((eight[at] - peak) * scale);
            sums[at] += eight[at];
        }
    }
    let mut sum = total(sums);
    for number in rest.iter_mut() {
        *number = exp((*number - peak) * scale);
        sum += *number;
    }
    for number in numbers {
        *number /= sum;
    }
}
