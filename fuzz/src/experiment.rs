//! Experiment files: whatever is accepted is written out in full and read back as the same experiment, and whatever
//! is refused is refused with a message that names the file.

use weighbridge_model::experiment::Experiment;

/// Reads `data` as an experiment.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Experiment::parse("x.toml", text) {
        Ok(experiment) => {
            let written = experiment.to_toml();
            let again = Experiment::parse("again.toml", &written)
                .unwrap_or_else(|error| panic!("what was written is refused: {error}\n{written}"));
            assert_eq!(again, experiment, "{written}");
            assert_eq!(again.to_toml(), written, "writing is not stable");
        }
        Err(error) => {
            let lines = text.matches('\n').count() + 1;
            assert!(error.line <= lines, "line {} of {lines}", error.line);
            assert!(error.to_string().starts_with("x.toml:"), "{error}");
        }
    }
}
