//! Which lines of a requirements file are taken. The file comes with the code, so whoever wrote it may want more than
//! packages: files of the server, its variables, or that something is run while it installs.

/// Why a file is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub line: usize,
    pub why: String,
}

/// Flags that stand alone and do no harm.
const PLAIN: [&str; 4] = ["--pre", "--prefer-binary", "--require-hashes", "--no-index"];
/// Flags whose value is an address.
const ADDRESSES: [&str; 5] = ["-i", "--index-url", "--extra-index-url", "-f", "--find-links"];
const INCLUDES: [&str; 4] = ["-r", "--requirement", "-c", "--constraint"];
const ARCHIVES: [&str; 6] = [".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz"];

/// Answers the further files that this one names, as it names them.
pub fn check(text: &str, may_build: bool) -> Result<Vec<String>, Refused> {
    // Others may take such a character for the end of a line, and then read something that we have not looked at.
    let is_odd = |line: &str| line.chars().any(|it| it.is_control() && it != '\t');
    if let Some(line) = text.lines().position(is_odd) {
        return Err(Refused { line: line + 1, why: "it has a character in it that cannot be seen".into() });
    }
    let mut includes = Vec::new();
    for (line, words) in logical(text) {
        let refuse = |why: String| Refused { line, why };
        // Filled in from the variables of whoever installs, and those are none of the code's business.
        if words.contains("${") {
            return Err(refuse(format!("`{words}` wants a variable filled in, which is not done here")));
        }
        includes.extend(check_line(&words, may_build).map_err(refuse)?);
    }
    Ok(includes)
}

/// Whether there is anything at all in it.
pub fn is_empty(text: &str) -> bool {
    logical(text).is_empty()
}

/// Lines without comments, each with the number at which it begins. One that ends in a backslash goes on.
fn logical(text: &str) -> Vec<(usize, String)> {
    let (mut lines, mut begun) = (Vec::new(), None::<(usize, String)>);
    for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let is_comment = |at: usize| at == 0 || line[..at].ends_with(char::is_whitespace);
        let end = line.match_indices('#').map(|(at, _)| at).find(|at| is_comment(*at)).unwrap_or(line.len());
        let (first, mut words) = begun.take().unwrap_or((number + 1, String::new()));
        match line[..end].strip_suffix('\\') {
            Some(rest) => begun = Some((first, words + rest + " ")),
            None => {
                words += &line[..end];
                lines.push((first, words));
            }
        }
    }
    lines.extend(begun);
    lines.into_iter().map(|(number, words)| (number, words.trim().to_owned())).filter(|(_, words)| !words.is_empty()).collect()
}

fn check_line(words: &str, may_build: bool) -> Result<Option<String>, String> {
    if !words.starts_with('-') {
        return check_package(words).map(|()| None);
    }
    let (flag, value) = flag_and_value(words);
    match flag {
        _ if INCLUDES.contains(&flag) => included(words, value).map(Some),
        _ if ADDRESSES.contains(&flag) => check_address(words, value).map(|()| None),
        _ if PLAIN.contains(&flag) && value.is_empty() => Ok(None),
        "--only-binary" => Ok(None),
        "--no-binary" if may_build => Ok(None),
        "--no-binary" => Err(format!("`{words}` asks for building, and this server installs only what is built already")),
        "-e" | "--editable" => Err(local(words)),
        _ => Err(format!("`{words}` is an option that is not taken here")),
    }
}

/// `-rfile`, `-r file`, `--requirement file` or `--requirement=file`.
fn flag_and_value(words: &str) -> (&str, &str) {
    let end = if words.starts_with("--") {
        words.find(|it: char| it == '=' || it.is_whitespace())
    } else {
        words.char_indices().nth(2).map(|it| it.0)
    };
    let (flag, value) = words.split_at(end.unwrap_or(words.len()));
    (flag, value.trim_start_matches(|it: char| it == '=' || it.is_whitespace()))
}

fn included(words: &str, path: &str) -> Result<String, String> {
    let leads_out = path.is_empty() || path.starts_with(['/', '~']) || path.contains("://") || path.contains('\\');
    if leads_out { Err(format!("`{words}` leads out of the code")) } else { Ok(path.trim_matches(['"', '\'']).to_owned()) }
}

fn check_package(words: &str) -> Result<(), String> {
    let (package, options) = words.split_once(" --").unwrap_or((words, ""));
    if let Some(option) = options.split(" --").find(|it| !it.is_empty() && !it.trim_start().starts_with("hash")) {
        return Err(format!("`--{}` is an option that is not taken here", option.trim()));
    }
    if package.contains("://") && !package.contains('@') {
        return check_address(words, package.split_whitespace().next().unwrap_or_default());
    }
    let end = package.find(|it: char| !it.is_ascii_alphanumeric() && !"._-".contains(it)).unwrap_or(package.len());
    let (name, rest) = package.split_at(end);
    let is_archive = ARCHIVES.iter().any(|ending| name.ends_with(ending));
    if name.is_empty() || name.starts_with('.') || rest.starts_with(['/', '\\', ':']) || is_archive {
        return if package.contains("://") { check_address(words, package) } else { Err(local(words)) };
    }
    let extras = rest.trim_start().strip_prefix('[').and_then(|it| it.split_once(']')).map_or(rest, |it| it.1);
    let rest = extras.trim_start();
    match rest.strip_prefix('@') {
        Some(address) => check_address(words, address.split_whitespace().next().unwrap_or_default()),
        None if rest.is_empty() || rest.starts_with(['<', '>', '=', '!', '~', ';', '(']) => Ok(()),
        None => Err(format!("`{words}` is not understood: after the name comes a version")),
    }
}

/// A password in the file is one that everyone who has the code can read.
fn check_address(words: &str, address: &str) -> Result<(), String> {
    let Some(rest) = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://")) else {
        let is_local = !address.contains("://") || address.starts_with("file:");
        return Err(if is_local { local(words) } else { format!("`{words}`: only https:// and http:// addresses are taken") });
    };
    if rest.split(['/', '?', '#']).next().unwrap_or_default().contains('@') {
        return Err("it has a user or password in an address, which everyone with the code would see; the server's owner can give one in `[python] index`".into());
    }
    Ok(())
}

fn local(words: &str) -> String {
    format!(
        "`{words}` names something on the disk, and packages come from an index or an https:// address; what lies in the code is found there without being installed"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_packages_is_taken_and_further_files_are_found() {
        let text = "\u{feff}# the usual\nsix==1.17.0  # old\n\nnumpy >= 2 ; python_version < '4' \\\n    --hash=sha256:aa \\\n  --hash=sha256:bb\n\
            -r base.txt\n-rmore/b.txt\n--constraint=c.txt\n--extra-index-url https://example.org/simple\n--pre\ntorch[cuda]@https://example.org/t.whl#sha256=0\n\
            https://example.org/u-1-py3-none-any.whl\n--only-binary=:all:\nzope.interface~=5\n";
        assert_eq!(check(text, false), Ok(vec!["base.txt".into(), "more/b.txt".into(), "c.txt".into()]));
        assert!(is_empty("# nothing\n\n  \\\n") && !is_empty("six"));
    }

    #[test]
    fn what_wants_more_than_packages_is_refused_and_told_by_its_line() {
        let lines = [
            "-e .",
            "--editable=./pkg",
            "./pkg",
            "../up",
            "/abs/pkg",
            "pkg/",
            "dist/a-1-py3-none-any.whl",
            "a-1.tar.gz",
            "file:///etc/passwd",
            "a @ file:///x",
            "a @ ./x",
            "a@/x",
            "git+https://example.org/a.git",
            "a @ git+ssh://x/y",
            "-r /etc/passwd",
            "-r https://example.org/r.txt",
            "-c ~/c.txt",
            "-r",
            "--index-url https://me:secret@example.org/simple",
            "--index-url file:///x",
            "-f /wheels",
            "-f wheels",
            "a @ https://me@example.org/a.whl",
            "--no-binary :all:",
            "--trusted-host example.org",
            "--config-settings x=y",
            "six --config-settings=--build-option=x",
            "--index-url https://example.org/${HOME}",
            "this is not =",
            "six\r-e .",
            "six\u{b}-e .",
            "six \\\n @ https://example.org/${UV_INDEX_LAB_PASSWORD}/six.whl",
        ];
        let said: String = lines
            .iter()
            .map(|line| {
                let refused = check(&format!("numpy\n{line}\n"), false).expect_err(line);
                assert_eq!(refused.line, 2, "{line}");
                format!("{}\n", refused.why.split("; ").next().unwrap_or_default())
            })
            .collect();
        insta::assert_snapshot!(said, @"
        `-e .` names something on the disk, and packages come from an index or an https:// address
        `--editable=./pkg` names something on the disk, and packages come from an index or an https:// address
        `./pkg` names something on the disk, and packages come from an index or an https:// address
        `../up` names something on the disk, and packages come from an index or an https:// address
        `/abs/pkg` names something on the disk, and packages come from an index or an https:// address
        `pkg/` names something on the disk, and packages come from an index or an https:// address
        `dist/a-1-py3-none-any.whl` names something on the disk, and packages come from an index or an https:// address
        `a-1.tar.gz` names something on the disk, and packages come from an index or an https:// address
        `file:///etc/passwd` names something on the disk, and packages come from an index or an https:// address
        `a @ file:///x` names something on the disk, and packages come from an index or an https:// address
        `a @ ./x` names something on the disk, and packages come from an index or an https:// address
        `a@/x` names something on the disk, and packages come from an index or an https:// address
        `git+https://example.org/a.git`: only https:// and http:// addresses are taken
        `a @ git+ssh://x/y`: only https:// and http:// addresses are taken
        `-r /etc/passwd` leads out of the code
        `-r https://example.org/r.txt` leads out of the code
        `-c ~/c.txt` leads out of the code
        `-r` leads out of the code
        it has a user or password in an address, which everyone with the code would see
        `--index-url file:///x` names something on the disk, and packages come from an index or an https:// address
        `-f /wheels` names something on the disk, and packages come from an index or an https:// address
        `-f wheels` names something on the disk, and packages come from an index or an https:// address
        it has a user or password in an address, which everyone with the code would see
        `--no-binary :all:` asks for building, and this server installs only what is built already
        `--trusted-host example.org` is an option that is not taken here
        `--config-settings x=y` is an option that is not taken here
        `--config-settings=--build-option=x` is an option that is not taken here
        `--index-url https://example.org/${HOME}` wants a variable filled in, which is not done here
        `this is not =` is not understood: after the name comes a version
        it has a character in it that cannot be seen
        it has a character in it that cannot be seen
        `six   @ https://example.org/${UV_INDEX_LAB_PASSWORD}/six.whl` wants a variable filled in, which is not done here
        ");
        assert_eq!(check("--no-binary :all:", true), Ok(Vec::new()));
    }
}
