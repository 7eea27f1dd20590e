//! Lists and tuples.

use std::sync::Arc;

use super::{Low, Lowering};
use crate::dialect::Change;
use crate::dialect::keywords::Keywords;
use crate::dialect::plan::Op;
use crate::dialect::shape::{Kinds, Shape};
use crate::dialect::view::{Piece, View};
use crate::schema::json::Json;

impl<'a> Lowering<'a> {
    pub(super) fn array(&mut self, view: &View<'a>, depth: usize) -> Low {
        let tuple = view.value("prefixItems").and_then(Json::as_array);
        let mut low = match tuple {
            Some(places) if !places.is_empty() => self.tuple(view, places, depth),
            _ => self.list(view, depth),
        };
        self.counted(
            view,
            ["minItems", "maxItems"],
            ["minItems", "maxItems"],
            "item",
            &mut low,
        );
        // Of what the model writes only the form counts: a list that is too long is told so.
        low.own = low.own.counted(view, ["minItems", "maxItems"]);
        if matches!(view.value("uniqueItems"), Some(Json::Bool(true))) {
            self.lose("uniqueItems", Change::Described);
            low.notes.push("all different".to_owned());
        }
        low
    }

    fn list(&mut self, view: &View<'a>, depth: usize) -> Low {
        let pieces = items(view);
        let item = self.at(&["items"], |pass| pass.schema(pieces, depth + 1));
        let op = Op::Array {
            prefix: Vec::new(),
            items: item.plan,
        };
        Low {
            plan: self.plan.add(op),
            own: list_of(item.own.clone()),
            wire: list_of(item.wire.clone()),
            ..array_of(item.into_json())
        }
    }

    fn tuple(&mut self, view: &View<'a>, places: &'a [Json<'a>], depth: usize) -> Low {
        let rest = items(view);
        let is_open = view.has("items")
            && !rest
                .iter()
                .any(|piece| matches!(piece.json, Json::Bool(false)));
        let mut lows = Vec::with_capacity(places.len());
        for (at, place) in places.iter().enumerate() {
            let at = at.to_string();
            lows.push(self.at(&["prefixItems", &at], |pass| {
                pass.schema(vec![Piece::new(place)], depth + 1)
            }));
        }
        let rest = is_open.then(|| self.at(&["items"], |pass| pass.schema(rest, depth + 1)));
        let op = Op::Array {
            prefix: lows.iter().map(|low| low.plan).collect(),
            items: rest.as_ref().map_or(super::SAME, |low| low.plan),
        };
        let plan = self.plan.add(op);
        lows.extend(rest);
        let own = Shape::any(lows.iter().map(|low| low.own.clone()).collect());
        let own_places = lows[..places.len()]
            .iter()
            .map(|low| low.own.clone())
            .collect();
        let wire = Shape::any(lows.iter().map(|low| low.wire.clone()).collect());
        let mut low = if self.keeps(Keywords::PREFIX_ITEMS) {
            let rest = is_open.then(|| lows.pop()).flatten();
            let places = lows.into_iter().map(Low::into_json).collect();
            let mut low = Low::typed("array", Kinds::ARRAY);
            low.members
                .push(("prefixItems".into(), Json::Array(places)));
            low.members
                .extend(rest.map(|low| ("items".into(), low.into_json())));
            low
        } else {
            self.lose("prefixItems", Change::Described);
            let order: Vec<String> = lows[..places.len()].iter().map(brief).collect();
            let item = match self.one_enumeration(&lows) {
                Some(low) => low.closed("").into_json(),
                None => self.alternatives(lows),
            };
            let mut low = array_of(item);
            low.notes.push(format!("in order: {}", order.join(", ")));
            low
        };
        low.plan = plan;
        // An undeclared item of an open tuple may be anything.
        let closed = !is_open && matches!(view.value("items"), Some(Json::Bool(false)));
        let list = match is_open || closed {
            true => {
                low.wire = list_of(wire);
                list_of(own)
            }
            false => low.own,
        };
        low.own = Arc::new(Shape {
            places: own_places,
            ..(*list).clone()
        });
        low
    }
}

/// Returns all that is said of the items; nothing for any.
fn items<'a>(view: &View<'a>) -> Vec<Piece<'a>> {
    let of = view.values("items");
    of.filter(|items| matches!(items, Json::Object(_) | Json::Bool(_)))
        .map(Piece::new)
        .collect()
}

pub(super) fn array_of(item: Json<'static>) -> Low {
    let mut low = Low::typed("array", Kinds::ARRAY);
    low.members.push(("items".into(), item));
    low
}

pub(super) fn list_of(item: Arc<Shape>) -> Arc<Shape> {
    Arc::new(Shape {
        items: Some(item),
        ..Shape::of(Kinds::ARRAY)
    })
}

/// Returns what a place of a tuple holds, in a word or by its own description.
fn brief(low: &Low) -> String {
    if let Some(Json::String(text)) = low.member("description") {
        return super::words::clip(text);
    }
    match low.member("type") {
        Some(Json::String(name)) => name.clone().into_owned(),
        _ => "value".to_owned(),
    }
}
