//! Sends a program one request over a Unix socket in its folder, and asks for its version. Each program's
//! module parses the answers.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The socket's name in the folder. Programs get it as a relative path, since the absolute one may be too
/// long for a socket address.
pub(super) const SOCKET: &str = "ask.sock";
/// The most bytes of an answer that are read.
const MOST: u64 = 1 << 20;
/// An idle program answers at once.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends the request and returns everything until the program closes the connection.
pub(super) fn ask(folder: &Path, question: &str) -> io::Result<String> {
    let folder = File::open(folder)?;
    // A path through the open folder is short enough for a socket address.
    let address = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(SOCKET);
    let mut stream = UnixStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(question.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MOST).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// What a program prints about its version, on either stream.
pub(super) fn version(program: &Path, flag: &str, patience: Duration) -> Result<String, String> {
    // `nginx -v` prints to its standard error, so a shell merges both streams.
    let script = "exec \"$0\" \"$1\" 2>&1";
    let command = ["sh", "-c", script, &program.display().to_string(), flag].map(str::to_owned);
    crate::host::ask::ask(&command, None, patience).map_err(|error| error.to_string())
}
