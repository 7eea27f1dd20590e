//! The innermost loops against plain arithmetic.

use proptest::prelude::*;

use crate::provider::local::engine::kernel::{self, BLOCK, Scaled};

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

    /// Whole numbers and powers of two, so that the right answer has no rounding: extremes fit, each token gets its own.
    #[test]
    fn products_are_exact(
        rows in prop::collection::vec((any::<[i8; BLOCK]>(), -3_i32..3), 6),
        tokens in prop::collection::vec((any::<[i16; BLOCK]>(), -3_i32..3), 2..20),
    ) {
        // Two blocks a row, two a token.
        let quants: Vec<_> = rows.iter().map(|(quants, _)| *quants).collect();
        let scales: Vec<_> = rows.iter().map(|(_, scale)| 2_f32.powi(*scale)).collect();
        let others: Vec<_> = tokens.iter().map(|(quants, _)| *quants).collect();
        let other_scales: Vec<_> = tokens.iter().map(|(_, scale)| 2_f32.powi(*scale)).collect();
        let rows = quants.chunks_exact(2).zip(scales.chunks_exact(2)).map(|(quants, scales)| Scaled { quants, scales });
        let tokens: Vec<_> = others.chunks_exact(2).zip(other_scales.chunks_exact(2)).map(|(quants, scales)| Scaled { quants, scales }).collect();
        let mut out = vec![0.0; 3 * tokens.len()];
        kernel::products(rows, &tokens, &mut out);
        for (row, out) in out.chunks(tokens.len()).enumerate() {
            for (at, (token, found)) in tokens.iter().zip(out).enumerate() {
                let mut right = 0.0_f64;
                let mut size = 0.0_f64;
                for block in 0..2 {
                    let scale = f64::from(scales[2 * row + block]) * f64::from(token.scales[block]);
                    for (a, b) in quants[2 * row + block].iter().zip(token.quants[block]) {
                        right += f64::from(*a) * f64::from(b) * scale;
                        size += (f64::from(*a) * f64::from(b) * scale).abs();
                    }
                }
                prop_assert!((f64::from(*found) - right).abs() <= size * 1e-6, "row {row}, token {at}: {found}, expected {right}");
            }
        }
    }
}
