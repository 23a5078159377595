//! How each error shows itself: status for machines, code for scripts, words for people in both languages.

use axum::http::StatusCode as S;
use model::{
    bundle::TooMuch,
    job::JobState,
    said,
    spec::Problem,
    words::{Lang, Said, Words},
};

use super::Error;
use crate::volumes::{Trouble, VolumeError};

pub struct Face {
    pub status: S,
    pub code: &'static str,
    pub message: Words,
    pub hint: Option<Words>,
}

impl Face {
    fn new(status: S, code: &'static str, message: Words) -> Self {
        Self { status, code, message, hint: None }
    }

    fn hint(self, hint: Words) -> Self {
        Self { hint: Some(hint), ..self }
    }
}

impl Error {
    /// One match, so that a new variant can forget nothing, and neither language.
    pub(super) fn face(&self) -> Face {
        match self {
            Error::NoSuchJob(job) => Face::new(S::NOT_FOUND, "no_such_job", said!("there is no job `{job}`", "没有作业 `{job}`"))
                .hint(said!("`trainmaster list --all` shows the jobs there are", "用 `trainmaster list --all` 查看现有的作业")),
            Error::NoSuchTask(job, task) => {
                Face::new(S::NOT_FOUND, "no_such_task", said!("job {job} has no task `{task}`", "作业 {job} 没有任务 `{task}`"))
                    .hint(said!("`trainmaster show {job}` shows its tasks", "用 `trainmaster show {job}` 查看它的任务"))
            }
            Error::NoSuchNode(node) => Face::new(S::NOT_FOUND, "no_such_node", said!("there is no node `{node}`", "没有节点 `{node}`"))
                .hint(said!("`trainmaster nodes` shows the nodes there are", "用 `trainmaster nodes` 查看现有的节点")),
            Error::NoSuchVolume(volume) => {
                Face::new(S::NOT_FOUND, "no_such_volume", said!("there is no volume `{volume}`", "没有数据卷 `{volume}`"))
                    .hint(said!("`trainmaster volumes list` shows the volumes there are", "用 `trainmaster volumes list` 查看现有的数据卷"))
            }
            Error::VolumeTaken(volume) => {
                Face::new(S::CONFLICT, "volume_taken", said!("there is a volume `{volume}` already", "已经有数据卷 `{volume}`")).hint(
                    said!(
                        "give it another name, or remove the old one with `trainmaster volumes remove`",
                        "请换个名字，或用 `trainmaster volumes remove` 删掉原来的"
                    ),
                )
            }
            Error::VolumeInUse { volume, job } => Face::new(
                S::CONFLICT,
                "volume_in_use",
                said!("volume `{volume}` is used by {job}, which is not over", "数据卷 `{volume}` 正被 {job} 使用，而它还没有结束"),
            )
            .hint(said!(
                "wait until the job is over, or stop it; `trainmaster volumes set` gives a bucket other keys meanwhile",
                "请等作业结束，或先停止它；只是更换存储桶的密钥，用 `trainmaster volumes set` 即可"
            )),
            Error::VolumeHasDatasets { volume, datasets } => {
                let [all, all_zh] = [", ", "、"].map(|between| datasets.join(between));
                let first = datasets.first().map_or("NAME", String::as_str);
                Face::new(
                    S::CONFLICT,
                    "volume_has_dataset",
                    said!("there are datasets in volume `{volume}`: {all}", "数据卷 `{volume}` 里有数据集：{all_zh}"),
                )
                .hint(said!(
                    "forget each of them first: `trainmaster datasets remove {first}`; the data stays",
                    "请先逐个移除：`trainmaster datasets remove {first}`；数据不受影响"
                ))
            }
            Error::NoSuchAlgorithm(algorithm) => Face::new(
                S::NOT_FOUND,
                "no_such_algorithm",
                said!("there is no algorithm `{algorithm}`", "没有算法 `{algorithm}`"),
            )
            .hint(said!("`trainmaster algorithms list` shows the algorithms there are", "用 `trainmaster algorithms list` 查看现有的算法")),
            Error::NoSuchAlgorithmVersion { algorithm, version } => Face::new(
                S::NOT_FOUND,
                "no_such_algorithm_version",
                said!("the algorithm `{algorithm}` has no version {version}", "算法 `{algorithm}` 没有版本 {version}"),
            )
            .hint(said!(
                "`trainmaster algorithms show {algorithm}` shows its versions; one that was forgotten does not come back",
                "用 `trainmaster algorithms show {algorithm}` 查看它的版本；移除的版本无法恢复"
            )),
            Error::AlgorithmTaken(algorithm) => Face::new(
                S::CONFLICT,
                "algorithm_taken",
                said!("the algorithm `{algorithm}` is somebody else's", "算法 `{algorithm}` 是别人的"),
            )
            .hint(said!("give yours another name", "请给你的算法换个名字")),
            Error::BadAlgorithm(problems) => {
                starting_with(problems, Face::new(S::UNPROCESSABLE_ENTITY, "bad_algorithm", counted(("the algorithm", "算法"), problems)))
            }
            Error::Volume(error) => of_volume(error),
            Error::NoSuchDataset(dataset) => {
                Face::new(S::NOT_FOUND, "no_such_dataset", said!("there is no dataset `{dataset}`", "没有数据集 `{dataset}`")).hint(said!(
                    "`trainmaster datasets list` shows the datasets there are",
                    "用 `trainmaster datasets list` 查看现有的数据集"
                ))
            }
            Error::NoSuchDatasetVersion { dataset, version } => Face::new(
                S::NOT_FOUND,
                "no_such_dataset_version",
                said!("the dataset `{dataset}` has no version {version}", "数据集 `{dataset}` 没有版本 {version}"),
            )
            .hint(said!(
                "`trainmaster datasets show {dataset}` shows its versions; one that was forgotten does not come back",
                "用 `trainmaster datasets show {dataset}` 查看它的版本；移除的版本无法恢复"
            )),
            Error::DatasetTaken(dataset) => {
                Face::new(S::CONFLICT, "dataset_taken", said!("the dataset `{dataset}` is somebody else's", "数据集 `{dataset}` 是别人的"))
                    .hint(said!("give yours another name", "请给你的数据集换个名字"))
            }
            Error::NoSuchRun(run) => Face::new(S::NOT_FOUND, "no_such_run", said!("there is no run `{run}`", "没有运行 `{run}`"))
                .hint(said!("`trainmaster lost` shows the runs that are on the disk alone", "用 `trainmaster lost` 查看只在磁盘上的运行")),
            Error::NoSuchRoute(path) => {
                Face::new(S::NOT_FOUND, "no_such_route", said!("there is nothing at {path}", "{path} 这里什么也没有")).hint(routes())
            }
            Error::WrongMethod(path) => {
                Face::new(S::METHOD_NOT_ALLOWED, "wrong_method", said!("{path} does not take this method", "{path} 不支持这个方法"))
                    .hint(routes())
            }
            Error::Refused { job, state, event } if state.is_over() => {
                Face::new(S::CONFLICT, "already_over", is(job, *state, (&format!("and cannot take {event:?}"), "已经结束，不能再这样做")))
                    .hint(rerun())
            }
            Error::Refused { job, state, event } => {
                Face::new(S::CONFLICT, "refused", is(job, *state, (&format!("and cannot take {event:?}"), "现在不能这样做")))
            }
            Error::NotOver { job, state } => {
                Face::new(S::CONFLICT, "not_over", is(job, *state, ("and can only be deleted once it is over", "结束之后才能删除"))).hint(
                    said!(
                        "stop it first with `trainmaster stop`, or use `delete --stop`",
                        "请先停止它（`trainmaster stop`），或用 `delete --stop`"
                    ),
                )
            }
            Error::NotOverYet { job, state } => Face::new(
                S::CONFLICT,
                "not_over",
                is(
                    job,
                    *state,
                    (", and another job can begin with its output only once it is over", "结束之后，别的作业才能接着它的结果做"),
                ),
            )
            .hint(said!("wait for it with `trainmaster wait`, or stop it", "请等它结束（`trainmaster wait`），或停止它")),
            Error::NotSaved { job, why } => {
                Face::new(S::CONFLICT, "not_saved", told(&said!("{job} has output that is not saved", "{job} 还有没保存的输出"), why)).hint(
                    said!(
                        "save it with `trainmaster sync`, or delete it all the same with `delete --force`",
                        "用 `trainmaster sync` 保存；不要这些输出就用 `delete --force` 删除"
                    ),
                )
            }
            Error::NothingToSync(job) => Face::new(
                S::CONFLICT,
                "nothing_to_sync",
                said!("{job} has no output that is still to be saved", "{job} 没有还需要保存的输出"),
            )
            .hint(said!("`trainmaster show` tells what was saved, and where", "用 `trainmaster show` 查看保存了什么、保存在哪里")),
            Error::TooLate { job, state } => Face::new(
                S::CONFLICT,
                "already_over",
                is(job, *state, ("and its duration no longer matters", "已经结束，不能再改时长上限")),
            )
            .hint(rerun()),
            Error::Changed => {
                Face::new(S::CONFLICT, "changed", said!("the job changed while this was being done to it", "操作期间作业发生了变化")).hint(
                    said!("look at it again with `trainmaster show`, then repeat", "请再看一下作业的现状（`trainmaster show`），然后重试"),
                )
            }
            Error::BadSpec(problems) => {
                starting_with(problems, Face::new(S::UNPROCESSABLE_ENTITY, "bad_spec", counted(("the job file", "作业文件"), problems)))
            }
            Error::BadValue { name, value, wanted } => {
                let zh = format!("{name} = `{value}` 不行，应为：{}", wanted.say(Lang::Zh));
                Face::new(S::BAD_REQUEST, "bad_value", Words::new(format!("{name} = `{value}` is not {wanted}"), zh))
            }
            Error::KeyReused(key) => Face::new(
                S::CONFLICT,
                "key_reused",
                said!("idempotency key `{key}` was used for another job", "幂等键 `{key}` 已经用于另一个作业"),
            )
            .hint(said!("use a new key for a new job", "新作业请用新的键")),
            Error::NoToken => Face::new(
                S::UNAUTHORIZED,
                "no_token",
                said!("the request carries no token that is known here", "请求里没有服务器认识的令牌"),
            )
            .hint(said!(
                "send `Authorization: Bearer …`, or run `trainmaster login`",
                "请发送 `Authorization: Bearer …`，或运行 `trainmaster login`"
            )),
            Error::LinkUsed => {
                Face::new(S::UNAUTHORIZED, "link_used", said!("the link was used already, or is too old", "链接已经用过，或已经过期"))
                    .hint(said!("`trainmaster console` prints a new one", "用 `trainmaster console` 可以得到新的链接"))
            }
            Error::NotFromConsole => Face::new(
                S::FORBIDDEN,
                "not_from_console",
                said!("a session's cookie counts only in requests of the console's own page", "会话 cookie 只在控制台自己页面的请求里有效"),
            )
            .hint(said!("load the page again and log in", "请重新打开页面并登录")),
            Error::Forbidden => Face::new(S::FORBIDDEN, "forbidden", said!("this token may not do that", "这个令牌没有权限这样做"))
                .hint(said!("ask an administrator", "请联系管理员")),
            Error::WrongHost(host) => Face::new(
                S::MISDIRECTED_REQUEST,
                "wrong_host",
                said!("`{host}` is not a name of this server", "`{host}` 不是这台服务器的名字"),
            )
            .hint(said!(
                "start the server with `--allow-host` if this name is meant to be its own",
                "如果它确实是服务器的名字，请用 `--allow-host` 启动服务器"
            )),
            Error::WrongOrigin(origin) => Face::new(
                S::FORBIDDEN,
                "wrong_origin",
                said!("requests from pages of `{origin}` are not taken", "不接受来自 `{origin}` 页面的请求"),
            ),
            Error::TooLarge { most_bytes } => Face::new(
                S::PAYLOAD_TOO_LARGE,
                "too_large",
                said!("the body is larger than {most_bytes} bytes", "请求的内容超过 {most_bytes} 字节"),
            ),
            Error::StaleRun => Face::new(
                S::GONE,
                "stale_run",
                said!("the run is over, or belongs to an earlier attempt", "这次运行已经结束，或属于之前的尝试"),
            ),
            Error::WrongOffset { length } => {
                Face::new(S::CONFLICT, "wrong_offset", said!("the server has {length} bytes of it", "服务器上已有它的 {length} 字节"))
            }
            Error::DiskFull => Face::new(
                S::INSUFFICIENT_STORAGE,
                "disk_full",
                said!("no room is left on the disk that holds the database", "数据库所在的磁盘满了"),
            )
            .hint(said!("free some space and try again; running tasks go on", "请腾出空间后重试；正在运行的任务不受影响")),
            Error::NoRoom => Face::new(
                S::INSUFFICIENT_STORAGE,
                "no_room",
                said!("no room is left on the disk that holds the uploads", "存放上传内容的磁盘满了"),
            )
            .hint(said!(
                "free some space and try again; what has come so far is not sent a second time",
                "请腾出空间后重试；已经传到的部分不会再传一遍"
            )),
            Error::BadUpload(why) => Face::new(S::UNPROCESSABLE_ENTITY, "bad_upload", why.clone())
                .hint(said!("`trainmaster submit` uploads a folder as it should be", "用 `trainmaster submit` 可以正确上传目录")),
            Error::TooMuchCode(too_much) => Face::new(S::PAYLOAD_TOO_LARGE, "too_much_code", too_much.words()).hint(TooMuch::HINT.into()),
            Error::WrongHash(why) => Face::new(
                S::UNPROCESSABLE_ENTITY,
                "wrong_hash",
                told(&said!("a content is not what it should be", "有内容与应有的不一致"), why),
            )
            .hint(said!("a file may have changed while it was read; send it again", "文件可能在读取时被改动；请重新发送")),
            Error::NoSuchUpload(digest) => {
                Face::new(S::NOT_FOUND, "no_such_upload", said!("there is no upload `{digest}`", "没有上传 `{digest}`"))
                    .hint(said!("upload the folder again: `trainmaster submit` does so", "请重新上传目录：`trainmaster submit` 会自动上传"))
            }
            Error::UploadUnfinished { missing } => Face::new(
                S::CONFLICT,
                "upload_unfinished",
                said!("{missing} files of the upload have not come whole", "上传的文件里有 {missing} 个还没有传完"),
            )
            .hint(said!("begin the upload again: the answer says what is missing", "请重新开始上传：回答里会列出缺少什么")),
            Error::NothingUploaded(job) => {
                Face::new(S::NOT_FOUND, "nothing_uploaded", said!("job {job} has no uploaded folder", "作业 {job} 没有上传过目录")).hint(
                    said!("`trainmaster show {job}` says where its code came from", "用 `trainmaster show {job}` 查看它的代码来自哪里"),
                )
            }
            Error::NoCode { job, why } => {
                Face::new(S::NOT_FOUND, "no_code", told(&said!("the files of {job}'s code are not here", "这里没有 {job} 的代码文件"), why))
                    .hint(said!(
                        "`trainmaster diff` without --code says what is known of it",
                        "用不带 --code 的 `trainmaster diff` 查看已知的信息"
                    ))
            }
            Error::NoInput { job, path, why } => {
                Face::new(S::NOT_FOUND, "no_input", told(&said!("{path} of {job} is not here", "这里没有 {job} 的 {path}"), why)).hint(
                    said!(
                        "`trainmaster show JOB --plan` says where its inputs come from",
                        "用 `trainmaster show JOB --plan` 查看它的输入来自哪里"
                    ),
                )
            }
            Error::Busy => Face::new(S::SERVICE_UNAVAILABLE, "busy", said!("the database is busy", "数据库正忙")).hint(moment()),
            Error::StorageFailed(why) => Face::new(
                S::SERVICE_UNAVAILABLE,
                "storage_failed",
                said!("the server takes nothing new since its disk failed: {why}", "服务器的磁盘出了故障（`{why}`），不再接受新的内容"),
            )
            .hint(said!(
                "mend the disk, then start the server again; running tasks go on",
                "请修好磁盘，再重新启动服务器；正在运行的任务不受影响"
            )),
            Error::SetAside(what) => Face::new(
                S::INTERNAL_SERVER_ERROR,
                "set_aside",
                said!(
                    "{what} cannot be read from the database and was set aside; nothing is done to it",
                    "{what} 无法从数据库读出，已搁置，不会对它做任何操作"
                ),
            )
            .hint(said!(
                "`trainmaster doctor` lists what was set aside; the rest goes on",
                "用 `trainmaster doctor` 查看搁置了什么；其余一切照常"
            )),
            Error::NoSuchSecret(name) => {
                Face::new(S::NOT_FOUND, "no_such_secret", said!("there is no secret `{name}`", "没有密钥 `{name}`"))
                    .hint(said!("`trainmaster secrets list` shows yours", "用 `trainmaster secrets list` 查看你的密钥"))
            }
            Error::Sealed(why) => {
                Face::new(S::INTERNAL_SERVER_ERROR, "sealed", Words::new(why.as_str(), format!("服务器打不开保存的密钥（`{why}`）")))
                    .hint(said!("the server's owner has to put its key of secrets back", "服务器的管理者需要把密钥的钥匙文件放回去"))
            }
            Error::Internal(why) => {
                Face::new(S::INTERNAL_SERVER_ERROR, "internal", Words::new(why.as_str(), format!("服务器内部出错（`{why}`）")))
                    .hint(said!("the server's own log says more", "详情见服务器自己的日志"))
            }
        }
    }
}

fn of_volume(error: &VolumeError) -> Face {
    let face = |status, code| Face::new(status, code, error.words());
    match &error.trouble {
        Trouble::Away { .. } | Trouble::Unread { .. } => face(S::SERVICE_UNAVAILABLE, "volume_away").hint(said!(
            "try again in a moment; `trainmaster volumes test` says more",
            "请稍后再试；用 `trainmaster volumes test` 查看详情"
        )),
        Trouble::Denied { .. } => face(S::FAILED_DEPENDENCY, "volume_denied").hint(said!(
            "a bucket gets other keys with `trainmaster volumes set`; a directory has to be open to the user that the server runs as, and a web page to everyone",
            "存储桶的密钥用 `trainmaster volumes set` 更换；目录要允许运行服务器的用户访问，网址要不用登录就能打开"
        )),
        Trouble::Missing { .. } => face(S::NOT_FOUND, "no_such_file")
            .hint(said!("`trainmaster files ls` shows what is there", "用 `trainmaster files ls` 查看那里有什么")),
        Trouble::Full { .. } => face(S::INSUFFICIENT_STORAGE, "volume_full").hint(said!("free some space there", "请在那里腾出空间")),
        Trouble::Changed { .. } => face(S::PRECONDITION_FAILED, "file_changed").hint(said!("begin again from its start", "请从头重新开始")),
        Trouble::Never { .. } => face(S::UNPROCESSABLE_ENTITY, "volume_refused"),
    }
}

fn counted((en, zh): Said, problems: &[Problem]) -> Words {
    match problems.len() {
        1 => said!("{en} has a problem", "{zh}有 1 个问题"),
        count => said!("{en} has {count} problems", "{zh}有 {count} 个问题"),
    }
}

fn starting_with(problems: &[Problem], face: Face) -> Face {
    match problems.first().map(Problem::words) {
        Some(first) => face.hint(Words::new(format!("start with {}", first.en), format!("先看{}", first.zh))),
        None => face,
    }
}

/// Which state a job is in, and what follows from it.
fn is(job: &str, state: JobState, (en, zh): (&str, &str)) -> Words {
    let state = state.words();
    let en = if en.starts_with(',') { en.to_owned() } else { format!(" {en}") };
    Words::new(format!("{job} is {}{en}", state.en), format!("{job} 现在是“{}”，{zh}", state.zh))
}

/// What is the case, and why.
fn told(what: &Words, why: &Words) -> Words {
    Words::new(format!("{}: {}", what.en, why.en), format!("{}：{}", what.say(Lang::Zh), why.say(Lang::Zh)))
}

fn routes() -> Words {
    said!("the routes are listed at /api/v1/openapi.json", "所有接口见 /api/v1/openapi.json")
}

fn rerun() -> Words {
    said!("submit it again with `trainmaster rerun`", "可以重新提交：`trainmaster rerun`")
}

fn moment() -> Words {
    said!("try again in a moment", "请稍后再试")
}
