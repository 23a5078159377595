//! As much of protocol buffers as it takes to step through a message.

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Field<'a> {
    Number(u64),
    Eight(u64),
    Bytes(&'a [u8]),
    Four(u32),
}

/// Every field with its number. `None`, and then nothing more, where the bytes are no message.
pub fn fields(message: &[u8]) -> Fields<'_> {
    Fields { rest: message }
}

pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Fields<'a> {
    type Item = Option<(u64, Field<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = next(&mut self.rest);
        if field.is_none() {
            self.rest = &[];
        }
        Some(field)
    }
}

fn next<'a>(rest: &mut &'a [u8]) -> Option<(u64, Field<'a>)> {
    let key = varint(rest)?;
    let field = match key & 7 {
        0 => Field::Number(varint(rest)?),
        1 => Field::Eight(u64::from_le_bytes(taken::<8>(rest)?)),
        2 => {
            let length = usize::try_from(varint(rest)?).ok()?;
            let (bytes, after) = rest.split_at_checked(length)?;
            *rest = after;
            Field::Bytes(bytes)
        }
        5 => Field::Four(u32::from_le_bytes(taken::<4>(rest)?)),
        _ => return None,
    };
    Some((key >> 3, field))
}

fn taken<const LENGTH: usize>(rest: &mut &[u8]) -> Option<[u8; LENGTH]> {
    let (bytes, after) = rest.split_first_chunk::<LENGTH>()?;
    *rest = after;
    Some(*bytes)
}

pub fn varint(rest: &mut &[u8]) -> Option<u64> {
    const BYTES_MAX: usize = 10;
    let mut value = 0;
    for (index, byte) in rest.iter().enumerate().take(BYTES_MAX) {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            *rest = &rest[index + 1..];
            return Some(value);
        }
    }
    None
}

/// The last number under a field, as protocol buffers have it.
pub fn number(message: &[u8], wanted: u64) -> Option<u64> {
    let found = |field| if let Some((number, Field::Number(value))) = field { (number == wanted).then_some(value) } else { None };
    fields(message).filter_map(found).last()
}

/// The last bytes under a field.
pub fn bytes(message: &[u8], wanted: u64) -> Option<&[u8]> {
    let found = |field| if let Some((number, Field::Bytes(value))) = field { (number == wanted).then_some(value) } else { None };
    fields(message).filter_map(found).last()
}
