//! Version 1: one hierarchy for each controller.

use std::{fs, io, path::Path};

use model::order::Limits;

use super::{Controller, cpu_quota_us, processes_with_init, read_field, read_number};

pub fn limit(group: &Path, controller: Controller, limits: &Limits) -> io::Result<()> {
    let write = |file: &str, value: u64| fs::write(group.join(file), value.to_string());
    match controller {
        Controller::Memory => {
            write("memory.limit_in_bytes", limits.memory_bytes)?;
            // No swap: a task over its limit ends with proof instead of crawling. Kernels that do not
            // count swap have no such file, and nothing to limit.
            if !has_swap() {
                return Ok(());
            }
            match write("memory.memsw.limit_in_bytes", limits.memory_bytes) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        }
        // The period is the one every group is made with.
        Controller::Cpu => write("cpu.cfs_quota_us", cpu_quota_us(limits)),
        Controller::Pids => write("pids.max", processes_with_init(limits)),
    }
}

fn has_swap() -> bool {
    // SAFETY: all zeroes is a valid value, and it outlives the call.
    unsafe {
        let mut about: libc::sysinfo = std::mem::zeroed();
        libc::sysinfo(&raw mut about) != 0 || about.totalswap > 0
    }
}

pub fn oom_kills(group: &Path) -> u64 {
    read_field(&group.join("memory.oom_control"), "oom_kill").unwrap_or(0)
}

/// Whether an allocation has ever failed at the limit. One that went through after some cache was dropped counts as well;
/// more than that version 1 does not tell.
pub fn reached_limit(group: &Path) -> Option<bool> {
    read_number(&group.join("memory.failcnt")).map(|times| times > 0)
}

pub fn peak_memory_bytes(group: &Path) -> Option<u64> {
    read_number(&group.join("memory.max_usage_in_bytes"))
}
