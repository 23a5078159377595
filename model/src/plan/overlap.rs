//! Outputs and logs whose places meet: two files would get one path outside, and the last to come would stay.

use super::{channels::Freight, compile::Compile};
use crate::{
    channels::OutputPlan,
    location::Location,
    said,
    spec::{join, shown},
};

/// What a place is in.
#[derive(PartialEq)]
enum Root<'a> {
    Volume(&'a str),
    Machine,
}

/// A part of a path, as far as it is known before the job has a version.
#[derive(Clone, Copy)]
enum Part<'a> {
    Name(&'a str),
    Version,
}

impl Part<'_> {
    fn may_be(self, other: Part<'_>) -> bool {
        let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
        match (self, other) {
            (Part::Name(one), Part::Name(other)) => one == other,
            (Part::Name(name), Part::Version) | (Part::Version, Part::Name(name)) => is_number(name),
            (Part::Version, Part::Version) => true,
        }
    }
}

pub(super) fn check(c: &mut Compile<'_>, job: &str, freight: &Freight) {
    check_outputs(c, job, &freight.outputs);
    if let Some(logs) = &freight.logs {
        check_logs(c, job, logs, &freight.outputs);
    }
}

fn check_outputs(c: &mut Compile<'_>, job: &str, outputs: &[OutputPlan]) {
    for (number, output) in outputs.iter().enumerate() {
        if let Some(other) = outputs[..number].iter().find(|other| meet(job, other, output)) {
            let (to, other_to) = (shown(&output.to.to_string()), shown(&other.to.to_string()));
            let other = key(other);
            c.tell(
                &key(output),
                said!(
                    "goes to {to}, and `{other}` to {other_to}: files of both could have the same path there",
                    "写到 {to}，而 `{other}` 写到 {other_to}：两边的文件可能落到同一个路径"
                ),
                ("give each a place of its own, of which none is inside another", "请给每个输出各写一个位置，彼此互不包含"),
            );
        }
    }
}

fn check_logs(c: &mut Compile<'_>, job: &str, logs: &Location, outputs: &[OutputPlan]) {
    if let Some(output) = outputs.iter().find(|output| logs_are_inside(job, logs, output)) {
        let (to, other, other_to) = (shown(&logs.to_string()), key(output), shown(&output.to.to_string()));
        c.tell(
            "logs",
            said!(
                "go to {to}, inside of where `{other}` goes, {other_to}: a file of the task could have the path of a log",
                "写到 {to}，位于 `{other}` 的位置 {other_to} 之内：任务写出的文件可能与日志落到同一个路径"
            ),
            ("give the logs a place of their own, such as `results:logs`", "请给日志另写一个位置，如 `results:logs`"),
        );
    }
}

/// Logs lie below the name and version of their job, wherever that is.
fn logs_are_inside(job: &str, logs: &Location, output: &OutputPlan) -> bool {
    let (Some((root, mut path)), Some((other_root, other_path))) = (parts(job, logs), parts(job, &output.to)) else { return false };
    if !is_whole_volume(logs) {
        path.extend([Part::Name(job), Part::Version]);
    }
    root == other_root && path.len() >= other_path.len() && path.iter().zip(&other_path).all(|(one, other)| one.may_be(*other))
}

fn is_whole_volume(place: &Location) -> bool {
    matches!(place, Location::Volume { path, .. } if path.is_empty())
}

fn key(output: &OutputPlan) -> String {
    output.name.as_ref().map_or_else(|| "output".to_owned(), |name| join("outputs", name))
}

fn meet(job: &str, one: &OutputPlan, other: &OutputPlan) -> bool {
    let (Some((root, path)), Some((other_root, other_path))) = (parts(job, &one.to), parts(job, &other.to)) else { return false };
    let is_inside = path.iter().zip(&other_path).all(|(one, other)| one.may_be(*other));
    root == other_root && is_inside && !is_where_it_would_be((one, &path), (other, &other_path))
}

/// What is written to `/output/NAME` has that path to itself in the place of `output` too.
fn is_where_it_would_be((one, path): (&OutputPlan, &[Part<'_>]), (other, other_path): (&OutputPlan, &[Part<'_>])) -> bool {
    let name = other.name.as_deref().filter(|_| one.name.is_none());
    name.is_some_and(|name| other_path.len() == path.len() + 1 && other_path[path.len()].may_be(Part::Name(name)))
}

fn parts<'a>(job: &'a str, place: &'a Location) -> Option<(Root<'a>, Vec<Part<'a>>)> {
    let names = |path: &'a str| path.split('/').filter(|part| !matches!(*part, "" | ".")).map(Part::Name).collect();
    match place {
        Location::Volume { volume, path } if path.is_empty() => Some((Root::Volume(volume.as_str()), vec![Part::Name(job), Part::Version])),
        Location::Volume { volume, path } => Some((Root::Volume(volume.as_str()), names(path))),
        Location::Host(path) => Some((Root::Machine, names(path))),
        Location::Url(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::{HouseRules, from_text};

    fn said(outputs: &str) -> String {
        let text = format!("name: digits\nroles: {{w: {{command: x}}}}\n{outputs}");
        match from_text(&text, &HouseRules::default()) {
            Ok(_) => "fine".to_owned(),
            Err(problems) => problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        }
    }

    #[test]
    fn no_two_outputs_meet() {
        for apart in [
            "output: results\noutputs: {model: 'results:models'}",
            "output: results\noutputs: {model: 'results:digits/models'}",
            "output: 'results:a'\noutputs: {m: 'results:ab', n: 'other:a', o: /a}",
            "output: 'results:a'\noutputs: {m: 'results:a/m'}",
            "output: /srv/a\noutputs: {m: /srv/b}",
        ] {
            assert_eq!(said(apart), "fine", "{apart}");
        }
        for meeting in [
            "output: 'results:a'\noutputs: {m: 'results:a'}",
            "output: 'results:a'\noutputs: {m: 'results:a/n'}",
            "output: 'results:a/b'\noutputs: {m: 'results:a'}",
            "output: results\noutputs: {m: results}",
            "output: results\noutputs: {m: 'results:digits'}",
            "output: results\noutputs: {m: 'results:digits/3'}",
            "outputs: {m: 'results:a', n: {to: 'results:a/n'}}",
            "outputs: {m: /srv/a, n: /srv//a/}",
        ] {
            assert!(said(meeting).contains("files of both could have the same path there"), "{meeting}: {}", said(meeting));
        }
        insta::assert_snapshot!(said("output: 'results:a'\noutputs: {m: 'results:a/n'}"), @"line 4, column 11: outputs.m: goes to `results:a/n`, and `output` to `results:a`: files of both could have the same path there (give each a place of its own, of which none is inside another)");
    }

    #[test]
    fn no_log_can_have_the_path_of_an_output() {
        for apart in [
            "output: results\nlogs: 'results:logs'",
            "output: 'results:logs/digits/9/mine'\nlogs: 'results:logs'",
            "output: 'results:a'\nlogs: results",
            "output: 'results:a'\nlogs: 'other:a'",
            "output: /srv/a\nlogs: /srv/logs",
            "logs: results",
        ] {
            assert_eq!(said(apart), "fine", "{apart}");
        }
        for meeting in [
            "output: results\nlogs: results",
            "output: 'results:a'\nlogs: 'results:a'",
            "output: 'results:a'\nlogs: 'results:a/logs'",
            "output: 'results:digits'\nlogs: results",
            "outputs: {m: 'results:logs/digits'}\nlogs: 'results:logs'",
            "output: /srv/a\nlogs: /srv/a/",
        ] {
            assert!(said(meeting).contains("a file of the task could have the path of a log"), "{meeting}: {}", said(meeting));
        }
        insta::assert_snapshot!(said("output: results\nlogs: results"), @"line 4, column 7: logs: go to `results:`, inside of where `output` goes, `results:`: a file of the task could have the path of a log (give the logs a place of their own, such as `results:logs`)");
    }
}
