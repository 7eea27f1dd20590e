//! How long a service asks to wait, from the headers of its answer.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper::header::HeaderMap;

/// Returns how long the service asks to wait: `retry-after-ms`, or `retry-after` as seconds or as a date; else, after too
/// many requests, until what is used up is granted anew.
pub(crate) fn retry_after(status: u16, headers: &HeaderMap) -> Option<Duration> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| *number >= 0.0);
    if let Some(ms) = header(headers, "retry-after-ms").and_then(number) {
        return Some(wait(ms / 1000.0));
    }
    let Some(text) = header(headers, "retry-after") else {
        return (status == 429).then(|| until_reset(headers)).flatten();
    };
    if let Some(seconds) = number(text) {
        return Some(wait(seconds));
    }
    Some(wait(until(parse_date(text)?, headers)))
}

/// The limits that services count, and the headers of what is left of each and when it is whole again.
const LIMITS: [(&str, &str); 6] = [
    (
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-requests-reset",
    ),
    (
        "anthropic-ratelimit-tokens-remaining",
        "anthropic-ratelimit-tokens-reset",
    ),
    (
        "anthropic-ratelimit-input-tokens-remaining",
        "anthropic-ratelimit-input-tokens-reset",
    ),
    (
        "anthropic-ratelimit-output-tokens-remaining",
        "anthropic-ratelimit-output-tokens-reset",
    ),
    (
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
    ),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
];

/// Returns the time until every limit that is used up is granted anew.
fn until_reset(headers: &HeaderMap) -> Option<Duration> {
    let used_up = LIMITS
        .iter()
        .filter(|(left, _)| header(headers, left) == Some("0"));
    let resets = used_up.filter_map(|(_, reset)| {
        let text = header(headers, reset)?;
        let seconds = match parse_moment(text) {
            Some(moment) => until(moment, headers),
            None => parse_span(text)?,
        };
        Some(wait(seconds))
    });
    resets.max()
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// Returns the seconds from now to `moment`, by the service's own clock, so that a wrong one here does not matter.
fn until(moment: u64, headers: &HeaderMap) -> f64 {
    let now = header(headers, "date")
        .and_then(parse_date)
        .unwrap_or_else(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH);
            since.map_or(0, |since| since.as_secs())
        });
    moment.saturating_sub(now) as f64
}

/// Returns the seconds of a span such as `6m0s`, `1.5s` or `20ms`.
fn parse_span(text: &str) -> Option<f64> {
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(end);
        let unit_end = tail
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let scale = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * scale;
        rest = tail;
    }
    (!text.is_empty()).then_some(seconds)
}

/// Returns the Unix time of a moment such as `2026-11-30T12:00:00Z`; parts of a second are left out.
fn parse_moment(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    unix_time(year, month, day, time.split('.').next()?)
}

/// A day is as good as forever, and a number of any size is a wait.
fn wait(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.min(86_400.0))
}

/// Returns the Unix time of an HTTP date such as `Sun, 06 Nov 1994 08:49:37 GMT`.
fn parse_date(text: &str) -> Option<u64> {
    let mut words = text.split_ascii_whitespace().skip(1);
    let day: u64 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = 1 + "JanFebMarAprMayJunJulAugSepOctNovDec"
        .as_bytes()
        .chunks(3)
        .position(|name| name == month.as_bytes())? as u64;
    let year: u64 = words.next()?.parse().ok()?;
    let time = words.next()?;
    if words.next() != Some("GMT") {
        return None;
    }
    unix_time(year, month, day, time)
}

/// Returns the Unix time of a day and a clock such as `08:49:37`.
fn unix_time(year: u64, month: u64, day: u64, clock: &str) -> Option<u64> {
    let mut clock = clock.splitn(3, ':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if !(1970..=9999).contains(&year)
        || !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    // Days since 1970 by counting from March, so that the leap day is the last of its year.
    let (y, m) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 719_469;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                let name = hyper::header::HeaderName::from_static(name);
                (name, value.parse().unwrap())
            })
            .collect()
    }

    #[test]
    fn a_wait_is_read_in_every_form() {
        const DATE: &str = "Wed, 21 Oct 2015 07:28:00 GMT";
        type Case = (&'static [(&'static str, &'static str)], Option<u64>);
        let cases: [Case; 9] = [
            (&[], None),
            (&[("retry-after", "2")], Some(2000)),
            (&[("retry-after", "0.5")], Some(500)),
            (
                &[("retry-after-ms", "1500"), ("retry-after", "9")],
                Some(1500),
            ),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "1e300")], Some(86_400_000)),
            (
                &[
                    ("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT"),
                    ("date", DATE),
                ],
                Some(30_000),
            ),
            (&[("retry-after", DATE)], Some(0)),
        ];
        for (pairs, ms) in cases {
            assert_eq!(
                retry_after(503, &headers(pairs)),
                ms.map(Duration::from_millis),
                "{pairs:?}"
            );
        }
    }

    #[test]
    fn a_used_up_limit_is_waited_for() {
        const DATE: (&str, &str) = ("date", "Mon, 30 Nov 2026 12:00:00 GMT");
        type Case = (&'static [(&'static str, &'static str)], Option<u64>);
        let cases: [Case; 6] = [
            (
                &[
                    DATE,
                    ("anthropic-ratelimit-requests-remaining", "3"),
                    ("anthropic-ratelimit-requests-reset", "2026-11-30T13:00:00Z"),
                    ("anthropic-ratelimit-input-tokens-remaining", "0"),
                    (
                        "anthropic-ratelimit-input-tokens-reset",
                        "2026-11-30T12:00:42Z",
                    ),
                ],
                Some(42_000),
            ),
            (
                &[
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-requests", "120ms"),
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-tokens", "6m0.5s"),
                ],
                Some(360_500),
            ),
            (
                &[
                    ("retry-after", "1"),
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-tokens", "6m0s"),
                ],
                Some(1_000),
            ),
            (
                &[
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-tokens", "soon"),
                ],
                None,
            ),
            (
                &[
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-tokens", ""),
                ],
                None,
            ),
            (&[("x-ratelimit-remaining-tokens", "0")], None),
        ];
        for (pairs, ms) in cases {
            let headers = headers(pairs);
            let expected = ms.map(Duration::from_millis);
            assert_eq!(retry_after(429, &headers), expected, "{pairs:?}");
        }
        // Any other failure has nothing to do with what is left.
        assert_eq!(retry_after(500, &headers(cases[1].0)), None);
    }

    #[test]
    fn dates_are_counted_over_leap_days() {
        let cases = [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Tue, 29 Feb 2000 23:59:59 GMT", Some(951_868_799)),
            ("Wed, 01 Mar 2000 00:00:00 GMT", Some(951_868_800)),
            ("Mon, 30 Nov 2026 12:00:00 GMT", Some(1_796_040_000)),
            ("Mon, 30 Foo 2026 12:00:00 GMT", None),
            ("Mon, 30 Nov 2026 12:00:00 PST", None),
            ("Mon, 30 Nov 99999999999999999999 12:00:00 GMT", None),
            ("tomorrow", None),
        ];
        for (text, time) in cases {
            assert_eq!(parse_date(text), time, "{text}");
        }
    }
}
