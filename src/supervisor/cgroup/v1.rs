//! Version 1: one hierarchy for each controller.

use std::{fs, io, path::Path};

use model::order::Limits;

use super::{CPU_PERIOD_US, Controller, cpu_quota_us, processes_with_init, read_field, read_number};

pub fn limit(group: &Path, controller: Controller, limits: &Limits) -> io::Result<()> {
    let write = |file: &str, value: u64| fs::write(group.join(file), value.to_string());
    match controller {
        Controller::Memory => {
            write("memory.limit_in_bytes", limits.memory_bytes)?;
            // No swap: a task over its limit ends with proof instead of crawling. Kernels that do not
            // count swap have no such file, and nothing to limit.
            match write("memory.memsw.limit_in_bytes", limits.memory_bytes) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        }
        Controller::Cpu => {
            write("cpu.cfs_period_us", CPU_PERIOD_US)?;
            write("cpu.cfs_quota_us", cpu_quota_us(limits))
        }
        Controller::Pids => write("pids.max", processes_with_init(limits)),
    }
}

pub fn oom_kills(group: &Path) -> u64 {
    read_field(&group.join("memory.oom_control"), "oom_kill").unwrap_or(0)
}

pub fn peak_memory_bytes(group: &Path) -> Option<u64> {
    read_number(&group.join("memory.max_usage_in_bytes"))
}
