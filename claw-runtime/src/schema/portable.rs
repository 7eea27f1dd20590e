//! What every provider takes, strict modes included: how deep a schema may nest and how much it may hold.

use serde_json::Value;

use super::node::{Kind, Node, Source};

/// Levels of objects and arrays, the arguments themselves included.
const DEPTH: usize = 10;
/// Properties in all.
const PROPERTIES: usize = 5_000;
/// Values of enums in all.
const VALUES: usize = 1_000;

/// Tells whether a parameter nests as deep as every provider takes, as far as the compiler sees: declared types and
/// those of schemars are looked into at run time.
pub const fn nests_portably(source: Source) -> bool {
    match source.node {
        Some(node) => depth(node) < DEPTH,
        None => true,
    }
}

const fn depth(node: &Node) -> usize {
    match node.kind {
        Kind::Optional(inner) => depth(inner),
        Kind::Array(inner) | Kind::Set(inner) | Kind::Map(inner) => 1 + depth(inner),
        Kind::Tuple(places) => {
            let (mut at, mut most) = (0, 0);
            while at < places.len() {
                let depth = match places[at].node {
                    Some(node) => depth(node),
                    None => 0,
                };
                if depth > most {
                    most = depth;
                }
                at += 1;
            }
            1 + most
        }
        _ => 0,
    }
}

/// Returns what of a schema some provider does not take, one sentence each.
pub(crate) fn faults(schema: &Value) -> Vec<String> {
    let mut size = Size::default();
    size.of(schema, 1);
    let mut faults = Vec::new();
    for (what, count, most) in [
        ("levels of nesting", size.depth, DEPTH),
        ("properties", size.properties, PROPERTIES),
        ("values of enums", size.values, VALUES),
    ] {
        if count > most {
            faults.push(format!(
                "the schema has {count} {what}; not every provider takes more than {most}"
            ));
        }
    }
    faults
}

#[derive(Default)]
struct Size {
    depth: usize,
    properties: usize,
    values: usize,
}

impl Size {
    /// Adds up a schema whose values stand at `level`.
    fn of(&mut self, schema: &Value, level: usize) {
        let Value::Object(members) = schema else {
            return;
        };
        for (name, member) in members {
            match (name.as_str(), member) {
                ("properties" | "patternProperties", Value::Object(properties)) => {
                    self.depth = self.depth.max(level);
                    self.properties += properties.len();
                    for property in properties.values() {
                        self.of(property, level + 1);
                    }
                }
                ("$defs", Value::Object(definitions)) => {
                    for definition in definitions.values() {
                        self.of(definition, level);
                    }
                }
                ("items" | "additionalProperties", Value::Object(_)) => {
                    self.depth = self.depth.max(level);
                    self.of(member, level + 1);
                }
                ("prefixItems", Value::Array(places)) => {
                    self.depth = self.depth.max(level);
                    for place in places {
                        self.of(place, level + 1);
                    }
                }
                ("anyOf" | "oneOf" | "allOf", Value::Array(branches)) => {
                    for branch in branches {
                        self.of(branch, level);
                    }
                }
                ("enum", Value::Array(values)) => self.values += values.len(),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::ToolInput;
    use serde_json::json;

    fn nested(levels: usize) -> Value {
        (1..levels).fold(
            json!({"properties": {"a": {}}}),
            |inner, _| json!({"properties": {"a": inner}}),
        )
    }

    #[test]
    fn ten_levels_are_the_most() {
        assert_eq!(faults(&nested(10)), Vec::<String>::new());
        assert_eq!(
            faults(&nested(11)),
            ["the schema has 11 levels of nesting; not every provider takes more than 10"]
        );
    }

    #[test]
    fn values_are_counted_in_all() {
        let words: Vec<String> = (0..501).map(|n| n.to_string()).collect();
        let schema = json!({"properties": {"a": {"enum": words}, "b": {"items": {"enum": words}}}});
        assert_eq!(
            faults(&schema),
            ["the schema has 1002 values of enums; not every provider takes more than 1000"]
        );
    }

    #[test]
    fn the_compiler_sees_native_nesting() {
        type Nine = Vec<Vec<Vec<Vec<Vec<Vec<Vec<Vec<Option<(u8, Vec<u8>)>>>>>>>>>;
        let source = |node| Source {
            node: Some(node),
            need: None,
        };
        assert!(!nests_portably(source(<Nine as ToolInput>::NODE)));
        assert!(nests_portably(source(<Vec<Vec<u8>> as ToolInput>::NODE)));
    }
}
