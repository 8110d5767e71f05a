//! One change of the store, and its form in the journal.

use serde_json::{Map, Value};
use uuid::Uuid;

use super::super::{Collection, Field, Filter, Point, StoreError, Vectors};
use crate::domain::Sparse;

/// A change that is applied whole or, after a crash, again.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Entry {
    Upsert(Collection, Vec<Point>),
    Delete(Collection, Filter),
}

impl Entry {
    pub(super) fn collection(&self) -> Collection {
        match self {
            Self::Upsert(collection, _) | Self::Delete(collection, _) => *collection,
        }
    }

    /// Returns how many points it changes; a deletion may only say whose.
    pub(super) fn points(&self) -> usize {
        match self {
            Self::Upsert(_, points) => points.len(),
            // Without ids, whole repositories go.
            Self::Delete(_, filter) => filter.ids.as_ref().map_or(usize::MAX, Vec::len),
        }
    }
}

const UPSERT: u8 = 0;
const DELETE: u8 = 1;
/// A deletion that names points before its conditions.
const DELETE_NAMED: u8 = 2;

/// Returns the journal form of an entry.
pub(super) fn encode(entry: &Entry) -> Result<Vec<u8>, StoreError> {
    let mut out = Encoder(Vec::new());
    let kind = match entry {
        Entry::Upsert(..) => UPSERT,
        Entry::Delete(_, filter) if filter.ids.is_some() => DELETE_NAMED,
        Entry::Delete(..) => DELETE,
    };
    out.0.extend([kind, code(&Collection::ALL, &entry.collection())]);
    match entry {
        Entry::Upsert(_, points) => {
            out.length(points.len());
            for point in points {
                out.point(point)?;
            }
        }
        Entry::Delete(_, filter) => {
            if let Some(ids) = &filter.ids {
                out.ids(ids);
            }
            out.conditions(&filter.must);
            out.conditions(&filter.must_not);
        }
    }
    Ok(out.0)
}

/// Reads an entry back; `None` if it was not written by [`encode`].
pub(super) fn decode(bytes: &[u8]) -> Option<Entry> {
    let mut input = Decoder(bytes);
    let kind = input.byte()?;
    let collection = *Collection::ALL.get(usize::from(input.byte()?))?;
    let entry = match kind {
        UPSERT => {
            let count = input.length()?;
            Entry::Upsert(collection, (0..count).map(|_| input.point()).collect::<Option<_>>()?)
        }
        DELETE | DELETE_NAMED => {
            let ids = if kind == DELETE { None } else { Some(input.ids()?) };
            let (must, must_not) = (input.conditions()?, input.conditions()?);
            Entry::Delete(collection, Filter { ids, must, must_not })
        }
        _ => return None,
    };
    input.0.is_empty().then_some(entry)
}

fn code<T: PartialEq>(all: &[T], one: &T) -> u8 {
    let position = all.iter().position(|other| other == one);
    position.and_then(|position| u8::try_from(position).ok()).unwrap_or(u8::MAX)
}

struct Encoder(Vec<u8>);

impl Encoder {
    fn length(&mut self, length: usize) {
        self.0.extend((length as u64).to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.0.extend(bytes);
    }

    fn floats(&mut self, values: &[f32]) {
        self.words(values.iter().map(|value| value.to_le_bytes()));
    }

    fn words(&mut self, words: impl ExactSizeIterator<Item = [u8; 4]>) {
        self.length(words.len());
        self.0.reserve(4 * words.len());
        for word in words {
            self.0.extend_from_slice(&word);
        }
    }

    fn ids(&mut self, ids: &[Uuid]) {
        self.length(ids.len());
        for id in ids {
            self.0.extend_from_slice(id.as_bytes());
        }
    }

    fn point(&mut self, point: &Point) -> Result<(), StoreError> {
        self.0.extend(point.id.as_bytes());
        self.bytes(&serde_json::to_vec(&point.payload)?);
        self.0.push(u8::from(point.vectors.is_some()));
        if let Some(vectors) = &point.vectors {
            self.floats(&vectors.dense);
            self.words(vectors.sparse.indices.iter().map(|index| index.to_le_bytes()));
            self.floats(&vectors.sparse.values);
        }
        Ok(())
    }

    fn conditions(&mut self, conditions: &[(Field, Vec<String>)]) {
        self.length(conditions.len());
        for (field, values) in conditions {
            self.0.push(code(&Field::ALL, field));
            self.length(values.len());
            for value in values {
                self.bytes(value.as_bytes());
            }
        }
    }
}

struct Decoder<'a>(&'a [u8]);

impl<'a> Decoder<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.array()?)).ok()
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        let (first, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(first)
    }

    fn words(&mut self) -> Option<impl Iterator<Item = [u8; 4]> + 'a> {
        let length = self.length()?.checked_mul(4)?;
        let (first, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(first.chunks_exact(4).filter_map(|word| word.try_into().ok()))
    }

    fn floats(&mut self) -> Option<Vec<f32>> {
        Some(self.words()?.map(f32::from_le_bytes).collect())
    }

    fn point(&mut self) -> Option<Point> {
        let id = Uuid::from_bytes(self.array()?);
        let payload: Map<String, Value> = serde_json::from_slice(self.bytes()?).ok()?;
        let vectors = if self.byte()? == 0 { None } else { Some(self.vectors()?) };
        Some(Point { id, payload, vectors })
    }

    fn vectors(&mut self) -> Option<Vectors> {
        let dense = self.floats()?;
        let indices = self.words()?.map(u32::from_le_bytes).collect();
        Some(Vectors { dense, sparse: Sparse { indices, values: self.floats()? } })
    }

    fn ids(&mut self) -> Option<Vec<Uuid>> {
        let count = self.length()?;
        (0..count).map(|_| Some(Uuid::from_bytes(self.array()?))).collect()
    }

    fn conditions(&mut self) -> Option<Vec<(Field, Vec<String>)>> {
        let count = self.length()?;
        (0..count)
            .map(|_| {
                let field = *Field::ALL.get(usize::from(self.byte()?))?;
                let values = self.length()?;
                let values = (0..values)
                    .map(|_| String::from_utf8(self.bytes()?.to_vec()).ok())
                    .collect::<Option<_>>()?;
                Some((field, values))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_come_back_as_they_were() {
        let payload = json!({"root": "r", "text": "\u{1F980}"}).as_object().unwrap().clone();
        let sparse = Sparse { indices: vec![3, 9], values: vec![0.5, 2.0] };
        let vectors = Some(Vectors { dense: vec![1.0, -0.25], sparse });
        let points = vec![
            Point { id: Uuid::from_u128(7), payload: payload.clone(), vectors },
            Point { id: Uuid::from_u128(8), payload, vectors: None },
        ];
        let filter = Filter::default()
            .with(Field::Root, ["a".to_owned()])
            .without(Field::Version, ["b".to_owned(), String::new()]);
        let named = Filter { ids: Some(vec![Uuid::from_u128(7)]), ..filter.clone() };
        for entry in [
            Entry::Upsert(Collection::Chunks, points),
            Entry::Delete(Collection::Roots, filter),
            Entry::Delete(Collection::Chunks, named),
        ] {
            let bytes = encode(&entry).unwrap();
            assert_eq!(decode(&bytes), Some(entry));
            assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
        }
    }
}
