//! Which hierarchies this machine has, and where in them we are.

use std::{fs, io, path::PathBuf, sync::OnceLock};

use super::Controller;

/// A mounted hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    pub mount: PathBuf,
    /// The group we are in ourselves, as a path we can open.
    pub own: PathBuf,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hierarchies {
    pub unified: Option<Hierarchy>,
    single: Vec<(Controller, Hierarchy)>,
}

impl Hierarchies {
    /// Where this process stands. Read once: whoever forks from us stands there too.
    pub fn here() -> &'static Self {
        static KNOWN: OnceLock<Hierarchies> = OnceLock::new();
        let look = || -> io::Result<Self> {
            Ok(Self::read(&fs::read_to_string("/proc/self/cgroup")?, &fs::read_to_string("/proc/self/mountinfo")?))
        };
        KNOWN.get_or_init(|| look().unwrap_or_default())
    }

    pub fn single(&self, controller: Controller) -> Option<&Hierarchy> {
        self.single.iter().find(|(it, _)| *it == controller).map(|(_, hierarchy)| hierarchy)
    }

    fn read(groups: &str, mounts: &str) -> Self {
        let mut found = Self::default();
        for line in groups.lines() {
            // `4:memory:/ours`, and `0::/ours` for version 2.
            let mut parts = line.splitn(3, ':');
            let (Some(_), Some(names), Some(own)) = (parts.next(), parts.next(), parts.next()) else { continue };
            if names.is_empty() {
                found.unified = mounted(mounts, "cgroup2", "", own);
                continue;
            }
            for controller in Controller::ALL.into_iter().filter(|it| names.split(',').any(|name| name == it.name())) {
                found.single.extend(mounted(mounts, "cgroup", controller.name(), own).map(|it| (controller, it)));
            }
        }
        found
    }
}

/// Finds the mount of a hierarchy and our own group below it. Inside a container only a part of the
/// hierarchy may be mounted; then `root` of the mount is cut from the front of our path.
fn mounted(mounts: &str, kind: &str, option: &str, own: &str) -> Option<Hierarchy> {
    mounts.lines().find_map(|line| {
        // `36 35 98:0 /root /mount/point rw,noatime shared:1 - cgroup cgroup rw,memory`
        let (left, right) = line.split_once(" - ")?;
        let mut right = right.split(' ');
        let options = (right.next()? == kind).then(|| right.nth(1))??;
        if !option.is_empty() && !options.split(',').any(|it| it == option) {
            return None;
        }
        let mut left = left.split(' ').skip(3);
        let (root, mount) = (left.next()?, PathBuf::from(left.next()?));
        let below = own.strip_prefix(root.trim_end_matches('/')).unwrap_or("").trim_start_matches('/');
        let own = if below.is_empty() { mount.clone() } else { mount.join(below) };
        Some(Hierarchy { mount, own })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(groups: &str, mounts: &str) -> String {
        let found = Hierarchies::read(groups, mounts);
        let mut text = String::new();
        if let Some(unified) = &found.unified {
            text += &format!("unified {}\n", unified.own.display());
        }
        for (controller, hierarchy) in &found.single {
            text += &format!("{} {}\n", controller.name(), hierarchy.own.display());
        }
        text
    }

    #[test]
    fn a_machine_with_version_2_alone() {
        let mounts = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        insta::assert_snapshot!(own("0::/user.slice/session-3.scope\n", mounts), @"unified /sys/fs/cgroup/user.slice/session-3.scope");
    }

    #[test]
    fn a_mixed_machine_has_its_controllers_in_version_1() {
        let mounts = "\
40 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
41 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
42 23 0:29 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
43 23 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";
        let groups = "9:name=systemd:/\n8:pids:/\n4:memory:/box\n1:cpu,cpuacct:/\n0::/box\n";
        insta::assert_snapshot!(own(groups, mounts), @"
        unified /sys/fs/cgroup/unified/box
        pids /sys/fs/cgroup/pids
        memory /sys/fs/cgroup/memory/box
        cpu /sys/fs/cgroup/cpu,cpuacct
        ");
    }

    #[test]
    fn in_a_container_the_mounted_part_is_the_root() {
        let mounts = "41 23 0:28 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        insta::assert_snapshot!(own("4:memory:/docker/abc\n", mounts), @"memory /sys/fs/cgroup/memory");
        insta::assert_snapshot!(own("4:memory:/docker/abc/inner\n", mounts), @"memory /sys/fs/cgroup/memory/inner");
    }

    #[test]
    fn a_machine_without_any_has_none() {
        assert_eq!(Hierarchies::read("", ""), Hierarchies::default());
    }
}
