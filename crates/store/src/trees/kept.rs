//! A chunk as an engine returns it, and which roots have it.

use codeinfo_core::{ChunkRecord, RootId};

use super::super::{Scored, Stored};

/// A chunk as it is read.
pub(super) trait Kept: Send {
    fn record(&self) -> &ChunkRecord;
    fn set(&mut self, root: RootId, also: Vec<RootId>);
}

impl Kept for Scored {
    fn record(&self) -> &ChunkRecord {
        &self.record
    }

    fn set(&mut self, root: RootId, also: Vec<RootId>) {
        self.record.root = root;
        self.also = also;
    }
}

impl Kept for Stored {
    fn record(&self) -> &ChunkRecord {
        &self.record
    }

    fn set(&mut self, root: RootId, _: Vec<RootId>) {
        self.record.root = root;
    }
}
