//! What a task goes without because the kernel refused it. Its supervisor tells that as an English sentence, and supervisors
//! outlive servers; so the Chinese is found by the pattern of the sentence. One that is not here stays as it is.

use crate::words::Words;

/// What stands in a gap may be such a sentence itself.
const SENTENCES: [(&str, &str); 19] = [
    ("the memory limit is not enforced: {}", "内存上限不生效：{}"),
    ("the CPU limit is not enforced: {}", "CPU 上限不生效：{}"),
    ("the limit on processes is not enforced: {}", "进程数上限不生效：{}"),
    ("the limits of {} are not enforced: it cannot be entered: {}", "{} 的各项上限不生效：无法进入这个控制组：{}"),
    ("a control group under {} was refused: {}", "无法在 {} 下建立控制组：{}"),
    ("no control group with the `{}` controller may be made here", "这里不能建立带 `{}` 控制器的控制组"),
    ("user, mount and pid namespaces were refused: {}", "无法建立 user、mount 和 pid 命名空间：{}"),
    ("mount and pid namespaces were refused: {}", "无法建立 mount 和 pid 命名空间：{}"),
    (
        "{}: /input, /output, /code and /cache are only to be found through TRAINMASTER_INPUT and its sisters",
        "{}：/input、/output、/code 和 /cache 只能通过 TRAINMASTER_INPUT 等变量找到",
    ),
    ("there is no mount namespace", "没有 mount 命名空间"),
    ("the sandbox could not be built ({})", "无法建立沙箱（{}）"),
    ("the server's data directory can be seen by the task", "任务能看到服务器的数据目录"),
    ("its secrets are not in {}: {}", "{} 里没有它的密钥：{}"),
    ("other tasks cannot be reached: {}", "无法连接其他任务：{}"),
    ("/sys is writable, so the task could lift its own limits: {}", "/sys 可写，任务可以自行解除限制：{}"),
    ("/proc shows the whole machine: a fresh one was refused: {}", "/proc 显示的是整台机器：无法另建一个：{}"),
    ("/dev/shm is the machine's own, of its own size: {}", "/dev/shm 是机器自己的，大小不受限制：{}"),
    ("/code is read-only: a writable layer above it was refused: {}", "/code 只读：无法在上面建立可写层：{}"),
    ("{} is writable: {}", "{} 可写：{}"),
];

pub fn words(missing: &str) -> Words {
    Words::new(missing, chinese(missing).unwrap_or_default())
}

/// All of it as one sentence.
pub fn all(missing: &[String]) -> Words {
    missing.iter().fold(Words::default(), |all, it| all.then(&words(it)))
}

fn chinese(text: &str) -> Option<String> {
    let (gaps, zh) = SENTENCES.iter().find_map(|(en, zh)| Some((gaps(en, text)?, zh)))?;
    let said = |gap: &&str| chinese(gap).unwrap_or_else(|| (*gap).to_owned());
    Some(gaps.iter().fold((*zh).to_owned(), |zh, gap| zh.replacen("{}", &said(gap), 1)))
}

/// What stands in each gap of the pattern, if the text has its form.
fn gaps<'a>(pattern: &str, text: &'a str) -> Option<Vec<&'a str>> {
    let (first, rest) = pattern.split_once("{}").unwrap_or((pattern, ""));
    let mut text = text.strip_prefix(first)?;
    if !pattern.contains("{}") {
        return text.is_empty().then(Vec::new);
    }
    let mut gaps = Vec::new();
    for part in rest.split("{}") {
        let (gap, after) = if part.is_empty() { (text, "") } else { text.split_once(part)? };
        gaps.push(gap);
        text = after;
    }
    text.is_empty().then_some(gaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_refused_is_told_in_chinese() {
        let told = |text: &str| words(text).zh;
        insta::assert_snapshot!(
            told("the memory limit is not enforced: a control group under /sys/fs/cgroup was refused: Permission denied (os error 13)"),
            @"内存上限不生效：无法在 /sys/fs/cgroup 下建立控制组：Permission denied (os error 13)"
        );
        insta::assert_snapshot!(
            told("the CPU limit is not enforced: no control group with the `cpu` controller may be made here"),
            @"CPU 上限不生效：这里不能建立带 `cpu` 控制器的控制组"
        );
        insta::assert_snapshot!(
            told("there is no mount namespace: /input, /output, /code and /cache are only to be found through TRAINMASTER_INPUT and its sisters"),
            @"没有 mount 命名空间：/input、/output、/code 和 /cache 只能通过 TRAINMASTER_INPUT 等变量找到"
        );
        insta::assert_snapshot!(told("/input is writable: EPERM"), @"/input 可写：EPERM");
        assert_eq!(told("something else"), "");
    }

    #[test]
    fn several_are_one_sentence_and_what_is_unknown_stays() {
        let all = all(&["the server's data directory can be seen by the task".into(), "no overlay".into()]);
        assert_eq!(all.en, "the server's data directory can be seen by the task; no overlay");
        assert_eq!(all.zh, "任务能看到服务器的数据目录；no overlay");
        for (en, zh) in SENTENCES {
            assert_eq!(en.matches("{}").count(), zh.matches("{}").count(), "{en}");
        }
    }
}
