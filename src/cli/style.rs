//! Colours, and what they mean. The only table of colours for states.

use anstyle::{AnsiColor, Style};
use model::{job::JobState, task::TaskState};

pub const BAD: Style = AnsiColor::Red.on_default().bold();
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const BUSY: Style = AnsiColor::Cyan.on_default();
pub const WAITS: Style = AnsiColor::Yellow.on_default();
pub const QUIET: Style = Style::new().dimmed();
pub const LOUD: Style = Style::new().bold();
pub const NONE: Style = Style::new();
/// The platform's own words among those of a task.
pub const OURS: Style = AnsiColor::Blue.on_default().italic();
/// What was looked for.
pub const FOUND: Style = Style::new().invert();

/// One for each task of a job, over again when there are more tasks than colours.
pub const TASKS: [Style; 6] = [
    AnsiColor::Cyan.on_default(),
    AnsiColor::Yellow.on_default(),
    AnsiColor::Green.on_default(),
    AnsiColor::Magenta.on_default(),
    AnsiColor::Blue.on_default(),
    AnsiColor::BrightCyan.on_default(),
];

/// The same one every time, whoever speaks first.
pub fn of_task(task: &str) -> Style {
    TASKS[task.bytes().map(usize::from).sum::<usize>() % TASKS.len()]
}

pub fn paint(style: Style, text: &str) -> String {
    if style == NONE { text.to_owned() } else { format!("{style}{text}{style:#}") }
}

pub fn job(state: JobState) -> Style {
    match state {
        JobState::Queued => WAITS,
        JobState::Starting | JobState::Running | JobState::Finishing => BUSY,
        JobState::Stopping => WAITS,
        JobState::Unknown => BAD,
        JobState::Succeeded => GOOD,
        JobState::Failed => BAD,
        JobState::Stopped => QUIET,
    }
}

pub fn task(state: TaskState) -> Style {
    match state {
        TaskState::Starting | TaskState::Running => BUSY,
        TaskState::Succeeded => GOOD,
        TaskState::Failed | TaskState::Unknown => BAD,
        TaskState::Stopped => QUIET,
    }
}
