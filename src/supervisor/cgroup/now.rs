//! What a run's groups tell while it runs.

use std::path::{Path, PathBuf};

use super::{Controller, Group, members, read_field, read_number};

impl Group {
    /// Everyone inside, init too. Empty if nobody was let in, and then the groups tell nothing of the run.
    pub fn inside(&self) -> Vec<i32> {
        self.paths().map(members).find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// CPU time in millionths of a second. Version 1 tells it only where both its CPU controllers share a hierarchy.
    pub fn cpu_us(&self) -> Option<u64> {
        let unified = self.unified.as_ref().and_then(|(path, _)| read_field(&path.join("cpu.stat"), "usage_usec"));
        unified.or_else(|| Some(read_number(&self.single(Controller::Cpu)?.join("cpuacct.usage"))? / 1_000))
    }

    /// Memory in use, without file cache that nobody has touched lately: the kernel drops that first, and a task that has only
    /// read a large file would seem to be at its limit.
    pub fn memory_bytes(&self) -> Option<u64> {
        match self.single(Controller::Memory) {
            Some(path) => in_use(path, "memory.usage_in_bytes", "total_inactive_file"),
            None => in_use(self.unified_with(Controller::Memory)?, "memory.current", "inactive_file"),
        }
    }

    /// Every thread counts.
    pub fn threads(&self) -> Option<u64> {
        let path = self.single(Controller::Pids).or_else(|| self.unified_with(Controller::Pids))?;
        read_number(&path.join("pids.current"))
    }

    fn single(&self, wanted: Controller) -> Option<&Path> {
        self.single.iter().find(|(controller, _)| *controller == wanted).map(|(_, path)| path.as_path())
    }

    fn unified_with(&self, wanted: Controller) -> Option<&Path> {
        let has = |(_, gives): &&(PathBuf, Vec<Controller>)| gives.contains(&wanted);
        self.unified.as_ref().filter(has).map(|(path, _)| path.as_path())
    }
}

fn in_use(group: &Path, all: &str, droppable: &str) -> Option<u64> {
    let droppable = read_field(&group.join("memory.stat"), droppable).unwrap_or(0);
    Some(read_number(&group.join(all))?.saturating_sub(droppable))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn group_of(files: &[(&str, &str)]) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| fs::write(home.path().join(name), text).unwrap());
        home
    }

    #[test]
    fn version_2_tells_everything_in_one_place() {
        let home = group_of(&[
            ("cgroup.procs", "12\n0\n13\n"),
            ("cpu.stat", "usage_usec 2500000\nuser_usec 1\n"),
            ("memory.current", "5000\n"),
            ("memory.stat", "anon 7\ninactive_file 1500\nactive_file 9\n"),
            ("pids.current", "4\n"),
        ]);
        let group = Group { unified: Some((home.path().into(), Controller::ALL.to_vec())), single: Vec::new() };
        assert_eq!(
            (group.inside(), group.cpu_us(), group.memory_bytes(), group.threads()),
            (vec![12, 13], Some(2_500_000), Some(3500), Some(4))
        );
        let bare = Group { unified: Some((home.path().into(), Vec::new())), single: Vec::new() };
        assert_eq!((bare.cpu_us(), bare.memory_bytes(), bare.threads()), (Some(2_500_000), None, None));
    }

    #[test]
    fn version_1_tells_each_in_its_own() {
        let memory = group_of(&[
            ("cgroup.procs", "12\n"),
            ("memory.usage_in_bytes", "5000\n"),
            ("memory.stat", "inactive_file 1\ntotal_inactive_file 1500\n"),
        ]);
        let cpu = group_of(&[("cgroup.procs", "12\n"), ("cpuacct.usage", "2500000999\n")]);
        let alone = group_of(&[("cgroup.procs", "12\n")]);
        let with =
            |cpu: &Path| Group { unified: None, single: vec![(Controller::Memory, memory.path().into()), (Controller::Cpu, cpu.into())] };
        let (shared, apart) = (with(cpu.path()), with(alone.path()));
        assert_eq!((shared.cpu_us(), shared.memory_bytes(), shared.threads()), (Some(2_500_000), Some(3500), None));
        assert_eq!((apart.cpu_us(), apart.inside()), (None, vec![12]));
    }
}
