//! The words for each kind of event.

use crate::words::Words;

const KINDS: [(&str, &str, &str); 24] = [
    ("submitted", "submitted", "已提交"),
    ("note", "note", "说明"),
    ("described", "new description", "描述已修改"),
    ("waiting", "waits", "等待"),
    ("starting", "placed", "已分配"),
    ("running", "running", "运行"),
    ("finishing", "decided", "结果已定"),
    ("stopping", "stop asked", "要求停止"),
    ("unknown", "out of sight", "失联"),
    ("retried", "tried again", "重试"),
    ("succeeded", "succeeded", "完成"),
    ("failed", "failed", "错误"),
    ("stopped", "stopped", "终止"),
    ("task_placed", "placed", "已分配"),
    ("task_fetched", "fetched", "拉取完成"),
    ("task_environment", "environment", "环境就绪"),
    ("task_setup", "setup", "准备脚本"),
    ("task_gang", "gang ready", "任务组就绪"),
    ("task_started", "started", "已启动"),
    ("task_spoke", "first line", "首行输出"),
    ("task_kept", "kept", "沙箱保留"),
    ("task_ended", "ended", "已结束"),
    ("task_synced", "synced", "输出已保存"),
    ("task_sync_given_up", "not saved", "输出未保存"),
];

/// A short name. A kind that nobody knows here is called by itself.
pub fn title(kind: &str) -> Words {
    let known = KINDS.iter().find(|(it, ..)| *it == kind);
    known.map_or_else(|| kind.into(), |(_, en, zh)| Words::new(*en, *zh))
}
