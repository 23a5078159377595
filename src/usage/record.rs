//! Readings and stretches as bytes. Each ends with a sum over the rest: what a crash left half, or a writer is just writing
//! over, is not taken for true.

use model::usage::{Figure, Reading, Spread, Stretch};

const SUM_BYTES: usize = 8;
pub const READING_BYTES: usize = 8 + 8 * Figure::COUNT + SUM_BYTES;
pub const STRETCH_BYTES: usize = 16 + 3 * 4 * Figure::COUNT + SUM_BYTES;

/// Stands for a figure that is absent; no total comes that far.
const ABSENT: u64 = u64::MAX;

pub fn encode_reading(reading: &Reading) -> [u8; READING_BYTES] {
    let words = std::iter::once(reading.at_ms).chain(reading.values.map(|it| it.unwrap_or(ABSENT)));
    let mut bytes = [0; READING_BYTES];
    for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    seal(&mut bytes);
    bytes
}

pub fn decode_reading(bytes: &[u8]) -> Option<Reading> {
    let mut words = sealed(bytes, READING_BYTES)?.chunks_exact(8).map(u64_of);
    let at_ms = words.next()?;
    let mut values = [None; Figure::COUNT];
    values.iter_mut().zip(words).for_each(|(value, word)| *value = (word != ABSENT).then_some(word));
    Some(Reading { at_ms, values })
}

pub fn encode_stretch(stretch: &Stretch) -> [u8; STRETCH_BYTES] {
    let mut bytes = [0; STRETCH_BYTES];
    bytes[..8].copy_from_slice(&stretch.from_ms.to_le_bytes());
    bytes[8..16].copy_from_slice(&stretch.to_ms.to_le_bytes());
    let numbers = stretch.spreads.iter().flat_map(|it| it.map_or([f32::NAN; 3], |it| [it.min as f32, it.mean as f32, it.max as f32]));
    for (place, number) in bytes[16..].chunks_exact_mut(4).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    seal(&mut bytes);
    bytes
}

pub fn decode_stretch(bytes: &[u8]) -> Option<Stretch> {
    let body = sealed(bytes, STRETCH_BYTES)?;
    let (times, numbers) = body.split_at(16);
    let number = |bytes: &[u8]| f64::from(f32::from_le_bytes(bytes.try_into().expect("four bytes")));
    let mut spreads = [None; Figure::COUNT];
    for (spread, three) in spreads.iter_mut().zip(numbers.chunks_exact(12)) {
        let (min, mean, max) = (number(&three[..4]), number(&three[4..8]), number(&three[8..]));
        *spread = (!mean.is_nan()).then_some(Spread { min, mean, max });
    }
    Some(Stretch { from_ms: u64_of(&times[..8]), to_ms: u64_of(&times[8..]), spreads })
}

fn u64_of(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

fn seal(bytes: &mut [u8]) {
    let (body, sum) = bytes.split_at_mut(bytes.len() - SUM_BYTES);
    sum.copy_from_slice(&sum_of(body).to_le_bytes());
}

fn sealed(bytes: &[u8], length: usize) -> Option<&[u8]> {
    let (body, sum) = bytes.get(..length)?.split_at(length - SUM_BYTES);
    (sum_of(body).to_le_bytes() == sum).then_some(body)
}

/// FNV-1a, which begins with a number of its own: bytes that are all zero have a sum that is not.
fn sum_of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_what_is_half_is_not() {
        let mut reading = Reading { at_ms: 1_700_000_000_123, ..Reading::default() };
        reading.set(Figure::MemoryBytes, Some(5 << 40));
        let bytes = encode_reading(&reading);
        assert_eq!(decode_reading(&bytes), Some(reading.clone()));
        assert_eq!(decode_reading(&bytes[..READING_BYTES - 1]), None);
        assert_eq!(decode_reading(&[0; READING_BYTES]), None);
        let mut torn = bytes;
        torn[20] ^= 1;
        assert_eq!(decode_reading(&torn), None);

        let later = Reading { at_ms: reading.at_ms + 1000, ..reading.clone() };
        let stretch = Stretch::between(&reading, &later);
        assert_eq!(decode_stretch(&encode_stretch(&stretch)), Some(stretch));
    }
}
