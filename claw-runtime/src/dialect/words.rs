//! What moves to a description, in few words.

use crate::schema::json::Json;

/// Longest default, member or pattern that is told, in characters.
const LONGEST: usize = 200;
/// Most members of an enumeration that are told.
const MEMBERS: usize = 50;

/// Returns what bounds say: `1–10`, `at least 1`, `more than 0 and at most 1`.
pub(super) fn between(
    least: Option<&str>,
    above: Option<&str>,
    most: Option<&str>,
    below: Option<&str>,
) -> Option<String> {
    if let (Some(least), None, Some(most), None) = (least, above, most, below) {
        return Some(span(least, most));
    }
    let said = [
        ("at least", least),
        ("more than", above),
        ("at most", most),
        ("less than", below),
    ];
    let said: Vec<String> = said
        .into_iter()
        .filter_map(|(words, bound)| Some(format!("{words} {}", bound?)))
        .collect();
    (!said.is_empty()).then(|| said.join(" and "))
}

/// Returns how many of something there are: `1–80 characters`, `at least 1 item`.
pub(super) fn count(least: Option<&str>, most: Option<&str>, one: &str) -> Option<String> {
    let plural = |number: &str| {
        if number == "1" {
            one.to_owned()
        } else {
            // `properties` is the one irregular of the three.
            match one.strip_suffix('y') {
                Some(stem) => format!("{stem}ies"),
                None => format!("{one}s"),
            }
        }
    };
    Some(match (least, most) {
        (None, None) => return None,
        (Some(least), Some(most)) => format!("{} {}", span(least, most), plural(most)),
        (Some(least), None) => format!("at least {least} {}", plural(least)),
        (None, Some(most)) => format!("at most {most} {}", plural(most)),
    })
}

fn span(least: &str, most: &str) -> String {
    if least == most {
        least.to_owned()
    } else {
        format!("{least}–{most}")
    }
}

/// Returns the members of an enumeration: `one of 1, 2`.
pub(super) fn members(members: &[&Json<'_>]) -> String {
    let told: Vec<String> = members
        .iter()
        .take(MEMBERS)
        .map(|member| value(member))
        .collect();
    let more = if members.len() > MEMBERS { ", …" } else { "" };
    match told.as_slice() {
        [only] if more.is_empty() => format!("always {only}"),
        _ => format!("one of {}{more}", told.join(", ")),
    }
}

/// Returns a value as JSON text, cut where it is long.
pub(super) fn value(value: &Json<'_>) -> String {
    clip(&value.to_text())
}

pub(super) fn clip(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Joins a description and what is to be known beside it.
pub(super) fn joined(description: &str, notes: &[String]) -> String {
    let notes = notes.join("; ");
    match (description.trim_end(), notes.as_str()) {
        (description, "") => description.to_owned(),
        ("", notes) => notes.to_owned(),
        (description, notes) => format!("{description} ({notes})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_read_as_one_would_say_them() {
        for (bounds, said) in [
            ([Some("1"), None, Some("10"), None], "1–10"),
            ([Some("5"), None, Some("5"), None], "5"),
            (
                [None, Some("0"), Some("1"), None],
                "more than 0 and at most 1",
            ),
            ([Some("-3"), None, None, None], "at least -3"),
            ([None, None, None, Some("2.5")], "less than 2.5"),
        ] {
            let [least, above, most, below] = bounds;
            assert_eq!(between(least, above, most, below).as_deref(), Some(said));
        }
        assert_eq!(between(None, None, None, None), None);
        for (least, most, one, said) in [
            (Some("1"), Some("80"), "character", "1–80 characters"),
            (Some("1"), None, "item", "at least 1 item"),
            (None, Some("3"), "property", "at most 3 properties"),
            (Some("1"), Some("1"), "property", "1 property"),
        ] {
            assert_eq!(count(least, most, one).as_deref(), Some(said));
        }
    }

    #[test]
    fn notes_follow_the_description() {
        let notes = ["1–10".to_owned(), "default 5".to_owned()];
        assert_eq!(joined("How many. ", &notes), "How many. (1–10; default 5)");
        assert_eq!(joined("", &notes), "1–10; default 5");
        assert_eq!(joined("How many.", &[]), "How many.");
        let members_of = |count: i32| -> Vec<Json<'static>> {
            (0..count)
                .map(|it| Json::Number(it.to_string().into()))
                .collect()
        };
        let two = members_of(2);
        assert_eq!(members(&two.iter().collect::<Vec<_>>()), "one of 0, 1");
        let many = members_of(60);
        assert!(members(&many.iter().collect::<Vec<_>>()).ends_with("49, …"));
    }
}
