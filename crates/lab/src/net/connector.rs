//! Sockets made inside one of our networks, for a loop that runs outside.
//!
//! A socket belongs to the namespace in which it was made, whichever thread uses it. So a helper thread
//! inside makes sockets, some ahead of need, and passes the descriptors on. The caller connects, measures and
//! retries.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::host::sys;

/// Most sockets that are made ahead. With a connection for every request, one request in this many waits for
/// the helper.
const AHEAD: usize = 32;

/// Makes sockets of TCP over IPv4 in one namespace: non-blocking, with `TCP_NODELAY`.
#[derive(Debug)]
pub struct Connector {
    namespace: PathBuf,
    helper: Option<Helper>,
    stock: VecDeque<OwnedFd>,
    /// How many sockets to request next: as many as were needed so far, so that a single connection leaves
    /// few unused.
    batch: usize,
}

/// Requests to the helper.
#[derive(Debug)]
enum HelperRequest {
    /// Make this many sockets.
    Make(usize),
    /// Close these.
    Close(VecDeque<OwnedFd>),
}

#[derive(Debug)]
struct Helper {
    asks: Sender<HelperRequest>,
    made: Receiver<io::Result<Vec<OwnedFd>>>,
}

impl Connector {
    /// A connector for the namespace of that file. The helper starts on the first call of
    /// [`Connector::socket`], from the calling thread: a thread with its own descriptor table gets
    /// descriptors only from threads that share it.
    pub fn new(namespace: &Path) -> Self {
        Self { namespace: namespace.to_owned(), helper: None, stock: VecDeque::new(), batch: 1 }
    }

    /// A socket that is not connected yet.
    pub fn socket(&mut self) -> io::Result<OwnedFd> {
        if let Some(socket) = self.stock.pop_front() {
            return Ok(socket);
        }
        let gone = || io::Error::other("the thread that makes sockets inside a network ended");
        let helper = match &mut self.helper {
            Some(helper) => helper,
            none => none.insert(Helper::start(&self.namespace)?),
        };
        helper.asks.send(HelperRequest::Make(self.batch)).map_err(|_| gone())?;
        self.batch = (self.batch * 2).min(AHEAD);
        self.stock.extend(helper.made.recv().map_err(|_| gone())??);
        self.stock.pop_front().ok_or_else(gone)
    }
}

/// The helper closes unused sockets, because their descriptors are in its table. The thread that drops the
/// connector may have another table, in which the same numbers are other files.
impl Drop for Connector {
    fn drop(&mut self) {
        let stock = std::mem::take(&mut self.stock);
        let Some(helper) = &self.helper else { return };
        if let Err(unsent) = helper.asks.send(HelperRequest::Close(stock)) {
            // The helper has ended, and its descriptor table with it.
            std::mem::forget(unsent);
        }
    }
}

impl Helper {
    fn start(namespace: &Path) -> io::Result<Self> {
        let file = File::open(namespace)?;
        let (asks, asked) = channel::<HelperRequest>();
        let (sender, made) = channel();
        std::thread::Builder::new().name("connector".to_owned()).spawn(move || {
            let entered = sys::enter_network(file.as_fd());
            drop(file);
            if let Err(error) = entered {
                // If the receiver is gone, nobody needs the error.
                let _ = sender.send(Err(error));
                return;
            }
            // It ends with the connector.
            for ask in asked {
                match ask {
                    HelperRequest::Make(count) => {
                        if sender.send((0..count).map(|_| sys::tcp_socket()).collect()).is_err() {
                            return;
                        }
                    }
                    HelperRequest::Close(sockets) => drop(sockets),
                }
            }
        })?;
        Ok(Self { asks, made })
    }
}
