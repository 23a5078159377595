//! Looking for secrets where they must not be: in every form that a careless program might have left them in.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE},
};

use crate::house::processes;

/// One secret, and the way it was told to us.
#[derive(Clone)]
pub struct Canary {
    pub channel: String,
    pub value: String,
    forms: Vec<(&'static str, String)>,
}

impl Canary {
    pub fn new(channel: &str, value: &[u8]) -> Self {
        Self { channel: channel.into(), value: String::from_utf8_lossy(value).into_owned(), forms: forms(value) }
    }

    /// One that nobody has ever used, with letters in it that most forms write differently.
    pub fn fresh(channel: &str) -> Self {
        let mut random = [0; 16];
        getrandom::fill(&mut random).unwrap();
        let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Self::new(channel, format!("{}\"&%/é+{}", &hex[..16], &hex[16..]).as_bytes())
    }

    /// In which form the bytes have it, if they do.
    fn found_in(&self, text: &Latin) -> Option<&'static str> {
        self.forms.iter().find(|(_, form)| text.0.contains(form.as_str())).map(|(name, _)| *name)
    }
}

/// Bytes as a text in which each is one character: only texts can be searched fast.
pub struct Latin(String);

pub fn latin(bytes: &[u8]) -> Latin {
    Latin(bytes.iter().map(|byte| char::from(*byte)).collect())
}

fn forms(value: &[u8]) -> Vec<(&'static str, String)> {
    let each = |form: fn(&u8) -> String| value.iter().map(form).collect::<String>().into_bytes();
    let escaped = |byte: &u8| if byte.is_ascii_alphanumeric() { char::from(*byte).to_string() } else { format!("%{byte:02X}") };
    let mut forms = vec![
        ("raw", value.to_vec()),
        ("reversed", value.iter().rev().copied().collect()),
        ("hexadecimal", each(|byte| format!("{byte:02x}"))),
        ("hexadecimal", each(|byte| format!("{byte:02X}"))),
        ("URL-encoded", each(escaped)),
        ("JSON-escaped", serde_json::to_string(&String::from_utf8_lossy(value)).unwrap().trim_matches('"').as_bytes().to_vec()),
    ];
    for shift in 0..3 {
        forms.push(("base64", inner_base64(value, shift, |bytes| STANDARD.encode(bytes))));
        forms.push(("base64", inner_base64(value, shift, |bytes| URL_SAFE.encode(bytes))));
    }
    forms.into_iter().map(|(name, bytes)| (name, latin(&bytes).0)).collect()
}

/// The letters that stand there whatever stands around the value, if so many bytes are before it.
fn inner_base64(value: &[u8], shift: usize, encode: impl Fn(&[u8]) -> String) -> Vec<u8> {
    let text = encode(&[&vec![0; shift], value].concat());
    let (from, to) = ((shift * 8).div_ceil(6), (shift + value.len()) * 8 / 6);
    text.as_bytes()[from..to].to_vec()
}

/// Everything that was looked at, and what was found.
#[derive(Default)]
pub struct Scan {
    pub places: BTreeSet<String>,
    pub found: Vec<String>,
}

impl Scan {
    /// `belongs` says whether a channel's secret has its place there.
    pub fn look(&mut self, place: &str, bytes: &[u8], canaries: &[Canary], belongs: impl Fn(&str) -> bool) {
        let text = latin(bytes);
        self.places.insert(place.to_owned());
        for canary in canaries.iter().filter(|canary| !belongs(&canary.channel)) {
            if let Some(form) = canary.found_in(&text) {
                self.found.push(format!("the {} is in {place}, {form}", canary.channel));
            }
        }
    }

    /// Every file below a directory; its path, from there, is what `belongs` is asked with.
    pub fn walk(&mut self, root: &Path, canaries: &[Canary], belongs: impl Fn(&str, &str) -> bool) {
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let (path, kind) = (entry.path(), entry.file_type().unwrap());
                let place = path.strip_prefix(root).unwrap().display().to_string();
                self.look(&format!("the name {place}"), place.as_bytes(), canaries, |_| false);
                if kind.is_dir() {
                    folders.push(path);
                } else if let Ok(bytes) = if kind.is_file() { fs::read(&path) } else { Ok(Vec::new()) } {
                    self.look(&place, &bytes, canaries, |channel| belongs(channel, &place));
                }
            }
        }
    }
}

/// Looks at what everyone can see of every process, again and again, until it is asked what it saw.
pub struct Watch {
    done: Arc<AtomicBool>,
    looks: Arc<AtomicUsize>,
    found: Arc<Mutex<BTreeSet<String>>>,
    thread: JoinHandle<()>,
}

/// Who may have a channel's secret in its environment, by what stands there beside it.
pub type MayHave = fn(channel: &str, environment: &str) -> bool;

impl Watch {
    pub fn start(canaries: Vec<Canary>, may_have: MayHave) -> Self {
        let (done, looks, found) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(BTreeSet::new())));
        let (over, count, seen) = (done.clone(), looks.clone(), found.clone());
        let thread = std::thread::spawn(move || {
            while !over.load(Ordering::SeqCst) {
                processes().into_iter().filter(|pid| *pid != std::process::id().cast_signed()).for_each(|pid| {
                    seen.lock().unwrap().extend(seen_of(pid, &canaries, may_have));
                });
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { done, looks, found, thread }
    }

    pub fn has_seen(&self, count: usize) -> bool {
        self.found.lock().unwrap().len() >= count
    }

    /// How often everyone was looked at, and what was seen.
    pub fn stop(self) -> (usize, Vec<String>) {
        self.done.store(true, Ordering::SeqCst);
        self.thread.join().unwrap();
        (self.looks.load(Ordering::SeqCst), self.found.lock().unwrap().iter().cloned().collect())
    }
}

fn seen_of(pid: i32, canaries: &[Canary], may_have: MayHave) -> Vec<String> {
    let read = |file: &str| latin(&fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default());
    let (arguments, environment) = (read("cmdline"), read("environ"));
    let mut found = Vec::new();
    for canary in canaries {
        let in_arguments = canary.found_in(&arguments);
        let in_environment = canary.found_in(&environment).filter(|_| !may_have(&canary.channel, &environment.0));
        let who = arguments.0.split('\0').next().unwrap_or_default();
        found.extend(in_arguments.map(|form| format!("the {} is in the arguments of {pid} {who}, {form}", canary.channel)));
        found.extend(in_environment.map(|form| format!("the {} is in the environment of {pid} {who}, {form}", canary.channel)));
    }
    found
}
