//! Objects: which property an entry is meant for, what is missing, what nobody declared.

use std::borrow::Cow;

use super::super::coerce;
use super::super::expected::expected;
use super::super::json::Json;
use super::super::report::{Path, counted};
use super::super::tree::{Id, Object, Property, Rest, Types};
use super::{Checker, Unknown};
use crate::nearest::nearest;

/// Problems up to which a suggestion is looked for; many more than are listed.
const SUGGESTED: usize = 32;

type Entry<'a> = (Cow<'a, str>, Json<'a>);

impl Checker<'_> {
    pub(super) fn object<'a>(
        &mut self,
        object: &Object,
        entries: &mut Vec<Entry<'a>>,
        path: &Path<'_>,
    ) {
        self.spend(object.properties.len());
        let places: Vec<Option<usize>> = entries.iter().map(|(key, _)| object.find(key)).collect();
        let given = self.given(object, entries, &places, path);
        let missing: Vec<&Property> = object
            .properties
            .iter()
            .zip(&given)
            .filter(|(property, given)| property.required && given.is_none())
            .map(|(property, _)| property)
            .collect();
        let tree = self.tree;
        for property in &missing {
            self.problem(&path.key(&property.name, false), || {
                format!("required, missing ({})", expected(tree, property.shape))
            });
        }
        self.count(object, entries.len(), path);
        let alone = entries
            .iter()
            .zip(&places)
            .filter(|((key, _), place)| place.is_none() && is_unknown(object, key))
            .count()
            == 1;
        let mut next = 0;
        entries.retain_mut(|(key, value)| {
            let at = next;
            next += 1;
            if self.is_over() {
                return true;
            }
            self.spend(object.patterns.len());
            for (pattern, id) in &object.patterns {
                if pattern.is_match(key) {
                    self.check(*id, value, &path.key(key, false));
                }
            }
            let Some(place) = places[at] else {
                return match object.rest {
                    Rest::Closed if is_unknown(object, key) => {
                        self.unknown(object, key, value, &missing, alone, path)
                    }
                    Rest::Of(id) if !matched(object, key) => {
                        self.check(id, value, &path.key(key, false));
                        true
                    }
                    _ => true,
                };
            };
            if given[place] != Some(at) {
                return true;
            }
            let property = &object.properties[place];
            let outer = self.coerce;
            self.coerce = outer.map(|of_all| property.coerce.unwrap_or(of_all));
            let absent = self.is_absent(property, value, path);
            if !absent {
                self.check(property.shape, value, &path.key(key, property.secret));
            }
            self.coerce = outer;
            if absent {
                return false;
            }
            if *key != property.name {
                *key = Cow::Owned(property.name.clone());
            }
            true
        });
    }

    /// Returns, for each property, the entry that is meant for it.
    fn given(
        &mut self,
        object: &Object,
        entries: &[Entry<'_>],
        places: &[Option<usize>],
        path: &Path<'_>,
    ) -> Vec<Option<usize>> {
        let mut given: Vec<Option<usize>> = vec![None; object.properties.len()];
        for (at, place) in places.iter().enumerate() {
            let Some(place) = *place else { continue };
            match given[place] {
                None => given[place] = Some(at),
                Some(first) => self.problem(&path.key(&entries[at].0, false), || {
                    let other = path.key(&entries[first].0, false).shown();
                    format!("another name for {other}; send one of the two")
                }),
            }
        }
        given
    }

    fn count(&mut self, object: &Object, count: usize, path: &Path<'_>) {
        if let Some(least) = object.fewest.filter(|least| count < *least) {
            let least = counted(least, "member");
            self.problem(path, || format!("expected at least {least}, got {count}"));
        }
        if let Some(most) = object.most.filter(|most| count > *most) {
            let most = counted(most, "member");
            self.problem(path, || format!("expected at most {most}, got {count}"));
        }
    }

    /// Tells whether the value says that an optional property is absent.
    fn is_absent(&mut self, property: &Property, value: &mut Json<'_>, path: &Path<'_>) -> bool {
        let absent = !property.required
            && self
                .coerce
                .is_some_and(|coerce| coerce::is_nothing(value, coerce))
            && (matches!(value, Json::Null) || !self.takes_text(property.shape, 0))
            && !self.fits(property.shape, value, path);
        if absent {
            let text = format!("{} became absent", value.to_text());
            self.note(&path.key(&property.name, false), text);
        }
        absent
    }

    /// Tells whether free text may stand here, so that the text "null" is a text.
    fn takes_text(&mut self, id: Id, depth: usize) -> bool {
        self.spend(1);
        if depth == 4 || self.is_over() {
            return true;
        }
        let shape = self.tree.shape(self.tree.resolve(id));
        if !shape.types.has(Types::STRING) || shape.members.is_some() || shape.never {
            return false;
        }
        let branches = shape.branches();
        let all = shape
            .all
            .iter()
            .all(|part| self.takes_text(*part, depth + 1));
        all && (branches.is_empty()
            || branches
                .iter()
                .any(|branch| self.takes_text(*branch, depth + 1)))
    }

    /// Judges an entry that nobody declared; returns whether it stays.
    fn unknown(
        &mut self,
        object: &Object,
        key: &str,
        value: &mut Json<'_>,
        missing: &[&Property],
        alone: bool,
        path: &Path<'_>,
    ) -> bool {
        let here = path.key(key, false);
        let drops = self.unknown == Unknown::Drop;
        let searches = drops || (!self.quiet && self.problems.len() < SUGGESTED);
        let meant = if searches {
            self.meant(object, key, value, missing, alone, path)
        } else {
            None
        };
        if drops && meant.is_none() {
            self.note(&here, "unknown parameter, dropped".to_owned());
            return false;
        }
        self.problem(&here, || match meant {
            Some(name) => {
                let pointer = path.key(name, false).shown();
                format!("unknown parameter; did you mean {pointer}?")
            }
            None => "unknown parameter".to_owned(),
        });
        true
    }

    /// Returns the property that an unknown key was probably meant for: one of a like name, the missing ones first, or
    /// the only one missing when the key is the only unknown one and its value fits there.
    fn meant<'o>(
        &mut self,
        object: &'o Object,
        key: &str,
        value: &mut Json<'_>,
        missing: &[&'o Property],
        alone: bool,
        path: &Path<'_>,
    ) -> Option<&'o str> {
        self.spend(4 * object.properties.len());
        let spelt = nearest(key, missing.iter().map(|property| property.name.as_str()))
            .or_else(|| nearest(key, object.names()));
        if spelt.is_some() {
            return spelt;
        }
        match missing {
            [only] if alone && self.fits(only.shape, value, path) => Some(only.name.as_str()),
            _ => None,
        }
    }
}

fn matched(object: &Object, key: &str) -> bool {
    object
        .patterns
        .iter()
        .any(|(pattern, _)| pattern.is_match(key))
}

/// Tells whether a key that is no property's may not be there.
fn is_unknown(object: &Object, key: &str) -> bool {
    object.rest == Rest::Closed && !matched(object, key)
}
