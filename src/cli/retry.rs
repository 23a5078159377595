//! How long to wait before asking again, and when to stop asking.

use std::time::Duration;

const FIRST_WAIT_MS: u64 = 50;
const LONGEST_WAIT_MS: u64 = 2_000;

/// How long a server may be away before we say so and give up.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// While nobody has answered yet: it is probably not running at all.
    pub before_contact: Duration,
    /// Once it has been seen: it is probably being restarted.
    pub after_contact: Duration,
}

impl Patience {
    pub const ASKING: Self = Self { before_contact: Duration::from_secs(5), after_contact: Duration::from_secs(30) };
    pub const FOLLOWING: Self = Self { before_contact: Duration::from_secs(5), after_contact: Duration::from_secs(600) };

    /// The wait before the next try; none when it is time to give up. `away` is how long nobody has
    /// answered, `dice` any number, so that many clients do not come back in the same moment.
    pub fn next_wait(self, contacted: bool, away: Duration, tries: u32, dice: u64) -> Option<Duration> {
        let limit = if contacted { self.after_contact } else { self.before_contact };
        let full_ms = FIRST_WAIT_MS.saturating_mul(1 << tries.min(10)).min(LONGEST_WAIT_MS);
        let wait = Duration::from_millis(full_ms / 2 + dice % (full_ms / 2 + 1));
        (away < limit).then(|| wait.min(limit - away))
    }
}

/// Counts the tries of one call or one stream.
pub struct Tries {
    patience: Patience,
    contacted: bool,
    last_contact: std::time::Instant,
    tries: u32,
}

impl Tries {
    pub fn new(patience: Patience) -> Self {
        Self { patience, contacted: false, last_contact: std::time::Instant::now(), tries: 0 }
    }

    /// The server is there, though it has not answered.
    pub fn seen(&mut self) {
        self.contacted = true;
    }

    /// The server answered just now: the clock begins again.
    pub fn contact(&mut self) {
        (self.contacted, self.tries, self.last_contact) = (true, 0, std::time::Instant::now());
    }

    pub fn never_contacted(&self) -> bool {
        !self.contacted
    }

    pub fn first_failure(&self) -> bool {
        self.tries == 1
    }

    /// Waits before the next try; false when it is time to give up.
    pub async fn wait(&mut self) -> bool {
        let wait = self.patience.next_wait(self.contacted, self.last_contact.elapsed(), self.tries, dice());
        self.tries += 1;
        match wait {
            Some(wait) => tokio::time::sleep(wait).await,
            None => return false,
        }
        true
    }
}

fn dice() -> u64 {
    let mut bytes = [0; 8];
    // Without dice all waits are the same, which is still correct.
    getrandom::fill(&mut bytes).ok();
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits_ms(dice: u64) -> Vec<u64> {
        let wait = |tries| Patience::ASKING.next_wait(true, Duration::ZERO, tries, dice).unwrap();
        (0..8).map(|tries| wait(tries).as_millis() as u64).collect()
    }

    #[test]
    fn waits_double_up_to_a_bound_and_are_scattered() {
        assert_eq!(waits_ms(0), [25, 50, 100, 200, 400, 800, 1000, 1000]);
        assert_eq!(waits_ms(25), [50, 75, 125, 225, 425, 825, 1025, 1025]);
        assert!(waits_ms(u64::MAX).iter().all(|wait| *wait <= LONGEST_WAIT_MS));
    }

    #[test]
    fn a_server_that_was_seen_is_waited_for_longer() {
        let away = Duration::from_secs(6);
        assert_eq!(Patience::ASKING.next_wait(false, away, 3, 0), None);
        assert!(Patience::ASKING.next_wait(true, away, 3, 0).is_some());
        assert_eq!(Patience::ASKING.next_wait(true, Duration::from_secs(30), 3, 0), None);
    }

    #[test]
    fn the_last_wait_does_not_go_over_the_limit() {
        let wait = Patience::ASKING.next_wait(true, Duration::from_millis(29_990), 9, 0);
        assert_eq!(wait, Some(Duration::from_millis(10)));
    }
}
