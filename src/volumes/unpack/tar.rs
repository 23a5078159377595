//! Reading a tar: ustar, with PAX or GNU long names. Everything else in it is refused.

use std::io::{self, Read};

use super::{
    NotUnpacked, odd,
    pax::{self, Pax},
    reading,
    tree::{NewFile, Tree},
};

const BLOCK: usize = 512;
/// Of a header that only says a name.
const SAID_BYTES_MAX: u64 = 1 << 20;
/// What eleven octal digits can say; more is said by PAX.
const OCTAL_SIZE_MAX: u64 = (1 << 33) - 1;

/// What was said of the next entry before it came.
#[derive(Default)]
struct Ahead {
    pax: Option<Pax>,
    gnu_path: Option<Vec<u8>>,
    gnu_link: Option<Vec<u8>>,
}

pub fn read(mut archive: impl Read, tree: &mut Tree<'_>) -> Result<(), NotUnpacked> {
    let mut ahead = Ahead::default();
    loop {
        let block = next_block(&mut archive)?;
        if block == [0; BLOCK] {
            if ahead.is_something() {
                return Err(odd("ends after a header that speaks of a next entry"));
            }
            return check_end(&mut archive);
        }
        let header = Header::read(&block)?;
        match header.kind {
            b'x' => ahead.take_pax(&said(&mut archive, &header)?)?,
            b'g' => pax::check_global(&said(&mut archive, &header)?)?,
            b'L' => set(&mut ahead.gnu_path, gnu_name(&said(&mut archive, &header)?)?)?,
            b'K' => set(&mut ahead.gnu_link, gnu_name(&said(&mut archive, &header)?)?)?,
            _ => entry(&mut archive, header.with(std::mem::take(&mut ahead))?, tree)?,
        }
    }
}

impl Ahead {
    fn is_something(&self) -> bool {
        self.pax.is_some() || self.gnu_path.is_some() || self.gnu_link.is_some()
    }

    fn take_pax(&mut self, bytes: &[u8]) -> Result<(), NotUnpacked> {
        let said = pax::read(bytes)?;
        if self.pax.replace(said).is_some() {
            return Err(odd("has two PAX headers before one entry"));
        }
        Ok(())
    }
}

fn set(place: &mut Option<Vec<u8>>, name: Vec<u8>) -> Result<(), NotUnpacked> {
    if place.replace(name).is_some() { Err(odd("says the name of one entry twice")) } else { Ok(()) }
}

/// A GNU name ends with one NUL and has none before.
fn gnu_name(bytes: &[u8]) -> Result<Vec<u8>, NotUnpacked> {
    let name = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    if name.is_empty() || name.contains(&0) { Err(odd("has a long name that cannot be read")) } else { Ok(name.to_vec()) }
}

fn next_block(archive: &mut impl Read) -> Result<[u8; BLOCK], NotUnpacked> {
    let mut block = [0; BLOCK];
    archive.read_exact(&mut block).map_err(reading)?;
    Ok(block)
}

/// A second block of zeros, and nothing but zeros behind it.
fn check_end(archive: &mut impl Read) -> Result<(), NotUnpacked> {
    if next_block(archive)? != [0; BLOCK] {
        return Err(odd("goes on after a block of zeros"));
    }
    let mut rest = [0; 16 * BLOCK];
    loop {
        match archive.read(&mut rest).map_err(reading)? {
            0 => return Ok(()),
            count if rest[..count].iter().all(|byte| *byte == 0) => {}
            _ => return Err(odd("has something behind its end")),
        }
    }
}

/// The content of a header that only says something.
fn said(archive: &mut impl Read, header: &Header) -> Result<Vec<u8>, NotUnpacked> {
    if header.size_bytes > SAID_BYTES_MAX {
        return Err(odd("has a header that is too long"));
    }
    let mut bytes = vec![0; header.size_bytes as usize];
    archive.read_exact(&mut bytes).map_err(reading)?;
    skip_padding(archive, header.size_bytes)?;
    Ok(bytes)
}

fn skip_padding(archive: &mut impl Read, size_bytes: u64) -> Result<(), NotUnpacked> {
    let padding = (BLOCK as u64 - size_bytes % BLOCK as u64) % BLOCK as u64;
    io::copy(&mut archive.take(padding), &mut io::sink())
        .map_err(reading)
        .and_then(|count| if count == padding { Ok(()) } else { Err(odd("ends too early")) })
}

fn entry(archive: &mut impl Read, header: Header, tree: &mut Tree<'_>) -> Result<(), NotUnpacked> {
    let Header { kind, name, link, size_bytes, executable } = header;
    let without_content = |why: &str| if size_bytes == 0 { Ok(()) } else { Err(odd(why).at(&name)) };
    match kind {
        b'0' | 0 => {
            tree.file(&NewFile { name: &name, size_bytes, executable }, archive)?;
            skip_padding(archive, size_bytes)
        }
        b'5' => {
            without_content("is a directory with content of its own")?;
            tree.directory(&name)
        }
        b'2' => {
            without_content("is a link with content of its own")?;
            tree.link(&name, &link)
        }
        b'1' => {
            without_content("is a second name with content of its own")?;
            tree.hard_link(&name, &link)
        }
        b'3' | b'4' => Err(odd("is a device").at(&name)),
        b'6' => Err(odd("is a pipe").at(&name)),
        b'S' => Err(odd("is a sparse file, which is not unpacked").at(&name)),
        other => Err(odd(format!("is of a kind that is not unpacked ({:?})", char::from(other))).at(&name)),
    }
}

struct Header {
    kind: u8,
    name: Vec<u8>,
    link: Vec<u8>,
    size_bytes: u64,
    executable: bool,
}

impl Header {
    fn read(block: &[u8; BLOCK]) -> Result<Self, NotUnpacked> {
        let (before, sum, after) = (&block[..148], &block[148..156], &block[156..]);
        let found: u64 = before.iter().chain(after).map(|byte| u64::from(*byte)).sum::<u64>() + 8 * u64::from(b' ');
        if octal(sum) != Some(found) {
            return Err(odd("has a header whose sum is wrong"));
        }
        let prefix = match &block[257..265] {
            b"ustar\x0000" => text(&block[345..500])?,
            b"ustar  \0" | [0, 0, 0, 0, 0, 0, 0, 0] => Vec::new(),
            _ => return Err(odd("has a header of no kind that we know")),
        };
        let mut name = text(&block[..100])?;
        if !prefix.is_empty() {
            name = [prefix.as_slice(), name.as_slice()].join(&b'/');
        }
        let size_bytes = number(&block[124..136]).ok_or_else(|| odd("has a size that is no number").at(&name))?;
        let mode = octal(&block[100..108]).ok_or_else(|| odd("has a mode that is no number").at(&name))?;
        Ok(Self { kind: block[156], link: text(&block[157..257])?, name, size_bytes, executable: mode & 0o100 != 0 })
    }

    /// What was said before counts, where it does not contradict the header or itself.
    fn with(self, ahead: Ahead) -> Result<Self, NotUnpacked> {
        let Ahead { pax, gnu_path, gnu_link } = ahead;
        let pax = pax.unwrap_or_default();
        let one = |pax: Option<Vec<u8>>, gnu: Option<Vec<u8>>, own: Vec<u8>| match (pax, gnu) {
            (Some(_), Some(_)) => Err(odd("has a name from PAX and another from GNU").at(&own)),
            (Some(name), None) | (None, Some(name)) => Ok(name),
            (None, None) => Ok(own),
        };
        let name = one(pax.path, gnu_path, self.name)?;
        let link = one(pax.link, gnu_link, self.link)?;
        let size_bytes = match pax.size {
            None => self.size_bytes,
            Some(size) if size == self.size_bytes || (self.size_bytes == 0 && size > OCTAL_SIZE_MAX) => size,
            Some(size) => {
                let why = format!("has {} bytes by its own header and {size} by another", self.size_bytes);
                return Err(odd(why).at(&name));
            }
        };
        Ok(Self { name, link, size_bytes, ..self })
    }
}

/// Text up to the first NUL; behind it there is nothing else.
fn text(field: &[u8]) -> Result<Vec<u8>, NotUnpacked> {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    if field[end..].iter().any(|byte| *byte != 0) {
        return Err(odd("hides something behind the end of a name").at(&field[..end]));
    }
    Ok(field[..end].to_vec())
}

/// Octal digits with blanks before and blanks or NULs behind. Nothing at all is 0.
fn octal(field: &[u8]) -> Option<u64> {
    let start = field.iter().position(|byte| *byte != b' ').unwrap_or(field.len());
    let digits = &field[start..];
    let end = digits.iter().position(|byte| matches!(byte, b' ' | 0)).unwrap_or(digits.len());
    if digits[end..].iter().any(|byte| !matches!(byte, b' ' | 0)) {
        return None;
    }
    digits[..end].iter().try_fold(0_u64, |sum, byte| match byte {
        b'0'..=b'7' => sum.checked_mul(8)?.checked_add(u64::from(byte - b'0')),
        _ => None,
    })
}

/// Octal, or GNU's way of writing large numbers.
fn number(field: &[u8]) -> Option<u64> {
    if field[0] != 0x80 {
        return octal(field);
    }
    field[1..].iter().try_fold(0_u64, |sum, byte| sum.checked_mul(256)?.checked_add(u64::from(*byte)))
}
