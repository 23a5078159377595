//! The book against what anyone can see who has all points before him.

use std::io;

use model::{
    metrics::{Digest, Point, Source},
    words::Words,
};

use super::{
    book::{Book, Kind, Note, SERIES_MAX, SeriesKey, Stored},
    view::{Axis, Curve, Range, view},
};

fn key(name: &str) -> SeriesKey {
    SeriesKey { attempt: 1, source: Source::Events, group: "train".into(), name: name.into() }
}

fn point(step: i64) -> Point {
    let value = if step % 97 == 0 { f64::NAN } else { (step as f64 * 0.37).sin() * 10.0 };
    Point { step, at_ms: 1_000_000 + step as u64 * 3, value }
}

fn put(book: &mut Book, name: &str, points: impl IntoIterator<Item = Point>) {
    let mut batch = book.batch().unwrap();
    let number = batch.series(key(name)).unwrap().unwrap();
    points.into_iter().try_for_each(|point| batch.put(number, point)).unwrap();
    batch.commit().unwrap();
}

fn series(book: &Book, name: &str) -> Stored {
    book.series().unwrap().into_iter().find(|it| it.key.name == name).unwrap()
}

fn bits(points: &[Point]) -> Vec<(i64, u64, u64)> {
    points.iter().map(|it| (it.step, it.at_ms, it.value.to_bits())).collect()
}

fn all(book: &Book, name: &str) -> Vec<Point> {
    let stored = series(book, name);
    let everything = Range { first: i64::MIN, last: i64::MAX };
    match view(book, &stored, Axis::Step, everything, stored.digest.count as usize).unwrap() {
        Curve::Points(points) => points,
        Curve::Buckets(_) => panic!("all points fit"),
    }
}

fn digest_bits(digest: &Digest) -> Vec<u8> {
    let mut bytes = Vec::new();
    digest.encode(&mut bytes);
    bytes
}

/// Cuts the points into buckets in the simplest way there is.
fn by_hand(points: &[Point], range: Range, buckets: usize) -> Vec<Vec<u8>> {
    let width = i128::from(range.last) - i128::from(range.first) + 1;
    let bucket = |step: i64| ((i128::from(step) - i128::from(range.first)) * buckets as i128 / width) as usize;
    let inside = |it: &&Point| (range.first..=range.last).contains(&it.step);
    let of = |wanted: usize| points.iter().filter(inside).filter(move |it| bucket(it.step) == wanted).map(|it| Digest::from(*it));
    (0..buckets).filter_map(|wanted| Digest::sum(of(wanted))).map(|it| digest_bits(&it)).collect()
}

#[test]
fn a_view_has_in_every_bucket_what_the_points_in_it_come_to() {
    let home = tempfile::tempdir().unwrap();
    let mut book = Book::open_or_make(&home.path().join("metrics")).unwrap();
    let points: Vec<Point> = (0..40_000).map(|step| point(step * 2)).collect();
    // As it comes in reality: now a few, now many.
    for piece in points.chunks(777) {
        put(&mut book, "loss", piece.iter().copied());
    }
    let stored = series(&book, "loss");
    assert_eq!(digest_bits(&stored.digest), digest_bits(&Digest::sum(points.iter().map(|it| Digest::from(*it))).unwrap()));
    for (first, last, buckets) in [(0, 79_998, 100), (0, 79_998, 1), (1, 70_001, 333), (33_333, 60_000, 64), (-500, 100_000, 1000)] {
        let range = Range { first, last };
        let Curve::Buckets(seen) = view(&book, &stored, Axis::Step, range, buckets).unwrap() else { panic!("{range:?}") };
        assert_eq!(seen.iter().map(digest_bits).collect::<Vec<_>>(), by_hand(&points, range, buckets), "{range:?}");
    }
    let Curve::Points(few) = view(&book, &stored, Axis::Time, Range { first: 1_000_000, last: 1_000_300 }, 100).unwrap() else { panic!() };
    assert_eq!(bits(&few), bits(&points[..=50]));
}

#[test]
fn a_book_that_is_opened_again_goes_on_where_it_ended() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("metrics");
    for first in (0..20_000).step_by(1_999) {
        put(&mut Book::open_or_make(&directory).unwrap(), "loss", (first..(first + 1_999).min(20_000)).map(point));
    }
    let book = Book::open(&directory).unwrap().unwrap();
    assert_eq!(bits(&all(&book, "loss")), bits(&(0..20_000).map(point).collect::<Vec<_>>()));
}

/// Who opens a book reads its journal first.
#[test]
fn the_journal_of_a_book_does_not_stay_long() {
    let dir = tempfile::tempdir().unwrap();
    let journal = || std::fs::metadata(dir.path().join("book.db-wal")).map_or(0, |it| it.len());
    let mut book = Book::open_or_make(dir.path()).unwrap();
    put(&mut book, "loss", (0..300_000).map(point));
    assert_eq!(journal(), 0);
    let reader = Book::open(dir.path()).unwrap().unwrap();
    let seen = digest_bits(&series(&reader, "loss").digest);
    put(&mut book, "loss", (300_000..600_000).map(point));
    assert!(journal() > 5 << 20, "somebody reads what was there before");
    assert_eq!(digest_bits(&series(&reader, "loss").digest), seen);
    drop(reader);
    assert_eq!(all(&Book::open(dir.path()).unwrap().unwrap(), "loss").len(), 600_000);
    assert_eq!(journal(), 0, "whoever came next has cut it");
}

#[test]
fn a_draft_is_seen_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let mut draft = Book::draft(dir.path()).unwrap();
    put(&mut draft, "loss", (0..300).map(point));
    assert!(Book::open(dir.path()).unwrap().is_none());
    drop(draft);
    let mut draft = Book::draft(dir.path()).unwrap();
    assert!(draft.is_empty().unwrap(), "what died with its writer is gone");
    put(&mut draft, "loss", (0..200_000).map(point));
    draft.publish(dir.path()).unwrap();
    put(&mut Book::open_or_make(dir.path()).unwrap(), "loss", (200_000..200_100).map(point));
    let book = Book::open(dir.path()).unwrap().unwrap();
    assert_eq!(bits(&all(&book, "loss")), bits(&(0..200_100).map(point).collect::<Vec<_>>()));
}

#[test]
fn a_batch_without_a_commit_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let mut book = Book::open_or_make(&home.path().join("metrics")).unwrap();
    put(&mut book, "loss", (0..300).map(point));
    let mut batch = book.batch().unwrap();
    let number = batch.series(key("loss")).unwrap().unwrap();
    (300..900).try_for_each(|step| batch.put(number, point(step))).unwrap();
    batch.set_position(Kind::File, "here", &9).unwrap();
    drop(batch);
    assert_eq!((all(&book, "loss").len(), book.positions::<u64>(Kind::File).unwrap()), (300, Vec::new()));
}

#[test]
fn a_cut_takes_out_what_is_late_wherever_it_stands() {
    let home = tempfile::tempdir().unwrap();
    let mut book = Book::open_or_make(&home.path().join("metrics")).unwrap();
    // Forward to 20,000, back to 5,000 and forward again: the points of 5,000 to 20,000 stand there twice.
    let points: Vec<Point> = (0..20_000).chain(5_000..18_000).map(point).collect();
    for (name, from) in [("none", 20_000), ("end", 17_500), ("middle", 9_000), ("all", 0)] {
        put(&mut book, name, points.iter().copied());
        let mut batch = book.batch().unwrap();
        let number = batch.series(key(name)).unwrap().unwrap();
        batch.cut(number, from).unwrap();
        (100..400).try_for_each(|step| batch.put(number, point(from + step))).unwrap();
        batch.commit().unwrap();
        let kept = points.iter().copied().filter(|it| it.step < from).chain((100..400).map(|step| point(from + step)));
        let kept: Vec<Point> = kept.collect();
        assert_eq!(bits(&all(&book, name)), bits(&kept), "{name}");
        let stored = series(&book, name);
        assert_eq!(digest_bits(&stored.digest), digest_bits(&Digest::sum(kept.into_iter().map(Digest::from)).unwrap()), "{name}");
        assert_eq!(stored.cuts, i64::from(name != "none"), "{name}");
    }
}

#[test]
fn too_many_series_and_too_long_names_are_left_out_and_told() {
    let home = tempfile::tempdir().unwrap();
    let mut book = Book::open_or_make(&home.path().join("metrics")).unwrap();
    let mut batch = book.batch().unwrap();
    let mut open = |name: String| batch.series(key(&name));
    assert!((0..SERIES_MAX).all(|number| open(format!("s{number}")).unwrap().is_some()));
    assert_eq!((open("one more".into()).unwrap(), open("x".repeat(257)).unwrap()), (None, None));
    batch.commit().unwrap();
    let told: Vec<String> = book.notes().unwrap().into_iter().map(|it| it.words.en).collect();
    assert_eq!(told, ["a name of 257 bytes is left out; the most is 256", "there are more than 4000 series; the rest is left out"]);
}

#[test]
fn a_book_that_is_damaged_is_begun_anew() -> io::Result<()> {
    let home = tempfile::tempdir()?;
    let directory = home.path().join("metrics");
    put(&mut Book::open_or_make(&directory)?, "loss", (0..10).map(point));
    std::fs::write(directory.join("book.db"), vec![7; 8192])?;
    std::fs::remove_file(directory.join("book.db-wal"))?;
    assert!(Book::open(&directory).and_then(|book| book.expect("it is there").series()).is_err());
    let mut book = Book::open_or_make(&directory)?;
    put(&mut book, "loss", (0..3).map(point));
    assert_eq!(all(&book, "loss").len(), 3);
    Ok(())
}

#[test]
fn a_note_from_before_there_was_a_second_language_keeps_its_english() -> io::Result<()> {
    let home = tempfile::tempdir()?;
    let directory = home.path().join("metrics");
    Book::open_or_make(&directory)?;
    let old = rusqlite::Connection::open(directory.join("book.db")).map_err(io::Error::other)?;
    old.execute("INSERT INTO note (attempt, text) VALUES (1, 'the rest is left out')", []).map_err(io::Error::other)?;
    let notes = Book::open(&directory)?.expect("it is there").notes()?;
    assert_eq!(notes, [Note { attempt: 1, words: Words::from("the rest is left out") }]);
    Ok(())
}
