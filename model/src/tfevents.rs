//! Event files as TensorBoard reads them: records in frames, events in protocol buffers, scalars in three encodings.
//!
//! Bytes are handed in as they come. Whoever calls keeps what is not a whole record yet and comes back with more of it.

mod crc;
mod proto;
mod restarts;
mod tensor;

pub use crc::crc32c;
use crc::masked;
use proto::{Field, fields};
pub use restarts::{Restarts, Void};

/// What stands at the beginning of some bytes of a file.
#[derive(Debug, PartialEq)]
pub enum Framed<'a> {
    /// A whole record; the next one begins after `length` bytes.
    Record { payload: &'a [u8], length: usize },
    /// A record that is larger than any scalar: an image, a graph. It ends after `length` bytes, which need not be there yet.
    Large { length: u64 },
    /// Too little to tell; a file that is being written ends like this.
    Short,
    /// The bytes are not what was written. TensorBoard reads no further in such a file, and neither do we.
    Damaged,
}

const LENGTH_BYTES: usize = 8;
const CHECKSUM_BYTES: usize = 4;
const HEADER_BYTES: usize = LENGTH_BYTES + CHECKSUM_BYTES;
/// Events of scalars have some hundred bytes. Whatever is larger is passed over without being looked at.
const PAYLOAD_BYTES_MAX: u64 = 1 << 20;

/// Looks at the first record.
pub fn framed(bytes: &[u8]) -> Framed<'_> {
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else { return Framed::Short };
    let length = u64::from_le_bytes(header[..LENGTH_BYTES].try_into().expect("eight bytes"));
    if masked(&header[..LENGTH_BYTES]) != u32::from_le_bytes(header[LENGTH_BYTES..].try_into().expect("four bytes")) {
        return Framed::Damaged;
    }
    if length > PAYLOAD_BYTES_MAX {
        let length = length.checked_add((HEADER_BYTES + CHECKSUM_BYTES) as u64);
        return length.map_or(Framed::Damaged, |length| Framed::Large { length });
    }
    let length = length as usize;
    let Some((payload, rest)) = rest.split_at_checked(length) else { return Framed::Short };
    let Some(checksum) = rest.first_chunk::<CHECKSUM_BYTES>() else { return Framed::Short };
    if masked(payload) != u32::from_le_bytes(*checksum) {
        return Framed::Damaged;
    }
    Framed::Record { payload, length: HEADER_BYTES + length + CHECKSUM_BYTES }
}

/// What we want to know of an event.
#[derive(Debug, Default, PartialEq)]
pub struct Event<'a> {
    /// In seconds.
    pub wall_time: f64,
    pub step: i64,
    pub what: What<'a>,
}

#[derive(Debug, Default, PartialEq)]
pub enum What<'a> {
    /// Such as `brain.Event:2`, at the beginning of a file.
    FileVersion(&'a str),
    /// The program begins, or begins again from a checkpoint.
    Start,
    Summary(Summary<'a>),
    #[default]
    Other,
}

/// Values of one step, still in their bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary<'a>(&'a [u8]);

/// One value of a summary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tagged<'a> {
    pub tag: &'a str,
    pub value: Option<f64>,
}

/// `None` if it is not an event at all.
pub fn event(payload: &[u8]) -> Option<Event<'_>> {
    const SESSION_LOG_START: u64 = 1;
    let mut event = Event::default();
    for field in fields(payload) {
        match field? {
            (1, Field::Eight(bits)) => event.wall_time = f64::from_bits(bits),
            (2, Field::Number(step)) => event.step = step as i64,
            (3, Field::Bytes(bytes)) => event.what = What::FileVersion(std::str::from_utf8(bytes).ok()?),
            (5, Field::Bytes(bytes)) => event.what = What::Summary(Summary(bytes)),
            (7, Field::Bytes(bytes)) if proto::number(bytes, 1) == Some(SESSION_LOG_START) => event.what = What::Start,
            _ => {}
        }
    }
    Some(event)
}

impl<'a> Summary<'a> {
    /// Every tag in it. What is not a scalar has no value; what cannot be read is passed over.
    pub fn values(self) -> impl Iterator<Item = Tagged<'a>> {
        let values = fields(self.0).map_while(|field| field);
        values.filter_map(|field| if let (1, Field::Bytes(value)) = field { tagged(value) } else { None })
    }
}

fn tagged(value: &[u8]) -> Option<Tagged<'_>> {
    let (mut tag, mut simple, mut tensor, mut plugin) = ("", None, None, None);
    for field in fields(value) {
        match field? {
            (1, Field::Bytes(bytes)) => tag = std::str::from_utf8(bytes).ok()?,
            (2, Field::Four(bits)) => simple = Some(f64::from(f32::from_bits(bits))),
            (8, Field::Bytes(bytes)) => tensor = Some(bytes),
            (9, Field::Bytes(metadata)) => plugin = proto::bytes(metadata, 1).and_then(|data| proto::bytes(data, 1)),
            _ => {}
        }
    }
    // A writer names the plugin at least once; a tensor without dimensions that nobody else claims is a scalar.
    let is_scalar = plugin.is_none_or(|plugin| plugin.is_empty() || plugin == b"scalars");
    let value = simple.or_else(|| tensor.filter(|_| is_scalar).and_then(tensor::scalar));
    Some(Tagged { tag, value })
}

/// The number in `brain.Event:2`.
pub fn version(text: &str) -> Option<f64> {
    text.strip_prefix("brain.Event:")?.parse().ok()
}

#[cfg(test)]
mod tests;
