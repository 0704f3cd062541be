//! Adds the variant's name to an error.

use std::error::Error;

#[derive(Debug, thiserror::Error)]
#[error("variant `{variant}`: {source}")]
pub struct OfVariant<E: Error + 'static> {
    pub variant: String,
    pub source: E,
}

pub(crate) fn of_variant<E: Error>(variant: &str) -> impl Fn(E) -> OfVariant<E> + Copy {
    move |source| OfVariant { variant: variant.to_owned(), source }
}
