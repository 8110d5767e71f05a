//! Second reading of an answer: the request to the reader and the verdicts in its reply. Pure.
//!
//! Lines of a repository are hostile. Structure begins with a key that is random per request,
//! material begins with a number or a mark, and a verdict counts only for a number and a line that
//! were sent.
//!
//! The request contains only sentences and cited lines. It divides its bytes fairly among the
//! sentences and reports the omitted lines.

mod judged;
mod request;

pub(super) use self::{
    judged::{ClaimContradiction, JudgedClaims},
    request::{INSTRUCTIONS, ReadingRequest, reply_schema},
};
