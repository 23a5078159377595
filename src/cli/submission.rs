//! Sending a spec to the server so that it arrives exactly once.

use bytes::Bytes;
use model::wire::Submitted;

use super::{
    context::{Context, read_answer},
    failure::Failure,
};
use crate::client::Call;

/// A spec on its way, as text.
#[derive(Clone, Debug)]
pub struct Parcel {
    pub text: Bytes,
    pub content_type: &'static str,
}

impl Parcel {
    pub fn json(spec: &impl serde::Serialize) -> Result<Self, Failure> {
        let text = serde_json::to_vec(spec).map_err(|error| Failure::usage(format!("the spec cannot be sent: {error}")))?;
        Ok(Self { text: text.into(), content_type: "application/json" })
    }

    fn call<'a>(&self, path: &'a str) -> Call<'a> {
        let mut call = Call::post(path, self.text.clone());
        call.headers = vec![("content-type", self.content_type.into())];
        call
    }
}

/// Submits, and asks again with the same key when the line is cut: whether the first try was heard
/// or not, the server makes one job of it.
pub async fn submit(context: &Context, parcel: &Parcel) -> Result<Submitted, Failure> {
    let key = uuid::Uuid::now_v7().simple().to_string();
    let answer = context.insist(|| parcel.call("/api/v1/jobs").header("idempotency-key", key.clone())).await?;
    read_answer(&answer)
}

/// What would be run, without running it.
pub async fn plan(context: &Context, parcel: &Parcel) -> Result<serde_json::Value, Failure> {
    context.ask(parcel.call("/api/v1/jobs?dry_run=true")).await
}
