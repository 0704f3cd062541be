//! The hidden verb that the lab starts: see `weighbridge_lab::cleanup::guardian`.

use crate::exit::Exit;

/// Guards until dismissed, or until the run has ended.
pub fn run() -> anyhow::Result<Exit> {
    weighbridge_lab::removal::guard::run(std::io::stdin().lock(), std::io::stdout().lock())?;
    Ok(Exit::Fine)
}
