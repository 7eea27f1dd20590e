//! claw beside the floor and its peers: what the benches share.
//!
//! The *floor* is the same job by hand: reqwest and serde_json, the history kept as bytes. A figure means little
//! without it, for machines differ; so every bench prints ratios of one run.

pub mod agent;
pub mod floor;
pub mod mock;
