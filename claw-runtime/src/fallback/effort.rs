//! How much of a text is looked at, counted while tests run: a reply is hostile when it has some part of itself read again and
//! again. Outside tests nothing is counted.

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    static LOOKED: Cell<usize> = const { Cell::new(0) };
}

/// Notes that so many bytes were looked at.
pub(super) fn looked(bytes: usize) {
    #[cfg(test)]
    LOOKED.with(|looked| looked.set(looked.get() + bytes));
    #[cfg(not(test))]
    let _ = bytes;
}

/// Returns how many bytes `work` looks at on this thread.
#[cfg(test)]
pub(super) fn of(work: impl FnOnce()) -> usize {
    LOOKED.set(0);
    work();
    LOOKED.take()
}
