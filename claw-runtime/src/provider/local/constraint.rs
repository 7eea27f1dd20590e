//! Holds the decoding to a JSON Schema: `llguidance` over the tokens of one model, behind the engine's [`Constraint`].
//!
//! A schema may come from anywhere, so what it may cost to compile and to follow is bounded, and one that cannot be
//! followed is an error in words. Sampling knows one rule more than the schema: what has been written several times in a
//! row is not written again, for small models do not find out of a loop by themselves.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use llguidance::api::{ParserLimits, TopLevelGrammar};
use llguidance::toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};
use llguidance::{Matcher, ParserFactory, TokenParser};
use serde_json::{Map, Value, json};

use super::engine::{Constraint, ConstraintError, Kind, Step, Vocabulary};

/// Bytes of a schema at most.
const LONGEST_SCHEMA: usize = 1 << 20;
/// Tokens of a passage that is looked for in a loop, at most.
const LONGEST_PERIOD: usize = 24;
/// How often a passage stands in a row, and how many tokens that are at least, before it is a loop.
const REPEATS: usize = 4;
const SHORTEST_LOOP: usize = 32;

/// Compiles forms for one model.
pub(super) struct Forms {
    factory: ParserFactory,
}

impl Forms {
    /// Returns what compiles forms for the model with this vocabulary.
    ///
    /// # Errors
    ///
    /// When the vocabulary names no token that ends a reply, or has tokens that no trie can hold.
    pub(super) fn new(vocabulary: &Vocabulary) -> Result<Self, ConstraintError> {
        Self::of(&vocabulary.words, &vocabulary.kinds, &vocabulary.end)
    }

    fn of(words: &[Vec<u8>], kinds: &[Kind], ends: &[u32]) -> Result<Self, ConstraintError> {
        let Some(end) = ends.first() else {
            return Err(fault("the vocabulary has no token that ends a reply"));
        };
        let size = u32::try_from(words.len()).map_err(|_| fault("the vocabulary is too large"))?;
        if kinds.len() != words.len() || ends.iter().any(|end| *end >= size) {
            return Err(fault("the vocabulary contradicts itself"));
        }
        let words: Vec<Vec<u8>> = words
            .iter()
            .zip(kinds)
            .map(|(word, kind)| match kind {
                Kind::Text | Kind::Added => word.clone(),
                Kind::Special => [&[TokTrie::SPECIAL_TOKEN_MARKER], &**word].concat(),
                Kind::Unused => Vec::new(),
            })
            .collect();
        // The trie asserts what it expects of its words.
        let built = catch_unwind(AssertUnwindSafe(|| {
            let trie = TokTrie::from(&TokRxInfo::new(size, *end), &words);
            let trie = trie.with_eos_tokens(ends);
            let env: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
            ParserFactory::new_simple(&env)
        }));
        let mut factory = match built {
            Ok(Ok(factory)) => factory,
            Ok(Err(error)) => return Err(fault(error)),
            Err(_) => return Err(fault("the vocabulary cannot be put in order")),
        };
        factory.quiet();
        *factory.limits_mut() = ParserLimits {
            max_grammar_size: 200_000,
            max_lexer_states: 100_000,
            verbose_errors: false,
            ..ParserLimits::default()
        };
        Ok(Self { factory })
    }

    /// Compiles a schema, written as JSON text.
    ///
    /// # Errors
    ///
    /// When it is no JSON object, asks for what cannot be followed, or costs too much.
    pub(super) fn hold(&self, schema: &str) -> Result<Held, ConstraintError> {
        if schema.len() > LONGEST_SCHEMA {
            let length = schema.len();
            let message =
                format!("a schema of {length} bytes is too long, at most {LONGEST_SCHEMA}");
            return Err(ConstraintError(message));
        }
        let mut schema: Map<String, Value> = serde_json::from_str(schema)
            .map_err(|error| fault(format_args!("the schema is no JSON object: {error}")))?;
        // One way to write each value: what the model may choose is worth its choice.
        let writing = json!({
            "item_separator": ", ", "key_separator": ": ", "whitespace_flexible": false,
            "coerce_one_of": true, "lenient": true,
        });
        schema.insert("x-guidance".to_owned(), writing);
        let parser = self
            .parser(schema.clone())
            .map_err(|error| self.blame(schema, error))?;
        Ok(Held {
            matcher: Matcher::new(Ok(parser)),
            written: Vec::new(),
        })
    }

    fn parser(&self, schema: Map<String, Value>) -> Result<TokenParser, ConstraintError> {
        let grammar = TopLevelGrammar::from_json_schema(Value::Object(schema));
        let parser = catch_unwind(AssertUnwindSafe(|| self.factory.create_parser(grammar)));
        let parser = parser.map_err(|_| fault("the schema cannot be turned into a grammar"))?;
        parser.map_err(fault)
    }

    /// Says which of a form's calls cannot be followed by themselves, so that the others keep their form.
    fn blame(&self, mut schema: Map<String, Value>, error: ConstraintError) -> ConstraintError {
        let Some(Value::Array(branches)) = schema.remove("oneOf") else {
            return error;
        };
        let at_fault = branches.into_iter().filter_map(|branch| {
            let name = branch["properties"]["name"]["const"].as_str()?.to_owned();
            let mut alone = schema.clone();
            alone.insert("oneOf".to_owned(), Value::Array(vec![branch]));
            self.parser(alone).is_err().then(|| format!("`{name}`"))
        });
        match at_fault.collect::<Vec<_>>() {
            names if names.is_empty() => error,
            names => fault(format_args!("{} of {}", error.0, names.join(", "))),
        }
    }
}

/// One reply that is held to a form.
pub(super) struct Held {
    matcher: Matcher,
    written: Vec<u32>,
}

impl Constraint for Held {
    fn mask(&mut self, logits: &mut [f32]) -> Result<Step, ConstraintError> {
        if self.step()? == Step::Complete {
            return Ok(Step::Complete);
        }
        let allowed = self.matcher.compute_mask().map_err(fault)?;
        let mut open = 0_usize;
        for (token, logit) in logits.iter_mut().enumerate() {
            match token < allowed.len() && allowed.get(token) {
                true => open += 1,
                false => *logit = f32::NEG_INFINITY,
            }
        }
        if open == 0 {
            return Err(fault("no token of this model can come next"));
        }
        let again = again(&self.written).and_then(|token| usize::try_from(token).ok());
        if let Some(logit) = again.and_then(|token| logits.get_mut(token))
            && open > 1
        {
            *logit = f32::NEG_INFINITY;
        }
        Ok(Step::More)
    }

    fn take(&mut self, token: u32) -> Result<Step, ConstraintError> {
        self.matcher.consume_token(token).map_err(fault)?;
        self.written.push(token);
        self.step()
    }
}

impl Held {
    fn step(&self) -> Result<Step, ConstraintError> {
        if !self.matcher.is_stopped() {
            return Ok(Step::More);
        }
        match self.matcher.stop_reason() {
            reason if reason.is_ok() => Ok(Step::Complete),
            reason => Err(fault(format_args!("following it ended early: {reason:?}"))),
        }
    }
}

/// Lets anything be written, and ends a reply that goes in a loop.
#[derive(Default)]
pub(super) struct Free {
    written: Vec<u32>,
}

impl Constraint for Free {
    fn mask(&mut self, _logits: &mut [f32]) -> Result<Step, ConstraintError> {
        Ok(match again(&self.written) {
            Some(_) => Step::Complete,
            None => Step::More,
        })
    }

    fn take(&mut self, token: u32) -> Result<Step, ConstraintError> {
        self.written.push(token);
        Ok(Step::More)
    }
}

/// Returns the token that would go on with a loop at the end of `written`.
fn again(written: &[u32]) -> Option<u32> {
    (1..=LONGEST_PERIOD).find_map(|period| {
        let length = (period * REPEATS).max(SHORTEST_LOOP);
        let tail = &written[written.len().checked_sub(length)?..];
        let repeats = tail[period..]
            .iter()
            .zip(tail)
            .all(|(token, before)| token == before);
        repeats.then(|| tail[tail.len() - period])
    })
}

fn fault(what: impl std::fmt::Display) -> ConstraintError {
    ConstraintError(what.to_string())
}

#[cfg(test)]
mod tests;
