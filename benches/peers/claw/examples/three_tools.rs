//! The smallest agent worth the name: three tools of its own, one provider, sessions in memory. Its size, start and
//! memory are what a program pays for claw.
//!
//! ```sh
//! three_tools BASE-URL MODEL PROMPT   # one turn
//! three_tools BASE-URL MODEL          # waits for prompts, one a line
//! ```

use std::sync::Arc;

use bench_claw::{agent, provider};
use claw::session::MemoryStore;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(base), Some(model)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: three_tools BASE-URL MODEL [PROMPT]");
        std::process::exit(2);
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let prompt = arguments.next();
    runtime.block_on(async {
        let agent = agent(provider(&base, false), &model, Arc::new(MemoryStore::new()));
        let mut session = agent.session("only").await.expect("a session");
        let lines = std::io::stdin().lines().map_while(Result::ok);
        for prompt in prompt.is_none().then_some(lines).into_iter().flatten() {
            let outcome = session.run(&prompt).await.expect("memory does not fail");
            println!("{}", outcome.text);
        }
        if let Some(prompt) = prompt {
            let outcome = session.run(&prompt).await.expect("memory does not fail");
            println!("{}", outcome.text);
        }
    });
}
