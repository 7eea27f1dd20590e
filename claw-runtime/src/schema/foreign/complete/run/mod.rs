//! A value held against a program: whether it fits, and what is wrong where.
//!
//! Work is bounded. A schema of a few lines may ask the same question in exponentially many ways, or recur until the stack
//! is gone: each schema object that is looked at is a step, and steps and stack are counted.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;

use super::Fault;
use super::pattern::Pattern;
use super::program::{Id, Node, Program, Rule};
use super::words;
use crate::schema::json::Json;
use crate::schema::number::Decimal;
use crate::schema::tree::Types;

mod parts;

/// Schema objects that may be looked at in a check, beside those for its length.
const STEPS: usize = 100_000;
/// The same for each value that is checked.
const STEPS_A_VALUE: usize = 1_000;
/// Bytes of a text or number that are a step.
const LETTERS: usize = 256;
/// How often the texts of a value may be read besides.
const READINGS: usize = 16;
/// Stack that a check may take, in bytes: a quarter of a worker thread's.
const STACK: usize = 512 * 1024;
/// Most faults that are looked at: many more than a report lists.
const FAULTS: usize = 200;
/// Most faults that are put into words, also of branches that are not told then: each reads a part of the schema.
const WORDED: usize = 1_000;

/// The check took more than it may.
pub(super) struct Spent;

/// Lists what is wrong with a value.
pub(super) fn faults(program: &Program, value: &Json<'_>) -> Result<Vec<Fault>, Spent> {
    let steps = STEPS_A_VALUE.saturating_mul(value.weight());
    let steps = steps.saturating_add(READINGS.saturating_mul(letters(value)));
    let mut run = Run {
        program,
        left: STEPS.saturating_add(steps),
        stack: stack(),
        scope: Vec::new(),
        unread: false,
        worded: Cell::new(0),
    };
    let mut faults = Some(Vec::new());
    run.check(0, value, &At::Root, None, &mut faults)?;
    Ok(faults.unwrap_or_default())
}

/// Where in the value the check stands.
#[derive(Clone, Copy)]
enum At<'p> {
    Root,
    Name(&'p At<'p>, &'p str),
    Index(&'p At<'p>, usize),
}

impl At<'_> {
    fn steps(&self, out: &mut Vec<String>) {
        match self {
            At::Root => {}
            At::Name(parent, name) => {
                parent.steps(out);
                out.push((*name).to_owned());
            }
            At::Index(parent, index) => {
                parent.steps(out);
                out.push(index.to_string());
            }
        }
    }
}

/// What the rules of a schema have looked at in an object or array.
#[derive(Default)]
struct Seen<'v> {
    names: HashSet<&'v str>,
    items: HashSet<usize>,
}

/// What a check tells: faults, or with `None` only whether there is one.
type Out = Option<Vec<Fault>>;

struct Run<'c> {
    program: &'c Program,
    /// Steps left.
    left: usize,
    /// Where the stack began.
    stack: usize,
    /// The resources entered on the way here.
    scope: Vec<usize>,
    /// Whether a keyword on the way here is one that the tree does not read.
    unread: bool,
    /// How many faults were put into words.
    worded: Cell<usize>,
}

impl<'c> Run<'c> {
    fn check<'v>(
        &mut self,
        id: Id,
        value: &'v Json<'_>,
        at: &At<'_>,
        seen: Option<&mut Seen<'v>>,
        out: &mut Out,
    ) -> Result<bool, Spent> {
        self.spend(1)?;
        if self.stack.abs_diff(stack()) > STACK {
            return Err(Spent);
        }
        let node = &self.program.nodes[id];
        if node.never {
            self.tell(out, at, None, false, || "expected nothing here".to_owned());
            return Ok(false);
        }
        self.scope.push(node.resource);
        let mut own = Seen::default();
        let looks = seen.is_some() || node.leftovers;
        let (mut fits, mut whole) = (true, true);
        for rule in &node.rules {
            if !whole && matches!(rule, Rule::OtherItems(_) | Rule::OtherProperties(_)) {
                // What a part that does not fit would have looked at is not known.
                continue;
            }
            let holds = self.rule(node, rule, value, at, looks.then_some(&mut own), out)?;
            whole &= holds || !rule.applies_here();
            fits &= holds;
            if !fits && out.is_none() {
                break;
            }
        }
        self.scope.pop();
        if let Some(seen) = seen.filter(|_| fits) {
            seen.names.extend(own.names);
            seen.items.extend(own.items);
        }
        Ok(fits)
    }

    fn rule<'v>(
        &mut self,
        node: &'c Node,
        rule: &'c Rule,
        value: &'v Json<'_>,
        at: &At<'_>,
        seen: Option<&mut Seen<'v>>,
        out: &mut Out,
    ) -> Result<bool, Spent> {
        self.spend(extent(rule, value))?;
        match (rule, value) {
            (Rule::Ref(id), _) => self.check(*id, value, at, seen, out),
            (Rule::Dynamic(id, name), _) => {
                let found = self
                    .scope
                    .iter()
                    .find_map(|it| self.program.dynamic[*it].get(name));
                let id = *found.unwrap_or(id);
                self.apart(|run| run.check(id, value, at, seen, out))
            }
            (Rule::Type(_) | Rule::Members(_), _) => {
                let holds = match rule {
                    Rule::Type(types) => types.has(kind(value)),
                    Rule::Members(members) => {
                        self.spend(members.len())?;
                        members.iter().any(|member| member.same(value))
                    }
                    _ => true,
                };
                self.judged(holds, node, at, out)
            }
            (Rule::All(_) | Rule::Any(_) | Rule::One(_), _) => {
                self.branches(node, rule, value, at, seen, out)
            }
            (Rule::Not(id), _) => {
                let fits = self.check(*id, value, at, None, &mut None)?;
                if fits {
                    let program = self.program;
                    self.tell_unread(out, at, None, true, || {
                        format!("expected anything but {}", words::expected(program, *id))
                    });
                }
                Ok(!fits)
            }
            (Rule::If(condition, then, otherwise), _) => {
                self.condition((*condition, *then, *otherwise), value, at, seen, out)
            }
            (Rule::Least(..) | Rule::Most(..) | Rule::Step(_), Json::Number(text)) => {
                let number = Decimal::new(text);
                let holds = match rule {
                    Rule::Least(bound, true) => number >= *bound,
                    Rule::Least(bound, false) => number > *bound,
                    Rule::Most(bound, true) => number <= *bound,
                    Rule::Most(bound, false) => number < *bound,
                    Rule::Step(step) => number.is_multiple_of(step),
                    _ => true,
                };
                self.judged(holds, node, at, out)
            }
            (Rule::Length(least, most), Json::String(text)) => {
                let holds = (*least..=*most).contains(&text.chars().count());
                self.judged(holds, node, at, out)
            }
            (Rule::Pattern(pattern), Json::String(text)) => {
                let holds = self.finds(pattern, text)?;
                if !holds {
                    self.tell(out, at, None, true, || words::matching(&pattern.source));
                }
                Ok(holds)
            }
            (_, Json::Array(items)) => self.array(node, rule, items, at, seen, out),
            (_, Json::Object(_)) => self.object(rule, value, at, seen, out),
            _ => Ok(true),
        }
    }

    /// Judges what the branches of a keyword say together.
    fn branches<'v>(
        &mut self,
        node: &'c Node,
        rule: &'c Rule,
        value: &'v Json<'_>,
        at: &At<'_>,
        mut seen: Option<&mut Seen<'v>>,
        out: &mut Out,
    ) -> Result<bool, Spent> {
        let (branches, keyword) = match rule {
            Rule::All(branches) => {
                let mut fits = true;
                for branch in branches {
                    fits &= self.check(*branch, value, at, seen.as_deref_mut(), out)?;
                    if !fits && out.is_none() {
                        break;
                    }
                }
                return Ok(fits);
            }
            Rule::Any(branches) => (branches, "anyOf"),
            Rule::One(branches) => (branches, "oneOf"),
            _ => return Ok(true),
        };
        let one = keyword == "oneOf";
        let mut fitting = 0;
        for branch in branches {
            fitting +=
                usize::from(self.check(*branch, value, at, seen.as_deref_mut(), &mut None)?);
            if (one && fitting > 1) || (!one && fitting > 0 && seen.is_none()) {
                break;
            }
        }
        let holds = if one { fitting == 1 } else { fitting > 0 };
        // Where nothing more is told, nothing is looked for that could be.
        if holds || out.as_ref().is_none_or(|out| out.len() >= FAULTS) {
            return Ok(holds);
        }
        if fitting == 0
            && let Some(meant) = self.meant(branches, value, at)?
        {
            out.iter_mut()
                .for_each(|out| out.extend(meant.iter().cloned()));
            return Ok(false);
        }
        self.tell(out, at, None, true, || {
            let forms = words::alternatives(self.program, node, keyword);
            match fitting {
                0 => format!("expected {forms}"),
                _ => format!("expected only one form to fit ({forms})"),
            }
        });
        Ok(false)
    }

    /// Returns the faults of the only branch of a union that the tree could not rule out.
    fn meant(
        &mut self,
        branches: &[Id],
        value: &Json<'_>,
        at: &At<'_>,
    ) -> Result<Option<Vec<Fault>>, Spent> {
        let mut meant = None;
        for branch in branches {
            let mut faults = Some(Vec::new());
            self.check(*branch, value, at, None, &mut faults)?;
            let faults = faults.unwrap_or_default();
            if faults.iter().all(|fault| fault.unread) && meant.replace(faults).is_some() {
                return Ok(None);
            }
        }
        Ok(meant)
    }

    fn condition<'v>(
        &mut self,
        (condition, then, otherwise): (Id, Option<Id>, Option<Id>),
        value: &'v Json<'_>,
        at: &At<'_>,
        mut seen: Option<&mut Seen<'v>>,
        out: &mut Out,
    ) -> Result<bool, Spent> {
        let fits = self.check(condition, value, at, seen.as_deref_mut(), &mut None)?;
        match if fits { then } else { otherwise } {
            Some(id) => self.apart(|run| run.check(id, value, at, seen, out)),
            None => Ok(true),
        }
    }

    /// Tells, unless it holds, what the whole schema object expects.
    fn judged(&self, holds: bool, node: &Node, at: &At<'_>, out: &mut Out) -> Result<bool, Spent> {
        if !holds {
            self.tell(out, at, None, true, || words::all(self.program, node));
        }
        Ok(holds)
    }

    fn tell(
        &self,
        out: &mut Out,
        at: &At<'_>,
        name: Option<&str>,
        shows: bool,
        text: impl FnOnce() -> String,
    ) {
        let Some(faults) = out.as_mut().filter(|faults| faults.len() < FAULTS) else {
            return;
        };
        let mut steps = Vec::new();
        at.steps(&mut steps);
        steps.extend(name.map(str::to_owned));
        let before = self.worded.replace(self.worded.get() + 1);
        let text = match before < WORDED {
            true => text(),
            false => "expected another value".to_owned(),
        };
        faults.push(Fault {
            steps,
            text,
            shows,
            unread: self.unread,
        });
    }

    fn tell_unread(
        &mut self,
        out: &mut Out,
        at: &At<'_>,
        name: Option<&str>,
        shows: bool,
        text: impl FnOnce() -> String,
    ) {
        let before = std::mem::replace(&mut self.unread, true);
        self.tell(out, at, name, shows, text);
        self.unread = before;
    }

    /// Runs what stands behind a keyword that the tree does not read.
    fn apart<T>(&mut self, check: impl FnOnce(&mut Self) -> Result<T, Spent>) -> Result<T, Spent> {
        let before = std::mem::replace(&mut self.unread, true);
        let outcome = check(self);
        self.unread = before;
        outcome
    }

    fn finds(&mut self, pattern: &Pattern, text: &str) -> Result<bool, Spent> {
        self.spend(pattern.steps(text))?;
        pattern.is_match(text).ok_or(Spent)
    }

    fn spend(&mut self, steps: usize) -> Result<(), Spent> {
        self.left = self.left.checked_sub(steps).ok_or(Spent)?;
        Ok(())
    }
}

impl Rule {
    /// Tells whether the rule applies schemas to the value itself.
    fn applies_here(&self) -> bool {
        matches!(
            self,
            Rule::Ref(_)
                | Rule::Dynamic(..)
                | Rule::All(_)
                | Rule::Any(_)
                | Rule::One(_)
                | Rule::If(..)
                | Rule::Dependent(..)
        )
    }
}

/// Returns the steps that a rule is, beside the one of its schema object: it may look at each part of the value, but only some
/// read a text or a number.
fn extent(rule: &Rule, value: &Json<'_>) -> usize {
    match (rule, value) {
        (Rule::Members(members), Json::String(_) | Json::Number(_)) => {
            members.len().saturating_mul(letters(value))
        }
        (Rule::Length(..), Json::String(_)) => letters(value),
        (Rule::Type(_) | Rule::Least(..) | Rule::Most(..) | Rule::Step(_), Json::Number(_)) => {
            letters(value)
        }
        (_, Json::Array(items)) => items.len(),
        (_, Json::Object(members)) => members.len(),
        _ => 0,
    }
}

/// Returns the steps that it is to read the texts and numbers of a value.
fn letters(value: &Json<'_>) -> usize {
    match value {
        Json::String(text) | Json::Number(text) => text.len() / LETTERS,
        Json::Array(items) => items.iter().map(letters).sum(),
        Json::Object(members) => {
            let of =
                |(name, value): &(Cow<'_, str>, Json<'_>)| name.len() / LETTERS + letters(value);
            members.iter().map(of).sum()
        }
        Json::Null | Json::Bool(_) => 0,
    }
}

fn kind(value: &Json<'_>) -> Types {
    match value {
        Json::Null => Types::NULL,
        Json::Bool(_) => Types::BOOLEAN,
        Json::Number(text) if Decimal::new(text).is_whole() => Types::INTEGER,
        Json::Number(_) => Types::FRACTION,
        Json::String(_) => Types::STRING,
        Json::Array(_) => Types::ARRAY,
        Json::Object(_) => Types::OBJECT,
    }
}

/// Returns about where the stack ends.
#[inline(never)]
fn stack() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::schema::foreign::Complete;

    #[test]
    fn only_what_reads_a_text_or_number_is_charged_for_its_length() {
        let judged = |schema, value| {
            let complete = Complete::new(&schema, &BTreeMap::new()).unwrap().unwrap();
            let faults = complete.faults(&value, false);
            faults.into_iter().map(|fault| fault.text).next()
        };
        let spent = Some("too much to check; send less".to_owned());
        let text = |letters: usize| Json::from_value(&json!("a".repeat(letters)));
        let again = |schema| json!({"$defs": {"a": schema}, "allOf": vec![json!({"$ref": "#/$defs/a"}); 500]});
        // Five hundred references to a text of a million letters look at none of them.
        let plain = again(json!({"anyOf": [{"type": "string"}]}));
        assert_eq!(judged(plain, text(1_000_000)), None);
        assert_eq!(
            judged(json!({"minLength": 1, "pattern": "a$"}), text(27_000_000)),
            None
        );
        assert_eq!(
            judged(again(json!({"minLength": 1})), text(1_000_000)),
            spent
        );
        let number = Json::Number("1".repeat(1_000_000).into());
        assert_eq!(
            judged(json!({"type": "integer", "minimum": 1}), number.clone()),
            None
        );
        assert_eq!(judged(again(json!({"minimum": 1})), number), spent);
        // A look around that reads to the end from everywhere is as much as the square of the text.
        let far = json!({"pattern": "(?=[^b]*c)x"});
        assert_eq!(
            judged(far.clone(), text(1_000)),
            Some("expected string matching `(?=[^b]*c)x`".to_owned())
        );
        assert_eq!(judged(far, text(1_000_000)), spent);
        assert_eq!(judged(json!({"pattern": "^(?!b)"}), text(1_000_000)), None);
    }

    #[test]
    fn what_is_told_of_branches_is_bounded_too() {
        let branch = json!({"allOf": vec![json!({"not": {}}); 50]});
        let schema = json!({"items": {"anyOf": [branch, {"type": "null"}]}});
        let complete = Complete::new(&schema, &BTreeMap::new());
        let value = Json::from_value(&json!(vec![1; 100]));
        let faults = complete.unwrap().unwrap().faults(&value, false);
        assert!((FAULTS..FAULTS + 50).contains(&faults.len()));
    }

    #[test]
    fn words_are_found_for_so_many_faults_alone() {
        let branches: Vec<_> = (0..20).map(|at| json!({"const": at})).collect();
        let schema = json!({"items": {"anyOf": branches}});
        let complete = Complete::new(&schema, &BTreeMap::new());
        let value = Json::from_value(&json!(vec!["a"; 100]));
        let faults = complete.unwrap().unwrap().faults(&value, false);
        let worded = faults
            .iter()
            .filter(|it| it.text != "expected another value");
        // One a branch, and one of all of them.
        assert_eq!((faults.len(), worded.count()), (100, WORDED / 21));
    }

    #[test]
    fn a_search_that_may_go_back_and_a_list_of_names_are_many_steps() {
        let asked = |schema, times: usize, value| {
            let again = vec![json!({"$ref": "#/$defs/again"}); times];
            let schema = json!({"$defs": {"again": schema}, "allOf": again});
            let complete = Complete::new(&schema, &BTreeMap::new());
            let faults = complete
                .unwrap()
                .unwrap()
                .faults(&Json::from_value(&value), false);
            faults.into_iter().map(|fault| fault.text).next()
        };
        let spent = Some("too much to check; send less".to_owned());
        let backtracking = json!({"pattern": "^(?!b)"});
        assert_eq!(asked(json!({"pattern": "^a"}), 500, json!("a")), None);
        assert_eq!(asked(backtracking.clone(), 50, json!("a")), None);
        assert_eq!(asked(backtracking, 500, json!("a")), spent);
        let named = json!({"patternProperties": {"^(?!b)": {}}});
        assert_eq!(asked(named, 500, json!({"a": 1})), spent);
        let names: Vec<String> = (0..1_000).map(|at| at.to_string()).collect();
        let required = json!({"not": {"required": names}});
        assert_eq!(asked(required.clone(), 50, json!({"a": 1})), None);
        assert_eq!(asked(required, 500, json!({"a": 1})), spent);
    }
}
