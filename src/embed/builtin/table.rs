//! The model's table: one int8 row and one scale for each sub-word, compiled into the binary.

use super::{super::EmbedError, vocabulary::Vocabulary};

/// Length of each vector.
pub(super) const DIMENSIONS: usize = 256;

static WORDS: &str = include_str!("../../../assets/code-static-0/vocab.txt");
static ROWS: &[u8] = include_bytes!("../../../assets/code-static-0/table_i8.npy");
static SCALES: &[u8] = include_bytes!("../../../assets/code-static-0/scale_f32.npy");

/// The sub-words and their vectors.
pub(super) struct Table {
    pub(super) vocabulary: Vocabulary,
    rows: &'static [[u8; DIMENSIONS]],
    scales: Vec<f32>,
}

impl Table {
    /// Reads the files in the binary; only the vocabulary and the scales take memory.
    pub(super) fn load() -> Result<Self, EmbedError> {
        let vocabulary = Vocabulary::new(WORDS)?;
        let words = vocabulary.len();
        let rows = array(ROWS, "|i1", &format!("({words}, {DIMENSIONS})"))?;
        let scales = array(SCALES, "<f4", &format!("({words},)"))?;
        let (rows, half_row) = rows.as_chunks();
        let (scales, half_scale) = scales.as_chunks();
        if rows.len() != words || scales.len() != words {
            return Err(EmbedError::Damaged("a table does not have a row for each sub-word"));
        }
        if !half_row.is_empty() || !half_scale.is_empty() {
            return Err(EmbedError::Damaged("a table goes on behind its last row"));
        }
        let scales: Vec<f32> = scales.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        if scales.iter().any(|scale| !scale.is_finite()) {
            return Err(EmbedError::Damaged("a scale is not a number"));
        }
        Ok(Self { vocabulary, rows, scales })
    }

    /// Adds `weight` times the vector of sub-word `id` to `sum`.
    pub(super) fn add(&self, id: u32, weight: f32, sum: &mut [f32; DIMENSIONS]) {
        // An id comes from the vocabulary, which has exactly one row and scale for each.
        let place = id as usize;
        let (Some(row), Some(scale)) = (self.rows.get(place), self.scales.get(place)) else {
            return;
        };
        let factor = weight * scale;
        for (total, byte) in sum.iter_mut().zip(row) {
            *total += factor * f32::from(byte.cast_signed());
        }
    }
}

/// Returns the raw content of a `NumPy` file, which must hold C-ordered values of one type and shape.
/// The format is described at <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.
fn array<'a>(file: &'a [u8], kind: &str, shape: &str) -> Result<&'a [u8], EmbedError> {
    const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";
    let damaged = || EmbedError::Damaged("a table is not a NumPy file of version 1");
    let sized = file.strip_prefix(MAGIC).ok_or_else(damaged)?;
    let (size, rest) = sized.split_first_chunk().ok_or_else(damaged)?;
    let size = usize::from(u16::from_le_bytes(*size));
    let (header, content) = rest.split_at_checked(size).ok_or_else(damaged)?;
    let header = std::str::from_utf8(header).map_err(|_| damaged())?;
    let wanted = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    if header.trim_end() != wanted {
        return Err(EmbedError::Damaged("a table has another type or shape"));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_kind_version_shape_or_length_is_damaged() {
        assert_eq!(array(SCALES, "<f4", "(33935,)").unwrap().len(), 4 * 33_935);
        let truncated = SCALES.get(..40).unwrap();
        for (file, kind, shape) in [
            (SCALES, "<f8", "(33935,)"),
            (SCALES, "<f4", "(33936,)"),
            (truncated, "<f4", "(33935,)"),
            (b"\x93NUMPY\x02\x00".as_slice(), "<f4", "(33935,)"),
            (b"", "<f4", "(33935,)"),
        ] {
            assert!(matches!(array(file, kind, shape), Err(EmbedError::Damaged(_))));
        }
    }
}
