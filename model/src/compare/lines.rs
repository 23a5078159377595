//! What differs between two texts, line by line.

use std::fmt::Write;

/// One line, and in which of the two it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    Both(&'a str),
    Old(&'a str),
    New(&'a str),
}

/// How many lines came and how many went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub added: u64,
    pub removed: u64,
}

/// Beyond this many changed lines nobody reads which of them stayed by chance, and finding out takes their square.
const CHANGES_MAX: usize = 500;
const CONTEXT: usize = 3;

/// The shortest way from one text to the other; where they have little in common, everything in between is replaced.
pub fn lines<'a>(old: &'a str, new: &'a str) -> Vec<Line<'a>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let first = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let last = old[first..].iter().rev().zip(new[first..].iter().rev()).take_while(|(old, new)| old == new).count();
    let (before, after) = (&old[..first], &old[old.len() - last..]);
    let (old, new) = (&old[first..old.len() - last], &new[first..new.len() - last]);
    let middle =
        shortest(old, new).unwrap_or_else(|| old.iter().map(|it| Line::Old(it)).chain(new.iter().map(|it| Line::New(it))).collect());
    let both = |all: &[&'a str]| all.iter().map(|it| Line::Both(it)).collect::<Vec<_>>();
    [both(before), middle, both(after)].concat()
}

pub fn count(lines: &[Line<'_>]) -> Counts {
    let mut counts = Counts::default();
    for line in lines {
        match line {
            Line::Both(_) => {}
            Line::Old(_) => counts.removed += 1,
            Line::New(_) => counts.added += 1,
        }
    }
    counts
}

/// Myers's way: for each number of changes, how far one gets on each diagonal. `None` where it takes too many.
fn shortest<'a>(old: &[&'a str], new: &[&'a str]) -> Option<Vec<Line<'a>>> {
    let most = (old.len() + new.len()).min(CHANGES_MAX);
    let middle = most + 1;
    let mut reach = vec![0; 2 * middle + 1];
    let mut history = Vec::new();
    for changes in 0..=most {
        history.push(reach.clone());
        for diagonal in (middle - changes..=middle + changes).step_by(2) {
            let goes_down = diagonal == middle - changes || (diagonal != middle + changes && reach[diagonal - 1] < reach[diagonal + 1]);
            let mut x: usize = if goes_down { reach[diagonal + 1] } else { reach[diagonal - 1] + 1 };
            let mut y = x + middle - diagonal;
            while x < old.len() && y < new.len() && old[x] == new[y] {
                (x, y) = (x + 1, y + 1);
            }
            reach[diagonal] = x;
            if x >= old.len() && y >= new.len() {
                return Some(walked_back(old, new, &history, middle));
            }
        }
    }
    None
}

fn walked_back<'a>(old: &[&'a str], new: &[&'a str], history: &[Vec<usize>], middle: usize) -> Vec<Line<'a>> {
    let (mut x, mut y, mut lines) = (old.len(), new.len(), Vec::new());
    for (changes, reach) in history.iter().enumerate().rev() {
        let diagonal = middle + x - y;
        let went_down = diagonal == middle - changes || (diagonal != middle + changes && reach[diagonal - 1] < reach[diagonal + 1]);
        let before = if went_down { diagonal + 1 } else { diagonal - 1 };
        let (start_x, start_y) = if changes == 0 { (0, 0) } else { (reach[before], reach[before] + middle - before) };
        while x > start_x && y > start_y && old[x - 1] == new[y - 1] {
            (x, y) = (x - 1, y - 1);
            lines.push(Line::Both(old[x]));
        }
        if changes > 0 {
            if went_down {
                y -= 1;
                lines.push(Line::New(new[y]));
            } else {
                x -= 1;
                lines.push(Line::Old(old[x]));
            }
        }
    }
    lines.reverse();
    lines
}

/// The lines around each change, as `diff -u` and `git` write them.
pub fn unified(old_name: &str, new_name: &str, lines: &[Line<'_>]) -> String {
    let mut text = format!("--- {old_name}\n+++ {new_name}\n");
    let changed: Vec<usize> = (0..lines.len()).filter(|at| !matches!(lines[*at], Line::Both(_))).collect();
    let mut rest = &changed[..];
    while let Some(first) = rest.first() {
        let together = 1 + rest.windows(2).take_while(|pair| pair[1] - pair[0] <= 2 * CONTEXT + 1).count();
        let (start, end) = (first.saturating_sub(CONTEXT), (rest[together - 1] + CONTEXT + 1).min(lines.len()));
        hunk(&mut text, lines, start, end);
        rest = &rest[together..];
    }
    text
}

fn hunk(text: &mut String, lines: &[Line<'_>], start: usize, end: usize) {
    let sizes = |part: &[Line<'_>]| {
        let Counts { added, removed } = count(part);
        let both = part.len() as u64 - added - removed;
        (both + removed, both + added)
    };
    let (before, within) = (sizes(&lines[..start]), sizes(&lines[start..end]));
    // Of nothing one says the line it would come after.
    let place = |before: u64, within: u64| if within == 0 { format!("{before},0") } else { format!("{},{within}", before + 1) };
    writeln!(text, "@@ -{} +{} @@", place(before.0, within.0), place(before.1, within.1)).expect("a string takes everything");
    for line in &lines[start..end] {
        let (mark, line) = match line {
            Line::Both(line) => (' ', line),
            Line::Old(line) => ('-', line),
            Line::New(line) => ('+', line),
        };
        let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
        write!(text, "{mark}{line}{end}").expect("a string takes everything");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(old: &str, new: &str) -> String {
        unified("a", "b", &lines(old, new))
    }

    #[test]
    fn a_changed_line_is_shown_with_those_around_it() {
        let old: String = (1..=20).map(|it| format!("{it}\n")).collect();
        let new = old.replace("\n4\n", "\nfour\n").replace("\n18\n", "\n").replace("\n20\n", "\n20");
        insta::assert_snapshot!(diff(&old, &new), @r#"
        --- a
        +++ b
        @@ -1,7 +1,7 @@
         1
         2
         3
        -4
        +four
         5
         6
         7
        @@ -15,6 +15,5 @@
         15
         16
         17
        -18
         19
        -20
        +20
        \ No newline at end of file
        "#);
        assert_eq!(diff("", "x\n"), "--- a\n+++ b\n@@ -0,0 +1,1 @@\n+x\n");
        assert_eq!(diff("x\n", ""), "--- a\n+++ b\n@@ -1,1 +0,0 @@\n-x\n");
        assert_eq!(diff("x\n", "x\n"), "--- a\n+++ b\n");
    }

    /// Takes the old ones out and gives back both texts.
    fn texts(lines: &[Line<'_>]) -> (String, String) {
        let side = |wanted: bool| {
            let of_side = |line: &Line<'_>| match line {
                Line::Both(line) => Some(line.to_string()),
                Line::Old(line) => (!wanted).then(|| line.to_string()),
                Line::New(line) => wanted.then(|| line.to_string()),
            };
            lines.iter().filter_map(of_side).collect::<String>()
        };
        (side(false), side(true))
    }

    #[test]
    fn both_texts_can_be_made_from_the_difference_and_no_shorter_one_would_do() {
        let mut seed: u64 = 7;
        let mut next = |most: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % most
        };
        for _ in 0..500 {
            let mut text = |length: u64| (0..length).map(|_| format!("{}\n", next(4))).collect::<String>();
            let (old, new) = (text(9), text(7));
            let found = lines(&old, &new);
            assert_eq!(texts(&found), (old.clone(), new.clone()));
            let Counts { added, removed } = count(&found);
            let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
            assert_eq!(added + removed, (old.len() + new.len() - 2 * in_common(&old, &new)) as u64, "{old:?} {new:?}");
        }
    }

    fn in_common(old: &[&str], new: &[&str]) -> usize {
        let mut longest = vec![vec![0; new.len() + 1]; old.len() + 1];
        for (x, old) in old.iter().enumerate() {
            for (y, new) in new.iter().enumerate() {
                longest[x + 1][y + 1] = if old == new { longest[x][y] + 1 } else { longest[x][y + 1].max(longest[x + 1][y]) };
            }
        }
        longest[old.len()][new.len()]
    }

    #[test]
    fn texts_with_nothing_in_common_do_not_take_for_ever() {
        let text = |letter: char| (0..200_000).map(|it| format!("{letter}{it}\n")).collect::<String>();
        let (old, new) = (format!("first\n{}", text('a')), format!("first\n{}", text('b')));
        let found = lines(&old, &new);
        assert_eq!(count(&found), Counts { added: 200_000, removed: 200_000 });
        assert_eq!(found[0], Line::Both("first\n"));
    }
}
