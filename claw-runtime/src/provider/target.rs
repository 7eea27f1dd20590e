//! Who is asked, and how: stands in each journaled model request, so that the wire is a function of view and target.

use serde::{Deserialize, Serialize};

/// Provider, model and the way tools reach it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Target {
    /// The provider's name.
    pub provider: String,
    /// The model's name at that provider.
    pub model: String,
    /// How calls travel.
    pub protocol: Protocol,
    /// The schema dialect the tools are lowered to.
    pub dialect: String,
    /// Digest of the toolset offered.
    pub toolset: String,
}

/// How tool calls travel between claw and a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Protocol {
    /// In the provider's own fields.
    Native,
    /// As marked text, by the prompt protocol.
    Prompt,
    /// Not at all: read-only chat.
    Chat,
}
