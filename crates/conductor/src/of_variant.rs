//! An error, and which variant it is of.

use std::error::Error;

#[derive(Debug, thiserror::Error)]
#[error("variant `{variant}`: {source}")]
pub struct OfVariant<E: Error + 'static> {
    /// Its name.
    pub variant: String,
    /// What went wrong.
    pub source: E,
}

/// Names the variant of an error.
pub(crate) fn of_variant<E: Error>(variant: &str) -> impl Fn(E) -> OfVariant<E> + Copy {
    move |source| OfVariant { variant: variant.to_owned(), source }
}
