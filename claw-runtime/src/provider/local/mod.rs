//! A model in this process: weights from a GGUF file, no server and no key.
//!
//! The [`engine`] runs the model and knows nothing of messages and tools.

mod engine;
