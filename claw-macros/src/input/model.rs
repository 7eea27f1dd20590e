//! What we know of the type after parsing.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::visit_mut::VisitMut;
use syn::{Attribute, Data, DeriveInput, Fields};

use super::attr::{self, Container};
use super::case::Case;
use crate::arg::Arg;
use crate::docs;
use crate::errors::Errors;
use crate::property::{self, Property};

/// A type that becomes an argument.
pub(crate) struct Input {
    /// Whether it has generic parameters, which is refused.
    pub(crate) generic: bool,
    pub(crate) shape: Shape,
}

/// Its shape on the wire.
pub(crate) enum Shape {
    /// A struct.
    Struct(Body),
    /// An enum whose variants are words.
    Words(Vec<Variant>),
    /// An enum whose variants are told apart by how they are tagged.
    Union(Tagging, Vec<Variant>),
}

/// Where the name of a variant stands.
pub(crate) enum Tagging {
    /// `{"Go": {…}}`.
    External,
    /// `{"kind": "Go", …}`.
    Internal(String),
    /// `{"kind": "Go", "value": …}`.
    Adjacent(String, String),
}

/// A variant.
pub(crate) struct Variant {
    pub(crate) ident: Ident,
    /// Its name on the wire.
    pub(crate) name: String,
    pub(crate) aliases: Vec<String>,
    pub(crate) docs: String,
    pub(crate) body: Body,
}

/// What a struct or a variant holds.
pub(crate) enum Body {
    Unit,
    /// One value without a name.
    Newtype(Box<Property>),
    /// Named fields.
    Fields(Vec<Field>),
}

/// A named field.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    /// What it is on the wire; `None` when it is skipped.
    pub(crate) property: Option<Property>,
}

impl Body {
    /// Iterates over the properties of named fields.
    pub(crate) fn properties(&self) -> impl Iterator<Item = &Property> {
        let fields: &[Field] = match self {
            Self::Fields(fields) => fields,
            Self::Unit | Self::Newtype(_) => &[],
        };
        fields.iter().filter_map(|field| field.property.as_ref())
    }

    fn of(fields: Fields, case: Option<Case>, errors: &mut Errors) -> Self {
        match fields {
            Fields::Unit => Self::Unit,
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                let span = fields.span();
                let Some(mut field) = fields.unnamed.into_iter().next() else {
                    return Self::Unit;
                };
                let (arg, docs) = said(&mut field.attrs, errors);
                let ident = Ident::new("value", span);
                Self::Newtype(Box::new(Property::new(&ident, field.ty, docs, arg.0)))
            }
            Fields::Unnamed(fields) => {
                errors.push_on(
                    fields,
                    "expected named fields: a model writes names, not places",
                );
                Self::Fields(Vec::new())
            }
            Fields::Named(fields) => {
                let fields: Vec<Field> = fields
                    .named
                    .into_iter()
                    .filter_map(|mut field| {
                        let ident = field.ident.take()?;
                        let ((mut arg, skip), docs) = said(&mut field.attrs, errors);
                        if arg.rename.is_none()
                            && let Some(case) = case
                        {
                            let name = case.field(&ident.unraw().to_string());
                            arg.rename = Some((ident.span(), name));
                        }
                        let property = (!skip).then(|| Property::new(&ident, field.ty, docs, arg));
                        Some(Field { ident, property })
                    })
                    .collect();
                Self::Fields(fields)
            }
        }
    }
}

/// Returns what attributes and doc comment say of a field, and whether it is skipped.
fn said(attrs: &mut Vec<Attribute>, errors: &mut Errors) -> ((Arg, bool), String) {
    let docs = docs::text(attrs, errors);
    let mut arg = Arg::take(attrs, errors);
    let skip = attr::field(attrs, &mut arg, errors);
    ((arg, skip), docs)
}

impl Input {
    /// Reads the type.
    pub(crate) fn of(mut input: DeriveInput, container: &Container, errors: &mut Errors) -> Self {
        // The tables are statics, which cannot name `Self`.
        Unself(input.ident.clone()).visit_data_mut(&mut input.data);
        for parameter in &input.generics.params {
            errors.push_on(
                parameter,
                "a generic or borrowing type has no one schema; write the types out",
            );
        }
        let shape = match input.data {
            Data::Struct(data) => {
                for (span, _) in container.tag.iter().chain(&container.content) {
                    errors.push(*span, "a struct has no variants to tag; remove it");
                }
                let body = Body::of(data.fields, container.rename_all, errors);
                if matches!(body, Body::Unit) {
                    errors.push(
                        input.ident.span(),
                        "a struct without fields holds nothing to say; give it a field",
                    );
                }
                check(&body, 0, errors);
                Shape::Struct(body)
            }
            Data::Enum(data) => {
                let variants: Vec<Variant> = data
                    .variants
                    .into_iter()
                    .filter_map(|variant| Variant::of(variant, container, errors))
                    .collect();
                if variants.is_empty() {
                    errors.push(input.ident.span(), "an enum without variants has no values");
                }
                unique(&variants, errors);
                union(container, variants, errors)
            }
            Data::Union(data) => {
                errors.push_on(data.union_token, "expected a struct or an enum");
                Shape::Struct(Body::Unit)
            }
        };
        Self {
            generic: !input.generics.params.is_empty(),
            shape,
        }
    }
}

fn union(container: &Container, variants: Vec<Variant>, errors: &mut Errors) -> Shape {
    let units = variants
        .iter()
        .all(|variant| matches!(variant.body, Body::Unit));
    let tagging = match (&container.tag, &container.content) {
        (None, _) if units => return Shape::Words(variants),
        (None, _) => Tagging::External,
        (Some((_, tag)), None) => Tagging::Internal(tag.clone()),
        (Some((_, tag)), Some((_, content))) => Tagging::Adjacent(tag.clone(), content.clone()),
    };
    for variant in &variants {
        if let Tagging::Internal(tag) = &tagging {
            if let Body::Newtype(_) = variant.body {
                errors.push(
                    variant.ident.span(),
                    "expected named fields: with `tag` they stand beside the tag; or add `content = \"…\"`",
                );
            }
            if let Some(field) = variant.body.properties().find(|field| field.name == *tag) {
                errors.push(
                    field.span,
                    format_args!("a field cannot be named as the tag `{tag}`"),
                );
            }
        }
        let extra = usize::from(matches!(tagging, Tagging::Internal(_)));
        check(&variant.body, extra, errors);
    }
    Shape::Union(tagging, variants)
}

fn check(body: &Body, extra: usize, errors: &mut Errors) {
    let properties: Vec<&Property> = body.properties().collect();
    property::check(&properties, "field", errors);
    if properties.len() + extra > property::MOST
        && let Some(last) = properties.last()
        && properties.len() <= property::MOST
    {
        errors.push(last.span, "the tag is one field too many");
    }
}

impl Variant {
    fn of(variant: syn::Variant, container: &Container, errors: &mut Errors) -> Option<Self> {
        let said = attr::Variant::take(&variant.attrs, errors);
        if said.skip {
            return None;
        }
        let own = variant.ident.unraw().to_string();
        let name = match (said.rename, container.rename_all) {
            (Some(name), _) => name,
            (None, Some(case)) => case.variant(&own),
            (None, None) => own,
        };
        let case = said.rename_all.or(container.rename_all_fields);
        Some(Self {
            docs: docs::text(&variant.attrs, errors),
            body: Body::of(variant.fields, case, errors),
            ident: variant.ident,
            name,
            aliases: said.aliases,
        })
    }

    /// Iterates over the names it is read under.
    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.name).chain(&self.aliases)
    }
}

fn unique(variants: &[Variant], errors: &mut Errors) {
    for (at, variant) in variants.iter().enumerate() {
        for name in variant.names() {
            let span: Span = variant.ident.span();
            let taken = variants[..at]
                .iter()
                .any(|earlier| earlier.names().any(|taken| taken == name));
            if taken {
                errors.push(
                    span,
                    format_args!("two variants are named `{name}`; rename one"),
                );
            }
        }
    }
}

/// Replaces `Self` by the name of the type.
struct Unself(Ident);

impl VisitMut for Unself {
    fn visit_ident_mut(&mut self, ident: &mut Ident) {
        if ident == "Self" {
            *ident = Ident::new(&self.0.to_string(), ident.span());
        }
    }
}
