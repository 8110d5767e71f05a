//! The embedded engine.
pub struct Embedded;
