//! Several schemas read as one: what a value must fit that must fit them all.
//!
//! `allOf`, and what stands beside a reference, is merged by reading, not by building: nothing is copied. Where two
//! schemas say the same keyword and only one can be kept, the first is: less is asked then, never more.

use std::collections::{HashMap, HashSet};

use super::shape::{Kinds, canonical};
use crate::schema::json::Json;

/// One schema of a view.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) json: &'a Json<'a>,
    /// Whether its unions are left out: they are being taken apart.
    pub(super) bare: bool,
}

impl<'a> Piece<'a> {
    /// Tells whether anything fits.
    pub(super) fn is_anything(&self) -> bool {
        match self.json {
            Json::Object(entries) => entries.is_empty(),
            json => matches!(json, Json::Bool(true)),
        }
    }

    pub(super) fn new(json: &'a Json<'a>) -> Self {
        Self { json, bare: false }
    }
}

/// Several schemas, read as one.
#[derive(Clone, Debug, Default)]
pub(super) struct View<'a> {
    pub(super) pieces: Vec<Piece<'a>>,
    /// Whether nothing fits.
    pub(super) never: bool,
}

/// What an object may have beside its properties.
#[derive(Clone, Debug)]
pub(super) enum Others<'a> {
    /// Anything, as nothing is said of it.
    Open,
    Closed,
    Of(Vec<Piece<'a>>),
}

impl<'a> View<'a> {
    pub(super) fn values<'v>(
        &'v self,
        keyword: &'v str,
    ) -> impl Iterator<Item = &'a Json<'a>> + 'v {
        let is_union = matches!(keyword, "anyOf" | "oneOf" | "nullable");
        self.pieces
            .iter()
            .filter(move |piece| !(piece.bare && is_union))
            .filter_map(move |piece| piece.json.member(keyword))
    }

    pub(super) fn value(&self, keyword: &str) -> Option<&'a Json<'a>> {
        self.values(keyword).next()
    }

    pub(super) fn has(&self, keyword: &str) -> bool {
        self.value(keyword).is_some()
    }

    pub(super) fn text(&self, keyword: &str) -> Option<&'a str> {
        self.values(keyword).find_map(Json::as_str)
    }

    /// Returns the text of a number.
    pub(super) fn number(&self, keyword: &str) -> Option<&'a str> {
        self.values(keyword).find_map(|value| match value {
            Json::Number(text) => Some(text.as_ref()),
            _ => None,
        })
    }

    pub(super) fn count(&self, keyword: &str) -> Option<usize> {
        self.number(keyword)?.parse().ok()
    }

    /// Returns the types it names; `None` when it names none.
    pub(super) fn kinds(&self) -> Option<Kinds> {
        let mut all = None;
        for piece in &self.pieces {
            let Some(kinds) = piece.json.member("type").and_then(kinds) else {
                continue;
            };
            all = Some(all.map_or(kinds, |all: Kinds| all.common(kinds)));
        }
        all
    }

    /// Returns the only values that fit, by `enum` and `const`; `None` when it names none.
    pub(super) fn members(&self) -> Option<Vec<&'a Json<'a>>> {
        let mut all: Option<Vec<&'a Json<'a>>> = None;
        let listed = self.values("enum").filter_map(Json::as_array);
        let only = self.values("const").map(std::slice::from_ref);
        for members in listed.chain(only) {
            all = Some(match all {
                None => members.iter().collect(),
                Some(all) => {
                    let others: HashSet<String> = members.iter().map(canonical).collect();
                    all.into_iter()
                        .filter(|member| others.contains(&canonical(member)))
                        .collect()
                }
            });
        }
        all
    }

    /// Returns the properties in the order of their first declaration, each with all that is said of it.
    pub(super) fn properties(&self) -> Vec<(&'a str, Vec<Piece<'a>>)> {
        let mut places: HashMap<&'a str, usize> = HashMap::new();
        let mut all: Vec<(&'a str, Vec<Piece<'a>>)> = Vec::new();
        for properties in self.values("properties") {
            for (name, schema) in properties.entries() {
                let place = *places.entry(name).or_insert_with(|| {
                    all.push((name, Vec::new()));
                    all.len() - 1
                });
                all[place].1.push(Piece::new(schema));
            }
        }
        all
    }

    /// Returns the names of the required properties, each once.
    pub(super) fn required(&self) -> Vec<&'a str> {
        let mut seen = HashSet::new();
        self.values("required")
            .filter_map(Json::as_array)
            .flatten()
            .filter_map(Json::as_str)
            .filter(|name| seen.insert(*name))
            .collect()
    }

    pub(super) fn others(&self) -> Others<'a> {
        let mut of = Vec::new();
        for value in self.values("additionalProperties") {
            match value {
                Json::Bool(false) => return Others::Closed,
                Json::Object(_) | Json::Bool(true) => of.push(Piece::new(value)),
                _ => {}
            }
        }
        if of.is_empty() {
            Others::Open
        } else {
            Others::Of(of)
        }
    }
}

/// Returns the types that `type` names; what it does not know it does not limit.
pub(super) fn kinds(keyword: &Json<'_>) -> Option<Kinds> {
    let names: Vec<&str> = match keyword {
        Json::String(name) => vec![name],
        Json::Array(names) => names.iter().filter_map(Json::as_str).collect(),
        _ => return None,
    };
    let mut all = Kinds::NONE;
    for name in &names {
        all = all.and(Kinds::named(name)?);
    }
    (!names.is_empty()).then_some(all)
}
