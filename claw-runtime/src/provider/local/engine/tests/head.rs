//! Files that are cut, wrong or hostile: a clear error, and nothing else.

use std::io::Cursor;

use proptest::prelude::*;

use super::tiny::{Tiny, Written};
use super::*;

/// Reads a file as [`Engine::open`] does, then its weights.
fn load_bytes(bytes: &[u8]) -> Result<(), String> {
    let fault = |fault: Fault| fault.0;
    let gguf = Gguf::read(bytes, bytes.len() as u64).map_err(fault)?;
    let vocabulary = Vocabulary::read(&gguf).map_err(fault)?;
    let shape = Shape::read(&gguf, vocabulary.words.len()).map_err(fault)?;
    let threads = Threads::new(NonZeroUsize::MIN);
    Model::read(&mut Cursor::new(bytes), &gguf, shape, threads).map_err(fault)?;
    Ok(())
}

fn refused(tiny: &Tiny, expected: &str) {
    let found = load_bytes(&tiny.bytes());
    assert_eq!(found, Err(expected.to_owned()));
}

#[test]
fn the_tiny_models_load() {
    for family in ["llama", "qwen2", "qwen3"] {
        assert_eq!(load_bytes(&Tiny::new(family).bytes()), Ok(()), "{family}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let tiny = Tiny::new("llama");
    for (bytes, expected) in [
        (
            &b"GGML\x03\0\0\0"[..],
            "it does not begin with `GGUF`, so it is no GGUF file",
        ),
        (
            b"GG",
            "the magic number ends after the file, which has 2 bytes",
        ),
        (b"GGUF\x01\0\0\0", "it has version 1; expected 2 or 3"),
        (
            b"GGUF\0\0\0\x03",
            "it is written big-endian; expected little-endian",
        ),
        (
            b"GGUF\x03\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
            "the number of tensors is 18446744073709551615; expected 65536 at most",
        ),
    ] {
        assert_eq!(load_bytes(bytes), Err(expected.to_owned()));
    }
    refused(
        &tiny
            .clone()
            .set("general.architecture", Written::text("mamba")),
        "`general.architecture` is `mamba`; expected `llama`, `qwen2` or `qwen3`",
    );
    refused(
        &tiny.clone().without("llama.block_count"),
        "`llama.block_count` is missing",
    );
    refused(
        &tiny.clone().set("llama.block_count", Written::u32(0)),
        "`llama.block_count` is 0; expected 1 to 1024",
    );
    refused(
        &tiny.clone().set("llama.block_count", Written::u32(3)),
        "tensor `blk.2.attn_norm.weight` is missing",
    );
    refused(
        &tiny
            .clone()
            .set("llama.embedding_length", Written::u32(128)),
        "tensor `token_embd.weight` has 262 × 64 numbers; expected 262 × 128",
    );
    refused(
        &tiny
            .clone()
            .set("llama.embedding_length", Written::text("64")),
        "`llama.embedding_length` is no whole number",
    );
    refused(
        &tiny
            .clone()
            .set("llama.attention.head_count_kv", Written::u32(3)),
        "`llama.attention.head_count` is 2, no multiple of `head_count_kv`, 3",
    );
    refused(
        &tiny.clone().set("llama.rope.freq_base", Written::f32(-1.0)),
        "`llama.rope.freq_base` is -1; expected a number above 0",
    );
    refused(
        &tiny
            .clone()
            .set("llama.rope.scaling.type", Written::text("yarn")),
        "`llama.rope.scaling.type` is `yarn`; expected `none` or `linear`",
    );
    refused(
        &tiny.clone().set("llama.expert_count", Written::u32(8)),
        "it is a mixture of 8 experts, which is not supported",
    );
    refused(
        &tiny
            .clone()
            .set("tokenizer.ggml.model", Written::text("t5")),
        "`tokenizer.ggml.model` is `t5`; expected `gpt2` or `llama`",
    );
    refused(
        &tiny
            .clone()
            .set("tokenizer.ggml.pre", Written::text("tekken")),
        "`tokenizer.ggml.pre` is `tekken`; expected `gpt-2`, `smollm`, `llama-bpe` or `qwen2`",
    );
    refused(
        &tiny
            .clone()
            .set("tokenizer.ggml.eos_token_id", Written::u32(262)),
        "`tokenizer.ggml.eos_token_id` is 262; there are 262 tokens",
    );
    refused(
        &tiny
            .clone()
            .set("tokenizer.ggml.token_type", Written::i32s(&[1])),
        "`tokenizer.ggml.token_type` has 1 elements; expected 262, one a token",
    );
    for name in [
        "blk.0.ffn_gate.bias",
        "blk.2.attn_q.weight",
        "blk.0.attn_sub_norm.weight",
        "output.bias",
        "cls.weight",
    ] {
        let mut more = tiny.clone();
        more.tensors.push((name.to_owned(), 1, 64, vec![0.0; 64]));
        let fault = format!(
            "tensor `{name}` has no place in a model of the kind `llama` with 2 layers; without it the model would say something else"
        );
        refused(&more, &fault);
    }
    refused(
        &tiny.clone().set("general.alignment", Written::u32(33)),
        "`general.alignment` is 33; expected a power of 2 from 8",
    );
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let whole = Tiny::new("llama").bytes();
    // The last bytes may be padding; each tensor before them is needed.
    for length in (0..whole.len() - 32).step_by(97) {
        let cut = load_bytes(&whole[..length]);
        assert!(cut.is_err(), "cut at {length}");
    }
}

#[test]
fn a_model_that_needs_too_much_memory_is_refused_before_it_is_loaded() {
    let (_folder, path) = Tiny::new("llama").write();
    let options = Options {
        memory: 100_000,
        ..Options::default()
    };
    let err = Engine::open(&path, &options).err().unwrap();
    let EngineError::Memory { need, limit, .. } = &err else {
        panic!("{err}");
    };
    // 262 × 64 and, in each of 2 layers, 64 × 64 twice, 32 × 64 twice and 96 × 64 three times, at 9 bits and 4 bytes for
    // 32 of them, norms alike; and for 512 tokens 2 layers of 32 keys and 32 values with 2 bytes, and 4 bytes for each side's one head.
    let table = 262 * 64 + 2 * (2 * 64 * 64 + 2 * 32 * 64 + 3 * 96 * 64) + 5 * 64;
    assert_eq!(
        (*need, *limit),
        (table / 32 * 36 + 512 * 2 * 2 * (32 * 2 + 4), 100_000)
    );
}

#[test]
fn folders_and_absent_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path| Engine::open(path, &Options::default()).err().unwrap();
    assert!(matches!(
        open(&folder.path().join("none.gguf")),
        EngineError::Read { .. }
    ));
    assert!(matches!(
        open(folder.path()),
        EngineError::File { .. } | EngineError::Read { .. }
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever bytes of the head are changed, loading ends, without a panic; weights may be any.
    #[test]
    fn changed_heads_never_panic(changes in prop::collection::vec((0_usize..12_000, any::<u8>()), 1..8)) {
        let mut bytes = Tiny::new("qwen2").bytes();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        let _ = load_bytes(&bytes);
    }

    /// Numbers of the head replaced by ones that overflow sums and products.
    #[test]
    fn hostile_numbers_never_panic(at in 4_usize..12_000, number in prop_oneof![
        Just(u64::MAX), Just(i64::MAX as u64), Just(1 << 32), Just((1 << 28) - 1), Just(u64::from(u32::MAX)), Just(0), any::<u64>(),
    ]) {
        let mut bytes = Tiny::new("llama").bytes();
        bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        let _ = load_bytes(&bytes);
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = load_bytes(&[b"GGUF\x03\0\0\0", &bytes[..]].concat());
    }
}
