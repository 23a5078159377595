//! Which addresses, refs and directories are given to `git`. A program that takes options, helpers and
//! local paths where it takes addresses is only ever given what can be nothing else.

use crate::{
    said, speaks,
    spec::harmless,
    words::{Said, Words},
};

pub const URL_BYTES_MAX: usize = 2048;
pub const REF_BYTES_MAX: usize = 512;
const SHORT_COMMIT_MIN: usize = 7;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadGit {
    Empty,
    TooLong { length: usize, most: usize },
    Option,
    Character { character: char, why: Said },
    Ssh,
    Scheme(String),
    Helper(String),
    NoAddress,
    NoHost,
    Host(String),
    Port(String),
    NoRepository,
    Credentials,
    Part(String),
    RefForm(Said),
    Absolute,
}

impl BadGit {
    /// What is said of the text.
    pub fn words(&self) -> Words {
        match self {
            BadGit::Empty => said!("is empty", "是空的"),
            BadGit::TooLong { length, most } => said!("has {length} bytes; the most is {most}", "有 {length} 字节，最多 {most} 字节"),
            BadGit::Option => said!("begins with `-`, which git would take for an option", "以 `-` 开头，git 会把它当成选项"),
            BadGit::Character { character, why: (en, zh) } => {
                let character = harmless(&character.to_string());
                Words::new(format!("has the character `{character}`, which {en}"), format!("含有字符 `{character}`，{zh}"))
            }
            BadGit::Ssh => said!(
                "is an SSH address; SSH is not supported: give the https address, and `user` and `password` or a token for a private repository",
                "是 SSH 地址，而这里不支持 SSH：请写 https 地址；私有仓库请另写 `user` 和 `password` 或令牌"
            ),
            BadGit::Scheme(scheme) => said!(
                "has the scheme `{}`; git is fetched by http and https alone: give the https address",
                "的协议是 `{}`；git 只能通过 http 和 https 获取：请写 https 地址",
                harmless(scheme)
            ),
            BadGit::Helper(helper) => said!(
                "names the helper `{}::`, which git would run as a program: give the https address",
                "里有 `{}::`，git 会把它当作程序运行：请写 https 地址",
                harmless(helper)
            ),
            BadGit::NoAddress => said!(
                "is no address: write it whole, such as https://example.org/team/project.git; for a folder of your own write `code: .`",
                "不是地址：请写完整，如 https://example.org/team/project.git；要用自己的目录请写 `code: .`"
            ),
            BadGit::NoHost => said!(
                "names no host: write it such as https://example.org/team/project.git",
                "里没有主机名：请写成 https://example.org/team/project.git 这样"
            ),
            BadGit::Host(host) => said!("has the host `{}`, which is none", "里的 `{}` 不是主机名", harmless(host)),
            BadGit::Port(port) => said!("has the port `{}`, which is none", "里的 `{}` 不是端口", harmless(port)),
            BadGit::NoRepository => said!(
                "names a host but no repository: write it such as https://example.org/team/project.git",
                "只有主机名，没有仓库：请写成 https://example.org/team/project.git 这样"
            ),
            BadGit::Credentials => said!(
                "has a user or password in it, which everyone would see: put them under `user` and `password`, with the password as a secret",
                "里带有用户名或密码，所有人都会看到：请分别写在 `user` 和 `password`，密码要用密钥"
            ),
            BadGit::Part(part) => said!("has the part `{}`, which leads elsewhere", "里有 `{}`，会跳到别处", harmless(part)),
            BadGit::RefForm((en, zh)) => {
                Words::new(format!("{en}: see `git help check-ref-format`"), format!("{zh}：见 `git help check-ref-format`"))
            }
            BadGit::Absolute => said!(
                "is a path from the root; a directory inside the repository is meant, such as `train`",
                "是从根目录写起的路径；这里要写仓库里的目录，如 `train`"
            ),
        }
    }
}

speaks!(BadGit);

/// Of `http` or `https`, with a host and a path, without credentials, and without anything that git, a
/// shell or another reader of addresses could see otherwise.
pub fn check_url(text: &str) -> Result<(), BadGit> {
    bounded(text, URL_BYTES_MAX)?;
    let rest = after_scheme(text)?;
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len()));
    check_authority(authority)?;
    check_path(path)
}

/// The scheme, host and port of an address that was checked, to which its credentials belong.
pub fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    url[host..].find('/').map_or(url, |end| &url[..host + end])
}

/// A branch, a tag, a whole ref or a commit.
pub fn check_ref(text: &str) -> Result<(), BadGit> {
    bounded(text, REF_BYTES_MAX)?;
    if let Some(character) = text.chars().find(|it| ":\\^~*?[".contains(*it)) {
        return Err(BadGit::Character {
            character, why: ("no branch, tag or commit has", "分支、标签和提交的名字里都不能有它")
        });
    }
    let wrong_part = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    let rules = [
        (text == "@", ("is `@` alone", "只有一个 `@`")),
        (text.contains(".."), ("has two dots in a row", "有两个连着的点")),
        (text.contains("@{"), ("has `@{`", "含有 `@{`")),
        (text.ends_with('.'), ("ends with a dot", "以点结尾")),
        (
            text.split('/').any(wrong_part),
            ("has a part that is empty, begins with a dot or ends with `.lock`", "有一段是空的、以点开头或以 `.lock` 结尾"),
        ),
    ];
    rules.into_iter().find(|(is_broken, _)| *is_broken).map_or(Ok(()), |(_, rule)| Err(BadGit::RefForm(rule)))
}

/// The path of a directory below the root of a repository.
pub fn check_directory(text: &str) -> Result<(), BadGit> {
    // The one character that cannot be seen and still stands in people's names.
    bounded(&text.replace(' ', "_"), URL_BYTES_MAX)?;
    if text.starts_with('/') {
        return Err(BadGit::Absolute);
    }
    let leads_away = |part: &&str| matches!(*part, "" | "." | "..") || part.eq_ignore_ascii_case(".git");
    match text.split('/').find(leads_away) {
        Some(part) => Err(BadGit::Part(if part.is_empty() { "//".into() } else { part.to_owned() })),
        None => Ok(()),
    }
}

/// A whole commit id, of SHA-1 or SHA-256.
pub fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && is_hex(text)
}

/// The beginning of a commit id, long enough to be meant as one.
pub fn is_short_commit(text: &str) -> bool {
    (SHORT_COMMIT_MIN..64).contains(&text.len()) && !is_commit(text) && is_hex(text)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|it| it.is_ascii_digit() || (b'a'..=b'f').contains(&it))
}

/// What holds for everything that becomes an argument of a program.
fn bounded(text: &str, most: usize) -> Result<(), BadGit> {
    if text.is_empty() {
        return Err(BadGit::Empty);
    }
    if text.len() > most {
        return Err(BadGit::TooLong { length: text.len(), most });
    }
    let hidden = |it: &char| {
        it.is_control()
            || it.is_whitespace()
            || matches!(it, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    if let Some(character) = text.chars().find(hidden) {
        return Err(BadGit::Character { character, why: ("cannot be seen", "它是看不见的") });
    }
    if text.starts_with('-') { Err(BadGit::Option) } else { Ok(()) }
}

fn after_scheme(text: &str) -> Result<&str, BadGit> {
    let before_path = text.split('/').next().unwrap_or_default();
    if let Some((helper, _)) = before_path.split_once("::") {
        return Err(BadGit::Helper(helper.to_owned()));
    }
    match text.split_once("://") {
        Some(("http" | "https", rest)) => Ok(rest),
        Some(("ssh" | "git+ssh" | "ssh+git", _)) => Err(BadGit::Ssh),
        Some((scheme, _)) if !scheme.contains(['/', '@']) => Err(BadGit::Scheme(scheme.to_owned())),
        Some(_) | None if before_path.contains(['@', ':']) => Err(BadGit::Ssh),
        Some(_) | None => Err(BadGit::NoAddress),
    }
}

fn check_authority(authority: &str) -> Result<(), BadGit> {
    if authority.contains('@') {
        return Err(BadGit::Credentials);
    }
    let bracketed = authority.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (host, after) = match bracketed {
        Some((host, after)) => (host, after),
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    if host.is_empty() {
        return Err(BadGit::NoHost);
    }
    let is_name = || {
        host.split('.').all(|label| {
            !label.is_empty() && !label.starts_with('-') && label.chars().all(|it| it.is_ascii_alphanumeric() || "-_".contains(it))
        })
    };
    let is_good = if bracketed.is_some() { host.parse::<std::net::Ipv6Addr>().is_ok() } else { is_name() };
    if !is_good {
        return Err(BadGit::Host(host.to_owned()));
    }
    check_port(after)
}

fn check_port(after_host: &str) -> Result<(), BadGit> {
    let is_port = |port: &str| port.bytes().all(|it| it.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|it| it > 0);
    match after_host.strip_prefix(':') {
        None if after_host.is_empty() => Ok(()),
        Some(port) if is_port(port) => Ok(()),
        _ => Err(BadGit::Port(after_host.trim_start_matches(':').to_owned())),
    }
}

fn check_path(path: &str) -> Result<(), BadGit> {
    if path.trim_matches('/').is_empty() {
        return Err(BadGit::NoRepository);
    }
    let wrong = |it: &char| !it.is_ascii_alphanumeric() && !"-._~!$&'()*+,;=:@/%".contains(*it);
    match path.chars().find(wrong) {
        Some('#') => {
            return Err(BadGit::Character {
                character: '#',
                why: ("begins a branch, tag or commit: give that as `ref`", "它后面是分支、标签或提交：请写在 `ref`"),
            });
        }
        Some(character) => {
            return Err(BadGit::Character {
                character,
                why: (
                    "is not part of an address: write it as `%` and two digits, if it is meant",
                    "地址里不能有它：确实需要时请写成 `%` 加两位数字",
                ),
            });
        }
        None => {}
    }
    let parts = path.trim_matches('/').split('/').map(|part| unescaped(part).map(|it| (part, it)));
    for part in parts {
        let (written, meant) = part?;
        if matches!(meant.as_str(), "" | "." | "..") || meant.contains(['/', '\\']) {
            return Err(BadGit::Part(if written.is_empty() { "//".into() } else { written.to_owned() }));
        }
    }
    Ok(())
}

/// A part of a path as the server will see it. Bytes that are no letters are of no interest here.
fn unescaped(part: &str) -> Result<String, BadGit> {
    let mut pieces = part.split('%');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let code = piece.get(..2).filter(|it| it.bytes().all(|b| b.is_ascii_hexdigit())).and_then(|it| u8::from_str_radix(it, 16).ok());
        match code {
            Some(byte) if byte >= b' ' && byte != 0x7f => text.push(char::from(byte)),
            Some(_) | None => {
                return Err(BadGit::Character {
                    character: '%',
                    why: ("must have two digits behind it that mean a character", "后面必须有表示字符的两位数字"),
                });
            }
        }
        text.push_str(&piece[2..]);
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
