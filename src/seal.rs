//! What must not be read where it is kept: sealed with a key that lies in a file of its own, so that the
//! database and every copy of it are worth nothing without that file.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Arc, RwLock},
};

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use chacha20poly1305::{
    XChaCha20Poly1305, XNonce,
    aead::{Aead, KeyInit, Payload},
};
use sha2::{Digest, Sha256};

use crate::{
    run_token::{hex, write_private},
    rundir::private_dir,
};

const VERSION: &str = "tm1";
const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;
const KEY_ID_CHARACTERS: usize = 8;

/// Seals and opens. All copies share their keys, so that a new key counts for everyone at once.
#[derive(Clone)]
pub struct Seal {
    file: Arc<PathBuf>,
    /// The first one seals; all of them open. There is a second one only while a key is being replaced.
    keys: Arc<RwLock<Vec<Key>>>,
}

#[derive(Clone, Copy)]
struct Key([u8; KEY_BYTES]);

#[derive(Debug, thiserror::Error)]
pub enum SealError {
    #[error("the key of the secrets, {path}, cannot be read: {why}")]
    Unreadable { path: String, why: io::Error },
    #[error("the key of the secrets, {path}, may be read by others (mode {mode:o}): `chmod 600` it, and renew it if others were there")]
    OpenToOthers { path: String, mode: u32 },
    #[error("{path} is not a key of secrets: line {line} is not {KEY_BYTES} bytes in hexadecimal")]
    NotAKey { path: String, line: usize },
    #[error(
        "the key of the secrets, {path}, is not there, and the database has secrets that it sealed: put the key back from where you \
         keep a copy of it, or say where it is with `secrets_key`"
    )]
    Missing { path: String },
    #[error("sealed with the key {id}, which is not in {path}: put that key back")]
    OtherKey { id: String, path: String },
    #[error("it is not what was sealed for {context}")]
    Broken { context: String },
    #[error("no randomness: {0}")]
    NoRandomness(String),
}

impl Seal {
    /// Reads the key, or makes one where nothing has been sealed yet.
    pub fn open_or_make(file: &Path) -> Result<Self, SealError> {
        match Self::open_file(file) {
            Err(SealError::Missing { .. }) => Self::make(file),
            other => other,
        }
    }

    /// Reads the key. One that is not there is never made up: what it has sealed would be lost for good.
    pub fn open_file(file: &Path) -> Result<Self, SealError> {
        Ok(Self { file: Arc::new(file.to_owned()), keys: Arc::new(RwLock::new(read_keys(file)?)) })
    }

    fn make(file: &Path) -> Result<Self, SealError> {
        let unwritable = |why| SealError::Unreadable { path: shown(file), why };
        let folder = file.parent().unwrap_or(Path::new("/"));
        private_dir(folder).map_err(unwritable)?;
        let keys = vec![Key::fresh()?];
        write_keys(file, &keys)?;
        // The folder may be as new as the file in it.
        folder.parent().map_or(Ok(()), |above| fs::File::open(above)?.sync_all()).map_err(unwritable)?;
        Ok(Self { file: Arc::new(file.to_owned()), keys: Arc::new(RwLock::new(keys)) })
    }

    /// The bytes as text that only this key opens, and only for the same context.
    pub fn seal(&self, context: &str, bytes: &[u8]) -> Result<String, SealError> {
        let key = self.keys()[0];
        let mut sealed = [0; NONCE_BYTES];
        fill(&mut sealed)?;
        let nonce = XNonce::from(sealed);
        let payload = Payload { msg: bytes, aad: context.as_bytes() };
        let body = key.cipher().encrypt(&nonce, payload).map_err(|_| SealError::Broken { context: context.to_owned() })?;
        Ok(format!("{VERSION}.{}.{}", key.id(), STANDARD_NO_PAD.encode([sealed.as_slice(), &body].concat())))
    }

    pub fn open(&self, context: &str, text: &str) -> Result<Vec<u8>, SealError> {
        let broken = || SealError::Broken { context: context.to_owned() };
        let (id, body) = parts(text).ok_or_else(broken)?;
        let key = self.keys().into_iter().find(|key| key.id() == id).ok_or_else(|| self.other_key(id))?;
        let sealed = STANDARD_NO_PAD.decode(body).map_err(|_| broken())?;
        let (nonce, body) = sealed.split_first_chunk::<NONCE_BYTES>().ok_or_else(broken)?;
        key.cipher().decrypt(&XNonce::from(*nonce), Payload { msg: body, aad: context.as_bytes() }).map_err(|_| broken())
    }

    /// Answers with an error if the text was sealed with a key that is not in our file.
    pub fn knows(&self, text: &str) -> Result<(), SealError> {
        let Some((id, _)) = parts(text) else { return Ok(()) };
        if self.keys().iter().any(|key| key.id() == id) { Ok(()) } else { Err(self.other_key(id)) }
    }

    fn other_key(&self, id: &str) -> SealError {
        SealError::OtherKey { id: id.to_owned(), path: shown(&self.file) }
    }

    /// Whether this key, and not one that is on its way out, has sealed the text.
    pub fn is_current(&self, text: &str) -> bool {
        parts(text).is_some_and(|(id, _)| id == self.keys()[0].id())
    }

    /// Seals with a new key from now on. The old one opens until [`Seal::forget_old_keys`], and is kept in the file as long.
    pub fn renew(&self) -> Result<(), SealError> {
        let mut keys = self.keys();
        keys.insert(0, Key::fresh()?);
        self.keep(keys)
    }

    /// Is to be called only when nothing is left that an old key has sealed.
    pub fn forget_old_keys(&self) -> Result<(), SealError> {
        self.keep(self.keys()[..1].to_vec())
    }

    pub fn has_old_keys(&self) -> bool {
        self.keys().len() > 1
    }

    /// On disk first: what is sealed after this can be opened after a crash.
    fn keep(&self, keys: Vec<Key>) -> Result<(), SealError> {
        write_keys(&self.file, &keys)?;
        *self.keys.write().unwrap_or_else(std::sync::PoisonError::into_inner) = keys;
        Ok(())
    }

    fn keys(&self) -> Vec<Key> {
        self.keys.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Seal({})", self.file.display())
    }
}

impl Key {
    fn fresh() -> Result<Self, SealError> {
        let mut key = [0; KEY_BYTES];
        fill(&mut key)?;
        Ok(Self(key))
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&self.0.into())
    }

    /// Tells keys apart and says nothing of what is in them.
    fn id(&self) -> String {
        let hash = Sha256::new().chain_update("trainmaster key id").chain_update(self.0).finalize();
        hex(&hash)[..KEY_ID_CHARACTERS].to_owned()
    }
}

/// The id of its key, and the rest.
fn parts(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix(VERSION)?.strip_prefix('.')?.split_once('.')
}

fn read_keys(file: &Path) -> Result<Vec<Key>, SealError> {
    let unreadable = |why: io::Error| match why.kind() {
        io::ErrorKind::NotFound => SealError::Missing { path: shown(file) },
        _ => SealError::Unreadable { path: shown(file), why },
    };
    let mode = fs::metadata(file).map_err(unreadable)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(SealError::OpenToOthers { path: shown(file), mode });
    }
    let text = fs::read_to_string(file).map_err(unreadable)?;
    let not_a_key = |line| SealError::NotAKey { path: shown(file), line };
    let key = |(line, text): (usize, &str)| from_hex(text.trim()).ok_or_else(|| not_a_key(line + 1));
    let keys: Vec<Key> = text.lines().enumerate().map(key).collect::<Result<_, _>>()?;
    if keys.is_empty() { Err(not_a_key(1)) } else { Ok(keys) }
}

fn from_hex(text: &str) -> Option<Key> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes = text.as_bytes().chunks(2).map(byte).collect::<Option<Vec<u8>>>()?;
    let right_length = text.len() == 2 * KEY_BYTES;
    bytes.try_into().ok().filter(|_| right_length).map(Key)
}

fn write_keys(file: &Path, keys: &[Key]) -> Result<(), SealError> {
    let text: String = keys.iter().map(|key| format!("{}\n", hex(&key.0))).collect();
    write_private(file, text.as_bytes()).map_err(|why| SealError::Unreadable { path: shown(file), why })
}

fn fill(bytes: &mut [u8]) -> Result<(), SealError> {
    getrandom::fill(bytes).map_err(|error| SealError::NoRandomness(error.to_string()))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("keys/secrets.key");
        (directory, file)
    }

    #[test]
    fn what_is_sealed_opens_for_its_context_alone_and_after_a_restart() {
        let (_directory, file) = place();
        let seal = Seal::open_or_make(&file).unwrap();
        let sealed = seal.seal("secret ann/wandb", b"s3cret").unwrap();
        assert!(!sealed.contains("s3cret") && sealed != seal.seal("secret ann/wandb", b"s3cret").unwrap());
        let again = Seal::open_or_make(&file).unwrap();
        assert_eq!(again.open("secret ann/wandb", &sealed).unwrap(), b"s3cret");
        let said = again.open("secret bob/wandb", &sealed).unwrap_err().to_string();
        assert_eq!(said, "it is not what was sealed for secret bob/wandb");
    }

    #[test]
    fn no_text_that_was_touched_opens() {
        let (_directory, file) = place();
        let seal = Seal::open_or_make(&file).unwrap();
        let sealed = seal.seal("x", b"s3cret").unwrap();
        for at in 0..sealed.len() {
            let mut bytes = sealed.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let touched = String::from_utf8(bytes).unwrap();
            assert!(seal.open("x", &touched).is_err(), "{touched}");
        }
        for short in ["", "tm1", "tm1.", "tm1..", &sealed[..20], &sealed[..sealed.len() - 4]] {
            assert!(seal.open("x", short).is_err(), "{short}");
        }
    }

    #[test]
    fn the_key_is_its_owners_alone_and_is_never_shown() {
        let (_directory, file) = place();
        let seal = Seal::open_or_make(&file).unwrap();
        let key = fs::read_to_string(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(!format!("{seal:?}").contains(key.trim()));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let said = Seal::open_or_make(&file).unwrap_err().to_string();
        assert!(said.contains("may be read by others (mode 640)"), "{said}");
    }

    #[test]
    fn a_key_that_is_gone_or_is_none_is_told_of() {
        let (_directory, file) = place();
        let said = Seal::open_file(&file).unwrap_err().to_string();
        assert!(said.contains("is not there, and the database has secrets that it sealed"), "{said}");
        let sealed = Seal::open_or_make(&file).unwrap().seal("x", b"s3cret").unwrap();
        for wrong in ["", "\n", "zz\n", &format!("{}\n", "a".repeat(62)), &format!("{}\nx\n", "a".repeat(64))] {
            write_private(&file, wrong.as_bytes()).unwrap();
            assert!(Seal::open_or_make(&file).unwrap_err().to_string().contains("is not a key of secrets"), "{wrong:?}");
        }
        fs::remove_file(&file).unwrap();
        let said = Seal::open_or_make(&file).unwrap().open("x", &sealed).unwrap_err().to_string();
        assert!(said.starts_with("sealed with the key "), "{said}");
    }

    #[test]
    fn a_renewed_key_opens_the_old_until_it_is_forgotten() {
        let (_directory, file) = place();
        let seal = Seal::open_or_make(&file).unwrap();
        let shared = seal.clone();
        let old = seal.seal("x", b"old").unwrap();
        assert!(seal.is_current(&old));
        seal.renew().unwrap();
        assert!(!shared.is_current(&old) && shared.has_old_keys());
        assert_eq!(Seal::open_file(&file).unwrap().open("x", &old).unwrap(), b"old", "after a crash in between");
        let new = shared.seal("x", b"new").unwrap();
        seal.forget_old_keys().unwrap();
        let after = Seal::open_file(&file).unwrap();
        assert!(after.open("x", &old).is_err() && !after.has_old_keys());
        assert_eq!(after.open("x", &new).unwrap(), b"new");
    }
}
