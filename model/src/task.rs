//! A task's states and how a run of it ended.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    clues::Clues,
    diagnose::Diagnosis,
    resources::{Bytes, show_duration_ms},
    step::Step,
    words::Words,
};

/// Where one run of a task is. `Unknown` is an ending of its own: we cannot prove how it went, and do
/// not guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskState {
    /// Placed on a node; its supervisor has not said that the child runs.
    Starting,
    Running,
    Succeeded,
    Failed,
    Stopped,
    Unknown,
}

impl TaskState {
    /// The one spelling of each state: in the database, the API, the CLI and the console.
    pub const SPELLED: [(TaskState, &str); 6] = [
        (TaskState::Starting, "starting"),
        (TaskState::Running, "running"),
        (TaskState::Succeeded, "succeeded"),
        (TaskState::Failed, "failed"),
        (TaskState::Stopped, "stopped"),
        (TaskState::Unknown, "unknown"),
    ];

    pub fn text(self) -> &'static str {
        Self::SPELLED.iter().find(|(state, _)| *state == self).expect("SPELLED has every state").1
    }

    pub fn from_text(text: &str) -> Option<Self> {
        Self::SPELLED.iter().find(|(_, it)| *it == text).map(|(state, _)| *state)
    }

    pub fn is_over(self) -> bool {
        match self {
            TaskState::Starting | TaskState::Running => false,
            TaskState::Succeeded | TaskState::Failed | TaskState::Stopped | TaskState::Unknown => true,
        }
    }
}

/// How a run ended: the content of the exit record, written before anyone is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Ending {
    pub cause: Cause,
    /// When the child was started; absent if it never was.
    pub started_at_ms: Option<u64>,
    pub ended_at_ms: u64,
    /// The most memory the task held at once, where a cgroup could tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// CPU time of the whole tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    /// When the child said its first word, if it said any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spoke_at_ms: Option<u64>,
    /// What was done before the child could start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Only of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clues: Option<Box<Clues>>,
    /// What the server concludes from all that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Box<Diagnosis>>,
}

impl Ending {
    /// An ending of which no more is known.
    pub fn new(cause: Cause, started_at_ms: Option<u64>, ended_at_ms: u64) -> Self {
        Self {
            cause,
            started_at_ms,
            ended_at_ms,
            peak_memory_bytes: None,
            cpu_ms: None,
            spoke_at_ms: None,
            steps: Vec::new(),
            clues: None,
            diagnosis: None,
        }
    }

    /// How it ended and after which time, and what is known of why.
    pub fn words(&self) -> Words {
        let mut words = self.cause.words();
        if let Some(started) = self.started_at_ms {
            let took = show_duration_ms(self.ended_at_ms.saturating_sub(started));
            words = Words::new(format!("{} after {took}", words.en), format!("{}，运行了 {took}", words.zh));
        }
        match self.diagnosis.as_ref().filter(|it| it.tells_more) {
            Some(it) => Words::new(format!("{} ({})", words.en, it.sentence.en), format!("{}（{}）", words.zh, it.sentence.zh)),
            None => words,
        }
    }
}

/// A child that has failed, and whose sandbox stays for a while so that one can step in and look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Kept {
    /// How the child ended; the run's ending will say the same.
    pub ending: Ending,
    pub until_ms: u64,
    /// The first process of the sandbox: `nsenter -t PID -m -p -w` leads root into it.
    pub pid: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Cause {
    Exited {
        code: i32,
    },
    Signaled {
        signal: i32,
    },
    /// The kernel killed it for memory, and its counter proves it.
    OutOfMemory {
        limit_bytes: u64,
        kills: u64,
    },
    /// The kernel killed it for memory that ran out around it: on the machine, or in what we ourselves run in.
    MachineMemory {
        /// Its own limit, which it did not reach; none where none could be held.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit_bytes: Option<u64>,
        kills: u64,
    },
    /// It had more on disk than it may, and we stopped it for that.
    OverDisk {
        limit_bytes: u64,
        used_bytes: u64,
    },
    /// We were asked to stop it, and did. How the child took it is kept for the curious.
    Stopped {
        killed: bool,
    },
    /// The child never ran: no such program, no permission, no sandbox.
    CannotStart {
        why: String,
        whose: Whose,
    },
    /// What was to run before the command failed, with this code as a shell shows it. The command never ran.
    SetupFailed {
        code: i32,
    },
    /// Its supervisor is gone and left no record.
    Unknown {
        why: String,
    },
}

/// Whose doing a failure was: decides whether a retry counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Whose {
    User,
    Platform,
}

impl Cause {
    pub fn state(&self) -> TaskState {
        match self {
            Cause::Exited { code: 0 } => TaskState::Succeeded,
            Cause::Exited { .. }
            | Cause::Signaled { .. }
            | Cause::OutOfMemory { .. }
            | Cause::MachineMemory { .. }
            | Cause::OverDisk { .. }
            | Cause::CannotStart { .. }
            | Cause::SetupFailed { .. } => TaskState::Failed,
            Cause::Stopped { .. } => TaskState::Stopped,
            Cause::Unknown { .. } => TaskState::Unknown,
        }
    }

    /// Who is to blame, for an ending that is not a success and was not asked for.
    pub fn whose(&self) -> Option<Whose> {
        match self {
            Cause::Exited { code: 0 } | Cause::Stopped { .. } => None,
            Cause::Exited { .. }
            | Cause::Signaled { .. }
            | Cause::OutOfMemory { .. }
            | Cause::OverDisk { .. }
            | Cause::MachineMemory { limit_bytes: None, .. }
            | Cause::SetupFailed { .. } => Some(Whose::User),
            // Whoever kept to his own share did not use up that of all.
            Cause::MachineMemory { limit_bytes: Some(_), .. } => Some(Whose::Platform),
            Cause::CannotStart { whose, .. } => Some(*whose),
            Cause::Unknown { .. } => Some(Whose::Platform),
        }
    }

    /// The code a shell would show for it.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            Cause::Exited { code } | Cause::SetupFailed { code } => Some(*code),
            Cause::Signaled { signal } => Some(128 + signal),
            Cause::OutOfMemory { .. } | Cause::MachineMemory { .. } => Some(137),
            Cause::CannotStart { .. } => Some(127),
            Cause::OverDisk { .. } | Cause::Stopped { .. } | Cause::Unknown { .. } => None,
        }
    }
}

impl Cause {
    pub fn words(&self) -> Words {
        match self {
            Cause::Exited { code } => Words::new(format!("exited with code {code}"), format!("退出，退出码 {code}")),
            Cause::Signaled { signal } => {
                let name = signal_name(*signal);
                let short = name.split(',').next().unwrap_or(name);
                Words::new(format!("ended by signal {signal} ({name})"), format!("被信号 {signal}（{short}）结束"))
            }
            Cause::OutOfMemory { limit_bytes, kills } => {
                let limit = Bytes(*limit_bytes);
                Words::new(
                    format!("out of memory: its limit is {limit} and the kernel killed {kills} of its processes"),
                    format!("内存不足：上限为 {limit}，内核杀掉了其中 {kills} 个进程"),
                )
            }
            Cause::MachineMemory { limit_bytes: Some(limit_bytes), .. } => {
                let limit = Bytes(*limit_bytes);
                Words::new(
                    format!("killed by the kernel, below its own limit of {limit}, because the machine ran out of memory"),
                    format!("整台机器内存耗尽，被内核杀掉；它自己的上限 {limit} 并未达到"),
                )
            }
            Cause::MachineMemory { limit_bytes: None, .. } => Words::new(
                "killed by the kernel, without a limit that held, because the machine ran out of memory",
                "整台机器内存耗尽，被内核杀掉；它没有生效的内存上限",
            ),
            Cause::OverDisk { limit_bytes, used_bytes } => {
                let (limit, used) = (Bytes(*limit_bytes), Bytes(*used_bytes));
                Words::new(
                    format!("stopped because it had {used} on disk and may have {limit}"),
                    format!("占用磁盘 {used}，超过上限 {limit}，已被停止"),
                )
            }
            Cause::Stopped { killed: false } => Words::new("stopped", "被停止"),
            Cause::Stopped { killed: true } => {
                Words::new("stopped; it did not end within its grace and was killed", "被停止；未在宽限时间内结束，已强制结束")
            }
            Cause::CannotStart { why, .. } => Words::new(format!("could not start: {why}"), format!("无法启动：{why}")),
            Cause::SetupFailed { code } => Words::new(format!("setup exited with code {code}"), format!("准备脚本失败，退出码 {code}")),
            Cause::Unknown { why } => Words::new(format!("nobody knows how it ended: {why}"), format!("无法得知它是怎样结束的：{why}")),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.words().fmt(f)
    }
}

impl Kept {
    pub fn words(&self) -> Words {
        let (until, pid) = (clock_utc(self.until_ms), self.pid);
        self.ending.words().then(&Words::new(
            format!("its sandbox is kept until {until}: `nsenter -t {pid} -m -p -w` steps in, as root"),
            format!("沙箱保留到 {until}：root 可用 `nsenter -t {pid} -m -p -w` 进入"),
        ))
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.words().fmt(f)
    }
}

/// The time of day, for everyone the same: `14:05:10 UTC`.
fn clock_utc(at_ms: u64) -> String {
    let seconds = at_ms / 1000 % 86_400;
    format!("{:02}:{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.words().fmt(f)
    }
}

/// The name of a signal, for the ones a training job meets.
pub fn signal_name(signal: i32) -> &'static str {
    const NAMES: [(i32, &str); 15] = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL, an illegal instruction"),
        (5, "SIGTRAP"),
        (6, "SIGABRT, an abort"),
        (7, "SIGBUS, a bus error; often a full /dev/shm"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (10, "SIGUSR1"),
        (11, "SIGSEGV, a segmentation fault"),
        (12, "SIGUSR2"),
        (13, "SIGPIPE"),
        (15, "SIGTERM"),
        (24, "SIGXCPU"),
    ];
    NAMES.iter().find(|(number, _)| *number == signal).map_or("no common name", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_its_state_blame_code_and_words() {
        let causes = [
            Cause::Exited { code: 0 },
            Cause::Exited { code: 3 },
            Cause::Signaled { signal: 11 },
            Cause::OutOfMemory { limit_bytes: 50 << 20, kills: 1 },
            Cause::MachineMemory { limit_bytes: Some(50 << 20), kills: 1 },
            Cause::MachineMemory { limit_bytes: None, kills: 1 },
            Cause::OverDisk { limit_bytes: 5 << 30, used_bytes: 6 << 30 },
            Cause::Stopped { killed: true },
            Cause::CannotStart { why: "no program `pyhton3` in PATH".into(), whose: Whose::User },
            Cause::SetupFailed { code: 3 },
            Cause::Unknown { why: "the node rebooted".into() },
        ];
        let row = |cause: &Cause| {
            let code = cause.exit_code().map_or("-".into(), |code| code.to_string());
            let whose = cause.whose().map_or("-".into(), |whose| format!("{whose:?}"));
            format!("{:<9} {whose:<8} {code:>3}  {cause}\n", cause.state().text())
        };
        let table: String = causes.iter().map(row).collect();
        insta::assert_snapshot!(table, @"
        succeeded -          0  exited with code 0
        failed    User       3  exited with code 3
        failed    User     139  ended by signal 11 (SIGSEGV, a segmentation fault)
        failed    User     137  out of memory: its limit is 50MiB and the kernel killed 1 of its processes
        failed    Platform 137  killed by the kernel, below its own limit of 50MiB, because the machine ran out of memory
        failed    User     137  killed by the kernel, without a limit that held, because the machine ran out of memory
        failed    User       -  stopped because it had 6GiB on disk and may have 5GiB
        stopped   -          -  stopped; it did not end within its grace and was killed
        failed    User     127  could not start: no program `pyhton3` in PATH
        failed    User       3  setup exited with code 3
        unknown   Platform   -  nobody knows how it ended: the node rebooted
        ");
    }
}
