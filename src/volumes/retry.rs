//! The one layer that tries again. Callers that can wait longer do so around it.

use std::time::Duration;

use super::error::Trouble;

const TRIES_MAX: u32 = 4;
const PAUSE_FIRST_MS: u64 = 200;
const PAUSE_MAX_MS: u64 = 5_000;
/// A store that wants a longer pause gets it from the caller, who knows what else there is to do.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(10);

/// Tries until it works, until the answer will not change, or until it was tried often enough.
pub async fn tries<T, Once: Future<Output = Result<T, Trouble>>>(mut attempt: impl FnMut() -> Once) -> Result<T, Trouble> {
    let mut pauses = Pauses::default();
    loop {
        match attempt().await {
            Ok(done) => return Ok(done),
            Err(trouble) => pauses.after(trouble).await?,
        }
    }
}

/// How often it was tried already.
#[derive(Default)]
pub struct Pauses {
    tried: u32,
}

impl Pauses {
    /// Waits, if what went wrong may pass; else gives it back.
    pub async fn after(&mut self, trouble: Trouble) -> Result<(), Trouble> {
        self.tried += 1;
        let Trouble::Away { retry_after, .. } = trouble else { return Err(trouble) };
        if self.tried >= TRIES_MAX || retry_after.is_some_and(|wait| wait > RETRY_AFTER_MAX) {
            return Err(trouble);
        }
        tokio::time::sleep(retry_after.unwrap_or_default().max(jittered(self.tried))).await;
        Ok(())
    }

    /// Something came through, so what went wrong before is over.
    pub fn forget(&mut self) {
        self.tried = 0;
    }
}

/// Between half and all of a pause that doubles, so that many who failed together do not come back together.
fn jittered(tried: u32) -> Duration {
    let whole = (PAUSE_FIRST_MS << tried.saturating_sub(1).min(10)).min(PAUSE_MAX_MS);
    // Without randomness the pause is only less spread.
    let dice = u64::from(getrandom::u32().unwrap_or(0));
    Duration::from_millis(whole / 2 + dice % (whole / 2 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn tried(trouble: Trouble) -> (u32, Trouble) {
        let mut count = 0;
        let result: Result<(), Trouble> = tries(|| {
            count += 1;
            std::future::ready(Err(trouble.clone()))
        })
        .await;
        (count, result.unwrap_err())
    }

    #[tokio::test]
    async fn only_what_may_pass_is_tried_again_and_not_for_ever() {
        assert_eq!(tried(Trouble::away("x")).await.0, TRIES_MAX);
        assert_eq!(tried(Trouble::never(("x", "某"))).await.0, 1);
        assert_eq!(tried(Trouble::changed("x")).await.0, 1);
        let long = Trouble::Away { why: "429".into(), retry_after: Some(Duration::from_secs(60)) };
        assert_eq!(tried(long.clone()).await, (1, long), "a long pause is the caller's");
    }

    #[test]
    fn pauses_grow_and_stay_bounded() {
        for (tried, most_ms) in [(1, 200), (2, 400), (3, 800), (9, 5_000), (40, 5_000)] {
            let pause = jittered(tried).as_millis();
            assert!((most_ms / 2..=most_ms).contains(&pause), "{tried}: {pause}");
        }
    }
}
