//! Calls marked by a model family's own tokens: Mistral, DeepSeek, Kimi, Llama, Harmony and others.

use super::effort::looked;
use super::marker::{Kind, Mark, mark};
use super::scan::Scan;

/// How far a header is looked for, in bytes.
const HEADER: usize = 320;

impl Scan<'_> {
    /// Handles `[TOOL_CALLS]` and what belongs to it.
    pub(super) fn bracket_marker(&mut self, open: &Mark<'_>) -> bool {
        let start = self.position();
        match open.name.as_str() {
            "tool_calls" => {}
            "/tool_calls" => {
                self.flush(start);
                self.done(open.end);
                return true;
            }
            _ => return false,
        }
        if self.payload(start, open.end, None) {
            return true;
        }
        let at = self.blanks(open.end);
        let length = self.text[at..]
            .find(['[', '{', '\n', ' '])
            .unwrap_or(self.text.len() - at);
        let name = self.text[at..at + length].to_owned();
        let mut next = self.blanks(at + length);
        while let Some(part) = mark(self.text, next).filter(|mark| mark.kind == Kind::Bracket) {
            match part.name.as_str() {
                "call_id" => {
                    let id = self.text[part.end..]
                        .find(['[', '{'])
                        .unwrap_or(self.text.len() - part.end);
                    next = part.end + id;
                }
                "args" => next = self.blanks(part.end),
                _ => break,
            }
        }
        if next == self.text.len() && (self.is_fresh() || !name.is_empty()) {
            return self.cut(start, self.tools.resolve(&name));
        }
        if name.is_empty() || !self.text[next..].starts_with('{') {
            return false;
        }
        self.json(start, next, Some(&name), None)
    }

    /// Handles a special token.
    pub(super) fn token(&mut self, open: &Mark<'_>) -> bool {
        let start = self.position();
        match open.name.as_str() {
            "tool_call_begin" => self.headed(open),
            "start" | "channel" | "message" => self.harmony(open),
            "python_tag" | "tool_call" | "tool_calls" | "tool_call_start" | "tool_calls_start"
            | "start_action" | "plugin" => {
                self.payload(start, open.end, None) || self.skip_token(open)
            }
            "tool_calls_begin"
            | "tool_calls_end"
            | "tool_call_end"
            | "tool_calls_section_begin"
            | "tool_calls_section_end"
            | "tool_call_section_begin"
            | "tool_call_section_end"
            | "action_start"
            | "action_end"
            | "end_action"
            | "end"
            | "call"
            | "/tool_call"
            | "assistant"
            | "start_response"
            | "end_response"
            | "im_start"
            | "begin_of_text" => self.skip_token(open),
            _ => false,
        }
    }

    fn skip_token(&mut self, open: &Mark<'_>) -> bool {
        self.flush(self.position());
        let role = match open.name.as_str() {
            "im_start" if self.text[open.end..].starts_with("assistant") => "assistant".len(),
            _ => 0,
        };
        self.done(open.end + role);
        true
    }

    /// Handles a call whose name stands between two tokens, and whose arguments follow the second.
    fn headed(&mut self, open: &Mark<'_>) -> bool {
        let start = self.position();
        let separator =
            self.next_token(open.end, HEADER, &["tool_sep", "tool_call_argument_begin"]);
        let Some((head_end, after)) = separator else {
            return self.payload(start, open.end, None) || self.cut(start, None);
        };
        let head = self.text[open.end..head_end].trim();
        let (name, at) = if head == "function" {
            let line = self.text[after..]
                .find(['\n', '{'])
                .unwrap_or(self.text.len() - after);
            (self.text[after..after + line].trim(), after + line)
        } else {
            (head, after)
        };
        let (name, at) = (name.to_owned(), self.inside_fence(self.blanks(at)));
        self.json(start, at, Some(&name), None)
    }

    /// Handles a Harmony message: a header, `<|message|>`, a body.
    fn harmony(&mut self, open: &Mark<'_>) -> bool {
        let start = self.position();
        let body = match open.name.as_str() {
            "message" => Some((open.end, open.end)),
            _ => self.next_token(open.end, HEADER, &["message"]),
        };
        let Some((header_end, body)) = body else {
            return self.skip_token(open);
        };
        let header = &self.text[open.end..header_end];
        if open.name == "start" && !header.trim_start().starts_with("assistant") {
            // Somebody else speaks, as a tool or the user would.
            self.flush(start);
            self.invented = true;
            self.done(self.text.len());
            return true;
        }
        let recipient = header.split_once("to=").map(|(_, name)| {
            let end = name
                .find(|c: char| c.is_whitespace() || c == '<')
                .unwrap_or(name.len());
            name[..end].to_owned()
        });
        if let Some(name) = recipient {
            let at = self.blanks(body);
            return self.json(start, at, Some(&name), None);
        }
        if header.contains("analysis") {
            let end = self.next_token(body, usize::MAX, &["end", "start", "channel", "return"]);
            // The next message's header is still to be read.
            let end = end.map(|(at, end)| {
                let next = if self.text[at..end].contains("end") {
                    end
                } else {
                    at
                };
                (at, next)
            });
            if self.reasoning_block(body, end) {
                return true;
            }
        }
        self.flush(start);
        self.done(body);
        true
    }

    /// Finds the first of these tokens within `limit` bytes: where it begins and ends.
    fn next_token(&self, from: usize, limit: usize, names: &[&str]) -> Option<(usize, usize)> {
        let mut at = from;
        while let Some(next) = self.text[at..].find('<') {
            at += next;
            looked(next + 1);
            if at - from > limit {
                return None;
            }
            match mark(self.text, at) {
                Some(token) if names.contains(&token.name.as_str()) => {
                    return Some((at, token.end));
                }
                Some(token) => at = token.end,
                None => at += 1,
            }
        }
        None
    }
}
