//! Shapes beyond the plain ones: tuples, generics, flattened members, untagged variants, secrets.
#![allow(dead_code, reason = "fields are read through `Debug`")]

use std::collections::BTreeMap;

use claw::{ToolInput, tool};
use serde_json::json;

use crate::{read, schema};

#[derive(Debug, ToolInput)]
struct Span(
    /// Where it starts.
    #[arg(range = 0..=100)]
    u32,
    Option<u32>,
);

#[derive(Debug, ToolInput)]
struct Marker;

#[derive(Debug, ToolInput)]
struct Page<T, const N: usize = 1> {
    /// The items.
    #[arg(len = ..=3)]
    items: Vec<T>,
    marks: [u8; N],
    next: Option<Box<Self>>,
}

#[derive(Debug, ToolInput)]
struct Paging {
    /// From which on.
    #[serde(default)]
    offset: u32,
    #[arg(alias = "count")]
    limit: Option<u32>,
}

#[derive(Debug, ToolInput)]
struct Query {
    text: String,
    #[serde(flatten)]
    paging: Paging,
    #[serde(flatten)]
    filters: BTreeMap<String, bool>,
}

#[derive(Debug, ToolInput)]
#[serde(untagged)]
enum Target {
    Line(u32),
    Lines(u32, u32),
    Name(String),
    Place { file: String, line: u32 },
    All,
}

/// Untagged and recursive, so that a value could be tried in exponentially many ways.
#[derive(Debug, ToolInput)]
#[serde(untagged)]
enum Knot {
    A { x: Box<Knot>, a: u8 },
    B { x: Box<Knot>, b: u8 },
    End {},
}

#[derive(Debug, ToolInput)]
#[serde(tag = "via")]
enum Login {
    Key(Key),
    Nobody,
}

#[derive(Debug, ToolInput)]
struct Key {
    user: String,
    #[arg(secret)]
    key: String,
}

shows!(span, Span);
shows!(marker, Marker);
shows!(page, Page<Span, 2>);
shows!(query, Query);
shows!(target, Target);
shows!(knot, Knot);
shows!(logins, Vec<Login>);

#[test]
fn tuples_are_arrays() {
    let tool = claw::tools![span];
    assert_eq!(
        schema(tool)["properties"]["v"],
        json!({
            "type": "array",
            "prefixItems": [
                {"type": "integer", "minimum": 0, "maximum": 100, "description": "Where it starts."},
                {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 0xffff_ffff_u32}, {"type": "null"}]},
            ],
            "items": false, "minItems": 2, "maxItems": 2,
            "description": "The value.",
        })
    );
    assert_eq!(read(tool, "[1,null]"), "Span(1, None)");
    assert!(read(tool, "[101,1]").contains("outside the declared bounds"));
    assert!(read(tool, "[1]").contains("too short"));
    assert!(read(tool, "[1,2,3]").contains("too long"));
}

#[test]
fn nothing_is_null() {
    let tool = claw::tools![marker];
    assert_eq!(
        schema(tool),
        json!({
            "type": "object",
            "properties": {"v": {"type": "null", "description": "The value."}},
            "required": ["v"],
            "additionalProperties": false,
        })
    );
    assert_eq!(read(tool, "null"), "Marker");
    assert!(read(tool, "{}").contains("expected null"));
}

#[test]
fn generic_types_have_a_schema_an_instance() {
    let tool = claw::tools![page];
    let value = &schema(tool)["properties"]["v"];
    assert_eq!(value["properties"]["items"]["maxItems"], json!(3));
    assert_eq!(value["properties"]["items"]["items"]["minItems"], json!(2));
    assert_eq!(value["properties"]["marks"]["maxItems"], json!(2));
    assert_eq!(value["properties"]["next"], json!({"$ref": "#/$defs/Page"}));
    assert_eq!(
        read(
            tool,
            r#"{"items":[[1,2]],"marks":[0,9],"next":{"items":[],"marks":[1,1]}}"#
        ),
        "Page { items: [Span(1, Some(2))], marks: [0, 9], next: Some(Page { items: [], marks: [1, 1], next: None }) }"
    );
}

#[test]
fn flattened_members_stand_among_the_others() {
    let tool = claw::tools![query];
    assert_eq!(
        schema(tool)["properties"]["v"],
        json!({
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "offset": {
                    "type": "integer", "minimum": 0, "maximum": 0xffff_ffff_u32,
                    "description": "From which on.", "default": 0,
                },
                "limit": {"type": "integer", "minimum": 0, "maximum": 0xffff_ffff_u32},
            },
            "required": ["text"],
            "additionalProperties": {"type": "boolean"},
            "description": "The value.",
        })
    );
    assert_eq!(
        read(tool, r#"{"old":true,"count":5,"text":"a","new":false}"#),
        r#"Query { text: "a", paging: Paging { offset: 0, limit: Some(5) }, filters: {"new": false, "old": true} }"#
    );
    assert!(read(tool, r#"{"text":"a","old":1}"#).contains("expected a boolean"));
    assert!(read(tool, r#"{"text":"a","offset":-1}"#).contains("out of range"));
    assert!(read(tool, r#"{"text":"a","offset":1,"offset":1}"#).contains("given twice"));
    assert!(read(tool, r#"{"text":"a","limit":1,"count":1}"#).contains("given twice"));
    assert!(read(tool, r#"{"offset":1}"#).contains("required, missing"));
}

#[test]
fn the_first_variant_that_fits_is_meant() {
    let tool = claw::tools![target];
    let shapes = &schema(tool)["properties"]["v"]["anyOf"];
    assert_eq!(shapes[2], json!({"type": "string"}));
    assert_eq!(shapes[3]["required"], json!(["file", "line"]));
    assert_eq!(shapes[4], json!({"type": "null"}));
    for (text, value) in [
        ("7", "Line(7)"),
        ("[1,2]", "Lines(1, 2)"),
        (r#""main""#, r#"Name("main")"#),
        (
            r#"{"line":1,"file":"a"}"#,
            r#"Place { file: "a", line: 1 }"#,
        ),
        ("null", "All"),
    ] {
        assert_eq!(read(tool, text), value);
    }
    assert!(read(tool, "-7").contains("declared variants"));
    assert!(read(tool, r#"{"line":1}"#).contains("declared variants"));
}

#[test]
fn variants_that_contain_each_other_are_not_tried_without_end() {
    let tool = claw::tools![knot];
    assert_eq!(
        read(tool, r#"{"b":1,"x":{"a":2,"x":{}}}"#),
        "B { x: A { x: End, a: 2 }, b: 1 }"
    );
    let deep = format!("{}{{}}{}", r#"{"x":"#.repeat(100), "}".repeat(100));
    assert!(read(tool, &deep).contains("too many variants to try"));
}

#[test]
fn secret_fields_show_in_no_report() {
    let tools = claw::registry::Toolset::of(claw::tools![logins]).unwrap();
    let tool = tools.iter().next().unwrap();
    let report = tool
        .validate(r#"{"v":[{"via":"Key","user":5.5,"key":["hunter2"]}]}"#)
        .unwrap_err();
    assert!(
        report.contains("/v/0/key: expected string, got array"),
        "{report}"
    );
    assert!(report.contains("5.5"), "{report}");
    assert!(!report.contains("hunter2"), "{report}");
    assert!(!tool.input_schema().contains("writeOnly"));
}

/// Counts the letters of keys.
#[tool(effect = read)]
fn letters(
    /// The ways in.
    v: Vec<Login>,
) -> String {
    let keys = v.iter().map(|login| match login {
        Login::Key(key) => key.key.len(),
        Login::Nobody => 0,
    });
    format!("{} letters", keys.sum::<usize>())
}

#[tokio::test]
async fn secret_fields_reach_the_tool_and_are_kept_nowhere() {
    use claw::provider::scripted::{Scripted, calls, says};
    let call = json!({"v": [{"via": "Nobody"}, {"via": "Key", "user": "ada", "key": "hunter2"}]});
    let script = vec![calls("letters", call), says("Done.")];
    let agent = claw::agent::Agent::builder()
        .model(std::sync::Arc::new(Scripted::new(script)), "m")
        .tools(claw::registry::Toolset::of(claw::tools![letters]).unwrap())
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    session.run("Log in.").await.unwrap();
    let kept = format!("{:?}", session.messages());
    assert!(kept.contains("7 letters"), "{kept}");
    assert!(kept.contains("ada") && kept.contains("***"), "{kept}");
    assert!(!kept.contains("hunter2"), "{kept}");
}
