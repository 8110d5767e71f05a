//! A sparse vector of weighted terms.

/// A sparse vector: strictly ascending term ids, each with its weight.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sparse {
    /// Term ids, ascending, each once.
    pub indices: Vec<u32>,
    /// One weight per term id.
    pub values: Vec<f32>,
}
