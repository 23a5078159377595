//! Deleting frees a job's name, records and files.

use trainmaster::client::{Call, ClientError};

use crate::house::{House, until};

#[test]
fn a_deleted_job_leaves_nothing_and_its_name_starts_anew() {
    let house = House::new();
    let job = house.submit_line("gone", "echo big > /output/model");
    house.wait_for(&job, "succeeded");
    let files = house.data().join("runs").join(&job);
    assert!(files.exists());
    house.call(Call::delete("/api/v1/jobs/gone")).unwrap();
    assert!(matches!(house.get("/api/v1/jobs/gone"), Err(ClientError::Refused(status, _)) if status == 404));
    until("its files are gone", || !files.exists());
    house.submit_line("gone", "true");
    assert_eq!(house.show("gone")["version"], 1);
}

#[test]
fn a_job_that_runs_is_not_deleted() {
    let house = House::new();
    let job = house.submit_line("busy", "sleep 600");
    house.wait_for(&job, "running");
    match house.call(Call::delete("/api/v1/jobs/busy")) {
        Err(ClientError::Refused(status, body)) => {
            assert_eq!((status.as_u16(), body.code.as_str()), (409, "not_over"));
            assert!(body.hint.unwrap().contains("stop it first"));
        }
        other => panic!("{other:?}"),
    }
}
