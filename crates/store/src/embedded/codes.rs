//! Dense vectors as codes of twelve bits for each number.
//!
//! A search compares its vector with the upper four bits of the codes of all chunks, and the best of them
//! with whole codes, which say as much as numbers of half precision: the fewer bytes a chunk takes, the
//! sooner all are read. Every vector is compared, so that nothing is built beforehand and a filter costs
//! nothing.

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m256i;

use pulp::NullaryFnOnce;

use super::numbers;

/// The largest code; the smallest is its negative.
const LARGEST: f32 = 2047.0;
/// The largest number that upper bits are multiplied with.
const LARGEST_COARSE: f32 = 127.0;
/// What upper bits count.
const UPPER: f32 = 256.0;
/// What lower bits are on average, less what makes upper bits positive.
const OFFSET: f32 = 127.5 - 8.0 * UPPER;
/// How many codes lie together.
const BLOCK: usize = 64;
/// How many bytes their upper bits have.
const HALF: usize = BLOCK / 2;
/// How many blocks can be summed in 16 bits: each adds at most four products of 15 and 127.
const SUMMED: usize = 4;

/// Upper bits of a block: of the first 32 codes in the lower half of each byte, of the others in the upper.
/// 8 is added, so that none are negative.
type Upper = [u8; HALF];
/// Lower bits of a block.
type Lower = [u8; BLOCK];

/// Returns a vector of length 1 in the same direction; one of zeros stays.
pub(super) fn unit(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
    vector.iter().map(|value| value * scale).collect()
}

/// The codes of the vectors of one segment.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Codes {
    dimensions: usize,
    /// As many blocks for each vector as it takes; what is beyond its end is zero.
    upper: Vec<Upper>,
    lower: Vec<Lower>,
    /// What a code of each vector stands for.
    scales: Vec<f32>,
}

impl Codes {
    /// Returns the codes of no vector yet.
    pub(super) fn of(dimensions: usize) -> Self {
        Self { dimensions, ..Self::default() }
    }

    /// Takes codes as [`Codes::bytes`] gave them; `None` if they do not fit together.
    pub(super) fn decode(dimensions: usize, [upper, lower, scales]: [&[u8]; 3]) -> Option<Self> {
        let (upper, rest_of_upper) = upper.as_chunks();
        let (lower, rest_of_lower) = lower.as_chunks();
        let scales = numbers::f32s(scales)?;
        let (upper, lower) = (upper.to_vec(), lower.to_vec());
        let codes = Self { dimensions, upper, lower, scales };
        let blocks = codes.len().checked_mul(codes.blocks());
        let is_whole = rest_of_upper.is_empty()
            && rest_of_lower.is_empty()
            && blocks == Some(codes.upper.len())
            && blocks == Some(codes.lower.len());
        is_whole.then_some(codes)
    }

    /// Returns the upper bits, the lower ones and the scales as they lie on disk.
    pub(super) fn bytes(&self) -> [Vec<u8>; 3] {
        let scales = self.scales.iter().flat_map(|scale| scale.to_le_bytes()).collect();
        [self.upper.as_flattened().to_vec(), self.lower.as_flattened().to_vec(), scales]
    }

    /// Returns how many vectors there are.
    pub(super) fn len(&self) -> usize {
        self.scales.len()
    }

    /// Adds the codes of a vector of length 1.
    #[expect(clippy::cast_possible_truncation, reason = "a code is at most 2047 by its scale")]
    pub(super) fn push(&mut self, vector: &[f32]) {
        let scale = vector.iter().fold(0.0_f32, |most, value| most.max(value.abs())) / LARGEST;
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

    /// Adds rows of another segment.
    pub(super) fn extend(&mut self, other: &Self, rows: Range<usize>) {
        let blocks = rows.start * other.blocks()..rows.end * other.blocks();
        self.upper.extend(other.upper.get(blocks.clone()).into_iter().flatten());
        self.lower.extend(other.lower.get(blocks).into_iter().flatten());
        self.scales.extend(other.scales.get(rows).into_iter().flatten());
    }

    /// Puts the similarities of rows from `first` on, as far as upper bits say, in `similarities`, one for
    /// each place there.
    pub(super) fn scan(&self, to: &Rounded, first: usize, similarities: &mut [f32]) {
        let scan = Scan { codes: self, to, first, similarities };
        #[cfg(target_arch = "x86_64")]
        if let Some(with) = pulp::x86::V3::try_new() {
            return with.vectorize(ScanAvx2 { with, scan });
        }
        scan.call();
    }

    /// Returns the cosine similarity of a row.
    pub(super) fn similarity(&self, to: &Rounded, row: usize) -> f32 {
        let blocks = row * self.blocks()..(row + 1) * self.blocks();
        let upper = self.upper.get(blocks.clone()).unwrap_or_default();
        let lower = self.lower.get(blocks).unwrap_or_default();
        let codes = upper.iter().zip(lower);
        let sums = codes.zip(&to.numbers).map(|((upper, lower), to)| product(to, upper, lower));
        let scale = self.scales.get(row).copied().unwrap_or_default();
        (sums.sum::<f32>() * scale).clamp(-1.0, 1.0)
    }

    /// Returns how many blocks a row has.
    fn blocks(&self) -> usize {
        self.dimensions.div_ceil(BLOCK)
    }
}

/// Multiplies numbers with the codes of a block.
fn product(to: &[f32; BLOCK], upper: &Upper, lower: &Lower) -> f32 {
    let mut codes = [0_i16; BLOCK];
    let (first, second) = codes.split_at_mut(HALF);
    for (upper, (first, second)) in upper.iter().zip(first.iter_mut().zip(second)) {
        let upper = upper ^ 0x88;
        // Their sign is in the highest bit.
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
pub(super) struct Rounded {
    numbers: Vec<[f32; BLOCK]>,
    /// Rounded to eight bits, and what these stand for.
    coarse: Vec<[i8; BLOCK]>,
    scale: f32,
    /// The sum of the coarse numbers.
    sum: f32,
}

impl Rounded {
    /// Prepares a vector of length 1.
    #[expect(clippy::cast_possible_truncation, reason = "a number is at most 127 by its scale")]
    pub(super) fn of(vector: &[f32]) -> Self {
        let most = vector.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        let scale = most / LARGEST_COARSE;
        let coarse: Vec<i8> = vector.iter().map(|value| (value / scale).round() as i8).collect();
        let sum = coarse.iter().map(|number| f32::from(*number)).sum();
        Self { numbers: blocks(vector), coarse: blocks(&coarse), scale, sum }
    }
}

/// Cuts numbers into blocks, the last one filled up with zeros.
fn blocks<T: Copy + Default>(numbers: &[T]) -> Vec<[T; BLOCK]> {
    let block = |numbers: &[T]| {
        let mut block = [T::default(); BLOCK];
        block.iter_mut().zip(numbers).for_each(|(to, number)| *to = *number);
        block
    };
    numbers.chunks(BLOCK).map(block).collect()
}

/// The loop over rows.
struct Scan<'a> {
    codes: &'a Codes,
    to: &'a Rounded,
    first: usize,
    similarities: &'a mut [f32],
}

impl Scan<'_> {
    /// Fills in the similarities, given how a row is multiplied.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is compiled with what calls it")]
    #[expect(clippy::cast_precision_loss, reason = "the sum is rounded already")]
    fn with(self, product: impl Fn(&[[i8; BLOCK]], &[Upper]) -> i32) {
        let Self { codes, to, first, similarities } = self;
        let rows = codes.upper.chunks_exact(codes.blocks().max(1)).skip(first);
        let (offset, scale) = (OFFSET * to.sum, to.scale);
        for ((row, of_row), similarity) in
            rows.zip(codes.scales.iter().skip(first)).zip(similarities)
        {
            *similarity = (UPPER * product(&to.coarse, row) as f32 + offset) * scale * of_row;
        }
    }
}

impl NullaryFnOnce for Scan<'_> {
    type Output = ();

    #[inline]
    fn call(self) {
        self.with(|to, row| {
            let block = |(to, upper): (&[i8; BLOCK], &Upper)| -> i32 {
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

/// The same by instructions that multiply 32 pairs at a time, which compilers do not find.
#[cfg(target_arch = "x86_64")]
struct ScanAvx2<'a> {
    with: pulp::x86::V3,
    scan: Scan<'a>,
}

#[cfg(target_arch = "x86_64")]
impl NullaryFnOnce for ScanAvx2<'_> {
    type Output = ();

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is compiled with what calls it")]
    fn call(self) {
        let pulp::x86::V3 { avx, avx2, .. } = self.with;
        let (ones, mask) = (avx._mm256_set1_epi16(1), avx._mm256_set1_epi8(15));
        self.scan.with(|to, row| {
            // At most `SUMMED` blocks.
            let few = |to: &[[i8; BLOCK]], row: &[Upper]| {
                let mut few = avx._mm256_setzero_si256();
                for (to, upper) in to.iter().zip(row) {
                    let [to_first, to_second]: [__m256i; 2] = pulp::cast(*to);
                    let both = pulp::cast(*upper);
                    let first = avx2._mm256_and_si256(both, mask);
                    let second = avx2._mm256_and_si256(avx2._mm256_srli_epi16::<4>(both), mask);
                    let first = avx2._mm256_maddubs_epi16(first, to_first);
                    let second = avx2._mm256_maddubs_epi16(second, to_second);
                    few = avx2._mm256_add_epi16(few, avx2._mm256_add_epi16(first, second));
                }
                avx2._mm256_madd_epi16(few, ones)
            };
            let (to, last) = to.as_chunks::<SUMMED>();
            let (row, last_of_row) = row.as_chunks::<SUMMED>();
            let mut sums = few(last, last_of_row);
            for (to, row) in to.iter().zip(row) {
                sums = avx2._mm256_add_epi32(sums, few(to, row));
            }
            let lanes: [i32; 8] = pulp::cast(sums);
            lanes.iter().sum()
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
        unit(&values.collect::<Vec<f32>>())
    }

    fn scanned(codes: &Codes, to: &[f32]) -> Vec<f32> {
        let mut all = vec![0.0; codes.len()];
        let (one, rest) = all.split_at_mut(1);
        codes.scan(&Rounded::of(to), 0, one);
        codes.scan(&Rounded::of(to), 1, rest);
        all
    }

    #[test]
    fn codes_and_numbers_are_as_near_as_the_vectors() {
        for dimensions in [3, 100, 256, 4096] {
            let vectors: Vec<Vec<f32>> = (0..40).map(|seed| noise(dimensions, seed)).collect();
            let mut codes = Codes::of(dimensions);
            for vector in &vectors {
                codes.push(vector);
            }
            let to = noise(dimensions, 7);
            let rounded = Rounded::of(&to);
            for (row, (vector, scanned)) in vectors.iter().zip(scanned(&codes, &to)).enumerate() {
                let exact: f32 = to.iter().zip(vector).map(|(a, b)| a * b).sum();
                let near = if dimensions < 64 { 0.15 } else { 0.05 };
                assert!((exact - scanned).abs() < near, "{exact} {scanned}");
                let whole = codes.similarity(&rounded, row);
                assert!((exact - whole).abs() < 0.0005, "{exact} {whole}");
            }
        }
    }

    /// Whatever the processor.
    #[test]
    fn all_ways_to_scan_give_the_same() {
        for dimensions in [1, 63, 64, 65, 256, 700, 4096] {
            let mut codes = Codes::of(dimensions);
            (0..9).for_each(|seed| codes.push(&noise(dimensions, seed)));
            // The largest products there can be.
            codes.push(&unit(&vec![1.0; dimensions]));
            for to in
                [noise(dimensions, 7), unit(&vec![1.0; dimensions]), unit(&vec![-1.0; dimensions])]
            {
                let mut plain = vec![0.0; codes.len()];
                let rounded = Rounded::of(&to);
                Scan { codes: &codes, to: &rounded, first: 0, similarities: &mut plain }.call();
                assert_eq!(plain, scanned(&codes, &to));
            }
        }
    }

    #[test]
    fn the_largest_sums_fit() {
        let flat = unit(&[1.0; 4096]);
        let mut codes = Codes::of(4096);
        codes.push(&flat);
        assert!((codes.similarity(&Rounded::of(&flat), 0) - 1.0).abs() < 1e-4);
        assert!((scanned(&codes, &flat)[0] - 1.0).abs() < 0.1);
    }

    #[test]
    fn zeros_are_near_nothing() {
        let mut codes = Codes::of(2);
        codes.push(&unit(&[0.0, 0.0]));
        assert_eq!(scanned(&codes, &[0.6, 0.8]), [0.0]);
        assert!(codes.similarity(&Rounded::of(&[0.6, 0.8]), 0).abs() < 1e-9);
    }

    #[test]
    fn codes_come_back_from_their_bytes_and_others_are_none() {
        for dimensions in [3, 64, 130] {
            let mut codes = Codes::of(dimensions);
            codes.push(&noise(dimensions, 1));
            codes.push(&noise(dimensions, 2));
            let bytes = codes.bytes();
            let [upper, lower, scales] = [&bytes[0][..], &bytes[1], &bytes[2]];
            let decode = |parts| Codes::decode(dimensions, parts);
            assert_eq!(decode([upper, lower, scales]).unwrap(), codes);
            assert!(Codes::decode(dimensions + 64, [upper, lower, scales]).is_none());
            assert!(decode([&upper[1..], lower, scales]).is_none());
            assert!(decode([upper, &lower[64..], scales]).is_none());
            assert!(decode([upper, lower, &scales[4..]]).is_none());
        }
    }
}
