//! Expansions keep to the strictest rules of the crate around them.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unreachable_pub, clippy::pedantic, unused_qualifications)]

use claw::tool::ToolContext;
use claw::{State, ToolInput, tool};

/// A unit.
#[derive(Clone, Copy, Debug, ToolInput)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// A.
    Metric,
    /// B.
    Imperial,
}

/// Where.
#[derive(Clone, Debug, ToolInput)]
pub struct Place {
    /// The city.
    pub city: String,
    /// Near it.
    #[serde(default)]
    pub near: Vec<Place>,
}

const HALF: f64 = 0.5;

/// A tool with everything.
#[tool(
    name = "everything",
    title = "Everything",
    group = "web",
    effect = idempotent,
    destructive,
    timeout = "10s",
    parallel,
    approve = ask,
    reads(from),
    writes(to),
    net(url),
    secrets("TOKEN"),
    coerce = lenient,
    version = 2,
    alias("all", "whole"),
    tags("web"),
    meta(cost = 1),
    max_output = 100,
    open_world,
    example(from = "a", to = "b", url = "https://c", r#type = ["d"], share = HALF)
)]
pub async fn all(
    ctx: &ToolContext,
    state: State<'_, u32>,
    #[state] other: &String,
    /// From.
    from: &str,
    /// To.
    mut to: String,
    /// The address.
    #[arg(rename = "address", alias = "uri", len = 1..=80, secret)]
    url: &str,
    /// The unit.
    #[arg(default = Unit::Metric)]
    unit: Unit,
    /// The place.
    place: Option<Place>,
    #[arg(description = "", range = -5..=5, default = -1)] step: i64,
    /// The word.
    #[arg(one_of("a", "b"), default = "a")]
    word: String,
    /// The share.
    #[arg(range = 0.0..1.0, default = 0.5)]
    share: f64,
    /// The rest.
    r#type: Vec<&str>,
) -> Result<String, std::io::Error> {
    to.push_str(from);
    tokio::task::yield_now().await;
    Ok(format!(
        "{}{}{other}{to}{url}{unit:?}{place:?}{step}{word}{share}{type:?}",
        ctx.call_id(),
        *state
    ))
}

/// A sync tool without parameters.
#[tool(effect = read, blocking)]
fn quiet() {}

/// A tool behind a `cfg`.
#[tool]
#[cfg(any())]
fn absent(no: Such) {}

fn main() {
    let tools = claw::registry::Toolset::linked().expect("names are unique");
    let tool = tools.get("everything").expect("linked");
    let spec = tool.spec();
    assert_eq!(spec.net, ["address"]);
    assert_eq!(spec.secret, ["address"]);
    assert_eq!(tool.needs().count(), 2);
    assert!(!tool.is_sync());
    assert!(tools.get("quiet").is_some_and(|tool| tool.is_sync()));
    assert!(tool.input_schema().contains("\"exclusiveMaximum\":1.0"));
}
