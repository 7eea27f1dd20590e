//! The rules for arrays and objects: what is in them, and what of it nothing else looked at.

use std::collections::HashSet;

use super::super::program::{Id, Node, Rule};
use super::super::words;
use super::{At, Out, Run, Seen, Spent};
use crate::schema::json::Json;

impl<'c> Run<'c> {
    pub(super) fn array<'v>(
        &mut self,
        node: &'c Node,
        rule: &'c Rule,
        items: &'v [Json<'_>],
        at: &At<'_>,
        seen: Option<&mut Seen<'v>>,
        out: &mut Out,
    ) -> Result<bool, Spent> {
        match rule {
            Rule::Items {
                prefix,
                rest,
                listed,
            } => {
                let checked = if rest.is_some() {
                    items.len()
                } else {
                    prefix.len()
                };
                seen.into_iter()
                    .for_each(|seen| seen.items.extend(0..checked.min(items.len())));
                let before = self.unread;
                self.unread |= *listed;
                let fits = self.each(items, at, out, |index| prefix.get(index).copied().or(*rest));
                self.unread = before;
                fits
            }
            Rule::Count(least, most) => {
                let holds = (*least..=*most).contains(&items.len());
                self.judged(holds, node, at, out)
            }
            Rule::Unique => {
                let mut texts = HashSet::new();
                for item in items {
                    self.spend(item.weight() + super::letters(item))?;
                    let mut text = String::new();
                    item.write_canonical(&mut text);
                    if !texts.insert(text) {
                        self.tell(out, at, None, true, || {
                            "expected items that are all different".to_owned()
                        });
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Rule::Contains {
                item,
                least,
                most,
                looks,
            } => {
                let mut fitting = HashSet::new();
                for (index, value) in items.iter().enumerate() {
                    if self.check(*item, value, &At::Index(at, index), None, &mut None)? {
                        fitting.insert(index);
                    }
                }
                let holds = (*least..=*most).contains(&fitting.len());
                if !holds {
                    let text = || words::contains(self.program, *item, node);
                    self.tell_unread(out, at, None, true, text);
                }
                seen.filter(|_| *looks)
                    .into_iter()
                    .for_each(|seen| seen.items.extend(&fitting));
                Ok(holds)
            }
            Rule::OtherItems(id) => {
                let Some(seen) = seen else { return Ok(true) };
                let fits = self.apart(|run| {
                    run.each(items, at, out, |index| {
                        (!seen.items.contains(&index)).then_some(*id)
                    })
                });
                seen.items.extend(0..items.len());
                fits
            }
            _ => Ok(true),
        }
    }

    /// Checks items by the schema that each has.
    fn each(
        &mut self,
        items: &[Json<'_>],
        at: &At<'_>,
        out: &mut Out,
        schema: impl Fn(usize) -> Option<Id>,
    ) -> Result<bool, Spent> {
        let mut fits = true;
        for (index, item) in items.iter().enumerate() {
            let Some(id) = schema(index) else { continue };
            if self.program.nodes[id].never {
                self.tell(out, at, None, true, || "expected fewer items".to_owned());
                return Ok(false);
            }
            fits &= self.check(id, item, &At::Index(at, index), None, out)?;
            if !fits && out.is_none() {
                break;
            }
        }
        Ok(fits)
    }

    pub(super) fn object<'v>(
        &mut self,
        rule: &'c Rule,
        value: &'v Json<'_>,
        at: &At<'_>,
        mut seen: Option<&mut Seen<'v>>,
        out: &mut Out,
    ) -> Result<bool, Spent> {
        let mut fits = true;
        match rule {
            Rule::Properties {
                named,
                patterns,
                rest,
            } => {
                for (name, member) in value.entries() {
                    let mut schemas: Vec<Id> = named.get(name).copied().into_iter().collect();
                    for (pattern, id) in patterns {
                        if self.finds(pattern, name)? {
                            schemas.push(*id);
                        }
                    }
                    if schemas.is_empty() {
                        schemas.extend(rest);
                    }
                    if let Some(seen) = seen.as_deref_mut().filter(|_| !schemas.is_empty()) {
                        seen.names.insert(name);
                    }
                    for id in schemas {
                        fits &= self.member(id, name, member, at, *rest == Some(id), out)?;
                    }
                    if !fits && out.is_none() {
                        break;
                    }
                }
            }
            Rule::OtherProperties(id) => {
                let Some(seen) = seen else { return Ok(true) };
                for (name, member) in value.entries() {
                    if seen.names.insert(name) {
                        fits &= self.apart(|run| run.member(*id, name, member, at, true, out))?;
                    }
                }
            }
            Rule::Size(least, most) => {
                let count = value.entries().count();
                fits = (*least..=*most).contains(&count);
                if !fits {
                    self.tell(out, at, None, true, || {
                        words::members(count < *least, *least, *most)
                    });
                }
            }
            Rule::Required(names) => fits = self.required(names, value, at, out)?,
            Rule::Names(id) => {
                for (name, _) in value.entries() {
                    let text = Json::String(name.into());
                    if !self.check(*id, &text, at, None, &mut None)? {
                        fits = false;
                        let text = || words::name(self.program, *id);
                        self.tell_unread(out, at, Some(name), false, text);
                    }
                }
            }
            Rule::Dependent(name, names, schema) if value.member(name).is_some() => {
                let before = std::mem::replace(&mut self.unread, true);
                fits = self.required(names, value, at, out)?;
                if let Some(id) = schema {
                    fits &= self.check(*id, value, at, seen, out)?;
                }
                self.unread = before;
            }
            _ => {}
        }
        Ok(fits)
    }

    /// Checks a member; with `other`, one that no keyword names.
    fn member(
        &mut self,
        id: Id,
        name: &str,
        value: &Json<'_>,
        at: &At<'_>,
        other: bool,
        out: &mut Out,
    ) -> Result<bool, Spent> {
        if other && self.program.nodes[id].never {
            self.tell(out, at, Some(name), false, || {
                "unknown parameter".to_owned()
            });
            return Ok(false);
        }
        self.check(id, value, &At::Name(at, name), None, out)
    }

    fn required(
        &mut self,
        names: &[String],
        value: &Json<'_>,
        at: &At<'_>,
        out: &mut Out,
    ) -> Result<bool, Spent> {
        self.spend(names.len())?;
        let present: HashSet<&str> = value.entries().map(|(name, _)| name).collect();
        let mut fits = true;
        for name in names.iter().filter(|name| !present.contains(name.as_str())) {
            fits = false;
            self.tell(out, at, Some(name), false, || {
                "required, missing".to_owned()
            });
        }
        Ok(fits)
    }
}
