//! Patterns: a bad one is a fault where it stands, and so is one that only Rust reads.

use regex_syntax::ast::{
    self, AssertionKind, Ast, ClassSet, ClassSetItem, ClassUnicode, ClassUnicodeKind, GroupKind,
    HexLiteralKind, Literal, LiteralKind, SpecialLiteralKind,
};
use regex_syntax::hir::translate::Translator;

/// Checks a pattern.
///
/// Schemas carry patterns of ECMAScript, and models and services read them so; what means something else there, or
/// needs an engine that backtracks, is refused.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let ast = ast::parse::Parser::new().parse(text).map_err(|error| match error.kind() {
        ast::ErrorKind::UnsupportedLookAround => {
            "look-around is refused by most services; write what the whole text looks like, between `^` and `$`"
                .to_owned()
        }
        ast::ErrorKind::UnsupportedBackreference => {
            "a back reference is refused by most services; write the alternatives out".to_owned()
        }
        kind => format!("this is no pattern: {kind}, at character {}", error.span().start.column),
    })?;
    Translator::new()
        .translate(text, &ast)
        .map_err(|error| format!("this is no pattern: {}", error.kind()))?;
    let mut own = None;
    ast::visit(&ast, Portable(&mut own)).map_or_else(|never| match never {}, |()| ());
    own.map_or(Ok(()), |what| {
        Err(format!(
            "{what} means nothing to the services that read the schema; write it as ECMAScript does"
        ))
    })
}

/// Looks for what ECMAScript does not read.
struct Portable<'a>(&'a mut Option<&'static str>);

impl ast::Visitor for Portable<'_> {
    type Output = ();
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<(), Self::Err> {
        Ok(())
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        let own = match ast {
            Ast::Flags(_) => Some("a flag such as `(?i)`"),
            Ast::Group(group) => match &group.kind {
                GroupKind::NonCapturing(flags) if !flags.items.is_empty() => {
                    Some("a flag such as `(?i)`")
                }
                GroupKind::CaptureName {
                    starts_with_p: true,
                    ..
                } => Some("`(?P<name>…)`"),
                _ => None,
            },
            Ast::Assertion(assertion) => match assertion.kind {
                AssertionKind::StartLine
                | AssertionKind::EndLine
                | AssertionKind::WordBoundary
                | AssertionKind::NotWordBoundary => None,
                _ => Some("an anchor other than `^`, `$`, `\\b` and `\\B`"),
            },
            Ast::ClassBracketed(class) => match &class.kind {
                ClassSet::BinaryOp(_) => Some("an operation on classes such as `&&`"),
                ClassSet::Item(ClassSetItem::Ascii(_)) => Some("a class such as `[[:alpha:]]`"),
                ClassSet::Item(_) => None,
            },
            Ast::Literal(literal) => letter(literal),
            Ast::ClassUnicode(class) => property(class),
            _ => None,
        };
        if self.0.is_none() {
            *self.0 = own;
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Self::Err> {
        let own = match item {
            ClassSetItem::Ascii(_) => Some("a class such as `[[:alpha:]]`"),
            ClassSetItem::Bracketed(_) => Some("a class within a class"),
            ClassSetItem::Literal(literal) => letter(literal),
            ClassSetItem::Range(range) => letter(&range.start).or(letter(&range.end)),
            ClassSetItem::Unicode(class) => property(class),
            _ => None,
        };
        if self.0.is_none() {
            *self.0 = own;
        }
        Ok(())
    }
}

fn letter(literal: &Literal) -> Option<&'static str> {
    match literal.kind {
        LiteralKind::Special(SpecialLiteralKind::Bell) => Some("`\\a`"),
        LiteralKind::HexBrace(HexLiteralKind::X) => Some("`\\x{…}`"),
        LiteralKind::HexFixed(HexLiteralKind::UnicodeLong)
        | LiteralKind::HexBrace(HexLiteralKind::UnicodeLong) => Some("`\\U…`"),
        _ => None,
    }
}

fn property(class: &ClassUnicode) -> Option<&'static str> {
    let short = matches!(class.kind, ClassUnicodeKind::OneLetter(_));
    short.then_some("a property without braces")
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn portable_patterns_pass() {
        for pattern in [
            r"^[a-z][a-z0-9_-]*$",
            r"^\d{4}-\d{2}$",
            "a|b",
            r"^(?:x|y)+\b",
            "(?<year>[0-9]+)",
            r"^[\t\x20\u00e9\u{1F600}\p{L}\W-]$",
        ] {
            assert_eq!(check(pattern), Ok(()), "{pattern}");
        }
    }

    #[test]
    fn others_say_why() {
        for (pattern, why) in [
            (
                "[a-",
                "this is no pattern: unclosed character class, at character 1",
            ),
            ("(?=a)", "look-around is refused"),
            (r"(a)\1", "a back reference is refused"),
            ("(?i)a", "a flag such as `(?i)`"),
            ("(?P<n>a)", "`(?P<name>…)`"),
            (r"\Aa", "an anchor other than"),
            ("[[:alpha:]]", "a class such as"),
            (r"\p{Nope}", "this is no pattern"),
            (r"\a", "`\\a` means nothing"),
            (r"[\x{41}]", "`\\x{…}` means nothing"),
            (r"[A-\U00000061]", "`\\U…` means nothing"),
            (r"\pL", "a property without braces"),
            ("[a[b]]", "a class within a class"),
        ] {
            let fault = check(pattern).unwrap_err();
            assert!(fault.starts_with(why), "{pattern}: {fault}");
        }
    }
}
