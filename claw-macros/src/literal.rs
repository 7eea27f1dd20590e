//! Literals in attributes: numbers, texts, lists, durations, and their JSON text.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{BinOp, Expr, ExprLit, Lit, Token, UnOp};

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
            Expr::Binary(binary) => {
                let (Self::Int(left), Self::Int(right)) =
                    (Self::of(&binary.left)?, Self::of(&binary.right)?)
                else {
                    return None;
                };
                match binary.op {
                    BinOp::Add(_) => left.checked_add(right),
                    BinOp::Sub(_) => left.checked_sub(right),
                    BinOp::Mul(_) => left.checked_mul(right),
                    _ => None,
                }
                .map(Self::Int)
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

/// What a number must be a multiple of, exact: `count` units of the last of `places` decimal places.
pub(crate) struct Step {
    pub(crate) number: Number,
    pub(crate) count: u64,
    pub(crate) places: u32,
}

impl Step {
    /// Reads a number above zero, of at most 18 decimal places.
    pub(crate) fn of(number: Number) -> Option<Self> {
        let (count, places) = decimal(number)?;
        let count = u64::try_from(count).ok().filter(|count| *count > 0)?;
        Some(Self {
            number,
            count,
            places,
        })
    }

    /// Tells whether a number is a multiple; one that is too long to tell counts as one.
    pub(crate) fn divides(&self, number: Number) -> bool {
        let divides = || {
            let (number, places) = decimal(number)?;
            let most = places.max(self.places);
            let at =
                |count: i128, places: u32| count.checked_mul(10_i128.checked_pow(most - places)?);
            Some(at(number, places)? % at(self.count.into(), self.places)? == 0)
        };
        divides().unwrap_or(true)
    }
}

/// Returns a number as a count of units of its last decimal place, and the number of places: at most 18.
fn decimal(number: Number) -> Option<(i128, u32)> {
    let text = number.json();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let places = u32::try_from(fraction.len())
        .ok()
        .filter(|places| *places <= 18)?;
    Some((format!("{whole}{fraction}").parse().ok()?, places))
}

/// A literal of a default, an example or `meta`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Boolean(bool),
    Number(Number),
    Text(String),
    List(Vec<Literal>),
}

impl Literal {
    /// Reads a literal, or a list or tuple of them.
    pub(crate) fn of(expr: &Expr) -> Option<Self> {
        if let Some(number) = Number::of(expr) {
            return Some(Self::Number(number));
        }
        let list = |items: &Punctuated<Expr, Token![,]>| {
            let items: Option<Vec<Self>> = items.iter().map(Self::of).collect();
            items.map(Self::List)
        };
        match expr {
            Expr::Lit(ExprLit { lit, .. }) => match lit {
                Lit::Bool(flag) => Some(Self::Boolean(flag.value)),
                Lit::Str(text) => Some(Self::Text(text.value())),
                Lit::Char(char) => Some(Self::Text(char.value().to_string())),
                _ => None,
            },
            Expr::Array(array) => list(&array.elems),
            Expr::Tuple(tuple) => list(&tuple.elems),
            Expr::Reference(reference) => Self::of(&reference.expr),
            Expr::Group(group) => Self::of(&group.expr),
            Expr::Paren(paren) => Self::of(&paren.expr),
            _ => None,
        }
    }

    /// Returns the literal as JSON text.
    pub(crate) fn json(&self) -> String {
        match self {
            Self::Boolean(flag) => flag.to_string(),
            Self::Number(number) => number.json(),
            Self::Text(text) => quoted(text),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::json).collect();
                format!("[{}]", items.join(","))
            }
        }
    }

    /// Returns the tokens of a `Literal`.
    pub(crate) fn tokens(&self, p: &TokenStream) -> TokenStream {
        match self {
            Self::Boolean(flag) => quote!(#p::Literal::Boolean(#flag)),
            Self::Number(number) => {
                let number = number.tokens(p);
                quote!(#p::Literal::Number(#number))
            }
            Self::Text(text) => quote!(#p::Literal::Text(#text)),
            Self::List(items) => {
                let items = items.iter().map(|item| item.tokens(p));
                quote!(#p::Literal::List(&[#(#items),*]))
            }
        }
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
    fn literals_become_json() {
        let json = |expr: Expr| Literal::of(&expr).map(|literal| literal.json());
        assert_eq!(
            json(parse_quote!([1, -2, 8 * 1024])).unwrap(),
            "[1,-2,8192]"
        );
        assert_eq!(
            json(parse_quote!(("a", true, 0.5))).unwrap(),
            "[\"a\",true,0.5]"
        );
        assert_eq!(json(parse_quote!(MOST)), None);
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(quoted("a\"\\\n\u{1}é"), "\"a\\\"\\\\\\n\\u0001é\"");
    }
}
