//! Kills for memory: whether there was one, and whose memory had run out.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{Read, Seek, SeekFrom},
    os::unix::fs::OpenOptionsExt,
};

use model::{order::Limits, task::Cause};

use super::cgroup::Usage;

/// Listens to the kernel's log from a task's start, for the names of its processes. Most machines do not let us, and then
/// it hears nothing.
pub struct Witness {
    log: Option<File>,
    /// Everyone who was ever seen in the task's tree.
    tree: RefCell<BTreeSet<i32>>,
    heard: RefCell<Option<String>>,
}

impl Witness {
    pub fn from_now(first: [i32; 2]) -> Self {
        let log = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg");
        let at_its_end = |mut log: File| log.seek(SeekFrom::End(0)).ok().map(|_| log);
        let log = log.ok().and_then(at_its_end).filter(|_| is_numbered_as_the_kernel_does());
        Self { log, tree: RefCell::new(first.into()), heard: RefCell::default() }
    }

    /// A task that starts ever new processes does not make us remember all of them: who lives is among these.
    pub fn note(&self, pids: &[i32]) {
        const PIDS_MAX: usize = 10_000;
        let mut tree = self.tree.borrow_mut();
        if tree.len() > PIDS_MAX {
            tree.clear();
        }
        tree.extend(pids);
    }

    /// What the kernel's log says of killing one of the task's processes for memory.
    pub fn killed(&self) -> Option<String> {
        const RECORDS_MAX: usize = 20_000;
        let mut record = [0; 8192];
        for _ in 0..RECORDS_MAX {
            let length = match self.log.as_ref()?.read(&mut record) {
                Ok(0) => break,
                Ok(length) => length,
                // Overwritten meanwhile: the next is there.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => continue,
                Err(_) => break,
            };
            if let Some(message) = kill_of(&String::from_utf8_lossy(&record[..length]), &self.tree.borrow()) {
                self.heard.replace(Some(message));
            }
        }
        self.heard.borrow().clone()
    }
}

/// The kernel's log speaks of the outermost pid namespace, whose number is always the same.
fn is_numbered_as_the_kernel_does() -> bool {
    const OUTERMOST: &str = "pid:[4026531836]";
    fs::read_link("/proc/self/ns/pid").is_ok_and(|it| it.as_os_str() == OUTERMOST)
}

/// A record is `level,number,time,flags;message`, and lines of particulars after it.
fn kill_of(record: &str, pids: &BTreeSet<i32>) -> Option<String> {
    let message = record.split_once(';')?.1.lines().next()?;
    let (_, after) = message.split_once("Killed process ")?;
    let pid = after.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok()?;
    pids.contains(&pid).then(|| message.to_owned())
}

/// What a kill for memory was: by the task's own limit, or by the lack of memory around it.
pub fn cause(usage: Usage, limits: &Limits, kernel_log: Option<&str>) -> Option<Cause> {
    let kills = usage.oom_kills.max(u64::from(kernel_log.is_some()));
    let by_machine = kernel_log.is_some_and(|it| it.starts_with("Out of memory"));
    let limit_bytes = limits.memory_bytes;
    match usage.reached_limit {
        _ if kills == 0 => None,
        Some(true) if !by_machine => Some(Cause::OutOfMemory { limit_bytes, kills }),
        Some(_) => Some(Cause::MachineMemory { limit_bytes: Some(limit_bytes), kills }),
        // A counter without a limit it belongs to: kernels from before the limit could be asked.
        None if usage.oom_kills > 0 => Some(Cause::OutOfMemory { limit_bytes, kills }),
        None => Some(Cause::MachineMemory { limit_bytes: None, kills }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { cpus_milli: 0, memory_bytes: 50 << 20, shared_memory_bytes: 0, disk_bytes: None, processes_max: 0 };
    const MACHINE: &str = "Out of memory: Killed process 78 (python3) total-vm:9kB";
    const GROUP: &str = "Memory cgroup out of memory: Killed process 78 (python3) total-vm:9kB";

    #[test]
    fn a_kill_of_anyone_in_the_tree_is_heard_and_of_nobody_else() {
        let tree: BTreeSet<i32> = [7, 78].into();
        let heard = |message: &str| kill_of(&format!("3,1234,56789,-;{message}\n SUBSYSTEM=memory\n"), &tree);
        assert_eq!(heard(MACHINE).as_deref(), Some(MACHINE));
        assert_eq!(heard(GROUP).as_deref(), Some(GROUP));
        assert_eq!(heard("Out of memory: Killed process 785 (python3) total-vm:9kB"), None);
        assert_eq!(heard("oom_reaper: reaped process 78 (python3)"), None);
        assert_eq!(kill_of("", &tree), None);
    }

    #[test]
    fn whose_memory_ran_out_is_told() {
        let said = |oom_kills, reached_limit, log| {
            let usage = Usage { oom_kills, reached_limit, ..Usage::default() };
            cause(usage, &LIMITS, log).map_or("nobody was killed".to_owned(), |it| it.to_string())
        };
        insta::assert_snapshot!([
            said(0, Some(true), None),
            said(2, Some(true), None),
            said(1, Some(true), Some(GROUP)),
            said(1, Some(true), Some(MACHINE)),
            said(1, Some(false), None),
            said(1, Some(false), Some(GROUP)),
            said(0, None, Some(MACHINE)),
            said(1, None, None),
        ].join("\n"), @"
        nobody was killed
        out of memory: its limit is 50MiB and the kernel killed 2 of its processes
        out of memory: its limit is 50MiB and the kernel killed 1 of its processes
        killed by the kernel, below its own limit of 50MiB, because the machine ran out of memory
        killed by the kernel, below its own limit of 50MiB, because the machine ran out of memory
        killed by the kernel, below its own limit of 50MiB, because the machine ran out of memory
        killed by the kernel, without a limit that held, because the machine ran out of memory
        out of memory: its limit is 50MiB and the kernel killed 1 of its processes
        ");
    }

    #[test]
    fn what_was_heard_once_is_not_forgotten() {
        let witness = Witness { log: None, tree: RefCell::new([7].into()), heard: RefCell::new(Some(MACHINE.into())) };
        assert_eq!(witness.killed(), None, "who may not listen has heard nothing");
        let witness = Witness { log: File::open("/dev/null").ok(), ..witness };
        witness.note(&(100..20_100).collect::<Vec<_>>());
        witness.note(&[7, 8]);
        assert_eq!((witness.killed().as_deref(), witness.tree.borrow().len()), (Some(MACHINE), 2));
    }
}
