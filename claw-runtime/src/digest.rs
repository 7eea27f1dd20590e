//! SHA-256 as lower-case hex: names for content.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

/// Returns the SHA-256 of `bytes` in lower-case hex.
pub fn of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Returns the SHA-256 of a file in lower-case hex.
///
/// # Errors
///
/// When it cannot be read.
pub fn of_file(path: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    feed(&mut hasher, &mut File::open(path)?)?;
    Ok(hex(&hasher.finalize()))
}

/// Hashes all that comes, and returns how many bytes that were.
pub(crate) fn feed(hasher: &mut Sha256, reader: &mut impl Read) -> io::Result<u64> {
    let (mut piece, mut length) = (vec![0; 256 << 10], 0);
    loop {
        match reader.read(&mut piece) {
            Ok(0) => return Ok(length),
            Ok(count) => {
                hasher.update(&piece[..count]);
                length += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns bytes as lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut text = vec![0; 2 * bytes.len()];
    for (pair, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
        *pair = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
    }
    String::from_utf8(text).expect("digits are ASCII")
}

/// Returns the bytes that hex of either case stands for, or `None` when it is none.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let value = |digit: u8| char::from(digit).to_digit(16);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs
        .iter()
        .map(|[high, low]| u8::try_from(value(*high)? << 4 | value(*low)?).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_goes_both_ways() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unhex(&hex(&all)), Some(all));
        assert_eq!(hex(&[0, 10, 255]), "000aff");
        assert_eq!(unhex("00AFfa"), Some(vec![0, 0xaf, 0xfa]));
        for bad in ["0", "0g", "+1", "é"] {
            assert_eq!(unhex(bad), None, "{bad}");
        }
    }
}
