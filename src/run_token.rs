//! The token of a run: good for that run alone, and never stored. It is derived from a secret of this
//! data directory, so a server that restarts between placing and starting still knows it.

use std::{fs, io, io::Write, os::unix::fs::OpenOptionsExt, path::Path, sync::Arc};

use hmac::{Hmac, KeyInit, Mac};
use model::ids::{JobId, RunKey};
use sha2::Sha256;

#[derive(Clone)]
pub struct RunSecret(Arc<[u8; 32]>);

impl RunSecret {
    pub const FILE_NAME: &str = "run-secret";

    /// Reads the secret, or makes one for a new data directory.
    pub fn of(data: &Path) -> io::Result<Self> {
        let path = data.join(Self::FILE_NAME);
        match fs::read(&path) {
            Ok(bytes) => {
                let secret = bytes.try_into().map_err(|_| io::Error::other(format!("{} is not 32 bytes long", path.display())))?;
                Ok(Self(Arc::new(secret)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::make(&path),
            Err(error) => Err(error),
        }
    }

    fn make(path: &Path) -> io::Result<Self> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|error| io::Error::other(error.to_string()))?;
        write_private(path, &secret)?;
        Ok(Self(Arc::new(secret)))
    }

    pub fn token(&self, run: &RunKey) -> String {
        self.mark(&run.to_string())
    }

    /// What one attempt of a job shares among its tasks. No run's token, whatever the job is called: those
    /// are of texts that begin with `job-`.
    pub fn gang_key(&self, job: JobId, attempt: u32) -> String {
        self.mark(&format!("gang {job}:{attempt}"))
    }

    /// Compares in constant time.
    pub fn is_token(&self, run: &RunKey, token: &str) -> bool {
        self.is_mark(&run.to_string(), token)
    }

    /// What only this server can have put to a text. The text begins with what it is for, and no run does so.
    pub fn mark(&self, text: &str) -> String {
        hex(&self.mac_of(text).finalize().into_bytes())
    }

    /// Compares in constant time.
    pub fn is_mark(&self, text: &str, mark: &str) -> bool {
        unhex(mark).is_some_and(|bytes| self.mac_of(text).verify_slice(&bytes).is_ok())
    }

    fn mac_of(&self, text: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&*self.0).expect("any length is a key");
        mac.update(text.as_bytes());
        mac
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    text.as_bytes().chunks(2).map(pair).collect()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a file that only its owner may read; it is there whole or not at all.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = path.with_extension("part");
    let mut file = fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(part, path)?;
    path.parent().map_or(Ok(()), |parent| fs::File::open(parent)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_its_run_alone_and_outlives_a_restart() {
        let data = tempfile::tempdir().unwrap();
        let run = |attempt: u32| format!("job-00000000000000000000000000000001:main-0:{attempt}").parse::<RunKey>().unwrap();
        let token = RunSecret::of(data.path()).unwrap().token(&run(1));
        let after_restart = RunSecret::of(data.path()).unwrap();
        assert!(after_restart.is_token(&run(1), &token));
        assert!(!after_restart.is_token(&run(2), &token));
        for wrong in ["", "00", "zz", &token[..62], &format!("{token}00"), "ü"] {
            assert!(!after_restart.is_token(&run(1), wrong), "{wrong}");
        }
        let key = after_restart.gang_key(run(1).job, 1);
        assert_eq!(key, RunSecret::of(data.path()).unwrap().gang_key(run(1).job, 1));
        assert!(key != after_restart.gang_key(run(1).job, 2) && !after_restart.is_token(&run(1), &key));
        let elsewhere = tempfile::tempdir().unwrap();
        assert!(!RunSecret::of(elsewhere.path()).unwrap().is_token(&run(1), &token));
    }
}
