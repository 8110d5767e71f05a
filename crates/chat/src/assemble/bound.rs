//! Limits the text of one turn, so that no model can fill the memory or the reply.

/// Maximum bytes of one segment.
pub(crate) const MAX_SEGMENT_BYTES: usize = 1024 * 1024;
/// Maximum bytes of a turn: thinking, answers and summaries, including unfinished ones.
pub(crate) const MAX_TURN_BYTES: usize = 4 * 1024 * 1024;
/// Bytes that an entry counts in addition to its text, so that the number of empty entries is
/// limited.
const ENTRY_BYTES: usize = 64;

// Codex events are truncated without a mark at the higher bound, so an overrun is noticed here.
const _: () = assert!(MAX_SEGMENT_BYTES < codeinfo_codex::MAX_TEXT_BYTES);

/// Limit that a turn exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnTextLimit {
    Segment,
    Turn,
}

impl TurnTextLimit {
    /// Returns the mark at the end of a truncated text.
    pub(super) fn cut_mark(self) -> &'static str {
        match self {
            Self::Segment => "\n\n[cut: more than 1 MiB]",
            Self::Turn => "\n\n[cut: the turn has more than 4 MiB]",
        }
    }

    /// Returns the message for the user.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Segment => "the model wrote more than 1 MiB in one piece, and was stopped",
            Self::Turn => "the model wrote more than 4 MiB in one turn, and was stopped",
        }
    }
}

/// Used part of the limits.
#[derive(Debug, Default)]
pub(super) struct TurnTextBudget {
    spent: usize,
    reached: Option<TurnTextLimit>,
}

impl TurnTextBudget {
    /// Returns the exceeded limit, if any.
    pub(super) fn exceeded_limit(&self) -> Option<TurnTextLimit> {
        self.reached
    }

    /// Counts an entry without its text.
    pub(super) fn count_entry(&mut self) {
        self.spend_bytes(ENTRY_BYTES);
    }

    /// Counts stored bytes.
    pub(super) fn spend_bytes(&mut self, bytes: usize) {
        self.spent += bytes;
        if self.spent > MAX_TURN_BYTES {
            self.reached.get_or_insert(TurnTextLimit::Turn);
        }
    }

    /// Releases bytes that are no longer stored.
    pub(super) fn give_back(&mut self, bytes: usize) {
        self.spent = self.spent.saturating_sub(bytes);
    }

    /// Appends `more` to a text that counts `former_bytes`, truncated to the limit and marked if it
    /// exceeds it.
    pub(super) fn extend_text(&mut self, text: &mut String, former_bytes: usize, more: &str) {
        let segment_room = MAX_SEGMENT_BYTES.saturating_sub(former_bytes);
        let turn_room = MAX_TURN_BYTES.saturating_sub(self.spent);
        let (kept, cut) = more.split_at(more.floor_char_boundary(segment_room.min(turn_room)));
        self.spent += kept.len();
        text.push_str(kept);
        if !cut.is_empty() {
            let bound = if segment_room <= turn_room {
                TurnTextLimit::Segment
            } else {
                TurnTextLimit::Turn
            };
            text.push_str(self.reached.get_or_insert(bound).cut_mark());
        }
    }
}
