//! Converts the events of Codex to segments and chat events: only whole items, in the order of Codex. Pure.
#![warn(clippy::wildcard_enum_match_arm)]

use std::{
    collections::{BTreeMap, HashSet},
    hash::{DefaultHasher, Hasher},
    ops::Range,
};

use codeinfo_codex::{CodexEvent, CodexToolCall};
use codeinfo_core::{FILES_META, FileSummary, SEARCH_TOOL, Segment, Timestamp};
use serde_json::Value;

use super::{
    event::{ChatEvent, TokenUsage, ToolCallStage},
    tool_owner::{ReportedTool, ThreadServers, resolve_reported_tool},
};

/// Segments of one turn. An item counts when Codex reports it as complete; parallel tool calls are in the order of
/// completion. When a response breaks off and is retried, Codex reports finished items again: the repetitions are
/// dropped, as often as they were reported before. An unfinished item remains unless the retry repeats its text.
#[derive(Debug, Default)]
pub(super) struct SegmentAssembler {
    segments: Vec<Segment>,
    /// Servers of the thread, which determine the owners of tools.
    servers: ThreadServers,
    usage: Option<TokenUsage>,
    rerouted: Option<String>,
    /// Token count of the thread at the last confirmed response; Codex repeats the count when a response fails.
    thread_total: Option<u64>,
    /// Items that are not yet complete, oldest first.
    open: Vec<UnfinishedItem>,
    /// Unfinished items of a response that broke off.
    cut: Vec<UnfinishedItem>,
    /// Items reported since the last confirmed response.
    reported: Vec<ItemKey>,
    /// Items that a repeated response may report again.
    repeatable: Vec<ItemKey>,
    /// Running tool calls: the number of their response, or `None` for a dropped repetition.
    running: BTreeMap<String, Option<u32>>,
    response: u32,
    room: TurnTextBudget,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemKey {
    Thinking(TextHash),
    Answer(TextHash),
    Tool(TextHash),
}

/// Hash in place of a text.
type TextHash = u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageKind {
    Thinking,
    Answer,
}

#[derive(Debug)]
struct UnfinishedItem {
    item: String,
    kind: MessageKind,
    parts: BTreeMap<u64, String>,
}

impl SegmentAssembler {
    /// `tokens` is the usage of the thread, if known.
    pub(super) fn new(servers: ThreadServers, tokens: Option<u64>) -> Self {
        Self { servers, thread_total: tokens, ..Self::default() }
    }

    /// Processes an event that Codex sent at `at` and returns the events to report: past a limit, only of the end.
    pub(super) fn apply_event(&mut self, event: CodexEvent, at: Timestamp) -> Vec<ChatEvent> {
        if self.room.exceeded_limit().is_some() {
            return Vec::new();
        }
        let mut events = self.convert_event(event, at);
        if self.room.exceeded_limit().is_some() {
            // Open items will not be completed.
            events.append(&mut self.flush_unfinished());
        }
        events
    }

    /// Returns the limit that the turn exceeded, if any. The turn must then be ended.
    pub(super) fn exceeded_limit(&self) -> Option<TurnTextLimit> {
        self.room.exceeded_limit()
    }

    fn convert_event(&mut self, event: CodexEvent, at: Timestamp) -> Vec<ChatEvent> {
        match event {
            CodexEvent::ThinkingDelta { item, part, text } => {
                self.extend_item(MessageKind::Thinking, item, part, &text);
                Vec::new()
            }
            CodexEvent::AnswerDelta { item, text } => {
                self.extend_item(MessageKind::Answer, item, 0, &text);
                Vec::new()
            }
            CodexEvent::Thinking { item, text } => {
                self.complete_item(MessageKind::Thinking, &item, text)
            }
            CodexEvent::Answer { item, text } => {
                self.complete_item(MessageKind::Answer, &item, text)
            }
            CodexEvent::ToolStarted(tool) => self.begin_tool_call(tool, at).into_iter().collect(),
            CodexEvent::ToolEnded(tool) => self.end_tool_call(tool, at),
            CodexEvent::Counted { thread_total, last } => {
                self.confirm_response(thread_total, last);
                Vec::new()
            }
            CodexEvent::Rerouted { model } => {
                self.rerouted = Some(model);
                Vec::new()
            }
            // This event ends the turn.
            CodexEvent::Unseen { .. } => Vec::new(),
            CodexEvent::Retrying => {
                self.repeatable.clone_from(&self.reported);
                self.cut.append(&mut self.open);
                Vec::new()
            }
            CodexEvent::Ended(_) => self.flush_unfinished(),
        }
    }

    /// Returns the last message of the model and its position among the segments.
    pub(super) fn last_answer(&self) -> Option<(usize, String)> {
        self.segments.iter().enumerate().rev().find_map(|(at, segment)| match segment {
            Segment::Answer { text, .. } => Some((at, text.clone())),
            Segment::Thinking { .. } | Segment::VectorSummary { .. } => None,
        })
    }

    /// Returns the absolute paths of the files that tools showed to the model.
    pub(super) fn shown_files(&self) -> HashSet<String> {
        let files = |segment: &Segment| match segment {
            Segment::VectorSummary { files } => {
                files.iter().map(|file| file.path.clone()).collect()
            }
            Segment::Thinking { .. } | Segment::Answer { .. } => Vec::new(),
        };
        self.segments.iter().flat_map(files).collect()
    }

    /// Removes the messages of the model at these positions among the segments.
    pub(super) fn forget_answers(&mut self, places: Range<usize>) {
        let mut place = 0..;
        self.segments.retain(|segment| {
            let is_there = place.next().is_some_and(|place| places.contains(&place));
            !(is_there && matches!(segment, Segment::Answer { .. }))
        });
    }

    pub(super) fn len(&self) -> usize {
        self.segments.len()
    }

    pub(super) fn truncate(&mut self, first: usize) {
        self.segments.truncate(first);
    }

    /// Adds tokens that were spent outside the thread.
    pub(super) fn add_usage(&mut self, usage: TokenUsage) {
        *self.usage.get_or_insert_default() += usage;
    }

    /// Returns the segments, the token usage, and the model that took over, if any.
    pub(super) fn into_parts(self) -> (Vec<Segment>, Option<TokenUsage>, Option<String>) {
        (self.segments, self.usage, self.rerouted)
    }

    fn extend_item(&mut self, kind: MessageKind, item: String, part: u64, text: &str) {
        let at = self.open.iter().position(|partial| partial.item == item);
        let partial = match at.and_then(|at| self.open.get_mut(at)) {
            Some(partial) => partial,
            None => self.open.push_mut(UnfinishedItem { item, kind, parts: BTreeMap::new() }),
        };
        let former_bytes = partial.byte_len();
        let into = partial.parts.entry(part).or_insert_with(|| {
            self.room.count_entry();
            String::new()
        });
        self.room.extend_text(into, former_bytes, text);
    }

    fn complete_item(&mut self, kind: MessageKind, item: &str, text: String) -> Vec<ChatEvent> {
        let at = self.open.iter().position(|partial| partial.item == item);
        let partial = at.map(|at| self.open.remove(at));
        let deltas = partial.as_ref().map(UnfinishedItem::text).unwrap_or_default();
        self.room.give_back(partial.as_ref().map_or(0, UnfinishedItem::byte_len));
        let text = if text.trim().is_empty() { deltas } else { text };
        if text.trim().is_empty() || self.is_repeated(&kind.item_key(&text)) {
            return Vec::new();
        }
        // Drops parts of the broken response that this item repeats; the others precede it.
        self.cut.retain(|partial| {
            let is_separate = partial.kind != kind || !text.starts_with(&partial.text());
            if !is_separate {
                self.room.give_back(partial.byte_len());
            }
            is_separate
        });
        let mut events = self.flush_cut();
        self.reported.push(kind.item_key(&text));
        let mut shown = String::new();
        self.room.extend_text(&mut shown, 0, &text);
        events.push(self.add_message(kind, shown));
        events
    }

    fn begin_tool_call(&mut self, tool: CodexToolCall, timestamp: Timestamp) -> Option<ChatEvent> {
        self.room.count_entry();
        if self.repeatable.contains(&compute_tool_key(&tool)) {
            self.running.insert(tool.call_id, None);
            return None;
        }
        self.running.insert(tool.call_id.clone(), Some(self.response));
        let CodexToolCall { call_id, source, name, parameters, outcome: _ } = tool;
        let ReportedTool { source, name, parameters } =
            resolve_reported_tool(&self.servers, &source, name, parameters);
        Some(ChatEvent::ToolRequest { call_id, name, source, timestamp, parameters })
    }

    fn end_tool_call(&mut self, tool: CodexToolCall, timestamp: Timestamp) -> Vec<ChatEvent> {
        let mut events = Vec::new();
        if !self.running.contains_key(&tool.call_id) {
            // The call is reported only at its end, so its request precedes the result.
            events.extend(self.begin_tool_call(tool.clone(), timestamp));
        }
        let Some(response) = self.running.remove(&tool.call_id).flatten() else {
            self.is_repeated(&compute_tool_key(&tool));
            return events;
        };
        events.splice(..0, self.flush_cut());
        if response == self.response {
            self.reported.push(compute_tool_key(&tool));
        }
        let is_ours = codeinfo_codex::is_search(&tool.source);
        // A search of commits finds no files.
        let is_of_code = tool.parameters.get("in").and_then(Value::as_str) != Some("history");
        let is_search = is_ours && tool.name == SEARCH_TOOL && is_of_code;
        let CodexToolCall { call_id, source, name, parameters, outcome } = tool;
        let ReportedTool { source, name, .. } =
            resolve_reported_tool(&self.servers, &source, name, parameters);
        let call_result = outcome.unwrap_or_else(|| Err("the call has no result".to_owned()));
        let files = match &call_result {
            Ok(result) if is_ours => parse_result_files(result),
            Ok(_) | Err(_) => None,
        };
        let (stage, result, error) = match call_result {
            Ok(_) if is_search && files.is_none() => {
                let error = "the search does not say which files it found";
                (ToolCallStage::Error, None, Some(error.to_owned()))
            }
            Ok(result) => (ToolCallStage::Success, Some(without_meta(result)), None),
            Err(error) => (ToolCallStage::Error, None, Some(error)),
        };
        events.push(ChatEvent::ToolResult {
            call_id,
            name,
            source,
            timestamp,
            stage,
            result,
            error,
        });
        // A search may have no files; other tools without files need no summary.
        if let Some(files) = files.filter(|files| is_search || !files.is_empty()) {
            self.room.spend_bytes(files.iter().map(estimate_file_bytes).sum());
            self.segments.push(Segment::VectorSummary { files: files.clone() });
            events.push(ChatEvent::VectorSummary { files });
        }
        events
    }

    /// Removes `key` from the repeatable items. Returns true if it was there.
    fn is_repeated(&mut self, key: &ItemKey) -> bool {
        let at = self.repeatable.iter().position(|reported| reported == key);
        at.map(|at| self.repeatable.swap_remove(at)).is_some()
    }

    fn confirm_response(&mut self, thread_total: u64, last: TokenUsage) {
        if self.thread_total == Some(thread_total) {
            return;
        }
        self.thread_total = Some(thread_total);
        *self.usage.get_or_insert_default() += last;
        self.reported.clear();
        self.repeatable.clear();
        self.response += 1;
    }

    /// Reports the unfinished items when no more events follow.
    fn flush_unfinished(&mut self) -> Vec<ChatEvent> {
        let mut events = self.flush_cut();
        self.cut.append(&mut self.open);
        events.append(&mut self.flush_cut());
        events
    }

    fn flush_cut(&mut self) -> Vec<ChatEvent> {
        let mut events = Vec::new();
        for partial in std::mem::take(&mut self.cut) {
            let text = partial.text();
            if !text.trim().is_empty() {
                events.push(self.add_message(partial.kind, text));
            }
        }
        events
    }

    fn add_message(&mut self, kind: MessageKind, text: String) -> ChatEvent {
        self.room.count_entry();
        match kind {
            MessageKind::Thinking => {
                self.segments.push(Segment::Thinking { text: text.clone() });
                ChatEvent::Thinking { text }
            }
            MessageKind::Answer => {
                self.segments.push(Segment::Answer { text: text.clone(), checked: None });
                ChatEvent::Answer { text }
            }
        }
    }
}

impl MessageKind {
    fn item_key(self, text: &str) -> ItemKey {
        match self {
            Self::Thinking => ItemKey::Thinking(hash_text(text)),
            Self::Answer => ItemKey::Answer(hash_text(text)),
        }
    }
}

impl UnfinishedItem {
    fn text(&self) -> String {
        self.parts.values().map(String::as_str).collect::<Vec<_>>().join("\n\n")
    }

    fn byte_len(&self) -> usize {
        self.parts.values().map(String::len).sum()
    }
}

fn compute_tool_key(tool: &CodexToolCall) -> ItemKey {
    ItemKey::Tool(hash_text(&format!("{} {} {}", tool.source, tool.name, tool.parameters)))
}

fn hash_text(text: &str) -> TextHash {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}

fn estimate_file_bytes(file: &FileSummary) -> usize {
    file.path.len() + file.rel_path.len() + file.repo.len() + 16 * file.ranges.len()
}

/// Returns the files that one of the server's own tools showed, from the metadata of its result.
fn parse_result_files(result: &Value) -> Option<Vec<FileSummary>> {
    let files = result.get("_meta").and_then(|meta| meta.get(FILES_META))?;
    serde::Deserialize::deserialize(files).ok()
}

fn without_meta(mut result: Value) -> Value {
    if let Some(fields) = result.as_object_mut() {
        fields.remove("_meta");
    }
    result
}

const MAX_SEGMENT_BYTES: usize = 1024 * 1024;
/// Maximum bytes of a turn: thinking, answers and summaries, including unfinished ones.
const MAX_TURN_BYTES: usize = 4 * 1024 * 1024;
/// Bytes that an entry counts in addition to its text, so that the number of empty entries is limited.
const ENTRY_BYTES: usize = 64;

// Codex events are truncated without a mark at the higher bound, so an overrun is noticed here.
const _: () = assert!(MAX_SEGMENT_BYTES < codeinfo_codex::MAX_TEXT_BYTES);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnTextLimit {
    Segment,
    Turn,
}

impl TurnTextLimit {
    fn cut_mark(self) -> &'static str {
        match self {
            Self::Segment => "\n\n[cut: more than 1 MiB]",
            Self::Turn => "\n\n[cut: the turn has more than 4 MiB]",
        }
    }

    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Segment => "the model wrote more than 1 MiB in one piece, and was stopped",
            Self::Turn => "the model wrote more than 4 MiB in one turn, and was stopped",
        }
    }
}

/// Used part of the limits.
#[derive(Debug, Default)]
struct TurnTextBudget {
    spent: usize,
    reached: Option<TurnTextLimit>,
}

impl TurnTextBudget {
    fn exceeded_limit(&self) -> Option<TurnTextLimit> {
        self.reached
    }

    /// Counts an entry without its text.
    fn count_entry(&mut self) {
        self.spend_bytes(ENTRY_BYTES);
    }

    fn spend_bytes(&mut self, bytes: usize) {
        self.spent += bytes;
        if self.spent > MAX_TURN_BYTES {
            self.reached.get_or_insert(TurnTextLimit::Turn);
        }
    }

    /// Releases bytes that are no longer stored.
    fn give_back(&mut self, bytes: usize) {
        self.spent = self.spent.saturating_sub(bytes);
    }

    /// Appends `more` to a text that counts `former_bytes`, truncated to the limit and marked if it exceeds it.
    fn extend_text(&mut self, text: &mut String, former_bytes: usize, more: &str) {
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

#[cfg(test)]
mod tests;
