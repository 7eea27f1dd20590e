//! A model of a few kilobytes, written by the test: random weights, a vocabulary of single bytes and a few words.

use std::io::Write;
use std::path::PathBuf;

use super::super::vocabulary::letter;

pub(super) const WIDTH: usize = 64;
pub(super) const FEED: usize = 96;
pub(super) const HEADS: usize = 2;
pub(super) const KEY_HEADS: usize = 1;
pub(super) const HEAD: usize = 32;
pub(super) const LAYERS: usize = 2;
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
    pub values: Vec<(String, Written)>,
    /// Name, rows, columns and numbers.
    pub tensors: Vec<(String, usize, usize, Vec<f32>)>,
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

impl Tiny {
    pub(super) fn new(family: &'static str) -> Self {
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
            (of_family("embedding_length"), Written::u32(WIDTH as u32)),
            (of_family("block_count"), Written::u32(LAYERS as u32)),
            (of_family("feed_forward_length"), Written::u32(FEED as u32)),
            (
                of_family("attention.head_count"),
                Written::u32(HEADS as u32),
            ),
            (
                of_family("attention.head_count_kv"),
                Written::u32(KEY_HEADS as u32),
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
            values,
            tensors: Vec::new(),
        };
        let mut seed = 1;
        tiny.tensor("token_embd.weight", vocabulary, WIDTH, &mut seed);
        tiny.tensor("output_norm.weight", 1, WIDTH, &mut seed);
        for layer in 0..LAYERS {
            let key = KEY_HEADS * HEAD;
            for (name, rows, columns) in [
                ("attn_norm.weight", 1, WIDTH),
                ("attn_q.weight", HEADS * HEAD, WIDTH),
                ("attn_k.weight", key, WIDTH),
                ("attn_v.weight", key, WIDTH),
                ("attn_output.weight", WIDTH, HEADS * HEAD),
                ("ffn_norm.weight", 1, WIDTH),
                ("ffn_gate.weight", FEED, WIDTH),
                ("ffn_up.weight", FEED, WIDTH),
                ("ffn_down.weight", WIDTH, FEED),
            ] {
                tiny.tensor(&format!("blk.{layer}.{name}"), rows, columns, &mut seed);
            }
            let biases: &[(&str, usize)] = match family {
                "qwen2" => &[
                    ("attn_q.bias", WIDTH),
                    ("attn_k.bias", 32),
                    ("attn_v.bias", 32),
                ],
                "qwen3" => &[("attn_q_norm.weight", HEAD), ("attn_k_norm.weight", HEAD)],
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
            bytes.extend(0_u32.to_le_bytes());
            bytes.extend(offset.to_le_bytes());
            offset += (numbers.len() as u64 * 4).next_multiple_of(32);
        }
        for (.., numbers) in &self.tensors {
            bytes.resize(bytes.len().next_multiple_of(32), 0);
            bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
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
