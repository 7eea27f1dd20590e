//! What a chat template may hold. The engine bounds steps, bytes and the depth of calls; what it does not bound are values
//! within values, and it follows them to their end on the stack whenever it compares, writes or drops them.
//!
//! So whatever gets a name is small. After each block of a template that names a value stands another, put there by us,
//! that looks at it: `{% set x = [x, x] %}{% set x = small(x) %}`. Without a name, a value is what one block builds, and the
//! length of a block is bounded too.

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State};

/// Bytes of a template; the longest known have 20,000.
const LONGEST: usize = 1 << 16;
/// Bytes of a block beside the texts in it, and branches of a condition: each may be a level for the compiler.
const LONGEST_BLOCK: usize = 1 << 10;
const MOST_BRANCHES: usize = 64;
/// Values in a value that has a name, beside those of the conversation; levels of it; the length of a text in it, and how
/// much of a text counts as another value.
const MOST_VALUES: usize = 256;
const DEEPEST: usize = 6;
const LONGEST_TEXT: usize = 1 << 14;
const TEXT_A_VALUE: usize = 1 << 6;
/// The name that templates cannot know.
const SMALL: &str = "claw_small";
/// What no chat template needs: it takes more time than is counted.
const FILTERS: [&str; 10] = [
    "batch", "chain", "dictsort", "groupby", "pprint", "slice", "sort", "sum", "unique", "zip",
];

/// Returns a template with looks at what it names; `None` when it is too long, or written as no chat template is.
pub(super) fn guarded(source: &str) -> Option<String> {
    if source.len() > LONGEST || source.contains(SMALL) {
        return None;
    }
    let mut out = String::with_capacity(source.len() * 2);
    let mut rest = source;
    let mut blocks_of_text: Vec<String> = Vec::new();
    let mut branches = 0;
    while let Some(at) = opening(rest) {
        let (before, block) = rest.split_at(at);
        out.push_str(before);
        let length = match &block.as_bytes()[..2] {
            b"{#" => block[2..].find("#}")? + 4,
            b"{{" => end_of(block, "}}")?,
            _ => end_of(block, "%}")?,
        };
        let (block, after) = block.split_at(length);
        rest = after;
        if block.starts_with("{#") {
            out.push_str(block);
            continue;
        }
        // With `call`, it names a value that is not looked at.
        if block.contains("caller") {
            return None;
        }
        if block.starts_with("{{") {
            out.push_str(block);
            continue;
        }
        let code = block[2..length - 2].trim_matches(['-', '+']).trim();
        let (word, about) = word(code);
        let names = match word {
            "set" => match assigned(about) {
                Some(names) => targets(names)?,
                None => {
                    let name = about.split('|').next()?;
                    blocks_of_text.extend(targets(name)?);
                    Vec::new()
                }
            },
            "endset" => vec![blocks_of_text.pop()?],
            "for" => targets(before_in(about)?)?,
            "macro" => parameters(about)?,
            "elif" => {
                branches += 1;
                Vec::new()
            }
            // What they say is not looked at, or they name values in other ways.
            "raw" | "with" | "call" => return None,
            _ => Vec::new(),
        };
        if branches > MOST_BRANCHES {
            return None;
        }
        // The last block says what becomes of the white space after them all.
        let end = match block.as_bytes()[length - 3] {
            b'-' if !names.is_empty() => "-%}",
            b'+' if !names.is_empty() => "+%}",
            _ => "%}",
        };
        match names.split_last() {
            None => out.push_str(block),
            Some((last, names)) => {
                out.push_str(&block[..length - end.len()]);
                out.push_str(" %}");
                for name in names {
                    out.push_str(&format!("{{% set {name} = {SMALL}({name}) %}}"));
                }
                out.push_str(&format!("{{% set {last} = {SMALL}({last}) {end}"));
            }
        }
    }
    out.push_str(rest);
    Some(out)
}

/// Takes from an engine what cannot be bounded, and gives it the look at a value; `texts` are in the conversation.
pub(super) fn bound(env: &mut Environment<'_>, texts: usize) {
    for filter in FILTERS {
        env.remove_filter(filter);
    }
    env.remove_global("debug");
    let most = MOST_VALUES + 8 * texts;
    env.add_function(SMALL, move |state: &State<'_, '_>, value: Value| {
        small(state, value, most)
    });
    env.add_filter(
        "tojson",
        move |state: &State<'_, '_>, value: Value, indent: Option<Value>, kwargs: Kwargs| {
            let value = small(state, value, most)?;
            let wide = [indent.clone(), kwargs.get("indent")?];
            let mut wide = wide.iter().flatten();
            if wide.any(|wide| wide.as_i64().is_some_and(|wide| wide > 8)) {
                return Err(too_large());
            }
            minijinja::filters::tojson(&value, indent, kwargs)
        },
    );
}

/// Returns the value, where it is small. What is computed when it is looked at is computed now.
fn small(state: &State<'_, '_>, value: Value, most: usize) -> Result<Value, Error> {
    let mut left = most;
    measure(&value, DEEPEST, &mut left)?;
    state.consume_fuel((most - left) as u64 / 16)?;
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            Ok(Value::from(value.try_iter()?.collect::<Vec<Value>>()))
        }
        _ => Ok(value),
    }
}

fn measure(value: &Value, levels: usize, left: &mut usize) -> Result<(), Error> {
    *left = left.checked_sub(1).ok_or_else(too_large)?;
    match value.kind() {
        ValueKind::String | ValueKind::Bytes => {
            let length = value.len().unwrap_or_default();
            let rest = left.checked_sub(length / TEXT_A_VALUE);
            *left = rest
                .filter(|_| length <= LONGEST_TEXT)
                .ok_or_else(too_large)?;
            Ok(())
        }
        // These hold what they do not show: a part of a list the whole, a loop what it goes over and was asked about.
        ValueKind::Iterable if levels < DEEPEST => Err(too_large()),
        ValueKind::Map if is_loop(value) => Err(too_large()),
        ValueKind::Seq | ValueKind::Iterable => {
            let levels = levels.checked_sub(1).ok_or_else(too_large)?;
            value
                .try_iter()?
                .try_for_each(|item| measure(&item, levels, left))
        }
        ValueKind::Map => {
            let levels = levels.checked_sub(1).ok_or_else(too_large)?;
            value.try_iter()?.try_for_each(|key| {
                measure(&key, levels, left)?;
                measure(&value.get_item(&key)?, levels, left)
            })
        }
        _ => Ok(()),
    }
}

fn is_loop(value: &Value) -> bool {
    let object = value.as_object();
    object.is_some_and(|object| object.type_name().ends_with("::Loop"))
}

fn too_large() -> Error {
    Error::new(
        ErrorKind::InvalidOperation,
        "the template builds a value larger than any that conversations need",
    )
}

/// Returns where the next block, expression or comment begins.
fn opening(text: &str) -> Option<usize> {
    let pairs = text.as_bytes().windows(2);
    pairs
        .enumerate()
        .find(|(_, pair)| pair[0] == b'{' && matches!(pair[1], b'{' | b'%' | b'#'))
        .map(|(at, _)| at)
}

/// Returns the length of a block that ends with `end`, outside its texts and brackets; `None` where it is too long.
fn end_of(block: &str, end: &str) -> Option<usize> {
    let bytes = block.as_bytes();
    let (mut at, mut open, mut code) = (2, 0_usize, 0);
    while at < bytes.len() && code <= LONGEST_BLOCK {
        match bytes[at] {
            quote @ (b'\'' | b'"') => {
                at += 1;
                while *bytes.get(at)? != quote {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            _ if open == 0 && bytes[at..].starts_with(end.as_bytes()) => return Some(at + 2),
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.checked_sub(1)?,
            // Of a list in a list, each so many times, a block makes more than any memory holds.
            b'*' => return None,
            _ => {}
        }
        at += 1;
        code += 1;
    }
    None
}

/// Returns the word a code begins with, and the rest.
fn word(code: &str) -> (&str, &str) {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.split_at(code.find(|c| !is_part(c)).unwrap_or(code.len()))
}

/// Returns what stands before the `=` of an assignment.
fn assigned(code: &str) -> Option<&str> {
    let at = code.find(['=', '|', '"', '\''])?;
    code[at..].starts_with('=').then(|| &code[..at])
}

/// Returns what stands before the `in` of a loop.
fn before_in(code: &str) -> Option<&str> {
    let mut at = 0;
    while at < code.len() {
        let (found, _) = word(&code[at..]);
        if found == "in" {
            return Some(&code[..at]);
        }
        at += match found.len() {
            0 => code[at..].chars().next()?.len_utf8(),
            length => length,
        };
    }
    None
}

/// Returns the names that values are given: `a`, `a, b`, `(a, b)` or `space.a`.
fn targets(names: &str) -> Option<Vec<String>> {
    let names = names.trim().trim_start_matches('(').trim_end_matches(')');
    let parts = names.split(',').map(str::trim);
    let names = parts.filter(|name| !name.is_empty()).map(|name| {
        let is_name = |part: &str| {
            let (own, rest) = word(part);
            !own.is_empty() && rest.is_empty()
        };
        let parts = name.split('.').map(str::trim);
        let parts = parts.map(|part| is_name(part).then_some(part));
        let parts: Option<Vec<&str>> = parts.collect();
        parts.map(|parts| parts.join("."))
    });
    names.collect()
}

/// Returns the names of a macro's parameters.
fn parameters(about: &str) -> Option<Vec<String>> {
    let (_, list) = about.split_once('(')?;
    let list = list.trim_end().strip_suffix(')')?;
    let (mut names, mut open, mut is_name) = (String::new(), 0_usize, true);
    let mut quote = None;
    for c in list.chars() {
        match (quote, c) {
            // A mark in a text is in no default of any known macro.
            (_, '\\') => return None,
            (Some(it), _) => quote = (it != c).then_some(it),
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[' | '{') => open += 1,
            (None, ')' | ']' | '}') => open = open.checked_sub(1)?,
            (None, '=') => is_name = false,
            (None, ',') if open == 0 => {
                is_name = true;
                names.push(',');
            }
            (None, _) if is_name => names.push(c),
            _ => {}
        }
    }
    targets(&names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_follows_each_block_that_names_a_value() {
        for (source, right) in [
            (
                "a{% set x = 1 %}\n",
                "a{% set x = 1  %}{% set x = claw_small(x) %}\n",
            ),
            (
                "{%- set ns.x = '%}' -%} b",
                "{%- set ns.x = '%}'  %}{% set ns.x = claw_small(ns.x) -%} b",
            ),
            (
                "{% for (k, v) in m.items() %}{% endfor %}",
                "{% for (k, v) in m.items()  %}{% set k = claw_small(k) %}{% set v = claw_small(v) %}{% endfor %}",
            ),
            (
                "{%macro f(a, b=[1, 'c,d'], e=none)%}{% endmacro %}",
                "{%macro f(a, b=[1, 'c,d'], e=none) %}{% set a = claw_small(a) %}{% set b = claw_small(b) %}{% set e = claw_small(e) %}{% endmacro %}",
            ),
            (
                "{% set x | trim %}t{% endset %}{{ {'a': {'b': 1}} }}{# {% set y = 1 %} #}",
                "{% set x | trim %}t{% endset  %}{% set x = claw_small(x) %}{{ {'a': {'b': 1}} }}{# {% set y = 1 %} #}",
            ),
            (
                "{% macro f() %}{% if a in b %}",
                "{% macro f() %}{% if a in b %}",
            ),
            // A comment does not end with the mark it begins with.
            (
                "{#}{{ ' #}{% set x = 1 %}{# ' }}#}",
                "{#}{{ ' #}{% set x = 1  %}{% set x = claw_small(x) %}{# ' }}#}",
            ),
        ] {
            assert_eq!(guarded(source).as_deref(), Some(right));
        }
    }

    #[test]
    fn what_no_chat_template_has_is_none() {
        for source in [
            "{% raw %}{% endraw %}",
            "{%- with a = 1 %}{% endwith %}",
            "{% call f() %}{% endcall %}",
            "{% macro f() %}{{ caller }}{% endmacro %}",
            "{{ 2 * 2 }}",
            "{#}",
            "{% set claw_small = 1 %}",
            "{% set x %}",
            "{% set x",
            "{{ 'x",
            "{{ ) }}",
            "{# ",
            "{% set f() = 1 %}{% endset %}{% endset %}",
            "{% macro f(a='\\'', b='') %}",
            &"x".repeat(LONGEST + 1),
            &format!("{{{{ a{} }}}}", "+a".repeat(LONGEST_BLOCK)),
            &format!("{{% if a %}}{}", "{% elif a %}".repeat(MOST_BRANCHES + 1)),
        ] {
            let unclosed = guarded(source).filter(|_| !source.contains("set x %}"));
            assert_eq!(unclosed, None, "{source}");
        }
    }
}
