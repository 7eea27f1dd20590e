//! The tokens of a model, as bytes, and texts as tokens.

use std::collections::HashMap;

use super::encode::Encoder;
use super::gguf::{Fault, Gguf, fault};

/// Names of tokens that end a reply, in the families we know.
const ENDS: [&str; 8] = [
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|end|>",
    "<end_of_turn>",
    "</s>",
];
/// Tokens of a vocabulary at most; the largest known have 260,000.
const MOST_TOKENS: usize = 1 << 20;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A piece of text.
    Text,
    /// A text that is one token by declaration, such as `<tool_call>`. It is read only where marks are.
    Added,
    /// A mark of the chat form, such as `<|im_end|>`. It has no text.
    Special,
    /// A place in the vocabulary without a meaning; it is never chosen.
    Unused,
}

/// The tokens of a model.
pub(crate) struct Vocabulary {
    /// The bytes each token stands for; of a special token, its name.
    pub words: Vec<Vec<u8>>,
    /// What each token is.
    pub kinds: Vec<Kind>,
    /// The token that begins a text, if there is one.
    pub begin: Option<u32>,
    /// Whether each prompt is to start with it.
    pub add_begin: bool,
    /// Tokens that end a reply.
    pub end: Vec<u32>,
    encoder: Encoder,
}

impl std::fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vocabulary({} tokens)", self.words.len())
    }
}

impl Vocabulary {
    /// Reads the vocabulary of a file.
    pub(super) fn read(gguf: &Gguf) -> Result<Self, Fault> {
        let key = "tokenizer.ggml.tokens";
        let names = gguf
            .texts(key)?
            .ok_or_else(|| fault!("`{key}` is missing"))?;
        if names.is_empty() || names.len() > MOST_TOKENS {
            let count = names.len();
            return Err(fault!(
                "`{key}` names {count} tokens; expected 1 to {MOST_TOKENS}"
            ));
        }
        let kinds = kinds(gguf, names.len())?;
        let pieces = gguf.text("tokenizer.ggml.model")?;
        let pieces = pieces.ok_or_else(|| fault!("`tokenizer.ggml.model` is missing"))?;
        let words: Vec<Vec<u8>> = match pieces {
            "gpt2" => {
                let letters: HashMap<char, u8> =
                    (0..=255).map(|byte| (letter(byte), byte)).collect();
                let named = names.iter().zip(&kinds);
                named
                    .map(|(name, kind)| word_of_letters(name, *kind, &letters))
                    .collect()
            }
            "llama" => names
                .iter()
                .zip(&kinds)
                .map(|(name, kind)| word_of_text(name, *kind))
                .collect(),
            other => {
                return Err(fault!(
                    "`tokenizer.ggml.model` is `{other}`; expected `gpt2` or `llama`"
                ));
            }
        };
        let id = |key: &str| token(gguf, key, words.len());
        let begin = id("tokenizer.ggml.bos_token_id")?;
        let declared = [
            id("tokenizer.ggml.eos_token_id")?,
            id("tokenizer.ggml.eot_token_id")?,
            id("tokenizer.ggml.eom_token_id")?,
        ];
        let named = (0..words.len()).filter(|at| {
            let special = kinds[*at] == Kind::Special;
            special && ENDS.iter().any(|end| end.as_bytes() == words[*at])
        });
        let mut end: Vec<u32> = declared.into_iter().flatten().collect();
        end.extend(named.map(|at| at as u32));
        end.sort_unstable();
        end.dedup();
        if end.is_empty() {
            return Err(fault!(
                "no token ends a reply; `tokenizer.ggml.eos_token_id` is missing"
            ));
        }
        let encoder = Encoder::read(gguf, pieces == "gpt2", names, &words, &kinds)?;
        let add_begin = gguf.flag("tokenizer.ggml.add_bos_token")?;
        let add_begin = add_begin.unwrap_or(pieces == "llama" || encoder.begins());
        Ok(Self {
            words,
            kinds,
            begin,
            add_begin: add_begin && begin.is_some(),
            end,
            encoder,
        })
    }

    /// Returns the text as tokens.
    ///
    /// With `marks`, names of special and added tokens in the text become these tokens: for the fixed parts of a chat
    /// template. Without, they are text like any other: for whatever people, tools and models wrote.
    pub(crate) fn encode(&self, text: &str, marks: bool) -> Vec<u32> {
        self.encoder.encode(text, marks)
    }

    /// Returns the bytes a reply gains by `token`: none for a special one.
    pub(crate) fn text(&self, token: u32) -> &[u8] {
        let at = token as usize;
        match self.kinds.get(at) {
            Some(Kind::Text | Kind::Added) => &self.words[at],
            _ => &[],
        }
    }
}

fn kinds(gguf: &Gguf, count: usize) -> Result<Vec<Kind>, Fault> {
    let key = "tokenizer.ggml.token_type";
    let Some(types) = gguf.numbers(key)? else {
        return Ok(vec![Kind::Text; count]);
    };
    if types.len() != count {
        let types = types.len();
        return Err(fault!(
            "`{key}` has {types} elements; expected {count}, one a token"
        ));
    }
    Ok(types
        .iter()
        .map(|kind| match *kind as i64 {
            2 | 3 => Kind::Special,
            4 => Kind::Added,
            5 => Kind::Unused,
            _ => Kind::Text,
        })
        .collect())
}

fn token(gguf: &Gguf, key: &str, count: usize) -> Result<Option<u32>, Fault> {
    match gguf.whole(key)? {
        Some(at) if at >= count => Err(fault!("`{key}` is {at}; there are {count} tokens")),
        at => Ok(at.map(|at| at as u32)),
    }
}

/// The letter that byte-level vocabularies write for a byte, so that every token can be printed.
pub(super) fn letter(byte: u8) -> char {
    let printable = |byte: u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    if printable(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|byte| !printable(*byte)).count() as u32;
    char::from_u32(0x100 + before).unwrap_or('\u{fffd}')
}

fn word_of_letters(name: &[u8], kind: Kind, letters: &HashMap<char, u8>) -> Vec<u8> {
    match std::str::from_utf8(name) {
        Ok(name) if kind == Kind::Text => {
            let bytes: Option<Vec<u8>> = name.chars().map(|c| letters.get(&c).copied()).collect();
            bytes.unwrap_or_else(|| name.as_bytes().to_vec())
        }
        _ => name.to_vec(),
    }
}

/// A word of a vocabulary of texts: `▁` is a space, `<0x0A>` a byte.
fn word_of_text(name: &[u8], kind: Kind) -> Vec<u8> {
    let Ok(name) = std::str::from_utf8(name) else {
        return name.to_vec();
    };
    if matches!(kind, Kind::Special | Kind::Added) {
        return name.as_bytes().to_vec();
    }
    let byte = name
        .strip_prefix("<0x")
        .and_then(|rest| rest.strip_suffix('>'));
    match byte
        .filter(|digits| digits.len() == 2)
        .map(|digits| u8::from_str_radix(digits, 16))
    {
        Some(Ok(byte)) => vec![byte],
        _ => name.replace('▁', " ").into_bytes(),
    }
}
