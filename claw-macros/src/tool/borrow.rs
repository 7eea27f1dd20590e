//! References that no parameter can hold: those deeper inside its type than claw lends text.
//!
//! The type system refuses them too, but a lifetime that is too short it explains in words of serde.

use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{GenericArgument, PathArguments, Type};

/// Types of the standard library that own what they hold.
const OWNERS: &[&str] = &[
    "Arc", "BTreeMap", "BTreeSet", "Box", "HashMap", "HashSet", "Rc", "VecDeque",
];

/// How references may stand at a place.
#[derive(Clone, Copy)]
enum Place {
    /// The parameter itself.
    Outside,
    /// In one type, such as `Option<&str>`; an alias may stand for it.
    Inside,
    /// Any deeper: nothing there is lent.
    Deep,
}

/// Returns the first reference in the type of a parameter that cannot be read.
pub(super) fn unread(ty: &Type) -> Option<Span> {
    find(ty, Place::Outside)
}

fn find(ty: &Type, place: Place) -> Option<Span> {
    let deep = |ty| find(ty, Place::Deep);
    match ty {
        Type::Reference(reference) => {
            let is_static = |lifetime: &syn::Lifetime| lifetime.ident == "static";
            if reference.lifetime.as_ref().is_some_and(is_static) {
                return None;
            }
            match place {
                Place::Deep => Some(reference.and_token.span()),
                _ => find(&reference.elem, place),
            }
        }
        Type::Path(path) => {
            let last = path.path.segments.last()?;
            let PathArguments::AngleBracketed(arguments) = &last.arguments else {
                return None;
            };
            let types = || {
                arguments.args.iter().filter_map(|argument| match argument {
                    GenericArgument::Type(ty) => Some(ty),
                    _ => None,
                })
            };
            let owns = OWNERS.iter().any(|owner| last.ident == owner);
            let within = match place {
                Place::Outside if !owns && types().count() == 1 => Place::Inside,
                _ => Place::Deep,
            };
            types().find_map(|ty| find(ty, within))
        }
        Type::Tuple(tuple) => tuple.elems.iter().find_map(deep),
        Type::Array(array) => deep(&array.elem),
        Type::Slice(slice) => deep(&slice.elem),
        Type::Paren(paren) => find(&paren.elem, place),
        Type::Group(group) => find(&group.elem, place),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    #[test]
    fn only_what_no_alias_can_save_is_refused() {
        let read: [Type; 9] = [
            parse_quote!(&str),
            parse_quote!(Option<&str>),
            parse_quote!(std::vec::Vec<&'a str>),
            parse_quote!(Words<&str>),
            parse_quote!(&[String]),
            parse_quote!(&ToolContext),
            parse_quote!(State<'_, Vec<(u8, &'static str)>>),
            parse_quote!(Option<Vec<&'static str>>),
            parse_quote!(Cow<'_, str>),
        ];
        for ty in read {
            assert!(unread(&ty).is_none(), "{}", quote::quote!(#ty));
        }
        let unreadable: [Type; 8] = [
            parse_quote!(Option<Vec<&str>>),
            parse_quote!(Vec<Option<&'a str>>),
            parse_quote!(std::collections::BTreeMap<String, &str>),
            parse_quote!(Box<&str>),
            parse_quote!((u8, &str)),
            parse_quote!([&str; 2]),
            parse_quote!(&[&str]),
            parse_quote!(Option<&[&str]>),
        ];
        for ty in unreadable {
            assert!(unread(&ty).is_some(), "{}", quote::quote!(#ty));
        }
    }
}
