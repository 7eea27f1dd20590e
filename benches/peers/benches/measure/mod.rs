//! How the benches measure: by the processor time of this process, which other load on the machine does not touch, and
//! told as ratios to the floor of the same run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bench_common::figures::cpu;
use criterion::Criterion;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};

/// Processor time of all threads of this process.
pub struct CpuTime;

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        cpu()
    }

    fn end(&self, start: Duration) -> Duration {
        cpu() - start
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    #[allow(clippy::cast_precision_loss, reason = "a figure for people")]
    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

/// Where the figures of the bench `name` are kept.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Returns the benchmark manager of the bench `name`, with nothing kept from earlier runs.
pub fn criterion(name: &str) -> Criterion<CpuTime> {
    let folder = folder(name);
    let _ = std::fs::remove_dir_all(&folder);
    Criterion::default()
        .with_measurement(CpuTime)
        .output_directory(&folder)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(30)
        .configure_from_args()
}

/// Returns the median of one figure in nanoseconds, where it was measured in this run.
pub fn median(bench: &str, group: &str, name: &str) -> Option<f64> {
    let file = folder(bench)
        .join(group)
        .join(name)
        .join("new/estimates.json");
    let estimates: serde_json::Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    estimates["median"]["point_estimate"].as_f64()
}

/// Prints the figures of a group beside the first, the floor.
#[allow(dead_code, reason = "the rounds print slopes")]
pub fn print(bench: &str, group: &str, names: &[&str]) {
    let figures = names
        .iter()
        .map(|name| Some((*name, median(bench, group, name)?)));
    print_figures(group, &figures.flatten().collect::<Vec<_>>());
}

/// Prints figures in nanoseconds beside the first.
pub fn print_figures(title: &str, figures: &[(&str, f64)]) {
    let Some((_, floor)) = figures.first() else {
        return;
    };
    println!("\n{title}");
    for (name, time) in figures {
        let shown = match *time {
            time if time < 1e3 => format!("{time:.0} ns"),
            time if time < 1e6 => format!("{:.2} µs", time / 1e3),
            time => format!("{:.2} ms", time / 1e6),
        };
        println!("  {name:<28} {shown:>10}  {:>7.2} ×", time / floor);
    }
}
