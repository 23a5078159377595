//! `ssh`: tasks that start programs in one another.

use super::{NO_PARAMETERS, Plugin, reference};
use crate::dialect::{
    note::with_words,
    openpai_v2::{
        extras::Extras,
        field::{Field, Reader},
        job::Job,
        js::Word,
    },
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
        reader.for_people(&plugin.field, NO_PARAMETERS);
        return false;
    };
    let asked = |reader: &mut Reader, field: &Field<'_>| reference::plain(reader, job, role, field).eq_ignore_ascii_case("true");
    let jobssh = parameters.get("jobssh").is_some_and(|it| launches(reader, &it, gang, asked));
    for (key, field) in reader.entries(parameters, ("write `jobssh: true`", "请写 `jobssh: true`")) {
        match key {
            "userssh" => user_key(reader, &field),
            "sshbarrier" => {
                let words = ("every task waits until all others have their addresses", "每个任务都会等到其他任务全部有了地址");
                reader.notes.changed(&field.path, field.place, words);
            }
            "sshbarrierTimeout" => {
                reader.notes.ignored(
                    &field.path,
                    field.place,
                    (
                        "the server's own time limit holds for waiting until all tasks have their addresses",
                        "等待所有任务都有地址的时限由服务器规定",
                    ),
                );
            }
            "jobssh" => {}
            _ if plugin.is_prerequisite => {}
            _ => reader.no_effect(&field),
        }
    }
    jobssh
}

fn user_key(reader: &mut Reader, field: &Field<'_>) {
    match field.get("value").and_then(|it| it.word()) {
        Some(Word::Text("") | Word::Null) | None => reader.for_people(field, ("brings no key", "没有带密钥")),
        Some(_) => {
            let reason = (
                "tasks have no SSH server for people here, so the key opens nothing; a task's log and state are in the command line and the console",
                "这里的任务没有供人登录的 SSH 服务，这把密钥打不开什么；任务的日志和状态请在命令行或控制台查看",
            );
            reader.notes.ignored(&field.path, field.place, reason);
        }
    }
}

fn launches(reader: &mut Reader, field: &Field<'_>, gang: bool, asked: impl Fn(&mut Reader, &Field<'_>) -> bool) -> bool {
    let asked = asked(reader, field);
    match (asked, gang) {
        (true, true) => {
            let about = (
                "mpi: tasks start programs in one another by the names of their roles, without a password",
                "mpi：任务之间可以用角色名互相启动程序，不需要密码",
            );
            reader.notes.changed(&field.path, field.place, with_words("conventions", about));
        }
        (true, false) => {
            let words = ("off without `gangAllocation`, as in OpenPAI", "没有 `gangAllocation` 就不启用，与 OpenPAI 相同");
            reader.notes.changed(&field.path, field.place, words);
        }
        (false, _) => reader.for_people(field, ("asks for nothing", "没有要求什么")),
    }
    asked && gang
}
