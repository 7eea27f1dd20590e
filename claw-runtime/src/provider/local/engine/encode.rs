//! Texts as tokens, the way the vocabulary's makers did it.
//!
//! A text is cut into words ([`split`](super::split)), each word into single bytes or characters, and neighbours are
//! joined, the best pair first, until no pair is a token. A vocabulary says which pair is best by a list of pairs
//! (`gpt2`) or by a score a token (`llama`).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::gguf::{Fault, Gguf, fault};
use super::split::Split;
use super::vocabulary::{Kind, letter};

/// Turns text into tokens.
pub(super) struct Encoder {
    joins: Joins,
    /// The token of each single byte.
    bytes: Vec<Option<u32>>,
    /// Names that become one token where marks are read, longest first.
    marks: Vec<(String, u32)>,
}

enum Joins {
    Pairs {
        split: Split,
        /// What two tokens become, and how early they do.
        pairs: HashMap<(u32, u32), (usize, u32)>,
        /// Whole words that are tokens, where the vocabulary takes these first.
        whole: Option<HashMap<Vec<u8>, u32>>,
    },
    Scores {
        tokens: HashMap<Vec<u8>, (f32, u32)>,
        /// Whether a text gets a space before it.
        space: bool,
        unknown: Option<u32>,
    },
}

/// A part of a word while it is joined.
#[derive(Clone, Copy)]
struct Part {
    start: usize,
    end: usize,
    token: Option<u32>,
    before: usize,
    after: usize,
}

const NONE: usize = usize::MAX;

impl Encoder {
    pub(super) fn read(
        gguf: &Gguf,
        pairs: bool,
        names: &[Vec<u8>],
        words: &[Vec<u8>],
        kinds: &[Kind],
    ) -> Result<Self, Fault> {
        let texts = || (0..words.len()).filter(|at| kinds[*at] == Kind::Text);
        let mut bytes = vec![None; 256];
        for at in texts() {
            if let [byte] = words[at][..] {
                // A byte that is also a character of its own has two tokens; the character's is the one texts use.
                let own = names[at].first() != Some(&b'<') || byte == b'<';
                if own || bytes[usize::from(byte)].is_none() {
                    bytes[usize::from(byte)] = Some(at as u32);
                }
            }
        }
        let joins = match pairs {
            true => read_pairs(gguf, names, words, kinds)?,
            false => read_scores(gguf, words, kinds)?,
        };
        let marks = (0..words.len()).filter(|at| matches!(kinds[*at], Kind::Special | Kind::Added));
        let marks =
            marks.filter_map(|at| Some((String::from_utf8(words[at].clone()).ok()?, at as u32)));
        let mut marks: Vec<_> = marks.filter(|(name, _)| !name.is_empty()).collect();
        marks.sort_by_key(|(name, _)| Reverse(name.len()));
        Ok(Self {
            joins,
            bytes,
            marks,
        })
    }

    /// Tells whether vocabularies of this kind begin each prompt with a token where nothing else is said.
    pub(super) fn begins(&self) -> bool {
        matches!(&self.joins, Joins::Pairs { whole: Some(_), .. })
    }

    pub(super) fn encode(&self, text: &str, marks: bool) -> Vec<u32> {
        let mut tokens = Vec::new();
        let mut rest = text;
        while marks && let Some((at, name, token)) = self.first_mark(rest) {
            self.plain(&rest[..at], &mut tokens);
            tokens.push(token);
            rest = &rest[at + name.len()..];
        }
        self.plain(rest, &mut tokens);
        tokens
    }

    /// Returns the first mark in a text; the longest of those that begin at its place.
    fn first_mark(&self, text: &str) -> Option<(usize, &str, u32)> {
        let found = self.marks.iter().filter_map(|(name, token)| {
            let at = text.find(name.as_str())?;
            Some((at, name.as_str(), *token))
        });
        found.min_by_key(|(at, name, _)| (*at, Reverse(name.len())))
    }

    fn plain(&self, text: &str, tokens: &mut Vec<u32>) {
        if text.is_empty() {
            return;
        }
        match &self.joins {
            Joins::Pairs {
                split,
                pairs,
                whole,
            } => split.each(text, |word| {
                let word = word.as_bytes();
                if let Some(token) = whole.as_ref().and_then(|whole| whole.get(word)) {
                    return tokens.push(*token);
                }
                let parts = word.iter().enumerate().filter_map(|(at, byte)| {
                    Some((at, at + 1, Some(self.bytes[usize::from(*byte)]?)))
                });
                let join = |a: &Part, b: &Part| pairs.get(&(a.token?, b.token?)).copied();
                tokens.extend(joined(parts, join).iter().filter_map(|part| part.token));
            }),
            Joins::Scores {
                tokens: known,
                space,
                unknown,
            } => {
                let space = if *space && !text.starts_with(' ') {
                    " "
                } else {
                    ""
                };
                let text = format!("{space}{text}");
                let find = |start: usize, end: usize| known.get(&text.as_bytes()[start..end]);
                let parts = text.char_indices().map(|(start, c)| {
                    let end = start + c.len_utf8();
                    (start, end, find(start, end).map(|(_, token)| *token))
                });
                let join = |a: &Part, b: &Part| {
                    find(a.start, b.end).map(|(score, token)| (Score(*score), *token))
                };
                for part in joined(parts, join) {
                    match part.token {
                        Some(token) => tokens.push(token),
                        None => {
                            let bytes = text.as_bytes()[part.start..part.end].iter();
                            let bytes = bytes
                                .filter_map(|byte| self.bytes[usize::from(*byte)].or(*unknown));
                            tokens.extend(bytes);
                        }
                    }
                }
            }
        }
    }
}

/// A score that sorts the highest first.
#[derive(Clone, Copy, PartialEq)]
struct Score(f32);

impl Eq for Score {}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.0.total_cmp(&self.0)
    }
}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Joins neighbours, the best pair first and of equals the leftmost, in n log n steps.
fn joined<R: Ord + Copy>(
    parts: impl Iterator<Item = (usize, usize, Option<u32>)>,
    join: impl Fn(&Part, &Part) -> Option<(R, u32)>,
) -> Vec<Part> {
    let mut parts: Vec<Part> = parts
        .enumerate()
        .map(|(at, (start, end, token))| Part {
            start,
            end,
            token,
            before: at.checked_sub(1).unwrap_or(NONE),
            after: at + 1,
        })
        .collect();
    if let Some(last) = parts.last_mut() {
        last.after = NONE;
    }
    let mut pairs = BinaryHeap::new();
    let offer = |pairs: &mut BinaryHeap<_>, parts: &[Part], left: usize, right: usize| {
        if left != NONE
            && right != NONE
            && let Some((rank, token)) = join(&parts[left], &parts[right])
        {
            // The ends tell whether both are still what they were when the pair was found.
            let ends = (parts[left].end, parts[right].end);
            pairs.push(Reverse((rank, left, right, ends, token)));
        }
    };
    for right in 1..parts.len() {
        offer(&mut pairs, &parts, right - 1, right);
    }
    while let Some(Reverse((_, left, right, ends, token))) = pairs.pop() {
        let current = parts[left].after == right && (parts[left].end, parts[right].end) == ends;
        if !current || parts[right].start >= parts[right].end {
            continue;
        }
        let Part { end, after, .. } = parts[right];
        parts[left] = Part {
            end,
            after,
            token: Some(token),
            ..parts[left]
        };
        parts[right].start = end;
        parts[right].after = NONE;
        if after != NONE {
            parts[after].before = left;
        }
        offer(&mut pairs, &parts, parts[left].before, left);
        offer(&mut pairs, &parts, left, after);
    }
    parts.retain(|part| part.start < part.end);
    parts
}

fn read_pairs(
    gguf: &Gguf,
    names: &[Vec<u8>],
    words: &[Vec<u8>],
    kinds: &[Kind],
) -> Result<Joins, Fault> {
    let key = "tokenizer.ggml.merges";
    let merges = gguf
        .texts(key)?
        .ok_or_else(|| fault!("`{key}` is missing"))?;
    let split = Split::of(gguf.text("tokenizer.ggml.pre")?)?;
    // A text never becomes a mark, whatever a list of pairs says.
    let texts = || (0..names.len()).filter(|at| kinds[*at] == Kind::Text);
    let ids: HashMap<&[u8], u32> = texts()
        .map(|at| (names[at].as_slice(), at as u32))
        .collect();
    let mut pairs = HashMap::with_capacity(merges.len());
    for (rank, merge) in merges.iter().enumerate() {
        let mut sides = merge.splitn(2, |byte| *byte == b' ');
        let (Some(left), Some(right)) = (sides.next(), sides.next()) else {
            let merge = String::from_utf8_lossy(merge);
            return Err(fault!(
                "`{key}` has `{merge}`; expected two texts and a space between"
            ));
        };
        let joined = [left, right].concat();
        let found = (ids.get(left), ids.get(right), ids.get(joined.as_slice()));
        if let (Some(left), Some(right), Some(joined)) = found {
            pairs.entry((*left, *right)).or_insert((rank, *joined));
        }
    }
    // Rare control characters have no token in some vocabularies; they are left out of a text.
    let missing =
        (b' '..=b'~').find(|byte| !ids.contains_key(letter(*byte).to_string().as_bytes()));
    if let Some(byte) = missing {
        return Err(fault!(
            "`tokenizer.ggml.tokens` has no token for the byte {byte}"
        ));
    }
    let whole = split.whole_words();
    let whole = whole.then(|| texts().map(|at| (words[at].clone(), at as u32)).collect());
    Ok(Joins::Pairs {
        split,
        pairs,
        whole,
    })
}

fn read_scores(gguf: &Gguf, words: &[Vec<u8>], kinds: &[Kind]) -> Result<Joins, Fault> {
    let key = "tokenizer.ggml.scores";
    let scores = gguf
        .numbers(key)?
        .ok_or_else(|| fault!("`{key}` is missing"))?;
    if scores.len() != words.len() {
        let (scores, tokens) = (scores.len(), words.len());
        return Err(fault!(
            "`{key}` has {scores} elements; expected {tokens}, one a token"
        ));
    }
    let mut tokens = HashMap::with_capacity(words.len());
    for at in (0..words.len()).filter(|at| kinds[*at] == Kind::Text) {
        tokens
            .entry(words[at].clone())
            .or_insert((scores[at] as f32, at as u32));
    }
    let unknown = gguf.whole("tokenizer.ggml.unknown_token_id")?;
    Ok(Joins::Scores {
        tokens,
        space: gguf
            .flag("tokenizer.ggml.add_space_prefix")?
            .unwrap_or(true),
        unknown: unknown.filter(|at| *at < words.len()).map(|at| at as u32),
    })
}
