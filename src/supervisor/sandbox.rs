//! The rooms of a child: its own root, in which `/input`, `/output`, `/code` and `/cache` are where job
//! files say they are, and the server's data directory is not.
//!
//! Everything here runs in init, inside a mount namespace of its own: nobody else sees any of it, and
//! when the last process of the tree is gone, so is all of it.

use std::{
    collections::BTreeMap,
    ffi::{CString, OsStr},
    fs, io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{
            ffi::OsStrExt,
            fs::{PermissionsExt, symlink},
        },
    },
    path::{Path, PathBuf},
};

use model::secret::SecretValues;
use nix::mount::{MntFlags, MsFlags, mount, umount2};

use super::{
    mounts::{bind, make_read_only, path_of},
    neighbours::Neighbours,
    pattern::{self, Pattern},
    secrets,
};
use crate::rundir::{RunDir, private_dir};

/// What the rooms are made of.
pub struct Rooms {
    pub dir: RunDir,
    pub code: Option<PathBuf>,
    /// All of `/input`.
    pub input: Option<PathBuf>,
    /// What is seen at `/input/NAME`. Each is a directory, or one file.
    pub channels: BTreeMap<String, PathBuf>,
    /// Names of directories in `/output` that the child finds made.
    pub outputs: Vec<String>,
    /// Text by name, to be seen at `/peers`.
    pub files: BTreeMap<String, String>,
    /// Text by name, to be seen at `/secrets` by this child and nobody else.
    pub secrets: SecretValues,
    /// A Python environment, seen where it really is: its scripts name their own place.
    pub environment: Option<PathBuf>,
    pub shared_memory_bytes: u64,
    pub gang: Option<Neighbours>,
}

/// What the child's root has in the place of the machine's own.
const OURS: [&str; 9] = ["proc", "input", "output", "code", "cache", "tmp", "peers", "secrets", ".trainmaster"];

/// Builds the rooms and moves in. Answers what could not be had.
///
/// Up to the pivot a failure leaves us in the machine's own root, where the child can still run.
pub fn move_in(rooms: &Rooms, in_user_namespace: bool) -> io::Result<Vec<String>> {
    let root = rooms.dir.root();
    let (empty, mut missing) = begin(&root)?;
    missing.extend(proc(&root)?);
    missing.extend(shared_memory(&root, rooms.shared_memory_bytes));
    missing.extend(own_rooms(rooms, &root, in_user_namespace)?);
    if let Some(gang) = &rooms.gang {
        missing.extend(gang.move_in(&rooms.dir, &root));
    }
    hide(rooms.dir.private(), &root, &empty)?;
    if let Some(environment) = &rooms.environment {
        show(environment, rooms.dir.private(), &root)?;
    }
    make_read_only(&root, false)?;
    pivot(&root)?;
    Ok(missing)
}

/// Builds what every task's root has in common, and moves in. Answers what could not be had.
pub fn build_pattern(root: &Path, private: &Path) -> io::Result<Vec<String>> {
    let (empty, missing) = begin(root)?;
    hide(private, root, &empty)?;
    make_read_only(root, false)?;
    pivot(root)?;
    Ok(missing)
}

/// Moves into a copy of the pattern, and brings only what is this task's own.
pub fn move_into_copy(rooms: &Rooms, pattern: &Pattern) -> io::Result<Vec<String>> {
    let machine = Path::new("/");
    let own = bound(rooms).into_iter().map(|(source, name)| Ok((pattern::detached(&source)?, name))).collect::<io::Result<Vec<_>>>()?;
    pattern.enter()?;
    mount_fresh_proc(machine)?;
    for (mount, name) in &own {
        pattern::attach(mount, &machine.join(name))?;
    }
    mount_at(machine, None, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None)?;
    empty_code(&machine.join("code"))?;
    Ok(pattern.missing.iter().cloned().chain(shared_memory(machine, rooms.shared_memory_bytes)).collect())
}

/// A root of our own with the machine in it, and places for what is not the machine's. Answers also the empty directory that
/// it stands on, and what could not be had.
fn begin(root: &Path) -> io::Result<(OwnedFd, Vec<String>)> {
    // SAFETY: a plain system call on this process alone. What is made here is for the child to see.
    unsafe { libc::umask(0o022) };
    let empty = open_path(root)?;
    mount_at("/", None, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None)?;
    mount_kind(root, "tmpfs", MsFlags::empty(), "mode=755,size=1m")?;
    // Our root lies inside a directory that is about to be shown in it; it must not show itself.
    mount_at(root, None, MsFlags::MS_UNBINDABLE, None)?;
    let mut missing = bring_the_machine(root)?;
    let kernel = make_read_only(&root.join("sys"), true).err();
    missing.extend(kernel.map(|error| format!("/sys is writable, so the task could lift its own limits: {error}")));
    ["proc", "input", "output", "code", "cache", "tmp"].iter().try_for_each(|name| fs::create_dir(root.join(name)))?;
    Ok((empty, missing))
}

/// Shows every top-level entry of the machine, except those that are ours.
fn bring_the_machine(root: &Path) -> io::Result<Vec<String>> {
    let mut missing = Vec::new();
    for entry in fs::read_dir("/")? {
        let entry = entry?;
        let name = entry.file_name();
        if OURS.iter().any(|ours| name == OsStr::new(ours)) {
            continue;
        }
        if let Err(error) = bring(&entry, &root.join(&name)) {
            missing.push(format!("/{} is not there: {error}", name.to_string_lossy()));
        }
    }
    Ok(missing)
}

fn bring(entry: &fs::DirEntry, target: &Path) -> io::Result<()> {
    let kind = entry.file_type()?;
    if kind.is_symlink() {
        return symlink(fs::read_link(entry.path())?, target);
    }
    if kind.is_dir() {
        fs::create_dir(target)?;
    } else {
        fs::File::create(target)?;
    }
    bind(&entry.path(), target, true)
}

/// A fresh `/proc` shows the child its own pid namespace and nobody else's.
fn proc(root: &Path) -> io::Result<Vec<String>> {
    let Err(error) = mount_fresh_proc(root) else { return Ok(Vec::new()) };
    bind(Path::new("/proc"), &root.join("proc"), true)?;
    Ok(vec![format!("/proc shows the whole machine: a fresh one was refused: {error}")])
}

fn mount_fresh_proc(root: &Path) -> io::Result<()> {
    mount_kind(&root.join("proc"), "proc", MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC, "")
}

/// Shared memory of the size that was asked for.
fn shared_memory(root: &Path, shared_memory_bytes: u64) -> Option<String> {
    const SHARED_MEMORY_BYTES_DEFAULT: u64 = 64 << 20;
    let bytes = if shared_memory_bytes == 0 { SHARED_MEMORY_BYTES_DEFAULT } else { shared_memory_bytes };
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    let shared = mount_kind(&root.join("dev/shm"), "tmpfs", flags, &format!("mode=1777,size={bytes}"));
    shared.err().map(|error| format!("/dev/shm is the machine's own, of its own size: {error}"))
}

/// Directories of the run's own, and what the child calls them.
fn bound(rooms: &Rooms) -> [(PathBuf, &'static str); 3] {
    [(rooms.dir.tmp(), "tmp"), (rooms.dir.output(), "output"), (rooms.dir.cache(), "cache")]
}

fn own_rooms(rooms: &Rooms, root: &Path, in_user_namespace: bool) -> io::Result<Vec<String>> {
    let mut missing = Vec::new();
    for (source, name) in bound(rooms) {
        bind(&source, &root.join(name), false)?;
    }
    missing.extend(inputs(rooms, &root.join("input"))?);
    if !rooms.files.is_empty() {
        let peers = root.join("peers");
        fs::create_dir(&peers)?;
        bind(&rooms.dir.peers(), &peers, false)?;
        missing.extend(make_read_only(&peers, false).err().map(|error| format!("/peers is writable: {error}")));
    }
    if !rooms.secrets.0.is_empty() {
        secrets::show(&rooms.secrets, &root.join("secrets"))?;
    }
    missing.extend(code(rooms, &root.join("code"), in_user_namespace)?);
    Ok(missing)
}

fn inputs(rooms: &Rooms, target: &Path) -> io::Result<Vec<String>> {
    let channels = rooms.channels.iter().map(|(name, source)| (source, target.join(name)));
    let mut missing = Vec::new();
    for (source, target) in rooms.input.iter().map(|source| (source, target.to_owned())).chain(channels) {
        if rooms.input.is_none() {
            fs::create_dir(&target)?;
        }
        let target = within(source, target);
        if !source.is_dir() {
            fs::File::create(&target)?;
        }
        bind(source, &target, true)?;
        missing.extend(make_read_only(&target, true).err().map(|error| format!("/input is writable: {error}")));
    }
    Ok(missing)
}

/// One file is found by its name in the directory of its channel.
fn within(source: &Path, directory: PathBuf) -> PathBuf {
    if source.is_dir() { directory } else { directory.join(source.file_name().unwrap_or_default()) }
}

/// The job's code with a writable layer of this run's own above it, so that no run changes what another sees.
fn code(rooms: &Rooms, target: &Path, in_user_namespace: bool) -> io::Result<Vec<String>> {
    let Some(source) = &rooms.code else { return empty_code(target).map(|()| Vec::new()) };
    let Err(error) = overlay(rooms, source, target, in_user_namespace) else { return Ok(Vec::new()) };
    bind(source, target, true)?;
    make_read_only(target, true)?;
    Ok(vec![format!("/code is read-only: a writable layer above it was refused: {error}")])
}

fn empty_code(target: &Path) -> io::Result<()> {
    mount_kind(target, "tmpfs", MsFlags::MS_NOSUID | MsFlags::MS_NODEV, "mode=755")
}

fn overlay(rooms: &Rooms, source: &Path, target: &Path, in_user_namespace: bool) -> io::Result<()> {
    // Paths go in as descriptors: as text, a comma or a colon in one of them would be an option.
    let (lower, upper, work) = (open_path(source)?, open_path(&rooms.dir.code_upper())?, open_path(&rooms.dir.code_work())?);
    let [lower, upper, work] = [&lower, &upper, &work].map(|fd| format!("/proc/self/fd/{}", fd.as_raw_fd()));
    // Without `volatile` the end of every run would wait until the whole disk is written out.
    let user = if in_user_namespace { ",userxattr" } else { "" };
    mount_kind(target, "overlay", MsFlags::empty(), &format!("lowerdir={lower},upperdir={upper},workdir={work},volatile{user}"))
}

/// Lays an empty directory over the server's own files.
fn hide(private: &Path, root: &Path, empty: &OwnedFd) -> io::Result<()> {
    let target = root.join(private.strip_prefix("/").unwrap_or(private));
    // Below `/tmp` or `/dev/shm` they are out of sight already.
    if !target.exists() {
        return Ok(());
    }
    bind(&path_of(empty), &target, false)?;
    make_read_only(&target, false)
}

/// Shows an environment again, if what we have laid over the machine hides it, and lets nobody write to it.
fn show(environment: &Path, private: &Path, root: &Path) -> io::Result<()> {
    let within = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
    let target = within(environment);
    let is_hidden = !target.exists() && environment.starts_with(private) && within(private).exists();
    if is_hidden {
        // The empty directory is everyone's, so the way to the environment is made in one of our own.
        mount_kind(&within(private), "tmpfs", MsFlags::MS_NOSUID | MsFlags::MS_NODEV, "mode=755,size=1m")?;
    }
    fs::create_dir_all(&target)?;
    bind(environment, &target, true)?;
    make_read_only(&target, true)?;
    if is_hidden { make_read_only(&within(private), false) } else { Ok(()) }
}

fn pivot(root: &Path) -> io::Result<()> {
    std::env::set_current_dir(root)?;
    // The old root is put on top of the new one, and then taken away.
    nix::unistd::pivot_root(".", ".")?;
    umount2(".", MntFlags::MNT_DETACH)?;
    std::env::set_current_dir("/")
}

fn open_path(path: &Path) -> io::Result<OwnedFd> {
    use std::os::unix::fs::OpenOptionsExt;
    let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path)?;
    Ok(file.into())
}

pub fn mount_kind(target: &Path, kind: &str, flags: MsFlags, options: &str) -> io::Result<()> {
    Ok(mount(Some(kind), target, Some(kind), flags, Some(options))?)
}

fn mount_at(target: impl AsRef<Path>, source: Option<&Path>, flags: MsFlags, kind: Option<&str>) -> io::Result<()> {
    Ok(mount(source, target.as_ref(), kind, flags, None::<&str>)?)
}

/// The directories the rooms are made of. Only the run's owner can come near them.
pub fn furnish(rooms: &Rooms) -> io::Result<()> {
    let dir = &rooms.dir;
    for path in [dir.root(), dir.cache(), dir.output(), dir.tmp()] {
        private_dir(&path)?;
    }
    if rooms.code.is_some() {
        private_dir(&dir.code_upper())?;
        private_dir(&dir.code_work())?;
    }
    link_inputs(rooms)?;
    rooms.outputs.iter().try_for_each(|name| private_dir(&dir.output().join(name)))?;
    if !rooms.files.is_empty() {
        open_dir(&dir.peers())?;
        rooms.files.iter().try_for_each(|(name, text)| open_file(&dir.peers().join(name), text))?;
    }
    if let Some(gang) = &rooms.gang {
        gang.furnish(dir)?;
    }
    fs::set_permissions(dir.tmp(), fs::Permissions::from_mode(0o1777))
}

/// For a child without rooms of its own.
fn link_inputs(rooms: &Rooms) -> io::Result<()> {
    let inputs = rooms.dir.inputs();
    if !rooms.channels.is_empty() || rooms.input.as_ref().is_some_and(|it| !it.is_dir()) {
        private_dir(&inputs)?;
    }
    if let Some(file) = rooms.input.as_ref().filter(|it| !it.is_dir()) {
        symlink(file, within(file, inputs.clone()))?;
    }
    for (name, source) in &rooms.channels {
        let place = inputs.join(name);
        if !source.is_dir() {
            private_dir(&place)?;
        }
        symlink(source, within(source, place))?;
    }
    Ok(())
}

/// For whoever the child becomes: it may give up its rights. The run's directory above stays closed to everyone else.
pub fn open_dir(path: &Path) -> io::Result<()> {
    private_dir(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

pub fn open_file(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))
}

/// A path for the kernel.
pub fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}
