"""A judge that never says "broken" proves nothing: each is shown a planted fault and must find it."""

import subprocess
import sys
import unittest
import uuid

import crash_lines
import crash_submissions
import crash_supervisors
import escape
import measure
import refill


def listed(name, job, **more):
    return {"id": job, "name": name, "attempt": 1, "state": "succeeded", **more}


def judged(answers, jobs):
    history = crash_submissions.History()
    history.answers = answers
    counts = crash_submissions.judge(history, jobs)
    return {fault: counts[fault] for fault in crash_submissions.FAULTS if counts[fault]}


class Submissions(unittest.TestCase):
    def test_nothing_is_wrong_when_both_sides_agree(self):
        self.assertEqual(judged({"a": ["1", "1"], "b": ["2"]}, [listed("a", "1"), listed("b", "2")]), {})

    def test_an_acknowledged_job_that_is_not_listed_is_lost(self):
        self.assertEqual(judged({"a": ["1"], "b": ["2"]}, [listed("a", "1")]), {"lost": 1})

    def test_a_key_with_two_jobs_is_a_duplicate_and_a_changed_answer(self):
        self.assertEqual(judged({"a": ["1", "2"]}, [listed("a", "1"), listed("a", "2")]), {"duplicated": 1, "answers_changed": 1})

    def test_one_id_for_two_keys_is_an_id_reused(self):
        self.assertEqual(judged({"a": ["1"], "b": ["1"]}, [listed("a", "1")]), {"ids_reused": 1})

    def test_a_second_attempt_and_a_failure_are_seen(self):
        jobs = [listed("a", "1", attempt=2), listed("b", "2", state="failed")]
        self.assertEqual(judged({"a": ["1"], "b": ["2"]}, jobs), {"run_twice": 1, "not_succeeded": 1})


class Supervisors(unittest.TestCase):
    def test_attempts_one_after_another_do_not_overlap(self):
        self.assertEqual(crash_supervisors.overlap({1: [("begin", 10), ("beat", 20)], 2: [("begin", 21), ("end", 30)]}), 0)

    def test_an_attempt_that_begins_while_another_beats_does(self):
        self.assertEqual(crash_supervisors.overlap({1: [("begin", 10), ("beat", 20)], 2: [("begin", 19), ("end", 30)]}), 1)

    def test_a_run_without_its_last_beat_has_not_finished(self):
        self.assertTrue(crash_supervisors.finished([("begin", 1), ("end", 2)]))
        self.assertFalse(crash_supervisors.finished([("begin", 1), ("beat", 2)]))
        self.assertFalse(crash_supervisors.finished([]))


class Lines(unittest.TestCase):
    def test_the_task_prints_what_is_expected_and_ends_as_it_should(self):
        task = crash_lines.TASK.replace(f"time.sleep({crash_lines.SECONDS_BETWEEN_LINES})", "pass")
        done = subprocess.run([sys.executable, "-c", task, "9"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, crash_lines.expected(9))


class Escape(unittest.TestCase):
    def test_a_process_with_the_marker_is_found_and_ended(self):
        marker = f"marker-{uuid.uuid4().hex}"
        process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", marker], start_new_session=True)
        measure.wait_until(lambda: escape.alive_with(marker), 5, "the process")
        self.assertEqual(escape.alive_with(marker), {process.pid})
        escape.kill_all(marker)
        self.assertEqual(escape.alive_with(marker), set())
        process.wait()


class Measures(unittest.TestCase):
    def test_the_gap_is_from_the_end_of_the_slot_s_last_task(self):
        spans = [(0.0, 1.0), (0.0, 1.5), (1.1, 2.0), (1.6, 2.5), (2.1, 3.0)]
        self.assertAlmostEqual(refill.median_gap(spans), 0.1)

    def test_sides_take_turns_in_going_first(self):
        order = []
        sides = {name: lambda name=name: order.append(name) or 1 for name in "abc"}
        self.assertEqual(measure.take_turns(sides, 2), {"a": [1, 1], "b": [1, 1], "c": [1, 1]})
        self.assertEqual(order, list("abcbca"))

    def test_numbers_are_short(self):
        shown = [measure.short(value, "s") for value in (0.00312, 12.345, 0.0000456, 0)]
        self.assertEqual(shown, ["3.12 ms", "12.3 s", "45.6 µs", "0s"])


if __name__ == "__main__":
    unittest.main()
