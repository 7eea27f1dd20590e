//! The two ways arguments are read agree: what the fast one takes the slow one takes with the same value, and what the
//! fast one refuses the slow one brings to something it takes, or explains.
#![allow(clippy::unwrap_used)]
#![allow(dead_code, reason = "fields are read through `Debug`")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::num::NonZeroU8;
use std::time::Duration;

use claw::message::ContentBlock;
use claw::tool::{Prepared, Tool, ToolContext, ToolEntry};
use claw::{ToolInput, tool};
use claw_runtime::schema::{Coerce, Unknown, validate};
use proptest::prelude::*;
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, ToolInput)]
#[serde(rename_all = "snake_case")]
enum Word {
    Fast,
    VerySlow,
}

#[derive(Debug, ToolInput)]
struct Place {
    /// The name.
    #[arg(len = 1..=3)]
    name: String,
    /// The height.
    height: Option<f64>,
    /// The floor.
    #[serde(default)]
    floor: i8,
}

#[derive(Debug, ToolInput)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Act {
    /// Goes.
    Go {
        /// How far.
        far: u8,
        /// Which floor.
        floor: Option<i8>,
    },
    /// Stops.
    Stop,
}

#[derive(Debug, ToolInput)]
enum Around {
    /// Nothing.
    Nothing,
    /// A word.
    Word(String),
    /// A number.
    Number(u16),
}

/// Takes one of each kind.
#[tool(effect = pure)]
#[expect(clippy::too_many_arguments, reason = "one of each kind")]
fn kinds(
    /// A.
    small: Option<i8>,
    /// A.
    #[arg(range = 1..=99, default = 7)]
    within: u64,
    /// A.
    wide: Option<i128>,
    /// A.
    #[arg(multiple_of = 5)]
    fives: Option<i32>,
    /// A.
    one: Option<NonZeroU8>,
    /// A.
    #[arg(range = -1.0..1.0)]
    unit: Option<f64>,
    /// A.
    single: Option<f32>,
    /// A.
    #[arg(default = false)]
    flag: bool,
    /// A.
    letter: Option<char>,
    /// A.
    #[arg(len = 1..=4, default = "ab")]
    text: &str,
    /// A.
    free: Option<&str>,
    /// A.
    #[arg(one_of("x", "Y"))]
    choice: Option<String>,
    /// A.
    word: Option<Word>,
    /// A.
    #[arg(len = ..=2)]
    list: Option<Vec<i16>>,
    /// A.
    pair: Option<(u8, bool)>,
    /// A.
    bytes: Option<[u8; 2]>,
    /// A.
    set: Option<BTreeSet<String>>,
    /// A.
    map: Option<BTreeMap<String, Option<u8>>>,
    /// A.
    span: Option<Duration>,
    /// A.
    host: Option<Ipv4Addr>,
    /// A.
    place: Option<Place>,
    /// A.
    act: Option<Act>,
    /// A.
    around: Option<Around>,
    /// A.
    any: Option<Value>,
) -> String {
    format!(
        "{small:?} {within} {wide:?} {fives:?} {one:?} {unit:?} {single:?} {flag} {letter:?} {text:?} {free:?} {choice:?} \
         {word:?} {list:?} {pair:?} {bytes:?} {set:?} {map:?} {span:?} {host:?} {place:?} {act:?} {around:?} {any:?}"
    )
}

const NAMES: [&str; 24] = [
    "small", "within", "wide", "fives", "one", "unit", "single", "flag", "letter", "text", "free",
    "choice", "word", "list", "pair", "bytes", "set", "map", "span", "host", "place", "act",
    "around", "any",
];

/// Parameters whose schema does not say everything: the form of an address, the greatest number of a wide type.
const UNSAID: [&str; 5] = ["host", "within", "wide", "single", "span"];

/// Returns what the function was given, or `None` where the fast path refuses.
fn given(entry: &'static ToolEntry, text: &str) -> Option<String> {
    let ctx = ToolContext::detached();
    match (entry.shim)(Some(&ctx), text) {
        Ok(Prepared::Done(Ok(output))) => match &output.content[..] {
            [ContentBlock::Text { text }] => Some(text.clone()),
            other => panic!("{other:?}"),
        },
        Ok(_) => panic!("a sync tool runs"),
        Err(_) => None,
    }
}

/// JSON that is a value, nearly one, or none of a parameter.
fn value() -> impl Strategy<Value = String> {
    let atom = prop::sample::select(vec![
        "null",
        "true",
        "false",
        "0",
        "-0",
        "1",
        "5",
        "-5",
        "7.0",
        "-0.5",
        "1e0",
        "1.5",
        "127",
        "128",
        "255",
        "256",
        "1e400",
        "3.5e38",
        "18446744073709551615",
        "170141183460469231731687303715884105728",
        "\"\"",
        "\"a\"",
        "\"é\"",
        "\"abcde\"",
        "\"x\"",
        "\"y\"",
        "\"fast\"",
        "\"Fast\"",
        "\"very_slow\"",
        "\"1\"",
        "\" 5 \"",
        "\"true\"",
        "\"null\"",
        "\"None\"",
        "\"[1]\"",
        "\"{}\"",
        "\"127.0.0.1\"",
        "\"1.2.3\"",
        "\"go\"",
        "\"stop\"",
        "\"Nothing\"",
        "\"\\u0061\"",
        "\"\\ud83d\\ude00\"",
        "\"\\ud800\"",
        "\"{\\\"name\\\":\\\"a\\\"}\"",
        "[",
        "nul",
        "01",
        "'a'",
    ]);
    let key = prop::sample::select(vec![
        "name", "height", "floor", "kind", "far", "Word", "Number", "Nothing", "k",
    ]);
    atom.prop_map(str::to_owned)
        .prop_recursive(3, 12, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4)
                    .prop_map(|items| format!("[{}]", items.join(","))),
                inner
                    .clone()
                    .prop_map(|floor| format!(r#"{{"kind":"go","far":1,"floor":{floor}}}"#)),
                prop::collection::vec((key.clone(), inner), 0..4)
                    .prop_map(|members| object(&members)),
            ]
        })
}

fn object<K: AsRef<str>>(members: &[(K, String)]) -> String {
    let members: Vec<String> = members
        .iter()
        .map(|(key, value)| format!("\"{}\":{value}", key.as_ref()))
        .collect();
    format!("{{{}}}", members.join(" , "))
}

fn arguments() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        40 => prop::sample::select(NAMES.to_vec()),
        1 => prop::sample::select(vec!["smal", "zzz", "\\u0066lag"]),
    ];
    prop::collection::vec((name, value()), 0..4).prop_map(|members| object(&members))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn the_slow_path_takes_what_the_fast_path_takes_with_the_same_value(text in arguments()) {
        let [entry] = claw::tools![kinds] else { panic!("one tool") };
        let tool = Tool::linked(entry);
        let fast = given(entry, &text);
        for coerce in [Coerce::Strict, Coerce::Safe, Coerce::Lenient] {
            for unknown in [Unknown::Refuse, Unknown::Drop] {
                let slow = validate(tool.schema(), &text, coerce, unknown);
                match (&fast, slow) {
                    (Some(fast), Ok(valid)) => {
                        let slow = given(entry, &valid.text);
                        prop_assert_eq!(slow.as_ref(), Some(fast), "{:?} {} {}", coerce, text, valid.text);
                    }
                    (Some(_), Err(invalid)) => {
                        prop_assert!(false, "{coerce:?} {text}: {}", invalid.report("kinds", tool.schema()));
                    }
                    (None, Ok(valid)) => {
                        // What a schema does not say, such as the form of an address, the fast path explains.
                        if given(entry, &valid.text).is_none() {
                            let Err(reject) = (entry.shim)(None, &valid.text) else { panic!("{text}") };
                            prop_assert!(reject.name.is_some_and(|name| UNSAID.contains(&name)), "{} {}", text, reject);
                        } else {
                            prop_assert!(!valid.notes.is_empty(), "{coerce:?} {text} {}", valid.text);
                        }
                    }
                    (None, Err(invalid)) => prop_assert!(!invalid.problems.is_empty()),
                }
            }
        }
    }
}

#[test]
fn null_for_an_optional_member_is_absence_under_every_rule() {
    let [entry] = claw::tools![kinds] else {
        panic!("one tool")
    };
    let tool = Tool::linked(entry);
    let text = r#"{"flag":null,"free":null,"place":{"name":"a","height":null},"act":{"kind":"go","far":1,"floor":null}}"#;
    for coerce in [Coerce::Strict, Coerce::Safe, Coerce::Lenient] {
        let valid = validate(tool.schema(), text, coerce, Unknown::Refuse).unwrap();
        assert_eq!(
            valid.text,
            r#"{"place":{"name":"a"},"act":{"kind":"go","far":1}}"#
        );
    }
    let nothing = r#"{"place":{"name":null}}"#;
    assert!(validate(tool.schema(), nothing, Coerce::Safe, Unknown::Refuse).is_err());
}

/// Sets a price.
#[tool(effect = pure)]
fn price(
    /// In euros.
    #[arg(range = 0.0..=10.0, multiple_of = 0.01, default = 0.07)]
    euros: f64,
    /// In quarters of an hour.
    #[arg(multiple_of = 1.5)]
    quarters: Option<u8>,
) -> String {
    format!("{euros} {quarters:?}")
}

#[test]
fn a_multiple_of_a_fraction_is_exact_on_both_paths() {
    let [entry] = claw::tools![price] else {
        panic!("one tool")
    };
    let tool = Tool::linked(entry);
    let schema = tool.input_schema();
    assert!(schema.contains(r#""multipleOf":0.01"#), "{schema}");
    assert!(schema.contains(r#""multipleOf":1.5"#), "{schema}");
    // As floats, 0.07 and 1.1 are no multiples of 0.01.
    for text in [
        r#"{"euros":0.07}"#,
        r#"{"euros":1.1,"quarters":3}"#,
        r#"{"euros":110e-2,"quarters":0}"#,
        "{}",
    ] {
        assert!(tool.validate(text).is_ok(), "{text}");
        assert!((entry.shim)(None, text).is_ok(), "{text}");
    }
    for text in [r#"{"euros":0.075}"#, r#"{"quarters":2}"#] {
        let report = tool.validate(text).unwrap_err();
        assert!(report.contains("multiple of"), "{report}");
        assert!((entry.shim)(None, text).is_err(), "{text}");
    }
    // No float tells this from a multiple; its text does.
    assert!(tool.validate(r#"{"euros":0.0700000000000000001}"#).is_err());
    assert_eq!(tool.check(), Ok(()));
}
