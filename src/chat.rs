//! Questions in, ordered segments out: the one chat pipeline.
