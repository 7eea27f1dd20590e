//! Attention: a token looks back at the keys of those before it, and takes of their values by how well they match.
//!
//! Keys are walked in tiles that stay in the nearest cache while every head and token that needs them is served.

use std::slice::{ChunksExact, ChunksExactMut};

use pulp::{Arch, NullaryFnOnce, Simd, WithSimd};

use super::kernel::{exp, shrink, total};

/// Keys that are looked at together.
const TILE: usize = 32;
/// Vectors of sums that stay in registers.
const SUMS: usize = 8;

/// How the numbers of a token's keys are divided, and those of its values.
#[derive(Clone, Copy)]
pub(super) struct Heads {
    pub count: usize,
    /// Numbers of each.
    pub size: usize,
}

/// What is kept of the keys of the tokens read so far, or of their values: 16 bits a number, with a scale for each head.
///
/// A long text's keys come from memory for every token that is added to it, so half the bytes are half the wait; and more
/// is kept of a number than in a float of 16 bits.
#[derive(Default)]
pub(super) struct Side {
    quants: Vec<i16>,
    scales: Vec<f32>,
}

impl Side {
    /// Returns how many bytes are kept of a token.
    pub(super) fn token_bytes(heads: Heads) -> usize {
        heads.count * (heads.size * size_of::<i16>() + size_of::<f32>())
    }

    /// Adds the numbers of some tokens.
    pub(super) fn push(&mut self, numbers: &[f32], heads: Heads) {
        let (quants, scales) = (self.quants.len(), self.scales.len());
        self.quants.resize(quants + numbers.len(), 0);
        self.scales.resize(scales + numbers.len() / heads.size, 0.0);
        Arch::new().dispatch(Push {
            numbers: numbers.chunks_exact(heads.size),
            quants: self.quants[quants..].chunks_exact_mut(heads.size),
            scales: &mut self.scales[scales..],
        });
    }

    /// Returns a copy of the first `tokens`.
    pub(super) fn first(&self, tokens: usize, heads: Heads) -> Self {
        Self {
            quants: self.quants[..tokens * heads.count * heads.size].to_vec(),
            scales: self.scales[..tokens * heads.count].to_vec(),
        }
    }

    /// Forgets all but the first `tokens`.
    pub(super) fn cut(&mut self, tokens: usize, heads: Heads) {
        self.quants.truncate(tokens * heads.count * heads.size);
        self.scales.truncate(tokens * heads.count);
    }

    /// Writes one head of the tokens from `first` on, as many as there are rooms for, as plain numbers.
    #[inline(always)]
    fn widen(&self, heads: Heads, head: usize, first: usize, out: &mut [f32]) {
        let width = heads.count * heads.size;
        let rows = self.quants[first * width..].chunks_exact(width);
        let scales = self.scales[first * heads.count..].chunks_exact(heads.count);
        for ((row, scales), out) in rows.zip(scales).zip(out.chunks_exact_mut(heads.size)) {
            let quants = &row[head * heads.size..][..heads.size];
            for (out, quant) in out.iter_mut().zip(quants) {
                *out = f32::from(*quant) * scales[head];
            }
        }
    }
}

struct Push<'a> {
    numbers: ChunksExact<'a, f32>,
    quants: ChunksExactMut<'a, i16>,
    scales: &'a mut [f32],
}

impl NullaryFnOnce for Push<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let runs = self.numbers.zip(self.quants);
        for ((numbers, quants), scale) in runs.zip(self.scales) {
            *scale = shrink(numbers, quants);
        }
    }
}

/// What one head looks at.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub keys: &'a Side,
    pub values: &'a Side,
    pub heads: Heads,
    /// Which of them it is.
    pub head: usize,
}

/// A token that looks back: the queries of the heads that share the keys, and the room for what each takes.
pub(super) struct Look<'a> {
    pub queries: &'a [f32],
    pub out: &'a mut [f32],
    /// Tokens it sees, its own included; 1 at least.
    pub tokens: usize,
}

/// Serves `looks`; `room` is kept between calls.
pub(super) fn attend(seen: Seen<'_>, looks: &mut [Look<'_>], room: &mut Vec<f32>) {
    Arch::new().dispatch(Attend { seen, looks, room });
}

struct Attend<'a, 'l> {
    seen: Seen<'a>,
    looks: &'a mut [Look<'l>],
    room: &'a mut Vec<f32>,
}

impl WithSimd for Attend<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Seen {
            keys,
            values,
            heads,
            head,
        } = self.seen;
        let size = heads.size;
        let most = self.looks.iter().map(|look| look.tokens).max();
        let most = most.unwrap_or_default();
        let rows = self.looks.iter().map(|look| look.queries.len() / size);
        let room = rows.sum::<usize>() * most;
        self.room.resize(room + TILE * size, 0.0);
        let (weights, tile) = self.room.split_at_mut(room);
        for first in (0..most).step_by(TILE) {
            let tile = &mut tile[..(most - first).min(TILE) * size];
            keys.widen(heads, head, first, tile);
            let mut rows = weights.chunks_exact_mut(most);
            for look in self.looks.iter() {
                let place = first..look.tokens.min(first + TILE).max(first);
                for (query, row) in look.queries.chunks_exact(size).zip(&mut rows) {
                    let row = &mut row[place.clone()];
                    match_keys(simd, query, tile, row);
                }
            }
        }
        let scale = 1.0 / (size as f32).sqrt();
        let mut rows = weights.chunks_exact_mut(most);
        for look in self.looks.iter_mut() {
            look.out.fill(0.0);
            for row in (&mut rows).take(look.queries.len() / size) {
                softmax(&mut row[..look.tokens], scale);
            }
        }
        for first in (0..most).step_by(TILE) {
            let tile = &mut tile[..(most - first).min(TILE) * size];
            values.widen(heads, head, first, tile);
            let mut rows = weights.chunks_exact(most);
            for look in self.looks.iter_mut() {
                let place = first..look.tokens.min(first + TILE).max(first);
                for (out, row) in look.out.chunks_exact_mut(size).zip(&mut rows) {
                    add_values(simd, &row[place.clone()], tile, out);
                }
            }
        }
    }
}

/// Writes the products of `query` with each of the keys.
#[inline(always)]
fn match_keys<S: Simd>(simd: S, query: &[f32], keys: &[f32], out: &mut [f32]) {
    let keys = keys.chunks_exact(query.len());
    let (query, query_rest) = S::as_simd_f32s(query);
    let (twos, one) = query.as_chunks::<2>();
    for (key, out) in keys.zip(out) {
        let (key, key_rest) = S::as_simd_f32s(key);
        let (key_twos, key_one) = key.as_chunks::<2>();
        let mut sums = [simd.splat_f32s(0.0); 2];
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

/// Adds the values to `out`, each times its weight.
#[inline(always)]
fn add_values<S: Simd>(simd: S, weights: &[f32], values: &[f32], out: &mut [f32]) {
    let values = values.chunks_exact(out.len());
    let (out, out_rest) = S::as_mut_simd_f32s(out);
    let mut parts = out.chunks_exact_mut(SUMS);
    let mut at = 0;
    for out in &mut parts {
        let mut sums = [simd.splat_f32s(0.0); SUMS];
        sums.copy_from_slice(out);
        for (value, weight) in values.clone().zip(weights) {
            let (value, _) = S::as_simd_f32s(&value[at..at + SUMS * S::F32_LANES]);
            let weight = simd.splat_f32s(*weight);
            for (sum, value) in sums.iter_mut().zip(value) {
                *sum = simd.mul_add_e_f32s(weight, *value, *sum);
            }
        }
        out.copy_from_slice(&sums);
        at += SUMS * S::F32_LANES;
    }
    for out in parts.into_remainder() {
        for (value, weight) in values.clone().zip(weights) {
            let (value, _) = S::as_simd_f32s(&value[at..at + S::F32_LANES]);
            *out = simd.mul_add_e_f32s(simd.splat_f32s(*weight), value[0], *out);
        }
        at += S::F32_LANES;
    }
    for out in out_rest {
        for (value, weight) in values.clone().zip(weights) {
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
