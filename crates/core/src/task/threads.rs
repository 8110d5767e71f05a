//! Whether the system lets the process have the threads that it needs.
//!
//! Without one more thread the runtime waits without end or panics, and the engine calls its files
//! damaged.

use std::{io, num::NonZero, sync::Mutex, thread};

/// Threads beside those that run tasks: for files, and of the store's engine.
const BESIDE_WORKERS: usize = 8;
/// Enough for a thread that does nothing.
const STACK_BYTES: usize = 64 * 1024;

/// Starts as many threads as a command needs at a time, and ends them. Libraries panic or wait without end
/// where one cannot be started, so this is found out first.
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
