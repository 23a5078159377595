//! Version 2: one hierarchy for all controllers, which must be passed down from parent to child.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use model::order::Limits;

use super::{CPU_PERIOD_US, Controller, Hierarchy, Usage, cpu_quota_us, processes_with_init, read_field, read_number};

/// Finds the nearest group at or above our own in which a run's group can be made with the controllers
/// it needs, and says which of them it will have.
///
/// Our own group has processes in it, ourselves among them, and such a group cannot pass controllers
/// on unless it is the root; so the parent is often the better place.
pub fn place(hierarchy: &Hierarchy, wanted: &[Controller]) -> Option<(PathBuf, Vec<Controller>)> {
    let mut best: Option<(PathBuf, Vec<Controller>)> = None;
    for base in hierarchy.own.ancestors().take_while(|base| base.starts_with(&hierarchy.mount)) {
        if !writable(base) {
            continue;
        }
        let gives = passed_on(base, wanted);
        if gives.len() == wanted.len() {
            return Some((base.to_owned(), gives));
        }
        if best.as_ref().is_none_or(|(_, most)| most.len() < gives.len()) {
            best = Some((base.to_owned(), gives));
        }
    }
    best
}

fn writable(base: &Path) -> bool {
    nix::unistd::access(base, nix::unistd::AccessFlags::W_OK).is_ok()
}

/// Which of the wanted controllers children of `base` get, after asking for those they do not.
fn passed_on(base: &Path, wanted: &[Controller]) -> Vec<Controller> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let file = base.join("cgroup.subtree_control");
    let has = |text: &str, controller: Controller| text.split_whitespace().any(|name| name == controller.name());
    let before = fs::read_to_string(&file).unwrap_or_default();
    let lacking: Vec<Controller> = wanted.iter().copied().filter(|it| !has(&before, *it)).collect();
    for controller in &lacking {
        // Refused is an answer too; what came of it is read below.
        let _ = fs::write(&file, format!("+{}", controller.name()));
    }
    let after = if lacking.is_empty() { before } else { fs::read_to_string(&file).unwrap_or_default() };
    wanted.iter().copied().filter(|it| has(&after, *it)).collect()
}

pub fn limit(group: &Path, controller: Controller, limits: &Limits) -> io::Result<()> {
    let write = |file: &str, value: String| fs::write(group.join(file), value);
    match controller {
        Controller::Memory => {
            write("memory.max", limits.memory_bytes.to_string())?;
            // No swap: a task over its limit ends with proof instead of crawling.
            match write("memory.swap.max", "0".into()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        }
        Controller::Cpu => write("cpu.max", format!("{} {CPU_PERIOD_US}", cpu_quota_us(limits))),
        Controller::Pids => write("pids.max", processes_with_init(limits).to_string()),
    }
}

pub fn usage(group: &Path, gives: &[Controller]) -> Usage {
    let memory = gives.contains(&Controller::Memory);
    let event = |name: &str| read_field(&group.join("memory.events"), name).filter(|_| memory);
    Usage {
        oom_kills: event("oom_kill").unwrap_or(0),
        // Counted where the limit is; the kill is counted where the victim is.
        reached_limit: event("oom").map(|times| times > 0),
        peak_memory_bytes: if memory { read_number(&group.join("memory.peak")) } else { None },
        cpu_ms: read_field(&group.join("cpu.stat"), "usage_usec").map(|us| us / 1000),
    }
}
