//! Reading over a line that may be cut: what is missing is asked for again, and only if it is still the same file.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{
    FutureExt, StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};

use super::{
    Bytestream, Entry, Want,
    error::{Trouble, VolumeError},
    retry::{self, Pauses},
};

/// One answer: whose bytes they are, and the bytes.
pub struct Opened {
    pub entry: Entry,
    pub body: BoxStream<'static, Result<Bytes, Trouble>>,
}

/// Opens the file at an offset, once.
pub type Opener = Arc<dyn Fn(u64) -> BoxFuture<'static, Result<Opened, Trouble>> + Send + Sync>;

/// Opens by asking a store for what is still wanted from an offset on.
pub fn opener<S, Answer>(store: &S, path: &str, want: &Want, ask: fn(S, String, u64, Option<u64>) -> Answer) -> Opener
where
    S: Clone + Send + Sync + 'static,
    Answer: Future<Output = Result<Opened, Trouble>> + Send + 'static,
{
    let (store, path, end) = (store.clone(), path.to_owned(), want.length.map(|length| want.from.saturating_add(length)));
    Arc::new(move |from| ask(store.clone(), path.clone(), from, end.map(|end| end.saturating_sub(from))).boxed())
}

struct Reading {
    opener: Opener,
    body: Option<BoxStream<'static, Result<Bytes, Trouble>>>,
    etag: String,
    /// Where the next byte belongs, and where the last one ends.
    offset: u64,
    end: u64,
    pauses: Pauses,
    at: String,
}

pub async fn read(opener: Opener, want: &Want, at: String) -> Result<(Entry, Bytestream), VolumeError> {
    let opened = retry::tries(|| opener(want.from)).await.map_err(|trouble| trouble.at(&at))?;
    let Opened { entry, body } = opened;
    if let Some(etag) = want.etag.as_ref().filter(|etag| **etag != entry.etag) {
        return Err(differs(etag, &entry.etag).at(at));
    }
    let end = want.length.map_or(entry.size, |length| want.from.saturating_add(length).min(entry.size));
    let reading = Reading { opener, body: Some(body), etag: entry.etag.clone(), offset: want.from, end, pauses: Pauses::default(), at };
    let stream = stream::try_unfold(reading, |mut reading| async move {
        let piece = reading.next().await.map_err(|trouble| trouble.at(&reading.at))?;
        Ok(piece.map(|piece| (piece, reading)))
    });
    Ok((entry, stream.boxed()))
}

fn differs(was: &str, is: &str) -> Trouble {
    Trouble::changed(format!("its ETag was `{was}` and is `{is}`"))
}

impl Reading {
    async fn next(&mut self) -> Result<Option<Bytes>, Trouble> {
        while self.offset < self.end {
            match self.piece().await {
                Ok(piece) => {
                    self.offset += piece.len() as u64;
                    self.pauses.forget();
                    return Ok(Some(piece));
                }
                // Without an ETag nobody can say that the rest is of the same file.
                Err(trouble) if self.etag.is_empty() => return Err(trouble),
                Err(trouble) => {
                    self.body = None;
                    self.pauses.after(trouble).await?;
                }
            }
        }
        Ok(None)
    }

    async fn piece(&mut self) -> Result<Bytes, Trouble> {
        if self.body.is_none() {
            let again = (self.opener)(self.offset).await?;
            if again.entry.etag != self.etag {
                return Err(differs(&self.etag, &again.entry.etag));
            }
            self.body = Some(again.body);
        }
        let body = self.body.as_mut().expect("it was opened above");
        let piece = body.next().await.unwrap_or_else(|| Err(Trouble::away("the connection ended before the file did")))?;
        // A server that sends more than it announced does not make our file longer.
        let room = usize::try_from(self.end - self.offset).unwrap_or(usize::MAX);
        Ok(piece.slice(..piece.len().min(room)))
    }
}
