//! Placing: gangs whole and other tasks as they fit, with devices and ports, in one transaction for each job; then
//! they are started.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use model::{
    gang::{LAUNCH_LABEL, has_launcher},
    ids::{JobId, NodeName, RunKey, TaskName},
    job::{JobEvent, JobState, next},
    plan::{Plan, PortPlan},
    rendezvous,
    resources::is_port,
    said,
    schedule::{Assignment, Held, What, place_telling},
    words::{Lang, Words},
};

use super::{
    Board, Control, holding, now_ms,
    on_the_way::{Lot, OnTheWay},
    queue::{QUEUE_MAX, Queue, beside, next_attempt, queue},
    readable, running,
    telling::{self, Telling},
    timeline,
};
use crate::{
    engine::Node,
    store::{
        Sql, StoreError, Written,
        jobs::{self, Change, Job},
        runs::{self, Hold, NewRun, Run},
    },
};

/// How far down the queue a turn looks. After a nudge only the front matters; every sweep looks at all of it, for jobs
/// that fit beside those before them, and stores why the others wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Near,
    Far,
    Whole,
}

impl Look {
    fn jobs_max(self) -> u32 {
        match self {
            Look::Near => 10,
            Look::Far => 200,
            Look::Whole => QUEUE_MAX,
        }
    }
}

/// After it has looked at the whole queue it leaves that alone for so many times as long as it took: a queue of tens of
/// thousands must not keep everything else from its turn.
const REST_TIMES: u32 = 4;
/// How often a turn begins anew because a job that had room lacked something else.
const REFUSALS_MAX: usize = 10;

/// What one turn decides from.
struct Scene {
    queue: Queue,
    holds: Vec<Hold>,
}

/// Places what waits. It remembers nothing that a restart would miss.
#[derive(Default)]
pub struct Placing {
    telling: Telling,
    /// Until when it does not look at the whole queue.
    rests_until: Option<Instant>,
}

impl Placing {
    /// After a nudge.
    pub async fn glance(&mut self, control: &Control) -> anyhow::Result<()> {
        self.turn(control, Look::Near).await
    }

    pub async fn sweep(&mut self, control: &Control) -> anyhow::Result<()> {
        let rests = self.rests_until.is_some_and(|until| Instant::now() < until);
        self.turn(control, if rests { Look::Far } else { Look::Whole }).await
    }

    async fn turn(&mut self, control: &Control, look: Look) -> anyhow::Result<()> {
        let mut refused: BTreeMap<JobId, Words> = BTreeMap::new();
        while refused.len() < REFUSALS_MAX {
            let known = refused.len();
            self.pass(control, look, &mut refused).await?;
            if refused.len() == known {
                break;
            }
        }
        store_reasons(control, refused.into_iter().collect()).await
    }

    /// Places what it can. A job that has room and lacks something that only shows when it is reached for is written
    /// down as refused; the next pass gives its room to others.
    async fn pass(&mut self, control: &Control, look: Look, refused: &mut BTreeMap<JobId, Words>) -> anyhow::Result<()> {
        let (board, placings) = (control.board.clone(), control.nudge.room().placings());
        let began = Instant::now();
        let Scene { mut queue, holds } = control.store.read(move |sql| read_scene(sql, &board, look)).await?;
        queue.waiting.retain(|waiting| !refused.contains_key(&waiting.job));
        if look == Look::Near && (queue.waiting.is_empty() || !anything_is_free(&control.board.nodes(), &holds)) {
            return Ok(());
        }
        let held: Vec<Held> = holds.iter().map(|it| it.held.clone()).collect();
        let told = match look {
            Look::Near => BTreeSet::new(),
            Look::Far => telling::front(&queue.waiting),
            Look::Whole => self.telling.next(&queue.waiting, &queue.untold),
        };
        let decisions = place_telling(&queue.waiting, &control.board.for_placing(), &held, now_ms(), |job| told.contains(&job));
        if look == Look::Whole {
            self.rests_until = Some(Instant::now() + began.elapsed() * REST_TIMES);
        }
        let mut taken = Taken::new(&holds, placings);
        let mut reasons = queue.pausing;
        for decision in decisions {
            let (assignments, waits) = match decision.what {
                What::Start(assignments) => (assignments, None),
                What::Part(assignments, reason) => (assignments, Some(reason)),
                What::Wait(reason) => (Vec::new(), Some(reason)),
            };
            let why_not = if assignments.is_empty() { None } else { start(control, decision.job, assignments, &mut taken).await? };
            match why_not {
                Some(reason) => _ = refused.insert(decision.job, reason),
                None => reasons.extend(waits.map(|reason| (decision.job, reason))),
            }
        }
        if look == Look::Near { Ok(()) } else { store_reasons(control, reasons).await }
    }
}

/// Every task needs some CPU, so where there is none there is nothing to decide.
pub fn anything_is_free(nodes: &[Node], holds: &[Hold]) -> bool {
    let held = |name: &NodeName| holds.iter().filter(|it| it.held.node == *name).map(|it| it.held.amount.cpus_milli).sum::<u64>();
    nodes.iter().any(|node| node.open && node.capacity.cpus_milli > held(&node.name))
}

fn read_scene(sql: &Sql<'_>, board: &Board, look: Look) -> Result<Scene, StoreError> {
    let queue = queue(sql, look.jobs_max(), now_ms())?;
    let holds = if queue.waiting.is_empty() { Vec::new() } else { holding::holds(sql, board)? };
    Ok(Scene { queue, holds })
}

/// Devices and ports that are given out on each node.
pub struct Taken {
    devices: BTreeMap<(NodeName, String), BTreeSet<u32>>,
    ports: BTreeMap<NodeName, Vec<u16>>,
    /// Nodes with a run of which nobody can say which ports it has.
    unclear_ports: BTreeSet<NodeName>,
    /// How often somebody had placed something when this was seen.
    placings: u64,
}

impl Taken {
    pub fn new(holds: &[Hold], placings: u64) -> Self {
        let mut taken = Self { devices: BTreeMap::new(), ports: BTreeMap::new(), unclear_ports: BTreeSet::new(), placings };
        for Hold { held: Held { node, .. }, devices, ports } in holds {
            for (kind, indices) in devices {
                taken.devices.entry((node.clone(), kind.clone())).or_default().extend(indices);
            }
            match ports {
                Some(ports) => taken.ports.entry(node.clone()).or_default().extend(ports.values().flatten()),
                None => _ = taken.unclear_ports.insert(node.clone()),
            }
        }
        taken
    }

    /// The lowest free indices of each type, so that two servers looking at one database agree.
    fn give_devices(&mut self, node: &Node, assignment: &Assignment) -> Option<BTreeMap<String, Vec<u32>>> {
        let mut given = BTreeMap::new();
        for (kind, count) in assignment.amount.accelerators.iter().filter(|(kind, _)| !is_port(kind)) {
            let used = self.devices.entry((node.name.clone(), kind.clone())).or_default();
            let free = node.devices.get(kind)?.iter().copied().filter(|index| !used.contains(index));
            let chosen: Vec<u32> = free.take(*count as usize).collect();
            if chosen.len() < *count as usize {
                return None;
            }
            used.extend(&chosen);
            given.insert(kind.clone(), chosen);
        }
        Some(given)
    }
}

/// Answers why it could not, if something is missing that only shows when it is reached for. That is this
/// job's trouble alone; the next turn sees the world as it is then.
pub async fn start(control: &Control, id: JobId, assignments: Vec<Assignment>, taken: &mut Taken) -> anyhow::Result<Option<Words>> {
    let Some(Ripe { job, to, numbered }) = control.store.read(move |sql| ripe(sql, id, assignments)).await? else { return Ok(None) };
    let (mut new_runs, mut why_not) = (Vec::new(), None);
    for (attempt, assignment) in numbered {
        match new_run(control, (&job, attempt), assignment, taken).await {
            Ok(run) => new_runs.push(run),
            Err(reason) if job.plan.gang => return Ok(Some(reason)),
            Err(reason) => why_not = Some(reason),
        }
    }
    if new_runs.is_empty() {
        return Ok(why_not);
    }
    crate::crash::point("schedule.before-reserve");
    let (nudge, board, placings) = (control.nudge.clone(), control.board.clone(), taken.placings);
    let written = control.store.write(move |sql| {
        // Somebody was quicker, and may have taken the same place.
        if nudge.room().placings() != placings {
            return Ok(None);
        }
        let placed = reserve(sql, nudge.on_the_way(), job, to, new_runs)?;
        nudge.room().note(placed.is_some(), || Ok(anything_is_free(&board.nodes(), &holding::holds(sql, &board)?)))?;
        Ok(placed)
    });
    let written = written.await?;
    crate::crash::point("schedule.after-reserve-commit");
    match written {
        Some(placed) => {
            taken.placings += 1;
            running::start_all(control, &placed).await;
        }
        None => control.nudge.queue(),
    }
    Ok(why_not)
}

/// A job some of whose tasks can be placed now.
pub struct Ripe {
    pub job: Job,
    pub to: JobState,
    /// Each with the number of its run.
    pub numbered: Vec<(u32, Assignment)>,
}

/// The job as it is now; none if it has moved on since it was looked at.
pub fn ripe(sql: &Sql<'_>, id: JobId, assignments: Vec<Assignment>) -> Result<Option<Ripe>, StoreError> {
    let Some(job) = readable(sql, id)? else { return Ok(None) };
    let Ok(to) = next(job.state, JobEvent::Placed) else { return Ok(None) };
    // It may have failed, and have to pause, since it was looked at.
    if job.pause_left_ms(now_ms()).is_some() {
        return Ok(None);
    }
    // A gang is placed once; a decision from an old read may ask for it again.
    if job.plan.gang && job.state != JobState::Queued {
        return Ok(None);
    }
    let number = |it: Assignment| Ok((next_attempt(sql, &job, &TaskName { role: it.role.clone(), index: it.index })?, it));
    let numbered = assignments.into_iter().map(number).collect::<Result<_, StoreError>>()?;
    Ok(Some(Ripe { job, to, numbered }))
}

async fn new_run(control: &Control, (job, attempt): (&Job, u32), assignment: Assignment, taken: &mut Taken) -> Result<NewRun, Words> {
    let mut new = without_ports(&control.board.nodes(), (job, attempt), assignment, taken)?;
    let node = &new.node;
    for (label, wanted) in ports_wanted(&job.plan, &new.run.task) {
        if taken.unclear_ports.contains(node) {
            return Err(said!(
                "waits for ports on {node}: the row of a run there cannot be read, and nobody can say which ports it has",
                "等待 {node} 上的端口：那里有一个运行的记录无法读取，不知道它占用了哪些端口"
            ));
        }
        let given = taken.ports.entry(node.clone()).or_default();
        let free = control.engine.free_ports(node, wanted, given).await;
        let lacks = |why: Words| {
            Words::new(format!("waits for ports on {node}: {}", why.en), format!("等待 {node} 上的端口：{}", why.say(Lang::Zh)))
        };
        let free = free.map_err(lacks)?;
        given.extend(&free);
        new.ports.insert(label, free);
    }
    Ok(new)
}

pub fn ports_wanted(plan: &Plan, task: &TaskName) -> Vec<(String, PortPlan)> {
    let launcher = has_launcher(plan).then(|| (LAUNCH_LABEL.to_owned(), PortPlan { count: 1, from: None }));
    rendezvous::ports(plan, task).into_iter().chain(launcher).collect()
}

/// Everything of a run that can be given out without asking its engine.
pub fn without_ports(nodes: &[Node], (job, attempt): (&Job, u32), assignment: Assignment, taken: &mut Taken) -> Result<NewRun, Words> {
    let name = &assignment.node;
    let gone = || Words::new(format!("{name} is gone"), format!("节点 {name} 已不在"));
    let node = nodes.iter().find(|node| node.name == *name).ok_or_else(gone)?;
    let lacks = || Words::new(format!("waits for devices on {name}"), format!("等待 {name} 上的设备"));
    let devices = taken.give_devices(node, &assignment).ok_or_else(lacks)?;
    Ok(NewRun {
        run: RunKey { job: job.id, attempt, task: TaskName { role: assignment.role, index: assignment.index } },
        job_attempt: job.attempt,
        address: node.address.clone(),
        node: assignment.node,
        amount: assignment.amount,
        devices,
        ports: BTreeMap::new(),
        at_ms: now_ms(),
        copies_out: job.plan.freight.copies_out(),
    })
}

/// What was placed together, and is to be started.
pub struct Placed {
    pub job: Job,
    /// Everyone whom the new runs find beside them, and they themselves.
    pub gang: Vec<Run>,
    pub new: Lot,
}

/// The job and all its new runs, or nothing: a reservation is never half there.
pub fn reserve(sql: &Sql<'_>, way: &OnTheWay, job: Job, to: JobState, new_runs: Vec<NewRun>) -> Result<Option<Placed>, StoreError> {
    let mut nodes: Vec<String> = new_runs.iter().map(|run| run.node.to_string()).collect();
    nodes.sort();
    nodes.dedup();
    let (seen, count) = ((job.id, job.state, job.attempt), new_runs.len());
    let (en, zh) = (nodes.join(", "), nodes.join("、"));
    let written = if to == job.state {
        jobs::remark(sql, seen, &Words::new(format!("{count} more placed on {en}"), format!("又有 {count} 个任务放到 {zh}")))?
    } else {
        let reason = Some(Words::new(format!("placed on {en}"), format!("已放到 {zh}")));
        jobs::advance(sql, seen, &Change { to, reason, at_ms: now_ms(), used: None, stop_by: None })?
    };
    if written == Written::Stale {
        return Ok(None);
    }
    for run in &new_runs {
        runs::insert(sql, run)?;
        timeline::placed(sql, &job, run)?;
    }
    let new = way.send(new_runs.iter().map(|it| it.run.clone()).collect());
    let gang = if job.plan.gang { whole(new_runs) } else { beside(sql, &job, &new_runs[0].run)? };
    Ok(Some(Placed { job, gang, new }))
}

/// A gang is placed as a whole, so its new runs are all there are. In the order in which they are read later.
fn whole(new_runs: Vec<NewRun>) -> Vec<Run> {
    let mut gang: Vec<Run> = new_runs.into_iter().map(NewRun::placed).collect();
    gang.sort_by(|one, other| (one.run.task.role.as_str(), one.run.task.index).cmp(&(other.run.task.role.as_str(), other.run.task.index)));
    gang
}

/// Most of them say what was said before. Whoever writes is asked for the others alone.
async fn store_reasons(control: &Control, reasons: Vec<(JobId, Words)>) -> anyhow::Result<()> {
    if reasons.is_empty() {
        return Ok(());
    }
    let news = control.store.read(move |sql| jobs::new_reasons(sql, reasons)).await?;
    if !news.is_empty() {
        control.store.write(move |sql| news.iter().try_for_each(|(job, reason)| jobs::set_reason(sql, *job, reason, now_ms()))).await?;
    }
    Ok(())
}
