//! Archives written byte by byte, so that they can be wrong in any way.

use std::io::Write;

use flate2::Crc;

/// An entry of a tar, before its header is closed.
#[derive(Clone)]
pub struct TarEntry {
    pub name: Vec<u8>,
    pub link: Vec<u8>,
    pub kind: u8,
    pub mode: u32,
    pub content: Vec<u8>,
    /// Instead of the content's own.
    pub size: Option<u64>,
    pub magic: [u8; 8],
}

pub fn tar_entry(name: impl AsRef<[u8]>, kind: u8, link: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> TarEntry {
    let [name, link, content] = [name.as_ref(), link.as_ref(), content.as_ref()].map(<[u8]>::to_vec);
    TarEntry { name, link, kind, mode: 0o644, content, size: None, magic: *b"ustar\x0000" }
}

impl TarEntry {
    pub fn bytes(&self) -> Vec<u8> {
        let mut block = [0_u8; 512];
        put(&mut block[..100], &self.name);
        put(&mut block[100..108], format!("{:07o}", self.mode).as_bytes());
        put(&mut block[108..116], b"0000000");
        put(&mut block[116..124], b"0000000");
        put(&mut block[124..136], format!("{:011o}", self.size.unwrap_or(self.content.len() as u64)).as_bytes());
        put(&mut block[136..148], b"00000000000");
        block[156] = self.kind;
        put(&mut block[157..257], &self.link);
        block[257..265].copy_from_slice(&self.magic);
        with_sum(&mut block);
        let mut bytes = block.to_vec();
        bytes.extend_from_slice(&self.content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }
}

fn put(field: &mut [u8], value: &[u8]) {
    let count = value.len().min(field.len());
    field[..count].copy_from_slice(&value[..count]);
}

pub fn with_sum(block: &mut [u8]) {
    block[148..156].fill(b' ');
    let sum: u32 = block[..512].iter().map(|byte| u32::from(*byte)).sum();
    put(&mut block[148..156], format!("{sum:06o}\0 ").as_bytes());
}

pub fn tar(entries: &[TarEntry]) -> Vec<u8> {
    let mut bytes: Vec<u8> = entries.iter().flat_map(TarEntry::bytes).collect();
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

pub fn tar_of(files: &[(&str, &str)]) -> Vec<u8> {
    tar(&files.iter().map(|(name, text)| tar_entry(name, b'0', "", text)).collect::<Vec<_>>())
}

pub fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn tgz_of(files: &[(&str, &str)]) -> Vec<u8> {
    gz(&tar_of(files))
}

/// A PAX header before an entry.
pub fn pax(kind: u8, records: &[(&str, &[u8])]) -> TarEntry {
    let mut content = Vec::new();
    for (key, value) in records {
        let rest = key.len() + value.len() + 3;
        let mut length = rest + 1;
        while rest + length.to_string().len() != length {
            length = rest + length.to_string().len();
        }
        content.extend_from_slice(format!("{length} {key}=").as_bytes());
        content.extend_from_slice(value);
        content.push(b'\n');
    }
    tar_entry("PaxHeaders/x", kind, "", content)
}

/// A file of a zip, in both of its places.
#[derive(Clone)]
pub struct ZipEntry {
    pub name: Vec<u8>,
    pub local_name: Vec<u8>,
    pub flags: u16,
    pub local_flags: u16,
    pub method: u16,
    pub crc: u32,
    pub local_crc: u32,
    pub packed: Vec<u8>,
    pub packed_bytes: u32,
    pub size_bytes: u32,
    pub local_size_bytes: u32,
    pub made_by: u16,
    pub attributes: u32,
    pub extra: Vec<u8>,
    pub local_extra: Vec<u8>,
    pub offset: Option<u32>,
}

pub fn zip_entry(name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> ZipEntry {
    let (name, content) = (name.as_ref().to_vec(), content.as_ref());
    let mut crc = Crc::new();
    crc.update(content);
    ZipEntry {
        local_name: name.clone(),
        name,
        flags: 1 << 11,
        local_flags: 1 << 11,
        method: 0,
        crc: crc.sum(),
        local_crc: crc.sum(),
        packed: content.to_vec(),
        packed_bytes: content.len() as u32,
        size_bytes: content.len() as u32,
        local_size_bytes: content.len() as u32,
        made_by: 3 << 8,
        attributes: 0,
        extra: Vec::new(),
        local_extra: Vec::new(),
        offset: None,
    }
}

impl ZipEntry {
    pub fn deflated(mut self) -> Self {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&self.packed).unwrap();
        self.packed = encoder.finish().unwrap();
        (self.packed_bytes, self.method) = (self.packed.len() as u32, 8);
        self
    }

    pub fn with_mode(mut self, mode: u32) -> Self {
        self.attributes = mode << 16;
        self
    }

    fn local(&self) -> Vec<u8> {
        let mut bytes = b"PK\x03\x04".to_vec();
        numbers(&mut bytes, &[20, self.local_flags, self.method, 0, 0x21]);
        wides(&mut bytes, &[self.local_crc, self.packed_bytes, self.local_size_bytes]);
        numbers(&mut bytes, &[self.local_name.len() as u16, self.local_extra.len() as u16]);
        [bytes, self.local_name.clone(), self.local_extra.clone(), self.packed.clone()].concat()
    }

    fn central(&self, offset: u32) -> Vec<u8> {
        let mut bytes = b"PK\x01\x02".to_vec();
        numbers(&mut bytes, &[self.made_by | 20, 20, self.flags, self.method, 0, 0x21]);
        wides(&mut bytes, &[self.crc, self.packed_bytes, self.size_bytes]);
        numbers(&mut bytes, &[self.name.len() as u16, self.extra.len() as u16, 0, 0, 0]);
        wides(&mut bytes, &[self.attributes, self.offset.unwrap_or(offset)]);
        [bytes, self.name.clone(), self.extra.clone()].concat()
    }
}

fn numbers(bytes: &mut Vec<u8>, values: &[u16]) {
    values.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
}

fn wides(bytes: &mut Vec<u8>, values: &[u32]) {
    values.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
}

pub fn zip(entries: &[ZipEntry]) -> Vec<u8> {
    zip_with_end(entries, |_| {})
}

/// The last words, to be changed before they are written: count here, count, size, offset, comment length.
pub fn zip_with_end(entries: &[ZipEntry], change: impl FnOnce(&mut [u32; 5])) -> Vec<u8> {
    let (mut bytes, mut central) = (Vec::new(), Vec::new());
    for entry in entries {
        central.extend(entry.central(bytes.len() as u32));
        bytes.extend(entry.local());
    }
    let mut words = [entries.len() as u32, entries.len() as u32, central.len() as u32, bytes.len() as u32, 0];
    change(&mut words);
    bytes.extend(central);
    bytes.extend_from_slice(b"PK\x05\x06");
    numbers(&mut bytes, &[0, 0, words[0] as u16, words[1] as u16]);
    wides(&mut bytes, &words[2..4]);
    numbers(&mut bytes, &[words[4] as u16]);
    bytes
}

pub fn zip_of(files: &[(&str, &str)]) -> Vec<u8> {
    zip(&files.iter().map(|(name, text)| zip_entry(name, text).deflated()).collect::<Vec<_>>())
}
