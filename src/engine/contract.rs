//! What every engine must hold, tried against the real thing. No engine is named here: each brings its
//! [`Ground`], and [`crate::engine_contract`] makes one test of every promise.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use model::{
    channels::{Layout, OutputPlan},
    ids::{JobId, NodeName, RunKey},
    location::Location,
    logs::Stream,
    order::{Limits, RunOrder},
    reconcile::Phase,
    task::{Cause, Ending, Whose},
};

use super::{Engine, EngineError, Start};

type Eye<T> = Box<dyn Fn(&RunKey) -> T + Send + Sync>;

/// An engine to be tried, and eyes that see what it cannot be asked.
pub struct Ground {
    pub engine: Box<dyn Engine>,
    pub node: NodeName,
    /// Whether limits can be enforced here at all.
    pub limits_hold: bool,
    /// A run's output, piece by piece in the order it came.
    pub output: Eye<Vec<(Stream, Vec<u8>)>>,
    /// Ends a run's supervisor as nothing else would.
    pub kill_supervisor: Eye<()>,
    /// Processes, groups and mounts of a run that are still there.
    pub left_behind: Eye<Vec<String>>,
}

pub type Kept = Result<(), String>;

const PATIENCE: Duration = Duration::from_secs(30);
const GRACE_MS: u64 = 300;

impl Ground {
    fn order(&self, script: &str) -> RunOrder {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let attempt = NEXT.fetch_add(1, Ordering::Relaxed);
        let pid = std::process::id().to_le_bytes();
        let random = [pid[0], pid[1], pid[2], pid[3], 7, 7, 7, 7, 7, 7];
        RunOrder {
            run: RunKey { job: JobId::new(1, &random), task: "worker-0".parse().expect("a task's name"), attempt },
            node: self.node.clone(),
            command: ["/bin/sh", "-c", script].map(String::from).to_vec(),
            env: BTreeMap::new(),
            paths: BTreeMap::new(),
            files: BTreeMap::new(),
            code: None,
            agrees_on_code: false,
            secrets: BTreeMap::new(),
            requirements: Default::default(),
            setup: None,
            freight: Default::default(),
            not_ours: Vec::new(),
            metrics: Default::default(),
            volumes: Default::default(),
            environment: None,
            limits: Limits {
                cpus_milli: 1000,
                memory_bytes: 128 << 20,
                shared_memory_bytes: 16 << 20,
                disk_bytes: None,
                processes_max: 200,
            },
            stop_grace_ms: GRACE_MS,
            keep_failed_ms: None,
            ports: Vec::new(),
            address: "127.0.0.1".into(),
            gang: None,
        }
    }

    async fn start(&self, order: &RunOrder) -> Kept {
        // Nobody listens at that address: an engine must not need anyone to.
        let start = Start { order, token: "none", server_url: "http://127.0.0.1:9" };
        self.engine.start(start).await.map_err(|error| format!("start: {error}"))
    }

    async fn begin(&self, script: &str) -> Result<RunKey, String> {
        let order = self.order(script);
        self.start(&order).await?;
        Ok(order.run)
    }

    async fn phase(&self, run: &RunKey) -> Result<Option<Phase>, String> {
        let seen = self.engine.list().await.map_err(|error| format!("list: {error}"))?;
        Ok(seen.into_iter().find(|it| it.run == *run).map(|it| it.phase))
    }

    async fn until<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Result<Option<T>, String>) -> Result<T, String> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(found) = look().await? {
                return Ok(found);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Err(format!("waited {} s for {what}", PATIENCE.as_secs()))
    }

    async fn ending(&self, run: &RunKey) -> Result<Ending, String> {
        self.until("the end of a run", async || match self.phase(run).await? {
            Some(Phase::Ended(ending)) => Ok(Some(ending)),
            Some(Phase::Vanished { why }) => Err(format!("vanished: {why}")),
            Some(Phase::NotTaken | Phase::Alive) | None => Ok(None),
        })
        .await
    }

    async fn cause_of(&self, script: &str) -> Result<Cause, String> {
        let run = self.begin(script).await?;
        Ok(self.ending(&run).await?.cause)
    }

    fn said(&self, run: &RunKey, stream: Stream) -> Vec<u8> {
        (self.output)(run).into_iter().filter(|(from, _)| *from == stream).flat_map(|(_, bytes)| bytes).collect()
    }

    async fn until_said(&self, run: &RunKey, words: &str) -> Kept {
        self.until(words, async || Ok(contains(&self.said(run, Stream::Stdout), words.as_bytes()).then_some(()))).await
    }

    async fn until_nothing_is_left(&self, run: &RunKey) -> Kept {
        let left = || (self.left_behind)(run);
        let gone = self.until("nothing to be left", async || Ok(left().is_empty().then_some(()))).await;
        gone.map_err(|error| format!("{error}: {}", left().join(", ")))
    }

    /// When an ending is there, nothing may be left any more: this one does not wait.
    fn nothing_is_left(&self, run: &RunKey) -> Kept {
        let left = (self.left_behind)(run);
        if left.is_empty() { Ok(()) } else { Err(format!("left behind: {}", left.join(", "))) }
    }

    async fn stop(&self, run: &RunKey) -> Kept {
        self.until("a stop to be taken", async || match self.engine.stop(run).await {
            Ok(()) => Ok(Some(())),
            Err(EngineError::Away(_)) => Ok(None),
            Err(EngineError::Never(why)) => Err(why),
        })
        .await
    }
}

fn contains(text: &[u8], words: &[u8]) -> bool {
    text.windows(words.len()).any(|part| part == words)
}

fn same<T: PartialEq + std::fmt::Debug>(got: T, wanted: T) -> Kept {
    if got == wanted { Ok(()) } else { Err(format!("got {got:?}, wanted {wanted:?}")) }
}

pub async fn a_run_started_twice_is_one_run(ground: &Ground) -> Kept {
    let order = ground.order("echo once; sleep 0.2");
    ground.start(&order).await?;
    ground.start(&order).await?;
    ground.until_said(&order.run, "once").await?;
    ground.start(&order).await?;
    same(ground.ending(&order.run).await?.cause, Cause::Exited { code: 0 })?;
    ground.start(&order).await?;
    same(String::from_utf8_lossy(&ground.said(&order.run, Stream::Stdout)).into_owned(), "once\n".to_owned())
}

pub async fn a_new_attempt_waits_until_nothing_of_the_older_ones_lives(ground: &Ground) -> Kept {
    let older = ground.begin("trap '' TERM; echo ready; sleep 1000").await?;
    ground.until_said(&older, "ready").await?;
    let mut newer = ground.order("exit 7");
    newer.run.attempt = older.attempt + 1;
    same(ground.start(&newer).await.is_ok(), false)?;
    same(ground.phase(&newer.run).await?, None)?;
    ground.stop(&older).await?;
    ground.ending(&older).await?;
    ground.start(&newer).await?;
    same(ground.ending(&newer.run).await?.cause, Cause::Exited { code: 7 })
}

pub async fn exit_codes_are_true(ground: &Ground) -> Kept {
    for code in [0, 1, 2, 3, 42, 125, 126, 127, 128, 137, 143, 254, 255] {
        same(ground.cause_of(&format!("exit {code}")).await?, Cause::Exited { code })?;
    }
    Ok(())
}

pub async fn signals_are_true(ground: &Ground) -> Kept {
    for signal in [1, 2, 3, 6, 9, 11, 13, 15] {
        same(ground.cause_of(&format!("ulimit -c 0; kill -{signal} $$")).await?, Cause::Signaled { signal })?;
    }
    Ok(())
}

pub async fn a_program_that_is_not_there_is_the_users_to_mend(ground: &Ground) -> Kept {
    let mut order = ground.order("");
    order.command = vec!["no-such-program".into()];
    ground.start(&order).await?;
    let why = "no program `no-such-program` in PATH".to_owned();
    same(ground.ending(&order.run).await?.cause, Cause::CannotStart { why, whose: Whose::User })
}

pub async fn output_is_kept_to_the_byte_on_both_streams(ground: &Ground) -> Kept {
    let every_byte: Vec<u8> = (0..=255).collect();
    let octal: String = every_byte.iter().map(|byte| format!("\\{byte:03o}")).collect();
    let script = format!("i=0; while [ $i -lt 50 ]; do printf '{octal}'; printf '{octal}' >&2; i=$((i+1)); done");
    let run = ground.begin(&script).await?;
    same(ground.ending(&run).await?.cause, Cause::Exited { code: 0 })?;
    for stream in [Stream::Stdout, Stream::Stderr] {
        if ground.said(&run, stream) != every_byte.repeat(50) {
            return Err(format!("{stream:?} differs from what was written"));
        }
    }
    Ok(())
}

pub async fn a_last_line_without_an_end_is_kept(ground: &Ground) -> Kept {
    let run = ground.begin("echo first; printf last").await?;
    ground.ending(&run).await?;
    same(ground.said(&run, Stream::Stdout), b"first\nlast".to_vec())
}

pub async fn a_stop_of_a_run_that_is_gone_is_fine(ground: &Ground) -> Kept {
    let run = ground.begin("exit 3").await?;
    ground.ending(&run).await?;
    ground.stop(&run).await?;
    same(ground.ending(&run).await?.cause, Cause::Exited { code: 3 })?;
    ground.stop(&ground.order("").run).await
}

pub async fn a_child_that_heeds_a_stop_ends_by_itself(ground: &Ground) -> Kept {
    let run = ground.begin("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done").await?;
    ground.until_said(&run, "ready").await?;
    ground.stop(&run).await?;
    ground.stop(&run).await?;
    same(ground.ending(&run).await?.cause, Cause::Stopped { killed: false })?;
    same(ground.said(&run, Stream::Stdout), b"ready\nbye\n".to_vec())
}

pub async fn a_child_that_ignores_a_stop_dies_after_its_grace(ground: &Ground) -> Kept {
    let run = ground.begin("trap '' TERM; echo ready; while :; do sleep 1; done").await?;
    ground.until_said(&run, "ready").await?;
    let asked = Instant::now();
    ground.stop(&run).await?;
    same(ground.ending(&run).await?.cause, Cause::Stopped { killed: true })?;
    ground.nothing_is_left(&run)?;
    let took = asked.elapsed();
    if took < Duration::from_millis(GRACE_MS) { Err(format!("it had only {took:?} of its grace")) } else { Ok(()) }
}

pub async fn children_that_ran_away_die_with_a_stop(ground: &Ground) -> Kept {
    let away = "setsid sh -c '(trap \"\" TERM HUP; echo away; while :; do sleep 1; done) & exit' &";
    let run = ground.begin(&format!("{away} trap '' TERM; wait; while :; do sleep 1; done")).await?;
    ground.until_said(&run, "away").await?;
    ground.stop(&run).await?;
    same(ground.ending(&run).await?.cause, Cause::Stopped { killed: true })?;
    ground.nothing_is_left(&run)
}

pub async fn children_that_ran_away_die_with_the_main_process(ground: &Ground) -> Kept {
    let run =
        ground.begin("setsid sh -c 'trap \"\" TERM HUP; echo away; sleep 1000' & while :; do sleep 0.05; break; done; exit 5").await?;
    same(ground.ending(&run).await?.cause, Cause::Exited { code: 5 })?;
    ground.nothing_is_left(&run)
}

pub async fn out_of_memory_is_proven(ground: &Ground) -> Kept {
    if !ground.limits_hold {
        return Ok(());
    }
    // `tail` keeps the last line, and this one has no end.
    let hungry = "tail -n 1 /dev/zero";
    for script in [format!("exec {hungry}"), format!("{hungry}; exit 1")] {
        match ground.cause_of(&script).await? {
            Cause::OutOfMemory { limit_bytes, kills } if limit_bytes == 128 << 20 && kills > 0 => {}
            other => return Err(format!("{script}: got {other:?}")),
        }
    }
    same(ground.cause_of(&format!("{hungry}; exit 0")).await?, Cause::Exited { code: 0 })
}

pub async fn a_killed_supervisor_leaves_nothing_and_is_not_guessed_at(ground: &Ground) -> Kept {
    let run = ground.begin("setsid sh -c 'trap \"\" TERM HUP; sleep 1000' & trap '' TERM; echo ready; sleep 1000").await?;
    ground.until_said(&run, "ready").await?;
    (ground.kill_supervisor)(&run);
    ground
        .until("the run to be seen as vanished", async || match ground.phase(&run).await? {
            Some(Phase::Vanished { .. }) => Ok(Some(())),
            Some(Phase::Ended(ending)) => Err(format!("called ended: {ending}")),
            Some(Phase::NotTaken) => Err("called not taken: it would be started again".into()),
            Some(Phase::Alive) | None => Ok(None),
        })
        .await?;
    ground.nothing_is_left(&run)
}

pub async fn nothing_is_left_of_a_run_that_is_over(ground: &Ground) -> Kept {
    let run = ground.begin("mkdir -p /tmp/a/b; echo kept; sleep 1000 & exit 0").await?;
    ground.ending(&run).await?;
    ground.nothing_is_left(&run)?;
    ground.engine.remove(&run).await.map_err(|error| error.to_string())?;
    ground.engine.remove(&run).await.map_err(|error| error.to_string())?;
    same(ground.phase(&run).await?, None)?;
    same(ground.said(&run, Stream::Stdout), b"kept\n".to_vec())?;
    ground.until_nothing_is_left(&run).await
}

pub async fn a_run_that_lives_is_neither_removed_nor_erased(ground: &Ground) -> Kept {
    let run = ground.begin("echo ready; sleep 1000").await?;
    ground.until_said(&run, "ready").await?;
    let (removed, erased) = (ground.engine.remove(&run).await.is_ok(), ground.engine.erase(&run).await.is_ok());
    same((removed, erased), (false, false))?;
    same(ground.phase(&run).await?, Some(Phase::Alive))?;
    ground.stop(&run).await?;
    ground.ending(&run).await.map(|_| ())
}

pub async fn erasing_takes_everything_whatever_the_task_has_made_of_it(ground: &Ground) -> Kept {
    let mess =
        "cd \"$TRAINMASTER_OUTPUT\"; mkdir -p a/b/c; echo x > a/b/c/f; ln -s / a/b/root; mkfifo a/p; chmod 000 a/b/c a/b a; echo done";
    let run = ground.begin(mess).await?;
    same(ground.ending(&run).await?.cause, Cause::Exited { code: 0 })?;
    ground.engine.erase(&run).await.map_err(|error| error.to_string())?;
    ground.engine.erase(&run).await.map_err(|error| error.to_string())?;
    same(ground.phase(&run).await?, None)?;
    same((ground.output)(&run), Vec::new())
}

pub async fn the_output_of_a_run_comes_out_whoever_is_there_to_carry_it(ground: &Ground) -> Kept {
    let mut order = ground.order("echo precious > \"$TRAINMASTER_OUTPUT/model\"; echo written; sleep 1000");
    let place = std::env::temp_dir().join(format!("trainmaster-contract-{}-{}", order.run.job, order.run.attempt));
    let to = Location::Host(place.to_string_lossy().into_owned());
    order.freight.outputs = vec![OutputPlan { name: None, to, layout: Layout::Chief }];
    ground.start(&order).await?;
    ground.until_said(&order.run, "written").await?;
    (ground.kill_supervisor)(&order.run);
    ground
        .until("its output to be saved", async || {
            let start = Start { order: &order, token: "none", server_url: "http://127.0.0.1:9" };
            match ground.engine.sync(start, false).await {
                Ok(synced) => Ok(synced),
                Err(EngineError::Away(_)) => Ok(None),
                Err(EngineError::Never(why)) => Err(why),
            }
        })
        .await?;
    let saved = std::fs::read_to_string(place.join("model")).map_err(|error| error.to_string());
    let _scratch = std::fs::remove_dir_all(&place);
    same(saved?, "precious\n".to_owned())?;
    ground.nothing_is_left(&order.run)
}

/// One test for every promise, on the ground that `$ground` prepares.
#[macro_export]
macro_rules! engine_contract {
    ($ground:path) => {
        $crate::engine_contract! { $ground:
            a_run_started_twice_is_one_run
            a_new_attempt_waits_until_nothing_of_the_older_ones_lives
            exit_codes_are_true
            signals_are_true
            a_program_that_is_not_there_is_the_users_to_mend
            output_is_kept_to_the_byte_on_both_streams
            a_last_line_without_an_end_is_kept
            a_stop_of_a_run_that_is_gone_is_fine
            a_child_that_heeds_a_stop_ends_by_itself
            a_child_that_ignores_a_stop_dies_after_its_grace
            children_that_ran_away_die_with_a_stop
            children_that_ran_away_die_with_the_main_process
            out_of_memory_is_proven
            a_killed_supervisor_leaves_nothing_and_is_not_guessed_at
            nothing_is_left_of_a_run_that_is_over
            a_run_that_lives_is_neither_removed_nor_erased
            erasing_takes_everything_whatever_the_task_has_made_of_it
            the_output_of_a_run_comes_out_whoever_is_there_to_carry_it
        }
    };
    ($ground:path: $($promise:ident)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $promise() {
            let ground = $ground();
            if let Err(broken) = $crate::engine::contract::$promise(&ground).await {
                panic!("{broken}");
            }
        }
    )*};
}
