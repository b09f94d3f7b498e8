//! A key or token that no log, error or debug output shows.

use std::fmt;

/// A key or token. It can be used but not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Blanks around it are dropped: files and helpers end in a newline.
    pub fn new(value: impl AsRef<str>) -> Self {
        Self(value.as_ref().trim().to_owned())
    }

    /// The value of an `Authorization` header with this token.
    pub(crate) fn bearer(&self) -> Self {
        Self(format!("Bearer {}", self.0))
    }

    /// The value itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str("[secret]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str("[secret]")
    }
}
