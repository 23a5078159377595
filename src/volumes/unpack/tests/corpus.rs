//! Archives that mean harm.

use std::path::Path;

use super::raw::*;
use crate::volumes::unpack::Kind;

pub type Hostile = (String, Kind, Vec<u8>);

/// At least five hundred, none of which may be unpacked. `around` is where canaries are.
pub fn hostile(around: &Path) -> Vec<Hostile> {
    let names = bad_names(around);
    let mut all = Vec::new();
    all.extend(tars_with_names(&names));
    all.extend(tars_with_links(&bad_targets(around)));
    all.extend(tars_in_sequence(around).into_iter().map(|(label, entries)| (label, Kind::Tar, tar(&entries))));
    all.extend(tars_that_are_odd());
    all.extend(zips_with_names(&names));
    all.extend(zips_with_links(&bad_targets(around)));
    all.extend(zips_that_are_odd());
    // The same in a gzip.
    let zipped: Vec<Hostile> = all
        .iter()
        .filter(|(_, kind, _)| *kind == Kind::Tar)
        .step_by(3)
        .map(|(label, _, bytes)| (format!("{label}, in gzip"), Kind::TarGz, gz(bytes)))
        .collect();
    all.extend(zipped);
    all.extend(bombs());
    all
}

fn bad_names(around: &Path) -> Vec<Vec<u8>> {
    let canary = around.join("canary").display().to_string();
    let mut names: Vec<Vec<u8>> = [
        "..",
        "../canary",
        "../../canary",
        "a/../../canary",
        "a/..",
        "a/../b",
        "/",
        "/canary",
        "//canary",
        "./../canary",
        "././a",
        "a/./b",
        "a//b",
        "a/../../../../../../../../tmp/canary",
        "..//canary",
        ".//canary",
        "./",
        ".",
    ]
    .iter()
    .map(|name| name.as_bytes().to_vec())
    .collect();
    // The directory itself is fine as a directory, and only so.
    names.retain(|name| !matches!(name.as_slice(), b"." | b"./"));
    names.push(canary.clone().into_bytes());
    names.push(format!("a/..{canary}").into_bytes());
    names.push("../".repeat(20).into_bytes());
    names
}

fn bad_targets(around: &Path) -> Vec<Vec<u8>> {
    let canary = around.join("canary").display().to_string();
    let mut targets: Vec<Vec<u8>> =
        ["..", "../canary", "../../canary", "/etc/passwd", "/", "a/../../canary", "link", "./link", "../to/../../canary", "a/../.."]
            .iter()
            .map(|it| it.as_bytes().to_vec())
            .collect();
    targets.push(canary.into_bytes());
    targets
}

/// Each name in the header, by PAX and by GNU, for each kind of thing.
fn tars_with_names(names: &[Vec<u8>]) -> Vec<Hostile> {
    let mut all = Vec::new();
    for name in names {
        let shown = String::from_utf8_lossy(name).into_owned();
        for (kind, what) in [(b'0', "file"), (b'5', "directory"), (b'2', "link"), (b'1', "second name")] {
            let first = tar_entry("first", b'0', "", "x");
            let entry = |name: &[u8]| tar_entry(name, kind, if kind > b'0' && kind < b'5' { "first" } else { "" }, "");
            let by = |label: &str, entries: Vec<TarEntry>| (format!("tar: {what} {shown} by {label}"), Kind::Tar, tar(&entries));
            if name.len() <= 100 {
                all.push(by("header", vec![first.clone(), entry(name)]));
            }
            all.push(by("PAX", vec![first.clone(), pax(b'x', &[("path", name)]), entry(b"harmless")]));
            let long = [name.as_slice(), &[0]].concat();
            all.push(by("GNU", vec![first, tar_entry("././@LongLink", b'L', "", long), entry(b"harmless")]));
        }
    }
    all
}

fn tars_with_links(targets: &[Vec<u8>]) -> Vec<Hostile> {
    let mut all = Vec::new();
    for target in targets {
        let shown = String::from_utf8_lossy(target).into_owned();
        for (kind, what) in [(b'2', "link"), (b'1', "second name")] {
            let by = |label: &str, entries: Vec<TarEntry>| (format!("tar: {what} to {shown} by {label}"), Kind::Tar, tar(&entries));
            all.push(by("header", vec![tar_entry("link", kind, target, "")]));
            all.push(by("PAX", vec![pax(b'x', &[("linkpath", target)]), tar_entry("link", kind, "harmless", "")]));
            let long = [target.as_slice(), &[0]].concat();
            all.push(by("GNU", vec![tar_entry("././@LongLink", b'K', "", long), tar_entry("link", kind, "harmless", "")]));
        }
    }
    all
}

/// One entry prepares what the next one uses.
fn tars_in_sequence(around: &Path) -> Vec<(String, Vec<TarEntry>)> {
    let outside = around.join("outside").display().to_string();
    let file = |name: &str| tar_entry(name, b'0', "", "overwritten");
    let link = |name: &str, target: &str| tar_entry(name, b'2', target, "");
    let dir = |name: &str| tar_entry(name, b'5', "", "");
    let hard = |name: &str, target: &str| tar_entry(name, b'1', target, "");
    let named = |label: &str, entries: Vec<TarEntry>| (format!("tar: {label}"), entries);
    vec![
        named("a file through a link out", vec![link("l", &outside), file("l/canary")]),
        named("a file through a link up", vec![link("l", ".."), file("l/canary")]),
        named("a file through a link inside", vec![dir("d"), link("l", "d"), file("l/x")]),
        named("a directory through a link", vec![link("l", ".."), dir("l/new")]),
        named("a file in the place of a link", vec![link("l", "../canary"), file("l")]),
        named("a link in the place of a file", vec![file("l"), link("l", "../canary")]),
        named("a link in the place of a directory", vec![dir("l"), link("l", "..")]),
        named("a directory in the place of a link", vec![link("l", ".."), dir("l")]),
        named("a directory in the place of a file", vec![file("l"), dir("l")]),
        named("a file in the place of a directory", vec![dir("l"), file("l")]),
        named("a file below a file", vec![file("l"), file("l/x")]),
        named("a file twice", vec![file("l"), file("l")]),
        named("a file twice, once with a dot", vec![file("l"), file("./l")]),
        named("a link through a link", vec![link("a", "."), link("b", "a/.."), link("c", "b/../canary")]),
        named("links that only together lead out", vec![dir("d"), link("d/up", ".."), link("out", "d/up/../canary")]),
        named("links in a circle", vec![link("a", "b"), link("b", "a")]),
        named("a second name for a link", vec![link("l", "../canary"), hard("h", "l")]),
        named("a second name for a link inside", vec![file("f"), link("l", "f"), hard("h", "l")]),
        named("a second name for a directory", vec![dir("d"), hard("h", "d")]),
        named("a second name for itself", vec![hard("h", "h")]),
        named("a second name for what comes later", vec![hard("h", "f"), file("f")]),
        named("a second name for a file outside", vec![hard("h", "../canary")]),
        named("a second name with content", vec![file("f"), tar_entry("h", b'1', "f", "other")]),
        named("a directory with content", vec![tar_entry("d", b'5', "", "content")]),
        named("a link with content", vec![tar_entry("l", b'2', "x", "content")]),
        named("a file called like a directory", vec![file("f/")]),
    ]
}

fn tars_that_are_odd() -> Vec<Hostile> {
    let good = || tar_entry("a", b'0', "", "hello");
    let named = |label: &str, bytes: Vec<u8>| (format!("tar: {label}"), Kind::Tar, bytes);
    let mut all = Vec::new();
    for kind in (0..=255_u8)
        .filter(|kind| !matches!(kind, 0 | b'0' | b'1' | b'2' | b'5' | b'x' | b'g' | b'L' | b'K'))
        .step_by(5)
        .chain(*b"3467SXVMDNA")
    {
        all.push(named(&format!("of kind {kind}"), tar(&[tar_entry("thing", kind, "", "")])));
    }
    // The next entry's header lies where one size says, and a hidden one where the other does.
    let hidden = tar(&[tar_entry("../canary", b'0', "", "overwritten")]);
    for size in [0_u64, 1, 511, 512, 513, 1024, 4096, u64::MAX] {
        let text = size.to_string();
        let entry = tar_entry("a", b'0', "", &hidden[..1024]);
        if size != 1024 {
            all.push(named(&format!("1024 bytes, and {size} by PAX"), tar(&[pax(b'x', &[("size", text.as_bytes())]), entry.clone()])));
        }
        all.push(named(&format!("{size} bytes for all by PAX"), tar(&[pax(b'g', &[("size", text.as_bytes())]), entry])));
    }
    for key in ["path", "linkpath"] {
        all.push(named(&format!("{key} for all by PAX"), tar(&[pax(b'g', &[(key, b"x")]), good()])));
    }
    for value in ["", "-1", "+5", " 5", "0x5", "5 ", "99999999999999999999999", "5\n6 a=b"] {
        all.push(named(&format!("a PAX size of {value:?}"), tar(&[pax(b'x', &[("size", value.as_bytes())]), good()])));
    }
    for content in [
        "",
        "x",
        "5",
        "5 ",
        "5 a=",
        "99 path=a\n",
        "0 path=a\n",
        "-1 path=a\n",
        "7 path\n",
        "10 path=ab",
        "6 =ab\n",
        "9 path=a\n9 path=b\n",
    ] {
        if !content.is_empty() {
            all.push(named(&format!("a PAX header {content:?}"), tar(&[tar_entry("p", b'x', "", content), good()])));
        }
    }
    for key in ["GNU.sparse.major", "GNU.sparse.name", "GNU.sparse.size", "GNU.sparse.map"] {
        all.push(named(key, tar(&[pax(b'x', &[(key, b"1")]), good()])));
    }
    let path = |name: &str| pax(b'x', &[("path", name.as_bytes())]);
    let long = |name: &str| tar_entry("././@LongLink", b'L', "", name);
    all.push(named("two PAX headers", tar(&[path("x"), path("y"), good()])));
    all.push(named("two long names", tar(&[long("x\0"), long("y\0"), good()])));
    all.push(named("a name by PAX and another by GNU", tar(&[path("x"), long("y\0"), good()])));
    all.push(named("a PAX header at the end", tar(&[good(), path("x")])));
    all.push(named("a long name at the end", tar(&[good(), long("x\0")])));
    all.push(named("a NUL in a long name", tar(&[long("x\0../canary\0"), good()])));
    all.push(named("a NUL in a PAX name", tar(&[path("x\0../canary"), good()])));
    all.push(named("an empty long name", tar(&[long("\0"), good()])));
    all.push(named("an empty PAX name", tar(&[path(""), good()])));
    all.push(named("an empty name", tar(&[tar_entry("", b'0', "", "x")])));
    all.push(named("an empty link", tar(&[tar_entry("l", b'2', "", "")])));
    all.push(named("something behind the end of a name", tar(&[tar_entry(b"a\0../canary", b'0', "", "x")])));
    all.push(named("a name of 300 bytes", tar(&[path(&"x".repeat(300)), good()])));
    all.push(named("a path of 5000 bytes", tar(&[path(&"x/".repeat(2500)), good()])));
    all.push(named("150 directories deep", tar(&[path(&("d/".repeat(150) + "f")), good()])));
    all.push(named("a header of two megabytes", tar(&[tar_entry("p", b'x', "", "x".repeat(2 << 20)), good()])));
    all.push(named("more than it may be", tar(&[tar_entry("large", b'0', "", "x".repeat(9 << 20))])));
    all.push(named("a size of eight exabytes", tar(&[TarEntry { size: Some(0o777_7777_7777), ..good() }])));
    all.push(named("too many entries", tar(&(0..2_001).map(|at| tar_entry(format!("f{at}"), b'0', "", "")).collect::<Vec<_>>())));
    for magic in [*b"ustar\x0001", *b"ustar\x00  ", *b"USTAR\x0000", *b"xxxxxxxx"] {
        all.push(named(&format!("magic {magic:?}"), tar(&[TarEntry { magic, ..good() }])));
    }
    all.extend(tars_with_wrong_blocks());
    all
}

fn tars_with_wrong_blocks() -> Vec<Hostile> {
    let good = tar(&[tar_entry("a", b'0', "", "hello")]);
    let named = |label: String, bytes: Vec<u8>| (format!("tar: {label}"), Kind::Tar, bytes);
    let mut all = Vec::new();
    for (field, bad) in [(100, "9999999"), (124, "00000000009"), (124, "-0000000001"), (124, "0000 000001"), (124, "0x000000005")] {
        let mut bytes = good.clone();
        bytes[field..field + bad.len()].copy_from_slice(bad.as_bytes());
        with_sum(&mut bytes);
        all.push(named(format!("{bad} at {field}"), bytes));
    }
    for first in [0x81_u8, 0xff, 0x90] {
        let mut bytes = good.clone();
        bytes[124..136].copy_from_slice(&[first, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5]);
        with_sum(&mut bytes);
        all.push(named(format!("a size that begins with {first:#x}"), bytes));
    }
    let mut wrong_sum = good.clone();
    wrong_sum[0] = b'b';
    all.push(named("a wrong sum".into(), wrong_sum));
    let again = tar(&[tar_entry("b", b'0', "", "x")]);
    all.push(named("a second archive behind the end".into(), [good.as_slice(), &again].concat()));
    let one_block = good.len() - 512;
    all.push(named("another entry after one block of zeros".into(), [&good[..one_block], &again].concat()));
    all.push(named("a byte behind the end".into(), [good.as_slice(), b"x"].concat()));
    all.push(named("no end".into(), good[..good.len() - 1024].to_vec()));
    all.push(named("half an end".into(), good[..one_block].to_vec()));
    all.push(named("nothing".into(), Vec::new()));
    all
}

fn zips_with_names(names: &[Vec<u8>]) -> Vec<Hostile> {
    let mut all = Vec::new();
    let more: [&[u8]; 8] = [b"", b"a\0b", b"..\\canary", b"C:\\canary", b"a\\..\\..\\canary", b"\xff\xfe", b"a/../", b"/a/"];
    for name in names.iter().map(Vec::as_slice).chain(more) {
        let shown = String::from_utf8_lossy(name).into_owned();
        let named = |label: &str, bytes: Vec<u8>| (format!("zip: {label} {shown}"), Kind::Zip, bytes);
        all.push(named("file", zip(&[zip_entry(name, if name.ends_with(b"/") { "" } else { "x" })])));
        all.push(named("link", zip(&[zip_entry(name, "target").with_mode(0o120_777)])));
        all.push(named("directory", zip(&[zip_entry([name, b"/"].concat(), "")])));
        // Each of the two places has another name.
        let elsewhere = ZipEntry { local_name: name.to_vec(), ..zip_entry("harmless", "x") };
        all.push(named("other name before it", zip(&[elsewhere])));
    }
    all
}

fn zips_with_links(targets: &[Vec<u8>]) -> Vec<Hostile> {
    let link = |target: &[u8]| zip_entry("link", target).with_mode(0o120_777);
    let mut all: Vec<Hostile> = Vec::new();
    for target in targets {
        let named = |label: &str, bytes: Vec<u8>| (format!("zip: {label} {}", String::from_utf8_lossy(target)), Kind::Zip, bytes);
        all.push(named("link to", zip(&[link(target)])));
        all.push(named("deflated link to", zip(&[link(target).deflated()])));
        all.push(named("a file through a link to", zip(&[link(target), zip_entry("link/canary", "overwritten")])));
        all.push(named("a file in the place of a link to", zip(&[link(target), zip_entry("link", "overwritten")])));
    }
    all
}

fn zips_that_are_odd() -> Vec<Hostile> {
    let named = |label: &str, bytes: Vec<u8>| (format!("zip: {label}"), Kind::Zip, bytes);
    let good = || zip_entry("a", "hello");
    let mut all = Vec::new();
    for mode in [0o010_644, 0o020_644, 0o060_644, 0o140_644, 0o040_755, 0o150_000] {
        all.push(named(&format!("mode {mode:o}"), zip(&[good().with_mode(mode)])));
    }
    for mode in [0o100_644, 0o120_777, 0o010_644] {
        all.push(named(&format!("a directory of mode {mode:o}"), zip(&[zip_entry("d/", "").with_mode(mode)])));
    }
    for method in [1, 6, 9, 12, 14, 93, 95, 99, u16::MAX] {
        all.push(named(&format!("method {method}"), zip(&[ZipEntry { method, ..good() }])));
    }
    for bit in [0_u16, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15] {
        let flags = 1 << bit | 1 << 11;
        all.push(named(&format!("flag {bit}"), zip(&[ZipEntry { flags, local_flags: flags, ..good() }])));
        all.push(named(&format!("flag {bit} in one place"), zip(&[ZipEntry { local_flags: flags, ..good() }])));
    }
    let twice = |one: ZipEntry, other: ZipEntry| zip(&[one, other]);
    all.push(named("a file twice", twice(good(), good())));
    all.push(named("a file below a file", twice(good(), zip_entry("a/b", "x"))));
    all.push(named("a directory in the place of a file", twice(good(), zip_entry("a/", ""))));
    all.push(named("two files of the same bytes", twice(good(), ZipEntry { offset: Some(0), ..good() })));
    all.push(named("a directory with content", zip(&[zip_entry("d/", "x")])));
    all.push(named("a wrong sum", zip(&[ZipEntry { crc: 1, local_crc: 1, ..good() }])));
    all.push(named("another sum before it", zip(&[ZipEntry { local_crc: 1, ..good() }])));
    all.push(named("another size before it", zip(&[ZipEntry { local_size_bytes: 4, ..good() }])));
    for (size, what) in [(4, "smaller"), (6, "larger"), (u32::MAX, "wide without its size"), (u32::MAX - 1, "four gigabytes")] {
        all.push(named(what, zip(&[ZipEntry { size_bytes: size, local_size_bytes: size, ..good() }])));
        all.push(named(&format!("deflated, {what}"), zip(&[ZipEntry { size_bytes: size, local_size_bytes: size, ..good().deflated() }])));
        all.push(named(&format!("packed {what}"), zip(&[ZipEntry { packed_bytes: size, ..good() }])));
    }
    for offset in [1, 5, 30, 1000, u32::MAX - 1] {
        all.push(named(&format!("an offset of {offset}"), zip(&[ZipEntry { offset: Some(offset), ..good() }])));
    }
    all.push(named("junk behind what is deflated", zip(&[with_junk(good().deflated())])));
    let unicode = |name: &[u8]| [&0x7075_u16.to_le_bytes()[..], &(5 + name.len() as u16).to_le_bytes(), &[1, 0, 0, 0, 0], name].concat();
    all.push(named("a second name", zip(&[ZipEntry { extra: unicode(b"../canary"), ..good() }])));
    all.push(named("a second name before it", zip(&[ZipEntry { local_extra: unicode(b"../canary"), ..good() }])));
    for extra in [&b"\x01"[..], b"\x01\x00\x08", b"\x01\x00\xff\xff", b"\x01\x00\x00\x00\x01\x00\x00\x00"] {
        all.push(named(&format!("an extra field {extra:?}"), zip(&[ZipEntry { extra: extra.to_vec(), ..good() }])));
    }
    all.extend(zips_with_wrong_ends(&good()));
    all
}

fn with_junk(mut entry: ZipEntry) -> ZipEntry {
    entry.packed.extend_from_slice(b"junk");
    entry.packed_bytes += 4;
    entry
}

fn zips_with_wrong_ends(entry: &ZipEntry) -> Vec<Hostile> {
    let named = |label: &str, bytes: Vec<u8>| (format!("zip: {label}"), Kind::Zip, bytes);
    let entries = [entry.clone()];
    let mut all = Vec::new();
    for word in 0..5 {
        for value in [1_u32, 2, 7, 0xfffe, 0xffff, u32::MAX - 1, u32::MAX] {
            if word < 2 && value == 1 {
                continue;
            }
            all.push(named(&format!("last word {word} is {value}"), zip_with_end(&entries, |words| words[word] = value)));
        }
    }
    let good = zip(&entries);
    all.push(named("bytes before it", [b"MZ junk".as_slice(), &good].concat()));
    all.push(named("bytes behind it", [good.as_slice(), b"junk"].concat()));
    all.push(named("itself twice", [good.as_slice(), &good].concat()));
    // A comment that is an archive's end as well.
    let mut two_ends = zip_with_end(&entries, |words| words[4] = 22);
    two_ends.extend_from_slice(&good[good.len() - 22..]);
    all.push(named("two ends", two_ends));
    all.push(named("too many entries", zip(&(0..2_001).map(|at| zip_entry(format!("f{at}"), "")).collect::<Vec<_>>())));
    all.push(named("nothing", Vec::new()));
    all
}

fn bombs() -> Vec<Hostile> {
    let zeros = "\0".repeat(6 << 20);
    let tar_bomb = gz(&tar(&[tar_entry("zeros", b'0', "", &zeros)]));
    let named = |label: &str, kind, bytes| (format!("bomb: {label}"), kind, bytes);
    vec![
        named("gzip", Kind::TarGz, tar_bomb.clone()),
        named("gzip behind gzip", Kind::TarGz, [tar_bomb.as_slice(), &tar_bomb].concat()),
        named("zeros behind the end, in gzip", Kind::TarGz, gz(&"\0".repeat(20 << 20).into_bytes())),
        named("zip", Kind::Zip, zip(&[zip_entry("zeros", &zeros).deflated()])),
        named(
            "zip of many",
            Kind::Zip,
            zip(&(0..9).map(|at| zip_entry(format!("z{at}"), "\0".repeat(1 << 20)).deflated()).collect::<Vec<_>>()),
        ),
        named("no gzip at all", Kind::TarGz, b"not a gzip".to_vec()),
        named("gzip of nothing", Kind::TarGz, gz(b"")),
        named("a tar called zip", Kind::Zip, tar_of(&[("a", "b")])),
        named("a zip called tar", Kind::Tar, zip_of(&[("a", "b")])),
    ]
}
