//! Connections that have not finished the head of their first request, by the address of the client.
//!
//! A client that drips its head, a byte now and then, keeps a connection without asking anything. Of one address only
//! the newest few may do so: a further one takes the place of the oldest. Refusing the further one would let those who
//! drip keep out those who ask.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The connections with unfinished heads.
#[derive(Debug)]
pub(crate) struct Unfinished {
    most: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    by_address: HashMap<IpAddr, VecDeque<(u64, oneshot::Sender<()>)>>,
}

/// A connection's place among them, until its head has come or it ends.
#[derive(Debug)]
pub(crate) struct HeadPlace {
    all: Arc<Unfinished>,
    address: IpAddr,
    number: u64,
}

/// A connection whose head is awaited.
#[derive(Debug)]
pub(crate) struct AwaitedHead {
    pub(crate) place: HeadPlace,
    /// Gets a message when the place is taken away, and an error when the head has come.
    pub(crate) cut: oneshot::Receiver<()>,
}

impl Unfinished {
    /// At most `most` connections of one address.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, inner: Mutex::default() })
    }

    /// Takes a place, possibly that of the oldest of the address.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> AwaitedHead {
        let (cutter, cut) = oneshot::channel();
        let mut inner = self.lock();
        let number = inner.next;
        inner.next += 1;
        let own = inner.by_address.entry(address).or_default();
        own.push_back((number, cutter));
        if own.len() > self.most
            && let Some((_, oldest)) = own.pop_front()
        {
            // If nobody listens, that connection has just ended.
            let _ = oldest.send(());
        }
        AwaitedHead { place: HeadPlace { all: Arc::clone(self), address, number }, cut }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Each update is complete, so the lists are consistent after a panic elsewhere.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeadPlace {
    /// The head has come: the connection no longer counts.
    pub(crate) fn leave(&self) {
        let mut inner = self.all.lock();
        if let Some(own) = inner.by_address.get_mut(&self.address) {
            own.retain(|(number, _)| *number != self.number);
            if own.is_empty() {
                inner.by_address.remove(&self.address);
            }
        }
    }
}

impl Drop for HeadPlace {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot::error::TryRecvError;

    #[test]
    fn the_oldest_of_an_address_gives_way_and_whoever_has_asked_does_not_count() {
        let all = Unfinished::new(2);
        let [here, there] = [[127, 0, 0, 1], [127, 0, 0, 2]].map(IpAddr::from);
        let mut asked = all.enter(here);
        asked.place.leave();
        assert_eq!(asked.cut.try_recv(), Err(TryRecvError::Closed), "its head has come");
        let mut held: Vec<_> = (0..3).map(|_| all.enter(here)).collect();
        let mut elsewhere = all.enter(there);
        let told: Vec<_> = held.iter_mut().map(|head| head.cut.try_recv()).collect();
        assert_eq!(told, [Ok(()), Err(TryRecvError::Empty), Err(TryRecvError::Empty)]);
        assert_eq!(elsewhere.cut.try_recv(), Err(TryRecvError::Empty));
        drop(held);
        assert_eq!(all.lock().by_address.len(), 1, "what has ended is forgotten");
    }
}
