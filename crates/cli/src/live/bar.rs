//! A progress bar.

/// A bar of `columns` columns, `done` (0 to 1) of it filled.
pub fn bar(done: f64, columns: usize) -> String {
    let filled = (done.clamp(0.0, 1.0) * columns as f64).round() as usize;
    format!("{}{}", "━".repeat(filled), "╌".repeat(columns - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fills_and_never_overflows() {
        assert_eq!(bar(0.0, 4), "╌╌╌╌");
        assert_eq!(bar(0.5, 4), "━━╌╌");
        assert_eq!((bar(1.0, 4), bar(7.0, 4)), ("━━━━".to_owned(), "━━━━".to_owned()));
        assert_eq!(bar(f64::NAN, 2), "╌╌");
    }
}
