//! Which keywords a lowered schema uses.

use claw_runtime::dialect::{Closed, Dialect, Enums, Keywords, Null, Optional};
use serde_json::Value;

/// Fails when a lowered schema says something its dialect does not have.
pub fn check(dialect: &Dialect, schema: &Value) -> Result<(), String> {
    let root = schema.as_object().ok_or("the root is no object")?;
    if root.get("type") != Some(&Value::from("object")) {
        return Err(format!("the root has type {:?}", root.get("type")));
    }
    if !dialect.root_unions {
        for union in ["anyOf", "oneOf", "allOf", "$ref"] {
            if root.contains_key(union) {
                return Err(format!("`{union}` at the root"));
            }
        }
        if !root.contains_key("properties") {
            return Err("the root has no properties".to_owned());
        }
    }
    walk(dialect, schema)
}

fn walk(dialect: &Dialect, schema: &Value) -> Result<(), String> {
    let Value::Object(members) = schema else {
        return match dialect.typed {
            true => Err(format!("`{schema}` as a schema")),
            false => Ok(()),
        };
    };
    for (keyword, value) in members {
        let known = Keywords::named(keyword);
        if !known.is_some_and(|known| dialect.keeps.has(known)) {
            return Err(format!("`{keyword}`: {value}"));
        }
        match (keyword.as_str(), value) {
            (
                "properties" | "patternProperties" | "$defs" | "dependentSchemas",
                Value::Object(all),
            ) => {
                for (name, schema) in all {
                    let is_free = keyword != "properties" || !dialect.typed;
                    if !is_free && !dialect.property_names.allows(name) {
                        return Err(format!("property `{name}`"));
                    }
                    walk(dialect, schema)?;
                }
            }
            ("additionalProperties", Value::Bool(false)) if dialect.closed != Closed::Never => {}
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(all)) => {
                all.iter().try_for_each(|schema| walk(dialect, schema))?;
            }
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties",
                schema,
            ) => {
                walk(dialect, schema)?;
            }
            _ => {}
        }
    }
    match dialect.typed {
        true => form(dialect, members),
        false => Ok(()),
    }
}

fn form(dialect: &Dialect, members: &serde_json::Map<String, Value>) -> Result<(), String> {
    let fail = |what: &str| Err(format!("{what}: {}", Value::Object(members.clone())));
    if members.contains_key("$ref") {
        return match members.len() {
            1 => Ok(()),
            _ => fail("something beside a reference"),
        };
    }
    let kind = members.get("type");
    let has_form = kind.is_some() || members.contains_key("anyOf");
    if !has_form && dialect.any == claw_runtime::dialect::Any::Text {
        return fail("no type");
    }
    if let Some(Value::Array(kinds)) = kind {
        let null = kinds.iter().any(|kind| kind == "null");
        let allowed = match dialect.null {
            Null::Types => true,
            Null::ScalarTypes => !kinds.iter().any(|kind| kind == "object" || kind == "array"),
            Null::Union | Null::Nullable => false,
        };
        if !(null && kinds.len() == 2 && allowed) {
            return fail("a list of types");
        }
    }
    let is = |name: &str| match kind {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == name),
        kind => kind == Some(&Value::from(name)),
    };
    if is("array") && !members.contains_key("items") && !members.contains_key("prefixItems") {
        return fail("no items");
    }
    if is("object") && dialect.closed == Closed::Always {
        if members.get("additionalProperties") != Some(&Value::Bool(false)) {
            return fail("an open object");
        }
        let names = members["properties"].as_object().unwrap().keys();
        let required = members.get("required").and_then(Value::as_array);
        let all = names.count() == required.map_or(0, Vec::len);
        if dialect.optional == Optional::Null && (!all || required.is_none()) {
            return fail("a property that is not required");
        }
    }
    for member in members
        .get("enum")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let allowed = match dialect.enums {
            Enums::Any => true,
            Enums::Scalars => !member.is_object() && !member.is_array(),
            Enums::StringsAndNumbers => {
                member.is_string() || member.is_number() || member.is_null()
            }
            Enums::Strings => member.is_string(),
        };
        if !allowed {
            return fail("a member");
        }
    }
    Ok(())
}
