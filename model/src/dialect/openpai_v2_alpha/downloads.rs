//! The steps that fetch a prerequisite before the task's own commands, as OpenPAI's server wrote them.

use crate::shell::word;

/// `uris` are separated by commas. What is neither on GitHub nor of the web is not fetched.
pub(super) fn steps(name: &str, uris: &str) -> Vec<String> {
    let uris: Vec<&str> = uris.split(',').map(str::trim).filter(|uri| !uri.is_empty()).collect();
    let several = uris.len() > 1;
    let mut steps = Vec::new();
    if several {
        steps.push(format!("mkdir {}", word(name)));
    }
    for uri in uris {
        if uri.contains("github") {
            steps.extend(cloned(uri, name, several));
        } else if uri.starts_with("http") {
            steps.extend(downloaded(uri, name, several));
        }
    }
    steps
}

pub(super) fn is_fetched(uri: &str) -> bool {
    uri.contains("github") || uri.trim().starts_with("http")
}

/// `https://github.com/someone/thing@commit`
fn cloned(uri: &str, name: &str, several: bool) -> Vec<String> {
    let (uri, commit) =
        uri.rsplit_once('@').filter(|(before, _)| before.contains("github")).map_or((uri, None), |(uri, at)| (uri, Some(at)));
    let directory = last_part(uri).trim_end_matches(".git");
    let mut steps = vec![format!("git clone {}", word(uri))];
    steps.extend(commit.map(|commit| format!("cd {}; git checkout {}; cd ..", word(directory), word(commit))));
    steps.extend(renamed(directory, name, several));
    steps
}

fn downloaded(uri: &str, name: &str, several: bool) -> Vec<String> {
    let mut file = last_part(uri);
    let mut steps = vec![format!("wget {}", word(uri))];
    if let Some(bare) = file.strip_suffix(".gz") {
        steps.push(format!("gunzip {}", word(file)));
        file = bare;
    }
    if file.ends_with(".tar") {
        if !several {
            steps.push(format!("mkdir {}", word(name)));
        }
        steps.push(format!("tar xvf {} -C {} --strip-components 1", word(file), word(name)));
        return steps;
    }
    if let Some(bare) = file.strip_suffix(".zip") {
        steps.push(format!("unzip {}", word(file)));
        file = bare;
    }
    steps.extend(renamed(file, name, several));
    steps
}

/// To the prerequisite's name, or into the directory of that name where there are several.
fn renamed(from: &str, name: &str, several: bool) -> Option<String> {
    let (from, to) = (word(from), word(name));
    (from != to || several).then(|| if several { format!("mv {from} {to}/") } else { format!("mv {from} {to}") })
}

fn last_part(uri: &str) -> &str {
    uri.trim_end_matches('/').rsplit('/').next().unwrap_or(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    // 2.8: GitHub is cloned, with a commit checked out; the web is downloaded and unpacked; all is renamed.
    #[test]
    fn a_prerequisite_is_fetched_by_the_kind_of_its_address() {
        let told = |name: &str, uris: &str| steps(name, uris).join("\n");
        assert_eq!(told("models", "https://github.com/someone/nets"), "git clone https://github.com/someone/nets\nmv nets models");
        assert_eq!(told("nets", "https://github.com/someone/nets.git"), "git clone https://github.com/someone/nets.git");
        assert_eq!(
            told("models", "https://github.com/someone/nets@1a2b3c"),
            "git clone https://github.com/someone/nets\ncd nets; git checkout 1a2b3c; cd ..\nmv nets models"
        );
        assert_eq!(
            told("cifar", "http://data.example.com/cifar-10.tar.gz"),
            "wget http://data.example.com/cifar-10.tar.gz\ngunzip cifar-10.tar.gz\nmkdir cifar\ntar xvf cifar-10.tar -C cifar --strip-components 1"
        );
        assert_eq!(told("words", "http://x.example/w.zip"), "wget http://x.example/w.zip\nunzip w.zip\nmv w words");
        assert_eq!(told("mnist", "http://x.example/t.gz"), "wget http://x.example/t.gz\ngunzip t.gz\nmv t mnist");
        assert_eq!(
            told("both", "http://x.example/a.npz, http://x.example/b.npz"),
            "mkdir both\nwget http://x.example/a.npz\nmv a.npz both/\nwget http://x.example/b.npz\nmv b.npz both/"
        );
        assert_eq!(told("none", "hdfs://x/y"), "");
        assert_eq!(told("odd", "http://x.example/a;rm -rf b"), "wget 'http://x.example/a;rm -rf b'\nmv 'a;rm -rf b' odd");
    }
}
