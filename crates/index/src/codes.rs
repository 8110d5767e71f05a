//! Dense vectors quantized to twelve bits for each number.
//!
//! A search compares its vector with the upper four bits of all codes, and the best of them with whole codes, which
//! are as precise as half-precision floats: the fewer bytes a chunk takes, the sooner all are read. Every vector is
//! compared, so that nothing is built beforehand and a filter costs nothing.

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m256i;

use pulp::NullaryFnOnce;

use crate::source::decode_numbers;

/// Maximum code; the minimum is its negative.
const MAX_CODE: f32 = 2047.0;
/// Maximum of the numbers that upper bits are multiplied with.
const MAX_COARSE: f32 = 127.0;
/// Value of one unit of the upper bits.
const UPPER_UNIT: f32 = 256.0;
/// Average of the lower bits, minus the bias that makes upper bits positive.
const OFFSET: f32 = 127.5 - 8.0 * UPPER_UNIT;
/// Number of codes in a block.
const BLOCK: usize = 64;
/// Bytes of the upper bits of a block.
const HALF: usize = BLOCK / 2;
/// Number of blocks that can be summed in 16 bits: each adds at most four products of 15 and 127.
const MAX_SUMMED_BLOCKS: usize = 4;

/// Upper bits of a block with a bias of 8: the first 32 codes in the lower halves of bytes, the others in the upper.
pub(crate) type UpperBits = [u8; HALF];
/// Lower bits of a block.
type LowerBits = [u8; BLOCK];

/// Returns a vector of length 1 in the same direction; zeros stay zeros.
pub(crate) fn normalize(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
    vector.iter().map(|value| value * scale).collect()
}

/// The codes of the vectors of one segment.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct VectorCodes {
    dimensions: usize,
    /// The blocks of each vector, the last one padded with zeros.
    upper: Vec<UpperBits>,
    lower: Vec<LowerBits>,
    /// Value of one unit of the codes of each vector.
    scales: Vec<f32>,
}

impl VectorCodes {
    pub(crate) fn with_dimensions(dimensions: usize) -> Self {
        Self { dimensions, ..Self::default() }
    }

    /// Decodes the result of [`VectorCodes::encode`]; `None` if the parts contradict each other.
    pub(crate) fn decode(dimensions: usize, [upper, lower, scales]: [&[u8]; 3]) -> Option<Self> {
        let (upper, rest_of_upper) = upper.as_chunks();
        let (lower, rest_of_lower) = lower.as_chunks();
        let scales = decode_numbers(scales, f32::from_le_bytes)?;
        let (upper, lower) = (upper.to_vec(), lower.to_vec());
        let codes = Self { dimensions, upper, lower, scales };
        let blocks = codes.len().checked_mul(codes.blocks_per_row());
        let is_whole = rest_of_upper.is_empty()
            && rest_of_lower.is_empty()
            && blocks == Some(codes.upper.len())
            && blocks == Some(codes.lower.len());
        is_whole.then_some(codes)
    }

    /// Encodes the upper bits, the lower bits and the scales.
    pub(crate) fn encode(&self) -> [Vec<u8>; 3] {
        let scales = self.scales.iter().flat_map(|scale| scale.to_le_bytes()).collect();
        [self.upper.as_flattened().to_vec(), self.lower.as_flattened().to_vec(), scales]
    }

    pub(crate) fn len(&self) -> usize {
        self.scales.len()
    }

    /// Adds the codes of a vector of length 1.
    #[expect(clippy::cast_possible_truncation, reason = "a code is at most 2047 by its scale")]
    pub(crate) fn push(&mut self, vector: &[f32]) {
        let scale = vector.iter().fold(0.0_f32, |max, value| max.max(value.abs())) / MAX_CODE;
        for numbers in vector.chunks(BLOCK) {
            let (mut upper, mut lower) = ([0x88; HALF], [0; BLOCK]);
            for (number, (place, lower)) in numbers.iter().zip((0..).zip(&mut lower)) {
                let code = (number / scale).round() as i16;
                let [high, low] = code.to_be_bytes();
                *lower = low;
                if let Some(upper) = upper.get_mut(place % HALF) {
                    *upper ^= (high & 15) << (place / HALF * 4);
                }
            }
            self.upper.push(upper);
            self.lower.push(lower);
        }
        self.scales.push(scale);
    }

    pub(crate) fn extend(&mut self, other: &Self, rows: Range<usize>) {
        let blocks = rows.start * other.blocks_per_row()..rows.end * other.blocks_per_row();
        self.upper.extend(other.upper.get(blocks.clone()).into_iter().flatten());
        self.lower.extend(other.lower.get(blocks).into_iter().flatten());
        self.scales.extend(other.scales.get(rows).into_iter().flatten());
    }

    /// Writes the approximate similarities of the rows from `first` on to `similarities`, by their upper bits.
    pub(crate) fn scan(&self, to: &QueryVector, first: usize, similarities: &mut [f32]) {
        let scan = CodeScan { codes: self, to, first, similarities };
        #[cfg(target_arch = "x86_64")]
        if let Some(with) = pulp::x86::V3::try_new() {
            return with.vectorize(Avx2Scan { with, scan });
        }
        scan.call();
    }

    pub(crate) fn similarity(&self, to: &QueryVector, row: usize) -> f32 {
        let blocks = row * self.blocks_per_row()..(row + 1) * self.blocks_per_row();
        let upper = self.upper.get(blocks.clone()).unwrap_or_default();
        let lower = self.lower.get(blocks).unwrap_or_default();
        let codes = upper.iter().zip(lower);
        let sums =
            codes.zip(&to.numbers).map(|((upper, lower), to)| multiply_block(to, upper, lower));
        let scale = self.scales.get(row).copied().unwrap_or_default();
        (sums.sum::<f32>() * scale).clamp(-1.0, 1.0)
    }

    pub(crate) fn upper(&self) -> &[UpperBits] {
        &self.upper
    }

    pub(crate) fn blocks_per_row(&self) -> usize {
        self.dimensions.div_ceil(BLOCK)
    }
}

fn multiply_block(to: &[f32; BLOCK], upper: &UpperBits, lower: &LowerBits) -> f32 {
    let mut codes = [0_i16; BLOCK];
    let (first, second) = codes.split_at_mut(HALF);
    for (upper, (first, second)) in upper.iter().zip(first.iter_mut().zip(second)) {
        let upper = upper ^ 0x88;
        // The sign is in the highest bit.
        *first = i16::from_be_bytes([upper << 4, 0]) >> 4;
        *second = i16::from_be_bytes([upper & 0xf0, 0]) >> 4;
    }
    let mut lanes = [0.0; 16];
    let (to, _) = to.as_chunks::<16>();
    let ((codes, _), (lower, _)) = (codes.as_chunks::<16>(), lower.as_chunks::<16>());
    for (to, (codes, lower)) in to.iter().zip(codes.iter().zip(lower)) {
        for (lane, (to, (code, lower))) in
            lanes.iter_mut().zip(to.iter().zip(codes.iter().zip(lower)))
        {
            *lane += to * f32::from(code | i16::from(*lower));
        }
    }
    lanes.iter().sum()
}

/// A vector that codes are compared with.
#[derive(Debug)]
pub(crate) struct QueryVector {
    numbers: Vec<[f32; BLOCK]>,
    /// The numbers rounded to eight bits, and the value of one unit.
    coarse: Vec<[i8; BLOCK]>,
    scale: f32,
    /// The sum of the coarse numbers.
    sum: f32,
}

impl QueryVector {
    /// Prepares a vector of length 1.
    #[expect(clippy::cast_possible_truncation, reason = "a number is at most 127 by its scale")]
    pub(crate) fn from_unit(vector: &[f32]) -> Self {
        let max = vector.iter().fold(0.0_f32, |max, value| max.max(value.abs()));
        let scale = max / MAX_COARSE;
        let coarse: Vec<i8> = vector.iter().map(|value| (value / scale).round() as i8).collect();
        let sum = coarse.iter().map(|number| f32::from(*number)).sum();
        Self { numbers: split_into_blocks(vector), coarse: split_into_blocks(&coarse), scale, sum }
    }
}

/// Splits numbers into blocks, the last one padded with zeros.
fn split_into_blocks<T: Copy + Default>(numbers: &[T]) -> Vec<[T; BLOCK]> {
    let block = |numbers: &[T]| {
        let mut block = [T::default(); BLOCK];
        block.iter_mut().zip(numbers).for_each(|(to, number)| *to = *number);
        block
    };
    numbers.chunks(BLOCK).map(block).collect()
}

struct CodeScan<'a> {
    codes: &'a VectorCodes,
    to: &'a QueryVector,
    first: usize,
    similarities: &'a mut [f32],
}

impl CodeScan<'_> {
    /// Computes the similarities with `product`, which multiplies a row.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is compiled with what calls it")]
    #[expect(clippy::cast_precision_loss, reason = "the sum is rounded already")]
    fn fill_similarities(self, product: impl Fn(&[[i8; BLOCK]], &[UpperBits]) -> i32) {
        let Self { codes, to, first, similarities } = self;
        let rows = codes.upper.chunks_exact(codes.blocks_per_row().max(1)).skip(first);
        let (offset, scale) = (OFFSET * to.sum, to.scale);
        for ((row, row_scale), similarity) in
            rows.zip(codes.scales.iter().skip(first)).zip(similarities)
        {
            *similarity =
                (UPPER_UNIT * product(&to.coarse, row) as f32 + offset) * scale * row_scale;
        }
    }
}

impl NullaryFnOnce for CodeScan<'_> {
    type Output = ();

    #[inline]
    fn call(self) {
        self.fill_similarities(|to, row| {
            let block = |(to, upper): (&[i8; BLOCK], &UpperBits)| -> i32 {
                let (first, second) = to.split_at(HALF);
                let pairs = upper.iter().zip(first.iter().zip(second));
                let product = |(upper, (first, second)): (&u8, (&i8, &i8))| {
                    i32::from(upper & 15) * i32::from(*first)
                        + i32::from(upper >> 4) * i32::from(*second)
                };
                pairs.map(product).sum()
            };
            to.iter().zip(row).map(block).sum()
        });
    }
}

/// The loop over rows with AVX2 instructions that multiply 32 pairs at a time, which compilers do not find.
#[cfg(target_arch = "x86_64")]
struct Avx2Scan<'a> {
    with: pulp::x86::V3,
    scan: CodeScan<'a>,
}

#[cfg(target_arch = "x86_64")]
impl NullaryFnOnce for Avx2Scan<'_> {
    type Output = ();

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is compiled with what calls it")]
    fn call(self) {
        let pulp::x86::V3 { avx, avx2, .. } = self.with;
        let (ones, mask) = (avx._mm256_set1_epi16(1), avx._mm256_set1_epi8(15));
        // The sums of at most `MAX_SUMMED_BLOCKS` blocks.
        let sum_blocks = |to: &[[__m256i; 2]], row: &[UpperBits]| {
            let mut sums = avx._mm256_setzero_si256();
            for ([to_first, to_second], upper) in to.iter().zip(row) {
                let both = pulp::cast(*upper);
                let first = avx2._mm256_and_si256(both, mask);
                let second = avx2._mm256_and_si256(avx2._mm256_srli_epi16::<4>(both), mask);
                let first = avx2._mm256_maddubs_epi16(first, *to_first);
                let second = avx2._mm256_maddubs_epi16(second, *to_second);
                sums = avx2._mm256_add_epi16(sums, avx2._mm256_add_epi16(first, second));
            }
            avx2._mm256_madd_epi16(sums, ones)
        };
        let sum_lanes = |sums: __m256i| -> i32 {
            let lanes: [i32; 8] = pulp::cast(sums);
            lanes.iter().sum()
        };
        if let Ok(to) = <&[_; MAX_SUMMED_BLOCKS]>::try_from(self.scan.to.coarse.as_slice()) {
            // The numbers of the built-in model stay in registers.
            let to: [[__m256i; 2]; MAX_SUMMED_BLOCKS] = to.map(pulp::cast);
            return self.scan.fill_similarities(|_, row| {
                let Some(row) = row.first_chunk::<MAX_SUMMED_BLOCKS>() else { return 0 };
                sum_lanes(sum_blocks(&to, row))
            });
        }
        self.scan.fill_similarities(|to, row| {
            let mut sums = avx._mm256_setzero_si256();
            for (to, row) in to.chunks(MAX_SUMMED_BLOCKS).zip(row.chunks(MAX_SUMMED_BLOCKS)) {
                let mut blocks = [[sums; 2]; MAX_SUMMED_BLOCKS];
                blocks.iter_mut().zip(to).for_each(|(block, to)| *block = pulp::cast(*to));
                sums = avx2._mm256_add_epi32(sums, sum_blocks(&blocks, row));
            }
            sum_lanes(sums)
        });
    }
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
        normalize(&values.collect::<Vec<f32>>())
    }

    fn scanned(codes: &VectorCodes, to: &[f32]) -> Vec<f32> {
        let mut all = vec![0.0; codes.len()];
        let (one, rest) = all.split_at_mut(1);
        codes.scan(&QueryVector::from_unit(to), 0, one);
        codes.scan(&QueryVector::from_unit(to), 1, rest);
        all
    }

    #[test]
    fn codes_and_numbers_are_as_near_as_the_vectors() {
        for dimensions in [3, 100, 256, 4096] {
            let vectors: Vec<Vec<f32>> = (0..40).map(|seed| noise(dimensions, seed)).collect();
            let mut codes = VectorCodes::with_dimensions(dimensions);
            for vector in &vectors {
                codes.push(vector);
            }
            let to = noise(dimensions, 7);
            let rounded = QueryVector::from_unit(&to);
            for (row, (vector, scanned)) in vectors.iter().zip(scanned(&codes, &to)).enumerate() {
                let exact: f32 = to.iter().zip(vector).map(|(a, b)| a * b).sum();
                let near = if dimensions < 64 { 0.15 } else { 0.05 };
                assert!((exact - scanned).abs() < near, "{exact} {scanned}");
                let whole = codes.similarity(&rounded, row);
                assert!((exact - whole).abs() < 0.0005, "{exact} {whole}");
            }
        }
    }

    /// The plain loop and the one with AVX2.
    #[test]
    fn all_ways_to_scan_give_the_same() {
        for dimensions in [1, 63, 64, 65, 256, 700, 4096] {
            let mut codes = VectorCodes::with_dimensions(dimensions);
            (0..9).for_each(|seed| codes.push(&noise(dimensions, seed)));
            // The largest possible products.
            codes.push(&normalize(&vec![1.0; dimensions]));
            for to in [
                noise(dimensions, 7),
                normalize(&vec![1.0; dimensions]),
                normalize(&vec![-1.0; dimensions]),
            ] {
                let mut plain = vec![0.0; codes.len()];
                let rounded = QueryVector::from_unit(&to);
                CodeScan { codes: &codes, to: &rounded, first: 0, similarities: &mut plain }.call();
                assert_eq!(plain, scanned(&codes, &to));
            }
        }
    }

    #[test]
    fn the_largest_sums_fit() {
        let flat = normalize(&[1.0; 4096]);
        let mut codes = VectorCodes::with_dimensions(4096);
        codes.push(&flat);
        assert!((codes.similarity(&QueryVector::from_unit(&flat), 0) - 1.0).abs() < 1e-4);
        assert!((scanned(&codes, &flat)[0] - 1.0).abs() < 0.1);
    }

    #[test]
    fn zeros_are_near_nothing() {
        let mut codes = VectorCodes::with_dimensions(2);
        codes.push(&normalize(&[0.0, 0.0]));
        assert_eq!(scanned(&codes, &[0.6, 0.8]), [0.0]);
        assert!(codes.similarity(&QueryVector::from_unit(&[0.6, 0.8]), 0).abs() < 1e-9);
    }

    #[test]
    fn codes_come_back_from_their_bytes_and_others_are_none() {
        for dimensions in [3, 64, 130] {
            let mut codes = VectorCodes::with_dimensions(dimensions);
            codes.push(&noise(dimensions, 1));
            codes.push(&noise(dimensions, 2));
            let bytes = codes.encode();
            let [upper, lower, scales] = [&bytes[0][..], &bytes[1], &bytes[2]];
            let decode = |parts| VectorCodes::decode(dimensions, parts);
            assert_eq!(decode([upper, lower, scales]).unwrap(), codes);
            assert!(VectorCodes::decode(dimensions + 64, [upper, lower, scales]).is_none());
            assert!(decode([&upper[1..], lower, scales]).is_none());
            assert!(decode([upper, &lower[64..], scales]).is_none());
            assert!(decode([upper, lower, &scales[4..]]).is_none());
        }
    }
}
