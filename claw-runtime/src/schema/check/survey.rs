//! Faults that no schema has to find: repeated keys, and numbers that no float can hold.

use std::borrow::Cow;
use std::collections::HashMap;

use super::super::json::Json;
use super::super::number;
use super::super::report::{Path, shown};
use super::Checker;

impl Checker<'_> {
    /// Looks through everything. Of repeated keys with equal values one stays; others are a problem.
    pub(in crate::schema) fn survey(&mut self, value: &mut Json<'_>, path: &Path<'_>) {
        match value {
            Json::Number(text) if !number::is_finite(text) => {
                let got = shown(value, path.secret);
                self.problem(path, || {
                    format!("expected a number that a 64-bit float holds, got {got}")
                });
            }
            Json::Array(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    self.survey(item, &path.index(at));
                }
            }
            Json::Object(entries) => {
                self.repeated(entries, path);
                for (key, value) in entries {
                    self.survey(value, &path.key(key, false));
                }
            }
            _ => {}
        }
    }

    fn repeated<'a>(&mut self, entries: &mut Vec<(Cow<'a, str>, Json<'a>)>, path: &Path<'_>) {
        let mut firsts: HashMap<Cow<'a, str>, usize> = HashMap::new();
        let mut kept: Vec<(Cow<'a, str>, Json<'a>)> = Vec::with_capacity(entries.len());
        for (key, value) in entries.drain(..) {
            let Some(first) = firsts.get(&key) else {
                firsts.insert(key.clone(), kept.len());
                kept.push((key, value));
                continue;
            };
            let before = &kept[*first].1;
            let here = path.key(&key, false);
            if before.same(&value) {
                self.note(&here, "given twice with the same value".to_owned());
            } else {
                self.problem(&here, || {
                    let first = shown(before, path.secret);
                    let second = shown(&value, path.secret);
                    format!("given twice with different values: {first} and {second}")
                });
            }
        }
        *entries = kept;
    }
}
