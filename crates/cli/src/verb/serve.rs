//! `weigh serve`: shows the runs of a folder in a browser, on loopback.

mod feed;
mod runs;

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use weighbridge_view::{ClientLimits, Server};

use crate::args::Serve;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::signals;
use runs::Runs;

/// Serves until Ctrl-C.
pub fn run(arguments: &Serve, printer: &Printer) -> anyhow::Result<Exit> {
    let site = Arc::new(Runs::new(arguments.folder.path())?);
    let server = Server::listen(arguments.port)?;
    let flags = signals::install();
    let address = format!("http://{}/", server.address());
    printer.data(&address)?;
    printer.note(format_args!("shows `{}`; Ctrl-C ends it", arguments.folder.path().display()));
    if arguments.open {
        open(&address, printer);
    }
    server.run(site, ClientLimits::default(), || flags.interrupted.load(Ordering::SeqCst))?;
    Ok(Exit::Fine)
}

/// Opens the address in the user's browser, which this program does not end.
fn open(address: &str, printer: &Printer) {
    let mut command = Command::new("xdg-open");
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(mut child) => {
            // `xdg-open` passes the address on and ends; its status must be collected.
            std::thread::spawn(move || child.wait());
        }
        Err(error) => {
            printer.warning(format_args!("`xdg-open` cannot be started ({error}); open the address yourself"))
        }
    }
}
