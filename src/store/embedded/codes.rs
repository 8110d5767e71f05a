//! Dense vectors: numbers of half precision on disk, and a code of one byte for each in memory.
//!
//! A search compares its vector with the codes of all chunks, and the best of them by their numbers:
//! codes are four times as fast to read as what they stand for, and rounding moves few chunks by more
//! than a place or two. Every vector is compared, so that nothing is built beforehand and a filter
//! costs nothing.

use std::ops::Range;

use half::{f16, slice::HalfFloatSliceExt};

/// Bytes of a number on disk.
pub(super) const NUMBER_BYTES: usize = size_of::<f16>();
/// The largest code; the smallest is its negative.
const LARGEST: f32 = 127.0;

/// Returns a vector of length 1 in the same direction; one of zeros stays.
pub(super) fn unit(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
    vector.iter().map(|value| value * scale).collect()
}

/// Returns a vector as it is compared with those on disk, which servers do as well: of half precision.
pub(super) fn rounded(vector: &[f32]) -> Vec<f32> {
    vector.iter().map(|value| f16::from_f32(*value).to_f32()).collect()
}

/// Returns the numbers of a vector as they lie on disk.
pub(super) fn encode(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|value| f16::from_f32(*value).to_le_bytes()).collect()
}

/// Returns the cosine similarity of two vectors of length 1, the second as it lies on disk.
pub(super) fn similarity(to: &[f32], encoded: &[u8]) -> f32 {
    let (numbers, _) = encoded.as_chunks();
    let numbers: Vec<f16> = numbers.iter().map(|bytes| f16::from_le_bytes(*bytes)).collect();
    let mut values = vec![0.0; numbers.len()];
    numbers.convert_to_f32_slice(&mut values);
    to.iter().zip(values).map(|(a, b)| a * b).sum()
}

/// The codes of the vectors of one segment.
#[derive(Debug, Default)]
pub(super) struct Codes {
    dimensions: usize,
    /// One row for each vector.
    rows: Vec<i8>,
    /// What a code of each row stands for.
    scales: Vec<f32>,
}

impl Codes {
    /// Returns the codes of no vector yet.
    pub(super) fn of(dimensions: usize) -> Self {
        Self { dimensions, rows: Vec::new(), scales: Vec::new() }
    }

    /// Takes codes as [`Codes::bytes`] gave them; `None` if they do not fit together.
    pub(super) fn decode(dimensions: usize, rows: &[u8], scales: &[u8]) -> Option<Self> {
        let (scales, rest) = scales.as_chunks();
        let scales: Vec<f32> = scales.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let is_whole = rest.is_empty() && scales.len().checked_mul(dimensions) == Some(rows.len());
        let rows = || rows.iter().map(|byte| byte.cast_signed()).collect();
        is_whole.then(|| Self { dimensions, rows: rows(), scales })
    }

    /// Returns the rows and the scales as they lie on disk.
    pub(super) fn bytes(&self) -> (Vec<u8>, Vec<u8>) {
        let rows = self.rows.iter().map(|code| code.cast_unsigned()).collect();
        (rows, self.scales.iter().flat_map(|scale| scale.to_le_bytes()).collect())
    }

    /// Returns how many vectors there are.
    pub(super) fn len(&self) -> usize {
        self.scales.len()
    }

    /// Adds the codes of a vector of length 1.
    #[expect(clippy::cast_possible_truncation, reason = "a code is at most 127 by its scale")]
    pub(super) fn push(&mut self, vector: &[f32]) {
        let scale = vector.iter().fold(0.0_f32, |most, value| most.max(value.abs())) / LARGEST;
        let codes = vector.iter().map(|value| (value / scale).round() as i8);
        self.rows.extend(codes);
        self.scales.push(scale);
    }

    /// Adds rows of another segment.
    pub(super) fn extend(&mut self, other: &Self, rows: Range<usize>) {
        let codes = rows.start * self.dimensions..rows.end * self.dimensions;
        self.rows.extend(other.rows.get(codes).into_iter().flatten());
        self.scales.extend(other.scales.get(rows).into_iter().flatten());
    }

    /// Puts the rounded similarities of rows from `first` on in `similarities`, one for each place there.
    pub(super) fn compare(&self, to: &Rounded, first: usize, similarities: &mut [f32]) {
        pulp::Arch::new().dispatch(Compare { codes: self, to, first, similarities });
    }
}

/// A vector that codes are compared with.
#[derive(Debug)]
pub(super) struct Rounded {
    values: Vec<i16>,
    scale: f32,
}

impl Rounded {
    /// Rounds a vector of length 1 as finely as sums of 32 bits allow.
    #[expect(clippy::cast_possible_truncation, reason = "a value is at most `finest`")]
    #[expect(clippy::cast_precision_loss, reason = "rounding is what this is for")]
    pub(super) fn of(vector: &[f32]) -> Self {
        let room = i32::MAX / 128 / i32::try_from(vector.len().max(1)).unwrap_or(i32::MAX);
        let finest = room.clamp(1, i32::from(i16::MAX)) as f32;
        let scale = vector.iter().fold(0.0_f32, |most, value| most.max(value.abs())) / finest;
        let values = vector.iter().map(|value| (value / scale).round() as i16).collect();
        Self { values, scale }
    }
}

/// The loop over rows, compiled for each kind of processor.
struct Compare<'a> {
    codes: &'a Codes,
    to: &'a Rounded,
    first: usize,
    similarities: &'a mut [f32],
}

impl pulp::NullaryFnOnce for Compare<'_> {
    type Output = ();

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is compiled with what calls it")]
    #[expect(clippy::cast_precision_loss, reason = "the sum is rounded already")]
    fn call(self) {
        let Self { codes: Codes { dimensions, rows, scales }, to, first, similarities } = self;
        let rows = rows.chunks_exact(*dimensions).skip(first);
        for ((row, scale), similarity) in rows.zip(scales.iter().skip(first)).zip(similarities) {
            *similarity = product(&to.values, row) as f32 * to.scale * scale;
        }
    }
}

/// Sums in lanes, which compilers turn into vector instructions.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it is compiled with what calls it")]
fn product(a: &[i16], b: &[i8]) -> i32 {
    let (a, a_rest) = a.as_chunks::<16>();
    let (b, b_rest) = b.as_chunks::<16>();
    let mut lanes = [0_i32; 16];
    for (a, b) in a.iter().zip(b) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += i32::from(*a) * i32::from(*b);
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| i32::from(*a) * i32::from(*b));
    lanes.iter().sum::<i32>() + rest.sum::<i32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A vector of length 1 that looks like noise.
    #[expect(clippy::cast_precision_loss, reason = "any number will do")]
    fn noise(dimensions: usize, seed: u64) -> Vec<f32> {
        let mut state = seed;
        let values = (0..dimensions).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        });
        unit(&values.collect::<Vec<f32>>())
    }

    fn rounded(codes: &Codes, to: &[f32]) -> Vec<f32> {
        let mut all = vec![0.0; codes.len()];
        let (one, rest) = all.split_at_mut(1);
        codes.compare(&Rounded::of(to), 0, one);
        codes.compare(&Rounded::of(to), 1, rest);
        all
    }

    #[test]
    fn codes_and_numbers_are_as_near_as_the_vectors() {
        for dimensions in [3, 256, 4096] {
            let vectors: Vec<Vec<f32>> = (0..40).map(|seed| noise(dimensions, seed)).collect();
            let mut codes = Codes::of(dimensions);
            for vector in &vectors {
                codes.push(vector);
            }
            let to = noise(dimensions, 7);
            for (vector, rounded) in vectors.iter().zip(rounded(&codes, &to)) {
                let exact: f32 = to.iter().zip(vector).map(|(a, b)| a * b).sum();
                assert!((exact - rounded).abs() < 0.01, "{exact} {rounded}");
                let stored = similarity(&to, &encode(vector));
                assert!((exact - stored).abs() < 0.001, "{exact} {stored}");
            }
        }
    }

    #[test]
    fn the_largest_sums_fit() {
        let flat = unit(&[1.0; 4096]);
        let mut codes = Codes::of(4096);
        codes.push(&flat);
        assert!((rounded(&codes, &flat)[0] - 1.0).abs() < 1e-3);
    }

    #[test]
    fn zeros_are_near_nothing() {
        let mut codes = Codes::of(2);
        codes.push(&unit(&[0.0, 0.0]));
        assert_eq!(rounded(&codes, &[0.6, 0.8]), [0.0]);
        assert_eq!(similarity(&[0.6, 0.8], &encode(&[0.0, 0.0])).to_bits(), 0);
    }

    #[test]
    fn codes_come_back_from_their_bytes_and_others_are_none() {
        let mut codes = Codes::of(3);
        codes.push(&noise(3, 1));
        codes.push(&noise(3, 2));
        let (rows, scales) = codes.bytes();
        let back = Codes::decode(3, &rows, &scales).unwrap();
        assert_eq!((back.rows, back.scales), (codes.rows, codes.scales));
        assert!(Codes::decode(2, &rows, &scales).is_none());
        assert!(Codes::decode(3, &rows, &scales[1..]).is_none());
    }
}
