//! How far a transfer is: a bar on a terminal, a line now and then elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use claw_runtime::download::Progress;

use crate::cli::terminal::{DIM, Screen, columns};

/// How often a bar is drawn.
const FRAME: Duration = Duration::from_millis(100);
/// How often a line is printed.
const LINE: Duration = Duration::from_secs(5);
/// Columns of a bar.
const BAR: usize = 24;

/// Shows the transfer of one file.
pub(super) struct Meter<'s> {
    screen: &'s mut Screen,
    name: String,
    on_terminal: bool,
    /// When the first bytes came, and how many there were before.
    begun: Option<(Instant, u64)>,
    done: u64,
    shown: Instant,
}

impl<'s> Meter<'s> {
    pub(super) fn new(screen: &'s mut Screen, name: &str) -> Self {
        Self {
            screen,
            name: name.to_owned(),
            on_terminal: stderr().is_terminal(),
            begun: None,
            done: 0,
            shown: Instant::now(),
        }
    }

    /// Prints a line of talk.
    pub(super) fn note(&mut self, line: &str) {
        self.screen.note(DIM, line);
    }

    /// Takes the next news.
    pub(super) fn show(&mut self, now: Progress) {
        let Progress::Bytes { done, total } = now else {
            let name = &self.name;
            self.note(&format!("another process fetches `{name}`; waiting for it"));
            return;
        };
        // It begins anew, as from another place.
        if done < std::mem::replace(&mut self.done, done) {
            self.begun = None;
        }
        let (since, before) = *self.begun.get_or_insert((Instant::now(), done));
        let pause = if self.on_terminal { FRAME } else { LINE };
        if self.shown.elapsed() < pause {
            return;
        }
        self.shown = Instant::now();
        let rate = rate(done.saturating_sub(before), since.elapsed());
        let line = line(&self.name, done, total, rate);
        match (self.on_terminal, total) {
            (true, Some(total)) => {
                let bar = bar(done, total);
                let room = columns().saturating_sub(1);
                let whole = format!("{bar} {line}");
                let fits = whole.chars().count() <= room;
                self.screen.status(if fits { &whole } else { &line });
            }
            (true, None) => self.screen.status(&line),
            (false, _) => self.screen.note(DIM, &line),
        }
    }
}

/// Returns bytes a second; none before there is anything to tell from.
fn rate(bytes: u64, time: Duration) -> Option<u64> {
    let millis = u64::try_from(time.as_millis()).ok()?;
    if bytes == 0 {
        return None;
    }
    bytes.saturating_mul(1_000).checked_div(millis)
}

fn line(name: &str, done: u64, total: Option<u64>, rate: Option<u64>) -> String {
    let mut line = format!("{name}: {}", bytes(done));
    if let Some(total) = total {
        line.push_str(&format!(" of {}", bytes(total)));
    }
    if let Some(rate) = rate {
        line.push_str(&format!(", {}/s", bytes(rate)));
        let left = total.and_then(|total| total.saturating_sub(done).checked_div(rate));
        if let Some(left) = left {
            line.push_str(&format!(", {} left", time(left)));
        }
    }
    line
}

fn bar(done: u64, total: u64) -> String {
    let full = u128::from(done.min(total)) * BAR as u128;
    let full = full.checked_div(u128::from(total)).unwrap_or(BAR as u128);
    let full = usize::try_from(full).unwrap_or(BAR);
    format!("[{}{}]", "#".repeat(full), "-".repeat(BAR - full))
}

/// Returns an amount of bytes in decimal units, three digits or fewer.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if count < 1_000 {
        return format!("{count} B");
    }
    let mut rest = count as f64 / 1_000.0;
    let mut units = UNITS.iter();
    let mut unit = units.next().unwrap_or(&"");
    // What would be written as `1000` belongs to the next unit.
    while rest >= 999.5
        && let Some(next) = units.next()
    {
        rest /= 1_000.0;
        unit = next;
    }
    if rest < 9.95 {
        format!("{rest:.1} {unit}")
    } else {
        format!("{rest:.0} {unit}")
    }
}

fn time(seconds: u64) -> String {
    match seconds {
        0..=99 => format!("{seconds} s"),
        100..=5_999 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3_600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_short() {
        for (count, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (9_949, "9.9 kB"),
            (9_950, "10 kB"),
            (98_362_432, "98 MB"),
            (999_499_999, "999 MB"),
            (999_500_000, "1.0 GB"),
            (u64::MAX, "18447 PB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn a_line_tells_how_far_how_fast_and_how_long() {
        assert_eq!(
            line("m", 40_000_000, Some(98_000_000), Some(2_000_000)),
            "m: 40 MB of 98 MB, 2.0 MB/s, 29 s left"
        );
        assert_eq!(line("m", 5, None, None), "m: 5 B");
        assert_eq!(
            line("m", 9, Some(5), Some(1)),
            "m: 9 B of 5 B, 1 B/s, 0 s left"
        );
        assert_eq!(
            line("m", 1, Some(1_000_000), Some(100)),
            "m: 1 B of 1.0 MB, 100 B/s, 3 h left"
        );
        assert_eq!(time(100), "2 min");
    }

    #[test]
    fn a_rate_needs_time_and_bytes() {
        assert_eq!(rate(500, Duration::from_millis(250)), Some(2_000));
        assert_eq!(rate(500, Duration::ZERO), None);
        assert_eq!(rate(0, Duration::from_secs(1)), None);
    }

    #[test]
    fn a_bar_is_as_full_as_the_file() {
        assert_eq!(bar(0, 10), format!("[{}]", "-".repeat(24)));
        assert_eq!(
            bar(5, 10),
            format!("[{}{}]", "#".repeat(12), "-".repeat(12))
        );
        assert_eq!(bar(11, 10), format!("[{}]", "#".repeat(24)));
        assert_eq!(bar(0, 0), format!("[{}]", "#".repeat(24)));
        assert_eq!(bar(u64::MAX, u64::MAX), format!("[{}]", "#".repeat(24)));
    }
}
