//! Schemas that keep the form they are written in, without the keywords that are not kept.

use super::object::ROOT;
use super::{DEPTH, Low, Lowering, Members};
use crate::dialect::Change;
use crate::dialect::keywords::{ALL, Keywords, Role, known};
use crate::dialect::shape::Kinds;
use crate::dialect::view::{Piece, View};
use crate::schema::json::Json;
use crate::schema::resolve;

impl<'a> Lowering<'a> {
    /// Writes the root, which is an object whatever is said of it.
    pub(super) fn written_root(&mut self) -> Low {
        let mut members = match self.written(self.document, 1) {
            Json::Object(members) => members,
            _ => Members::new(),
        };
        let has =
            |members: &Members, keyword: &str| members.iter().any(|(name, _)| name == keyword);
        if !has(&members, "type") {
            members.insert(0, ("type".into(), Json::String("object".into())));
        }
        let combines = ["properties", "anyOf", "oneOf", "allOf", "$ref"];
        if !combines.iter().any(|keyword| has(&members, keyword)) {
            let at = members.iter().position(|(name, _)| name == "type");
            let none = ("properties".into(), Json::Object(Vec::new()));
            members.insert(at.map_or(0, |at| at + 1), none);
        }
        Low::new(members, Kinds::OBJECT)
    }

    /// Writes what else a merged root says.
    pub(super) fn written_beside(&mut self, view: &View<'a>, members: &mut Members) {
        for (name, keyword, _) in ALL {
            if ROOT.has(*keyword) || !self.keeps(*keyword) {
                continue;
            }
            let Some(value) = view.value(name) else {
                continue;
            };
            if let Some(value) = self.under(name, value, 1) {
                members.push(((*name).into(), value));
            }
        }
    }

    /// Writes schemas that must all fit.
    pub(super) fn written_all(&mut self, pieces: &[Piece<'a>], depth: usize) -> Json<'static> {
        match pieces {
            [] => Json::Object(Vec::new()),
            [piece] => self.written(piece.json, depth),
            pieces => {
                let pieces = pieces.iter();
                let all = pieces.map(|piece| self.written(piece.json, depth + 1));
                let all = Json::Array(all.collect());
                Json::Object(vec![("allOf".into(), all)])
            }
        }
    }

    fn written(&mut self, schema: &'a Json<'a>, depth: usize) -> Json<'static> {
        let Json::Object(entries) = schema else {
            return Json::Bool(!matches!(schema, Json::Bool(false)));
        };
        if self.fuel == 0 || depth > DEPTH {
            self.lose("type", Change::Dropped);
            return Json::Object(Vec::new());
        }
        self.fuel -= 1;
        let mut members = Members::new();
        for (name, value) in entries {
            let name: &'a str = name.as_ref();
            let is_kept = Keywords::named(name).is_some_and(|keyword| self.keeps(keyword));
            if name == "definitions" || name == "$defs" || name.starts_with("x-") {
                // Definitions are written where they are referred to, once.
                continue;
            }
            match self.under(name, value, depth).filter(|_| is_kept) {
                Some(value) => members.push((name.to_owned().into(), value)),
                None => self.lose(name, Change::Dropped),
            }
        }
        Json::Object(members)
    }

    /// Writes what stands under a keyword; `None` for what cannot stand there.
    fn under(&mut self, name: &str, value: &'a Json<'a>, depth: usize) -> Option<Json<'static>> {
        let (keyword, role) = known(name)?;
        match (role, value) {
            (Role::Schema, Json::Object(_) | Json::Bool(_)) => {
                Some(self.at(&[name], |pass| pass.written(value, depth + 1)))
            }
            (Role::List, Json::Array(schemas)) if !schemas.is_empty() => {
                let schemas = schemas.iter().enumerate();
                let all = schemas.map(|(at, schema)| {
                    self.at(&[name, &at.to_string()], |pass| {
                        pass.written(schema, depth + 1)
                    })
                });
                Some(Json::Array(all.collect()))
            }
            (Role::Named, Json::Object(entries)) => {
                let all = entries.iter().map(|(key, schema)| {
                    let schema = self.at(&[name, key], |pass| pass.written(schema, depth + 1));
                    (key.to_string().into(), schema)
                });
                Some(Json::Object(all.collect()))
            }
            (Role::Reference, Json::String(reference)) => {
                let target = resolve(self.document, reference)?;
                let at = self.definition(target, reference);
                let pointer = format!("#/$defs/{}", self.definitions[at].name);
                Some(Json::String(pointer.into()))
            }
            (Role::Value, value) if fits(keyword, value) => Some(value.clone().into_owned()),
            _ => None,
        }
    }
}

/// Tells whether a value may stand under a keyword: services refuse, for one, the `exclusiveMinimum: true` of draft 4.
fn fits(keyword: Keywords, value: &Json<'_>) -> bool {
    const NUMBERS: Keywords = Keywords::NUMBERS
        .and(Keywords::LENGTHS)
        .and(Keywords::COUNTS)
        .and(Keywords::MIN_PROPERTIES)
        .and(Keywords::MAX_PROPERTIES)
        .and(Keywords::MIN_CONTAINS)
        .and(Keywords::MAX_CONTAINS);
    const TEXTS: Keywords = Keywords::PATTERN
        .and(Keywords::FORMAT)
        .and(Keywords::DESCRIPTION)
        .and(Keywords::TITLE);
    match value {
        Json::Number(_) => !TEXTS.has(keyword),
        Json::String(_) => !NUMBERS.has(keyword) && keyword != Keywords::REQUIRED,
        Json::Array(items) if keyword == Keywords::ENUM => !items.is_empty(),
        Json::Array(_) => !NUMBERS.and(TEXTS).has(keyword),
        _ => !NUMBERS
            .and(TEXTS)
            .and(Keywords::TYPE)
            .and(Keywords::ENUM)
            .and(Keywords::REQUIRED)
            .has(keyword),
    }
}
