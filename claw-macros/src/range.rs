//! Ranges in attributes: the ends are literals, or constants that only the compiler knows.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Expr, RangeLimits};

use crate::literal::Number;
use crate::property::located;

/// A range as written.
pub(crate) struct Range {
    pub(crate) min: Option<End>,
    pub(crate) max: Option<End>,
    pub(crate) below_max: bool,
}

/// An end of a range.
pub(crate) enum End {
    Known(Number),
    /// A constant expression.
    Const(Expr),
}

impl End {
    fn of(expr: &Expr) -> Self {
        match Number::of(expr) {
            Some(number) => Self::Known(number),
            None => Self::Const(expr.clone()),
        }
    }

    fn known(&self) -> Option<Number> {
        match self {
            Self::Known(number) => Some(*number),
            Self::Const(_) => None,
        }
    }

    /// Returns the tokens of the end as a `Num`.
    pub(crate) fn number(&self, p: &TokenStream) -> TokenStream {
        match self {
            Self::Known(number) => number.tokens(p),
            Self::Const(expr) => {
                let p = located(p, expr.span());
                quote_spanned!(expr.span()=> #p::NumOf(#expr).num())
            }
        }
    }

    /// Returns the tokens of the end as a count, one less where the end itself is out.
    pub(crate) fn count(&self, below: bool) -> TokenStream {
        let less = usize::from(below);
        match self {
            Self::Known(number) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "known ends of `len` are counts"
                )]
                let count = match number {
                    Number::Int(int) => *int as usize,
                    Number::Float(float) => *float as usize,
                };
                let count = count - less.min(count);
                quote!(#count)
            }
            Self::Const(expr) if below => quote!(#expr - #less),
            Self::Const(expr) => quote!(#expr),
        }
    }
}

impl Range {
    /// Reads a range; one number alone is the range of itself.
    pub(crate) fn of(expr: &Expr) -> Option<Self> {
        let end = |expr: &Option<Box<Expr>>| expr.as_deref().map(End::of);
        let range = match expr {
            Expr::Range(range) => Self {
                min: end(&range.start),
                max: end(&range.end),
                below_max: range.end.is_some() && matches!(range.limits, RangeLimits::HalfOpen(_)),
            },
            Expr::Lit(_) | Expr::Path(_) => Self {
                min: Some(End::of(expr)),
                max: Some(End::of(expr)),
                below_max: false,
            },
            _ => return None,
        };
        let literal = |end: &Option<End>| match end {
            Some(End::Const(expr)) => !matches!(expr, Expr::Lit(_)),
            _ => true,
        };
        (literal(&range.min) && literal(&range.max)).then_some(range)
    }

    /// Tells whether no number is in the range, as far as its ends are known here.
    pub(crate) fn is_empty(&self) -> bool {
        let known = |end: &Option<End>| end.as_ref().and_then(End::known).map(Number::as_f64);
        match (known(&self.min), known(&self.max)) {
            (Some(min), Some(max)) if self.below_max => min >= max,
            (Some(min), Some(max)) => min > max,
            _ => false,
        }
    }

    /// Tells whether a number is in the range, as far as its ends are known here.
    pub(crate) fn holds(&self, value: f64) -> bool {
        let known = |end: &Option<End>| end.as_ref().and_then(End::known).map(Number::as_f64);
        known(&self.min).is_none_or(|min| min <= value)
            && known(&self.max).is_none_or(|max| value < max || (value <= max && !self.below_max))
    }

    /// Tells whether both ends are known here.
    pub(crate) fn is_known(&self) -> bool {
        let known = |end: &Option<End>| end.as_ref().is_none_or(|end| end.known().is_some());
        known(&self.min) && known(&self.max)
    }

    /// Tells whether the ends that are known are counts.
    pub(crate) fn counts(&self) -> bool {
        let count = |end: &Option<End>| match end.as_ref().and_then(End::known) {
            Some(Number::Int(int)) => usize::try_from(int).is_ok(),
            Some(Number::Float(_)) => false,
            None => true,
        };
        count(&self.min) && count(&self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn ranges_keep_their_ends() {
        let range = |expr: Expr| Range::of(&expr);
        assert!(range(parse_quote!(10..=5)).unwrap().is_empty());
        assert!(!range(parse_quote!(1..=MAX)).unwrap().is_empty());
        assert!(range(parse_quote!(1..=80)).unwrap().counts());
        assert!(!range(parse_quote!(-1..)).unwrap().counts());
        assert!(range(parse_quote!("a".."b")).is_none());
    }
}
