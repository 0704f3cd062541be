//! The size of the terminals behind stdout and stderr.

/// Columns and rows of the terminal behind stderr; 80 and 24 if there is none.
pub fn size_of_stderr() -> (usize, usize) {
    size(rustix::stdio::stderr()).unwrap_or((80, 24))
}

/// Columns of the terminal behind stdout.
pub fn columns_of_stdout() -> Option<usize> {
    Some(size(rustix::stdio::stdout())?.0)
}

fn size(terminal: rustix::fd::BorrowedFd<'_>) -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some((usize::from(size.ws_col), usize::from(size.ws_row)))
}
