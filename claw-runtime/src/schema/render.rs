//! Joins the const tree to JSON Schema text, once a toolset.

use std::any::TypeId;
use std::fmt::Write as _;

use serde_json::Value;

use super::bounds::{Bounds, Num};
use super::node::{Example, Kind, Named, Node, Preset, Property};
use super::normalise::{members, normalise};
use super::pattern::Engine;

/// A joined schema.
pub(crate) struct Rendered {
    /// As providers get it.
    pub(crate) text: String,
    /// Whether the fast path does not know or check a part of it.
    pub(crate) slow: bool,
    /// Whether a value in it is secret.
    pub(crate) secret: bool,
}

/// Joins the schema of an object with these properties; examples that have a JSON form stand beside them.
pub(crate) fn object(properties: &'static [Property], examples: &[Example]) -> Rendered {
    let mut text = Writer::document(properties, false, Vec::new());
    text.examples(examples);
    Rendered {
        text: text.out,
        slow: text.slow,
        secret: text.secret,
    }
}

/// Joins the same schema as claw reads it: with the members that only claw understands, and exact bounds.
/// Returns what compiles the patterns in it too, if there may be any.
pub(crate) fn full(
    properties: &'static [Property],
    examples: &[Example],
) -> (String, Option<Engine>) {
    let mut full = Writer::document(properties, true, Vec::new());
    full.examples(examples);
    (full.out, full.engine)
}

/// Returns the schema of a result of a declared type, when it is an object: other results have no output schema.
pub(crate) fn output(node: &'static Node) -> Option<String> {
    let mut writer = Writer::new(false, Vec::new());
    writer.out.push('{');
    writer.node(node, &Bounds::NONE);
    writer.definitions().ok()?;
    writer.out.push('}');
    writer
        .out
        .starts_with("{\"type\":\"object\"")
        .then_some(writer.out)
}

/// Returns the arguments of an example as JSON text, when all of them have such a form.
pub(crate) fn example(example: Example) -> Option<String> {
    let member =
        |(name, value): &(&str, Preset)| Some(format!("{}:{}", quoted(name), value.json()?));
    let members: Option<Vec<String>> = example.iter().map(member).collect();
    members.map(|members| format!("{{{}}}", members.join(",")))
}

/// The greatest number that providers take in a schema.
const SAFE: f64 = 9_007_199_254_740_992.0;

struct Writer {
    out: String,
    internal: bool,
    slow: bool,
    secret: bool,
    /// The declared types around the place that is written.
    open: Vec<TypeId>,
    /// The types that contain themselves, and their names in `$defs`.
    defs: Vec<(&'static Named, String)>,
    /// Names in `$defs` that schemars uses.
    taken: Vec<String>,
    /// Made when a foreign type comes: most schemas have none.
    generator: Option<Box<schemars::SchemaGenerator>>,
    /// What compiles the patterns that were written.
    engine: Option<Engine>,
}

impl Writer {
    fn new(internal: bool, taken: Vec<String>) -> Self {
        Self {
            out: String::with_capacity(256),
            internal,
            slow: false,
            secret: false,
            open: Vec::new(),
            defs: Vec::new(),
            taken,
            generator: None,
            engine: None,
        }
    }

    fn document(properties: &'static [Property], internal: bool, taken: Vec<String>) -> Self {
        let mut writer = Self::new(internal, taken);
        writer.out.push('{');
        writer.properties(properties);
        if let Err(taken) = writer.definitions() {
            return Self::document(properties, internal, taken);
        }
        writer.out.push('}');
        writer
    }

    /// Adds examples to a finished document.
    fn examples(&mut self, examples: &[Example]) {
        let examples: Vec<String> = examples.iter().filter_map(|of| example(of)).collect();
        if !examples.is_empty() {
            self.out.truncate(self.out.len() - 1);
            let _ = write!(self.out, ",\"examples\":[{}]}}", examples.join(","));
        }
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
        let foreign = match &mut self.generator {
            Some(generator) => generator.take_definitions(true),
            None => serde_json::Map::new(),
        };
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
        if let Some(json) = property.default.json() {
            self.member(start, "default", &json);
        }
        if let Some(json) = property.example.json() {
            self.member(start, "examples", &format!("[{json}]"));
        }
        self.secret |= property.secret;
        if self.internal && property.secret {
            self.member(start, "writeOnly", "true");
        }
        if self.internal && !property.coerce.is_empty() {
            self.member(start, "x-coerce", &quoted(property.coerce));
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
                self.text(format, &bounds);
            }
            Kind::Words(words) => {
                self.out.push_str("\"type\":\"string\"");
                let aliases = if self.internal { words.aliases } else { &[] };
                self.words(&[words.shown, aliases].concat());
            }
            Kind::Integer => {
                self.out.push_str("\"type\":\"integer\"");
                if !bounds.numbers.is_empty() {
                    let numbers: Vec<String> = bounds.numbers.iter().map(i128::to_string).collect();
                    let _ = write!(self.out, ",\"enum\":[{}]", numbers.join(","));
                }
                self.range(&bounds);
            }
            Kind::Number => {
                self.out.push_str("\"type\":\"number\"");
                self.slow |= bounds.multiple_of.is_some();
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
                self.node(item, bounds.items.unwrap_or(&Bounds::NONE));
                self.out.push('}');
                self.slow |= bounds.unique;
                if bounds.unique || matches!(node.kind, Kind::Set(_)) {
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
                self.engine = Some(foreign.engine);
                self.slow = true;
                let generator = self.generator.get_or_insert_with(generator);
                let schema = (foreign.schema)(generator);
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

    fn text(&mut self, format: &str, bounds: &Bounds) {
        let format = if bounds.format.is_empty() {
            format
        } else {
            bounds.format
        };
        // The tree takes this word for a secret too.
        self.secret |= format == "password";
        if !format.is_empty() {
            let _ = write!(self.out, ",\"format\":{}", quoted(format));
        }
        if self.internal && !bounds.format.is_empty() {
            let _ = write!(self.out, ",\"x-format\":{}", quoted(bounds.format));
        }
        if let Some(pattern) = bounds.pattern {
            self.engine = Some(pattern.engine());
            let _ = write!(self.out, ",\"pattern\":{}", quoted(pattern.text));
        }
        if !bounds.one_of.is_empty() {
            self.words(bounds.one_of);
        }
        self.count(bounds, "Length");
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

fn generator() -> Box<schemars::SchemaGenerator> {
    let settings = schemars::generate::SchemaSettings::draft2020_12();
    let generator = settings.with(|settings| settings.inline_subschemas = true);
    Box::new(generator.into_generator())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Source;
    use serde_json::json;

    const TEXT: Source = Source {
        node: Some(&Node::new(Kind::String("ipv4"))),
        need: None,
    };

    fn read_by_claw(properties: &'static [Property]) -> Value {
        serde_json::from_str(&full(properties, &[]).0).unwrap()
    }

    #[test]
    fn aliases_are_seen_by_claw_alone() {
        static PROPERTIES: &[Property] =
            &[Property::new("a", "A \"quoted\" é.", TEXT).aliases(&["b"])];
        let rendered = object(PROPERTIES, &[]);
        assert_eq!(
            rendered.text,
            r#"{"type":"object","properties":{"a":{"type":"string","format":"ipv4","description":"A \"quoted\" é."}},"required":["a"],"additionalProperties":false}"#
        );
        assert_eq!(
            read_by_claw(PROPERTIES)["properties"]["a"]["x-aliases"],
            json!(["b"])
        );
        assert!(!rendered.slow);
    }

    #[test]
    fn no_parameters_are_an_empty_object() {
        assert_eq!(
            object(&[], &[]).text,
            r#"{"type":"object","properties":{},"additionalProperties":false}"#
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
            engine: crate::schema::Engine::REGEX,
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
        let rendered = object(PROPERTIES, &[]);
        let value = read_by_claw(PROPERTIES);
        assert_eq!(
            value["properties"]["tree"]["properties"]["children"]["items"],
            json!({"$ref": "#/$defs/Tree"})
        );
        assert_eq!(
            value["$defs"]["Tree"]["properties"]["children"]["items"],
            json!({"$ref": "#/$defs/Tree"})
        );
        assert!(rendered.slow);
    }
}
