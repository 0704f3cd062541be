//! No request allocates once connections are open: the process's allocations are counted while a client that does not
//! allocate either sends requests.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};

use common::Probe;

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator; counting touches none of its memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the caller upholds `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds `dealloc`'s contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Sends `requests`, as many as `count`, and reads `bytes` of replies into `room`.
fn exchange(stream: &mut TcpStream, requests: &[u8], bytes: usize, room: &mut [u8]) {
    stream.write_all(requests).unwrap();
    stream.read_exact(&mut room[..bytes]).unwrap();
}

// One test only: others in this process would be counted too.
#[test]
fn serving_does_not_allocate() {
    for law in ["null", "exponential:mean=1us", "periodic-stall:every=2ms,length=1us"] {
        let probe = Probe::obeying(law);
        let mut stream = TcpStream::connect(("127.0.0.1", probe.port)).unwrap();
        let mut room = vec![0; 1 << 20];
        for (path, pipelined) in [("/pong/4", 1), ("/pong/64", 16), ("/pong/65536", 4), ("/", 1)] {
            let request = format!("GET {path} HTTP/1.1\r\nHost: probe\r\n\r\n");
            let requests = request.repeat(pipelined);
            let one_reply = probe.get(path);
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n",
                one_reply.body.len()
            );
            let bytes = (head.len() + one_reply.body.len()) * pipelined;
            for _ in 0..20 {
                exchange(&mut stream, requests.as_bytes(), bytes, &mut room);
            }
            let before = ALLOCATIONS.load(Ordering::SeqCst);
            for _ in 0..1000 {
                exchange(&mut stream, requests.as_bytes(), bytes, &mut room);
            }
            let made = ALLOCATIONS.load(Ordering::SeqCst) - before;
            assert_eq!(made, 0, "{law}, {path}");
        }
    }
}
