//! Where a figure comes from, and why it is absent, in words.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Figure;

/// How a figure was come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    CgroupCpu,
    ProcessTimes,
    CgroupMemory,
    ProcessMemory,
    ProcessIo,
    OwnNetwork,
    TcpConnections,
    ProcessList,
    Nvml,
    Machine,
    SumOfTasks,
}

/// Why there is no figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    /// It has not run for a second yet, or ended before it had.
    TooShort,
    /// What was sampled is no longer there, or came from a program that did not sample.
    NotSampled,
    NoDevice,
    NoDeviceLibrary,
    DeviceSilent,
    ProcessesHidden,
    NoSocketDiagnosis,
    NotPerNode,
}

impl Source {
    pub fn english(self) -> &'static str {
        match self {
            Source::CgroupCpu => "the CPU time of its control group",
            Source::ProcessTimes => {
                "the CPU time of its processes and of those they have waited for; a child whose parent ignores its end is counted only while it runs"
            }
            Source::CgroupMemory => "its control group, without file cache that the kernel would drop first",
            Source::ProcessMemory => "the memory of its processes; what two of them share is counted twice",
            Source::ProcessIo => {
                "what its processes had fetched from storage, and what they wrote to files, counted when it is written, not when it reaches the disk; memory file systems are not counted"
            }
            Source::OwnNetwork => "the interfaces of its own network, without loopback",
            Source::TcpConnections => {
                "the payload of its TCP connections, loopback too, looked at once a second: a connection that opens and closes between two looks is missed, and UDP and RDMA are not counted"
            }
            Source::ProcessList => "its processes and their threads",
            Source::Nvml => "NVIDIA's library, for the devices it was given",
            Source::Machine => "the kernel's counters for the whole machine",
            Source::SumOfTasks => "the sum of its tasks, while the server runs",
        }
    }

    pub fn chinese(self) -> &'static str {
        match self {
            Source::CgroupCpu => "取自任务控制组的 CPU 时间",
            Source::ProcessTimes => "取自任务各进程及其已回收子进程的 CPU 时间；父进程忽略其结束的子进程，只在运行期间计入",
            Source::CgroupMemory => "取自任务的控制组，不含内核会优先回收的文件缓存",
            Source::ProcessMemory => "各进程内存之和；进程间共享的部分会重复计算",
            Source::ProcessIo => "各进程从存储读入的字节，以及写入文件的字节（写入时即计，不等落盘）；内存文件系统不计",
            Source::OwnNetwork => "取自任务自有网络的网卡，不含回环",
            Source::TcpConnections => "任务 TCP 连接的有效载荷（含回环），每秒查看一次：两次查看之间开闭的连接会漏计，UDP 与 RDMA 不计",
            Source::ProcessList => "任务的进程与线程数",
            Source::Nvml => "由 NVIDIA 管理库对分配给任务的设备给出",
            Source::Machine => "取自内核对整台机器的计数",
            Source::SumOfTasks => "服务器运行期间其任务之和",
        }
    }
}

impl Absence {
    pub fn english(self) -> &'static str {
        match self {
            Absence::TooShort => {
                "it has not run for a second: what is so short is not looked at, only its CPU time and peak memory are kept at its end"
            }
            Absence::NotSampled => "nothing was written down: it has not begun, or ran before usage was kept",
            Absence::NoDevice => "it was given no accelerator",
            Absence::NoDeviceLibrary => "no library on this machine can tell about its accelerators; only NVIDIA's is known",
            Absence::DeviceSilent => "its accelerator did not answer",
            Absence::ProcessesHidden => "the kernel does not let us read the accounts of its processes",
            Absence::NoSocketDiagnosis => {
                "it shares the network of the machine, and this kernel does not tell how much each connection has moved"
            }
            Absence::NotPerNode => "it is known of the whole machine only, not of a node that shares it with others",
        }
    }

    pub fn chinese(self) -> &'static str {
        match self {
            Absence::TooShort => "运行不足一秒：这么短的任务不采样，只在结束时记下 CPU 时间和内存峰值",
            Absence::NotSampled => "没有记录：任务尚未开始，或运行于用量记录功能出现之前",
            Absence::NoDevice => "没有给它分配加速卡",
            Absence::NoDeviceLibrary => "这台机器上没有能查询其加速卡的库；目前只支持 NVIDIA",
            Absence::DeviceSilent => "加速卡没有应答",
            Absence::ProcessesHidden => "内核不允许读取其进程的统计",
            Absence::NoSocketDiagnosis => "任务与机器共用网络，而这个内核不提供各连接的流量",
            Absence::NotPerNode => "只知道整台机器的数值，不知道共用机器的单个节点的数值",
        }
    }
}

/// For each figure where it comes from or why it is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    #[serde(default)]
    pub counted: BTreeMap<Figure, Source>,
    #[serde(default)]
    pub absent: BTreeMap<Figure, Absence>,
    /// What it may have; nothing where it has no limit.
    #[serde(default)]
    pub cpus_milli: Option<u64>,
    #[serde(default)]
    pub memory_bytes: Option<u64>,
}

impl Basis {
    /// Nothing can be told, for one reason.
    pub fn nothing(why: Absence) -> Self {
        Self { absent: Figure::of_tasks().map(|figure| (figure, why)).collect(), ..Self::default() }
    }

    pub fn note(&mut self, figures: &[Figure], found: Result<Source, Absence>) {
        for figure in figures {
            match found {
                Ok(source) => _ = (self.counted.insert(*figure, source), self.absent.remove(figure)),
                Err(why) => _ = (self.absent.insert(*figure, why), self.counted.remove(figure)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_either_counted_or_absent() {
        let mut basis = Basis::nothing(Absence::TooShort);
        basis.note(&[Figure::CpuCores], Ok(Source::CgroupCpu));
        assert_eq!(basis.counted.len() + basis.absent.len(), Figure::of_tasks().count());
        basis.note(&[Figure::CpuCores], Err(Absence::ProcessesHidden));
        assert_eq!((basis.counted.len(), basis.absent[&Figure::CpuCores]), (0, Absence::ProcessesHidden));
    }
}
