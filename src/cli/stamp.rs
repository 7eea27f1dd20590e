//! The stamp of local time on each message: the model has no other clock, and the prompt's prefix stays the same.

use jiff::Zoned;
use jiff::tz::TimeZone;

/// Returns `text` with the time in `zone`, as in `[Sat 2026-02-28 14:30 +08:00] text`.
pub(crate) fn stamped(text: &str, now: &Zoned) -> String {
    format!("[{}] {text}", now.strftime("%a %Y-%m-%d %H:%M %:z"))
}

/// Returns the name of a day, as what is spent on it is counted: `day 2026-02-28`.
pub(crate) fn day(now: &Zoned) -> String {
    format!("day {}", now.strftime("%Y-%m-%d"))
}

/// Returns what was said without the stamp it may begin with: whoever said it knows when.
pub(crate) fn unstamped(text: &str) -> &str {
    const FORM: &[u8; 30] = b"[aaa dddd-dd-dd dd:dd sdd:dd] ";
    let stamp = text.as_bytes().first_chunk::<30>();
    let fits = |(c, form): (&u8, &u8)| match form {
        b'a' => c.is_ascii_alphabetic(),
        b'd' => c.is_ascii_digit(),
        b's' => matches!(c, b'+' | b'-'),
        form => c == form,
    };
    match stamp {
        Some(stamp) if stamp.iter().zip(FORM).all(fits) => &text[30..],
        _ => text,
    }
}

/// Returns the time in `zone`, or in the system's.
pub(crate) fn now(zone: Option<&TimeZone>) -> Zoned {
    match zone {
        Some(zone) => jiff::Timestamp::now().to_zoned(zone.clone()),
        None => jiff::Timestamp::now().to_zoned(system()),
    }
}

/// Returns the system's zone. Only its offset is shown, so the file that holds it is enough; its name would take a walk
/// through all zones there are, at every start.
fn system() -> TimeZone {
    let named = std::env::var_os("TZ").is_some();
    let file = (!named)
        .then(|| std::fs::read("/etc/localtime").ok())
        .flatten();
    file.and_then(|bytes| TimeZone::tzif("Local", &bytes).ok())
        .unwrap_or_else(TimeZone::system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_zone_is_the_one_jiff_finds() {
        let at: jiff::Timestamp = "2026-07-28T06:30:00Z".parse().unwrap();
        let offset = |zone: TimeZone| zone.to_offset(at);
        assert_eq!(offset(system()), offset(TimeZone::system()));
    }

    #[test]
    fn only_a_stamp_is_left_out() {
        for text in [
            "",
            "hi",
            "[Sat 2026-02-28 14:30 +08:00]",
            "[Sat 2026-02-28 14:30  08:00] hi",
            "[ääää 2026-02-28 14:30 +08:00] hi",
        ] {
            assert_eq!(unstamped(text), text);
        }
    }

    #[test]
    fn the_stamp_has_its_form_in_any_zone() {
        let at: jiff::Timestamp = "2026-02-28T06:30:00Z".parse().unwrap();
        for (hours, stamp) in [
            (8, "[Sat 2026-02-28 14:30 +08:00] hi"),
            (-7, "[Fri 2026-02-27 23:30 -07:00] hi"),
            (0, "[Sat 2026-02-28 06:30 +00:00] hi"),
        ] {
            let zone = TimeZone::fixed(jiff::tz::offset(hours));
            let said = stamped("hi", &at.to_zoned(zone));
            assert_eq!(said, stamp);
            assert_eq!(unstamped(&said), "hi");
        }
    }
}
