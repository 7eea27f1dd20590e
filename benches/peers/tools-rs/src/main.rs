//! The same tools in tools-rs. It has no agent.

use bench_common::modes;
use tools_rs::{FunctionCall, collect_tools, tool};

#[tool]
/// Tells the weather.
async fn get_weather(city: String, days: u32, metric: bool) -> String {
    format!("{city}: {days} days, metric={metric}")
}

#[tool]
/// Searches documents.
async fn search_docs(query: String, limit: u32, lang: String) -> String {
    format!("{limit} hits for {query} in {lang}")
}

#[tool]
/// Adds three numbers.
async fn add3(a: f64, b: f64, c: f64) -> f64 {
    a + b + c
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let tools = collect_tools();
    match std::env::args().nth(1).as_deref() {
        Some("idle") => {
            println!("ready");
            tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
        }
        Some("call") => {
            modes::calls(async |arguments: &str| {
                let arguments = serde_json::from_str(arguments).expect("JSON");
                let call = FunctionCall::new("get_weather".to_owned(), arguments);
                format!("{:?}", tools.call(call).await.expect("it works").result)
            })
            .await;
        }
        mode => panic!("mode `{mode:?}` is none of `idle` and `call`"),
    }
}
