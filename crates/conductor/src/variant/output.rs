//! Captures the output of services and hooks until it is scrubbed of secrets.
//!
//! Where there are secrets, the output goes into an unnamed file: a run that is killed before scrubbing
//! leaves nothing, and the writers are not slowed down. The scrubbed copy is kept. Without secrets the output
//! is written directly where it is kept, and a run that is killed leaves it there.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use weighbridge_store::scrub::Secrets;

#[derive(Debug)]
pub(crate) struct OutputCapture {
    kept: PathBuf,
    /// The unnamed file; `None` where there are no secrets.
    nameless: Option<File>,
}

impl OutputCapture {
    /// `kept` names where the output is kept at last, on the same disk.
    pub fn new(kept: PathBuf, secrets: &Secrets) -> io::Result<Self> {
        let nameless = if secrets.is_empty() {
            None
        } else {
            Some(tempfile::tempfile_in(kept.parent().unwrap_or(Path::new(".")))?)
        };
        Ok(Self { kept, nameless })
    }

    /// A path by which this process can open the file.
    pub fn path(&self) -> PathBuf {
        match &self.nameless {
            Some(file) => PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())),
            None => self.kept.clone(),
        }
    }

    /// Appends the scrubbed output to what is kept already. Nobody may write any more. Output that cannot be
    /// rewritten is removed.
    pub fn keep(&self, secrets: &Secrets) -> io::Result<()> {
        let kept = match &self.nameless {
            None => secrets.hide_file(&self.kept),
            Some(_) => File::open(self.path()).and_then(|printed| {
                let kept = OpenOptions::new().create(true).append(true).open(&self.kept)?;
                secrets.append_hidden(printed, kept)
            }),
        };
        if kept.is_err() && self.nameless.is_none() {
            // It still contains secrets.
            let _ = fs::remove_file(&self.kept);
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_is_printed_has_no_name_until_it_holds_no_secret() {
        let folder = tempfile::tempdir().expect("a folder");
        let kept = folder.path().join("000-0-out.log");
        let secrets = Secrets::new(["swordfish".to_owned()]);
        let printed = OutputCapture::new(kept.clone(), &secrets).expect("there is room");
        let open = || OpenOptions::new().append(true).open(printed.path()).expect("it can be opened");
        File::create(printed.path()).expect("and emptied");
        open().write_all(b"the password is swordfish\n").expect("room");
        open().write_all(b"good bye\n").expect("room");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
        assert_eq!(fs::read_to_string(printed.path()).expect("it is read").lines().count(), 2);
        printed.keep(&secrets).expect("it is kept");
        let text = fs::read_to_string(&kept).expect("a log");
        assert!(
            text.starts_with("the password is <redacted sha256:") && text.ends_with("good bye\n"),
            "{text}"
        );
        assert!(!text.contains("swordfish"));
    }

    #[test]
    fn without_secrets_it_is_written_where_it_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let kept = folder.path().join("000-0-out.log");
        let printed = OutputCapture::new(kept.clone(), &Secrets::default()).expect("there is room");
        assert_eq!(printed.path(), kept);
    }
}
