//! Channels: what a job gives an algorithm to read, and where what it writes goes.

use indexmap::IndexMap;

use super::{Accepted, InputSlot, OutputSlot, apply::Laying, described};
use crate::{
    dataset, said,
    spec::{Input, InputChannel, Output, OutputChannel, join, nearest, shown},
    words::{Words, listed},
};

pub(super) fn inputs(laying: &mut Laying<'_>, given: &IndexMap<String, Input>) -> IndexMap<String, Input> {
    let slots = &laying.algorithm.inputs;
    check_names(laying, "inputs", given.keys(), slots.keys());
    let mut inputs = IndexMap::new();
    for (name, slot) in slots {
        let path = join("inputs", name);
        match given.get(name) {
            Some(input) => drop(inputs.insert(name.clone(), Input::Channel(read(laying, &path, (slot, input))))),
            None if slot.required => missing_input(laying, &path, (name, slot)),
            None => {}
        }
    }
    inputs
}

fn read(laying: &mut Laying<'_>, path: &str, (slot, input): (&InputSlot, &Input)) -> InputChannel {
    let channel = input.channel();
    let place = if let Input::Channel(_) = input { join(path, "from") } else { path.to_owned() };
    let is_dataset = dataset::is_meant(&channel.from);
    let written = if is_dataset { Accepted::Dataset } else { Accepted::Place };
    if !slot.accepts.contains(&written) {
        let told = shown(&channel.from);
        match written {
            Accepted::Dataset => laying.tell(
                &place,
                said!("{told} is a dataset, and the algorithm takes only places here", "{told} 是数据集，而算法在这里只接受位置"),
                said!("write a place such as `data:mnist`", "请写位置，如 `data:mnist`"),
            ),
            Accepted::Place => laying.tell(
                &place,
                said!("{told} is a place, and the algorithm takes only datasets here", "{told} 是位置，而算法在这里只接受数据集"),
                said!("write a dataset and version such as `mnist@latest`", "请写数据集和版本，如 `mnist@latest`"),
            ),
        }
    }
    check_told(laying, path, (channel.argument.as_ref(), channel.env.as_ref()));
    InputChannel {
        from: channel.from,
        unpack: channel.unpack.or(Some(slot.unpack)),
        argument: slot.argument.clone(),
        env: slot.env.clone(),
    }
}

fn missing_input(laying: &mut Laying<'_>, path: &str, (name, slot): (&str, &InputSlot)) {
    let (en, zh) = match slot.accepts.as_slice() {
        [Accepted::Place] => ("data:mnist", "位置"),
        [Accepted::Dataset] => ("mnist@latest", "数据集和版本"),
        _ => ("mnist@latest", "数据集和版本，或位置"),
    };
    let hint = Words::new(
        format!("write where the data is, such as `inputs: {{{name}: {en}}}`"),
        format!("请写数据在哪里（{zh}），如 `inputs: {{{name}: {en}}}`"),
    );
    laying.tell(path, missing(slot.description.as_deref()), hint);
}

fn missing(description: Option<&str>) -> Words {
    let Words { en, zh } = described(description);
    Words::new(format!("is missing, and the algorithm needs it{en}"), format!("没有写，而算法需要它{zh}"))
}

pub(super) fn outputs(laying: &mut Laying<'_>, given: &IndexMap<String, Output>) -> IndexMap<String, Output> {
    let slots = &laying.algorithm.outputs;
    check_names(laying, "outputs", given.keys(), slots.keys());
    let mut outputs = IndexMap::new();
    for (name, slot) in slots {
        let path = join("outputs", name);
        match given.get(name) {
            Some(output) => drop(outputs.insert(name.clone(), Output::Channel(written(laying, &path, (slot, output))))),
            None if slot.required => laying.tell(
                &path,
                missing(slot.description.as_deref()),
                said!(
                    "write where the files shall go, such as `outputs: {{{name}: results:{name}}}`",
                    "请写文件要放到哪里，如 `outputs: {{{name}: results:{name}}}`"
                ),
            ),
            None => {}
        }
    }
    outputs
}

fn written(laying: &mut Laying<'_>, path: &str, (slot, output): (&OutputSlot, &Output)) -> OutputChannel {
    let channel = output.channel();
    check_told(laying, path, (channel.argument.as_ref(), channel.env.as_ref()));
    OutputChannel { to: channel.to, layout: channel.layout.or(slot.layout), argument: slot.argument.clone(), env: slot.env.clone() }
}

/// How a program is told where a channel is, is for whoever wrote the program to say.
fn check_told(laying: &mut Laying<'_>, path: &str, (argument, env): (Option<&String>, Option<&String>)) {
    for key in [argument.map(|_| "argument"), env.map(|_| "env")].into_iter().flatten() {
        laying.refuse(&join(path, key));
    }
}

fn check_names<'a>(laying: &mut Laying<'_>, kind: &str, given: impl Iterator<Item = &'a String>, known: impl Iterator<Item = &'a String>) {
    let known: Vec<&str> = known.map(String::as_str).collect();
    for name in given.filter(|name| !known.contains(&name.as_str())) {
        let hint = match nearest(name, known.iter().copied()) {
            Some(near) => said!("did you mean `{near}`?", "是不是想写 `{near}`？"),
            None if known.is_empty() => said!("remove it: the algorithm has no {kind}", "请删掉它：这个算法没有 `{kind}`"),
            None => listed(("its channels here are", "这里可以写的通道有"), &known),
        };
        laying.tell(&join(kind, name), said!("is no channel of the algorithm", "不是算法的通道"), hint);
    }
}
