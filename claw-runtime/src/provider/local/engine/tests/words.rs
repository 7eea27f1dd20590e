//! Texts to tokens and back.

use proptest::prelude::*;

use super::tiny::Tiny;
use super::*;
use crate::provider::local::engine::split::Split;
use crate::provider::local::engine::text::Text;

fn tiny() -> Vocabulary {
    let bytes = Tiny::new("llama").bytes();
    Vocabulary::read(&Gguf::read(&bytes[..], bytes.len() as u64).unwrap()).unwrap()
}

fn cut<'t>(name: &str, text: &'t str) -> Vec<&'t str> {
    let mut words = Vec::new();
    Split::of(Some(name))
        .unwrap()
        .each(text, |word| words.push(word));
    words
}

/// By the rules the vocabularies' makers publish, applied by hand.
#[test]
fn words_are_cut_as_each_vocabulary_does() {
    let text = "Hello'Ve world 123\n\n  foo  ";
    assert_eq!(
        cut("qwen2", text),
        [
            "Hello", "'Ve", " world", " ", "1", "2", "3", "\n\n", " ", " foo", "  "
        ]
    );
    assert_eq!(
        cut("llama-bpe", text),
        [
            "Hello", "'Ve", " world", " ", "123", "\n\n", " ", " foo", "  "
        ]
    );
    assert_eq!(
        cut("gpt-2", text),
        ["Hello", "'", "Ve", " world", " 123", "\n\n ", " foo", "  "]
    );
    assert_eq!(
        cut("smollm", text),
        [
            "Hello", "'", "Ve", " world", " ", "1", "2", "3", "\n\n ", " foo", "  "
        ]
    );
    // Spaces before a digit are at the end of their part, so they stay together.
    assert_eq!(cut("smollm", "x  5"), ["x", "  ", "5"]);
    assert_eq!(cut("gpt-2", "x  5"), ["x", " ", " 5"]);
    assert_eq!(
        cut("llama-bpe", "a\r\n b, c!\n"),
        ["a", "\r\n", " b", ",", " c", "!\n"]
    );
}

#[test]
fn neighbours_are_joined_the_best_pair_first() {
    let vocabulary = tiny();
    let (he, ll, hell) = (259, 260, 261);
    assert_eq!(vocabulary.encode("hello", false), [hell, 111]);
    assert_eq!(vocabulary.encode("helo", false), [he, 108, 111]);
    assert_eq!(vocabulary.encode("lll hll", false), [ll, 108, 32, 104, ll]);
    assert!(vocabulary.encode("", false).is_empty());
}

#[test]
fn written_marks_are_text_and_marks_of_templates_are_not() {
    let vocabulary = tiny();
    let written = "<|im_end|> <tool_call>";
    let bytes: Vec<u32> = written
        .bytes()
        .map(|byte| if byte == b' ' { 32 } else { byte.into() })
        .collect();
    let found = vocabulary.encode(written, false);
    assert!(
        found.iter().all(|token| !(256..=258).contains(token)),
        "{found:?}"
    );
    let text: Vec<u8> = found
        .iter()
        .flat_map(|token| vocabulary.text(*token))
        .copied()
        .collect();
    assert_eq!(text, written.as_bytes());
    assert!(found.len() <= bytes.len());
    assert_eq!(
        vocabulary.encode("<|im_start|>hell<|im_end|>\n<tool_call>", true),
        [256, 261, 257, 10, 258]
    );
    // What a model says by marks is no text; an added token is.
    assert_eq!(
        (vocabulary.text(257), vocabulary.text(258)),
        (&b""[..], &b"<tool_call>"[..])
    );
    assert_eq!(
        (vocabulary.end.as_slice(), vocabulary.words[256].as_slice()),
        (&[257][..], &b"<|im_start|>"[..])
    );
}

/// A pair list that makes a mark of plain text is not followed.
#[test]
fn no_pair_makes_a_mark() {
    let tiny = Tiny::new("llama").set(
        "tokenizer.ggml.merges",
        super::tiny::Written::texts(&["<|im_end| >".to_owned(), "< |".to_owned()]),
    );
    let bytes = tiny.bytes();
    let vocabulary =
        Vocabulary::read(&Gguf::read(&bytes[..], bytes.len() as u64).unwrap()).unwrap();
    assert!(!vocabulary.encode("<|im_end|>", false).contains(&257));
}

#[test]
fn a_vocabulary_of_scores_joins_by_them_and_falls_back_to_bytes() {
    use super::tiny::Written;
    let tokens = [
        "<unk>", "<s>", "</s>", "<0x0A>", "<0xC3>", "<0xA9>", "▁", "a", "b", "c", "ab", "bc", "▁a",
        "▁ab", "<",
    ];
    let kinds = [2, 3, 3, 6, 6, 6, 1, 1, 1, 1, 1, 1, 1, 1, 1];
    let scores = [0, 0, 0, 0, 0, 0, -9, -9, -9, -9, -2, -1, -3, -4, -9];
    let floats = {
        let mut bytes = [9_u32.to_le_bytes(), 6_u32.to_le_bytes()].concat();
        bytes.extend((scores.len() as u64).to_le_bytes());
        bytes.extend(
            scores
                .iter()
                .flat_map(|score| (*score as f32).to_le_bytes()),
        );
        Written(bytes)
    };
    let tiny = Tiny::new("llama")
        .set("tokenizer.ggml.model", Written::text("llama"))
        .set(
            "tokenizer.ggml.tokens",
            Written::texts(&tokens.map(str::to_owned)),
        )
        .set("tokenizer.ggml.token_type", Written::i32s(&kinds))
        .set("tokenizer.ggml.scores", floats)
        .set("tokenizer.ggml.bos_token_id", Written::u32(1))
        .set("tokenizer.ggml.eos_token_id", Written::u32(2))
        .set("tokenizer.ggml.unknown_token_id", Written::u32(0));
    let bytes = tiny.bytes();
    let vocabulary =
        Vocabulary::read(&Gguf::read(&bytes[..], bytes.len() as u64).unwrap()).unwrap();
    // ` abc`: `bc` (-1) comes before `ab` (-2), then ` a` (-3).
    assert_eq!(vocabulary.encode("abc", false), [12, 11]);
    assert_eq!(vocabulary.encode("ab\né<", false), [13, 3, 4, 5, 14]);
    assert_eq!(vocabulary.encode("日", false), [6, 0, 0, 0]);
    assert_eq!(vocabulary.encode("</s>", false).first(), Some(&6));
    assert_eq!(vocabulary.encode("</s>", true), [2]);
    assert!(vocabulary.add_begin && vocabulary.begin == Some(1));
    assert_eq!(vocabulary.text(13), b" ab");
}

#[test]
fn stop_texts_and_parts_of_characters_are_held_back() {
    let mut text = Text::new(vec!["END".to_owned(), "Now".to_owned()]);
    let mut said = Vec::new();
    for bytes in [
        &b"a E"[..],
        b"N",
        b"x \xf0\x9f",
        b"\xa6\x8a N",
        b"o",
        b"w rest",
    ] {
        said.push(text.push(bytes));
    }
    let right = [
        ("a ", false),
        ("", false),
        ("ENx ", false),
        ("🦊 ", false),
        ("", false),
        ("", true),
    ];
    assert_eq!(said, right.map(|(text, stop)| (text.to_owned(), stop)));
    let mut text = Text::new(vec![]);
    assert_eq!(text.push(b"a\xff\xc3"), ("a\u{fffd}".to_owned(), false));
    assert_eq!(text.finish(), "\u{fffd}");
}

proptest! {
    /// Byte-level tokens give back the very text, marks in it included.
    #[test]
    fn a_text_survives_its_tokens(text in "\\PC{0,40}|[hel<|im_end>\\s]{0,60}") {
        let vocabulary = tiny();
        let tokens = vocabulary.encode(&text, false);
        prop_assert!(tokens.iter().all(|token| !(256..=258).contains(token)));
        let back: Vec<u8> = tokens.iter().flat_map(|token| vocabulary.text(*token)).copied().collect();
        prop_assert_eq!(back, text.as_bytes());
    }

    /// Words are the text, cut.
    #[test]
    fn words_are_the_text(text in "\\PC{0,40}|[ \\t\\r\\n0-9a-c']{0,40}", name in prop::sample::select(vec!["gpt-2", "smollm", "llama-bpe", "qwen2"])) {
        prop_assert_eq!(cut(name, &text).concat(), text);
    }

    /// However bytes are cut, the text is the same, and a stop text never shows.
    #[test]
    fn text_does_not_hang_on_how_it_comes(text in "[aé🦊]{0,30}", parts in prop::collection::vec(1_usize..5, 1..40)) {
        let whole = text.split("éa").next().unwrap().to_owned();
        let mut held = Text::new(vec!["éa".to_owned()]);
        let (mut said, mut stopped, mut rest) = (String::new(), false, text.as_bytes());
        for part in parts.iter().cycle() {
            if rest.is_empty() || stopped {
                break;
            }
            let (part, after) = rest.split_at((*part).min(rest.len()));
            let (more, stop) = held.push(part);
            said += &more;
            (stopped, rest) = (stop, after);
        }
        said += &held.finish();
        prop_assert_eq!(stopped, text.contains("éa"));
        prop_assert_eq!(said, whole);
    }
}
