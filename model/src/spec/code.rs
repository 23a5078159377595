//! `code` in a job file: one text where that is enough, a map where it is not.

use serde::{Deserialize, Serialize};

use super::{
    read::{OF_NOTHING_ELSE, count, truth},
    walk::{Field, Walk},
};
use crate::{located::Value, words::Said};

/// Where the code comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum Code {
    /// A folder, a repository's address with or without `#ref`, or a volume and path.
    Place(String),
    Git(GitCode),
    Upload(UploadedCode),
    At(CodeAt),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GitCode {
    pub git: String,
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submodules: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lfs: Option<bool>,
    /// 0 is everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
}

/// A folder that was uploaded, by the hash of its file list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UploadedCode {
    pub upload: String,
}

/// A directory of the machine that the task runs on, as it is at that moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeAt {
    pub at: String,
}

impl From<String> for Code {
    fn from(place: String) -> Self {
        Code::Place(place)
    }
}

const HINT: Said = (
    "write the path of a directory, a repository such as `{git: \"https://…\", ref: main}`, or a volume and a path such as `data:code`",
    "请写目录的路径、代码仓库（如 `{git: \"https://…\", ref: main}`），或数据卷加路径（如 `data:code`）",
);

pub(crate) fn read(walk: &mut Walk, field: &Field<'_>) -> Option<Code> {
    if !matches!(field.node.value, Value::Map(_)) {
        return walk.text(field, HINT).map(Code::Place);
    }
    let keys = &mut walk.keys(field, field.node.place, HINT)?;
    let text = |walk: &mut Walk, it: Field<'_>| walk.text(&it, ("write a line of text", "请写一行文本"));
    let git = walk.optional(keys, "git").and_then(|it| text(walk, it));
    let read = GitCode {
        reference: walk.optional(keys, "ref").and_then(|it| walk.word(&it, ("write a branch, a tag or a commit", "请写分支、标签或提交"))),
        user: walk.optional(keys, "user").and_then(|it| text(walk, it)),
        password: walk.optional(keys, "password").and_then(|it| walk.word(&it, ("write `{{ secrets.git }}`", "请写 `{{ secrets.git }}`"))),
        submodules: walk.optional(keys, "submodules").and_then(|it| truth(walk, &it)),
        lfs: walk.optional(keys, "lfs").and_then(|it| truth(walk, &it)),
        depth: walk.optional(keys, "depth").and_then(|it| count(walk, &it, 0)),
        directory: walk.optional(keys, "directory").and_then(|it| text(walk, it)),
        git: String::new(),
    };
    let upload = walk.optional(keys, "upload").and_then(|it| text(walk, it));
    let at = walk.optional(keys, "at").and_then(|it| text(walk, it));
    walk.no_more(keys, &OF_NOTHING_ELSE);
    let alone = read == GitCode::default();
    match (git, upload, at) {
        (Some(git), None, None) => Some(Code::Git(GitCode { git, ..read })),
        (None, Some(upload), None) if alone => Some(Code::Upload(UploadedCode { upload })),
        (None, None, Some(at)) if alone => Some(Code::At(CodeAt { at })),
        _ => {
            walk.tell(
                field,
                (
                    "must have one of `git`, `at` and `upload`, and only `git` takes more keys",
                    "`git`、`at`、`upload` 要写且只能写一个，只有 `git` 可以带其他键",
                ),
                HINT,
            );
            None
        }
    }
}
