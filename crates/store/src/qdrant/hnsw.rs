//! The approximate index of dense vectors, a graph that a search follows.
//!
//! Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using Hierarchical
//! Navigable Small World graphs", 2018, has the meaning of `m` and `ef`.

/// How many edges a point has, at most (twice as many in the lowest layer).
pub(super) const M: usize = 16;
/// Without edges there is no graph: a search looks at every point, by one byte for each number.
pub(super) const NO_GRAPH: usize = 0;
/// How many candidates a search keeps. Of the nearest hundred among 99,000, the graph led to 91 in 100
/// with a hundred of them, and to 97 with this many, for about one more millisecond.
pub(super) const EF: usize = 512;
/// How many times more points than asked for are found by rounded vectors and compared by whole
/// ones. On the development queries this changes no result.
pub(super) const OVERSAMPLING: f64 = 1.5;
