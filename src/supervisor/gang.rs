//! The barrier of a gang. The child stands before its exec; it is let go when every task of the gang has
//! come as far.

use std::{cell::Cell, os::fd::OwnedFd, time::Duration};

use model::{
    gang::too_late,
    order::{GangOrder, Report},
    task::{Cause, Whose},
};
use tokio::time::Instant;

use super::{
    journal::now_ms,
    leash::Leash,
    report::{Home, Told},
    watch,
};

/// The longest the server lets us wait for one answer.
const ASK_MAX: Duration = Duration::from_secs(8);
/// A server that is away is asked until it is back: it knows who is ready, and its time is not ours.
const AS_LONG_AS_IT_TAKES: Duration = Duration::from_secs(365 * 24 * 3600);

/// Says that we are ready and waits for the others. Answers how the run ended if it may not begin.
pub fn wait(gang: &GangOrder, home: &Home, stop: &OwnedFd, child: &Leash) -> Option<Cause> {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build() {
        Ok(runtime) => runtime,
        Err(error) => return Some(platform(format!("it cannot wait for its gang: {error}"))),
    };
    runtime.block_on(async {
        tokio::select! {
            outcome = released(gang, home) => outcome,
            () = watch::asked_to_stop(stop) => Some(Cause::Stopped { killed: false }),
            () = watch::word_from(child.as_fd()) => Some(platform("the child ended while it waited for its gang".into())),
        }
    })
}

fn platform(why: String) -> Cause {
    Cause::CannotStart { why, whose: Whose::Platform }
}

/// Only the time in which the server answered counts: while it is away, nobody can have told it anything.
async fn released(gang: &GangOrder, home: &Home) -> Option<Cause> {
    let far_off = Instant::now() + AS_LONG_AS_IT_TAKES;
    let unwanted = |why: String| {
        super::journal::say(&format!("the server does not want this run to begin: {why}"));
        Some(Cause::Stopped { killed: false })
    };
    if let Told::Unwanted(why) | Told::No(why) = home.tell(&Report::Ready { at_ms: now_ms() }, far_off).await {
        return unwanted(why);
    }
    let timeout = Duration::from_millis(gang.timeout_ms);
    let waited = Cell::new(Duration::ZERO);
    loop {
        let left = timeout.saturating_sub(waited.get());
        let ask = if left.is_zero() { ASK_MAX } else { left.min(ASK_MAX) };
        match home.gang(ask, far_off, &waited).await {
            Told::Yes(view) if view.released => {
                tokio::time::sleep(Duration::from_millis(gang.back_ms)).await;
                return None;
            }
            // With nobody missing the gang is not let go because it is about to be stopped.
            Told::Yes(view) if waited.get() >= timeout && !view.missing.is_empty() => {
                return Some(platform(too_late(&view.missing, gang.timeout_ms)));
            }
            Told::Yes(_) => {}
            Told::Unwanted(why) | Told::No(why) => return unwanted(why),
        }
    }
}
