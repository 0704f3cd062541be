//! Signals as flags. Ctrl-C asks the run to stop, Ctrl-Z asks it to thaw and stop this process. While nothing
//! is measured, Ctrl-Z stops this process at once, like any other program. Lines drawn at the terminal are
//! erased before this process ends or stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use weighbridge_conductor::Control;

use crate::live::screen;

/// What the user requested by signal.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// SIGINT, SIGTERM or SIGHUP arrived: stop, clean up, keep complete blocks.
    pub interrupted: Arc<AtomicBool>,
    /// SIGTSTP arrived: thaw everything, then stop this process.
    pub suspended: Arc<AtomicBool>,
    /// Either arrived: end the current window.
    pub window: Arc<AtomicBool>,
    /// Set by the conductor while something is measured or frozen.
    pub engaged: Arc<AtomicBool>,
}

static INTERRUPTED: AtomicPtr<AtomicBool> = AtomicPtr::new(std::ptr::null_mut());
static SUSPENDED: AtomicPtr<AtomicBool> = AtomicPtr::new(std::ptr::null_mut());
static WINDOW: AtomicPtr<AtomicBool> = AtomicPtr::new(std::ptr::null_mut());
static ENGAGED: AtomicPtr<AtomicBool> = AtomicPtr::new(std::ptr::null_mut());

impl Flags {
    /// The flags in the conductor's form.
    pub fn control(self) -> Control {
        let Self { interrupted, suspended, window, engaged } = self;
        Control { interrupted, suspended, window, engaged, stop: Some(stop_self), clocks: None }
    }
}

/// Turns the signals into flags until the process ends. A second Ctrl-C ends the process at once; the
/// guardian then cleans up.
pub fn install() -> Flags {
    let flags = Flags::default();
    for (cell, flag) in [
        (&INTERRUPTED, &flags.interrupted),
        (&SUSPENDED, &flags.suspended),
        (&WINDOW, &flags.window),
        (&ENGAGED, &flags.engaged),
    ] {
        // Leaked on purpose: a handler may run until the process ends.
        cell.store(Arc::into_raw(Arc::clone(flag)).cast_mut(), Ordering::SeqCst);
    }
    for (signal, handler) in [
        (libc::SIGINT, on_interrupt as extern "C" fn(libc::c_int)),
        (libc::SIGTERM, on_interrupt),
        (libc::SIGHUP, on_interrupt),
        (libc::SIGTSTP, on_suspend),
    ] {
        // SAFETY: the handlers only touch atomics and call async-signal-safe functions; the struct is fully set.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
    flags
}

fn flag(cell: &AtomicPtr<AtomicBool>) -> Option<&AtomicBool> {
    // SAFETY: the pointer is null or was leaked by `install` and is never freed.
    unsafe { cell.load(Ordering::SeqCst).as_ref() }
}

/// Sets a flag; returns whether it was set before.
fn raise(cell: &AtomicPtr<AtomicBool>) -> bool {
    flag(cell).is_some_and(|flag| flag.swap(true, Ordering::SeqCst))
}

extern "C" fn on_interrupt(signal: libc::c_int) {
    screen::tear();
    raise(&WINDOW);
    if raise(&INTERRUPTED) {
        clear_screen();
        // SAFETY: `_exit` is async-signal-safe.
        unsafe { libc::_exit(128 + signal) };
    }
}

extern "C" fn on_suspend(_signal: libc::c_int) {
    screen::tear();
    if !flag(&ENGAGED).is_some_and(|engaged| engaged.load(Ordering::SeqCst)) {
        return stop_self();
    }
    raise(&SUSPENDED);
    raise(&WINDOW);
}

/// Stops this process until it gets SIGCONT, as Ctrl-Z would.
pub fn stop_self() {
    screen::hold();
    clear_screen();
    // SAFETY: raising a signal on ourselves has no memory effect, also within a handler; SIGSTOP cannot be handled.
    unsafe {
        libc::raise(libc::SIGSTOP);
    }
    screen::release();
}

/// Erases what is drawn at the terminal.
fn clear_screen() {
    let erasure = screen::erasure();
    // SAFETY: `write` is async-signal-safe, and the text is a constant of that length.
    unsafe {
        libc::write(libc::STDERR_FILENO, erasure.as_ptr().cast(), erasure.len());
    }
}
