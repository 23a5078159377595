//! Repositories inside a repository. We fetch them as we fetch any other, and never by `git submodule`, which
//! takes settings from the repository itself.

use std::{collections::BTreeMap, path::Path};

use model::code::git::check_url;

use super::{mirror::Mirror, words::user};
use crate::code::NotMade;

/// What `.gitmodules` says: where each stands, and its address.
pub struct Modules {
    addresses: BTreeMap<String, String>,
}

impl Modules {
    pub fn of(mirror: &Mirror<'_>, commit: &str) -> Result<Self, NotMade> {
        match mirror.call(["config", "--blob", &format!("{commit}:.gitmodules"), "--list", "--null"]) {
            Ok(said) => Ok(Self::read(&String::from_utf8_lossy(&said.out))),
            Err(NotMade::Failed { .. }) => Ok(Self { addresses: BTreeMap::new() }),
            Err(NotMade::Stopped) => Err(NotMade::Stopped),
        }
    }

    fn read(listed: &str) -> Self {
        let (mut paths, mut addresses) = (BTreeMap::new(), BTreeMap::new());
        for entry in listed.split('\0') {
            let Some((key, value)) = entry.split_once('\n') else { continue };
            match key.strip_prefix("submodule.").and_then(|it| it.rsplit_once('.')) {
                Some((name, "path")) => drop(paths.insert(name, value)),
                Some((name, "url")) => drop(addresses.insert(name, value)),
                Some(_) | None => {}
            }
        }
        let found = paths.into_iter().filter_map(|(name, path)| Some((path.to_owned(), (*addresses.get(name)?).to_owned())));
        Self { addresses: found.collect() }
    }

    /// The address of the one that stands there, if it is one we would fetch for a person too.
    pub fn address(&self, parent: &str, path: &Path) -> Result<String, NotMade> {
        let name = path.to_string_lossy();
        let Some(written) = self.addresses.get(name.as_ref()) else {
            return Err(user(format!("{parent} has a submodule at `{name}`, and its .gitmodules does not say where that comes from")));
        };
        let address = joined(parent, written);
        match check_url(&address) {
            Ok(()) => Ok(address),
            Err(bad) => Err(user(format!("the submodule `{name}` of {parent} cannot be fetched: its address {bad}"))),
        }
    }
}

/// `../other.git` stands beside the repository that says so.
fn joined(parent: &str, written: &str) -> String {
    let (mut base, mut rest) = (parent.trim_end_matches('/'), written);
    if !rest.starts_with("./") && !rest.starts_with("../") {
        return written.to_owned();
    }
    loop {
        if let Some(after) = rest.strip_prefix("./") {
            rest = after;
        } else if let Some(after) = rest.strip_prefix("../") {
            (base, rest) = (base.rsplit_once('/').map_or("", |(above, _)| above), after);
        } else {
            return format!("{base}/{rest}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_found_by_its_place_and_only_at_an_address_we_would_take() {
        let listed = "core.fsmonitor\nevil\0submodule.a.path\nlib/a\0submodule.a.url\n../a.git\0submodule.b.c.path\nb\0submodule.b.c.url\nhttps://other.org/b\0\
                      submodule.e.path\ne\0submodule.e.url\next::sh -c x\0submodule.f.path\nf\0submodule.f.url\n../../../../evil.org/f\0submodule.g.path\ng\0";
        let modules = Modules::read(listed);
        let told = |path: &str| match modules.address("https://x.org/team/p.git", Path::new(path)) {
            Ok(address) => address,
            Err(NotMade::Failed { why, .. }) => why,
            Err(NotMade::Stopped) => "stopped".into(),
        };
        insta::assert_snapshot!(["lib/a", "b", "e", "f", "g", "h"].map(told).join("\n"), @"
        https://x.org/team/a.git
        https://other.org/b
        the submodule `e` of https://x.org/team/p.git cannot be fetched: its address has the character ` `, which cannot be seen
        the submodule `f` of https://x.org/team/p.git cannot be fetched: its address is an SSH address; SSH is not supported: give the https address, and `user` and `password` or a token for a private repository
        https://x.org/team/p.git has a submodule at `g`, and its .gitmodules does not say where that comes from
        https://x.org/team/p.git has a submodule at `h`, and its .gitmodules does not say where that comes from
        ");
    }
}
