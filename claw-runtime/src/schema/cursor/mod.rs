//! The one reader of JSON text behind every shim: strict, without allocation where the text allows it.

use std::borrow::Cow;

use crate::schema::flatten;
use crate::schema::node::Property;
use crate::tool::Reject;

/// How deep values may nest.
pub(crate) const DEPTH: u8 = 128;
/// Bytes that may be read again for other variants of untagged enums: a fixed count, and for each byte of the text.
/// Enums that contain each other could be read in exponentially many ways.
const RETRIES: usize = 4_096;
const RETRIES_A_BYTE: usize = 64;

/// A place in JSON text. It can go back: a copy of the position is all it takes.
#[derive(Debug)]
pub struct Cursor<'de> {
    text: &'de str,
    at: usize,
    depth: u8,
    /// The object that the flattened type being read is a part of.
    whole: Option<Whole>,
    /// Steps that may still be taken back to try another variant.
    retries: usize,
}

/// All members of an object, and how deep it is.
#[derive(Clone, Copy, Debug)]
struct Whole {
    fields: &'static [Property],
    depth: u8,
}

/// A number as written: its text and whether it is a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Number<'de> {
    text: &'de str,
    whole: bool,
}

impl<'de> Cursor<'de> {
    /// Returns a cursor at the start of `text`.
    pub const fn new(text: &'de str) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            whole: None,
            retries: RETRIES + RETRIES_A_BYTE * text.len(),
        }
    }

    /// Returns a refusal at this place.
    #[cold]
    pub fn reject(&self, what: &'static str) -> Reject {
        Reject {
            name: None,
            what: Cow::Borrowed(what),
            at: self.at,
        }
    }

    /// Returns the byte offset.
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Goes back to a position that [`Cursor::position`] gave at the same depth.
    pub fn rewind(&mut self, position: usize) {
        self.at = position;
    }

    /// Refuses anything but white space up to the end.
    ///
    /// # Errors
    ///
    /// Refuses trailing text.
    pub fn end(&mut self) -> Result<(), Reject> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.reject("text after the arguments")),
        }
    }

    /// Skips white space and returns the next byte, without taking it.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    /// Takes `byte` when it is next.
    #[inline]
    pub fn eat(&mut self, byte: u8) -> bool {
        let next = self.peek() == Some(byte);
        self.at += usize::from(next);
        next
    }

    #[inline]
    fn word<const N: usize>(&mut self, word: &[u8; N]) -> bool {
        self.peek();
        let found = self.text.as_bytes()[self.at..].first_chunk() == Some(word);
        if found {
            self.at += N;
        }
        found
    }

    /// Takes `null` when it is next.
    #[inline]
    pub fn null(&mut self) -> bool {
        self.word(b"null")
    }

    /// Reads `true` or `false`.
    ///
    /// # Errors
    ///
    /// Refuses anything else.
    pub fn boolean(&mut self) -> Result<bool, Reject> {
        if self.word(b"true") {
            Ok(true)
        } else if self.word(b"false") {
            Ok(false)
        } else {
            Err(self.reject("expected a boolean"))
        }
    }

    /// Reads a string; it is borrowed from the text unless it has escapes.
    ///
    /// # Errors
    ///
    /// Refuses anything that is not a well-formed JSON string.
    #[inline]
    pub fn string(&mut self) -> Result<Cow<'de, str>, Reject> {
        if !self.eat(b'"') {
            return Err(self.reject("expected a string"));
        }
        let start = self.at;
        let bytes = self.text.as_bytes();
        self.at += plain(&bytes[start..]);
        if bytes.get(self.at) == Some(&b'"') {
            let text = &self.text[start..self.at];
            self.at += 1;
            return Ok(Cow::Borrowed(text));
        }
        self.escaped(start).map(Cow::Owned)
    }

    #[cold]
    fn escaped(&mut self, start: usize) -> Result<String, Reject> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') if self.at + 1 < bytes.len() => self.at += 2,
                Some(b'\\') | None => return Err(self.reject("a string without an end")),
                Some(..b' ') => return Err(self.reject("a control character in a string")),
                Some(_) => self.at += 1 + plain(&bytes[self.at + 1..]),
            }
        }
        self.at += 1;
        serde_json::from_str(&self.text[start - 1..self.at])
            .map_err(|_| self.reject("a bad escape in a string"))
    }

    /// Reads a whole number of at most 18 digits; `None` for anything else, without moving.
    #[inline]
    pub fn short_integer(&mut self) -> Option<i64> {
        self.peek();
        let bytes = &self.text.as_bytes()[self.at..];
        let negative = bytes.first() == Some(&b'-');
        let digits = &bytes[usize::from(negative)..];
        let mut value = 0_i64;
        let mut count = 0;
        while let Some(digit @ b'0'..=b'9') = digits.get(count) {
            if count == 18 {
                return None;
            }
            value = value * 10 + i64::from(digit - b'0');
            count += 1;
        }
        let odd = matches!(digits.get(count), Some(b'.' | b'e' | b'E'));
        if count == 0 || odd || (count > 1 && digits[0] == b'0') || (negative && value == 0) {
            return None;
        }
        self.at += usize::from(negative) + count;
        Some(if negative { -value } else { value })
    }

    /// Reads a whole number: its sign and its magnitude.
    ///
    /// # Errors
    ///
    /// Refuses anything else, fractions and exponents too.
    #[cold]
    pub fn integer(&mut self) -> Result<(bool, u128), Reject> {
        let start = self.at;
        let number = self.number("expected an integer")?;
        let digits = number.text.trim_start_matches('-');
        let value = if number.whole {
            digits.parse()
        } else {
            self.at = start;
            return Err(self.reject("expected an integer"));
        };
        let negative = number.text.starts_with('-');
        match value {
            // `-0` is a float to whoever reads it as data.
            Ok(0) if negative => {
                self.at = start;
                Err(self.reject("expected an integer"))
            }
            Ok(value) => Ok((negative, value)),
            Err(_) => {
                self.at = start;
                Err(self.reject("out of range"))
            }
        }
    }

    /// Reads a finite number.
    ///
    /// # Errors
    ///
    /// Refuses anything else, and numbers too large for an `f64`.
    pub fn float(&mut self) -> Result<f64, Reject> {
        let start = self.at;
        let number = self.number("expected a number")?;
        match number.text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => {
                self.at = start;
                Err(self.reject("out of range"))
            }
        }
    }

    fn number(&mut self, expected: &'static str) -> Result<Number<'de>, Reject> {
        self.peek();
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut at = start + usize::from(bytes.get(start) == Some(&b'-'));
        let run = |at: &mut usize| {
            let from = *at;
            while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
                *at += 1;
            }
            *at - from
        };
        let zero = bytes.get(at) == Some(&b'0');
        let digits = run(&mut at);
        if digits == 0 || (zero && digits > 1) {
            return Err(self.reject(expected));
        }
        let mut whole = true;
        if bytes.get(at) == Some(&b'.') {
            whole = false;
            at += 1;
            if run(&mut at) == 0 {
                return Err(self.reject(expected));
            }
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            whole = false;
            at += 1;
            at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
            if run(&mut at) == 0 {
                return Err(self.reject(expected));
            }
        }
        self.at = at;
        Ok(Number {
            text: &self.text[start..at],
            whole,
        })
    }

    /// Enters an array or object that begins with `open`.
    ///
    /// # Errors
    ///
    /// Refuses another value, saying `expected`, and nesting beyond 128.
    #[inline]
    pub fn enter(&mut self, open: u8, expected: &'static str) -> Result<(), Reject> {
        if !self.eat(open) {
            return Err(self.reject(expected));
        }
        if self.depth == DEPTH {
            return Err(self.reject("nested too deeply"));
        }
        self.depth += 1;
        Ok(())
    }

    /// Tells, at the start of an entered array or object and after each of its members, whether another one follows;
    /// leaves it when `close` does.
    ///
    /// # Errors
    ///
    /// Refuses a missing or a trailing comma, and text without an end.
    #[inline]
    pub fn more(&mut self, close: u8, first: bool) -> Result<bool, Reject> {
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                self.depth -= 1;
                Ok(false)
            }
            Some(b',') if !first => {
                self.at += 1;
                if self.peek() == Some(close) {
                    return Err(self.reject("a comma before the end"));
                }
                Ok(true)
            }
            Some(_) if first => Ok(true),
            Some(_) => Err(self.reject("expected a comma")),
            None => Err(self.reject("text without an end")),
        }
    }

    /// Takes the name of an object's member and its colon when it is `name`, written without escapes.
    #[inline]
    pub fn key_is(&mut self, name: &str) -> bool {
        self.peek();
        let start = self.at;
        let rest = &self.text.as_bytes()[start..];
        let found = rest.first() == Some(&b'"')
            && rest.get(1..=name.len()) == Some(name.as_bytes())
            && rest.get(1 + name.len()) == Some(&b'"');
        if found {
            self.at += name.len() + 2;
            if self.eat(b':') {
                return true;
            }
            self.at = start;
        }
        false
    }

    /// Reads the name of an object's member and its colon.
    ///
    /// # Errors
    ///
    /// Refuses anything else.
    #[inline]
    pub fn key(&mut self) -> Result<Cow<'de, str>, Reject> {
        let key = self.string()?;
        if self.eat(b':') {
            Ok(key)
        } else {
            Err(self.reject("expected a colon"))
        }
    }

    /// Comes to the next place of a tuple.
    ///
    /// # Errors
    ///
    /// Refuses an array that has none.
    pub fn place(&mut self, first: bool) -> Result<(), Reject> {
        if self.more(b']', first)? {
            Ok(())
        } else {
            Err(self.reject("an array that is too short"))
        }
    }

    /// Leaves a tuple.
    ///
    /// # Errors
    ///
    /// Refuses an array with more places.
    pub fn close(&mut self, first: bool) -> Result<(), Reject> {
        if self.more(b']', first)? {
            Err(self.reject("an array that is too long"))
        } else {
            Ok(())
        }
    }

    /// Reads an array, one call of `item` a member.
    ///
    /// # Errors
    ///
    /// Refuses anything else, and what `item` refuses.
    pub fn array(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<(), Reject>,
    ) -> Result<(), Reject> {
        self.enter(b'[', "expected an array")?;
        let mut first = true;
        while self.more(b']', first)? {
            first = false;
            item(self)?;
        }
        Ok(())
    }

    /// Reads an object, one call of `member` a member.
    ///
    /// # Errors
    ///
    /// Refuses anything else, and what `member` refuses.
    pub fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &str) -> Result<(), Reject>,
    ) -> Result<(), Reject> {
        let whole = self.whole();
        self.enter(b'{', "expected an object")?;
        let mut first = true;
        while self.more(b'}', first)? {
            first = false;
            let key = self.key()?;
            // A flattened map takes what nobody declares.
            if whole.is_some_and(|fields| flatten::declares(fields, &key)) {
                self.skip()?;
                continue;
            }
            member(self, &key)?;
        }
        Ok(())
    }

    /// Returns all members of the object that is next, when what reads it is only a part of it.
    #[inline]
    pub(crate) fn whole(&self) -> Option<&'static [Property]> {
        match self.whole {
            Some(whole) if whole.depth == self.depth => Some(whole.fields),
            _ => None,
        }
    }

    /// Reads the object at `start` again, as a part of an object with these members.
    ///
    /// # Errors
    ///
    /// Refuses what `read` refuses.
    pub(crate) fn part(
        &mut self,
        start: usize,
        fields: &'static [Property],
        read: impl FnOnce(&mut Self) -> Result<(), Reject>,
    ) -> Result<(), Reject> {
        let outer = self.whole;
        if self.whole().is_none() {
            let depth = self.depth;
            self.whole = Some(Whole { fields, depth });
        }
        self.at = start;
        read(self)?;
        self.whole = outer;
        Ok(())
    }

    /// Reads what `read` reads; when it refuses, goes back, so that something else can be tried.
    ///
    /// # Errors
    ///
    /// Refuses when there was too much going back.
    pub fn attempt<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Reject>,
    ) -> Result<Option<T>, Reject> {
        let (start, depth, whole) = (self.at, self.depth, self.whole);
        if let Ok(value) = read(self) {
            return Ok(Some(value));
        }
        let steps = 1 + self.at.saturating_sub(start);
        self.retries = self.retries.saturating_sub(steps);
        (self.at, self.depth, self.whole) = (start, depth, whole);
        if self.retries == 0 {
            return Err(self.reject("too many variants to try"));
        }
        Ok(None)
    }

    /// Skips one value and returns its text.
    ///
    /// # Errors
    ///
    /// Refuses what is not JSON.
    pub fn skip(&mut self) -> Result<&'de str, Reject> {
        let next = self.peek();
        let start = self.at;
        match next {
            Some(b'"') => {
                self.string()?;
            }
            Some(b'{') => self.object(|cursor, _| cursor.skip().map(drop))?,
            Some(b'[') => self.array(|cursor| cursor.skip().map(drop))?,
            Some(b't' | b'f') => {
                self.boolean()?;
            }
            Some(b'n') if self.null() => {}
            _ => {
                self.number("expected a value")?;
            }
        }
        Ok(&self.text[start..self.at])
    }

    /// Looks for the member `name` of the object that is next and reads it as a string, without moving.
    ///
    /// # Errors
    ///
    /// Refuses another value, an object without that member, and a member that is no string.
    pub fn find(&mut self, name: &str) -> Result<Cow<'de, str>, Reject> {
        let (start, depth) = (self.at, self.depth);
        self.enter(b'{', "expected an object")?;
        let mut first = true;
        while self.more(b'}', first)? {
            first = false;
            if self.key()? == name {
                let tag = self.string()?;
                (self.at, self.depth) = (start, depth);
                return Ok(tag);
            }
            self.skip()?;
        }
        self.at = start;
        Err(self.reject("the member that names the variant is missing"))
    }
}

/// Returns how many bytes come before the first quote, backslash or control character; eight at a time.
fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    let (chunks, rest) = bytes.as_chunks::<8>();
    for chunk in chunks {
        let word = u64::from_le_bytes(*chunk);
        let zero = |x: u64| x.wrapping_sub(ONES) & !x;
        let quote = zero(word ^ (ONES * u64::from(b'"')));
        let slash = zero(word ^ (ONES * u64::from(b'\\')));
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let found = (quote | slash | control) & HIGH;
        if found != 0 {
            // Borrows can only make false hits above a true one, so the lowest hit is true.
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at + rest
        .iter()
        .position(|byte| matches!(byte, b'"' | b'\\' | ..b' '))
        .unwrap_or(rest.len())
}

#[cfg(test)]
mod tests;
