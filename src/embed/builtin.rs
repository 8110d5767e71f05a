//! The built-in model.
pub struct Builtin;
