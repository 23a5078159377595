use proptest::prelude::*;

use super::*;

fn told(check: fn(&str) -> Result<(), BadGit>, texts: &[&str]) -> String {
    let line = |text: &&str| match check(text) {
        Ok(()) => format!("{text:?}\n"),
        Err(bad) => format!("{text:?} {bad}\n"),
    };
    texts.iter().map(line).collect()
}

#[test]
fn only_whole_http_addresses_are_given_to_git() {
    let texts = [
        "https://example.org/team/project.git",
        "http://127.0.0.1:8080/a",
        "https://[::1]:443/a%20b/~c/-/d",
        "",
        "project",
        "/srv/git/a",
        "../a",
        "--upload-pack=touch x",
        "--upload-pack=x",
        "ssh://git@example.org/a",
        "git@example.org:a/b.git",
        "example.org:a/b",
        "git://example.org/a",
        "file:///etc",
        "HTTPS://example.org/a",
        "ext::sh -c x",
        "ext::sh%20-c%20x",
        "https::https://example.org/a",
        "https:///example.org/a",
        "https://:80/a",
        "https://example.org",
        "https://example.org/",
        "https://-oProxyCommand=x/a",
        "https://exa_mple..org/a",
        "https://example.org:0/a",
        "https://example.org:+80/a",
        "https://example.org:99999/a",
        "https://[::1/a",
        "https://[zz]/a",
        "https://[::1]x/a",
        "https://me:pw@example.org/a",
        "https://token@example.org/a",
        "https://good.org\\@evil.org/a",
        "https://example.org/a b",
        "https://example.org/a\nb",
        "https://example.org/a\u{202e}b",
        "https://example.org/a#main",
        "https://example.org/a?b=c",
        "https://example.org/é",
        "https://example.org/a/../b",
        "https://example.org/a/%2e%2E/b",
        "https://example.org/a%2fb",
        "https://example.org/a//b",
        "https://example.org/a%0ab",
        "https://example.org/a%zz",
        "https://example.org/a%",
    ];
    insta::assert_snapshot!(told(check_url, &texts), @r#"
    "https://example.org/team/project.git"
    "http://127.0.0.1:8080/a"
    "https://[::1]:443/a%20b/~c/-/d"
    "" is empty
    "project" is no address: write it whole, such as https://example.org/team/project.git; for a folder of your own write `code: .`
    "/srv/git/a" is no address: write it whole, such as https://example.org/team/project.git; for a folder of your own write `code: .`
    "../a" is no address: write it whole, such as https://example.org/team/project.git; for a folder of your own write `code: .`
    "--upload-pack=touch x" has the character ` `, which cannot be seen
    "--upload-pack=x" begins with `-`, which git would take for an option
    "ssh://git@example.org/a" is an SSH address; SSH is not supported: give the https address, and `user` and `password` or a token for a private repository
    "git@example.org:a/b.git" is an SSH address; SSH is not supported: give the https address, and `user` and `password` or a token for a private repository
    "example.org:a/b" is an SSH address; SSH is not supported: give the https address, and `user` and `password` or a token for a private repository
    "git://example.org/a" has the scheme `git`; git is fetched by http and https alone: give the https address
    "file:///etc" has the scheme `file`; git is fetched by http and https alone: give the https address
    "HTTPS://example.org/a" has the scheme `HTTPS`; git is fetched by http and https alone: give the https address
    "ext::sh -c x" has the character ` `, which cannot be seen
    "ext::sh%20-c%20x" names the helper `ext::`, which git would run as a program: give the https address
    "https::https://example.org/a" names the helper `https::`, which git would run as a program: give the https address
    "https:///example.org/a" names no host: write it such as https://example.org/team/project.git
    "https://:80/a" names no host: write it such as https://example.org/team/project.git
    "https://example.org" names a host but no repository: write it such as https://example.org/team/project.git
    "https://example.org/" names a host but no repository: write it such as https://example.org/team/project.git
    "https://-oProxyCommand=x/a" has the host `-oProxyCommand=x`, which is none
    "https://exa_mple..org/a" has the host `exa_mple..org`, which is none
    "https://example.org:0/a" has the port `0`, which is none
    "https://example.org:+80/a" has the port `+80`, which is none
    "https://example.org:99999/a" has the port `99999`, which is none
    "https://[::1/a" has the host `[`, which is none
    "https://[zz]/a" has the host `zz`, which is none
    "https://[::1]x/a" has the port `x`, which is none
    "https://me:pw@example.org/a" has a user or password in it, which everyone would see: put them under `user` and `password`, with the password as a secret
    "https://token@example.org/a" has a user or password in it, which everyone would see: put them under `user` and `password`, with the password as a secret
    "https://good.org\\@evil.org/a" has the character `\`, which is not part of an address: write it as `%` and two digits, if it is meant
    "https://example.org/a b" has the character ` `, which cannot be seen
    "https://example.org/a\nb" has the character `\u{a}`, which cannot be seen
    "https://example.org/a\u{202e}b" has the character `\u{202e}`, which cannot be seen
    "https://example.org/a#main" has the character `#`, which begins a branch, tag or commit: give that as `ref`
    "https://example.org/a?b=c" has the character `?`, which is not part of an address: write it as `%` and two digits, if it is meant
    "https://example.org/é" has the character `é`, which is not part of an address: write it as `%` and two digits, if it is meant
    "https://example.org/a/../b" has the part `..`, which leads elsewhere
    "https://example.org/a/%2e%2E/b" has the part `%2e%2E`, which leads elsewhere
    "https://example.org/a%2fb" has the part `a%2fb`, which leads elsewhere
    "https://example.org/a//b" has the part `//`, which leads elsewhere
    "https://example.org/a%0ab" has the character `%`, which must have two digits behind it that mean a character
    "https://example.org/a%zz" has the character `%`, which must have two digits behind it that mean a character
    "https://example.org/a%" has the character `%`, which must have two digits behind it that mean a character
    "#);
    assert_eq!(check_url(&format!("https://example.org/{}", "a".repeat(3000))), Err(BadGit::TooLong { length: 3020, most: 2048 }));
}

#[test]
fn only_what_can_name_a_commit_is_a_ref() {
    let texts = [
        "main",
        "v1.0",
        "feature/x-1",
        "refs/heads/main",
        "HEAD",
        "汉字",
        "0123abc",
        "a@b",
        "",
        "-x",
        "--all",
        "a b",
        "a..b",
        "a@{1}",
        "@",
        "a:b",
        "a\\b",
        "a^",
        "a~1",
        "a*",
        "a?",
        "a[",
        "a\u{7f}",
        "a\n",
        "/a",
        "a/",
        "a//b",
        ".a",
        "a/.b",
        "a.lock",
        "a.lock/b",
        "a.",
    ];
    insta::assert_snapshot!(told(check_ref, &texts), @r#"
    "main"
    "v1.0"
    "feature/x-1"
    "refs/heads/main"
    "HEAD"
    "汉字"
    "0123abc"
    "a@b"
    "" is empty
    "-x" begins with `-`, which git would take for an option
    "--all" begins with `-`, which git would take for an option
    "a b" has the character ` `, which cannot be seen
    "a..b" has two dots in a row: see `git help check-ref-format`
    "a@{1}" has `@{`: see `git help check-ref-format`
    "@" is `@` alone: see `git help check-ref-format`
    "a:b" has the character `:`, which no branch, tag or commit has
    "a\\b" has the character `\`, which no branch, tag or commit has
    "a^" has the character `^`, which no branch, tag or commit has
    "a~1" has the character `~`, which no branch, tag or commit has
    "a*" has the character `*`, which no branch, tag or commit has
    "a?" has the character `?`, which no branch, tag or commit has
    "a[" has the character `[`, which no branch, tag or commit has
    "a\u{7f}" has the character `\u{7f}`, which cannot be seen
    "a\n" has the character `\u{a}`, which cannot be seen
    "/a" has a part that is empty, begins with a dot or ends with `.lock`: see `git help check-ref-format`
    "a/" has a part that is empty, begins with a dot or ends with `.lock`: see `git help check-ref-format`
    "a//b" has a part that is empty, begins with a dot or ends with `.lock`: see `git help check-ref-format`
    ".a" has a part that is empty, begins with a dot or ends with `.lock`: see `git help check-ref-format`
    "a/.b" has a part that is empty, begins with a dot or ends with `.lock`: see `git help check-ref-format`
    "a.lock" has a part that is empty, begins with a dot or ends with `.lock`: see `git help check-ref-format`
    "a.lock/b" has a part that is empty, begins with a dot or ends with `.lock`: see `git help check-ref-format`
    "a." ends with a dot: see `git help check-ref-format`
    "#);
}

#[test]
fn a_directory_stays_inside_the_repository() {
    let texts = ["train", "a/b c", "a/b", "/a", "..", "a/../b", "./a", "a//b", "a/", "-a", ".git", "a/.GIT/b", "a\nb", ""];
    insta::assert_snapshot!(told(check_directory, &texts), @r#"
    "train"
    "a/b c"
    "a/b"
    "/a" is a path from the root; a directory inside the repository is meant, such as `train`
    ".." has the part `..`, which leads elsewhere
    "a/../b" has the part `..`, which leads elsewhere
    "./a" has the part `.`, which leads elsewhere
    "a//b" has the part `//`, which leads elsewhere
    "a/" has the part `//`, which leads elsewhere
    "-a" begins with `-`, which git would take for an option
    ".git" has the part `.git`, which leads elsewhere
    "a/.GIT/b" has the part `.GIT`, which leads elsewhere
    "a\nb" has the character `\u{a}`, which cannot be seen
    "" is empty
    "#);
}

#[test]
fn a_commit_is_told_from_a_name_by_its_letters() {
    let full = "0123456789abcdef0123456789abcdef01234567";
    assert!(is_commit(full) && !is_short_commit(full) && is_short_commit(&full[..7]) && is_short_commit(&full[..39]));
    assert!(!is_short_commit(&full[..6]) && !is_commit(&full.to_uppercase()) && !is_short_commit("feature"));
}

#[test]
fn credentials_belong_to_scheme_host_and_port() {
    assert_eq!(origin("https://example.org:8443/a/b"), "https://example.org:8443");
    assert_eq!(origin("http://[::1]/a"), "http://[::1]");
}

/// Text that comes close to what is allowed.
fn near_misses() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("https://"),
        Just("http://"),
        Just("ssh://"),
        Just("ext::"),
        Just("example.org"),
        Just("/"),
        Just(".."),
        Just("@"),
        Just(":"),
        Just("-"),
        Just("%"),
        Just("%2e"),
        Just("%0a"),
        Just("["),
        Just("]"),
        Just("\\"),
        Just("a"),
        Just(".git"),
        Just("?"),
        Just("#"),
        Just(" "),
        Just("\n"),
        Just("{"),
        Just(".lock"),
        Just("é"),
        Just("80"),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn whatever_passes_is_harmless(text in prop_oneof![near_misses(), ".{0,40}", "https?://[a-z0-9.:@\\[\\]-]{0,12}/\\PC{0,20}"]) {
        if check_url(&text).is_ok() {
            prop_assert!(text.starts_with("https://") || text.starts_with("http://"));
            let is_plain = |it: u8| it.is_ascii_graphic() && !b"\\?#\"<>`{}|^".contains(&it);
            prop_assert!(text.bytes().all(is_plain), "{}", text);
            let authority = origin(&text).split_once("://").unwrap().1;
            prop_assert!(!authority.is_empty() && !authority.contains('@') && !authority.starts_with('-'));
            prop_assert!(!text.split('/').any(|part| part == ".." || part == "."));
        }
        if check_ref(&text).is_ok() {
            prop_assert!(!text.starts_with('-') && !text.contains("..") && !text.contains([' ', ':', '^', '~', '\\', '*', '?', '[', '\n', '\0']));
        }
        if check_directory(&text).is_ok() {
            prop_assert!(!text.starts_with('-') && !text.starts_with('/') && !text.split('/').any(|part| part == ".." || part == ".git"));
        }
    }
}
