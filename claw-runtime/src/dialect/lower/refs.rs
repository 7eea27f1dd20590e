//! References: merged into what stands beside them, or kept with the definitions they lead to.

use std::collections::{HashSet, VecDeque};

use super::{Definition, Low, Lowering, Members};
use crate::dialect::keywords::Keywords;
use crate::dialect::plan::{Defined, Op};
use crate::dialect::shape::Shape;
use crate::dialect::view::{Piece, View};
use crate::dialect::{Change, Refs};
use crate::schema::json::Json;
use crate::schema::resolve;

/// How often a definition is put into itself before it ends as JSON text.
const UNROLLED: usize = 3;
/// Most schemas that are merged into one.
const MERGED: usize = 256;

impl<'a> Lowering<'a> {
    /// Reads schemas, what they refer to and what their `allOf` holds as one. `None` when that goes round in circles.
    pub(super) fn merge(
        &mut self,
        pieces: Vec<Piece<'a>>,
        entered: &mut Vec<usize>,
    ) -> Option<View<'a>> {
        let mut view = View::default();
        let mut seen = HashSet::new();
        let mut open: VecDeque<Piece<'a>> = pieces.into();
        while let Some(piece) = open.pop_front() {
            let address = std::ptr::from_ref(piece.json).addr();
            if !seen.insert(address) || seen.len() > MERGED {
                continue;
            }
            match piece.json {
                Json::Bool(false) => view.never = true,
                Json::Object(_) => view.pieces.push(piece),
                _ => continue,
            }
            if let Some(reference) = piece.json.member("$ref").and_then(Json::as_str) {
                match resolve(self.document, reference) {
                    Some(target) => {
                        let address = std::ptr::from_ref(target).addr();
                        let count = self.around.entry(address).or_default();
                        if *count >= UNROLLED {
                            return None;
                        }
                        *count += 1;
                        entered.push(address);
                        open.push_back(Piece::new(target));
                    }
                    None => self.lose("$ref", Change::Dropped),
                }
            }
            let all = piece.json.member("allOf").and_then(Json::as_array);
            open.extend(all.into_iter().flatten().map(Piece::new));
        }
        Some(view)
    }

    /// Keeps a reference that stands alone, where the dialect has them.
    pub(super) fn reference(&mut self, pieces: &[Piece<'a>]) -> Option<Low> {
        let [piece] = pieces else {
            return None;
        };
        if self.dialect.refs == Refs::Inlined {
            return None;
        }
        let asks = |(name, _): (&str, _)| match Keywords::named(name) {
            Some(Keywords::REF | Keywords::DESCRIPTION | Keywords::DEFAULT | Keywords::DEFS) => {
                false
            }
            Some(keyword) => !Keywords::REMARKS.has(keyword),
            None => false,
        };
        if piece.json.entries().any(asks) {
            return None;
        }
        let reference = piece.json.member("$ref")?.as_str()?;
        let target = resolve(self.document, reference)?;
        let at = self.definition(target, reference);
        let pointer = format!("#/$defs/{}", self.definitions[at].name);
        Some(Low {
            members: vec![("$ref".into(), Json::String(pointer.into()))],
            notes: Vec::new(),
            plan: self.plan.add(Op::Defined(at)),
            own: Shape::defined(at),
            wire: Shape::defined(at),
        })
    }

    /// Returns the place of a definition, naming and queueing it when it is new.
    pub(super) fn definition(&mut self, target: &'a Json<'a>, reference: &str) -> usize {
        let address = std::ptr::from_ref(target).addr();
        if let Some(at) = self.places.get(&address) {
            return *at;
        }
        let last = reference.rsplit(['/', '#']).next().unwrap_or_default();
        let mut stem: String = last
            .chars()
            .filter(|it| it.is_ascii_alphanumeric() || matches!(it, '_' | '-'))
            .take(40)
            .collect();
        if stem.is_empty() {
            stem.push_str("root");
        }
        let at = self.definitions.len();
        let taken = self.definitions.iter().any(|other| other.name == stem);
        let name = if taken { format!("{stem}-{at}") } else { stem };
        self.definitions.push(Definition {
            name,
            schema: target,
        });
        self.plan.defs.push(Defined::default());
        self.places.insert(address, at);
        self.open.push_back(at);
        at
    }
}

/// Returns the names of the definitions that are referred to, from the root or from one that is.
pub(super) fn used(root: &Members, definitions: &Members) -> HashSet<String> {
    fn look<'j>(json: &'j Json<'static>, names: &mut Vec<&'j str>) {
        match json {
            Json::Array(items) => items.iter().for_each(|item| look(item, names)),
            Json::Object(members) => {
                for (name, value) in members {
                    match value {
                        Json::String(text) if name == "$ref" => {
                            names.extend(text.strip_prefix("#/$defs/"));
                        }
                        value => look(value, names),
                    }
                }
            }
            _ => {}
        }
    }
    let mut used = HashSet::new();
    let mut open = Vec::new();
    root.iter().for_each(|(_, json)| look(json, &mut open));
    while let Some(name) = open.pop() {
        if used.insert(name.to_owned())
            && let Some((_, json)) = definitions.iter().find(|(known, _)| known == name)
        {
            look(json, &mut open);
        }
    }
    used
}
