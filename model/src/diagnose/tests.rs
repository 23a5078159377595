use super::*;
use crate::{
    clues::{FullPlace, ProcessLimit, read_tail},
    dataset::{DatasetVersion, Held},
    task::Whose,
};

fn ended(cause: Cause, printed: &str) -> Ending {
    let (tail, traceback) = read_tail(printed.as_bytes());
    let clues = Clues { tail, traceback, ..Clues::default() };
    Ending { clues: Some(Box::new(clues)), ..Ending::new(cause, Some(0), 1_000) }
}

fn said(ending: &Ending) -> String {
    let it = diagnose(ending, Catalogue::ours()).unwrap();
    format!("{} | {} | {}", it.id, it.sentence.en, it.sentence.zh)
}

fn exited(code: i32, printed: &str) -> String {
    said(&ended(Cause::Exited { code }, printed))
}

#[test]
fn our_catalogue_is_sound_and_says_everything_in_both_languages() {
    let entries = Catalogue::ours().entries();
    assert!(entries.len() >= 60, "{} entries", entries.len());
    let is_chinese = |text: &str| text.chars().any(|it| ('\u{4e00}'..='\u{9fff}').contains(&it));
    for entry in entries {
        for words in [&entry.title, &entry.says, &entry.advice] {
            assert!(is_chinese(&words.zh) && !is_chinese(&words.en), "{}: {words:?}", entry.id);
            assert!(!words.en.ends_with('.') && !words.zh.ends_with('。'), "{}: {words:?}", entry.id);
        }
    }
}

#[test]
fn the_exact_cause_is_preferred_to_the_general_one() {
    insta::assert_snapshot!([
        exited(1, "Traceback (most recent call last):\n  File \"/code/a.py\", line 1, in <module>\n    import numpy\nModuleNotFoundError: No module named 'numpy'\n"),
        exited(1, "Traceback (most recent call last):\n  File \"/code/a.py\", line 3, in main\n    x()\nValueError: bad\n"),
        exited(139, "Segmentation fault\n"),
        exited(3, "goodbye\n"),
        said(&ended(Cause::OutOfMemory { limit_bytes: 64 << 20, kills: 1 }, "MemoryError\n")),
        said(&ended(Cause::CannotStart { why: "no program `pyhton3` in PATH".into(), whose: Whose::User }, "")),
        said(&ended(Cause::CannotStart { why: "worker-1 was not ready within 2s".into(), whose: Whose::Platform }, "")),
    ].join("\n"), @"
    python-module-missing | the Python module `numpy` is not installed where the task runs | 任务的运行环境里没有安装 Python 模块 `numpy`
    python-exception | the program raised ValueError: bad (a.py:3 in main) | 程序抛出了 ValueError：bad（a.py:3 in main）
    signal-segv | a native part of the program touched memory that is not its own (SIGSEGV) | 程序的本地代码访问了非法内存（SIGSEGV）
    exited | it ended with code 3, and what that means only the program knows | 退出码为 3，含义由程序自己定义
    memory-limit | it needed more than its 64MiB of memory, and the kernel killed 1 of its processes | 所用内存超过了它的上限 64MiB，内核杀掉了其中 1 个进程
    start-no-program | there is no program `pyhton3` where the task runs | 任务的运行环境中没有程序 `pyhton3`
    gang-not-ready | it was ready, but worker-1 did not become ready within 2s | 它已就绪，但 worker-1 在 2s 内没有就绪
    ");
}

#[test]
fn a_dataset_that_is_not_what_it_was_is_told_in_both_languages() {
    let held = |files, bytes, print: &str| Held { files, bytes, fingerprint: print.into() };
    let at = "data:mnist/v3".parse().unwrap();
    let mnist = DatasetVersion { dataset: "mnist".parse().unwrap(), version: 3, at, held: held(70_000, 52 << 20, "f") };
    let told = |now: Held| said(&ended(Cause::CannotStart { why: mnist.broken_by(&now).unwrap(), whose: Whose::User }, ""));
    insta::assert_snapshot!([told(held(70_001, 53 << 20, "g")), told(held(70_000, 52 << 20, "g")), told(held(1, 0, "g"))].join("\n"), @"
    dataset-changed | mnist@3 is not what it was when it was made: then 70,000 files with 52MiB, now 70,001 files with 53MiB; make it a version of its own: trainmaster datasets add mnist data:mnist/v3 | mnist@3 的内容与做成这个版本时不一样：当时有 70,000 个文件、共 52MiB，现在有 70,001 个文件、共 53MiB；请把现在的内容做成新版本：`trainmaster datasets add mnist data:mnist/v3`
    dataset-changed | mnist@3 is not what it was when it was made: still 70,000 files with 52MiB, but with other content; make it a version of its own: trainmaster datasets add mnist data:mnist/v3 | mnist@3 的内容与做成这个版本时不一样：文件数仍是 70,000、大小仍是 52MiB，但内容变了；请把现在的内容做成新版本：`trainmaster datasets add mnist data:mnist/v3`
    dataset-changed | mnist@3 is not what it was when it was made: then 70,000 files with 52MiB, now 1 file with 0B; make it a version of its own: trainmaster datasets add mnist data:mnist/v3 | mnist@3 的内容与做成这个版本时不一样：当时有 70,000 个文件、共 52MiB，现在有 1 个文件、共 0B；请把现在的内容做成新版本：`trainmaster datasets add mnist data:mnist/v3`
    ");
}

#[test]
fn what_was_measured_is_evidence() {
    let mut ending = ended(Cause::MachineMemory { limit_bytes: None, kills: 1 }, "");
    let line = "Out of memory: Killed process 77 (python3)".to_owned();
    ending.clues.as_mut().unwrap().kernel_log = Some(line.clone());
    let found = diagnose(&ending, Catalogue::ours()).unwrap();
    assert_eq!((found.id.as_str(), found.retry, found.evidence), ("machine-memory-unlimited", RetryClass::Bounded, vec![line.clone()]));
    ending.cause = Cause::MachineMemory { limit_bytes: Some(64 << 20), kills: 1 };
    let found = diagnose(&ending, Catalogue::ours()).unwrap();
    let counter = "control group: oom_kill 1".to_owned();
    assert_eq!((found.id.as_str(), found.retry, found.evidence), ("machine-memory", RetryClass::Platform, vec![counter, line]));

    let mut ending = ended(Cause::Signaled { signal: 7 }, "");
    let full = FullPlace { place: "/dev/shm".into(), free_bytes: 0, all_bytes: 64 << 20 };
    ending.clues.as_mut().unwrap().full = vec![full];
    assert_eq!(diagnose(&ending, Catalogue::ours()).unwrap().sentence.en, "/dev/shm was full: 0B of 64MiB were left");

    let mut ending = ended(Cause::Exited { code: 1 }, "RuntimeError: can't start new thread\n");
    ending.clues.as_mut().unwrap().processes = Some(ProcessLimit { refused: 2, most: 512 });
    let found = diagnose(&ending, Catalogue::ours()).unwrap();
    assert_eq!(found.sentence.en, "it reached its limit of 512 processes and threads, and was refused 2 more");
    assert_eq!(found.evidence, ["control group: pids.max 512, refused 2"]);
}

#[test]
fn a_success_has_no_diagnosis() {
    assert_eq!(diagnose(&ended(Cause::Exited { code: 0 }, "ModuleNotFoundError: No module named 'x'"), Catalogue::ours()), None);
}

const THEIRS: &str = r#"
[[cause]]
id = "licence-server"
when = { exit = [77], text = 'licence server (?P<host>\S+) is busy' }
retry = "platform"
title = { en = "no licence", zh = "没有许可证" }
says = { en = "all licences of {host} are in use", zh = "{host} 的许可证已用完" }
advice = { en = "wait", zh = "请等待" }

[[cause]]
id = "exited"
when = { exit = [3] }
retry = "never"
title = { en = "code 3" }
says = { en = "code {code} means that the data is bad" }
advice = { en = "see the wiki" }
"#;

#[test]
fn an_operators_own_entries_come_first_and_may_replace_ours() {
    let theirs = Catalogue::with(THEIRS).unwrap();
    let busy = diagnose(&ended(Cause::Exited { code: 77 }, "licence server lic-1 is busy\n"), &theirs).unwrap();
    assert_eq!((busy.sentence.zh.as_str(), busy.retry), ("lic-1 的许可证已用完", RetryClass::Platform));
    let bad = diagnose(&ended(Cause::Exited { code: 3 }, ""), &theirs).unwrap();
    assert_eq!((bad.sentence.en.as_str(), bad.retry), ("code 3 means that the data is bad", RetryClass::Never));
    assert_eq!(theirs.entries().len(), Catalogue::ours().entries().len() + 1, "the one with our id stands in its place");
    let other = diagnose(&ended(Cause::Exited { code: 4 }, ""), &theirs);
    assert_eq!(other, None, "what was replaced is gone");
}

#[test]
fn every_problem_of_an_operators_file_is_told_at_once() {
    let bad = r#"
[[cause]]
id = "Bad Name"
when = { text = '(' }
retry = "sometimes"
title = { en = "" }
says = { en = "" }
advice = { en = "" }

[[cause]]
id = "empty"
when = {}
retry = "never"
title = { en = "t" }
says = { en = "no {such} gap" }
advice = { en = "" }

[[cause]]
id = "empty"
when = { exit = [1] }
retry = "never"
title = { en = "t" }
says = { en = "s" }
advice = { en = "a" }
"#;
    let BadCatalogue(problems) = Catalogue::with(bad).unwrap_err();
    let first: Vec<&str> = problems.iter().map(|it| it.lines().next().unwrap()).collect();
    // Which of several wrong fields of one entry is found first is not ours to say.
    assert!(first[0].starts_with("cause `Bad Name`: "), "{first:?}");
    insta::assert_snapshot!(first[1..].join("\n"), @"
    cause `empty`: `when` is empty, so it would be the cause of everything
    cause `empty`: advice.en is empty
    cause `empty`: `{such}` in `says` is filled by nothing; name a group of the pattern so
    cause `empty` is there twice
    ");
    assert!(Catalogue::with("nonsense").is_err());
}
