//! A list of files as the server sends it, line by line.

use http_body_util::BodyExt;
use hyper::{Response, body::Incoming};
use model::wire::{FileLine, FileView};

use super::{
    context::{Context, in_time, query, read_answer},
    failure::{Exit, Failure},
    output,
    remote::Remote,
};
use crate::client::Call;

pub struct Listing {
    answer: Response<Incoming>,
    /// What came and is no whole line yet.
    rest: Vec<u8>,
    ended: bool,
    /// Whether something was told that could not be listed.
    exit: Exit,
}

impl Listing {
    pub async fn open(context: &Context, at: &Remote, recursive: bool) -> Result<Self, Failure> {
        let recursive = recursive.then(|| "true".to_owned());
        let path = format!("/api/v1/files{}", query(&[("at", Some(at.shown(&at.path))), ("recursive", recursive)]));
        let client = context.find()?.client;
        let answer = in_time(client.open(Call::get(&path))).await?;
        Ok(Self { answer, rest: Vec::new(), ended: false, exit: Exit::Done })
    }

    /// What cannot be listed is told and passed over.
    pub async fn next(&mut self) -> Result<Option<FileView>, Failure> {
        while let Some(line) = self.line().await? {
            match read_answer::<FileLine>(&line)? {
                FileLine::Found(view) => return Ok(Some(view)),
                FileLine::Error(body) => {
                    let failure = Failure { exit: Exit::You, body: Box::new(body), file: None, may_pass: false };
                    output::failure(&failure, false);
                    self.exit = Exit::You;
                }
            }
        }
        Ok(None)
    }

    /// How the list went, once it is over.
    pub fn exit(&self) -> Exit {
        self.exit
    }

    async fn line(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line = self.rest.drain(..=end).collect();
                return Ok(Some(line));
            }
            if self.ended {
                return Ok(None);
            }
            match self.answer.body_mut().frame().await {
                None => self.ended = true,
                Some(Err(error)) => return Err(Failure::away(format!("the list broke off: {error}"))),
                Some(Ok(frame)) => self.rest.extend(frame.into_data().into_iter().flatten()),
            }
        }
    }
}
