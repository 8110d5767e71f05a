//! Which toolkits a turn has, and how a model finds and calls their tools.

pub mod allowed;
pub mod discovery;
mod kept;
pub mod launch;
pub mod layers;
pub mod meta;
pub mod trusted;

pub use self::{
    allowed::{AllowError, Allowed, Proposal, Proposed, Standing},
    kept::KeptError,
    layers::{Asked, Chosen, Layers, Origin, Resolved},
    trusted::{Pins, Trusted, Verdict},
};
