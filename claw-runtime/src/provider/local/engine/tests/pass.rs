//! The forward pass against the same done by hand, in double precision and without any memory.

use super::tiny::{CONTEXT, FEED, HEAD, HEADS, KEY_HEADS, LAYERS, Tiny, WIDTH};
use super::*;
use crate::provider::local::engine::memories::Reads;
use crate::provider::local::engine::model::Memory;

/// The logits after each token of a text.
struct ByHand<'a>(&'a Tiny);

impl ByHand<'_> {
    fn table(&self, name: &str) -> Vec<f64> {
        self.0
            .numbers(name)
            .iter()
            .map(|number| f64::from(*number))
            .collect()
    }

    fn times(&self, name: &str, numbers: &[f64]) -> Vec<f64> {
        let rows = self.table(&format!("{name}.weight"));
        let rows = rows.chunks(numbers.len());
        let products = rows.map(|row| row.iter().zip(numbers).map(|(a, b)| a * b).sum::<f64>());
        let bias = self.table(&format!("{name}.bias"));
        products
            .enumerate()
            .map(|(at, product)| product + bias.get(at).unwrap_or(&0.0))
            .collect()
    }

    fn norm(&self, name: &str, numbers: &[f64]) -> Vec<f64> {
        let weights = self.table(&format!("{name}.weight"));
        if weights.is_empty() {
            return numbers.to_vec();
        }
        let runs = numbers.chunks(weights.len());
        let normed = runs.flat_map(|run| {
            let mean = run.iter().map(|number| number * number).sum::<f64>() / run.len() as f64;
            let root = (mean + 1e-6).sqrt();
            run.iter()
                .zip(&weights)
                .map(move |(number, weight)| number / root * weight)
                .collect::<Vec<_>>()
        });
        normed.collect()
    }

    fn turn(&self, numbers: &mut [f64], place: usize) {
        for head in numbers.chunks_mut(HEAD) {
            for pair in 0..HEAD / 2 {
                let angle = place as f64 * 1000_f64.powf(-(2.0 * pair as f64) / HEAD as f64);
                let (first, second) = match self.0.family {
                    "llama" => (2 * pair, 2 * pair + 1),
                    _ => (pair, pair + HEAD / 2),
                };
                let (a, b) = (head[first], head[second]);
                head[first] = a * angle.cos() - b * angle.sin();
                head[second] = b * angle.cos() + a * angle.sin();
            }
        }
    }

    fn logits(&self, tokens: &[u32]) -> Vec<f64> {
        let embedding = self.table("token_embd.weight");
        let rows = tokens.iter().map(|token| {
            embedding
                .chunks(WIDTH)
                .nth(*token as usize)
                .unwrap()
                .to_vec()
        });
        let mut numbers: Vec<Vec<f64>> = rows.collect();
        for layer in 0..LAYERS {
            let name = |part: &str| format!("blk.{layer}.{part}");
            let (mut keys, mut values) = (Vec::new(), Vec::new());
            for (place, token) in numbers.iter_mut().enumerate() {
                let normed = self.norm(&name("attn_norm"), token);
                let mut query =
                    self.norm(&name("attn_q_norm"), &self.times(&name("attn_q"), &normed));
                let mut key =
                    self.norm(&name("attn_k_norm"), &self.times(&name("attn_k"), &normed));
                self.turn(&mut query, place);
                self.turn(&mut key, place);
                keys.push(key);
                values.push(self.times(&name("attn_v"), &normed));
                let mut mixed = Vec::new();
                for (head, query) in query.chunks(HEAD).enumerate() {
                    let from = head / (HEADS / KEY_HEADS) * HEAD;
                    let weights = keys.iter().map(|key: &Vec<f64>| {
                        let product: f64 = query.iter().zip(&key[from..]).map(|(a, b)| a * b).sum();
                        (product / (HEAD as f64).sqrt()).exp()
                    });
                    let weights: Vec<f64> = weights.collect();
                    let sum: f64 = weights.iter().sum();
                    mixed.extend((from..from + HEAD).map(|at| {
                        let parts = weights
                            .iter()
                            .zip(&values)
                            .map(|(weight, value)| weight * value[at]);
                        parts.sum::<f64>() / sum
                    }));
                }
                for (number, added) in token
                    .iter_mut()
                    .zip(self.times(&name("attn_output"), &mixed))
                {
                    *number += added;
                }
                let normed = self.norm(&name("ffn_norm"), token);
                let gate = self.times(&name("ffn_gate"), &normed);
                let up = self.times(&name("ffn_up"), &normed);
                let inner = gate
                    .iter()
                    .zip(up)
                    .map(|(gate, up)| gate / (1.0 + (-gate).exp()) * up);
                let inner: Vec<f64> = inner.collect();
                assert_eq!(inner.len(), FEED);
                for (number, added) in token.iter_mut().zip(self.times(&name("ffn_down"), &inner)) {
                    *number += added;
                }
            }
        }
        let last = self.norm("output_norm", numbers.last().unwrap());
        let name = if self.0.numbers("output.weight").is_empty() {
            "token_embd"
        } else {
            "output"
        };
        self.times(name, &last)
    }
}

fn assert_near(found: &[f32], right: &[f64]) {
    assert_eq!(found.len(), right.len());
    let span = right
        .iter()
        .fold(0.0_f64, |span, number| span.max(number.abs()));
    for (at, (found, right)) in found.iter().zip(right).enumerate() {
        let off = (f64::from(*found) - right).abs();
        assert!(off < span * 1e-3, "logit {at} is {found}, expected {right}");
    }
}

fn model(tiny: &Tiny, threads: usize) -> Model {
    let (_folder, path) = tiny.write();
    load(&path, NonZeroUsize::new(threads).unwrap()).unwrap()
}

fn read(model: &Model, memory: &mut Memory, tokens: &[u32]) -> Vec<f32> {
    let mut logits = Vec::new();
    model.read_on(memory, tokens, Some(&mut logits));
    logits
}

#[test]
fn logits_are_those_computed_by_hand() {
    for family in ["llama", "qwen2", "qwen3"] {
        let tiny = Tiny::new(family);
        let tokens = [104, 101, 259, 32, 7, 200, 258, 33];
        for threads in [1, 2] {
            let model = model(&tiny, threads);
            let found = read(&model, &mut Memory::default(), &tokens);
            assert_near(&found, &ByHand(&tiny).logits(&tokens));
        }
    }
}

#[test]
fn an_output_of_its_own_is_used() {
    let mut tiny = Tiny::new("llama");
    let rows = tiny.numbers("token_embd.weight").len() / WIDTH;
    let numbers = super::tiny::numbers(rows * WIDTH, &mut 99);
    tiny.tensors
        .push(("output.weight".to_owned(), rows, WIDTH, numbers));
    let found = read(&model(&tiny, 1), &mut Memory::default(), &[1, 2, 3]);
    assert_near(&found, &ByHand(&tiny).logits(&[1, 2, 3]));
}

#[test]
fn a_text_read_in_parts_or_again_from_a_cut_gives_the_same() {
    let tiny = Tiny::new("llama");
    let model = model(&tiny, 1);
    let tokens: Vec<u32> = (0..150).map(|at| at * 7 % 250).collect();
    let mut memory = Memory::default();
    let whole = read(&model, &mut memory, &tokens);
    assert_near(&whole, &ByHand(&tiny).logits(&tokens));

    let mut parts = Memory::default();
    for part in [&tokens[..1], &tokens[1..70], &tokens[70..149]] {
        model.read_on(&mut parts, part, None);
    }
    assert_eq!(read(&model, &mut parts, &tokens[149..]), whole);

    let mut copy = model.first(&memory, 100);
    assert_eq!(read(&model, &mut copy, &tokens[100..]), whole);
    model.cut(&mut memory, 3);
    assert_eq!(read(&model, &mut memory, &tokens[3..]), whole);
}

#[test]
fn a_whole_context_can_be_read() {
    let model = model(&Tiny::new("qwen3"), 2);
    let tokens: Vec<u32> = (0..CONTEXT as u32).map(|at| at % 256).collect();
    let logits = read(&model, &mut Memory::default(), &tokens);
    assert!(logits.iter().all(|logit| logit.is_finite()));
}
