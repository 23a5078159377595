//! Real training with frameworks that are too heavy for every run: `make test-frameworks`. PyTorch's
//! packages are 3.8 GiB to fetch and 6.8 GiB on disk, nearly all of it for devices this needs not.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic where it stands")]

#[allow(dead_code, reason = "these tests need only a part of it")]
#[path = "../it/house.rs"]
mod house;

#[allow(dead_code, reason = "these tests need only a part of it")]
#[path = "../it/training/hall.rs"]
mod hall;

#[path = "../it/metrics/boards.rs"]
mod boards;

use hall::Hall;

const WORKERS: [&str; 4] = ["worker-0", "worker-1", "worker-2", "worker-3"];

#[test]
fn pytorch_learns_digits_with_ddp_on_four_ranks() {
    let hall = Hall::open();
    let job = hall.submit("pytorch-ddp", &[]);
    hall.succeeded(&job);
    for worker in WORKERS {
        assert!(hall.accuracy(&job, worker) >= 0.9, "{}", hall.log(&job, worker));
    }
    assert!(hall.log(&job, "worker-3").contains("This is rank 3 of 4"));
}

#[test]
fn a_pytorch_rank_that_dies_fails_the_job_in_its_own_name() {
    let hall = Hall::open();
    let job = hall.submit("pytorch-ddp", &["env.EPOCHS=1000000"]);
    hall.wait_for_output(&job, "worker-2", "Epoch: 2 of");
    hall.kill(&job, "worker-2");
    let shown = hall.failed(&job);
    assert!(hall.reason(&shown).contains("worker-2") && hall.is_over(&shown), "{shown:#}");
}

#[test]
fn pytorch_ranks_that_do_not_find_each_other_give_up() {
    let hall = Hall::open();
    let line = "roles.worker.command=WORLD_SIZE=5 python train.py";
    let missing = hall.submit("pytorch-ddp", &["name=missing", "env.PEERS_WITHIN_S=3", line]);
    let line = "roles.worker.command=[ $RANK = 0 ] || export MASTER_PORT=1; python train.py";
    let wrong_port = hall.submit("pytorch-ddp", &["name=wrong-port", "env.PEERS_WITHIN_S=3", line]);
    for job in [missing, wrong_port] {
        let shown = hall.failed(&job);
        assert!(hall.reason(&shown).contains("worker-") && hall.is_over(&shown), "{shown:#}");
        let logs: String = WORKERS.iter().map(|worker| hall.log(&job, worker)).collect();
        assert!(logs.contains("DistNetworkError") || logs.contains("DistStoreError"), "{logs}");
        assert!(hall.states(&shown).split(", ").all(|it| !it.ends_with("succeeded")), "{shown:#}");
    }
}

#[test]
fn the_python_of_a_named_version_is_taken() {
    let hall = Hall::open();
    let job =
        hall.house.submit("{name: versions, framework: 'python@3.12', roles: {main: {command: 'python --version; python3 --version'}}}");
    hall.succeeded(&job);
    assert!(hall.log(&job, "main-0").starts_with("Python 3.12."), "{}", hall.log(&job, "main-0"));
}

#[test]
fn curves_of_pytorchs_writer_are_those_that_tensorboard_shows() {
    let (hall, job) = boards::curves_are_equal("pytorch", "tensorboard==2.21.0\n", "pytorch");
    assert!(hall.house.output_dir(&job, "main-0").join("writer").exists());
}
