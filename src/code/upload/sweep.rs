//! What no job wants any more.

use std::{
    collections::BTreeSet,
    fs, io,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use model::bundle::ContentHash;

use super::{Alone, Room};

impl Room {
    /// Removes what no job names and nobody has touched for a while. Answers how many files went. The
    /// caller has had the room for itself since before it looked which bundles are wanted.
    pub fn sweep(&self, _alone: &Alone, wanted: &BTreeSet<ContentHash>, older_than: Duration) -> io::Result<usize> {
        let old = SystemTime::now().checked_sub(older_than).unwrap_or(SystemTime::UNIX_EPOCH);
        let named = |path: &PathBuf, names: &BTreeSet<ContentHash>| {
            path.file_name().and_then(|name| name.to_str()?.parse().ok()).is_some_and(|hash| names.contains(&hash))
        };
        let mut gone = remove(self.list("bundles")?, |path| !named(path, wanted), old)?;
        gone += remove(self.list("pending")?, |_| true, old)?;
        gone += remove(self.list("incoming")?, |_| true, old)?;
        let kept = self.kept()?;
        gone += remove(self.list("blobs")?, |path| !named(path, &kept), old)?;
        Ok(gone)
    }

    /// The blobs of every bundle that is left, or may still be finished.
    fn kept(&self) -> io::Result<BTreeSet<ContentHash>> {
        let mut kept = BTreeSet::new();
        for path in self.list("bundles")?.into_iter().chain(self.list("pending")?) {
            let bundle = super::read(&path)?;
            kept.extend(bundle.iter().flat_map(|bundle| bundle.blobs()).map(|blob| blob.hash));
        }
        Ok(kept)
    }

    fn list(&self, part: &str) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(self.dir.join(part))?.map(|entry| entry.map(|entry| entry.path())).collect()
    }
}

fn remove(paths: Vec<PathBuf>, unwanted: impl Fn(&PathBuf) -> bool, old: SystemTime) -> io::Result<usize> {
    let mut gone = 0;
    for path in paths.iter().filter(|path| unwanted(path)) {
        if fs::symlink_metadata(path)?.modified()? <= old {
            fs::remove_file(path)?;
            gone += 1;
        }
    }
    Ok(gone)
}
