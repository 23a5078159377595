//! The directory at the end of a zip.

use std::{fs::File, os::unix::fs::FileExt};

use super::{
    ENCRYPTED, FLAGS_KNOWN, Member, MemberKind, Method,
    fields::{Fields, end, extra_of, widened},
};
use crate::volumes::unpack::{NotUnpacked, odd};

/// Where it is, and how much is in it.
pub struct Directory {
    pub offset: u64,
    size_bytes: u64,
    count: u64,
}

const END: usize = 22;
const END_WIDE: u64 = 56;
const LOCATOR: u64 = 20;
const COMMENT_BYTES_MAX: usize = 65_535;
/// For ten million files with long names; else a few bytes could ask for all our memory.
const SIZE_BYTES_MAX: u64 = 2 << 30;

pub fn bytes_at(archive: &File, offset: u64, count: u64) -> Result<Vec<u8>, NotUnpacked> {
    let length = archive.metadata()?.len();
    if offset.checked_add(count).is_none_or(|end| end > length) {
        return Err(odd("ends too early"));
    }
    let mut bytes = vec![0; count as usize];
    archive.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}

impl Directory {
    /// The archive's last words say where it is. Words that could be read as others are refused.
    pub fn find(archive: &File) -> Result<Self, NotUnpacked> {
        let length = archive.metadata()?.len();
        let tail_bytes = length.min((END + COMMENT_BYTES_MAX) as u64);
        let tail = bytes_at(archive, length - tail_bytes, tail_bytes)?;
        let fits = |at: &usize| {
            let comment = tail.get(at + 20..at + 22).map(|it| usize::from(u16::from_le_bytes([it[0], it[1]])));
            tail[*at..].starts_with(b"PK\x05\x06") && comment.is_some_and(|comment| at + END + comment == tail.len())
        };
        let mut ends = (0..tail.len().saturating_sub(END - 1)).filter(fits);
        let at = match (ends.next(), ends.next()) {
            (Some(at), None) => at,
            (Some(_), Some(_)) => return Err(odd("has two ends")),
            (None, _) => return Err(odd("has no end")),
        };
        let position = length - tail_bytes + at as u64;
        let (directory, last_words) = Self::read_end(archive, &tail[at..], position)?;
        directory.check(last_words)
    }

    fn read_end(archive: &File, bytes: &[u8], position: u64) -> Result<(Self, u64), NotUnpacked> {
        let mut fields = Fields::new(&bytes[4..]);
        let (disk, first_disk) = (fields.u16().map_err(end)?, fields.u16().map_err(end)?);
        let (here, count) = (fields.u16().map_err(end)?, fields.u16().map_err(end)?);
        let (size, offset) = (fields.u32().map_err(end)?, fields.u32().map_err(end)?);
        if disk != 0 || first_disk != 0 || here != count {
            return Err(odd("is one part of several"));
        }
        let narrow = Self { offset: u64::from(offset), size_bytes: u64::from(size), count: u64::from(count) };
        let is_wide = count == u16::MAX || size == u32::MAX || offset == u32::MAX;
        if is_wide { narrow.widened(archive, position) } else { Ok((narrow, position)) }
    }

    /// Archives with more than fits have their last words twice. What fits must be the same in both.
    fn widened(self, archive: &File, position: u64) -> Result<(Self, u64), NotUnpacked> {
        let missing = || odd("has no wide end");
        let locator_at = position.checked_sub(LOCATOR).ok_or_else(missing)?;
        let locator = bytes_at(archive, locator_at, LOCATOR)?;
        let mut fields = Fields::new(&locator);
        let signature = fields.u32().map_err(end)?;
        let (disk, wide_at, disks) = (fields.u32().map_err(end)?, fields.u64().map_err(end)?, fields.u32().map_err(end)?);
        if signature != 0x0706_4b50 || disk != 0 || disks != 1 || wide_at.checked_add(END_WIDE) != Some(locator_at) {
            return Err(missing());
        }
        let bytes = bytes_at(archive, wide_at, END_WIDE)?;
        let mut fields = Fields::new(&bytes);
        let (signature, rest) = (fields.u32().map_err(end)?, fields.u64().map_err(end)?);
        let (_versions, disk, first_disk) = (fields.u32().map_err(end)?, fields.u32().map_err(end)?, fields.u32().map_err(end)?);
        let (here, count) = (fields.u64().map_err(end)?, fields.u64().map_err(end)?);
        let (size_bytes, offset) = (fields.u64().map_err(end)?, fields.u64().map_err(end)?);
        let same = |narrow: u64, most: u64, wide: u64| narrow == most || narrow == wide;
        let agree = same(self.count, u64::from(u16::MAX), count)
            && same(self.size_bytes, u64::from(u32::MAX), size_bytes)
            && same(self.offset, u64::from(u32::MAX), offset);
        if signature != 0x0606_4b50 || rest != END_WIDE - 12 || disk != 0 || first_disk != 0 || here != count || !agree {
            return Err(odd("has two ends that do not agree"));
        }
        Ok((Self { offset, size_bytes, count }, wide_at))
    }

    /// The directory reaches to the last words, and is not too large to be looked at.
    fn check(self, last_words: u64) -> Result<Self, NotUnpacked> {
        if self.offset.checked_add(self.size_bytes) != Some(last_words) {
            return Err(odd("has its directory elsewhere than it says"));
        }
        if self.size_bytes > SIZE_BYTES_MAX {
            return Err(odd("has a directory that is too large"));
        }
        Ok(self)
    }

    pub fn members(&self, archive: &File, most: u64) -> Result<Vec<Member>, NotUnpacked> {
        if self.count > most {
            return Err(odd(format!("has more than {most} entries, which is the most")));
        }
        let bytes = bytes_at(archive, self.offset, self.size_bytes)?;
        let mut fields = Fields::new(&bytes);
        let mut members = Vec::new();
        while !fields.is_empty() {
            members.push(Member::read(&mut fields)?);
        }
        if members.len() as u64 == self.count { Ok(members) } else { Err(odd("has another number of entries than it says")) }
    }
}

impl Member {
    fn read(fields: &mut Fields<'_>) -> Result<Self, NotUnpacked> {
        if fields.u32().map_err(end)? != 0x0201_4b50 {
            return Err(odd("has something in its directory that is no entry"));
        }
        let (made_by, _needed) = (fields.u16().map_err(end)?, fields.u16().map_err(end)?);
        let (flags, method) = (fields.u16().map_err(end)?, fields.u16().map_err(end)?);
        let (_time, crc) = (fields.u32().map_err(end)?, fields.u32().map_err(end)?);
        let (packed, size) = (fields.u32().map_err(end)?, fields.u32().map_err(end)?);
        let [name_bytes, extra_bytes, comment_bytes] = [fields.u16(), fields.u16(), fields.u16()].map(|it| it.map(usize::from));
        let (disk, _internal) = (fields.u16().map_err(end)?, fields.u16().map_err(end)?);
        let (attributes, offset) = (fields.u32().map_err(end)?, fields.u32().map_err(end)?);
        let name = fields.bytes(name_bytes.map_err(end)?).map_err(end)?.to_vec();
        let extra = fields.bytes(extra_bytes.map_err(end)?).map_err(end)?;
        fields.bytes(comment_bytes.map_err(end)?).map_err(end)?;
        let read = || {
            check_name(&name)?;
            check_flags(flags)?;
            if disk != 0 {
                return Err(odd("is in another part"));
            }
            let [size_bytes, packed_bytes, offset] = widened(&mut extra_of(extra, &name)?, [size, packed, offset])?;
            let (method, kind) = (Method::read(method)?, kind(&name, made_by, attributes)?);
            Ok(Self { name: name.clone(), flags, method, crc, packed_bytes, size_bytes, offset, kind })
        };
        read().map_err(|error| error.at(&name))
    }
}

fn check_name(name: &[u8]) -> Result<(), NotUnpacked> {
    if name.contains(&b'\\') {
        return Err(odd("has a `\\` in its name, which is another thing elsewhere"));
    }
    if std::str::from_utf8(name).is_err() {
        return Err(odd("has a name in an unknown character set; pack it with names in UTF-8"));
    }
    Ok(())
}

fn check_flags(flags: u16) -> Result<(), NotUnpacked> {
    match flags {
        flags if flags & ENCRYPTED != 0 => Err(odd("is encrypted")),
        flags if flags & !FLAGS_KNOWN != 0 => Err(odd(format!("has flags that we do not know ({flags:#06x})"))),
        _ => Ok(()),
    }
}

/// What it is by its name, and by its mode where it was packed on a system that has modes.
fn kind(name: &[u8], made_by: u16, attributes: u32) -> Result<MemberKind, NotUnpacked> {
    const UNIX: u16 = 3;
    const MACOS: u16 = 19;
    let mode = if matches!(made_by >> 8, UNIX | MACOS) { attributes >> 16 } else { 0 };
    let is_directory = name.ends_with(b"/");
    match (mode & libc::S_IFMT, is_directory) {
        (0 | libc::S_IFDIR, true) => Ok(MemberKind::Directory),
        (0 | libc::S_IFREG, false) => Ok(MemberKind::File { executable: mode & 0o100 != 0 }),
        (libc::S_IFLNK, false) => Ok(MemberKind::Link),
        (libc::S_IFREG | libc::S_IFLNK, true) | (libc::S_IFDIR, false) => {
            Err(odd("is a directory by its name or its mode, and not by both"))
        }
        _ => Err(odd("is neither a file nor a directory nor a link")),
    }
}
