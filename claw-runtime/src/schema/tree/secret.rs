//! What is secret in a schema, at any depth: marked by the tool, by `format: password`, by `writeOnly` or by `x-secret`.

use std::collections::{HashMap, HashSet};
use std::iter;
use std::sync::Arc;

use super::{Id, Rest, Schema, Shape, Tree};

impl Schema {
    /// Returns the schema with these parameters marked as secret: their values show in no report and no note.
    #[must_use]
    pub fn with_secret(self, names: &[&str]) -> Self {
        if names.is_empty() {
            return self;
        }
        let mut tree = Arc::unwrap_or_clone(self.tree);
        tree.secrets = true;
        // The parameters may stand in parts of the root.
        for id in tree.parts(vec![tree.root]) {
            for property in tree.shapes[id]
                .object
                .iter_mut()
                .flat_map(|of| &mut of.properties)
            {
                property.secret |= names.contains(&property.name.as_str());
            }
        }
        Self {
            tree: Arc::new(tree),
            complete: self.complete,
        }
    }

    /// Tells whether a secret is declared anywhere.
    pub(crate) fn has_secrets(&self) -> bool {
        self.tree.secrets
    }

    /// Tells of each name under which a value may come, at any depth, whether that value is secret anywhere.
    pub(crate) fn names(&self) -> HashMap<&str, bool> {
        let mut names = HashMap::new();
        let secret = self.tree.above_secrets(|shape| {
            let mut inside = shape.unnamed();
            inside.extend(shape.parts());
            inside
        });
        let objects = self.tree.shapes.iter().flat_map(|shape| &shape.object);
        for property in objects.flat_map(|object| &object.properties) {
            let secret = property.secret || secret.contains(&property.shape);
            for name in iter::once(&property.name).chain(&property.aliases) {
                *names.entry(name.as_str()).or_default() |= secret;
            }
        }
        names
    }
}

impl Tree {
    /// Tells whether the value that these steps lead to is secret.
    pub(in crate::schema) fn hides<'s>(&self, steps: impl Iterator<Item = &'s str>) -> bool {
        let mut here = self.parts(vec![self.root]);
        for step in steps {
            if here.iter().any(|id| self.shapes[*id].secret) {
                return true;
            }
            let mut next = Vec::new();
            for shape in here.iter().map(|id| &self.shapes[*id]) {
                let property = shape.object.as_deref().and_then(|object| {
                    let place = object.find(step)?;
                    Some(&object.properties[place])
                });
                match property {
                    Some(property) if property.secret => return true,
                    Some(property) => next.push(property.shape),
                    None => next.extend(shape.unnamed()),
                }
            }
            here = self.parts(next);
        }
        here.iter().any(|id| self.shapes[*id].secret)
    }

    /// Returns these shapes and all that are part of them.
    fn parts(&self, mut left: Vec<Id>) -> Vec<Id> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        while let Some(id) = left.pop() {
            if seen.insert(id) {
                found.push(id);
                left.extend(self.shapes[id].parts());
            }
        }
        found
    }

    /// Makes a shape secret when a part of it is.
    pub(super) fn spread_secrets(&mut self) {
        if self.secrets {
            for id in self.above_secrets(|shape| shape.parts().collect()) {
                self.shapes[id].secret = true;
            }
        }
    }

    /// Returns the secret shapes, and those that lead to one through what `below` says is below them.
    fn above_secrets(&self, below: impl Fn(&Shape) -> Vec<Id>) -> HashSet<Id> {
        let mut above: HashMap<Id, Vec<Id>> = HashMap::new();
        let mut left = Vec::new();
        for (id, shape) in self.shapes.iter().enumerate() {
            for part in below(shape) {
                above.entry(part).or_default().push(id);
            }
            if shape.secret {
                left.push(id);
            }
        }
        let mut found = HashSet::new();
        while let Some(id) = left.pop() {
            if found.insert(id) {
                left.extend(above.remove(&id).into_iter().flatten());
            }
        }
        found
    }
}

impl Shape {
    /// Returns what stands in the value without a declared name: items, and members of any name.
    fn unnamed(&self) -> Vec<Id> {
        let mut inside = Vec::new();
        if let Some(array) = &self.array {
            inside.extend(array.prefix.iter().copied().chain(array.items));
        }
        if let Some(object) = &self.object {
            inside.extend(object.patterns.iter().map(|(_, id)| *id));
            if let Rest::Of(id) = object.rest {
                inside.push(id);
            }
        }
        inside
    }
}
