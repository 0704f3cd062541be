//! `DIRECT=1`: operations run in this process, asked for on stdin and answered on stdout, a line each.
//!
//! What a window times is what `GET /pong/{n}` does without a protocol around it: the body is made anew for each request.
//! One thread reads, works and answers; nothing is written down but the times.

use std::env;
use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use rustix::time::{ClockId, clock_gettime};
use tokio::signal::unix::Signal;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::pong::{SIZES, body, wrong_size};
use crate::{GRACE, number};

/// Whether a line is being worked on.
static BUSY: AtomicBool = AtomicBool::new(false);

/// Bits of a time that are kept: below 2048 ns all, above them the upper 11.
const BITS: u32 = 11;
/// Buckets of times up to 2⁴⁰ ns, which is 18 minutes.
const BUCKETS: usize = (1 << BITS) + (40 - BITS as usize) * (1 << (BITS - 1));
/// The digest of no reply.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

// Handlers

/// Answers one line; the error says what is wrong with it.
fn answer(line: &str, times: &mut Times) -> Result<Vec<u8>, String> {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["reply", size] => sized(size).map(body),
        ["window", id, requests, seed, sizes] => {
            let wrong =
                || format!("`{line}` is no window: its numbers must be whole, its requests at least one");
            let whole = |text: &str| number(text).ok_or_else(wrong);
            let (id, requests, seed) = (whole(id)?, whole(requests)?, whole(seed)?);
            let sizes = sizes.split(',').map(sized).collect::<Result<Vec<_>, _>>()?;
            if requests == 0 {
                return Err(wrong());
            }
            Ok(window((id, requests), &mut Draw::new(seed as u64, sizes), times))
        }
        _ => Err(format!(
            "{line:?} is not known; allowed: `window <id> <requests> <seed> <sizes>`, `reply <size>`"
        )),
    }
}

fn sized(text: &str) -> Result<usize, String> {
    number(text).filter(|size| SIZES.contains(size)).ok_or_else(wrong_size)
}

/// So many requests, one after another. The clock is read once for each: its end is the beginning of the next.
fn window((id, requests): (usize, usize), draw: &mut Draw, times: &mut Times) -> Vec<u8> {
    let mut digest = OFFSET;
    let cpu = cpu_time();
    let start = Instant::now();
    let mut before = start;
    for _ in 0..requests {
        let reply = black_box(body(black_box(draw.size())));
        digest = digested(digest, &reply);
        drop(reply);
        let now = Instant::now();
        times.add(now - before);
        before = now;
    }
    let cpu = cpu_time().saturating_sub(cpu);
    let elapsed = (before - start).as_nanos();
    let told = format!("window {id} {requests} {elapsed} {} {digest:016x} {}", cpu.as_nanos(), times.take());
    told.into_bytes()
}

/// The digest with one more reply: of its length, its first byte and its last two.
fn digested(digest: u64, reply: &[u8]) -> u64 {
    let end = &reply[reply.len() - 2..];
    let ends = u64::from(reply[0]) << 16 | u64::from(end[0]) << 8 | u64::from(end[1]);
    (digest ^ ((reply.len() as u64) << 24 | ends)).wrapping_mul(0x0100_0000_01b3)
}

/// CPU time of all threads of this process.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The sizes of a window's requests, one after another.
struct Draw {
    sizes: Vec<usize>,
    shares: Vec<f64>,
    random: ChaCha8Rng,
}

impl Draw {
    fn new(seed: u64, sizes: Vec<usize>) -> Self {
        let shares = (1..=sizes.len()).map(|share| share as f64 / sizes.len() as f64).collect();
        Self { sizes, shares, random: ChaCha8Rng::seed_from_u64(seed) }
    }

    fn size(&mut self) -> usize {
        if let [size] = self.sizes[..] {
            return size;
        }
        let drawn = (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        self.sizes[self.shares.partition_point(|share| *share <= drawn).min(self.sizes.len() - 1)]
    }
}

/// How often each time came, times rounded down to 11 bits.
struct Times(Vec<u64>);

impl Times {
    fn add(&mut self, time: Duration) {
        let nanos = (time.as_nanos() as u64).clamp(1, (1 << 40) - 1);
        let shift = (u64::BITS - nanos.leading_zeros()).saturating_sub(BITS);
        self.0[((shift as usize) << (BITS - 1)) + (nanos >> shift) as usize] += 1;
    }

    /// `time:count` of each that came, rising; then there are none.
    fn take(&mut self) -> String {
        let mut told = String::new();
        for (index, count) in self.0.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            let shift = (index >> (BITS - 1)).saturating_sub(1);
            let comma = if told.is_empty() { "" } else { "," };
            told += &format!("{comma}{}:{count}", (index - (shift << (BITS - 1))) << shift);
            *count = 0;
        }
        told
    }
}

// Server

/// Answers line after line until stdin ends.
fn talk() -> io::Result<()> {
    let mut times = Times(vec![0; BUCKETS]);
    let (mut input, mut line) = (io::stdin().lock(), Vec::new());
    while input.read_until(b'\n', &mut line)? > 0 {
        BUSY.store(true, Ordering::SeqCst);
        let asked = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line)).into_owned();
        line.clear();
        let mut said =
            answer(&asked, &mut times).unwrap_or_else(|problem| format!("error {problem}").into_bytes());
        said.push(b'\n');
        let mut stdout = io::stdout().lock();
        stdout.write_all(&said)?;
        stdout.flush()?;
        BUSY.store(false, Ordering::SeqCst);
    }
    Ok(())
}

/// Says `ready direct` and serves until stdin ends or SIGTERM comes; then a line that is being worked on is answered.
pub async fn serve(mut stop: Signal) -> ExitCode {
    println!("ready direct");
    let (over, ended) = oneshot::channel();
    // Not tokio's: nobody could end a thread that waits for a line.
    thread::spawn(move || over.send(talk()));
    tokio::select! {
        ended = ended => return if matches!(ended, Ok(Ok(()))) { ExitCode::SUCCESS } else { ExitCode::from(crate::EXIT_BROKEN) },
        _ = stop.recv() => {}
    }
    let since = Instant::now();
    while BUSY.load(Ordering::SeqCst) && since.elapsed() < GRACE {
        sleep(Duration::from_millis(1)).await;
    }
    ExitCode::SUCCESS
}

/// Whether the environment asks for it.
pub fn asked() -> Result<bool, String> {
    match env::var_os("DIRECT") {
        Some(text) if text == "1" => Ok(true),
        Some(text) if !text.is_empty() => Err(crate::refusal("DIRECT", &text.to_string_lossy(), "`1`")),
        _ => Ok(false),
    }
}
