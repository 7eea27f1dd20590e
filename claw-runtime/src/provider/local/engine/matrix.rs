//! Weights as they are held: 8 bits a number and a scale for every 32, whatever the file had.
//!
//! One format for all keeps one kernel, which is fast, instead of one for each of the many of files. From 4 bits it
//! takes twice the memory and loses next to nothing; from more it loses what Q8_0 loses.

use std::io::{Read, Seek, SeekFrom};

use rayon::prelude::*;

use super::gguf::{Fault, Tensor, fault};
use super::kernel::{self, BLOCK, Scaled};
use super::threads::Threads;

/// Bytes a number takes, a share of its scale included, times [`BLOCK`].
const BLOCK_BYTES: usize = BLOCK + size_of::<f32>();
/// Bytes of a tensor that are read at a time.
const SLAB: usize = 4 << 20;
/// Products of numbers below which a second thread costs more than it brings.
const GRAIN: usize = 1 << 17;

/// A table of weights.
pub(super) struct Matrix {
    rows: usize,
    /// Blocks in a row.
    blocks: usize,
    quants: Vec<[i8; BLOCK]>,
    scales: Vec<f32>,
}

/// The numbers of some tokens, ready to be multiplied with weights.
#[derive(Default)]
pub(super) struct Activations {
    tokens: usize,
    quants: Vec<[i16; BLOCK]>,
    scales: Vec<f32>,
}

impl Activations {
    /// Takes the numbers of `tokens` tokens, one after the other.
    pub(super) fn set(&mut self, tokens: usize, numbers: &[f32]) {
        self.tokens = tokens;
        self.quants.resize(numbers.len() / BLOCK, [0; BLOCK]);
        self.scales.resize(numbers.len() / BLOCK, 0.0);
        kernel::quantise(numbers, &mut self.quants, &mut self.scales);
    }

    fn rows(&self) -> Vec<Scaled<'_, i16>> {
        let blocks = self.quants.len() / self.tokens.max(1);
        let rows = self.quants.chunks_exact(blocks.max(1));
        let scales = self.scales.chunks_exact(blocks.max(1));
        let rows = rows.zip(scales);
        rows.map(|(quants, scales)| Scaled { quants, scales })
            .collect()
    }
}

impl Matrix {
    /// Returns how many bytes a tensor will take.
    pub(super) fn bytes(tensor: &Tensor) -> u64 {
        let blocks = tensor.columns.div_ceil(BLOCK) as u64;
        tensor.rows as u64 * blocks * BLOCK_BYTES as u64
    }

    /// Reads a tensor of a file.
    pub(super) fn read(
        file: &mut (impl Read + Seek),
        name: &str,
        tensor: &Tensor,
        threads: &Threads,
    ) -> Result<Self, Fault> {
        let (rows, columns) = (tensor.rows, tensor.columns);
        if columns % BLOCK != 0 {
            return Err(fault!(
                "tensor `{name}` has rows of {columns} numbers; expected a multiple of {BLOCK}"
            ));
        }
        let blocks = columns / BLOCK;
        let mut quants = vec![[0; BLOCK]; rows * blocks];
        let mut scales = vec![0.0; rows * blocks];
        let row_bytes = columns / tensor.format.numbers() * tensor.format.bytes();
        let slab_rows = (SLAB / row_bytes).max(1);
        let failed = |err: std::io::Error| fault!("tensor `{name}` cannot be read: {err}");
        file.seek(SeekFrom::Start(tensor.start)).map_err(failed)?;
        let mut raw = vec![0; slab_rows.min(rows) * row_bytes];
        let slabs = quants.chunks_mut(slab_rows * blocks);
        for (quants, scales) in slabs.zip(scales.chunks_mut(slab_rows * blocks)) {
            let raw = &mut raw[..quants.len() / blocks * row_bytes];
            file.read_exact(raw).map_err(failed)?;
            threads.run(|| {
                let out = quants
                    .par_chunks_mut(blocks)
                    .zip(scales.par_chunks_mut(blocks));
                let rows = raw.par_chunks(row_bytes).zip(out).with_min_len(16);
                rows.for_each_init(
                    || vec![0.0; columns],
                    |numbers, (raw, (quants, scales))| {
                        tensor.format.read(raw, numbers);
                        kernel::quantise(numbers, quants, scales);
                    },
                );
            });
        }
        Ok(Self {
            rows,
            blocks,
            quants,
            scales,
        })
    }

    /// Multiplies each row with each token's numbers: `out` has the results of a token side by side.
    pub(super) fn times(&self, activations: &Activations, threads: &Threads, out: &mut Vec<f32>) {
        let tokens = activations.rows();
        let width = tokens.len();
        out.resize(self.rows * width, 0.0);
        if width == 1 {
            return self.products(&tokens, threads, out);
        }
        let mut columns = vec![0.0; self.rows * width];
        self.products(&tokens, threads, &mut columns);
        for (row, products) in columns.chunks_exact(width).enumerate() {
            for (token, product) in products.iter().enumerate() {
                out[token * self.rows + row] = *product;
            }
        }
    }

    /// The same with the results of a row side by side.
    fn products(&self, tokens: &[Scaled<'_, i16>], threads: &Threads, out: &mut [f32]) {
        let work = self.blocks * BLOCK * tokens.len();
        threads.chunks(out, tokens.len(), (GRAIN / work).max(1), |first, out| {
            kernel::products(self.rows_from(first), tokens, out);
        });
    }

    fn rows_from(&self, first: usize) -> impl Iterator<Item = Scaled<'_, i8>> {
        let rows = self.quants[first * self.blocks..].chunks_exact(self.blocks);
        let scales = self.scales[first * self.blocks..].chunks_exact(self.blocks);
        rows.zip(scales)
            .map(|(quants, scales)| Scaled { quants, scales })
    }

    /// Writes the row `at` as plain numbers.
    pub(super) fn row(&self, at: usize, out: &mut [f32]) {
        if let Some(row) = self.rows_from(at).next() {
            let (out, _) = out.as_chunks_mut::<BLOCK>();
            for ((out, quants), scale) in out.iter_mut().zip(row.quants).zip(row.scales) {
                for (out, quant) in out.iter_mut().zip(quants) {
                    *out = f32::from(*quant) * scale;
                }
            }
        }
    }
}
