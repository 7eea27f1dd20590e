//! What we know of the type after parsing.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt as _;
use syn::visit_mut::VisitMut;
use syn::{Attribute, Data, DeriveInput, Fields, GenericParam, Generics, Index, Member};

use super::attr::{self, Container};
use super::case::Case;
use super::check;
use crate::arg::{Arg, Default};
use crate::docs;
use crate::errors::Errors;
use crate::property::Property;

/// A type that becomes an argument.
pub(crate) struct Input {
    pub(crate) ident: Ident,
    pub(crate) generics: Generics,
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
    /// Nowhere: the first variant that fits is meant.
    Untagged,
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
pub(crate) struct Body {
    pub(crate) form: Form,
    pub(crate) fields: Vec<Field>,
}

/// How that looks on the wire.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Nothing.
    Unit,
    /// The value of its one field.
    One,
    /// An array, a place a field.
    Places,
    /// An object, a member a field.
    Members,
}

/// A field.
pub(crate) struct Field {
    pub(crate) member: Member,
    pub(crate) role: Role,
}

/// What a field is on the wire.
pub(crate) enum Role {
    /// A value.
    Value(Property),
    /// Its members stand among the others.
    Flat(Property),
    /// Nothing; this stands in its place.
    Skipped(Default),
}

impl Body {
    /// Iterates over the fields that are on the wire.
    pub(crate) fn wire(&self) -> impl Iterator<Item = (&Property, bool)> {
        self.fields.iter().filter_map(|field| match &field.role {
            Role::Value(property) => Some((property, false)),
            Role::Flat(property) => Some((property, true)),
            Role::Skipped(_) => None,
        })
    }

    /// Iterates over the fields that have a place or name of their own.
    pub(crate) fn properties(&self) -> impl Iterator<Item = &Property> {
        self.wire()
            .filter(|(_, flat)| !flat)
            .map(|(property, _)| property)
    }

    fn of(fields: Fields, context: Context, errors: &mut Errors) -> Self {
        let form = match &fields {
            Fields::Unit => Form::Unit,
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => Form::One,
            Fields::Unnamed(_) => Form::Places,
            Fields::Named(_) => Form::Members,
        };
        let fields: Vec<Field> = fields
            .into_iter()
            .enumerate()
            .map(|(at, field)| Field::of(at, field, context, errors))
            .collect();
        let mut body = Self { form, fields };
        if let Some(span) = context.transparent {
            body.be_transparent(span, errors);
        }
        check::body(&body, errors);
        body
    }

    fn be_transparent(&mut self, span: Span, errors: &mut Errors) {
        if self.wire().count() == 1 && self.properties().count() == 1 {
            self.form = Form::One;
            for field in &mut self.fields {
                if let Role::Value(property) = &mut field.role {
                    // It was only there to be a name on the wire.
                    property.arg.rename = None;
                }
            }
        } else {
            errors.push(span, "`transparent` needs exactly one field that is read");
        }
    }
}

/// What the type says of its fields.
#[derive(Clone, Copy)]
struct Context {
    case: Option<Case>,
    /// Whether absent fields are those of the type's own default.
    default: bool,
    transparent: Option<Span>,
}

impl Field {
    fn of(at: usize, mut field: syn::Field, context: Context, errors: &mut Errors) -> Self {
        let docs = docs::text(&field.attrs, errors);
        let mut arg = Arg::take(&mut field.attrs, errors);
        let said = attr::field(&field.attrs, &mut arg, errors);
        let (member, ident) = match field.ident {
            Some(ident) => (Member::Named(ident.clone()), ident),
            None => {
                let span = syn::spanned::Spanned::span(&field.ty);
                let place = u32::try_from(at).unwrap_or(u32::MAX);
                let index = Index { index: place, span };
                (Member::Unnamed(index), Ident::new("value", span))
            }
        };
        if context.default && arg.default.is_none() && said.flatten.is_none() {
            let value = syn::parse_quote!(<Self as ::core::default::Default>::default().#member);
            arg.default = Some(Default::Value(value));
        }
        if said.skip {
            let value = arg.default.unwrap_or(Default::OfType(ident.span()));
            let role = Role::Skipped(value);
            return Self { member, role };
        }
        if let Some(span) = said.flatten {
            check::flat(span, &arg, &member, errors);
            let role = Role::Flat(Property::new(&ident, field.ty, docs, Arg::default()));
            return Self { member, role };
        }
        if let (None, Some(case), Member::Named(_)) = (&arg.rename, context.case, &member) {
            let name = case.field(&ident.unraw().to_string());
            arg.rename = Some((ident.span(), name));
        }
        let role = Role::Value(Property::new(&ident, field.ty, docs, arg));
        Self { member, role }
    }
}

impl Input {
    /// Reads the type.
    pub(crate) fn of(mut input: DeriveInput, container: &Container, errors: &mut Errors) -> Self {
        let generic = input.generics.type_params().next().is_some();
        if !generic {
            // What is asserted of the fields stands outside the implementation, where there is no `Self`.
            Unself(input.ident.clone()).visit_data_mut(&mut input.data);
        }
        for parameter in &input.generics.params {
            if let GenericParam::Lifetime(lifetime) = parameter {
                errors.push_on(
                    lifetime,
                    "a type that borrows cannot be an argument: take fields by value, `String` for `&str`",
                );
            }
        }
        attr::no_arg(&input.attrs, errors);
        let shape = match input.data {
            Data::Struct(data) => {
                check::no_tagging(container, errors);
                let context = Context {
                    case: container.rename_all,
                    default: container.default.is_some(),
                    transparent: container.transparent,
                };
                Shape::Struct(Body::of(data.fields, context, errors))
            }
            Data::Enum(data) => {
                check::no_struct_words(container, errors);
                let variants: Vec<Variant> = data
                    .variants
                    .into_iter()
                    .filter_map(|variant| Variant::of(variant, container, errors))
                    .collect();
                if variants.is_empty() {
                    errors.push(input.ident.span(), "an enum without variants has no values");
                }
                union(container, variants, errors)
            }
            Data::Union(data) => {
                errors.push_on(data.union_token, "expected a struct or an enum");
                Shape::Words(Vec::new())
            }
        };
        Self {
            ident: input.ident,
            generics: input.generics,
            shape,
        }
    }
}

fn union(container: &Container, variants: Vec<Variant>, errors: &mut Errors) -> Shape {
    let units = variants
        .iter()
        .all(|variant| variant.body.form == Form::Unit);
    let tagging = match (&container.tag, &container.content) {
        _ if container.untagged.is_some() => Tagging::Untagged,
        (None, _) if units => {
            check::names(&variants, errors);
            return Shape::Words(variants);
        }
        (None, _) => Tagging::External,
        (Some((_, tag)), None) => Tagging::Internal(tag.clone()),
        (Some((_, tag)), Some((_, content))) => Tagging::Adjacent(tag.clone(), content.clone()),
    };
    check::union(&tagging, &variants, errors);
    Shape::Union(tagging, variants)
}

impl Variant {
    fn of(variant: syn::Variant, container: &Container, errors: &mut Errors) -> Option<Self> {
        attr::no_arg(&variant.attrs, errors);
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
        let context = Context {
            case: said.rename_all.or(container.rename_all_fields),
            default: false,
            transparent: None,
        };
        Some(Self {
            docs: docs::text(&variant.attrs, errors),
            body: Body::of(variant.fields, context, errors),
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

/// Replaces `Self` by the name of the type.
struct Unself(Ident);

impl VisitMut for Unself {
    fn visit_ident_mut(&mut self, ident: &mut Ident) {
        if ident == "Self" {
            *ident = Ident::new(&self.0.to_string(), ident.span());
        }
    }

    fn visit_attribute_mut(&mut self, _: &mut Attribute) {}
}
