//! The innermost loops against plain arithmetic.

use proptest::prelude::*;

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

    /// Against sums in double precision: extremes fit, each token gets its own, with 8 bits and with 4.
    #[test]
    fn products_are_right(
        rows in prop::collection::vec((any::<[i8; BLOCK]>(), any::<[u8; 16]>(), -3_i32..3), 14),
        tokens in prop::collection::vec((any::<[i16; BLOCK]>(), -3_i32..3), 2..20),
    ) {
        // Two blocks a row, two a token.
        let scales: Vec<_> = rows.iter().map(|(.., scale)| 2_f32.powi(*scale)).collect();
        let least: Vec<_> = scales.iter().map(|scale| -5.0 * scale).collect();
        let eights: Vec<Eight> = rows.iter().map(|(eight, ..)| *eight).collect();
        let fours: Vec<Four> = rows.iter().map(|(_, four, _)| *four).collect();
        let wide = |at: usize| eights[at].map(|quant| f64::from(quant) * f64::from(scales[at]));
        let plain: Vec<_> = (0..rows.len()).map(wide).collect();
        check(&eights, &scales, &[], &plain, &tokens)?;
        let narrow = |at: usize| {
            std::array::from_fn(|place| {
                let byte = fours[at][place % 16];
                let quant = if place < 16 { byte % 16 } else { byte / 16 };
                f64::from(quant) * f64::from(scales[at]) + f64::from(least[at])
            })
        };
        let plain: Vec<_> = (0..rows.len()).map(narrow).collect();
        check(&fours, &scales, &least, &plain, &tokens)?;
    }
}

fn check<B: Block>(
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
    let row = |at: usize| Row {
        blocks: &blocks[2 * at..2 * at + 2],
        scales: &scales[2 * at..2 * at + 2],
        least: least.get(2 * at..2 * at + 2).unwrap_or_default(),
    };
    let sides = (0..tokens.len() / 2).map(|at| Token {
        quants: &quants[2 * at..2 * at + 2],
        scales: &token_scales[2 * at..2 * at + 2],
        sums: &sums[2 * at..2 * at + 2],
    });
    let sides: Vec<_> = sides.collect();
    let mut out = vec![0.0; blocks.len() / 2 * sides.len()];
    kernel::products(row, &sides, &mut out);
    for (at, found) in out.iter().enumerate() {
        let (row, token) = (at / sides.len(), at % sides.len());
        let products = (0..2 * BLOCK).map(|place| {
            let (block, place) = (place / BLOCK, place % BLOCK);
            let number = f64::from(quants[2 * token + block][place]);
            plain[2 * row + block][place] * number * f64::from(token_scales[2 * token + block])
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
