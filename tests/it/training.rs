//! Real training with real frameworks, on packages that are installed for it: the job files under
//! `examples/` as they are, and what becomes of a job when one of its ranks dies, stays away or is
//! looked for in the wrong place.

mod hall;

pub use hall::Hall;

#[test]
fn tensorflow_learns_digits_with_a_parameter_server_found_by_tf_config() {
    let hall = Hall::open();
    let job = hall.submit("tensorflow-ps", &[]);
    let shown = hall.succeeded(&job);
    for worker in ["worker-0", "worker-1"] {
        assert!(hall.accuracy(&job, worker) >= 0.9, "{}", hall.log(&job, worker));
    }
    // Workers decide, and a parameter server that then is stopped has not failed.
    assert_eq!(hall.states(&shown), "ps-0 stopped, worker-0 succeeded, worker-1 succeeded");
}

#[test]
fn tensorflow_learns_digits_by_cluster_config_and_flags() {
    let hall = Hall::open();
    let job = hall.submit("tensorflow-flags", &[]);
    hall.succeeded(&job);
    let log = hall.log(&job, "worker-0");
    assert!(hall.accuracy(&job, "worker-0") >= 0.9, "{log}");
    for words in ["Step: ", ",  Epoch:  1,  Batch:  10 of  71,  Cost: ", "AvgTime: ", "Total Time: ", "Final Cost: "] {
        assert!(log.contains(words), "`{words}` is not in\n{log}");
    }
    assert!(log.trim_end().ends_with("done"), "{log}");
    let events = std::fs::read_dir(hall.house.output_dir(&job, "worker-0").join("logs")).unwrap();
    assert!(events.flatten().any(|it| it.file_name().to_string_lossy().starts_with("events.out.tfevents")));
}

/// The values file of a machine without devices, with its sections unindented as its users have it.
const VALUES: &str = "\
worker:
number: 2
gpuCount: 0
# if you'd like to choose another image
image: example/tensorflow-samples/tf-mnist-k8s:cpu
imagePullPolicy: IfNotPresent
ps:
number: 2
image: example/tensorflow-samples/tf-mnist-k8s:cpu
imagePullPolicy: IfNotPresent
tensorboard:
image: example/tensorflow-samples/tensorboard:1.1.0
serviceType: LoadBalancer
hyperparams:
epochs: 100
batchsize: 20
learningrate: 0.001
persistence:
mountPath: /data
pvc:
  matchLabels:
    train: mnist
  storage: 5Gi
";

#[test]
fn the_values_of_a_helm_chart_train_as_they_are() {
    let hall = Hall::open();
    let (file, code) = (hall.house.place().join("values.yaml"), hall::examples().join("tensorflow-flags"));
    std::fs::write(&file, VALUES).unwrap();
    let given = ["--name", "mnist", "--code", code.to_str().unwrap(), "--set", "framework=tensorflow"];
    // Fewer epochs than in the file, for everyone who waits for this test; and a little less of the machine for each.
    let smaller = ["-p", "epochs=12", "--set", "roles.ps.cpus=0.5", "--set", "roles.worker.cpus=0.5"];
    let job = hall.submit_file(&file, &[&given[..], &smaller[..]].concat());
    let shown = hall.succeeded(&job);
    assert!(hall.accuracy(&job, "worker-0") >= 0.9, "{}", hall.log(&job, "worker-0"));
    assert_eq!(hall.states(&shown), "ps-0 stopped, ps-1 stopped, tensorboard-0 stopped, worker-0 succeeded, worker-1 succeeded");
}

#[test]
fn a_tensorflow_worker_that_dies_fails_the_job_and_the_others_are_stopped() {
    let hall = Hall::open();
    let job = hall.submit("tensorflow-ps", &["env.EPOCHS=1000000"]);
    hall.wait_for_output(&job, "worker-1", "Epoch: 2 of");
    hall.kill(&job, "worker-1");
    let shown = hall.failed(&job);
    assert!(hall.reason(&shown).contains("worker-1"), "{shown:#}");
    assert_eq!(hall.states(&shown), "ps-0 stopped, worker-0 stopped, worker-1 failed");
}

#[test]
fn a_tensorflow_worker_without_its_parameter_server_gives_up_and_says_whom_it_missed() {
    let hall = Hall::open();
    let common = ["env.PEERS_WITHIN_S=1", "roles.worker.tasks=1", "roles.ps.command=sleep 600"];
    let missing = hall.submit("tensorflow-ps", &[&common[..], &["name=missing"]].concat());
    let line = r#"roles.worker.command=TF_CONFIG=$(echo "$TF_CONFIG" | sed 's/\("ps":\["[0-9.]*:\)[0-9]*/\11/') python train.py"#;
    let wrong_port = hall.submit("tensorflow-ps", &[&common[..], &["name=wrong-port", line]].concat());
    for job in [missing, wrong_port] {
        let shown = hall.failed(&job);
        assert!(hall.reason(&shown).contains("worker-0"), "{shown:#}");
        let log = hall.log(&job, "worker-0");
        assert!(log.contains("The parameter server at 127.0.0.1:") && log.contains("does not answer"), "{log}");
        assert_eq!(hall.states(&shown), "ps-0 stopped, worker-0 failed");
    }
}

#[test]
fn a_worker_by_flags_that_dies_fails_the_job_and_the_others_are_stopped() {
    let hall = Hall::open();
    let job = hall.submit("tensorflow-flags", &["params.epochs=1000000"]);
    hall.wait_for_output(&job, "worker-1", "Step: ");
    hall.kill(&job, "worker-1");
    let shown = hall.failed(&job);
    assert!(hall.reason(&shown).contains("worker-1"), "{shown:#}");
    assert_eq!(hall.states(&shown), "ps-0 stopped, worker-0 stopped, worker-1 failed");
}

/// The older programs wait for ever, in TensorFlow's own hands. What it says of that is in the log, and a stop ends it.
#[test]
fn a_worker_by_flags_without_its_parameter_server_says_whom_it_waits_for_until_it_is_stopped() {
    let hall = Hall::open();
    let common = ["env.TF_CPP_MIN_LOG_LEVEL=0", "roles.worker.tasks=1", "roles.ps.command=sleep 600"];
    let missing = hall.submit("tensorflow-flags", &[&common[..], &["name=missing"]].concat());
    let line =
        r#"roles.worker.command=CLUSTER_CONFIG=$(echo "$CLUSTER_CONFIG" | sed "s/\('ps': *\['[0-9.]*:\)[0-9]*/\11/") python main.py"#;
    let wrong_port = hall.submit("tensorflow-flags", &[&common[..], &["name=wrong-port", line]].concat());
    for job in [missing, wrong_port] {
        hall.wait_for_output(&job, "worker-0", "CreateSession still waiting for response from worker: /job:ps/");
        assert!(hall.house.cli(&["stop", &job]).status.success());
        let shown = hall.stopped(&job);
        assert_eq!(hall.states(&shown), "ps-0 stopped, worker-0 stopped");
    }
}

#[test]
fn keras_learns_digits_and_leaves_its_model() {
    let hall = Hall::open();
    let job = hall.submit("keras", &[]);
    hall.succeeded(&job);
    assert!(hall.accuracy(&job, "main-0") >= 0.9, "{}", hall.log(&job, "main-0"));
    assert!(hall.house.output_dir(&job, "main-0").join("digits.keras").exists());
}

#[test]
fn a_keras_task_that_dies_fails_its_job() {
    let hall = Hall::open();
    let job = hall.submit("keras", &["env.EPOCHS=1000000"]);
    hall.wait_for_output(&job, "main-0", "Epoch: 1 of");
    hall.kill(&job, "main-0");
    let shown = hall.failed(&job);
    assert!(hall.reason(&shown).contains("main-0"), "{shown:#}");
}

#[test]
fn keras_learns_digits_on_two_workers() {
    let hall = Hall::open();
    let job = hall.submit("keras-workers", &[]);
    hall.succeeded(&job);
    let logs = ["worker-0", "worker-1"].map(|task| hall.log(&job, task));
    assert!(logs[1].contains("This is worker 1 of 2"), "{}", logs[1]);
    assert!(hall.accuracy(&job, "worker-0") >= 0.9 && hall.accuracy(&job, "worker-1") >= 0.9, "{}", logs[0]);
    let costs = logs.map(|log| log.lines().filter(|line| line.starts_with("Epoch:")).map(String::from).collect::<Vec<_>>());
    assert!(!costs[0].is_empty());
    assert_eq!(costs[0], costs[1], "both have the same model after every epoch");
}

#[test]
fn a_keras_worker_that_dies_fails_the_job_in_its_own_name() {
    let hall = Hall::open();
    let job = hall.submit("keras-workers", &["env.EPOCHS=1000000"]);
    hall.wait_for_output(&job, "worker-1", "Epoch: 2 of");
    hall.kill(&job, "worker-1");
    let shown = hall.failed(&job);
    assert!(hall.reason(&shown).contains("worker-1"), "{shown:#}");
    assert!(hall.is_over(&shown), "{shown:#}");
}

#[test]
fn keras_workers_that_do_not_find_each_other_give_up_and_say_whom_they_missed() {
    let hall = Hall::open();
    let common = ["env.PEERS_WITHIN_S=2", "stop_grace=2s"];
    // Worker 0 looks for others than there are; worker 1 is as it should be.
    let misled = |name: &str, change: &str| {
        let line = format!(
            r#"roles.worker.command=[ $RANK = 1 ] || export TF_CONFIG=$(echo "$TF_CONFIG" | sed 's/\("worker":\["[^"]*"\),{change}'); python train.py"#
        );
        hall.submit("keras-workers", &[&common[..], &[&format!("name={name}"), &line]].concat())
    };
    let missing = misled("missing", r#"/\1,"127.0.0.1:1",/"#);
    let wrong_port = misled("wrong-port", r#""\([0-9.]*\):[0-9]*"/\1,"\2:1"/"#);
    for job in [missing, wrong_port] {
        let shown = hall.failed(&job);
        assert!(hall.reason(&shown).contains("worker-") && hall.is_over(&shown), "{shown:#}");
        let logs = hall.log(&job, "worker-0") + &hall.log(&job, "worker-1");
        assert!(logs.contains("The worker at 127.0.0.1:1 does not answer: "), "{logs}");
        assert!(!logs.contains("Epoch: 1 "), "{logs}");
    }
}

#[test]
fn jax_learns_digits_on_two_processes() {
    let hall = Hall::open();
    let job = hall.submit("jax", &[]);
    hall.succeeded(&job);
    let logs = ["worker-0", "worker-1"].map(|task| hall.log(&job, task));
    assert!(logs[1].contains("This is process 1 of 2"), "{}", logs[1]);
    for worker in ["worker-0", "worker-1"] {
        assert!(hall.accuracy(&job, worker) >= 0.9, "{}", hall.log(&job, worker));
    }
    let costs = logs.map(|log| log.lines().filter(|line| line.starts_with("Step:")).map(String::from).collect::<Vec<_>>());
    assert!(!costs[0].is_empty());
    assert_eq!(costs[0], costs[1], "both have the same model after every step");
}

#[test]
fn a_jax_process_that_dies_fails_the_job_in_its_own_name() {
    let hall = Hall::open();
    let job = hall.submit("jax", &["env.STEPS=1000000"]);
    hall.wait_for_output(&job, "worker-1", "Step: 25 of");
    hall.kill(&job, "worker-1");
    let shown = hall.failed(&job);
    assert!(hall.reason(&shown).contains("worker-1"), "{shown:#}");
    assert!(hall.is_over(&shown), "{shown:#}");
}

#[test]
fn jax_processes_that_do_not_find_each_other_give_up() {
    let hall = Hall::open();
    let missing = hall.submit("jax", &["name=missing", "env.PEERS_WITHIN_S=2", "roles.worker.command=JAX_NUM_PROCESSES=3 python train.py"]);
    let line = "roles.worker.command=[ $JAX_PROCESS_ID = 0 ] || export JAX_COORDINATOR_ADDRESS=127.0.0.1:1; python train.py";
    let wrong_port = hall.submit("jax", &["name=wrong-port", "env.PEERS_WITHIN_S=2", line]);
    for job in [missing, wrong_port] {
        let shown = hall.failed(&job);
        assert!(hall.reason(&shown).contains("worker-") && hall.is_over(&shown), "{shown:#}");
        let logs = hall.log(&job, "worker-0") + &hall.log(&job, "worker-1");
        assert!(logs.contains("DEADLINE_EXCEEDED"), "{logs}");
        assert!(!logs.contains("Step: 1 "), "{logs}");
    }
}
