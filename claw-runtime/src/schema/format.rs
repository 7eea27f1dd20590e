//! The words of JSON Schema's `format` that claw checks where `#[arg(format = "…")]` declares them.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Tells whether `text` keeps to `format`; a word that is not known asks nothing.
pub(crate) fn holds(format: &str, text: &str) -> bool {
    match format {
        "date" => is_date(text),
        "time" => is_time(text),
        "date-time" => text
            .split_once(['T', 't', ' '])
            .is_some_and(|(date, time)| is_date(date) && is_time(time)),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "uri" => is_uri(text),
        "uuid" => is_uuid(text),
        _ => true,
    }
}

/// Returns the number that `text` is, when it is `count` digits.
fn digits(text: &str, count: usize) -> Option<u32> {
    let all = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
}

/// `2026-11-30`.
fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let mut next = |count| parts.next().and_then(|part| digits(part, count));
    let (Some(year), Some(month), Some(day)) = (next(4), next(2), next(2)) else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// `12:30:00.5Z`, `12:30:00+01:00`; the offset is not optional.
fn is_time(text: &str) -> bool {
    let (clock, offset) = match text.strip_suffix(['Z', 'z']) {
        Some(clock) => (clock, None),
        None => match text.rfind(['+', '-']) {
            Some(at) => (&text[..at], Some(&text[at + 1..])),
            None => return false,
        },
    };
    let (seconds, fraction) = match clock.split_once('.') {
        Some((seconds, fraction)) => (seconds, Some(fraction)),
        None => (clock, None),
    };
    let part = |text: Option<&str>, most| {
        text.and_then(|text| digits(text, 2))
            .is_some_and(|number| number <= most)
    };
    let within = |text: &str, most: &[u32]| {
        text.split(':').count() == most.len()
            && text
                .split(':')
                .zip(most)
                .all(|(text, most)| part(Some(text), *most))
    };
    within(seconds, &[23, 59, 60])
        && fraction
            .is_none_or(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
        && offset.is_none_or(|offset| within(offset, &[23, 59]))
}

/// Something, one `@`, and a host name; no blanks.
fn is_email(text: &str) -> bool {
    let blank = |c: char| c.is_whitespace() || c.is_control();
    text.rsplit_once('@').is_some_and(|(local, host)| {
        !local.is_empty() && !local.contains(['@']) && !local.contains(blank) && is_hostname(host)
    })
}

fn is_hostname(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

/// A scheme, a colon and something without blanks.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        && !rest.is_empty()
        && rest.bytes().all(plain)
}

fn is_uuid(text: &str) -> bool {
    let groups = [8, 4, 4, 4, 12];
    text.split('-').count() == groups.len()
        && text.split('-').zip(groups).all(|(group, count)| {
            group.len() == count && group.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
}

#[cfg(test)]
mod tests {
    use super::holds;

    #[test]
    fn each_format_takes_its_own() {
        for (format, good, bad) in [
            (
                "date",
                "2024-02-29",
                &["2023-02-29", "2024-13-01", "2024-1-1", "20240229"][..],
            ),
            (
                "time",
                "23:59:60.25Z",
                &["23:59", "24:00:00Z", "12:00:00", "12:00:00.Z", "+"],
            ),
            (
                "date-time",
                "2026-11-30T12:30:00+01:00",
                &["2026-11-30", "2026-11-30T12:30:00"],
            ),
            (
                "email",
                "a.b+c@example.com",
                &["a", "@example.com", "a b@c.d", "a@b@c"],
            ),
            ("hostname", "example-1.com", &["-a.com", "a..b", "a_b", ""]),
            ("ipv4", "127.0.0.1", &["127.0.0", "::1"]),
            ("ipv6", "::1", &["127.0.0.1", ":"]),
            (
                "uri",
                "https://example.com/a?b=c#d",
                &["example.com", "https:", "a:b c", "1a:b"],
            ),
            (
                "uuid",
                "67e55044-10b1-426f-9247-bb680e5fe0c8",
                &["67e55044", "67e55044-10b1-426f-9247-bb680e5fe0cg"],
            ),
        ] {
            assert!(holds(format, good), "{format}: {good}");
            for bad in bad {
                assert!(!holds(format, bad), "{format}: {bad}");
            }
        }
        assert!(holds("colour", "anything"));
    }

    #[test]
    fn any_text_is_answered() {
        proptest::proptest!(|(text in ".*", format in "date|time|date-time|email|hostname|uri|uuid")| {
            let _ = holds(&format, &text);
        });
    }
}
