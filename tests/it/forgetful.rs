//! A disk that forgets what was not synced when its power goes: a file system of our own, through the kernel's FUSE.

use std::{
    ffi::OsStr,
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, SystemTime},
};

use fuser::{
    BackgroundSession, BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    MountOption, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyStatfs,
    ReplyWrite, Request, SessionACL, TimeOrNow, WriteFlags,
};

pub use self::disk::Unsynced;
use self::disk::{Body, Disk, Node};

mod disk;

/// Nobody but this kernel changes anything, so it may believe what it was told.
const FOR_LONG: Duration = Duration::from_secs(3600);
const BLOCK_BYTES: u32 = 4096;
const BLOCKS: u64 = 16 << 20;

/// A disk that can be mounted, and whose power can be cut.
#[derive(Clone)]
pub struct Forgetful(Arc<Mutex<Disk>>);

impl Forgetful {
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Disk::new())))
    }

    /// Unmounted when the answer is dropped.
    pub fn mount(&self, at: &Path) -> BackgroundSession {
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("forgetful".into()), MountOption::DefaultPermissions];
        config.acl = SessionACL::All;
        fuser::spawn_mount(self.clone(), at, &config).unwrap()
    }

    pub fn cut_power(&self, unsynced: Unsynced) {
        self.lock().cut(unsynced);
    }

    pub fn turn_on(&self) {
        self.lock().turn_on();
    }

    fn lock(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap()
    }

    fn with<T>(&self, work: impl FnOnce(&mut Disk) -> Result<T, Errno>) -> Result<T, Errno> {
        let mut disk = self.lock();
        if disk.is_off { Err(Errno::EIO) } else { work(&mut disk) }
    }

    fn make(&self, (parent, name): (INodeNo, &OsStr), node: Node) -> Result<FileAttr, Errno> {
        self.with(|disk| {
            let ino = disk.add(parent.0, name, node)?;
            Ok(about(ino, disk.node(ino)?))
        })
    }
}

fn about(ino: u64, node: &Node) -> FileAttr {
    let size = match &node.body {
        Body::File(bytes) => bytes.len() as u64,
        _ => 0,
    };
    FileAttr {
        ino: INodeNo(ino),
        size,
        blocks: size.div_ceil(512),
        atime: node.changed,
        mtime: node.changed,
        ctime: node.changed,
        crtime: node.changed,
        kind: node.kind,
        perm: node.mode,
        nlink: node.names,
        uid: node.owner.0,
        gid: node.owner.1,
        rdev: 0,
        blksize: BLOCK_BYTES,
        flags: 0,
    }
}

fn owner(request: &Request) -> (u32, u32) {
    (request.uid(), request.gid())
}

fn entry(reply: ReplyEntry, found: Result<FileAttr, Errno>) {
    match found {
        Ok(attr) => reply.entry(&FOR_LONG, &attr, Generation(0)),
        Err(error) => reply.error(error),
    }
}

fn done(reply: ReplyEmpty, done: Result<(), Errno>) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

fn kind_of(mode: u32) -> FileType {
    match mode & libc::S_IFMT {
        libc::S_IFSOCK => FileType::Socket,
        libc::S_IFIFO => FileType::NamedPipe,
        _ => FileType::RegularFile,
    }
}

impl Filesystem for Forgetful {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = self.with(|disk| {
            let ino = disk.find(parent.0, name)?;
            Ok(about(ino, disk.node(ino)?))
        });
        entry(reply, found);
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.with(|disk| Ok(about(ino.0, disk.node(ino.0)?))) {
            Ok(attr) => reply.attr(&FOR_LONG, &attr),
            Err(error) => reply.error(error),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let set = self.with(|disk| {
            let node = disk.node_mut(ino.0)?;
            node.mode = mode.map_or(node.mode, |mode| (mode & 0o7777) as u16);
            node.owner = (uid.unwrap_or(node.owner.0), gid.unwrap_or(node.owner.1));
            if let Some(size) = size {
                node.bytes_mut()?.resize(size as usize, 0);
            }
            if let Some(TimeOrNow::SpecificTime(time)) = mtime {
                node.changed = time;
            }
            Ok(about(ino.0, node))
        });
        match set {
            Ok(attr) => reply.attr(&FOR_LONG, &attr),
            Err(error) => reply.error(error),
        }
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        let target = self.with(|disk| match &disk.node(ino.0)?.body {
            Body::Link(target) => Ok(target.clone()),
            _ => Err(Errno::EINVAL),
        });
        match target {
            Ok(target) => reply.data(target.as_os_str().as_encoded_bytes()),
            Err(error) => reply.error(error),
        }
    }

    fn mknod(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, _: u32, reply: ReplyEntry) {
        entry(reply, self.make((parent, name), Node::new(kind_of(mode), mode, owner(request))));
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, reply: ReplyEntry) {
        entry(reply, self.make((parent, name), Node::new(FileType::Directory, mode, owner(request))));
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let node = Node { body: Body::Link(target.to_owned()), ..Node::new(FileType::Symlink, 0o777, owner(request)) };
        entry(reply, self.make((parent, name), node));
    }

    fn create(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, _: i32, reply: ReplyCreate) {
        match self.make((parent, name), Node::new(FileType::RegularFile, mode, owner(request))) {
            Ok(attr) => reply.created(&FOR_LONG, &attr, Generation(0), FileHandle(0), FopenFlags::empty()),
            Err(error) => reply.error(error),
        }
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(reply, self.with(|disk| disk.remove(parent.0, name)));
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(reply, self.with(|disk| disk.remove(parent.0, name)));
    }

    fn rename(&self, _: &Request, parent: INodeNo, name: &OsStr, to: INodeNo, new: &OsStr, flags: RenameFlags, reply: ReplyEmpty) {
        let renamed = self.with(|disk| match flags {
            RenameFlags::RENAME_NOREPLACE if disk.find(to.0, new).is_ok() => Err(Errno::EEXIST),
            flags if flags.is_empty() || flags == RenameFlags::RENAME_NOREPLACE => disk.rename((parent.0, name), (to.0, new)),
            _ => Err(Errno::EINVAL),
        });
        done(reply, renamed);
    }

    fn link(&self, _: &Request, ino: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let linked = self.with(|disk| {
            disk.link(ino.0, parent.0, name)?;
            Ok(about(ino.0, disk.node(ino.0)?))
        });
        entry(reply, linked);
    }

    fn read(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: u64, size: u32, _: OpenFlags, _: Option<LockOwner>, reply: ReplyData) {
        let read = self.with(|disk| {
            let rest = disk.node(ino.0)?.bytes()?.get(offset as usize..).unwrap_or_default();
            Ok(rest[..rest.len().min(size as usize)].to_vec())
        });
        match read {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let written = self.with(|disk| {
            let (bytes, begin) = (disk.node_mut(ino.0)?.bytes_mut()?, offset as usize);
            bytes.resize(bytes.len().max(begin + data.len()), 0);
            bytes[begin..begin + data.len()].copy_from_slice(data);
            Ok(())
        });
        match written {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(error),
        }
    }

    fn fallocate(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: u64, length: u64, mode: i32, reply: ReplyEmpty) {
        let taken = self.with(|disk| {
            let bytes = disk.node_mut(ino.0)?.bytes_mut()?;
            match mode {
                0 => bytes.resize(bytes.len().max((offset + length) as usize), 0),
                libc::FALLOC_FL_KEEP_SIZE => {}
                _ => return Err(Errno::EOPNOTSUPP),
            }
            Ok(())
        });
        done(reply, taken);
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        done(reply, self.with(|disk| disk.sync(ino.0)));
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        done(reply, self.with(|disk| disk.sync(ino.0)));
    }

    fn readdir(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let listed = self.with(|disk| {
            let own = [(".".into(), ino.0), ("..".into(), ino.0)];
            let entries = disk.node(ino.0)?.entries()?.iter().map(|(name, child)| (name.clone(), *child));
            let kind = |child: u64| disk.node(child).map_or(FileType::RegularFile, |node| node.kind);
            Ok(own.into_iter().chain(entries).map(|(name, child)| (name, child, kind(child))).collect::<Vec<_>>())
        });
        match listed {
            Err(error) => reply.error(error),
            Ok(listed) => {
                let rest = listed.into_iter().enumerate().skip(offset as usize);
                for (number, (name, child, kind)) in rest {
                    if reply.add(INodeNo(child), number as u64 + 1, kind, name) {
                        break;
                    }
                }
                reply.ok();
            }
        }
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        reply.statfs(BLOCKS, BLOCKS, BLOCKS, BLOCKS, BLOCKS, BLOCK_BYTES, 255, BLOCK_BYTES);
    }
}
