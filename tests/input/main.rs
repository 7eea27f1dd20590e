//! `#[derive(ToolInput)]`: schema and reader of every shape.
#![allow(clippy::unwrap_used)]
#![allow(dead_code, reason = "fields are read through `Debug`")]

/// A tool that writes out its one argument.
macro_rules! shows {
    ($name:ident, $ty:ty) => {
        /// Shows.
        #[tool(effect = pure)]
        fn $name(
            /// The value.
            v: $ty,
        ) -> String {
            format!("{v:?}")
        }
    };
}

mod agreement;
mod probe;
mod shapes;

use claw::registry::Toolset;
use claw::tool::{Prepared, ToolContext, ToolEntry};
use claw::{ToolInput, tool};
use serde_json::{Value, json};

/// How warm.
#[derive(Debug, Clone, Copy, PartialEq, ToolInput)]
#[serde(rename_all = "snake_case")]
enum Unit {
    Celsius,
    #[serde(alias = "f")]
    DegreesFahrenheit,
}

#[derive(Debug, ToolInput)]
#[serde(rename_all = "camelCase")]
struct Place {
    /// The city.
    #[arg(len = 1..=20)]
    city_name: String,
    /// The country.
    country: Option<String>,
    #[serde(default)]
    zip: u32,
    #[serde(skip)]
    cached: bool,
}

#[derive(Debug, ToolInput)]
struct Meters(#[arg(range = 0.0..=100.0)] f64);

#[derive(Debug, ToolInput)]
struct Tree {
    /// The label.
    label: String,
    /// Below it.
    #[serde(default)]
    children: Vec<Self>,
}

#[derive(Debug, ToolInput)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Act {
    /// Goes.
    Go {
        /// How far.
        how_far: u8,
    },
    /// Stops.
    Stop,
}

#[derive(Debug, ToolInput)]
#[serde(tag = "t", content = "c")]
enum Beside {
    One(Box<Place>),
    Two { x: i8 },
    Three,
}

#[derive(Debug, ToolInput)]
enum Around {
    Word(String),
    Nest {
        inner: Option<Box<Around>>,
    },
    Nothing,
    #[serde(rename = "nil")]
    Nil,
}

shows!(unit, Unit);
shows!(place, Place);
shows!(meters, Meters);
shows!(tree, Tree);
shows!(act, Act);
shows!(beside, Beside);
shows!(around, Around);

/// Defaults that are no literals.
#[tool(effect = pure)]
fn defaults(
    /// The unit.
    #[arg(default = Unit::DegreesFahrenheit)]
    unit: Unit,
    /// The names.
    #[arg(default)]
    names: Vec<String>,
) -> String {
    format!("{unit:?} {names:?}")
}

fn schema(entries: &'static [ToolEntry]) -> Value {
    let tools = Toolset::of(entries).unwrap();
    let tool = tools.iter().next().unwrap();
    serde_json::from_str(&tool.input_schema()).unwrap()
}

/// Returns what the value reads as, or why it does not.
fn read(entries: &'static [ToolEntry], value: &str) -> String {
    let ctx = ToolContext::detached();
    let text = format!(r#"{{"v":{value}}}"#);
    match (entries[0].shim)(Some(&ctx), &text) {
        Ok(Prepared::Done(output)) => claw::message::text_of(&output.unwrap().content),
        Ok(_) => panic!("a sync tool runs"),
        Err(reject) => reject.to_string(),
    }
}

#[test]
fn words() {
    let tool = claw::tools![unit];
    assert_eq!(
        schema(tool)["properties"]["v"],
        json!({"type": "string", "enum": ["celsius", "degrees_fahrenheit"], "description": "The value."})
    );
    assert_eq!(read(tool, r#""celsius""#), "Celsius");
    assert_eq!(read(tool, r#""f""#), "DegreesFahrenheit");
    assert_eq!(
        read(tool, r#""kelvin""#),
        "/v: expected one of the declared words at byte 5"
    );
}

#[test]
fn structs() {
    let tool = claw::tools![place];
    assert_eq!(
        schema(tool)["properties"]["v"],
        json!({
            "type": "object",
            "properties": {
                "cityName": {"type": "string", "minLength": 1, "maxLength": 20, "description": "The city."},
                "country": {"type": "string", "description": "The country."},
                "zip": {"type": "integer", "minimum": 0, "maximum": 0xffff_ffff_u32, "default": 0},
            },
            "required": ["cityName"],
            "additionalProperties": false,
            "description": "The value.",
        })
    );
    assert_eq!(
        read(tool, r#"{"zip":null,"cityName":"Oslo"}"#),
        r#"Place { city_name: "Oslo", country: None, zip: 0, cached: false }"#
    );
    assert!(read(tool, r#"{"cityName":""}"#).contains("outside the declared bounds"));
    assert!(read(tool, r#"{"city_name":"x"}"#).contains("unknown"));
    assert!(read(tool, r#"{}"#).contains("required, missing"));
    assert!(read(tool, r#"["x",null,0]"#).contains("expected an object"));
    assert!(read(tool, r#"{"cityName":"a","cityName":"b"}"#).contains("given twice"));
}

#[test]
fn newtypes_are_what_they_hold() {
    let tool = claw::tools![meters];
    assert_eq!(
        schema(tool)["properties"]["v"],
        json!({"type": "number", "minimum": 0.0, "maximum": 100.0, "description": "The value."})
    );
    assert_eq!(read(tool, "1e1"), "Meters(10.0)");
    assert!(read(tool, "101").contains("outside"));
}

#[test]
fn a_type_that_contains_itself_is_a_definition() {
    let tool = claw::tools![tree];
    assert_eq!(
        schema(tool),
        json!({
            "type": "object",
            "properties": {"v": {
                "type": "object",
                "properties": {
                    "label": {"type": "string", "description": "The label."},
                    "children": {
                        "type": "array", "items": {"$ref": "#/$defs/Tree"},
                        "description": "Below it.", "default": []
                    },
                },
                "required": ["label"],
                "additionalProperties": false,
                "description": "The value.",
            }},
            "required": ["v"],
            "additionalProperties": false,
            "$defs": {"Tree": {
                "type": "object",
                "properties": {
                    "label": {"type": "string", "description": "The label."},
                    "children": {
                        "type": "array", "items": {"$ref": "#/$defs/Tree"},
                        "description": "Below it.", "default": []
                    },
                },
                "required": ["label"],
                "additionalProperties": false,
            }},
        })
    );
    assert_eq!(
        read(tool, r#"{"label":"a","children":[{"label":"b"}]}"#),
        r#"Tree { label: "a", children: [Tree { label: "b", children: [] }] }"#
    );
    let deep = format!(
        "{}{}",
        r#"{"label":"","children":["#.repeat(500),
        "]}".repeat(500)
    );
    assert!(read(tool, &deep).contains("nested too deeply"));
}

#[test]
fn a_tag_may_stand_anywhere() {
    let tool = claw::tools![act];
    assert_eq!(
        schema(tool)["properties"]["v"],
        json!({"anyOf": [
            {
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "enum": ["go"], "description": "Goes."},
                    "how_far": {"type": "integer", "minimum": 0, "maximum": 255, "description": "How far."},
                },
                "required": ["kind", "how_far"],
                "additionalProperties": false,
            },
            {
                "type": "object",
                "properties": {"kind": {"type": "string", "enum": ["stop"], "description": "Stops."}},
                "required": ["kind"],
                "additionalProperties": false,
            },
        ], "description": "The value."})
    );
    assert_eq!(
        read(tool, r#"{"how_far":3,"kind":"go"}"#),
        "Go { how_far: 3 }"
    );
    assert_eq!(read(tool, r#"{"kind":"stop"}"#), "Stop");
    assert!(read(tool, r#"{"kind":"stop","x":1}"#).contains("unknown"));
    assert!(read(tool, r#"{"kind":"fly"}"#).contains("declared variants"));
    assert!(read(tool, r#"{"how_far":3}"#).contains("names the variant is missing"));
    assert!(read(tool, r#"{"kind":"stop","kind":"go"}"#).contains("given twice"));
}

#[test]
fn content_beside_the_tag() {
    let tool = claw::tools![beside];
    assert_eq!(read(tool, r#"{"c":{"x":-1},"t":"Two"}"#), "Two { x: -1 }");
    assert_eq!(read(tool, r#"{"t":"Three"}"#), "Three");
    assert!(read(tool, r#"{"t":"One","c":{"cityName":"a"}}"#).starts_with("One(Place"));
    assert!(read(tool, r#"{"t":"One"}"#).contains("required, missing"));
    let shapes = &schema(tool)["properties"]["v"]["anyOf"];
    assert_eq!(
        shapes[1]["properties"]["c"]["properties"]["x"]["minimum"],
        json!(-128)
    );
    assert_eq!(shapes[1]["required"], json!(["t", "c"]));
}

#[test]
fn the_name_around_the_content() {
    let tool = claw::tools![around];
    assert_eq!(read(tool, r#""Nothing""#), "Nothing");
    assert_eq!(read(tool, r#"{"Word":"x"}"#), r#"Word("x")"#);
    assert_eq!(
        read(tool, r#"{"Nest":{"inner":{"Nest":{}}}}"#),
        "Nest { inner: Some(Nest { inner: None }) }"
    );
    assert!(read(tool, r#"{"Word":"x","Nest":{}}"#).contains("one member"));
    assert!(read(tool, r#"{}"#).contains("one member"));
    assert!(read(tool, r#""Word""#).contains("declared variants"));
    let value = &schema(tool)["properties"]["v"];
    assert_eq!(
        value["anyOf"][0],
        json!({"type": "string", "enum": ["Nothing", "nil"]})
    );
    assert_eq!(
        value["anyOf"][2]["properties"]["Nest"]["properties"]["inner"],
        json!({"$ref": "#/$defs/Around"})
    );
}

#[test]
fn defaults_stand_in_the_schema() {
    let tool = claw::tools![defaults];
    let properties = &schema(tool)["properties"];
    assert_eq!(properties["unit"]["default"], json!("degrees_fahrenheit"));
    assert_eq!(properties["names"]["default"], json!([]));
    assert_eq!(schema(tool).get("required"), None);
}

mod any_text {
    use super::*;
    use proptest::prelude::*;

    /// JSON, broken JSON, and the words of the types above.
    fn text() -> impl Strategy<Value = String> {
        let word = prop::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ":",
            ",",
            "\"v\"",
            "\"kind\"",
            "\"go\"",
            "\"how_far\"",
            "\"t\"",
            "\"c\"",
            "\"One\"",
            "\"Two\"",
            "\"x\"",
            "\"Word\"",
            "\"Nest\"",
            "\"inner\"",
            "\"label\"",
            "\"children\"",
            "\"cityName\"",
            "1",
            "-1",
            "1e5",
            "null",
            "true",
            "\\",
            "\"",
            "é",
            " ",
        ]);
        prop_oneof![
            prop::collection::vec(word, 0..24).prop_map(|words| words.concat()),
            any::<String>(),
        ]
    }

    proptest! {
        #[test]
        fn is_json_when_it_is_taken(text in text()) {
            let text = format!(r#"{{"v":{text}}}"#);
            for entries in [
                claw::tools![unit], claw::tools![place], claw::tools![meters], claw::tools![tree], claw::tools![act],
                claw::tools![beside], claw::tools![around],
            ] {
                if (entries[0].shim)(None, &text).is_ok() {
                    prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
                }
            }
        }
    }
}
