//! The same agent in claw: three tools, one provider, sessions in memory.

use std::sync::Arc;

use claw::limits::Limits;
use claw::prelude::*;
use claw::provider::{Capabilities, OpenAiChat, Provider};
use claw::session::SessionStore;

/// Tells the weather.
#[tool(effect = pure)]
pub fn get_weather(
    /// City.
    city: &str,
    /// Days ahead.
    days: u32,
    /// Whether in metric units.
    metric: bool,
) -> String {
    format!("{city}: {days} days, metric={metric}")
}

/// Searches documents.
#[tool(effect = pure)]
pub fn search_docs(
    /// What to look for.
    query: &str,
    /// How many.
    limit: u32,
    /// Language.
    lang: &str,
) -> String {
    format!("{limit} hits for {query} in {lang}")
}

/// Adds three numbers.
#[tool(effect = pure)]
pub fn add3(
    /// The first.
    a: f64,
    /// The second.
    b: f64,
    /// The third.
    c: f64,
) -> String {
    (a + b + c).to_string()
}

/// What stands before every conversation.
pub const SYSTEM: &str = "You are a helpful agent.";

/// Returns a provider for the service at `base`, which answers in one piece.
pub fn provider(base: &str) -> Arc<dyn Provider> {
    let key = Some("k".to_owned().into());
    let service = OpenAiChat::new("mock", base, key).expect("an address");
    Arc::new(service.declare(Capabilities {
        streaming: false,
        ..Capabilities::FULL
    }))
}

/// Returns an agent that keeps its sessions in `store`.
pub fn agent(provider: Arc<dyn Provider>, model: &str, store: Arc<dyn SessionStore>) -> Agent {
    let tools = Toolset::of(claw::tools![get_weather, search_docs, add3]);
    Agent::builder()
        .model(provider, model)
        .system(SYSTEM)
        .tools(tools.expect("names of their own"))
        .store(store)
        // Nothing is compacted: all that was said is sent, as the floor does.
        .limits(Limits {
            window: Some(1 << 32),
            ..Limits::default()
        })
        .build()
        .expect("an agent")
}
