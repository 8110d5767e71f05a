//! Finds chunks: dense and lexical neighbours, fused and ranked.
