//! Signs of the codes of a segment, by which a search of many chunks finds those whose codes it compares.
//!
//! They take a bit for each number, a quarter of the upper bits. 32 rows are compared at a time: tables of the query
//! have the sum for each combination of four signs (André, Kermarrec and Le Scouarnec, "Cache locality is not
//! enough: High-Performance Nearest Neighbor Search with Product Quantization Fast Scan", 2015).

use pulp::NullaryFnOnce;

use crate::codes::{UpperBits, VectorCodes};

/// Rows that are compared at a time.
const LANES: usize = 32;
/// Bytes of the signs of a block of codes.
const BLOCK: usize = 8;
/// Maximum number of bytes of a row, so that its sum fits in 16 bits.
const MAX_COLUMNS: usize = 256;
/// Maximum of a number in a table, so that two of them fit in a byte.
const MAX_ENTRY: f32 = 127.0;

/// The lowest bit of each of eight bytes.
const LOWEST_BITS: u64 = 0x0101_0101_0101_0101;
/// Factor that moves these bits into the highest byte.
const GATHER: u64 = 0x0102_0408_1020_4080;

/// The signs of eight codes of each of 32 rows.
type SignColumn = [u8; LANES];

/// The signs of the rows of one segment.
#[derive(Debug)]
pub(crate) struct RowSigns {
    rows: usize,
    columns_per_row: usize,
    /// The columns of each 32 rows, the last ones padded with zeros.
    columns: Vec<SignColumn>,
}

impl RowSigns {
    /// Collects the signs of codes, unless the processor compares codes as fast or the sums of a row do not fit.
    pub(crate) fn from_codes(codes: &VectorCodes) -> Self {
        let (upper, blocks) = (codes.upper(), codes.blocks_per_row().max(1));
        let columns_per_row = BLOCK * blocks;
        let mut signs = Self { rows: codes.len(), columns_per_row, columns: Vec::new() };
        if MAX_COLUMNS < columns_per_row || !has_byte_lookups() {
            return signs;
        }
        signs.columns.resize(upper.len().div_ceil(blocks * LANES) * columns_per_row, [0; LANES]);
        let groups = signs.columns.chunks_mut(columns_per_row).zip(upper.chunks(blocks * LANES));
        for (columns, rows) in groups {
            for (lane, row) in rows.chunks(blocks).enumerate() {
                let bytes = row.iter().flat_map(collect_signs);
                for (column, byte) in columns.iter_mut().zip(bytes) {
                    if let Some(to) = column.get_mut(lane) {
                        *to = byte;
                    }
                }
            }
        }
        signs
    }

    /// Appends a number for each row that grows with its similarity; returns false instead if there are no signs.
    pub(crate) fn append_sums(&self, tables: &SignTables, sums: &mut Vec<u16>) -> bool {
        if self.columns.is_empty() && 0 < self.rows {
            return false;
        }
        let start = sums.len();
        sums.resize(start + self.rows, 0);
        let to = sums.get_mut(start..).unwrap_or_default();
        let scan = SignScan { signs: self, tables, sums: to };
        #[cfg(target_arch = "x86_64")]
        if let Some(with) = pulp::x86::V3::try_new() {
            with.vectorize(Avx2SignScan { with, scan });
            return true;
        }
        scan.call();
        true
    }
}

/// Returns whether the processor looks up 32 bytes at a time.
fn has_byte_lookups() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has_lookups = pulp::x86::V3::try_new().is_some();
    #[cfg(not(target_arch = "x86_64"))]
    let has_lookups = false;
    has_lookups
}

/// Returns the signs of a block, eight codes in each byte: 1 if a code is not negative.
fn collect_signs(upper: &UpperBits) -> impl Iterator<Item = u8> {
    let (eights, _) = upper.as_chunks::<BLOCK>();
    [3, 7].into_iter().flat_map(move |bit| {
        eights.iter().map(move |eight| {
            let lowest = u64::from_le_bytes(*eight) >> bit & LOWEST_BITS;
            lowest.wrapping_mul(GATHER).to_be_bytes()[0]
        })
    })
}

/// For each byte of a row the numbers of its lower and its upper four signs, twice, as instructions need them.
pub(crate) struct SignTables(Vec<[SignColumn; 2]>);

impl SignTables {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 127")]
    pub(crate) fn from_vector(vector: &[f32]) -> Self {
        let mut padded = vector.to_vec();
        padded.resize(vector.len().next_multiple_of(BLOCK), 0.0);
        let (fours, _) = padded.as_chunks::<4>();
        let span = |four: &[f32; 4]| four.iter().map(|value| value.abs()).sum::<f32>();
        let unit = fours.iter().map(span).fold(f32::MIN_POSITIVE, f32::max) / MAX_ENTRY;
        let table = |four: &[f32; 4]| {
            let mut table = [0; LANES];
            for (signs, entry) in table.iter_mut().enumerate() {
                let has = |bit: usize| signs >> bit & 1 == 1;
                let share = |(bit, value): (usize, &f32)| {
                    if has(bit) == (0.0 < *value) { value.abs() } else { 0.0 }
                };
                *entry = (four.iter().enumerate().map(share).sum::<f32>() / unit).round() as u8;
            }
            table
        };
        let tables: Vec<SignColumn> = fours.iter().map(table).collect();
        Self(tables.as_chunks().0.to_vec())
    }
}

struct SignScan<'a> {
    signs: &'a RowSigns,
    tables: &'a SignTables,
    sums: &'a mut [u16],
}

impl NullaryFnOnce for SignScan<'_> {
    type Output = ();

    fn call(self) {
        let groups = self.signs.columns.chunks_exact(self.signs.columns_per_row);
        for (columns, sums) in groups.zip(self.sums.chunks_mut(LANES)) {
            for (column, [low, high]) in columns.iter().zip(&self.tables.0) {
                let entry = |table: &SignColumn, signs: u8| {
                    table.get(usize::from(signs)).copied().map_or(0, u16::from)
                };
                for (sum, signs) in sums.iter_mut().zip(column) {
                    *sum += entry(low, signs & 15) + entry(high, signs >> 4);
                }
            }
        }
    }
}

/// The loop over rows with AVX2 instructions that look up 32 bytes at a time.
#[cfg(target_arch = "x86_64")]
struct Avx2SignScan<'a> {
    with: pulp::x86::V3,
    scan: SignScan<'a>,
}

#[cfg(target_arch = "x86_64")]
impl NullaryFnOnce for Avx2SignScan<'_> {
    type Output = ();

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is compiled with what calls it")]
    fn call(self) {
        let pulp::x86::V3 { avx, avx2, .. } = self.with;
        let SignScan { signs, tables, sums } = self.scan;
        let mask = avx._mm256_set1_epi8(15);
        let groups = signs.columns.chunks_exact(signs.columns_per_row);
        for (columns, sums) in groups.zip(sums.chunks_mut(LANES)) {
            let (mut all, mut odd) = (avx._mm256_setzero_si256(), avx._mm256_setzero_si256());
            for (column, [low, high]) in columns.iter().zip(&tables.0) {
                let both = pulp::cast(*column);
                let first = avx2._mm256_and_si256(both, mask);
                let second = avx2._mm256_and_si256(avx2._mm256_srli_epi16::<4>(both), mask);
                let first = avx2._mm256_shuffle_epi8(pulp::cast(*low), first);
                let second = avx2._mm256_shuffle_epi8(pulp::cast(*high), second);
                let sum = avx2._mm256_add_epi8(first, second);
                // A pair of rows in 16 bits; the upper one is taken out at the end.
                all = avx2._mm256_add_epi16(all, sum);
                odd = avx2._mm256_add_epi16(odd, avx2._mm256_srli_epi16::<8>(sum));
            }
            let even = avx2._mm256_sub_epi16(all, avx2._mm256_slli_epi16::<8>(odd));
            let (even, odd): ([u16; LANES / 2], [u16; LANES / 2]) =
                (pulp::cast(even), pulp::cast(odd));
            for (to, sum) in sums.iter_mut().zip(even.iter().zip(&odd).flat_map(|(a, b)| [a, b])) {
                *to = *sum;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::{VectorCodes, normalize};

    /// Numbers between -1 and 1 that look like noise.
    fn noise(length: usize, seed: u64) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            f32::from(u16::try_from(state >> 48).unwrap()) / 32768.0 - 1.0
        };
        (0..length).map(|_| next()).collect()
    }

    /// Returns for each row of noise its sum and the exact sum of the query's numbers whose signs agree.
    fn compare(dimensions: usize, rows: u64) -> Option<Vec<(u16, f32)>> {
        let vectors: Vec<Vec<f32>> = (0..rows).map(|seed| noise(dimensions, seed)).collect();
        let mut codes = VectorCodes::with_dimensions(dimensions);
        for vector in &vectors {
            codes.push(&normalize(vector));
        }
        let query = noise(dimensions, 99);
        let mut sums = vec![7];
        let tables = SignTables::from_vector(&query);
        let signs = RowSigns::from_codes(&codes);
        signs.append_sums(&tables, &mut sums).then_some(())?;
        let mut plain = vec![0; signs.rows];
        SignScan { signs: &signs, tables: &tables, sums: &mut plain }.call();
        assert_eq!(plain, sums[1..]);
        assert_eq!(sums.remove(0), 7);
        let agree = |vector: &Vec<f32>| {
            let both = vector.iter().zip(&query);
            let agreeing = both.filter(|(a, b)| a.is_sign_positive() == b.is_sign_positive());
            agreeing.map(|(_, b)| b.abs()).sum()
        };
        let shares = vectors.iter().map(agree);
        Some(sums.into_iter().zip(shares).collect())
    }

    #[test]
    fn sums_are_those_of_the_numbers_whose_signs_agree() {
        for (dimensions, rows) in [(3, 9), (64, 33), (100, 32), (256, 100), (2048, 3)] {
            let Some(compared) = compare(dimensions, rows) else { return };
            assert_eq!(compared.len() as u64, rows);
            let (sums, shares) = compared
                .iter()
                .fold((0.0, 0.0), |(a, b), (sum, share)| (a + f32::from(*sum), b + share));
            let unit = shares / sums;
            // Each of the rounded numbers is off by at most half a unit.
            let near = unit * f32::from(u16::try_from(dimensions.div_ceil(4)).unwrap());
            for (sum, share) in compared {
                assert!(
                    (unit * f32::from(sum) - share).abs() <= near,
                    "{sum} {share} {dimensions}"
                );
            }
        }
    }

    #[test]
    fn vectors_that_are_too_long_have_no_sums() {
        assert_eq!(compare(4096, 2), None);
    }
}
