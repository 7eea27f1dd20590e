//! Numbers as they are written: compared and checked without a trip through a float.

use std::cmp::Ordering;

/// Most digits an integer may have once written out: those of a 128-bit one.
const INTEGER_DIGITS: i64 = 39;

/// A JSON number, exact: `digits × 10^scale`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Decimal {
    negative: bool,
    /// Without zeros at either end; empty for zero.
    digits: String,
    scale: i64,
}

impl Decimal {
    /// Reads a number that follows the JSON grammar; of other text it reads what it can.
    pub(super) fn new(text: &str) -> Self {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], exponent(&text[at + 1..])),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits = String::with_capacity(whole.len() + fraction.len());
        digits.push_str(whole);
        digits.push_str(fraction);
        let mut scale = exponent.saturating_sub(fraction.len() as i64);
        let kept = digits.trim_end_matches('0').len();
        scale = scale.saturating_add((digits.len() - kept) as i64);
        digits.truncate(kept);
        let leading = digits.len() - digits.trim_start_matches('0').len();
        digits.drain(..leading);
        if digits.is_empty() {
            return Self {
                negative: false,
                digits,
                scale: 0,
            };
        }
        Self {
            negative,
            digits,
            scale,
        }
    }

    fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Tells whether the number has no fraction.
    #[cfg(feature = "jsonschema")]
    pub(super) fn is_whole(&self) -> bool {
        self.scale >= 0
    }

    /// Tells whether the number is above zero.
    pub(super) fn is_positive(&self) -> bool {
        !self.negative && !self.is_zero()
    }

    /// Returns the number written as a plain integer, or `None` when it has a fraction or more than 128 bits.
    pub(super) fn integer(&self) -> Option<String> {
        if self.scale < 0 || self.digits.len() as i64 + self.scale > INTEGER_DIGITS {
            return None;
        }
        if self.is_zero() {
            return Some("0".to_owned());
        }
        let mut text = String::new();
        if self.negative {
            text.push('-');
        }
        text.push_str(&self.digits);
        text.extend(std::iter::repeat_n('0', self.scale as usize));
        (text.parse::<i128>().is_ok() || text.parse::<u128>().is_ok()).then_some(text)
    }

    /// Tells whether the number is a whole multiple of `step`, which is above zero. A step of more than 37 digits, without
    /// the zeros at its end, asks nothing.
    pub(super) fn is_multiple_of(&self, step: &Self) -> bool {
        if self.is_zero() {
            return true;
        }
        // The digits of neither end with a zero, so a step of a higher place has no multiple in this one.
        let Ok(zeros) = u64::try_from(self.scale.saturating_sub(step.scale)) else {
            return false;
        };
        let Some(step) = step
            .digits
            .parse()
            .ok()
            .filter(|step: &u128| *step < u128::MAX / 10)
        else {
            return true;
        };
        // Each zero is a two and a five; more than the step has bits change nothing.
        let zeros = zeros.min(u64::from(u128::BITS)) as usize;
        let digits = self.digits.bytes().map(|digit| u128::from(digit - b'0'));
        digits
            .chain(std::iter::repeat_n(0, zeros))
            .fold(0, |rest, digit| (rest * 10 + digit) % step)
            == 0
    }

    fn magnitude(&self, other: &Self) -> Ordering {
        let length = |number: &Self| number.scale.saturating_add(number.digits.len() as i64);
        length(self)
            .cmp(&length(other))
            // Digits carry no zeros at the end, so a prefix is the smaller one.
            .then_with(|| self.digits.cmp(&other.digits))
    }
}

/// Writes the one canonical form, `-12e3`.
impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        write!(f, "{sign}{}e{}", self.digits, self.scale)
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.is_zero(), number.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        sign(self).cmp(&sign(other)).then_with(|| match sign(self) {
            0 => Ordering::Equal,
            1 => self.magnitude(other),
            _ => other.magnitude(self),
        })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Reads an exponent; one too long for 64 bits counts as a very large one.
fn exponent(text: &str) -> i64 {
    const LIMIT: i64 = 1 << 40;
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let size = digits.parse::<i64>().map_or(LIMIT, |size| size.min(LIMIT));
    if negative { -size } else { size }
}

/// Tells whether a float of 64 bits can hold the number.
pub(super) fn is_finite(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Tells whether the text is a plain integer: no fraction, no exponent, no negative zero.
pub(super) fn is_plain_integer(text: &str) -> bool {
    text != "-0"
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// Returns how many bytes at the start of `bytes` follow the number grammar of JSON, or where they break it.
pub(super) fn scan(bytes: &[u8]) -> Result<usize, usize> {
    let digits = |from: usize| {
        let count = bytes[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if count == 0 {
            Err(from)
        } else {
            Ok(from + count)
        }
    };
    let start = usize::from(bytes.first() == Some(&b'-'));
    let mut at = digits(start)?;
    if bytes[start] == b'0' && at > start + 1 {
        return Err(start + 1);
    }
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        if matches!(bytes.get(at), Some(b'+' | b'-')) {
            at += 1;
        }
        at = digits(at)?;
    }
    Ok(at)
}

/// Returns the text without blanks around it when all of it is one number.
pub(super) fn exact(text: &str) -> Option<&str> {
    let text = text.trim();
    (scan(text.as_bytes()) == Ok(text.len())).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_without_a_float() {
        let ascending = [
            "-1e400",
            "-18446744073709551617",
            "-18446744073709551616",
            "-0.1",
            "0",
            "1e-400",
            "0.1",
            "0.10000000000000000001",
            "9",
            "10",
            "9007199254740992",
            "9007199254740993",
            "1e400",
        ];
        for pair in ascending.windows(2) {
            assert!(Decimal::new(pair[0]) < Decimal::new(pair[1]), "{pair:?}");
        }
        for (left, right) in [("1", "1.0"), ("-0", "0e9"), ("100", "1e2"), ("0.5", "5E-1")] {
            assert_eq!(Decimal::new(left), Decimal::new(right));
        }
    }

    #[test]
    fn writes_integers_out_exactly() {
        for (text, expected) in [
            ("5.0", Some("5")),
            ("-12.50e1", Some("-125")),
            ("1e3", Some("1000")),
            ("-0", Some("0")),
            ("4.5", None),
            (
                "340282366920938463463374607431768211455",
                Some("340282366920938463463374607431768211455"),
            ),
            ("340282366920938463463374607431768211456", None),
            ("1e400", None),
            ("1e99999999999999999999", None),
            ("1e-99999999999999999999", None),
        ] {
            assert_eq!(Decimal::new(text).integer().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn finds_multiples_exactly() {
        for (number, step, expected) in [
            ("0.3", "0.1", true),
            ("4.35", "0.01", true),
            ("4.351", "0.01", false),
            ("10", "2.5", true),
            ("11", "2.5", false),
            ("1e308", "0.5", true),
            ("1e308", "0.123456789", false),
            ("0", "7", true),
            ("-9", "3", true),
            ("1e5000", "1", true),
            ("1e5000", "1024", true),
            ("3e5000", "7", false),
            ("21e5000", "7e-5000", true),
            ("1e99999999999999999999", "0.5", true),
            ("1", "1e5000", false),
            ("15", "10", false),
            ("15", "1.5e1", true),
            ("1e40", "1267650600228229401496703205376", false),
            ("1e100", "1267650600228229401496703205376", true),
            ("1", "0.12345678901234567890123456789012345678901", true),
        ] {
            let (number, step) = (Decimal::new(number), Decimal::new(step));
            assert_eq!(
                number.is_multiple_of(&step),
                expected,
                "{number:?} {step:?}"
            );
        }
    }

    #[test]
    fn reads_only_the_number_grammar() {
        for good in ["0", "-0", "10", "1.5", "1e5", "1E+5", " 42 "] {
            assert!(exact(good).is_some(), "{good}");
        }
        for bad in [
            "", "-", "01", "1.", ".5", "1e", "+1", "1_000", "1,234", "$5", "NaN", "0x1", "1 2",
        ] {
            assert!(exact(bad).is_none(), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn agrees_with_integers(left: i64, right: i64, step in 1_i64..1_000_000) {
            let (a, b) = (Decimal::new(&left.to_string()), Decimal::new(&right.to_string()));
            proptest::prop_assert_eq!(a.cmp(&b), left.cmp(&right));
            proptest::prop_assert_eq!(a.integer(), Some(left.to_string()));
            proptest::prop_assert_eq!(a.is_multiple_of(&Decimal::new(&step.to_string())), left % step == 0);
        }

        #[test]
        fn never_panics(text: String) {
            let number = Decimal::new(&text);
            let _ = (number.integer(), number.cmp(&Decimal::new("1")), exact(&text));
        }
    }
}
