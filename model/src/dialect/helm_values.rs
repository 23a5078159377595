//! The values file of the Helm chart for distributed TensorFlow training: workers, parameter servers,
//! hyperparameters and a TensorBoard. The chart wrote the cluster's description; our conventions do.

use indexmap::IndexMap;

use super::{Dialect, Notes, Source, note::with_words};
use crate::{
    located::{Entry, Kind, Node, Place, Scalar, Value},
    spec::{
        Accelerators, Command, Completion, Convention, JobSpec, Param, Ports, Problem, RoleSpec, Size, Threshold, ThresholdWord, in_order,
        join, nearest, shown,
    },
    words::{Bilingual, Words, wrong_shape},
};

mod even;

pub(super) const DIALECT: Dialect =
    Dialect { name: "helm_values", title: "values of the Helm chart for TensorFlow training", parse: even::parse, recognises, read };

/// Where all tasks of the job on a node, its TensorBoard among them, find the same files.
const SHARED: &str = "\"$TRAINMASTER_CACHE/$TRAINMASTER_JOB_ID\"";
/// The chart's own names, ours, which are also the program's flags, and the chart's defaults.
const HYPERPARAMS: [(&str, &str, Param); 3] =
    [("epochs", "epochs", Param::Whole(100)), ("batchsize", "batch_size", Param::Whole(20)), ("learningrate", "lr", Param::Number(0.001))];
/// How many GPUs the chart gives a worker that does not say.
const WORKER_GPUS_DEFAULT: u32 = 1;

fn recognises(root: &Node) -> bool {
    let Value::Map(entries) = &root.value else { return false };
    let has = |key: &str| entries.iter().any(|entry| entry.key == key);
    has("worker") && ["ps", "hyperparams", "tensorboard"].into_iter().any(has) && !has("roles") && !has("name")
}

fn read(source: &Source<'_>) -> Result<(JobSpec, Notes), Vec<Problem>> {
    let mut reader = Reader::default();
    for entry in entries(source.root) {
        reader.section(entry);
    }
    if reader.spec.params.is_empty() {
        reader.hyperparams(&[]);
    }
    let given = [&source.given.name, &source.given.otherwise].into_iter().flatten().next();
    match given {
        Some(name) => reader.spec.name = name.clone(),
        None => {
            let hint = (
                "give one beside the file: `--name mnist`, or `?name=mnist` to the API",
                "请在文件之外给出名字：命令行用 `--name mnist`，API 用 `?name=mnist`",
            );
            reader.problems.push(Problem::new("name", ("a values file does not name its job", "values 文件里没有作业名")).hint(hint));
        }
    }
    reader.spec.conventions = Some(vec![Convention::ClusterConfig, Convention::TfConfig]);
    if reader.problems.is_empty() { Ok((reader.spec, reader.notes)) } else { Err(in_order(reader.problems)) }
}

fn entries(node: &Node) -> &[Entry] {
    match &node.value {
        Value::Map(entries) => entries,
        Value::Scalar(_) | Value::List(_) | Value::Refused => &[],
    }
}

#[derive(Default)]
struct Reader {
    spec: JobSpec,
    notes: Notes,
    problems: Vec<Problem>,
}

/// One value of the file and what it is called there.
struct Field<'a> {
    path: String,
    key: &'a str,
    place: Place,
    node: &'a Node,
}

impl<'a> Field<'a> {
    fn of(path: &str, entry: &'a Entry) -> Self {
        Self { path: join(path, &entry.key), key: &entry.key, place: entry.key_place, node: &entry.value }
    }
}

fn is_null(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar(scalar) if scalar.kind() == Kind::Null)
}

impl Reader {
    fn section(&mut self, entry: &Entry) {
        let field = Field::of("", entry);
        match field.key {
            "worker" | "ps" => self.role(&field),
            "tensorboard" => self.tensorboard(&field),
            "hyperparams" => {
                let fields = self.fields(&field);
                self.hyperparams(&fields);
            }
            "mountPath" => self.mount_path(&field),
            "persistence" => self.persistence(&field),
            _ => self.unknown(&field, &["worker", "ps", "tensorboard", "hyperparams", "mountPath", "persistence"]),
        }
    }

    /// The keys of a section; one without anything under it has none.
    fn fields<'a>(&mut self, section: &Field<'a>) -> Vec<Field<'a>> {
        if !matches!(section.node.value, Value::Map(_) | Value::Refused) && !is_null(section.node) {
            self.problem(
                section,
                ("must be a map", "这里要写键值对"),
                ("write its values under it, each on a line of its own", "请把各个值写在它下面，每个一行"),
            );
        }
        entries(section.node).iter().map(|entry| Field::of(&section.path, entry)).collect()
    }

    fn problem(&mut self, field: &Field<'_>, message: impl Bilingual, hint: impl Bilingual) {
        self.problems.push(Problem::new(&field.path, message).at(field.node.place).hint(hint));
    }

    fn unknown(&mut self, field: &Field<'_>, known: &[&str]) {
        let none = Words::new("the chart has no such value", "这个 chart 没有这个值");
        self.notes.ignored(&field.path, field.place, none.then(&meant(field.key, known.iter().copied())));
    }

    fn role(&mut self, section: &Field<'_>) {
        let (mut tasks, mut gpus, mut command) = (1, None, None);
        let mut role = RoleSpec { ports: Some(Ports::Labels(vec!["grpc".into()])), ..RoleSpec::default() };
        let becomes = |key: &str| format!("roles.{}.{key}", section.key);
        for field in self.fields(section) {
            match field.key {
                "number" => tasks = self.count(&field, &becomes("tasks")).unwrap_or(1),
                "gpuCount" => gpus = Some(self.count(&field, &becomes("accelerators")).unwrap_or(0)),
                "image" => role.image = self.image(&field, &becomes("image")),
                "imagePullPolicy" => self.pull_policy(&field),
                "port" => self.port(&field, &becomes("ports")),
                "command" => command = Some(self.command(&field, &becomes("command")).unwrap_or_default()),
                _ => self.unknown(&field, &["number", "gpuCount", "image", "imagePullPolicy", "port", "command"]),
            }
        }
        if gpus.is_none() && section.key == "worker" {
            let en = format!("gpuCount is not given, and the chart's default is {WORKER_GPUS_DEFAULT}");
            let zh = format!("没有写 gpuCount，chart 的默认值是 {WORKER_GPUS_DEFAULT}");
            self.notes.changed(join(&section.path, "gpuCount"), section.place, with_words(becomes("accelerators"), (en, zh)));
            gpus = Some(WORKER_GPUS_DEFAULT);
        }
        role.command = command.unwrap_or_else(|| self.program(section));
        role.tasks = Some(tasks);
        role.accelerators = gpus.filter(|gpus| *gpus > 0).map(Accelerators::AnyType);
        // A job without parameter servers is one whose number is 0.
        if tasks > 0 || section.key != "ps" {
            self.spec.roles.insert(section.key.to_owned(), role);
        }
    }

    /// What the chart's images run, in the directory that the task begins in.
    fn program(&mut self, section: &Field<'_>) -> Command {
        let about = (
            "the chart's image brings its own main.py: where no images are run, give its directory with `--code DIR`, \
             or write a `command` of your own here",
            "chart 的镜像自带 main.py；不运行镜像时，请用 `--code DIR` 给出它所在的目录，或在这里写自己的 `command`",
        );
        self.notes.changed(join(&section.path, "command"), section.place, with_words(format!("roles.{}.command", section.key), about));
        let flags: Vec<String> = HYPERPARAMS.iter().map(|(_, name, _)| format!("--{name} {{{{ params.{name} }}}}")).collect();
        Command::Line(format!("python3 main.py {} --logdir {SHARED}", flags.join(" ")))
    }

    fn tensorboard(&mut self, section: &Field<'_>) {
        let line = format!("tensorboard --logdir {SHARED} --host 127.0.0.1 --port \"$TRAINMASTER_PORTS_HTTP\"");
        let mut role = RoleSpec {
            command: Command::Line(line),
            cpus: Some(0.2),
            memory: Some(Size::Text("1GiB".into())),
            ports: Some(Ports::Labels(vec!["http".into()])),
            completion: Completion { min_failed: Some(Threshold::Word(ThresholdWord::Never)), wait: Some(false), ..Completion::default() },
            ..RoleSpec::default()
        };
        let about = (
            "a task beside the others, which ends with them and whose failure does not count",
            "与其他任务并行的一个任务，随它们一起结束，失败也不计",
        );
        self.notes.changed(&section.path, section.place, with_words("roles.tensorboard", about));
        for field in self.fields(section) {
            match field.key {
                "image" => role.image = self.image(&field, "roles.tensorboard.image"),
                "imagePullPolicy" => self.pull_policy(&field),
                "serviceType" => {
                    let about = (
                        "it listens on a port of its node that `trainmaster show` tells, and no service is made",
                        "它监听所在节点的一个端口，`trainmaster show` 会显示是哪一个；不会创建 service",
                    );
                    self.notes.changed(&field.path, field.place, with_words("roles.tensorboard.ports", about));
                }
                "command" => role.command = self.command(&field, "roles.tensorboard.command").unwrap_or_default(),
                _ => self.unknown(&field, &["image", "imagePullPolicy", "serviceType", "command"]),
            }
        }
        self.spec.roles.insert("tensorboard".into(), role);
    }

    fn hyperparams(&mut self, fields: &[Field<'_>]) {
        let mut params: IndexMap<String, Param> = HYPERPARAMS.into_iter().map(|(_, name, default)| (name.to_owned(), default)).collect();
        for field in fields {
            let Some(value) = self.hyperparam(field) else { continue };
            match HYPERPARAMS.iter().find(|(key, ..)| *key == field.key) {
                Some((_, name, _)) => {
                    let (en, zh) =
                        (format!("params.{name}, which the program has as --{name}"), format!("params.{name}，程序以 --{name} 得到它"));
                    self.notes.kept(&field.path, field.place, (en, zh));
                    params.insert((*name).to_owned(), value);
                }
                None => {
                    let name = field.key;
                    let en = format!("the chart's program has no flag for it, a command has it as {{{{ params.{name} }}}}");
                    let zh = format!("chart 的程序没有对应的参数；命令里可以写 {{{{ params.{name} }}}}");
                    let why = with_words(format!("params.{name}"), (en, zh)).then(&meant(name, HYPERPARAMS.iter().map(|(key, ..)| *key)));
                    self.notes.changed(&field.path, field.place, why);
                    params.insert(field.key.to_owned(), value);
                }
            }
        }
        self.spec.params = params.into_iter().map(|(name, value)| (name, Some(value))).collect();
    }

    fn hyperparam(&mut self, field: &Field<'_>) -> Option<Param> {
        let known = HYPERPARAMS.iter().find(|(key, ..)| *key == field.key).map(|(_, _, default)| default);
        let Some(scalar) = scalar(field.node) else {
            self.problem(field, ("must be one value", "这里只能写一个值"), ("write a number such as 20", "请写一个数，如 20"));
            return None;
        };
        let value = if scalar.plain || known.is_some() { Param::typed(&scalar.text) } else { Param::Text(scalar.text.clone()) };
        let fits = match (known, &value) {
            (None | Some(Param::Number(_)), Param::Whole(_) | Param::Number(_)) | (Some(Param::Whole(_)), Param::Whole(_)) => true,
            (None, Param::Truth(_) | Param::Text(_)) => true,
            (Some(_), Param::Truth(_) | Param::Whole(_) | Param::Number(_) | Param::Text(_)) => false,
        };
        if !fits {
            let wanted = if matches!(known, Some(Param::Whole(_))) { ("a whole number", "整数") } else { ("a number", "数字") };
            self.problem(
                field,
                wrong_shape(&wanted.words(), &Words::from(shown(&scalar.text))),
                ("write a number such as 20", "请写一个数，如 20"),
            );
        }
        fits.then_some(value)
    }

    fn mount_path(&mut self, field: &Field<'_>) {
        match scalar(field.node) {
            Some(path) => {
                let path = shown(&path.text);
                let en = format!(
                    "logs and checkpoints go to {SHARED}, which all tasks of the job share on a node, and not to {path}; \
                     data to read is given as `input` and found at /input"
                );
                let zh = format!(
                    "日志和检查点写到 {SHARED}（同一节点上的任务共用），而不是 {path}；要读取的数据用 `input` 给出，任务在 /input 读到"
                );
                self.notes.changed(&field.path, field.place, (en, zh));
            }
            None => self.problem(field, ("must be a path", "这里要写路径"), ("write a directory such as /data", "请写目录，如 /data")),
        }
    }

    fn persistence(&mut self, section: &Field<'_>) {
        for field in self.fields(section) {
            match field.key {
                "mountPath" => self.mount_path(&field),
                "pvc" => {
                    for claim in self.fields(&field) {
                        let en = "no volume is claimed here; the job's files lie on the node's own disk";
                        self.notes.ignored(&claim.path, claim.place, (en, "这里不申请数据卷；作业的文件放在节点自己的磁盘上"));
                    }
                }
                _ => self.unknown(&field, &["mountPath", "pvc"]),
            }
        }
    }

    fn count(&mut self, field: &Field<'_>, becomes: &str) -> Option<u32> {
        let number = scalar(field.node).and_then(|scalar| scalar.text.parse::<u32>().ok());
        match number {
            Some(_) => self.notes.kept(&field.path, field.place, becomes),
            None => self.problem(
                field,
                ("must be a whole number, 0 or more", "这里要写不小于 0 的整数"),
                ("write a number such as 2", "请写一个数，如 2"),
            ),
        }
        number
    }

    /// One text, or `repository` and `tag`.
    fn image(&mut self, field: &Field<'_>, becomes: &str) -> Option<String> {
        let part = |key: &str| entries(field.node).iter().find(|entry| entry.key == key).and_then(|entry| scalar(&entry.value));
        let image = match (scalar(field.node), part("repository"), part("tag")) {
            (Some(image), ..) => Some(image.text.clone()),
            (None, Some(repository), Some(tag)) => Some(format!("{}:{}", repository.text, tag.text)),
            (None, Some(repository), None) => Some(repository.text.clone()),
            (None, None, _) => None,
        };
        match &image {
            Some(_) => self.notes.kept(&field.path, field.place, becomes),
            None => self.problem(
                field,
                ("must be the name of an image", "这里要写镜像名"),
                ("write a text such as example/mnist:cpu", "请写文本，如 example/mnist:cpu"),
            ),
        }
        image
    }

    fn pull_policy(&mut self, field: &Field<'_>) {
        let why = ("when an image is fetched is the cluster's own business", "何时拉取镜像由集群自己决定");
        self.notes.ignored(&field.path, field.place, why);
    }

    fn port(&mut self, field: &Field<'_>, becomes: &str) {
        let port = scalar(field.node).and_then(|scalar| scalar.text.parse::<u16>().ok()).filter(|port| *port > 0);
        match port {
            Some(port) => {
                let en = format!("a free port labelled `grpc` takes the place of {port}, as tasks may share a machine");
                let zh = format!("任务可能在同一台机器上，所以改用一个空闲端口，标签为 `grpc`，不用 {port}");
                self.notes.changed(&field.path, field.place, with_words(becomes, (en, zh)));
            }
            None => self.problem(
                field,
                ("must be a port from 1 to 65535", "这里要写 1 到 65535 之间的端口"),
                ("write a number such as 8000", "请写一个数，如 8000"),
            ),
        }
    }

    /// The chart has no such value; it is ours, for a program that is not in an image.
    fn command(&mut self, field: &Field<'_>, becomes: &str) -> Option<Command> {
        let command = match &field.node.value {
            Value::Scalar(_) => scalar(field.node).map(|line| Command::Line(line.text.clone())),
            Value::List(words) => {
                words.iter().map(|word| scalar(word).map(|word| word.text.clone())).collect::<Option<_>>().map(Command::Words)
            }
            Value::Map(_) | Value::Refused => None,
        };
        match &command {
            Some(_) => self.notes.kept(&field.path, field.place, becomes),
            None => self.problem(
                field,
                ("must be a line or a list of words", "这里要写一行命令，或由各个词组成的列表"),
                ("write a line such as `python3 main.py`", "请写一行命令，如 `python3 main.py`"),
            ),
        }
        command
    }
}

/// The name that somebody may have had in mind.
fn meant<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Words {
    let ask = |near: &str| Words::new(format!("did you mean `{near}`?"), format!("是不是想写 `{near}`？"));
    nearest(unknown, known).map(ask).unwrap_or_default()
}

/// A value that is there and is one word, in quotes or not.
fn scalar(node: &Node) -> Option<&Scalar> {
    match &node.value {
        Value::Scalar(scalar) if scalar.kind() != Kind::Null => Some(scalar),
        Value::Scalar(_) | Value::List(_) | Value::Map(_) | Value::Refused => None,
    }
}
