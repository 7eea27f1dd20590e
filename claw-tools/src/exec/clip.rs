//! Output of any length in bounded memory: its beginning and its end.

use std::collections::VecDeque;

/// Bytes kept of the beginning.
const HEAD: usize = 3_000;
/// Bytes kept of the end, where programs say what went wrong.
const TAIL: usize = 6_500;

/// Collects output.
#[derive(Debug, Default)]
pub(super) struct Clip {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl Clip {
    /// Adds what was read.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = (HEAD - self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..over);
        self.left_out += over as u64;
    }

    /// Returns the text; bytes that are not UTF-8 are replaced, and a gap is told.
    pub(super) fn into_text(self) -> String {
        let mut head = self.head;
        let tail = Vec::from(self.tail);
        if self.left_out == 0 {
            head.extend(tail);
            return String::from_utf8_lossy(&head).into_owned();
        }
        // A character that the gap cut in two is left out as a whole.
        let whole = match std::str::from_utf8(&head) {
            Err(err) if err.error_len().is_none() => err.valid_up_to(),
            _ => head.len(),
        };
        let rest = tail.iter().take(3).take_while(|byte| *byte & 0xc0 == 0x80);
        let start = rest.count();
        let left_out = self.left_out + (head.len() - whole + start) as u64;
        format!(
            "{}\n[… {left_out} bytes left out; to see them, write the output to a file and read that …]\n{}",
            String::from_utf8_lossy(&head[..whole]),
            String::from_utf8_lossy(&tail[start..])
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clip(bytes: &[u8], size: usize) -> Clip {
        let mut clip = Clip::default();
        bytes.chunks(size).for_each(|piece| clip.push(piece));
        clip
    }

    #[test]
    fn beginning_and_end_of_long_output_are_kept_in_bounded_memory() {
        let mut clip = Clip::default();
        clip.push(b"first");
        for _ in 0..1_000 {
            clip.push(&[b'x'; 10_000]);
        }
        clip.push(b"last");
        assert!(clip.tail.capacity() < 64 * 1024);
        let text = clip.into_text();
        assert!(
            text.starts_with("firstx") && text.ends_with("xlast"),
            "{text}"
        );
        assert!(text.contains(&format!("{} bytes left out", 10_000_009 - HEAD - TAIL)));
    }

    #[test]
    fn characters_at_the_gap_are_not_cut_in_two() {
        let text = clip("€".repeat(9_001).as_bytes(), 1_000).into_text();
        assert!(!text.contains('\u{fffd}'));
        let text = clip(format!("a{}", "€".repeat(9_000)).as_bytes(), 1_000).into_text();
        assert!(!text.contains('\u{fffd}'));
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_text(
            unit in proptest::collection::vec(any::<u8>(), 1..50), times in 1_usize..600, a in 1_usize..9_000, b in 1_usize..9_000,
        ) {
            let bytes = unit.repeat(times);
            prop_assert_eq!(clip(&bytes, a).into_text(), clip(&bytes, b).into_text());
        }

        #[test]
        fn short_output_is_whole(text in "\\PC{0,500}", size in 1_usize..50) {
            prop_assert_eq!(clip(text.as_bytes(), size).into_text(), text);
        }
    }
}
