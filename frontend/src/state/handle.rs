//! A shared value that compares by identity, so that a component redraws only when it was given another one.

use std::{ops::Deref, rc::Rc};

/// A shared, immutable value; equal only to itself.
#[derive(Debug)]
pub(crate) struct Handle<T>(Rc<T>);

impl<T> Handle<T> {
    /// Takes `value` in.
    pub(crate) fn new(value: T) -> Self {
        Self(Rc::new(value))
    }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T> PartialEq for Handle<T> {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> Deref for Handle<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_content_is_not_the_same_value() {
        let one = Handle::new(7);
        assert_eq!(one, one.clone());
        assert_ne!(one, Handle::new(7));
    }
}
