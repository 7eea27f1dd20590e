//! One call from the model's text: read, checked and run; and what it costs to explain a bad one.
//!
//! The peers stop at the first fault serde meets, and check no more than serde does.

mod measure;

use std::hint::black_box;

use claw::tool::{Prepared, Tool, ToolContext, ToolDef, ToolEntry};
use criterion::Criterion;
use measure::{CpuTime, print};
use serde::Deserialize;

const BENCH: &str = "call";
const TEXT: &str = r#"{"city":"Oslo","days":3,"metric":true}"#;
/// One name misspelt and so missing, one number out of range, one wrong type, one name that means nothing.
const BAD: &str = r#"{"citty":"Oslo","days":3000,"metric":"maybe","note":{"a":1}}"#;

/// The same three arguments for everybody.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Borrowed<'a> {
    city: &'a str,
    days: u32,
    metric: bool,
}

#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Owned {
    /// City.
    city: String,
    /// Days ahead.
    days: u32,
    /// Whether in metric units.
    metric: bool,
}

fn forecast(city: &str, days: u32, metric: bool) -> String {
    format!("{city}: {days} days, metric={metric}")
}

mod ours {
    use claw::tool;

    /// Tells the weather.
    #[tool(effect = pure)]
    pub fn get_weather(
        /// City.
        #[arg(len = 1..=80)]
        city: &str,
        /// Days ahead.
        #[arg(range = 0..=14)]
        days: u32,
        /// Whether in metric units.
        metric: bool,
    ) -> String {
        super::forecast(city, days, metric)
    }
}

mod tools_rs_peer {
    use tools_rs::tool;

    #[tool]
    /// Tells the weather.
    pub async fn get_weather(city: String, days: u32, metric: bool) -> String {
        super::forecast(&city, days, metric)
    }
}

mod llm_tool_peer {
    use llm_tool::llm_tool;

    /// Tells the weather.
    #[llm_tool]
    pub fn get_weather(
        /// City.
        city: &str,
        /// Days ahead.
        days: u32,
        /// Whether in metric units.
        metric: bool,
    ) -> String {
        super::forecast(city, days, metric)
    }
}

mod reductool_peer {
    use reductool::aitool;

    #[aitool]
    /// Tells the weather.
    pub fn get_weather(city: String, days: u32, metric: bool) -> String {
        super::forecast(&city, days, metric)
    }
}

mod rmcp_peer {
    use rmcp::handler::server::wrapper::Parameters;
    use rmcp::{ServerHandler, tool, tool_handler, tool_router};

    #[derive(Clone)]
    pub struct Server;

    #[tool_router]
    impl Server {
        #[tool(description = "Tells the weather.")]
        fn get_weather(&self, Parameters(of): Parameters<super::Owned>) -> String {
            super::forecast(&of.city, of.days, of.metric)
        }
    }

    #[tool_handler]
    impl ServerHandler for Server {}
}

static ENTRY: ToolEntry = <ours::get_weather as ToolDef>::ENTRY;

fn check(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("check");
    group.bench_function("serde_json", |bencher| {
        bencher.iter(|| {
            let of: Borrowed<'_> = serde_json::from_str(black_box(TEXT)).expect("it fits");
            black_box((of.city, of.days, of.metric));
        });
    });
    group.bench_function("claw", |bencher| {
        bencher.iter(|| {
            assert!(matches!(
                (ENTRY.shim)(None, black_box(TEXT)),
                Ok(Prepared::Checked)
            ))
        });
    });
    group.finish();
    print(BENCH, "check", &["serde_json", "claw"]);
}

fn call(criterion: &mut Criterion<CpuTime>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.expect("a runtime");
    let mut group = criterion.benchmark_group("call");
    group.bench_function("serde_json and a match", |bencher| {
        let dispatch = |name: &str, text: &str| match name {
            "get_weather" => {
                let of: Owned = serde_json::from_str(text).expect("it fits");
                forecast(&of.city, of.days, of.metric)
            }
            _ => String::new(),
        };
        bencher.iter(|| dispatch(black_box("get_weather"), black_box(TEXT)));
    });
    group.bench_function("claw", |bencher| {
        let tools = claw::registry::Toolset::of(claw::tools![ours::get_weather]).expect("one");
        let ctx = ToolContext::detached();
        bencher.iter(|| {
            let tool = tools.get(black_box("get_weather")).expect("it is there");
            let arguments = tool.validate(black_box(TEXT)).expect("it fits");
            match tool.call(&ctx, &arguments) {
                Prepared::Done(outcome) => outcome.expect("it works"),
                _ => unreachable!("a sync tool"),
            }
        });
    });
    group.bench_function("llm-tool", |bencher| {
        let tools = llm_tool::ToolRegistry::new().with_tool(llm_tool_peer::GetWeather);
        let ctx = llm_tool::ToolContext::new();
        let call = || tools.dispatch_str(black_box("get_weather"), black_box(TEXT), &ctx);
        bencher.iter(|| runtime.block_on(call()).expect("it works"));
    });
    group.bench_function("reductool", |bencher| {
        bencher.iter(|| {
            let arguments = serde_json::from_str(black_box(TEXT)).expect("JSON");
            let call = reductool::dispatch_tool(black_box("get_weather"), arguments);
            runtime.block_on(call).expect("it works")
        });
    });
    group.bench_function("tools-rs", |bencher| {
        let tools = tools_rs::collect_tools();
        bencher.iter(|| {
            let arguments = serde_json::from_str(black_box(TEXT)).expect("JSON");
            let call = tools_rs::FunctionCall::new("get_weather".to_owned(), arguments);
            runtime.block_on(tools.call(call)).expect("it works")
        });
    });
    group.bench_function("rmcp, its parse alone", |bencher| {
        bencher.iter(|| {
            let arguments = serde_json::from_str(black_box(TEXT)).expect("JSON");
            let of: Owned =
                rmcp::handler::server::tool::parse_json_object(arguments).expect("it fits");
            forecast(&of.city, of.days, of.metric)
        });
    });
    // Its router takes a call only from a transport, so this is the whole protocol over a pipe in memory.
    group.bench_function("rmcp, over a pipe", |bencher| {
        use rmcp::ServiceExt;
        let client = runtime.block_on(async {
            let (near, far) = tokio::io::duplex(1 << 16);
            tokio::spawn(async move {
                let server = rmcp_peer::Server.serve(far).await.expect("it starts");
                server.waiting().await.expect("it ends");
            });
            ().serve(near).await.expect("it connects")
        });
        bencher.iter(|| {
            let arguments = serde_json::from_str(black_box(TEXT)).expect("JSON");
            let call =
                rmcp::model::CallToolRequestParams::new("get_weather").with_arguments(arguments);
            runtime.block_on(client.call_tool(call)).expect("it works")
        });
        runtime.block_on(client.cancel()).expect("it ends");
    });
    group.finish();
    let names = [
        "serde_json and a match",
        "claw",
        "reductool",
        "rmcp, its parse alone",
        "llm-tool",
        "tools-rs",
        "rmcp, over a pipe",
    ];
    print(BENCH, "call", &names);
}

fn report(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("report");
    group.bench_function("serde_json, first fault", |bencher| {
        bencher.iter(|| match serde_json::from_str::<Owned>(black_box(BAD)) {
            Ok(_) => unreachable!("it does not fit"),
            Err(error) => error.to_string(),
        });
    });
    group.bench_function("claw, all faults", |bencher| {
        let tool = Tool::linked(&ENTRY);
        let report = tool.validate(BAD).expect_err("it does not fit");
        assert!(report.contains("4 problems"), "{report}");
        bencher.iter(|| tool.validate(black_box(BAD)).expect_err("it does not fit"));
    });
    group.finish();
    print(
        BENCH,
        "report",
        &["serde_json, first fault", "claw, all faults"],
    );
}

fn main() {
    let mut criterion = measure::criterion(BENCH);
    check(&mut criterion);
    call(&mut criterion);
    report(&mut criterion);
    criterion.final_summary();
}
