//! The constraints of `#[arg(…)]`: each is schema, check and message at once. The same keys, inside `items(…)`, bind
//! every item of a list.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Expr;

use crate::errors::Errors;
use crate::keys::{Entry, Value, nearest};
use crate::literal::{Literal, Number, Step};
use crate::pattern;
use crate::range::Range;

/// The keys of constraints.
pub(crate) const KEYS: &[&str] = &[
    "range",
    "len",
    "multiple_of",
    "one_of",
    "pattern",
    "format",
    "unique",
    "items",
];

/// The formats claw checks.
const FORMATS: &[&str] = &[
    "date",
    "time",
    "date-time",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uuid",
];

/// The most values `one_of` may list: providers stop at a thousand in all.
const MOST_VALUES: usize = 500;

/// What a value must keep to.
#[derive(Default)]
pub(crate) struct Rules {
    range: Option<(Span, Range)>,
    len: Option<(Span, Range)>,
    multiple_of: Option<(Span, Step)>,
    one_of: Option<(Span, OneOf)>,
    pattern: Option<(Span, String)>,
    format: Option<(Span, String)>,
    unique: Option<Span>,
    items: Option<(Span, Box<Rules>)>,
}

/// The values allowed.
enum OneOf {
    Texts(Vec<String>),
    Numbers(Vec<i128>),
}

impl Rules {
    /// Reads one key; tells whether it is one of ours.
    pub(crate) fn read(&mut self, entry: &Entry, errors: &mut Errors) -> bool {
        let at = entry.span();
        match entry.key.to_string().as_str() {
            "range" => self.range = range(entry, errors).map(|range| (at, range)),
            "len" => self.len = len(entry, errors).map(|range| (at, range)),
            "multiple_of" => {
                let step = entry.one().and_then(Number::of).and_then(Step::of);
                if step.is_none() {
                    errors.push(
                        at,
                        "expected a number above zero, of at most 18 decimal places: write `multiple_of = 5` or `multiple_of = 0.01`",
                    );
                }
                self.multiple_of = step.map(|step| (at, step));
            }
            "one_of" => self.one_of = one_of(entry, errors).map(|values| (at, values)),
            "pattern" => {
                self.pattern = entry.text(errors).map(|text| (at, text));
                if let Some((_, text)) = &self.pattern
                    && let Err(fault) = pattern::check(text)
                {
                    errors.push(entry.value_span(), fault);
                }
            }
            "format" => {
                self.format = entry.text(errors).map(|text| (at, text));
                if let Some((_, text)) = &self.format
                    && !FORMATS.contains(&text.as_str())
                {
                    errors.push(
                        entry.value_span(),
                        format_args!(
                            "expected one of `{}`{}",
                            FORMATS.join("`, `"),
                            nearest(text, FORMATS)
                        ),
                    );
                }
            }
            "unique" => self.unique = entry.flag(errors).then_some(at),
            "items" => {
                let mut rules = Self::default();
                for entry in entry.entries(errors) {
                    if !rules.read(&entry, errors) {
                        entry.unknown(KEYS, errors);
                    }
                }
                self.items = Some((at, Box::new(rules)));
            }
            _ => return false,
        }
        true
    }

    /// Tells whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        let Self {
            range,
            len,
            multiple_of,
            one_of,
            ..
        } = self;
        range.is_none()
            && len.is_none()
            && multiple_of.is_none()
            && one_of.is_none()
            && self.items.is_none()
            && !self.need_run_time()
    }

    /// Tells whether there is one that the compiler cannot hold a literal against.
    pub(crate) fn need_run_time(&self) -> bool {
        self.pattern.is_some()
            || self.format.is_some()
            || self.unique.is_some()
            || self
                .items
                .as_ref()
                .is_some_and(|(_, rules)| rules.need_run_time())
    }

    /// Returns why a literal breaks a rule that is known here; the compiler holds it against the others.
    pub(crate) fn fault(&self, literal: &Literal) -> Option<String> {
        #[expect(clippy::cast_precision_loss, reason = "counts are small")]
        let counted = |count: usize| match &self.len {
            Some((_, range)) if !range.holds(count as f64) => {
                Some("is outside the declared `len`".to_owned())
            }
            _ => None,
        };
        match literal {
            Literal::Number(number) => {
                if let Some((_, range)) = &self.range
                    && !range.holds(number.as_f64())
                {
                    return Some("is outside the declared `range`".to_owned());
                }
                if let Some((_, step)) = &self.multiple_of
                    && !step.divides(*number)
                {
                    return Some(format!("is no multiple of {}", step.number.json()));
                }
                let Number::Int(int) = number else {
                    return None;
                };
                match &self.one_of {
                    Some((_, OneOf::Numbers(numbers))) if !numbers.contains(int) => {
                        Some("is not in `one_of`".to_owned())
                    }
                    _ => None,
                }
            }
            Literal::Text(text) => match &self.one_of {
                Some((_, OneOf::Texts(texts))) if !texts.contains(text) => {
                    Some("is not in `one_of`".to_owned())
                }
                _ => counted(text.chars().count()),
            },
            Literal::List(items) => counted(items.len()).or_else(|| {
                let (_, rules) = self.items.as_ref()?;
                items.iter().find_map(|item| rules.fault(item))
            }),
            Literal::Boolean(_) => None,
        }
    }

    /// Returns the tokens of `Bounds`, where there are some.
    pub(crate) fn bounds(&self, p: &TokenStream) -> Option<TokenStream> {
        let mut fields = TokenStream::new();
        let mut field = |name: &str, value: TokenStream| {
            let name = Ident::new(name, Span::mixed_site());
            fields.extend(quote!(#name: #value,));
        };
        let some = |value: TokenStream| quote!(::core::option::Option::Some(#value));
        if let Some((_, range)) = &self.range {
            if let Some(min) = &range.min {
                field("min", some(min.number(p)));
            }
            if let Some(max) = &range.max {
                field("max", some(max.number(p)));
                let below = range.below_max;
                field("below_max", quote!(#below));
            }
        }
        if let Some((_, range)) = &self.len {
            if let Some(min) = &range.min {
                field("min_len", some(min.count(false)));
            }
            if let Some(max) = &range.max {
                field("max_len", some(max.count(range.below_max)));
            }
        }
        if let Some((_, step)) = &self.multiple_of {
            let (count, places) = (step.count, step.places);
            field(
                "multiple_of",
                some(quote!(#p::Step { count: #count, places: #places })),
            );
        }
        match &self.one_of {
            Some((_, OneOf::Texts(texts))) => field("one_of", quote!(&[#(#texts),*])),
            Some((_, OneOf::Numbers(numbers))) => {
                let numbers = numbers
                    .iter()
                    .map(|number| proc_macro2::Literal::i128_unsuffixed(*number));
                field("numbers", quote!(&[#(#numbers),*]));
            }
            None => {}
        }
        if let Some((_, text)) = &self.pattern {
            let compiled = quote!(|| {
                static __COMPILED: #p::Compiled = #p::Compiled::new();
                &__COMPILED
            });
            field(
                "pattern",
                some(quote!(#p::Pattern { text: #text, compiled: #compiled })),
            );
        }
        if let Some((_, text)) = &self.format {
            field("format", quote!(#text));
        }
        if self.unique.is_some() {
            field("unique", quote!(true));
        }
        if let Some((_, rules)) = &self.items
            && let Some(bounds) = rules.bounds(p)
        {
            field("items", some(quote!(&const { #bounds })));
        }
        (!fields.is_empty()).then(|| quote!(#p::Bounds { #fields ..#p::Bounds::NONE }))
    }

    /// Returns the assertions that the rules mean something for values of `source`; `what` names them.
    pub(crate) fn assertions(
        &self,
        source: &TokenStream,
        what: &str,
        p: &TokenStream,
    ) -> Vec<TokenStream> {
        let mut out = Vec::new();
        // A `len` of literals has been looked at already, and few types bring one of their own.
        let len = self.len.as_ref().filter(|(_, range)| !range.is_known());
        let at = self.range.as_ref().or(len).map(|(span, _)| *span);
        // One constant a rule: each is a function to the compiler.
        let source_at = |span: Span| Ident::new("source", Span::mixed_site().located_at(span));
        let mut possible = at.zip(self.bounds(p)).map(|(span, bounds)| {
            let message = format!(
                "{what} has no value that keeps to this: put the smaller end first, and stay within the type"
            );
            let value = source_at(span);
            quote_spanned!(span=> ::core::assert!(#p::is_possible(#value, #bounds), #message);)
        });
        let mut rule = |span: Option<Span>, kind: &str, key: &str, needs: &str| {
            let Some(span) = span else { return };
            let possible = possible.take_if(|_| matches!(kind, "Range" | "Len"));
            let kind = Ident::new(kind, Span::mixed_site());
            let message = format!("`{key}` needs {needs}; {what} is none");
            let assertion = |source: &TokenStream| quote_spanned!(span=> ::core::assert!(#p::takes(#source, #p::Constraint::#kind), #message));
            out.push(match possible {
                None => assertion(source),
                Some(possible) => {
                    let value = source_at(span);
                    let takes = assertion(&quote!(#value));
                    quote_spanned!(span=> { let #value = #source; #takes; #possible })
                }
            });
        };
        let at = |rule: &Option<(Span, Range)>| rule.as_ref().map(|(span, _)| *span);
        rule(at(&self.range), "Range", "range", "a number");
        rule(
            self.multiple_of.as_ref().map(|(span, _)| *span),
            "MultipleOf",
            "multiple_of",
            "a number",
        );
        rule(at(&self.len), "Len", "len", "text, an array or a map");
        match &self.one_of {
            Some((span, OneOf::Texts(_))) => rule(Some(*span), "OneOf", "one_of", "text"),
            Some((span, OneOf::Numbers(_))) => {
                rule(Some(*span), "Numbers", "one_of", "a whole number");
            }
            None => {}
        }
        let at = |rule: &Option<(Span, String)>| rule.as_ref().map(|(span, _)| *span);
        rule(at(&self.pattern), "Pattern", "pattern", "text");
        rule(
            at(&self.format),
            "Format",
            "format",
            "text without a format of its own",
        );
        rule(self.unique, "Unique", "unique", "an array");
        rule(
            self.items.as_ref().map(|(span, _)| *span),
            "Items",
            "items",
            "an array",
        );
        if let Some((_, rules)) = &self.items {
            let what = format!("an item of {what}");
            out.extend(rules.assertions(&quote!(#p::items(#source)), &what, p));
        }
        out
    }
}

fn range(entry: &Entry, errors: &mut Errors) -> Option<Range> {
    let range = match entry.one() {
        Some(expr @ Expr::Range(_)) => Range::of(expr),
        _ => None,
    };
    match range {
        Some(range) if range.is_empty() => {
            errors.push(
                entry.span(),
                "no number is in this range; put the smaller one first",
            );
            None
        }
        Some(range) => Some(range),
        None => {
            errors.push(
                entry.span(),
                "expected a range of numbers or constants: write `range = 1..=100`",
            );
            None
        }
    }
}

fn len(entry: &Entry, errors: &mut Errors) -> Option<Range> {
    let range = entry.one().and_then(Range::of).filter(Range::counts);
    match range {
        Some(range) if range.is_empty() => {
            errors.push(entry.span(), "no length is in this range");
            None
        }
        Some(range) => Some(range),
        None => {
            errors.push(
                entry.span(),
                "expected a range of lengths: write `len = 1..=80`",
            );
            None
        }
    }
}

fn one_of(entry: &Entry, errors: &mut Errors) -> Option<OneOf> {
    let values = match &entry.value {
        Value::List(list) => list.as_slice(),
        Value::One(one) => std::slice::from_ref(one),
        Value::None => &[],
    };
    let literals: Option<Vec<Literal>> = values.iter().map(Literal::of).collect();
    let literals = literals.unwrap_or_default();
    let texts: Option<Vec<String>> = literals
        .iter()
        .map(|literal| match literal {
            Literal::Text(text) => Some(text.clone()),
            _ => None,
        })
        .collect();
    let numbers: Option<Vec<i128>> = literals
        .iter()
        .map(|literal| match literal {
            Literal::Number(Number::Int(int)) => Some(*int),
            _ => None,
        })
        .collect();
    if literals.len() > MOST_VALUES {
        errors.push(
            entry.span(),
            format_args!("providers take at most {MOST_VALUES} values; use a `pattern` or check in the function"),
        );
        return None;
    }
    for (at, literal) in literals.iter().enumerate() {
        if literals[..at].contains(literal) {
            errors.push_on(&values[at], "this value is listed twice; keep one");
        }
    }
    match (texts, numbers) {
        _ if literals.is_empty() => {
            errors.push(
                entry.span(),
                "expected strings or whole numbers: write `one_of(\"…\")` or `one_of(1, 2)`",
            );
            None
        }
        (Some(texts), _) => Some(OneOf::Texts(texts)),
        (_, Some(numbers)) => Some(OneOf::Numbers(numbers)),
        _ => {
            errors.push(
                entry.span(),
                "expected values of one kind: all strings, or all whole numbers",
            );
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_breaks_the_rule_it_breaks() {
        let mut rules = Rules::default();
        let mut errors = Errors::default();
        for entry in [quote!(range = -5..10), quote!(multiple_of = 3)] {
            assert!(rules.read(&syn::parse2(entry).unwrap(), &mut errors));
        }
        let fault = |int| rules.fault(&Literal::Number(Number::Int(int)));
        assert_eq!(fault(9), None);
        assert_eq!(fault(10).unwrap(), "is outside the declared `range`");
        assert_eq!(fault(4).unwrap(), "is no multiple of 3");
        assert!(errors.into_tokens().is_none());
    }

    #[test]
    fn a_step_may_be_a_fraction() {
        let step = |number| Step::of(number).map(|step| (step.count, step.places));
        assert_eq!(step(Number::Float(0.01)), Some((1, 2)));
        assert_eq!(step(Number::Float(2.5)), Some((25, 1)));
        assert_eq!(step(Number::Int(5)), Some((5, 0)));
        for number in [Number::Int(0), Number::Float(-0.5), Number::Float(1e-19)] {
            assert_eq!(step(number), None);
        }
        let cent = Step::of(Number::Float(0.01)).unwrap();
        // As floats, 0.07 is no multiple of 0.01.
        assert!(cent.divides(Number::Float(0.07)) && cent.divides(Number::Int(3)));
        assert!(!cent.divides(Number::Float(0.075)));
    }
}
