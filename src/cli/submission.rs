//! Sending a spec to the server so that it arrives exactly once.

use bytes::Bytes;
use model::{
    wire::{HANDED, Handed, Planned, Submitted},
    words::Lang,
};

use super::{
    context::{Context, query, read_answer},
    failure::Failure,
    language::{LangArgs, spelled},
};
use crate::client::Call;

/// A file as somebody wrote it.
pub const YAML: &str = "application/yaml";

/// A spec on its way, as text.
#[derive(Clone, Debug)]
pub struct Parcel {
    pub text: Bytes,
    pub content_type: &'static str,
    /// The job whose secrets take the place of those that are hidden in the text.
    pub from: Option<String>,
    pub source: Source,
}

/// What the server cannot see in what is sent.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// What the job file is called.
    pub file: Option<String>,
    /// Whose it was before it became one of ours.
    pub dialect: Option<String>,
    /// What somebody wrote, where that is not what is sent.
    pub original: Option<String>,
}

impl Parcel {
    pub fn json(spec: &impl serde::Serialize) -> Result<Self, Failure> {
        let text = serde_json::to_vec(spec).map_err(|error| Failure::usage(format!("the spec cannot be sent: {error}")))?;
        Ok(Self { text: text.into(), content_type: "application/json", from: None, source: Source::default() })
    }

    pub fn call<'a>(&self, path: &'a str) -> Call<'a> {
        let (text, kind) = self.handed().unwrap_or_else(|| (self.text.clone(), self.content_type));
        let mut call = Call::post(path, text);
        call.headers = vec![("content-type", kind.into())];
        call
    }

    /// The spec together with the file it was made from.
    fn handed(&self) -> Option<(Bytes, &'static str)> {
        let original = self.source.original.clone()?;
        let spec = String::from_utf8(self.text.to_vec()).ok()?;
        let both = serde_json::to_vec(&Handed { spec, original }).expect("two texts are JSON");
        Some((both.into(), HANDED))
    }
}

/// Submits, and asks again with the same key when the line is cut: whether the first try was heard
/// or not, the server makes one job of it.
pub async fn submit(context: &Context, parcel: &Parcel) -> Result<Submitted, Failure> {
    let key = uuid::Uuid::now_v7().simple().to_string();
    let Source { file, dialect, .. } = parcel.source.clone();
    let asked = [("from", parcel.from.clone()), ("file", file), ("dialect", dialect), ("lang", terminals())];
    let path = format!("/api/v1/jobs{}", query(&asked));
    let answer = context.insist(|| parcel.call(&path).header("idempotency-key", key.clone())).await?;
    read_answer(&answer)
}

/// What would be run, without running it.
pub async fn plan(context: &Context, parcel: &Parcel) -> Result<Planned, Failure> {
    let path = format!("/api/v1/jobs{}", query(&[("dry_run", Some("true".into())), ("lang", terminals())]));
    context.ask(parcel.call(&path)).await
}

/// The language of the terminal, where it is not the server's own.
pub fn terminals() -> Option<String> {
    let lang = LangArgs::default().lang();
    (lang != Lang::default()).then(|| spelled(lang).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::fake::{Fake, Turn};

    const MADE: &str = r#"{"id":"job-1","name":"a","version":1}"#;

    async fn submitted(turns: Vec<Turn>) -> (Fake, Result<Submitted, Failure>) {
        let fake = Fake::new(turns).await;
        let parcel = Parcel { text: "name: a".into(), content_type: "application/yaml", from: None, source: Source::default() };
        let answer = submit(&fake.context, &parcel).await;
        (fake, answer)
    }

    #[tokio::test]
    async fn an_answer_that_was_lost_is_asked_for_again_with_the_same_key() {
        let busy = r#"{"code":"busy","message":"the database is busy"}"#;
        let (fake, answer) = submitted(vec![Turn::Cut, Turn::Answer(503, busy.into()), Turn::Answer(200, MADE.into())]).await;
        assert_eq!(answer.unwrap().id, "job-1");
        let keys = fake.header("idempotency-key");
        assert_eq!(keys.len(), 3);
        assert!(!keys[0].is_empty() && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        assert!(fake.requests().iter().all(|request| request.ends_with("\r\n\r\nname: a")));
    }

    #[tokio::test]
    async fn every_submission_has_a_key_of_its_own() {
        let (first, _) = submitted(vec![Turn::Answer(201, MADE.into())]).await;
        let (second, _) = submitted(vec![Turn::Answer(201, MADE.into())]).await;
        assert_ne!(first.header("idempotency-key"), second.header("idempotency-key"));
    }

    #[tokio::test]
    async fn a_refusal_is_final() {
        let refusal = r#"{"code":"bad_spec","message":"the job file has a problem"}"#;
        let (fake, answer) = submitted(vec![Turn::Answer(422, refusal.into()), Turn::Answer(201, MADE.into())]).await;
        assert_eq!(answer.unwrap_err().body.code, "bad_spec");
        assert_eq!(fake.requests().len(), 1);
    }
}
