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

/// How hard a model reasons, for the formats in which a request says so in words. Which of these a model takes is the model's
/// own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effort {
    /// Not at all.
    None,
    /// As little as it can.
    Minimal,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// More than that.
    Xhigh,
}

impl Effort {
    /// All of them, by their words on the wire.
    pub const ALL: [(&'static str, Self); 6] = [
        ("none", Self::None),
        ("minimal", Self::Minimal),
        ("low", Self::Low),
        ("medium", Self::Medium),
        ("high", Self::High),
        ("xhigh", Self::Xhigh),
    ];

    /// Returns the word on the wire.
    pub fn as_str(self) -> &'static str {
        let named = Self::ALL.iter().find(|(_, effort)| *effort == self);
        named.map_or("medium", |(word, _)| word)
    }

    /// Returns the one of this word.
    pub fn named(word: &str) -> Option<Self> {
        let named = Self::ALL.iter().find(|(name, _)| *name == word);
        named.map(|(_, effort)| *effort)
    }
}
