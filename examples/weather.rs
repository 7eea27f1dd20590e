//! One tool with state and a typed error, as a whole program.
//!
//! ```sh
//! cargo run --example weather -- tools call weather '{"city":"Oslo"}'
//! cargo run --example weather -- run "Is it warmer in Oslo or in Shanghai?"
//! ```
//!
//! The second one needs a model: a key such as `OPENAI_API_KEY` in the environment, or a local server.

use std::collections::HashMap;
use std::process::ExitCode;

use claw::prelude::*;
use claw::serde::Serialize;

/// What the stations measured. A real one would hold a connection pool; tools borrow it by its type.
struct Stations {
    by_city: HashMap<&'static str, Report>,
}

/// What a station measured; the model reads it as JSON.
#[derive(Clone, Serialize)]
#[serde(crate = "claw::serde")]
struct Report {
    celsius: f64,
    sky: &'static str,
}

/// What the model reads when a call fails: what is wrong, and what would be right.
#[derive(Debug, thiserror::Error)]
enum WeatherError {
    #[error("there is no station in `{city}`; there are stations in {known}")]
    NoStation { city: String, known: String },
}

/// Current weather in a city.
#[tool(effect = read, group = "weather", timeout = "10s")]
async fn weather(
    stations: State<'_, Stations>,
    /// City name in English, for example `Shanghai`.
    #[arg(len = 1..=80)]
    city: &str,
) -> Result<Report, WeatherError> {
    stations.by_city.get(city).cloned().ok_or_else(|| {
        let mut known: Vec<_> = stations.by_city.keys().copied().collect();
        known.sort_unstable();
        WeatherError::NoStation {
            city: city.to_owned(),
            known: known.join(", "),
        }
    })
}

fn main() -> ExitCode {
    let report = |celsius, sky| Report { celsius, sky };
    let by_city = HashMap::from([
        ("Oslo", report(-3.0, "light snow")),
        ("Shanghai", report(17.0, "clear")),
        ("Nairobi", report(24.0, "a few clouds")),
    ]);
    claw::program()
        .name("weather")
        .state(Stations { by_city })
        .main()
}
