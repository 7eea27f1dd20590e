//! From JSON Schema to the tree. Never fails: what makes no sense asks nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Array, Bound, Bounds, Docs, Id, Object, Property, Rest, Shape, Text, Tree, Types};
use crate::schema::coerce::Coerce;
use crate::schema::json::Json;
use crate::schema::number::Decimal;
use crate::schema::pattern::{Engine, Matcher};
use crate::schema::room::Room;

/// Deepest nesting of a schema, references included.
const DEPTH: usize = 128;

/// Keywords that ask something and are not read.
const UNREAD: &[&str] = &[
    "not",
    "if",
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "additionalItems",
    "$dynamicRef",
    "$recursiveRef",
];

pub(super) fn tree(document: &Json<'_>, engine: Option<Engine>) -> Tree {
    let mut parser = Parser {
        document,
        engine,
        room: Room::default(),
        patterns: HashMap::new(),
        seen: HashMap::new(),
        inside: false,
        lonely: false,
        tree: Tree::default(),
    };
    match document.member("$schema").and_then(Json::as_str) {
        Some(dialect) if !is_known(dialect) => {
            parser.tree.shapes.push(Shape::default());
            parser.tree.partial = true;
        }
        dialect => {
            parser.lonely = dialect.is_some_and(|dialect| dialect.contains("/draft-0"));
            parser.tree.root = parser.shape(document, 0);
        }
    }
    parser.tree.overfull = parser.room.is_used_up();
    parser.tree.spread_secrets();
    parser.tree
}

/// Tells whether a dialect is one of the drafts, rather than one that may give the keywords another meaning.
fn is_known(dialect: &str) -> bool {
    dialect
        .strip_prefix("http://")
        .or_else(|| dialect.strip_prefix("https://"))
        .is_some_and(|rest| rest.starts_with("json-schema.org/"))
}

struct Parser<'a> {
    document: &'a Json<'a>,
    /// What compiles patterns.
    engine: Option<Engine>,
    /// What is left for them.
    room: Room,
    /// Those that were met, by their sources.
    patterns: HashMap<&'a str, Option<Arc<dyn Matcher>>>,
    /// Where a schema object has been read to, by its address: a reference and the place it refers to share one shape.
    seen: HashMap<usize, Id>,
    /// Whether the schema lies in one with an `$id` of its own, where references start elsewhere.
    inside: bool,
    /// Whether `$ref` stands for the whole schema, whatever is beside it, as up to draft 7.
    lonely: bool,
    tree: Tree,
}

impl<'a> Parser<'a> {
    fn shape(&mut self, schema: &'a Json<'a>, depth: usize) -> Id {
        let address = std::ptr::from_ref(schema).addr();
        if let Some(id) = self.seen.get(&address) {
            return *id;
        }
        let id = self.tree.shapes.len();
        self.tree.shapes.push(Shape::default());
        if depth >= DEPTH {
            self.tree.partial = true;
            return id;
        }
        // Before its parts are read: they may refer back to it.
        self.seen.insert(address, id);
        let shape = match schema {
            Json::Bool(false) => Shape {
                never: true,
                ..Shape::default()
            },
            Json::Object(_) => {
                let outer = self.inside;
                self.inside |= has_id(schema) && !std::ptr::eq(schema, self.document);
                let shape = self.object_form(schema, depth + 1);
                self.inside = outer;
                shape
            }
            _ => Shape::default(),
        };
        self.tree.shapes[id] = shape;
        id
    }

    fn object_form(&mut self, keywords: &'a Json<'a>, depth: usize) -> Shape {
        self.tree.partial |= keywords.entries().any(|(name, _)| UNREAD.contains(&name));
        if self.inside && keywords.member("$schema").is_some() {
            // Another dialect begins here.
            self.tree.partial = true;
            return Shape::default();
        }
        let target = self.target(keywords, depth);
        if self.lonely && keywords.member("$ref").is_some() {
            return Shape {
                all: target.into_iter().collect(),
                docs: docs(keywords),
                ..Shape::default()
            };
        }
        let mut all = self.shapes(keywords.member("allOf"), depth);
        if let Some(target) = target {
            all.insert(0, target);
        }
        let secret = is_secret(keywords);
        self.tree.secrets |= secret;
        Shape {
            never: false,
            types: self.types(keywords.member("type")),
            members: members(keywords),
            text: self.text(keywords),
            number: bounds(keywords),
            array: self.array(keywords, depth),
            object: self.object(keywords, depth),
            all,
            any: self.shapes(keywords.member("anyOf"), depth),
            one: self.shapes(keywords.member("oneOf"), depth),
            secret,
            docs: docs(keywords),
        }
    }

    /// Reads what `$ref` refers to, when that is in the document.
    fn target(&mut self, keywords: &'a Json<'a>, depth: usize) -> Option<Id> {
        let reference = keywords.member("$ref")?;
        let target = reference
            .as_str()
            .filter(|_| !self.inside)
            .and_then(|reference| resolve(self.document, reference));
        self.tree.partial |= target.is_none();
        Some(self.shape(target?, depth))
    }

    fn shapes(&mut self, list: Option<&'a Json<'a>>, depth: usize) -> Vec<Id> {
        list.and_then(Json::as_array)
            .into_iter()
            .flatten()
            .map(|schema| self.shape(schema, depth))
            .collect()
    }

    fn array(&mut self, keywords: &'a Json<'a>, depth: usize) -> Option<Box<Array>> {
        self.tree.partial |= matches!(keywords.member("items"), Some(Json::Array(_)));
        let array = Array {
            prefix: self.shapes(keywords.member("prefixItems"), depth),
            items: keywords
                .member("items")
                .filter(|items| matches!(items, Json::Object(_) | Json::Bool(_)))
                .map(|items| self.shape(items, depth)),
            shortest: size(keywords, "minItems"),
            longest: size(keywords, "maxItems"),
            unique: matches!(keywords.member("uniqueItems"), Some(Json::Bool(true))),
        };
        let asks = !array.prefix.is_empty()
            || array.items.is_some()
            || array.shortest.is_some()
            || array.longest.is_some()
            || array.unique;
        asks.then(|| Box::new(array))
    }

    fn object(&mut self, keywords: &'a Json<'a>, depth: usize) -> Option<Box<Object>> {
        let mut object = Object {
            rest: match keywords.member("additionalProperties") {
                Some(Json::Bool(false)) => Rest::Closed,
                Some(schema @ Json::Object(_)) => Rest::Of(self.shape(schema, depth)),
                _ => Rest::Open,
            },
            fewest: size(keywords, "minProperties"),
            most: size(keywords, "maxProperties"),
            ..Object::default()
        };
        for (name, schema) in entries(keywords, "properties") {
            let property = self.property(name, schema, depth);
            object.properties.push(property);
        }
        for (source, schema) in entries(keywords, "patternProperties") {
            match self.pattern(source) {
                Some(pattern) => object.patterns.push((pattern, self.shape(schema, depth))),
                // Which names it allows is unknown, so none is refused.
                None => {
                    object.rest = Rest::Open;
                    self.tree.partial = true;
                }
            }
        }
        self.mark_required(keywords, &mut object);
        object.index();
        let asks = !object.properties.is_empty()
            || !object.patterns.is_empty()
            || object.rest != Rest::Open
            || object.fewest.is_some()
            || object.most.is_some();
        asks.then(|| Box::new(object))
    }

    /// Moves the required properties to the front, in the order `required` lists them: the one order that survives a
    /// map with sorted keys.
    fn mark_required(&mut self, keywords: &Json<'_>, object: &mut Object) {
        let mut declared: HashMap<String, Property> = HashMap::new();
        let order: Vec<String> = object
            .properties
            .iter()
            .map(|property| property.name.clone())
            .collect();
        for property in object.properties.drain(..) {
            declared.insert(property.name.clone(), property);
        }
        let names = keywords.member("required").and_then(Json::as_array);
        let mut done = HashSet::new();
        for name in names.into_iter().flatten().filter_map(Json::as_str) {
            if !done.insert(name) {
                continue;
            }
            // Required without being declared: it must be there, as what the rest of the object allows.
            let mut property = declared.remove(name).unwrap_or_else(|| Property {
                name: name.to_owned(),
                aliases: Vec::new(),
                shape: match object.rest {
                    Rest::Of(id) => id,
                    Rest::Open | Rest::Closed => self.anything(),
                },
                required: false,
                secret: false,
                coerce: None,
            });
            property.required = true;
            object.properties.push(property);
        }
        object
            .properties
            .extend(order.iter().filter_map(|name| declared.remove(name)));
    }

    fn anything(&mut self) -> Id {
        self.tree.shapes.push(Shape::default());
        self.tree.shapes.len() - 1
    }

    fn property(&mut self, name: &str, schema: &'a Json<'a>, depth: usize) -> Property {
        let aliases: Vec<String> = schema
            .member("x-aliases")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .map(str::to_owned)
            .collect();
        self.tree.aliases |= !aliases.is_empty();
        Property {
            name: name.to_owned(),
            aliases,
            shape: self.shape(schema, depth),
            required: false,
            secret: is_secret(schema),
            coerce: schema
                .member("x-coerce")
                .and_then(Json::as_str)
                .and_then(Coerce::of),
        }
    }

    fn pattern(&mut self, source: &'a str) -> Option<Arc<dyn Matcher>> {
        let engine = self.engine?;
        let compiled = || engine.compile(source, &mut self.room).ok();
        self.patterns.entry(source).or_insert_with(compiled).clone()
    }

    fn types(&mut self, keyword: Option<&Json<'_>>) -> Types {
        let one = |name: &str| {
            Types::NAMES
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, kind)| *kind)
        };
        let names: Vec<&str> = match keyword {
            Some(Json::String(name)) => vec![name],
            Some(Json::Array(names)) => names.iter().filter_map(Json::as_str).collect(),
            _ => return Types::ANY,
        };
        match names
            .iter()
            .map(|name| one(name))
            .collect::<Option<Vec<_>>>()
        {
            Some(kinds) if !kinds.is_empty() => kinds.into_iter().fold(Types::NONE, Types::with),
            // A type nobody knows cannot be checked.
            _ => {
                self.tree.partial = true;
                Types::ANY
            }
        }
    }

    fn text(&mut self, keywords: &'a Json<'a>) -> Option<Box<Text>> {
        let source = keywords.member("pattern").and_then(Json::as_str);
        let text = Text {
            shortest: size(keywords, "minLength"),
            longest: size(keywords, "maxLength"),
            pattern: source.and_then(|source| self.pattern(source)),
            format: keywords
                .member("x-format")
                .and_then(Json::as_str)
                .map(str::to_owned),
        };
        self.tree.partial |= source.is_some() && text.pattern.is_none();
        let asks = text.shortest.is_some()
            || text.longest.is_some()
            || text.pattern.is_some()
            || text.format.is_some();
        asks.then(|| Box::new(text))
    }
}

fn has_id(schema: &Json<'_>) -> bool {
    schema.member("$id").and_then(Json::as_str).is_some()
}

fn docs(keywords: &Json<'_>) -> Docs {
    Docs {
        description: keywords
            .member("description")
            .and_then(Json::as_str)
            .map(str::to_owned),
        default: keywords.member("default").map(Json::to_text),
    }
}

/// Tells whether a schema says that its values are secret.
fn is_secret(keywords: &Json<'_>) -> bool {
    let says = |name| matches!(keywords.member(name), Some(Json::Bool(true)));
    says("writeOnly")
        || says("x-secret")
        || keywords.member("format").and_then(Json::as_str) == Some("password")
}

/// Follows a reference inside the document: `#` or `#/a/b`.
pub(crate) fn resolve<'a>(document: &'a Json<'a>, reference: &str) -> Option<&'a Json<'a>> {
    let pointer = percent_decoded(reference.strip_prefix('#')?)?;
    if pointer.is_empty() {
        return Some(document);
    }
    pointer
        .strip_prefix('/')?
        .split('/')
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .try_fold(document, |value, step| match value {
            Json::Array(items) => items.get(step.parse::<usize>().ok()?),
            // References inside a schema with its own `$id` start there.
            _ if has_id(value) && !std::ptr::eq(value, document) => None,
            _ => value.member(&step),
        })
}

/// Returns a text whose `%41` are letters again; `None` when it is none then.
pub(in crate::schema) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let high = char::from(rest.next()?).to_digit(16)?;
        let low = char::from(rest.next()?).to_digit(16)?;
        bytes.push((high * 16 + low) as u8);
    }
    String::from_utf8(bytes).ok()
}

fn members(keywords: &Json<'_>) -> Option<Vec<Json<'static>>> {
    let listed = keywords
        .member("enum")
        .and_then(Json::as_array)
        .map(|members| {
            members
                .iter()
                .cloned()
                .map(Json::into_owned)
                .collect::<Vec<_>>()
        });
    match (
        keywords.member("const").cloned().map(Json::into_owned),
        listed,
    ) {
        (Some(only), Some(listed)) if listed.iter().any(|member| member.same(&only)) => {
            Some(vec![only])
        }
        // A constant outside the list: nothing fits.
        (Some(_), Some(_)) => Some(Vec::new()),
        (Some(only), None) => Some(vec![only]),
        (None, listed) => listed,
    }
}

fn bounds(keywords: &Json<'_>) -> Option<Box<Bounds>> {
    let bound = |keyword: &str, exclusive| {
        let Json::Number(text) = keywords.member(keyword)? else {
            return None;
        };
        Some(Bound {
            value: Decimal::new(text),
            text: text.clone().into_owned(),
            exclusive,
        })
    };
    let tighter = |inclusive: Option<Bound>, exclusive: Option<Bound>, upper: bool| match (
        inclusive, exclusive,
    ) {
        (Some(inclusive), Some(exclusive)) => {
            let exclusive_wins = if upper {
                exclusive.value <= inclusive.value
            } else {
                exclusive.value >= inclusive.value
            };
            Some(if exclusive_wins { exclusive } else { inclusive })
        }
        (inclusive, exclusive) => inclusive.or(exclusive),
    };
    let bounds = Bounds {
        least: tighter(
            bound("minimum", false),
            bound("exclusiveMinimum", true),
            false,
        ),
        most: tighter(
            bound("maximum", false),
            bound("exclusiveMaximum", true),
            true,
        ),
        step: bound("multipleOf", false).filter(|step| step.value.is_positive()),
    };
    let asks = bounds.least.is_some() || bounds.most.is_some() || bounds.step.is_some();
    asks.then(|| Box::new(bounds))
}

fn size(keywords: &Json<'_>, keyword: &str) -> Option<usize> {
    match keywords.member(keyword)? {
        Json::Number(text) => Decimal::new(text).integer()?.parse().ok(),
        _ => None,
    }
}

fn entries<'a>(
    keywords: &'a Json<'a>,
    keyword: &str,
) -> impl Iterator<Item = (&'a str, &'a Json<'a>)> {
    keywords.member(keyword).into_iter().flat_map(Json::entries)
}
