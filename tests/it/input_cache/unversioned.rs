//! Files of web servers that say nothing of them but how long they are.

use super::*;

#[test]
fn what_cannot_be_told_from_another_content_is_fetched_for_each_job_and_once_for_its_tasks() {
    let (web, mut errands) = (WebFiles::start(), Errands::new(&[]));
    web.put("day.csv", "", b"monday.");
    assert_eq!(tree(&errands.send(&web.url("day.csv")).input())["day.csv"], b"monday.");
    web.asked();
    assert_eq!(tree(&errands.send(&web.url("day.csv")).input())["day.csv"], b"monday.");
    assert_eq!(web.asked(), ["HEAD /day.csv"], "another task of the same job has what the first one has");
    web.put("day.csv", "", b"tuesday");
    errands.next_job();
    assert_eq!(tree(&errands.send(&web.url("day.csv")).input())["day.csv"], b"tuesday");
}

#[test]
fn what_came_before_a_cut_is_not_put_before_what_may_be_another_content() {
    let (web, mut errands) = (WebFiles::start(), Errands::new(&[]));
    web.put("big", "", &content(1, 4 * MIB));
    errands.crash_at(Some(&format!("{A_PIECE}#9")));
    assert!(errands.send(&web.url("big")).back().is_err());
    errands.crash_at(None);
    web.asked();
    web.put("big", "", &content(2, 4 * MIB));
    // The question how long it is counts as an answer too.
    web.cut_next(2);
    assert!(tree(&errands.send(&web.url("big")).input())["big"] == content(2, 4 * MIB));
    assert_eq!(web.asked(), ["HEAD /big", "GET /big", "GET /big"]);
}
