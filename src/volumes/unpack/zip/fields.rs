//! Numbers of a zip, one behind the other.

use crate::volumes::unpack::{NotUnpacked, odd};

pub struct Fields<'a> {
    rest: &'a [u8],
}

/// There are not as many bytes as there should be.
pub struct End;

pub fn end(_: End) -> NotUnpacked {
    odd("ends too early")
}

impl<'a> Fields<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], End> {
        if count > self.rest.len() {
            return Err(End);
        }
        let (bytes, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(bytes)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], End> {
        self.bytes(N)?.try_into().map_err(|_| End)
    }

    pub fn u16(&mut self) -> Result<u16, End> {
        self.number().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, End> {
        self.number().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, End> {
        self.number().map(u64::from_le_bytes)
    }
}

const WIDE: u16 = 1;
const UNICODE_NAME: u16 = 0x7075;

/// Size and packed size, from the extra field where the header has no room for them.
pub fn wide(extra: &[u8], name: &[u8], narrow: [u32; 2]) -> Result<(u64, u64), NotUnpacked> {
    let mut found = extra_of(extra, name)?;
    let [size, packed] = widened(&mut found, narrow)?;
    Ok((size, packed))
}

/// Each number that is all ones stands in the extra field, in this order.
pub fn widened<const N: usize>(found: &mut Fields<'_>, narrow: [u32; N]) -> Result<[u64; N], NotUnpacked> {
    let mut numbers = [0; N];
    for (number, narrow) in numbers.iter_mut().zip(narrow) {
        *number = if narrow == u32::MAX { found.u64().map_err(|_| odd("says no size"))? } else { u64::from(narrow) };
    }
    Ok(numbers)
}

/// The part of the extra field that has wide numbers; empty if there is none. A second name in it must be the first.
pub fn extra_of<'a>(extra: &'a [u8], name: &[u8]) -> Result<Fields<'a>, NotUnpacked> {
    let bad = |_| odd("has an extra field that cannot be read");
    let (mut fields, mut found) = (Fields::new(extra), None);
    while !fields.is_empty() {
        let (id, count) = (fields.u16().map_err(bad)?, fields.u16().map_err(bad)?);
        let bytes = fields.bytes(usize::from(count)).map_err(bad)?;
        if id == WIDE && found.replace(bytes).is_some() {
            return Err(odd("says its size twice"));
        }
        // A version and a sum come before the name.
        if id == UNICODE_NAME && bytes.get(5..) != Some(name) {
            return Err(odd("has two names"));
        }
    }
    Ok(Fields::new(found.unwrap_or_default()))
}
