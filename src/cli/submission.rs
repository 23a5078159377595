//! Sending a spec to the server so that it arrives exactly once.

use bytes::Bytes;
use model::wire::Submitted;

use super::{
    context::{Context, in_time, read_answer},
    failure::Failure,
    output,
    retry::{Patience, Tries},
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
    let mut tries = Tries::new(Patience::SUBMITTING);
    loop {
        let lost = match submit_once(context, parcel, &key, &mut tries).await {
            Err(failure) if failure.may_pass => failure,
            answer => return answer,
        };
        // Nobody has ever told us of a server here, so there is nothing to wait for.
        if context.find().is_err() && tries.never_contacted() {
            return Err(lost);
        }
        if !tries.wait().await {
            return Err(lost);
        }
        if tries.first_failure() {
            output::note("the server does not answer; trying again with the same key, so the job will not be doubled");
        }
    }
}

async fn submit_once(context: &Context, parcel: &Parcel, key: &str, tries: &mut Tries) -> Result<Submitted, Failure> {
    let found = context.find()?;
    let connection = found.client.connect().await?;
    tries.seen();
    let call = parcel.call("/api/v1/jobs").header("idempotency-key", key);
    read_answer(&in_time(connection.call(call)).await?)
}

/// What would be run, without running it.
pub async fn plan(context: &Context, parcel: &Parcel) -> Result<serde_json::Value, Failure> {
    context.ask(parcel.call("/api/v1/jobs?dry_run=true")).await
}
