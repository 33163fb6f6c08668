"""Tests of the audit: it must find falsified answers and pass correct ones.

`IOASSAY` is the program whose answers are falsified.
"""

import copy
import functools
import itertools
import json
import math
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

import answers
import commands
import courses
import intervals
import main
import mutations
import placement
from held import Held
from record import quantity, SIZES, TIMES

RECORDS = Path(__file__).parents[2] / "records"
# It reads and writes files and memory, so most tests use it.
SURVEY = str(RECORDS / "2026-11-21-survey.jsonl")
SEEDS = 4


@functools.cache
def said():
    return main.said_by(os.environ["IOASSAY"], SURVEY)


def falsified(change):
    """The audit's result for an answer falsified by `change`."""
    answer = copy.deepcopy(said())
    change(answer)
    return main.audit(SURVEY, answer)


class Falsified(unittest.TestCase):
    def check(self, change, path):
        paths = [mismatch[0] for mismatch in falsified(change).mismatches]
        self.assertEqual(paths, [path])

    def test_a_clean_answer_passes_and_nearly_all_of_its_numbers_are_recomputed(self):
        held = falsified(lambda answer: None)
        self.assertEqual(held.mismatches, [])
        self.assertGreaterEqual(held.coverage, 0.95)

    def test_a_figure_that_is_off_by_a_millionth_is_found(self):
        def change(answer):
            answer["cases"][3]["throughput"]["median"] *= 1 + 1e-6
        self.check(change, "cases[3].throughput.median")

    def test_an_end_of_an_interval_is_found(self):
        def change(answer):
            answer["cases"][5]["iops"]["low"] = answer["cases"][5]["iops"]["min"] / 2
        self.check(change, "cases[5].iops.low")

    def test_an_interval_that_is_not_there_is_found(self):
        def change(answer):
            answer["cases"][5]["ns_per_op"]["high"] = None
        self.check(change, "cases[5].ns_per_op.high")

    def test_a_percentile_is_found(self):
        def change(answer):
            answer["cases"][11]["latency_ns"]["p99"] += 1
        self.check(change, "cases[11].latency_ns.p99")

    def test_a_verdict_is_found(self):
        def change(answer):
            doubtful = answer["cases"][0]["verdict"] == "doubtful"
            answer["cases"][0]["verdict"] = "sound" if doubtful else "doubtful"
        self.check(change, "cases[0].verdict")

    def test_a_ceiling_is_found(self):
        def change(answer):
            answer["cases"][5]["ceiling"]["share"] *= 0.99
        self.check(change, "cases[5].ceiling.share")

    def test_a_comparison_is_found(self):
        def change(answer):
            answer["comparisons"][0]["difference"] = "equivalent"
        self.check(change, "comparisons[0].difference")

    def test_a_finding_that_is_missing_or_made_up_is_found(self):
        def take_out(answer):
            answer["cases"][13]["findings"] = [
                one for one in answer["cases"][13]["findings"] if one["code"] != "Steal"]
            answer["cases"][13]["findings"].append(
                {"code": "Swapped", "severity": "note", "message": "", "remedy": ""})
        paths = [mismatch[0] for mismatch in falsified(take_out).mismatches]
        self.assertIn("cases[13].findings.Swapped", paths)

    def test_a_trial_is_found(self):
        def change(answer):
            answer["cases"][1]["trials"][2]["figures"]["bytes"] += 1
        self.check(change, "cases[1].trials[2].figures.bytes")

    def test_a_field_that_is_not_known_is_told_as_not_audited(self):
        def change(answer):
            answer["cases"][0]["new_figure"] = {"median": 1.0}
        held = falsified(change)
        self.assertEqual(held.mismatches, [])
        self.assertEqual(held.not_audited["cases[].new_figure.median"], 1)
        self.assertLess(held.coverage, 1.0)

    def test_a_field_that_is_gone_is_found(self):
        def change(answer):
            del answer["cases"][0]["hit_share"]
        self.check(change, "cases[0].hit_share")


# The answers that only a fresh record has.
ANSWERS = ["loads", "depths", "interferences"]


class Loads(unittest.TestCase):
    """Answers about loads, depths and interference, of a fresh record."""

    @classmethod
    def setUpClass(cls):
        # Beside others, a row may be void, and has no part in an answer: then it is measured again.
        for _ in range(3):
            cls.measure()
            if all(cls.said[answer] for answer in ANSWERS):
                break

    @classmethod
    def measure(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.record = os.path.join(folder.name, "load.jsonl")
        recipe = str(Path(__file__).parent / "fresh" / "load.toml")
        command = [os.environ["IOASSAY"], "run", recipe, folder.name, "--quiet",
                   "--hold=p99<20ms,p90<5ms", "--record", cls.record]
        subprocess.run(command, check=False, capture_output=True)
        # What is asked for at least needs rates that are shares, which take long to measure.
        lines = Path(cls.record).read_text(encoding="utf-8").splitlines()
        header = json.loads(lines[0])
        header["header"]["plan"]["at_least"] = 5000
        Path(cls.record).write_text("\n".join([json.dumps(header), *lines[1:], ""]),
                                    encoding="utf-8")
        cls.said = main.said_by(os.environ["IOASSAY"], cls.record)

    def check(self, path, change):
        """Falsifies one value of the answer, which alone must be found."""
        answer = copy.deepcopy(self.said)
        *ways, last = path
        place = functools.reduce(lambda part, way: part[way], ways, answer)
        place[last] = change(place[last])
        words = "".join(f"[{way}]" if isinstance(way, int) else f".{way}" for way in path)
        found = [mismatch[0] for mismatch in main.audit(self.record, answer).mismatches]
        self.assertEqual(found, [words[1:]])

    def test_a_true_answer_passes(self):
        held = main.audit(self.record, copy.deepcopy(self.said))
        self.assertEqual(held.mismatches, [])
        for answer in ANSWERS:
            self.assertTrue(self.said[answer], answer)

    def test_a_false_load_is_found(self):
        def other(word):
            return "no" if word == "yes" else "yes"
        self.check(["loads", 0, "rates", 0, "keeps_up"], other)
        self.check(["loads", 0, "rates", 1, "meets"], other)
        self.check(["loads", 0, "rates", 1, "of_closed"], lambda share: share * 1.001)
        self.check(["loads", 0, "kept_up", "fails"], lambda rate: rate + 1)
        self.check(["loads", 0, "held", "holds"], lambda rate: (rate or 0) + 1)
        self.check(["loads", 0, "at_least", "met"], other)
        self.check(["loads", 0, "closed_iops", "median"], lambda iops: iops * 1.001)

    def test_a_false_depth_is_found(self):
        self.check(["depths", 0, "enough"], lambda depth: 3 if depth != 3 else 5)
        self.check(["depths", 0, "fastest"], lambda depth: depth + 1)
        self.check(["depths", 0, "depths", 2, "iops"], lambda iops: iops * 1.001)
        self.check(["depths", 0, "depths", 2, "p50_ns"], lambda ns: ns + 1)

    def test_a_false_interference_is_found(self):
        at = next(number for number, one in enumerate(self.said["interferences"])
                  if one["beside"][0]["rate"])
        self.check(["interferences", at, "timed"], lambda word: f"{word}s")
        self.check(["interferences", at, "alone", "p50_ns"], lambda ns: ns + 1)
        self.check(["interferences", at, "beside", 0, "iops"], lambda iops: iops * 1.001)
        actor = ["interferences", at, "beside", 0, "actors", 0]
        self.check([*actor, "iops"], lambda iops: iops * 1.001)
        self.check([*actor, "of_whole_run"], lambda is_whole: not is_whole)
        for ratio in ("p99", "rate"):
            path = ["interferences", at, "beside", 0, ratio, "median"]
            self.check(path, lambda value: value * 1.001)


class Mutated(unittest.TestCase):
    """ioassay and the audit must judge mutated records alike."""

    def test_ioassay_and_the_audit_agree_whatever_was_seen(self):
        codes = set()
        with tempfile.TemporaryDirectory() as folder:
            for record, seed in itertools.product(RECORDS.glob("*.jsonl"), range(24)):
                if seed >= SEEDS and str(record) != SURVEY:
                    continue
                mutant = mutations.Mutant(str(record), seed).mutate(2 + seed % 5)
                path = os.path.join(folder, f"{record.stem}-{seed}.jsonl")
                mutant.write(path)
                answer = main.said_by(os.environ["IOASSAY"], path)
                told = f"{record.stem} after {', '.join(mutant.told)}"
                self.assertEqual(main.audit(path, answer).mismatches, [], told)
                codes |= {one["code"] for one in answer["findings"]}
        self.assertGreaterEqual(len(codes), 25, sorted(codes))


class Arithmetic(unittest.TestCase):
    def test_the_ranks_of_a_median_are_those_of_the_tables(self):
        known = {5: None, 6: 1, 7: 1, 8: 1, 9: 2, 10: 2, 12: 3, 15: 4, 20: 6, 30: 10}
        for n, rank in known.items():
            self.assertEqual(intervals.rank(n), rank, n)

    def test_the_interval_holds_the_median_as_often_as_it_says(self):
        random = np.random.default_rng(1)
        held = 0
        for _ in range(2_000):
            low, high = intervals.interval(random.exponential(size=10))
            held += low <= math.log(2) <= high
        self.assertGreater(held / 2_000, 0.95)

    def test_the_interval_of_looks_is_wider(self):
        known = {8: None, 9: 1, 10: 1, 14: 2, 20: 4, 28: 7}
        for n, rank in known.items():
            self.assertEqual(intervals.rank(n, intervals.LOOKED_LEVEL), rank, n)

    def test_invocations_are_one_value_each(self):
        places = [(0, 0, False), (0, 1, False), (1, 2, False), (1, 3, False), (2, 4, False)]
        found = intervals.estimate(list(zip(places, (1.0, 4.0, 8.0, 8.0, 16.0))), intervals.LEVEL)
        self.assertAlmostEqual(found["median"], 8.0)
        # t of 2 degrees of freedom is 4.303; the logarithms of 2, 8 and 16 are 1, 3 and 4 of 2's.
        away = 4.302653 * math.sqrt(7 / 3) * math.log(2) * math.sqrt(math.pi / 2) / math.sqrt(3)
        self.assertAlmostEqual(math.log(found["high"] / 8), away, places=5)
        self.assertAlmostEqual(math.log(8 / found["low"]), away, places=5)
        # Squares of 2 by 2 degrees of freedom; they add a third of (1/2 + 1/2 + 1) of that.
        self.assertAlmostEqual(found["within"], math.log(2))
        self.assertAlmostEqual(found["between"], math.log(2) * math.sqrt(7 / 3 - 2 / 3))
        self.assertEqual((found["invocations"], found["holds"]),
                         (3, "from invocation to invocation"))

    def test_only_planned_invocations_decide_the_width(self):
        places = [(0, 0, False), (1, 1, False), (2, 2, False), (3, 3, True), (4, 4, True)]
        found = intervals.estimate(list(zip(places, (2.0, 4.0, 8.0, 4.0, 4.0))), intervals.LEVEL)
        # The planned logarithms are 1, 2 and 3 of 2's: their variance is 1.
        away = 4.302653 * math.log(2) * math.sqrt(math.pi / 2) / math.sqrt(5)
        self.assertAlmostEqual(math.log(found["high"] / 4), away, places=5)
        self.assertEqual(found["invocations"], 5)

    def test_both_components_of_what_varies_are_found(self):
        random = np.random.default_rng(2)
        groups = [level + 0.05 * random.standard_normal(4)
                  for level in 0.1 * random.standard_normal(3_000)]
        between, within = intervals.components(groups)
        self.assertAlmostEqual(between, 0.1, delta=0.005)
        self.assertAlmostEqual(within, 0.05, delta=0.002)

    def test_how_often_chance_gives_levels_whole_places(self):
        for sizes, count, share in [((5, 5), 5, 2 / 252), ((4, 6), 6, 1 / 210), ((1,) * 10, 5, 1)]:
            self.assertAlmostEqual(placement.chance(sizes, count), share)

    def test_a_histogram_is_its_values_in_order(self):
        histogram = intervals.Histogram([[{"counts": [[5, 20], [7, 1]], "max_ns": 8}],
                                         [{"counts": [[1, 19]], "max_ns": 1}]])
        self.assertEqual([histogram.value(k) for k in (1, 19, 20, 39, 40)], [1, 1, 5, 5, 7])
        self.assertEqual(histogram.percentile("p50"), 5)
        self.assertIsNone(histogram.percentile("p90"))

    def test_a_size_and_a_time_are_in_base_units(self):
        self.assertEqual(quantity("128MiB", SIZES), 2**27)
        self.assertEqual(quantity("4MB", SIZES), 4_000_000)
        self.assertEqual(quantity("250ms", TIMES), 250_000_000)
        self.assertEqual(quantity("1.5s", TIMES), 1_500_000_000)

    def test_a_step_is_found_and_noise_has_none(self):
        random = np.random.default_rng(3)
        noise = 1 + 0.05 * random.standard_normal(20)
        self.assertIsNone(courses.split(noise))
        noise[12:] *= 0.6
        self.assertEqual(courses.split(noise), 12)

    def test_levels_are_cut_where_loads_get_slower(self):
        points = [(2**k, 1.0 if k < 15 else 4.0) for k in range(10, 20)]
        found = answers.levels(points)
        self.assertEqual([(one["from"], one["to"]) for one in found],
                         [(2**10, 2**14), (2**15, 2**19)])

    def test_numbers_agree_to_nine_digits_and_kinds_are_told_apart(self):
        held = Held()
        held.hold({"a": 1.0, "b": None, "c": True}, {"a": 1.0 + 1e-12, "b": None, "c": True})
        self.assertEqual(held.mismatches, [])
        held.hold({"a": 0, "b": 1}, {"a": None, "b": True})
        self.assertEqual([path for path, _, _ in held.mismatches], ["a", "b"])


class FakeRecord:
    storage = {"medium": "block", "devices": [{"name": "sda"}]}
    header = {}


class TwoStorages(FakeRecord):
    header = {"further_storages": [{"medium": "block", "devices": [{"name": "sdb"}]}],
              "storage_numbers": {"1": 0, "2": 1}}


class SeveralDisks(FakeRecord):
    storage = {"medium": "block", "devices": [{"name": "sda"}, {"name": "sdb"}]}


class ReadsTwice(FakeRecord):
    twice = {"least": 2, "most": 2}
    storage = {"medium": "block", "devices": [{"name": "sda"}],
               "layers": [{"nodes": ["sda"], "reads": twice, "writes": twice}]}


class Commands(unittest.TestCase):
    """What served commands, from made-up counters of two runs."""

    FILE = {"role": "data", "device": 1, "bytes_before": 1 << 30, "opens": {"reading": 1}}
    FACTS = {"processes": 1, "files": [FILE]}
    CACHED = {"pages": 1 << 18, "cached": 1 << 18}
    COLD = {"pages": 1 << 18, "cached": 0}

    def check(self, expected, read, before, facts=None, record=FakeRecord, **counters):
        trial = {"task_read_bytes": read, "device_read_bytes": read, "residency_before": before,
                 "residency_after": self.CACHED, "task_rchar_bytes": 1 << 30, **counters}
        found = commands.served_by(record, facts or self.FACTS, [trial, trial])
        self.assertEqual(found, expected)

    def test_syncs_are_like_commits_if_those_take_all_of_the_time(self):
        share = lambda low, high: commands.like_commits({"low": low, "high": high})
        self.assertEqual(share(0.8, 1.2), "yes")
        self.assertEqual(share(0.1, 0.79), "no")
        self.assertEqual(share(1.21, 1.5), "no")
        self.assertEqual(share(0.79, 1.0), "undecided")
        self.assertEqual(share(None, None), "undecided")

    def test_what_served_a_command_is_what_counters_show(self):
        self.check("page-cache", 0, self.CACHED)
        self.check("device", 1 << 30, self.COLD)
        self.check("mixed", 1 << 29, self.CACHED)
        self.check("unverified", 1 << 30, self.COLD, device_read_bytes=1 << 20)
        self.check("no-io", 0, None, {"processes": 1, "files": []})

    def test_a_byte_counts_once_however_often_the_devices_read_it(self):
        self.check("device", 1 << 30, self.COLD, None, ReadsTwice, device_read_bytes=2 << 30)
        self.check("unverified", 1 << 30, self.COLD, None, ReadsTwice)
        # How often is unknown.
        self.check("unverified", 1 << 30, self.COLD, None, SeveralDisks)

    def test_without_what_was_asked_for_files_must_be_whole(self):
        several = {**self.FACTS, "processes": 2}
        self.check("device", 1 << 30, self.COLD, several)
        # A half came from no device and was in no cache.
        self.check("unverified", 1 << 29, self.COLD, several)
        self.check("page-cache", 14 << 10, self.CACHED, several)
        self.check("mixed", 14 << 10, None, several)

    def test_runs_unlike_the_rehearsal_and_files_of_several_file_systems_show_nothing(self):
        less = {**self.FACTS, "totals": {"io": {"rchar": 4 << 30}}}
        self.check("unverified", 1 << 30, self.COLD, less)
        other = {**self.FILE, "device": 2, "bytes_before": 1 << 29}
        spread = {"processes": 1, "files": [self.FILE, other]}
        self.check("unverified", 1 << 30, self.COLD, spread)
        self.check("page-cache", 0, self.CACHED, spread)

    def test_each_watched_storage_counts(self):
        half = {**self.FILE, "bytes_before": 1 << 29}
        spread = {"processes": 1, "files": [half, {**half, "device": 2}]}
        of_first = {"device_read_bytes": 1 << 29}
        for read, expected in ((1 << 29, "device"), (0, "unverified")):
            self.check(expected, 1 << 30, self.COLD, spread, TwoStorages,
                       further=[{"read_bytes": read}], **of_first)
        on_second = {"processes": 1, "files": [{**self.FILE, "device": 2}]}
        self.check("device", 1 << 30, self.COLD, on_second, TwoStorages,
                   further=[{"read_bytes": 1 << 30}], device_read_bytes=0)

    def test_what_calls_read_is_of_files_unless_something_else_was_there(self):
        asked = lambda sources: commands.asked(
            {**self.FACTS, "processes": 3, "other_sources": sources}, {"task_rchar_bytes": 1 << 30})
        self.assertEqual(asked({}), 1 << 30)
        self.assertEqual(asked({"kernel_files": 100}), 1 << 30)
        self.assertIsNone(asked({"kernel_files": 10_000}))
        self.assertIsNone(asked({"pipes": 1}))
        self.assertIsNone(commands.asked({**self.FACTS, "processes": 3}, {"task_rchar_bytes": 1}))


if __name__ == "__main__":
    unittest.main()
