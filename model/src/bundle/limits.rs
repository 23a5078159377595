//! How much code may be.

use serde::{Deserialize, Serialize};

use super::{Blob, Bundle, Entry, shown};
use crate::{
    resources::Bytes,
    said, speaks,
    words::{Said, Words},
};

/// What the server's owner lets a folder of code have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct CodeLimits {
    pub bytes_max: u64,
    pub files_max: u64,
}

impl Default for CodeLimits {
    fn default() -> Self {
        Self { bytes_max: 200 << 20, files_max: 20_000 }
    }
}

/// More than it may be, and what makes it so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooMuch {
    limits: CodeLimits,
    bytes: u64,
    files: u64,
    largest: Vec<(String, u64)>,
}

const LARGEST_TOLD: usize = 3;

impl TooMuch {
    pub const HINT: Said = (
        "list what is not code in .gitignore or .trainmasterignore, and put data in a volume",
        "不是代码的东西请写进 .gitignore 或 .trainmasterignore，数据请放进数据卷",
    );

    /// None if the files are not too much.
    pub fn of<'a>(files: impl Iterator<Item = (&'a [u8], u64)>, limits: CodeLimits) -> Option<Self> {
        let mut all: Vec<(&[u8], u64)> = files.collect();
        let bytes = all.iter().map(|(_, size)| *size).fold(0, u64::saturating_add);
        if bytes <= limits.bytes_max && all.len() as u64 <= limits.files_max {
            return None;
        }
        all.sort_by_key(|(path, size)| (std::cmp::Reverse(*size), *path));
        let largest = all.iter().take(LARGEST_TOLD).map(|(path, size)| (shown(path), *size)).collect();
        Some(Self { limits, bytes, files: all.len() as u64, largest })
    }
}

impl Bundle {
    pub fn too_much(&self, limits: CodeLimits) -> Option<TooMuch> {
        let size = |entry: &Entry| match entry {
            Entry::File { blob: Blob { size_bytes, .. }, .. } => *size_bytes,
            Entry::Link { .. } => 0,
        };
        TooMuch::of(self.entries().map(|(path, entry)| (path, size(entry))), limits)
    }
}

impl TooMuch {
    /// What is too much, and what most of it is.
    pub fn words(&self) -> Words {
        let CodeLimits { bytes_max, files_max } = self.limits;
        let (bytes, files, most) = (Bytes(self.bytes), thousands(self.files), Bytes(bytes_max));
        if self.bytes <= bytes_max {
            let most = thousands(files_max);
            return said!(
                "the folder has {bytes} in {files} files; the most is {most} files",
                "目录里有 {files} 个文件，共 {bytes}；最多 {most} 个文件"
            );
        }
        let largest: Vec<String> = self.largest.iter().map(|(path, size)| format!("{path} ({})", Bytes(*size))).collect();
        let (largest, largest_zh) = (largest.join(", "), largest.join("、"));
        said!(
            "the folder has {bytes} in {files} files; the most is {most}; the largest are {largest}",
            "目录里有 {files} 个文件，共 {bytes}；最多 {most}；最大的是 {largest_zh}"
        )
    }
}

speaks!(TooMuch);

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_told_with_its_largest_files() {
        let limits = CodeLimits { bytes_max: 200 << 20, files_max: 4_000 };
        let files: Vec<(&[u8], u64)> = vec![(b"train.py", 2_000), (b"data/b.bin", 1 << 30), (b"data/a.bin", 1 << 30), (b"w.pt", 300 << 20)];
        let told = |files: &[(&[u8], u64)]| TooMuch::of(files.iter().copied(), limits).map_or("fine".into(), |it| it.to_string());
        insta::assert_snapshot!(told(&files), @"the folder has 2.3GiB in 4 files; the most is 200MiB; the largest are data/a.bin (1GiB), data/b.bin (1GiB), w.pt (300MiB)");
        insta::assert_snapshot!(told(&vec![(b"x".as_slice(), 1); 1_234_567]), @"the folder has 1.2MiB in 1,234,567 files; the most is 4,000 files");
        assert_eq!(told(&files[..1]), "fine");
    }
}
