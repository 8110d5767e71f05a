//! Code-aware terms and their BM25 weights.
