//! Methods as tools, under the strictest rules.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unreachable_pub, clippy::pedantic, unused_qualifications)]

use claw::prelude::*;

mod inner {
    /// What the tools work on.
    #[derive(Default)]
    pub(super) struct Shelf {
        /// Its notes.
        pub(super) notes: std::sync::Mutex<Vec<String>>,
    }

    /// How notes are ordered.
    #[derive(claw::ToolInput, Clone, Copy)]
    #[serde(rename_all = "lowercase")]
    pub(super) enum Order {
        /// As written.
        Written,
    }
}

use inner::{Order, Shelf};

const MOST: usize = 10;

#[tools(group = "notes", crate = claw)]
impl Shelf {
    /// How many notes there may be.
    const MOST: usize = MOST;

    /// Adds a note.
    ///
    /// # Arguments
    ///
    /// - `text`: what it says
    #[tool(effect = idempotent, example(text = "milk"), reconcile = reconciled)]
    async fn add(
        &self,
        #[arg(len = 1..=MOST * 8, pattern = "^\\S")] text: &str,
        /// Where.
        #[arg(default = Order::Written, example = Order::Written)]
        order: Order,
    ) -> Result<(), std::fmt::Error> {
        let _ = order;
        tokio::task::yield_now().await;
        self.notes.lock().map_err(|_| std::fmt::Error)?.push(text.to_owned());
        Ok(())
    }

    /// Compares with another.
    #[tool(effect = read, hidden)]
    #[must_use]
    fn same(
        &self,
        /// The notes.
        #[arg(items(len = 1..=MOST), unique, default = ["a"])]
        notes: Vec<String>,
    ) -> bool {
        self.notes.lock().is_ok_and(|own| *own == notes)
    }

    /// Is only there sometimes.
    #[cfg(any())]
    #[tool]
    fn absent(&self, no: Such) {}
}

async fn reconciled(ctx: &ToolContext, arguments: &serde_json::Value) -> tool::Reconciled {
    let _ = (ctx, arguments);
    tokio::task::yield_now().await;
    tool::Reconciled::Unknown
}

/// The result of a look.
#[derive(claw::serde::Serialize, ToolInput)]
#[serde(crate = "claw::serde")]
struct Look {
    /// How many.
    count: usize,
}

/// Looks, in a function within a function.
fn nested() -> &'static [tool::ToolEntry] {
    /// Looks.
    #[tool(effect = read, example(near = 1), stream)]
    fn look(
        /// How near.
        near: u8,
    ) -> std::pin::Pin<Box<dyn futures_util::Stream<Item = Look> + Send>> {
        Box::pin(futures_util::stream::iter((0..near).map(|count| Look { count: count.into() })))
    }
    claw::tools![look]
}

fn main() {
    assert_eq!(Shelf::TOOLS.len(), 2);
    assert_eq!(nested().len(), 1);
    let agent = Agent::builder()
        .model(std::sync::Arc::new(claw::provider::Scripted::new([])), "demo")
        .toolset(Shelf::default())
        .build()
        .expect("the shelf is given");
    // A hidden tool is kept from the model.
    assert!(agent.tools().get("add").is_some() && agent.tools().get("same").is_none());
}
