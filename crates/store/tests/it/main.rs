//! Each engine against the suite of all engines, and what only one of them promises.
#![cfg(test)]

mod damage;
mod deferred;
mod embedded;
mod qdrant;
mod suite;
