//! Whether what a task wrote to `/output` is where it was to go.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::words::Words;

/// How far a run's output has come. A run without anything to copy has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SyncState {
    /// Not all of it is there yet.
    Pending {
        /// What is being done or waited for; empty if nobody has said so far.
        why: String,
    },
    Done(Synced),
    /// Nobody tries any more. The files are kept with the run.
    GivenUp {
        why: String,
    },
}

/// All of it is there. Written down beside the exit record before anyone is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Synced {
    pub files: u64,
    pub bytes: u64,
    pub at_ms: u64,
    /// What was left out, each with the reason; of very many, the first and a count.
    #[serde(default)]
    pub skipped: Vec<String>,
}

impl SyncState {
    pub fn is_pending(&self) -> bool {
        match self {
            SyncState::Pending { .. } => true,
            SyncState::Done(_) | SyncState::GivenUp { .. } => false,
        }
    }
}

impl SyncState {
    pub fn words(&self) -> Words {
        match self {
            SyncState::Pending { why } if why.is_empty() => Words::new("its output is being copied", "输出正在拷贝"),
            SyncState::Pending { why } => Words::new(format!("its output is being copied: {why}"), format!("输出正在拷贝：{why}")),
            SyncState::Done(synced) => synced.words(),
            SyncState::GivenUp { why } => {
                Words::new(format!("its output is not saved: {why}; the files are kept"), format!("输出没有保存：{why}；文件已保留"))
            }
        }
    }
}

impl Synced {
    pub fn words(&self) -> Words {
        let (files, bytes) = (self.files, self.bytes);
        let noun = if files == 1 { "file" } else { "files" };
        let saved =
            Words::new(format!("its output is saved: {files} {noun}, {bytes} bytes"), format!("输出已保存：{files} 个文件，{bytes} 字节"));
        let left_out = match self.skipped.as_slice() {
            [] => Words::default(),
            [one] => Words::new(format!("left out: {one}"), format!("未拷贝：{one}")),
            [first, rest @ ..] => {
                Words::new(format!("left out: {first}, and {} more", rest.len()), format!("未拷贝：{first}，另有 {} 个", rest.len()))
            }
        };
        saved.then(&left_out)
    }
}

impl fmt::Display for SyncState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.words().fmt(f)
    }
}

impl fmt::Display for Synced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.words().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_reads_as_words_and_comes_back_from_text() {
        let skipped = vec!["run/pipe: is a pipe".to_owned(), "x".into(), "y".into()];
        let all = [
            SyncState::Pending { why: String::new() },
            SyncState::Pending { why: "2 of 14 files are in results:digits/3".into() },
            SyncState::Done(Synced { files: 1, bytes: 9, at_ms: 5, skipped: Vec::new() }),
            SyncState::Done(Synced { files: 14, bytes: 900, at_ms: 5, skipped }),
            SyncState::GivenUp { why: "given up by ann".into() },
        ];
        for state in &all {
            assert_eq!(serde_json::from_str::<SyncState>(&serde_json::to_string(state).unwrap()).unwrap(), *state);
        }
        insta::assert_snapshot!(all.map(|it| it.to_string()).join("\n"), @"
        its output is being copied
        its output is being copied: 2 of 14 files are in results:digits/3
        its output is saved: 1 file, 9 bytes
        its output is saved: 14 files, 900 bytes; left out: run/pipe: is a pipe, and 2 more
        its output is not saved: given up by ann; the files are kept
        ");
    }
}
