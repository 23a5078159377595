//! Parameters: what a job says for each, held against what the algorithm allows, and how each gets to the program.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::{Algorithm, NO_ARGUMENT, ParamRule, ParamType, apply::Laying, described};
use crate::{
    said,
    spec::{Param, join, nearest, shown},
    template::{self, Tag},
    words::{Words, listed},
};

/// Every parameter with the value that it has, in the algorithm's order; the job's own come behind.
pub(super) fn values(laying: &mut Laying<'_>, given: &IndexMap<String, Option<Param>>) -> IndexMap<String, Param> {
    let algorithm = laying.algorithm;
    let mut values = IndexMap::new();
    for (name, rule) in &algorithm.params {
        values.extend(value(laying, (name, rule), given.get(name)).map(|value| (name.clone(), value)));
    }
    for (name, value) in given.iter().filter(|(name, _)| !algorithm.params.contains_key(*name)) {
        values.extend(own(laying, name, value.as_ref()).map(|value| (name.clone(), value)));
    }
    values
}

/// As the job is kept: what is no text for the algorithm is none in the job either, so that whoever reads it finds a number.
pub(super) fn kept(algorithm: &Algorithm, name: &str, value: Param) -> Param {
    let kind = algorithm.params.get(name).map(|rule| rule.kind).filter(|kind| *kind != ParamType::Text);
    kind.and_then(|kind| typed(kind, &value).ok()).unwrap_or(value)
}

/// The value of one that the algorithm has. A stand-in takes the place of one that was refused, so that nothing is told twice.
fn value(laying: &mut Laying<'_>, (name, rule): (&str, &ParamRule), given: Option<&Option<Param>>) -> Option<Param> {
    let path = join("params", name);
    let told = match given {
        None if rule.default.is_some() || !rule.required => return rule.default.clone(),
        None => Some((no_value(rule), said!("write `{name}: …` under `params`", "请在 `params` 下写上 `{name}: …`"))),
        Some(None) => match left_out(name, rule) {
            None => return None,
            told => told,
        },
        Some(Some(value)) => match fitting(rule, value) {
            Ok(value) => match changed(name, rule, &value) {
                None if rule.fixed => return rule.default.clone(),
                None => return Some(value),
                told => told,
            },
            Err(told) => Some(told),
        },
    };
    told.into_iter().for_each(|(message, hint)| laying.tell(&path, message, hint));
    Some(rule.default.clone().unwrap_or_else(|| Param::Text(String::new())))
}

/// Why it cannot be left out, if it cannot.
fn left_out(name: &str, rule: &ParamRule) -> Option<(Words, Words)> {
    if rule.fixed {
        return Some(is_fixed(name, rule));
    }
    let hint = match &rule.default {
        Some(default) => said!(
            "write a value, or remove the key for the algorithm's own, {}",
            "请写一个值；要用算法自己的值 {} 就删掉这个键",
            shown(&default.to_string())
        ),
        None => said!("write a value", "请写一个值"),
    };
    rule.required.then(|| (said!("is left out with `null`, and the algorithm needs it", "用 `null` 省略了，而算法需要它"), hint))
}

fn changed(name: &str, rule: &ParamRule, value: &Param) -> Option<(Words, Words)> {
    let is_changed = rule.default.as_ref().is_none_or(|default| !is_same(default, value));
    (rule.fixed && is_changed).then(|| is_fixed(name, rule))
}

fn is_fixed(name: &str, rule: &ParamRule) -> (Words, Words) {
    let value = shown(&rule.default.as_ref().map(Param::to_string).unwrap_or_default());
    (
        said!("is fixed by the algorithm to {value}", "已由算法固定为 {value}"),
        said!("remove `{name}`; another value needs another version of the algorithm", "请删掉 `{name}`；要用别的值，需要算法的新版本"),
    )
}

/// One that the algorithm does not have.
fn own(laying: &mut Laying<'_>, name: &str, value: Option<&Param>) -> Option<Param> {
    let algorithm = laying.algorithm;
    if algorithm.custom_params && value.is_some() {
        refuse_taken(laying, name);
        return value.cloned();
    }
    let names: Vec<&str> = algorithm.params.keys().map(String::as_str).collect();
    let hint = match nearest(name, names.iter().copied()) {
        Some(near) => said!("did you mean `{near}`?", "是不是想写 `{near}`？"),
        None if names.is_empty() => said!("remove it: the algorithm has no parameters", "请删掉它：这个算法没有参数"),
        None => listed(("its parameters are", "它的参数有"), &names),
    };
    let message = match value {
        Some(_) => said!("is no parameter of the algorithm, which takes no others", "不是算法的参数，而算法不接受其他参数"),
        None => said!("is left out, and the algorithm has no such parameter", "被省略了，而算法本来就没有这个参数"),
    };
    laying.tell(&join("params", name), message, hint);
    // Whoever names it elsewhere in the job is not told a second time.
    value.cloned()
}

/// Two flags of one name would be handed over, and the program would take one of them.
fn refuse_taken(laying: &mut Laying<'_>, name: &str) {
    let Some(flag) = flag(laying.algorithm, &named(laying.algorithm), name) else { return };
    if let Some((_, other)) = flags_taken(laying.algorithm).into_iter().find(|(taken, _)| *taken == flag) {
        laying.tell(
            &join("params", name),
            said!("would be handed over as `{flag}`, which is the flag of `{other}`", "会以 `{flag}` 传递，而它是 `{other}` 的命令行选项"),
            said!("give it another name, or write `{other}` instead", "请换一个名字，或改写 `{other}`"),
        );
    }
}

/// Every flag that the algorithm has for a parameter or a channel, with the path of that.
pub(super) fn flags_taken(algorithm: &Algorithm) -> Vec<(String, String)> {
    let named = named(algorithm);
    let inputs = algorithm.inputs.iter().map(|(name, slot)| (join("inputs", name), slot.argument.as_ref()));
    let outputs = algorithm.outputs.iter().map(|(name, slot)| (join("outputs", name), slot.argument.as_ref()));
    let channels = inputs.chain(outputs).filter_map(|(path, argument)| Some((argument?.clone(), path)));
    let params = algorithm.params.keys().filter_map(|name| Some((flag(algorithm, &named, name)?.into_owned(), join("params", name))));
    channels.chain(params).collect()
}

/// The value as one of the rule's type, or what is wrong with it and what to do.
pub(super) fn fitting(rule: &ParamRule, value: &Param) -> Result<Param, (Words, Words)> {
    let typed = typed(rule.kind, value)?;
    if !is_within(rule, &typed) {
        let (told, range) = (shown(&value.to_string()), range(rule));
        return Err((
            said!("is {told}, which is out of its range", "写的是 {told}，超出了范围"),
            Words::new(format!("write a number {}", range.en), format!("请写{}的数", range.zh)),
        ));
    }
    if rule.choices.is_empty() {
        return Ok(typed);
    }
    // As the algorithm writes it.
    rule.choices.iter().find(|choice| is_same(choice, &typed)).cloned().ok_or_else(|| no_choice(rule, value))
}

fn no_choice(rule: &ParamRule, value: &Param) -> (Words, Words) {
    let choices: Vec<String> = rule.choices.iter().map(Param::to_string).collect();
    let choices: Vec<&str> = choices.iter().map(String::as_str).collect();
    (
        said!("is {}, which is not one of its choices", "写的是 {}，不在可选的值里", shown(&value.to_string())),
        listed(("write one of", "请写其中之一"), &choices),
    )
}

/// `1` and `1.0` are the same number.
fn is_same(one: &Param, other: &Param) -> bool {
    match (one, other) {
        (Param::Whole(whole), Param::Number(number)) | (Param::Number(number), Param::Whole(whole)) => *whole as f64 == *number,
        (Param::Truth(_) | Param::Whole(_) | Param::Number(_) | Param::Text(_), _) => one == other,
    }
}

/// The value as one of a kind, however it is written, or why it is none. Text has the letters that were written.
pub(super) fn typed(kind: ParamType, value: &Param) -> Result<Param, (Words, Words)> {
    let told = shown(&value.to_string());
    match kind {
        ParamType::Text => Ok(Param::Text(value.to_string())),
        ParamType::Integer => number(value).and_then(whole).ok_or_else(|| {
            (
                said!("must be a whole number, not {told}", "这里要写整数，现在是 {told}"),
                said!("write a number such as 10", "请写一个数，如 10"),
            )
        }),
        ParamType::Number => number(value).ok_or_else(|| {
            (
                said!("must be a number, not {told}", "这里要写数字，现在是 {told}"),
                said!("write a number such as 0.1", "请写一个数，如 0.1"),
            )
        }),
        ParamType::Boolean => truth(value).ok_or_else(|| {
            (
                said!("must be true or false, not {told}", "这里要写 true 或 false，现在是 {told}"),
                said!("write true or false", "请写 true 或 false"),
            )
        }),
    }
}

fn number(value: &Param) -> Option<Param> {
    match value {
        Param::Whole(_) | Param::Number(_) => Some(value.clone()),
        Param::Text(text) => Param::number(text),
        Param::Truth(_) => None,
    }
}

/// JSON does not tell `2` from `2.0`.
fn whole(number: Param) -> Option<Param> {
    const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;
    match number {
        Param::Number(number) => (number.fract() == 0.0 && number.abs() < EXACT_BELOW).then_some(Param::Whole(number as i64)),
        Param::Whole(_) | Param::Truth(_) | Param::Text(_) => Some(number),
    }
}

fn truth(value: &Param) -> Option<Param> {
    match value {
        Param::Truth(_) => Some(value.clone()),
        Param::Text(text) => Param::truth(text),
        Param::Whole(_) | Param::Number(_) => None,
    }
}

fn is_within(rule: &ParamRule, value: &Param) -> bool {
    let number = match value {
        Param::Whole(number) => *number as f64,
        Param::Number(number) => *number,
        Param::Truth(_) | Param::Text(_) => return true,
    };
    rule.min.is_none_or(|min| number >= min) && rule.max.is_none_or(|max| number <= max)
}

/// What its numbers can be: `from 1 to 10`.
fn range(rule: &ParamRule) -> Words {
    match (rule.min, rule.max) {
        (Some(min), Some(max)) => said!("from {min} to {max}", " {min} 到 {max} 之间"),
        (Some(min), None) => said!("of at least {min}", "不小于 {min} "),
        (None, Some(max)) => said!("of at most {max}", "不大于 {max} "),
        (None, None) => Words::default(),
    }
}

fn no_value(rule: &ParamRule) -> Words {
    let Words { en, zh } = described(rule.description.as_deref());
    Words::new(format!("has no value, and the algorithm needs one{en}"), format!("没有值，而算法需要它{zh}"))
}

/// The names that the algorithm's own texts put values in for.
pub(super) fn named(algorithm: &Algorithm) -> BTreeSet<&str> {
    let name = |tag| if let Tag::Param(name) = tag { Some(name) } else { None };
    algorithm.texts().flat_map(template::tags).filter_map(name).collect()
}

/// The flag that hands a parameter over, if one does.
pub(super) fn flag<'a>(algorithm: &'a Algorithm, named: &BTreeSet<&str>, name: &str) -> Option<std::borrow::Cow<'a, str>> {
    match algorithm.params.get(name).and_then(|rule| rule.argument.as_deref()) {
        Some(NO_ARGUMENT) => None,
        Some(flag) => Some(flag.into()),
        None => (!named.contains(name)).then(|| format!("--{name}").into()),
    }
}

/// What is put behind the command: `--lr=0.1`. A value that looks like a tag is only a value.
pub(super) fn flags(algorithm: &Algorithm, values: &IndexMap<String, Param>) -> Vec<String> {
    let named = named(algorithm);
    let one = |(name, value): (&String, &Param)| flag(algorithm, &named, name).map(|flag| template::escaped(&format!("{flag}={value}")));
    values.iter().filter_map(one).collect()
}
