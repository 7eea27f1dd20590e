//! The keywords of one schema object, each in the form its draft gives it, or a fault with its place.

use serde_json::{Map, Value};

use super::SchemaError;
use super::documents::{Place, step};
use super::draft::{Draft, Rules};
use super::pattern::{Pattern, Patterns};
use crate::schema::number::Decimal;

/// The members of one schema object, while they are read.
pub(super) struct Keywords<'d> {
    pub(super) members: &'d Map<String, Value>,
    pub(super) place: Place,
    pub(super) rules: Rules,
}

impl<'d> Keywords<'d> {
    pub(super) fn get(&self, keyword: &str) -> Option<&'d Value> {
        self.members
            .get(keyword)
            .filter(|_| self.rules.know(keyword))
    }

    /// Returns the place of a part.
    pub(super) fn at(&self, steps: &[&str]) -> Place {
        let mut place = self.place.clone();
        steps.iter().for_each(|name| step(&mut place.1, name));
        place
    }

    pub(super) fn fault(&self, steps: &[&str], problem: &str) -> SchemaError {
        let (document, pointer) = self.at(steps);
        match document {
            0 => SchemaError::new(&pointer, problem),
            _ => SchemaError::new(
                "",
                &format!("in a document it came with, at {pointer}: {problem}"),
            ),
        }
    }

    pub(super) fn unfit(&self, keyword: &str, expected: &str) -> SchemaError {
        let got = self.members.get(keyword).unwrap_or(&Value::Null);
        self.fault(&[keyword], &format!("expected {expected}, got {got}"))
    }

    pub(super) fn size(&self, keyword: &str) -> Result<Option<usize>, SchemaError> {
        let Some(value) = self.get(keyword) else {
            return Ok(None);
        };
        let unfit = || self.unfit(keyword, "a whole number, 0 or more");
        let Value::Number(number) = value else {
            return Err(unfit());
        };
        let whole = Decimal::new(&number.to_string())
            .integer()
            .filter(|text| !text.starts_with('-'));
        // More than can be counted is as good as the most that can.
        Ok(Some(whole.ok_or_else(unfit)?.parse().unwrap_or(usize::MAX)))
    }

    pub(super) fn number(&self, keyword: &str) -> Result<Option<Decimal>, SchemaError> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(Decimal::new(&number.to_string()))),
            // Draft 4 says so of the bound beside it.
            Some(Value::Bool(_)) if self.rules.draft == Draft::Four => Ok(None),
            Some(_) => Err(self.unfit(keyword, "a number")),
        }
    }

    pub(super) fn says(&self, keyword: &str) -> Result<bool, SchemaError> {
        match self.get(keyword) {
            None => Ok(false),
            Some(Value::Bool(says)) => Ok(*says),
            Some(_) => Err(self.unfit(keyword, "true or false")),
        }
    }

    pub(super) fn text(&self, keyword: &str) -> Result<Option<&'d str>, SchemaError> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.unfit(keyword, "a string")),
        }
    }

    pub(super) fn map(&self, keyword: &str) -> Result<Option<&'d Map<String, Value>>, SchemaError> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Value::Object(members)) => Ok(Some(members)),
            Some(_) => Err(self.unfit(keyword, "an object")),
        }
    }

    pub(super) fn list(&self, keyword: &str) -> Result<Option<&'d [Value]>, SchemaError> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(_) => Err(self.unfit(keyword, "an array")),
        }
    }

    pub(super) fn names(&self, steps: &[&str], value: &Value) -> Result<Vec<String>, SchemaError> {
        let names = value.as_array().and_then(|items| {
            let names = items.iter().map(|item| item.as_str().map(str::to_owned));
            names.collect::<Option<Vec<_>>>()
        });
        names.ok_or_else(|| self.fault(steps, &format!("expected a list of names, got {value}")))
    }

    pub(super) fn pattern(
        &self,
        patterns: &mut Patterns,
        steps: &[&str],
        source: &str,
    ) -> Result<Pattern, SchemaError> {
        patterns
            .compile(source)
            .map_err(|problem| self.fault(steps, &problem))
    }
}

/// Returns both bounds, when one of them is there.
pub(super) fn range(
    keywords: &Keywords<'_>,
    least: &str,
    most: &str,
) -> Result<Option<(usize, usize)>, SchemaError> {
    let (least, most) = (keywords.size(least)?, keywords.size(most)?);
    let asks = least.is_some() || most.is_some();
    Ok(asks.then(|| (least.unwrap_or(0), most.unwrap_or(usize::MAX))))
}
