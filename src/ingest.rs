//! Fills the store: discover, chunk, embed, write.
