//! The same agent in rig, over its chat-completions route.

use bench_common::{PROMPT, SYSTEM, modes};
use futures_util::StreamExt;
use rig::agent::tool::{RegisteredTool, ToolSet};
use rig::core::tool::{ToolContext, ToolExecutionError};
use rig::providers::openai::OpenAIConfig;
use rig::{Agent, AgentBuilder, rig_tool};

/// Tells the weather.
#[rig_tool(
    description = "Tells the weather.",
    params(
        city = "City.",
        days = "Days ahead.",
        metric = "Whether in metric units."
    )
)]
fn get_weather(city: String, days: u32, metric: bool) -> Result<String, ToolExecutionError> {
    Ok(format!("{city}: {days} days, metric={metric}"))
}

/// Searches documents.
#[rig_tool(
    description = "Searches documents.",
    params(query = "What to look for.", limit = "How many.", lang = "Language.")
)]
fn search_docs(query: String, limit: u32, lang: String) -> Result<String, ToolExecutionError> {
    Ok(format!("{limit} hits for {query} in {lang}"))
}

/// Adds three numbers.
#[rig_tool(
    description = "Adds three numbers.",
    params(a = "The first.", b = "The second.", c = "The third.")
)]
fn add3(a: f64, b: f64, c: f64) -> Result<f64, ToolExecutionError> {
    Ok(a + b + c)
}

struct Measured {
    agent: Agent,
    tool: RegisteredTool,
}

impl modes::Agent for Measured {
    fn new(base: &str, model: &str) -> Self {
        let client = OpenAIConfig::new("k").with_base_url(base).client();
        let agent = AgentBuilder::new(client.chat(model))
            .preamble(SYSTEM)
            .tool(GetWeather)
            .tool(SearchDocs)
            .tool(Add3)
            .default_max_turns(64)
            .build();
        let mut tools = ToolSet::default();
        tools.add_tool(GetWeather);
        let tool = tools.get("get_weather").expect("it is there").clone();
        Self { agent, tool }
    }

    async fn run(&self) -> String {
        self.agent
            .prompt(PROMPT)
            .await
            .expect("an answer")
            .to_string()
    }

    async fn stream(&self) -> usize {
        let mut stream = self.agent.prompt(PROMPT).stream();
        let mut pieces = 0;
        while let Some(piece) = stream.next().await {
            piece.expect("a piece");
            pieces += 1;
        }
        pieces
    }

    async fn call(&self, arguments: &str) -> String {
        let mut ctx = ToolContext::default();
        let outcome = self.tool.execute(arguments.to_owned(), &mut ctx).await;
        outcome.output().render()
    }
}

fn main() {
    modes::run::<Measured>();
}
