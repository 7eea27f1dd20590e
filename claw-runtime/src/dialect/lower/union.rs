//! Unions.

use std::collections::HashSet;
use std::sync::Arc;

use super::scalar::as_enumeration;
use super::{Low, Lowering, Said};
use crate::dialect::keywords::Keywords;
use crate::dialect::plan::{Branch, Op};
use crate::dialect::shape::{Kinds, Shape, canonical};
use crate::dialect::view::{Piece, View};
use crate::dialect::{Change, words};
use crate::schema::json::Json;

impl<'a> Lowering<'a> {
    /// Lowers `anyOf` or `oneOf`, with what stands beside it.
    pub(super) fn union(&mut self, view: &View<'a>, depth: usize) -> Low {
        let keyword = if view.has("anyOf") { "anyOf" } else { "oneOf" };
        if view.values("anyOf").chain(view.values("oneOf")).count() > 1 {
            self.lose("oneOf", Change::Dropped);
        }
        let mut lists = view.values(keyword);
        let Some(list) = lists.find(|list| list.as_array().is_some()) else {
            return self.beside(view, depth);
        };
        let key = std::ptr::from_ref(list).addr();
        let branches = list.as_array().unwrap_or_default();
        if self.texts.contains(&key) {
            self.lose(keyword, Change::Text);
            return self.text("a JSON value");
        }
        let base: Vec<Piece<'a>> = view
            .pieces
            .iter()
            .map(|piece| Piece {
                bare: true,
                ..*piece
            })
            .collect();
        let asks = base.iter().any(|piece| asks(piece.json));
        if asks && branches.iter().all(|branch| !has_form(branch)) {
            // `anyOf: [{required: [a]}, {required: [b]}]` and the like.
            self.lose(keyword, Change::Dropped);
            return self.beside(view, depth);
        }
        let mut is_null = false;
        let mut lows: Vec<Low> = Vec::new();
        for (at, branch) in branches.iter().enumerate() {
            if is_null_schema(branch) {
                is_null = true;
                continue;
            }
            if matches!(branch, Json::Bool(false)) {
                continue;
            }
            let mut pieces = vec![Piece::new(branch)];
            if asks {
                // What describes the whole does not describe each branch.
                pieces.extend(&base);
            }
            let said = Said::of(&pieces[..1]);
            let at = at.to_string();
            let low = self.at(&[keyword, &at], |pass| match asks {
                true => pass.combined(pieces, said, depth),
                false => pass.schema(pieces, depth),
            });
            lows.push(low);
        }
        let low = match lows.len() {
            0 if is_null => return Low::typed("null", Kinds::NULL),
            0 => return self.anything("leave it out"),
            1 => lows.swap_remove(0),
            _ => self.united(lows, key),
        };
        let mut low = self.hoisted(low);
        if is_null {
            low = self.or_null(low);
        }
        low
    }

    /// Lowers a view without its unions.
    fn beside(&mut self, view: &View<'a>, depth: usize) -> Low {
        let bare = View {
            pieces: view
                .pieces
                .iter()
                .map(|piece| Piece {
                    bare: true,
                    ..*piece
                })
                .collect(),
            never: view.never,
        };
        self.typed(&bare, depth)
    }

    /// Lowers a branch together with what stands beside the union; only the branch's own words describe it.
    fn combined(&mut self, pieces: Vec<Piece<'a>>, said: Said<'a>, depth: usize) -> Low {
        if self.fuel == 0 || depth > super::DEPTH {
            return self.cut("a JSON value", "type").closed("");
        }
        self.fuel -= 1;
        let mut entered = Vec::new();
        let low = match self.merge(pieces, &mut entered) {
            Some(view) => self.typed(&view, depth + 1),
            None => self.cut("a JSON value of the same form", "$ref"),
        };
        for address in entered {
            if let Some(count) = self.around.get_mut(&address) {
                *count -= 1;
            }
        }
        self.closed(low, said)
    }

    /// Takes the description of a lowered schema off, as a note of what takes its place.
    fn hoisted(&mut self, mut low: Low) -> Low {
        let at = low
            .members
            .iter()
            .position(|(name, _)| name == "description");
        if let Some(at) = at
            && let (_, Json::String(text)) = low.members.remove(at)
        {
            low.notes.push(text.into_owned());
        }
        low
    }

    /// Makes one schema of several that are described already; `key` is the address that names the union.
    pub(super) fn united(&mut self, mut lows: Vec<Low>, key: usize) -> Low {
        if self.texts.contains(&key) {
            self.lose("type", Change::Text);
            return self.text("a JSON value");
        }
        if let Some(at) = lows.iter().position(|low| low.own.is_anything()) {
            // Whatever the others ask, this one takes it.
            return lows.swap_remove(at);
        }
        if let Some(low) = self.one_enumeration(&lows) {
            return low;
        }
        let branches: Vec<Branch> = lows
            .iter()
            .map(|low| Branch {
                plan: low.plan,
                own: low.own.clone(),
                wire: low.wire.clone(),
            })
            .collect();
        let first = branches[0].plan;
        let plan = if branches.iter().all(|branch| branch.plan == first) {
            first
        } else {
            self.unions.push((key, branches.clone()));
            self.plan.add(Op::Any(branches.clone()))
        };
        let own = Shape::any(branches.iter().map(|branch| branch.own.clone()).collect());
        let wire = Shape::any(branches.iter().map(|branch| branch.wire.clone()).collect());
        let members = match self.alternatives(lows) {
            Json::Object(members) => members,
            _ => Vec::new(),
        };
        Low {
            plan,
            own,
            wire,
            ..Low::new(members, Kinds::ALL)
        }
    }

    /// Returns the schema of a value that fits any of these, each of which once.
    pub(super) fn alternatives(&mut self, lows: Vec<Low>) -> Json<'static> {
        let mut schemas: Vec<Json<'static>> = Vec::new();
        let mut seen = HashSet::new();
        for low in lows {
            let schema = low.into_json();
            if matches!(&schema, Json::Object(members) if members.is_empty()) {
                return schema;
            }
            if seen.insert(schema.to_text()) {
                schemas.push(schema);
            }
        }
        if schemas.len() == 1 {
            return schemas.swap_remove(0);
        }
        Json::Object(vec![("anyOf".into(), Json::Array(schemas))])
    }

    /// Makes one enumeration of branches that each list values of one type: documented enums come so.
    pub(super) fn one_enumeration(&self, lows: &[Low]) -> Option<Low> {
        let [first, _, ..] = lows else {
            return None;
        };
        let (name, _) = as_enumeration(&first.members)?;
        let mut members: Vec<Json<'static>> = Vec::new();
        let mut texts = Vec::new();
        let mut notes = Vec::new();
        for low in lows {
            let (other, listed) = as_enumeration(&low.members)?;
            if other != name {
                return None;
            }
            match (low.member("description").and_then(Json::as_str), &*listed) {
                (None, _) => {}
                (Some(text), [only]) => {
                    notes.push(format!("{}: {}", words::value(only), words::clip(text)));
                }
                // Its words are about some of the values only.
                (Some(_), _) => return None,
            }
            for member in listed {
                let text = canonical(member);
                if !texts.contains(&text) {
                    texts.push(text);
                    members.push(member.clone());
                }
            }
        }
        let kind = Kinds::named(name)?;
        let mut low = Low::typed(name, kind);
        let shape = Arc::new(Shape {
            members: Some(texts),
            ..Shape::of(kind)
        });
        low.members.push(self.members(members));
        low.notes = notes;
        low.own = shape.clone();
        low.wire = shape;
        Some(low)
    }
}

/// Tells whether a schema asks something of a value beside its unions.
fn asks(schema: &Json<'_>) -> bool {
    schema.entries().any(|(name, _)| match name {
        "anyOf" | "oneOf" | "allOf" | "$ref" | "$defs" | "description" | "default" | "nullable" => {
            false
        }
        // A type alone is what the branches say again.
        name => Keywords::named(name).is_some_and(|keyword| !Keywords::REMARKS.has(keyword)),
    })
}

/// Tells whether a branch says what a value looks like, beside which properties it must have.
fn has_form(branch: &Json<'_>) -> bool {
    branch.entries().any(|(name, _)| {
        !matches!(
            name,
            "required" | "description" | "not" | "title" | "if" | "then" | "else"
        )
    })
}

fn is_null_schema(schema: &Json<'_>) -> bool {
    schema.member("type").and_then(Json::as_str) == Some("null")
        || matches!(schema.member("const"), Some(Json::Null))
}
