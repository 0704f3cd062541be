//! Asking a program one question over a Unix socket in its folder, and what version it is. What it answers is
//! for its own module to understand.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The socket's name in the folder. Programs get it as a path from there: the whole one may be longer than a
/// socket's address can hold.
pub(super) const SOCKET: &str = "ask.sock";
/// Longer answers hold more than was asked for.
const MOST: u64 = 1 << 20;
/// An idle program answers at once.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends the question and returns what comes until the program closes.
pub(super) fn ask(folder: &Path, question: &str) -> io::Result<String> {
    let folder = File::open(folder)?;
    // As above: by way of the open folder the address is short.
    let address = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(SOCKET);
    let mut stream = UnixStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(question.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MOST).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// What a program says of its version, on whichever stream.
pub(super) fn version(program: &Path, flag: &str, patience: Duration) -> Result<String, String> {
    // `nginx -v` answers on its standard error, which a shell can turn round.
    let script = "exec \"$0\" \"$1\" 2>&1";
    let command = ["sh", "-c", script, &program.display().to_string(), flag].map(str::to_owned);
    crate::host::ask::ask(&command, None, patience).map_err(|error| error.to_string())
}
