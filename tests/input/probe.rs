//! Values made from a schema: mostly ones that fit, some that miss by a little.

use serde_json::{Map, Value, json};

/// A source of choices; the same seed gives the same value.
pub struct Probe<'s> {
    root: &'s Value,
    seed: u64,
    /// One choice in how many goes wrong; 0 for none.
    wrong: u64,
}

impl<'s> Probe<'s> {
    pub fn new(root: &'s Value, seed: u64, wrong: u64) -> Self {
        let seed = seed ^ 0x9e37_79b9_7f4a_7c15;
        Self { root, seed, wrong }
    }

    fn below(&mut self, end: u64) -> u64 {
        // xorshift64*: quality does not matter here, repeatability does.
        self.seed = self.seed.max(1);
        self.seed ^= self.seed >> 12;
        self.seed ^= self.seed << 25;
        self.seed ^= self.seed >> 27;
        (self.seed.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn goes_wrong(&mut self) -> bool {
        self.wrong > 0 && self.one_in(self.wrong)
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u64) as usize]
    }

    /// Returns a value for `schema`.
    pub fn value(&mut self, schema: &Value, depth: usize) -> Value {
        if self.goes_wrong() {
            return self.anything(depth);
        }
        if let Some(target) = schema["$ref"].as_str() {
            let target = self.root.pointer(&target[1..]).unwrap();
            return self.value(target, depth);
        }
        if let Some(shapes) = schema["anyOf"].as_array() {
            // A shallow one comes first in the types of these tests, but for `null`.
            let null = shapes.iter().find(|shape| shape["type"] == "null");
            let shape = if depth > 4 {
                null.unwrap_or(&shapes[0])
            } else {
                self.pick(shapes)
            };
            return self.value(shape, depth + 1);
        }
        if let Some(words) = schema["enum"].as_array() {
            return self.pick(words).clone();
        }
        match schema["type"].as_str() {
            Some("object") => self.object(schema, depth),
            Some("array") => self.array(schema, depth),
            Some("string") => self.text(schema),
            Some("integer") => self.integer(schema),
            Some("number") => self.number(schema),
            Some("boolean") => json!(self.one_in(2)),
            Some("null") => Value::Null,
            _ => self.anything(depth),
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let mut members = Map::new();
        let none = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&none);
        let required: Vec<&str> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for (name, schema) in properties {
            let left_out = if required.contains(&name.as_str()) {
                self.goes_wrong()
            } else {
                depth > 4 || self.one_in(2)
            };
            if left_out {
                continue;
            }
            let null = !required.contains(&name.as_str()) && self.wrong > 0 && self.one_in(8);
            let value = if null {
                Value::Null
            } else {
                self.value(schema, depth + 1)
            };
            members.insert(name.clone(), value);
        }
        let rest = &schema["additionalProperties"];
        if rest.is_object() {
            let least = schema["minProperties"].as_u64().unwrap_or(0);
            for at in 0..least + self.below(3) {
                members.insert(format!("more{at}"), self.value(rest, depth + 1));
            }
        } else if self.goes_wrong() {
            members.insert("nobody".to_owned(), self.anything(depth));
        }
        Value::Object(members)
    }

    fn array(&mut self, schema: &Value, depth: usize) -> Value {
        let mut items = Vec::new();
        if let Some(places) = schema["prefixItems"].as_array() {
            for place in places {
                items.push(self.value(place, depth + 1));
            }
            if self.goes_wrong() {
                items.pop();
            }
            if self.goes_wrong() {
                items.push(json!(1));
            }
            return json!(items);
        }
        let least = schema["minItems"].as_u64().unwrap_or(0);
        let most = schema["maxItems"].as_u64().unwrap_or(least + 3);
        let mut count = least + self.below(most - least + 1);
        if self.goes_wrong() {
            count = most + 1;
        }
        if depth > 5 {
            count = least;
        }
        for _ in 0..count {
            items.push(self.value(&schema["items"], depth + 1));
        }
        if schema["uniqueItems"] == true && !self.goes_wrong() {
            items.sort_by_key(Value::to_string);
            items.dedup();
        }
        json!(items)
    }

    fn text(&mut self, schema: &Value) -> Value {
        let least = schema["minLength"].as_u64().unwrap_or(0);
        let most = schema["maxLength"].as_u64().unwrap_or(least + 6);
        let mut count = least + self.below(most - least + 1);
        if self.goes_wrong() {
            count = most + 1;
        }
        let chars = ['a', 'é', '"', '\\', '\n', '✓', '😀', '0', ' '];
        let text: String = (0..count).map(|_| *self.pick(&chars)).collect();
        json!(text)
    }

    fn integer(&mut self, schema: &Value) -> Value {
        let least = schema["minimum"].as_i64().unwrap_or(-1000);
        let most = match schema["exclusiveMaximum"].as_i64() {
            Some(end) => end - 1,
            None => schema["maximum"].as_i64().unwrap_or(least.max(0) + 1000),
        };
        let step = schema["multipleOf"].as_i64().unwrap_or(1);
        let mut number = match self.below(4) {
            0 => least,
            1 => most,
            _ => least + self.below((most - least + 1) as u64) as i64,
        };
        if !self.goes_wrong() {
            number -= number % step;
        }
        if self.goes_wrong() {
            return self
                .pick(&[
                    json!(least - 1),
                    json!(most + 1),
                    json!(number as f64),
                    json!(u64::MAX),
                    json!(i64::MIN),
                    json!(1e30),
                    json!(number.to_string()),
                ])
                .clone();
        }
        json!(number)
    }

    fn number(&mut self, schema: &Value) -> Value {
        let least = schema["minimum"].as_f64().unwrap_or(-10.0);
        let most = schema["maximum"].as_f64().unwrap_or(least + 100.0);
        // Few digits: serde_json reads long ones a little off.
        let number = (least + (most - least) * self.below(64) as f64 / 64.0).trunc() + 0.25;
        if self.goes_wrong() {
            return self
                .pick(&[
                    json!(least - 0.5),
                    json!(most + 0.5),
                    json!(1e60),
                    json!("1.5"),
                ])
                .clone();
        }
        let whole = number.trunc();
        if self.one_in(3) && whole >= least {
            return json!(whole as i64);
        }
        json!(number.clamp(least, most))
    }

    fn anything(&mut self, depth: usize) -> Value {
        match self.below(if depth > 6 { 6 } else { 8 }) {
            0 => Value::Null,
            1 => json!(true),
            2 => json!(self.below(300)),
            3 => json!(-1.5),
            4 => json!("a"),
            5 => json!("One"),
            6 => json!([self.anything(depth + 1)]),
            _ => json!({"a": self.anything(depth + 1)}),
        }
    }
}
