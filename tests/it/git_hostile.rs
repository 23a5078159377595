//! Addresses, names and repositories made to do harm. Each would leave a mark if it did.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use model::code::GitPlan;
use trainmaster::code::NotMade;

use crate::{
    git::{Place, plan, text},
    git_server::{GitServer, Repository},
};

/// A place beside the shelf in which nothing may ever appear or change.
struct Trap {
    home: tempfile::TempDir,
}

impl Trap {
    fn new() -> Self {
        // A name that can stand in a ref too.
        let home = tempfile::Builder::new().prefix("trap").tempdir().unwrap();
        fs::write(home.path().join("precious"), "as it was").unwrap();
        Self { home }
    }

    fn marker(&self) -> PathBuf {
        self.home.path().join("marker")
    }

    /// A file that a link or a path might reach, and that would be run or changed.
    fn precious(&self) -> PathBuf {
        self.home.path().join("precious")
    }

    fn untouched(&self, by: &str) {
        let names: Vec<_> = fs::read_dir(self.home.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(names, ["precious"], "touched by {by}");
        assert_eq!(fs::read_to_string(self.precious()).unwrap(), "as it was", "changed by {by}");
    }
}

/// Ways to say `touch marker` to whoever listens.
fn commands(marker: &Path) -> Vec<String> {
    let touch = format!("touch {}", marker.display());
    let no_spaces = format!("touch${{IFS}}{}", marker.display());
    vec![
        touch.clone(),
        no_spaces.clone(),
        format!("sh -c '{touch}'"),
        format!("$({touch})"),
        format!("$({no_spaces})"),
        format!("`{no_spaces}`"),
        format!(";{no_spaces};"),
        format!("|{no_spaces}"),
        format!("&{no_spaces}&"),
        format!("\n{touch}\n"),
    ]
}

/// Places in an address, a ref or a path where one might be listened to.
const FORMS: [&str; 28] = [
    "{}",
    "--upload-pack={}",
    "-u{}",
    "--exec={}",
    "--config=core.fsmonitor={}",
    "-ccore.sshCommand={}",
    "--template={}",
    "--output={}",
    "--receive-pack={}",
    "--open-files-in-pager={}",
    "ext::{}",
    "ext::sh -c {}",
    "ext::sh% -c% {}",
    "fd::17/{}",
    "https::ext::{}",
    "file:///{}",
    "ssh://-oProxyCommand={}/x",
    "ssh://host/{}",
    "-oProxyCommand={}@host:x",
    "git@-oProxyCommand={}:x",
    "git://-oProxyCommand={}/x",
    "http://-oProxyCommand={}/x",
    "http://127.0.0.1:1/{}",
    "http://127.0.0.1:1/x --upload-pack={}",
    "https://user:{}@127.0.0.1:1/x",
    "main {}",
    "main:{}",
    "refs/heads/{}",
];

fn injections(marker: &Path) -> Vec<String> {
    let commands = commands(marker);
    FORMS.iter().flat_map(|form| commands.iter().map(move |command| form.replace("{}", command))).collect()
}

/// Without us they do harm, or this file would show nothing.
#[test]
fn the_trap_snaps_when_git_is_called_carelessly() {
    let (server, trap) = (GitServer::new(), Trap::new());
    let repository = server.repository("p");
    repository.commit(&[("a", "x")]);
    let careless = format!("--upload-pack=touch {};", trap.marker().display());
    let _ = Command::new("git").args(["ls-remote", &careless, repository.bare.to_str().unwrap()]).output().unwrap();
    assert!(trap.marker().exists());
}

#[test]
fn no_address_ref_or_directory_makes_git_do_anything_else() {
    let (server, place, trap) = (GitServer::new(), Place::new(), Trap::new());
    let commit = server.repository("p").commit(&[("a", "x"), ("d/b", "y")]);
    let url = server.url("p");
    let all = injections(&trap.marker());
    assert!(all.len() >= 200, "{}", all.len());
    for text in &all {
        let wanted = [
            plan(text, None),
            plan(text, Some(&commit)),
            plan(&url, Some(text)),
            GitPlan { directory: Some(text.clone()), ..plan(&url, None) },
            GitPlan { user: Some(text.clone()), ..plan(text, Some("main")) },
        ];
        for it in wanted {
            let fetched = place.fetch(&it, None);
            assert!(matches!(fetched, Err(NotMade::Failed { .. })), "{it:?}: {fetched:?}");
        }
        trap.untouched(text);
    }
}

/// Names that git allows, so that they get as far as git: as branches, as tags and as directories.
#[test]
fn names_that_really_exist_are_names_and_nothing_else() {
    let (server, place, trap) = (GitServer::new(), Place::new(), Trap::new());
    let repository = server.repository("p");
    let marker = format!("touch${{IFS}}{}", trap.marker().display());
    let names = [
        format!("$({marker})"),
        format!("`{marker}`"),
        format!("x;{marker};"),
        format!("x|{marker}"),
        format!("x&{marker}&"),
        "x'\"y".into(),
        "%2e%2e".into(),
        "@x".into(),
        "{}".into(),
        "!x".into(),
        "#x".into(),
    ];
    for name in &names {
        repository.commit(&[(&format!("{}/file", name.trim_start_matches('/')), name)]);
        repository.git(&["update-ref", &format!("refs/heads/b{name}"), "HEAD"]);
        repository.git(&["update-ref", &format!("refs/tags/t{name}"), "HEAD"]);
    }
    repository.push();
    for name in &names {
        for reference in [format!("b{name}"), format!("t{name}"), format!("refs/heads/b{name}")] {
            let checkout = place.get(&GitPlan { directory: Some(name.clone()), ..plan(&server.url("p"), Some(&reference)) });
            assert_eq!(text(&checkout, "file"), *name);
            trap.untouched(&reference);
        }
    }
}

/// A repository and what is wrong with it.
type Hostile = (&'static str, fn(&Repository, &Trap));

fn submodule(repository: &Repository, url: &str, more: &str) {
    let modules = repository.object("blob", format!("[submodule \"x\"]\n\tpath = sub\n\turl = {url}\n\t{more}\n").as_bytes());
    let tree = repository.tree(&[("100644", ".gitmodules", &modules), ("160000", "sub", &"1".repeat(40))]);
    repository.commit_tree(&tree);
}

fn script(trap: &Trap) -> String {
    format!("#!/bin/sh\ntouch {}\n", trap.marker().display())
}

/// The settings by which a repository would run something, were they believed.
fn settings(trap: &Trap) -> String {
    let touch = format!("touch {}", trap.marker().display());
    format!(
        "[core]\n\tfsmonitor = {touch}\n\thooksPath = hooks\n\tpager = {touch}\n\teditor = {touch}\n\tsshCommand = {touch}\n\tgitProxy = {touch}\n\taskPass = {touch}\n\
         [filter \"evil\"]\n\tsmudge = {touch}\n\tprocess = {touch}\n\tclean = {touch}\n\trequired = true\n[diff \"evil\"]\n\ttextconv = {touch}\n\
         [credential]\n\thelper = !{touch}\n[alias]\n\tcheckout = !{touch}\n[protocol]\n\tallow = always\n\
         [lfs]\n\tstandalonetransferagent = evil\n\turl = file:///etc\n[lfs \"customtransfer.evil\"]\n\tpath = /bin/sh\n\targs = -c '{touch}'\n"
    )
}

fn with_settings(repository: &Repository, trap: &Trap) {
    let (text, hook) = (settings(trap), script(trap));
    let hooks = ["post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"];
    for dir in ["hooks", ".githooks", "nested/hooks"] {
        hooks.iter().for_each(|name| drop(put_executable(repository, &format!("{dir}/{name}"), &hook)));
    }
    let files = [".gitconfig", "config", ".lfsconfig", "nested/config", "info/attributes", "nested/HEAD"];
    let all: Vec<(&str, &str)> =
        files.iter().map(|name| (*name, if *name == "nested/HEAD" { "ref: refs/heads/main\n" } else { text.as_str() })).collect();
    repository.commit(&all);
    repository.commit(&[
        ("nested/objects/x", ""),
        ("nested/refs/x", ""),
        ("a.txt", "x"),
        (".gitattributes", "* filter=evil diff=evil merge=evil ident text eol=crlf\n"),
    ]);
}

fn put_executable(repository: &Repository, path: &str, content: &str) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let path = repository.work.join(path);
    fs::create_dir_all(path.parent().unwrap())?;
    fs::write(&path, content)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
}

/// A tree that has a link to the trap and, by the same name in some spelling, a directory with a file.
fn behind_a_link(repository: &Repository, trap: &Trap, link: &str, dir: &str) {
    let target = repository.object("blob", trap.home.path().to_str().unwrap().as_bytes());
    let file = repository.object("blob", b"changed");
    let inner = repository.tree(&[("100755", "marker", &file), ("100755", "precious", &file)]);
    let mut entries = [("120000", link, target.as_str()), ("40000", dir, inner.as_str())];
    entries.sort_by_key(|it| it.1.to_owned());
    repository.commit_tree(&repository.tree(&entries));
}

fn dot_git(repository: &Repository, trap: &Trap, name: &str) {
    let config = repository.object("blob", settings(trap).as_bytes());
    let hook = repository.object("blob", script(trap).as_bytes());
    let hooks = repository.tree(&[("100755", "post-checkout", &hook)]);
    let inner = repository.tree(&[("100644", "config", &config), ("40000", "hooks", &hooks)]);
    repository.commit_tree(&repository.tree(&[("40000", name, &inner)]));
}

const HOSTILE: [Hostile; 34] = [
    ("settings, hooks, filters and a nested repository", with_settings),
    ("a .git directory", |it, trap| dot_git(it, trap, ".git")),
    ("a .GIT directory", |it, trap| dot_git(it, trap, ".GIT")),
    ("a .git with a joiner in it", |it, trap| dot_git(it, trap, ".g\u{200c}it")),
    ("a short name of .git", |it, trap| dot_git(it, trap, "git~1")),
    ("a stream of .git", |it, trap| dot_git(it, trap, ".git::$INDEX_ALLOCATION")),
    ("a .git with a dot behind it", |it, trap| dot_git(it, trap, ".git.")),
    ("a directory above", |it, trap| dot_git(it, trap, "..")),
    ("a directory above and further", |it, trap| dot_git(it, trap, "../../x")),
    ("a directory that is this one", |it, trap| dot_git(it, trap, ".")),
    ("a directory without a name", |it, trap| dot_git(it, trap, "")),
    ("a path from the root", |it, trap| dot_git(it, trap, trap.home.path().to_str().unwrap())),
    ("a backslash above", |it, trap| dot_git(it, trap, "..\\..\\x")),
    ("a link for .git", |it, trap| {
        let target = it.object("blob", trap.home.path().to_str().unwrap().as_bytes());
        it.commit_tree(&it.tree(&[("120000", ".git", &target)]));
    }),
    ("a link for .gitmodules", |it, trap| {
        let target = it.object("blob", trap.precious().to_str().unwrap().as_bytes());
        it.commit_tree(&it.tree(&[("120000", ".gitmodules", &target), ("160000", "sub", &"1".repeat(40))]));
    }),
    ("a link for .gitattributes", |it, trap| {
        let target = it.object("blob", trap.precious().to_str().unwrap().as_bytes());
        it.commit_tree(&it.tree(&[("120000", ".gitattributes", &target)]));
    }),
    ("a file behind a link of the same name", |it, trap| behind_a_link(it, trap, "a", "a")),
    ("a file behind a link of the same name in capitals", |it, trap| behind_a_link(it, trap, "A", "a")),
    ("a file behind a link of the same name for a Mac", |it, trap| behind_a_link(it, trap, "a\u{200c}", "a")),
    ("a link below which a submodule stands", |it, trap| {
        let target = it.object("blob", trap.home.path().to_str().unwrap().as_bytes());
        let modules = it.object("blob", b"[submodule \"x\"]\n\tpath = link/sub\n\turl = ../p.git\n");
        it.commit_tree(&it.tree(&[
            ("100644", ".gitmodules", &modules),
            ("120000", "link", &target),
            ("160000", "link/sub", &"1".repeat(40)),
        ]));
    }),
    ("a submodule by ext", |it, trap| submodule(it, &format!("ext::sh -c 'touch% {}'", trap.marker().display()), "")),
    ("a submodule by file", |it, _| submodule(it, &format!("file://{}", it.bare.display()), "")),
    ("a submodule by path", |it, _| submodule(it, it.bare.to_str().unwrap(), "")),
    ("a submodule by ssh with a proxy command", |it, trap| {
        submodule(it, &format!("ssh://-oProxyCommand=touch {}/x", trap.marker().display()), "")
    }),
    ("a submodule by scp with a proxy command", |it, trap| {
        submodule(it, &format!("-oProxyCommand=touch${{IFS}}{}:x", trap.marker().display()), "")
    }),
    ("a submodule by option", |it, trap| submodule(it, &format!("--upload-pack=touch {}", trap.marker().display()), "")),
    ("a submodule by short option", |it, trap| submodule(it, &format!("-u./{}", trap.marker().display()), "")),
    ("a submodule with a command to update", |it, trap| submodule(it, "../p.git", &format!("update = !touch {}", trap.marker().display()))),
    ("a submodule above all hosts", |it, _| submodule(it, "../../../../../../x", "")),
    ("a submodule with a line break in its address", |it, _| submodule(it, "\"http://127.0.0.1/a%0ahost=evil\"", "")),
    ("a submodule whose name leads elsewhere", |it, _| {
        let modules = it.object("blob", b"[submodule \"../../hooks\"]\n\tpath = sub\n\turl = ../p.git\n");
        it.commit_tree(&it.tree(&[("100644", ".gitmodules", &modules), ("160000", "sub", &"1".repeat(40))]));
    }),
    ("a submodule whose place leads elsewhere", |it, _| {
        let modules = it.object("blob", b"[submodule \"x\"]\n\tpath = ../../x\n\turl = ../p.git\n");
        it.commit_tree(&it.tree(&[("100644", ".gitmodules", &modules), ("160000", "../../x", &"1".repeat(40))]));
    }),
    ("a submodule whose place ends with a return", |it, _| {
        let modules = it.object("blob", b"[submodule \"x\"]\n\tpath = \"sub\\r\"\n\turl = ../p.git\n");
        it.commit_tree(&it.tree(&[("100644", ".gitmodules", &modules), ("160000", "sub\r", &"1".repeat(40))]));
    }),
    ("a repository that has itself in it", |it, _| {
        let file = it.object("blob", b"x");
        let inner = it.commit_tree(&it.tree(&[("100644", "a", &file)]));
        let modules = it.object("blob", b"[submodule \"x\"]\n\tpath = sub\n\turl = ../p.git\n");
        it.commit_tree(&it.tree(&[("100644", ".gitmodules", &modules), ("160000", "sub", &inner)]));
    }),
];

#[test]
fn a_repository_made_to_do_harm_does_none() {
    let (place, mut told) = (Place::new(), String::new());
    for (what, make) in HOSTILE {
        let (server, trap) = (GitServer::new(), Trap::new());
        make(&server.repository("p"), &trap);
        for (submodules, lfs) in [(false, false), (true, false), (true, true)] {
            let fetched = place.fetch(&GitPlan { submodules, lfs, ..plan(&server.url("p"), None) }, None);
            trap.untouched(what);
            if submodules && !lfs {
                told += &format!("{} {what}\n", if fetched.is_ok() { "fetched" } else { "refused" });
            }
            let Ok(checkout) = fetched else { continue };
            // What is given out leads nowhere else, whoever reads it.
            let root = fs::canonicalize(&checkout.place).unwrap();
            let leads_out = |path: &PathBuf| fs::canonicalize(path).is_ok_and(|it| !it.starts_with(&root));
            let links: Vec<PathBuf> = everything_below(&root).into_iter().filter(leads_out).collect();
            assert!(links.is_empty(), "{what}: {links:?}");
            assert!(
                !everything_below(&root).iter().any(|it| it.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"))),
                "{what}"
            );
        }
    }
    insta::assert_snapshot!(told, @"
    fetched settings, hooks, filters and a nested repository
    refused a .git directory
    refused a .GIT directory
    refused a .git with a joiner in it
    refused a short name of .git
    refused a stream of .git
    refused a .git with a dot behind it
    refused a directory above
    refused a directory above and further
    refused a directory that is this one
    refused a directory without a name
    refused a path from the root
    fetched a backslash above
    refused a link for .git
    refused a link for .gitmodules
    fetched a link for .gitattributes
    refused a file behind a link of the same name
    fetched a file behind a link of the same name in capitals
    fetched a file behind a link of the same name for a Mac
    refused a link below which a submodule stands
    refused a submodule by ext
    refused a submodule by file
    refused a submodule by path
    refused a submodule by ssh with a proxy command
    refused a submodule by scp with a proxy command
    refused a submodule by option
    refused a submodule by short option
    refused a submodule with a command to update
    refused a submodule above all hosts
    refused a submodule with a line break in its address
    refused a submodule whose name leads elsewhere
    refused a submodule whose place leads elsewhere
    refused a submodule whose place ends with a return
    fetched a repository that has itself in it
    ");
}

fn everything_below(dir: &Path) -> Vec<PathBuf> {
    let (mut all, mut folders) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.metadata().unwrap().is_dir() {
                folders.push(entry.path());
            }
            all.push(entry.path());
        }
    }
    all
}

#[test]
fn a_few_bytes_that_are_a_billion_files_are_refused() {
    let (server, mut place) = (GitServer::new(), Place::new());
    place.shelf.limits.files_max = 1000;
    let repository = server.repository("p");
    let file = repository.object("blob", b"x");
    let names: Vec<String> = (0..10).map(|it| it.to_string()).collect();
    let leaves: Vec<(&str, &str, &str)> = names.iter().map(|name| ("100644", name.as_str(), file.as_str())).collect();
    let mut tree = repository.tree(&leaves);
    for _ in 0..8 {
        let folders: Vec<(&str, &str, &str)> = names.iter().map(|name| ("40000", name.as_str(), tree.as_str())).collect();
        tree = repository.tree(&folders);
    }
    repository.commit_tree(&tree);
    let told = place.refused(&plan(&server.url("p"), None), None);
    assert!(told.starts_with("user: git has more than 1 MiB to say about"), "{told}");
}
