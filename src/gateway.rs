//! Which toolkits a turn has, and how a model finds and calls their tools.

pub mod discovery;
pub mod meta;
