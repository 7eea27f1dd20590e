//! The walk over arguments and tree together: every problem, and every change that coercion makes.
//!
//! Work is counted, since a schema that arrives at run time may ask the same question in exponentially many ways, and
//! depth is limited, since it may refer to itself without end.

use std::collections::{HashMap, HashSet};

use super::coerce::{self, Coerce};
use super::expected::{array_rules, expected};
use super::format;
use super::json::Json;
use super::number::Decimal;
use super::reader;
use super::report::{Invalid, PROBLEMS, Path, Problem, brief, counted, kind, shown};
use super::tree::{Array, Bounds, Id, Shape, Text, Tree, Types};
use super::validate::{Note, Unknown, fault_text};
use crate::nearest::nearest;

mod object;
mod survey;
mod union;

/// Deepest chain of checks: levels of nesting, and references and unions on each.
const DEPTH: usize = 400;

/// Most members that are looked through for the one that was meant.
const MEANT: usize = 200;

/// One walk. Under `quiet` it only finds out whether there is a problem.
pub(super) struct Checker<'t> {
    tree: &'t Tree,
    /// How far values may be changed; `None` for not at all, to find out whether one fits.
    coerce: Option<Coerce>,
    unknown: Unknown,
    problems: Vec<Problem>,
    pub(super) notes: Vec<Note>,
    quiet: bool,
    failed: bool,
    depth: usize,
    /// Steps left.
    work: usize,
}

impl<'t> Checker<'t> {
    /// Returns a walk for arguments of `length` bytes.
    pub(super) fn new(
        tree: &'t Tree,
        coerce: Option<Coerce>,
        unknown: Unknown,
        length: usize,
    ) -> Self {
        Self {
            tree,
            coerce,
            unknown,
            problems: Vec::new(),
            notes: Vec::new(),
            quiet: false,
            failed: false,
            depth: 0,
            work: 100_000 + 16 * length,
        }
    }

    /// Ends the walk: what was changed, or everything that is wrong, one problem a place.
    pub(super) fn finish(self) -> Result<Vec<Note>, Invalid> {
        if self.gave_up() {
            return Err(Invalid::one("too much to check; send less".to_owned()));
        }
        if self.problems.is_empty() {
            return Ok(self.notes);
        }
        let mut problems = self.problems;
        if problems.len() > 1 {
            let mut places = HashSet::with_capacity(problems.len());
            problems.retain(|problem| places.insert(problem.pointer.clone()));
        }
        Err(Invalid { problems })
    }

    /// Tells whether the walk was given up as too much work; its outcome then says nothing.
    pub(super) fn gave_up(&self) -> bool {
        self.work == 0
    }

    /// Checks `value` against a shape, in place.
    pub(super) fn check(&mut self, id: Id, value: &mut Json<'_>, path: &Path<'_>) {
        self.spend(1);
        if self.is_over() {
            return;
        }
        if self.depth == DEPTH {
            self.problem(path, || "nested too deep to check".to_owned());
            return;
        }
        self.depth += 1;
        self.shape(self.tree.resolve(id), value, path);
        self.depth -= 1;
    }

    fn shape(&mut self, id: Id, value: &mut Json<'_>, path: &Path<'_>) {
        let tree = self.tree;
        let shape = tree.shape(id);
        let path = &path.hidden(shape.secret);
        self.spend(
            shape
                .members
                .as_ref()
                .map_or(0, |members| members.len() / 8),
        );
        let mut original = None;
        if !accepts(shape, value) {
            let Some(converted) = self.converted(shape, value, path) else {
                self.problem(path, || mismatch(tree, id, value, path));
                return;
            };
            original = Some(shown(value, hides(tree, value, path)));
            self.changed(path, value, &converted);
            *value = converted;
        }
        for part in &shape.all {
            self.check(*part, value, path);
        }
        let fits = match value {
            Json::String(text) => shape
                .text
                .as_deref()
                .is_none_or(|rules| text_fits(rules, text)),
            Json::Number(text) => number_fits(shape, text),
            _ => true,
        };
        if !fits {
            self.problem(path, || {
                let expected = match value {
                    Json::Number(text) if is_too_long(shape, text) => {
                        "integer of at most 128 bits".to_owned()
                    }
                    _ => expected(tree, id),
                };
                let got = original.unwrap_or_else(|| shown(value, hides(tree, value, path)));
                format!("expected {expected}, got {got}")
            });
            return;
        }
        match value {
            Json::Array(items) => {
                if let Some(array) = shape.array.as_deref() {
                    self.array(array, items, path);
                }
            }
            Json::Object(entries) => {
                if let Some(object) = shape.object.as_deref() {
                    self.object(object, entries, path);
                }
            }
            _ => {}
        }
        if !shape.any.is_empty() {
            self.union(id, &shape.any, false, value, path);
        }
        if !shape.one.is_empty() {
            // Branches that are read in part may fit only seemingly.
            self.union(id, &shape.one, !tree.partial, value, path);
        }
    }

    fn array(&mut self, array: &Array, items: &mut [Json<'_>], path: &Path<'_>) {
        let count = items.len();
        if array.shortest.is_some_and(|least| count < least)
            || array.longest.is_some_and(|most| count > most)
        {
            self.problem(path, || {
                let rules = array_rules(array);
                format!("expected {rules}, got {}", counted(count, "item"))
            });
        }
        for (at, item) in items.iter_mut().enumerate() {
            match array.prefix.get(at).copied().or(array.items) {
                Some(id) => self.check(id, item, &path.index(at)),
                None => break,
            }
        }
        if array.unique && !self.is_over() {
            self.unique(items, path);
        }
    }

    fn unique(&mut self, items: &[Json<'_>], path: &Path<'_>) {
        let mut seen = HashMap::new();
        for (at, item) in items.iter().enumerate() {
            self.spend(item.weight());
            let mut text = String::new();
            item.write_canonical(&mut text);
            if let Some(first) = seen.insert(text, at) {
                self.problem(&path.index(at), || {
                    format!("expected items that are all different, got the same as item {first}")
                });
            }
        }
    }

    /// Returns what `value` becomes under the policy, as a value that the shape's types and members accept.
    fn converted(
        &mut self,
        shape: &Shape,
        value: &mut Json<'_>,
        path: &Path<'_>,
    ) -> Option<Json<'static>> {
        let coerce = self.coerce?;
        let member = shape
            .members
            .as_deref()
            .and_then(|members| coerce::to_member(members, value, coerce));
        if let Some(converted) = member
            .or_else(|| coerce::to_types(shape.types, value, coerce))
            .filter(|converted| accepts(shape, converted))
        {
            return Some(converted);
        }
        let wraps = shape.members.is_none()
            && shape.types.has(Types::ARRAY)
            && coerce::is_list_of_one(value, coerce);
        let array = shape
            .array
            .as_deref()
            .filter(|of| wraps && of.prefix.is_empty())?;
        let items = array.items?;
        self.fits(items, value, path)
            .then(|| Json::Array(vec![value.clone().into_owned()]))
    }

    /// Tells whether a value fits as it is.
    fn fits(&mut self, id: Id, value: &mut Json<'_>, path: &Path<'_>) -> bool {
        if !self.tree.aliases {
            return self.trial(id, value, None, Unknown::Refuse, path);
        }
        // Names are still brought to the declared ones.
        self.spend(value.weight());
        let mut copy = value.clone();
        self.trial(id, &mut copy, None, Unknown::Refuse, path)
    }

    /// Checks without a report; what was noted stays only when there was no problem.
    fn trial(
        &mut self,
        id: Id,
        value: &mut Json<'_>,
        coerce: Option<Coerce>,
        unknown: Unknown,
        path: &Path<'_>,
    ) -> bool {
        let outer = (self.quiet, self.failed, self.coerce, self.unknown);
        let notes = self.notes.len();
        (self.quiet, self.failed, self.coerce, self.unknown) = (true, false, coerce, unknown);
        self.check(id, value, path);
        let fits = !self.failed && !self.gave_up();
        (self.quiet, self.failed, self.coerce, self.unknown) = outer;
        if !fits {
            self.notes.truncate(notes);
        }
        fits
    }

    fn problem(&mut self, path: &Path<'_>, text: impl FnOnce() -> String) {
        self.failed = true;
        if !self.quiet {
            self.problems.push(Problem {
                pointer: path.pointer(),
                text: text(),
            });
        }
    }

    fn note(&mut self, path: &Path<'_>, text: String) {
        self.notes.push(Note {
            pointer: path.pointer(),
            text,
        });
    }

    fn changed(&mut self, path: &Path<'_>, from: &Json<'_>, to: &Json<'_>) {
        let text = if hides(self.tree, from, path) {
            format!("{} became {}", kind(from), kind(to))
        } else {
            format!("{} became {}", brief(from), brief(to))
        };
        self.note(path, text);
    }

    fn spend(&mut self, steps: usize) {
        self.work = self.work.saturating_sub(steps);
    }

    /// Tells whether going on can change nothing.
    fn is_over(&self) -> bool {
        self.work == 0 || self.problems.len() >= PROBLEMS || (self.quiet && self.failed)
    }
}

fn accepts(shape: &Shape, value: &Json<'_>) -> bool {
    !shape.never
        && shape.types.has(coerce::type_of(value))
        && shape
            .members
            .as_deref()
            .is_none_or(|members| members.iter().any(|member| member.same(value)))
}

/// Tells whether a value is not shown: it is secret, or something secret may be inside it.
fn hides(tree: &Tree, value: &Json<'_>, path: &Path<'_>) -> bool {
    let holds = match value {
        Json::Array(_) | Json::Object(_) => true,
        Json::String(text) => text.trim_start().starts_with(['{', '[']),
        _ => false,
    };
    path.secret || (tree.secrets && holds)
}

fn mismatch(tree: &Tree, id: Id, value: &Json<'_>, path: &Path<'_>) -> String {
    let shape = tree.shape(id);
    if shape.never {
        return "expected nothing here".to_owned();
    }
    let mut text = format!(
        "expected {}, got {}",
        expected(tree, id),
        shown(value, hides(tree, value, path))
    );
    if let Some(members) = shape.members.as_deref() {
        text.push_str(&did_you_mean(value, members.iter(), path.secret));
        return text;
    }
    let nests = shape.types.has(Types::OBJECT) || shape.types.has(Types::ARRAY);
    if nests
        && let Json::String(word) = value
        && word.trim_start().starts_with(['{', '['])
        && let Err(fault) = reader::read(word)
    {
        text.push_str(" that is ");
        text.push_str(&fault_text(word, &fault, !hides(tree, value, path)));
    }
    text
}

/// Returns the end of a problem with the member that a word was probably meant to be.
fn did_you_mean<'m>(
    value: &Json<'_>,
    members: impl Iterator<Item = &'m Json<'static>>,
    secret: bool,
) -> String {
    match value {
        Json::String(word) if !secret => {
            nearest(word, members.take(MEANT).filter_map(Json::as_str))
                .map(|meant| format!("; did you mean {}?", brief(&Json::String(meant.into()))))
                .unwrap_or_default()
        }
        _ => String::new(),
    }
}

fn text_fits(rules: &Text, text: &str) -> bool {
    let bounded = rules.shortest.is_some() || rules.longest.is_some();
    let length = if bounded { text.chars().count() } else { 0 };
    rules.shortest.is_none_or(|least| length >= least)
        && rules.longest.is_none_or(|most| length <= most)
        && rules
            .pattern
            .as_ref()
            .is_none_or(|pattern| pattern.is_match(text))
        && rules
            .format
            .as_ref()
            .is_none_or(|word| format::holds(word, text))
}

fn number_fits(shape: &Shape, text: &str) -> bool {
    !is_too_long(shape, text)
        && shape
            .number
            .as_deref()
            .is_none_or(|bounds| within(bounds, &Decimal::new(text)))
}

/// Tells whether an integer has more than 128 bits.
fn is_too_long(shape: &Shape, text: &str) -> bool {
    !shape.types.has(Types::NUMBER) && text.len() > 38 && Decimal::new(text).integer().is_none()
}

fn within(bounds: &Bounds, number: &Decimal) -> bool {
    bounds.least.as_ref().is_none_or(|least| {
        if least.exclusive {
            *number > least.value
        } else {
            *number >= least.value
        }
    }) && bounds.most.as_ref().is_none_or(|most| {
        if most.exclusive {
            *number < most.value
        } else {
            *number <= most.value
        }
    }) && bounds
        .step
        .as_ref()
        .is_none_or(|step| number.is_multiple_of(&step.value))
}
