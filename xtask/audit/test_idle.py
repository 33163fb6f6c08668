"""Tests of what the audit says of loads at several rates, whose CPUs sleep while operations are in
flight. `IOASSAY` is the program whose answers are falsified."""

import copy
import json
import os
import tempfile
import unittest
from pathlib import Path

import main
import mutations

SURVEY = str(Path(__file__).parents[2] / "records" / "2026-11-21-survey.jsonl")
# A warm case of it, and one of the null engine.
READ, NULL = 5, 15
RATES = 1000, 4000
# Response times at these rates, in nanoseconds: 102 µs apart.
SLOW, FAST, AT_ONCE = 190_000, 88_000, 100


def states(ops, in_100, wake_us=133):
    """Idle states that so many of 100 operations make a CPU enter, besides a shallow one."""
    return [{"name": "POLL", "wake_us": 0, "entries": 3 * ops, "us": 9},
            {"name": "C6", "wake_us": wake_us, "entries": ops * in_100 // 100, "us": 9}]


def load(mutant, in_100=(198, 3, 101, 2), wake_us=133):
    """A load at two rates on a bare machine, then the same schedules without any I/O."""
    header, cases = mutant.header, []
    header["host"]["hypervisor"] = None
    header["plan"] |= {"recipe": "load", "skips": []}
    *lines, end = [line for line in mutant.lines if "trial" not in line]
    rounds = sorted({trial["round"] for trial in mutant.trials})
    plan = [(READ, 0, SLOW), (READ, 1, FAST), (NULL, 0, AT_ONCE), (NULL, 1, AT_ONCE)]
    for number, (model, which, ns) in enumerate(plan):
        planned = copy.deepcopy(header["plan"]["cases"][model])
        axes = dict(planned["case"]) | {"time": "1s", "rate": str(RATES[which])}
        planned["case"] = [list(axis) for axis in axes.items()]
        cases.append(planned)
        trials = [trial for trial in mutant.trials if trial["case"] == model]
        for round, trial in zip(rounds, trials):
            told = copy.deepcopy(trial)
            ops = RATES[which]
            done, [span] = told["outcome"]["done"], told["outcome"]["done"]["spans"]
            span |= {"ops": ops, "bytes": 4096 * ops, "progress": [],
                     "end_ns": span["start_ns"] + 10**9}
            # Its spread is that of a clock.
            times = {"counts": [[ns, ops - 9], [ns + round, 9]], "max_ns": ns + round}
            done |= {"latencies": times, "responses": times}
            told["evidence"]["idle_states"] = states(ops, in_100[number], wake_us)
            told |= {"case": number, "round": round}
            lines.append({"trial": told})
    header["plan"]["cases"] = cases
    mutant.lines = [*lines, end]
    mutant.trials = [line["trial"] for line in mutant.lines if "trial" in line]


class Asleep(unittest.TestCase):
    """ioassay and the audit must find the same, and the audit what is falsified."""

    def held(self, change=lambda answer: None, **planted):
        """Whether the slow rate is told to be slow for that, and the places where both differ."""
        with tempfile.TemporaryDirectory() as folder:
            record = os.path.join(folder, "load.jsonl")
            mutant = mutations.Mutant(SURVEY, 0)
            load(mutant, **planted)
            mutant.write(record)
            said = main.said_by(os.environ["IOASSAY"], record)
            codes = [[found["code"] for found in one["findings"]] for one in said["cases"]]
            self.assertTrue(all(one["verdict"] == "sound" for one in said["cases"]),
                            [json.dumps(one["findings"]) for one in said["cases"]])
            change(said)
            differ = [mismatch[0] for mismatch in main.audit(record, said).mismatches]
            return "DeepIdle" in codes[0], [place for place in differ if "DeepIdle" in place]

    def test_both_find_cpus_that_sleep_in_each_operation(self):
        self.assertEqual(self.held(), (True, []))

    def test_both_are_silent_without_proof(self):
        for planted in (
                # They sleep in the pauses only, as often at the higher rate, or not deeply.
                {"in_100": (101, 3, 101, 2)}, {"in_100": (140, 3, 101, 2)},
                {"in_100": (198, 103, 101, 2)}, {"wake_us": 50}, {"wake_us": None}):
            self.assertEqual(self.held(**planted), (False, []), planted)

    def test_a_finding_that_is_missing_or_made_up_is_noticed(self):
        def take_out(answer):
            answer["cases"][0]["findings"] = []

        def make_up(answer):
            answer["cases"][0]["findings"].append({
                "code": "DeepIdle", "severity": "note", "message": "", "remedy": ""})
        place = ["cases[0].findings.DeepIdle"]
        self.assertEqual(self.held(take_out), (True, place))
        self.assertEqual(self.held(make_up, wake_us=50), (False, place))


if __name__ == "__main__":
    unittest.main()
