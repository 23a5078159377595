//! What `/proc` tells of processes. What a process was charged for goes to its parent's account when the parent has waited
//! for it, so the sum over everyone alive is the sum over everyone who ever was.

use std::{collections::HashSet, fs};

use super::super::tree;
use crate::usage::machine;

/// Everyone together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    pub processes: u64,
    pub threads: u64,
    pub cpu_us: u64,
    /// A page that two of them share is in it twice.
    pub memory_bytes: u64,
    /// What came from storage and what was written to files; none if the kernel hides it of everyone.
    pub disk: Option<(u64, u64)>,
}

/// Reads the accounts of all these.
pub fn account(pids: &[i32]) -> Account {
    let mut sum = Account::default();
    for pid in pids {
        let Some(stat) = fs::read(format!("/proc/{pid}/stat")).ok().and_then(|text| Times::read(&text)) else { continue };
        sum.processes += 1;
        sum.threads += stat.threads;
        sum.cpu_us += stat.ticks * US_PER_TICK;
        sum.memory_bytes += stat.pages * page_bytes();
        if let Some((read, written)) = fs::read_to_string(format!("/proc/{pid}/io")).ok().and_then(|text| disk(&text)) {
            let (all_read, all_written) = sum.disk.unwrap_or_default();
            sum.disk = Some((all_read + read, all_written + written));
        }
    }
    sum
}

/// Linux shows times in hundredths of a second on every machine it runs on.
const US_PER_TICK: u64 = 10_000;

fn page_bytes() -> u64 {
    // SAFETY: a plain question.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.cast_unsigned()
}

struct Times {
    ticks: u64,
    threads: u64,
    pages: u64,
}

impl Times {
    /// The name in brackets may hold anything, so fields count from the last `)`: the state, field 3 of the line, is the first.
    fn read(text: &[u8]) -> Option<Self> {
        let after = text.iter().rposition(|byte| *byte == b')')? + 1;
        let fields: Vec<&str> = std::str::from_utf8(&text[after..]).ok()?.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        // Own time in the program and in the kernel, then that of children who were waited for.
        let ticks = (14..=17).map(field).sum::<Option<u64>>()?;
        Some(Self { ticks, threads: field(20)?, pages: field(24)? })
    }
}

fn disk(text: &str) -> Option<(u64, u64)> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some((field("read_bytes:")?, field("write_bytes:")?))
}

/// Everyone below a process, and itself: for a machine whose control groups tell nothing.
pub fn family(root: i32) -> Vec<i32> {
    let mut all = tree::below(root);
    all.push(root);
    all
}

/// The inodes of the sockets that these have open, up to a bound on how many files are looked at.
pub fn sockets(pids: &[i32]) -> HashSet<u32> {
    const FILES_MAX: usize = 8_192;
    let files = pids.iter().filter_map(|pid| fs::read_dir(format!("/proc/{pid}/fd")).ok()).flatten().flatten();
    let inode = |entry: fs::DirEntry| {
        let target = fs::read_link(entry.path()).ok()?;
        target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    files.take(FILES_MAX).filter_map(inode).collect()
}

/// What went through the interfaces of a process's network, if that is not our own.
pub fn own_network(pid: i32) -> Option<(u64, u64)> {
    let network = |who: &str| fs::read_link(format!("/proc/{who}/ns/net")).ok();
    let (theirs, ours) = (network(&pid.to_string())?, network("self")?);
    if theirs == ours { None } else { machine::network(&fs::read_to_string(format!("/proc/{pid}/net/dev")).ok()?) }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn times_of_a_process_and_of_those_it_has_waited_for() {
        let line = b"77 (a) b) S 12 5 5 0 -1 4194560 1 0 0 0 3 4 20 30 20 0 6 0 987654 11 22";
        let times = Times::read(line).unwrap();
        assert_eq!((times.ticks, times.threads, times.pages), (57, 6, 22));
        assert!(Times::read(b"77 (short) S 1 2").is_none());
    }

    #[test]
    fn a_process_that_works_has_an_account_that_grows() {
        let own = [std::process::id().cast_signed()];
        let before = account(&own);
        let mut sum = 0_u64;
        while account(&own).cpu_us < before.cpu_us + 50_000 {
            sum = (0..1_000_000).fold(sum, |sum, it| sum.wrapping_mul(31).wrapping_add(it));
        }
        let after = account(&own);
        assert!(after.processes == 1 && after.threads >= 1 && after.memory_bytes > 1 << 20 && after.disk.is_some(), "{after:?} {sum}");
    }

    #[test]
    fn open_sockets_are_found_by_their_inode() {
        let own = [std::process::id().cast_signed()];
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let before = sockets(&own);
        let _line = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(sockets(&own).difference(&before).count() >= 1);
        assert_eq!(own_network(own[0]), None, "it is our own network");
    }
}
