//! Files that are nearly right. Whatever is done to a file of the corpus, it is read or told what is wrong with it.

use std::sync::LazyLock;

use model::{dialect::translate, plan::HouseRules};
use proptest::{prelude::*, sample::Index};

use crate::{CORPUS, by_ann, files};

static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let files = CORPUS.into_iter().flat_map(|(folder, _)| files(folder));
    files.map(|file| std::fs::read_to_string(file).expect("a file of the corpus")).filter(|text| text.len() < 4096).collect()
});

const PIECES: [&str; 26] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    ",",
    ":",
    "//",
    "/*",
    "*/",
    "#",
    "\\",
    "\n",
    "\t",
    "$$",
    "$$a$$",
    "null",
    "true",
    "-1",
    "99999999999999999999",
    "1e400",
    "é",
    "\u{feff}",
    "{{ params.x }}",
    "&a *a",
];

#[derive(Clone, Debug)]
enum Change {
    Cut(Index, Index),
    Twice(Index, Index),
    Put(Index, usize),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Change::Cut(from, to)),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Change::Twice(from, to)),
        (any::<Index>(), 0..PIECES.len()).prop_map(|(at, piece)| Change::Put(at, piece)),
    ]
}

fn changed(text: &str, change: &Change) -> String {
    const LENGTH_MAX: usize = 64;
    let mut letters: Vec<char> = text.chars().collect();
    let range = |from: &Index, to: &Index| {
        let from = from.index(letters.len() + 1);
        from..(from + to.index(LENGTH_MAX)).min(letters.len())
    };
    match change {
        Change::Cut(from, to) => drop(letters.drain(range(from, to))),
        Change::Twice(from, to) => {
            let range = range(from, to);
            let again: Vec<char> = letters[range.clone()].to_vec();
            letters.splice(range.end..range.end, again);
        }
        Change::Put(at, piece) => {
            let at = at.index(letters.len() + 1);
            letters.splice(at..at, PIECES[*piece].chars());
        }
    }
    letters.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_file_makes_the_reader_stumble(text in any::<Index>(), changes in prop::collection::vec(change(), 1..5)) {
        let text = changes.iter().fold(text.get(&TEXTS).clone(), |text, change| changed(&text, change));
        let lines = text.matches('\n').count() + 1;
        match translate(&text, &by_ann(), &HouseRules::default()) {
            Ok(job) => prop_assert!(job.report.notes.iter().all(|note| (1..=lines).contains(&(note.line as usize)))),
            Err(problems) => {
                prop_assert!(!problems.is_empty());
                prop_assert!(problems.iter().all(|problem| problem.line as usize <= lines + 1), "{problems:?}");
            }
        }
    }

    #[test]
    fn no_text_at_all_makes_the_reader_stumble(text in "(jobName|taskRoles|image|protocol_version|[{}\\[\\]\":,/*#$ a-z0-9\n]){0,60}") {
        let _ = translate(&text, &by_ann(), &HouseRules::default());
    }
}
