//! `trainmaster volumes`: named places where bytes live.

use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
};

use model::{
    ids::VolumeName,
    volume::{Credentials, Volume},
    wire::{NewVolume, VolumeCheck, VolumeView},
};

use super::{
    context::{Context, encode, read_secret},
    failure::{Exit, Failure},
    login, output, style,
    table::Table,
};
use crate::client::Call;

#[derive(Clone, Debug, clap::Args)]
pub struct VolumesArgs {
    #[command(subcommand)]
    pub verb: VolumesVerb,
}

#[derive(Clone, Debug, clap::Subcommand)]
pub enum VolumesVerb {
    /// Add a volume: a directory, a bucket, or files of a web server
    Add(Box<AddArgs>),
    /// List the volumes you may use
    #[command(visible_alias = "ls")]
    List,
    /// Try what jobs will do with a volume: list, write, read, remove
    Test { name: VolumeName },
    /// Give a bucket other keys; jobs that wait for it try again with them
    Set(SetArgs),
    /// Forget a volume, and leave what is in it alone
    #[command(visible_alias = "rm")]
    Remove { name: VolumeName },
}

#[derive(Clone, Debug, clap::Args)]
pub struct AddArgs {
    /// What jobs call it, as in NAME:path
    pub name: VolumeName,
    #[command(flatten)]
    pub kind: KindArgs,
    /// The bucket's server, such as http://127.0.0.1:9000; AWS's own if not given
    #[arg(long, requires = "s3", value_name = "URL")]
    pub endpoint: Option<String>,
    /// Only what lies below this in the bucket
    #[arg(long, requires = "s3", value_name = "PATH")]
    pub prefix: Option<String>,
    /// The bucket's region, such as eu-west-1; us-east-1 if not given
    #[arg(long, requires = "s3", value_name = "REGION")]
    pub region: Option<String>,
    /// The bucket stands in the host's name, as OSS and OBS want it
    #[arg(long, requires = "s3")]
    pub virtual_host: bool,
    /// A file with the access key, readable by you alone; else AWS_ACCESS_KEY_ID, else you are asked
    #[arg(long, requires_all = ["s3", "secret_key_file"], value_name = "FILE")]
    pub access_key_file: Option<PathBuf>,
    /// A file with the secret key, readable by you alone; else AWS_SECRET_ACCESS_KEY, else you are asked
    #[arg(long, requires_all = ["s3", "access_key_file"], value_name = "FILE")]
    pub secret_key_file: Option<PathBuf>,
    /// A bucket that is open to everyone
    #[arg(long, requires = "s3", conflicts_with = "access_key_file")]
    pub no_keys: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub struct SetArgs {
    pub name: VolumeName,
    /// A file with the access key, readable by you alone; else AWS_ACCESS_KEY_ID, else you are asked
    #[arg(long, requires = "secret_key_file", value_name = "FILE")]
    pub access_key_file: Option<PathBuf>,
    /// A file with the secret key, readable by you alone; else AWS_SECRET_ACCESS_KEY, else you are asked
    #[arg(long, requires = "access_key_file", value_name = "FILE")]
    pub secret_key_file: Option<PathBuf>,
}

#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct KindArgs {
    /// A directory of the server's machine
    #[arg(long, value_name = "DIR")]
    pub local: Option<PathBuf>,
    /// A bucket of anything that speaks S3: AWS, OSS, OBS, MinIO
    #[arg(long, value_name = "BUCKET")]
    pub s3: Option<String>,
    /// Files of a web server, to be read
    #[arg(long, value_name = "URL")]
    pub http: Option<String>,
    /// A claim of the Kubernetes cluster that runs the task
    #[arg(long, value_name = "CLAIM")]
    pub claim: Option<String>,
    /// An NFS export, on clusters that have them
    #[arg(long, value_name = "SERVER:PATH", value_parser = nfs)]
    pub nfs: Option<(String, String)>,
}

fn nfs(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once(":/").filter(|(server, _)| !server.is_empty());
    parts.map(|(server, path)| (server.to_owned(), format!("/{path}"))).ok_or_else(|| "write it as SERVER:/PATH".into())
}

pub async fn volumes(context: &Context, args: &VolumesArgs) -> Result<Exit, Failure> {
    match &args.verb {
        VolumesVerb::Add(args) => add(context, args).await,
        VolumesVerb::List => list(context).await,
        VolumesVerb::Test { name } => test(context, name).await,
        VolumesVerb::Set(args) => set(context, args).await,
        VolumesVerb::Remove { name } => remove(context, name).await,
    }
}

async fn add(context: &Context, args: &AddArgs) -> Result<Exit, Failure> {
    let volume = described(args)?;
    let files = args.access_key_file.as_deref().zip(args.secret_key_file.as_deref());
    let credentials = if args.kind.s3.is_some() && !args.no_keys { Some(credentials(files, "; or say --no-keys")?) } else { None };
    let new = NewVolume { name: args.name.clone(), volume, credentials };
    let body = serde_json::to_vec(&new).map_err(|_| Failure::usage("these keys cannot be sent"))?;
    let view: VolumeView = context.post("/api/v1/volumes", body).await?;
    if context.json {
        output::json(&view)?;
    } else {
        output::line(&format!("{} is {}", view.name, place(&view.volume)))?;
        output::aside(&format!("`trainmaster volumes test {}` tries it", view.name));
    }
    Ok(Exit::Done)
}

fn described(args: &AddArgs) -> Result<Volume, Failure> {
    let kind = &args.kind;
    if let Some(local) = &kind.local {
        let path = std::path::absolute(local)?.into_os_string().into_string();
        return path.map(|path| Volume::Local { path }).map_err(|_| Failure::usage("the directory's name is not UTF-8"));
    }
    if let Some(bucket) = &kind.s3 {
        return Ok(Volume::S3 {
            endpoint: args.endpoint.clone(),
            bucket: bucket.clone(),
            prefix: args.prefix.clone().unwrap_or_default().trim_matches('/').to_owned(),
            region: args.region.clone(),
            virtual_host: args.virtual_host,
        });
    }
    if let Some((server, path)) = &kind.nfs {
        return Ok(Volume::Nfs { server: server.clone(), path: path.clone() });
    }
    let http = kind.http.clone().map(|url| Volume::Http { url });
    let claim = kind.claim.clone().map(|claim| Volume::Claim { claim });
    http.or(claim).ok_or_else(|| Failure::usage("say what it is: --local, --s3, --http, --claim or --nfs"))
}

/// From files, from the environment, or from whoever sits there. Never from arguments, which everyone on
/// the machine can read.
fn credentials(files: Option<(&Path, &Path)>, or: &str) -> Result<Credentials, Failure> {
    let no_file = |file: &Path| Failure::usage(format!("there is no file {}", file.display()));
    if let Some((access, secret)) = files {
        let access_key = read_secret(access)?.ok_or_else(|| no_file(access))?;
        let secret_key = read_secret(secret)?.ok_or_else(|| no_file(secret))?;
        return Ok(Credentials { access_key, secret_key, session_token: None });
    }
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let (Some(access_key), Some(secret_key)) = (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")) {
        return Ok(Credentials { access_key, secret_key, session_token: variable("AWS_SESSION_TOKEN") });
    }
    if !std::io::stdin().is_terminal() {
        let hint = format!("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give --access-key-file and --secret-key-file{or}");
        return Err(Failure::usage("there are no keys for the bucket").hint(hint));
    }
    let ask = |words| login::ask_without_echo(words).map(|line| line.trim().to_owned());
    Ok(Credentials { access_key: ask("access key: ")?, secret_key: ask("secret key: ")?, session_token: None })
}

async fn list(context: &Context) -> Result<Exit, Failure> {
    let volumes: Vec<VolumeView> = context.get("/api/v1/volumes").await?;
    if context.json {
        output::json(&volumes)?;
    } else {
        output::text(&table(&volumes).render(output::width(), "WHERE"))?;
    }
    Ok(Exit::Done)
}

fn table(volumes: &[VolumeView]) -> Table {
    let mut table = Table::new(["NAME", "WHERE", "KEYS", "OWNER"]);
    for volume in volumes {
        let owner = if volume.owner.is_empty() { "configuration" } else { &volume.owner };
        let keys = if volume.has_credentials { "yes" } else { "-" };
        table.row([volume.name.as_str().into(), place(&volume.volume).into(), keys.into(), owner.into()]);
    }
    table
}

/// What a volume is, in words.
fn place(volume: &Volume) -> String {
    match volume {
        Volume::Local { path } => format!("directory {path}"),
        Volume::S3 { endpoint, bucket, prefix, .. } => {
            let slash = if prefix.is_empty() { "" } else { "/" };
            format!("bucket {bucket}{slash}{prefix} at {}", endpoint.as_deref().unwrap_or("AWS"))
        }
        Volume::Http { url } => format!("files at {url}"),
        Volume::Claim { claim } => format!("claim {claim}"),
        Volume::Nfs { server, path } => format!("NFS {server}:{path}"),
    }
}

async fn test(context: &Context, name: &VolumeName) -> Result<Exit, Failure> {
    let checks: Vec<VolumeCheck> = context.post(&volume_path(name, "/test"), "{}").await?;
    if context.json {
        output::json(&checks)?;
    } else {
        for check in &checks {
            let (style, said) = match &check.refused {
                None => (style::GOOD, "works".to_owned()),
                Some(why) => (style::BAD, format!("does not work: {why}")),
            };
            output::line(&format!("{:7}{}", check.what, style::paint(style, &super::terminal::plain(&said))))?;
        }
    }
    Ok(if checks.iter().all(|check| check.refused.is_none()) { Exit::Done } else { Exit::You })
}

async fn set(context: &Context, args: &SetArgs) -> Result<Exit, Failure> {
    let credentials = credentials(args.access_key_file.as_deref().zip(args.secret_key_file.as_deref()), "")?;
    let body = serde_json::to_vec(&credentials).map_err(|_| Failure::usage("these keys cannot be sent"))?;
    let view: VolumeView = context.ask(Call::put(&volume_path(&args.name, "/credentials"), body)).await?;
    if context.json {
        output::json(&view)?;
    } else {
        output::line(&format!("{} has other keys; what waited for it tries again", view.name))?;
        output::aside(&format!("`trainmaster volumes test {}` tries them", view.name));
    }
    Ok(Exit::Done)
}

async fn remove(context: &Context, name: &VolumeName) -> Result<Exit, Failure> {
    context.call(Call::delete(&volume_path(name, ""))).await?;
    if context.json {
        output::json(&serde_json::json!({ "removed": name }))?;
    } else {
        output::line(&format!("{name} is forgotten; what is in it stays"))?;
    }
    Ok(Exit::Done)
}

fn volume_path(name: &VolumeName, rest: &str) -> String {
    format!("/api/v1/volumes/{}{rest}", encode(name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_says_what_and_where() {
        let view = |name: &str, volume, owner: &str, has_credentials| VolumeView {
            name: name.parse().unwrap(),
            volume,
            owner: owner.into(),
            has_credentials,
            created_at_ms: 0,
        };
        let bucket = Volume::S3 {
            endpoint: Some("http://127.0.0.1:9000".into()),
            bucket: "b".into(),
            prefix: "train".into(),
            region: None,
            virtual_host: false,
        };
        let volumes = [
            view("data", Volume::Local { path: "/mnt/data".into() }, "", false),
            view("models", bucket, "ann", true),
            view("web", Volume::Http { url: "https://example.org/sets".into() }, "bob", false),
        ];
        insta::assert_snapshot!(anstream::adapter::strip_str(&table(&volumes).render(None, "WHERE")).to_string(), @"
        NAME    WHERE                                    KEYS  OWNER
        data    directory /mnt/data                      -     configuration
        models  bucket b/train at http://127.0.0.1:9000  yes   ann
        web     files at https://example.org/sets        -     bob
        ");
    }

    #[test]
    fn an_export_has_a_server_and_a_path() {
        assert_eq!(nfs("filer:/export/data"), Ok(("filer".into(), "/export/data".into())));
        assert!(nfs("filer").is_err() && nfs(":/x").is_err());
    }
}
