//! Sockets made inside a network of ours, for a loop that stays outside.
//!
//! A socket belongs to the namespace in which it was made, whoever uses it. So a helper thread that has
//! entered makes them, some ahead of need, and hands the descriptors over; connecting is the caller's. It
//! refuses to time or retry.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::host::sys;

/// Most sockets that are made ahead: a connection for every request then waits for the helper at one in so
/// many.
const AHEAD: usize = 32;

/// Makes sockets of TCP over IPv4 in one namespace: non-blocking, with `TCP_NODELAY`.
#[derive(Debug)]
pub struct Connector {
    namespace: PathBuf,
    helper: Option<Helper>,
    stock: VecDeque<OwnedFd>,
    /// How many are asked for next: as many again as were needed so far, or a single connection would leave
    /// many unused.
    batch: usize,
}

/// What the helper is asked for.
#[derive(Debug)]
enum HelperRequest {
    /// So many sockets.
    Make(usize),
    /// To close these.
    Close(VecDeque<OwnedFd>),
}

#[derive(Debug)]
struct Helper {
    asks: Sender<HelperRequest>,
    made: Receiver<io::Result<Vec<OwnedFd>>>,
}

impl Connector {
    /// A connector for the namespace of that file. The helper starts with the first socket that is wanted, on
    /// the thread that wants it: threads with a table of files of their own get descriptors only from threads
    /// that share it.
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

/// Sockets that nobody wanted are closed by the helper, which has them in its table of files: the thread that
/// drops the connector may have another, in which their numbers are somebody else's files or none.
impl Drop for Connector {
    fn drop(&mut self) {
        let stock = std::mem::take(&mut self.stock);
        let Some(helper) = &self.helper else { return };
        if let Err(unsent) = helper.asks.send(HelperRequest::Close(stock)) {
            // The helper ended early; what is in its table goes with that.
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
                // Whoever waits is told; if nobody does, nothing is lost.
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
