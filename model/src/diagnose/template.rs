//! Sentences with gaps: `{name}` is replaced, and `{name: (#)}` stands only where there is something for its `#`.

use std::collections::BTreeMap;

pub fn fill(text: &str, particulars: &BTreeMap<String, String>) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, gap, after)) = next_gap(rest) {
        filled.push_str(before);
        let (name, around) = gap.split_once(':').unwrap_or((gap, "#"));
        if let Some(value) = particulars.get(name) {
            filled.push_str(&around.replace('#', value));
        }
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// The names of a text's gaps.
pub fn names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some((_, gap, after)) = next_gap(rest) {
        names.push(gap.split_once(':').map_or(gap, |(name, _)| name));
        rest = after;
    }
    names
}

fn next_gap(text: &str) -> Option<(&str, &str, &str)> {
    let (before, inside) = text.split_once('{')?;
    let (gap, after) = inside.split_once('}')?;
    Some((before, gap, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_filled_and_those_without_a_value_leave_nothing_behind() {
        let particulars = BTreeMap::from([("port".to_owned(), "8080".to_owned())]);
        assert_eq!(fill("port {port} is taken", &particulars), "port 8080 is taken");
        assert_eq!(fill("the port{port: #} is taken{by: by #}", &particulars), "the port 8080 is taken");
        assert_eq!(fill("端口{port: #} 被占用{by:（#）}", &particulars), "端口 8080 被占用");
        assert_eq!(names("a {b} {c: #} d"), ["b", "c"]);
    }
}
