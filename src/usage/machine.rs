//! What the kernel tells of the whole machine.

use std::{fs, path::Path};

use model::usage::{Basis, Figure, Reading, Source};

use super::Devices;

/// What there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub cpus: u64,
    pub memory_bytes: u64,
    pub disk_bytes: u64,
}

pub fn size(data: &Path) -> Size {
    Size {
        cpus: std::thread::available_parallelism().map_or(1, |it| it.get() as u64),
        memory_bytes: memory(&read("/proc/meminfo")).map_or(0, |it| it.0),
        disk_bytes: disk_room(data).map_or(0, |it| it.0),
    }
}

/// One look at everything.
pub fn reading(data: &Path, at_ms: u64, devices: &Devices, basis: &mut Basis) -> Reading {
    let mut reading = Reading { at_ms, ..Reading::default() };
    let disk = disk(&read("/proc/diskstats"), is_whole_disk);
    let network = network(&read("/proc/net/dev"));
    let (load, threads) = load(&read("/proc/loadavg")).map_or((None, None), |it| (Some(it.0), Some(it.1)));
    let device = devices.look();
    let found = [
        (Figure::CpuCores, cpu_us(&read("/proc/stat"))),
        (Figure::MemoryBytes, memory(&read("/proc/meminfo")).map(|(total, free)| total.saturating_sub(free))),
        (Figure::ReadBytesPerS, Some(disk.0)),
        (Figure::WrittenBytesPerS, Some(disk.1)),
        (Figure::ReceivedBytesPerS, network.map(|it| it.0)),
        (Figure::SentBytesPerS, network.map(|it| it.1)),
        (Figure::Load, load),
        (Figure::Threads, threads),
        (Figure::DiskUsedBytes, disk_room(data).map(|(total, free)| total.saturating_sub(free))),
        (Figure::AcceleratorUse, device.ok().map(|it| it.0)),
        (Figure::AcceleratorMemoryBytes, device.ok().map(|it| it.1)),
    ];
    for (figure, value) in found {
        reading.set(figure, value);
        basis.note(&[figure], Ok(Source::Machine));
    }
    basis.note(&[Figure::AcceleratorUse, Figure::AcceleratorMemoryBytes], device.map(|_| Source::Nvml));
    reading
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Time in which the processors did anything, in millionths of a second.
fn cpu_us(stat: &str) -> Option<u64> {
    const US_PER_TICK: u64 = 10_000;
    let ticks: Vec<u64> = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().filter_map(|it| it.parse().ok()).collect();
    // user, nice, system, idle, waiting for disks, interrupts of both kinds, stolen; guests are in `user` already.
    let busy = [0, 1, 2, 5, 6, 7].iter().filter_map(|place| ticks.get(*place)).sum::<u64>();
    Some(busy * US_PER_TICK)
}

/// How much there is, and how much could be had.
fn memory(meminfo: &str) -> Option<(u64, u64)> {
    let field = |name: &str| meminfo.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse::<u64>().ok());
    Some((field("MemTotal:")? * 1024, field("MemAvailable:")? * 1024))
}

/// A disk and not a part of one, nor something that lies on others: that would be counted twice.
fn is_whole_disk(name: &str) -> bool {
    const ON_OTHERS: [&str; 5] = ["loop", "ram", "zram", "dm-", "md"];
    !ON_OTHERS.iter().any(|begin| name.starts_with(begin)) && Path::new("/sys/block").join(name).exists()
}

fn disk(diskstats: &str, is_whole: impl Fn(&str) -> bool) -> (u64, u64) {
    const SECTOR_BYTES: u64 = 512;
    let mut sum = (0, 0);
    for line in diskstats.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let sectors = |place: usize| fields.get(place).and_then(|it| it.parse::<u64>().ok()).unwrap_or(0);
        if fields.get(2).is_some_and(|name| is_whole(name)) {
            sum = (sum.0 + sectors(5) * SECTOR_BYTES, sum.1 + sectors(9) * SECTOR_BYTES);
        }
    }
    sum
}

/// Received and sent by every interface but loopback.
pub fn network(dev: &str) -> Option<(u64, u64)> {
    let mut sum = (0, 0);
    for line in dev.lines().skip(2) {
        let (name, numbers) = line.split_once(':')?;
        let numbers: Vec<u64> = numbers.split_whitespace().filter_map(|it| it.parse().ok()).collect();
        if name.trim() != "lo" {
            sum = (sum.0 + numbers.first()?, sum.1 + numbers.get(8)?);
        }
    }
    Some(sum)
}

/// Over a minute, in thousandths; and how many threads there are.
fn load(loadavg: &str) -> Option<(u64, u64)> {
    let fields: Vec<&str> = loadavg.split_whitespace().collect();
    let load: f64 = fields.first()?.parse().ok()?;
    Some(((load * 1000.0) as u64, fields.get(3)?.split_once('/')?.1.parse().ok()?))
}

/// How much there is, and how much is free.
fn disk_room(data: &Path) -> Option<(u64, u64)> {
    let room = nix::sys::statvfs::statvfs(data).ok()?;
    Some((room.blocks() * room.fragment_size(), room.blocks_available() * room.fragment_size()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_writes_is_read() {
        assert_eq!(cpu_us("cpu  100 1 50 9999 7 2 3 4 5 0\ncpu0 1\n"), Some(1_600_000));
        assert_eq!(memory("MemTotal: 100 kB\nMemFree: 1 kB\nMemAvailable: 60 kB\n"), Some((102_400, 61_440)));
        let disks = " 254 0 vda 5 0 10 0 7 0 20 0\n 254 1 vda1 5 0 10 0 7 0 20 0\n 7 0 loop0 1 0 99 0 1 0 99 0\n";
        assert_eq!(disk(disks, |name| name == "vda"), (5_120, 10_240));
        assert_eq!(load("0.25 0.1 0.1 2/345 999\n"), Some((250, 345)));
    }

    #[test]
    fn loopback_is_not_the_network() {
        let text = "Inter-| Receive\n face |bytes\n    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0\n  eth0: 100 1 0 0 0 0 0 0 30 1 0 0 0 0 0 0\n  eth1: 5 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n";
        assert_eq!(network(text), Some((105, 37)));
    }

    #[test]
    fn this_machine_has_something_to_tell() {
        let mut basis = Basis::default();
        let reading = reading(Path::new("/"), 5, &Devices::all(), &mut basis);
        let size = size(Path::new("/"));
        assert!(reading.get(Figure::CpuCores) > Some(0) && reading.get(Figure::Threads) > Some(1), "{reading:?}");
        assert!(reading.get(Figure::MemoryBytes) < Some(size.memory_bytes) && reading.get(Figure::DiskUsedBytes) < Some(size.disk_bytes));
        assert!(
            Figure::ALL
                .into_iter()
                .all(|figure| basis.counted.contains_key(&figure) || basis.absent.contains_key(&figure) || figure == Figure::Processes)
        );
    }
}
