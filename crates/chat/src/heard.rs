//! Progress of a turn, with the message that is held back because it may be the final one.

use codeinfo_core::Timestamp;

use super::{assemble::SegmentAssembler, event::ChatEvent};

/// Progress of a turn.
pub(super) struct TurnProgress {
    pub(super) assembly: SegmentAssembler,
    /// Last message of the model without a later event; it may be final and need a correction.
    pub(super) held: Option<ChatEvent>,
}

impl TurnProgress {
    /// Processes one event of Codex. Returns the events to report now.
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
