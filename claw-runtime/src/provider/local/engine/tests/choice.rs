//! The choice among tokens.

use crate::provider::local::engine::sample::Sampler;

const NONE: f32 = f32::NEG_INFINITY;

fn counts(mut sampler: Sampler, logits: &[f32]) -> Vec<usize> {
    let mut counts = vec![0; logits.len()];
    for _ in 0..10_000 {
        counts[sampler.choose(logits).unwrap() as usize] += 1;
    }
    counts
}

#[test]
fn at_0_the_first_of_the_likeliest_is_taken() {
    for temperature in [0.0, -1.0, f32::NAN] {
        let mut sampler = Sampler::new(temperature, 1.0, 7);
        assert_eq!(sampler.choose(&[0.5, 2.0, 2.0, f32::NAN]), Some(1));
        assert_eq!(sampler.choose(&[NONE, NONE, -9.0]), Some(2));
        assert_eq!(sampler.choose(&[NONE, f32::NAN]), None);
        assert_eq!(sampler.choose(&[]), None);
    }
}

#[test]
fn tokens_come_as_often_as_they_are_likely() {
    // Odds 4 : 2 : 1, and one that may not come.
    let logits = [4_f32.ln(), 2_f32.ln(), 0.0, NONE];
    let found = counts(Sampler::new(1.0, 1.0, 1), &logits);
    for (found, right) in found.iter().zip([5714, 2857, 1429, 0]) {
        assert!(
            found.abs_diff(right) < 200,
            "{found}, expected about {right}"
        );
    }
    // At half the temperature odds are squared: 16 : 4 : 1.
    let found = counts(Sampler::new(0.5, 1.0, 1), &logits);
    for (found, right) in found.iter().zip([7619, 1905, 476, 0]) {
        assert!(
            found.abs_diff(right) < 200,
            "{found}, expected about {right}"
        );
    }
}

#[test]
fn the_unlikely_rest_is_left_out() {
    let logits = [0.0, 4_f32.ln(), 2_f32.ln()];
    // 4 of 7 are enough for a half; 6 of 7 for 0.8.
    assert_eq!(counts(Sampler::new(1.0, 0.5, 3), &logits), [0, 10_000, 0]);
    let found = counts(Sampler::new(1.0, 0.8, 3), &logits);
    assert!(found[0] == 0 && found[1].abs_diff(6667) < 200, "{found:?}");
    assert_eq!(counts(Sampler::new(1.0, 0.0, 3), &logits), [0, 10_000, 0]);
}

#[test]
fn the_seed_decides() {
    let logits = [0.0; 100];
    let draw = |seed| {
        let mut sampler = Sampler::new(1.0, 1.0, seed);
        (0..20)
            .map(|_| sampler.choose(&logits).unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(draw(5), draw(5));
    assert_ne!(draw(5), draw(6));
}
