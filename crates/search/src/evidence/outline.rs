//! Returns the definitions of a file or folder.

use codeinfo_core::{FileRecord, Root, RootFilter, hash, list_omissions};

use super::{
    Evidence, EvidenceError,
    folder::{self, FolderOutline},
    place::{IndexedFile, ResolvedPath},
};

/// Maximum lines from the first line of a definition to its name.
const HEAD_LINES: usize = 4;
/// Maximum bytes of the head of a definition.
const MAX_HEAD_BYTES: usize = 200;

/// Outline of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outline {
    /// The path is a file.
    File {
        /// The file.
        file: IndexedFile,
        /// Lower-case name of its language.
        language: Option<String>,
        /// Number of the last line that is not blank.
        lines: u32,
        /// Definitions in the order of their lines.
        definitions: Vec<OutlineEntry>,
    },
    /// The path is a folder.
    Folder(FolderOutline),
}

/// A definition, or a section under a heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineEntry {
    /// First line, counted from 1.
    pub first: u32,
    /// Last line, inclusive.
    pub last: u32,
    /// Number of definitions around it.
    pub depth: usize,
    /// First line, indented as in the file, with further lines up to the name of the definition.
    pub head: String,
}

impl Evidence {
    /// Returns the definitions of a file or folder as it was indexed.
    pub async fn load_outline(
        &self,
        path: &str,
        within: RootFilter,
    ) -> Result<Outline, EvidenceError> {
        match self.resolve_path(path, within).await? {
            ResolvedPath::File(root, record) => self.outline_file(path, &root, &record).await,
            ResolvedPath::Folder(root, folder, files) => {
                let shown = self.display_path(&root, &folder);
                let wanted = folder::select_key_files(&files);
                let snapshots = self.load_snapshots(wanted).await?;
                let omitted = root.omitted.filter_below(&folder);
                let left_out = list_omissions(omitted.groups(), &[]);
                let found = folder::build_folder_outline(shown, &folder, &files, &snapshots);
                Ok(Outline::Folder(FolderOutline { left_out, ..found }))
            }
        }
    }

    async fn outline_file(
        &self,
        asked: &str,
        root: &Root,
        record: &FileRecord,
    ) -> Result<Outline, EvidenceError> {
        if record.chunks == 0 {
            let rule = hash::split_omitted(&record.version).1;
            return Err(EvidenceError::NoContent(asked.to_owned(), rule));
        }
        let snapshot = self
            .load_snapshot(record)
            .await?
            .ok_or_else(|| EvidenceError::InProgress(asked.to_owned()))?;
        let file = self.to_indexed_file(root, &record.path);
        let outline = move || {
            let text = snapshot.text();
            let language = snapshot.language();
            let lines: Vec<&str> = text.lines().collect();
            let known = codeinfo_chunk::list_definitions(language, &text);
            let entry = |definition: codeinfo_chunk::Definition| {
                let head = read_definition_head(&lines, &definition);
                let codeinfo_chunk::Definition { first, last, depth, .. } = definition;
                OutlineEntry { first, last, depth, head }
            };
            Outline::File {
                file,
                language: language.map(|language| language.name.to_owned()),
                lines: u32::try_from(lines.len()).unwrap_or(u32::MAX),
                definitions: known.into_iter().map(entry).collect(),
            }
        };
        self.run_blocking(outline).await
    }
}

/// Returns the first lines of a definition, joined, up to the one with its name.
fn read_definition_head(lines: &[&str], definition: &codeinfo_chunk::Definition) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let name = definition.symbol.rsplit(|c: char| !is_word(c)).find(|part| !part.is_empty());
    let at = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
    let from = at(definition.first.saturating_sub(1));
    let own = lines.get(from..at(definition.last)).unwrap_or_default();
    let mut head = String::new();
    for line in own.iter().take(HEAD_LINES) {
        if head.is_empty() {
            head.push_str(line.trim_end());
        } else {
            head.extend([" ", line.trim()]);
        }
        if name.is_none_or(|name| head.contains(name)) {
            head.truncate(head.floor_char_boundary(MAX_HEAD_BYTES));
            return head;
        }
    }
    let first = own.first().copied().unwrap_or_default();
    first.get(..first.floor_char_boundary(MAX_HEAD_BYTES)).unwrap_or_default().trim_end().to_owned()
}
