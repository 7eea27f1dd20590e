//! Unions: the branch a value fits, the only one it can be brought to, or the one whose problems to tell.

use super::super::coerce;
use super::super::expected::{alternatives, expected, listed};
use super::super::json::Json;
use super::super::report::{Path, shown};
use super::super::tree::{Id, Tree, Types};
use super::{Checker, Unknown, did_you_mean, hides};

impl Checker<'_> {
    pub(super) fn union(
        &mut self,
        id: Id,
        branches: &[Id],
        exactly_one: bool,
        value: &mut Json<'_>,
        path: &Path<'_>,
    ) {
        let mut fitting = 0;
        let mut renamed = None;
        for branch in branches {
            if self.tree.aliases {
                self.spend(value.weight());
                let mut copy = value.clone();
                if self.trial(*branch, &mut copy, None, Unknown::Refuse, path) {
                    fitting += 1;
                    renamed.get_or_insert(copy);
                }
            } else if self.trial(*branch, value, None, Unknown::Refuse, path) {
                fitting += 1;
            }
            if fitting > usize::from(exactly_one) {
                break;
            }
        }
        if fitting == 0 {
            self.coerced(id, branches, value, path);
        } else if fitting > 1 {
            let tree = self.tree;
            self.problem(path, || {
                let forms = alternatives(tree, branches, 0);
                let got = shown(value, hides(tree, value, path));
                format!("expected only one form to fit ({forms}), got {got}")
            });
        } else if let Some(renamed) = renamed {
            *value = renamed;
        }
    }

    /// Takes the only branch that the value can be brought to.
    fn coerced(&mut self, id: Id, branches: &[Id], value: &mut Json<'_>, path: &Path<'_>) {
        let mut found: Option<Json<'_>> = None;
        let mut ambiguous = false;
        let outer = self.notes.len();
        if self.coerce.is_some() || self.unknown == Unknown::Drop {
            for branch in branches {
                self.spend(value.weight());
                let mut copy = value.clone();
                let notes = self.notes.len();
                if !self.trial(*branch, &mut copy, self.coerce, self.unknown, path) {
                    continue;
                }
                match &found {
                    None => found = Some(copy),
                    Some(first) => {
                        ambiguous |= !first.same(&copy);
                        self.notes.truncate(notes);
                    }
                }
            }
        }
        match found {
            Some(found) if !ambiguous => *value = found,
            _ => {
                self.notes.truncate(outer);
                self.unfitting(id, branches, value, path);
            }
        }
    }

    /// Reports the problems of the branch that is clearly meant, or what the branches expect.
    fn unfitting(&mut self, id: Id, branches: &[Id], value: &mut Json<'_>, path: &Path<'_>) {
        self.failed = true;
        if self.quiet {
            return;
        }
        let tree = self.tree;
        if let Some(branch) = meant(tree, branches, value) {
            let before = self.problems.len();
            self.check(branch, value, path);
            if self.problems.len() > before {
                return;
            }
        }
        if let Some((name, tags)) = common_tag(tree, branches, value) {
            let here = path.key(name, false);
            self.problem(&here, || match value.member(name) {
                None => format!("required, missing ({})", listed(&tags)),
                Some(given) => {
                    let got = shown(given, hides(tree, given, path));
                    let hint = did_you_mean(given, tags.iter(), path.secret);
                    format!("expected {}, got {got}{hint}", listed(&tags))
                }
            });
            return;
        }
        self.problem(path, || {
            let forms = if tree.shape(id).types == Types::ANY {
                alternatives(tree, branches, 0)
            } else {
                expected(tree, id)
            };
            let constants = branches
                .iter()
                .filter_map(|branch| tree.shape(tree.resolve(*branch)).members.as_deref())
                .flatten();
            let hint = did_you_mean(value, constants, path.secret);
            format!(
                "expected {forms}, got {}{hint}",
                shown(value, hides(tree, value, path))
            )
        });
    }
}

/// Returns the branch whose constant members the value has or, failing that, the only one of the value's type.
fn meant(tree: &Tree, branches: &[Id], value: &Json<'_>) -> Option<Id> {
    let tagged = branches.iter().copied().filter(|branch| {
        let tags = tags(tree, *branch, 0);
        !tags.is_empty()
            && tags
                .iter()
                .all(|(name, tag)| value.member(name).is_some_and(|given| tag.same(given)))
    });
    if let Some(branch) = only(tagged) {
        return Some(branch);
    }
    let kind = coerce::type_of(value);
    let alike = branches.iter().copied().filter(|branch| {
        let shape = tree.shape(tree.resolve(*branch));
        shape.members.is_none() && shape.types.has(kind)
    });
    only(alike)
}

fn only(mut candidates: impl Iterator<Item = Id>) -> Option<Id> {
    let first = candidates.next();
    first.filter(|_| candidates.next().is_none())
}

/// Returns the name of the constant member that every object branch has, with the constants.
fn common_tag<'t>(
    tree: &'t Tree,
    branches: &[Id],
    value: &Json<'_>,
) -> Option<(&'t str, Vec<Json<'static>>)> {
    if !matches!(value, Json::Object(_)) {
        return None;
    }
    let tagged: Vec<_> = branches
        .iter()
        .filter(|branch| tree.shape(tree.resolve(**branch)).types.has(Types::OBJECT))
        .map(|branch| tags(tree, *branch, 0))
        .collect();
    let (name, _) = tagged.first()?.first()?;
    let constants: Option<Vec<Json<'static>>> = tagged
        .iter()
        .map(|tags| {
            let found = tags.iter().find(|(other, _)| other == name);
            found.map(|(_, constant)| (*constant).clone())
        })
        .collect();
    Some((name, constants?))
}

/// Returns the properties of a branch that must be one constant.
fn tags(tree: &Tree, branch: Id, depth: usize) -> Vec<(&str, &Json<'static>)> {
    let shape = tree.shape(tree.resolve(branch));
    let own = shape.object.iter().flat_map(|object| &object.properties);
    let constant = |id: Id| match tree.shape(tree.resolve(id)).members.as_deref() {
        Some([only]) => Some(only),
        _ => None,
    };
    let mut found: Vec<_> = own
        .filter(|property| property.required)
        .filter_map(|property| Some((property.name.as_str(), constant(property.shape)?)))
        .collect();
    if depth < 4 {
        let parts = shape.all.iter().take(8);
        found.extend(parts.flat_map(|part| tags(tree, *part, depth + 1)));
    }
    found
}
