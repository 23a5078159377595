//! Reading files of a directory that may be hostile: nothing outside of it is ever opened.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use nix::{
    errno::Errno,
    fcntl::{OFlag, OpenHow, ResolveFlag, openat2},
};

/// The text of a file beneath a directory, or nothing if there is no such file. Links may lead from one place in
/// the directory to another, and nowhere else.
pub fn read(root: &Path, path: &str, bytes_max: u64) -> io::Result<Option<String>> {
    let dir = File::open(root)?;
    // Without blocking, because a pipe that nobody writes to would hold us for ever.
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let how = OpenHow::new().flags(flags).resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS);
    let file = match openat2(&dir, path, how) {
        Ok(file) => File::from(file),
        Err(Errno::ENOENT | Errno::ENOTDIR) => return Ok(None),
        Err(Errno::EXDEV) => return Err(io::Error::other("it leads out of the code")),
        Err(errno) => return Err(errno.into()),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::other(format!("it is larger than {bytes_max} bytes")));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| io::Error::other("it is not text"))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_file_is_read_only_beneath_its_directory_and_only_if_it_is_one() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("code");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(home.path().join("secret"), "s").unwrap();
        fs::write(root.join("sub/a.txt"), "six").unwrap();
        symlink("sub/a.txt", root.join("inside")).unwrap();
        symlink("../secret", root.join("outside")).unwrap();
        symlink("/etc/passwd", root.join("absolute")).unwrap();
        symlink("..", root.join("up")).unwrap();
        nix::unistd::mkfifo(&root.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let said = |path: &str| match read(&root, path, 3) {
            Ok(text) => text.unwrap_or_else(|| "nothing".into()),
            Err(error) => error.to_string(),
        };
        assert_eq!((said("sub/a.txt"), said("inside"), said("missing/x")), ("six".into(), "six".into(), "nothing".into()));
        for path in ["outside", "absolute", "up/secret", "../secret", "/etc/passwd"] {
            assert_eq!(said(path), "it leads out of the code", "{path}");
        }
        assert_eq!((said("pipe"), said("sub")), ("it is not a file".into(), "it is not a file".into()));
        fs::write(root.join("sub/a.txt"), "long").unwrap();
        assert_eq!(said("sub/a.txt"), "it is larger than 3 bytes");
        fs::write(root.join("sub/a.txt"), [0xff]).unwrap();
        assert_eq!(said("sub/a.txt"), "it is not text");
    }
}
