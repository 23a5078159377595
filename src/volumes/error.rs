//! What can go wrong with bytes elsewhere, sorted by what helps: wait, change the keys, change the request.

use std::{io, time::Duration};

use model::{
    said, speaks,
    words::{Bilingual, Words},
};

/// Something that went wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeError {
    /// The volume and path, as a person writes them.
    pub at: String,
    pub trouble: Trouble,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// No answer, or one that says "not now". Nothing is known to be wrong with what was asked.
    Away {
        why: String,
        retry_after: Option<Duration>,
    },
    /// The store knows who asks and says no, or does not know who asks.
    Denied {
        said: String,
    },
    Missing {
        what: &'static str,
    },
    Full {
        said: String,
    },
    /// It is no longer what it was when we began.
    Changed {
        how: String,
    },
    /// What was to go there could not be read here, which says nothing about the place.
    Unread {
        why: String,
    },
    /// Asking again gives the same answer.
    Never {
        why: Words,
    },
}

impl Trouble {
    pub fn away(why: impl Into<String>) -> Self {
        Trouble::Away { why: why.into(), retry_after: None }
    }

    pub fn never(why: impl Bilingual) -> Self {
        Trouble::Never { why: why.words() }
    }

    pub fn changed(how: impl Into<String>) -> Self {
        Trouble::Changed { how: how.into() }
    }

    /// Of the file that was to go there.
    pub fn unread(error: &io::Error) -> Self {
        Trouble::Unread { why: error.to_string() }
    }

    pub fn at(self, at: impl Into<String>) -> VolumeError {
        VolumeError { at: at.into(), trouble: self }
    }

    /// Whether the same call may succeed in a moment, with nobody doing anything about it.
    pub fn is_passing(&self) -> bool {
        match self {
            Trouble::Away { .. } | Trouble::Changed { .. } | Trouble::Unread { .. } => true,
            Trouble::Denied { .. } | Trouble::Missing { .. } | Trouble::Full { .. } | Trouble::Never { .. } => false,
        }
    }
}

impl VolumeError {
    /// Whether it is worth trying again as it is.
    pub fn is_passing(&self) -> bool {
        self.trouble.is_passing()
    }

    pub fn is_missing(&self) -> bool {
        matches!(self.trouble, Trouble::Missing { .. })
    }

    /// How long the store asked us to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self.trouble {
            Trouble::Away { retry_after, .. } => retry_after,
            Trouble::Denied { .. }
            | Trouble::Missing { .. }
            | Trouble::Full { .. }
            | Trouble::Changed { .. }
            | Trouble::Unread { .. }
            | Trouble::Never { .. } => None,
        }
    }
}

impl VolumeError {
    /// What the store itself said is quoted as it is.
    pub fn words(&self) -> Words {
        let at = &self.at;
        match &self.trouble {
            Trouble::Away { why, retry_after: None } => said!("{at} cannot be reached now: {why}", "{at} 现在连不上（`{why}`）"),
            Trouble::Away { why, retry_after: Some(wait) } => said!(
                "{at} cannot be reached now: {why}; it asks to wait {} s",
                "{at} 现在连不上（`{why}`），对方要求等 {} 秒",
                wait.as_secs()
            ),
            Trouble::Denied { said } => said!("{at} does not let us in: {said}", "{at} 拒绝访问（`{said}`）"),
            Trouble::Missing { what } => said!("{at} is not there: no such {what}", "{at} 不存在"),
            Trouble::Full { said } => said!("{at} is full: {said}", "{at} 已满（`{said}`）"),
            Trouble::Changed { how } => said!("{at} changed meanwhile: {how}", "{at} 期间被改动（`{how}`）"),
            Trouble::Unread { why } => {
                said!("what was to go to {at} cannot be read here now: {why}", "要写到 {at} 的文件现在读不出来（`{why}`）")
            }
            Trouble::Never { why } => Words::new(format!("{at}: {}", why.en), format!("{at}：{}", why.zh)),
        }
    }
}

speaks!(VolumeError);

/// A socket, a pipe or a device, which nobody reads for a file.
pub fn not_opened(what: &str) -> Words {
    said!("is {what}, which is not opened", "不是普通文件（`{what}`），不会打开")
}

/// A thread of ours that did not come to its end.
pub fn broke_off(error: &tokio::task::JoinError) -> Trouble {
    Trouble::away(format!("our own work broke off: {error}"))
}

/// What the machine says of its own files.
impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Trouble::Missing { what: "file or directory" },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Trouble::Denied { said: error.to_string() },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Trouble::Full { said: error.to_string() },
            _ if lies_in_the_request(&error) => Trouble::never(Words::quoted(error)),
            // What a disk, a mounted file system or a machine short of something says in passing, and whatever nobody has thought of;
            // the callers bound how long they believe it.
            _ => Trouble::away(error.to_string()),
        }
    }
}

/// Whether it is the name, the size or the kind of what was asked for that is wrong, so that it stays wrong.
fn lies_in_the_request(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    let is_name = matches!(error.kind(), Kind::InvalidFilename | Kind::InvalidInput) || error.raw_os_error() == Some(libc::EILSEQ);
    let is_kind = matches!(
        error.kind(),
        Kind::NotADirectory | Kind::IsADirectory | Kind::DirectoryNotEmpty | Kind::AlreadyExists | Kind::Unsupported | Kind::InvalidData
    );
    is_name || is_kind || error.kind() == Kind::FileTooLarge
}

impl From<nix::Error> for Trouble {
    fn from(error: nix::Error) -> Self {
        match error {
            // How the kernel says "this would lead out of the directory" and "there is a link on the way".
            nix::Error::EXDEV => Trouble::never(("leads out of the volume", "指向数据卷之外")),
            nix::Error::ELOOP => {
                Trouble::never(("has a link on its way, and those are not followed here", "路径中有符号链接，这里不跟随链接"))
            }
            other => io::Error::from(other).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trouble_reads_as_a_sentence_with_its_place() {
        let wait = Trouble::Away { why: "429 Too Many Requests".into(), retry_after: Some(Duration::from_secs(7)) };
        let all = [
            Trouble::away("connection refused"),
            wait,
            Trouble::Denied { said: "SignatureDoesNotMatch".into() },
            Trouble::Missing { what: "bucket" },
            Trouble::Full { said: "no space left".into() },
            Trouble::changed("its ETag was \"a\" and is \"b\""),
            Trouble::Unread { why: "Input/output error".into() },
            Trouble::never(("has the part `..`, which leads elsewhere", "路径中有 `..`，会指向别处")),
        ];
        let said: Vec<String> = all.map(|trouble| trouble.at("data:mnist/x").to_string()).into();
        insta::assert_snapshot!(said.join("\n"), @r#"
        data:mnist/x cannot be reached now: connection refused
        data:mnist/x cannot be reached now: 429 Too Many Requests; it asks to wait 7 s
        data:mnist/x does not let us in: SignatureDoesNotMatch
        data:mnist/x is not there: no such bucket
        data:mnist/x is full: no space left
        data:mnist/x changed meanwhile: its ETag was "a" and is "b"
        what was to go to data:mnist/x cannot be read here now: Input/output error
        data:mnist/x: has the part `..`, which leads elsewhere
        "#);
    }

    #[test]
    fn only_what_lies_in_the_request_is_never_tried_again() {
        let kind = |number: i32| match Trouble::from(io::Error::from_raw_os_error(number)) {
            Trouble::Away { .. } => "away",
            Trouble::Denied { .. } => "denied",
            Trouble::Missing { .. } => "missing",
            Trouble::Full { .. } => "full",
            Trouble::Changed { .. } | Trouble::Unread { .. } => "otherwise",
            Trouble::Never { .. } => "never",
        };
        for passing in [libc::EIO, libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::EAGAIN, libc::ESTALE, libc::ETIMEDOUT, libc::EBUSY] {
            assert_eq!(kind(passing), "away", "{}", io::Error::from_raw_os_error(passing));
        }
        for lasting in [libc::ENAMETOOLONG, libc::EINVAL, libc::EILSEQ, libc::EFBIG, libc::ENOTDIR, libc::EISDIR, libc::EEXIST] {
            assert_eq!(kind(lasting), "never", "{}", io::Error::from_raw_os_error(lasting));
        }
        let others = [libc::ENOENT, libc::EACCES, libc::EROFS, libc::ENOSPC, libc::EDQUOT];
        assert_eq!(others.map(kind), ["missing", "denied", "denied", "full", "full"]);
    }
}
