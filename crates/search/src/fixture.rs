//! Hits, records and candidates for the unit tests of this crate.

use std::{ops::RangeInclusive, path::PathBuf};

use codeinfo_chunk::ChunkKind;
use codeinfo_lang::role;

use super::candidate::SearchCandidate;
use codeinfo_core::{ChunkRecord, Hit, IndexCounts, Root, RootId, ScoreParts};
use uuid::Uuid;

pub(super) fn hit(path: &str, lines: RangeInclusive<u32>, score: f64) -> Hit {
    let chunk: Vec<String> = lines.clone().map(|line| format!("line {line}")).collect();
    Hit {
        repo: "demo".to_owned(),
        rel_path: path.to_owned(),
        path: format!("/repos/demo/{path}"),
        start_line: *lines.start(),
        end_line: *lines.end(),
        symbol: Some("Store::open".to_owned()),
        language: Some("rust".to_owned()),
        score,
        chunk: chunk.join("\n"),
        chunk_id: format!("{path}:{}", lines.start()),
        model_id: "code-static-1@1".to_owned(),
        line_count: lines.end() - lines.start() + 1,
        signature: None,
        parts: ScoreParts::default(),
        also_in: Vec::new(),
        host: None,
        only_in: None,
    }
}

/// Returns a root with the name of its folder.
pub(super) fn root(path: &str) -> Root {
    let counts = IndexCounts { files: 1, chunks: 20, embedded: 20 };
    Root { counts, ..Root::from_folder(PathBuf::from(path)) }
}

pub(super) fn record(path: &str, symbol: Option<&str>, text: &str) -> ChunkRecord {
    ChunkRecord {
        root: RootId(Uuid::nil()),
        path: path.to_owned(),
        version: "v1".to_owned(),
        indexed_at_ms: 1,
        start_line: 1,
        end_line: 1,
        symbol: symbol.map(str::to_owned),
        kind: ChunkKind::default(),
        defines: Vec::new(),
        bases: Vec::new(),
        roles: role::detect_roles(path).collect(),
        language: None,
        signature: None,
        text: text.to_owned(),
    }
}

pub(super) fn candidate(id: u128, record: ChunkRecord, score: f32) -> SearchCandidate {
    SearchCandidate { score, ..SearchCandidate::unscored(Uuid::from_u128(id), record, Vec::new()) }
}
