//! Passwords for git: any letters, told to the one server they are for, and found nowhere else.

use std::{
    fs,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use model::code::GitPlan;

use crate::{
    git::{Place, files_below, plan, text},
    git_server::{GitServer, Mood},
    house::processes,
};

const CANARY: &str = "canary-4c1f,'\"@$\\ %é:x";

fn as_ann(url: &str) -> GitPlan {
    GitPlan { user: Some("ann".into()), password: Some("{{ secrets.git }}".into()), ..plan(url, None) }
}

/// Whether the password can be read there, in any form that is worth looking for.
fn holds_canary(bytes: &[u8]) -> bool {
    let escaped: String = CANARY
        .bytes()
        .map(|it| if it.is_ascii_alphanumeric() || it == b'-' { char::from(it).to_string() } else { format!("%{it:02X}") })
        .collect();
    let forms = ["canary-4c1f".to_owned(), escaped, STANDARD.encode(CANARY), STANDARD.encode(format!("ann:{CANARY}"))];
    forms.iter().any(|form| bytes.windows(form.len()).any(|it| it == form.as_bytes()))
}

#[test]
fn a_password_of_any_letters_opens_a_private_repository() {
    let odd = [
        "simple",
        "a,b",
        "it's",
        "say \"x\"",
        "p@ss:w/rd",
        "$HOME`id`$(id)",
        "back\\slash\\n",
        "two\nlines",
        "tab\tand\rreturn",
        "汉字é🙂",
        "%41%",
        " spaces ",
        "=;#[x]",
    ];
    for password in odd {
        let (server, place) = (GitServer::private("ann", password), Place::new());
        server.repository("p").commit(&[("a", "private")]);
        let checkout = place.fetch(&as_ann(&server.url("p")), Some(password)).unwrap_or_else(|why| panic!("{password:?}: {why:?}"));
        assert_eq!(text(&checkout, "a"), "private", "{password:?}");
    }
}

#[test]
fn a_token_alone_is_enough_where_the_server_thinks_so() {
    let (server, place) = (GitServer::private("token", "t0k3n"), Place::new());
    server.repository("p").commit(&[("a", "private")]);
    assert_eq!(text(&place.fetch(&plan(&server.url("p"), None), Some("t0k3n")).unwrap(), "a"), "private");
}

#[test]
fn whoever_is_refused_is_told_what_was_tried_and_never_the_password() {
    let (server, place) = (GitServer::private("ann", "right"), Place::new());
    server.repository("p").commit(&[("a", "private")]);
    let wanted = as_ann(&server.url("p"));
    let told = place.refused(&wanted, Some(CANARY));
    assert_eq!(told, "user: the git server of http://server/p.git refused the user `ann` with the password it was given");
    assert!(place.refused(&plan(&server.url("p"), None), None).contains("asks for a user and a password, and the job gives none"));
    server.set(Mood::Echoes);
    let told = place.refused(&wanted, Some(CANARY));
    assert!(told.ends_with("The requested URL returned error: 500"), "{told}");
    assert!(!told.contains("you said") && !holds_canary(told.as_bytes()), "{told}");
    assert!(place.refused(&plan(&server.url("p"), None), None).contains("remote: you said"), "it does say so, and others may read it");
}

#[test]
fn private_code_that_is_kept_is_not_given_to_those_who_could_not_fetch_it() {
    let (server, place) = (GitServer::private("ann", "pw"), Place::new());
    let commit = server.repository("p").commit(&[("a", "private")]);
    let url = server.url("p");
    place.fetch(&as_ann(&url), Some("pw")).unwrap();
    for (wanted, password) in [
        (plan(&url, Some(&commit)), None),
        (plan(&url, None), None),
        (GitPlan { reference: Some(commit.clone()), ..as_ann(&url) }, Some("wrong")),
    ] {
        assert!(place.refused(&wanted, password).starts_with("user: the git server of"));
    }
    let again = GitPlan { reference: Some(commit), ..as_ann(&url) };
    assert_eq!(text(&place.fetch(&again, Some("pw")).unwrap(), "a"), "private");
}

#[test]
fn a_server_that_sends_us_elsewhere_does_not_send_the_password_along() {
    let (server, thief, place) = (GitServer::new(), GitServer::new(), Place::new());
    thief.repository("p").commit(&[("a", "stolen")]);
    server.set(Mood::Redirects(thief.base()));
    let told = place.refused(&as_ann(&server.url("p")), Some(CANARY));
    assert!(
        told.starts_with("user: the git server of http://server/p.git sends us to another address, where credentials are not taken"),
        "{told}"
    );
    assert!(thief.seen().is_empty());
    let told = place.refused(&plan(&server.url("p"), None), None);
    assert!(told.contains("sends us to http://127.0.0.1"), "{told}");
    assert!(thief.seen().iter().all(|it| it.authorization.is_none()));
}

#[test]
fn a_submodule_of_another_server_never_sees_the_password_and_one_of_the_same_does() {
    let (server, other, place) = (GitServer::private("ann", CANARY), GitServer::new(), Place::new());
    let far = other.repository("far").commit(&[("f", "far")]);
    let near = server.repository("near").commit(&[("n", "near")]);
    let main = server.repository("main");
    for (name, id) in [("far", &far), ("near", &near)] {
        fs::create_dir(main.work.join(name)).unwrap();
        main.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{id},{name}")]);
    }
    let modules = format!("[submodule \"f\"]\npath = far\nurl = {}\n[submodule \"n\"]\npath = near\nurl = ../near.git\n", other.url("far"));
    fs::write(main.work.join(".gitmodules"), modules).unwrap();
    main.git(&["add", ".gitmodules"]);
    main.git(&["commit", "--quiet", "--message", "with submodules"]);
    main.push();
    let checkout = place.fetch(&GitPlan { submodules: true, ..as_ann(&server.url("main")) }, Some(CANARY)).unwrap();
    assert_eq!((text(&checkout, "far/f").as_str(), text(&checkout, "near/n").as_str()), ("far", "near"));
    assert!(!other.seen().is_empty() && other.seen().iter().all(|it| it.authorization.is_none()));
    assert!(server.seen().iter().all(|it| it.authorization.is_some()));
}

/// What everyone on the machine can see of a process, and what its owner can.
fn seen_of(pid: i32) -> Vec<u8> {
    ["cmdline", "environ"].iter().flat_map(|file| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default()).collect()
}

#[test]
fn while_git_works_no_process_shows_the_password_and_afterwards_no_file_does() {
    let (server, place) = (GitServer::private("ann", CANARY), Place::new());
    server.repository("p").commit(&[("a", "private")]);
    server.set(Mood::Slow(Duration::from_secs(1)));
    let url = server.url("p");
    let (done, gits_seen, found) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                for seen in processes().into_iter().filter(|pid| *pid != std::process::id().cast_signed()).map(seen_of) {
                    gits_seen.fetch_add(usize::from(seen.windows(url.len()).any(|it| it == url.as_bytes())), Ordering::SeqCst);
                    found.fetch_add(usize::from(holds_canary(&seen)), Ordering::SeqCst);
                }
            }
        });
        let checkout = place.fetch(&as_ann(&url), Some(CANARY));
        done.store(true, Ordering::SeqCst);
        assert_eq!(text(&checkout.unwrap(), "a"), "private");
    });
    assert!(gits_seen.into_inner() > 10, "nobody was seen at work");
    assert_eq!(found.into_inner(), 0);
    let files = files_below(&place.shelf.dir);
    assert!(files.len() > 5, "{files:?}");
    let telling: Vec<_> = files.iter().filter(|it| holds_canary(&fs::read(it).unwrap())).collect();
    assert!(telling.is_empty(), "{telling:?}");
}
