//! Strings, numbers and enumerations.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Low, Lowering, Members};
use crate::dialect::keywords::Keywords;
use crate::dialect::shape::{Kinds, Shape, canonical};
use crate::dialect::view::View;
use crate::dialect::{Change, Enums, words};
use crate::schema::json::Json;

impl<'a> Lowering<'a> {
    pub(super) fn string(&mut self, view: &View<'a>) -> Low {
        let mut low = Low::typed("string", Kinds::STRING);
        if let Some(format) = view.text("format") {
            let allowed = |formats: &[&str]| formats.contains(&format);
            if self.keeps(Keywords::FORMAT) && self.dialect.formats.is_none_or(allowed) {
                let format = Json::String(format.to_owned().into());
                low.members.push(("format".into(), format));
            } else {
                self.lose("format", Change::Described);
                low.notes.push(format!("format {}", words::clip(format)));
            }
        }
        if let Some(pattern) = view.text("pattern") {
            let looks = ["(?=", "(?!", "(?<=", "(?<!"];
            let looks_around = looks.iter().any(|look| pattern.contains(look));
            if self.keeps(Keywords::PATTERN) && (self.dialect.lookaround || !looks_around) {
                let pattern = Json::String(pattern.to_owned().into());
                low.members.push(("pattern".into(), pattern));
            } else {
                self.lose("pattern", Change::Described);
                low.notes
                    .push(format!("matches `{}`", words::clip(pattern)));
            }
        }
        self.counted(
            view,
            ["minLength", "maxLength"],
            ["minLength", "maxLength"],
            "character",
            &mut low,
        );
        low
    }

    /// Says how many of something there may be, under these keywords where the dialect has them.
    pub(super) fn counted(
        &mut self,
        view: &View<'a>,
        [min, max]: [&'static str; 2],
        [wire_min, wire_max]: [&'static str; 2],
        one: &str,
        low: &mut Low,
    ) {
        let least = view.count(min).filter(|least| *least > 0);
        let most = view.count(max);
        let mut said = [None, None];
        let largest = match wire_min {
            "minItems" => self
                .dialect
                .largest_min_items
                .min(self.dialect.largest_count),
            _ => self.dialect.largest_count,
        };
        let bounds = [
            (min, wire_min, least, largest),
            (max, wire_max, most, self.dialect.largest_count),
        ];
        for (at, (keyword, wire, bound, largest)) in bounds.into_iter().enumerate() {
            let Some(bound) = bound else { continue };
            let is_kept = Keywords::named(wire).is_some_and(|keyword| self.keeps(keyword));
            if is_kept && bound <= largest {
                let bound = Json::Number(bound.to_string().into());
                low.members.push((wire.into(), bound));
            } else {
                self.lose(keyword, Change::Described);
                said[at] = Some(bound.to_string());
            }
        }
        let [least, most] = &said;
        low.notes
            .extend(words::count(least.as_deref(), most.as_deref(), one));
    }

    pub(super) fn number(&mut self, view: &View<'a>, name: &str, kind: Kinds) -> Low {
        let mut low = Low::typed(name, kind);
        let takes_bounds = self.dialect.float_bounds || kind == Kinds::INTEGER;
        let mut said = [None; 4];
        let bounds = [
            ("minimum", Keywords::MINIMUM),
            ("exclusiveMinimum", Keywords::EXCLUSIVE_MINIMUM),
            ("maximum", Keywords::MAXIMUM),
            ("exclusiveMaximum", Keywords::EXCLUSIVE_MAXIMUM),
        ];
        for (at, (keyword, set)) in bounds.into_iter().enumerate() {
            let Some(bound) = view.number(keyword) else {
                continue;
            };
            if self.keeps(set) && takes_bounds {
                let bound = Json::Number(bound.to_owned().into());
                low.members.push((keyword.into(), bound));
            } else {
                self.lose(keyword, Change::Described);
                said[at] = Some(bound);
            }
        }
        let [least, above, most, below] = said;
        low.notes.extend(words::between(least, above, most, below));
        if let Some(step) = view.number("multipleOf") {
            if self.keeps(Keywords::MULTIPLE_OF) {
                let step = Json::Number(step.to_owned().into());
                low.members.push(("multipleOf".into(), step));
            } else {
                self.lose("multipleOf", Change::Described);
                low.notes.push(format!("multiple of {step}"));
            }
        }
        low
    }

    /// Lowers a list of the only values there are.
    pub(super) fn enumeration(&mut self, members: &[&'a Json<'a>], kinds: Kinds) -> Low {
        let members: Vec<&'a Json<'a>> = members
            .iter()
            .filter(|member| takes(kinds, member))
            .copied()
            .collect();
        let (nulls, values): (Vec<_>, Vec<_>) = members
            .iter()
            .copied()
            .partition(|member| matches!(member, Json::Null));
        let mut lows: Vec<Low> = Vec::new();
        for (name, kind) in Kinds::ALL.without(Kinds::NULL).each() {
            let of_kind: Vec<_> = values
                .iter()
                .copied()
                .filter(|member| kind.has(Kinds::of(member)))
                .collect();
            if of_kind.is_empty() {
                continue;
            }
            let is_integer = |member: &&Json<'_>| match member {
                Json::Number(text) => !text.contains(['.', 'e', 'E']),
                _ => false,
            };
            match kind {
                Kinds::OBJECT | Kinds::ARRAY => {
                    // Each is told in full, and read back from text or as it is.
                    self.lose("enum", Change::Described);
                    let what = words::members(&of_kind);
                    let mut low = self.anything(&what);
                    low.own = Arc::new(Shape {
                        members: Some(of_kind.iter().map(|member| canonical(member)).collect()),
                        ..Shape::of(kind)
                    });
                    if low.members.is_empty() {
                        low.members.push(("type".into(), Json::String(name.into())));
                        if kind == Kinds::ARRAY {
                            low.members.push(("items".into(), Json::Object(Vec::new())));
                        }
                        low.notes.push(what);
                        low.wire = low.own.clone();
                    }
                    lows.push(low);
                }
                Kinds::NUMBER if of_kind.iter().all(is_integer) => {
                    lows.push(self.listed(&of_kind, "integer", Kinds::INTEGER));
                }
                _ => lows.push(self.listed(&of_kind, name, kind)),
            }
        }
        let low = match lows.len() {
            0 if nulls.is_empty() => self.anything("leave it out"),
            0 => return Low::typed("null", Kinds::NULL),
            1 => lows.swap_remove(0),
            _ => {
                let lows = lows.into_iter().map(|low| low.closed("")).collect();
                let key = members
                    .first()
                    .map_or(0, |it| std::ptr::from_ref(*it).addr());
                self.united(lows, key)
            }
        };
        if nulls.is_empty() {
            low
        } else {
            self.or_null(low)
        }
    }

    /// Returns the keyword that lists the only values there are.
    pub(super) fn members(
        &self,
        mut members: Vec<Json<'static>>,
    ) -> (Cow<'static, str>, Json<'static>) {
        if members.len() == 1 && self.keeps(Keywords::CONST) {
            return ("const".into(), members.swap_remove(0));
        }
        ("enum".into(), Json::Array(members))
    }

    fn listed(&mut self, members: &[&'a Json<'a>], name: &str, kind: Kinds) -> Low {
        let mut low = Low::typed(name, kind);
        let allowed = match self.dialect.enums {
            Enums::Any | Enums::Scalars => true,
            Enums::StringsAndNumbers => kind != Kinds::BOOLEAN,
            Enums::Strings => kind == Kinds::STRING,
        };
        if !allowed {
            // Both truth values are what the type says already.
            if kind != Kinds::BOOLEAN || members.len() == 1 {
                self.lose("enum", Change::Described);
                low.notes.push(words::members(members));
            }
            return low;
        }
        let own = members.iter().map(|member| (*member).clone().into_owned());
        low.members.push(self.members(own.collect()));
        let shape = Arc::new(Shape {
            members: Some(members.iter().map(|member| canonical(member)).collect()),
            ..Shape::of(kind)
        });
        low.own = shape.clone();
        low.wire = shape;
        low
    }
}

/// Returns the members of the one enumeration that a lowered schema is, and its type.
pub(super) fn as_enumeration(members: &Members) -> Option<(&str, Vec<&Json<'static>>)> {
    let (mut name, mut listed) = (None, None);
    for (keyword, value) in members {
        match (keyword.as_ref(), value) {
            ("type", Json::String(text)) => name = Some(text.as_ref()),
            ("const", value) => listed = Some(vec![value]),
            ("enum", Json::Array(values)) => listed = Some(values.iter().collect()),
            ("description", _) => {}
            _ => return None,
        }
    }
    Some((name?, listed?))
}

fn takes(kinds: Kinds, member: &Json<'_>) -> bool {
    let kind = match member {
        Json::Number(text) if text.contains(['.', 'e', 'E']) => Kinds::NUMBER,
        member => Kinds::of(member),
    };
    kinds.has(kind) || kinds.has(Kinds::of(member)) && kinds.has(Kinds::NUMBER)
}
