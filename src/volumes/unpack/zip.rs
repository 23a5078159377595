//! Reading a zip by its directory at the end. What stands before each file must say the same, files must not
//! share bytes, and no bytes may belong to no file.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt,
};

use flate2::{Crc, read::DeflateDecoder};

use super::{
    NotUnpacked, odd, reading,
    tree::{NewFile, Tree},
};

mod directory;
mod fields;

use directory::Directory;
use fields::{Fields, end};

const ENCRYPTED: u16 = 1;
const SIZES_BEHIND: u16 = 1 << 3;
/// Patches, strong encryption, hidden headers: nothing we know.
const FLAGS_KNOWN: u16 = SIZES_BEHIND | 0b110 | 1 << 11;
const LINK_BYTES_MAX: u64 = 4096;

/// A file as the directory at the end has it.
pub struct Member {
    name: Vec<u8>,
    flags: u16,
    method: Method,
    crc: u32,
    packed_bytes: u64,
    size_bytes: u64,
    offset: u64,
    kind: MemberKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Stored,
    Deflated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemberKind {
    Directory,
    File { executable: bool },
    Link,
}

pub fn read(archive: &File, tree: &mut Tree<'_>) -> Result<(), NotUnpacked> {
    let directory = Directory::find(archive)?;
    let mut members = directory.members(archive, tree.limits.entries_max)?;
    members.sort_by_key(|member| member.offset);
    let mut position = 0;
    for member in &members {
        let start = content_start(archive, member).map_err(|error| error.at(&member.name))?;
        if member.offset != position {
            return Err(odd("shares bytes with another, or leaves some to nobody").at(&member.name));
        }
        let after = start.checked_add(member.packed_bytes).ok_or_else(|| odd("ends beyond the archive").at(&member.name))?;
        if after > directory.offset {
            return Err(odd("reaches into the directory of the archive").at(&member.name));
        }
        write(archive, member, start, tree).map_err(|error| error.at(&member.name))?;
        position = after + sizes_behind(archive, member, after).map_err(|error| error.at(&member.name))?;
    }
    if position == directory.offset { Ok(()) } else { Err(odd("has bytes before its directory that belong to no file")) }
}

/// Where the content begins, after the header before it was held against the directory.
fn content_start(archive: &File, member: &Member) -> Result<u64, NotUnpacked> {
    const HEADER: usize = 30;
    let bytes = directory::bytes_at(archive, member.offset, HEADER as u64)?;
    let mut fields = Fields::new(&bytes);
    if fields.u32().map_err(end)? != 0x0403_4b50 {
        return Err(odd("has no header before it"));
    }
    let _version = fields.u16().map_err(end)?;
    let (flags, method) = (fields.u16().map_err(end)?, Method::read(fields.u16().map_err(end)?)?);
    let _time = fields.u32().map_err(end)?;
    let (crc, packed, size) = (fields.u32().map_err(end)?, fields.u32().map_err(end)?, fields.u32().map_err(end)?);
    let (name_bytes, extra_bytes) = (fields.u16().map_err(end)?, fields.u16().map_err(end)?);
    let behind = member.offset + HEADER as u64;
    let name = directory::bytes_at(archive, behind, u64::from(name_bytes))?;
    let extra = directory::bytes_at(archive, behind + u64::from(name_bytes), u64::from(extra_bytes))?;
    if name != member.name || flags != member.flags || method != member.method {
        return Err(odd("is called or packed otherwise in the header before it"));
    }
    let (size, packed) = fields::wide(&extra, &name, [size, packed])?;
    let said_behind = flags & SIZES_BEHIND != 0;
    let same = |own: u64, directory: u64| own == directory || (said_behind && own == 0);
    if !same(u64::from(crc), u64::from(member.crc)) || !same(size, member.size_bytes) || !same(packed, member.packed_bytes) {
        return Err(odd("has another size or sum in the header before it"));
    }
    Ok(behind + u64::from(name_bytes) + u64::from(extra_bytes))
}

/// How many bytes behind the content say once more how much it is.
fn sizes_behind(archive: &File, member: &Member, after: u64) -> Result<u64, NotUnpacked> {
    if member.flags & SIZES_BEHIND == 0 {
        return Ok(0);
    }
    let crc = member.crc.to_le_bytes();
    let narrow = [member.packed_bytes as u32, member.size_bytes as u32].map(u32::to_le_bytes).concat();
    let wide = [member.packed_bytes, member.size_bytes].map(u64::to_le_bytes).concat();
    let forms = [
        [b"PK\x07\x08", crc.as_slice(), &wide].concat(),
        [b"PK\x07\x08", crc.as_slice(), &narrow].concat(),
        [crc.as_slice(), &wide].concat(),
        [crc.as_slice(), &narrow].concat(),
    ];
    let mut found = vec![0; forms[0].len()];
    let count = read_up_to(archive, &mut found, after)?;
    let fits = |form: &&Vec<u8>| found[..count].starts_with(form);
    let form = forms.iter().find(fits).ok_or_else(|| odd("has another size or sum behind it"))?;
    Ok(form.len() as u64)
}

fn read_up_to(archive: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut count = 0;
    while count < buffer.len() {
        match archive.read_at(&mut buffer[count..], offset + count as u64)? {
            0 => break,
            more => count += more,
        }
    }
    Ok(count)
}

fn write(archive: &File, member: &Member, start: u64, tree: &mut Tree<'_>) -> Result<(), NotUnpacked> {
    if tree.limits.is_a_bomb(member.packed_bytes, member.size_bytes) {
        return Err(odd(super::BOMB));
    }
    let packed = Part { archive, position: start, left: member.packed_bytes };
    let mut content = Content { inner: member.method.open(packed), crc: Crc::new() };
    match member.kind {
        MemberKind::Directory if member.size_bytes > 0 => return Err(odd("is a directory with content of its own")),
        MemberKind::Directory => tree.directory(&member.name)?,
        MemberKind::File { executable } => {
            tree.file(&NewFile { name: &member.name, size_bytes: member.size_bytes, executable }, &mut content)?;
        }
        MemberKind::Link => {
            let mut target = Vec::new();
            (&mut content).take(LINK_BYTES_MAX.min(member.size_bytes)).read_to_end(&mut target).map_err(reading)?;
            tree.link(&member.name, &target)?;
        }
    }
    content.check(member)
}

/// The packed bytes of one file.
struct Part<'a> {
    archive: &'a File,
    position: u64,
    left: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let count = self.archive.read_at(&mut buffer[..most], self.position)?;
        self.position += count as u64;
        self.left -= count as u64;
        Ok(count)
    }
}

enum Opened<'a> {
    Stored(Part<'a>),
    Deflated(Box<DeflateDecoder<Part<'a>>>),
}

impl Method {
    fn read(number: u16) -> Result<Self, NotUnpacked> {
        match number {
            0 => Ok(Method::Stored),
            8 => Ok(Method::Deflated),
            other => Err(odd(format!("is packed by method {other}; only 0 (as it is) and 8 (deflate) are unpacked"))),
        }
    }

    fn open(self, part: Part<'_>) -> Opened<'_> {
        match self {
            Method::Stored => Opened::Stored(part),
            Method::Deflated => Opened::Deflated(Box::new(DeflateDecoder::new(part))),
        }
    }
}

/// The content of one file, with its sum.
struct Content<'a> {
    inner: Opened<'a>,
    crc: Crc,
}

impl Read for Content<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match &mut self.inner {
            Opened::Stored(part) => part.read(buffer)?,
            Opened::Deflated(decoder) => decoder.read(buffer)?,
        };
        self.crc.update(&buffer[..count]);
        Ok(count)
    }
}

impl Content<'_> {
    /// Whether all of it came out, nothing more, and the right bytes.
    fn check(mut self, member: &Member) -> Result<(), NotUnpacked> {
        if self.read(&mut [0]).map_err(reading)? != 0 {
            return Err(odd("is larger than it says"));
        }
        let went_in = match &self.inner {
            Opened::Stored(part) => member.packed_bytes - part.left,
            Opened::Deflated(decoder) => decoder.total_in(),
        };
        if went_in != member.packed_bytes || u64::from(self.crc.amount()) != member.size_bytes & u64::from(u32::MAX) {
            return Err(odd("has another size than it says"));
        }
        if self.crc.sum() == member.crc { Ok(()) } else { Err(odd("is damaged: its sum is wrong")) }
    }
}
