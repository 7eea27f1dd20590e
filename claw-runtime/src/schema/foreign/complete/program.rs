//! A schema made ready: what each schema object asks, with references followed and patterns compiled.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::SchemaError;
use super::documents::{Documents, Place};
use super::draft::Draft;
use super::keywords::{Keywords, range};
use super::pattern::{Pattern, Patterns};
use crate::schema::json::Json;
use crate::schema::number::Decimal;
use crate::schema::tree::Types;

/// The place of a node in its [`Program`].
pub(super) type Id = usize;

/// All schema objects that can be reached; the first is the root.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) nodes: Vec<Node>,
    /// Of each resource, what a dynamic reference finds in it by its name.
    pub(super) dynamic: Vec<HashMap<String, Id>>,
    /// The documents, for what a report says of a node.
    pub(super) documents: Vec<Value>,
}

/// One schema object.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) resource: usize,
    /// The schema `false`.
    pub(super) never: bool,
    pub(super) rules: Vec<Rule>,
    /// Whether a rule asks what the others have looked at.
    pub(super) leftovers: bool,
}

/// What a keyword asks.
#[derive(Debug)]
pub(super) enum Rule {
    Ref(Id),
    /// Where it leads when nothing of its name is found around it, and the name.
    Dynamic(Id, String),
    Type(Types),
    Members(Vec<Json<'static>>),
    /// The bound, and whether it is itself allowed.
    Least(Decimal, bool),
    Most(Decimal, bool),
    Step(Decimal),
    Length(usize, usize),
    Pattern(Pattern),
    /// Those at the beginning, the others, and whether in the form that drafts before 2020-12 have.
    Items {
        prefix: Vec<Id>,
        rest: Option<Id>,
        listed: bool,
    },
    Count(usize, usize),
    Unique,
    Contains {
        item: Id,
        least: usize,
        most: usize,
        looks: bool,
    },
    Properties {
        named: HashMap<String, Id>,
        patterns: Vec<(Pattern, Id)>,
        rest: Option<Id>,
    },
    Size(usize, usize),
    Required(Vec<String>),
    Names(Id),
    /// What else an object must have, or be, that has this member.
    Dependent(String, Vec<String>, Option<Id>),
    All(Vec<Id>),
    Any(Vec<Id>),
    One(Vec<Id>),
    Not(Id),
    If(Id, Option<Id>, Option<Id>),
    OtherItems(Id),
    OtherProperties(Id),
}

/// Makes a schema and its documents ready.
pub(super) fn program(documents: Documents) -> Result<Program, SchemaError> {
    let mut compiler = Compiler {
        documents: &documents,
        ids: HashMap::new(),
        waiting: Vec::new(),
        count: 0,
        patterns: Patterns::default(),
    };
    let mut nodes: Vec<Option<Node>> = Vec::new();
    compiler.id((0, String::new()));
    let mut dynamic = Vec::new();
    dynamic.resize_with(documents.resources.len(), HashMap::new);
    let mut entered = vec![false; documents.resources.len()];
    while let Some((id, place)) = compiler.waiting.pop() {
        let node = compiler.node(place)?;
        // Whatever is checked in a resource may be referred to by its dynamic names.
        if !std::mem::replace(&mut entered[node.resource], true) {
            for (name, place) in &documents.resources[node.resource].dynamic {
                let id = compiler.id(place.clone());
                dynamic[node.resource].entry(name.clone()).or_insert(id);
            }
        }
        nodes.resize_with(nodes.len().max(compiler.count), || None);
        nodes[id] = Some(node);
    }
    Ok(Program {
        nodes: nodes.into_iter().flatten().collect(),
        dynamic,
        documents: documents.into_values(),
    })
}

struct Compiler<'d> {
    documents: &'d Documents,
    ids: HashMap<Place, Id>,
    waiting: Vec<(Id, Place)>,
    count: usize,
    patterns: Patterns,
}

impl Compiler<'_> {
    fn id(&mut self, place: Place) -> Id {
        if let Some(id) = self.ids.get(&place) {
            return *id;
        }
        let id = self.count;
        self.count += 1;
        self.ids.insert(place.clone(), id);
        self.waiting.push((id, place));
        id
    }

    fn node(&mut self, place: Place) -> Result<Node, SchemaError> {
        let resource = self.documents.resource(&place);
        let mut node = Node {
            place,
            resource,
            never: false,
            rules: Vec::new(),
            leftovers: false,
        };
        let rules = self.documents.resources[resource].rules;
        let documents = self.documents;
        let schema = documents.value(&node.place).unwrap_or(&Value::Null);
        match schema {
            // In draft 4 a few keywords alone may say so; in the others it means the same.
            Value::Bool(fits) => node.never = !fits,
            Value::Object(members) => {
                let keywords = Keywords {
                    members,
                    place: node.place.clone(),
                    rules,
                };
                self.references(&keywords, resource, &mut node.rules)?;
                let lonely = rules.draft <= Draft::Seven && members.contains_key("$ref");
                if !lonely {
                    self.of_any(&keywords, &mut node.rules)?;
                    of_texts_and_numbers(&keywords, &mut self.patterns, &mut node.rules)?;
                    self.of_arrays(&keywords, &mut node.rules)?;
                    self.of_objects(&keywords, &mut node.rules)?;
                    self.applied(&keywords, &mut node.rules)?;
                    let before = node.rules.len();
                    let others = self
                        .one(&keywords, "unevaluatedItems")?
                        .map(Rule::OtherItems);
                    node.rules.extend(others);
                    let others = self
                        .one(&keywords, "unevaluatedProperties")?
                        .map(Rule::OtherProperties);
                    node.rules.extend(others);
                    node.leftovers = node.rules.len() > before;
                }
            }
            _ => {
                let keywords = Keywords {
                    members: &Map::new(),
                    place: node.place,
                    rules,
                };
                return Err(keywords.fault(&[], &format!("expected a schema, got {schema}")));
            }
        }
        Ok(node)
    }

    fn references(
        &mut self,
        keywords: &Keywords<'_>,
        resource: usize,
        out: &mut Vec<Rule>,
    ) -> Result<(), SchemaError> {
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let Some(reference) = keywords.text(keyword)? else {
                continue;
            };
            let documents = self.documents;
            let (place, anchor) = documents
                .follow(resource, reference)
                .map_err(|problem| keywords.fault(&[keyword], &problem))?;
            let name = match keyword {
                "$dynamicRef" => anchor,
                "$recursiveRef" => Some(""),
                _ => None,
            };
            // It looks around only where what it finds by itself has such a name.
            let own = &documents.resources[documents.resource(&place)].dynamic;
            let name = name.filter(|name| own.iter().any(|it| it.0 == *name && it.1 == place));
            let id = self.id(place);
            out.push(match name {
                Some(name) => Rule::Dynamic(id, name.to_owned()),
                None => Rule::Ref(id),
            });
        }
        Ok(())
    }

    fn of_any(&mut self, keywords: &Keywords<'_>, out: &mut Vec<Rule>) -> Result<(), SchemaError> {
        if let Some(value) = keywords.get("type") {
            let one = |value: &Value| {
                let known = Types::NAMES.iter().find(|(name, _)| value == name);
                known.map(|(_, kind)| *kind)
            };
            let kinds = match value {
                Value::Array(names) if !names.is_empty() => {
                    let kinds = names.iter().map(one).collect::<Option<Vec<_>>>();
                    kinds.map(|kinds| kinds.into_iter().fold(Types::NONE, Types::with))
                }
                one_name => one(one_name),
            };
            let expected =
                "string, integer, number, boolean, array, object or null, or some of them";
            out.push(Rule::Type(
                kinds.ok_or_else(|| keywords.unfit("type", expected))?,
            ));
        }
        if let Some(members) = keywords.list("enum")? {
            out.push(Rule::Members(
                members.iter().map(Json::from_value).collect(),
            ));
        }
        let only = keywords
            .get("const")
            .map(|only| vec![Json::from_value(only)]);
        out.extend(only.map(Rule::Members));
        Ok(())
    }

    fn of_arrays(
        &mut self,
        keywords: &Keywords<'_>,
        out: &mut Vec<Rule>,
    ) -> Result<(), SchemaError> {
        let listed = keywords.rules.draft < Draft::Twenty
            && matches!(keywords.get("items"), Some(Value::Array(_)));
        let (prefix, rest) = match listed {
            true => ("items", "additionalItems"),
            false => ("prefixItems", "items"),
        };
        let prefix = self.several(keywords, prefix)?.unwrap_or_default();
        let rest = self.one(keywords, rest)?;
        if !prefix.is_empty() || rest.is_some() {
            out.push(Rule::Items {
                prefix,
                rest,
                listed,
            });
        }
        out.extend(
            range(keywords, "minItems", "maxItems")?.map(|(least, most)| Rule::Count(least, most)),
        );
        if keywords.says("uniqueItems")? {
            out.push(Rule::Unique);
        }
        if let Some(item) = self.one(keywords, "contains")? {
            out.push(Rule::Contains {
                item,
                least: keywords.size("minContains")?.unwrap_or(1),
                most: keywords.size("maxContains")?.unwrap_or(usize::MAX),
                looks: keywords.rules.draft >= Draft::Twenty,
            });
        }
        Ok(())
    }

    fn of_objects(
        &mut self,
        keywords: &Keywords<'_>,
        out: &mut Vec<Rule>,
    ) -> Result<(), SchemaError> {
        let mut named = HashMap::new();
        for name in keywords.map("properties")?.into_iter().flat_map(Map::keys) {
            named.insert(name.clone(), self.id(keywords.at(&["properties", name])));
        }
        let mut patterns = Vec::new();
        for source in keywords
            .map("patternProperties")?
            .into_iter()
            .flat_map(Map::keys)
        {
            let steps = ["patternProperties", source.as_str()];
            patterns.push((
                keywords.pattern(&mut self.patterns, &steps, source)?,
                self.id(keywords.at(&steps)),
            ));
        }
        let rest = self.one(keywords, "additionalProperties")?;
        if !named.is_empty() || !patterns.is_empty() || rest.is_some() {
            out.push(Rule::Properties {
                named,
                patterns,
                rest,
            });
        }
        out.extend(
            range(keywords, "minProperties", "maxProperties")?
                .map(|(least, most)| Rule::Size(least, most)),
        );
        match keywords.get("required") {
            None => {}
            Some(names) => out.push(Rule::Required(keywords.names(&["required"], names)?)),
        }
        out.extend(self.one(keywords, "propertyNames")?.map(Rule::Names));
        for (name, names) in keywords.map("dependentRequired")?.into_iter().flatten() {
            let names = keywords.names(&["dependentRequired", name], names)?;
            out.push(Rule::Dependent(name.clone(), names, None));
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            for (name, value) in keywords.map(keyword)?.into_iter().flatten() {
                let steps = [keyword, name.as_str()];
                out.push(match value {
                    Value::Array(_) if keyword == "dependencies" => {
                        Rule::Dependent(name.clone(), keywords.names(&steps, value)?, None)
                    }
                    _ => Rule::Dependent(
                        name.clone(),
                        Vec::new(),
                        Some(self.id(keywords.at(&steps))),
                    ),
                });
            }
        }
        Ok(())
    }

    fn applied(&mut self, keywords: &Keywords<'_>, out: &mut Vec<Rule>) -> Result<(), SchemaError> {
        out.extend(self.branches(keywords, "allOf")?.map(Rule::All));
        out.extend(self.branches(keywords, "anyOf")?.map(Rule::Any));
        out.extend(self.branches(keywords, "oneOf")?.map(Rule::One));
        out.extend(self.one(keywords, "not")?.map(Rule::Not));
        let (then, otherwise) = (self.one(keywords, "then")?, self.one(keywords, "else")?);
        if let Some(condition) = self.one(keywords, "if")? {
            out.push(Rule::If(condition, then, otherwise));
        }
        Ok(())
    }

    fn one(&mut self, keywords: &Keywords<'_>, keyword: &str) -> Result<Option<Id>, SchemaError> {
        Ok(keywords
            .get(keyword)
            .map(|_| self.id(keywords.at(&[keyword]))))
    }

    fn several(
        &mut self,
        keywords: &Keywords<'_>,
        keyword: &str,
    ) -> Result<Option<Vec<Id>>, SchemaError> {
        let Some(items) = keywords.list(keyword)? else {
            return Ok(None);
        };
        let places = (0..items.len()).map(|at| keywords.at(&[keyword, &at.to_string()]));
        Ok(Some(places.map(|place| self.id(place)).collect()))
    }

    fn branches(
        &mut self,
        keywords: &Keywords<'_>,
        keyword: &str,
    ) -> Result<Option<Vec<Id>>, SchemaError> {
        let branches = self.several(keywords, keyword)?;
        match branches {
            Some(branches) if branches.is_empty() => {
                Err(keywords.unfit(keyword, "at least 1 schema"))
            }
            branches => Ok(branches),
        }
    }
}

fn of_texts_and_numbers(
    keywords: &Keywords<'_>,
    patterns: &mut Patterns,
    out: &mut Vec<Rule>,
) -> Result<(), SchemaError> {
    let four = |keyword| {
        let says = keywords.members.get(keyword) == Some(&Value::Bool(true));
        says && keywords.rules.draft == Draft::Four
    };
    let least = keywords.number("minimum")?;
    out.extend(least.map(|bound| Rule::Least(bound, !four("exclusiveMinimum"))));
    let least = keywords.number("exclusiveMinimum")?;
    out.extend(least.map(|bound| Rule::Least(bound, false)));
    let most = keywords.number("maximum")?;
    out.extend(most.map(|bound| Rule::Most(bound, !four("exclusiveMaximum"))));
    let most = keywords.number("exclusiveMaximum")?;
    out.extend(most.map(|bound| Rule::Most(bound, false)));
    if let Some(step) = keywords.number("multipleOf")? {
        if !step.is_positive() {
            return Err(keywords.unfit("multipleOf", "a number above 0"));
        }
        out.push(Rule::Step(step));
    }
    out.extend(
        range(keywords, "minLength", "maxLength")?.map(|(least, most)| Rule::Length(least, most)),
    );
    if let Some(source) = keywords.text("pattern")? {
        out.push(Rule::Pattern(keywords.pattern(
            patterns,
            &["pattern"],
            source,
        )?));
    }
    Ok(())
}
