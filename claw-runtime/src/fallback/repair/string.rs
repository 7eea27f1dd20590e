//! Strings: which quotation mark ends one, and what a backslash means.

use super::{CUT, Fault, Reader, Style, skip};
use crate::fallback::effort::looked;
use crate::fallback::marker::mark;

impl Reader<'_> {
    /// Reads a string; returns it with the number of unescaped quotation marks in it. A key ends at the first.
    pub(super) fn string(&mut self, open: char, key: bool) -> Result<(String, usize), Fault> {
        self.at += open.len_utf8();
        let mut out = String::new();
        let mut inner = 0;
        loop {
            let run = self
                .rest()
                .find(|c: char| c == '\\' || closes(open, c))
                .unwrap_or(self.rest().len());
            out.push_str(&self.text[self.at..self.at + run]);
            self.at += run;
            looked(run + 1);
            let Some(c) = self.peek() else {
                return Err(CUT);
            };
            self.at += c.len_utf8();
            if c == '\\' {
                self.escape(open, &mut out)?;
            } else if self.style == Style::Python || self.ends_string() {
                return Ok((out, inner));
            } else {
                inner += 1;
                if key {
                    return Ok((out, inner));
                }
                out.push(c);
            }
        }
    }

    /// Tells whether what follows a quotation mark is structure, so that the mark ends its string.
    fn ends_string(&self) -> bool {
        let at = skip(self.text, self.at);
        match self.text[at..].chars().next() {
            None => true,
            Some(c) => {
                ",:}]，：｝］".contains(c)
                    || mark(self.text, at).is_some_and(|mark| mark.ends_call())
            }
        }
    }

    fn escape(&mut self, open: char, out: &mut String) -> Result<(), Fault> {
        let Some(c) = self.peek() else {
            return Err(CUT);
        };
        let plain = match c {
            '"' | '\\' | '/' => c,
            '\'' if open != '"' => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => match self.unicode() {
                Some(Some(c)) => {
                    out.push(c);
                    return Ok(());
                }
                Some(None) => return Err((false, "half of a `\\u` surrogate pair is missing")),
                None => {
                    out.push('\\');
                    return Ok(());
                }
            },
            // An unknown escape is a backslash that should have been escaped itself.
            _ => {
                out.push('\\');
                return Ok(());
            }
        };
        out.push(plain);
        self.at += c.len_utf8();
        Ok(())
    }

    /// Reads `uXXXX`, and its second half where there is one. `None`: no escape at all; `Some(None)`: half a pair.
    fn unicode(&mut self) -> Option<Option<char>> {
        let hex = |at: usize| {
            let digits = self.text.get(at..at + 4)?;
            digits
                .bytes()
                .all(|b| b.is_ascii_hexdigit())
                .then(|| u32::from_str_radix(digits, 16).ok())?
        };
        let high = hex(self.at + 1)?;
        if !(0xd800..0xe000).contains(&high) {
            self.at += 5;
            return Some(char::from_u32(high));
        }
        let low = (self.text.get(self.at + 5..self.at + 7) == Some("\\u"))
            .then(|| hex(self.at + 7))
            .flatten()
            .filter(|low| high < 0xdc00 && (0xdc00..0xe000).contains(low));
        let Some(low) = low else {
            return Some(None);
        };
        self.at += 11;
        Some(char::from_u32(
            0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00),
        ))
    }
}

pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '“' | '”' | '„' | '＂' | '‘' | '’')
}

fn closes(open: char, c: char) -> bool {
    match open {
        '"' | '\'' => c == open,
        '‘' | '’' => matches!(c, '‘' | '’'),
        _ => matches!(c, '“' | '”' | '＂' | '"'),
    }
}
