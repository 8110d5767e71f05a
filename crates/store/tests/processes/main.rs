//! The embedded store under `kill -9`. The tests start themselves as child processes.
#![cfg(test)]

mod crashes;
mod system_calls;
