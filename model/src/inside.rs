//! Whether symbolic links of a tree that is not on any disk yet stay inside it.

use std::collections::{BTreeMap, VecDeque};

/// Where each link of a tree leads, by its path from the root of the tree.
pub type Links = BTreeMap<Vec<u8>, Vec<u8>>;

/// As many as Linux follows.
const HOPS_MAX: usize = 40;

/// Whether following `path` ends inside the tree without ever having left it. What is not there is
/// inside: a link may dangle. Counting `..` in the text is not enough, because `link/..` is not where
/// the link stands but above where it leads.
pub fn stays_inside(links: &Links, path: &[u8]) -> bool {
    let mut ahead: VecDeque<&[u8]> = parts(path).collect();
    let mut reached: Vec<&[u8]> = Vec::new();
    let mut hops = 0;
    while let Some(part) = ahead.pop_front() {
        match part {
            b"" | b"." => continue,
            b".." if reached.pop().is_none() => return false,
            b".." => continue,
            name => reached.push(name),
        }
        let Some(target) = links.get(&reached.join(&b'/')) else { continue };
        hops += 1;
        if hops > HOPS_MAX || target.starts_with(b"/") {
            return false;
        }
        reached.pop();
        parts(target).rev().for_each(|part| ahead.push_front(part));
    }
    true
}

fn parts(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(links: &[(&str, &str)], path: &str) -> bool {
        let links = links.iter().map(|(from, to)| (from.as_bytes().to_vec(), to.as_bytes().to_vec())).collect();
        stays_inside(&links, path.as_bytes())
    }

    #[test]
    fn a_link_may_lead_anywhere_below_the_root() {
        assert!(inside(&[("a", "b/c")], "a"));
        assert!(inside(&[("d/a", "../b")], "d/a"));
        assert!(inside(&[("d/a", "..")], "d/a/b"));
        assert!(inside(&[("a", "b"), ("b", "nowhere")], "a"));
    }

    #[test]
    fn a_link_may_not_lead_out_by_itself_or_through_others() {
        assert!(!inside(&[("a", "/etc")], "a"));
        assert!(!inside(&[("a", "..")], "a"));
        assert!(!inside(&[("a", "b/../../c")], "a"));
        // By its text alone `k` would be at `d`.
        assert!(!inside(&[("d/e/l", "../.."), ("k", "d/e/l/../x")], "k"));
    }

    #[test]
    fn links_in_a_circle_lead_nowhere() {
        assert!(!inside(&[("a", "a")], "a"));
        assert!(!inside(&[("a", "b"), ("b", "a")], "a"));
    }
}
