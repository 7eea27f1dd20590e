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
    by_city: HashMap<&'static str, Measurement>,
}

#[derive(Clone, Copy)]
struct Measurement {
    celsius: f64,
    sky: &'static str,
}

/// What the model reads, as JSON.
#[derive(Serialize)]
#[serde(crate = "claw::serde")]
struct Report {
    temperature: String,
    sky: &'static str,
}

/// Temperature unit.
#[derive(ToolInput)]
enum Unit {
    Celsius,
    Fahrenheit,
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
    /// Unit of the temperature.
    #[arg(default = Unit::Celsius)]
    unit: Unit,
) -> Result<Report, WeatherError> {
    let Some(&Measurement { celsius, sky }) = stations.by_city.get(city) else {
        let mut known: Vec<_> = stations.by_city.keys().copied().collect();
        known.sort_unstable();
        return Err(WeatherError::NoStation {
            city: city.to_owned(),
            known: known.join(", "),
        });
    };
    let temperature = match unit {
        Unit::Celsius => format!("{celsius:.0} °C"),
        Unit::Fahrenheit => format!("{:.0} °F", celsius * 1.8 + 32.0),
    };
    Ok(Report { temperature, sky })
}

fn main() -> ExitCode {
    let measured = |celsius, sky| Measurement { celsius, sky };
    let by_city = HashMap::from([
        ("Oslo", measured(-3.0, "light snow")),
        ("Shanghai", measured(17.0, "clear")),
        ("Nairobi", measured(24.0, "a few clouds")),
    ]);
    claw::program()
        .name("weather")
        .state(Stations { by_city })
        .main()
}
