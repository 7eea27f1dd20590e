//! Joins the const tree to JSON Schema text, once a toolset.

use std::any::TypeId;
use std::fmt::Write as _;

use serde_json::Value;

use super::node::{Bounds, Kind, Named, Node, Num, Preset, Property};

/// A joined schema.
pub(crate) struct Rendered {
    /// As providers get it.
    pub(crate) text: String,
    /// As claw reads it: with the members that only claw understands, and exact bounds.
    pub(crate) full: String,
    /// Whether a part of it is known at run time only.
    pub(crate) foreign: bool,
}

/// Joins the schema of an object with these properties.
pub(crate) fn object(properties: &'static [Property]) -> Rendered {
    let text = Writer::document(properties, false, Vec::new());
    let full = Writer::document(properties, true, Vec::new());
    Rendered {
        full: full.out,
        text: text.out,
        foreign: text.foreign,
    }
}

/// The greatest number that providers take in a schema.
const SAFE: f64 = 9_007_199_254_740_992.0;

struct Writer {
    out: String,
    internal: bool,
    foreign: bool,
    /// The declared types around the place that is written.
    open: Vec<TypeId>,
    /// The types that contain themselves, and their names in `$defs`.
    defs: Vec<(&'static Named, String)>,
    /// Names in `$defs` that schemars uses.
    taken: Vec<String>,
    generator: schemars::SchemaGenerator,
}

impl Writer {
    fn document(properties: &'static [Property], internal: bool, taken: Vec<String>) -> Self {
        let mut writer = Self {
            out: String::with_capacity(256),
            internal,
            foreign: false,
            open: Vec::new(),
            defs: Vec::new(),
            taken,
            generator: schemars::generate::SchemaSettings::draft2020_12()
                .with(|settings| settings.inline_subschemas = true)
                .into_generator(),
        };
        writer.out.push('{');
        writer.properties(properties);
        if let Err(taken) = writer.definitions() {
            return Self::document(properties, internal, taken);
        }
        writer.out.push('}');
        writer
    }

    /// Writes `$defs`: ours and those of schemars. Fails with the names of schemars when one is ours too.
    fn definitions(&mut self) -> Result<(), Vec<String>> {
        let start = self.out.len();
        self.out.push_str(",\"$defs\":{");
        let mut written = 0;
        while let Some((named, name)) = self.defs.get(written) {
            let (named, key) = (*named, quoted(name));
            self.comma(written);
            let _ = write!(self.out, "{key}:{{");
            self.open = vec![(named.id)()];
            self.node((named.node)(), &Bounds::NONE);
            self.out.push('}');
            written += 1;
        }
        let foreign = self.generator.take_definitions(true);
        if self.defs.iter().any(|(_, name)| foreign.contains_key(name)) {
            return Err(foreign.keys().cloned().collect());
        }
        for (name, mut schema) in foreign {
            normalise(&mut schema);
            self.comma(written);
            let _ = write!(self.out, "{}:{schema}", quoted(&name));
            written += 1;
        }
        if written == 0 {
            self.out.truncate(start);
        } else {
            self.out.push('}');
        }
        Ok(())
    }

    fn properties(&mut self, properties: &'static [Property]) {
        self.out.push_str("\"type\":\"object\",\"properties\":{");
        let (mut members, mut rest) = (Vec::new(), None);
        flattened(properties, &mut members, &mut rest);
        for (at, (property, node)) in members.iter().enumerate() {
            self.comma(at);
            let _ = write!(self.out, "{}:{{", quoted(property.name));
            self.property(property, node);
            self.out.push('}');
        }
        self.out.push('}');
        let required = || {
            members
                .iter()
                .filter(|(property, _)| property.is_required())
        };
        for (at, (property, _)) in required().enumerate() {
            self.out
                .push_str(if at == 0 { ",\"required\":[" } else { "," });
            self.out.push_str(&quoted(property.name));
        }
        if required().next().is_some() {
            self.out.push(']');
        }
        match rest {
            None => self.out.push_str(",\"additionalProperties\":false"),
            Some(node) => {
                self.out.push_str(",\"additionalProperties\":{");
                self.node(node, &Bounds::NONE);
                self.out.push('}');
            }
        }
    }

    fn comma(&mut self, at: usize) {
        if at > 0 {
            self.out.push(',');
        }
    }

    fn property(&mut self, property: &Property, mut node: &'static Node) {
        let start = self.out.len();
        // An optional property is one that is not required; no provider needs to hear of `null`.
        while let Kind::Optional(inner) = node.kind
            && !property.always
        {
            node = inner;
        }
        self.node(node, property.bounds.unwrap_or(&Bounds::NONE));
        if !property.description.is_empty() {
            self.member(start, "description", &quoted(property.description));
        }
        match property.default {
            Preset::None => {}
            Preset::Json(json) => self.member(start, "default", json),
            Preset::Made(make) => {
                if let Some(value) = make() {
                    self.member(start, "default", &value.to_string());
                }
            }
        }
        if self.internal && property.secret {
            self.member(start, "writeOnly", "true");
        }
        if self.internal && !property.aliases.is_empty() {
            let aliases: Vec<String> = property.aliases.iter().map(|name| quoted(name)).collect();
            self.member(start, "x-aliases", &format!("[{}]", aliases.join(",")));
        }
    }

    /// Writes a place of a tuple: unlike a property it is there, be it as `null`.
    fn place(&mut self, place: &Property) {
        let start = self.out.len();
        if let Some(node) = place.node {
            self.node(node, place.bounds.unwrap_or(&Bounds::NONE));
        }
        if !place.description.is_empty() {
            self.member(start, "description", &quoted(place.description));
        }
    }

    fn member(&mut self, start: usize, name: &str, json: &str) {
        if self.out.len() > start {
            self.out.push(',');
        }
        let _ = write!(self.out, "\"{name}\":{json}");
    }

    /// Writes the members of a node's schema, without braces.
    fn node(&mut self, node: &'static Node, over: &Bounds) {
        let bounds = node.bounds.tightened(*over);
        match node.kind {
            Kind::String(format) => {
                self.out.push_str("\"type\":\"string\"");
                if !format.is_empty() {
                    let _ = write!(self.out, ",\"format\":{}", quoted(format));
                }
                if !bounds.one_of.is_empty() {
                    self.words(bounds.one_of);
                }
                self.count(&bounds, "Length");
            }
            Kind::Words(words) => {
                self.out.push_str("\"type\":\"string\"");
                let aliases = if self.internal { words.aliases } else { &[] };
                self.words(&[words.shown, aliases].concat());
            }
            Kind::Integer => {
                self.out.push_str("\"type\":\"integer\"");
                self.range(&bounds);
            }
            Kind::Number => {
                self.out.push_str("\"type\":\"number\"");
                self.range(&bounds);
            }
            Kind::Boolean => self.out.push_str("\"type\":\"boolean\""),
            Kind::Null => self.out.push_str("\"type\":\"null\""),
            Kind::Optional(inner) => {
                self.out.push_str("\"anyOf\":[{");
                self.node(inner, over);
                self.out.push_str("},{\"type\":\"null\"}]");
            }
            Kind::Array(item) | Kind::Set(item) => {
                self.out.push_str("\"type\":\"array\",\"items\":{");
                self.node(item, &Bounds::NONE);
                self.out.push('}');
                if matches!(node.kind, Kind::Set(_)) {
                    self.out.push_str(",\"uniqueItems\":true");
                }
                self.count(&bounds, "Items");
            }
            Kind::Tuple(places) => {
                self.out.push_str("\"type\":\"array\",\"prefixItems\":[");
                for (at, place) in places.iter().enumerate() {
                    self.comma(at);
                    self.out.push('{');
                    self.place(place);
                    self.out.push('}');
                }
                let count = places.len();
                let _ = write!(
                    self.out,
                    "],\"items\":false,\"minItems\":{count},\"maxItems\":{count}"
                );
            }
            Kind::Map(value) => {
                self.out
                    .push_str("\"type\":\"object\",\"additionalProperties\":{");
                self.node(value, &Bounds::NONE);
                self.out.push('}');
                self.count(&bounds, "Properties");
            }
            Kind::Object(properties) => self.properties(properties),
            Kind::Union(shapes) => {
                self.out.push_str("\"anyOf\":[");
                for (at, shape) in shapes.iter().enumerate() {
                    self.comma(at);
                    self.out.push('{');
                    self.node(shape, &Bounds::NONE);
                    self.out.push('}');
                }
                self.out.push(']');
            }
            Kind::Named(named) => self.named(named),
            Kind::Any => {}
            Kind::Foreign(foreign) => {
                self.foreign = true;
                let schema = (foreign.schema)(&mut self.generator);
                self.out.push_str(&members(schema));
            }
        }
    }

    fn named(&mut self, named: &'static Named) {
        let id = (named.id)();
        if self.open.contains(&id) {
            let name = self.definition(named, id);
            let pointer = quoted(&format!("#/$defs/{name}"));
            let _ = write!(self.out, "\"$ref\":{pointer}");
            return;
        }
        self.open.push(id);
        self.node((named.node)(), &Bounds::NONE);
        self.open.pop();
    }

    fn definition(&mut self, named: &'static Named, id: TypeId) -> String {
        if let Some((_, name)) = self.defs.iter().find(|(known, _)| (known.id)() == id) {
            return name.clone();
        }
        let mut name = named.name.to_owned();
        let mut count = 1;
        while self.defs.iter().any(|(_, other)| *other == name) || self.taken.contains(&name) {
            count += 1;
            name = format!("{}{count}", named.name);
        }
        self.defs.push((named, name.clone()));
        name
    }

    fn words(&mut self, words: &[&str]) {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let _ = write!(self.out, ",\"enum\":[{}]", words.join(","));
    }

    fn range(&mut self, bounds: &Bounds) {
        // Providers choke on numbers beyond 2^53.
        let internal = self.internal;
        let shown = |num: &Num| internal || num.as_f64().abs() <= SAFE;
        if let Some(min) = bounds.min.filter(shown) {
            let _ = write!(self.out, ",\"minimum\":{}", number(min));
        }
        if let Some(max) = bounds.max.filter(shown) {
            let word = if bounds.below_max {
                "exclusiveMaximum"
            } else {
                "maximum"
            };
            let _ = write!(self.out, ",\"{word}\":{}", number(max));
        }
        if let Some(step) = bounds.multiple_of {
            let _ = write!(self.out, ",\"multipleOf\":{step}");
        }
    }

    fn count(&mut self, bounds: &Bounds, what: &str) {
        if let Some(min) = bounds.min_len {
            let _ = write!(self.out, ",\"min{what}\":{min}");
        }
        if let Some(max) = bounds.max_len {
            let _ = write!(self.out, ",\"max{what}\":{max}");
        }
    }
}

/// Gathers the members of an object and of all that is flattened into it.
fn flattened(
    properties: &'static [Property],
    members: &mut Vec<(&'static Property, &'static Node)>,
    rest: &mut Option<&'static Node>,
) {
    for property in properties {
        if let Some(flat) = property.flat {
            flattened(flat.fields, members, rest);
            *rest = rest.or(flat.rest);
        } else if let Some(node) = property.node {
            members.push((property, node));
        }
    }
}

fn number(num: Num) -> String {
    match num {
        Num::Int(int) => int.to_string(),
        Num::Float(float) => Value::from(float).to_string(),
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Returns the members of a schema that schemars made, without what no provider wants.
fn members(schema: schemars::Schema) -> String {
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
fn normalise(schema: &mut Value) {
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
    use super::*;
    use crate::schema::Source;
    use serde_json::json;

    const TEXT: Source = Source {
        node: Some(&Node::new(Kind::String("ipv4"))),
        need: None,
    };

    fn value(rendered: &Rendered) -> Value {
        serde_json::from_str(&rendered.full).unwrap()
    }

    #[test]
    fn aliases_are_seen_by_claw_alone() {
        static PROPERTIES: &[Property] =
            &[Property::new("a", "A \"quoted\" é.", TEXT).aliases(&["b"])];
        let rendered = object(PROPERTIES);
        assert_eq!(
            rendered.text,
            r#"{"type":"object","properties":{"a":{"type":"string","format":"ipv4","description":"A \"quoted\" é."}},"required":["a"],"additionalProperties":false}"#
        );
        assert_eq!(
            value(&rendered)["properties"]["a"]["x-aliases"],
            json!(["b"])
        );
        assert!(!rendered.foreign);
    }

    #[test]
    fn no_parameters_are_an_empty_object() {
        assert_eq!(
            object(&[]).text,
            r#"{"type":"object","properties":{},"additionalProperties":false}"#
        );
    }

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

    /// A foreign type that contains itself: its definition moves to the root, where `$ref` looks for it.
    #[derive(schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Tree {
        children: Vec<Tree>,
    }

    #[test]
    fn definitions_of_schemars_stand_at_the_root() {
        static FOREIGN: super::super::node::Foreign = super::super::node::Foreign {
            schema: |generator| generator.subschema_for::<Tree>(),
            optional: || false,
        };
        static NODE: Node = Node::new(Kind::Foreign(&FOREIGN));
        static PROPERTIES: &[Property] = &[Property::new(
            "tree",
            "",
            Source {
                node: Some(&NODE),
                need: None,
            },
        )];
        let rendered = object(PROPERTIES);
        let value = value(&rendered);
        assert_eq!(
            value["properties"]["tree"]["properties"]["children"]["items"],
            json!({"$ref": "#/$defs/Tree"})
        );
        assert_eq!(
            value["$defs"]["Tree"]["properties"]["children"]["items"],
            json!({"$ref": "#/$defs/Tree"})
        );
        assert!(rendered.foreign);
    }
}
