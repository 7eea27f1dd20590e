//! Schemas that schemars made, without what no provider wants.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// Returns the schema of a result that schemars describes, when it is an object: other results have no output schema.
pub(crate) fn output<T: JsonSchema>() -> Option<String> {
    let generator = SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .for_serialize()
        .into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    normalise(&mut schema);
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    is_object.then(|| schema.to_string())
}

/// Returns the members of a schema that schemars made, without what no provider wants.
pub(crate) fn members(schema: schemars::Schema) -> String {
    let mut value = schema.to_value();
    normalise(&mut value);
    let text = value.to_string();
    match value {
        Value::Object(_) => text[1..text.len() - 1].to_owned(),
        // `true`: anything goes.
        Value::Bool(true) => String::new(),
        _ => "\"not\":{}".to_owned(),
    }
}

/// Removes `$schema`, titles and Rust's own formats from a schema and every schema in it.
pub(crate) fn normalise(schema: &mut Value) {
    let Value::Object(members) = schema else {
        return;
    };
    members.remove("$schema");
    members.remove("title");
    if members.get("format").is_some_and(is_rust_format) {
        members.remove("format");
    }
    for (name, member) in members.iter_mut() {
        match (name.as_str(), member) {
            (
                "properties" | "patternProperties" | "$defs" | "dependentSchemas",
                Value::Object(inner),
            ) => {
                inner.values_mut().for_each(normalise);
            }
            ("default" | "const" | "enum" | "examples", _) => {}
            (_, Value::Array(inner)) => inner.iter_mut().for_each(normalise),
            (_, inner) => normalise(inner),
        }
    }
}

fn is_rust_format(format: &Value) -> bool {
    let format = format.as_str().unwrap_or_default();
    let integer = format
        .strip_prefix('u')
        .unwrap_or(format)
        .strip_prefix("int");
    matches!(format, "float" | "double")
        || integer.is_some_and(|rest| matches!(rest, "" | "8" | "16" | "32" | "64" | "128"))
}

#[cfg(test)]
mod tests {
    use super::normalise;
    use serde_json::json;

    #[test]
    fn foreign_schemas_lose_what_no_provider_wants() {
        let mut schema = json!({
            "$schema": "x", "title": "T", "type": "object",
            "properties": {"title": {"type": "integer", "format": "uint32", "title": "N"}},
            "default": {"title": "kept"},
            "items": [{"format": "double"}, {"format": "date"}],
        });
        normalise(&mut schema);
        assert_eq!(
            schema,
            json!({
                "type": "object",
                "properties": {"title": {"type": "integer"}},
                "default": {"title": "kept"},
                "items": [{}, {"format": "date"}],
            })
        );
    }
}
