//! `DIRECT=1`: the script is played in this process, asked for on stdin and answered on stdout, a line each.
//!
//! What a window times is what the transports' handlers call, without a transport around it. Sessions are shared among threads,
//! each of which takes the next one when it is free.

use std::env;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio::signal::unix::Signal;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::engine::Engine;
use crate::play::play;
use crate::script::Session;
use crate::tally::{Grain, Played, Tally};
use crate::{GRACE, number};

/// Whether a line is being worked on.
static BUSY: AtomicBool = AtomicBool::new(false);

/// The most threads that play.
const MOST_THREADS: usize = 1024;

/// What is played, and against what.
struct Stage {
    engine: Arc<dyn Engine>,
    sessions: Vec<Session>,
    /// Carries out what waits for the database.
    runtime: Handle,
}

// Handlers

impl Stage {
    /// Answers one line; the error says what is wrong with it.
    fn answer(&self, line: &str) -> Result<Value, String> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["window", id, sessions, threads, grain] => {
                let whole = |text: &str, most: usize| number(text).filter(|number| *number <= most);
                let id = whole(id, usize::MAX).ok_or_else(|| format!("`{id}` is no whole number"))?;
                let most = self.sessions.len();
                let sessions = whole(sessions, most).filter(|sessions| *sessions > 0);
                let sessions = sessions.ok_or_else(|| format!("the sessions must be from 1 to {most}"))?;
                let threads = whole(threads, MOST_THREADS).filter(|threads| *threads > 0);
                let threads =
                    threads.ok_or_else(|| format!("the threads must be from 1 to {MOST_THREADS}"))?;
                let grain = Grain::named(grain)
                    .ok_or_else(|| format!("the grain is {grain:?}, allowed: `fine`, `coarse`"))?;
                Ok(self.window(id, &self.sessions[..sessions], threads, grain))
            }
            ["reset"] => {
                let reset = self.runtime.block_on(self.engine.reset());
                reset.map(|()| json!({})).map_err(|fault| format!("{fault:?}"))
            }
            ["state"] => {
                let contents = self.runtime.block_on(self.engine.contents());
                contents.map(|mut contents| json!(contents.state())).map_err(|fault| format!("{fault:?}"))
            }
            _ => Err(format!(
                "{line:?} is not known; allowed: `window <id> <sessions> <threads> <grain>`, `reset`, `state`"
            )),
        }
    }

    /// Plays these sessions on so many threads.
    fn window(&self, id: usize, sessions: &[Session], threads: usize, grain: Grain) -> Value {
        let next = AtomicUsize::new(0);
        let player = || {
            self.runtime.block_on(async {
                let mut played = Played::default();
                while let Some(session) = sessions.get(next.fetch_add(1, Ordering::Relaxed)) {
                    play(&*self.engine, session, grain, &mut played).await;
                }
                played
            })
        };
        let cpu = cpu_time();
        let start = Instant::now();
        let played = thread::scope(|scope| {
            let players: Vec<_> = (0..threads).map(|_| scope.spawn(player)).collect();
            let played = players.into_iter().map(|player| player.join().expect("a player ends"));
            played.fold(Played::default(), Played::with)
        });
        let (elapsed, cpu) = (start.elapsed(), cpu_time().saturating_sub(cpu));
        if let Some(problem) = &played.problem {
            eprintln!("window {id}: a request failed: {problem}");
        }
        let operations = played.operations(grain).map(|(name, tally)| (name.to_owned(), told(tally)));
        json!({
            "id": id,
            "elapsed_ns": nanoseconds(elapsed),
            "cpu_ns": nanoseconds(cpu),
            "digest": format!("{:016x}", played.digest),
            "operations": operations.collect::<Map<_, _>>(),
        })
    }
}

/// Times are those of the good ones, rising.
fn told(tally: &Tally) -> Value {
    let mut times = tally.times.clone();
    times.sort_unstable();
    json!({ "good": tally.good, "failed": tally.failed, "retried": tally.retried, "times_ns": times })
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// CPU time of all threads of this process.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

// Server

/// Answers line after line until stdin ends.
fn talk(stage: &Stage) -> io::Result<()> {
    let (mut input, mut line) = (io::stdin().lock(), Vec::new());
    while input.read_until(b'\n', &mut line)? > 0 {
        BUSY.store(true, Ordering::SeqCst);
        let asked = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line)).into_owned();
        line.clear();
        let said = match stage.answer(&asked) {
            Ok(answer) => format!("{answer}\n"),
            Err(problem) => format!("error {problem}\n"),
        };
        let mut stdout = io::stdout().lock();
        stdout.write_all(said.as_bytes())?;
        stdout.flush()?;
        BUSY.store(false, Ordering::SeqCst);
    }
    Ok(())
}

/// Says `ready direct` and serves until stdin ends or SIGTERM comes; then a line that is being worked on is answered.
pub async fn serve(engine: Arc<dyn Engine>, sessions: Vec<Session>, mut stop: Signal) -> ExitCode {
    let stage = Stage { engine, sessions, runtime: Handle::current() };
    println!("ready direct");
    let (over, ended) = oneshot::channel();
    // Not tokio's: nobody could end a thread that waits for a line.
    thread::spawn(move || over.send(talk(&stage)));
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
