//! The top level of the file.

use indexmap::IndexMap;

use super::{
    deployments::{self, Deployment},
    field::{Field, Keys, Reader},
    js::Word,
    parameters,
    prerequisites::{self, Prerequisites},
    secrets::Secrets,
};
use crate::{
    dialect::{note::with_words, openpai_common},
    located::Node,
    said,
    spec::{Retries, shown},
    words::{Said, Words},
};

/// All of the file but what each role and the extras say.
pub(super) struct Job<'a> {
    name: Option<Field<'a>>,
    pub description: Option<&'a str>,
    pub retries: Option<Retries>,
    pub parameters: Option<&'a Node>,
    pub secrets: Secrets<'a>,
    pub prerequisites: Prerequisites<'a>,
    /// The one that `defaults` names.
    pub deployment: Option<Deployment<'a>>,
    pub virtual_cluster: String,
    pub extras: Option<Field<'a>>,
    pub roles: IndexMap<&'a str, Field<'a>>,
}

const KEYS: [&str; 14] = [
    "protocolVersion",
    "name",
    "type",
    "version",
    "contributor",
    "description",
    "prerequisites",
    "parameters",
    "secrets",
    "jobRetryCount",
    "taskRoles",
    "deployments",
    "defaults",
    "extras",
];

const NAME_CHARACTERS_MAX: usize = 255;

/// The virtual cluster of a job that names none.
pub(super) const DEFAULT_CLUSTER: &str = "default";

impl<'a> Job<'a> {
    pub fn read(reader: &mut Reader, root: &Field<'a>) -> Option<Self> {
        let mut keys = reader.keys(root, &KEYS, ("a job file begins with `protocolVersion: 2`", "作业文件以 `protocolVersion: 2` 开头"))?;
        let keys_ = &mut keys;
        if let Some(version) = reader.required(keys_, "protocolVersion", ("write `protocolVersion: 2`", "请写 `protocolVersion: 2`")) {
            reader.version_2(&version);
        }
        check_type(reader, keys_);
        let name = reader
            .required(keys_, "name", ("give the job a name, such as `name: digits`", "请给作业起名，如 `name: digits`"))
            .filter(|it| name(reader, it).is_some());
        let description = about(reader, keys_);
        let deployments = keys_.take("deployments").map(|it| deployments::read(reader, &it)).unwrap_or_default();
        let (deployment, virtual_cluster) = deployments::defaults(reader, keys_.take("defaults"), deployments);
        let job = Job {
            name,
            description,
            retries: keys_.take("jobRetryCount").and_then(|it| retries(reader, &it)),
            parameters: keys_.take("parameters").and_then(|it| parameters::read(reader, &it)),
            secrets: keys_.take("secrets").map(|it| Secrets::read(reader, &it)).unwrap_or_default(),
            prerequisites: keys_.take("prerequisites").map(|it| prerequisites::read(reader, &it)).unwrap_or_default(),
            deployment,
            virtual_cluster,
            extras: keys_.take("extras"),
            roles: roles(reader, keys_),
        };
        reader.no_more(keys);
        job.prerequisites.check_auth(reader, job.secrets.node);
        Some(job)
    }

    fn written_name(&self) -> Option<&'a str> {
        match self.name.as_ref()?.word() {
            Some(Word::Text(name)) => Some(name),
            Some(Word::Null | Word::Truth(_) | Word::Number(_) | Word::Date(_)) | None => None,
        }
    }

    /// The job's name as it can stand here.
    pub fn fitting_name(&self, reader: &mut Reader, given: Option<&str>) -> String {
        let (Some(field), Some(written)) = (&self.name, self.written_name()) else { return String::new() };
        if let Some(name) = given {
            let given = shown(name);
            let about = (format!("{given} was given beside the file"), format!("文件之外另给了名称 {given}"));
            reader.notes.changed(&field.path, field.place, with_words("name", about));
            return name.to_owned();
        }
        let (fitting, changed) = openpai_common::job_name(written);
        if changed {
            let shown = shown(&fitting);
            let en = format!("it is {shown} here: 1 to 64 characters, the first a letter or a digit");
            let zh = format!("在这里叫 {shown}：名称有 1 到 64 个字符，以字母或数字开头");
            reader.notes.changed(&field.path, field.place, with_words("name", (en, zh)));
        } else {
            reader.notes.kept(&field.path, field.place, "name");
        }
        fitting
    }
}

/// A name of a job, a prerequisite or a deployment.
pub(super) fn name<'a>(reader: &mut Reader, field: &Field<'a>) -> Option<&'a str> {
    const HINT: Said = ("use letters, digits, `_` and `-`", "请用字母、数字、`_` 和 `-`");
    let text = reader.text(field, HINT)?;
    let length = text.chars().count();
    let bad = text.chars().find(|c| !c.is_ascii_alphanumeric() && !"_-".contains(*c));
    if length == 0 {
        reader.tell(field, ("is empty", "是空的"), HINT);
    } else if let Some(bad) = bad {
        reader.tell(field, said!("{} has {}", "{} 里有 {}", shown(text), shown(&bad.to_string())), HINT);
    } else if length > NAME_CHARACTERS_MAX {
        reader.tell(
            field,
            said!(
                "{} has {length} characters; the most is {NAME_CHARACTERS_MAX}",
                "{} 有 {length} 个字符，最多 {NAME_CHARACTERS_MAX} 个",
                shown(text)
            ),
            ("choose a shorter one", "请换一个短些的"),
        );
    } else {
        return Some(text);
    }
    None
}

const FOR_PEOPLE: (&str, &str) = ("for people; it has no effect, here as there", "给人看的，没有作用，在 OpenPAI 里也一样");

/// What has no effect: who wrote the file and which version of it this is.
pub(super) fn about<'a>(reader: &mut Reader, keys: &mut Keys<'a>) -> Option<&'a str> {
    if let Some(version) = keys.take("version") {
        match version.word() {
            Some(Word::Text(_) | Word::Number(_)) => reader.for_people(&version, FOR_PEOPLE),
            Some(Word::Null | Word::Truth(_) | Word::Date(_)) | None => {
                reader.wrong(
                    &version,
                    ("text or a number", "文本或数字"),
                    ("write it in quotes, such as \"1.0\"", "请加上引号，如 \"1.0\""),
                );
            }
        }
    }
    if let Some(contributor) = keys.take("contributor").filter(|it| reader.text(it, ("write a name", "请写名字")).is_some()) {
        reader.for_people(&contributor, FOR_PEOPLE);
    }
    let description = keys.take("description")?;
    let text = reader.text(&description, ("write a line of text", "请写一行文本"))?;
    let reason = if description.path == "description" { "description".into() } else { Words::from(FOR_PEOPLE) };
    reader.notes.kept(&description.path, description.place, reason);
    Some(text)
}

fn check_type(reader: &mut Reader, keys: &mut Keys<'_>) {
    let Some(field) = reader.required(keys, "type", ("write `type: job`", "请写 `type: job`")) else { return };
    if field.word() == Some(Word::Text("job")) {
        reader.for_people(&field, ("every file here is a job", "这里的文件都是作业"));
    } else {
        reader.wrong(&field, Words::from("`job`"), ("write `type: job`", "请写 `type: job`"));
    }
}

fn retries(reader: &mut Reader, field: &Field<'_>) -> Option<Retries> {
    const HINT: Said = (
        "write a number such as 2; a job that is always started again has no spelling in version 2",
        "请写一个数，如 2；第 2 版没有“总是重新开始”的写法",
    );
    let count = reader.integer(field, HINT)?;
    match u32::try_from(count) {
        Ok(count) => {
            reader.notes.kept(&field.path, field.place, "retries");
            Some(Retries::Count(count))
        }
        Err(_) if count < 0 => {
            reader.tell(field, said!("is {count}; it must be 0 or more", "写的是 {count}，不能小于 0"), HINT);
            None
        }
        Err(_) => {
            reader.tell(field, said!("is {count}, which is more than anyone can wait for", "写的是 {count}，没有人等得了这么多次"), HINT);
            None
        }
    }
}

/// Role name → role, with the names checked.
fn roles<'a>(reader: &mut Reader, keys: &mut Keys<'a>) -> IndexMap<&'a str, Field<'a>> {
    const HINT: Said = (
        "write `worker:` and under it `dockerImage`, `resourcePerInstance` and `commands`",
        "请写 `worker:`，并在它下面写 `dockerImage`、`resourcePerInstance` 和 `commands`",
    );
    let Some(field) = reader.required(keys, "taskRoles", HINT) else { return IndexMap::new() };
    let roles: IndexMap<&str, Field<'_>> = reader.named(&field, HINT).into_iter().collect();
    let mut bare: Vec<(String, &str)> = Vec::new();
    for (name, field) in &roles {
        let stripped = stripped(name);
        if let Some((_, other)) = bare.iter().find(|(bare, _)| *bare == stripped) {
            let message = said!(
                "{} and {} are both `{stripped}` in the names of PAI_ variables",
                "{} 和 {} 在 PAI_ 变量名里都是 `{stripped}`",
                shown(other),
                shown(name)
            );
            reader.tell(field, message, ("choose names that differ in letters or digits", "请换成字母或数字不同的名字"));
        }
        bare.push((stripped, name));
    }
    roles
}

/// What Kubernetes and the discovered variables make of a role's name (hazard H1).
pub(super) fn stripped(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}
