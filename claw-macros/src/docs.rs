//! Doc comments as descriptions.

use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

use crate::errors::Errors;
use crate::keys::nearest;

/// Headings that are read as `# Arguments` by people and not by us.
const ALMOST: &[&str] = &["argument", "args", "parameters", "parameter", "params"];

/// What the doc comment of a function says.
#[derive(Debug, Default)]
pub(crate) struct Docs {
    /// The text, without the section about arguments.
    pub(crate) text: String,
    /// The bullets of `# Arguments`.
    pub(crate) arguments: Vec<Argument>,
    /// Whether a part of it cannot be read, so that descriptions may be missing for that reason alone.
    pub(crate) faulty: bool,
}

/// A bullet of `# Arguments`.
#[derive(Debug)]
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) text: String,
}

/// Returns the doc comment of `attrs` with its lines joined, without the common leading space; empty when there is none.
pub(crate) fn text(attrs: &[Attribute], errors: &mut Errors) -> String {
    let lines: Vec<String> = lines(attrs, errors).into_iter().map(|(_, it)| it).collect();
    lines.join("\n").trim().to_owned()
}

/// Reads the doc comment of a function, and its section `# Arguments` apart.
pub(crate) fn sections(attrs: &[Attribute], errors: &mut Errors) -> Docs {
    let mut docs = Docs::default();
    let mut text: Vec<String> = Vec::new();
    let (mut inside, mut fenced) = (false, false);
    for (span, line) in lines(attrs, errors) {
        fenced ^= line.trim_start().starts_with("```");
        if let Some(heading) = heading(&line).filter(|_| !fenced) {
            inside = heading == "Arguments";
            let lower = heading.to_lowercase();
            let misspelt = !nearest(&lower, &["arguments"]).is_empty();
            if !inside && (misspelt || ALMOST.contains(&lower.as_str())) {
                docs.faulty = true;
                errors.push(
                    span,
                    format_args!("`# {heading}` is read by nobody; write `# Arguments` with a line `- name: …` each"),
                );
            }
            if inside {
                continue;
            }
        }
        if inside {
            docs.bullet(span, &line, errors);
        } else {
            text.push(line);
        }
    }
    docs.text = text.join("\n").trim().to_owned();
    docs
}

impl Docs {
    /// Reads a line of the section about arguments.
    fn bullet(&mut self, span: Span, line: &str, errors: &mut Errors) {
        if line.trim().is_empty() {
            return;
        }
        if let Some(bullet) = line.strip_prefix(['-', '*', '+']) {
            match named(bullet.trim()) {
                Some((name, text)) => self.arguments.push(Argument {
                    name: name.to_owned(),
                    span,
                    text: text.to_owned(),
                }),
                None => {
                    self.faulty = true;
                    errors.push(
                        span,
                        "expected an argument and what it is: write `- name: …`",
                    );
                }
            }
        } else if let Some(argument) = self.arguments.last_mut() {
            argument.text.push('\n');
            argument.text.push_str(line.trim());
        } else {
            errors.push(
                span,
                "expected a list: write a line `- name: …` for each argument",
            );
        }
    }
}

/// Splits `` `name`: text ``, `name: text` and `name - text`.
fn named(bullet: &str) -> Option<(&str, &str)> {
    let end = match bullet.strip_prefix('`') {
        Some(rest) => rest.find('`')? + 2,
        None => bullet
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(bullet.len()),
    };
    let (name, rest) = bullet.split_at(end);
    let name = name.trim_matches('`');
    let rest = rest.trim_start();
    let text = [":", "-", "–", "—"]
        .iter()
        .find_map(|mark| rest.strip_prefix(mark))?
        .trim();
    (!name.is_empty() && !text.is_empty()).then_some((name, text))
}

/// Returns the text of a heading.
fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    let text = text.strip_prefix(' ')?.trim();
    (1..=6).contains(&level).then_some(text)
}

/// Returns the lines of doc comments, each with its place.
fn lines(attrs: &[Attribute], errors: &mut Errors) -> Vec<(Span, String)> {
    let mut lines = Vec::new();
    for attr in attrs.iter().filter(|attr| is_doc(attr)) {
        match &attr.meta {
            Meta::NameValue(meta) => match &meta.value {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(text),
                    ..
                }) => {
                    let span = meta.value.span();
                    // `split`, as `lines` finds no line in an empty comment, which parts two paragraphs.
                    lines.extend(text.value().split('\n').map(|line| (span, clean(line))));
                }
                other => errors.push_on(
                    other,
                    "expected a string: a description must be known here; write it as a `///` comment or as `description = \"…\"`",
                ),
            },
            // `#[doc(hidden)]` and its like are no text.
            Meta::Path(_) | Meta::List(_) => {}
        }
    }
    lines
}

/// Tells whether `attr` is a doc comment.
pub(crate) fn is_doc(attr: &Attribute) -> bool {
    attr.path().is_ident("doc")
}

fn clean(line: &str) -> String {
    line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn arguments_stand_apart() {
        let item: syn::ItemFn = parse_quote! {
            /// Reads a file.
            ///
            /// # Arguments
            ///
            /// - `path`: the file,
            ///   inside the workspace
            /// * limit - how many lines
            ///
            /// # Errors
            ///
            /// When it is gone.
            fn read() {}
        };
        let mut errors = Errors::default();
        let docs = sections(&item.attrs, &mut errors);
        assert_eq!(docs.text, "Reads a file.\n\n# Errors\n\nWhen it is gone.");
        let found: Vec<_> = docs
            .arguments
            .iter()
            .map(|argument| (argument.name.as_str(), argument.text.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("path", "the file,\ninside the workspace"),
                ("limit", "how many lines")
            ]
        );
        assert!(errors.into_tokens().is_none());
    }

    #[test]
    fn a_misspelt_heading_is_a_fault() {
        for heading in ["# Argumnets", "# Parameters", "## args"] {
            let item: syn::ItemFn = parse_quote! {
                #[doc = #heading]
                fn read() {}
            };
            let mut errors = Errors::default();
            sections(&item.attrs, &mut errors);
            assert!(errors.into_tokens().is_some(), "{heading}");
        }
    }
}
