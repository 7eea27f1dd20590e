//! Where each schema has its address: the documents at hand, the schemas in them with an `$id`, and their anchors.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::SchemaError;
use super::draft::{Draft, Rules, draft_of};
use super::uri;

/// Where a document begins that has no address.
const NOWHERE: &str = "json-schema:///";
/// How long the places of all parts may be together, in bytes: each is kept.
const PLACES: usize = 32 << 20;
/// What the names of meta-schemas begin with.
const META: [&str; 3] = [
    "https://json-schema.org/draft/2020-12/",
    "https://json-schema.org/draft/2019-09/",
    "http://json-schema.org/draft-0",
];

/// A place in a document: which one, and the JSON pointer.
pub(super) type Place = (usize, String);

/// A schema with an address of its own.
#[derive(Debug)]
pub(super) struct Resource {
    pub(super) uri: String,
    pub(super) rules: Rules,
    /// Names that a reference may find in whatever schema is being checked, with their places.
    pub(super) dynamic: Vec<(String, Place)>,
}

/// The documents, and what is found in them.
pub(super) struct Documents {
    documents: Vec<(String, Value)>,
    pub(super) resources: Vec<Resource>,
    /// Resources by the place they begin at.
    roots: HashMap<Place, usize>,
    /// Places by address.
    places: HashMap<String, Place>,
    /// Places by address and anchor.
    anchors: HashMap<(String, String), Place>,
}

impl Documents {
    /// Reads the first document, and those it came with.
    pub(super) fn new(
        schema: &Value,
        others: &BTreeMap<String, Value>,
    ) -> Result<Self, SchemaError> {
        let all = std::iter::once(schema).chain(others.values());
        let long = all.fold(0, |sum: usize, json| sum.saturating_add(places(json, 0)));
        if long > PLACES {
            let problem = "the places of its parts are too long together";
            return Err(SchemaError::new("", problem));
        }
        let mut documents = vec![(NOWHERE.to_owned(), schema.clone())];
        let others = others.iter();
        documents
            .extend(others.map(|(uri, json)| (uri.trim_end_matches('#').to_owned(), json.clone())));
        for begin in META {
            if documents.iter().any(|(_, json)| mentions(json, begin)) {
                let missing = meta().iter().filter(|(uri, _)| {
                    uri.starts_with(begin) && documents.iter().all(|it| it.0 != *uri)
                });
                let missing: Vec<_> = missing.cloned().collect();
                documents.extend(missing);
            }
        }
        let mut found = Self {
            documents,
            resources: Vec::new(),
            roots: HashMap::new(),
            places: HashMap::new(),
            anchors: HashMap::new(),
        };
        for at in 0..found.documents.len() {
            let (uri, json) = found.documents[at].clone();
            let rules = match found.rules(&json) {
                Ok(rules) => rules,
                // One that nobody may refer to refuses nothing, and has no address.
                Err(_) if at > 0 => continue,
                Err(fault) => return Err(fault),
            };
            let resource = found.begin((at, String::new()), uri, rules);
            let mut pointer = String::new();
            found.walk(at, &json, &mut pointer, resource, true);
        }
        Ok(found)
    }

    pub(super) fn value(&self, (document, pointer): &Place) -> Option<&Value> {
        self.documents.get(*document)?.1.pointer(pointer)
    }

    pub(super) fn into_values(self) -> Vec<Value> {
        self.documents.into_iter().map(|(_, json)| json).collect()
    }

    /// Returns the resource that a place lies in.
    pub(super) fn resource(&self, (document, pointer): &Place) -> usize {
        let mut pointer = pointer.as_str();
        loop {
            if let Some(resource) = self.roots.get(&(*document, pointer.to_owned())) {
                return *resource;
            }
            pointer = &pointer[..pointer.rfind('/').unwrap_or(0)];
            if pointer.is_empty() {
                return self
                    .roots
                    .get(&(*document, String::new()))
                    .copied()
                    .unwrap_or(0);
            }
        }
    }

    /// Returns the place a reference leads to from a resource, and the anchor it names.
    pub(super) fn follow<'r>(
        &self,
        resource: usize,
        reference: &'r str,
    ) -> Result<(Place, Option<&'r str>), String> {
        let (uri, fragment) = uri::resolve(&self.resources[resource].uri, reference);
        let root = self.places.get(&uri).ok_or_else(|| {
            format!("`{reference}` is not among the documents that came with it, and references out of the schema are not followed")
        })?;
        let nothing = || format!("there is nothing at `{reference}`");
        if fragment.is_empty() {
            return Ok((root.clone(), None));
        }
        if !fragment.starts_with('/') {
            let place = self.anchors.get(&(uri, fragment.to_owned()));
            return Ok((place.cloned().ok_or_else(nothing)?, Some(fragment)));
        }
        let pointer = crate::schema::tree::percent_decoded(fragment).ok_or_else(nothing)?;
        let place = (root.0, format!("{}{pointer}", root.1));
        self.value(&place).ok_or_else(nothing)?;
        Ok((place, None))
    }

    /// Returns by which rules a document is read.
    fn rules(&self, schema: &Value) -> Result<Rules, SchemaError> {
        let mut rules = Rules::default();
        let mut schema = schema;
        // A dialect of one's own is described by a schema in a known one.
        for _ in 0..8 {
            let Some(dialect) = schema.get("$schema").and_then(Value::as_str) else {
                return Ok(rules);
            };
            if let Some(draft) = draft_of(dialect) {
                rules.draft = draft;
                return Ok(rules);
            }
            let dialect = dialect.trim_end_matches('#');
            let described = self.documents.iter().skip(1).find(|(uri, json)| {
                uri == dialect || json.get("$id").and_then(Value::as_str) == Some(dialect)
            });
            let Some((_, described)) = described else {
                break;
            };
            if let Some(words) = described.get("$vocabulary").and_then(Value::as_object) {
                rules.asserts &= words.keys().any(|word| word.ends_with("/vocab/validation"));
            }
            schema = described;
        }
        Err(SchemaError::new(
            "/$schema",
            "an unknown dialect of JSON Schema; expected one of the drafts, or its schema among the documents",
        ))
    }

    fn begin(&mut self, place: Place, uri: String, rules: Rules) -> usize {
        self.places.insert(uri.clone(), place.clone());
        self.roots.insert(place, self.resources.len());
        self.resources.push(Resource {
            uri,
            rules,
            dynamic: Vec::new(),
        });
        self.resources.len() - 1
    }

    /// Finds what has an address in a schema. Only where a keyword holds a schema: the rest is data.
    fn walk(
        &mut self,
        document: usize,
        schema: &Value,
        pointer: &mut String,
        outer: usize,
        root: bool,
    ) {
        let Value::Object(members) = schema else {
            return;
        };
        let mut resource = outer;
        let mut rules = self.resources[outer].rules;
        let place = (document, pointer.clone());
        let old = rules.draft <= Draft::Seven;
        let name = if rules.draft == Draft::Four {
            "id"
        } else {
            "$id"
        };
        let id = members.get(name).and_then(Value::as_str);
        // Up to draft 7, what stands beside a reference says nothing.
        let lonely = old && members.contains_key("$ref");
        if let Some(id) = id.filter(|_| !lonely) {
            let (uri, fragment) = uri::resolve(&self.resources[outer].uri, id);
            if old && !fragment.is_empty() {
                self.anchors
                    .insert((uri.clone(), fragment.to_owned()), place.clone());
            }
            if !id.starts_with('#') {
                if members.contains_key("$schema")
                    && let Ok(own) = self.rules(schema)
                {
                    rules = own;
                }
                resource = self.begin(place.clone(), uri, rules);
            }
        }
        if rules.draft >= Draft::Nineteen {
            self.name(members, resource, &place, root || resource != outer);
        }
        for (keyword, part) in members {
            let length = pointer.len();
            step(pointer, keyword);
            match (holds(keyword), part) {
                (Holds::Named, Value::Object(parts)) => {
                    for (name, part) in parts {
                        let length = pointer.len();
                        step(pointer, name);
                        self.walk(document, part, pointer, resource, false);
                        pointer.truncate(length);
                    }
                }
                (Holds::One, Value::Array(parts)) => {
                    for (at, part) in parts.iter().enumerate() {
                        let length = pointer.len();
                        step(pointer, &at.to_string());
                        self.walk(document, part, pointer, resource, false);
                        pointer.truncate(length);
                    }
                }
                (Holds::One, part) => self.walk(document, part, pointer, resource, false),
                _ => {}
            }
            pointer.truncate(length);
        }
    }

    fn name(&mut self, members: &Map<String, Value>, resource: usize, place: &Place, root: bool) {
        let uri = self.resources[resource].uri.clone();
        let named = |keyword| members.get(keyword).and_then(Value::as_str);
        for name in named("$anchor").into_iter().chain(named("$dynamicAnchor")) {
            self.anchors
                .insert((uri.clone(), name.to_owned()), place.clone());
        }
        let dynamic = &mut self.resources[resource].dynamic;
        if let Some(name) = named("$dynamicAnchor") {
            dynamic.push((name.to_owned(), place.clone()));
        }
        // Draft 2019-09 has one such name, and it is not written.
        if root && members.get("$recursiveAnchor") == Some(&Value::Bool(true)) {
            dynamic.push((String::new(), place.clone()));
        }
    }
}

/// Returns about how long the JSON pointers to all parts of a value are, when the one to itself is as long as `own`.
fn places(json: &Value, own: usize) -> usize {
    let add = |sum: usize, (part, step): (&Value, usize)| {
        sum.saturating_add(places(part, own.saturating_add(1 + step)))
    };
    match json {
        Value::Array(items) => items.iter().map(|item| (item, 1)).fold(own, add),
        Value::Object(members) => {
            let parts = members.iter().map(|(name, part)| (part, name.len()));
            parts.fold(own, add)
        }
        _ => own,
    }
}

/// Appends a step to a JSON pointer.
pub(super) fn step(pointer: &mut String, name: &str) {
    pointer.push('/');
    for letter in name.chars() {
        match letter {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            _ => pointer.push(letter),
        }
    }
}

/// Where a keyword has schemas.
enum Holds {
    None,
    /// It is one, or a list of them.
    One,
    /// Under names that are chosen freely.
    Named,
}

fn holds(keyword: &str) -> Holds {
    match keyword {
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
        | "dependencies" => Holds::Named,
        "additionalProperties"
        | "propertyNames"
        | "unevaluatedProperties"
        | "items"
        | "prefixItems"
        | "additionalItems"
        | "unevaluatedItems"
        | "contains"
        | "allOf"
        | "anyOf"
        | "oneOf"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contentSchema" => Holds::One,
        _ => Holds::None,
    }
}

/// Tells whether a text beginning so stands anywhere but in a name and in `$schema`.
fn mentions(json: &Value, begin: &str) -> bool {
    match json {
        Value::String(text) => text.starts_with(begin),
        Value::Array(items) => items.iter().any(|item| mentions(item, begin)),
        Value::Object(members) => members
            .iter()
            .any(|(name, member)| name != "$schema" && mentions(member, begin)),
        _ => false,
    }
}

/// The meta-schemas of all drafts, and the vocabularies of the newer ones, by their addresses.
fn meta() -> &'static [(String, Value)] {
    static META_SCHEMAS: OnceLock<Vec<(String, Value)>> = OnceLock::new();
    META_SCHEMAS.get_or_init(|| {
        let text = include_str!("meta-schemas.json");
        let all: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
        let address = |json: &Value| {
            let id = json.get("$id").or_else(|| json.get("id"));
            let id = id.and_then(Value::as_str).unwrap_or_default();
            id.trim_end_matches('#').to_owned()
        };
        all.into_iter().map(|json| (address(&json), json)).collect()
    })
}
