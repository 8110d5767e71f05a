//! Check that the system allows as many threads as the process needs.
//!
//! If a thread cannot be started, the runtime blocks forever or panics, and the store's engine
//! reports its files as damaged.

use std::{io, num::NonZero, sync::Mutex, thread};

/// Threads in addition to the workers: for file access and for the store's engine.
const BESIDE_WORKERS: usize = 8;
/// Stack size in bytes, enough for a thread that does nothing.
const STACK_BYTES: usize = 64 * 1024;

/// Starts as many threads as a command needs at the same time, and ends them.
///
/// Fails if one cannot be started. Libraries would panic or block forever later.
pub fn can_start_threads() -> io::Result<()> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let gate = Mutex::new(());
    thread::scope(|scope| {
        let closed = gate.lock();
        for _ in 0..workers + BESIDE_WORKERS {
            let thread = thread::Builder::new().stack_size(STACK_BYTES);
            thread.spawn_scoped(scope, || drop(gate.lock()))?;
        }
        drop(closed);
        Ok(())
    })
}
