//! Second reading of an answer: what the reader is sent, and what its reply says of each claim. Pure.
//!
//! Lines of a repository are hostile: what is structure begins with a key that is made for each request,
//! what is material begins with a number or a mark, and a verdict counts only for a number and a line
//! that were sent.
//!
//! The request carries sentences and cited lines and nothing else. It shares its bytes fairly among the
//! sentences, and says which lines it leaves out.

mod judged;
mod request;

pub(super) use self::{
    judged::{ClaimContradiction, JudgedClaims},
    request::{INSTRUCTIONS, ReadingRequest, reply_schema},
};
