//! Bounds compared: of lengths and counts, and of numbers.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Number, Value};

use super::change::Kind;
use super::schema::Comparison;
use super::view::{Types, View};

/// Compares the least and the greatest count.
pub(super) fn counts<'a>(
    comparison: &mut Comparison<'a>,
    old: &View<'a>,
    new: &View<'a>,
    at: &str,
    [least, most]: [&str; 2],
) {
    let count = |view: &View<'_>, keyword| view.get(keyword).and_then(Value::as_u64);
    let above_zero = |view| count(view, least).filter(|count| *count > 0);
    bound(
        comparison,
        at,
        least,
        above_zero(old),
        above_zero(new),
        Ordering::Greater,
    );
    bound(
        comparison,
        at,
        most,
        count(old, most),
        count(new, most),
        Ordering::Less,
    );
}

/// Compares the bounds and steps of numbers.
pub(super) fn numbers<'a>(
    comparison: &mut Comparison<'a>,
    old: &View<'a>,
    new: &View<'a>,
    at: &str,
    common: Types,
) {
    let whole = common == Types::INTEGER;
    let least =
        |view: &View<'a>| End::tightest(view, "minimum", "exclusiveMinimum", Side::Low, whole);
    let most =
        |view: &View<'a>| End::tightest(view, "maximum", "exclusiveMaximum", Side::High, whole);
    bound(
        comparison,
        at,
        "minimum",
        least(old),
        least(new),
        Ordering::Greater,
    );
    bound(
        comparison,
        at,
        "maximum",
        most(old),
        most(new),
        Ordering::Less,
    );
    let step = |view: &View<'_>| view.get("multipleOf").and_then(Value::as_f64);
    let (before, after) = (step(old), step(new));
    let kind = match (before, after) {
        (Some(before), Some(after)) if before % after == 0.0 => Kind::Additive,
        (Some(_), None) => Kind::Additive,
        _ => Kind::Breaking,
    };
    comparison
        .changes
        .maybe(kind, at, "multipleOf", before, after);
}

/// Adds what happened to a bound, which is tighter when it compares as `tighter` to the one before.
fn bound<T: PartialOrd + fmt::Display>(
    comparison: &mut Comparison<'_>,
    at: &str,
    what: &str,
    before: Option<T>,
    after: Option<T>,
    tighter: Ordering,
) {
    let kind = match (&before, &after) {
        (Some(before), Some(after)) if after.partial_cmp(before) != Some(tighter) => Kind::Additive,
        (_, None) => Kind::Additive,
        _ => Kind::Breaking,
    };
    comparison.changes.maybe(kind, at, what, before, after);
}

/// Which end of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    Low,
    High,
}

/// One end of a range of numbers.
#[derive(Clone, Debug)]
struct End<'a> {
    value: &'a Number,
    exclusive: bool,
    side: Side,
    /// Whether only integers lie in the range: `> 4` is `>= 5` then.
    whole: bool,
}

impl<'a> End<'a> {
    fn tightest(
        view: &View<'a>,
        inclusive: &str,
        exclusive: &str,
        side: Side,
        whole: bool,
    ) -> Option<Self> {
        let end = |keyword, exclusive| {
            let value = view.get(keyword)?.as_number()?;
            Some(Self {
                value,
                exclusive,
                side,
                whole,
            })
        };
        let (Some(inclusive), Some(exclusive)) = (end(inclusive, false), end(exclusive, true))
        else {
            return end(inclusive, false).or(end(exclusive, true));
        };
        let tighter = match side {
            Side::Low => Ordering::Less,
            Side::High => Ordering::Greater,
        };
        Some(if inclusive.partial_cmp(&exclusive) == Some(tighter) {
            exclusive
        } else {
            inclusive
        })
    }

    /// Returns the integer at this end, where it is one.
    fn integer(&self) -> Option<i128> {
        let value = self.value.as_i128()?;
        Some(match (self.exclusive && self.whole, self.side) {
            (false, _) => value,
            (true, Side::Low) => value + 1,
            (true, Side::High) => value - 1,
        })
    }

    /// Returns how far the end is moved into the range: an exclusive one leaves its own value out.
    fn inset(&self) -> i8 {
        match (self.exclusive && !self.whole, self.side) {
            (false, _) => 0,
            (true, Side::Low) => 1,
            (true, Side::High) => -1,
        }
    }
}

impl PartialEq for End<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for End<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let values = match (self.integer(), other.integer()) {
            (Some(one), Some(two)) => one.cmp(&two),
            _ => self.value.as_f64()?.partial_cmp(&other.value.as_f64()?)?,
        };
        Some(values.then(self.inset().cmp(&other.inset())))
    }
}

impl fmt::Display for End<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.exclusive, self.side) {
            (false, _) => {}
            (true, Side::Low) => f.write_str("above ")?,
            (true, Side::High) => f.write_str("below ")?,
        }
        write!(f, "{}", self.value)
    }
}
