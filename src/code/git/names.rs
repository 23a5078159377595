//! What a server has, as it lists it, and what a person means by a branch, a tag or a commit.

use model::{code::git, spec::nearest};

const NAMES_SHOWN: usize = 5;

/// Every ref of a server, with what it points to.
pub struct Names {
    refs: Vec<(String, String)>,
}

/// What is to be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meant {
    /// What to ask for, and the commit it leads to: a tag has words of its own in front of its commit.
    Listed { ask: String, commit: String },
    /// Not listed, but whole; the server may have it.
    Commit(String),
    /// To be looked for in all that the server has.
    Beginning(String),
}

impl Names {
    /// The words of `git ls-remote`.
    pub fn read(text: &str) -> Self {
        let pair = |line: &str| line.split_once('\t').map(|(id, name)| (name.to_owned(), id.to_owned()));
        Self { refs: text.lines().filter_map(pair).filter(|(_, id)| git::is_commit(id)).collect() }
    }

    /// A branch before a tag of the same name; a whole commit id before both.
    pub fn find(&self, reference: Option<&str>) -> Option<Meant> {
        let name = reference.unwrap_or("HEAD");
        if git::is_commit(name) {
            return Some(Meant::Commit(name.to_owned()));
        }
        let spellings = [name.to_owned(), format!("refs/heads/{name}"), format!("refs/tags/{name}"), format!("refs/{name}")];
        let is_whole = |it: &&String| **it == "HEAD" || it.starts_with("refs/");
        let listed = spellings.iter().filter(is_whole).find_map(|it| self.listed(it));
        listed.or_else(|| self.beginning(name))
    }

    fn listed(&self, name: &str) -> Option<Meant> {
        let id = |name: &str| self.refs.iter().find(|(it, _)| it == name).map(|(_, id)| id.clone());
        let ask = id(name)?;
        let commit = id(&format!("{name}^{{}}")).unwrap_or_else(|| ask.clone());
        Some(Meant::Listed { ask, commit })
    }

    fn beginning(&self, name: &str) -> Option<Meant> {
        if !git::is_short_commit(name) {
            return None;
        }
        let mut fitting: Vec<&String> = self.refs.iter().map(|(_, id)| id).filter(|id| id.starts_with(name)).collect();
        fitting.sort();
        fitting.dedup();
        // Two that begin alike are told apart where all commits are, not here.
        match fitting[..] {
            [id] => Some(Meant::Commit(id.clone())),
            _ => Some(Meant::Beginning(name.to_owned())),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.refs.is_empty()
    }

    /// For a person who asked for one that is not there.
    pub fn instead(&self, missing: &str) -> String {
        let short = |name: &'_ str| name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("refs/tags/")).map(str::to_owned);
        let mut names: Vec<String> =
            self.refs.iter().filter(|(name, _)| !name.ends_with("^{}")).filter_map(|(name, _)| short(name)).collect();
        names.sort();
        names.dedup();
        if let Some(near) = nearest(missing, names.iter().map(String::as_str)) {
            let near = near.to_owned();
            names.retain(|it| *it != near);
            names.insert(0, near);
        }
        let rest = if names.len() > NAMES_SHOWN { ", …" } else { "" };
        names.truncate(NAMES_SHOWN);
        if names.is_empty() { "it has neither branches nor tags".into() } else { format!("it has {}{rest}", names.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaa111111111111111111111111111111111";
    const B: &str = "bbbbbbb111111111111111111111111111111111";
    const T: &str = "ccccccc111111111111111111111111111111111";

    fn names() -> Names {
        Names::read(&format!(
            "{A}\tHEAD\n{A}\trefs/heads/main\n{B}\trefs/heads/v1\n{T}\trefs/tags/v1\n{A}\trefs/tags/v1^{{}}\n{T}\trefs/tags/v2\n{B}\trefs/tags/v2^{{}}\n{B}\trefs/pull/3/head\nnonsense\n-x\trefs/heads/evil\n"
        ))
    }

    #[test]
    fn a_name_is_a_branch_before_it_is_a_tag_and_a_tag_leads_to_its_commit() {
        let listed = |ask: &str, commit: &str| Some(Meant::Listed { ask: ask.into(), commit: commit.into() });
        let names = names();
        assert_eq!(names.find(None), listed(A, A));
        assert_eq!(names.find(Some("main")), listed(A, A));
        assert_eq!(names.find(Some("v1")), listed(B, B));
        assert_eq!(names.find(Some("refs/tags/v1")), listed(T, A));
        assert_eq!(names.find(Some("v2")), listed(T, B));
        assert_eq!(names.find(Some("refs/pull/3/head")), listed(B, B));
        assert_eq!(names.find(Some("pull/3/head")), listed(B, B));
        assert_eq!(names.find(Some(A)), Some(Meant::Commit(A.into())));
        assert_eq!(names.find(Some("aaaaaaa")), Some(Meant::Commit(A.into())));
        assert_eq!(names.find(Some("ddddddd")), Some(Meant::Beginning("ddddddd".into())));
        assert_eq!((names.find(Some("evil")), names.find(Some("missing"))), (None, None));
    }

    #[test]
    fn whoever_asks_for_what_is_not_there_is_told_what_is() {
        assert_eq!(names().instead("mian"), "it has main, v1, v2");
        assert_eq!(names().instead("v3"), "it has v1, main, v2");
        assert_eq!(Names::read("").instead("x"), "it has neither branches nor tags");
    }
}
