//! Adds the variant's name to an error.

use std::error::Error;

#[derive(Debug, thiserror::Error)]
#[error("variant `{variant}`: {source}")]
pub struct WithVariant<E: Error + 'static> {
    pub variant: String,
    pub source: E,
}

pub(crate) fn with_variant<E: Error>(variant: &str) -> impl Fn(E) -> WithVariant<E> + Copy {
    move |source| WithVariant { variant: variant.to_owned(), source }
}
