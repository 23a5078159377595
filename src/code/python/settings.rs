//! What the owner of a machine has decided about Python packages, in the variables `uv` and `pip` read.

use std::collections::BTreeMap;

/// Names the directory of the environments, for servers and supervisors that should not use their own.
pub const DIRECTORY_VARIABLE: &str = "TRAINMASTER_ENVIRONMENTS";

/// Set where packages may be built on this machine, which runs what is in them.
pub const BUILD_VARIABLE: &str = "TRAINMASTER_BUILD_PACKAGES";

/// What decides from where packages come, and so what is in an environment.
const INDEXES: [&str; 6] = ["UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_TORCH_BACKEND"];

/// What is said for `pip` counts for `uv` as well, unless `uv` was told otherwise.
const FROM_PIP: [(&str, &str); 3] =
    [("PIP_INDEX_URL", "UV_DEFAULT_INDEX"), ("PIP_EXTRA_INDEX_URL", "UV_EXTRA_INDEX_URL"), ("PIP_CERT", "SSL_CERT_FILE")];

/// How packages are fetched. Any other variable of `uv`'s is about somebody's own work and not ours.
const KEPT: [&str; 12] = [
    "UV_CACHE_DIR",
    "UV_CONCURRENT_DOWNLOADS",
    "UV_CONCURRENT_INSTALLS",
    "UV_HTTP_TIMEOUT",
    "UV_INDEX_STRATEGY",
    "UV_INSECURE_HOST",
    "UV_KEYRING_PROVIDER",
    "UV_NATIVE_TLS",
    "UV_OFFLINE",
    "UV_PYTHON_INSTALL_DIR",
    "UV_PYTHON_INSTALL_MIRROR",
    "UV_SYSTEM_CERTS",
];

/// Variables by which Python and its tools can be led to another place than ours.
const MISLEADING: [&str; 5] = ["VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP"];

/// The environment of the tools that make environments.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub variables: BTreeMap<String, String>,
}

impl Settings {
    pub fn of_this_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| name.into_string().ok().zip(value.into_string().ok());
        Self::from_pairs(std::env::vars_os().filter_map(text))
    }

    pub fn from_pairs(pairs: impl Iterator<Item = (String, String)>) -> Self {
        let all: BTreeMap<String, String> = pairs.filter(|(_, value)| !value.is_empty()).collect();
        // The default index has an older name too.
        let is_told = |uv: &str| all.contains_key(uv) || (uv == "UV_DEFAULT_INDEX" && all.contains_key("UV_INDEX_URL"));
        let translated: Vec<(String, String)> = FROM_PIP
            .iter()
            .filter(|(_, uv)| !is_told(uv))
            .filter_map(|(pip, uv)| Some(((*uv).to_owned(), all.get(*pip)?.clone())))
            .collect();
        let mut variables: BTreeMap<String, String> = all.into_iter().filter(|(name, _)| is_kept(name)).collect();
        variables.extend(translated);
        Self { variables }
    }

    /// Whoever builds a package runs what is in it, and that could read how the index is opened.
    pub fn may_build(&self) -> bool {
        self.variables.contains_key(BUILD_VARIABLE) && self.passwords().is_empty()
    }

    /// For words that others may read.
    pub fn without_passwords(&self, text: &str) -> String {
        self.passwords().into_iter().fold(text.to_owned(), |text, password| text.replace(&password, "****"))
    }

    /// `user:password` of every address, and what is given by itself.
    fn passwords(&self) -> Vec<String> {
        let by_itself = self.variables.iter().filter(|(name, _)| is_credential(name) && name.ends_with("_PASSWORD"));
        let addresses = self.variables.values().flat_map(|value| value.split([' ', ',']));
        let in_address = addresses.filter_map(|it| it.split_once("://")?.1.split('/').next()?.rsplit_once('@'));
        by_itself.map(|it| it.1.clone()).chain(in_address.map(|it| it.0.to_owned())).filter(|it| !it.is_empty()).collect()
    }

    pub fn indexes(&self) -> impl Iterator<Item = (&str, &str)> {
        INDEXES.iter().filter_map(|name| Some((*name, self.variables.get(*name)?.as_str())))
    }
}

fn is_kept(name: &str) -> bool {
    let ours_to_pass = !name.starts_with("UV_") || is_credential(name) || INDEXES.contains(&name) || KEPT.contains(&name);
    ours_to_pass && !MISLEADING.contains(&name)
}

/// Names and passwords for an index are in variables that carry the index's own name.
fn is_credential(name: &str) -> bool {
    name.starts_with("UV_INDEX_") && (name.ends_with("_USERNAME") || name.ends_with("_PASSWORD"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pairs: &[(&str, &str)]) -> String {
        let settings = Settings::from_pairs(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        settings.variables.iter().map(|(name, value)| format!("{name}={value} ")).collect()
    }

    #[test]
    fn what_pip_was_told_counts_and_what_uv_was_told_counts_more() {
        assert_eq!(shown(&[("PIP_INDEX_URL", "p")]), "PIP_INDEX_URL=p UV_DEFAULT_INDEX=p ");
        assert_eq!(shown(&[("PIP_INDEX_URL", "p"), ("UV_INDEX_URL", "u")]), "PIP_INDEX_URL=p UV_INDEX_URL=u ");
        assert_eq!(shown(&[("PIP_INDEX_URL", "p"), ("UV_DEFAULT_INDEX", "u")]), "PIP_INDEX_URL=p UV_DEFAULT_INDEX=u ");
        assert_eq!(shown(&[("UV_INDEX_URL", "")]), "");
    }

    #[test]
    fn somebody_s_own_work_does_not_get_in() {
        let pairs = [("UV_PYTHON", "3.8"), ("UV_PROJECT_ENVIRONMENT", "x"), ("VIRTUAL_ENV", "y"), ("PYTHONPATH", "z"), ("HOME", "/h")];
        assert_eq!(shown(&pairs), "HOME=/h ");
        assert_eq!(shown(&[("UV_INDEX_LAB_PASSWORD", "s"), ("UV_OFFLINE", "1")]), "UV_INDEX_LAB_PASSWORD=s UV_OFFLINE=1 ");
    }

    #[test]
    fn passwords_are_not_said_and_not_shown_to_what_is_built() {
        let settings =
            |pairs: &[(&str, &str)]| Settings::from_pairs(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let secret = settings(&[("UV_INDEX", "https://a.example/x https://me:secret@b.example/y"), (BUILD_VARIABLE, "1")]);
        assert!(settings(&[(BUILD_VARIABLE, "1")]).may_build() && !secret.may_build() && !settings(&[]).may_build());
        let secret = settings(&[("UV_DEFAULT_INDEX", "https://me:s3cret@b.example/y"), ("UV_INDEX_LAB_PASSWORD", "qwertz")]);
        assert_eq!(secret.without_passwords("failed: https://me:s3cret@b.example/y qwertz"), "failed: https://****@b.example/y ****");
    }
}
