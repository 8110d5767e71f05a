//! Maximum sizes, in lines and bytes, of definitions that stay in one chunk.

/// Maximum number of lines and bytes of a run of lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct SizeLimit {
    pub(super) lines: usize,
    pub(super) bytes: usize,
}

/// Maximum size of a node that is not opened. A function may be somewhat larger than a run of
/// statements, because half a function is worth less than a whole one.
pub(super) const WHOLE: SizeLimit = SizeLimit { lines: 80, bytes: 3000 };
/// Maximum size of a type or section that is not opened. It is smaller because the parts have names
/// of their own.
pub(super) const CONTAINER: SizeLimit = SizeLimit { lines: 40, bytes: 1200 };
/// Minimum lines of a value that is a definition; shorter ones are glue.
pub(super) const NAMED_VALUE_LINES: usize = 3;
