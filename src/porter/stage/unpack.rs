//! Archives as the files that are in them: unpacked once, and kept by what the archive is.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use model::task::Whose;

use super::{
    super::Failed,
    fetch::Fetcher,
    manifest::Manifest,
    room::{self, Need},
    shelf::{self, Facts, Held},
};
use crate::{
    code::{
        NotMade, key,
        once::{Making, Once},
    },
    rundir::private_dir,
    volumes::unpack::{Kind, Limits, NotUnpacked, unpack},
};

/// An archive that is on this machine.
pub struct Archive<'a> {
    /// As a person wrote it.
    pub label: &'a str,
    /// A file, or a directory of the cache with nothing in it but that file.
    pub place: &'a Path,
    /// Of what it was fetched as; one that was not fetched has none.
    pub manifest: Option<&'a Manifest>,
}

impl Archive<'_> {
    /// Everything that is in it, held against removal.
    pub fn unpacked(&self, fetcher: &Fetcher<'_>) -> Result<Held, Failed> {
        let trouble = |error: io::Error| platform(format!("{} could not be unpacked: {error}", self.label));
        let file = self.file()?;
        let place = fetcher.shelf.tree(&key(["unpacked 1", &self.version(&file).map_err(trouble)?]));
        let is_usable = |place: &Path| shelf::files_of(place).is_dir();
        let crash_point = "input.unpacked-before-marked";
        let once = Once { place: &place, noun: "unpacked input", is_usable, crash_point, boot: None, waiting: &fetcher.waiting };
        loop {
            if let Some(held) = fetcher.shelf.hold(&once).map_err(trouble)? {
                return Ok(held);
            }
            (fetcher.waiting.say)(&format!("unpacks {}", self.label));
            once.make(|making| self.unpack(fetcher, &file, making).map_err(|Failed { why, whose }| NotMade::Failed { why, whose }))?;
        }
    }

    fn file(&self) -> Result<PathBuf, Failed> {
        if !self.place.is_dir() {
            return Ok(self.place.to_owned());
        }
        match self.manifest.map(|manifest| manifest.files.as_slice()) {
            Some([one]) => Ok(self.place.join(&one.place)),
            Some(_) | None => {
                Err(user(format!("{} is a directory, and only one archive can be unpacked; name the file itself", self.label)))
            }
        }
    }

    /// Another archive has another one.
    fn version(&self, file: &Path) -> io::Result<String> {
        if let Some(manifest) = self.manifest {
            return Ok(manifest.name());
        }
        let found = fs::metadata(file)?;
        Ok(format!("{} {} {}.{} {}", file.display(), found.ino(), found.mtime(), found.mtime_nsec(), found.len()))
    }

    /// Answers what is written into the mark.
    fn unpack(&self, fetcher: &Fetcher<'_>, file: &Path, making: &Making<'_>) -> Result<String, Failed> {
        let trouble = |error: io::Error| platform(format!("{} could not be unpacked: {error}", self.label));
        let archive = File::open(file).map_err(trouble)?;
        let bytes = archive.metadata().map_err(trouble)?.len();
        let what = format!("{} is to be unpacked", self.label);
        // It becomes no smaller by it; how much larger is seen as it comes.
        let tree = making.place.file_name().unwrap_or_default().to_string_lossy();
        let room = room::make(fetcher.shelf, fetcher.rules.cache_bytes_max, &Need { what: &what, bytes, files: 1, tree: &tree })?;
        let files = shelf::files_of(making.place);
        private_dir(making.place).and_then(|()| fs::create_dir_all(&files)).map_err(trouble)?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let limits = Limits { bytes_max: bytes + room.more_bytes, ..Limits::default() };
        let unpacked =
            Kind::of(&name, &archive).and_then(|kind| unpack(&archive, kind, &files, &limits)).map_err(|why| self.refused(&why))?;
        Ok(serde_json::to_string(&Facts { bytes: unpacked.bytes, own_bytes: unpacked.bytes }).expect("facts are JSON"))
    }

    fn refused(&self, why: &NotUnpacked) -> Failed {
        let words = format!("{} cannot be unpacked: {why}", self.label);
        match why {
            NotUnpacked::Refused { .. } => user(words),
            NotUnpacked::Io(_) => platform(words),
        }
    }
}

fn user(why: String) -> Failed {
    Failed { why, whose: Whose::User }
}

fn platform(why: String) -> Failed {
    Failed { why, whose: Whose::Platform }
}
