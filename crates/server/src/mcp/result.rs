//! Writes a result as JSON with a line for each segment, within the size that clients keep whole.
//!
//! Clients cut longer results in the middle or after the first 500 bytes, and the answer is last.

use std::collections::HashMap;

use codeinfo_core::{CODEX_MAX_BYTES, ConversationId, FileSummary, LineRange, Segment};
use codeinfo_mcp::CLIENT_KEY;
use serde::Serialize;
use serde_json::{Map, Value};

/// Maximum number of files in all summaries together when not all fit; the best ones remain.
const MAX_FILES: usize = 20;

struct ClientBound {
    /// Part of the client's name, in lower case.
    name: &'static str,
    max_bytes: usize,
}

/// Bytes reserved for what a client adds around a result.
const MARGIN_BYTES: usize = 200;

const CLIENTS: [ClientBound; 3] = [
    // Cline 3.0.65 (`@cline/core`), 2026-11-25: shows 8,000 characters, cuts out the middle.
    ClientBound { name: "cline", max_bytes: 8_000 - MARGIN_BYTES },
    // Copilot CLI 1.0.102 (`copilot-cli`), 2026-11-25: shows 15 KB whole, of 40 KB the first 500
    // characters.
    ClientBound { name: "copilot", max_bytes: 16_000 },
    // Qwen Code 0.24.4 (`qwen-cli-mcp-client-NAME`), 2026-11-25: shows 15 KB whole, of 40 KB the
    // first 2 KB.
    ClientBound { name: "qwen", max_bytes: 16_000 },
];

/// Codex 0.169.0 (`codex-mcp-client`), 2026-11-25: shows 40,000 bytes to models that it knows, else
/// [`CODEX_MAX_BYTES`]; cuts out the middle.
const CODEX: &str = "codex";
const CODEX_KNOWN_BYTES: usize = 40_000;
const CODEX_UNKNOWN_BYTES: usize = CODEX_MAX_BYTES - MARGIN_BYTES;
const CODEX_MODELS: [&str; 4] = ["gpt-5.5", "gpt-5.6", "gpt-6", "gpt-daybreak"];
/// Member of a call's `_meta` in which Codex names its model.
const CODEX_TURN: &str = "x-codex-turn-metadata";

/// Returns the maximum bytes of a result that the client shows whole; unknown ones have no bound.
pub(super) fn max_shown_bytes(meta: &Map<String, Value>) -> usize {
    let read = |key: &str, member: &str| meta.get(key)?.get(member)?.as_str();
    let client = read(CLIENT_KEY, "name").unwrap_or_default().to_ascii_lowercase();
    if client.contains(CODEX) || meta.contains_key(CODEX_TURN) {
        let model = read(CODEX_TURN, "model").unwrap_or_default();
        let is_known = CODEX_MODELS.iter().any(|known| model.starts_with(known));
        return if is_known { CODEX_KNOWN_BYTES } else { CODEX_UNKNOWN_BYTES };
    }
    let bound = CLIENTS.iter().find(|bound| client.contains(bound.name));
    bound.map_or(usize::MAX, |bound| bound.max_bytes)
}

/// Members around the segments. Field names are a wire promise.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResultHead<'a> {
    /// Describes what the result misses of the repository in which its client works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) notice: Option<&'a str>,
    pub(super) conversation_id: Option<ConversationId>,
    pub(super) model_id: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct ResultError<'a> {
    pub(super) code: &'a str,
    pub(super) message: &'a str,
}

/// Writes a result in at most `max_bytes`, if its answer fits.
pub(super) fn write_result(
    head: &ResultHead<'_>,
    segments: &[&Segment],
    error: Option<&ResultError<'_>>,
    max_bytes: usize,
) -> Result<String, serde_json::Error> {
    let members = serde_json::to_string(head)?;
    let open = members.strip_suffix('}').unwrap_or(&members);
    let error = match error {
        Some(error) => format!(",\"error\":{}", serde_json::to_string(error)?),
        None => String::new(),
    };
    let around = format!("{open},\"segments\":[]{error}}}").len();
    let lines = fit_segments(segments, max_bytes.saturating_sub(around))?;
    let lines = if lines.is_empty() { String::new() } else { lines.join(",\n") + "\n" };
    Ok(format!("{open},\"segments\":[{lines}]{error}}}"))
}

/// Returns each segment as JSON, in at most `room` bytes with separators. Shortens thinking first,
/// then merges and drops the files of summaries. Never changes an answer.
fn fit_segments(segments: &[&Segment], room: usize) -> Result<Vec<String>, serde_json::Error> {
    let whole = SegmentLines::new(segments, None)?;
    let all = whole.with_thinking(usize::MAX)?;
    if joined_size(&all) <= room {
        return Ok(all);
    }
    let fewer = (0..=MAX_FILES).rev().map(Some);
    for files in [None].into_iter().chain(fewer) {
        let lines = SegmentLines::new(segments, files)?;
        if joined_size(&lines.with_thinking(0)?) <= room {
            return lines.with_longest_thinking(room);
        }
    }
    // With hundreds of segments, emptied ones are dropped, and finally all answers but the last.
    let answers = segments.iter().filter(|segment| matches!(segment, Segment::Answer { .. }));
    let mut lines = answers.map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    if joined_size(&lines) > room {
        lines.drain(..lines.len().saturating_sub(1));
    }
    Ok(lines)
}

fn joined_size(lines: &[String]) -> usize {
    lines.iter().map(|line| line.len() + ",\n".len()).sum()
}

/// Segments of which only the thinking is not written yet.
struct SegmentLines<'a>(Vec<SegmentLine<'a>>);

enum SegmentLine<'a> {
    Thinking(&'a str),
    Written(String),
}

impl<'a> SegmentLines<'a> {
    /// Writes all segments but thinking. `max_files` keeps only the best files of all summaries.
    fn new(segments: &[&'a Segment], max_files: Option<usize>) -> Result<Self, serde_json::Error> {
        let mut merged =
            max_files.map(|max_files| merge_summaries(segments, max_files)).unwrap_or_default();
        let lines =
            segments.iter().enumerate().map(|(place, segment)| match (segment, max_files) {
                (Segment::Thinking { text }, _) => Ok(SegmentLine::Thinking(text)),
                (Segment::VectorSummary { .. }, Some(_)) => {
                    let files = merged.remove(&place).unwrap_or_default();
                    write_without_repetition(&Segment::VectorSummary { files })
                        .map(SegmentLine::Written)
                }
                (segment, _) => serde_json::to_string(segment).map(SegmentLine::Written),
            });
        lines.collect::<Result<_, _>>().map(Self)
    }

    /// Writes all segments, with at most `chars` characters of each thinking.
    fn with_thinking(&self, chars: usize) -> Result<Vec<String>, serde_json::Error> {
        let lines = self.0.iter().map(|line| match line {
            SegmentLine::Written(line) => Ok(line.clone()),
            SegmentLine::Thinking(text) => {
                let text = match text.char_indices().nth(chars) {
                    Some((end, _)) => format!("{}…", text.split_at(end).0.trim_end()),
                    None => (*text).to_owned(),
                };
                serde_json::to_string(&Segment::Thinking { text })
            }
        });
        lines.collect()
    }

    /// Writes the longest thinking that fits. An empty thinking must fit.
    fn with_longest_thinking(&self, room: usize) -> Result<Vec<String>, serde_json::Error> {
        let mut fits = 0;
        let mut too_long = room;
        while too_long - fits > 1 {
            let chars = usize::midpoint(fits, too_long);
            if joined_size(&self.with_thinking(chars)?) <= room {
                fits = chars;
            } else {
                too_long = chars;
            }
        }
        self.with_thinking(fits)
    }
}

/// Returns the best `max_files` files of all summaries, each by the segment that ranks it best.
fn merge_summaries(segments: &[&Segment], max_files: usize) -> HashMap<usize, Vec<FileSummary>> {
    let mut files: Vec<(usize, FileSummary)> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (place, segment) in segments.iter().enumerate() {
        let Segment::VectorSummary { files: found } = segment else { continue };
        for file in found {
            let former = known.get(file.path.as_str()).and_then(|index| files.get_mut(*index));
            if let Some((former_place, former)) = former {
                merge_file(former_place, former, place, file);
            } else {
                known.insert(&file.path, files.len());
                files.push((place, file.clone()));
            }
        }
    }
    files.sort_by(|(_, one), (_, other)| other.best.total_cmp(&one.best));
    let mut by_place: HashMap<usize, Vec<FileSummary>> = HashMap::new();
    for (place, file) in files.into_iter().take(max_files) {
        by_place.entry(place).or_default().push(file);
    }
    by_place
}

/// Merges another search's file. As common chunks are unknown, the larger number counts.
fn merge_file(place: &mut usize, file: &mut FileSummary, other_place: usize, other: &FileSummary) {
    if other.best > file.best {
        (*place, file.best) = (other_place, other.best);
    }
    file.chunks = file.chunks.max(other.chunks);
    file.ranges.extend(&other.ranges);
    file.ranges.sort_unstable();
    let mut ranges: Vec<LineRange> = Vec::with_capacity(file.ranges.len());
    for range in file.ranges.drain(..) {
        match ranges.last_mut() {
            Some(last) if range.first <= last.last.saturating_add(1) => {
                last.last = last.last.max(range.last);
            }
            Some(_) | None => ranges.push(range),
        }
    }
    file.lines = ranges.iter().map(|range| range.line_count()).sum();
    file.ranges = ranges;
}

/// Writes a summary without each `relPath` that ends its `path`.
fn write_without_repetition(summary: &Segment) -> Result<String, serde_json::Error> {
    let mut summary = serde_json::to_value(summary)?;
    let files = summary.get_mut("files").and_then(Value::as_array_mut);
    for file in files.into_iter().flatten().filter_map(Value::as_object_mut) {
        let text = |name: &str| file.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("path").ends_with(text("relPath")) {
            file.retain(|name, _| name != "relPath");
        }
    }
    serde_json::to_string(&summary)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ROOM: usize = 4000;

    fn thinks(text: &str) -> Segment {
        Segment::Thinking { text: text.to_owned() }
    }

    fn answers(text: &str) -> Segment {
        Segment::Answer { text: text.to_owned(), checked: None }
    }

    fn file(name: &str, best: f64, ranges: &[(u32, u32)]) -> FileSummary {
        let ranges: Vec<LineRange> =
            ranges.iter().map(|&(first, last)| LineRange { first, last }).collect();
        FileSummary {
            path: format!("/repos/demo/src/{name}.rs"),
            rel_path: format!("src/{name}.rs"),
            repo: "demo".to_owned(),
            best,
            chunks: 1,
            lines: 1,
            ranges,
        }
    }

    fn fit(segments: &[Segment], room: usize) -> Vec<Segment> {
        let borrowed: Vec<&Segment> = segments.iter().collect();
        let lines = fit_segments(&borrowed, room).unwrap();
        assert!(joined_size(&lines) <= room, "{} bytes", joined_size(&lines));
        let read = |line: &String| {
            // `write_without_repetition` drops a `relPath` that ends its path.
            let mut value: Value = serde_json::from_str(line).unwrap();
            for file in value["files"].as_array_mut().into_iter().flatten() {
                if file["relPath"].is_null() {
                    let path = file["path"].as_str().unwrap();
                    file["relPath"] = path.trim_start_matches("/repos/demo/").into();
                }
            }
            serde_json::from_value(value).unwrap()
        };
        lines.iter().map(read).collect()
    }

    #[test]
    fn thinking_is_shortened_first_and_uses_all_the_room() {
        let summary = Segment::VectorSummary { files: vec![file("a", 0.5, &[(1, 2)])] };
        let long = "ü\n".repeat(9000);
        let segments = [thinks("short"), summary, thinks(&long), answers("\"whole\"")];
        let fitting = fit(&segments, ROOM);
        assert_eq!((&fitting[0], &fitting[1]), (&segments[0], &segments[1]));
        let Segment::Thinking { text } = &fitting[2] else { panic!("{fitting:?}") };
        assert!(text.ends_with('…') && text.len() > ROOM / 2, "{} bytes", text.len());
        assert_eq!(fitting[3], segments[3]);
        assert_eq!(fit(&fitting, ROOM), fitting);
    }

    #[test]
    fn files_are_merged_and_the_best_stay_where_thinking_leaves_no_room() {
        let many = |scale: f64| Segment::VectorSummary {
            files: (0..60)
                .map(|n| {
                    file(&format!("f{n:02}"), scale - f64::from(n) / 100.0, &[(1, 9), (5, 12)])
                })
                .collect(),
        };
        let segments = [thinks("a"), many(0.8), thinks("b"), many(0.9), answers("whole")];
        let fitting = fit(&segments, ROOM);
        let kept = |segment: &Segment| match segment {
            Segment::VectorSummary { files } => files.clone(),
            Segment::Thinking { .. } | Segment::Answer { .. } => panic!("{segment:?}"),
        };
        assert_eq!(kept(&fitting[1]), []);
        let best = kept(&fitting[3]);
        let names: Vec<&str> = best.iter().map(|file| file.rel_path.as_str()).collect();
        assert_eq!((names.len(), names[0], names[19]), (20, "src/f00.rs", "src/f19.rs"));
        assert_eq!((best[0].best, best[0].lines), (0.9, 12));
        assert_eq!(best[0].ranges, [LineRange { first: 1, last: 12 }]);
        assert_eq!(fitting[4], segments[4]);
        assert_eq!(kept(&fit(&segments, 1000)[3])[0].rel_path, "src/f00.rs");
    }

    #[test]
    fn an_answer_is_never_cut() {
        let answer = answers(&"x".repeat(9000));
        let segments: Vec<Segment> =
            vec![thinks("short"); 500].into_iter().chain([answer]).collect();
        let all: Vec<&Segment> = segments.iter().collect();
        let alone = vec![serde_json::to_string(&segments[500]).unwrap()];
        assert_eq!(fit_segments(&all, ROOM).unwrap(), alone);
        assert_eq!(fit_segments(&all, 10_000).unwrap(), alone);
        // The last of several answers remains when they do not fit together.
        let preface = answers(&"y".repeat(5000));
        let both = [&preface, &segments[500]];
        assert_eq!(fit_segments(&both, 20_000).unwrap().len(), 2);
        assert_eq!(fit_segments(&both, 10_000).unwrap(), alone);
    }

    #[test]
    fn each_segment_has_a_line_and_the_whole_is_json() {
        let head = ResultHead { notice: None, conversation_id: None, model_id: Some("m") };
        let one = thinks("a\nb");
        let two = answers("c");
        let text = write_result(&head, &[&one, &two], None, ROOM).unwrap();
        let expected = "{\"conversationId\":null,\"modelId\":\"m\",\"segments\":[\
                        {\"type\":\"thinking\",\"text\":\"a\\nb\"},\n\
                        {\"type\":\"answer\",\"text\":\"c\"}\n]}";
        assert_eq!(text, expected);
        let error = ResultError { code: "X", message: "y" };
        let text = write_result(&head, &[], Some(&error), ROOM).unwrap();
        assert!(text.ends_with("\"segments\":[],\"error\":{\"code\":\"X\",\"message\":\"y\"}}"));
        serde_json::from_str::<Value>(&text).unwrap();
    }

    #[test]
    fn a_result_fits_what_its_client_shows() {
        let max_bytes = |client: &str, model: &str| {
            let value = json!({ CLIENT_KEY: { "name": client }, CODEX_TURN: { "model": model } });
            let mut meta = value.as_object().unwrap().clone();
            if model.is_empty() {
                meta.remove(CODEX_TURN);
            }
            max_shown_bytes(&meta)
        };
        assert_eq!(max_bytes("@cline/core", ""), 7_800);
        assert_eq!(max_bytes("Cline", ""), 7_800);
        assert_eq!(max_bytes("copilot-cli", ""), 16_000);
        assert_eq!(max_bytes("qwen-cli-mcp-client-codeinfo", ""), 16_000);
        assert_eq!(max_bytes("codex-mcp-client", "gpt-6.1-sol"), 40_000);
        assert_eq!(max_bytes("codex-mcp-client", "mock-model"), 11_788);
        assert_eq!(max_bytes("codex-mcp-client", ""), 11_788);
        assert_eq!(max_bytes("", "gpt-5.5"), 40_000);
        assert_eq!(max_bytes("claude-code", ""), usize::MAX);
        assert_eq!(max_shown_bytes(&Map::new()), usize::MAX);
    }
}
