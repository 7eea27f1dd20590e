//! What calls that run side by side may spend together.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Budget, Spent};

/// What is left for calls that run side by side, and what they have spent. What is drawn on a slice is drawn on all it is a
/// slice of, so that together they never take more than there is.
#[derive(Debug, Default)]
pub struct Purse {
    of: Option<Arc<Purse>>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    most: Budget,
    /// Drawn amounts included.
    spent: Spent,
}

impl Purse {
    /// Returns a purse that holds `most`.
    pub fn new(most: Budget) -> Self {
        Self {
            of: None,
            inner: Mutex::new(Inner {
                most,
                spent: Spent::default(),
            }),
        }
    }

    /// Returns a purse that holds at most `most` of this one.
    pub fn slice(self: &Arc<Self>, most: Budget) -> Self {
        Self {
            of: Some(self.clone()),
            ..Self::new(most)
        }
    }

    /// Returns what can still be drawn.
    pub fn left(&self) -> Budget {
        let left = self.inner().left();
        match &self.of {
            Some(of) => left.within(of.left()),
            None => left,
        }
    }

    /// Returns what was spent from this purse.
    pub fn spent(&self) -> Spent {
        self.inner().spent
    }

    /// Begins anew with `most`.
    pub(crate) fn refill(&self, most: Budget) {
        *self.inner() = Inner {
            most,
            spent: Spent::default(),
        };
    }

    /// Draws `amount`, or nothing when that is not there.
    pub(crate) fn draw(&self, amount: Spent) -> bool {
        {
            let mut inner = self.inner();
            if !inner.left().covers(amount) {
                return false;
            }
            inner.spent += amount;
        }
        let drawn = self.of.as_ref().is_none_or(|of| of.draw(amount));
        if !drawn {
            self.inner().settle(amount, Spent::default());
        }
        drawn
    }

    /// Corrects what was drawn to what it came to, which may be more.
    pub(crate) fn settle(&self, drawn: Spent, actual: Spent) {
        self.inner().settle(drawn, actual);
        if let Some(of) = &self.of {
            of.settle(drawn, actual);
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Both numbers are changed before anything can panic.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn left(&self) -> Budget {
        self.most.less(self.spent)
    }

    fn settle(&mut self, drawn: Spent, actual: Spent) {
        self.spent = self.spent.less(drawn);
        self.spent += actual;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(tokens: u64) -> Spent {
        Spent { tokens, cost: 0 }
    }

    fn budget(tokens: u64) -> Budget {
        Budget {
            tokens: Some(tokens),
            cost: None,
        }
    }

    #[test]
    fn slices_share_what_there_is_and_return_the_rest() {
        let whole = Arc::new(Purse::new(budget(100)));
        let one = whole.slice(Budget::default());
        let two = whole.slice(budget(30));
        assert!(one.draw(tokens(60)));
        assert_eq!((one.left(), two.left()), (budget(40), budget(30)));
        assert!(!two.draw(tokens(31)));
        assert!(two.draw(tokens(30)));
        assert!(!one.draw(tokens(11)));
        one.settle(tokens(60), tokens(20));
        assert_eq!((whole.left(), whole.spent()), (budget(50), tokens(50)));
        // What came to more than was drawn is charged all the same.
        two.settle(tokens(30), tokens(90));
        assert_eq!((whole.left(), two.spent()), (budget(0), tokens(90)));
    }

    #[test]
    fn drawn_side_by_side_it_is_never_more_than_there_is() {
        let whole = Arc::new(Purse::new(budget(1_000)));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let slice = whole.slice(Budget::default());
                scope.spawn(move || while slice.draw(tokens(7)) {});
            }
        });
        assert_eq!(whole.spent(), tokens(994));
    }
}
