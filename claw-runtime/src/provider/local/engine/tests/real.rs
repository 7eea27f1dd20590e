//! SmolLM2-135M-Instruct, where `CLAW_TEST_GGUF` names it.

use super::*;

/// The file that `CLAW_TEST_GGUF` names.
fn weights() -> Option<PathBuf> {
    let path = std::env::var_os("CLAW_TEST_GGUF").map(PathBuf::from);
    if path.is_none() {
        eprintln!("skipped: CLAW_TEST_GGUF names no file of weights");
    }
    path
}

/// What llama.cpp (b11434, `/tokenize`) makes of the same texts.
#[test]
fn tokens_are_those_of_llama_cpp() {
    let Some(path) = weights() else { return };
    let engine = Engine::open(&path, &Options::default()).unwrap();
    let cases: [(&str, &[u32]); 11] = [
        ("Hello, world!", &[19556, 28, 905, 17]),
        (
            "It's 12 °C in Oslo; we've 1,234.5 km to go.",
            &[
                1589, 506, 216, 33, 34, 13518, 51, 281, 41730, 43, 392, 3543, 216, 33, 28, 34, 35,
                36, 30, 37, 6381, 288, 685, 30,
            ],
        ),
        (
            "  two spaces\n\n\ttab  and trailing  ",
            &[216, 827, 5600, 1116, 197, 15999, 216, 284, 35079, 256],
        ),
        (
            "fn main() { println!(\"{}\", 0x1F); }",
            &[
                7853, 1085, 1000, 1662, 1628, 34115, 17, 43331, 1002, 216, 32, 104, 33, 54, 4258,
                4029,
            ],
        ),
        (
            "日本語とемодзи 🦊🎉 ½ ²",
            &[
                23274, 115, 40993, 179, 120, 248, 7365, 118, 44758, 37625, 23035, 7872, 15107, 116,
                228, 10813, 232, 227, 216, 16738, 216, 19133,
            ],
        ),
        ("I'M HERE'S", &[57, 23, 61, 27873, 23, 67]),
        ("a\r\nb\n \n c", &[81, 201, 198, 82, 198, 3717, 265]),
        (
            "<|im_end|> typed by a user",
            &[44, 108, 306, 79, 486, 108, 46, 30473, 411, 253, 2914],
        ),
        ("x  5   y\n  9", &[104, 256, 37, 256, 329, 11181, 41]),
        (" ", &[216]),
        ("\n\n", &[1116]),
    ];
    for (text, tokens) in cases {
        assert_eq!(engine.vocabulary().encode(text, false), tokens, "{text:?}");
    }
    let marked = engine
        .vocabulary()
        .encode("<|im_start|>user\nHello<|im_end|>\n", true);
    assert_eq!(marked, [1, 4093, 198, 19556, 2, 198]);
}

/// What the same weights say when the pass is computed in single precision by NumPy, without 8-bit numbers anywhere:
/// the beginning of the likeliest reply, as far as it leads by enough.
#[test]
fn replies_are_those_of_a_plain_computation() {
    let Some(path) = weights() else { return };
    let engine = Engine::open(&path, &Options::default()).unwrap();
    for (question, reply) in [
        (
            "What is the capital of France?",
            "The capital of France is Paris.",
        ),
        (
            "Tell me a story about a fox.",
            "The story of a fox is a classic example of a magical tale with a dark underbelly.",
        ),
        (
            "Write a haiku about the sea.",
            "The waves of the sea, a silent beauty,\nA gentle lapping of the shore,",
        ),
        (
            "What is 2 + 2?",
            "The answer to this classic math problem is 4.",
        ),
        (
            "Name three colours.",
            "1. Red: This is the most obvious colour, but it's also the most",
        ),
    ] {
        let prompt = format!(
            "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n\
             <|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
        );
        let prompt = engine.vocabulary().encode(&prompt, true);
        let mut pieces = engine.run(job(prompt, 24)).unwrap();
        let mut said = String::new();
        while let Some(piece) = pieces.blocking_recv() {
            match piece {
                Piece::Text(text) => said += &text,
                Piece::Failed(err) => panic!("{err}"),
                _ => {}
            }
        }
        assert!(said.starts_with(reply), "{said:?}, expected {reply:?}");
    }
}
