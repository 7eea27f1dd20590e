//! The formats tensors are written in, each to plain numbers.
//!
//! Layouts: <https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h>. A tensor is read once and held in a format
//! of our own ([`matrix`](super::matrix)), so these are written to be plain, not fast.

/// How the numbers of a tensor are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    F32,
    F16,
    Bf16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
}

impl Format {
    const ALL: [(u32, Self, &'static str); 13] = [
        (0, Self::F32, "F32"),
        (1, Self::F16, "F16"),
        (30, Self::Bf16, "BF16"),
        (2, Self::Q4_0, "Q4_0"),
        (3, Self::Q4_1, "Q4_1"),
        (6, Self::Q5_0, "Q5_0"),
        (7, Self::Q5_1, "Q5_1"),
        (8, Self::Q8_0, "Q8_0"),
        (10, Self::Q2K, "Q2_K"),
        (11, Self::Q3K, "Q3_K"),
        (12, Self::Q4K, "Q4_K"),
        (13, Self::Q5K, "Q5_K"),
        (14, Self::Q6K, "Q6_K"),
    ];

    /// Returns the format with this number in a file.
    pub(super) fn from_number(number: u32) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|(at, ..)| *at == number)
            .map(|(_, format, _)| format)
    }

    /// Returns the names of all formats, for messages.
    pub(super) fn names() -> String {
        Self::ALL.map(|(.., name)| name).join(", ")
    }

    /// Returns the name of the format.
    pub(super) fn name(self) -> &'static str {
        let mut all = Self::ALL.into_iter();
        all.find(|(_, format, _)| *format == self)
            .map_or("", |(.., name)| name)
    }

    /// Returns how many numbers are written together.
    pub(super) fn numbers(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => 1,
            Self::Q4_0 | Self::Q4_1 | Self::Q5_0 | Self::Q5_1 | Self::Q8_0 => 32,
            Self::Q2K | Self::Q3K | Self::Q4K | Self::Q5K | Self::Q6K => 256,
        }
    }

    /// Returns how many bytes these take.
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::Q4_0 => 18,
            Self::Q4_1 => 20,
            Self::Q5_0 => 22,
            Self::Q5_1 => 24,
            Self::Q8_0 => 34,
            Self::Q2K => 84,
            Self::Q3K => 110,
            Self::Q4K => 144,
            Self::Q5K => 176,
            Self::Q6K => 210,
        }
    }

    /// Tells whether numbers are 4 bits from 0, times a scale and above a least for every 32.
    pub(super) fn is_four(self) -> bool {
        matches!(self, Self::Q4_0 | Self::Q4_1 | Self::Q4K)
    }

    /// Reads whole blocks of such a format as they are: 32 numbers in 16 bytes, those of the first half low.
    pub(super) fn read_fours(
        self,
        bytes: &[u8],
        quants: &mut [[u8; 16]],
        scales: &mut [f32],
        least: &mut [f32],
    ) {
        let groups = self.numbers() / 32;
        let out = quants.chunks_exact_mut(groups);
        let sides = scales
            .chunks_exact_mut(groups)
            .zip(least.chunks_exact_mut(groups));
        for ((block, quants), (scales, least)) in
            bytes.chunks_exact(self.bytes()).zip(out).zip(sides)
        {
            match self {
                Self::Q4K => {
                    for group in 0..groups {
                        (scales[group], least[group]) = group_of_q45k(block, group);
                        let numbers = &block[16 + group / 2 * 32..];
                        let four = |at: usize| numbers[at] >> (group % 2 * 4) & 15;
                        quants[group] = std::array::from_fn(|at| four(at) | four(at + 16) << 4);
                    }
                }
                _ => {
                    let head = self.bytes() - 16;
                    let scale = half(block, 0);
                    let below = if head == 4 {
                        half(block, 2)
                    } else {
                        -8.0 * scale
                    };
                    (scales[0], least[0]) = (scale, below);
                    quants[0].copy_from_slice(&block[head..]);
                }
            }
        }
    }

    /// Reads whole blocks into `out`, which has room for exactly their numbers.
    pub(super) fn read(self, bytes: &[u8], out: &mut [f32]) {
        let blocks = bytes.chunks_exact(self.bytes());
        for (block, out) in blocks.zip(out.chunks_exact_mut(self.numbers())) {
            match self {
                Self::F32 => out[0] = f32::from_le_bytes([block[0], block[1], block[2], block[3]]),
                Self::F16 => out[0] = half(block, 0),
                Self::Bf16 => out[0] = f32::from_le_bytes([0, 0, block[0], block[1]]),
                Self::Q4_0 => fours(half(block, 0), -8.0 * half(block, 0), &block[2..], out),
                Self::Q4_1 => fours(half(block, 0), half(block, 2), &block[4..], out),
                Self::Q5_0 => fives(half(block, 0), -16.0 * half(block, 0), &block[2..], out),
                Self::Q5_1 => fives(half(block, 0), half(block, 2), &block[4..], out),
                Self::Q8_0 => {
                    for (out, quant) in out.iter_mut().zip(&block[2..]) {
                        *out = half(block, 0) * f32::from(*quant as i8);
                    }
                }
                Self::Q2K => q2k(block, out),
                Self::Q3K => q3k(block, out),
                Self::Q4K => q45k(block, None, &block[16..], out),
                Self::Q5K => q45k(block, Some(&block[16..48]), &block[48..], out),
                Self::Q6K => q6k(block, out),
            }
        }
    }
}

/// Reads an IEEE 754 half at `at`.
pub(super) fn half(bytes: &[u8], at: usize) -> f32 {
    let bits = u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let (exponent, fraction) = (u32::from(bits >> 10 & 31), u32::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction as f32 / 16_777_216.0,
        31 => f32::from_bits(0x7f80_0000 | fraction << 13),
        _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
    };
    if bits >> 15 == 0 { size } else { -size }
}

/// 32 numbers of 4 bits: the low halves of 16 bytes, then the high ones.
fn fours(scale: f32, least: f32, quants: &[u8], out: &mut [f32]) {
    for at in 0..16 {
        out[at] = scale * f32::from(quants[at] & 15) + least;
        out[at + 16] = scale * f32::from(quants[at] >> 4) + least;
    }
}

/// The same with a fifth bit each, in 4 bytes before them.
fn fives(scale: f32, least: f32, block: &[u8], out: &mut [f32]) {
    let fifth = u32::from_le_bytes([block[0], block[1], block[2], block[3]]);
    let fifth = |at: usize| (fifth >> at & 1) as u8 * 16;
    let quants = &block[4..];
    for at in 0..16 {
        out[at] = scale * f32::from(quants[at] & 15 | fifth(at)) + least;
        out[at + 16] = scale * f32::from(quants[at] >> 4 | fifth(at + 16)) + least;
    }
}

/// 16 groups of 16 numbers of 2 bits, each with a scale and a minimum of 4 bits.
fn q2k(block: &[u8], out: &mut [f32]) {
    let (scales, quants) = (&block[..16], &block[16..80]);
    let (scale, least) = (half(block, 80), half(block, 82));
    for (at, out) in out.iter_mut().enumerate() {
        let group = scales[at / 16];
        let quant = quants[at / 128 * 32 + at % 32] >> (at % 128 / 32 * 2) & 3;
        *out = scale * f32::from(group & 15) * f32::from(quant) - least * f32::from(group >> 4);
    }
}

/// 16 groups of 16 numbers of 3 bits, the third in a mask of its own, each group with a scale of 6 bits.
fn q3k(block: &[u8], out: &mut [f32]) {
    let (mask, quants, scales) = (&block[..32], &block[32..96], &block[96..108]);
    let scale = half(block, 108);
    for (at, out) in out.iter_mut().enumerate() {
        let group = at / 16;
        let low = scales[group % 8] >> (group / 8 * 4) & 15;
        let high = scales[8 + group % 4] >> (group / 4 * 2) & 3;
        let factor = f32::from(low | high << 4) - 32.0;
        let quant = quants[at / 128 * 32 + at % 32] >> (at % 128 / 32 * 2) & 3;
        let third = mask[at % 32] >> (at / 32) & 1;
        *out = scale * factor * (f32::from(quant | third << 2) - 4.0);
    }
}

/// 8 groups of 32 numbers of 4 or 5 bits, each with a scale and a minimum of 6 bits.
fn q45k(block: &[u8], fifth: Option<&[u8]>, quants: &[u8], out: &mut [f32]) {
    for (group, out) in out.chunks_exact_mut(32).enumerate() {
        let (scale, least) = group_of_q45k(block, group);
        for (at, out) in out.iter_mut().enumerate() {
            let quant = quants[group / 2 * 32 + at] >> (group % 2 * 4) & 15;
            let fifth = fifth.map_or(0, |bits| (bits[at] >> group & 1) << 4);
            *out = scale * f32::from(quant | fifth) + least;
        }
    }
}

/// The scale and the least number of one of these groups.
fn group_of_q45k(block: &[u8], group: usize) -> (f32, f32) {
    let packed = &block[4..16];
    let (factor, minimum) = if group < 4 {
        (packed[group] & 63, packed[group + 4] & 63)
    } else {
        let both = packed[group + 4];
        (
            both & 15 | packed[group - 4] >> 6 << 4,
            both >> 4 | packed[group] >> 6 << 4,
        )
    };
    let (scale, least) = (half(block, 0), half(block, 2));
    (scale * f32::from(factor), -least * f32::from(minimum))
}

/// 16 groups of 16 numbers of 6 bits, each with a scale of 8 bits.
fn q6k(block: &[u8], out: &mut [f32]) {
    let (low, high, scales) = (&block[..128], &block[128..192], &block[192..208]);
    let scale = half(block, 208);
    for (at, out) in out.iter_mut().enumerate() {
        let (part, within) = (at / 128, at % 128);
        let four = low[part * 64 + within % 64] >> (within / 64 * 4) & 15;
        let two = high[part * 32 + within % 32] >> (within / 32 * 2) & 3;
        let quant = f32::from(four | two << 4) - 32.0;
        *out = scale * f32::from(scales[at / 16] as i8) * quant;
    }
}
