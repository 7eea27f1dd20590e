//! What of an output stays the same when the same thing happens again.
//!
//! Outputs carry times, durations, process ids and ids of messages, so that no two are equal and a loop is never seen.
//! Here they are compared without. One scan in linear time; when in doubt a text is kept, for a difference that is missed
//! only lets a loop run a little longer. A tool that knows better gives [`ToolOutput::progress`].
//!
//! [`ToolOutput::progress`]: crate::tool::ToolOutput::progress

use std::hash::{DefaultHasher, Hash, Hasher as _};

/// What stands for something left out.
const GONE: char = '\u{1}';

/// Words before a number that is different each time.
const MEASURES: &[&str] = &[
    "pid",
    "ppid",
    "tid",
    "elapsed",
    "elapsedms",
    "elapsedtime",
    "duration",
    "durationms",
    "took",
    "latency",
    "latencyms",
    "uptime",
    "timestamp",
    "ts",
    "epoch",
    "responsetime",
];

/// Words before a name that is made anew each time.
const IDS: &[&str] = &[
    "messageid",
    "msgid",
    "requestid",
    "reqid",
    "traceid",
    "spanid",
    "correlationid",
    "eventid",
    "nonce",
    "etag",
];

/// Units of time after a number.
const UNITS: &[&str] = &[
    "ns",
    "us",
    "µs",
    "μs",
    "ms",
    "s",
    "sec",
    "secs",
    "second",
    "seconds",
    "millis",
    "milliseconds",
    "microseconds",
    "nanoseconds",
    "min",
    "mins",
    "minute",
    "minutes",
    "h",
    "hr",
    "hrs",
    "hour",
    "hours",
];

/// What texts are compared by within a turn: equal for equal ones, and kept nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Likeness(u64);

impl Likeness {
    pub(crate) fn of(text: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// Returns 16 hex digits that are the same for outputs that differ in nothing that lasts.
pub(crate) fn fingerprint(text: &str) -> String {
    short(&stable(text))
}

/// Returns 16 hex digits for `text` as it is.
pub(crate) fn short(text: &str) -> String {
    let mut digest = crate::digest::of(text.as_bytes());
    digest.truncate(16);
    digest
}

/// Returns `text` with what does not last left out.
pub(crate) fn stable(text: &str) -> String {
    let mut scan = Scan {
        text,
        at: 0,
        out: String::with_capacity(text.len()),
    };
    while scan.at < text.len() {
        scan.next();
    }
    scan.out
}

struct Scan<'t> {
    text: &'t str,
    at: usize,
    out: String,
}

impl Scan<'_> {
    /// Takes one word or number, or what stands between them.
    fn next(&mut self) {
        let rest = &self.text[self.at..];
        let first = rest.as_bytes()[0];
        if first.is_ascii_alphanumeric() {
            if let Some(length) = uuid(rest).or_else(|| address(rest)) {
                return self.leave_out(length);
            }
            if first.is_ascii_digit() {
                return self.number(rest);
            }
            return self.word(rest);
        }
        self.keep(run(rest, |c| !c.is_ascii_alphanumeric()));
    }

    fn keep(&mut self, length: usize) {
        self.out.push_str(&self.text[self.at..self.at + length]);
        self.at += length;
    }

    /// Leaves a piece out; pieces side by side are one, for a duration may have more parts the next time.
    fn leave_out(&mut self, length: usize) {
        let before = self.out.trim_end_matches(' ');
        match before.ends_with(GONE) {
            true => self.out.truncate(before.len()),
            false => self.out.push(GONE),
        }
        self.at += length;
    }

    fn number(&mut self, rest: &str) {
        // `main.rs:14:30` is a place in a file.
        let place = self.out.ends_with(':');
        let time = clock(rest).filter(|_| !place);
        if let Some(length) = time.or_else(|| date(rest)).or_else(|| since_1970(rest)) {
            return self.leave_out(length);
        }
        let length = number(rest);
        let after = &rest[length..];
        if let Some(unit) = unit(after) {
            return self.leave_out(length + unit);
        }
        // Digits and letters that are no unit are one word, a name or a hash.
        self.keep(length + run(after, |c| c.is_ascii_alphanumeric() || c == '_'));
    }

    fn word(&mut self, rest: &str) {
        let length = run(rest, |c| {
            c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
        });
        let word = &rest[..length];
        self.keep(length);
        // The longest word that is looked for, with its hyphens.
        if length > 20 {
            return;
        }
        let after = &rest[length..];
        let gap = run(after, |c| matches!(c, ' ' | '"' | '\'' | ':' | '=' | '`')).min(6);
        let value = &after[gap..];
        let names = after[..gap].contains([':', '=']);
        let measures = gap > 0 && value.starts_with(|c: char| c.is_ascii_digit());
        // Most words stand before neither a name nor a number, so nothing is looked up for them.
        if !names && !measures {
            return;
        }
        let mut plain = word.to_ascii_lowercase();
        plain.retain(|c| c.is_ascii_alphanumeric());
        let plain = plain
            .strip_prefix('x')
            .filter(|_| word.contains('-'))
            .unwrap_or(&plain);
        if MEASURES.contains(&plain) && gap > 0 {
            let digits = number(value);
            if digits > 0 {
                self.keep(gap);
                self.leave_out(digits + unit(&value[digits..]).unwrap_or(0));
            }
        } else if IDS.contains(&plain) && names {
            let name = run(value, |c| {
                c.is_ascii_alphanumeric()
                    || matches!(c, '-' | '_' | '.' | '/' | '+' | '=' | '@' | ':')
            });
            if name > 0 {
                self.keep(gap);
                self.leave_out(name);
            }
        }
    }
}

/// Returns the length of the run of such characters that `text` begins with.
fn run(text: &str, of: impl Fn(char) -> bool) -> usize {
    text.find(|c| !of(c)).unwrap_or(text.len())
}

/// Returns the length of the number that `text` begins with.
fn number(text: &str) -> usize {
    let whole = run(text, |c| c.is_ascii_digit());
    let fraction = text[whole..]
        .strip_prefix(['.', ','])
        .map_or(0, |rest| run(rest, |c| c.is_ascii_digit()));
    match (whole, fraction) {
        (0, _) => 0,
        (whole, 0) => whole,
        (whole, fraction) => whole + 1 + fraction,
    }
}

/// Returns the length of the unit of time that follows a number, the space before it included.
fn unit(after: &str) -> Option<usize> {
    let gap = usize::from(after.starts_with(' '));
    let length = run(&after[gap..], char::is_alphabetic);
    let unit = &after[gap..gap + length];
    // Metres are no time, but `1m30s` and `1m 30s` are.
    let minutes = || {
        let rest = &after[gap + length..];
        let rest = rest.strip_prefix(' ').unwrap_or(rest);
        unit == "m" && gap == 0 && rest.starts_with(|c: char| c.is_ascii_digit())
    };
    (UNITS.contains(&unit) || minutes()).then_some(gap + length)
}

/// Returns the length of the date that `text` begins with, with the time of day after it.
fn date(text: &str) -> Option<usize> {
    let date = shape(text, "0000-00-00").or_else(|| shape(text, "0000/00/00"))?;
    let time = text[date..].strip_prefix(['T', ' ']).and_then(clock);
    Some(date + time.map_or(0, |time| time + 1))
}

/// Returns the length of the seconds or milliseconds since 1970 that `text` begins with, if that is what they are: ten
/// digits are the years 2001 to 2033, thirteen likewise.
fn since_1970(text: &str) -> Option<usize> {
    let digits = run(text, |c| c.is_ascii_digit());
    if !matches!(digits, 10 | 13) || !text.starts_with('1') {
        return None;
    }
    let whole = number(text);
    let ends = !text[whole..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    ends.then_some(whole)
}

/// Returns the length of the time of day that `text` begins with: `14:30`, `14:30:05.123Z`, `14:30:05 +01:00`.
fn clock(text: &str) -> Option<usize> {
    let mut length = shape(text, "00:00:00").or_else(|| shape(text, "00:00"))?;
    if &text[..2] > "23" || &text[3..5] > "59" {
        return None;
    }
    if text[length..].starts_with(['.', ',']) {
        let digits = run(&text[length + 1..], |c| c.is_ascii_digit());
        length += if digits > 0 { digits + 1 } else { 0 };
    }
    let zone = &text[length..];
    let gap = usize::from(zone.starts_with(' '));
    if zone.starts_with('Z') {
        length += 1;
    } else if zone[gap..].starts_with(['+', '-']) {
        let offset = &zone[gap + 1..];
        length += shape(offset, "00:00")
            .or_else(|| shape(offset, "0000"))
            .map_or(0, |offset| gap + 1 + offset);
    }
    Some(length)
}

/// Returns the length of `form` when `text` begins with it: `0` is any digit, and no digit may follow.
fn shape(text: &str, form: &str) -> Option<usize> {
    let bytes = text.as_bytes().get(..form.len())?;
    let fits = bytes
        .iter()
        .zip(form.bytes())
        .all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            other => *byte == other,
        });
    let ends = !text
        .as_bytes()
        .get(form.len())
        .is_some_and(u8::is_ascii_digit);
    (fits && ends).then_some(form.len())
}

/// Returns the length of the UUID that `text` begins with.
fn uuid(text: &str) -> Option<usize> {
    const FORM: &[u8; 36] = b"00000000-0000-0000-0000-000000000000";
    let bytes = text.as_bytes();
    let head = bytes.get(..FORM.len())?;
    let fits = head.iter().zip(FORM).all(|(byte, form)| match form {
        b'-' => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    let ends = !bytes.get(FORM.len()).is_some_and(u8::is_ascii_alphanumeric);
    (fits && ends).then_some(FORM.len())
}

/// Returns the length of the place in memory that `text` begins with: `0x7ffd5e8c1a40`.
fn address(text: &str) -> Option<usize> {
    let digits = run(text.strip_prefix("0x")?, |c| c.is_ascii_hexdigit());
    (digits >= 8).then_some(digits + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_different_each_time_does_not_count() {
        for (one, two) in [
            (
                "built at 2026-02-28T14:30:05.123Z",
                "built at 2026-03-01T09:00:00Z",
            ),
            ("[2026/02/28 14:30:05] ready", "[2026/02/28 14:31:59] ready"),
            ("Sat 14:30 up", "Sat 09:01 up"),
            ("at 14:30:05 +01:00.", "at 14:30:06 +01:00."),
            ("1 failed in 0.12s", "1 failed in 3.4s"),
            ("finished in 1m 3s", "finished in 59s"),
            ("took 12 ms", "took 812 ms"),
            ("took 12 ms, none", "took 1.5 s, none"),
            ("real 0.31 seconds", "real 12 seconds"),
            ("{\"took\":12,\"hits\":0}", "{\"took\":9,\"hits\":0}"),
            ("{\"elapsed_ms\": 12.5}", "{\"elapsed_ms\": 3}"),
            ("started, pid 4711", "started, pid 12"),
            ("pid=4711 dead", "pid=4712 dead"),
            ("\"messageId\": \"a.1@b\"", "\"messageId\": \"c@d\""),
            ("message_id: abc-1", "message_id: xyz"),
            ("X-Request-Id: 77aa", "X-Request-Id: 9"),
            (
                "job 123e4567-e89b-12d3-a456-426614174000 queued",
                "job 923e4567-e89b-12d3-a456-426614174fff queued",
            ),
            ("<object at 0x7ffd5e8c1a40>", "<object at 0x7ffd5e8c1b50>"),
            ("at 1767225600", "at 1767229999"),
            ("at 1767225600123.", "at 1767229999001."),
        ] {
            assert_eq!(fingerprint(one), fingerprint(two), "{one} | {two}");
        }
    }

    #[test]
    fn what_lasts_counts() {
        for (one, two) in [
            ("10 %", "20 %"),
            ("3 failed, 2 passed", "2 failed, 3 passed"),
            ("12 files", "13 files"),
            ("line 14", "line 15"),
            ("src/main.rs:14:30", "src/main.rs:15:12"),
            ("99:10", "98:10"),
            ("v1.2.3", "v1.2.4"),
            ("port 8080", "port 8081"),
            ("12 °C", "13 °C"),
            ("5 mm", "6 mm"),
            ("10 MB of 20 MB", "11 MB of 20 MB"),
            ("abc123def", "abc124def"),
            ("3d4e", "3d4f"),
            ("id: 7", "id: 8"),
            ("0x10", "0x11"),
            ("messageid alone", "messageid other"),
            ("order 12345678901", "order 12345678902"),
            ("Nachricht für a", "Nachricht für b"),
        ] {
            assert_ne!(fingerprint(one), fingerprint(two), "{one} | {two}");
        }
    }

    #[test]
    fn a_hostile_output_takes_linear_time() {
        for piece in [
            "1",
            "a",
            "12:",
            "0x",
            "pid ",
            "2026-",
            "1m",
            "-",
            "é",
            "message_id:",
            "\u{1} ",
        ] {
            let long = piece.repeat(200_000 / piece.len());
            assert!(stable(&long).len() <= long.len() + 4, "{piece}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_to_its_end(text in "([0-9a-fT:. Zxms-]|pid|took|\\PC){0,80}") {
            proptest::prop_assert!(stable(&text).chars().count() <= text.chars().count());
        }
    }
}
