//! Clients of toolkits with real server processes, which need Python.
#![cfg(test)]

mod hostile;
mod lifecycle;
