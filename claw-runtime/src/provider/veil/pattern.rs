//! What is kept from a service: numbers of persons by their form, and what a regular expression finds.

use std::ops::Range;

use regex::Regex;

/// One kind of text that is replaced.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) name: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// A number of an identity card of China: 18 places, the last of which checks the others.
    IdentityCard,
    /// A mobile number of mainland China, with or without its country, plain or in groups.
    Phone(Regex),
    Own(Regex),
    /// What looks like a placeholder already: it gets one of its own, so that nobody can write one by hand.
    Placeholder(Regex),
}

/// Names of the patterns there are.
pub(super) const KNOWN: [&str; 2] = ["identity-card", "phone"];

impl Pattern {
    pub(super) fn known(name: &str) -> Option<Self> {
        let kind = match name {
            "identity-card" => Kind::IdentityCard,
            "phone" => Kind::Phone(own(
                r"(?:(?:\+|00)?86[- ]?)?1[3-9][0-9](?:[- ]?[0-9]{4}){2}",
            )),
            _ => return None,
        };
        Some(Self {
            name: name.to_owned(),
            kind,
        })
    }

    pub(super) fn own(name: &str, regex: &str) -> Result<Self, regex::Error> {
        Ok(Self {
            name: name.to_owned(),
            kind: Kind::Own(Regex::new(regex)?),
        })
    }

    /// Finds placeholders under these names.
    pub(super) fn placeholder(names: &[&str]) -> Self {
        let names = names.join("|");
        Self {
            name: "text".to_owned(),
            kind: Kind::Placeholder(own(&format!(r"\[(?:{names}|text)-[0-9]+\]"))),
        }
    }

    /// Returns the first place at or after `from`.
    pub(super) fn find(&self, text: &str, from: usize) -> Option<Range<usize>> {
        match &self.kind {
            Kind::IdentityCard => identity_card(text, from),
            Kind::Phone(regex) => phone(regex, text, from),
            Kind::Own(regex) | Kind::Placeholder(regex) => {
                let mut from = from;
                loop {
                    let found = regex.find_at(text, from)?;
                    if !found.is_empty() {
                        return Some(found.range());
                    }
                    // An empty place says nothing to replace.
                    from = next_char(text, found.end())?;
                }
            }
        }
    }
}

fn own(regex: &str) -> Regex {
    Regex::new(regex)
        .expect("the expression is written here, or made of names of letters and hyphens")
}

fn next_char(text: &str, at: usize) -> Option<usize> {
    let c = text.get(at..)?.chars().next()?;
    Some(at + c.len_utf8())
}

fn phone(regex: &Regex, text: &str, mut from: usize) -> Option<Range<usize>> {
    loop {
        let found = regex.find_at(text, from)?;
        if stands_alone(text, found.range()) {
            return Some(found.range());
        }
        // The country's number may be the end of something else.
        from = found.start() + 1;
    }
}

fn identity_card(text: &str, mut from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    loop {
        let begin = from + bytes.get(from..)?.iter().position(u8::is_ascii_digit)?;
        let digits = bytes[begin..]
            .iter()
            .take_while(|it| it.is_ascii_digit())
            .count();
        let has_x = matches!(bytes.get(begin + digits), Some(b'X' | b'x'));
        let length = digits + usize::from(digits == 17 && has_x);
        let place = begin..begin + length;
        if length == 18
            && stands_alone(text, place.clone())
            && is_identity_card(&bytes[place.clone()])
        {
            return Some(place);
        }
        from = begin + digits;
    }
}

/// Tells whether 18 places are a number of an identity card (GB 11643-1999): region, day of birth, order, check.
fn is_identity_card(number: &[u8]) -> bool {
    const WEIGHTS: [u32; 17] = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    const CHECKS: &[u8; 11] = b"10X98765432";
    let digit = |at: usize| u32::from(number[at] - b'0');
    let two = |at: usize| digit(at) * 10 + digit(at + 1);
    let sum: u32 = WEIGHTS
        .iter()
        .enumerate()
        .map(|(at, weight)| digit(at) * weight)
        .sum();
    number[0] != b'0'
        && (18..=20).contains(&two(6))
        && (1..=12).contains(&two(10))
        && (1..=31).contains(&two(12))
        && CHECKS[(sum % 11) as usize] == number[17].to_ascii_uppercase()
}

/// Tells whether a number is no part of a longer one or of a word.
fn stands_alone(text: &str, place: Range<usize>) -> bool {
    let before = &text.as_bytes()[..place.start];
    let after = &text.as_bytes()[place.end..];
    let is_word =
        |byte: Option<&u8>| byte.is_some_and(|it| it.is_ascii_alphanumeric() || *it == b'_');
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let is_joint = |byte: Option<&u8>| byte.is_some_and(|it| b".-".contains(it));
    let joined_before = is_joint(before.last()) && is_digit(before.iter().rev().nth(1));
    let joined_after = is_joint(after.first()) && is_digit(after.get(1));
    !is_word(before.last()) && !is_word(after.first()) && !joined_before && !joined_after
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all<'t>(pattern: &str, text: &'t str) -> Vec<&'t str> {
        let pattern = Pattern::known(pattern).unwrap();
        let (mut from, mut found) = (0, Vec::new());
        while let Some(place) = pattern.find(text, from) {
            from = place.end;
            found.push(&text[place]);
        }
        found
    }

    #[test]
    fn identity_cards_are_told_by_their_check() {
        // The example of the standard, and one with an X, whose sums were made by hand.
        for card in [
            "11010519491231002X",
            "11010519491231002x",
            "440524188001010014",
        ] {
            assert_eq!(all("identity-card", &format!("号码{card}。")), [card]);
        }
        for other in [
            "110105194912310021",
            "440524188001010015",
            "1101051949123100",
            "A11010519491231002X",
            "1440524188001010014",
            "4405241880010100141",
            "440524-188001010014",
            "000000000000000000",
            "",
        ] {
            assert!(all("identity-card", other).is_empty(), "{other}");
        }
    }

    #[test]
    fn mobile_numbers_are_told_by_their_form() {
        for phone in [
            "13812345678",
            "+8613812345678",
            "86 13812345678",
            "0086-138-1234-5678",
            "+86 138 1234 5678",
            "19912345678",
        ] {
            assert_eq!(all("phone", &format!("电话：{phone}, ok")), [phone]);
        }
        assert_eq!(
            all("phone", "13812345678/13912345678"),
            ["13812345678", "13912345678"]
        );
        for other in [
            "12812345678",
            "1381234567",
            "138123456789",
            "1701234567890",
            "2.13812345678",
            "13812345678.5",
            "id13812345678",
            "13812345678x",
            "13812345678-1",
        ] {
            assert!(
                all("phone", other).is_empty(),
                "{other}: {:?}",
                all("phone", other)
            );
        }
    }
}
