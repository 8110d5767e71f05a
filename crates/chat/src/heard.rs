//! What was heard of a turn, and the message that is held back since it may be the final one.

use codeinfo_core::Timestamp;

use super::{assemble::SegmentAssembler, event::ChatEvent};

/// What was heard of a turn.
pub(super) struct TurnProgress {
    pub(super) assembly: SegmentAssembler,
    /// A message of the model after which nothing else came: it may be the final one, and be put right.
    pub(super) held: Option<ChatEvent>,
}

impl TurnProgress {
    /// Takes one event of Codex; returns what is to be reported now.
    pub(super) fn apply_event(&mut self, event: codeinfo_codex::CodexEvent) -> Vec<ChatEvent> {
        let mut events = self.assembly.apply_event(event, Timestamp::now());
        if events.is_empty() {
            return events;
        }
        events.splice(..0, self.held.take());
        self.held = events.pop_if(|last| matches!(last, ChatEvent::Answer { .. }));
        events
    }
}
