//! `trainmaster schema`: the JSON Schemas of what people write, for editors.

use super::{
    failure::{Exit, Failure},
    output,
};

#[derive(Clone, Debug, clap::Args)]
pub struct SchemaArgs {
    /// That of an algorithm, in place of that of the job file
    #[arg(long)]
    pub algorithm: bool,
}

pub fn schema(args: &SchemaArgs) -> Result<Exit, Failure> {
    let schema = if args.algorithm { model::algorithm::schema() } else { model::spec::schema() };
    output::json(&schema)?;
    Ok(Exit::Done)
}
