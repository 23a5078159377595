//! What is said about a job can be changed at any time.

use crate::house::{House, text};

#[test]
fn a_description_can_be_changed_also_when_the_job_is_over_and_the_timeline_says_who_did() {
    let house = House::new();
    let job = house.submit("{name: digits, description: first try, roles: {main: {command: 'true'}}}");
    house.wait_for(&job, "succeeded");
    let said = |words: &str| text(&house.cli(&["describe", "digits", words]).stdout);
    assert_eq!(said("with dropout\nand a smaller step"), "digits@1 has its new description\n");
    assert_eq!(house.show("digits")["description"], "with dropout\nand a smaller step");
    let listed = house.get_json("/api/v1/jobs?q=dropout");
    assert_eq!(listed["jobs"][0]["description"], "with dropout\nand a smaller step", "{listed:#}");
    let events = house.get_json("/api/v1/jobs/digits/events?text=described");
    assert_eq!((&events["events"][0]["reason"], &events["events"][0]["reason_zh"]), (&"by admin".into(), &"由 admin 修改".into()));
    assert_eq!(house.get_json("/api/v1/jobs/digits/spec")["description"], "first try", "the job file stays as it was submitted");
    assert_eq!(said(""), "digits@1 has no description\n");
    assert_eq!(house.show("digits")["description"], "");
}
