//! How arguments differ on the wire: made while a schema is lowered, walked for every call.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::shape::Shape;

/// The place of a step in its plan.
pub(super) type Id = usize;

/// The step that leaves a value as it is.
pub(super) const SAME: Id = 0;

/// What becomes of one value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Op {
    Same,
    /// As the definition at this place.
    Defined(usize),
    /// A string of JSON text on the wire.
    Text,
    Object {
        members: Vec<Member>,
        rest: Rest,
    },
    /// A list of entries on the wire.
    Map(Id),
    Array {
        prefix: Vec<Id>,
        items: Id,
    },
    /// As the first branch that the value fits.
    Any(Vec<Branch>),
}

/// A property that has a plan of its own, another name, or may be left out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) wire: String,
    pub(super) plan: Id,
    /// Whether `null` on the wire says that it is left out.
    pub(super) optional: bool,
}

impl Member {
    /// Tells whether it is other on the wire, or anything in it may be.
    pub(super) fn changes(&self) -> bool {
        self.optional || self.name != self.wire || self.plan != SAME
    }
}

/// What becomes of the properties that are not declared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Rest {
    /// Each as this step says.
    Values(Id),
    /// They are a list of entries under this name.
    Listed { wire: String, plan: Id },
}

/// A branch of a union.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Branch {
    pub(super) plan: Id,
    pub(super) own: Arc<Shape>,
    pub(super) wire: Arc<Shape>,
}

/// A definition that others refer to; what it is, is known once it is lowered.
#[derive(Clone, Debug, Default)]
pub(super) struct Defined {
    pub(super) plan: Id,
    pub(super) own: Option<Arc<Shape>>,
    pub(super) wire: Option<Arc<Shape>>,
}

/// The steps of one schema. Equal steps are one.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) ops: Vec<Op>,
    pub(super) defs: Vec<Defined>,
    pub(super) root: Id,
    places: HashMap<Op, Id>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            ops: vec![Op::Same],
            defs: Vec::new(),
            root: SAME,
            places: HashMap::new(),
        }
    }
}

impl Plan {
    /// Returns the place of this step; one that changes nothing is [`SAME`].
    pub(super) fn add(&mut self, op: Op) -> Id {
        let idle = match &op {
            Op::Same => true,
            Op::Object { members, rest } => members.is_empty() && *rest == Rest::Values(SAME),
            Op::Array { prefix, items } => *items == SAME && prefix.iter().all(|id| *id == SAME),
            Op::Any(branches) => branches.iter().all(|branch| branch.plan == SAME),
            Op::Defined(_) | Op::Text | Op::Map(_) => false,
        };
        if idle {
            return SAME;
        }
        *self.places.entry(op).or_insert_with_key(|op| {
            self.ops.push(op.clone());
            self.ops.len() - 1
        })
    }

    pub(super) fn is_same(&self) -> bool {
        self.root == SAME
    }

    /// Puts [`SAME`] for a root under which nothing changes.
    pub(super) fn settle(&mut self) {
        self.places = HashMap::new();
        if !self.changes(self.root) {
            self.root = SAME;
        }
    }

    /// Tells whether anything changes in a value with this step.
    pub(super) fn changes(&self, id: Id) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match &self.ops[id] {
                Op::Same => {}
                Op::Text | Op::Map(_) => return true,
                Op::Defined(at) => open.extend(self.defs.get(*at).map(|defined| defined.plan)),
                Op::Object { members, rest } => {
                    let differs = |member: &Member| member.optional || member.name != member.wire;
                    if members.iter().any(differs) {
                        return true;
                    }
                    open.extend(members.iter().map(|member| member.plan));
                    match rest {
                        Rest::Values(id) => open.push(*id),
                        Rest::Listed { .. } => return true,
                    }
                }
                Op::Array { prefix, items } => {
                    open.extend(prefix);
                    open.push(*items);
                }
                Op::Any(branches) => open.extend(branches.iter().map(|branch| branch.plan)),
            }
        }
        false
    }
}
