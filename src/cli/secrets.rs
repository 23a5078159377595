//! `trainmaster secrets`: passwords and keys that the server keeps for you. They go in and are never shown again.

use std::{
    io::{self, IsTerminal, Read},
    path::PathBuf,
};

use model::{template, wire::SecretView};
use serde_json::json;

use super::{
    context::{Context, encode},
    failure::{Exit, Failure},
    login::ask_without_echo,
    output,
    people::{age, now_ms},
    table::Table,
};
use crate::client::Call;

#[derive(Clone, Debug, clap::Args)]
pub struct SecretsArgs {
    #[command(subcommand)]
    pub what: What,
}

#[derive(Clone, Debug, clap::Subcommand)]
pub enum What {
    /// Keep a secret; its value is asked for, or read from standard input
    Set {
        /// By which job files name it: `secrets: {key: {named: NAME}}`
        #[arg(value_parser = parse_name)]
        name: String,
        /// Take the value from a file, byte for byte
        #[arg(long)]
        file: Option<PathBuf>,
    },
    /// Show which secrets you keep, and not what they are
    #[command(visible_alias = "ls")]
    List,
    /// Forget secrets
    #[command(visible_alias = "rm")]
    Remove {
        #[arg(required = true, value_parser = parse_name)]
        name: Vec<String>,
    },
    /// Seal everything the server keeps with a new key; for administrators
    Rotate,
}

pub async fn secrets(context: &Context, args: &SecretsArgs) -> Result<Exit, Failure> {
    match &args.what {
        What::Set { name, file } => set(context, name, read_value(name, file.as_ref())?).await?,
        What::List => list(context).await?,
        What::Remove { name } => remove(context, name).await?,
        What::Rotate => rotate(context).await?,
    }
    Ok(Exit::Done)
}

fn parse_name(text: &str) -> Result<String, String> {
    let hint = "use letters, digits, `_`, `.` and `-`, and begin with a letter or `_`";
    if template::is_name(text) { Ok(text.to_owned()) } else { Err(hint.to_owned()) }
}

/// Never from the command line: everyone on the machine can read that.
fn read_value(name: &str, file: Option<&PathBuf>) -> Result<String, Failure> {
    let read = match file {
        Some(file) => std::fs::read_to_string(file),
        None if io::stdin().is_terminal() => ask_without_echo(&format!("{name}: ")).map(without_last_newline),
        None => whole_input().map(without_last_newline),
    };
    let place = file.map_or("standard input".to_owned(), |file| file.display().to_string());
    let value = read.map_err(|error| Failure::usage(format!("{place} cannot be read: {error}")))?;
    if value.is_empty() {
        return Err(Failure::usage(format!("there is nothing on {place}")).hint("pipe the secret in, or name a file with --file"));
    }
    Ok(value)
}

fn whole_input() -> io::Result<String> {
    let mut text = String::new();
    io::stdin().lock().read_to_string(&mut text)?;
    Ok(text)
}

/// `echo` adds one, and no password has one.
fn without_last_newline(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
    }
    text
}

fn path(name: &str) -> String {
    format!("/api/v1/secrets/{}", encode(name))
}

async fn set(context: &Context, name: &str, value: String) -> Result<(), Failure> {
    context.call(Call::put(&path(name), value)).await?;
    told(context, &json!({ "set": name }), &format!("{name} is kept; a job has it with `secrets: {{{name}: {{named: {name}}}}}`"))
}

async fn list(context: &Context) -> Result<(), Failure> {
    let kept: Vec<SecretView> = context.get("/api/v1/secrets").await?;
    if context.json {
        return Ok(output::json(&kept)?);
    }
    let mut table = Table::new(["NAME", "SET"]);
    kept.iter().for_each(|it| table.row([it.name.as_str().into(), age(it.updated_at_ms, now_ms()).into()]));
    Ok(output::text(&table.render(output::width(), "NAME"))?)
}

async fn remove(context: &Context, names: &[String]) -> Result<(), Failure> {
    for name in names {
        context.call(Call::delete(&path(name))).await?;
        told(context, &json!({ "removed": name }), &format!("{name} removed"))?;
    }
    Ok(())
}

async fn rotate(context: &Context) -> Result<(), Failure> {
    context.call(Call::post("/api/v1/secrets/rotate", "")).await?;
    told(context, &json!({ "rotated": true }), "everything is sealed with a new key; the old one goes when the server starts next")
}

fn told(context: &Context, document: &serde_json::Value, words: &str) -> Result<(), Failure> {
    let printed = if context.json { output::json(document) } else { output::line(words) };
    printed.map_err(Failure::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_newline_at_the_end_is_not_part_of_a_secret() {
        for (given, kept) in [("a\n", "a"), ("a\n\n", "a\n"), ("a", "a"), ("\n", "")] {
            assert_eq!(without_last_newline(given.into()), kept);
        }
        assert!(parse_name("wandb.key").is_ok() && parse_name("a b").is_err() && parse_name("../x").is_err());
    }
}
