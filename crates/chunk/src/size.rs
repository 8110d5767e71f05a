//! How large a definition is that stays in one chunk, in lines and bytes.

/// A node of at most this many lines and bytes is not opened. A function may be somewhat larger
/// than a run of statements, because half a function is worth less than a whole one.
pub(super) const WHOLE: (usize, usize) = (80, 3000);
/// Types and sections are opened sooner: their parts have names of their own.
pub(super) const CONTAINER: (usize, usize) = (40, 1200);
/// Values of fewer lines are glue.
pub(super) const NAMED_VALUE_LINES: usize = 3;
