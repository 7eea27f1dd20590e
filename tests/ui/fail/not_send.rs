//! A future that cannot change threads is reported at the function's name.
#![allow(unused)]

use std::rc::Rc;

use claw::tool;

/// Keeps what is not `Send` over an await.
#[tool]
async fn lingers(
    /// A number.
    n: u8,
) -> String {
    let n = Rc::new(n);
    tokio::task::yield_now().await;
    n.to_string()
}

fn main() {}
