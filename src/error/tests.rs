use std::{collections::HashSet, mem::discriminant, time::Duration};

use model::{
    bundle::CodeLimits,
    job::{JobEvent, JobState},
    said,
};

use super::*;

fn one_of_each() -> Vec<Error> {
    let (text, why) = (|| "digits@1".to_owned(), || said!("because of it", "因为它"));
    let running = JobState::Running;
    let problem = Problem::new("roles.w.cpus", ("is 0", "写的是 0")).hint(("write a number", "请写一个数"));
    let too_much = TooMuch::of([("big.bin".as_bytes(), 10)].into_iter(), CodeLimits { bytes_max: 1, files_max: 1 });
    let troubles = [
        Trouble::away("connection refused"),
        Trouble::Away { why: "429".into(), retry_after: Some(Duration::from_secs(7)) },
        Trouble::Denied { said: "no key of that name".into() },
        Trouble::Missing { what: "file or directory" },
        Trouble::Full { said: "no space is left".into() },
        Trouble::changed("its size is another"),
        Trouble::never(("leads out of the volume", "指向数据卷之外")),
    ];
    let mut all = vec![
        Error::NoSuchJob(text()),
        Error::NoSuchTask(text(), "worker-0".into()),
        Error::NoSuchNode(text()),
        Error::NoSuchVolume(text()),
        Error::VolumeTaken(text()),
        Error::VolumeHasDatasets { volume: "data".into(), datasets: vec!["mnist".into(), "faces".into()] },
        Error::NoSuchDataset("mnist".into()),
        Error::NoSuchDatasetVersion { dataset: "mnist".into(), version: "3".into() },
        Error::DatasetTaken("mnist".into()),
        Error::VolumeInUse { volume: "data".into(), job: text() },
        Error::NoSuchAlgorithm(text()),
        Error::NoSuchAlgorithmVersion { algorithm: text(), version: "3".into() },
        Error::AlgorithmTaken(text()),
        Error::BadAlgorithm(vec![problem.clone()]),
        Error::BadAlgorithm(vec![problem.clone(), problem.clone()]),
        Error::NoSuchRun(text()),
        Error::NoSuchRoute("/x".into()),
        Error::WrongMethod("/x".into()),
        Error::Refused { job: text(), state: JobState::Failed, event: JobEvent::StopAsked },
        Error::Refused { job: text(), state: running, event: JobEvent::StopAsked },
        Error::NotOver { job: text(), state: running },
        Error::NotOverYet { job: text(), state: running },
        Error::NotSaved { job: text(), why: why() },
        Error::NothingToSync(text()),
        Error::TooLate { job: text(), state: JobState::Stopped },
        Error::Changed,
        Error::BadSpec(vec![problem.clone()]),
        Error::BadSpec(vec![problem.clone(), problem]),
        Error::BadValue { name: "limit", value: "0".into(), wanted: said!("1 to 500", "1 到 500") },
        Error::KeyReused(text()),
        Error::NoToken,
        Error::LinkUsed,
        Error::NotFromConsole,
        Error::Forbidden,
        Error::WrongHost(text()),
        Error::WrongOrigin(text()),
        Error::TooLarge { most_bytes: 1 },
        Error::StaleRun,
        Error::WrongOffset { length: 1 },
        Error::DiskFull,
        Error::NoRoom,
        Error::BadUpload(why()),
        Error::TooMuchCode(too_much.expect("more than a byte")),
        Error::WrongHash(why()),
        Error::NoSuchUpload(text()),
        Error::UploadUnfinished { missing: 2 },
        Error::NothingUploaded(text()),
        Error::NoCode { job: text(), why: why() },
        Error::NoInput { job: text(), path: "/input".into(), why: why() },
        Error::Busy,
        Error::StorageFailed("the disk said no".into()),
        Error::SetAside(text()),
        Error::NoSuchSecret(text()),
        Error::Sealed("the key does not open it".into()),
        Error::Internal("something unforeseen came up".into()),
    ];
    all.extend(troubles.map(|trouble| Error::Volume(trouble.at("data:mnist"))));
    all
}

/// What is in backticks is code, or what a machine said.
fn is_chinese(text: &str) -> bool {
    let words = text.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    let is_word = |word: &str| word.len() > 1 && word.chars().all(|c| c.is_ascii_lowercase());
    let is_english: Vec<bool> = words.split_whitespace().map(is_word).collect();
    text.contains(|c: char| ('\u{4e00}'..='\u{9fff}').contains(&c)) && !is_english.windows(3).any(|three| three.iter().all(|it| *it))
}

#[test]
fn every_error_is_said_in_chinese_too() {
    let all = one_of_each();
    for error in &all {
        let body = error.body();
        assert!(is_chinese(&body.message_zh), "{body:?}");
        assert_eq!(body.hint.is_some(), body.hint_zh.is_some(), "{body:?}");
        assert!(body.hint_zh.as_deref().is_none_or(is_chinese), "{body:?}");
        assert!(!is_chinese(&body.message), "{body:?}");
    }
    let source = include_str!("../error.rs");
    let listed = source.split("pub enum Error {").nth(1).and_then(|rest| rest.split("\n}").next()).expect("the list of errors");
    let variants = listed.lines().filter(|line| line.trim_start().starts_with(char::is_uppercase)).count();
    assert_eq!(all.iter().map(discriminant).collect::<HashSet<_>>().len(), variants, "an error is not tried here");
}

#[test]
fn what_is_said_reads_well_in_both() {
    let said = |error: Error| [error.words().en, error.words().zh].join("\n");
    let (job, state) = ("digits@1".to_owned(), JobState::Running);
    insta::assert_snapshot!(said(Error::NotOver { job: job.clone(), state }), @"
    digits@1 is running and can only be deleted once it is over
    digits@1 现在是“运行”，结束之后才能删除
    ");
    insta::assert_snapshot!(said(Error::NotOverYet { job, state }), @"
    digits@1 is running, and another job can begin with its output only once it is over
    digits@1 现在是“运行”，结束之后，别的作业才能接着它的结果做
    ");
    insta::assert_snapshot!(said(Error::BadValue { name: "limit", value: "0".into(), wanted: said!("1 to 500", "1 到 500") }), @"
    limit = `0` is not 1 to 500
    limit = `0` 不行，应为：1 到 500
    ");
}
