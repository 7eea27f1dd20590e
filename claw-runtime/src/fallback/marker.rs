//! Markers in a reply: tags, special tokens and bracketed words, each recognised where it stands and nowhere else.

/// The longest tag or token that is looked for, in bytes: keeps the scan linear.
const LONGEST: usize = 320;

/// The form a marker has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `<name …>`
    Open,
    /// `</name>`
    Close,
    /// `<|name|>`
    Token,
    /// `[NAME]`
    Bracket,
}

/// A marker and what stands in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark<'a> {
    pub(super) kind: Kind,
    /// Lower case, without name space; a leading `/` stays for tokens and brackets.
    pub(super) name: String,
    /// What follows the name of a tag: ` name="x"`, `=x`.
    pub(super) rest: &'a str,
    /// Where the text goes on.
    pub(super) end: usize,
}

impl Mark<'_> {
    /// Returns the value of an attribute, quoted or not.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        let (_, after) = self.rest.split_once(&format!("{name}="))?;
        Some(match after.chars().next()? {
            quote @ ('"' | '\'') => after[1..].split(quote).next()?,
            _ => after.split_whitespace().next()?.trim_end_matches('/'),
        })
    }

    /// Returns what a tag of the form `<function=x>` or `<function name="x">` names.
    pub(super) fn names(&self) -> Option<&str> {
        match self.rest.strip_prefix('=') {
            Some(value) => Some(value.trim().trim_matches(['"', '\''])),
            None => self.attribute("name"),
        }
        .filter(|name| !name.is_empty())
    }

    /// Tells whether a call, an answer or reasoning may begin with this marker.
    pub(super) fn begins(&self) -> bool {
        match self.kind {
            Kind::Open => {
                is_call(&self.name)
                    || is_reasoning(&self.name)
                    || is_response(&self.name)
                    || matches!(self.name.as_str(), "function" | "invoke" | "tool_code")
            }
            Kind::Close => is_reasoning(&self.name),
            Kind::Token | Kind::Bracket => true,
        }
    }

    /// Tells whether this marker ends a call, so that brackets missing before it were forgotten and not cut off.
    pub(super) fn ends_call(&self) -> bool {
        match self.kind {
            Kind::Open => false,
            Kind::Close => is_end(&self.name),
            Kind::Token => true,
            Kind::Bracket => self.name.starts_with('/'),
        }
    }
}

/// Reads the marker at `at`, or `None` when none stands there.
pub(super) fn mark(text: &str, at: usize) -> Option<Mark<'_>> {
    match text.as_bytes().get(at)? {
        b'<' => token(text, at).or_else(|| tag(text, at)),
        b'[' => bracket(text, at),
        _ => None,
    }
}

/// Returns the start of `text[at..]`, no longer than any marker.
fn window(text: &str, at: usize) -> &str {
    let mut end = text.len().min(at + LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[at..end]
}

fn token(text: &str, at: usize) -> Option<Mark<'_>> {
    let window = window(text, at);
    let inner = window
        .strip_prefix("<|")
        .or_else(|| window.strip_prefix("<｜"))?;
    let length = inner.find(|c: char| !(c.is_ascii_alphanumeric() || "_/▁".contains(c)))?;
    let (name, after) = inner.split_at(length);
    let after = after
        .strip_prefix("|>")
        .or_else(|| after.strip_prefix("｜>"))?;
    if name.is_empty() {
        return None;
    }
    Some(Mark {
        kind: Kind::Token,
        name: name.replace('▁', "_").to_ascii_lowercase(),
        rest: "",
        end: at + window.len() - after.len(),
    })
}

fn tag(text: &str, at: usize) -> Option<Mark<'_>> {
    let window = window(text, at);
    let inner = &window[1..];
    let (kind, inner) = match inner.strip_prefix('/') {
        Some(inner) => (Kind::Close, inner),
        None => (Kind::Open, inner),
    };
    // DeepSeek's own name space stands between the bars of its tokens, and behind the slash of an end tag.
    let inner = inner
        .strip_prefix("｜DSML｜")
        .or_else(|| inner.strip_prefix("|DSML|"))
        .unwrap_or(inner);
    if !inner.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return None;
    }
    let word = |s: &str| s.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
    let mut length = word(inner)?;
    let mut from = 0;
    if inner.as_bytes()[length] == b':' {
        from = length + 1;
        length = from + word(&inner[from..])?;
    }
    let name = inner[from..length].to_ascii_lowercase();
    let rest = &inner[length..];
    let close = rest.find(['>', '<', '\n'])?;
    if name.is_empty()
        || rest.as_bytes()[close] != b'>'
        || !rest.starts_with(['>', '=', ' ', '/', '\t'])
    {
        return None;
    }
    Some(Mark {
        kind,
        name,
        rest: &rest[..close],
        end: at + window.len() - (rest.len() - close - 1),
    })
}

fn bracket(text: &str, at: usize) -> Option<Mark<'_>> {
    let window = window(text, at);
    let length = window[1..].find(|c: char| !(c.is_ascii_uppercase() || c == '_' || c == '/'))?;
    let (name, after) = window[1..].split_at(length);
    if !after.starts_with(']') || name.len() < 3 {
        return None;
    }
    Some(Mark {
        kind: Kind::Bracket,
        name: name.to_ascii_lowercase(),
        rest: "",
        end: at + length + 2,
    })
}

/// Tells whether the reply ends inside a tag that begins here.
pub(super) fn is_started(rest: &str) -> bool {
    rest.len() <= 40 && rest.starts_with('<') && !rest.contains('>')
}

/// Tells whether a tag of this name holds reasoning.
pub(super) fn is_reasoning(name: &str) -> bool {
    matches!(
        name,
        "think" | "thinking" | "thought" | "thoughts" | "reasoning"
    )
}

/// Tells whether a tag of this name holds one argument.
pub(super) fn is_parameter(name: &str) -> bool {
    matches!(name, "parameter" | "param" | "argument" | "arg")
}

/// Tells whether a tag of this name holds calls as JSON, as a Python call, or as further tags.
pub(super) fn is_call(name: &str) -> bool {
    matches!(
        name,
        "tool_call"
            | "tool_calls"
            | "toolcall"
            | "toolcalls"
            | "function_call"
            | "functioncall"
            | "function_calls"
            | "tool_use"
            | "tools"
    )
}

/// Tells whether an end tag of this name ends a call.
pub(super) fn is_end(name: &str) -> bool {
    is_call(name)
        || matches!(
            name,
            "function" | "invoke" | "tool_code" | "arguments" | "parameters" | "input"
        )
}

/// Tells whether a marker of this name holds a tool's answer, which a model has to wait for.
pub(super) fn is_response(name: &str) -> bool {
    matches!(
        name,
        "tool_response"
            | "tool_responses"
            | "tool_result"
            | "tool_results"
            | "tool_output"
            | "tool_outputs"
            | "function_response"
            | "function_result"
            | "function_results"
            | "tool_output_begin"
            | "tool_outputs_begin"
            | "start_tool_result"
    )
}

/// Tells whether a token of this name ends what a model says.
pub(super) fn is_stop(name: &str) -> bool {
    matches!(
        name,
        "im_end"
            | "eot_id"
            | "eom_id"
            | "eom"
            | "eot"
            | "endoftext"
            | "end_of_text"
            | "end_of_sentence"
            | "end_of_turn"
            | "end_of_turn_token"
            | "observation"
            | "user"
            | "return"
            | "eos"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_tokens_and_brackets_are_told_apart() {
        let read =
            |text| mark(text, 0).map(|mark| (mark.kind, mark.name, text[mark.end..].to_owned()));
        let some = |kind, name: &str, after: &str| Some((kind, name.to_owned(), after.to_owned()));
        assert_eq!(read("<tool_call>{"), some(Kind::Open, "tool_call", "{"));
        assert_eq!(read("</Tool_Call>x"), some(Kind::Close, "tool_call", "x"));
        assert_eq!(
            read("<minimax:tool_call>"),
            some(Kind::Open, "tool_call", "")
        );
        assert_eq!(read("</｜DSML｜invoke>"), some(Kind::Close, "invoke", ""));
        assert_eq!(read("<｜tool▁sep｜>a"), some(Kind::Token, "tool_sep", "a"));
        assert_eq!(read("<|tool▁sep|>"), some(Kind::Token, "tool_sep", ""));
        assert_eq!(
            read("[/TOOL_CALLS]."),
            some(Kind::Bracket, "/tool_calls", ".")
        );
        for text in [
            "<tool_call fakeout",
            "< b",
            "<1>",
            "[x]",
            "[]",
            "<",
            "[",
            "<|",
            "<a\n>",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_tag_names_its_function_in_either_form() {
        for text in [
            "<function=f>",
            "<function=\"f\">",
            "<invoke name=\"f\">",
            "<invoke name='f' x=1>",
            "<f name=f>",
        ] {
            assert_eq!(mark(text, 0).unwrap().names(), Some("f"), "{text}");
        }
        assert_eq!(mark("<function>", 0).unwrap().names(), None);
    }
}
