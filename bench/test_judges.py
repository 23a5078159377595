"""A judge that never says "broken" proves nothing: each is shown a planted fault and must find it."""

import itertools
import socket
import subprocess
import sys
import threading
import unittest
import uuid

import carry
import crash_lines
import crash_submissions
import crash_supervisors
import escape
import first_line
import log_follow
import logs
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


class Carry(unittest.TestCase):
    def test_a_slower_side_and_a_greedy_one_break_their_promises(self):
        def side(median, mib):
            return {"median": median, "peak_bytes": mib << 20}

        result = {"small out": {"trainmaster": side(2.0, 101), "rclone": side(1.9, 60), "s5cmd": side(2.1, 30)}}
        self.assertEqual([kept for _, kept, _ in carry.verdicts(result)], [False, True, False])

    def test_what_never_arrived_is_not_counted_as_carried(self):
        with self.assertRaises(RuntimeError):
            carry.check(False, "9 of 10")


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


class Logs(unittest.TestCase):
    def test_a_follower_that_printed_something_else_breaks_the_promise(self):
        told = {"printed_bytes": 9, "size": 10, "cuts": 1, "kills": 1, "exit": 0, "same": False, "same_after": True}
        self.assertEqual([kept for _, kept, _ in logs.verdicts({"followed": told})], [False, True])

    def test_a_crowd_that_costs_much_or_disturbs_others_breaks_the_promise(self):
        crowd = {"growth_bytes": 65 << 20, "ended": 999, "readers": 1000, "alone": {"median": 1.0}, "beside": {"median": 1.6}}
        self.assertEqual([kept for _, kept, _ in logs.verdicts({"readers": crowd})], [False, False, False])

    def test_a_relay_cuts_what_is_long_and_passes_on_what_is_short(self):
        short_and_long = {10: True, log_follow.CUT_BYTES[1] + log_follow.PIECE_BYTES: False}
        with socket.create_server(("127.0.0.1", 0)) as upstream:
            relay = log_follow.Relay(upstream.getsockname()[1])
            for size, is_whole in short_and_long.items():
                answering = threading.Thread(target=answer, args=[upstream, size])
                answering.start()
                with socket.create_connection(("127.0.0.1", relay.port)) as line:
                    came = sum(iter(lambda: len(line.recv(1 << 20)), 0))
                answering.join()
                self.assertEqual(came == size, is_whole)
                measure.wait_until(lambda: relay.cuts == (not is_whole), 5, "the cut to be counted")
            relay.close()


def answer(upstream, size):
    """Sends so many bytes to whoever comes, as far as they are taken."""
    line, _ = upstream.accept()
    with line:
        try:
            line.sendall(bytes(size))
        except OSError:
            return


class FirstLine(unittest.TestCase):
    def test_a_job_that_is_too_slow_beside_its_command_breaks_the_promise(self):
        sides = lambda ours, theirs: {"trainmaster": {"median": ours}, "by hand": {"median": theirs}}
        verdicts = list(first_line.verdicts({"six": sides(1.19, 1.0), "numpy": sides(0.25, 0.2)}))
        self.assertEqual([(kept, shown) for _, kept, shown in verdicts], [(True, "1.19 ×"), (False, "1.25 ×")])


class Measures(unittest.TestCase):
    def test_the_gap_is_from_the_end_of_the_slot_s_last_task(self):
        spans = [(0.0, 1.0), (0.0, 1.5), (1.1, 2.0), (1.6, 2.5), (2.1, 3.0)]
        self.assertAlmostEqual(refill.median_gap(spans), 0.1)

    def test_sides_take_turns_in_going_first(self):
        order = []
        sides = {name: lambda name=name: order.append(name) or 1 for name in "abc"}
        self.assertEqual(measure.take_turns(sides, 2), {"a": [1, 1], "b": [1, 1], "c": [1, 1]})
        self.assertEqual(order, list("abcbca"))

    def test_every_side_comes_after_every_other_as_often(self):
        for names, rounds in [("abcdef", 6), ("abc", 6), ("ab", 2)]:
            follows = [pair for turn in range(rounds) for pair in itertools.pairwise(measure.order_of(list(names), turn))]
            counts = {follows.count(pair) for pair in itertools.permutations(names, 2)}
            self.assertEqual(len(counts), 1, names)

    def test_numbers_are_short(self):
        shown = [measure.short(value, "s") for value in (0.00312, 12.345, 0.0000456, 0)]
        self.assertEqual(shown, ["3.12 ms", "12.3 s", "45.6 µs", "0s"])


if __name__ == "__main__":
    unittest.main()
