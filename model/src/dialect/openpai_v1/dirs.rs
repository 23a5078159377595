//! `codeDir`, `dataDir`, `outputDir`: directories of OpenPAI's own file system, HDFS, which is not here; of this machine; or of a
//! volume, where the file was changed to name one.

use std::collections::BTreeMap;

use super::reader::Reader;
use crate::{
    dialect::note::with_words,
    location::Location,
    shell,
    spec::{Field, Keys},
};

/// What OpenPAI's server put in for its own variables in the names of directories.
pub(crate) struct Submission<'a> {
    pub job: &'a str,
    /// Unknown where nobody has signed in; the variable then stays as it is.
    pub user: Option<&'a str>,
}

/// What becomes of the directories.
#[derive(Default)]
pub(crate) struct Dirs {
    pub code: Option<String>,
    pub input: Option<String>,
    pub output: Option<String>,
    pub env: BTreeMap<String, String>,
}

/// Where results are kept with the run.
pub(crate) const OUTPUT: &str = "/output";
const FILE_SYSTEM: &str = "$PAI_DEFAULT_FS_URI";
const USER: [&str; 2] = ["$PAI_USER_NAME", "$PAI_USERNAME"];

/// Where a directory of this machine is found in the sandbox, and how that is said.
struct Room {
    room: &'static str,
    variable: &'static str,
    what: (&'static str, &'static str),
    key: &'static str,
    becomes: &'static str,
    about: (&'static str, &'static str),
}

const DATA: Room = Room {
    room: "/input",
    variable: "PAI_DATA_DIR",
    what: ("data", "数据"),
    key: "dataDir",
    becomes: "input",
    about: ("tasks see it at /input, and env.PAI_DATA_DIR says so", "任务在 /input 看到它，env.PAI_DATA_DIR 也指向那里"),
};
const CODE: Room = Room {
    room: "/code",
    variable: "PAI_CODE_DIR",
    what: ("code", "代码"),
    key: "codeDir",
    becomes: "code",
    about: (
        "tasks begin in it, and also find it there by its own name, as they did",
        "任务从这个目录开始，也和以前一样能用它原来的名字找到它",
    ),
};

enum Dir {
    /// Of this machine.
    Local(String),
    /// In a volume: `data:mnist/train`.
    Volume(String),
    /// In OpenPAI's file system.
    Theirs(String),
    /// Somewhere else: `hdfs://10.0.0.1:9000/data`.
    Elsewhere(String),
}

pub(super) fn dirs(r: &mut Reader, keys: &mut Keys<'_>, submission: &Submission<'_>) -> Dirs {
    let mut dirs = Dirs { env: BTreeMap::from([("PAI_OUTPUT_DIR".into(), OUTPUT.into())]), ..Dirs::default() };
    if let Some((field, text)) = r.text_or_nothing(keys, "dataDir") {
        let (input, value) = seen_at(r, &field, dir(&text, submission), DATA);
        dirs.input = input;
        dirs.env.insert(DATA.variable.into(), value);
    }
    if let Some((field, text)) = r.text_or_nothing(keys, "outputDir") {
        output(r, &field, dir(&text, submission), &mut dirs);
    }
    if let Some((field, text)) = r.text_or_nothing(keys, "codeDir") {
        let (code, value) = seen_at(r, &field, dir(&text, submission), CODE);
        dirs.code = code;
        dirs.env.insert(CODE.variable.into(), value);
    }
    dirs
}

/// A directory of this machine or of a volume is shown to the tasks at `room`; of any other they only have the address.
fn seen_at(
    r: &mut Reader,
    field: &Field<'_>,
    dir: Dir,
    Room { room, variable, what, key, becomes, about }: Room,
) -> (Option<String>, String) {
    match dir {
        Dir::Local(path) if USER.iter().any(|variable| path.contains(variable)) => {
            let open = (
                "who submits it is not known here, so the variable in it stays as it is: write the name, or give it with --user",
                "这里不知道提交者是谁，路径里的变量保持原样：请写出名字，或用 --user 给出",
            );
            r.changed(field, with_words(with_words(becomes, about), open));
            (Some(path), room.into())
        }
        Dir::Local(place) | Dir::Volume(place) => {
            r.kept(field, with_words(becomes, about));
            (Some(place), room.into())
        }
        Dir::Theirs(uri) | Dir::Elsewhere(uri) => {
            let en = format!(
                "it is not a directory of this machine, and nothing is fetched; tasks have it as {variable}. \
                 Copy the {} here and write the directory's whole path, or to a volume (`trainmaster volumes list`) and write \"{key}\": \"NAME:path\"",
                what.0
            );
            let zh = format!(
                "它不是本机的目录，不会拉取任何内容；任务从变量 {variable} 得到它。请把{}复制到本机，并写出目录的完整路径；\
                 或复制到数据卷（`trainmaster volumes list`），写成 \"{key}\": \"NAME:path\"",
                what.1
            );
            r.ignored(field, (en, zh));
            (None, uri)
        }
    }
}

fn output(r: &mut Reader, field: &Field<'_>, dir: Dir, dirs: &mut Dirs) {
    match dir {
        Dir::Volume(place) => {
            let en = format!("what tasks write to {OUTPUT} is copied there, and env.PAI_OUTPUT_DIR says {OUTPUT}");
            r.kept(field, with_words("output", (en, format!("任务写到 {OUTPUT} 的内容会复制到那里，env.PAI_OUTPUT_DIR 是 {OUTPUT}"))));
            dirs.output = Some(place);
        }
        Dir::Local(_) | Dir::Theirs(_) => {
            let en = format!("it is {OUTPUT} for every task, and what is written there is kept with the run");
            r.changed(field, with_words("env.PAI_OUTPUT_DIR", (en, format!("每个任务都是 {OUTPUT}，写到那里的内容随作业保存"))));
        }
        Dir::Elsewhere(uri) => {
            let en = format!(
                "nothing is copied there: what is to be kept with the run goes to {OUTPUT}. To have that copied to a volume \
                 (`trainmaster volumes list`), write \"outputDir\": \"NAME:path\""
            );
            let zh = format!(
                "不会复制到那里：要随作业保存的内容请写到 {OUTPUT}。要把它复制到数据卷\
                 （`trainmaster volumes list`），请写成 \"outputDir\": \"NAME:path\""
            );
            r.changed(field, with_words("env.PAI_OUTPUT_DIR", (en, zh)));
            dirs.env.insert("PAI_OUTPUT_DIR".into(), uri);
        }
    }
}

fn dir(text: &str, submission: &Submission<'_>) -> Dir {
    let value = substituted(text, submission);
    match value.strip_prefix("file://").unwrap_or(&value) {
        _ if text.contains(FILE_SYSTEM) => Dir::Theirs(value),
        path if path.starts_with('/') => Dir::Local(path.to_owned()),
        // A word alone may be anything; with a `:` it is one of our volumes, or an address.
        place if place.contains(':') && place.parse::<Location>().is_ok_and(|it| it.volume().is_some()) => Dir::Volume(value),
        _ => Dir::Elsewhere(value),
    }
}

/// As OpenPAI's server did it: the file system once, names everywhere. There is no such file system here, so its name is empty.
fn substituted(text: &str, submission: &Submission<'_>) -> String {
    let mut text = text.replacen(FILE_SYSTEM, "", 1);
    text = replaced(&text, "$PAI_JOB_NAME", submission.job);
    if let Some(user) = submission.user {
        text = USER.iter().fold(text, |text, variable| replaced(&text, variable, user));
    }
    text
}

/// Where the variable's name does not go on.
fn replaced(text: &str, variable: &str, value: &str) -> String {
    let mut parts = text.split(variable);
    let mut new = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let goes_on = part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        new.push_str(if goes_on { variable } else { value });
        new.push_str(part);
    }
    new
}

/// OpenPAI put the code's directory itself where a task begins, so that commands say `python cifar/train.py`. Here a task
/// begins inside of it, and this line lets it find the directory by its name.
pub(crate) fn code_by_its_name(path: &str) -> Option<String> {
    let path = if path.starts_with('/') { path } else { path.split_once(':').map_or(path, |(_, path)| path) };
    let name = path.trim_end_matches('/').rsplit('/').next().filter(|name| !matches!(*name, "" | "." | ".."))?;
    let name = shell::word(name);
    Some(format!("[ -e ./{name} ] || ln -s . ./{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // 1.1: the file system's variable once, the others wherever their name ends.
    #[test]
    fn variables_in_directories_are_put_in_as_openpai_did() {
        let told = |text: &str, user| substituted(text, &Submission { job: "mnist", user });
        assert_eq!(told("$PAI_DEFAULT_FS_URI/a/$PAI_DEFAULT_FS_URI", None), "/a/$PAI_DEFAULT_FS_URI");
        assert_eq!(told("$PAI_JOB_NAME/$PAI_JOB_NAMES/x$PAI_JOB_NAME.$PAI_JOB_NAME_", None), "mnist/$PAI_JOB_NAMES/xmnist.$PAI_JOB_NAME_");
        assert_eq!(told("/u/$PAI_USER_NAME/$PAI_USERNAME/$PAI_USERNAMES", Some("ann")), "/u/ann/ann/$PAI_USERNAMES");
        assert_eq!(told("/u/$PAI_USER_NAME", None), "/u/$PAI_USER_NAME");
    }

    #[test]
    fn a_directory_of_somebody_whose_name_nobody_knows_is_told_of() {
        let text = r#"{"jobName": "a", "image": "b", "dataDir": "/u/$PAI_USER_NAME", "taskRoles": [{"name": "w", "command": "x"}]}"#;
        let told = |user: Option<&str>| {
            let given = crate::dialect::Given { user: user.map(str::to_owned), ..Default::default() };
            let (spec, report) = crate::dialect::read(text, &given).unwrap();
            let note = report.notes.into_iter().find(|note| note.path == "dataDir").unwrap();
            format!("{}: {:?} {}", serde_json::to_value(spec.input).unwrap(), note.fate, note.reason)
        };
        insta::assert_snapshot!(told(Some("ann")), @r#""/u/ann": Kept input; tasks see it at /input, and env.PAI_DATA_DIR says so"#);
        insta::assert_snapshot!(told(None), @r#""/u/$PAI_USER_NAME": Changed input; tasks see it at /input, and env.PAI_DATA_DIR says so; who submits it is not known here, so the variable in it stays as it is: write the name, or give it with --user"#);
    }

    #[test]
    fn a_directory_of_a_volume_is_used_and_of_another_store_it_is_said_what_to_write() {
        let told = |dirs: &str| {
            let text = format!(r#"{{"jobName": "mnist", "image": "i", {dirs}, "taskRoles": [{{"name": "w", "command": "x"}}]}}"#);
            let (spec, report) = crate::dialect::read(&text, &crate::dialect::Given::default()).unwrap();
            let notes = report.notes.iter().filter(|note| note.path.ends_with("Dir"));
            let places = serde_json::to_value((&spec.code, &spec.input, &spec.output, spec.env.get("PAI_OUTPUT_DIR"))).unwrap();
            notes.fold(places.to_string(), |all, note| format!("{all}\n{} {:?}: {}", note.path, note.fate, note.reason))
        };
        insta::assert_snapshot!(told(r#""dataDir": "team:sets/$PAI_JOB_NAME", "outputDir": "team:out", "codeDir": "team:src""#), @r#"
        ["team:src","team:sets/mnist","team:out","/output"]
        dataDir Kept: input; tasks see it at /input, and env.PAI_DATA_DIR says so
        outputDir Kept: output; what tasks write to /output is copied there, and env.PAI_OUTPUT_DIR says /output
        codeDir Kept: code; tasks begin in it, and also find it there by its own name, as they did
        "#);
        insta::assert_snapshot!(told(r#""dataDir": "hdfs://10.0.0.1:9000/data", "outputDir": "hdfs://10.0.0.1:9000/out""#), @r#"
        [null,null,null,"hdfs://10.0.0.1:9000/out"]
        dataDir Ignored: it is not a directory of this machine, and nothing is fetched; tasks have it as PAI_DATA_DIR. Copy the data here and write the directory's whole path, or to a volume (`trainmaster volumes list`) and write "dataDir": "NAME:path"
        outputDir Changed: env.PAI_OUTPUT_DIR; nothing is copied there: what is to be kept with the run goes to /output. To have that copied to a volume (`trainmaster volumes list`), write "outputDir": "NAME:path"
        "#);
    }

    #[test]
    fn code_is_found_by_the_name_of_its_directory() {
        assert_eq!(code_by_its_name("/home/ann/cifar/").unwrap(), "[ -e ./cifar ] || ln -s . ./cifar");
        assert_eq!(code_by_its_name("/home/ann's code").unwrap(), r"[ -e ./'ann'\''s code' ] || ln -s . ./'ann'\''s code'");
        assert_eq!(code_by_its_name("team:src/cifar").unwrap(), "[ -e ./cifar ] || ln -s . ./cifar");
        assert_eq!(code_by_its_name("team:cifar").unwrap(), "[ -e ./cifar ] || ln -s . ./cifar");
        assert_eq!(code_by_its_name("team:"), None);
        assert_eq!(code_by_its_name("/"), None);
        assert_eq!(code_by_its_name("/a/.."), None);
    }
}
