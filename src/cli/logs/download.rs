//! `trainmaster logs JOB --download`: files of one's own, byte for byte.

use std::{fs::File, io::Write, path::Path};

use http_body_util::BodyExt;
use model::wire::JobDetail;

use super::{LogsArgs, list};
use crate::{
    cli::{
        context::{Context, encode, in_time, job_path, query},
        failure::{Exit, Failure},
        output,
        people::label,
    },
    client::Call,
};

/// An archive has every log as it lies on the disk.
pub fn check(args: &LogsArgs) -> Result<(), Failure> {
    match &args.download {
        Some(to) if args.no_platform && is_archive(to) => {
            let refused = format!("--no-platform cannot be used with --download {}: an archive has every byte", to.display());
            Err(Failure::usage(refused).hint("give a directory in its place"))
        }
        Some(_) | None => Ok(()),
    }
}

fn is_archive(to: &Path) -> bool {
    let name = to.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    [".tar.gz", ".tgz"].iter().any(|end| name.ends_with(end))
}

pub async fn download(context: &Context, job: &JobDetail, args: &LogsArgs, to: &Path) -> Result<Exit, Failure> {
    let saved = if is_archive(to) { archive(context, job, args, to).await? } else { files(context, job, args, to).await? };
    output::note(&format!("{}: {saved} in {}", label(&job.summary), to.display()));
    Ok(Exit::Done)
}

async fn archive(context: &Context, job: &JobDetail, args: &LogsArgs, to: &Path) -> Result<String, Failure> {
    let pairs = [("task", list(&args.task)), ("role", list(&args.role)), ("attempt", args.attempt.map(|it| it.to_string()))];
    save(context, &(job_path(&job.summary.id, "/logs/archive") + &query(&pairs)), to).await?;
    Ok("its logs are".into())
}

/// Every attempt of every task that is meant, each as `worker-0.1.log`.
async fn files(context: &Context, job: &JobDetail, args: &LogsArgs, to: &Path) -> Result<String, Failure> {
    std::fs::create_dir_all(to)?;
    let role = |task: &str| task.rsplit_once('-').map_or(task, |(role, _)| role).to_owned();
    let mut saved = 0;
    for run in &job.runs {
        let is_meant = (args.task.is_empty() || args.task.contains(&run.task))
            && (args.role.is_empty() || args.role.contains(&role(&run.task)))
            && args.attempt.is_none_or(|attempt| attempt == run.attempt);
        if is_meant {
            let path = job_path(&job.summary.id, &format!("/tasks/{}/log", encode(&run.task)));
            let pairs = [("attempt", Some(run.attempt.to_string())), ("platform", args.no_platform.then(|| "false".into()))];
            save(context, &(path + &query(&pairs)), &to.join(format!("{}.{}.log", run.task, run.attempt))).await?;
            saved += 1;
        }
    }
    Ok(if saved == 1 { "1 log is".into() } else { format!("{saved} logs are") })
}

/// Whole or not there: a file gets its name when all of it has come.
async fn save(context: &Context, path: &str, to: &Path) -> Result<(), Failure> {
    let mut name = to.as_os_str().to_owned();
    name.push(".part");
    let part = Path::new(&name);
    let mut file = File::create(part)?;
    let answer = in_time(context.find()?.client.open(Call::get(path))).await?;
    let mut body = answer.into_body();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Failure::away(format!("{} was cut off: {error}", to.display())))?;
        if let Ok(bytes) = frame.into_data() {
            file.write_all(&bytes)?;
        }
    }
    file.sync_all()?;
    Ok(std::fs::rename(part, to)?)
}
