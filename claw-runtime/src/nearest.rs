//! Did you mean: the known word that a misspelt one stands for.
//!
//! Used for parameters, tool names and configuration keys. It only ever suggests; nothing is renamed by it.

/// Longest word, in characters, that is compared by spelling.
const LONGEST: usize = 64;

/// Returns the known word that `word` most likely stands for, or `None` when none is close.
///
/// Close means the same parts in any order and style (`filePath` for `file_path`), or up to two letters wrong, missing,
/// added or swapped (one in a word of three or four). Of equally close words the first wins.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = Word::new(word);
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        if candidate == word {
            return Some(candidate);
        }
        if let Some(distance) = given.distance(&Word::new(candidate))
            && best.is_none_or(|(least, _)| distance < least)
        {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

struct Word {
    letters: Vec<char>,
    parts: Vec<String>,
}

impl Word {
    fn new(word: &str) -> Self {
        let mut parts = Vec::new();
        let mut part = String::new();
        let mut before_lower = false;
        for letter in word.chars().take(LONGEST + 1) {
            let border = !letter.is_alphanumeric() || (letter.is_uppercase() && before_lower);
            if border && !part.is_empty() {
                parts.push(std::mem::take(&mut part));
            }
            before_lower = letter.is_lowercase() || letter.is_numeric();
            if letter.is_alphanumeric() {
                part.extend(letter.to_lowercase());
            }
        }
        if !part.is_empty() {
            parts.push(part);
        }
        let letters = parts.iter().flat_map(|part| part.chars()).collect();
        parts.sort_unstable();
        Self { letters, parts }
    }

    /// Returns how far apart two words are, or `None` when too far to be a slip.
    fn distance(&self, other: &Self) -> Option<usize> {
        if self.letters.is_empty() || other.letters.is_empty() {
            return None;
        }
        if self.letters == other.letters || self.parts == other.parts {
            return Some(0);
        }
        let longest = self.letters.len().max(other.letters.len());
        if longest > LONGEST {
            return None;
        }
        let most = ((longest - 1) / 2).min(2);
        edits(&self.letters, &other.letters, most)
    }
}

/// Returns the optimal string alignment distance when it is at most `most`.
fn edits(left: &[char], right: &[char], most: usize) -> Option<usize> {
    if left.len().abs_diff(right.len()) > most {
        return None;
    }
    let width = right.len() + 1;
    let mut before: Vec<usize> = vec![0; width];
    let mut above: Vec<usize> = (0..width).collect();
    let mut row = vec![0; width];
    for (i, a) in left.iter().enumerate() {
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let mut cost = (above[j] + usize::from(a != b))
                .min(above[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                cost = cost.min(before[j - 1] + 1);
            }
            row[j + 1] = cost;
        }
        if row.iter().min().is_some_and(|least| *least > most) {
            return None;
        }
        std::mem::swap(&mut before, &mut above);
        std::mem::swap(&mut above, &mut row);
    }
    let distance = above[width - 1];
    (distance <= most).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn suggests_slips_and_styles_but_not_other_words() {
        let known = ["path", "file_path", "replace_all", "limit", "id", "x"];
        for (word, expected) in [
            ("pth", Some("path")),
            ("paht", Some("path")),
            ("Path", Some("path")),
            ("filePath", Some("file_path")),
            ("file-path", Some("file_path")),
            ("path_file", Some("file_path")),
            ("replaceall", Some("replace_all")),
            ("lmiit", Some("limit")),
            ("limits", Some("limit")),
            ("ids", Some("id")),
            ("y", None),
            ("is", None),
            ("explanation", None),
            ("file", None),
            ("", None),
            ("___", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }

    #[test]
    fn takes_the_closest_and_then_the_first() {
        assert_eq!(nearest("timout", ["timeouts", "timeout"]), Some("timeout"));
        assert_eq!(nearest("cars", ["card", "cart"]), Some("card"));
        assert_eq!(nearest("a", []), None);
    }

    proptest::proptest! {
        #[test]
        fn never_panics(word: String, known: Vec<String>) {
            let found = nearest(&word, known.iter().map(String::as_str));
            proptest::prop_assert!(found.is_none_or(|found| known.iter().any(|known| known == found)));
        }
    }
}
