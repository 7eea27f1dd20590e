//! SHA-256 as lower-case hex: names for content.

use sha2::{Digest, Sha256};

/// Returns the SHA-256 of `bytes` in lower-case hex.
pub fn of(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        out.push(HEX[usize::from(byte >> 4)] as char);
        out.push(HEX[usize::from(byte & 15)] as char);
    }
    out
}
