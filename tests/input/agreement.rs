//! Schema, reader, slow path and serde say the same of every type.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::num::{NonZeroI8, NonZeroU16};

use claw::registry::Toolset;
use claw::schema::{Coerce, Note, Unknown, validate};
use claw::tool::{Prepared, ToolContext, ToolEntry};
use claw::{ToolInput, tool};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::probe::Probe;

#[derive(Debug, Deserialize, ToolInput)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Numbers {
    /// Signed.
    signed_one: i8,
    wide: Option<i64>,
    #[serde(default)]
    unsigned: u64,
    float: f64,
    single: Option<f32>,
    not_zero: NonZeroI8,
    above: Option<NonZeroU16>,
    huge: Option<u128>,
}

#[derive(Debug, Deserialize, ToolInput)]
#[serde(deny_unknown_fields)]
struct Texts {
    text: String,
    #[serde(rename = "char")]
    letter: Option<char>,
    #[serde(alias = "names")]
    list: Vec<String>,
    set: Option<BTreeSet<u8>>,
    map: BTreeMap<String, Option<bool>>,
    any: Option<Value>,
    pair: (u8, Option<String>),
    three: [bool; 3],
    #[serde(skip)]
    hidden: u8,
}

#[derive(Debug, Deserialize, ToolInput)]
struct Unit;

#[derive(Debug, Deserialize, ToolInput)]
struct Empty {}

#[derive(Debug, Deserialize, ToolInput)]
struct Nothing();

#[derive(Debug, Deserialize, ToolInput)]
struct Newtype(Option<u8>);

#[derive(Debug, Deserialize, ToolInput)]
struct Pair(u8, Option<Box<Pair>>, #[serde(skip)] u8);

#[derive(Debug, Deserialize, ToolInput)]
#[serde(transparent)]
struct Wrapped {
    #[serde(skip)]
    hidden: u8,
    inner: Vec<Pair>,
}

#[derive(Debug, Deserialize, ToolInput)]
#[serde(deny_unknown_fields)]
struct Page<T> {
    items: Vec<T>,
    first: Option<T>,
    next: Option<Box<Self>>,
}

#[derive(Debug, Deserialize, ToolInput)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    depth: u8,
    name: String,
    #[serde(default = "yes")]
    follow: bool,
    #[serde(skip)]
    cached: u8,
}

fn yes() -> bool {
    true
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            depth: 3,
            name: "main".to_owned(),
            follow: false,
            cached: 9,
        }
    }
}

#[derive(Debug, Deserialize, ToolInput)]
struct Bounds {
    low: i8,
    high: Option<i8>,
}

#[derive(Debug, Deserialize, ToolInput)]
struct Outer {
    name: String,
    #[serde(flatten)]
    bounds: Bounds,
    #[serde(flatten)]
    more: Box<Middle>,
    last: Option<bool>,
}

#[derive(Debug, Deserialize, ToolInput)]
struct Middle {
    count: u8,
    #[serde(flatten)]
    settings: Settings2,
    nested: Option<Bounds>,
}

#[derive(Debug, Deserialize, ToolInput)]
struct Settings2 {
    word: Words,
    deep: Option<Box<Outer>>,
}

#[derive(Debug, Deserialize, ToolInput)]
struct Open {
    name: String,
    #[serde(flatten)]
    bounds: Bounds,
    #[serde(flatten)]
    rest: BTreeMap<String, u8>,
}

#[derive(Debug, Deserialize, ToolInput)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
enum Words {
    OneWord,
    #[serde(alias = "t")]
    Two,
    #[serde(skip)]
    Never,
}

#[derive(Debug, Deserialize, ToolInput)]
#[serde(rename_all_fields = "camelCase", deny_unknown_fields)]
enum External {
    None,
    One(Option<u8>),
    Two(u8, String),
    Three {
        some_name: i8,
        inner: Option<Box<External>>,
    },
    Four(Words),
    Five(),
}

#[derive(Debug, Deserialize, ToolInput)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Internal {
    None,
    Named { a: u8, next: Option<Box<Internal>> },
    Held(Held),
    Free(BTreeMap<String, u8>),
}

#[derive(Debug, Deserialize, ToolInput)]
#[serde(deny_unknown_fields)]
struct Held {
    b: u8,
    c: Option<String>,
}

#[derive(Debug, Deserialize, ToolInput)]
#[serde(tag = "t", content = "c", deny_unknown_fields)]
enum Adjacent {
    None,
    One(Option<u8>),
    Held(Box<Held>),
    Two(u8, bool),
    Three { a: u8, next: Option<Box<Adjacent>> },
}

#[derive(Debug, Deserialize, ToolInput)]
#[serde(untagged, deny_unknown_fields)]
enum Untagged {
    None,
    Number(u8),
    Text(String),
    Two(u8, bool),
    Node { n: u8, next: Option<Box<Untagged>> },
    List(Vec<Untagged>),
    Other(Held),
}

/// A tool.
struct Case {
    entries: &'static [ToolEntry],
    tools: Toolset,
    /// The input schema.
    schema: Value,
    /// Returns how serde reads the one argument, as `Debug` writes it.
    serde: Option<fn(&Value) -> Option<String>>,
}

impl Case {
    fn new(entries: &'static [ToolEntry], serde: Option<fn(&Value) -> Option<String>>) -> Self {
        let tools = Toolset::of(entries).unwrap();
        let schema = serde_json::from_str(&tools.iter().next().unwrap().input_schema()).unwrap();
        Self {
            entries,
            tools,
            schema,
            serde,
        }
    }

    fn probe(&self, seed: u64, wrong: u64) -> Value {
        Probe::new(&self.schema, seed, wrong).value(&self.schema, 0)
    }
}

fn by_serde<T: DeserializeOwned + Debug>(value: &Value) -> Option<String> {
    let read = |value: &Value| serde_json::from_str::<T>(&value.to_string()).ok();
    // To claw, `null` is an absent member; to serde, that depends.
    let read = read(value).or_else(|| read(&without_nulls(value)))?;
    Some(format!("{read:?}"))
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), without_nulls(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// Takes all sorts.
#[tool(effect = pure)]
#[expect(clippy::too_many_arguments, reason = "that is the point")]
fn kitchen_sink(
    /// Borrowed text.
    #[arg(len = 1..=5)]
    text: &str,
    /// One of three.
    #[arg(one_of("a", "b", "c"), default = "b")]
    word: String,
    /// A bounded number.
    #[arg(range = -5..=1000, multiple_of = 5)]
    step: i64,
    /// A number below a bound.
    #[arg(range = 0..10)]
    small: Option<u8>,
    /// A fraction.
    #[arg(range = 0.5..=1.5)]
    share: f32,
    /// A flag.
    #[arg(default)]
    flag: bool,
    /// Borrowed items.
    #[arg(len = ..=2)]
    texts: Vec<&str>,
    /// Lists of numbers.
    rows: Option<Vec<Vec<i8>>>,
    /// What a map holds.
    #[arg(len = 1..=3)]
    map: Option<BTreeMap<String, u8>>,
    /// A set.
    set: Option<BTreeSet<i8>>,
    /// A word.
    kind: Words,
    /// A tree.
    tree: Option<Internal>,
    /// Anything.
    any: Option<Value>,
) -> String {
    format!(
        "{text:?} {word:?} {step} {small:?} {share} {flag} {texts:?} {rows:?} {map:?} {set:?} {kind:?} {tree:?} {any:?}"
    )
}

macro_rules! cases {
    ($($name:ident: $ty:ty,)*) => {
        $(
            /// Shows.
            #[tool(effect = pure)]
            fn $name(
                /// The value.
                v: $ty,
            ) -> String {
                format!("{v:?}")
            }
        )*

        fn cases() -> Vec<Case> {
            vec![
                Case::new(claw::tools![kitchen_sink], None),
                $(Case::new(claw::tools![$name], Some(by_serde::<$ty>))),*
            ]
        }
    };
}

cases! {
    numbers: Numbers,
    texts: Texts,
    unit: Unit,
    empty: Empty,
    nothing: Nothing,
    newtype: Newtype,
    pair: Pair,
    wrapped: Wrapped,
    page: Page<u8>,
    pages: Page<Page<Words>>,
    settings: Settings,
    outer: Outer,
    open: Open,
    words: Words,
    external: External,
    internal: Internal,
    adjacent: Adjacent,
    untagged: Untagged,
}

/// Returns what the reader makes of a call.
fn read(entries: &'static [ToolEntry], text: &str) -> Option<String> {
    let ctx = ToolContext::detached();
    match (entries[0].shim)(Some(&ctx), text) {
        Ok(Prepared::Done(output)) => Some(claw::message::text_of(&output.unwrap().content)),
        Ok(_) => panic!("a sync tool runs"),
        Err(_) => None,
    }
}

/// Checks all that is promised of one call.
fn agrees(case: &Case, arguments: &Value) -> Result<bool, TestCaseError> {
    let text = arguments.to_string();
    let tool = case.tools.iter().next().unwrap();
    let fast = read(case.entries, &text);
    let strict = validate(tool.schema(), &text, Coerce::Strict, Unknown::Refuse);
    let safe = validate(tool.schema(), &text, Coerce::Safe, Unknown::Refuse);
    let name = tool.name();
    match &fast {
        Some(read_as) => {
            if let Some(by_serde) = case.serde {
                let by_serde = by_serde(&arguments["v"]);
                prop_assert_eq!(Some(read_as), by_serde.as_ref(), "{} serde {}", name, text);
            }
            let Ok(safe) = safe else {
                let message = format!("{name}: the slow path refuses {text}: {safe:?}");
                return Err(TestCaseError::fail(message));
            };
            let again = read(case.entries, &safe.text);
            prop_assert_eq!(Some(read_as), again.as_ref(), "{} slow {}", name, text);
            let changed = |note: &Note| !note.text.contains("became absent");
            prop_assert!(
                !safe.notes.iter().any(changed),
                "{} {} {:?}",
                name,
                text,
                safe.notes
            );
        }
        None => {
            // What a level lets pass all the same, it has written anew, as the reader takes it.
            for valid in [strict, safe].into_iter().flatten() {
                prop_assert!(!valid.notes.is_empty(), "{name}: taken unchanged: {text}");
                prop_assert!(
                    read(case.entries, &valid.text).is_some(),
                    "{name} {}",
                    valid.text
                );
            }
        }
    }
    Ok(fast.is_some())
}

#[test]
fn probes_that_fit_are_read_as_serde_reads_them() {
    for case in cases() {
        for seed in 0..300 {
            let arguments = case.probe(seed, 0);
            let taken = agrees(&case, &arguments).unwrap_or_else(|error| panic!("{error}"));
            assert!(taken, "{} {arguments}", case.entries[0].spec.name);
        }
    }
}

#[test]
fn probes_that_miss_are_refused_by_all() {
    let cases = cases();
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(2_000)
    };
    let strategy = (any::<u64>(), 4_u64..40);
    TestRunner::new(config)
        .run(&strategy, |(seed, wrong)| {
            for case in &cases {
                agrees(case, &case.probe(seed, wrong))?;
            }
            Ok(())
        })
        .unwrap();
}
