//! A conversation as a prompt: the chat template that a file of weights brings, rendered.
//!
//! A template is a program somebody else wrote, so its steps, its depth, what it writes and what it holds are bounded
//! ([`guard`]). What people, tools and models said is not shown to it: it gets a placeholder for each text, and the texts take their places afterwards. So
//! the marks of the chat form come from the template alone, and whoever writes `<|im_end|>` has written ten characters.
//! Without a template that works, the conversation is written the way most models know, by the marks they have.

mod guard;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value, ValueKind, from_args};
use minijinja::{Environment, Error, ErrorKind, State, context};

use super::engine::{Kind, Vocabulary};

/// Instructions a template may take, those for each text more, and how deep it may go.
const STEPS: u64 = 100_000;
const STEPS_A_TEXT: u64 = 500;
const DEPTH: usize = 50;
/// Bytes a template may write beside the texts.
const LONGEST: usize = 1 << 18;

/// Around the number of a text in what a template writes: characters for private use, which no template has.
const OPEN: char = '\u{F8F0}';
const CLOSE: char = '\u{F8F1}';

/// Who said a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    System,
    User,
    Assistant,
}

impl Speaker {
    fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// One text of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) by: Speaker,
    pub(super) text: String,
}

/// A piece of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Written by the template: names of marks in it are marks.
    Fixed(String),
    /// What somebody said: text, whatever it looks like.
    Text(String),
}

/// How one model wants conversations written.
#[derive(Debug)]
pub(super) struct Template {
    source: Option<String>,
    begin: String,
    end: String,
    chatml: bool,
}

impl Template {
    /// Returns the form of the model with this vocabulary, by its own template where there is one.
    pub(super) fn new(source: Option<&str>, vocabulary: &Vocabulary) -> Self {
        let name = |token: Option<u32>| {
            let word = token.and_then(|token| vocabulary.words.get(usize::try_from(token).ok()?));
            String::from_utf8_lossy(word.map_or(&[], |word| word)).into_owned()
        };
        let is_mark = |mark: &str| {
            let mut words = vocabulary.words.iter().zip(&vocabulary.kinds);
            words.any(|(word, kind)| *kind == Kind::Special && word == mark.as_bytes())
        };
        Self {
            source: source.and_then(guard::guarded),
            begin: name(vocabulary.begin),
            end: name(vocabulary.end.first().copied()),
            chatml: is_mark("<|im_start|>") && is_mark("<|im_end|>"),
        }
    }

    /// Returns a conversation as the prompt for the reply to it.
    pub(super) fn render(&self, said: &[Said]) -> Vec<Part> {
        let Some(source) = &self.source else {
            return self.plain(said);
        };
        match self.run(source, said) {
            Ok(parts) => parts,
            Err(error) => {
                // Some templates have no place for instructions.
                let joined = without_system(said);
                match joined.map(|said| self.run(source, &said)) {
                    Some(Ok(parts)) => parts,
                    _ => {
                        tracing::warn!(%error, "the chat template of the model cannot be used");
                        self.plain(said)
                    }
                }
            }
        }
    }

    fn run(&self, source: &str, said: &[Said]) -> Result<Vec<Part>, Error> {
        let mut env = Environment::new();
        env.set_fuel(Some(STEPS + STEPS_A_TEXT * said.len() as u64));
        env.set_recursion_limit(DEPTH);
        // As those who write chat templates expect.
        let blocks = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()?;
        env.set_syntax(blocks);
        env.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        env.set_unknown_method_callback(method);
        guard::bound(&mut env, said.len());
        env.add_function(
            "raise_exception",
            |message: String| -> Result<String, Error> {
                Err(Error::new(ErrorKind::InvalidOperation, message))
            },
        );
        let messages: Vec<Value> = said
            .iter()
            .enumerate()
            .map(|(at, said)| {
                context! { role => said.by.name(), content => format!("{OPEN}{at}{CLOSE}") }
            })
            .collect();
        let values = context! {
            messages,
            add_generation_prompt => true,
            // What begins with reasoning cannot be held to a form.
            enable_thinking => false,
            bos_token => self.begin.as_str(),
            eos_token => self.end.as_str(),
        };
        let mut written = Bounded(Vec::new());
        env.template_from_str(source)?
            .render_captured_to(values, &mut written)?;
        let written = String::from_utf8_lossy(&written.0);
        filled(&written, said)
            .ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "the template leaves texts out"))
    }

    /// Writes a conversation the way most models know.
    fn plain(&self, said: &[Said]) -> Vec<Part> {
        let mut parts = Vec::new();
        let (open, close) = if self.chatml {
            ("<|im_start|>", "<|im_end|>\n")
        } else {
            ("", "\n\n")
        };
        let speaker = |speaker: Speaker| match self.chatml {
            true => format!("{open}{}\n", speaker.name()),
            false => format!("{}: ", speaker.name()),
        };
        for said in said {
            parts.push(Part::Fixed(speaker(said.by)));
            parts.push(Part::Text(said.text.clone()));
            parts.push(Part::Fixed(close.to_owned()));
        }
        parts.push(Part::Fixed(speaker(Speaker::Assistant)));
        parts
    }

    /// Returns a prompt as tokens.
    pub(super) fn encode(parts: &[Part], vocabulary: &Vocabulary) -> Vec<u32> {
        let mut tokens = Vec::new();
        for part in parts {
            tokens.extend(match part {
                Part::Fixed(text) => vocabulary.encode(text, true),
                Part::Text(text) => vocabulary.encode(text, false),
            });
        }
        if let Some(begin) = vocabulary.begin
            && vocabulary.add_begin
            && tokens.first() != Some(&begin)
        {
            tokens.insert(0, begin);
        }
        tokens
    }
}

/// Returns the conversation with its instructions in front of what the user said first.
fn without_system(said: &[Said]) -> Option<Vec<Said>> {
    let (first, rest) = said.split_first()?;
    let (next, rest) = rest.split_first()?;
    if first.by != Speaker::System || next.by != Speaker::User {
        return None;
    }
    let joined = Said {
        by: Speaker::User,
        text: format!("{}\n\n{}", first.text, next.text),
    };
    Some(
        std::iter::once(joined)
            .chain(rest.iter().cloned())
            .collect(),
    )
}

/// Puts the texts in the places that what a template wrote has for them; `None` when one has none.
fn filled(written: &str, said: &[Said]) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut placed = vec![false; said.len()];
    let mut pieces = written.split(OPEN);
    let first = pieces.next()?;
    let fixed = |text: &str, parts: &mut Vec<Part>| {
        if !text.is_empty() {
            parts.push(Part::Fixed(text.to_owned()));
        }
    };
    fixed(first, &mut parts);
    for piece in pieces {
        let (number, rest) = piece.split_once(CLOSE)?;
        let at: usize = number.parse().ok()?;
        parts.push(Part::Text(said.get(at)?.text.clone()));
        placed[at] = true;
        fixed(rest, &mut parts);
    }
    placed.iter().all(|placed| *placed).then_some(parts)
}

/// Takes what a template writes, up to a bound.
struct Bounded(Vec<u8>);

impl std::io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() + bytes.len() > LONGEST {
            return Err(std::io::Error::other("the template writes without end"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The methods of Python's texts and maps that chat templates call.
fn method(
    state: &mut State<'_, '_>,
    value: &Value,
    name: &str,
    args: &[Value],
) -> Result<Value, Error> {
    let unknown = || Err(Error::from(ErrorKind::UnknownMethod));
    if value.kind() == ValueKind::Map {
        return match name {
            "get" => {
                let (key, default): (Value, Option<Value>) = from_args(args)?;
                let found = value.get_item(&key)?;
                Ok(match found.is_undefined() {
                    true => default.unwrap_or(Value::from(())),
                    false => found,
                })
            }
            "items" => {
                let pair = |key: Value| Ok(Value::from(vec![key.clone(), value.get_item(&key)?]));
                let pairs: Result<Vec<Value>, Error> = value.try_iter()?.map(pair).collect();
                Ok(Value::from(pairs?))
            }
            "keys" => Ok(Value::from(value.try_iter()?.collect::<Vec<_>>())),
            _ => unknown(),
        };
    }
    let Some(text) = value.as_str() else {
        return unknown();
    };
    // The engine counts what comes of it, not the way there.
    state.consume_fuel(text.len() as u64 / 8)?;
    let cut = |args: &[Value]| -> Result<Vec<char>, Error> {
        let (set,): (Option<String>,) = from_args(args)?;
        Ok(set
            .unwrap_or_else(|| " \t\r\n".to_owned())
            .chars()
            .collect())
    };
    Ok(match name {
        "strip" => Value::from(text.trim_matches(&*cut(args)?)),
        "lstrip" => Value::from(text.trim_start_matches(&*cut(args)?)),
        "rstrip" => Value::from(text.trim_end_matches(&*cut(args)?)),
        "upper" => Value::from(text.to_uppercase()),
        "lower" => Value::from(text.to_lowercase()),
        "startswith" | "endswith" | "split" => {
            let (other,): (String,) = from_args(args)?;
            match name {
                "startswith" => Value::from(text.starts_with(&other)),
                "endswith" => Value::from(text.ends_with(&other)),
                _ if other.is_empty() => return unknown(),
                _ => Value::from(text.split(&other).map(Value::from).collect::<Vec<_>>()),
            }
        }
        _ => return unknown(),
    })
}

#[cfg(test)]
mod tests;
