//! Renders evidence as text for models, within the limit of a tool's text.

mod lines;
mod matches;
mod outline;
mod uses;

pub use lines::{render_lines, summarize_file};
pub use matches::render_matches;
pub use outline::render_outline;
pub use uses::render_uses;
