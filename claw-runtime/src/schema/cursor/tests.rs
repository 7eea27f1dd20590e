use super::*;
use proptest::prelude::*;
use serde_json::Value;

/// Returns what is left of `text` after one value, and the value.
fn skipped(text: &str) -> Result<(), Reject> {
    let mut cursor = Cursor::new(text);
    cursor.skip()?;
    cursor.end()
}

#[test]
fn plain_text_ends_at_the_first_special_byte() {
    for length in 0..20 {
        for special in [b'"', b'\\', 0, 31] {
            let mut bytes = vec![b'a'; length];
            bytes.push(special);
            bytes.extend([0xff, b'"', b' ', 0x7f, 0x80, b'"', b'\\', 1, 2]);
            assert_eq!(plain(&bytes), length, "{special} after {length}");
        }
    }
    assert_eq!(plain("ünïcode ✓ stays whole".as_bytes()), 25);
}

#[test]
fn what_json_forbids_is_refused() {
    for text in [
        "",
        " ",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "+1",
        "tru",
        "nul",
        "[1,]",
        "[,1]",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{a:1}",
        "\"\n\"",
        "\"\\x\"",
        "\"\\ud800\"",
        "\"",
        "[",
        "{",
        "1 2",
        "NaN",
        "'a'",
        "[1 2]",
        "{\"a\"}",
    ] {
        assert!(skipped(text).is_err(), "{text}");
        assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
    }
}

#[test]
fn nesting_has_a_limit() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(skipped(&nested(128)).is_ok());
    assert!(skipped(&nested(129)).is_err());
    assert!(skipped(&"[".repeat(1_000_000)).is_err());
}

#[test]
fn a_search_does_not_move() {
    let mut cursor = Cursor::new(r#" {"a":[{"tag":"inner"}],"t\u0061g":"x\n"}"#);
    assert_eq!(cursor.find("tag").unwrap(), "x\n");
    assert_eq!(cursor.find("a").unwrap_err().what, "expected a string");
    let mut cursor = Cursor::new(r#"{"b":1}"#);
    assert!(cursor.find("tag").is_err());
}

proptest! {
    #[test]
    fn any_text_is_read_as_serde_reads_it(text in r#"[\[\]{}":,\\0-9aeEntrufls.\- +\n]{0,24}"#) {
        prop_assert_eq!(skipped(&text).is_ok(), serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok());
    }

    #[test]
    fn any_text_never_panics(text in "\\PC*") {
        let _ = skipped(&text);
        let _ = Cursor::new(&text).find("a");
        let _ = Cursor::new(&text).integer();
    }

    #[test]
    fn strings_and_numbers_survive(text in any::<String>(), int in any::<i64>(), float in any::<f64>()) {
        let json = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(Cursor::new(&json).string().unwrap(), text.as_str());
        let json = int.to_string();
        prop_assert_eq!(Cursor::new(&json).integer().unwrap(), (int < 0, u128::from(int.unsigned_abs())));
        if float.is_finite() {
            let json = serde_json::to_string(&float).unwrap();
            prop_assert_eq!(Cursor::new(&json).float().unwrap(), float);
        }
    }
}
