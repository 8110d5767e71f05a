//! Damaged data folders, repaired by runs. Slow, and apart from `it` so that `cargo quick` leaves them out.
#![cfg(test)]

mod damage;
mod strange_files;
