//! `extras`: what a cluster's administrator might have added to OpenPAI.

use indexmap::IndexMap;

use super::{
    field::{Field, Reader},
    hived,
    job::Job,
    js::Word,
    plugins::{self, Plugin},
};
use crate::located::Value;

#[derive(Default)]
pub(super) struct Extras<'a> {
    pub gang: bool,
    pub priority: Option<i32>,
    /// Whether tasks start programs in one another, by `jobssh`.
    pub launches: bool,
    /// In the order in which they run, for each role.
    pub plugins: IndexMap<&'a str, Vec<Plugin<'a>>>,
}

const PLUGINS: &str = "com.microsoft.pai.runtimeplugin";
const KEYS: [&str; 6] = ["submitFrom", "gangAllocation", "hivedScheduler", "storages", "jobStatusChangeNotification", PLUGINS];

pub(super) const NO_VOLUME: &str = "no volume of that name is known here; give a directory as `code` or `input` in the converted file, or copy what the job needs in its commands";

pub(super) fn read<'a>(reader: &mut Reader, job: &Job<'a>) -> Extras<'a> {
    let mut extras = Extras { gang: true, ..Extras::default() };
    let mut from_extras = Vec::new();
    if let Some(mut keys) = job.extras.as_ref().and_then(|it| reader.keys(it, &KEYS, "remove the key, or write what belongs under it")) {
        if let Some(field) = keys.take("submitFrom") {
            reader.for_people(&field, "says which program wrote the file; it has no effect, here as there");
        }
        extras.gang = keys.take("gangAllocation").is_none_or(|it| gang(reader, &it));
        extras.priority = keys.take("hivedScheduler").and_then(|it| hived::read(reader, &it, job));
        let storages = keys.take("storages");
        if let Some(storages) = &storages {
            note_storages(reader, storages);
        }
        if let Some(field) = keys.take("jobStatusChangeNotification") {
            notifications(reader, &field);
        }
        from_extras = keys.take(PLUGINS).map(|it| plugins::read(reader, &it)).unwrap_or_default();
        for (_, other) in keys.rest() {
            reader.for_people(&other, "has no effect, here as there");
        }
    }
    extras.plugins = plugins::by_role(reader, job, &from_extras);
    extras.launches = plugins::note_ssh(reader, job, &extras);
    extras
}

/// Only the very word `false` makes a difference.
fn gang(reader: &mut Reader, field: &Field<'_>) -> bool {
    match field.word() {
        Some(Word::Truth(gang)) => {
            reader.notes.kept(&field.path, field.place, "gang");
            gang
        }
        Some(_) | None => {
            reader.notes.changed(
                &field.path,
                field.place,
                "gang; only `false` without quotes switches it off, so it stays on, as in OpenPAI",
            );
            true
        }
    }
}

fn note_storages(reader: &mut Reader, field: &Field<'_>) {
    if matches!(field.word(), Some(Word::Null | Word::Truth(false))) {
        return reader.for_people(field, "asks for none");
    }
    let items = reader.items(field, "write a list such as `[{name: data, mountPath: /data}]`");
    if matches!(&field.node.value, Value::List(items) if items.is_empty()) {
        reader.notes.ignored(&field.path, field.place, format!("asks for the storages everyone had; {NO_VOLUME}"));
    }
    for item in items {
        let named = item.get("name").is_some_and(|it| !it.is_null());
        let reason = if named { NO_VOLUME } else { "has no `name`, so it is skipped, as in OpenPAI" };
        reader.notes.ignored(&item.path, item.place, reason);
    }
}

fn notifications(reader: &mut Reader, field: &Field<'_>) {
    let wanted =
        reader.entries(field, "write `{succeeded: true, failed: true}`").iter().any(|(_, it)| it.word() == Some(Word::Truth(true)));
    if wanted {
        reader.notes.ignored(&field.path, field.place, "no letters are sent here; `trainmaster list` and the job's page show its state");
    } else {
        reader.for_people(field, "asks for none");
    }
}
