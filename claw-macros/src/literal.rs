//! Literals in attributes: numbers, ranges, durations, and their JSON text.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, ExprLit, Lit, RangeLimits, UnOp};

/// A number as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    /// Reads a number, with a sign or without.
    pub(crate) fn of(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Lit(ExprLit {
                lit: Lit::Int(int), ..
            }) => int.base10_parse().ok().map(Self::Int),
            Expr::Lit(ExprLit {
                lit: Lit::Float(float),
                ..
            }) => float.base10_parse().ok().map(Self::Float),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
                match Self::of(&unary.expr)? {
                    Self::Int(int) => Some(Self::Int(-int)),
                    Self::Float(float) => Some(Self::Float(-float)),
                }
            }
            Expr::Group(group) => Self::of(&group.expr),
            Expr::Paren(paren) => Self::of(&paren.expr),
            _ => None,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "only compared")]
    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    /// Returns the number as JSON text.
    pub(crate) fn json(self) -> String {
        match self {
            Self::Int(int) => int.to_string(),
            Self::Float(float) => float.to_string(),
        }
    }

    /// Returns the tokens of a `Num`.
    pub(crate) fn tokens(self, p: &TokenStream) -> TokenStream {
        match self {
            Self::Int(int) => {
                let int = proc_macro2::Literal::i128_unsuffixed(int);
                quote!(#p::Num::Int(#int))
            }
            Self::Float(float) => quote!(#p::Num::Float(#float)),
        }
    }
}

/// A range as written; whether the end is in stands apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub(crate) min: Option<Number>,
    pub(crate) max: Option<Number>,
    pub(crate) below_max: bool,
}

impl Range {
    /// Reads a range of literals.
    pub(crate) fn of(expr: &Expr) -> Option<Self> {
        let Expr::Range(range) = expr else {
            return None;
        };
        let end = |expr: &Option<Box<Expr>>| match expr {
            Some(expr) => Number::of(expr).map(Some),
            None => Some(None),
        };
        Some(Self {
            min: end(&range.start)?,
            max: end(&range.end)?,
            below_max: range.end.is_some() && matches!(range.limits, RangeLimits::HalfOpen(_)),
        })
    }

    /// Tells whether no number is in the range.
    pub(crate) fn is_empty(self) -> bool {
        match (self.min, self.max) {
            (Some(min), Some(max)) if self.below_max => min.as_f64() >= max.as_f64(),
            (Some(min), Some(max)) => min.as_f64() > max.as_f64(),
            _ => false,
        }
    }

    /// Tells whether `number` is in the range.
    pub(crate) fn holds(self, number: Number) -> bool {
        let number = number.as_f64();
        self.min.is_none_or(|min| min.as_f64() <= number)
            && self.max.is_none_or(|max| {
                number < max.as_f64() || (number <= max.as_f64() && !self.below_max)
            })
    }

    /// Returns the least and the greatest count the range holds, when its ends are counts.
    pub(crate) fn counts(self) -> Option<(Option<usize>, Option<usize>)> {
        let count = |number: Option<Number>| match number {
            None => Some(None),
            Some(Number::Int(int)) => usize::try_from(int).ok().map(Some),
            Some(Number::Float(_)) => None,
        };
        let max = count(self.max)?;
        let max = match max {
            Some(max) if self.below_max => Some(max.checked_sub(1)?),
            max => max,
        };
        Some((count(self.min)?, max))
    }
}

/// Reads `10s`, `500ms`, `2m`, `1h`.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let count: u64 = text[..digits].parse().ok()?;
    let millis = match text[digits..].trim() {
        "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    count.checked_mul(millis).map(Duration::from_millis)
}

/// Returns `text` as JSON.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("10s"), Some(Duration::from_secs(10)));
        assert_eq!(duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(duration("2 m"), Some(Duration::from_secs(120)));
        assert_eq!(duration("10"), None);
        assert_eq!(duration("s"), None);
        assert_eq!(duration("99999999999999999h"), None);
    }

    #[test]
    fn ranges_keep_their_ends() {
        let range = Range::of(&parse_quote!(-5..10)).unwrap();
        assert_eq!(range.min, Some(Number::Int(-5)));
        assert!(range.holds(Number::Int(9)) && !range.holds(Number::Int(10)));
        let counts = Range::of(&parse_quote!(1..=80)).unwrap().counts();
        assert_eq!(counts, Some((Some(1), Some(80))));
        assert!(Range::of(&parse_quote!(10..=5)).unwrap().is_empty());
        assert_eq!(Range::of(&parse_quote!(1..=MAX)), None);
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(quoted("a\"\\\n\u{1}é"), "\"a\\\"\\\\\\n\\u0001é\"");
    }
}
