//! What the owner of a machine has decided about Python packages, in the variables `uv` and `pip` read.

use std::collections::BTreeMap;

/// Names the directory of the environments, for servers and supervisors that should not use their own.
pub const DIRECTORY_VARIABLE: &str = "TRAINMASTER_ENVIRONMENTS";

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

    pub fn indexes(&self) -> impl Iterator<Item = (&str, &str)> {
        INDEXES.iter().filter_map(|name| Some((*name, self.variables.get(*name)?.as_str())))
    }
}

fn is_kept(name: &str) -> bool {
    // Names and passwords for an index are in variables that carry the index's own name.
    let credentials = name.starts_with("UV_INDEX_") && (name.ends_with("_USERNAME") || name.ends_with("_PASSWORD"));
    let ours_to_pass = !name.starts_with("UV_") || credentials || INDEXES.contains(&name) || KEPT.contains(&name);
    ours_to_pass && !MISLEADING.contains(&name)
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
}
