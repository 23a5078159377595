//! `ssh`: tasks that start programs in one another.

use super::Plugin;
use super::reference;
use crate::dialect::openpai_v2::{
    extras::Extras,
    field::{Field, Reader},
    job::Job,
};

/// Notes on every `ssh`, and whether one of them lets tasks start programs in one another.
pub(in super::super) fn note(reader: &mut Reader, job: &Job<'_>, extras: &Extras<'_>) -> bool {
    let mut launches = false;
    let mut noted: Vec<String> = Vec::new();
    for (role, plugins) in &extras.plugins {
        for plugin in plugins.iter().filter(|it| it.name == "ssh") {
            if noted.contains(&plugin.field.path) {
                continue;
            }
            noted.push(plugin.field.path.clone());
            launches |= one(reader, job, extras.gang, role, plugin);
        }
    }
    launches
}

fn one(reader: &mut Reader, job: &Job<'_>, gang: bool, role: &str, plugin: &Plugin<'_>) -> bool {
    let Some(parameters) = &plugin.parameters else {
        reader.for_people(&plugin.field, "has no parameters, so it does nothing, here as there");
        return false;
    };
    let asked = |reader: &mut Reader, field: &Field<'_>| reference::plain(reader, job, role, field).eq_ignore_ascii_case("true");
    let jobssh = parameters.get("jobssh").is_some_and(|it| launches(reader, &it, gang, asked));
    for (key, field) in reader.entries(parameters, "write `jobssh: true`") {
        match key {
            "userssh" => {
                reader.notes.ignored(&field.path, field.place, "tasks have no SSH server for people here, so the key opens nothing")
            }
            "sshbarrier" => reader.notes.changed(&field.path, field.place, "every task waits until all others have their addresses"),
            "sshbarrierTimeout" => {
                reader.notes.ignored(
                    &field.path,
                    field.place,
                    "the server's own time limit holds for waiting until all tasks have their addresses",
                );
            }
            "jobssh" => {}
            _ if plugin.is_prerequisite => {}
            _ => reader.for_people(&field, "has no effect, here as there"),
        }
    }
    jobssh
}

fn launches(reader: &mut Reader, field: &Field<'_>, gang: bool, asked: impl Fn(&mut Reader, &Field<'_>) -> bool) -> bool {
    let asked = asked(reader, field);
    match (asked, gang) {
        (true, true) => {
            let reason = "conventions; mpi: tasks start programs in one another by the names of their roles, without a password";
            reader.notes.changed(&field.path, field.place, reason);
        }
        (true, false) => reader.notes.changed(&field.path, field.place, "off without `gangAllocation`, as in OpenPAI"),
        (false, _) => reader.for_people(field, "asks for nothing"),
    }
    asked && gang
}
