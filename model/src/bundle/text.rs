//! The one text of a bundle: a line for each thing, names escaped so that any byte may be in them.

use std::{
    fmt::{self, Write},
    str::{FromStr, Split},
};

use super::{BadBundle, Blob, Bundle, Changes, Entry, Origin};

const FIRST_LINE: &str = "trainmaster bundle 1";
const TOO_LARGE: &str = "too-large";

impl fmt::Display for Bundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST_LINE}")?;
        if let Some(Origin { commit, branch, changes }) = &self.origin {
            writeln!(f, "commit {}", escaped(commit.as_bytes()))?;
            if let Some(branch) = branch {
                writeln!(f, "branch {}", escaped(branch.as_bytes()))?;
            }
            match changes {
                Changes::None => {}
                Changes::Patch(Blob { hash, size_bytes }) => writeln!(f, "changes {hash} {size_bytes}")?,
                Changes::TooLarge => writeln!(f, "changes {TOO_LARGE}")?,
            }
        }
        for (path, entry) in self.entries() {
            match entry {
                Entry::File { blob, executable } => {
                    let kind = if *executable { "program" } else { "file" };
                    writeln!(f, "{kind} {} {} {}", blob.hash, blob.size_bytes, escaped(path))?;
                }
                Entry::Link { target } => writeln!(f, "link {} {}", escaped(target), escaped(path))?,
            }
        }
        Ok(())
    }
}

impl FromStr for Bundle {
    type Err = BadBundle;

    fn from_str(text: &str) -> Result<Self, BadBundle> {
        let mut reading = Reading::default();
        for (at, line) in text.lines().enumerate() {
            let read = if at == 0 { first(line) } else { reading.line(line) };
            read.map_err(|why| BadBundle::Line { line: at + 1, why })?;
        }
        let bundle = Bundle::new(reading.origin, reading.entries)?;
        // One bundle, one text: else the same files could have many names.
        if bundle.to_string() == text { Ok(bundle) } else { Err(BadBundle::NotCanonical) }
    }
}

fn first(line: &str) -> Result<(), &'static str> {
    if line == FIRST_LINE { Ok(()) } else { Err("is not the first of a file list that we know") }
}

#[derive(Default)]
struct Reading {
    origin: Option<Origin>,
    entries: Vec<(Vec<u8>, Entry)>,
}

impl Reading {
    fn line(&mut self, line: &str) -> Result<(), &'static str> {
        let mut words = line.split(' ');
        let kind = words.next().unwrap_or_default();
        match kind {
            "commit" => {
                let commit = text(&mut words)?;
                self.origin = Some(Origin { commit, branch: None, changes: Changes::None });
            }
            "branch" => self.origin()?.branch = Some(text(&mut words)?),
            "changes" => self.origin()?.changes = changes(&mut words)?,
            "file" | "program" => {
                let (blob, path) = (blob(&mut words)?, bytes(&mut words)?);
                self.entries.push((path, Entry::File { blob, executable: kind == "program" }));
            }
            "link" => {
                let (target, path) = (bytes(&mut words)?, bytes(&mut words)?);
                self.entries.push((path, Entry::Link { target }));
            }
            _ => return Err("begins with no word that we know"),
        }
        words.next().map_or(Ok(()), |_| Err("has too many words"))
    }

    fn origin(&mut self) -> Result<&mut Origin, &'static str> {
        self.origin.as_mut().ok_or("comes before the commit")
    }
}

type Words<'a> = Split<'a, char>;

fn word<'a>(words: &mut Words<'a>) -> Result<&'a str, &'static str> {
    words.next().ok_or("has too few words")
}

fn blob(words: &mut Words<'_>) -> Result<Blob, &'static str> {
    let hash = word(words)?.parse().map_err(|_| "has no hash of 64 digits")?;
    let size_bytes = word(words)?.parse().map_err(|_| "has no number of bytes")?;
    Ok(Blob { hash, size_bytes })
}

fn changes(words: &mut Words<'_>) -> Result<Changes, &'static str> {
    let mut ahead = words.clone();
    if word(&mut ahead)? == TOO_LARGE {
        *words = ahead;
        return Ok(Changes::TooLarge);
    }
    blob(words).map(Changes::Patch)
}

fn text(words: &mut Words<'_>) -> Result<String, &'static str> {
    String::from_utf8(bytes(words)?).map_err(|_| "has a name that is not text")
}

fn bytes(words: &mut Words<'_>) -> Result<Vec<u8>, &'static str> {
    unescaped(word(words)?).ok_or("has a name that is not escaped as it should be")
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'%'
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        if is_plain(*byte) {
            text.push(char::from(*byte));
        } else {
            write!(text, "%{byte:02X}").expect("a string takes everything");
        }
    }
    text
}

fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes().iter();
    while let Some(byte) = rest.next() {
        if *byte == b'%' {
            let digit = |byte: Option<&u8>| char::from(*byte?).to_digit(16);
            bytes.push((digit(rest.next())? << 4 | digit(rest.next())?) as u8);
        } else {
            bytes.push(*byte);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::ContentHash;

    fn file(text: &str) -> Entry {
        Entry::File { blob: Blob { hash: ContentHash::of(text.as_bytes()), size_bytes: text.len() as u64 }, executable: false }
    }

    fn named(paths: &[&str]) -> String {
        let bundle = Bundle::new(None, paths.iter().map(|path| (path.as_bytes().to_vec(), file("x"))));
        bundle.map_or_else(
            |bad| bad.to_string(),
            |bundle| bundle.entries().map(|(path, _)| crate::bundle::shown(path)).collect::<Vec<_>>().join(" "),
        )
    }

    #[test]
    fn a_bundle_has_one_text_and_is_read_back_from_it() {
        let patch = Blob { hash: ContentHash::of(b"diff"), size_bytes: 4 };
        let origin = Origin { commit: "c0ffee".into(), branch: Some("main".into()), changes: Changes::Patch(patch) };
        let run = Entry::File { blob: Blob { hash: ContentHash::of(b"#!"), size_bytes: 2 }, executable: true };
        let entries = [
            (b"train.py".to_vec(), file("print()")),
            (b"run me\n\xff.sh".to_vec(), run),
            (b"lib/now".to_vec(), Entry::Link { target: b"../train.py".to_vec() }),
        ];
        let bundle = Bundle::new(Some(origin), entries).unwrap();
        let text = bundle.to_string();
        insta::assert_snapshot!(text, @"
        trainmaster bundle 1
        commit c0ffee
        branch main
        changes df087996d45b03e7eb8c133c0298fd98d35113fca26aaba58612fef3cc212cad 4
        link ../train.py lib/now
        program 3612ddaf46e149a4f583faf0face846585148f59e0ce2645594df83b5dc807e8 2 run%20me%0A%FF.sh
        file 525d513313416cf187f44fa87e1753ee6d11552c22097537ddc32b4ed34fa68f 7 train.py
        ");
        assert_eq!(text.parse(), Ok(bundle.clone()));
        assert_eq!((bundle.count(), bundle.size_bytes(), bundle.blobs().len()), (3, 9, 3));
    }

    #[test]
    fn names_that_lead_elsewhere_or_fight_are_refused() {
        let long = "x".repeat(256);
        let cases: [&[&str]; 12] = [
            &["a/b", "a/c", "b"],
            &[""],
            &["/etc/passwd"],
            &["../x"],
            &["a/../b"],
            &["a//b"],
            &["./a"],
            &["a\0b"],
            &[&long],
            &["x/.GIT/config"],
            &["a", "a"],
            &["a", "a.b", "a/b"],
        ];
        insta::assert_snapshot!(cases.map(named).join("\n").replace('\0', "NUL"), @"
        a/b a/c b
        `` is empty
        `/etc/passwd` begins with `/`
        `../x` has a part that is empty, `.` or `..`
        `a/../b` has a part that is empty, `.` or `..`
        `a//b` has a part that is empty, `.` or `..`
        `./a` has a part that is empty, `.` or `..`
        `aNULb` has a NUL character
        `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx` is longer than a path can be
        `x/.GIT/config` is git's own, which is never uploaded
        `a` is there twice
        `a/b` would be inside `a`, which is no directory
        ");
    }

    #[test]
    fn a_text_that_is_not_the_one_is_refused() {
        let hash = ContentHash::of(b"");
        let read = |lines: &str| {
            format!("{FIRST_LINE}\n{lines}")
                .replace("HASH", &hash.to_string())
                .parse::<Bundle>()
                .map_or_else(|bad| bad.to_string(), |_| "read".into())
        };
        let cases = [
            "file HASH 0 a\nfile HASH 0 b\n",
            "file HASH 0 b\nfile HASH 0 a\n",
            "file HASH 0 a",
            "file HASH 0 %61\n",
            "file HASH 00 a\n",
            "file HASH 0 %0a\n",
            "file HASH 0 a b\n",
            "file HASH 0\n",
            "file HASH x a\n",
            "file cafe 0 a\n",
            "fifo a\n",
            "branch main\n",
            "commit a\ncommit a\n",
            "link .. a\n",
            "link b%2F..%2F.. a\n",
            "\n",
        ];
        insta::assert_snapshot!(cases.map(read).join("\n"), @"
        read
        the file list is not written as it should be: each name once, in order, with nothing escaped that need not be
        the file list is not written as it should be: each name once, in order, with nothing escaped that need not be
        the file list is not written as it should be: each name once, in order, with nothing escaped that need not be
        the file list is not written as it should be: each name once, in order, with nothing escaped that need not be
        the file list is not written as it should be: each name once, in order, with nothing escaped that need not be
        line 2 of the file list has too many words
        line 2 of the file list has too few words
        line 2 of the file list has no number of bytes
        line 2 of the file list has no hash of 64 digits
        line 2 of the file list begins with no word that we know
        line 2 of the file list comes before the commit
        the file list is not written as it should be: each name once, in order, with nothing escaped that need not be
        the link `a` leads to `..`, which is outside the folder, or in circles
        the link `a` leads to `b/../..`, which is outside the folder, or in circles
        line 2 of the file list begins with no word that we know
        ");
        assert!("".parse::<Bundle>().is_err() && "something else\n".parse::<Bundle>().is_err());
    }
}
