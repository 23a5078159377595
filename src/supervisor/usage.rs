//! Looks at a task once a second and writes down what it uses. A task that ends within its first second is not looked at at
//! all, and costs nothing.

use std::time::Duration;

use model::{
    order::RunOrder,
    usage::{Absence, Basis, Figure, Reading, Source},
};

use super::{
    journal::{now_ms, say},
    launch::{LastAccount, Launched},
};
use crate::{
    rundir::RunDir,
    usage::{Devices, Keeper, Place},
};

mod processes;
mod shipment;
mod sockets;

use processes::Account;
pub use shipment::UsageShipment;
use sockets::Connections;

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A task of many processes takes long to look at, and is looked at less often: what looking costs stays below a fiftieth.
const PAUSE_PER_LOOK: u32 = 50;

/// Looks at one task.
pub struct Sampler<'a> {
    place: Place,
    order: &'a RunOrder,
    /// Made at the first look.
    open: Option<Open>,
}

struct Open {
    keeper: Keeper,
    connections: Connections,
    devices: Devices,
    basis: Basis,
    /// Whether the disk took what was written last; said once.
    writes: bool,
}

impl<'a> Sampler<'a> {
    pub fn new(dir: &RunDir, order: &'a RunOrder) -> Self {
        Self { place: Place::of_run(dir), order, open: None }
    }

    /// Never ends by itself.
    pub async fn keep_looking(&mut self, launched: &Launched) {
        tokio::time::sleep(LOOK_EVERY).await;
        match self.open(launched) {
            Ok(open) => self.open = Some(open),
            Err(error) => return say(&format!("what the task uses is not written down: {error}")),
        }
        loop {
            let before = own_cpu_time();
            self.look(launched);
            let cost = own_cpu_time().saturating_sub(before);
            tokio::time::sleep((cost * PAUSE_PER_LOOK).max(LOOK_EVERY)).await;
        }
    }

    /// At its start a task had used nothing.
    fn open(&self, launched: &Launched) -> std::io::Result<Open> {
        let mut start = Reading { at_ms: launched.started_at_ms, ..Reading::default() };
        COUNTED.into_iter().for_each(|figure| start.set(figure, Some(0)));
        let mut keeper = Keeper::open(self.place.clone())?;
        keeper.add(&start)?;
        let devices = Devices::given(self.order.env.get("CUDA_VISIBLE_DEVICES"));
        Ok(Open { keeper, connections: Connections::default(), devices, basis: Basis::default(), writes: true })
    }

    fn look(&mut self, launched: &Launched) {
        let limits = &self.order.limits;
        let Some(open) = &mut self.open else { return };
        let mut basis = Basis {
            cpus_milli: (limits.cpus_milli > 0).then_some(limits.cpus_milli),
            memory_bytes: (limits.memory_bytes > 0).then_some(limits.memory_bytes),
            ..Basis::default()
        };
        let reading = open.reading(launched, &mut basis);
        // First, so that whoever finds the reading finds what it is based on.
        if basis != open.basis && self.place.write_basis(&basis).is_ok() {
            open.basis = basis;
        }
        open.write(&reading);
    }

    /// The task is over, and the kernel has closed its account.
    pub fn finish(&mut self, account: LastAccount) {
        let Some(open) = &mut self.open else { return };
        let mut reading = Reading { at_ms: now_ms(), ..Reading::default() };
        reading.set(Figure::CpuCores, Some(account.cpu.as_micros() as u64));
        reading.set(Figure::ReadBytesPerS, Some(account.read_bytes));
        reading.set(Figure::WrittenBytesPerS, Some(account.written_bytes));
        open.write(&reading);
    }
}

/// Time this thread has worked. A machine that is busy with others makes a look take long, but not cost more.
fn own_cpu_time() -> Duration {
    // SAFETY: all zeroes is a valid value, and it outlives the call.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time);
        time
    };
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

const COUNTED: [Figure; 5] =
    [Figure::CpuCores, Figure::ReadBytesPerS, Figure::WrittenBytesPerS, Figure::ReceivedBytesPerS, Figure::SentBytesPerS];

impl Open {
    fn write(&mut self, reading: &Reading) {
        let reading = self.keeper.last().map_or(reading.clone(), |last| reading.clone().no_less_than(last));
        let written = self.keeper.add(&reading);
        if let (Err(error), true) = (&written, self.writes) {
            say(&format!("what the task uses is not written down for now: {error}"));
        }
        self.writes = written.is_ok();
    }

    fn reading(&mut self, launched: &Launched, basis: &mut Basis) -> Reading {
        let mut reading = Reading { at_ms: now_ms(), ..Reading::default() };
        let inside = launched.group.inside();
        let has_group = !inside.is_empty();
        let pids = if has_group { inside } else { processes::family(launched.init) };
        launched.witness.note(&pids);
        let account = processes::account(&pids);
        from_group_or_processes(launched, has_group, &account, (&mut reading, basis));
        self.disk_and_network(launched, (&pids, &account), (&mut reading, basis));
        let devices = self.devices.look();
        reading.set(Figure::AcceleratorUse, devices.ok().map(|it| it.0));
        reading.set(Figure::AcceleratorMemoryBytes, devices.ok().map(|it| it.1));
        basis.note(&[Figure::AcceleratorUse, Figure::AcceleratorMemoryBytes], devices.map(|_| Source::Nvml));
        reading
    }

    fn disk_and_network(&mut self, launched: &Launched, (pids, account): (&[i32], &Account), (reading, basis): (&mut Reading, &mut Basis)) {
        const DISK: [Figure; 2] = [Figure::ReadBytesPerS, Figure::WrittenBytesPerS];
        const NETWORK: [Figure; 2] = [Figure::ReceivedBytesPerS, Figure::SentBytesPerS];
        let network = match processes::own_network(launched.child) {
            Some(both) => Ok((both, Source::OwnNetwork)),
            None => {
                self.connections.look(processes::sockets(pids)).map(|both| (both, Source::TcpConnections)).ok_or(Absence::NoSocketDiagnosis)
            }
        };
        basis.note(&DISK, account.disk.map(|_| Source::ProcessIo).ok_or(Absence::ProcessesHidden));
        basis.note(&NETWORK, network.map(|(_, source)| source));
        let pairs = [(DISK, account.disk), (NETWORK, network.ok().map(|(both, _)| both))];
        for ([into, out], both) in pairs {
            reading.set(into, both.map(|it| it.0));
            reading.set(out, both.map(|it| it.1));
        }
    }
}

/// Init is ours and not the task's, so it is not among its processes; what it uses is nothing to speak of.
fn from_group_or_processes(launched: &Launched, has_group: bool, account: &Account, (reading, basis): (&mut Reading, &mut Basis)) {
    let of_group = |figure: Option<u64>| figure.filter(|_| has_group);
    let group = &launched.group;
    let (cpu, cpu_source) = match of_group(group.cpu_us()) {
        Some(cpu_us) => (cpu_us, Source::CgroupCpu),
        None => (account.cpu_us, Source::ProcessTimes),
    };
    let (memory, memory_source) = match of_group(group.memory_bytes()) {
        Some(bytes) => (bytes, Source::CgroupMemory),
        None => (account.memory_bytes, Source::ProcessMemory),
    };
    let threads = of_group(group.threads()).unwrap_or(account.threads);
    reading.set(Figure::CpuCores, Some(cpu));
    reading.set(Figure::MemoryBytes, Some(memory));
    reading.set(Figure::Processes, Some(account.processes.saturating_sub(1)));
    reading.set(Figure::Threads, Some(threads.saturating_sub(1)));
    basis.note(&[Figure::CpuCores], Ok(cpu_source));
    basis.note(&[Figure::MemoryBytes], Ok(memory_source));
    basis.note(&[Figure::Processes, Figure::Threads], Ok(Source::ProcessList));
}
