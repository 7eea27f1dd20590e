//! Tools whose schemas were not made by our macros: added at run time, or with types that schemars describes.
#![allow(clippy::unwrap_used)]

extern crate claw_runtime as claw;

use std::sync::Arc;

#[cfg(feature = "jsonschema")]
use claw::registry::RegistryError;
use claw::registry::Toolset;
use claw::schema::Coerce;
use claw::tool::{Handler, Spec, Tool, ToolOutput};
use claw::tools;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

fn dynamic(schema: Value, destructive: bool, coerce: Option<Coerce>) -> Arc<Tool> {
    let mut spec = Spec::new("remote".into(), "Does something elsewhere.".into());
    (spec.destructive, spec.coerce) = (destructive, coerce);
    let handler: Handler = Arc::new(|_, _| Box::pin(async { Ok(ToolOutput::default()) }));
    Arc::new(Tool::dynamic(spec, schema, handler))
}

/// Returns the arguments as the tool gets them, or the problems alone.
fn judged(tool: &Tool, arguments: &str, agent: Coerce) -> String {
    match tool.validate_as(arguments, agent) {
        Ok(valid) => valid.text().to_owned(),
        Err(report) => {
            let problems = report.lines().filter(|line| line.starts_with("- "));
            problems.collect::<Vec<_>>().join("\n")
        }
    }
}

#[cfg(feature = "jsonschema")]
mod full {
    use super::*;
    use std::error::Error as _;

    #[test]
    fn a_tool_added_at_run_time_is_checked_in_full() {
        let tool = dynamic(
            json!({
                "type": "object",
                "properties": {"from": {"type": "integer"}, "to": {"type": "integer"}},
                "dependentRequired": {"from": ["to"]},
            }),
            false,
            None,
        );
        assert_eq!(
            tool.validate(r#"{"from": "1"}"#).unwrap_err(),
            "Tool call to `remote` was not run: 1 problem.\n- /to: required, missing\n\
             Parameters: from?: integer, to?: integer\nSend the corrected call."
        );
        assert_eq!(
            judged(&tool, r#"{"from": "1", "to": 2}"#, Coerce::Safe),
            r#"{"from":1,"to":2}"#
        );
    }

    #[test]
    fn a_schema_that_cannot_be_used_is_refused_when_its_tool_is_added() {
        let tool = dynamic(
            json!({"properties": {"a": {"$ref": "https://example.com/a.json"}}}),
            false,
            None,
        );
        let error = Toolset::new([tool.clone()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "tool `remote` has a schema that cannot be used; leave the tool out or correct it"
        );
        let cause = error.source().unwrap().to_string();
        assert!(cause.contains("https://example.com/a.json"), "{cause}");
        assert!(matches!(error, RegistryError::Schema { tool, .. } if tool == "remote"));
        // Without a toolset it is of no use either.
        assert!(
            tool.validate("{}")
                .unwrap_err()
                .contains("cannot be checked")
        );
        assert!(Toolset::default().with([tool]).is_err());
    }

    #[derive(Deserialize, JsonSchema)]
    struct Broken {
        #[expect(dead_code, reason = "only its schema is used")]
        #[schemars(regex(pattern = "("))]
        text: String,
    }

    /// Takes a type whose schema is none.
    #[claw::tool(effect = pure, name = "broken")]
    fn broken(
        /// It.
        broken: Broken,
    ) -> String {
        drop(broken);
        String::new()
    }

    #[test]
    fn a_broken_schema_of_a_linked_tool_is_refused_too() {
        let error = Toolset::of(tools![broken]).unwrap_err();
        let RegistryError::Schema { tool, error } = error else {
            panic!("{error}");
        };
        assert_eq!(tool, "broken");
        assert_eq!(error.pointer, "/properties/broken/properties/text/pattern");
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Window {
        #[schemars(extend("not" = {"const": 13}))]
        floor: i32,
    }

    /// Opens a window.
    #[claw::tool(effect = read)]
    fn open_window(
        /// Which one.
        window: Window,
    ) -> String {
        format!("floor {} is open", window.floor)
    }

    #[test]
    fn what_only_the_complete_check_reads_is_enforced_for_schemars_types() {
        let tools = Toolset::of(tools![open_window]).unwrap();
        let tool = tools.get("open_window").unwrap();
        assert_eq!(
            judged(tool, r#"{"window": {"floor": "13"}}"#, Coerce::Safe),
            "- /window/floor: expected anything but 13, got 13"
        );
        assert!(tool.validate(r#"{"window": {"floor": 12}}"#).is_ok());
    }
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only checked")]
struct Order {
    #[schemars(range(min = 1, max = 5))]
    count: i64,
    #[validate(length(min = 2, max = 4))]
    code: String,
    #[garde(range(min = 0.0, max = 1.0))]
    share: f64,
    #[schemars(regex(pattern = "^[a-z]+$"), inner(length(max = 3)))]
    tags: Vec<String>,
    rest: Option<Box<Order>>,
}

/// Places an order.
#[claw::tool(effect = once)]
fn place(
    /// What.
    order: Order,
    /// More of it.
    more: Vec<Order>,
) -> String {
    drop((order, more));
    "placed".to_owned()
}

#[test]
fn constraints_that_came_through_schemars_are_enforced() {
    let tools = Toolset::of(tools![place]).unwrap();
    let tool = tools.get("place").unwrap();
    let good = json!({"count": 5, "code": "ab", "share": 0.5, "tags": ["abc"]});
    let bad = json!({"count": 6, "code": "a", "share": 1.5, "tags": ["abcd"], "rest": good});
    let call = |order: &Value, more: &Value| json!({"order": order, "more": [more]}).to_string();
    assert!(tool.validate(&call(&good, &good)).is_ok());
    let nested = {
        let mut nested = good.clone();
        nested["rest"] = bad.clone();
        nested
    };
    let problems = |prefix: &str| {
        format!(
            "- {prefix}/code: expected string of 2..=4 characters, got string \"a\"\n\
             - {prefix}/count: expected integer 1..=5, got 6\n\
             - {prefix}/share: expected number 0.0..=1.0, got 1.5\n\
             - {prefix}/tags/0: expected string of at most 3 characters, got string \"abcd\""
        )
    };
    for (call, prefix) in [
        (call(&bad, &good), "/order"),
        (call(&good, &bad), "/more/0"),
        (call(&nested, &good), "/order/rest"),
    ] {
        let judged = judged(tool, &call, Coerce::Safe);
        // Parameters of a foreign type come in the order that the build keeps members in.
        let mut lines: Vec<_> = judged.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines.join("\n"), problems(prefix));
    }
}

/// Removes files.
#[claw::tool(effect = once, destructive)]
fn remove(
    /// Which.
    paths: Vec<String>,
    /// How deep.
    depth: Option<u8>,
) -> String {
    format!("{paths:?} {depth:?}")
}

#[test]
fn the_level_is_the_tools_else_the_agents_and_strict_where_something_is_destroyed() {
    let schema = json!({"type": "object", "properties": {
        "n": {"type": "integer"}, "list": {"type": "array", "items": {"type": "integer"}},
    }, "additionalProperties": false});
    let (text, wrapped) = (r#"{"n":"1"}"#, r#"{"list":1}"#);
    let (exact, none) = (
        r#"{"n":1.0,"list":null}"#,
        r#"- /n: expected integer, got string "1""#,
    );
    let no_list = "- /list: expected array of integer, got 1";
    use Coerce::{Lenient, Safe, Strict};
    for (destructive, own, agent, expected) in [
        (false, None, Strict, [none, no_list]),
        (false, None, Safe, [r#"{"n":1}"#, no_list]),
        (false, None, Lenient, [r#"{"n":1}"#, r#"{"list":[1]}"#]),
        (false, Some(Strict), Lenient, [none, no_list]),
        (
            false,
            Some(Lenient),
            Strict,
            [r#"{"n":1}"#, r#"{"list":[1]}"#],
        ),
        (true, None, Lenient, [none, no_list]),
        (true, Some(Safe), Strict, [r#"{"n":1}"#, no_list]),
    ] {
        let tool = dynamic(schema.clone(), destructive, own);
        assert_eq!(
            [text, wrapped].map(|text| judged(&tool, text, agent)),
            expected
        );
        // The same value written otherwise is no matter of trust.
        assert_eq!(judged(&tool, exact, agent), r#"{"n":1}"#);
    }
    let tools = Toolset::of(tools![remove]).unwrap();
    let tool = tools.get("remove").unwrap();
    assert_eq!(
        judged(tool, r#"{"paths": "a", "depth": "3"}"#, Coerce::Lenient),
        "- /paths: expected array of string, got string \"a\"\n\
         - /depth: expected integer 0..=255, got string \"3\""
    );
    assert_eq!(
        judged(tool, r#"{"paths": ["a"], "depth": 3.0}"#, Coerce::Safe),
        r#"{"paths":["a"],"depth":3}"#
    );
}

/// What is counted.
#[derive(claw::ToolInput)]
struct Counted {
    /// How many.
    #[arg(coerce = lenient)]
    names: Vec<u8>,
    /// From where.
    from: u8,
}

/// Counts.
#[claw::tool(effect = pure)]
fn count(
    /// The most.
    #[arg(coerce = strict)]
    most: u8,
    /// What.
    of: Counted,
) -> usize {
    of.names.len().min(usize::from(most)) + usize::from(of.from)
}

#[test]
fn an_argument_has_its_own_level() {
    let tools = Toolset::of(tools![count]).unwrap();
    let tool = tools.get("count").unwrap();
    assert!(!tool.input_schema().contains("x-coerce"));
    assert_eq!(
        judged(
            tool,
            r#"{"most":3,"of":{"names":1,"from":"2"}}"#,
            Coerce::Safe
        ),
        r#"{"most":3,"of":{"names":[1],"from":2}}"#
    );
    assert_eq!(
        judged(
            tool,
            r#"{"most":"3","of":{"names":1,"from":"2"}}"#,
            Coerce::Strict
        ),
        "- /most: expected integer 0..=255, got string \"3\"\n\
         - /of/from: expected integer 0..=255, got string \"2\""
    );
    let schema = json!({"properties": {
        "strict": {"type": "integer", "x-coerce": "strict"},
        "lenient": {"type": "object", "x-coerce": "lenient", "properties": {"text": {"type": "string"}}},
        "plain": {"type": "string"},
    }});
    let tool = dynamic(schema, false, None);
    assert_eq!(
        judged(
            &tool,
            r#"{"strict":"1","lenient":{"text":5},"plain":5}"#,
            Coerce::Safe
        ),
        "- /strict: expected integer, got string \"1\"\n- /plain: expected string, got 5"
    );
    assert_eq!(
        judged(
            &tool,
            r#"{"strict":1.0,"lenient":{"text":5}}"#,
            Coerce::Strict
        ),
        r#"{"strict":1,"lenient":{"text":"5"}}"#
    );
}

#[test]
fn a_model_is_told_ten_changes_and_how_many_more() {
    let schema = json!({"properties": {"list": {"items": {"type": "integer"}}}});
    let tool = dynamic(schema, false, None);
    let list: Vec<String> = (0..25).map(|n| n.to_string()).collect();
    let valid = tool.validate(&json!({"list": list}).to_string()).unwrap();
    assert_eq!(valid.notes().len(), 11);
    assert_eq!(valid.notes()[9], "/list/9: \"9\" became 9");
    assert_eq!(valid.notes()[10], "and 15 more changes");
}
