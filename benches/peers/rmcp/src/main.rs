//! The same tools in rmcp. It has no agent; its router takes a call only from a transport, so a call is the whole
//! protocol over a pipe in memory.

use bench_common::modes;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolRequestParams;
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Weather {
    /// City.
    city: String,
    /// Days ahead.
    days: u32,
    /// Whether in metric units.
    metric: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Search {
    /// What to look for.
    query: String,
    /// How many.
    limit: u32,
    /// Language.
    lang: String,
}

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    /// The first.
    a: f64,
    /// The second.
    b: f64,
    /// The third.
    c: f64,
}

struct Server;

#[tool_router]
impl Server {
    #[tool(description = "Tells the weather.")]
    fn get_weather(&self, Parameters(of): Parameters<Weather>) -> String {
        format!("{}: {} days, metric={}", of.city, of.days, of.metric)
    }

    #[tool(description = "Searches documents.")]
    fn search_docs(&self, Parameters(of): Parameters<Search>) -> String {
        format!("{} hits for {} in {}", of.limit, of.query, of.lang)
    }

    #[tool(description = "Adds three numbers.")]
    fn add3(&self, Parameters(of): Parameters<Numbers>) -> String {
        (of.a + of.b + of.c).to_string()
    }
}

#[tool_handler]
impl ServerHandler for Server {}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let (near, far) = tokio::io::duplex(1 << 16);
    let server =
        tokio::spawn(async move { Server.serve(far).await.expect("it starts").waiting().await });
    let client = ().serve(near).await.expect("it connects");
    match std::env::args().nth(1).as_deref() {
        Some("idle") => {
            println!("ready");
            tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
        }
        Some("call") => {
            modes::calls(async |arguments: &str| {
                let arguments = serde_json::from_str(arguments).expect("JSON");
                let call = CallToolRequestParams::new("get_weather").with_arguments(arguments);
                let outcome = client.call_tool(call).await.expect("it works");
                format!("{outcome:?}")
            })
            .await;
        }
        mode => panic!("mode `{mode:?}` is none of `idle` and `call`"),
    }
    client.cancel().await.expect("it ends");
    server.await.expect("no panic").expect("it ends");
}
