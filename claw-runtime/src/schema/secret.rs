//! Values that are secret, found by what the schema says of them.

use serde_json::Value;

use super::tree::{Id, Object, Rest, Schema, Tree, Types};

/// What stands in place of a secret value.
const MASK: &str = "***";

impl Schema {
    /// Tells whether any value is secret.
    pub(crate) fn has_secrets(&self) -> bool {
        self.tree.secrets
    }

    /// Replaces every secret value in `arguments`, at whatever depth.
    ///
    /// Where several shapes could be meant, what is secret in one of them is secret: the value may not fit any.
    pub(crate) fn mask(&self, arguments: &mut Value) {
        if self.has_secrets() {
            mask(&self.tree, &[self.tree.root], arguments);
        }
    }
}

fn mask(tree: &Tree, shapes: &[Id], value: &mut Value) {
    let shapes = parts(tree, shapes);
    let takes = |kind| shapes.iter().any(|id| tree.shape(*id).types.has(kind));
    match value {
        Value::Object(members) if takes(Types::OBJECT) => {
            for (name, value) in members {
                let mut inner = Vec::new();
                let mut secret = false;
                for object in shapes
                    .iter()
                    .filter_map(|id| tree.shape(*id).object.as_deref())
                {
                    secret |= member(object, name, &mut inner);
                }
                if secret {
                    *value = MASK.into();
                } else if !inner.is_empty() {
                    mask(tree, &inner, value);
                }
            }
        }
        Value::Array(items) if takes(Types::ARRAY) => {
            let arrays = || {
                shapes
                    .iter()
                    .filter_map(|id| tree.shape(*id).array.as_deref())
            };
            for (at, value) in items.iter_mut().enumerate() {
                let inner: Vec<Id> = arrays()
                    .filter_map(|array| array.prefix.get(at).copied().or(array.items))
                    .collect();
                if !inner.is_empty() {
                    mask(tree, &inner, value);
                }
            }
        }
        // What is secret in it cannot be told.
        Value::Object(_) | Value::Array(_) => *value = MASK.into(),
        // An object written as text, which validation would read.
        Value::String(text)
            if text.trim_start().starts_with(['{', '[']) && !takes(Types::STRING) =>
        {
            match serde_json::from_str(text) {
                Ok(mut inner @ (Value::Object(_) | Value::Array(_))) => {
                    mask(tree, &shapes, &mut inner);
                    *text = inner.to_string();
                }
                _ => MASK.clone_into(text),
            }
        }
        _ => {}
    }
}

/// Gathers what the member `name` may be, and tells whether it is secret.
fn member(object: &Object, name: &str, inner: &mut Vec<Id>) -> bool {
    if let Some(at) = object.find(name) {
        let property = &object.properties[at];
        inner.push(property.shape);
        return property.secret;
    }
    let matching = object
        .patterns
        .iter()
        .filter(|(pattern, _)| pattern.is_match(name));
    inner.extend(matching.map(|(_, id)| *id));
    if let Rest::Of(id) = object.rest {
        inner.push(id);
    }
    false
}

/// Returns the shapes with all their parts and branches.
fn parts(tree: &Tree, shapes: &[Id]) -> Vec<Id> {
    let mut all = shapes.to_vec();
    let mut at = 0;
    while let Some(id) = all.get(at) {
        let shape = tree.shape(*id);
        for part in shape.all.iter().chain(&shape.any).chain(&shape.one) {
            if !all.contains(part) {
                all.push(*part);
            }
        }
        at += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn masked(schema: &Value, mut value: Value) -> Value {
        Schema::parse(schema).mask(&mut value);
        value
    }

    #[test]
    fn secrets_are_found_at_every_depth() {
        let token = json!({"type": "string", "writeOnly": true});
        let login =
            json!({"type": "object", "properties": {"user": {"type": "string"}, "token": token}});
        let schema = json!({"properties": {
            "list": {"type": "array", "items": login},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, login]},
            "map": {"type": "object", "additionalProperties": login},
            "either": {"anyOf": [{"type": "string"}, login, {"properties": {"token": {"type": "string"}}}]},
            "tree": {"$ref": "#/$defs/tree"},
        }, "$defs": {"tree": {"allOf": [login, {"properties": {"below": {"$ref": "#/$defs/tree"}}}]}}});
        let open = json!({"user": "u", "token": "t"});
        let shut = json!({"user": "u", "token": "***"});
        let value = |login: &Value| {
            json!({
                "list": [login, "x", login], "pair": ["t", login, login], "map": {"any": login}, "either": login,
                "tree": {"user": "u", "token": login["token"], "below": {"below": login}}, "other": {"token": "kept"},
            })
        };
        let mut expected = value(&shut);
        // Only the second place of the pair is a login.
        expected["pair"][2] = open.clone();
        assert_eq!(masked(&schema, value(&open)), expected);
    }

    #[test]
    fn secrets_in_the_wrong_place_are_found_too() {
        let schema = json!({"type": "object", "properties": {
            "login": {"type": "object", "properties": {"token": {"type": "string", "writeOnly": true}}},
            "text": {"type": "string"},
        }});
        for (value, expected) in [
            (json!({"login": [{"token": "t"}]}), json!({"login": "***"})),
            (
                json!({"login": r#"{"token":"t","a":1}"#}),
                json!({"login": r#"{"a":1,"token":"***"}"#}),
            ),
            (json!({"login": r#"{"token":"t""#}), json!({"login": "***"})),
            (
                json!({"text": r#"{"token":"t"}"#}),
                json!({"text": r#"{"token":"t"}"#}),
            ),
        ] {
            assert_eq!(masked(&schema, value), expected);
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema =
            json!({"$ref": "#", "properties": {"a": {"$ref": "#"}, "b": {"writeOnly": true}}});
        let value = json!({"a": {"a": {"b": 1, "c": 2}}});
        assert_eq!(
            masked(&schema, value),
            json!({"a": {"a": {"b": "***", "c": 2}}})
        );
    }
}
