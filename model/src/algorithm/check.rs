//! Whether an algorithm can be what it says, told before anyone makes a job of it.

use super::{Algorithm, NO_ACCELERATOR, NO_ARGUMENT, ParamRule, ParamType, command, lay, params};
use crate::{
    ids::{AlgorithmName, BadName},
    plan::{HouseRules, Plan, bad_label, compile_laid, description_problems},
    said,
    spec::{Command, Input, JobSpec, Output, Problem, join, shown},
    words::Bilingual,
};

/// The plan of a job that gives it everything it asks for, or every problem of the algorithm at its own paths.
pub fn check(algorithm: &Algorithm) -> Result<Plan, Vec<Problem>> {
    let mut checking = Checking { algorithm, problems: Vec::new() };
    checking.whole();
    checking.params();
    checking.channels();
    checking.needs();
    let tried = Algorithm { command: checking.command(), ..with_every_value(algorithm) };
    let plan = compile_laid(&lay(&trial(algorithm), &tried).0, &HouseRules::default());
    match plan {
        Ok(plan) if checking.problems.is_empty() => Ok(plan),
        Ok(_) => Err(checking.problems),
        Err(found) => Err(checking.problems.into_iter().chain(found.into_iter().map(of_algorithm)).collect()),
    }
}

/// A job that says something for each channel. What it says is not asked for.
fn trial(algorithm: &Algorithm) -> JobSpec {
    let place = |name: &String| format!("/{name}");
    JobSpec {
        name: "trial".into(),
        description: algorithm.description.clone(),
        inputs: algorithm.inputs.keys().map(|name| (name.clone(), Input::Place(place(name)))).collect(),
        outputs: algorithm.outputs.keys().map(|name| (name.clone(), Output::Place(place(name)))).collect(),
        ..JobSpec::default()
    }
}

/// One that lacks no value wherever it puts one in.
fn with_every_value(algorithm: &Algorithm) -> Algorithm {
    let params = algorithm.params.iter().map(|(name, rule)| (name.clone(), ParamRule { required: true, ..rule.clone() }));
    Algorithm { params: params.collect(), ..algorithm.clone() }
}

/// A problem of the trial as one of the algorithm that it was made from.
fn of_algorithm(problem: Problem) -> Problem {
    match problem.path.as_str() {
        "roles.worker.command" => Problem { path: "command".into(), ..problem },
        "code.password" => problem.hint((
            "write `password: \"{{ secrets.git }}\"`; a job then gives its own as `git` under `secrets`",
            "请写 `password: \"{{ secrets.git }}\"`；作业再在 `secrets` 下用 `git` 给出自己的密码",
        )),
        _ => problem,
    }
}

struct Checking<'a> {
    algorithm: &'a Algorithm,
    problems: Vec<Problem>,
}

impl Checking<'_> {
    fn tell(&mut self, path: &str, message: impl Bilingual, hint: impl Bilingual) {
        self.problems.push(Problem::new(path, message).hint(hint));
    }

    fn whole(&mut self) {
        let name = &self.algorithm.name;
        if let Err(bad) = AlgorithmName::parse(name) {
            let told = if bad == BadName::Empty { bad.words() } else { bad.words().of(&shown(name)) };
            self.tell("name", told, ("write a name such as mnist-mlp", "请写 mnist-mlp 这样的名字"));
        }
        if self.algorithm.code.is_none() && self.algorithm.image.is_none() {
            self.tell(
                "code",
                said!("is missing, and there is no `image` that could have the program", "没有写，也没有可能带有程序的 `image`"),
                (
                    "write a repository, a volume's place, or `code: .` for the folder of the file",
                    "请写代码仓库、数据卷里的位置，或用 `code: .` 表示文件所在的目录",
                ),
            );
        }
        self.problems.extend(description_problems(self.algorithm.description.as_deref().unwrap_or_default()));
    }

    fn params(&mut self) {
        let algorithm = self.algorithm;
        let named = params::named(algorithm);
        for (name, rule) in &algorithm.params {
            let path = join("params", name);
            self.values(&path, rule);
            self.way_in(&path, (name, rule), named.contains(name.as_str()));
        }
        self.flags();
    }

    /// Two of one name would be handed over, and the program would take one of them.
    fn flags(&mut self) {
        let taken = params::flags_taken(self.algorithm);
        for (index, (flag, path)) in taken.iter().enumerate() {
            if let Some((_, other)) = taken[..index].iter().find(|(earlier, _)| earlier == flag) {
                self.tell(
                    &join(path, "argument"),
                    said!("is `{flag}`, which is the flag of `{other}` too", "是 `{flag}`，而 `{other}` 的命令行选项也是它"),
                    ("write another flag for one of the two", "请为其中一个改写别的命令行选项"),
                );
            }
        }
    }

    /// The command to try. One that was refused is not judged again.
    fn command(&mut self) -> Command {
        let command = &self.algorithm.command;
        let Some((message, hint)) = command::fault(self.algorithm) else { return command.clone() };
        self.tell("command", message, hint);
        command::names_alone(command)
    }

    /// Whether what it may be agrees with itself.
    fn values(&mut self, path: &str, rule: &ParamRule) {
        let is_number = matches!(rule.kind, ParamType::Integer | ParamType::Number);
        for key in [rule.min.map(|_| "min"), rule.max.map(|_| "max")].into_iter().flatten().filter(|_| !is_number) {
            let kind = rule.kind.text();
            self.tell(
                &join(path, key),
                said!("is for numbers, and the type is {kind}", "只适用于数字，而类型是 {kind}"),
                ("remove it, or write `choices`", "请删掉它，或改写 `choices`"),
            );
        }
        for (key, _) in [("min", rule.min), ("max", rule.max)].into_iter().filter(|(_, bound)| bound.is_some_and(|it| !it.is_finite())) {
            self.tell(
                &join(path, key),
                ("is no number that anything could be held against", "不是可以用来比较的数"),
                ("write a number such as 1, or remove it", "请写一个数，如 1，或把它删掉"),
            );
        }
        if let (Some(min), Some(max)) = (rule.min, rule.max)
            && min > max
        {
            self.tell(
                &join(path, "min"),
                said!("is {min}, which is more than `max`, {max}", "是 {min}，比 `max`（{max}）还大"),
                ("swap the two", "请对调两者"),
            );
        }
        let alone = ParamRule { choices: Vec::new(), ..rule.clone() };
        for (index, choice) in rule.choices.iter().enumerate() {
            if let Err((message, hint)) = params::fitting(&alone, choice) {
                self.tell(&format!("{}[{index}]", join(path, "choices")), message, hint);
            }
        }
        if let Some(Err((message, hint))) = rule.default.as_ref().map(|value| params::fitting(rule, value)) {
            self.tell(&join(path, "default"), message, hint);
        }
        if rule.fixed && rule.default.is_none() {
            self.tell(
                &join(path, "default"),
                ("is missing, and `fixed` needs it", "没有写，而 `fixed` 需要它"),
                ("write the value that it always has", "请写上它固定的值"),
            );
        }
    }

    /// Whether it gets to the program, and has a value wherever one is put in.
    fn way_in(&mut self, path: &str, (name, rule): (&str, &ParamRule), is_named: bool) {
        if is_named && !rule.required && !rule.fixed {
            self.tell(
                &join(path, "required"),
                said!(
                    "is false, and `{{{{ params.{name} }}}}` would have nothing to put in",
                    "写的是 false，那样 `{{{{ params.{name} }}}}` 就没有值可填"
                ),
                ("write `required: true`, or let a flag hand it over", "请写 `required: true`，或改用命令行选项传递"),
            );
        }
        let at = join(path, "argument");
        match rule.argument.as_deref() {
            Some(NO_ARGUMENT) if !is_named => self.tell(
                &at,
                said!(
                    "is `none`, and no `{{{{ params.{name} }}}}` puts it in, so the program would never have it",
                    "写的是 `none`，又没有任何 `{{{{ params.{name} }}}}`，程序永远得不到它"
                ),
                said!("write a flag such as `--{name}`, or name it in the command", "请写命令行选项，如 `--{name}`，或在命令里用到它"),
            ),
            Some(NO_ARGUMENT) | None => {}
            Some(flag) if !is_flag(flag) => {
                self.tell(
                    &at,
                    said!("{} is not a flag", "{} 不是命令行选项", shown(flag)),
                    ("write a flag such as `--batch_size`, or `none`", "请写命令行选项，如 `--batch_size`，或写 `none`"),
                );
            }
            Some(_) => {}
        }
    }

    fn channels(&mut self) {
        for (name, slot) in &self.algorithm.inputs {
            if slot.accepts.is_empty() {
                self.tell(
                    &join(&join("inputs", name), "accepts"),
                    ("is empty, so a job could give it nothing", "是空的，作业就什么也不能给它"),
                    ("write `[dataset, place]`, or one of them", "请写 `[dataset, place]`，或其中之一"),
                );
            }
        }
    }

    fn needs(&mut self) {
        let needs = &self.algorithm.needs;
        for (key, count) in [("accelerators_max", needs.accelerators_max), ("tasks_max", needs.tasks_max)] {
            if count == Some(0) {
                self.tell(
                    &join("needs", key),
                    ("is 0", "写的是 0"),
                    said!(
                        "write 1 or more; `accelerators: [{NO_ACCELERATOR}]` says that it uses CPUs alone",
                        "请写 1 或更大的数；只用 CPU 请写 `accelerators: [{NO_ACCELERATOR}]`"
                    ),
                );
            }
        }
        for (index, kind) in needs.accelerators.iter().flatten().enumerate() {
            if let Some((message, hint)) = bad_label(kind, ("a type of accelerator", "加速卡型号")) {
                self.tell(&format!("needs.accelerators[{index}]"), message, hint);
            }
        }
        if needs.accelerators.as_ref().is_some_and(Vec::is_empty) {
            self.tell(
                "needs.accelerators",
                ("is empty, so it could run on nothing", "是空的，也就什么都不能用"),
                said!(
                    "write types such as `[{NO_ACCELERATOR}, A100]`, or remove it",
                    "请写型号，如 `[{NO_ACCELERATOR}, A100]`，或把它删掉"
                ),
            );
        }
    }
}

/// The same as of a channel.
fn is_flag(flag: &str) -> bool {
    flag.starts_with('-') && !flag.chars().any(|it| it.is_whitespace() || it.is_control() || it == '=')
}
