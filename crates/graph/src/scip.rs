//! Reads SCIP indexes, in which compilers say where each name of a repository is defined.
//!
//! An `index.scip` is one message of protocol buffers, described by `scip.proto` of the SCIP
//! project, read once within fixed bounds. What its documents say counts only for files whose text
//! they fit, see [`ScipIndex::confirm_document`].

mod ranges;
mod wire;

use std::{collections::HashMap, io::Read};

pub use self::wire::ScipError;
use self::{
    ranges::{
        PositionEncoding, TextPoint, has_name, is_at_borders, locate_ranges, read_symbol_name,
    },
    wire::{WireField, WireReader},
};

/// Maximum bytes of an index, a multiple of that of the largest repositories.
pub const MAX_INDEX_BYTES: u64 = 512 << 20;
/// Maximum documents of an index.
pub const MAX_DOCUMENTS: usize = 300_000;
/// Maximum occurrences of an index.
pub const MAX_OCCURRENCES: usize = 2_000_000;
/// Maximum bytes of a path or symbol.
pub const MAX_NAME_BYTES: usize = 1_000;

const DEFINITION_ROLE: u64 = 1;
/// Marks a symbol that several documents define.
const AMBIGUOUS: OccurrenceId = OccurrenceId { document: u32::MAX, index: 0 };

/// A read index. Clones are as large as the index.
#[derive(Debug, Clone, Default)]
pub struct ScipIndex {
    documents: Vec<ScipDocument>,
    definitions: Vec<Option<OccurrenceId>>,
}

/// Occurrences of names in one file.
#[derive(Debug, Clone, Default)]
pub struct ScipDocument {
    path: String,
    encoding: PositionEncoding,
    occurrences: Vec<Occurrence>,
    names: Vec<String>,
    is_confirmed: bool,
}

/// A place in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScipPlace<'a> {
    /// Path below the folder of the index.
    pub path: &'a str,
    /// Line, counted from 1.
    pub line: u32,
    /// Column in bytes, counted from 0.
    pub column: u32,
}

/// Line and column, both counted from 0; the unit of columns is that of the document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct TextPosition {
    line: u32,
    column: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Occurrence {
    start: TextPosition,
    end: TextPosition,
    symbol: u32,
    is_definition: bool,
    /// Index of the name of a global definition.
    name: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OccurrenceId {
    document: u32,
    index: u32,
}

impl ScipIndex {
    /// Reads an index without its documents of files outside of its folder, such as generated ones.
    ///
    /// # Errors
    ///
    /// The input fails, is not a complete index, exceeds a bound of this module, or has two
    /// documents of one file.
    pub fn read(input: impl Read) -> Result<Self, ScipError> {
        let mut reader = WireReader::new(input);
        let mut symbols = SymbolTable::default();
        let mut documents = Vec::new();
        while let Some(field) = reader.read_first_field()? {
            if field.number != 2 {
                reader.skip_field(field)?;
                continue;
            }
            if documents.len() == MAX_DOCUMENTS {
                return Err(ScipError::TooMany("documents", MAX_DOCUMENTS));
            }
            let end = reader.read_end(field)?;
            documents.push(symbols.read_document(&mut reader, end)?);
        }
        documents.retain(|document: &ScipDocument| is_below_folder(&document.path));
        documents.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        let mut neighbours = documents.iter().zip(documents.iter().skip(1));
        if let Some((repeated, _)) = neighbours.find(|(one, other)| one.path == other.path) {
            return Err(ScipError::RepeatedPath(repeated.path.clone()));
        }
        let definitions = list_definitions(&documents, symbols.count);
        Ok(Self { documents, definitions })
    }

    /// Returns the documents, ordered by path.
    pub fn documents(&self) -> &[ScipDocument] {
        &self.documents
    }

    /// Returns the document of a path below the folder of the index.
    pub fn document(&self, path: &str) -> Option<&ScipDocument> {
        self.documents.get(self.find_document(path)?)
    }

    /// Returns true if a document describes this text of its file. Then its columns become bytes,
    /// and [`Self::definition_of`] answers for it until a text differs.
    pub fn confirm_document(&mut self, path: &str, text: &str) -> bool {
        let found = self.find_document(path).and_then(|place| self.documents.get_mut(place));
        found.is_some_and(|document| document.confirm_text(text))
    }

    /// Returns where the name at a place is defined. The line counts from 1, the column in bytes
    /// from 0, and the place must be the start of the name.
    ///
    /// Returns `None` for names of other packages, for symbols that several documents define or
    /// that are defined differently at this place, and if either document is not confirmed.
    pub fn definition_of(&self, path: &str, line: u32, column: u32) -> Option<ScipPlace<'_>> {
        self.locate_occurrence(self.find_definition(path, line, column)?)
    }

    /// Returns the path of the file that defines the name at a place, whose document must be confirmed.
    pub fn defining_path(&self, path: &str, line: u32, column: u32) -> Option<&str> {
        let id = self.find_definition(path, line, column)?;
        Some(self.documents.get(usize::try_from(id.document).ok()?)?.path())
    }

    fn find_definition(&self, path: &str, line: u32, column: u32) -> Option<OccurrenceId> {
        let document = self.document(path).filter(|document| document.is_confirmed)?;
        let at = TextPosition { line: line.checked_sub(1)?, column };
        let first = document.occurrences.partition_point(|occurrence| occurrence.start < at);
        let here = document.occurrences.iter().skip(first);
        let mut found = None;
        for occurrence in here.take_while(|occurrence| occurrence.start == at) {
            let symbol = usize::try_from(occurrence.symbol).ok()?;
            let Some(id) = self.definitions.get(symbol).copied().flatten() else { continue };
            if found.is_some_and(|other| other != id) {
                return None;
            }
            found = Some(id);
        }
        found
    }

    fn locate_occurrence(&self, id: OccurrenceId) -> Option<ScipPlace<'_>> {
        let document = self.documents.get(usize::try_from(id.document).ok()?)?;
        let occurrence = document.occurrences.get(usize::try_from(id.index).ok()?)?;
        let TextPosition { line, column } = occurrence.start;
        let place = ScipPlace { path: &document.path, line: line.checked_add(1)?, column };
        document.is_confirmed.then_some(place)
    }

    fn find_document(&self, path: &str) -> Option<usize> {
        self.documents.binary_search_by(|document| document.path.as_str().cmp(path)).ok()
    }
}

impl ScipDocument {
    /// Returns the path below the folder of the index.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the number of names that the document has, with those of other packages.
    pub fn occurrence_count(&self) -> usize {
        self.occurrences.len()
    }

    /// Returns true if the document describes this very text: each range lies in it, begins and
    /// ends at the border of a word, and that of each global definition holds its name.
    pub fn matches(&self, text: &str) -> bool {
        self.locate_occurrences(text).is_some()
    }

    /// Replaces columns by those in bytes, if the document describes this text.
    fn confirm_text(&mut self, text: &str) -> bool {
        self.is_confirmed = false;
        let Some(located) = self.locate_occurrences(text) else { return false };
        for (occurrence, [start, end]) in self.occurrences.iter_mut().zip(located) {
            occurrence.start.column = start.column;
            occurrence.end.column = end.column;
        }
        self.encoding = PositionEncoding::Utf8;
        self.is_confirmed = true;
        true
    }

    /// Returns where each occurrence begins and ends, if the document describes this text.
    fn locate_occurrences(&self, text: &str) -> Option<Vec<[TextPoint; 2]>> {
        self.encoding.list_candidates().iter().find_map(|encoding| {
            let located = locate_ranges(&self.occurrences, text, *encoding)?;
            let fits = self.occurrences.iter().zip(&located).all(|(occurrence, [start, end])| {
                let name =
                    occurrence.name.and_then(|name| self.names.get(usize::try_from(name).ok()?));
                is_at_borders(text, start.offset..end.offset)
                    && name.is_none_or(|name| has_name(text, start.offset..end.offset, name))
            });
            fits.then_some(located)
        })
    }
}

/// Returns the definition of each symbol: the first one of the only document that has any.
fn list_definitions(documents: &[ScipDocument], symbols: u32) -> Vec<Option<OccurrenceId>> {
    let mut definitions = vec![None; usize::try_from(symbols).unwrap_or(0)];
    for (document, file) in (0_u32..).zip(documents) {
        for (index, occurrence) in (0_u32..).zip(&file.occurrences) {
            let symbol = usize::try_from(occurrence.symbol).unwrap_or(usize::MAX);
            let Some(known) = definitions.get_mut(symbol).filter(|_| occurrence.is_definition)
            else {
                continue;
            };
            match known {
                None => *known = Some(OccurrenceId { document, index }),
                Some(first) if first.document != document => *first = AMBIGUOUS,
                Some(_) => {}
            }
        }
    }
    definitions
}

/// Numbers of the symbols that were read.
#[derive(Debug, Default)]
struct SymbolTable {
    globals: HashMap<String, u32>,
    count: u32,
    occurrences: usize,
}

impl SymbolTable {
    fn read_document<R: Read>(
        &mut self,
        reader: &mut WireReader<R>,
        end: u64,
    ) -> Result<ScipDocument, ScipError> {
        let mut document = ScipDocument::default();
        let mut locals = HashMap::new();
        while let Some(field) = reader.read_field(end)? {
            match field.number {
                1 => document.path = reader.read_name(field)?,
                2 => {
                    let end = reader.read_end(field)?;
                    let (mut occurrence, symbol) = read_occurrence(reader, end)?;
                    self.occurrences += 1;
                    if self.occurrences > MAX_OCCURRENCES {
                        return Err(ScipError::TooMany("occurrences", MAX_OCCURRENCES));
                    }
                    if symbol.is_empty() {
                        continue;
                    }
                    let is_local = symbol.starts_with("local ");
                    if occurrence.is_definition && !is_local {
                        occurrence.name = u32::try_from(document.names.len()).ok();
                        document.names.push(read_symbol_name(&symbol).unwrap_or_default());
                    }
                    let known = if is_local { &mut locals } else { &mut self.globals };
                    occurrence.symbol = *known.entry(symbol).or_insert_with(|| {
                        self.count += 1;
                        self.count - 1
                    });
                    document.occurrences.push(occurrence);
                }
                6 => {
                    let encoding = PositionEncoding::from_number(reader.read_number(field)?);
                    let fault = "an unknown unit of columns";
                    document.encoding = encoding.ok_or_else(|| reader.report_fault(fault))?;
                }
                _ => reader.skip_field(field)?,
            }
        }
        document.occurrences.sort_unstable();
        Ok(document)
    }
}

fn is_below_folder(path: &str) -> bool {
    let is_name = |part: &str| !matches!(part, "" | "." | "..");
    let is_drive = path.get(1..2) == Some(":");
    !is_drive && !path.contains(['\\', '\0']) && path.split('/').all(is_name)
}

/// Reads an occurrence, still without its number, and its symbol.
fn read_occurrence<R: Read>(
    reader: &mut WireReader<R>,
    end: u64,
) -> Result<(Occurrence, String), ScipError> {
    let mut occurrence = Occurrence::default();
    let mut symbol = String::new();
    let mut numbers = Vec::new();
    let mut typed_range = None;
    while let Some(field) = reader.read_field(end)? {
        match field.number {
            1 => reader.read_coordinates(field, &mut numbers)?,
            2 => symbol = reader.read_name(field)?,
            3 => occurrence.is_definition = reader.read_number(field)? & DEFINITION_ROLE != 0,
            8 | 9 => typed_range = Some(read_typed_range(reader, field)?),
            _ => reader.skip_field(field)?,
        }
    }
    let [line, column, end_line, end_column] = match (typed_range, numbers.as_slice()) {
        (Some(range), _) => range,
        (None, [line, first, end]) => [*line, *first, *line, *end],
        (None, [line, first, end_line, end]) => [*line, *first, *end_line, *end],
        (None, _) => return Err(reader.report_fault("a range without three or four numbers")),
    };
    occurrence.start = TextPosition { line, column };
    occurrence.end = TextPosition { line: end_line, column: end_column };
    if occurrence.end < occurrence.start {
        return Err(reader.report_fault("a range that ends before it begins"));
    }
    Ok((occurrence, symbol))
}

/// Reads the newer form of a range: a message for one line (field 8), or for several (field 9).
fn read_typed_range<R: Read>(
    reader: &mut WireReader<R>,
    field: WireField,
) -> Result<[u32; 4], ScipError> {
    let end = reader.read_end(field)?;
    let mut numbers = [0; 4];
    while let Some(part) = reader.read_field(end)? {
        let place = usize::try_from(part.number).ok().and_then(|number| number.checked_sub(1));
        match place.and_then(|place| numbers.get_mut(place)) {
            Some(number) => *number = reader.read_coordinate(part)?,
            None => reader.skip_field(part)?,
        }
    }
    let [line, first, third, last] = numbers;
    Ok(if field.number == 8 { [line, first, line, third] } else { [line, first, third, last] })
}
