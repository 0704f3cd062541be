//! Times as they are typed.

use weighbridge_model::quantity::{Nanoseconds, QuantityError};

/// A time with its unit; a bare number is in seconds, as with other load generators.
pub fn seconds(text: &str) -> Result<Nanoseconds, String> {
    let is_number = text.parse::<f64>().is_ok();
    let time: Result<Nanoseconds, QuantityError> =
        if is_number { format!("{text} s").parse() } else { text.parse() };
    time.map_err(|error| error.to_string())
}
