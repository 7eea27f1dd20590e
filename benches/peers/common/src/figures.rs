//! Figures as lines of JSON.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns the processor time that all threads of this process have used.
pub fn cpu() -> Duration {
    since(ClockId::ProcessCPUTime)
}

/// Returns the time of the clock that all processes of this machine share, and that nobody sets.
pub fn monotonic() -> Duration {
    since(ClockId::Monotonic)
}

fn since(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let nanos = u32::try_from(time.tv_nsec).expect("less than a second");
    Duration::new(time.tv_sec.unsigned_abs(), nanos)
}

/// Returns how much memory is resident, in kB; 0 where the system does not tell.
pub fn resident() -> f64 {
    memory("VmRSS:")
}

/// Returns how much memory was ever resident, in kB; 0 where the system does not tell.
pub fn resident_at_most() -> f64 {
    memory("VmHWM:")
}

fn memory(key: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

/// Prints named numbers.
pub fn print(what: &str, numbers: &[(&str, f64)]) {
    let numbers = numbers
        .iter()
        .map(|(name, number)| format!(",\"{name}\":{number:.3}"));
    println!("{{\"what\":\"{what}\"{}}}", numbers.collect::<String>());
}

/// Prints the least, the tenth, the middle and the ninetieth of many measurements.
///
/// # Panics
///
/// Panics when there is none.
pub fn print_spread(what: &str, mut of: Vec<f64>) {
    of.sort_by(f64::total_cmp);
    let at = |percent: usize| of[(of.len() - 1) * percent / 100];
    print(
        what,
        &[
            ("min", of[0]),
            ("p10", at(10)),
            ("median", at(50)),
            ("p90", at(90)),
        ],
    );
}
