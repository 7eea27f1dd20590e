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
    let given = letters(word);
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        if candidate == word {
            return Some(candidate);
        }
        if let Some(distance) = distance(word, &given, candidate)
            && best.is_none_or(|(least, _)| distance < least)
        {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Returns how far a word is from a known one, or `None` when too far to be a slip.
fn distance(word: &str, given: &[char], candidate: &str) -> Option<usize> {
    // A letter has four bytes at most, so most candidates are told apart unread.
    if candidate.len() > 4 * (given.len() + 2) + candidate.matches(is_border).count() {
        return None;
    }
    let known = letters(candidate);
    let (shortest, longest) = (given.len().min(known.len()), given.len().max(known.len()));
    if shortest == 0 || longest > LONGEST || longest - shortest > 2 {
        return None;
    }
    if given == known.as_slice()
        || (shortest == longest && anagrams(given, &known) && parts(word) == parts(candidate))
    {
        return Some(0);
    }
    edits(given, &known, ((longest - 1) / 2).min(2))
}

/// Returns the letters and digits in lower case, as far as words are compared.
fn letters(word: &str) -> Vec<char> {
    let plain = word.chars().filter(|letter| !is_border(*letter));
    plain
        .flat_map(char::to_lowercase)
        .take(LONGEST + 1)
        .collect()
}

fn is_border(letter: char) -> bool {
    !letter.is_alphanumeric()
}

fn anagrams(left: &[char], right: &[char]) -> bool {
    let sum = |letters: &[char]| letters.iter().map(|letter| u64::from(*letter)).sum::<u64>();
    sum(left) == sum(right)
}

/// Returns the parts of a name, sorted: `file` and `path` of `filePath`.
fn parts(word: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut after_lower = false;
    for letter in word.chars() {
        let border = is_border(letter) || (letter.is_uppercase() && after_lower);
        if border && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
        }
        after_lower = !letter.is_uppercase();
        if !is_border(letter) {
            part.extend(letter.to_lowercase());
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts.sort_unstable();
    parts
}

/// Returns the optimal string alignment distance of two words when it is at most `most`.
fn edits(left: &[char], right: &[char], most: usize) -> Option<usize> {
    if left.len().abs_diff(right.len()) > most {
        return None;
    }
    let width = right.len() + 1;
    let (mut before, mut above, mut row) = ([0; LONGEST + 1], [0; LONGEST + 1], [0; LONGEST + 1]);
    for (at, cost) in above.iter_mut().enumerate() {
        *cost = at;
    }
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
        if row[..width].iter().all(|cost| *cost > most) {
            return None;
        }
        (before, above, row) = (above, row, before);
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
        fn never_panics(word in ".{0,80}", known in proptest::collection::vec(".{0,12}", 0..5)) {
            let found = nearest(&word, known.iter().map(String::as_str));
            proptest::prop_assert!(found.is_none_or(|found| known.iter().any(|known| known == found)));
        }
    }
}
