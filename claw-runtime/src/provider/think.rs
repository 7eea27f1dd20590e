//! Reasoning that a model writes into its text: `<think>…</think>` in front of the answer.
//!
//! Only a block that opens the reply counts. A tag later on is text: the model may be quoting it.

const TAGS: [(&str, &str); 3] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
];

/// How much blank text in front of a tag is held back, in bytes.
const MAX_HELD: usize = 256;

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Part of the answer.
    Text,
    /// Part of the reasoning.
    Reasoning,
}

/// Splits text as it comes; holds back no more than could still become a tag.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    state: State,
    held: String,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Start,
    Inside(&'static str),
    After,
    Text,
}

impl Splitter {
    /// Takes more text and hands over what is decided.
    pub(crate) fn push(&mut self, text: &str, each: &mut dyn FnMut(Kind, &str)) {
        if let State::Text = self.state {
            return each(Kind::Text, text);
        }
        self.held.push_str(text);
        let mut held = std::mem::take(&mut self.held);
        loop {
            match self.state {
                State::Start => {
                    let start = held.trim_start();
                    if let Some((open, close)) = TAGS.iter().find(|tag| start.starts_with(tag.0)) {
                        held = start[open.len()..].to_owned();
                        self.state = State::Inside(close);
                    } else if held.len() <= MAX_HELD
                        && TAGS.iter().any(|tag| tag.0.starts_with(start))
                    {
                        break;
                    } else {
                        self.state = State::Text;
                    }
                }
                State::Inside(close) => {
                    if let Some(at) = held.find(close) {
                        each(Kind::Reasoning, &held[..at]);
                        held.drain(..at + close.len());
                        self.state = State::After;
                    } else {
                        let keep = held_back(&held, close);
                        each(Kind::Reasoning, &held[..held.len() - keep]);
                        held.drain(..held.len() - keep);
                        break;
                    }
                }
                State::After => {
                    let text = held.trim_start();
                    if text.is_empty() {
                        held.clear();
                        break;
                    }
                    held = text.to_owned();
                    self.state = State::Text;
                }
                State::Text => {
                    each(Kind::Text, &held);
                    held.clear();
                    break;
                }
            }
        }
        self.held = held;
    }

    /// Ends the reply: what was held back is what it looked like.
    pub(crate) fn finish(&mut self, each: &mut dyn FnMut(Kind, &str)) {
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Start | State::Text => each(Kind::Text, &held),
            State::Inside(_) => each(Kind::Reasoning, &held),
            State::After => {}
        }
        self.state = State::Text;
    }
}

/// Returns how many bytes at the end of `text` may be the beginning of `tag`.
fn held_back(text: &str, tag: &str) -> usize {
    (1..tag.len())
        .rev()
        .find(|&len| text.ends_with(&tag[..len]))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
        let (mut reasoning, mut text) = (String::new(), String::new());
        let mut splitter = Splitter::default();
        let mut each = |kind, piece: &str| match kind {
            Kind::Text => text.push_str(piece),
            Kind::Reasoning => reasoning.push_str(piece),
        };
        for piece in pieces {
            splitter.push(piece, &mut each);
        }
        splitter.finish(&mut each);
        (reasoning, text)
    }

    #[test]
    fn only_a_block_in_front_is_reasoning() {
        let cases = [
            ("<think>a</think>\n\nb", ("a", "b")),
            (" \n<thinking>a</thinking>b", ("a", "b")),
            ("[THINK]a[/THINK]b", ("a", "b")),
            ("<think>a <b </thin", ("a <b </thin", "")),
            ("b <think>a</think>", ("", "b <think>a</think>")),
            ("<th", ("", "<th")),
            ("  b", ("", "  b")),
            (
                "<think>a</think><think>b</think>",
                ("a", "<think>b</think>"),
            ),
        ];
        for (whole, (reasoning, text)) in cases {
            assert_eq!(
                split([whole]),
                (reasoning.to_owned(), text.to_owned()),
                "{whole}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_split(
            pieces in prop::collection::vec("(<think>|</think>|<thi|</th|ink>| |\\n|[a-z<]|é){0,3}", 0..8),
        ) {
            let whole = pieces.concat();
            prop_assert_eq!(split(pieces.iter().map(String::as_str)), split([whole.as_str()]));
        }
    }
}
