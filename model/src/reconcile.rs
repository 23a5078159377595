//! What should run against what does: the difference, as actions.

use crate::{ids::RunKey, task::Ending};

/// One run as its engine sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub run: RunKey,
    pub phase: Phase,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// Asked for, but no supervisor has taken it up: starting it again is safe.
    NotTaken,
    Alive,
    /// The exit record says how it ended.
    Ended(Ending),
    /// Its supervisor is gone without a record, and nothing of it lives any more.
    Vanished {
        why: String,
    },
}

/// One run as the database wants it.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    pub run: RunKey,
    /// The job is being stopped or its outcome is decided: the run should end.
    pub stop: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Start(RunKey),
    Stop(RunKey),
    /// Write this ending down; the run is over.
    Record(RunKey, Ending),
    /// The run ended and nobody knows how.
    GiveUp(RunKey, String),
    /// It was to be stopped, and its engine never heard of it.
    NeverStarted(RunKey),
    /// Nobody wants it and nothing of it lives.
    Remove(RunKey),
}

/// Compares what should run with what does, and says what to do about the difference.
///
/// No clock, no database, no engine: the loop around it reads both sides, calls this, and applies
/// the answer. If the server dies half way, the next turn reads again and the rest comes out.
/// `wanted` holds the runs that are not over in the database.
pub fn decide(wanted: &[Wanted], seen: &[Seen]) -> Vec<Action> {
    let mut actions: Vec<Action> = seen.iter().filter(|it| !wanted.iter().any(|w| w.run == it.run)).map(unwanted).collect();
    for want in wanted {
        let own = seen.iter().find(|it| it.run == want.run);
        // Two attempts of one task must never hold the same device: the new one waits until the old is gone.
        let older_alive = || {
            seen.iter()
                .any(|it| it.run.job == want.run.job && it.run.task == want.run.task && it.run != want.run && it.phase == Phase::Alive)
        };
        let run = || want.run.clone();
        match own.map(|it| &it.phase) {
            None if want.stop => actions.push(Action::NeverStarted(run())),
            // Somebody may take it up in this very moment. The stop leaves an ending where nobody has, and that says how it was.
            Some(Phase::NotTaken) if want.stop => actions.push(Action::Stop(run())),
            None | Some(Phase::NotTaken) if !older_alive() => actions.push(Action::Start(run())),
            None | Some(Phase::NotTaken) => {}
            Some(Phase::Alive) if want.stop => actions.push(Action::Stop(run())),
            Some(Phase::Alive) => {}
            Some(Phase::Ended(ending)) => actions.push(Action::Record(run(), ending.clone())),
            Some(Phase::Vanished { why }) => actions.push(Action::GiveUp(run(), why.clone())),
        }
    }
    actions.sort_by_key(ended_at_ms);
    actions
}

/// Endings that nobody heard of are written down in the order in which they happened: the first failure decides what becomes of a job.
fn ended_at_ms(action: &Action) -> Option<u64> {
    match action {
        Action::Record(_, ending) => Some(ending.ended_at_ms),
        Action::Start(_) | Action::Stop(_) | Action::GiveUp(..) | Action::NeverStarted(_) | Action::Remove(_) => None,
    }
}

fn unwanted(it: &Seen) -> Action {
    match it.phase {
        Phase::Alive => Action::Stop(it.run.clone()),
        Phase::NotTaken | Phase::Ended(_) | Phase::Vanished { .. } => Action::Remove(it.run.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ids::JobId, task::Cause};

    fn a_run(attempt: u32) -> RunKey {
        RunKey { job: JobId::new(1, &[0; 10]), task: "worker-0".parse().unwrap(), attempt }
    }
    fn want(run: &RunKey) -> Wanted {
        Wanted { run: run.clone(), stop: false }
    }
    fn want_stopped(run: &RunKey) -> Wanted {
        Wanted { run: run.clone(), stop: true }
    }
    fn see(run: &RunKey, phase: Phase) -> Seen {
        Seen { run: run.clone(), phase }
    }
    fn ending() -> Ending {
        Ending::new(Cause::Exited { code: 0 }, Some(1), 2)
    }

    #[test]
    fn endings_of_a_time_without_a_server_are_written_down_in_the_order_in_which_they_happened() {
        let (first, second) = (a_run(1), RunKey { task: "worker-1".parse().unwrap(), ..a_run(1) });
        let at = |ended_at_ms| Phase::Ended(Ending { ended_at_ms, ..ending() });
        let seen = [see(&first, at(12)), see(&second, at(10))];
        let recorded = decide(&[want(&first), want(&second)], &seen);
        let order: Vec<&RunKey> = recorded.iter().filter_map(|it| if let Action::Record(run, _) = it { Some(run) } else { None }).collect();
        assert_eq!(order, [&second, &first]);
    }

    #[test]
    fn nothing_to_do_when_both_sides_agree() {
        let run = a_run(1);
        assert_eq!(decide(&[want(&run)], &[see(&run, Phase::Alive)]), []);
    }

    #[test]
    fn a_run_that_nobody_took_up_is_started_again() {
        let run = a_run(1);
        assert_eq!(decide(&[want(&run)], &[]), [Action::Start(run.clone())]);
        assert_eq!(decide(&[want(&run)], &[see(&run, Phase::NotTaken)]), [Action::Start(run)]);
    }

    #[test]
    fn a_new_attempt_waits_until_the_old_one_is_gone() {
        let (old, new) = (a_run(1), a_run(2));
        assert_eq!(decide(&[want(&new)], &[see(&old, Phase::Alive)]), [Action::Stop(old.clone())]);
        let gone = see(&old, Phase::Ended(ending()));
        assert_eq!(decide(&[want(&new)], &[gone]), [Action::Remove(old), Action::Start(new)]);
    }

    #[test]
    fn a_stop_reaches_a_live_run_and_spares_one_that_never_started() {
        let run = a_run(1);
        assert_eq!(decide(&[want_stopped(&run)], &[see(&run, Phase::Alive)]), [Action::Stop(run.clone())]);
        assert_eq!(decide(&[want_stopped(&run)], &[]), [Action::NeverStarted(run)]);
    }

    #[test]
    fn a_stop_of_a_run_that_somebody_may_be_taking_up_says_nothing_of_how_it_ended() {
        let run = a_run(1);
        assert_eq!(decide(&[want_stopped(&run)], &[see(&run, Phase::NotTaken)]), [Action::Stop(run)]);
    }

    #[test]
    fn an_ending_is_recorded_even_when_a_stop_was_asked() {
        let run = a_run(1);
        let seen = [see(&run, Phase::Ended(ending()))];
        assert_eq!(decide(&[want_stopped(&run)], &seen), [Action::Record(run, ending())]);
    }

    #[test]
    fn a_vanished_run_is_given_up_and_never_called_failed_or_succeeded() {
        let run = a_run(1);
        let seen = [see(&run, Phase::Vanished { why: "its supervisor was killed".into() })];
        assert_eq!(decide(&[want(&run)], &seen), [Action::GiveUp(run, "its supervisor was killed".into())]);
    }

    #[test]
    fn a_run_the_database_has_forgotten_is_stopped_and_then_swept_up() {
        let forgotten = a_run(1);
        assert_eq!(decide(&[], &[see(&forgotten, Phase::Alive)]), [Action::Stop(forgotten.clone())]);
        assert_eq!(decide(&[], &[see(&forgotten, Phase::NotTaken)]), [Action::Remove(forgotten)]);
    }
}
