//! `trainmaster console`: a link that logs a browser in, once.

use model::wire::LogInLink;

use super::{
    context::Context,
    failure::{Exit, Failure},
    output,
};

pub async fn console(context: &Context) -> Result<Exit, Failure> {
    let link: LogInLink = context.post("/api/v1/session/link", "").await?;
    if context.json {
        output::json(&link)?;
    } else {
        output::line(&format!("{}{}", context.find()?.client.url(), link.path))?;
        output::note("open it in a browser; it logs you in once, within ten minutes");
    }
    Ok(Exit::Done)
}
