//! Live runs whose rows cannot be read go on holding what they hold.

use super::*;

const COLUMNS: [&str; 4] = ["node", "amount", "devices", "ports"];

/// One node with eight CPUs and a GPU, which the first job has.
async fn one_has_the_gpu(place: &Place) -> Control {
    let (control, _engine) = control(place);
    let (name, address, reason) = ("here".parse().unwrap(), "127.0.0.1".into(), Default::default());
    let (capacity, devices) = (with_gpus(resources(8, 8192), 1), BTreeMap::from([("gpu".to_owned(), vec![0])]));
    control.board.set(vec![Node { name, address, capacity, devices, open: true, reason }]);
    submit(&control, 1, |role| role.resources = with_gpus(resources(1, 64), 1)).await;
    placing::Placing::default().sweep(&control).await.unwrap();
    assert_eq!(job(&control, 1).await.state, JobState::Starting);
    control
}

fn with_gpus(mut resources: model::resources::Resources, count: u32) -> model::resources::Resources {
    resources.accelerators.insert("gpu".into(), count);
    resources
}

async fn submit(control: &Control, number: u64, change: fn(&mut model::plan::RolePlan)) {
    let mut new = new_job(number, "digits");
    new.plan.roles = vec![role("worker", 1)];
    new.plan.roles[0].resources = resources(1, 64);
    change(&mut new.plan.roles[0]);
    control.store.write(move |sql| jobs::submit(sql, &new)).await.unwrap();
}

#[tokio::test]
async fn what_a_run_has_that_cannot_be_read_is_given_to_nobody_else_and_all_the_rest_is() {
    for column in COLUMNS {
        let place = Place::new();
        let control = one_has_the_gpu(&place).await;
        place.change_by_hand(&format!("UPDATE run SET {column} = '{{nonsense'"));
        submit(&control, 2, |role| role.resources = with_gpus(resources(1, 64), 1)).await;
        submit(&control, 3, |_| {}).await;
        placing::Placing::default().sweep(&control).await.unwrap();
        assert_eq!((job(&control, 2).await.state, job(&control, 3).await.state), (JobState::Queued, JobState::Starting), "{column}");
    }
}

#[tokio::test]
async fn where_nobody_can_say_what_a_run_has_its_node_takes_nothing_new_and_who_waits_is_told() {
    let place = Place::new();
    let control = one_has_the_gpu(&place).await;
    place.change_by_hand("UPDATE run SET amount = '{nonsense', ports = '{nonsense'");
    submit(&control, 2, |role| role.ports = BTreeMap::from([("http".to_owned(), PortPlan { count: 1, from: None })])).await;
    placing::Placing::default().sweep(&control).await.unwrap();
    let reason = job(&control, 2).await.reason.en;
    assert_eq!(reason, "waits for ports on here: the row of a run there cannot be read, and nobody can say which ports it has");

    place.change_by_hand("UPDATE job_plan SET plan = '{nonsense' WHERE job = (SELECT job FROM run)");
    submit(&control, 3, |_| {}).await;
    placing::Placing::default().sweep(&control).await.unwrap();
    let waits = job(&control, 3).await;
    assert_eq!(waits.state, JobState::Queued);
    assert!(waits.reason.en.contains("free now: here 0 of 8 CPU"), "{}", waits.reason.en);
    let board = control.board.clone();
    let held = control.store.read(move |sql| super::super::held(sql, &board)).await.unwrap();
    assert_eq!(held.iter().map(|it| it.label.as_str()).collect::<Vec<_>>(), ["digits@1"]);
}
