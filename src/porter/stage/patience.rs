//! How long a store that is away is waited for: as long as something still comes, and a while after that.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use model::resources::show_duration_ms;

use crate::{
    porter::{errand::Word, say},
    volumes::{Trouble, VolumeError},
};

pub const PAUSE_FIRST: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Many may wait for the same store; one of them says so.
const BETWEEN_WORDS: Duration = Duration::from_secs(5);

pub struct Patience {
    max: Duration,
    last_good: Mutex<Instant>,
    last_word: Mutex<Option<Instant>>,
}

impl Patience {
    pub fn new(max: Duration) -> Self {
        Self { max, last_good: Mutex::new(Instant::now()), last_word: Mutex::new(None) }
    }

    /// Something came, so the store is there.
    pub fn renew(&self) {
        *self.last_good.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn left(&self) -> Duration {
        let last_good = *self.last_good.lock().unwrap_or_else(PoisonError::into_inner);
        self.max.saturating_sub(last_good.elapsed())
    }

    /// Does it again for as long as the store is away and there is patience left.
    pub async fn with<T>(&self, mut attempt: impl AsyncFnMut() -> Result<T, VolumeError>) -> Result<T, VolumeError> {
        let mut pause = PAUSE_FIRST;
        loop {
            match attempt().await {
                Ok(done) => {
                    self.renew();
                    return Ok(done);
                }
                Err(error) => self.wait_after(error, &mut pause).await?,
            }
        }
    }

    /// Comes back when it is worth another try, later each time.
    pub async fn wait_after(&self, error: VolumeError, pause: &mut Duration) -> Result<(), VolumeError> {
        let wait = error.retry_after().unwrap_or_default().max(*pause);
        if !matches!(error.trouble, Trouble::Away { .. }) {
            return Err(error);
        }
        if wait > self.left() {
            return Err(self.at_its_end(error));
        }
        self.tell(&error);
        tokio::time::sleep(wait).await;
        *pause = (*pause * 2).min(PAUSE_MAX);
        Ok(())
    }

    fn tell(&self, error: &VolumeError) {
        let mut last = self.last_word.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|last| last.elapsed() > BETWEEN_WORDS) {
            *last = Some(Instant::now());
            say(&Word::Doing(format!("waits and tries again: {error}")));
        }
    }

    fn at_its_end(&self, error: VolumeError) -> VolumeError {
        let waited = show_duration_ms(u64::try_from(self.max.as_millis()).unwrap_or(u64::MAX));
        match error.trouble {
            Trouble::Away { why, retry_after } => {
                let why = format!("{why}; nothing came for {waited}, though it was tried again and again");
                VolumeError { trouble: Trouble::Away { why, retry_after }, ..error }
            }
            Trouble::Denied { .. }
            | Trouble::Missing { .. }
            | Trouble::Full { .. }
            | Trouble::Changed { .. }
            | Trouble::Unread { .. }
            | Trouble::Never { .. } => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_away_is_tried_again_and_what_is_wrong_is_not() {
        let (patience, mut tries) = (Patience::new(Duration::from_secs(60)), 0);
        let answer = patience
            .with(async || {
                tries += 1;
                if tries < 2 { Err(Trouble::away("down").at("data:x")) } else { Ok(tries) }
            })
            .await;
        assert_eq!(answer, Ok(2));
        let denied = Trouble::Denied { said: "no".into() }.at("data:x");
        assert_eq!(patience.with(async || Err::<(), _>(denied.clone())).await, Err(denied));
    }

    #[tokio::test]
    async fn patience_ends_and_says_so() {
        let patience = Patience::new(Duration::from_millis(1));
        let error = patience.with(async || Err::<(), _>(Trouble::away("down").at("data:x"))).await.unwrap_err();
        assert_eq!(error.to_string(), "data:x cannot be reached now: down; nothing came for 1ms, though it was tried again and again");
    }
}
