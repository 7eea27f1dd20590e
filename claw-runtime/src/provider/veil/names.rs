//! Which placeholder stands for which value in one conversation.

use std::collections::HashMap;

use super::Veil;

/// Values and their placeholders, numbered as they first occur: the same conversation gives the same ones, in another process
/// too, and what comes later changes none of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    of_values: HashMap<(usize, String), String>,
    values: HashMap<String, String>,
    /// How many values of each pattern.
    pub(super) counts: Vec<usize>,
}

impl Names {
    /// Returns `text` with placeholders in the place of what the veil's patterns find, or `None` where that is nothing.
    pub(super) fn hide(&mut self, veil: &Veil, text: &str) -> Option<String> {
        let mut next: Vec<_> = veil.patterns.iter().map(|it| it.find(text, 0)).collect();
        let mut out = String::new();
        let mut done = 0;
        loop {
            // The first of those that begin first: patterns stand in the order of their weight.
            let first = next
                .iter()
                .enumerate()
                .filter_map(|(pattern, place)| Some((pattern, place.clone()?)))
                .min_by_key(|(pattern, place)| (place.start, *pattern));
            let Some((pattern, place)) = first else {
                break;
            };
            out.push_str(&text[done..place.start]);
            out.push_str(&self.placeholder(veil, pattern, &text[place.clone()]));
            done = place.end;
            for (pattern, place) in veil.patterns.iter().zip(&mut next) {
                if place.as_ref().is_some_and(|place| place.start < done) {
                    *place = pattern.find(text, done);
                }
            }
        }
        if done == 0 {
            return None;
        }
        out.push_str(&text[done..]);
        Some(out)
    }

    fn placeholder(&mut self, veil: &Veil, pattern: usize, value: &str) -> String {
        let key = (pattern, value.to_owned());
        if let Some(known) = self.of_values.get(&key) {
            return known.clone();
        }
        self.counts.resize(veil.patterns.len(), 0);
        self.counts[pattern] += 1;
        let name = &veil.patterns[pattern].name;
        let placeholder = format!("[{name}-{}]", self.counts[pattern]);
        self.values.insert(placeholder.clone(), value.to_owned());
        self.of_values.insert(key, placeholder.clone());
        placeholder
    }

    /// Returns the value that a placeholder stands for.
    pub(super) fn value(&self, placeholder: &str) -> Option<&str> {
        self.values.get(placeholder).map(String::as_str)
    }

    /// Tells whether nothing was replaced.
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}
