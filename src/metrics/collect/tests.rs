//! Reading on, with a server that is killed whenever it pleases.

use std::{fs::OpenOptions, io::Write};

use model::{
    logs::{Piece, Stream},
    tfevents::crc32c,
    words::Words,
};

use super::*;
use crate::metrics::{
    book::{Book, Stored},
    view::{Axis, Curve, Range, view},
};

struct Home {
    dir: tempfile::TempDir,
    run: RunKey,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let run = RunKey { job: JobId::new(1, &[7; 10]), task: "main-0".parse().unwrap(), attempt: 1 };
        let home = Self { dir, run };
        fs::create_dir_all(reading_dir(home.data())).unwrap();
        fs::create_dir_all(crate::rundir::live_dir(home.data())).unwrap();
        fs::create_dir_all(home.rundir(1).output()).unwrap();
        home.begin(1);
        home
    }

    fn data(&self) -> &Path {
        self.dir.path()
    }

    fn key(&self, attempt: u32) -> RunKey {
        RunKey { attempt, ..self.run.clone() }
    }

    fn rundir(&self, attempt: u32) -> RunDir {
        RunDir::new(self.data(), &self.key(attempt))
    }

    fn begin(&self, attempt: u32) {
        fs::create_dir_all(self.rundir(attempt).path()).unwrap();
        fs::write(self.rundir(attempt).letter(), "{}").unwrap();
        fs::write(live_marker(self.data(), &self.key(attempt)), "").unwrap();
        let errand = Errand::new(&Default::default(), &self.rundir(attempt), attempt);
        fs::write(reading_marker(self.data(), &self.key(attempt)), serde_json::to_vec(&errand).unwrap()).unwrap();
    }

    fn end(&self, attempt: u32) {
        fs::write(self.rundir(attempt).exit(), "{}").unwrap();
    }

    fn print(&self, attempt: u32, stream: Stream, text: &str) {
        let dir = self.rundir(attempt);
        let offset = fs::metadata(dir.log()).map_or(0, |it| it.len());
        append(&dir.log(), text.as_bytes());
        append(&dir.index(), &Piece { offset, at_us: 5_000_000 + offset, length: text.len() as u32, stream }.encode());
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.rundir(1).output().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        append(&path, text.as_bytes());
    }

    /// As a server that has just been started would.
    fn turn(&self) {
        while Collector::new(self.data()).turn().unwrap() {}
    }

    fn is_marked(&self, attempt: u32) -> bool {
        reading_marker(self.data(), &self.key(attempt)).exists()
    }

    /// Every series with all its points.
    fn seen(&self) -> Vec<String> {
        let Some(book) = Book::open(&self.rundir(1).metrics()).unwrap() else { return Vec::new() };
        let line = |it: Stored| {
            let everything = Range { first: i64::MIN, last: i64::MAX };
            let Curve::Points(points) = view(&book, &it, Axis::Step, everything, 100_000).unwrap() else { panic!("too many") };
            let points: Vec<String> = points.iter().map(|it| format!("{}:{}", it.step, it.value)).collect();
            format!("{} {} {}/{} {}", it.key.attempt, it.key.source.text(), it.key.group, it.key.name, points.join(" "))
        };
        book.series().unwrap().into_iter().map(line).collect()
    }

    fn notes(&self) -> Vec<Words> {
        Book::open(&self.rundir(1).metrics()).unwrap().unwrap().notes().unwrap().into_iter().map(|it| it.words).collect()
    }
}

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(bytes).unwrap();
}

#[test]
fn of_a_flood_a_part_is_read_while_it_runs_and_the_rest_at_its_end() {
    let home = Home::new();
    let mut collector = Collector::new(home.data());
    let words = format!("{}\n", "w".repeat((1 << 20) - 1));
    for _ in 0..20 {
        home.print(1, Stream::Stdout, &words);
    }
    home.print(1, Stream::Stdout, "loss: 0.5\n");
    assert!(!collector.turn().unwrap(), "the next turn comes at its time");
    assert_eq!(home.seen(), [""; 0]);
    home.end(1);
    while collector.turn().unwrap() {}
    assert_eq!(home.seen(), ["1 output /loss 1:0.5"]);
    assert!(!home.is_marked(1));
}

#[test]
fn printed_values_are_read_on_whenever_and_wherever_the_reader_was_cut() {
    let home = Home::new();
    home.print(1, Stream::Stdout, "Step: 1, Cost: 0.5, ");
    home.turn();
    home.print(1, Stream::Stderr, "loss: 9");
    home.print(1, Stream::Stdout, "AvgTime: 2ms\nStep: 2, Cost: na");
    home.turn();
    home.turn();
    home.print(1, Stream::Stdout, "n, AvgTime: 3ms\nTest-Accuracy: 0.8");
    home.turn();
    assert_eq!(home.seen(), ["1 output /Cost 1:0.5 2:NaN", "1 output /AvgTime 1:2 2:3"]);
    home.end(1);
    home.turn();
    assert_eq!(home.seen()[2..], ["1 output /Test-Accuracy 2:0.8", "1 output /loss 1:9"]);
    assert!(!home.is_marked(1));
}

#[test]
fn files_of_lines_are_read_line_by_line_and_the_last_one_at_the_end() {
    let home = Home::new();
    home.write("a/metrics.jsonl", "{\"step\": 1, \"loss\": 0.5}\n{\"step\": 2, \"lo");
    home.write("metrics.csv", "epoch,accuracy\n1,0.25\n");
    home.write("other.csv", "epoch,accuracy\n1,0.25\n");
    home.turn();
    home.write("a/metrics.jsonl", "ss\": NaN}\nnonsense\n{\"loss\": 7}");
    home.write("metrics.csv", "2,0.5");
    home.turn();
    assert_eq!(home.seen(), ["1 file a/loss 1:0.5 2:NaN", "1 file /accuracy 1:0.25"]);
    home.end(1);
    home.turn();
    assert_eq!(home.seen(), ["1 file a/loss 1:0.5 2:NaN 3:7", "1 file /accuracy 1:0.25 2:0.5"]);
}

#[test]
fn a_file_that_was_written_anew_counts_as_it_is_now() {
    let home = Home::new();
    let path = home.rundir(1).output().join("metrics.csv");
    fs::write(&path, "epoch,loss\n1,5\n2,4\n").unwrap();
    home.turn();
    // As long as it begins as before, only what is new is new.
    fs::write(&path, "epoch,loss\n1,5\n2,4\n3,3\n").unwrap();
    home.turn();
    assert_eq!(home.seen(), ["1 file /loss 1:5 2:4 3:3"]);
    fs::write(&path, "epoch,loss\n1,50\n2,40\n3,30\n4,20\n").unwrap();
    home.turn();
    assert_eq!(home.seen(), ["1 file /loss 1:50 2:40 3:30 4:20"]);
    fs::write(&path, "epoch,loss\n1,9\n").unwrap();
    home.turn();
    assert_eq!(home.seen(), ["1 file /loss 1:9"]);
}

#[test]
fn two_files_in_one_directory_are_two_groups_and_one_written_anew_leaves_the_other_alone() {
    let home = Home::new();
    home.write("eval/metrics.jsonl", "{\"step\": 1, \"loss\": 0.5}\n");
    home.turn();
    home.write("eval/metrics.csv", "epoch,loss\n1,5\n2,4\n");
    home.turn();
    let jsonl = "1 file eval/loss 1:0.5";
    assert_eq!(home.seen(), [jsonl, "1 file eval/metrics.csv/loss 1:5 2:4"]);
    fs::write(home.rundir(1).output().join("eval/metrics.csv"), "epoch,loss\n1,9\n").unwrap();
    home.turn();
    assert_eq!(home.seen(), [jsonl, "1 file eval/metrics.csv/loss 1:9"]);
    fs::write(home.rundir(1).output().join("eval/metrics.jsonl"), "{\"step\": 3, \"loss\": 7}\n").unwrap();
    home.turn();
    assert_eq!(home.seen(), ["1 file eval/loss 3:7", "1 file eval/metrics.csv/loss 1:9"]);
}

#[test]
fn attempts_share_the_output_and_each_has_what_was_new_in_it() {
    let home = Home::new();
    home.write("metrics.jsonl", "{\"step\": 1, \"loss\": 5}\n{\"step\": 2, \"loss\": 4}\n");
    home.print(1, Stream::Stdout, "loss: 1\n");
    home.turn();
    home.end(1);
    home.turn();
    home.begin(2);
    home.write("metrics.jsonl", "{\"step\": 2, \"loss\": 4.5}\n");
    home.print(2, Stream::Stdout, "loss: 2\n");
    home.turn();
    assert_eq!(home.seen(), ["1 output /loss 1:1", "1 file /loss 1:5 2:4", "2 output /loss 1:2", "2 file /loss 2:4.5"]);
    assert!(!home.is_marked(1) && home.is_marked(2));
}

#[test]
fn an_attempt_that_ended_before_anyone_looked_has_what_was_there_when_the_next_began() {
    let home = Home::new();
    home.write("metrics.jsonl", "{\"step\": 1, \"loss\": 1}\n{\"step\": 2, \"loss\": 1}\n");
    home.end(1);
    home.begin(2);
    home.write("metrics.jsonl", "{\"step\": 2, \"loss\": 2}\n");
    home.write("new/metrics.jsonl", "{\"step\": 2, \"loss\": 2}\n");
    home.turn();
    assert_eq!(home.seen(), ["1 file /loss 1:1 2:1", "2 file /loss 2:2", "2 file new/loss 2:2"]);
    home.end(2);
    home.turn();
    assert!(!home.is_marked(1) && !home.is_marked(2));
}

#[test]
fn nothing_outside_of_the_output_is_read_and_nothing_but_files() {
    let home = Home::new();
    let outside = home.data().join("metrics.jsonl");
    fs::write(&outside, "{\"secret\": 1}\n").unwrap();
    let output = home.rundir(1).output();
    std::os::unix::fs::symlink(&outside, output.join("metrics.jsonl")).unwrap();
    std::os::unix::fs::symlink(home.data(), output.join("up")).unwrap();
    fs::create_dir(output.join("metrics.csv")).unwrap();
    fs::create_dir(output.join("d")).unwrap();
    nix::unistd::mkfifo(&output.join("d/metrics.csv"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    home.write("e/metrics.jsonl", "{\"loss\": 1}\n");
    home.turn();
    assert_eq!(home.seen(), ["1 file e/loss 1:1"]);
    // A file that becomes a link after it was found.
    fs::remove_file(output.join("e/metrics.jsonl")).unwrap();
    std::os::unix::fs::symlink(&outside, output.join("e/metrics.jsonl")).unwrap();
    home.end(1);
    home.turn();
    assert_eq!(home.seen(), ["1 file e/loss 1:1"]);
    assert!(!home.is_marked(1));
}

/// A record of an event file: one value at one step.
fn scalar(step: u8, tag: &str, value: f32) -> Vec<u8> {
    let part = |number: u8, bytes: &[u8]| [&[number << 3 | 2, bytes.len() as u8], bytes].concat();
    let value = part(1, &[part(1, tag.as_bytes()), vec![21], value.to_le_bytes().to_vec()].concat());
    let payload = [&[9], &1.5_f64.to_le_bytes()[..], &[16, step], &part(5, &value)].concat();
    let masked = |bytes: &[u8]| crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes();
    let length = (payload.len() as u64).to_le_bytes();
    [&length[..], &masked(&length), &payload, &masked(&payload)].concat()
}

#[test]
fn an_event_file_that_is_written_anew_leaves_alone_what_another_one_said() {
    let home = Home::new();
    let logs = home.rundir(1).output().join("logs");
    fs::create_dir_all(&logs).unwrap();
    fs::write(logs.join("tfevents.1"), [scalar(1, "loss", 5.0), scalar(2, "loss", 4.0)].concat()).unwrap();
    fs::write(logs.join("tfevents.2"), [scalar(3, "val", 3.0), scalar(4, "val", 2.0)].concat()).unwrap();
    home.turn();
    fs::write(logs.join("tfevents.2"), scalar(5, "val", 1.0)).unwrap();
    home.turn();
    let mut seen = home.seen();
    seen.sort();
    assert_eq!(seen, ["1 events logs/loss 1:5 2:4", "1 events logs/val 3:3 4:2 5:1"]);
}

#[test]
fn a_damaged_event_file_is_told_and_left() {
    let home = Home::new();
    home.write("logs/events.out.tfevents.1", &"x".repeat(100));
    home.write("logs/events.out.tfevents.2", "short");
    home.end(1);
    home.turn();
    let words = Words::new(
        "an event file in `/output/logs` is damaged at byte 0; the rest of it is not read",
        "`/output/logs` 中有一个事件文件从第 0 字节起已损坏，之后的内容没有读取",
    );
    assert_eq!(home.notes(), [words]);
    assert!(!home.is_marked(1));
}

#[test]
fn a_run_without_numbers_has_no_book_worth_speaking_of_and_one_that_is_gone_no_marker() {
    let home = Home::new();
    home.turn();
    assert!(home.is_marked(1) && !home.rundir(1).metrics().exists());
    home.end(1);
    home.turn();
    assert!(!home.is_marked(1) && home.seen().is_empty());
    home.begin(2);
    fs::remove_dir_all(home.rundir(2).path()).unwrap();
    home.turn();
    assert!(!home.is_marked(2));
}

#[test]
fn a_book_that_breaks_is_written_anew_from_what_the_task_wrote() {
    let home = Home::new();
    home.write("metrics.jsonl", "{\"loss\": 1}\n");
    home.turn();
    let book = home.rundir(1).metrics();
    assert!(!book.join("book.db-wal").exists(), "a new book needs no journal");
    fs::write(book.join("book.db"), vec![9; 20_000]).unwrap();
    home.write("metrics.jsonl", "{\"loss\": 2}\n");
    home.turn();
    home.turn();
    assert_eq!(home.seen(), ["1 file /loss 1:1 2:2"]);
}
