//! What was heard of a turn, and the message that is held back since it may be the final one.

use codeinfo_core::Timestamp;

use super::{assemble::Assembly, event::Event};

/// What was heard of a turn.
pub(super) struct Heard {
    pub(super) assembly: Assembly,
    /// A message of the model after which nothing else came: it may be the final one, and be put right.
    pub(super) held: Option<Event>,
}

impl Heard {
    /// Takes one event of Codex; returns what is to be reported now.
    pub(super) fn take(&mut self, event: codeinfo_codex::Event) -> Vec<Event> {
        let mut events = self.assembly.take(event, Timestamp::now());
        if events.is_empty() {
            return events;
        }
        events.splice(..0, self.held.take());
        self.held = events.pop_if(|last| matches!(last, Event::Answer { .. }));
        events
    }
}
