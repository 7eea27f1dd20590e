//! A model of a few kilobytes, written by the test: random weights, a vocabulary of single bytes and a few words.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use super::super::format::Format;
use super::super::vocabulary::letter;

/// The sizes of a model.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub width: usize,
    pub feed: usize,
    pub heads: usize,
    pub key_heads: usize,
    pub head: usize,
    pub layers: usize,
}

/// As small as they can be.
pub(super) const SMALL: Sizes = Sizes {
    width: 64,
    feed: 96,
    heads: 2,
    key_heads: 1,
    head: 32,
    layers: 2,
};
/// Of rows that every format can write.
pub(super) const WIDE: Sizes = Sizes {
    width: 256,
    feed: 512,
    heads: 4,
    key_heads: 2,
    head: 64,
    layers: 2,
};
pub(super) const CONTEXT: usize = 512;

/// Tokens after the 256 bytes.
pub(super) const EXTRA: [(&str, u32); 6] = [
    ("<|im_start|>", 3),
    ("<|im_end|>", 3),
    ("<tool_call>", 4),
    ("he", 1),
    ("ll", 1),
    ("hell", 1),
];

/// A value of the metadata, as its bytes with the type before them.
#[derive(Clone)]
pub(super) struct Written(pub Vec<u8>);

impl Written {
    pub(super) fn u32(value: u32) -> Self {
        Self([4_u32.to_le_bytes(), value.to_le_bytes()].concat())
    }

    pub(super) fn f32(value: f32) -> Self {
        Self([6_u32.to_le_bytes(), value.to_le_bytes()].concat())
    }

    pub(super) fn text(text: &str) -> Self {
        Self([&8_u32.to_le_bytes()[..], &string(text.as_bytes())].concat())
    }

    pub(super) fn texts(texts: &[String]) -> Self {
        let mut bytes = [9_u32.to_le_bytes(), 8_u32.to_le_bytes()].concat();
        bytes.extend((texts.len() as u64).to_le_bytes());
        bytes.extend(texts.iter().flat_map(|text| string(text.as_bytes())));
        Self(bytes)
    }

    pub(super) fn i32s(numbers: &[i32]) -> Self {
        let mut bytes = [9_u32.to_le_bytes(), 5_u32.to_le_bytes()].concat();
        bytes.extend((numbers.len() as u64).to_le_bytes());
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        Self(bytes)
    }
}

fn string(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64).to_le_bytes()[..], bytes].concat()
}

/// A file to be written, open to every change a test wants to make.
#[derive(Clone)]
pub(super) struct Tiny {
    pub family: &'static str,
    pub sizes: Sizes,
    pub values: Vec<(String, Written)>,
    /// Name, rows, columns and numbers.
    pub tensors: Vec<(String, usize, usize, Vec<f32>)>,
    /// The bytes of tensors that are not written as plain numbers, and the number of their format.
    blocks: BTreeMap<String, (u32, Vec<u8>)>,
}

/// Numbers that 8 bits hold without a loss: multiples of a power of two, with the largest in every block.
pub(super) fn numbers(count: usize, seed: &mut u64) -> Vec<f32> {
    let next = |at: usize| {
        *seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let whole = if at.is_multiple_of(32) {
            127
        } else {
            (*seed >> 33) as i32 % 128
        };
        let sign = if *seed >> 63 == 0 { 1.0 } else { -1.0 };
        sign * whole as f32 / 512.0
    };
    (0..count).map(next).collect()
}

/// Returns whole blocks of a format: any bits, but for their scales, which make the numbers about as large as weights are.
fn random_blocks(format: Format, count: usize, seed: &mut u64) -> Vec<u8> {
    // Where a half stands, its sign, and its exponent with the bias of 15.
    let halves: &[(usize, u16, u16)] = match format {
        Format::F32 => &[],
        Format::F16 => &[(0, 0, 10)],
        Format::Bf16 => &[],
        Format::Q4_0 => &[(0, 0, 8)],
        Format::Q4_1 => &[(0, 0, 8), (2, 1, 11)],
        Format::Q5_0 => &[(0, 0, 7)],
        Format::Q5_1 => &[(0, 0, 7), (2, 1, 11)],
        Format::Q8_0 => &[(0, 0, 4)],
        Format::Q2K => &[(80, 0, 6), (82, 0, 6)],
        Format::Q3K => &[(108, 0, 5)],
        Format::Q4K => &[(0, 0, 3), (2, 0, 6)],
        Format::Q5K => &[(0, 0, 2), (2, 0, 6)],
        Format::Q6K => &[(208, 0, 1)],
    };
    let mut random = || {
        *seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 40) as u16
    };
    let mut bytes = Vec::new();
    for _ in 0..count / format.numbers() {
        let mut block: Vec<u8> = (0..format.bytes()).map(|_| random() as u8).collect();
        for (at, sign, exponent) in halves {
            // A number by itself may have either sign.
            let sign = if format == Format::F16 {
                random() & 1
            } else {
                *sign
            };
            let half = sign << 15 | exponent << 10 | random() & 0x3ff;
            block[*at..*at + 2].copy_from_slice(&half.to_le_bytes());
        }
        if matches!(format, Format::Bf16 | Format::F32) {
            // From 2⁻⁵ to 2⁻³.
            let top = (random() & 1) << 15 | (122 + (random() & 1)) << 7 | random() & 0x7f;
            let at = format.bytes() - 2;
            block[at..].copy_from_slice(&top.to_le_bytes());
        }
        bytes.extend(block);
    }
    bytes
}

impl Tiny {
    pub(super) fn new(family: &'static str) -> Self {
        Self::of(family, SMALL)
    }

    pub(super) fn of(family: &'static str, sizes: Sizes) -> Self {
        let Sizes {
            width,
            feed,
            heads,
            key_heads,
            head,
            layers,
        } = sizes;
        let mut tokens: Vec<String> = (0..=255).map(|byte| letter(byte).to_string()).collect();
        tokens.extend(EXTRA.map(|(name, _)| name.to_owned()));
        let mut kinds = vec![1; 256];
        kinds.extend(EXTRA.map(|(_, kind)| kind as i32));
        let vocabulary = tokens.len();
        let merges = ["h e", "l l", "he ll", "< |"].map(str::to_owned);
        let of_family = |name: &str| format!("{family}.{name}");
        let values = vec![
            ("general.architecture".to_owned(), Written::text(family)),
            ("general.name".to_owned(), Written::text("tiny")),
            (of_family("embedding_length"), Written::u32(width as u32)),
            (of_family("block_count"), Written::u32(layers as u32)),
            (of_family("feed_forward_length"), Written::u32(feed as u32)),
            (
                of_family("attention.head_count"),
                Written::u32(heads as u32),
            ),
            (
                of_family("attention.head_count_kv"),
                Written::u32(key_heads as u32),
            ),
            (of_family("context_length"), Written::u32(CONTEXT as u32)),
            (of_family("rope.freq_base"), Written::f32(1000.0)),
            (
                of_family("attention.layer_norm_rms_epsilon"),
                Written::f32(1e-6),
            ),
            ("tokenizer.ggml.model".to_owned(), Written::text("gpt2")),
            ("tokenizer.ggml.pre".to_owned(), Written::text("smollm")),
            ("tokenizer.ggml.tokens".to_owned(), Written::texts(&tokens)),
            (
                "tokenizer.ggml.token_type".to_owned(),
                Written::i32s(&kinds),
            ),
            ("tokenizer.ggml.merges".to_owned(), Written::texts(&merges)),
            ("tokenizer.ggml.eos_token_id".to_owned(), Written::u32(257)),
        ];
        let mut tiny = Self {
            family,
            sizes,
            values,
            tensors: Vec::new(),
            blocks: BTreeMap::new(),
        };
        let mut seed = 1;
        tiny.tensor("token_embd.weight", vocabulary, width, &mut seed);
        tiny.tensor("output_norm.weight", 1, width, &mut seed);
        for layer in 0..layers {
            let key = key_heads * head;
            for (name, rows, columns) in [
                ("attn_norm.weight", 1, width),
                ("attn_q.weight", heads * head, width),
                ("attn_k.weight", key, width),
                ("attn_v.weight", key, width),
                ("attn_output.weight", width, heads * head),
                ("ffn_norm.weight", 1, width),
                ("ffn_gate.weight", feed, width),
                ("ffn_up.weight", feed, width),
                ("ffn_down.weight", width, feed),
            ] {
                tiny.tensor(&format!("blk.{layer}.{name}"), rows, columns, &mut seed);
            }
            let biases: &[(&str, usize)] = match family {
                "qwen2" => &[
                    ("attn_q.bias", heads * head),
                    ("attn_k.bias", key),
                    ("attn_v.bias", key),
                ],
                "qwen3" => &[("attn_q_norm.weight", head), ("attn_k_norm.weight", head)],
                _ => &[],
            };
            for (name, size) in biases {
                tiny.tensor(&format!("blk.{layer}.{name}"), 1, *size, &mut seed);
            }
        }
        tiny
    }

    fn tensor(&mut self, name: &str, rows: usize, columns: usize, seed: &mut u64) {
        let numbers = numbers(rows * columns, seed);
        self.tensors.push((name.to_owned(), rows, columns, numbers));
    }

    /// Writes each table of weights anew in the next of these formats.
    pub(super) fn in_formats(mut self, formats: &[Format]) -> Self {
        let mut seed = 7;
        let tables = self.tensors.iter_mut().filter(|(_, rows, ..)| *rows > 1);
        for ((name, rows, columns, numbers), format) in tables.zip(formats.iter().cycle()) {
            let bytes = random_blocks(*format, *rows * *columns, &mut seed);
            format.read(&bytes, numbers);
            let number = (0..40).find(|at| Format::from_number(*at) == Some(*format));
            self.blocks.insert(name.clone(), (number.unwrap(), bytes));
        }
        self
    }

    pub(super) fn set(mut self, key: &str, value: Written) -> Self {
        self.values.retain(|(other, _)| other != key);
        self.values.push((key.to_owned(), value));
        self
    }

    pub(super) fn without(mut self, key: &str) -> Self {
        self.values.retain(|(other, _)| other != key);
        self.tensors.retain(|(other, ..)| other != key);
        self
    }

    pub(super) fn numbers(&self, name: &str) -> &[f32] {
        let found = self.tensors.iter().find(|(other, ..)| other == name);
        found.map_or(&[], |(.., numbers)| numbers)
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(3_u32.to_le_bytes());
        bytes.extend((self.tensors.len() as u64).to_le_bytes());
        bytes.extend((self.values.len() as u64).to_le_bytes());
        for (key, Written(value)) in &self.values {
            bytes.extend(string(key.as_bytes()));
            bytes.extend(value);
        }
        let mut offset = 0_u64;
        for (name, rows, columns, numbers) in &self.tensors {
            bytes.extend(string(name.as_bytes()));
            let sides: &[usize] = if *rows == 1 {
                &[*columns]
            } else {
                &[*columns, *rows]
            };
            bytes.extend((sides.len() as u32).to_le_bytes());
            bytes.extend(sides.iter().flat_map(|side| (*side as u64).to_le_bytes()));
            let blocks = self.blocks.get(name);
            bytes.extend(blocks.map_or(0, |(format, _)| *format).to_le_bytes());
            bytes.extend(offset.to_le_bytes());
            let length = blocks.map_or(numbers.len() * 4, |(_, blocks)| blocks.len());
            offset += (length as u64).next_multiple_of(32);
        }
        for (name, .., numbers) in &self.tensors {
            bytes.resize(bytes.len().next_multiple_of(32), 0);
            match self.blocks.get(name) {
                Some((_, blocks)) => bytes.extend(blocks),
                None => bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes())),
            }
        }
        bytes
    }

    /// Writes the file; it goes away with the folder.
    pub(super) fn write(&self) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tiny.gguf");
        std::fs::File::create(&path)
            .unwrap()
            .write_all(&self.bytes())
            .unwrap();
        (folder, path)
    }
}
