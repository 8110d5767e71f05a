//! Table of the model in the binary: one int8 row, a scale and a query weight per sub-word.

use super::vocabulary::SubwordVocabulary;
use crate::EmbedError;

/// Length of each vector.
pub const DIMENSIONS: usize = 256;

static WORDS: &str = include_str!("../../assets/code-static-1/vocab.txt");
static ROWS: &[u8] = include_bytes!("../../assets/code-static-1/table_i8.npy");
static SCALES: &[u8] = include_bytes!("../../assets/code-static-1/scale_f32.npy");
static QUERY_WEIGHTS: &[u8] = include_bytes!("../../assets/code-static-1/query_f32.npy");
static NEAR: &[u8] = include_bytes!("../../assets/code-static-1/near_u16.npy");
static NEAR_SHARES: &[u8] = include_bytes!("../../assets/code-static-1/near_u8.npy");

/// Maximum similar words per sub-word.
const NEAR_WORDS: usize = 8;

pub(super) struct SubwordTable {
    pub(super) vocabulary: SubwordVocabulary,
    rows: &'static [[u8; DIMENSIONS]],
    scales: RowScales,
    query_scales: RowScales,
    /// Ids of similar words, nearest first.
    near: &'static [[[u8; 2]; NEAR_WORDS]],
    /// Similarity of each of these words in 255ths.
    near_shares: &'static [[u8; NEAR_WORDS]],
}

type RowScales = Vec<f32>;
pub(super) type WideRow = [i16; DIMENSIONS];

/// Side of a search. A word that is informative in code may not be in a question.
#[derive(Clone, Copy)]
pub(super) enum EmbeddingSide {
    Document,
    Query,
}

impl SubwordTable {
    /// Loads the files in the binary. Only the vocabulary and the scales take memory.
    pub(super) fn load() -> Result<Self, EmbedError> {
        let vocabulary = SubwordVocabulary::new(WORDS)?;
        let words = vocabulary.len();
        let rows = parse_numpy_array(ROWS, "|i1", &format!("({words}, {DIMENSIONS})"))?;
        let (rows, half_row) = rows.as_chunks();
        if rows.len() != words {
            return Err(EmbedError::Damaged("a table does not have a row for each sub-word"));
        }
        if !half_row.is_empty() {
            return Err(EmbedError::Damaged("a table continues after its last row"));
        }
        let scales = parse_numbers(SCALES, words)?;
        let weights = parse_numbers(QUERY_WEIGHTS, words)?;
        let query_scales =
            scales.iter().zip(weights).map(|(scale, weight)| scale * weight).collect();
        let shape = format!("({words}, {NEAR_WORDS})");
        let (near, _) = parse_numpy_array(NEAR, "<u2", &shape)?.as_chunks().0.as_chunks();
        let (near_shares, _) = parse_numpy_array(NEAR_SHARES, "|u1", &shape)?.as_chunks();
        if near.len() != words || near_shares.len() != words {
            return Err(EmbedError::Damaged("a table does not have a row for each sub-word"));
        }
        Ok(Self { vocabulary, rows, scales, query_scales, near, near_shares })
    }

    /// Returns words with a meaning similar to sub-word `id`, nearest first, with their similarity.
    pub(super) fn similar_words(&self, id: u32) -> impl Iterator<Item = (&'static str, f32)> {
        let ids = self.near.get(id as usize);
        let shares = self.near_shares.get(id as usize);
        let each = ids.into_iter().flatten().zip(shares.into_iter().flatten());
        each.filter(|(_, share)| **share > 0).filter_map(|(id, share)| {
            let word = self.vocabulary.find_word(u16::from_le_bytes(*id).into())?;
            Some((word, f32::from(*share) / 255.0))
        })
    }

    pub(super) fn query_scale(&self, id: u32) -> f32 {
        self.query_scales.get(id as usize).copied().unwrap_or_default()
    }

    /// Returns the row of sub-word `id` without its scale, as numbers whose products are summed in pairs.
    pub(super) fn widen_row(&self, id: u32) -> WideRow {
        let row = self.rows.get(id as usize).unwrap_or(&[0; DIMENSIONS]);
        row.map(|byte| i16::from(byte.cast_signed()))
    }

    /// Adds `weight` times the vector of sub-word `id` on a side to `sum`.
    pub(super) fn add_vector(
        &self,
        id: u32,
        side: EmbeddingSide,
        weight: f32,
        sum: &mut [f32; DIMENSIONS],
    ) {
        let scales = match side {
            EmbeddingSide::Document => &self.scales,
            EmbeddingSide::Query => &self.query_scales,
        };
        // An id comes from the vocabulary, which has exactly one row and one scale per id.
        let place = id as usize;
        let (Some(row), Some(scale)) = (self.rows.get(place), scales.get(place)) else {
            return;
        };
        let factor = weight * scale;
        for (total, byte) in sum.iter_mut().zip(row) {
            *total += factor * f32::from(byte.cast_signed());
        }
    }
}

pub(super) fn multiply_rows(row: &WideRow, others: &[WideRow]) -> Vec<f32> {
    let multiply = |other: &WideRow| {
        let products = row.iter().zip(other).map(|(a, b)| i32::from(*a) * i32::from(*b));
        #[expect(clippy::cast_precision_loss, reason = "the sum is at most 2^22")]
        let product = products.sum::<i32>() as f32;
        product
    };
    pulp::Arch::new().dispatch(|| others.iter().map(multiply).collect())
}

fn parse_numbers(file: &[u8], words: usize) -> Result<RowScales, EmbedError> {
    let (numbers, half_number) =
        parse_numpy_array(file, "<f4", &format!("({words},)"))?.as_chunks();
    if numbers.len() != words {
        return Err(EmbedError::Damaged("a table does not have a number for each sub-word"));
    }
    if !half_number.is_empty() {
        return Err(EmbedError::Damaged("a table continues after its last number"));
    }
    let numbers: RowScales = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    if numbers.iter().any(|number| !number.is_finite()) {
        return Err(EmbedError::Damaged("a scale is not a number"));
    }
    Ok(numbers)
}

/// Returns the raw content of a `NumPy` file of C-ordered values of one type and shape, in the format of
/// <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.
fn parse_numpy_array<'a>(file: &'a [u8], kind: &str, shape: &str) -> Result<&'a [u8], EmbedError> {
    const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";
    let damaged = || EmbedError::Damaged("a table is not a NumPy file of version 1");
    let sized = file.strip_prefix(MAGIC).ok_or_else(damaged)?;
    let (size, rest) = sized.split_first_chunk().ok_or_else(damaged)?;
    let size = usize::from(u16::from_le_bytes(*size));
    let (header, content) = rest.split_at_checked(size).ok_or_else(damaged)?;
    let header = std::str::from_utf8(header).map_err(|_| damaged())?;
    let expected = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    if header.trim_end() != expected {
        return Err(EmbedError::Damaged("a table has another type or shape"));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_kind_version_shape_or_length_is_damaged() {
        assert_eq!(parse_numpy_array(SCALES, "<f4", "(40000,)").unwrap().len(), 4 * 40_000);
        let truncated = SCALES.get(..40).unwrap();
        for (file, kind, shape) in [
            (SCALES, "<f8", "(40000,)"),
            (SCALES, "<f4", "(40001,)"),
            (truncated, "<f4", "(40000,)"),
            (b"\x93NUMPY\x02\x00".as_slice(), "<f4", "(40000,)"),
            (b"", "<f4", "(40000,)"),
        ] {
            assert!(matches!(parse_numpy_array(file, kind, shape), Err(EmbedError::Damaged(_))));
        }
    }
}
