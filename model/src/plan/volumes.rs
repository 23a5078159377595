//! Which volumes a plan names, and where in its file.

use std::collections::BTreeMap;

use super::{Beginning, Plan};
use crate::{
    code::CodePlan,
    dataset::DatasetVersion,
    ids::VolumeName,
    location::Location,
    said,
    spec::{Problem, join, nearest},
    volume::Volume,
    words::Words,
};

impl Plan {
    /// Everything that is wrong with the volumes it names, given those there are for its owner.
    pub fn volume_problems(&self, known: &BTreeMap<VolumeName, Volume>) -> Vec<Problem> {
        self.places().into_iter().filter_map(|place| place.problem(known)).collect()
    }

    /// Every place that is named.
    fn places(&self) -> Vec<Place<'_>> {
        let key = |one: &str, several: &str, name: &Option<String>| name.as_ref().map_or(one.to_owned(), |name| join(several, name));
        let read = |key: String, at| Place { key, at, is_written: false, dataset: None };
        let code = self.code.iter().filter_map(|code| if let CodePlan::At(at) = code { Some(read("code".into(), at)) } else { None });
        let inputs = self
            .freight
            .inputs
            .iter()
            .filter_map(|it| Some(Place { dataset: it.from.version(), ..read(key("input", "inputs", &it.name), it.from.place()?) }));
        let written = |key: String, at| Place { is_written: true, ..read(key, at) };
        let outputs = self.freight.outputs.iter().map(|it| written(key("output", "outputs", &it.name), &it.to));
        let logs = self.freight.logs.iter().map(|at| written("logs".into(), at));
        let from = self.freight.from.iter().filter_map(|it| if let Beginning::At(at) = it { Some(read("from".into(), at)) } else { None });
        code.chain(inputs).chain(outputs).chain(logs).chain(from).collect()
    }
}

struct Place<'a> {
    /// In the job file.
    key: String,
    at: &'a Location,
    is_written: bool,
    /// What stands for the place in the job file, if it does not name it itself.
    dataset: Option<&'a DatasetVersion>,
}

impl Place<'_> {
    fn problem(self, known: &BTreeMap<VolumeName, Volume>) -> Option<Problem> {
        let Self { key, is_written, dataset, .. } = self;
        let name = self.at.volume()?;
        match (known.get(name), dataset) {
            (None, None) => Some(unknown(key, name, known)),
            (None, Some(dataset)) => Some(not_theirs(key, dataset, name)),
            (Some(Volume::Http { .. }), _) if is_written => {
                let message = said!(
                    "the volume `{name}` is a web server's, and nothing can be written there",
                    "数据卷 `{name}` 是网页服务器，无法往那里写文件"
                );
                Some(Problem::new(key, message).hint(("write to a bucket or to a local volume", "请写到对象存储桶或本地数据卷")))
            }
            (Some(Volume::Claim { .. }), _) => Some(not_on_this_machine(key, name, ("a Kubernetes claim", "Kubernetes 存储声明"))),
            (Some(Volume::Nfs { .. }), _) => Some(not_on_this_machine(key, name, ("an NFS export", "NFS 导出目录"))),
            (Some(Volume::Local { .. } | Volume::S3 { .. } | Volume::Http { .. }), _) => None,
        }
    }
}

/// Whoever may name a dataset may not therefore enter the volume it points into.
fn not_theirs(key: String, dataset: &DatasetVersion, volume: &VolumeName) -> Problem {
    let (name, at) = (dataset.name(), dataset.at.without_query());
    let message = said!("{name} is at {at}, and you have no volume `{volume}`", "{name} 的数据在 {at}，而你没有数据卷 `{volume}`");
    Problem::new(key, message).hint((
        "ask an administrator to add the volume for everyone, or choose another dataset: `trainmaster datasets list`",
        "请管理员把这个数据卷添加给所有人，或换一个数据集：`trainmaster datasets list`",
    ))
}

/// Said before anything runs: at the end of a training it would be too late.
fn not_on_this_machine(key: String, name: &VolumeName, (what, zh): (&str, &str)) -> Problem {
    let message = said!(
        "the volume `{name}` is {what}, which tasks on the server's own machine cannot use",
        "数据卷 `{name}` 是{zh}，在服务器自己的机器上运行的任务无法使用"
    );
    Problem::new(key, message).hint((
        "mount it there and add the directory with `trainmaster volumes add NAME --local DIR`",
        "请在那里挂载它，再用 `trainmaster volumes add NAME --local DIR` 添加该目录",
    ))
}

/// The first few by name, and how many there are besides.
pub(super) fn named_and_more(names: impl ExactSizeIterator<Item = String>) -> Words {
    const NAMES_TOLD_MAX: usize = 10;
    let count = names.len();
    let told: Vec<String> = names.take(NAMES_TOLD_MAX).map(|name| format!("`{name}`")).collect();
    let (first, first_zh) = (told.join(", "), told.join("、"));
    match count.saturating_sub(NAMES_TOLD_MAX) {
        0 => Words::new(first, first_zh),
        more => said!("{first} and {more} more", "{first_zh}，另有 {more} 个"),
    }
}

fn unknown(key: String, name: &VolumeName, known: &BTreeMap<VolumeName, Volume>) -> Problem {
    let names = || known.keys().map(VolumeName::as_str);
    let Words { en: all, zh: all_zh } = named_and_more(known.keys().map(ToString::to_string));
    let hint = match (nearest(name.as_str(), names()), known.len()) {
        (_, 0) => {
            said!("there are no volumes yet; `trainmaster volumes add` makes one", "还没有任何数据卷；用 `trainmaster volumes add` 添加")
        }
        (Some(near), _) => said!("did you mean `{near}`? The volumes are {all}", "是不是想写 `{near}`？现有的数据卷：{all_zh}"),
        (None, _) => said!(
            "the volumes are {all}; `trainmaster volumes add` makes another",
            "现有的数据卷：{all_zh}；用 `trainmaster volumes add` 可以再添加"
        ),
    };
    Problem::new(key, said!("there is no volume `{name}`", "没有数据卷 `{name}`")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{HouseRules, from_text};

    fn said(text: &str, known: &[&str]) -> String {
        let plan = from_text(&format!("name: a\nroles: {{w: {{command: x}}}}\n{text}"), &HouseRules::default()).unwrap().1;
        let volume = |name: &&str| {
            let volume = match *name {
                "web" => Volume::Http { url: "http://x".into() },
                "claim" => Volume::Claim { claim: "pvc".into() },
                "filer" => Volume::Nfs { server: "nas".into(), path: "/export".into() },
                _ => Volume::Local { path: "/x".into() },
            };
            (VolumeName::parse(name).unwrap(), volume)
        };
        let problems = plan.volume_problems(&known.iter().map(volume).collect());
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_volume_that_is_not_there_is_told_with_those_that_are() {
        insta::assert_snapshot!([
            said("inputs: {data: dat:mnist, other: web:x}", &["data", "web"]),
            said("input: archive:mnist\ncode: cod:x", &["data"]),
            said("output: results\nlogs: logs:x\nfrom: models:x", &[]),
            said("output: web:x", &["web"]),
            said("input: v:x", &["v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "w1", "w2"]),
        ].join("\n"), @"
        inputs.data: there is no volume `dat` (did you mean `data`? The volumes are `data`, `web`)
        code: there is no volume `cod` (the volumes are `data`; `trainmaster volumes add` makes another)
        input: there is no volume `archive` (the volumes are `data`; `trainmaster volumes add` makes another)
        output: there is no volume `results` (there are no volumes yet; `trainmaster volumes add` makes one)
        logs: there is no volume `logs` (there are no volumes yet; `trainmaster volumes add` makes one)
        from: there is no volume `models` (there are no volumes yet; `trainmaster volumes add` makes one)
        output: the volume `web` is a web server's, and nothing can be written there (write to a bucket or to a local volume)
        input: there is no volume `v` (did you mean `v1`? The volumes are `v1`, `v2`, `v3`, `v4`, `v5`, `v6`, `v7`, `v8`, `v9`, `w1` and 1 more)
        ");
    }

    #[test]
    fn what_this_machine_cannot_open_is_refused_before_anything_runs() {
        insta::assert_snapshot!(said("inputs: {data: filer:sets}\noutput: claim", &["claim", "filer"]), @"
        inputs.data: the volume `filer` is an NFS export, which tasks on the server's own machine cannot use (mount it there and add the directory with `trainmaster volumes add NAME --local DIR`)
        output: the volume `claim` is a Kubernetes claim, which tasks on the server's own machine cannot use (mount it there and add the directory with `trainmaster volumes add NAME --local DIR`)
        ");
    }
}
