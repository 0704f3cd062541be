//! Quantities as text: exact where they are written in the base unit, and to the three digits of `Display`.

use weighbridge_model::quantity::{BitsPerSecond, Bytes, Nanoseconds, PerSecond, Ratio};

/// Display shows at least two significant digits more than the first (`1.00`, `12.3`, `131`).
const DISPLAYED: f64 = 0.0051;

/// Reads `data` as each kind of quantity.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(time) = text.parse::<Nanoseconds>() {
        assert_eq!(format!("{} ns", time.as_nanos()).parse(), Ok(time), "{text:?}");
        near(text, &time.to_string(), time.as_nanos() as f64, |t| {
            Ok::<_, ()>(t.parse::<Nanoseconds>().map_err(|_| ())?.as_nanos() as f64)
        });
    }
    if let Ok(size) = text.parse::<Bytes>() {
        assert_eq!(size.get().to_string().parse(), Ok(size), "{text:?}");
        near(text, &size.to_string(), size.get() as f64, |t| {
            Ok::<_, ()>(t.parse::<Bytes>().map_err(|_| ())?.get() as f64)
        });
    }
    if let Ok(rate) = text.parse::<BitsPerSecond>() {
        assert_eq!(format!("{} bit/s", rate.get()).parse(), Ok(rate), "{text:?}");
        near(text, &rate.to_string(), rate.get() as f64, |t| {
            Ok::<_, ()>(t.parse::<BitsPerSecond>().map_err(|_| ())?.get() as f64)
        });
    }
    if let Ok(rate) = text.parse::<PerSecond>() {
        assert!(PerSecond::new(rate.get()) == Some(rate), "{text:?} is a rate of {}", rate.get());
        assert_eq!(format!("{}/s", rate.get()).parse(), Ok(rate), "{text:?}");
    }
    if let Ok(share) = text.parse::<Ratio>() {
        assert!(share.get().is_finite() && share.get() >= 0.0, "{text:?} is {}", share.get());
        assert_eq!(share.get().to_string().parse(), Ok(share), "{text:?}");
    }
}

/// What is shown to people reads back as nearly the same.
fn near(text: &str, shown: &str, value: f64, read: impl Fn(&str) -> Result<f64, ()>) {
    let back =
        read(shown).unwrap_or_else(|()| panic!("{text:?} is shown as {shown:?}, which does not read back"));
    assert!(
        (back - value).abs() <= DISPLAYED * value,
        "{text:?} is shown as {shown:?}, which reads as {back}"
    );
}
