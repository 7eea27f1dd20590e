//! How much memory and time the patterns of one schema may take together: a list of many is as dear as one that is large.
//!
//! No engine tells how large a compiled pattern is, only whether it is larger than a limit. So limits are tried from small to
//! large, and the one that was enough is taken from the room. What does not fit has cost as much, and is taken too.

/// What the patterns of a schema may have together, in bytes of compiled patterns.
const WHOLE: usize = 16 << 20;
/// What one of them may have.
const ONE: usize = 1 << 20;
/// The least that is taken for one: most need no more.
const LEAST: usize = 16 << 10;
/// What is taken for a byte of the source, which costs time wherever it leads.
const A_BYTE: usize = 64;
/// What is taken for a property of characters, of which some are lists of hundreds.
const A_PROPERTY: usize = 16 << 10;

/// What is left for the patterns of one schema.
#[derive(Debug)]
pub(super) struct Room {
    left: usize,
}

/// Why an engine did not compile a pattern.
pub(super) enum Attempt {
    /// It is larger than the limit.
    TooLarge,
    /// It is none, for this reason.
    Unread(String),
}

impl Default for Room {
    fn default() -> Self {
        Self { left: WHOLE }
    }
}

impl Room {
    /// Tells whether nothing more was let in for want of room.
    pub(super) fn is_used_up(&self) -> bool {
        self.left == 0
    }

    /// Compiles a pattern with the least limit that is enough for each of its `parts`.
    pub(super) fn place<T>(
        &mut self,
        source: &str,
        parts: usize,
        compile: impl Fn(usize) -> Result<T, Attempt>,
    ) -> Result<T, String> {
        let properties = source.matches("\\p").count() + source.matches("\\P").count();
        let fixed = source.len() * A_BYTE + properties * A_PROPERTY;
        if fixed > ONE {
            return Err("it is too long".to_owned());
        }
        let mut limit = LEAST / parts.min(LEAST / 1024);
        loop {
            let taken = fixed.max(limit * parts);
            if taken > self.left {
                self.left = 0;
                return Err("the patterns of the schema are too large together".to_owned());
            }
            match compile(limit) {
                Ok(compiled) => {
                    self.left -= taken;
                    return Ok(compiled);
                }
                Err(Attempt::TooLarge) if limit * parts * 4 <= ONE => limit *= 4,
                Err(attempt) => {
                    self.left -= taken;
                    return Err(match attempt {
                        Attempt::TooLarge => "it is too large".to_owned(),
                        Attempt::Unread(why) => why,
                    });
                }
            }
        }
    }
}
