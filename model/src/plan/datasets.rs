//! Datasets that a plan names: what they are is filled in once, when the job is submitted.

use std::collections::BTreeMap;

use super::{Plan, volumes::named_and_more};
use crate::{
    channels::InputPlan,
    dataset::{DatasetVersion, InputFrom},
    ids::DatasetName,
    said,
    spec::{JobSpec, Problem, join, nearest},
    versioned::{Version, Versioned},
    words::Words,
};

/// The datasets that there are for somebody. Those that a plan names have their versions with them, the newest first.
pub type KnownDatasets = BTreeMap<DatasetName, Vec<DatasetVersion>>;

impl Plan {
    /// The datasets that it names and that nobody has looked up yet.
    pub fn datasets_to_pin(&self) -> Vec<&Versioned<DatasetName>> {
        self.freight.inputs.iter().filter_map(|it| if let InputFrom::Dataset(named) = &it.from { Some(named) } else { None }).collect()
    }

    /// Puts in what every dataset is, or tells every problem with them. From then on `latest` is a number.
    pub fn pin_datasets(&mut self, known: &KnownDatasets) -> Result<(), Vec<Problem>> {
        let mut problems = Vec::new();
        for input in &mut self.freight.inputs {
            let InputFrom::Dataset(named) = &input.from else { continue };
            match looked_up(named, known) {
                Ok(version) => input.from = InputFrom::Version(version.clone()),
                Err((message, hint)) => problems.push(Problem::new(key(input), message).hint(hint)),
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Writes the numbers of its datasets into the spec that it was made from: what is submitted again is then the same again.
    pub fn pin_into(&self, spec: &mut JobSpec) {
        for input in &self.freight.inputs {
            let Some(pinned) = input.from.version().map(|it| it.name().to_string()) else { continue };
            let written = match &input.name {
                Some(name) => spec.inputs.get_mut(name),
                None => spec.input.as_mut(),
            };
            written.into_iter().for_each(|it| *it = it.clone().with_place(|_| pinned.clone()));
        }
    }
}

fn key(input: &InputPlan) -> String {
    input.name.as_ref().map_or("input".to_owned(), |name| join("inputs", name))
}

fn looked_up<'a>(named: &Versioned<DatasetName>, known: &'a KnownDatasets) -> Result<&'a DatasetVersion, (Words, Words)> {
    let versions = known.get(&named.name).ok_or_else(|| no_dataset(&named.name, known))?;
    let found = match named.version {
        Version::Latest => versions.first(),
        Version::Number(number) => versions.iter().find(|it| it.version == number),
    };
    found.ok_or_else(|| no_version(named, versions))
}

fn no_dataset(name: &DatasetName, known: &KnownDatasets) -> (Words, Words) {
    let Words { en: all, zh: all_zh } = named_and_more(known.keys().map(ToString::to_string));
    let hint = match nearest(name.as_str(), known.keys().map(DatasetName::as_str)) {
        _ if known.is_empty() => said!(
            "there are no datasets yet; `trainmaster datasets add {name} PLACE` makes one",
            "还没有任何数据集；用 `trainmaster datasets add {name} 位置` 添加"
        ),
        Some(near) => said!("did you mean `{near}`? The datasets are {all}", "是不是想写 `{near}`？现有的数据集：{all_zh}"),
        None => said!(
            "the datasets are {all}; `trainmaster datasets add` makes another; a directory that is called so is written `./…`",
            "现有的数据集：{all_zh}；用 `trainmaster datasets add` 可以再添加；如果指的是目录，请写成 `./…`"
        ),
    };
    (said!("there is no dataset `{name}`", "没有数据集 `{name}`"), hint)
}

fn no_version(named: &Versioned<DatasetName>, versions: &[DatasetVersion]) -> (Words, Words) {
    let Versioned { name, version } = named;
    let Words { en: all, zh: all_zh } = named_and_more(versions.iter().map(|it| it.name().to_string()));
    let message = match version {
        Version::Latest => said!("the dataset `{name}` has no version any more", "数据集 `{name}` 已经没有任何版本"),
        Version::Number(number) => said!("the dataset `{name}` has no version {number}", "数据集 `{name}` 没有版本 {number}"),
    };
    let hint = if versions.is_empty() {
        said!("`trainmaster datasets add {name} PLACE` makes one", "用 `trainmaster datasets add {name} 位置` 添加")
    } else {
        said!("the versions are {all}; one that was forgotten does not come back", "现有的版本：{all_zh}；移除的版本无法恢复")
    };
    (message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        dataset::Held,
        plan::{HouseRules, from_text},
        spec::to_yaml,
    };

    fn known(all: &[(&str, &[u32])]) -> KnownDatasets {
        let version = |name: &str, version: u32| DatasetVersion {
            dataset: name.parse().unwrap(),
            version,
            at: format!("data:{name}/v{version}").parse().unwrap(),
            held: Held { files: 1, bytes: 2, fingerprint: "f".into() },
        };
        let versions = |(name, numbers): &(&str, &[u32])| {
            (name.parse().unwrap(), numbers.iter().map(|number| version(name, *number)).collect::<Vec<_>>())
        };
        all.iter().map(versions).collect()
    }

    fn pinned(inputs: &str, known: &KnownDatasets) -> String {
        let (mut spec, mut plan) = from_text(&format!("name: a\n{inputs}\nroles: {{w: {{command: x}}}}"), &HouseRules::default()).unwrap();
        if let Err(problems) = plan.pin_datasets(known) {
            return problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        }
        plan.pin_into(&mut spec);
        let inputs = plan.freight.inputs.iter().map(|it| format!("{} {}", it.path(), it.from));
        inputs.chain([to_yaml(&spec)]).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_plan_and_its_spec_get_the_numbers_of_what_they_name() {
        let known = known(&[("mnist", &[3, 1]), ("faces", &[2])]);
        insta::assert_snapshot!([
            pinned("inputs: {data: mnist@latest, old: {from: mnist@1, unpack: true}, other: data:x}", &known),
            pinned("input: faces@2", &known),
        ].join("\n"), @"
        /input/data mnist@3 (data:mnist/v3)
        /input/old mnist@1 (data:mnist/v1)
        /input/other data:x
        name: a
        inputs:
          data: mnist@3
          old:
            from: mnist@1
            unpack: true
          other: data:x
        roles:
          w:
            command: x

        /input faces@2 (data:faces/v2)
        name: a
        input: faces@2
        roles:
          w:
            command: x
        ");
    }

    #[test]
    fn a_dataset_that_is_not_there_is_told_with_those_that_are() {
        let there = known(&[("mnist", &[3, 1]), ("gone", &[])]);
        insta::assert_snapshot!([
            pinned("inputs: {a: mnits@3, b: mnist@2, c: gone@latest, d: gone@1}", &there),
            pinned("input: {from: zoo@latest}", &there),
            pinned("input: zoo@1", &KnownDatasets::new()),
        ].join("\n"), @"
        inputs.a: there is no dataset `mnits` (did you mean `mnist`? The datasets are `gone`, `mnist`)
        inputs.b: the dataset `mnist` has no version 2 (the versions are `mnist@3`, `mnist@1`; one that was forgotten does not come back)
        inputs.c: the dataset `gone` has no version any more (`trainmaster datasets add gone PLACE` makes one)
        inputs.d: the dataset `gone` has no version 1 (`trainmaster datasets add gone PLACE` makes one)
        input: there is no dataset `zoo` (the datasets are `gone`, `mnist`; `trainmaster datasets add` makes another; a directory that is called so is written `./…`)
        input: there is no dataset `zoo` (there are no datasets yet; `trainmaster datasets add zoo PLACE` makes one)
        ");
    }
}
