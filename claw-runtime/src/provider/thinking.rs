//! How much a model reasons before it answers, for the formats in which a request says so.

/// Whether a model reasons before it answers. Which of these a model takes is the model's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Thinking {
    /// As the model does unasked.
    #[default]
    Unsaid,
    /// As much as the model finds right; what it sends of it is shown.
    Adaptive,
    /// At most this many tokens.
    Budget(u64),
    /// Not at all.
    Off,
}
