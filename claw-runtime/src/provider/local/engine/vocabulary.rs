//! The tokens of a model, as bytes.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A piece of text.
    Text,
    /// A mark of the chat form, such as `<|im_end|>`. Text that looks like it is never read as it.
    Special,
    /// A place in the vocabulary without a meaning; it is never chosen.
    Unused,
}

/// The tokens of a model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Vocabulary {
    /// The bytes each token stands for; of a special token, its name.
    pub words: Vec<Vec<u8>>,
    /// What each token is.
    pub kinds: Vec<Kind>,
    /// The token that begins a text, where this model wants one.
    pub begin: Option<u32>,
    /// Tokens that end a reply.
    pub end: Vec<u32>,
}
