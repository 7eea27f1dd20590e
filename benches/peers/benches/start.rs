//! A program of a thousand tools starts: the registry alone, and all a first request says of them.

mod measure;

use std::hint::black_box;

use claw::registry::Toolset;
use measure::print;
use serde_json::json;

const BENCH: &str = "start";

fn read(path: &str, limit: u32, number: bool) -> String {
    format!("{path} {limit} {number}")
}

mod ours {
    include!(concat!(env!("OUT_DIR"), "/claw.rs"));
}

mod by_hand {
    include!(concat!(env!("OUT_DIR"), "/schemars.rs"));
}

mod rmcp_peer {
    #[derive(Clone)]
    pub struct Server;

    include!(concat!(env!("OUT_DIR"), "/rmcp.rs"));
}

mod llm_tool_peer {
    include!(concat!(env!("OUT_DIR"), "/llm_tool.rs"));
}

mod reductool_peer {
    include!(concat!(env!("OUT_DIR"), "/reductool.rs"));
}

mod tools_rs_peer {
    include!(concat!(env!("OUT_DIR"), "/tools_rs.rs"));
}

fn main() {
    let mut criterion = measure::criterion(BENCH);
    let mut group = criterion.benchmark_group("registry");
    group.bench_function("claw", |bencher| {
        bencher.iter(|| Toolset::of(black_box(ours::entries())).expect("names of their own"));
    });
    group.bench_function("llm-tool", |bencher| {
        bencher.iter(|| {
            let mut tools = llm_tool::ToolRegistry::new();
            llm_tool_peer::register(&mut tools);
            tools
        });
    });
    group.bench_function("rmcp", |bencher| {
        bencher.iter(rmcp_peer::Server::tool_router)
    });
    group.bench_function("tools-rs", |bencher| bencher.iter(tools_rs::collect_tools));
    group.finish();
    print(BENCH, "registry", &["claw", "llm-tool", "rmcp", "tools-rs"]);

    // What a model is told of the tools, as JSON.
    let mut group = criterion.benchmark_group("first request");
    group.bench_function("schemars by hand", |bencher| {
        bencher.iter(|| {
            let tools = by_hand::TOOLS.iter().map(|(name, description, schema)| {
                json!({"name": name, "description": description, "input_schema": schema()})
            });
            serde_json::to_string(&tools.collect::<Vec<_>>()).expect("JSON")
        });
    });
    group.bench_function("claw", |bencher| {
        bencher.iter(|| {
            let tools = Toolset::of(black_box(ours::entries())).expect("names of their own");
            black_box(tools.definitions());
            tools
        });
    });
    group.bench_function("llm-tool", |bencher| {
        bencher.iter(|| {
            let mut tools = llm_tool::ToolRegistry::new();
            llm_tool_peer::register(&mut tools);
            serde_json::to_string(&*tools.definitions_slice()).expect("JSON")
        });
    });
    group.bench_function("rmcp", |bencher| {
        bencher.iter(|| {
            let tools = rmcp_peer::Server::tool_router().list_all();
            serde_json::to_string(&tools).expect("JSON")
        });
    });
    group.bench_function("tools-rs", |bencher| {
        bencher.iter(|| {
            black_box(tools_rs::collect_tools());
            serde_json::to_string(&tools_rs::function_declarations().expect("schemas"))
                .expect("JSON")
        });
    });
    group.bench_function("reductool", |bencher| {
        bencher.iter(|| serde_json::to_string(&reductool::tools_to_schema()).expect("JSON"));
    });
    group.finish();
    let names = [
        "schemars by hand",
        "claw",
        "reductool",
        "llm-tool",
        "tools-rs",
        "rmcp",
    ];
    print(BENCH, "first request", &names);
    criterion.final_summary();
}
