//! Weights as they are held: 4 or 8 bits a number and a scale for every 32.
//!
//! Two formats for the many of files keep one kernel, and both of them fast. What a file has with 4 bits stays as it is,
//! to the last bit, since a token takes as long as its weights take to come from memory. The rest gets 8 bits: from
//! fewer that loses next to nothing, from more what Q8_0 loses.

use std::io::{Read, Seek, SeekFrom};

use rayon::prelude::*;

use super::gguf::{Fault, Tensor, fault};
use super::kernel::{self, BLOCK, Block, Eight, Four, Row, Token};
use super::threads::Threads;

/// Bytes of a tensor that are read at a time.
const SLAB: usize = 4 << 20;
/// Products of numbers below which a second thread costs more than it brings.
const GRAIN: usize = 1 << 17;

/// Rows whose products are turned at a time.
const STRIP: usize = 16;

/// A table of weights.
pub(super) enum Matrix {
    Eight(Table<Eight>),
    Four(Table<Four>),
}

/// A table of weights in one format.
pub(super) struct Table<B> {
    /// Blocks in a row.
    width: usize,
    blocks: Vec<B>,
    scales: Vec<f32>,
    /// Each block's least weight, where it is not 0.
    least: Vec<f32>,
}

/// The numbers of some tokens, ready to be multiplied with weights.
#[derive(Default)]
pub(super) struct Activations {
    tokens: usize,
    quants: Vec<[i16; BLOCK]>,
    scales: Vec<f32>,
    sums: Vec<f32>,
}

impl Activations {
    /// Takes the numbers of `tokens` tokens, one after the other.
    pub(super) fn set(&mut self, tokens: usize, numbers: &[f32]) {
        self.tokens = tokens;
        self.quants.resize(numbers.len() / BLOCK, [0; BLOCK]);
        self.scales.resize(numbers.len() / BLOCK, 0.0);
        kernel::quantise(numbers, &mut self.quants, &mut self.scales);
        self.sums.clear();
        let blocks = self.quants.iter().zip(&self.scales);
        self.sums.extend(blocks.map(|(quants, scale)| {
            let sum: i32 = quants.iter().map(|quant| i32::from(*quant)).sum();
            sum as f32 * scale
        }));
    }

    fn rows(&self) -> Vec<Token<'_>> {
        let width = (self.quants.len() / self.tokens.max(1)).max(1);
        let parts = self
            .quants
            .chunks_exact(width)
            .zip(self.scales.chunks_exact(width));
        let parts = parts.zip(self.sums.chunks_exact(width));
        let token = |((quants, scales), sums)| Token {
            quants,
            scales,
            sums,
        };
        parts.map(token).collect()
    }
}

impl Matrix {
    /// Returns how many bytes a tensor will take.
    pub(super) fn bytes(tensor: &Tensor) -> u64 {
        let block = match tensor.format.is_four() {
            true => size_of::<Four>() + 2 * size_of::<f32>(),
            false => size_of::<Eight>() + size_of::<f32>(),
        };
        tensor.rows as u64 * tensor.columns.div_ceil(BLOCK) as u64 * block as u64
    }

    /// Reads a tensor of a file.
    pub(super) fn read(
        file: &mut (impl Read + Seek),
        name: &str,
        tensor: &Tensor,
        threads: &Threads,
    ) -> Result<Self, Fault> {
        let (columns, format) = (tensor.columns, tensor.format);
        if columns % BLOCK != 0 {
            return Err(fault!(
                "tensor `{name}` has rows of {columns} numbers; expected a multiple of {BLOCK}"
            ));
        }
        if format.is_four() {
            let convert = |raw: &[u8], _: &mut [f32], part: Part<'_, Four>| {
                format.read_fours(raw, part.blocks, part.scales, part.least);
            };
            return Table::read(file, name, tensor, threads, convert).map(Self::Four);
        }
        let convert = |raw: &[u8], numbers: &mut [f32], part: Part<'_, Eight>| {
            format.read(raw, numbers);
            kernel::quantise(numbers, part.blocks, part.scales);
        };
        let mut table = Table::read(file, name, tensor, threads, convert)?;
        table.least = Vec::new();
        Ok(Self::Eight(table))
    }

    /// Multiplies each row with each token's numbers: `out` has the results of a token side by side.
    pub(super) fn times(&self, activations: &Activations, threads: &Threads, out: &mut Vec<f32>) {
        match self {
            Self::Eight(table) => table.times(activations, threads, out),
            Self::Four(table) => table.times(activations, threads, out),
        }
    }

    /// Writes the row `at` as plain numbers.
    pub(super) fn row(&self, at: usize, out: &mut [f32]) {
        match self {
            Self::Eight(table) => table.row(at, out),
            Self::Four(table) => table.row(at, out),
        }
    }
}

/// A row of a table that is being read.
struct Part<'a, B> {
    blocks: &'a mut [B],
    scales: &'a mut [f32],
    least: &'a mut [f32],
}

impl<B: Block> Table<B> {
    /// Reads a tensor; `convert` takes the bytes of a row, and has room for its plain numbers.
    fn read(
        file: &mut (impl Read + Seek),
        name: &str,
        tensor: &Tensor,
        threads: &Threads,
        convert: impl Fn(&[u8], &mut [f32], Part<'_, B>) + Sync,
    ) -> Result<Self, Fault> {
        let (rows, columns) = (tensor.rows, tensor.columns);
        let width = columns / BLOCK;
        let mut blocks = vec![B::default(); rows * width];
        let mut scales = vec![0.0; rows * width];
        let mut least = vec![0.0; rows * width];
        let row_bytes = columns / tensor.format.numbers() * tensor.format.bytes();
        let slab_rows = (SLAB / row_bytes).max(1);
        let failed = |err: std::io::Error| fault!("tensor `{name}` cannot be read: {err}");
        file.seek(SeekFrom::Start(tensor.start)).map_err(failed)?;
        let mut raw = vec![0; slab_rows.min(rows) * row_bytes];
        let slab = slab_rows * width;
        let slabs = blocks.chunks_mut(slab).zip(scales.chunks_mut(slab));
        for ((blocks, scales), least) in slabs.zip(least.chunks_mut(slab)) {
            let raw = &mut raw[..blocks.len() / width * row_bytes];
            file.read_exact(raw).map_err(failed)?;
            threads.run(|| {
                let out = blocks
                    .par_chunks_mut(width)
                    .zip(scales.par_chunks_mut(width));
                let out = out.zip(least.par_chunks_mut(width));
                let rows = raw.par_chunks(row_bytes).zip(out).with_min_len(16);
                rows.for_each_init(
                    || vec![0.0; columns],
                    |numbers, (raw, ((blocks, scales), least))| {
                        let part = Part {
                            blocks,
                            scales,
                            least,
                        };
                        convert(raw, numbers, part);
                    },
                );
            });
        }
        Ok(Self {
            width,
            blocks,
            scales,
            least,
        })
    }

    fn times(&self, activations: &Activations, threads: &Threads, out: &mut Vec<f32>) {
        let tokens = activations.rows();
        let (rows, width) = (self.blocks.len() / self.width, tokens.len());
        out.resize(rows * width, 0.0);
        if width == 1 {
            return self.products(&tokens, threads, out);
        }
        let mut columns = vec![0.0; rows * width];
        self.products(&tokens, threads, &mut columns);
        // In strips, so that what is written side by side is written at once.
        for (strip, columns) in columns.chunks(STRIP * width).enumerate() {
            for (token, out) in out.chunks_exact_mut(rows).enumerate() {
                let out = out[strip * STRIP..].iter_mut();
                for (out, products) in out.zip(columns.chunks_exact(width)) {
                    *out = products[token];
                }
            }
        }
    }

    /// The same with the results of a row side by side.
    fn products(&self, tokens: &[Token<'_>], threads: &Threads, out: &mut [f32]) {
        let work = self.width * BLOCK * tokens.len();
        threads.chunks(out, tokens.len(), (GRAIN / work).max(1), |first, out| {
            kernel::products(|at| self.row_at(first + at), tokens, out);
        });
    }

    fn row_at(&self, at: usize) -> Row<'_, B> {
        let place = at * self.width..(at + 1) * self.width;
        Row {
            blocks: &self.blocks[place.clone()],
            scales: &self.scales[place.clone()],
            least: self.least.get(place).unwrap_or_default(),
        }
    }

    fn row(&self, at: usize, out: &mut [f32]) {
        let row = self.row_at(at);
        let (out, _) = out.as_chunks_mut::<BLOCK>();
        for (at, (out, block)) in out.iter_mut().zip(row.blocks).enumerate() {
            let least = row.least.get(at).unwrap_or(&0.0);
            *out = block
                .unpack()
                .map(|quant| f32::from(quant) * row.scales[at] + least);
        }
    }
}
