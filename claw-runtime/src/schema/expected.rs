//! What a shape expects, in a few words: `integer 1..=2000`, `one of "a", "b"`, `array of string`.

use super::json::Json;
use super::report::{brief, clip, counted};
use super::tree::{Array, Bounds, Id, Shape, Text, Tree, Types};

/// Most members listed.
pub(super) const MEMBERS: usize = 20;
/// Deepest part that is described.
const DEPTH: usize = 3;
/// Most branches of a union, or places of a tuple, that are described.
const BRANCHES: usize = 8;

/// Returns what the shape expects.
pub(super) fn expected(tree: &Tree, id: Id) -> String {
    describe(tree, id, 0)
}

/// Returns what a schema expects that stands alone.
#[cfg(feature = "jsonschema")]
pub(super) fn expected_of(schema: &serde_json::Value) -> String {
    let tree = super::Schema::parse(schema).tree;
    expected(&tree, tree.root)
}

/// Returns what the branches of a schema's `anyOf` or `oneOf` expect.
#[cfg(feature = "jsonschema")]
pub(super) fn alternatives_of(schema: &serde_json::Value, keyword: &str) -> String {
    let tree = super::Schema::parse(schema).tree;
    let shape = tree.shape(tree.root);
    let branches = if keyword == "oneOf" {
        &shape.one
    } else {
        &shape.any
    };
    alternatives(&tree, branches, 0)
}

fn describe(tree: &Tree, id: Id, depth: usize) -> String {
    let shape = tree.shape(tree.resolve(id));
    if shape.never {
        return "nothing".to_owned();
    }
    if let Some(members) = &shape.members {
        return listed(members);
    }
    if shape.types == Types::ANY && depth < DEPTH {
        let branches = shape.branches();
        if !branches.is_empty() {
            return alternatives(tree, branches, depth);
        }
        if let Some(part) = shape.all.iter().find(|part| !tree.shape(**part).is_plain()) {
            return describe(tree, *part, depth + 1);
        }
        if let Some(object) = &shape.object {
            let required: Vec<String> = object
                .properties
                .iter()
                .filter(|property| property.required)
                .take(BRANCHES)
                .map(|property| {
                    let mut name = "`".to_owned();
                    clip(&property.name, &mut name);
                    name.push('`');
                    name
                })
                .collect();
            if !required.is_empty() {
                return format!("object with {}", required.join(", "));
            }
        }
    }
    let mut kinds: Vec<String> = shape
        .types
        .names()
        .map(|name| kind(tree, shape, name, depth))
        .collect();
    // Of every type there is, those with rules.
    if kinds.len() == 6 {
        let plain: Vec<&str> = Types::ANY.names().collect();
        kinds.retain(|kind| !plain.contains(&kind.as_str()));
        if kinds.is_empty() {
            kinds.push("a value".to_owned());
        }
    }
    joined(kinds)
}

fn kind(tree: &Tree, shape: &Shape, name: &str, depth: usize) -> String {
    match name {
        "string" => with(name, " of ", shape.text.as_deref().map(text_rules)),
        "integer" | "number" => match shape.number.as_deref() {
            Some(bounds) => format!("{name} {}", number_rules(bounds)),
            None => name.to_owned(),
        },
        "array" => array(tree, shape.array.as_deref(), depth),
        _ => name.to_owned(),
    }
}

fn with(name: &str, between: &str, rules: Option<String>) -> String {
    match rules {
        Some(rules) if rules.starts_with("matching") || rules.starts_with("in format") => {
            format!("{name} {rules}")
        }
        Some(rules) if !rules.is_empty() => format!("{name}{between}{rules}"),
        _ => name.to_owned(),
    }
}

/// Returns the rules of a string: `1..=80 characters matching `^a``.
pub(super) fn text_rules(text: &Text) -> String {
    let length = match (text.shortest, text.longest) {
        (None, None) => String::new(),
        (Some(least), Some(most)) => format!("{} characters", span(least, most)),
        (Some(least), None) => format!("at least {}", counted(least, "character")),
        (None, Some(most)) => format!("at most {}", counted(most, "character")),
    };
    let mut rules = Vec::from_iter((!length.is_empty()).then_some(length));
    if let Some(pattern) = &text.pattern {
        let mut rule = "matching `".to_owned();
        clip(pattern.source(), &mut rule);
        rules.push(rule + "`");
    }
    if let Some(format) = &text.format {
        rules.push(format!("in format `{format}`"));
    }
    rules.join(" ")
}

/// Returns the bounds of a number: `1..=2000`, `>= 1`, `> 0 and < 1`, `multiple of 5`.
pub(super) fn number_rules(bounds: &Bounds) -> String {
    let mut rules = match (&bounds.least, &bounds.most) {
        (Some(least), Some(most)) if !least.exclusive && !most.exclusive => {
            vec![if least.value == most.value {
                least.text.clone()
            } else {
                format!("{}..={}", least.text, most.text)
            }]
        }
        (least, most) => {
            let one = |bound: &super::tree::Bound, sign: &str| {
                let equal = if bound.exclusive { "" } else { "=" };
                format!("{sign}{equal} {}", bound.text)
            };
            let both: Vec<String> = least
                .iter()
                .map(|least| one(least, ">"))
                .chain(most.iter().map(|most| one(most, "<")))
                .collect();
            if both.is_empty() {
                Vec::new()
            } else {
                vec![both.join(" and ")]
            }
        }
    };
    if let Some(step) = &bounds.step {
        rules.push(format!("multiple of {}", step.text));
    }
    rules.join(", ")
}

fn array(tree: &Tree, array: Option<&Array>, depth: usize) -> String {
    let Some(array) = array else {
        return "array".to_owned();
    };
    let mut text = "array".to_owned();
    if depth < DEPTH {
        if !array.prefix.is_empty() {
            let parts: Vec<String> = array
                .prefix
                .iter()
                .take(BRANCHES)
                .map(|part| describe(tree, *part, depth + 1))
                .collect();
            text = format!("array [{}]", parts.join(", "));
        } else if let Some(items) = array.items {
            let items = describe(tree, items, depth + 1);
            if items != "a value" {
                text = format!("array of {items}");
            }
        }
    }
    match array_rules(array) {
        rules if rules.is_empty() => text,
        rules => format!("{text}, {rules}"),
    }
}

/// Returns how many items an array may have: `1..=3 items, all different`.
pub(super) fn array_rules(array: &Array) -> String {
    let mut rules = match (array.shortest, array.longest) {
        (None, None) => Vec::new(),
        (Some(least), Some(most)) => vec![format!("{} items", span(least, most))],
        (Some(least), None) => vec![format!("at least {}", counted(least, "item"))],
        (None, Some(most)) => vec![format!("at most {}", counted(most, "item"))],
    };
    if array.unique {
        rules.push("all different".to_owned());
    }
    rules.join(", ")
}

fn span(least: usize, most: usize) -> String {
    if least == most {
        least.to_string()
    } else {
        format!("{least}..={most}")
    }
}

/// Returns the members of an enumeration: `one of "a", "b"`.
pub(super) fn listed(members: &[Json<'_>]) -> String {
    let mut shown: Vec<String> = members.iter().take(MEMBERS).map(brief).collect();
    if members.len() > MEMBERS {
        shown.push(format!("… ({} more)", members.len() - MEMBERS));
    }
    match shown.as_slice() {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        _ => format!("one of {}", shown.join(", ")),
    }
}

/// Returns what the branches of a union expect: `string or integer`, `one of "a", "b" or null`.
pub(super) fn alternatives(tree: &Tree, branches: &[Id], depth: usize) -> String {
    // Documented enumerations come as one constant a branch.
    let constants: Option<Vec<Json<'_>>> = branches
        .iter()
        .map(
            |branch| match tree.shape(tree.resolve(*branch)).members.as_deref() {
                Some([only]) => Some(only.clone()),
                _ => None,
            },
        )
        .collect();
    if let Some(constants) = constants {
        return listed(&constants);
    }
    let mut kinds: Vec<String> = Vec::new();
    for branch in branches.iter().take(BRANCHES) {
        let text = describe(tree, *branch, depth + 1);
        if !kinds.contains(&text) {
            kinds.push(text);
        }
    }
    if branches.len() > BRANCHES {
        kinds.push("…".to_owned());
    }
    joined(kinds)
}

fn joined(mut kinds: Vec<String>) -> String {
    if kinds.len() > 2 {
        return format!("one of: {}", kinds.join(", "));
    }
    let Some(last) = kinds.pop() else {
        return "nothing".to_owned();
    };
    match kinds.pop() {
        None => last,
        Some(first) => format!("{first} or {last}"),
    }
}
