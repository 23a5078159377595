//! Which commit the tasks of a job run, where its code is a branch. One task may look at it before somebody pushes and another after; the
//! first commit that the server hears of is the job's.

use std::{os::fd::OwnedFd, time::Duration};

use model::{
    code::CodePlan,
    order::Report,
    task::{Cause, Whose},
};
use tokio::time::Instant;

use super::{
    journal::say,
    report::{Home, Told},
    watch,
};

/// A server that is away is asked until it is back: a task that starts late is better than one with another commit.
const AS_LONG_AS_IT_TAKES: Duration = Duration::from_secs(365 * 24 * 3600);

/// Says which commit we have found, and answers the code of the job with its commit. The error is how the run ended without ever having
/// begun.
pub fn agreed(found: &str, home: &Home, stop: &OwnedFd) -> Result<Option<CodePlan>, Cause> {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build() {
        Ok(runtime) => runtime,
        Err(error) => return Err(cannot(&error.to_string())),
    };
    runtime.block_on(async {
        tokio::select! {
            code = ask(found, home) => code,
            () = watch::asked_to_stop(stop) => Err(Cause::Stopped { killed: false }),
        }
    })
}

async fn ask(found: &str, home: &Home) -> Result<Option<CodePlan>, Cause> {
    let until = Instant::now() + AS_LONG_AS_IT_TAKES;
    let unwanted = |why: String| {
        say(&format!("the server does not want this run to begin: {why}"));
        Err(Cause::Stopped { killed: false })
    };
    match home.tell(&Report::Code { commit: found.to_owned() }, until).await {
        Told::Yes(()) => {}
        Told::Unwanted(why) => return unwanted(why),
        Told::No(why) => return Err(cannot(&why)),
    }
    match home.order(until).await {
        Told::Yes(order) => Ok(order.code),
        Told::Unwanted(why) => unwanted(why),
        Told::No(why) => Err(cannot(&why)),
    }
}

fn cannot(why: &str) -> Cause {
    Cause::CannotStart { why: format!("it cannot be known which commit the other tasks have: {why}"), whose: Whose::Platform }
}
