//! What a secret looks like in other alphabets: base64 at each of its three alignments, and hexadecimal.

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Returns the forms of `secret`, itself first.
pub(super) fn forms(secret: &[u8]) -> Vec<Vec<u8>> {
    let hex = |digits: &[u8; 16]| {
        let digit = |nibble: u8| digits[usize::from(nibble)];
        let bytes = secret.iter();
        bytes
            .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
            .collect()
    };
    let mut forms = vec![
        secret.to_vec(),
        hex(b"0123456789abcdef"),
        hex(b"0123456789ABCDEF"),
    ];
    for alphabet in [STANDARD, URL] {
        forms.extend((0..3).map(|before| base64(secret, before, alphabet)));
    }
    forms
}

/// Returns the letters that `secret` alone decides when it stands `before` bytes after the begin of a group of three.
fn base64(secret: &[u8], before: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let mut bits = vec![0; before];
    bits.extend_from_slice(secret);
    let whole = bits.len() * 8 / 6;
    // The first letters hold bits of what stands before.
    let first = (before * 8).div_ceil(6);
    let letter = |at: usize| {
        let (byte, shift) = (at * 6 / 8, at * 6 % 8);
        let next = bits.get(byte + 1).copied().unwrap_or(0);
        let two = u16::from_be_bytes([bits[byte], next]);
        alphabet[usize::from((two >> (10 - shift)) & 63)]
    };
    (first..whole).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_what_stands_in_a_longer_text() {
        // "user:open sesame" and "open sesame" after two and after three bytes, by coreutils' base64.
        let of = |before| String::from_utf8(base64(b"open sesame", before, STANDARD)).unwrap();
        assert!("b3BlbiBzZXNhbWU=".contains(&of(0)));
        assert!("YWJjb3BlbiBzZXNhbWU=".contains(&of(0)));
        assert!("dXNlcjpvcGVuIHNlc2FtZQ==".contains(&of(2)));
        assert!("YW9wZW4gc2VzYW1l".contains(&of(1)));
        assert_eq!(of(0), "b3BlbiBzZXNhbW");
    }
}
