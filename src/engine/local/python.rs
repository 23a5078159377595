//! What supervisors are told about Python: the server's own variables, and above them its configuration.

use std::collections::BTreeMap;

use crate::{
    code::python::{BUILD_VARIABLE, DIRECTORY_VARIABLE},
    config::PythonConfig,
};

/// What the tools that fetch packages read, besides everything that begins with `UV_` or `PIP_`.
const PASSED_ON: [&str; 13] = [
    DIRECTORY_VARIABLE,
    "XDG_CACHE_HOME",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

pub fn variables(config: &PythonConfig, own: impl Iterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let is_passed_on = |name: &str| name.starts_with("UV_") || name.starts_with("PIP_") || PASSED_ON.contains(&name);
    let mut variables: BTreeMap<String, String> = own.filter(|(name, _)| is_passed_on(name)).collect();
    if let Some(index) = &config.index {
        variables.remove("UV_INDEX_URL");
        variables.insert("UV_DEFAULT_INDEX".into(), index.clone());
    }
    if !config.extra_indexes.is_empty() {
        variables.insert("UV_INDEX".into(), config.extra_indexes.join(" "));
    }
    if !config.find_links.is_empty() {
        variables.insert("UV_FIND_LINKS".into(), config.find_links.join(","));
    }
    for (name, _) in [("UV_OFFLINE", config.offline), (BUILD_VARIABLE, config.build)].into_iter().filter(|it| it.1) {
        variables.insert(name.into(), "1".into());
    }
    if let Some(place) = &config.environments {
        let place = std::path::absolute(place).unwrap_or_else(|_| place.clone());
        variables.insert(DIRECTORY_VARIABLE.into(), place.to_string_lossy().into_owned());
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_wins_over_the_server_s_own_variables_and_nothing_else_gets_through() {
        let own = [("UV_INDEX_URL", "theirs"), ("PIP_CERT", "c"), ("AWS_SECRET", "s"), ("HTTPS_PROXY", "p")];
        let own = || own.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let shown =
            |config: &PythonConfig| -> String { variables(config, own()).iter().map(|(name, value)| format!("{name}={value} ")).collect() };
        assert_eq!(shown(&PythonConfig::default()), "HTTPS_PROXY=p PIP_CERT=c UV_INDEX_URL=theirs ");
        let config = PythonConfig {
            index: Some("i".into()),
            extra_indexes: vec!["a".into(), "b".into()],
            environments: Some("/e".into()),
            ..PythonConfig::default()
        };
        assert_eq!(shown(&config), "HTTPS_PROXY=p PIP_CERT=c TRAINMASTER_ENVIRONMENTS=/e UV_DEFAULT_INDEX=i UV_INDEX=a b ");
        let config = PythonConfig { offline: true, build: true, find_links: vec!["/w".into(), "/v".into()], ..PythonConfig::default() };
        assert_eq!(
            shown(&config),
            "HTTPS_PROXY=p PIP_CERT=c TRAINMASTER_BUILD_PACKAGES=1 UV_FIND_LINKS=/w,/v UV_INDEX_URL=theirs UV_OFFLINE=1 "
        );
    }
}
