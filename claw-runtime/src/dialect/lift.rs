//! Carries arguments over: from the wire to the canonical form, and back for a conversation's history.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;

use super::plan::{Id, Member, Op, Plan, Rest};
use super::shape::{Look, Side};
use crate::schema::json::Json;
use crate::schema::reader;

/// Steps that finding the branches of unions may take in one call's arguments.
const FUEL: usize = 200_000;
/// Most properties that are looked through one by one.
const FEW: usize = 16;

/// Which way arguments are carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From the wire.
    Lift,
    /// To the wire.
    Encode,
}

impl Plan {
    /// Carries arguments over. Text that is no object is left for validation to complain of.
    pub(super) fn carry<'t>(&self, arguments: &'t str, way: Way) -> Cow<'t, str> {
        if self.is_same() {
            return arguments.into();
        }
        let Ok(read) = reader::read(arguments) else {
            return arguments.into();
        };
        let side = match way {
            Way::Lift => Side::Wire,
            Way::Encode => Side::Own,
        };
        let carrier = Carrier {
            plan: self,
            way,
            look: Look {
                defs: &self.defs,
                side,
                fuel: Cell::new(FUEL),
            },
        };
        match read.json {
            json @ Json::Object(_) => carrier.value(self.root, json).to_text().into(),
            // Some models write the object as a string. Validation unwraps it; its inside is on the wire all the same.
            Json::String(text) if text.trim_start().starts_with('{') => match reader::read(&text) {
                Ok(inner) => {
                    let inner = carrier.value(self.root, inner.json).to_text();
                    Json::String(inner.into()).to_text().into()
                }
                Err(_) => arguments.into(),
            },
            _ => arguments.into(),
        }
    }
}

struct Carrier<'p> {
    plan: &'p Plan,
    way: Way,
    look: Look<'p>,
}

type Entries<'t> = Vec<(Cow<'t, str>, Json<'t>)>;

impl Carrier<'_> {
    fn value<'t>(&self, id: Id, value: Json<'t>) -> Json<'t> {
        match (&self.plan.ops[id], value) {
            (Op::Defined(at), value) => match self.plan.defs.get(*at) {
                Some(defined) => self.value(defined.plan, value),
                None => value,
            },
            (Op::Text, value) => self.text(value),
            (Op::Object { members, rest }, Json::Object(entries)) => {
                self.object(members, rest, entries)
            }
            (Op::Map(id), value) => self.map(*id, value),
            (Op::Array { prefix, items }, Json::Array(values)) => {
                let values = values.into_iter().enumerate();
                Json::Array(
                    values
                        .map(|(at, value)| {
                            self.value(prefix.get(at).copied().unwrap_or(*items), value)
                        })
                        .collect(),
                )
            }
            (Op::Any(branches), value) => {
                let fitting = branches.iter().find(|branch| {
                    let shape = match self.way {
                        Way::Lift => &branch.wire,
                        Way::Encode => &branch.own,
                    };
                    self.look.fits(shape, &value)
                });
                match fitting {
                    Some(branch) => self.value(branch.plan, value),
                    None => value,
                }
            }
            (_, value) => value,
        }
    }

    fn text<'t>(&self, value: Json<'t>) -> Json<'t> {
        match (self.way, value) {
            (Way::Encode, value) => Json::String(value.to_text().into()),
            (Way::Lift, Json::String(text)) => match reader::read(&text).map(|read| read.json) {
                Ok(json) => json.into_owned(),
                // Plain text where JSON text was asked for: a string is a value too.
                Err(_) => Json::String(text),
            },
            (Way::Lift, value) => value,
        }
    }

    fn object<'t>(&self, members: &[Member], rest: &Rest, entries: Entries<'t>) -> Json<'t> {
        let known = |member: &Member| match self.way {
            Way::Lift => member.wire.clone(),
            Way::Encode => member.name.clone(),
        };
        let index: HashMap<String, usize> = if members.len() > FEW {
            let places = members.iter().enumerate();
            places.map(|(at, member)| (known(member), at)).collect()
        } else {
            HashMap::new()
        };
        let find = |key: &str| match members.len() > FEW {
            true => index.get(key).copied(),
            false => members.iter().position(|member| match self.way {
                Way::Lift => member.wire == key,
                Way::Encode => member.name == key,
            }),
        };
        let mut out: Entries<'t> = Vec::with_capacity(entries.len());
        let mut others: Entries<'t> = Vec::new();
        let mut seen = vec![false; members.len()];
        for (key, value) in entries {
            if let Some(at) = find(&key) {
                seen[at] = true;
                let member = &members[at];
                let left_out =
                    self.way == Way::Lift && member.optional && matches!(value, Json::Null);
                if !left_out {
                    let name = match self.way {
                        Way::Lift => &member.name,
                        Way::Encode => &member.wire,
                    };
                    out.push((named(key, name), self.value(member.plan, value)));
                }
                continue;
            }
            match (rest, self.way) {
                (Rest::Values(id), _) => out.push((key, self.value(*id, value))),
                (Rest::Listed { wire, plan }, Way::Lift) if *wire == *key => {
                    match self.map(*plan, value) {
                        Json::Object(listed) => others.extend(listed),
                        value => out.push((key, value)),
                    }
                }
                (Rest::Listed { .. }, Way::Lift) => out.push((key, value)),
                (Rest::Listed { .. }, Way::Encode) => others.push((key, value)),
            }
        }
        match (rest, self.way) {
            (Rest::Listed { wire, plan }, Way::Encode) => {
                let listed = self.map(*plan, Json::Object(others));
                out.push((wire.clone().into(), listed));
            }
            _ => out.append(&mut others),
        }
        if self.way == Way::Encode {
            let missing = members.iter().zip(seen);
            out.extend(
                missing
                    .filter(|(member, seen)| member.optional && !seen)
                    .map(|(member, _)| (member.wire.clone().into(), Json::Null)),
            );
        }
        Json::Object(out)
    }

    fn map<'t>(&self, id: Id, value: Json<'t>) -> Json<'t> {
        match (self.way, value) {
            (Way::Encode, Json::Object(entries)) => {
                let entry = |(key, value): (Cow<'t, str>, Json<'t>)| {
                    Json::Object(vec![
                        (KEY.into(), Json::String(key)),
                        (VALUE.into(), self.value(id, value)),
                    ])
                };
                Json::Array(entries.into_iter().map(entry).collect())
            }
            (Way::Lift, Json::Array(items)) if items.iter().all(is_entry) => Json::Object(
                items
                    .into_iter()
                    .filter_map(|item| self.entry(id, item))
                    .collect(),
            ),
            // A model that wrote the object itself.
            (Way::Lift, Json::Object(entries)) => {
                let entries = entries.into_iter();
                Json::Object(
                    entries
                        .map(|(key, value)| (key, self.value(id, value)))
                        .collect(),
                )
            }
            (_, value) => value,
        }
    }

    fn entry<'t>(&self, id: Id, item: Json<'t>) -> Option<(Cow<'t, str>, Json<'t>)> {
        let Json::Object(entries) = item else {
            return None;
        };
        let (mut key, mut value) = (None, None);
        for (name, part) in entries {
            match part {
                Json::String(text) if name == KEY => key = Some(text),
                part => value = Some(part),
            }
        }
        Some((key?, self.value(id, value?)))
    }
}

/// The names in an entry of a map that is sent as a list.
pub(super) const KEY: &str = "key";
pub(super) const VALUE: &str = "value";

fn is_entry(item: &Json<'_>) -> bool {
    item.entries().count() == 2
        && matches!(item.member(KEY), Some(Json::String(_)))
        && item.member(VALUE).is_some()
}

/// Returns the name, with the key's own text where it is the same.
fn named<'t>(key: Cow<'t, str>, name: &str) -> Cow<'t, str> {
    if key == name {
        key
    } else {
        Cow::Owned(name.to_owned())
    }
}
