//! HTTP plumbing both listeners share.
