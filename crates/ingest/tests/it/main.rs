//! Discovery, runs and repairs with a real store, the built-in model and real repositories.
#![cfg(test)]

mod discover;
mod hostile;
mod hosts;
mod private_places;
mod qdrant;
mod real_repositories;
mod repairs;
mod revisions;
mod runs;
mod secrets;
mod worktrees;
