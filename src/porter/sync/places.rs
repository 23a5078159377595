//! Where the files of `/output` go, and which of them nobody copies.

use std::path::Path;

use model::{
    channels::{Layout, OutputPlan},
    location::Location,
    volume::Volume,
};

use super::{
    super::{errand::Errand, place::on_this_machine},
    names::key_of,
};
use crate::{
    rundir::RunDir,
    volumes::{self, Store, VolumeError},
};

/// One output and its place outside.
pub struct Place {
    /// Of the directory below `/output` that goes there; all that has no name of its own without one.
    name: Option<String>,
    pub store: Store,
    /// The path in the store.
    base: String,
    /// As people call it.
    pub shown: String,
    /// First names below the place that belong to other tasks.
    not_ours: Vec<String>,
    is_local: bool,
}

/// What becomes of a path below `/output`.
pub enum Route<'a> {
    /// To this place, under this path of its store.
    To(&'a Place, String),
    /// No output has it.
    Nowhere,
    Refused(String),
}

/// Our own files lie beside the task's, in a directory that no task's file is copied to.
pub const OURS: &str = ".trainmaster";
/// What had to make way.
const REPLACED: &str = ".trainmaster/replaced";
const S3_KEY_BYTES_MAX: usize = 1_024;
const LOCAL_NAME_BYTES_MAX: usize = 255;
const LOCAL_PATH_BYTES_MAX: usize = 3_800;
/// What is larger goes to a bucket in parts.
pub const PARTS_ABOVE_BYTES: u64 = 8 << 20;

/// The places as one text: another bucket under the same name makes another one, other keys do not.
pub fn named(errand: &Errand) -> String {
    let one = |output: &OutputPlan| {
        let volume = output.to.volume().and_then(|name| errand.order.volumes.get(name));
        (output.name.clone(), output.to.clone(), volume.cloned())
    };
    let all: Vec<(Option<String>, Location, Option<Volume>)> = errand.order.freight.outputs.iter().map(one).collect();
    serde_json::to_string(&all).expect("places are JSON")
}

pub fn open(errand: &Errand) -> Result<Vec<Place>, String> {
    errand.order.freight.outputs.iter().map(|output| open_one(output, errand)).collect()
}

fn open_one(output: &OutputPlan, errand: &Errand) -> Result<Place, String> {
    let (store, base, is_local) = store_at(&output.to, errand)?;
    let not_ours = match output.layout {
        Layout::Chief => errand.order.not_ours.clone(),
        Layout::Tasks => Vec::new(),
    };
    Ok(Place { name: output.name.clone(), store, base, shown: output.to.to_string(), not_ours, is_local })
}

/// The store of a place, the path in it, and whether it is a directory of this machine.
pub fn store_at(to: &Location, errand: &Errand) -> Result<(Store, String, bool), String> {
    match to {
        Location::Host(path) => {
            make_host_directory(to, path, errand)?;
            let store = volumes::open(&Volume::Local { path: path.clone() }, None).map_err(|error| error.to_string())?;
            Ok((store, String::new(), true))
        }
        Location::Volume { volume: name, path } => {
            let volume = errand.order.volumes.get(name).ok_or_else(|| format!("there is no volume `{name}`"))?;
            let store = volumes::open(volume, errand.secrets.volumes.get(name)).map_err(|error| error.to_string())?;
            Ok((store.named(name.as_str()), path.clone(), matches!(volume, Volume::Local { .. })))
        }
        Location::Url(url) => Err(format!("nothing can be written to {url}")),
    }
}

/// A directory of the machine is made where there is none, but never among the server's own files.
fn make_host_directory(to: &Location, path: &str, errand: &Errand) -> Result<(), String> {
    let dir = RunDir::at(&errand.dir);
    let private = dir.private();
    if Path::new(path).starts_with(private) {
        return Err(format!("{path} cannot be used: the server keeps its own files there"));
    }
    std::fs::create_dir_all(path).map_err(|error| format!("{path} cannot be made: {error}"))?;
    match on_this_machine(to, &errand.order.volumes, private) {
        Some(Err(failed)) => Err(failed.why),
        Some(Ok(_)) | None => Ok(()),
    }
}

/// Finds the place of a path; an output of that name comes before the one for everything.
pub fn route<'a>(places: &'a [Place], path: &[u8]) -> Route<'a> {
    let (first, rest) = match path.iter().position(|byte| *byte == b'/') {
        Some(at) => (&path[..at], Some(&path[at + 1..])),
        None => (path, None),
    };
    let named = places.iter().find(|place| place.name.as_ref().is_some_and(|name| name.as_bytes() == first));
    match (named, rest) {
        (Some(place), Some(rest)) => place.route(rest),
        (Some(_), None) => Route::Refused("is a file, but an output of this name is a directory".into()),
        (None, _) => places.iter().find(|place| place.name.is_none()).map_or(Route::Nowhere, |place| place.route(path)),
    }
}

impl Place {
    fn route(&self, path: &[u8]) -> Route<'_> {
        let key = key_of(path);
        let first = key.split('/').next().unwrap_or_default();
        if first == OURS {
            return Route::Refused(format!("`{OURS}` is for Trainmaster's own files"));
        }
        if self.not_ours.iter().any(|name| name == first) {
            return Route::Refused(format!("`{first}` is where the task {first} writes"));
        }
        let whole = self.below(&key);
        match self.too_long(&whole) {
            Some(why) => Route::Refused(why),
            None => Route::To(self, whole),
        }
    }

    fn too_long(&self, key: &str) -> Option<String> {
        let name = || key.split('/').map(str::len).max().unwrap_or(0);
        match self.is_local {
            true if name() > LOCAL_NAME_BYTES_MAX => {
                Some(format!("its name has {} bytes outside, and {LOCAL_NAME_BYTES_MAX} is the most", name()))
            }
            true if key.len() > LOCAL_PATH_BYTES_MAX => {
                Some(format!("its path has {} bytes, and {LOCAL_PATH_BYTES_MAX} is the most", key.len()))
            }
            false if key.len() > S3_KEY_BYTES_MAX => {
                Some(format!("its path has {} bytes, and a bucket takes {S3_KEY_BYTES_MAX}", key.len()))
            }
            _ => None,
        }
    }

    /// In a directory, what was a file before may be a directory now, and the other way round: what is there is moved aside.
    /// Answers what was moved, and nothing where there is nothing to try again.
    pub async fn make_way(&self, key: &str) -> Option<Result<Option<String>, VolumeError>> {
        let aside = self.below(REPLACED);
        if self.is_local { Some(self.store.make_way(&self.base, self.inside(key), &aside).await) } else { None }
    }

    /// A path of the store as seen from the place.
    pub fn inside<'a>(&self, key: &'a str) -> &'a str {
        key.strip_prefix(&self.base).map_or(key, |rest| rest.trim_start_matches('/'))
    }

    pub fn below(&self, key: &str) -> String {
        if self.base.is_empty() { key.to_owned() } else { format!("{}/{key}", self.base) }
    }

    /// Whether a file of this size may be left half if we die.
    pub fn leaves_parts(&self, size: u64) -> bool {
        self.is_local || size > PARTS_ABOVE_BYTES
    }

    /// What is cleared away when a path is: with a directory all that is in it.
    pub fn cleared_together<'a>(&self, path: &'a str) -> &'a str {
        if self.is_local { path.rsplit_once('/').map_or("", |(directory, _)| directory) } else { path }
    }

    /// Whether a path below `/output` goes here.
    pub fn takes(&self, places: &[Place], path: &[u8]) -> Option<String> {
        match route(places, path) {
            Route::To(place, key) if std::ptr::eq(place, self) => Some(key),
            Route::To(..) | Route::Nowhere | Route::Refused(_) => None,
        }
    }
}

#[cfg(test)]
impl Place {
    /// A directory of this machine for everything.
    pub fn at(directory: &Path) -> Self {
        let shown = directory.display().to_string();
        Self { name: None, store: Store::of_host(&shown).unwrap(), base: String::new(), shown, not_ours: Vec::new(), is_local: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: Option<&str>, base: &str, not_ours: &[&str]) -> Place {
        Place {
            name: name.map(str::to_owned),
            store: Store::of_host("/").unwrap(),
            base: base.into(),
            shown: format!("results:{base}"),
            not_ours: not_ours.iter().map(ToString::to_string).collect(),
            is_local: false,
        }
    }

    #[test]
    fn every_path_has_one_place_or_a_reason() {
        let places = [place(None, "digits/3", &["worker-1"]), place(Some("model"), "models", &["worker-1"])];
        let said = |path: &str| match route(&places, path.as_bytes()) {
            Route::To(_, key) => format!("{path} to {key}"),
            Route::Nowhere => format!("{path} goes nowhere"),
            Route::Refused(why) => format!("{path} {why}"),
        };
        let long = "d/".repeat(600) + "x";
        insta::assert_snapshot!([
            said("a/b"),
            said("model/weights"),
            said("model"),
            said("worker-1/x"),
            said("model/worker-1/x"),
            said("worker-10/x"),
            said(".trainmaster/manifest"),
            said(&long).replace(&long, "…"),
        ].join("\n"), @"
        a/b to digits/3/a/b
        model/weights to models/weights
        model is a file, but an output of this name is a directory
        worker-1/x `worker-1` is where the task worker-1 writes
        model/worker-1/x `worker-1` is where the task worker-1 writes
        worker-10/x to digits/3/worker-10/x
        .trainmaster/manifest `.trainmaster` is for Trainmaster's own files
        … its path has 1210 bytes, and a bucket takes 1024
        ");
        assert!(matches!(route(&places[1..], b"a/b"), Route::Nowhere));
    }
}
