//! Which volumes a plan names, and where in its file.

use std::collections::BTreeMap;

use super::{Beginning, Plan};
use crate::{
    code::CodePlan,
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
        let problem = |(key, location, is_written): (String, &Location, bool)| {
            let name = location.volume()?;
            match known.get(name) {
                None => Some(unknown(key, name, known)),
                Some(Volume::Http { .. }) if is_written => {
                    let message = said!(
                        "the volume `{name}` is a web server's, and nothing can be written there",
                        "数据卷 `{name}` 是网页服务器，无法往那里写文件"
                    );
                    Some(Problem::new(key, message).hint(("write to a bucket or to a local volume", "请写到对象存储桶或本地数据卷")))
                }
                Some(Volume::Claim { .. }) => Some(not_on_this_machine(key, name, ("a Kubernetes claim", "Kubernetes 存储声明"))),
                Some(Volume::Nfs { .. }) => Some(not_on_this_machine(key, name, ("an NFS export", "NFS 导出目录"))),
                Some(Volume::Local { .. } | Volume::S3 { .. } | Volume::Http { .. }) => None,
            }
        };
        self.places().into_iter().filter_map(problem).collect()
    }

    /// Every place with its key in the job file, and whether it is written to.
    fn places(&self) -> Vec<(String, &Location, bool)> {
        let key = |one: &str, several: &str, name: &Option<String>| name.as_ref().map_or(one.to_owned(), |name| join(several, name));
        let code = self.code.iter().filter_map(|code| if let CodePlan::At(at) = code { Some(("code".into(), at, false)) } else { None });
        let inputs = self.freight.inputs.iter().map(|it| (key("input", "inputs", &it.name), &it.from, false));
        let outputs = self.freight.outputs.iter().map(|it| (key("output", "outputs", &it.name), &it.to, true));
        let logs = self.freight.logs.iter().map(|at| ("logs".into(), at, true));
        let from =
            self.freight.from.iter().filter_map(|it| if let Beginning::At(at) = it { Some(("from".into(), at, false)) } else { None });
        code.chain(inputs).chain(outputs).chain(logs).chain(from).collect()
    }
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

fn unknown(key: String, name: &VolumeName, known: &BTreeMap<VolumeName, Volume>) -> Problem {
    const NAMES_TOLD_MAX: usize = 10;
    let names = || known.keys().map(VolumeName::as_str);
    let told: Vec<String> = names().take(NAMES_TOLD_MAX).map(|name| format!("`{name}`")).collect();
    let (first, first_zh) = (told.join(", "), told.join("、"));
    let Words { en: all, zh: all_zh } = match known.len().saturating_sub(NAMES_TOLD_MAX) {
        0 => Words::new(first, first_zh),
        more => said!("{first} and {more} more", "{first_zh}，另有 {more} 个"),
    };
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
