//! The file of `weigh trade play --latency`: quantiles of simple and metered latency against the smoothing window.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use weighbridge_judge::metered::{ClosedLog, MeteredQuantiles};
use weighbridge_model::experiment::{Experiment, Protocol};

/// A file that was not there. One that is not written is removed, so that it does not refuse the next try.
pub struct LatencyFile {
    path: PathBuf,
    file: File,
    is_written: bool,
}

impl LatencyFile {
    /// Makes it before anything is played: what cannot be written is told at once.
    ///
    /// # Errors
    ///
    /// It is there, or cannot be made; or the experiment's variant tells no single requests.
    pub fn create(path: &Path, experiment: &Experiment) -> anyhow::Result<Self> {
        let variant = &experiment.variants[0];
        if variant.protocol == Protocol::DIRECT {
            bail!(
                "variant `{}` plays in its own process, so no single request is seen; name one of another protocol, or leave out \
                 `--latency`",
                variant.name
            );
        }
        let shown = path.display();
        if path.exists() {
            bail!("`{shown}` is there already; remove it, or name another file");
        }
        let file = File::create_new(path).with_context(|| format!("could not make `{shown}`"))?;
        Ok(Self { path: path.to_owned(), file, is_written: false })
    }

    pub fn write(mut self, log: &ClosedLog) -> anyhow::Result<()> {
        let written = self.file.write_all(csv(&log.by_window()).as_bytes());
        self.is_written = written.is_ok();
        written.with_context(|| format!("could not write `{}`", self.path.display()))
    }
}

impl Drop for LatencyFile {
    fn drop(&mut self) {
        if !self.is_written {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn csv(rows: &[MeteredQuantiles]) -> String {
    let mut text = "window_ns,p50_ns,p90_ns,p99_ns,p999_ns,max_ns\n".to_owned();
    for MeteredQuantiles { window, p50, p90, p99, p999, max } in rows {
        let cells = [window, p50, p90, p99, p999, max].map(|time| time.as_nanos().to_string());
        writeln!(text, "{}", cells.join(",")).expect("a text can be written to");
    }
    text
}

#[cfg(test)]
mod tests {
    use weighbridge_model::quantity::Nanoseconds;

    use super::*;

    #[test]
    fn a_row_is_a_smoothing_window() {
        let time = Nanoseconds::from_nanos;
        let row = MeteredQuantiles {
            window: time(100_000),
            p50: time(1),
            p90: time(2),
            p99: time(3),
            p999: time(4),
            max: time(5),
        };
        assert_eq!(csv(&[row]), "window_ns,p50_ns,p90_ns,p99_ns,p999_ns,max_ns\n100000,1,2,3,4,5\n");
    }
}
