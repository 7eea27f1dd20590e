//! The forward pass of the Llama family: Llama, Qwen 2 and Qwen 3.
//!
//! A token's numbers pass through layers; in each it looks back at the tokens before it (attention) and is worked on
//! alone. What a layer needs of earlier tokens is kept in a [`Memory`] that can be cut, so a prompt that goes on from
//! an earlier one is read from where they differ.

use std::io::{Read, Seek};
use std::ops::Range;

use rayon::prelude::*;

use super::attend::{Look, Seen, Side, attend};
use super::gguf::{Fault, Gguf};
use super::kernel;
use super::matrix::{Activations, Matrix};
use super::memories::Reads;
use super::shape::Shape;
use super::threads::Threads;

/// Tokens of a prompt that look back together.
const LOOKS: usize = 8;

/// The weights of one model.
pub(super) struct Model {
    shape: Shape,
    embedding: Matrix,
    layers: Vec<Layer>,
    norm: Vec<f32>,
    /// `None` where the embedding serves for it.
    output: Option<Matrix>,
    /// What each pair of a head's numbers is turned by from one token to the next.
    turns: Vec<f32>,
    threads: Threads,
}

struct Layer {
    attention_norm: Vec<f32>,
    query: Linear,
    key: Linear,
    value: Linear,
    query_norm: Option<Vec<f32>>,
    key_norm: Option<Vec<f32>>,
    output: Linear,
    feed_norm: Vec<f32>,
    gate: Matrix,
    up: Matrix,
    down: Matrix,
}

struct Linear {
    weights: Matrix,
    bias: Option<Vec<f32>>,
}

/// What the layers keep of the tokens read so far.
#[derive(Default)]
pub(super) struct Memory {
    layers: Vec<[Side; 2]>,
    tokens: usize,
}

impl Reads for Model {
    type Memory = Memory;

    fn on_threads<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.threads.run(work)
    }

    fn read_on(&self, memory: &mut Memory, tokens: &[u32], logits: Option<&mut Vec<f32>>) {
        self.threads.run(|| self.pass(memory, tokens, logits));
    }

    fn first(&self, memory: &Memory, tokens: usize) -> Memory {
        let tokens = tokens.min(memory.tokens);
        let side = |side: &Side| side.first(tokens, self.shape.sides());
        let layers = memory.layers.iter();
        Memory {
            layers: layers.map(|sides| sides.each_ref().map(side)).collect(),
            tokens,
        }
    }

    fn cut(&self, memory: &mut Memory, tokens: usize) {
        memory.tokens = memory.tokens.min(tokens);
        for side in memory.layers.iter_mut().flatten() {
            side.cut(memory.tokens, self.shape.sides());
        }
    }
}

/// Room for what is computed on the way, kept between passes.
#[derive(Default)]
struct Scratch {
    activations: Activations,
    normed: Vec<f32>,
    query: Vec<f32>,
    key: Vec<f32>,
    value: Vec<f32>,
    mixed: Vec<f32>,
    gate: Vec<f32>,
    up: Vec<f32>,
    added: Vec<f32>,
}

impl Model {
    /// Reads the weights.
    pub(super) fn read(
        file: &mut (impl Read + Seek + Send),
        gguf: &Gguf,
        shape: Shape,
        threads: Threads,
    ) -> Result<Self, Fault> {
        let mut source = Source {
            file,
            gguf,
            threads: &threads,
        };
        let width = shape.width;
        let embedding = source.matrix("token_embd.weight", shape.vocabulary, width)?;
        let layers = (0..shape.layers)
            .map(|at| source.layer(at, &shape))
            .collect::<Result<_, _>>()?;
        let norm = source.vector("output_norm.weight", width)?;
        let tied = !gguf.tensors.contains_key("output.weight");
        let output = (!tied).then(|| source.matrix("output.weight", shape.vocabulary, width));
        let output = output.transpose()?;
        let turns = source.turns(&shape)?;
        Ok(Self {
            shape,
            embedding,
            layers,
            norm,
            output,
            turns,
            threads,
        })
    }

    fn pass(&self, memory: &mut Memory, tokens: &[u32], logits: Option<&mut Vec<f32>>) {
        let width = self.shape.width;
        memory
            .layers
            .resize_with(self.layers.len(), Default::default);
        let mut scratch = Scratch::default();
        let mut numbers = vec![0.0; tokens.len() * width];
        for (token, row) in tokens.iter().zip(numbers.chunks_exact_mut(width)) {
            self.embedding.row(*token as usize, row);
        }
        for (layer, kept) in self.layers.iter().zip(&mut memory.layers) {
            self.attention(
                layer,
                kept,
                memory.tokens,
                tokens.len(),
                &mut numbers,
                &mut scratch,
            );
            self.feed(layer, tokens.len(), &mut numbers, &mut scratch);
        }
        memory.tokens += tokens.len();
        let Some(logits) = logits else { return };
        let last = &numbers[numbers.len() - width..];
        norm(last, &self.norm, self.shape.epsilon, &mut scratch.normed);
        scratch.activations.set(1, &scratch.normed);
        let output = self.output.as_ref().unwrap_or(&self.embedding);
        output.times(&scratch.activations, &self.threads, logits);
    }

    fn attention(
        &self,
        layer: &Layer,
        [keys, values]: &mut [Side; 2],
        before: usize,
        count: usize,
        numbers: &mut [f32],
        scratch: &mut Scratch,
    ) {
        let shape = &self.shape;
        norm(
            numbers,
            &layer.attention_norm,
            shape.epsilon,
            &mut scratch.normed,
        );
        scratch.activations.set(count, &scratch.normed);
        layer
            .query
            .times(&scratch.activations, &self.threads, &mut scratch.query);
        layer
            .key
            .times(&scratch.activations, &self.threads, &mut scratch.key);
        layer
            .value
            .times(&scratch.activations, &self.threads, &mut scratch.value);
        for (weights, side) in [
            (&layer.query_norm, &mut scratch.query),
            (&layer.key_norm, &mut scratch.key),
        ] {
            if let Some(weights) = weights {
                norm(side, weights, shape.epsilon, &mut scratch.normed);
                std::mem::swap(side, &mut scratch.normed);
            }
        }
        self.turn(&mut scratch.query, before, shape.heads);
        self.turn(&mut scratch.key, before, shape.key_heads);
        keys.push(&scratch.key, shape.sides());
        values.push(&scratch.value, shape.sides());

        scratch.mixed.resize(scratch.query.len(), 0.0);
        let (keys, values) = (&*keys, &*values);
        let shared = shape.heads / shape.key_heads * shape.head;
        // What the tokens from `first` on take by some of the key heads; `query` and `out` have the numbers of those.
        let part = |first: usize, heads: Range<usize>, query: &[f32], out: &mut [f32]| {
            let mut room = Vec::new();
            let width = heads.len() * shared;
            for (place, head) in heads.enumerate() {
                let place = place * shared..(place + 1) * shared;
                let seen = Seen {
                    keys,
                    values,
                    heads: shape.sides(),
                    head,
                };
                let tokens = query.chunks_exact(width).zip(out.chunks_exact_mut(width));
                let looks = tokens.enumerate().map(|(at, (query, out))| Look {
                    queries: &query[place.clone()],
                    out: &mut out[place.clone()],
                    tokens: before + first + at + 1,
                });
                attend(seen, &mut looks.collect::<Vec<_>>(), &mut room);
            }
        };
        // As many numbers are looked at as make a second thread worth waking.
        let looked = count * (before + count) * shape.query_width();
        let many = looked > 1 << 18 && self.threads.count() > 1;
        let (query, out) = (&scratch.query, &mut scratch.mixed);
        match count {
            1 if many => query
                .par_chunks(shared)
                .zip(out.par_chunks_mut(shared))
                .enumerate()
                .for_each(|(head, (query, out))| part(0, head..head + 1, query, out)),
            _ if many => query
                .par_chunks(LOOKS * shape.query_width())
                .zip(out.par_chunks_mut(LOOKS * shape.query_width()))
                .enumerate()
                .for_each(|(at, (query, out))| part(at * LOOKS, 0..shape.key_heads, query, out)),
            _ => part(0, 0..shape.key_heads, query, out),
        }
        scratch.activations.set(count, &scratch.mixed);
        layer
            .output
            .times(&scratch.activations, &self.threads, &mut scratch.added);
        add(numbers, &scratch.added);
    }

    fn feed(&self, layer: &Layer, count: usize, numbers: &mut [f32], scratch: &mut Scratch) {
        norm(
            numbers,
            &layer.feed_norm,
            self.shape.epsilon,
            &mut scratch.normed,
        );
        scratch.activations.set(count, &scratch.normed);
        layer
            .gate
            .times(&scratch.activations, &self.threads, &mut scratch.gate);
        layer
            .up
            .times(&scratch.activations, &self.threads, &mut scratch.up);
        kernel::gated(&mut scratch.gate, &scratch.up);
        scratch.activations.set(count, &scratch.gate);
        layer
            .down
            .times(&scratch.activations, &self.threads, &mut scratch.added);
        add(numbers, &scratch.added);
    }

    /// Turns pairs of each head's numbers by an angle that grows with the token's place.
    fn turn(&self, numbers: &mut [f32], before: usize, heads: usize) {
        let (head, pairs) = (self.shape.head, self.turns.len());
        for (at, token) in numbers.chunks_exact_mut(heads * head).enumerate() {
            let angles = self
                .turns
                .iter()
                .map(|turn| (turn * (before + at) as f32).sin_cos());
            let angles: Vec<(f32, f32)> = angles.collect();
            for head in token.chunks_exact_mut(head) {
                for (pair, (sin, cos)) in angles.iter().enumerate() {
                    let (first, second) = match self.shape.neighbours {
                        true => (2 * pair, 2 * pair + 1),
                        false => (pair, pair + pairs),
                    };
                    let (a, b) = (head[first], head[second]);
                    head[first] = a * cos - b * sin;
                    head[second] = a * sin + b * cos;
                }
            }
        }
    }
}

impl Linear {
    fn times(&self, activations: &Activations, threads: &Threads, out: &mut Vec<f32>) {
        self.weights.times(activations, threads, out);
        if let Some(bias) = &self.bias {
            for token in out.chunks_exact_mut(bias.len()) {
                add(token, bias);
            }
        }
    }
}

fn add(numbers: &mut [f32], others: &[f32]) {
    for (number, other) in numbers.iter_mut().zip(others) {
        *number += other;
    }
}

/// Divides each run of as many numbers as there are weights by the root of its mean square, and weighs it.
fn norm(numbers: &[f32], weights: &[f32], epsilon: f32, out: &mut Vec<f32>) {
    out.clear();
    for run in numbers.chunks_exact(weights.len()) {
        let square: f32 = run.iter().map(|number| number * number).sum();
        let scale = 1.0 / (square / run.len() as f32 + epsilon).sqrt();
        out.extend(
            run.iter()
                .zip(weights)
                .map(|(number, weight)| number * scale * weight),
        );
    }
}

/// Takes tensors out of the file by their names.
struct Source<'a, F> {
    file: &'a mut F,
    gguf: &'a Gguf,
    threads: &'a Threads,
}

impl<F: Read + Seek + Send> Source<'_, F> {
    fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<Matrix, Fault> {
        let tensor = self.gguf.tensor(name, rows, columns)?;
        Matrix::read(self.file, name, &tensor, self.threads)
    }

    fn vector(&mut self, name: &str, size: usize) -> Result<Vec<f32>, Fault> {
        let tensor = self.gguf.tensor(name, 1, size)?;
        tensor.plain(self.file, name)
    }

    fn find_vector(&mut self, name: &str, size: usize) -> Result<Option<Vec<f32>>, Fault> {
        let tensor = self.gguf.find(name, 1, size)?;
        tensor
            .map(|tensor| tensor.plain(self.file, name))
            .transpose()
    }

    fn linear(&mut self, name: &str, rows: usize, columns: usize) -> Result<Linear, Fault> {
        Ok(Linear {
            weights: self.matrix(&format!("{name}.weight"), rows, columns)?,
            bias: self.find_vector(&format!("{name}.bias"), rows)?,
        })
    }

    fn layer(&mut self, at: usize, shape: &Shape) -> Result<Layer, Fault> {
        let name = |part: &str| format!("blk.{at}.{part}");
        let (width, inner, feed) = (shape.width, shape.query_width(), shape.feed);
        Ok(Layer {
            attention_norm: self.vector(&name("attn_norm.weight"), width)?,
            query: self.linear(&name("attn_q"), inner, width)?,
            key: self.linear(&name("attn_k"), shape.key_width(), width)?,
            value: self.linear(&name("attn_v"), shape.key_width(), width)?,
            query_norm: self.find_vector(&name("attn_q_norm.weight"), shape.head)?,
            key_norm: self.find_vector(&name("attn_k_norm.weight"), shape.head)?,
            output: self.linear(&name("attn_output"), width, inner)?,
            feed_norm: self.vector(&name("ffn_norm.weight"), width)?,
            gate: self.matrix(&name("ffn_gate.weight"), feed, width)?,
            up: self.matrix(&name("ffn_up.weight"), feed, width)?,
            down: self.matrix(&name("ffn_down.weight"), width, feed)?,
        })
    }

    fn turns(&mut self, shape: &Shape) -> Result<Vec<f32>, Fault> {
        let pairs = shape.turned / 2;
        let factors = self.find_vector("rope_freqs.weight", pairs)?;
        let factors = factors.unwrap_or_else(|| vec![1.0; pairs]);
        let turn = |(at, factor): (usize, f32)| {
            let power = 2.0 * at as f32 / shape.turned as f32;
            shape.base.powf(-power) / factor / shape.stretch
        };
        Ok(factors.into_iter().enumerate().map(turn).collect())
    }
}
