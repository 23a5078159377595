//! `trainmaster schema`: the JSON Schema of the job file, for editors.

use super::{
    failure::{Exit, Failure},
    output,
};

pub fn schema() -> Result<Exit, Failure> {
    output::json(&model::spec::schema())?;
    Ok(Exit::Done)
}
