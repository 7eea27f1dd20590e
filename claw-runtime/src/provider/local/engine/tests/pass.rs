//! The forward pass against the same done by hand, in double precision and without any memory.

use super::tiny::{CONTEXT, Tiny, WIDE, Written};
use super::*;
use crate::provider::local::engine::format::Format;
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
        let size = self.0.sizes.head;
        let factors = self.table("rope_freqs.weight");
        for head in numbers.chunks_mut(size) {
            for pair in 0..size / 2 {
                let angle = place as f64 * 1000_f64.powf(-(2.0 * pair as f64) / size as f64);
                let angle = angle / factors.get(pair).unwrap_or(&1.0);
                let (first, second) = match self.0.family {
                    "llama" => (2 * pair, 2 * pair + 1),
                    _ => (pair, pair + size / 2),
                };
                let (a, b) = (head[first], head[second]);
                head[first] = a * angle.cos() - b * angle.sin();
                head[second] = b * angle.cos() + a * angle.sin();
            }
        }
    }

    fn logits(&self, tokens: &[u32]) -> Vec<f64> {
        let sizes = self.0.sizes;
        let embedding = self.table("token_embd.weight");
        let rows = tokens.iter().map(|token| {
            embedding
                .chunks(sizes.width)
                .nth(*token as usize)
                .unwrap()
                .to_vec()
        });
        let mut numbers: Vec<Vec<f64>> = rows.collect();
        for layer in 0..sizes.layers {
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
                for (head, query) in query.chunks(sizes.head).enumerate() {
                    let from = head / (sizes.heads / sizes.key_heads) * sizes.head;
                    let weights = keys.iter().map(|key: &Vec<f64>| {
                        let product: f64 = query.iter().zip(&key[from..]).map(|(a, b)| a * b).sum();
                        (product / (sizes.head as f64).sqrt()).exp()
                    });
                    let weights: Vec<f64> = weights.collect();
                    let sum: f64 = weights.iter().sum();
                    mixed.extend((from..from + sizes.head).map(|at| {
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
                assert_eq!(inner.len(), sizes.feed);
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
    assert_within(found, right, 1e-3);
}

/// Compares logits; they may be off by this part of the largest.
fn assert_within(found: &[f32], right: &[f64], part: f64) {
    assert_eq!(found.len(), right.len());
    let span = right
        .iter()
        .fold(0.0_f64, |span, number| span.max(number.abs()));
    for (at, (found, right)) in found.iter().zip(right).enumerate() {
        let off = (f64::from(*found) - right).abs();
        assert!(off < span * part, "logit {at} is {found}, expected {right}");
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

fn own_output(tiny: &mut Tiny) {
    let width = tiny.sizes.width;
    let rows = tiny.numbers("token_embd.weight").len() / width;
    let numbers = super::tiny::numbers(rows * width, &mut 99);
    let output = ("output.weight".to_owned(), rows, width, numbers);
    tiny.tensors.push(output);
}

/// What has 4 bits is held to the last bit; what has another width is written anew with 8, which moves a weight by 1/254 of
/// the largest beside it at most.
#[test]
fn weights_of_every_format_give_the_logits_computed_by_hand() {
    let tokens = [104, 101, 259, 32, 7, 200, 258, 33];
    let all = (0..40).filter_map(Format::from_number);
    for format in all {
        let tiny = Tiny::of("llama", WIDE).in_formats(&[format]);
        let found = read(&model(&tiny, 1), &mut Memory::default(), &tokens);
        let part = if format.is_four() { 1e-3 } else { 2e-2 };
        assert_within(&found, &ByHand(&tiny).logits(&tokens), part);
    }
}

const MIXED: [Format; 5] = [
    Format::Q4K,
    Format::Q6K,
    Format::Q5K,
    Format::Q8_0,
    Format::Q3K,
];

/// A file of each family as they are spread: formats mixed, outputs of their own or not, frequencies given.
fn families() -> [Tiny; 3] {
    let mut llama = Tiny::of("llama", WIDE);
    own_output(&mut llama);
    let factors = (0..32).map(|at| 1.0 + at as f32 / 8.0).collect();
    let factors = ("rope_freqs.weight".to_owned(), 1, 32, factors);
    let mut llama = llama.in_formats(&MIXED);
    llama.tensors.push(factors);
    let qwen2 = Tiny::of("qwen2", WIDE).in_formats(&MIXED[1..]);
    let mut qwen3 = Tiny::of("qwen3", WIDE);
    own_output(&mut qwen3);
    let mut all = [llama, qwen2, qwen3.in_formats(&MIXED[..2])];
    for tiny in &mut all {
        // Else every token is as likely as the other.
        let norm = tiny.tensors.iter_mut();
        let norm = norm.filter(|(name, ..)| name == "output_norm.weight");
        norm.flat_map(|(.., numbers)| numbers)
            .for_each(|number| *number *= 12.0);
    }
    all
}

/// The likeliest tokens of these files and the logarithms of their likelihood by llama.cpp (b11434, `llama-server` with
/// `-ctk f32 -ctv f32 -fa off`, `/completion` with `n_probs`), written down once. It rounds what it multiplies weights with
/// to 8 bits, and we write all but 4 bits anew, so by a computation in double precision either is off by 0.1 or so.
#[test]
fn likelihoods_are_those_of_llama_cpp() {
    let tokens = [104, 101, 259, 32, 7, 200, 258, 33];
    let told = [
        [(70, -1.0197), (0, -2.0367), (159, -2.0556), (205, -3.3774)],
        [(142, -0.8800), (62, -2.3620), (39, -2.5326), (64, -2.7053)],
        [(177, -1.6141), (123, -1.9751), (5, -2.6129), (61, -2.6973)],
    ];
    for (tiny, told) in families().iter().zip(told) {
        let logits = read(&model(tiny, 1), &mut Memory::default(), &tokens);
        assert_within(&logits, &ByHand(tiny).logits(&tokens), 2e-2);
        let sum: f64 = logits.iter().map(|logit| f64::from(*logit).exp()).sum();
        for (token, right) in told {
            let found = f64::from(logits[token]) - sum.ln();
            let family = tiny.family;
            assert!(
                (found - right).abs() < 0.2,
                "{family}, {token}: {found}, expected {right}"
            );
        }
        let best = (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b]));
        assert_eq!(best, Some(told[0].0));
    }
}

/// As llama.cpp does (b11434, tried with three files of the same weights): a factor counts by either name, whether or not
/// its kind is said.
#[test]
fn places_are_stretched_by_the_factor_a_file_has() {
    let logits = |set: &[(&str, Written)]| {
        let set = set.iter().cloned();
        let tiny = set.fold(Tiny::new("llama"), |tiny, (key, value)| {
            tiny.set(key, value)
        });
        read(&model(&tiny, 1), &mut Memory::default(), &[1, 2, 3, 4])
    };
    let factor = || ("llama.rope.scaling.factor", Written::f32(4.0));
    let kind = |kind| ("llama.rope.scaling.type", Written::text(kind));
    let stretched = logits(&[kind("linear"), factor()]);
    assert_eq!(logits(&[factor()]), stretched);
    assert_eq!(
        logits(&[("llama.rope.scale_linear", Written::f32(4.0))]),
        stretched
    );
    let plain = logits(&[]);
    assert_eq!(logits(&[kind("none"), factor()]), plain);
    assert_ne!(plain, stretched);
}

#[test]
fn an_output_of_its_own_is_used() {
    let mut tiny = Tiny::new("llama");
    own_output(&mut tiny);
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
