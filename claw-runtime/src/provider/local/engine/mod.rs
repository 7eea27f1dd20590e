//! Runs one model in the process: tokens in, text out, one thread for all sessions.
//!
//! A file of weights is somebody else's data, so nothing of it is believed before it is checked. The engine knows no
//! chat, no tools and no templates: a job is a list of tokens, a bound and, if need be, a [`Constraint`] that holds the
//! decoding to a form.

#![allow(dead_code, reason = "each part is used once the provider is there")]

mod error;
mod format;
mod gguf;
mod job;
mod kernel;
mod matrix;
mod model;
mod shape;
mod threads;
mod vocabulary;

#[allow(unused_imports, reason = "what the provider is written against")]
pub(crate) use error::EngineError;
#[allow(unused_imports, reason = "what the provider is written against")]
pub(crate) use job::{Constraint, ConstraintError, Done, End, Job, Piece, Step};
#[allow(unused_imports, reason = "what the provider is written against")]
pub(crate) use vocabulary::{Kind, Vocabulary};
