//! How much text one turn may have, so that no model can fill the memory or the reply.

/// Most bytes of one segment.
pub(crate) const MAX_SEGMENT_BYTES: usize = 1024 * 1024;
/// Most bytes of a turn: its thinking, answers and summaries, finished or not.
pub(crate) const MAX_TURN_BYTES: usize = 4 * 1024 * 1024;
/// What an entry counts beside its text, so that not even empty ones are without end.
const ENTRY_BYTES: usize = 64;

// A longer text must be seen to be longer.
const _: () = assert!(MAX_SEGMENT_BYTES < codeinfo_codex::MAX_TEXT_BYTES);

/// What a turn went over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnTextLimit {
    Segment,
    Turn,
}

impl TurnTextLimit {
    /// Returns what stands at the end of the text that was cut.
    pub(super) fn cut_mark(self) -> &'static str {
        match self {
            Self::Segment => "\n\n[cut: more than 1 MiB]",
            Self::Turn => "\n\n[cut: the turn has more than 4 MiB]",
        }
    }

    /// Says what happened.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Segment => "the model wrote more than 1 MiB in one piece, and was stopped",
            Self::Turn => "the model wrote more than 4 MiB in one turn, and was stopped",
        }
    }
}

/// The room that is left.
#[derive(Debug, Default)]
pub(super) struct TurnTextBudget {
    spent: usize,
    reached: Option<TurnTextLimit>,
}

impl TurnTextBudget {
    /// Returns the bound that was gone over, if one was.
    pub(super) fn exceeded_limit(&self) -> Option<TurnTextLimit> {
        self.reached
    }

    /// Counts an entry.
    pub(super) fn count_entry(&mut self) {
        self.spend_bytes(ENTRY_BYTES);
    }

    /// Counts `bytes` that are kept.
    pub(super) fn spend_bytes(&mut self, bytes: usize) {
        self.spent += bytes;
        if self.spent > MAX_TURN_BYTES {
            self.reached.get_or_insert(TurnTextLimit::Turn);
        }
    }

    /// Gives back what is no longer kept.
    pub(super) fn give_back(&mut self, bytes: usize) {
        self.spent = self.spent.saturating_sub(bytes);
    }

    /// Adds `text` to a text of `had` bytes as far as there is room, and the mark where there is not.
    pub(super) fn extend_text(&mut self, text: &mut String, had: usize, more: &str) {
        let of_segment = MAX_SEGMENT_BYTES.saturating_sub(had);
        let of_turn = MAX_TURN_BYTES.saturating_sub(self.spent);
        let (kept, cut) = more.split_at(more.floor_char_boundary(of_segment.min(of_turn)));
        self.spent += kept.len();
        text.push_str(kept);
        if !cut.is_empty() {
            let bound =
                if of_segment <= of_turn { TurnTextLimit::Segment } else { TurnTextLimit::Turn };
            text.push_str(self.reached.get_or_insert(bound).cut_mark());
        }
    }
}
