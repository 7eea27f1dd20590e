//! One value brought to another type, where that loses and guesses nothing.

use super::json::Json;
use super::number::{self, Decimal};
use super::reader;
use super::tree::Types;

/// How far a value of the wrong type may be brought to the right one.
///
/// | declared | strict | safe, in addition | lenient, in addition |
/// |---|---|---|---|
/// | string | string | | number, boolean |
/// | integer | integer, `5.0`, `1e3` | `"42"` | |
/// | number | finite number | `"4.5"` | |
/// | boolean | boolean | `"true"`, `"False"` | |
/// | null | null | `"null"`, where nothing else is declared | |
/// | enumeration | a member | the one member that differs in case or blanks, or is the number in the string | the string with the text of the number |
/// | array | array | JSON text of one; one text that fits the items | one value that fits the items |
/// | object | object | JSON text of one | |
/// | optional | absent, `null` | `"null"` for what takes no text | |
///
/// `"$5"`, `"1,234"`, `"yes"`, `0` for a boolean, `4.5` for an integer are never guessed. A text with a comma, a semicolon or
/// a line break is no list of one: it may be a list of several.
///
/// An argument's own level comes before its tool's, and that before the agent's; a destructive tool that says nothing is
/// strict. Whatever is changed is a [`Note`](super::Note).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Coerce {
    /// Only to the same value written otherwise: `5.0` for `5`, `null` for an absent option.
    Strict,
    /// Only where nothing is lost and nothing guessed: `"5"` for an integer, JSON text for what it holds.
    #[default]
    Safe,
    /// Also a scalar where a string is declared, and one value where a list is.
    Lenient,
}

impl Coerce {
    /// Returns the level of this name: `strict`, `safe`, `lenient`.
    pub(super) fn of(word: &str) -> Option<Self> {
        match word {
            "strict" => Some(Self::Strict),
            "safe" => Some(Self::Safe),
            "lenient" => Some(Self::Lenient),
            _ => None,
        }
    }
}

/// Returns the type of a value; a number with a fraction or an exponent is no integer, whatever its worth.
pub(super) fn type_of(value: &Json<'_>) -> Types {
    match value {
        Json::Null => Types::NULL,
        Json::Bool(_) => Types::BOOLEAN,
        Json::Number(text) if number::is_plain_integer(text) => Types::INTEGER,
        Json::Number(_) => Types::NUMBER,
        Json::String(_) => Types::STRING,
        Json::Array(_) => Types::ARRAY,
        Json::Object(_) => Types::OBJECT,
    }
}

/// Returns the one value of `types` that `value` stands for, or `None` when there is none or more than one.
pub(super) fn to_types(types: Types, value: &Json<'_>, coerce: Coerce) -> Option<Json<'static>> {
    let mut found: Option<Json<'static>> = None;
    for (_, kind) in Types::NAMES {
        if !types.has(kind) {
            continue;
        }
        let only = kind != Types::NULL || types == Types::NULL;
        if let Some(other) = to_type(kind, value, coerce).filter(|_| only) {
            match &found {
                Some(before) if !before.same(&other) => return None,
                Some(_) => {}
                None => found = Some(other),
            }
        }
    }
    found
}

fn to_type(kind: Types, value: &Json<'_>, coerce: Coerce) -> Option<Json<'static>> {
    match (kind, value) {
        (Types::INTEGER, Json::Number(text)) => integer(text),
        (_, _) if coerce == Coerce::Strict => None,
        (Types::INTEGER, Json::String(text)) => integer(number::exact(text)?),
        (Types::NUMBER, Json::String(text)) => number::exact(text)
            .filter(|text| number::is_finite(text))
            .map(|text| Json::Number(text.to_owned().into())),
        (Types::BOOLEAN, Json::String(text)) => match text.trim() {
            word if word.eq_ignore_ascii_case("true") => Some(Json::Bool(true)),
            word if word.eq_ignore_ascii_case("false") => Some(Json::Bool(false)),
            _ => None,
        },
        (Types::NULL, Json::String(text)) if is_null_word(text) => Some(Json::Null),
        (Types::STRING, Json::Number(_) | Json::Bool(_)) if coerce == Coerce::Lenient => {
            Some(Json::String(value.to_text().into()))
        }
        (Types::ARRAY, Json::String(text)) => {
            json_text(text).filter(|json| matches!(json, Json::Array(_)))
        }
        (Types::OBJECT, Json::String(text)) => {
            json_text(text).filter(|json| matches!(json, Json::Object(_)))
        }
        _ => None,
    }
}

/// Returns the one member that `value` stands for.
pub(super) fn to_member(
    members: &[Json<'static>],
    value: &Json<'_>,
    coerce: Coerce,
) -> Option<Json<'static>> {
    let word = match value {
        _ if coerce == Coerce::Strict => return None,
        Json::String(text) => text.trim(),
        Json::Number(text) if coerce == Coerce::Lenient => text,
        Json::Bool(true) if coerce == Coerce::Lenient => "true",
        Json::Bool(false) if coerce == Coerce::Lenient => "false",
        _ => return None,
    };
    let lower = word.to_lowercase();
    let is_text = matches!(value, Json::String(_));
    let stands_for = |member: &Json<'_>| match member {
        Json::String(text) => text.trim().to_lowercase() == lower,
        Json::Number(text) => {
            is_text
                && number::exact(word).is_some_and(|word| Decimal::new(word) == Decimal::new(text))
        }
        Json::Bool(flag) => is_text && lower == if *flag { "true" } else { "false" },
        _ => false,
    };
    let mut found = members.iter().filter(|member| stands_for(member));
    match (found.next(), found.next()) {
        (Some(only), None) => Some(only.clone()),
        _ => None,
    }
}

/// Tells whether a value may stand for the list that has only it.
///
/// A bare text is how models write a list of one address, path or tag. A bare number where a list is declared is as often
/// one argument in the place of another, so that takes more leave.
pub(super) fn is_list_of_one(value: &Json<'_>, coerce: Coerce) -> bool {
    match value {
        Json::String(text) => {
            let text = text.trim();
            coerce != Coerce::Strict
                && !text.is_empty()
                && !text.starts_with(['[', '{', '('])
                && !text.contains([',', ';', '\n'])
                && !is_null_word(text)
        }
        Json::Array(_) | Json::Null => false,
        _ => coerce == Coerce::Lenient,
    }
}

/// Tells whether a value says that there is none.
pub(super) fn is_nothing(value: &Json<'_>, coerce: Coerce) -> bool {
    match value {
        Json::Null => true,
        Json::String(text) => coerce != Coerce::Strict && is_null_word(text),
        _ => false,
    }
}

fn is_null_word(text: &str) -> bool {
    matches!(text.trim(), "null" | "None")
}

fn integer(text: &str) -> Option<Json<'static>> {
    Decimal::new(text)
        .integer()
        .map(|text| Json::Number(text.into()))
}

/// Reads JSON text inside a string. One with repeated keys is left as it is: which value is meant is a guess.
fn json_text(text: &str) -> Option<Json<'static>> {
    let read = reader::read(text).ok().filter(|read| !read.odd)?;
    Some(read.json.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coerced(types: Types, value: &str, coerce: Coerce) -> Option<String> {
        let value = reader::read(value).unwrap().json;
        to_types(types, &value, coerce).map(|json| json.to_text())
    }

    #[test]
    fn safe_follows_the_table() {
        let both = Types::INTEGER.with(Types::BOOLEAN);
        for (types, value, expected) in [
            (Types::INTEGER, r#""42""#, Some("42")),
            (Types::INTEGER, r#"" 42 ""#, Some("42")),
            (Types::INTEGER, r#""-7""#, Some("-7")),
            (Types::INTEGER, "42.0", Some("42")),
            (Types::INTEGER, "1e3", Some("1000")),
            (Types::INTEGER, r#""1e3""#, Some("1000")),
            (
                Types::INTEGER,
                r#""18446744073709551616""#,
                Some("18446744073709551616"),
            ),
            (Types::INTEGER, "4.5", None),
            (Types::INTEGER, r#""4.5""#, None),
            (Types::INTEGER, r#""12abc""#, None),
            (Types::INTEGER, r#""007""#, None),
            (Types::INTEGER, r#""1_000""#, None),
            (Types::INTEGER, "true", None),
            (Types::INTEGER, "null", None),
            (Types::NUMBER, r#""4.50""#, Some("4.50")),
            (Types::NUMBER, r#""NaN""#, None),
            (Types::NUMBER, r#""Infinity""#, None),
            (Types::NUMBER, r#""1/5""#, None),
            (Types::NUMBER, r#""$5""#, None),
            (Types::NUMBER, r#""1,234""#, None),
            (Types::NUMBER, r#""1e400""#, None),
            (Types::BOOLEAN, r#""True""#, Some("true")),
            (Types::BOOLEAN, r#"" false ""#, Some("false")),
            (Types::BOOLEAN, "0", None),
            (Types::BOOLEAN, r#""yes""#, None),
            (Types::NULL, r#""None""#, Some("null")),
            (Types::NULL.with(Types::INTEGER), r#""null""#, None),
            (Types::STRING, "5", None),
            (Types::STRING, "true", None),
            (Types::STRING, "{}", None),
            (Types::ARRAY, r#""[1]""#, Some("[1]")),
            (Types::ARRAY, r#""[1""#, None),
            (Types::ARRAY, r#""a, b""#, None),
            (Types::ARRAY, "{}", None),
            (Types::OBJECT, r#""{\"a\":1}""#, Some(r#"{"a":1}"#)),
            (Types::OBJECT, r#""{\"a\":1,\"a\":2}""#, None),
            (Types::OBJECT, r#""\"{}\"""#, None),
            (Types::OBJECT, "[]", None),
            (both, r#""true""#, Some("true")),
            (both, r#""1""#, Some("1")),
        ] {
            assert_eq!(
                coerced(types, value, Coerce::Safe).as_deref(),
                expected,
                "{value}"
            );
            // Strict takes what is the same number.
            let same = expected.filter(|_| !value.starts_with('"'));
            assert_eq!(
                coerced(types, value, Coerce::Strict).as_deref(),
                same,
                "{value}"
            );
        }
    }

    #[test]
    fn lenient_also_writes_scalars_as_text() {
        for (value, expected) in [
            ("5", Some(r#""5""#)),
            ("1.50", Some(r#""1.50""#)),
            ("true", Some(r#""true""#)),
            ("null", None),
            ("{}", None),
            ("[1]", None),
        ] {
            assert_eq!(
                coerced(Types::STRING, value, Coerce::Lenient).as_deref(),
                expected
            );
        }
    }

    #[test]
    fn members_are_found_by_case_and_only_when_unique() {
        let members = |text: &str| match reader::read(text).unwrap().json.into_owned() {
            Json::Array(members) => members,
            _ => Vec::new(),
        };
        for (list, value, expected) in [
            (r#"["fast","slow"]"#, r#"" Fast ""#, Some(r#""fast""#)),
            (r#"["fast","FAST"]"#, r#""Fast""#, None),
            (r#"["fast","slow"]"#, r#""fas""#, None),
            ("[1,2]", r#""2.0""#, Some("2")),
            (r#"["1","2"]"#, "2", None),
            ("[true]", r#""True""#, Some("true")),
            (r#"["straße"]"#, r#""STRAßE""#, Some(r#""straße""#)),
        ] {
            let value = reader::read(value).unwrap().json;
            let found = to_member(&members(list), &value, Coerce::Safe).map(|json| json.to_text());
            assert_eq!(found.as_deref(), expected, "{list} {value:?}");
        }
        let number = Json::Number("2".into());
        let found = to_member(&members(r#"["1","2"]"#), &number, Coerce::Lenient);
        assert_eq!(found.map(|json| json.to_text()).as_deref(), Some(r#""2""#));
    }
}
