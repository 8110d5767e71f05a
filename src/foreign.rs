//! What other programs say: lines of bounded length, and messages without what may be secret.

mod lines;
mod redact;

pub(crate) use self::{
    lines::{Line, Lines},
    redact::redact,
};
