//! Writes a thousand tools of three documented arguments, once for claw and once for each peer.

use std::fmt::Write as _;
use std::path::Path;

const TOOLS: usize = 1000;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var("OUT_DIR").expect("cargo names it");
    let write = |name: &str, text: String| {
        let file = Path::new(&out).join(name);
        std::fs::write(file, text).expect("the folder can be written");
    };
    write("claw.rs", claw());
    write("schemars.rs", schemars());
    write("rmcp.rs", rmcp());
    write("llm_tool.rs", llm_tool());
    write("reductool.rs", plain("reductool::aitool", ""));
    write("tools_rs.rs", plain("tools_rs::tool", "async "));
}

const DOCUMENTED: &str = "
    /// The path, beneath the folder.
    path: String,
    /// How many lines.
    limit: u32,
    /// Whether to number them.
    number: bool,
";

fn all(mut one: impl FnMut(&mut String, usize)) -> String {
    let mut text = String::new();
    (0..TOOLS).for_each(|at| one(&mut text, at));
    text
}

fn claw() -> String {
    let functions = all(|text, at| {
        writeln!(
            text,
            "/// Reads file number {at}.\n#[claw::tool(effect = read)]\npub fn read_{at}({DOCUMENTED}) -> String {{ \
             super::read(&path, limit, number) }}"
        )
        .expect("a string takes all");
    });
    let names = all(|text, at| write!(text, "read_{at}, ").expect("a string takes all"));
    format!(
        "{functions}\npub fn entries() -> &'static [claw::tool::ToolEntry] {{ claw::tools![{names}] }}"
    )
}

fn schemars() -> String {
    let types = all(|text, at| {
        writeln!(
            text,
            "#[derive(serde::Deserialize, schemars::JsonSchema)]\n#[serde(deny_unknown_fields)]\n#[allow(dead_code)]\n\
             struct Read{at} {{ {DOCUMENTED} }}"
        )
        .expect("a string takes all");
    });
    // Pointers: one function of a thousand temporaries takes the compiler minutes.
    let makers = all(|text, at| {
        write!(
            text,
            "(\"read_{at}\", \"Reads file number {at}.\", || schemars::schema_for!(Read{at})), "
        )
        .expect("a string takes all");
    });
    format!("{types}\npub static TOOLS: &[(&str, &str, fn() -> schemars::Schema)] = &[{makers}];")
}

fn rmcp() -> String {
    let types = all(|text, at| {
        writeln!(
            text,
            "#[derive(serde::Deserialize, schemars::JsonSchema)]\nstruct Read{at} {{ {DOCUMENTED} }}"
        )
        .expect("a string takes all");
    });
    let methods = all(|text, at| {
        writeln!(
            text,
            "#[rmcp::tool(description = \"Reads file number {at}.\")]\nfn read_{at}(&self, \
             rmcp::handler::server::wrapper::Parameters(of): rmcp::handler::server::wrapper::Parameters<Read{at}>) -> \
             String {{ super::read(&of.path, of.limit, of.number) }}"
        )
        .expect("a string takes all");
    });
    format!("{types}\n#[rmcp::tool_router(vis = \"pub\")]\nimpl Server {{ {methods} }}")
}

fn llm_tool() -> String {
    let functions = all(|text, at| {
        writeln!(
            text,
            "/// Reads file number {at}.\n#[llm_tool::llm_tool]\npub fn read_{at}({DOCUMENTED}) -> String {{ \
             super::read(&path, limit, number) }}"
        )
        .expect("a string takes all");
    });
    let registered = all(|text, at| {
        writeln!(text, "tools.register(Read{at});").expect("a string takes all");
    });
    format!("{functions}\npub fn register(tools: &mut llm_tool::ToolRegistry) {{ {registered} }}")
}

fn plain(attribute: &str, asynchronous: &str) -> String {
    all(|text, at| {
        writeln!(
            text,
            "#[{attribute}]\n/// Reads file number {at}.\npub {asynchronous}fn read_{at}(path: String, limit: u32, \
             number: bool) -> String {{ super::read(&path, limit, number) }}"
        )
        .expect("a string takes all");
    })
}
