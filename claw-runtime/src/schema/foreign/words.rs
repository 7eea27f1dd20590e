//! What the complete validator found, in the words of our report.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

use super::Fault;
use crate::schema::expected::{alternatives_of, expected_of};
use crate::schema::report::{clip_to, counted};

/// Keywords the tree does not read.
const UNREAD: &[&str] = &[
    "not",
    "if",
    "then",
    "else",
    "contains",
    "minContains",
    "maxContains",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "additionalItems",
    "$dynamicRef",
    "$recursiveRef",
];
/// Longest message in the validator's own words, in characters.
const SHOWN: usize = 200;

/// Tells whether an error comes from a keyword that the tree does not read.
pub(super) fn is_unread(error: &ValidationError<'_>) -> bool {
    let path = error.evaluation_path().as_str();
    path.split('/').any(|step| UNREAD.contains(&step))
}

/// Returns the errors of the only branch of a union that the tree could not rule out.
pub(super) fn meant<'e>(error: &'e ValidationError<'_>) -> Option<&'e [ValidationError<'static>]> {
    let (Kind::AnyOf { context } | Kind::OneOfNotValid { context }) = error.kind() else {
        return None;
    };
    let mut branches = context.iter().filter(|branch| branch.iter().all(is_unread));
    let first = branches.next()?;
    branches.next().is_none().then_some(first.as_slice())
}

/// Adds an error: where, and what was expected there by which part of `schema`.
pub(super) fn tell(error: &ValidationError<'_>, schema: &Value, faults: &mut Vec<Fault>) {
    let here = steps(error.instance_path().as_str());
    let mut add = |name: Option<&str>, text: String, shows: bool| {
        let steps = here
            .iter()
            .cloned()
            .chain(name.map(str::to_owned))
            .collect();
        faults.push(Fault { steps, text, shows });
    };
    let keyword = error.kind().keyword();
    let asking = asking(error, schema);
    match error.kind() {
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            add(Some(name), "required, missing".to_owned(), false);
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            for name in unexpected {
                add(Some(name), "unknown parameter".to_owned(), false);
            }
        }
        Kind::AdditionalItems { .. } | Kind::UnevaluatedItems { .. } => {
            add(None, "expected fewer items".to_owned(), true);
        }
        Kind::PropertyNames { error } => {
            let name = error.instance().as_str().unwrap_or_default().to_owned();
            let asked = self::asking(error, schema);
            let text = match asked.map(|asking| expected_of(&asking)) {
                Some(expected) => format!("unfit name; expected a name that is {expected}"),
                None => "unfit name".to_owned(),
            };
            add(Some(&name), text, false);
        }
        Kind::FalseSchema => add(None, "expected nothing here".to_owned(), false),
        Kind::Not { schema: other } => {
            let expected = expected_of(&within(other, schema));
            add(None, format!("expected anything but {expected}"), true);
        }
        Kind::Contains => {
            let asking = asking.unwrap_or_default();
            add(None, contains(&asking, schema), true);
        }
        Kind::UniqueItems => {
            add(
                None,
                "expected items that are all different".to_owned(),
                true,
            );
        }
        Kind::MinProperties { limit } => {
            add(None, format!("expected at least {}", members(*limit)), true);
        }
        Kind::MaxProperties { limit } => {
            add(None, format!("expected at most {}", members(*limit)), true);
        }
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            add(None, "too much to check; send less".to_owned(), false);
        }
        Kind::Pattern { pattern } => {
            let mut text = "expected string matching `".to_owned();
            clip_to(pattern, SHOWN, &mut text);
            text.push('`');
            add(None, text, true);
        }
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } | Kind::OneOfMultipleValid { .. } => {
            let forms = asking.map(|asking| alternatives_of(&asking, keyword));
            let forms = forms.unwrap_or_else(|| "one of several forms".to_owned());
            let text = match error.kind() {
                Kind::OneOfMultipleValid { .. } => {
                    format!("expected only one form to fit ({forms})")
                }
                _ => format!("expected {forms}"),
            };
            add(None, text, true);
        }
        _ => match asking.map(|asking| expected_of(&asking)) {
            Some(expected) if expected != "a value" => {
                add(None, format!("expected {expected}"), true);
            }
            _ => {
                let mut text = String::new();
                let said = error.masked_with("the value").to_string();
                clip_to(&said, SHOWN, &mut text);
                add(None, text, true);
            }
        },
    }
}

fn members(limit: u64) -> String {
    counted(usize::try_from(limit).unwrap_or(usize::MAX), "member")
}

fn contains(asking: &Value, schema: &Value) -> String {
    let item = asking
        .get("contains")
        .map(|item| expected_of(&within(item, schema)));
    let item = item.unwrap_or_else(|| "of a certain form".to_owned());
    let bound = |name: &str| asking.get(name).and_then(Value::as_u64);
    match (bound("minContains"), bound("maxContains")) {
        (None, None) => format!("expected at least 1 item that is {item}"),
        (least, Some(most)) => {
            let least = least.unwrap_or(1);
            format!("expected {least}..={most} items that are {item}")
        }
        (Some(least), None) => {
            let least = counted(usize::try_from(least).unwrap_or(usize::MAX), "item");
            format!("expected at least {least} of {item}")
        }
    }
}

/// Returns the schema whose keyword an error names, when it stands in this document.
fn asking(error: &ValidationError<'_>, schema: &Value) -> Option<Value> {
    let path = error.schema_path().as_str();
    let (parent, keyword) = path.rsplit_once('/')?;
    let parent = schema.pointer(parent)?;
    parent.get(keyword)?;
    Some(within(parent, schema))
}

/// Returns a part of a schema as a document of its own, with what its references refer to.
fn within(part: &Value, schema: &Value) -> Value {
    let mut part = part.clone();
    if let Value::Object(members) = &mut part {
        for name in ["$defs", "definitions"] {
            if let Some(definitions) = schema.get(name)
                && !members.contains_key(name)
            {
                members.insert(name.to_owned(), definitions.clone());
            }
        }
    }
    part
}

fn steps(pointer: &str) -> Vec<String> {
    let steps = pointer.split('/').skip(1);
    steps
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .collect()
}
