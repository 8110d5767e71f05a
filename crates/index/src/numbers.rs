//! Encoding of numbers: little-endian, or of variable length.

/// Decodes numbers of four bytes; `None` if bytes remain.
pub(crate) fn decode_u32s(bytes: &[u8]) -> Option<Vec<u32>> {
    let (numbers, rest) = bytes.as_chunks();
    rest.is_empty().then(|| numbers.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
}

/// Decodes floating-point numbers of four bytes; `None` if bytes remain.
pub(crate) fn decode_f32s(bytes: &[u8]) -> Option<Vec<f32>> {
    let (numbers, rest) = bytes.as_chunks();
    rest.is_empty().then(|| numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
}

/// Decodes numbers of eight bytes; `None` if bytes remain.
pub(crate) fn decode_u64s(bytes: &[u8]) -> Option<Vec<u64>> {
    let (numbers, rest) = bytes.as_chunks();
    rest.is_empty().then(|| numbers.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
}

/// Writes a number in as many bytes as it needs, seven bits in each (LEB128).
#[expect(clippy::cast_possible_truncation, reason = "seven bits at a time")]
pub(crate) fn write_varint(out: &mut Vec<u8>, mut number: u32) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a number that [`write_varint`] wrote and advances `bytes`.
#[inline]
pub(crate) fn read_varint(bytes: &mut &[u8]) -> Option<u32> {
    // Most have one byte.
    let (first, rest) = bytes.split_first()?;
    if *first < 0x80 {
        *bytes = rest;
        return Some(u32::from(*first));
    }
    read_long_varint(bytes)
}

fn read_long_varint(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0;
    for shift in [0, 7, 14, 21, 28] {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_in_few_bytes() {
        for (number, length) in
            [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3), (u32::MAX, 5)]
        {
            let mut bytes = Vec::new();
            write_varint(&mut bytes, number);
            assert_eq!(bytes.len(), length);
            let mut rest = bytes.as_slice();
            assert_eq!((read_varint(&mut rest), rest), (Some(number), &[][..]));
            assert_eq!(read_varint(&mut &bytes[..length - 1]), None);
        }
        assert_eq!(read_varint(&mut &[0x80; 9][..]), None);
        assert_eq!((decode_u32s(&[1, 0, 0, 0, 2]), decode_u64s(&[0; 7])), (None, None));
    }
}
