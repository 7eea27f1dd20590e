//! The whole loop without network or key: a scripted model calls a tool wrongly, reads the report, and corrects itself.
//!
//! ```sh
//! cargo run --example offline
//! ```

use std::sync::Arc;

use claw::agent::Observer;
use claw::event::Event;
use claw::message::{ContentBlock, text_of};
use claw::prelude::*;
use claw::provider::Scripted;
use claw::provider::scripted::{calls, says};
use claw::serde_json::json;

/// Adds up what a list of things costs.
#[tool(effect = pure)]
fn total(
    /// Prices in euros.
    #[arg(len = 1..=20)]
    prices: Vec<f64>,
    /// Discount in percent.
    #[arg(default = 0, range = 0..=100)]
    discount: u8,
) -> String {
    let sum: f64 = prices.iter().sum();
    format!("{:.2} €", sum * (1.0 - f64::from(discount) / 100.0))
}

/// Prints the conversation as the journal keeps it.
struct Transcript;

impl Observer for Transcript {
    fn event(&mut self, event: &Event) {
        match event {
            Event::UserInput { content, .. } => println!("user      {}", text_of(content)),
            Event::Assistant { content, .. } => {
                for block in content {
                    match block {
                        ContentBlock::Text { text } => println!("model     {text}"),
                        ContentBlock::ToolCall(call) => {
                            println!("model     calls {} {}", call.name, call.arguments);
                        }
                        _ => {}
                    }
                }
            }
            Event::Outcome {
                status, content, ..
            } => {
                let text = text_of(content).replace('\n', "\n          ");
                println!("{status:9?} {text}");
            }
            _ => {}
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let model = Scripted::new([
        calls("total", json!({"prices": "cheap", "discount": 150})),
        calls("total", json!({"prices": [12.5, 7.5], "discount": 10})),
        says("With 10 % off, both cost 18.00 € together."),
    ]);
    let agent = Agent::builder()
        .model(Arc::new(model), "demo")
        .tools(Toolset::of(claw::tools![total])?)
        .system("You are a cashier.")
        .build()?;
    let mut session = agent.session("till").await?;
    let prompt = claw::message::Message::user("What do 12.50 and 7.50 cost with 10 % off?");
    let outcome = session.run_observed(prompt, &mut Transcript).await?;
    println!(
        "\nThe turn took {} rounds and ended: {:?}",
        outcome.rounds, outcome.reason
    );
    Ok(())
}
