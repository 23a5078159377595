//! What an unknown key was probably meant to be.

/// Words other systems use for the same thing.
const OTHER_WORDS: [(&str, &str); 27] = [
    ("cmd", "command"),
    ("args", "command"),
    ("script", "command"),
    ("run", "command"),
    ("entrypoint", "command"),
    ("replicas", "tasks"),
    ("instances", "tasks"),
    ("count", "tasks"),
    ("tasknumber", "tasks"),
    ("gpu", "accelerators"),
    ("gpus", "accelerators"),
    ("gpunumber", "accelerators"),
    ("cpunumber", "cpus"),
    ("mem", "memory"),
    ("memorymb", "memory"),
    ("shm", "shared_memory"),
    ("storage", "disk"),
    ("ephemeralstorage", "disk"),
    ("shmsize", "shared_memory"),
    ("environment", "env"),
    ("variables", "env"),
    ("timeout", "max_duration"),
    ("taskroles", "roles"),
    ("jobname", "name"),
    ("labels", "tags"),
    ("retry", "retries"),
    ("retrycount", "retries"),
];

/// The name nearest to `unknown` among those that a person chose.
pub fn nearest_of<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest(unknown, &known.collect::<Vec<_>>())
}

/// The known key nearest to `unknown`, if any is near enough to be meant.
pub fn nearest<'a>(unknown: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = bare(unknown);
    if let Some(same) = known.iter().find(|key| bare(key) == word) {
        return Some(same);
    }
    let meant = OTHER_WORDS.iter().find(|(other, _)| *other == word).map(|(_, ours)| *ours);
    if let Some(ours) = known.iter().find(|key| Some(**key) == meant) {
        return Some(ours);
    }
    let (distance, key) = known.iter().map(|key| (distance(&word, &bare(key)), *key)).min()?;
    (distance <= (word.len() / 3).clamp(1, 3)).then_some(key)
}

/// `maxDuration`, `max-duration` and `max_duration` are one word. Nobody means a key by a whole page.
fn bare(key: &str) -> String {
    const LETTERS_MAX: usize = 40;
    key.chars().filter(char::is_ascii_alphanumeric).take(LETTERS_MAX).map(|c| c.to_ascii_lowercase()).collect()
}

/// How many letters must be added, dropped, changed or swapped with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut rows = vec![(0..=other.len()).collect::<Vec<usize>>()];
    for i in 1..=one.len() {
        let mut row = vec![i];
        for j in 1..=other.len() {
            let changed = rows[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
            let mut least = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_a_case_and_a_foreign_word_are_understood_and_nonsense_is_not() {
        let known = ["command", "cpus", "memory", "tasks", "accelerators", "env", "max_duration"];
        for (unknown, meant) in [
            ("comand", Some("command")),
            ("commnad", Some("command")),
            ("cpu", Some("cpus")),
            ("maxDuration", Some("max_duration")),
            ("Memory", Some("memory")),
            ("replicas", Some("tasks")),
            ("gpus", Some("accelerators")),
            ("colour", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(nearest(unknown, &known), meant, "{unknown}");
        }
    }
}
