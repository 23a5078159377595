//! Spec → plan. Every default is filled in here, every string is parsed here, and every problem is
//! collected before giving up: a person fixing a file should need one round trip.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use super::{HouseRules, Plan, Retries, RolePlan, channels, metrics::metrics, role};
use crate::{
    framework::{Framework, FrameworkName, UnknownFramework},
    ids::{BadName, JobName, RoleName},
    resources::{parse_duration_ms, show_duration_ms},
    said,
    spec::{self, Convention, JobSpec, Param, Problem, RetriesWord, Secret, join, shown},
    template::{self, Tag},
    words::{Bilingual, Said, Words},
};

pub const DESCRIPTION_CHARACTERS_MAX: usize = 4096;
pub(crate) const TAGS_MAX: usize = 32;
pub(crate) const TAG_CHARACTERS_MAX: usize = 64;
/// Ten years: beyond it someone slipped, and sums of times stay far from the edge of their numbers.
pub(crate) const DURATION_MS_MAX: u64 = 3650 * 86_400_000;
/// The kernel takes no longer single word of a command or environment.
const WORD_BYTES_MAX: usize = 131_071;
/// Our own variables; a person's must not pretend to be one.
const RESERVED_PREFIX: &str = "TRAINMASTER_";

/// The house's rules, and what is wrong so far.
pub(super) struct Compile<'a> {
    pub house: &'a HouseRules,
    /// Whether someone else than who wrote the lines for the shell gave the values in them.
    is_laid: bool,
    problems: Vec<Problem>,
}

impl Compile<'_> {
    pub fn tell(&mut self, path: &str, message: impl Bilingual, hint: impl Bilingual) {
        self.problems.push(Problem::new(path, message).hint(hint));
    }
}

/// A job that stands by itself.
pub(super) fn compile_alone(spec: &JobSpec, house: &HouseRules) -> Result<Plan, Vec<Problem>> {
    compile_in(Compile { house, is_laid: false, problems: Vec::new() }, spec)
}

/// A job with an algorithm laid under it.
pub(crate) fn compile_laid(spec: &JobSpec, house: &HouseRules) -> Result<Plan, Vec<Problem>> {
    compile_in(Compile { house, is_laid: true, problems: Vec::new() }, spec)
}

fn compile_in(mut c: Compile<'_>, spec: &JobSpec) -> Result<Plan, Vec<Problem>> {
    let house = c.house;
    let name = job_name(&mut c, &spec.name);
    let params = params(&mut c, spec);
    check_secrets(&mut c, &spec.secrets);
    let freight = channels::freight(&mut c, spec);
    let mut roles = roles(&mut c, spec);
    if !freight.arguments.is_empty() {
        for role in &mut roles {
            let path = join(&join("roles", role.name.as_str()), "command");
            role.command = channels::taking_arguments(&mut c, &path, std::mem::take(&mut role.command));
        }
    }
    let plan = Plan {
        // Any name will do where the plan is thrown away because of it.
        name: name.unwrap_or_else(|| JobName::parse("unnamed").expect("a good name")),
        description: description(&mut c, spec.description.as_deref().unwrap_or_default()),
        tags: tags(&mut c, &spec.tags),
        priority: spec.priority.unwrap_or(0),
        retries: retries(&mut c, spec.retries),
        gang: spec.gang.unwrap_or(true),
        gang_timeout_ms: house.gang_timeout_ms,
        max_duration_ms: spec.max_duration.as_deref().map(|text| duration_ms(&mut c, "max_duration", text)),
        stop_grace_ms: spec.stop_grace.as_deref().map_or(house.stop_grace_ms_default, |text| duration_ms(&mut c, "stop_grace", text)),
        keep_failed_ms: spec.keep_failed.as_deref().map(|text| duration_ms(&mut c, "keep_failed", text)),
        framework: spec.framework.as_deref().and_then(|text| framework(&mut c, text)),
        params,
        secrets: spec.secrets.iter().map(|(name, secret)| (name.clone(), secret.plan())).collect(),
        conventions: conventions(spec, &roles),
        code: channels::code(&mut c, spec),
        requirements: channels::requirements(&mut c, spec.requirements.as_deref()),
        setup: spec.setup.as_deref().map(|line| setup(&mut c, line, spec)),
        freight,
        metrics: metrics(&mut c, spec.metrics.as_ref()),
        roles,
        algorithm: None,
        origin: Default::default(),
    };
    if c.problems.is_empty() { Ok(plan) } else { Err(c.problems) }
}

fn job_name(c: &mut Compile<'_>, text: &str) -> Option<JobName> {
    let told = |bad: BadName| if bad == BadName::Empty { bad.words() } else { bad.words().of(&shown(text)) };
    let bad = |bad| c.tell("name", told(bad), ("write a name such as digits or bert-large.v2", "请写 digits 或 bert-large.v2 这样的名字"));
    JobName::parse(text).map_err(bad).ok()
}

fn roles(c: &mut Compile<'_>, spec: &JobSpec) -> Vec<RolePlan> {
    if spec.roles.is_empty() {
        c.tell(
            "roles",
            ("has no role, so there is nothing to run", "没有角色，也就没有可运行的内容"),
            ("write `worker:` and under it at least `command: …`", "请写 `worker:`，并在它下面至少写 `command: …`"),
        );
    }
    let job_env = env(c, "env", &spec.env, spec);
    let mut plans = Vec::new();
    for (name, role) in &spec.roles {
        let path = join("roles", name);
        let bad = |bad: BadName| {
            c.tell(
                &path,
                said!("the role's name {}", "角色名 {}", shown(name)).joined(&bad.words()),
                ("write a name such as worker or ps", "请写 worker 或 ps 这样的名字"),
            )
        };
        let parsed = RoleName::parse(name).map_err(bad);
        let plan = role::compile(c, &path, role, spec);
        let Ok(name) = parsed else { continue };
        let served = name.as_str() == "ps" && role.completion.min_succeeded.is_none() && spec.roles.len() > 1;
        plans.push(plan.named(name, role.completion.wait.unwrap_or(!served), &job_env));
    }
    check_total(c, &plans);
    plans
}

fn check_total(c: &mut Compile<'_>, roles: &[RolePlan]) {
    let (total, most) = (roles.iter().map(|role| u64::from(role.tasks)).sum::<u64>(), c.house.tasks_max);
    let each_is_fine = roles.iter().all(|role| role.tasks <= most);
    if each_is_fine && total > u64::from(most) {
        c.tell(
            "roles",
            said!("has {total} tasks together; the most is {most}", "一共 {total} 个任务，最多 {most} 个"),
            ("ask for fewer tasks", "请减少任务数"),
        );
    }
}

fn description(c: &mut Compile<'_>, text: &str) -> String {
    c.problems.extend(description_problems(text));
    text.to_owned()
}

/// What is wrong with a description, which may also be changed by itself.
pub fn description_problems(text: &str) -> Vec<Problem> {
    let length = text.chars().count();
    let wrong = |message: Words, hint: Said| Problem::new("description", message).hint(hint);
    let too_long = (length > DESCRIPTION_CHARACTERS_MAX).then(|| {
        let most = DESCRIPTION_CHARACTERS_MAX;
        wrong(said!("has {length} characters; the most is {most}", "有 {length} 个字符，最多 {most} 个"), ("make it shorter", "请写短一些"))
    });
    let control = text.chars().find(|it| it.is_control() && !matches!(it, '\n' | '\t'));
    let control = control.map(|bad| {
        let message = said!("has the control character {}", "含有控制字符 {}", bad.escape_unicode());
        wrong(message, ("remove it", "请删掉它"))
    });
    too_long.into_iter().chain(control).collect()
}

/// A tag written twice is one tag.
fn tags(c: &mut Compile<'_>, tags: &[String]) -> Vec<String> {
    if tags.len() > TAGS_MAX {
        c.tell(
            "tags",
            said!("has {} tags; the most is {TAGS_MAX}", "有 {} 个标签，最多 {TAGS_MAX} 个", tags.len()),
            ("remove some", "请删掉一些"),
        );
    }
    let mut once: Vec<String> = Vec::new();
    for (index, tag) in tags.iter().enumerate().take(TAGS_MAX) {
        check_tag(c, &format!("tags[{index}]"), tag);
        if !once.contains(tag) {
            once.push(tag.clone());
        }
    }
    once
}

fn check_tag(c: &mut Compile<'_>, path: &str, tag: &str) {
    let length = tag.chars().count();
    if length == 0 {
        c.tell(path, ("is empty", "是空的"), ("write a short label, or remove it", "请写一个简短的标签，或把它删掉"));
    } else if length > TAG_CHARACTERS_MAX {
        c.tell(
            path,
            said!(
                "{} has {length} characters; the most is {TAG_CHARACTERS_MAX}",
                "{} 有 {length} 个字符，最多 {TAG_CHARACTERS_MAX} 个",
                shown(tag)
            ),
            ("write a short label", "请写一个简短的标签"),
        );
    } else if let Some(bad) = tag.chars().find(|it| it.is_control() || *it == ',') {
        let has = match bad {
            ',' => said!("has a comma", "含有逗号"),
            _ => said!("has the control character {}", "含有控制字符 {}", bad.escape_unicode()),
        };
        c.tell(path, has.of(&shown(tag)), ("write each tag as an item of its own, without commas", "每个标签请单独写一项，不要带逗号"));
    } else if tag.trim() != tag {
        c.tell(path, said!("{} begins or ends with a space", "{} 的开头或结尾有空格", shown(tag)), ("remove the space", "请去掉空格"));
    }
}

fn retries(c: &mut Compile<'_>, given: Option<spec::Retries>) -> Retries {
    let most = c.house.retries_max;
    match given {
        None => Retries::UpTo(0),
        Some(spec::Retries::Word(RetriesWord::Always)) => Retries::Always,
        Some(spec::Retries::Word(RetriesWord::Forever)) => Retries::Forever,
        Some(spec::Retries::Count(count)) => Retries::UpTo(limited_retries(c, "retries", count, most)),
    }
}

pub(super) fn limited_retries(c: &mut Compile<'_>, path: &str, count: u32, most: u32) -> u32 {
    if count > most {
        c.tell(
            path,
            said!("is {count}; the most is {most}", "写的是 {count}，最多 {most}"),
            said!("write a number from 0 to {most}", "请写 0 到 {most} 之间的数"),
        );
    }
    count
}

fn framework(c: &mut Compile<'_>, text: &str) -> Option<Framework> {
    let names = FrameworkName::ALL.map(FrameworkName::text);
    let bad = |bad: UnknownFramework| {
        c.tell(
            "framework",
            bad.words().of(&shown(text)),
            (
                format!("write one of {}, with or without a version: pytorch@2.9", names.join(", ")),
                format!("请写 {} 之一，可以带版本：pytorch@2.9", names.join("、")),
            ),
        )
    };
    text.parse().map_err(bad).ok()
}

/// A task that is alone, or comes and goes as it fits, has no peers to be told about. OpenPAI's variables are for
/// OpenPAI's job files.
fn conventions(spec: &JobSpec, roles: &[RolePlan]) -> BTreeSet<Convention> {
    let several = spec.gang.unwrap_or(true) && roles.iter().map(|role| u64::from(role.tasks)).sum::<u64>() > 1;
    match &spec.conventions {
        Some(given) => given.iter().copied().collect(),
        None if several => Convention::ALL.into_iter().filter(|it| !matches!(it, Convention::PaiV1 | Convention::PaiV2)).collect(),
        None => BTreeSet::new(),
    }
}

fn params(c: &mut Compile<'_>, spec: &JobSpec) -> IndexMap<String, Param> {
    let mut params = IndexMap::new();
    for (name, value) in &spec.params {
        let path = join("params", name);
        check_template_name(c, &path, name, ("a parameter", "参数"));
        match value {
            Some(value) => {
                check_word(c, &path, &value.to_string(), 0);
                params.insert(name.clone(), value.clone());
            }
            None => c.tell(&path, ("has no value", "没有值"), ("write a value, or remove it", "请写一个值，或把它删掉")),
        }
    }
    params
}

fn check_secrets(c: &mut Compile<'_>, secrets: &BTreeMap<String, Secret>) {
    for (name, secret) in secrets {
        let path = join("secrets", name);
        check_template_name(c, &path, name, ("a secret", "密钥"));
        if let Some(kept) = secret.plan().named {
            check_template_name(c, &join(&path, "named"), &kept, ("a secret", "密钥"));
        }
        if secret.value().is_some_and(|value| value.contains('\0')) {
            c.tell(
                &path,
                ("has a NUL character, which no program can be given", "含有 NUL 字符，无法交给任何程序"),
                ("remove it", "请删掉它"),
            );
        }
    }
}

fn check_template_name(c: &mut Compile<'_>, path: &str, name: &str, (en, zh): Said) {
    if !template::is_name(name) {
        let hint = (
            "use letters, digits, `_`, `.` and `-`, and begin with a letter or `_`",
            "请用字母、数字、`_`、`.` 和 `-`，并以字母或 `_` 开头",
        );
        c.tell(path, (format!("{} is not a name for {en}", shown(name)), format!("{} 不能用作{zh}的名字", shown(name))), hint);
    }
}

/// A text with its parameters put in.
pub(super) fn filled(c: &mut Compile<'_>, path: &str, word: &str, spec: &JobSpec) -> String {
    check_tags(c, path, word, spec);
    template::with_params(word, |name| value(spec, name))
}

/// The same for a line that a shell reads.
pub(super) fn filled_line(c: &mut Compile<'_>, path: &str, line: &str, spec: &JobSpec) -> String {
    if !c.is_laid {
        return filled(c, path, line, spec);
    }
    check_tags(c, path, line, spec);
    template::with_params_for_shell(line, |name| value(spec, name))
}

fn value(spec: &JobSpec, name: &str) -> Option<String> {
    spec.params.get(name)?.as_ref().map(Param::to_string)
}

fn check_tags(c: &mut Compile<'_>, path: &str, word: &str, spec: &JobSpec) {
    for tag in template::tags(word) {
        let (kind, name, known) = match tag {
            Tag::Param(name) => ("params", name, spec.params.contains_key(name)),
            Tag::Secret(name) => ("secrets", name, spec.secrets.contains_key(name)),
        };
        if !known {
            let hint = said!(
                "add `{name}` under `{kind}`, or write `\\{{{{` for the letters themselves",
                "请在 `{kind}` 下加上 `{name}`；如果只是想写这几个字符，请写 `\\{{{{`"
            );
            c.tell(
                path,
                said!(
                    "says `{{{{ {kind}.{name} }}}}`, and there is no such name under `{kind}`",
                    "用到了 `{{{{ {kind}.{name} }}}}`，但 `{kind}` 下没有这个名字"
                ),
                hint,
            );
        }
    }
}

fn duration_ms(c: &mut Compile<'_>, path: &str, text: &str) -> u64 {
    const HINT: Said = ("write 90s, 15m, 12h or 7d", "请写成 90s、15m、12h 或 7d 这样");
    match parse_duration_ms(text) {
        None => c.tell(path, said!("{} is not a time", "{} 不是时长", shown(text)), HINT),
        Some(0) => c.tell(path, said!("{} is no time at all", "{} 的时长是零", shown(text)), HINT),
        Some(ms) if ms > DURATION_MS_MAX => {
            c.tell(path, said!("{} is too long; the most is {}", "{} 太长，最多 {}", shown(text), show_duration_ms(DURATION_MS_MAX)), HINT);
        }
        Some(ms) => return ms,
    }
    0
}

fn setup(c: &mut Compile<'_>, line: &str, spec: &JobSpec) -> String {
    if line.trim().is_empty() {
        c.tell(
            "setup",
            ("is empty, so there is nothing to run", "是空的，没有可运行的内容"),
            ("write a line such as `pip list`, or remove it", "请写一行命令，如 `pip list`，或把它删掉"),
        );
    }
    check_word(c, "setup", line, 0);
    filled_line(c, "setup", line, spec)
}

/// Variables with their parameters put in.
pub(super) fn env(c: &mut Compile<'_>, path: &str, env: &BTreeMap<String, String>, spec: &JobSpec) -> BTreeMap<String, String> {
    let mut planned = BTreeMap::new();
    for (name, value) in env {
        let path = join(path, name);
        check_variable(c, &path, name);
        check_word(c, &path, value, name.len() + 1);
        planned.insert(name.clone(), filled(c, &path, value, spec));
    }
    planned
}

pub(super) fn check_variable(c: &mut Compile<'_>, path: &str, name: &str) {
    let head = |it: char| it.is_ascii_alphabetic() || it == '_';
    if !name.starts_with(head) || !name.chars().all(|it| head(it) || it.is_ascii_digit()) {
        let hint = ("use letters, digits and _, and begin with a letter or _", "请用字母、数字和 _，并以字母或 _ 开头");
        c.tell(path, said!("{} is not a name for a variable", "{} 不能用作变量名", shown(name)), hint);
    } else if name.starts_with(RESERVED_PREFIX) {
        let message = said!(
            "{} is reserved: names that begin with {RESERVED_PREFIX} tell a task about its job",
            "{} 是保留的：以 {RESERVED_PREFIX} 开头的变量用来告诉任务有关作业的信息",
            shown(name)
        );
        c.tell(path, message, ("choose another name", "请换一个名字"));
    }
}

/// Checks one word that the kernel will be given, together with `beside_bytes` more.
pub(super) fn check_word(c: &mut Compile<'_>, path: &str, word: &str, beside_bytes: usize) {
    let length = word.len() + beside_bytes;
    if word.contains('\0') {
        c.tell(
            path,
            said!("{} has a NUL character, which no program can be given", "{} 含有 NUL 字符，无法交给任何程序", shown(word)),
            ("remove it", "请删掉它"),
        );
    } else if length > WORD_BYTES_MAX {
        c.tell(
            path,
            said!("has {length} bytes; the kernel takes at most {WORD_BYTES_MAX}", "有 {length} 字节，内核最多接受 {WORD_BYTES_MAX} 字节"),
            ("put it in a file under `code` or `input`", "请放进 `code` 或 `input` 里的文件"),
        );
    }
}
