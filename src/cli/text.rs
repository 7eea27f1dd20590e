//! Text of models and tools on its way to a terminal: control characters made visible, long values clipped.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

/// Returns `text` with control characters made visible; line feeds and tabs stay.
///
/// A terminal obeys escape sequences whoever wrote them: they could hide a question, retitle the window or type for
/// the user.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_active) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            c if is_active(c) => out.push(picture(c)),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Returns `text` as one line of at most `limit` columns, control characters visible; `…` follows what is cut.
pub(crate) fn line(text: &str, limit: usize) -> String {
    let mut out = String::new();
    let mut columns = 0;
    for c in text.trim().chars() {
        let c = match c {
            '\n' => '⏎',
            '\t' => ' ',
            c if is_active(c) => picture(c),
            c => c,
        };
        // Marks without a width count too, or there could be any number of them.
        columns += c.width().unwrap_or(1).max(1);
        if columns > limit {
            out.push('…');
            break;
        }
        out.push(c);
    }
    out
}

/// Returns `text` broken between words into lines of at most `width` columns, all but the first behind `indent` blanks,
/// control characters visible. A word that is longer stands on a line of its own.
pub(crate) fn wrapped(text: &str, indent: usize, width: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    // The indent of what is given stays.
    let start = text.len() - text.trim_start_matches(' ').len();
    for (at, word) in text[start..].split_ascii_whitespace().enumerate() {
        let word = visible(word);
        let columns: usize = word.chars().map(|c| c.width().unwrap_or(1)).sum();
        if at == 0 {
            out.push_str(&text[..start]);
            column = start;
        } else if column + 1 + columns > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(&word);
        column += columns;
    }
    out
}

/// Tells whether a terminal obeys the character in place of showing it; line feeds and tabs do no harm.
pub(crate) fn is_active(c: char) -> bool {
    // Direction overrides reorder what stands beside them, so that a command reads as another one.
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn picture(c: char) -> char {
    match u32::from(c) {
        low @ 0..=0x1f => char::from_u32(0x2400 + low).unwrap_or('\u{fffd}'),
        0x7f => '\u{2421}',
        _ => '\u{fffd}',
    }
}

/// Returns the arguments of a call as `key: value, …`, secret ones masked.
pub(crate) fn arguments(json: &str, secret: &[&str], limit: usize) -> String {
    let Ok(serde_json::Value::Object(object)) = serde_json::from_str(json) else {
        // What cannot be read cannot be masked.
        return if secret.is_empty() {
            line(json, limit)
        } else {
            "…".to_owned()
        };
    };
    let mut out = String::new();
    for (key, value) in &object {
        if !out.is_empty() {
            out.push_str(", ");
        }
        out.push_str(key);
        out.push_str(": ");
        if secret.contains(&key.as_str()) {
            out.push_str("•••");
        } else {
            out.push_str(&line(&value.to_string(), 60));
        }
    }
    line(&out, limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(
            visible("a\x1b[2Jb\u{9b}31mc\x7f\r\nd\re\tf"),
            "a␛[2Jb\u{fffd}31mc␡\nd␍e\tf"
        );
        assert_eq!(line(" rm\u{202e}x\n\x07 ", 10), "rm\u{fffd}x⏎␇");
        assert!(matches!(visible("plæin\n"), Cow::Borrowed(_)));
        for c in "\u{202a}\u{202e}\u{2066}\u{2069}\u{80}\u{85}\u{9f}\u{0}\u{8}\r".chars() {
            let shown = visible(&format!("a{c}b")).into_owned();
            assert!(
                !shown.contains(c) && shown.chars().count() == 3,
                "{c:?}: {shown}"
            );
        }
    }

    #[test]
    fn a_line_is_measured_in_columns() {
        assert_eq!(line("漢字漢字", 5), "漢字…");
        assert_eq!(line("漢字", 4), "漢字");
        assert_eq!(line(&"a\u{301}".repeat(99), 4), "a\u{301}a\u{301}…");
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrapped("  one two three", 4, 9), "  one two\n    three");
        assert_eq!(wrapped("漢字 漢字", 0, 8), "漢字\n漢字");
        assert_eq!(wrapped("a\x1bb\nc", 0, 80), "a␛b c");
        assert_eq!(wrapped("long-word x", 1, 3), "long-word\n x");
        assert_eq!(wrapped("  ", 2, 8), "");
    }

    #[test]
    fn arguments_are_short_and_keep_secrets() {
        let json = r#"{"city":"Oslo","n":3,"token":"abc"}"#;
        assert_eq!(
            arguments(json, &["token"], 80),
            r#"city: "Oslo", n: 3, token: •••"#
        );
        assert_eq!(arguments("{\"token\":\"abc", &["token"], 80), "…");
        assert_eq!(arguments("[1]", &[], 80), "[1]");
        assert_eq!(arguments(json, &[], 8), "city: \"O…");
    }

    proptest::proptest! {
        #[test]
        fn no_text_keeps_a_control_character(text in proptest::prelude::any::<String>()) {
            assert!(!visible(&text).contains(is_active));
            let line = line(&text, 50);
            assert!(!line.contains(is_active) && !line.contains('\n') && line.chars().count() <= 51);
        }
    }
}
