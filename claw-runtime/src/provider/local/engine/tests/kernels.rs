//! The innermost loops against plain arithmetic.

use proptest::prelude::*;

use crate::provider::local::engine::attend::{Heads, Look, Seen, Side, attend};
use crate::provider::local::engine::kernel::{self, BLOCK, Block, Eight, Four, Row, Token};

#[test]
fn powers_of_e_are_right_to_the_last_bits() {
    for step in -8700..=8800 {
        let x = step as f32 / 100.0;
        let right = f64::from(x).exp();
        let off = (f64::from(kernel::exp(x)) / right - 1.0).abs();
        assert!(off < 4e-7, "e^{x}: {}, expected {right}", kernel::exp(x));
    }
    assert!(kernel::exp(f32::NEG_INFINITY) < 1e-37);
    assert_eq!(kernel::exp(0.0), 1.0);
}

#[test]
fn what_is_not_finite_becomes_zeros() {
    for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut numbers = [1.0; 2 * BLOCK];
        numbers[BLOCK + 5] = odd;
        let (mut quants, mut scales) = ([[0_i8; BLOCK]; 2], [0.0; 2]);
        kernel::quantise(&numbers, &mut quants, &mut scales);
        assert_eq!(
            (quants, scales),
            ([[127; BLOCK], [0; BLOCK]], [1.0 / 127.0, 0.0])
        );
    }
}

proptest! {
    #[test]
    fn a_number_is_off_by_half_a_step_at_most(numbers in prop::collection::vec(-1e6_f32..1e6, BLOCK)) {
        let (mut quants, mut scales) = ([[0_i8; BLOCK]], [0.0]);
        kernel::quantise(&numbers, &mut quants, &mut scales);
        for (number, quant) in numbers.iter().zip(quants[0]) {
            let off = (f32::from(quant) * scales[0] - number).abs();
            prop_assert!(off <= scales[0] * 0.5001, "{number} became {quant} × {}", scales[0]);
        }
    }

    /// Against sums in double precision: extremes fit, each token gets its own, with 8 bits and with 4, in rows of any
    /// length.
    #[test]
    fn products_are_right(
        width in 1_usize..20,
        rows in prop::collection::vec((any::<[i8; BLOCK]>(), any::<[u8; 16]>(), -3_i32..3), 7 * 19),
        tokens in prop::collection::vec((any::<[i16; BLOCK]>(), -3_i32..3), 9 * 19),
        count in 1_usize..=9,
    ) {
        let rows = &rows[..7 * width];
        let tokens = &tokens[..count * width];
        let scales: Vec<_> = rows.iter().map(|(.., scale)| 2_f32.powi(*scale)).collect();
        let least: Vec<_> = scales.iter().map(|scale| -5.0 * scale).collect();
        let eights: Vec<Eight> = rows.iter().map(|(eight, ..)| *eight).collect();
        let fours: Vec<Four> = rows.iter().map(|(_, four, _)| *four).collect();
        let wide = |at: usize| eights[at].map(|quant| f64::from(quant) * f64::from(scales[at]));
        let plain: Vec<_> = (0..rows.len()).map(wide).collect();
        check(width, &eights, &scales, &[], &plain, tokens)?;
        let narrow = |at: usize| {
            std::array::from_fn(|place| {
                let byte = fours[at][place % 16];
                let quant = if place < 16 { byte % 16 } else { byte / 16 };
                f64::from(quant) * f64::from(scales[at]) + f64::from(least[at])
            })
        };
        let plain: Vec<_> = (0..rows.len()).map(narrow).collect();
        check(width, &fours, &scales, &least, &plain, tokens)?;
    }

    /// Against double precision, for heads of any size, any number of them on one key head, and tokens of a prompt that see
    /// unlike many. Of numbers below 2, 15 bits are kept: a score is off by `√90 · 2 · 2 / 65534` at most, a weight by
    /// twice that, a sum of values by twice as much again.
    #[test]
    fn looks_back_are_right(
        size in 1_usize..90,
        shared in 1_usize..4,
        heads in 1_usize..3,
        before in 0_usize..80,
        count in 1_usize..10,
        seed: u64,
    ) {
        let mut state = seed;
        let mut numbers = |count: usize| -> Vec<f32> {
            let number = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 40) as f32 / (1 << 22) as f32 - 2.0
            };
            std::iter::repeat_with(number).take(count).collect()
        };
        let (stride, seen) = (heads * size, before + count);
        let (keys, values) = (numbers(seen * stride), numbers(seen * stride));
        let queries = numbers(count * shared * size);
        let mut out = vec![f32::NAN; queries.len()];
        let at = (heads - 1) * size;
        let sides = queries.chunks(shared * size).zip(out.chunks_mut(shared * size));
        let looks = sides.enumerate().map(|(token, (queries, out))| Look {
            queries,
            out,
            tokens: before + token + 1,
        });
        let mut looks: Vec<_> = looks.collect();
        let layout = Heads { count: heads, size };
        let mut sides = [Side::default(), Side::default()];
        for (side, numbers) in sides.iter_mut().zip([&keys, &values]) {
            side.push(&numbers[..before * stride], layout);
            side.push(&numbers[before * stride..], layout);
        }
        let [kept_keys, kept_values] = &sides;
        let memory = Seen { keys: kept_keys, values: kept_values, heads: layout, head: heads - 1 };
        attend(memory, &mut looks, &mut vec![7.0; 3]);
        for (row, (query, found)) in queries.chunks(size).zip(out.chunks(size)).enumerate() {
            let part = |side: &[f32], token: usize, place: usize| f64::from(side[token * stride + at + place]);
            let tokens = before + row / shared + 1;
            let scores = (0..tokens).map(|token| {
                let products = (0..size).map(|place| f64::from(query[place]) * part(&keys, token, place));
                (products.sum::<f64>() / (size as f64).sqrt()).exp()
            });
            let scores: Vec<f64> = scores.collect();
            let sum: f64 = scores.iter().sum();
            for (place, found) in found.iter().enumerate() {
                let weighed = scores.iter().enumerate().map(|(token, score)| score * part(&values, token, place));
                let right = weighed.sum::<f64>() / sum;
                prop_assert!((f64::from(*found) - right).abs() < 3e-3, "{found}, expected {right}");
            }
        }
    }
}

fn check<B: Block>(
    width: usize,
    blocks: &[B],
    scales: &[f32],
    least: &[f32],
    plain: &[[f64; BLOCK]],
    tokens: &[([i16; BLOCK], i32)],
) -> Result<(), TestCaseError> {
    let quants: Vec<_> = tokens.iter().map(|(quants, _)| *quants).collect();
    let token_scales: Vec<_> = tokens.iter().map(|(_, scale)| 2_f32.powi(*scale)).collect();
    let sums = quants
        .iter()
        .zip(&token_scales)
        .map(|(quants, scale)| quants.iter().map(|quant| f32::from(*quant)).sum::<f32>() * scale);
    let sums: Vec<_> = sums.collect();
    let place = |at: usize| at * width..(at + 1) * width;
    let row = |at: usize| Row {
        blocks: &blocks[place(at)],
        scales: &scales[place(at)],
        least: least.get(place(at)).unwrap_or_default(),
    };
    let sides = (0..tokens.len() / width).map(|at| Token {
        quants: &quants[place(at)],
        scales: &token_scales[place(at)],
        sums: &sums[place(at)],
    });
    let sides: Vec<_> = sides.collect();
    let mut out = vec![0.0; blocks.len() / width * sides.len()];
    kernel::products(row, &sides, &mut out);
    for (at, found) in out.iter().enumerate() {
        let (row, token) = (at / sides.len(), at % sides.len());
        let products = (0..width * BLOCK).map(|place| {
            let (block, place) = (place / BLOCK, place % BLOCK);
            let number = f64::from(quants[width * token + block][place]);
            plain[width * row + block][place]
                * number
                * f64::from(token_scales[width * token + block])
        });
        let (right, size) = products.fold((0.0, 0.0), |(sum, size), product| {
            (sum + product, size + product.abs())
        });
        let off = (f64::from(*found) - right).abs();
        prop_assert!(
            off <= size * 1e-6,
            "row {row}, token {token}: {found}, expected {right}"
        );
    }
    Ok(())
}
