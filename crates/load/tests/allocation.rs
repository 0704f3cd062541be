//! In the steady state the loop allocates nothing: a window of ten thousand requests takes as many allocations as one
//! of a hundred, and those are a handful at its very end.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use support::{Fixed, HELLO, Server, VARIANT, closed, generator, settings};
use weighbridge_load::generator::WindowSpec;
use weighbridge_load::pace::{Flow, Source};
use weighbridge_load::window::{Load, OpenEnd, Stop};
use weighbridge_load::{Generator, Recording, Settings};
use weighbridge_model::experiment::{Arrivals, Profile, SessionLength, Think};
use weighbridge_model::quantity::{Nanoseconds, PerSecond};
use weighbridge_model::record::Tallies;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting per thread.
struct Counting;

fn count() {
    // A thread that is being torn down has no counter any more, and none is wanted.
    let _ = ALLOCATIONS.try_with(|allocations| allocations.set(allocations.get() + 1));
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps `dealloc`'s contract.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps `realloc`'s contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations on this thread while the window ran.
fn allocations(generator: &mut Generator, spec: &WindowSpec, tallies: &mut Tallies) -> u64 {
    let before = ALLOCATIONS.get();
    let report = generator.run(VARIANT, spec, tallies, None, None).expect("runs");
    let after = ALLOCATIONS.get();
    assert_eq!(report.figures.errors.total(), 0);
    assert!(report.figures.requests >= 100);
    after - before
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    let kept = std::hint::black_box(vec![1u8; 100]);
    assert_eq!(ALLOCATIONS.get() - before, 1, "{}", kept.len());
}

#[test]
fn a_closed_window_allocates_only_its_figures() {
    let server = Server::answering(HELLO);
    let settings = Settings { in_flight: 2, ..settings(4) };
    let mut generator = generator(server.address, settings, Fixed::get());
    generator.connect(VARIANT).expect("connects");
    let mut tallies = Tallies::default();
    for recording in [Recording::Exact, Recording::Batched] {
        let spec = |count| WindowSpec { recording, ..closed(Stop::Count(count)) };
        allocations(&mut generator, &spec(10_000), &mut tallies);
        let short = allocations(&mut generator, &spec(100), &mut tallies);
        let long = allocations(&mut generator, &spec(10_000), &mut tallies);
        assert_eq!(short, long, "{recording:?}");
        if recording == Recording::Exact {
            assert_eq!(long, 1, "the list of figures per operation");
        }
    }
}

#[test]
fn an_open_window_allocates_only_its_schedule_and_figures() {
    let server = Server::answering(HELLO);
    let mut generator = generator(server.address, settings(4), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    let mut tallies = Tallies::default();
    let spec = |count| WindowSpec {
        substream: 1,
        load: Load::Open {
            flow: Flow::steady(PerSecond::new(5_000.0).expect("a rate"), Arrivals::Poisson),
            queue: 1_000,
            end: OpenEnd::Drain { stop: Stop::Count(count), limit: Nanoseconds::from_secs(10) },
        },
        recording: Recording::Exact,
    };
    allocations(&mut generator, &spec(5_000), &mut tallies);
    let short = allocations(&mut generator, &spec(100), &mut tallies);
    let long = allocations(&mut generator, &spec(5_000), &mut tallies);
    assert_eq!(short, long);
    assert!(long <= 4, "queue, schedule, its random stream, figures: {long}");
}

#[test]
fn thinking_and_sessions_allocate_nothing_while_they_run() {
    let server = Server::answering(HELLO);
    let mut generator = generator(server.address, settings(4), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    let think = Think::Exponential { mean: Nanoseconds::from_micros(200) };
    let profile: Profile = "burst:100/s..4000/s for 10ms every 20ms".parse().expect("a profile");
    let thinking = |count| Load::Thinking { stop: Stop::Count(count), think };
    let sessions = |count| Load::PartlyOpen {
        flow: Flow::new(Source::Law {
            profile: profile.clone(),
            arrivals: Arrivals::Jitter(Arrivals::JITTER),
        }),
        queue: 1_000,
        end: OpenEnd::Drain { stop: Stop::Count(count), limit: Nanoseconds::from_secs(10) },
        length: SessionLength::Geometric { mean: 3.0 },
        think,
    };
    let loads: [&dyn Fn(u64) -> Load; 2] = [&thinking, &sessions];
    for load in loads {
        let mut tallies = Tallies::default();
        let spec = |count| WindowSpec { substream: 1, load: load(count), recording: Recording::Exact };
        allocations(&mut generator, &spec(4_000), &mut tallies);
        let short = allocations(&mut generator, &spec(100), &mut tallies);
        let long = allocations(&mut generator, &spec(4_000), &mut tallies);
        assert_eq!(short, long);
        assert!(long <= 8, "queue, schedule, profile, its random stream, figures: {long}");
    }
}
