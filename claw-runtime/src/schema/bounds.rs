//! What limits a value beyond its kind: the same data is schema, check and message.

use std::fmt;

use super::format;
use super::input::ToolInput;
use super::node::{Kind, Node, Source};
use super::number::Decimal;
use super::pattern::Pattern;

/// A number of a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Num {
    /// Whole.
    Int(i128),
    /// With a fraction.
    Float(f64),
}

impl Num {
    #[expect(
        clippy::cast_precision_loss,
        reason = "bounds of floats are compared as floats"
    )]
    pub(crate) const fn as_f64(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }
}

/// What a number must be a multiple of: `count` units of the last of `places` decimal places, so `0.25` is 25 with two.
/// Exact, as a float is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Units; above zero.
    pub count: u64,
    /// Decimal places, at most 18.
    pub places: u32,
}

impl Step {
    /// Tells whether a whole number is a multiple.
    pub(crate) const fn divides(self, number: i128) -> bool {
        if self.count == 0 {
            return false;
        }
        // Remainders of 64 bits: their product has room.
        let unit = 10_u128.pow(self.places) % self.count as u128;
        let rest = number.unsigned_abs() % self.count as u128;
        (rest * unit).is_multiple_of(self.count as u128)
    }

    /// Tells whether a float is a multiple, as the shortest decimal that stands for it.
    fn divides_float(self, number: f64) -> bool {
        let [number, step] = [number.to_string(), self.to_string()].map(|text| Decimal::new(&text));
        self.count != 0 && number.is_multiple_of(&step)
    }
}

/// Writes the decimal number.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = 10_u64.pow(self.places);
        write!(f, "{}", self.count / unit)?;
        if self.places > 0 {
            let places = self.places as usize;
            write!(f, ".{:0places$}", self.count % unit)?;
        }
        Ok(())
    }
}

/// A constant of any number type, on its way to a [`Num`].
pub struct NumOf<T>(pub T);

macro_rules! numbers {
    ($($t:ty as $form:ident($as:ty);)*) => {$(
        impl NumOf<$t> {
            /// Returns the number.
            pub const fn num(&self) -> Num {
                Num::$form(self.0 as $as)
            }
        }
    )*};
}

numbers! {
    i8 as Int(i128);
    i16 as Int(i128);
    i32 as Int(i128);
    i64 as Int(i128);
    i128 as Int(i128);
    isize as Int(i128);
    u8 as Int(i128);
    u16 as Int(i128);
    u32 as Int(i128);
    u64 as Int(i128);
    usize as Int(i128);
    f32 as Float(f64);
    f64 as Float(f64);
}

/// What limits a value beyond its kind. The same data is schema and check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The least number.
    pub min: Option<Num>,
    /// The greatest number.
    pub max: Option<Num>,
    /// Whether `max` itself is out.
    pub below_max: bool,
    /// What a number must be a multiple of. Of a float only the slow path sees the exact number.
    pub multiple_of: Option<Step>,
    /// The least count of characters, items or members.
    pub min_len: Option<usize>,
    /// The greatest count of characters, items or members.
    pub max_len: Option<usize>,
    /// The texts allowed; empty for any.
    pub one_of: &'static [&'static str],
    /// The whole numbers allowed; empty for any.
    pub numbers: &'static [i128],
    /// What a text must match somewhere.
    pub pattern: Option<Pattern>,
    /// The word of JSON Schema's `format` that a text must keep to, or empty.
    pub format: &'static str,
    /// Whether no item may come twice. Only the slow path checks it: it takes equal values, however they are written.
    pub unique: bool,
    /// What each item must keep to.
    pub items: Option<&'static Bounds>,
}

impl Bounds {
    /// No limits.
    pub const NONE: Self = Self {
        min: None,
        max: None,
        below_max: false,
        multiple_of: None,
        min_len: None,
        max_len: None,
        one_of: &[],
        numbers: &[],
        pattern: None,
        format: "",
        unique: false,
        items: None,
    };

    /// Returns the bounds of whole numbers.
    pub const fn integers(min: Option<i128>, max: Option<i128>) -> Self {
        let mut bounds = Self::NONE;
        if let Some(min) = min {
            bounds.min = Some(Num::Int(min));
        }
        if let Some(max) = max {
            bounds.max = Some(Num::Int(max));
        }
        bounds
    }

    /// Returns the bounds of a count.
    pub const fn len(min: usize, max: usize) -> Self {
        let mut bounds = Self::NONE;
        bounds.min_len = Some(min);
        bounds.max_len = Some(max);
        bounds
    }

    /// Returns both bounds together.
    pub const fn tightened(self, over: Self) -> Self {
        let min = match (self.min, over.min) {
            (Some(own), Some(over)) if own.as_f64() > over.as_f64() => Some(own),
            (own, None) => own,
            (_, over) => over,
        };
        let (max, below_max) = match (self.max, over.max) {
            (Some(own), Some(max)) if own.as_f64() < max.as_f64() => (Some(own), self.below_max),
            (own, None) => (own, self.below_max),
            (_, max) => (max, over.below_max),
        };
        let min_len = match (self.min_len, over.min_len) {
            (Some(own), Some(over)) if own > over => Some(own),
            (own, None) => own,
            (_, over) => over,
        };
        let max_len = match (self.max_len, over.max_len) {
            (Some(own), Some(over)) if own < over => Some(own),
            (own, None) => own,
            (_, over) => over,
        };
        let multiple_of = match over.multiple_of {
            Some(step) => Some(step),
            None => self.multiple_of,
        };
        Self {
            min,
            max,
            below_max,
            multiple_of,
            min_len,
            max_len,
            one_of: if over.one_of.is_empty() {
                self.one_of
            } else {
                over.one_of
            },
            numbers: if over.numbers.is_empty() {
                self.numbers
            } else {
                over.numbers
            },
            pattern: match over.pattern {
                Some(pattern) => Some(pattern),
                None => self.pattern,
            },
            format: if over.format.is_empty() {
                self.format
            } else {
                over.format
            },
            unique: self.unique || over.unique,
            items: match over.items {
                Some(items) => Some(items),
                None => self.items,
            },
        }
    }

    /// Tells whether any number and any count keeps within.
    pub const fn is_possible(&self) -> bool {
        let numbers = match (self.min, self.max) {
            (Some(min), Some(max)) if self.below_max => min.as_f64() < max.as_f64(),
            (Some(min), Some(max)) => min.as_f64() <= max.as_f64(),
            _ => true,
        };
        let counts = match (self.min_len, self.max_len) {
            (Some(min), Some(max)) => min <= max,
            _ => true,
        };
        numbers && counts
    }

    pub(crate) fn allows_len(&self, count: impl FnOnce() -> usize) -> bool {
        if self.min_len.is_none() && self.max_len.is_none() {
            return true;
        }
        let count = count();
        self.min_len.is_none_or(|min| count >= min) && self.max_len.is_none_or(|max| count <= max)
    }

    pub(crate) fn allows_text(&self, text: &str) -> bool {
        self.allows_len(|| text.chars().count())
            && (self.one_of.is_empty() || self.one_of.contains(&text))
            && self.pattern.is_none_or(|pattern| pattern.is_match(text))
            && (self.format.is_empty() || format::holds(self.format, text))
    }

    /// Tells whether every item keeps within the bounds of items.
    pub(crate) fn allows_items<'a, T: ToolInput + 'a>(
        &self,
        items: impl IntoIterator<Item = &'a T>,
    ) -> bool {
        let Some(bounds) = self.items else {
            return true;
        };
        items.into_iter().all(|item| item.fits(bounds))
    }

    pub(crate) fn allows_int(&self, value: i128) -> bool {
        let at_least = |min| match min {
            Num::Int(min) => value >= min,
            Num::Float(_) => Num::Int(value).as_f64() >= min.as_f64(),
        };
        let at_most = |max| match max {
            Num::Int(max) if self.below_max => value < max,
            Num::Int(max) => value <= max,
            Num::Float(_) => self.below(Num::Int(value).as_f64(), max.as_f64()),
        };
        self.min.is_none_or(at_least)
            && self.max.is_none_or(at_most)
            && self.multiple_of.is_none_or(|step| step.divides(value))
            && (self.numbers.is_empty() || self.numbers.contains(&value))
    }

    pub(crate) fn allows_float(&self, value: f64) -> bool {
        self.min.is_none_or(|min| value >= min.as_f64())
            && self.max.is_none_or(|max| self.below(value, max.as_f64()))
            && self
                .multiple_of
                .is_none_or(|step| step.divides_float(value))
    }

    fn below(&self, value: f64, max: f64) -> bool {
        value < max || (value <= max && !self.below_max)
    }
}

/// Tells whether a declared bound means something for values of `source`.
///
/// `#[tool]` asserts it at compile time for every constraint it sees.
pub const fn takes(source: Source, what: Constraint) -> bool {
    let Some(mut node) = source.node else {
        return false;
    };
    while let Kind::Optional(inner) = node.kind {
        node = inner;
    }
    match what {
        Constraint::Range => matches!(node.kind, Kind::Integer | Kind::Number),
        Constraint::MultipleOf => matches!(node.kind, Kind::Integer | Kind::Number),
        Constraint::Len => matches!(
            node.kind,
            Kind::String(_) | Kind::Array(_) | Kind::Set(_) | Kind::Map(_)
        ),
        Constraint::OneOf | Constraint::Pattern => matches!(node.kind, Kind::String(_)),
        // A type with a format of its own checks that.
        Constraint::Format => matches!(node.kind, Kind::String(own) if own.is_empty()),
        Constraint::Numbers => matches!(node.kind, Kind::Integer),
        Constraint::Unique | Constraint::Items => {
            matches!(node.kind, Kind::Array(_) | Kind::Set(_))
        }
    }
}

/// Returns where the items of an array come from; nowhere for anything else.
pub const fn items(source: Source) -> Source {
    let mut node = source.node;
    while let Some(Node {
        kind: Kind::Optional(inner),
        ..
    }) = node
    {
        node = Some(inner);
    }
    Source {
        node: match node {
            Some(Node {
                kind: Kind::Array(item) | Kind::Set(item),
                ..
            }) => Some(item),
            _ => None,
        },
        need: None,
    }
}

/// Tells whether any value of `source` keeps within `over` too.
pub const fn is_possible(source: Source, over: Bounds) -> bool {
    let Some(mut node) = source.node else {
        return true;
    };
    while let Kind::Optional(inner) = node.kind {
        node = inner;
    }
    node.bounds.tightened(over).is_possible()
}

/// A kind of constraint on a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// Least and greatest number.
    Range,
    /// What a number must be a multiple of.
    MultipleOf,
    /// Least and greatest count.
    Len,
    /// The texts allowed.
    OneOf,
    /// The whole numbers allowed.
    Numbers,
    /// What a text must match.
    Pattern,
    /// What a text must keep to.
    Format,
    /// That no item comes twice.
    Unique,
    /// What each item must keep to.
    Items,
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn step(count: u64, places: u32) -> Step {
        Step { count, places }
    }

    #[test]
    fn a_step_is_written_as_a_decimal_number() {
        let cases = [
            ((5, 0), "5"),
            ((1, 2), "0.01"),
            ((25, 1), "2.5"),
            ((105, 2), "1.05"),
        ];
        for ((count, places), text) in cases {
            assert_eq!(step(count, places).to_string(), text);
        }
    }

    #[test]
    fn multiples_of_a_fraction_are_exact() {
        let cent = Bounds {
            multiple_of: Some(step(1, 2)),
            ..Bounds::NONE
        };
        // As floats, 0.07 % 0.01 and 1.1 % 0.01 leave a rest.
        for number in [0.0, 0.07, 1.1, -19.99, 1e15, 4.35] {
            assert!(cent.allows_float(number), "{number}");
        }
        for number in [0.001, 0.075, 1.005, -0.123] {
            assert!(!cent.allows_float(number), "{number}");
        }
        assert!(cent.allows_int(i128::MAX) && cent.allows_int(-3));
        // 7 and 21 are multiples of 1.75 by four and by twelve; 8 is none.
        assert!(step(175, 2).divides(7) && step(175, 2).divides(-21) && !step(175, 2).divides(8));
        assert!(step(u64::MAX, 18).divides(0) && !step(u64::MAX, 18).divides(1));
    }
}
