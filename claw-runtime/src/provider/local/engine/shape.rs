//! The sizes of a model, as its file declares them, checked before any weight is read.

use super::attend::{Heads, Side};
use super::gguf::{Fault, Gguf, fault};
use super::matrix::Matrix;

/// Sizes and constants of a model of the Llama family.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    /// Tokens of the vocabulary.
    pub vocabulary: usize,
    /// Numbers a token has between layers.
    pub width: usize,
    pub layers: usize,
    /// Numbers in the middle of the part that works on a token alone.
    pub feed: usize,
    pub heads: usize,
    /// Heads of keys and values; each serves as many of the others.
    pub key_heads: usize,
    /// Numbers of a head.
    pub head: usize,
    /// Numbers of a head that are turned by the token's place.
    pub turned: usize,
    /// Whether the numbers of a turned pair stand side by side; else they stand half a head apart.
    pub neighbours: bool,
    /// The base of the angles.
    pub base: f32,
    /// What places are divided by, for contexts longer than what was first learnt.
    pub stretch: f32,
    pub epsilon: f32,
    /// Tokens the model was made for.
    pub context: usize,
}

impl Shape {
    /// Reads the sizes; `vocabulary` is how many tokens the file names.
    pub(super) fn read(gguf: &Gguf, vocabulary: usize) -> Result<Self, Fault> {
        let key = "general.architecture";
        let family = gguf
            .text(key)?
            .ok_or_else(|| fault!("`{key}` is missing"))?;
        let neighbours = match family {
            "llama" => true,
            "qwen2" | "qwen3" => false,
            _ => {
                return Err(fault!(
                    "`{key}` is `{family}`; expected `llama`, `qwen2` or `qwen3`"
                ));
            }
        };
        let whole = |name: &str, most: usize| size(gguf, &format!("{family}.{name}"), most);
        let needed = |name: &str, most: usize| {
            let missing = || fault!("`{family}.{name}` is missing");
            whole(name, most)?.ok_or_else(missing)
        };
        if let Some(experts) = gguf.whole(&format!("{family}.expert_count"))?
            && experts > 0
        {
            return Err(fault!(
                "it is a mixture of {experts} experts, which is not supported"
            ));
        }
        let width = needed("embedding_length", 1 << 16)?;
        let heads = needed("attention.head_count", 1 << 10)?;
        let key_heads = whole("attention.head_count_kv", 1 << 10)?.unwrap_or(heads);
        let head = whole("attention.key_length", 1 << 10)?.unwrap_or(width / heads);
        if heads % key_heads != 0 {
            return Err(fault!(
                "`{family}.attention.head_count` is {heads}, no multiple of `head_count_kv`, {key_heads}"
            ));
        }
        let turned = whole("rope.dimension_count", 1 << 10)?.unwrap_or(head);
        if head == 0 || turned > head || turned % 2 != 0 {
            return Err(fault!(
                "`{family}.rope.dimension_count` is {turned}; expected an even number up to {head}"
            ));
        }
        let float = |name: &str, default: f32| positive(gguf, &format!("{family}.{name}"), default);
        let scaling = format!("{family}.rope.scaling.type");
        let stretch = match gguf.text(&scaling)? {
            Some("none") => 1.0,
            // Where nothing is said, a factor counts; older files have it under another name.
            None | Some("linear") => {
                let older = float("rope.scale_linear", 1.0)?;
                float("rope.scaling.factor", older)?
            }
            Some(other) => {
                return Err(fault!(
                    "`{scaling}` is `{other}`; expected `none` or `linear`"
                ));
            }
        };
        if let Some(rows) = gguf
            .tensors
            .get("token_embd.weight")
            .map(|tensor| tensor.rows)
            && rows != vocabulary
        {
            return Err(fault!(
                "`tokenizer.ggml.tokens` names {vocabulary} tokens, tensor `token_embd.weight` has {rows}"
            ));
        }
        let layers = needed("block_count", 1 << 10)?;
        for name in gguf.tensors.keys() {
            if !has_place(name, layers) {
                return Err(fault!(
                    "tensor `{name}` has no place in a model of the kind `{family}` with {layers} layers; without it the model would say something else"
                ));
            }
        }
        Ok(Self {
            vocabulary,
            width,
            layers,
            feed: needed("feed_forward_length", 1 << 20)?,
            heads,
            key_heads,
            head,
            turned,
            neighbours,
            base: float("rope.freq_base", 10_000.0)?,
            stretch,
            epsilon: float("attention.layer_norm_rms_epsilon", 1e-5)?,
            context: needed("context_length", 1 << 30)?,
        })
    }

    /// Returns how many numbers a token's keys have in a layer, or its values.
    pub(super) fn key_width(&self) -> usize {
        self.key_heads * self.head
    }

    /// Returns how these are divided.
    pub(super) fn sides(&self) -> Heads {
        Heads {
            count: self.key_heads,
            size: self.head,
        }
    }

    /// Returns how many numbers a token's queries have in a layer.
    pub(super) fn query_width(&self) -> usize {
        self.heads * self.head
    }

    /// Returns how many bytes are kept of each token that was read.
    pub(super) fn token_bytes(&self) -> u64 {
        (2 * self.layers * Side::token_bytes(self.sides())) as u64
    }

    /// Returns how many weights the file has.
    pub(super) fn parameters(gguf: &Gguf) -> u64 {
        let tensors = gguf.tensors.values();
        tensors
            .map(|tensor| tensor.rows as u64 * tensor.columns as u64)
            .sum()
    }

    /// Returns how many bytes the weights take when they are loaded.
    pub(super) fn weight_bytes(gguf: &Gguf) -> u64 {
        gguf.tensors.values().map(Matrix::bytes).sum()
    }
}

/// Tells whether the pass reads a tensor of this name.
fn has_place(name: &str, layers: usize) -> bool {
    let whole = [
        "token_embd.weight",
        "output.weight",
        "output_norm.weight",
        "rope_freqs.weight",
    ];
    let of_layer = |part: &str| match part.rsplit_once('.') {
        Some(("attn_q" | "attn_k" | "attn_v" | "attn_output", "weight" | "bias")) => true,
        Some((part, "weight")) => matches!(
            part,
            "attn_norm"
                | "attn_q_norm"
                | "attn_k_norm"
                | "ffn_norm"
                | "ffn_gate"
                | "ffn_up"
                | "ffn_down"
        ),
        _ => false,
    };
    let layer = name
        .strip_prefix("blk.")
        .and_then(|rest| rest.split_once('.'));
    whole.contains(&name)
        || layer.is_some_and(|(at, part)| {
            at.parse::<usize>().is_ok_and(|at| at < layers) && of_layer(part)
        })
}

/// Returns the size `key`, which is from 1 to `most`.
fn size(gguf: &Gguf, key: &str, most: usize) -> Result<Option<usize>, Fault> {
    match gguf.whole(key)? {
        Some(value) if !(1..=most).contains(&value) => {
            Err(fault!("`{key}` is {value}; expected 1 to {most}"))
        }
        value => Ok(value),
    }
}

/// Returns the number `key`, which is above 0.
fn positive(gguf: &Gguf, key: &str, default: f32) -> Result<f32, Fault> {
    match gguf.float(key)?.unwrap_or(default) {
        value if value > 0.0 => Ok(value),
        value => Err(fault!("`{key}` is {value}; expected a number above 0")),
    }
}
