"""Planted faults for the hunter. It must find each, and none where nothing is planted."""

import copy
import os
import random
import re
import tempfile
import unittest

import alone
import forms
import laws
import main
import play
import question
import speeds
import words
from trace import Requests

PROGRAM, PLACE = os.environ["IOASSAY"], os.environ["PLACE"]

VERDICT = re.compile(r"(sound|doubtful)( [a-z]+)?$", re.MULTILINE)
HAS_VERDICT = re.compile(r"^(ioassay_case_verdict.*) 1$", re.MULTILINE)


def asked(kind, *cases, size=8 << 20, time_ms=100, **more):
    return question.Question(0, kind, size, time_ms, list(cases), **more)


WRITE = {"op": "write", "engine": "pwrite", "cache": "direct", "block": "65536B",
         "allocation": "overwrite", "sync": "fdatasync", "every": 4}
READ = {"engine": "pread", "cache": "direct", "block": "65536B"}
WARM = {"engine": "pread", "cache": "warm", "block": "65536B"}


def broken(played):
    """The laws that it breaks, each with the first of its faults, so that a failed test says what it
    saw."""
    if played.trace.lost:
        raise unittest.SkipTest("the trace has a gap, and proves nothing")
    found = {}
    for fault in (*(fault for law in main.LAWS for fault in law(played)), *forms.forms(played)):
        found.setdefault(fault.law, fault)
    return found


def called_sound(played):
    """What was played, by a tool that calls every row sound."""
    lied = copy.copy(played)
    lied.said = copy.deepcopy(played.said)
    for row in lied.said["cases"]:
        row["verdict"], row["findings"] = "sound", []
    return lied


def in_order(played):
    """The counted trials of its only case."""
    trials, = played.trials.values()
    return sorted(trials, key=lambda trial: trial.start)


class Planted(unittest.TestCase):
    """Each is played for real; then what is said of it is changed."""

    def test_what_is_true_breaks_no_law(self):
        played = play.play(asked("ext4", WRITE, READ, WARM), PROGRAM, PLACE)
        self.assertEqual(broken(played), {})
        self.assertEqual(len(list(played.rows())), 3)

    def test_a_device_that_gets_no_flush_is_found(self):
        played = play.play(asked("ext4 nobarrier", WRITE), PROGRAM, PLACE)
        self.assertNotIn("durable", broken(played))
        self.assertIn("durable", broken(called_sound(played)))
        # It says of itself that it passes flushes on: then the trace tells.
        lied = called_sound(played)
        lied.storage.flushes = True
        self.assertIn("durable", broken(lied))

    def test_storage_that_is_partly_in_memory_is_no_disk(self):
        synced = {"call": "create", "entries": 20, "directories": "own", "sync": "fsync"}
        always = {laws.durable, laws.names_durable}
        for kind, wanted in (("btrfs over memory", always | {laws.served}),
                             ("xfs with its log in memory", always),
                             ("ext4 with its journal in memory", always),
                             ("ext4 on a loop without flushes", always)):
            lied = called_sound(play.play(asked(kind, WRITE, synced, READ), PROGRAM, PLACE))
            found = {law for law in always | {laws.served} if list(law(lied))}
            self.assertEqual(found, wanted, kind)

    def test_a_file_that_another_program_cached_is_not_cold(self):
        cold = {"engine": "pread", "cache": "cold", "block": "65536B", "pattern": "random"}
        played = play.play(asked("ext4", cold, file="whole", size=64 << 20, neighbour="cacher"),
                           PROGRAM, PLACE)
        self.assertNotIn("served", broken(played))
        self.assertIn("served", broken(called_sound(played)))

    def test_findings_that_devices_refute_are_found(self):
        direct = "claimed direct, but 97.0 % of the bytes came without a device read"
        warm = "claimed warm, but devices had to read 97.0 % of the bytes: memory is short"
        played = play.play(asked("ext4", READ, WARM), PROGRAM, PLACE)
        self.assertEqual(list(words.refuted(played)), [])
        for index, message, served_by in ((0, direct, "device"), (1, warm, "page-cache"),
                                          (0, "", "ram")):
            lied = called_sound(played)
            row = lied.said["cases"][index]
            row["findings"] = [{"code": "X", "severity": "void", "message": message,
                                "remedy": None}]
            row["served_by"] = served_by
            self.assertTrue(list(words.refuted(lied)), message)

    def test_a_false_accusation_is_found(self):
        played = play.play(asked("ext4", WRITE), PROGRAM, PLACE)
        said = {"code": "NotDurable", "severity": "void", "remedy": None,
                "message": "the devices completed 0 flushes for 9 syncs per trial"}
        lied = called_sound(played)
        lied.said["cases"][0]["findings"] = [said]
        self.assertIn("durable", {fault.law for fault in laws.accused(lied)})
        # It is none where the device was written to and not flushed.
        lied.trace.flushed.clear()
        self.assertEqual(list(laws.accused(lied)), [])

    def test_bytes_that_nobody_wrote_are_found(self):
        lied = called_sound(play.play(asked("ext4", WRITE), PROGRAM, PLACE))
        for trials in lied.trials.values():
            for trial in trials:
                trial.bytes *= 3
        self.assertIn("durable", broken(lied))

    def test_memory_that_is_called_a_device_is_found(self):
        played = play.play(asked("tmpfs", READ), PROGRAM, PLACE)
        self.assertNotIn("served", broken(played))
        self.assertIn("served", broken(called_sound(played)))

    def test_reads_that_no_device_served_are_found(self):
        played = play.play(asked("ext4", WARM), PROGRAM, PLACE)
        lied = called_sound(played)
        for row in lied.said["cases"]:
            row["case"]["cache"] = "cold"
        self.assertIn("served", broken(lied))

    def test_a_limit_that_is_not_named_is_found(self):
        # The kernel lets bytes through in slices of 100 ms: a shorter trial has no rate of its own.
        limit = question.Limit("own", "read_bps", 20 << 20)
        played = play.play(asked("ext4", READ, time_ms=400, limit=limit), PROGRAM, PLACE)
        self.assertNotIn("limits", broken(played))
        lied = called_sound(played)
        # A busy machine may do less than the limit lets it.
        lied.trace.done[played.numbers[0], "R"] = read = Requests()
        for trial in in_order(lied):
            read.add(trial.start + 1, round(limit.value * trial.seconds))
        self.assertIn("limits", broken(lied))

    def test_a_quota_that_is_not_named_is_found(self):
        for above in (False, True):
            # What a quota held back is counted at the end of each of its periods of 100 ms.
            asks = asked("tmpfs", WARM, time_ms=400, quota=0.2, above=above)
            played = play.play(asks, PROGRAM, PLACE)
            self.assertNotIn("limits", broken(played))
            self.assertGreater(played.throttling.samples[-1][1], 0)
            lied = called_sound(played)
            # On a busy machine, others may hold it back before its quota does.
            lied.throttling.samples = samples = [(0, 0)]
            for trial in in_order(lied):
                held = samples[-1][1]
                samples += [(trial.start, held), (trial.end, held + (trial.end - trial.start) // 2)]
            self.assertIn("limits", broken(lied))

    def test_a_limit_of_a_group_above_that_nobody_keeps_is_named_by_none(self):
        limit = question.Limit("own", "read_bps", 20 << 20)
        played = play.play(asked("ext4", READ, limit=limit, above=True), PROGRAM, PLACE)
        self.assertNotIn("limits", broken(played))
        lied = called_sound(played)
        lied.said["cases"][0]["findings"] = [{"code": "Throttled", "severity": "note",
                                              "message": "limits reads", "remedy": None}]
        self.assertIn("limits", broken(lied))

    def test_a_neighbor_that_is_not_named_is_found(self):
        for neighbour in ("reader", "writer"):
            played = play.play(asked("ext4", READ, neighbour=neighbour), PROGRAM, PLACE)
            self.assertNotIn("neighbors", broken(played))
            lied = called_sound(played)
            if neighbour == "writer":
                # It may be slower than what a file system writes itself.
                written = lied.trace.issued[played.numbers[0], "W", laws.NEIGHBOUR] = Requests()
                for trial in in_order(lied):
                    written.add(trial.start + 1, 64 << 20)
            self.assertIn("neighbors", broken(lied))

    def test_a_table_changed_by_hand_is_found(self):
        played = play.play(asked("ext4", READ, WARM), PROGRAM, PLACE)
        self.assertNotIn("forms", broken(played))
        changes = {"csv": doubled, "text": lambda text: VERDICT.sub("failed", text),
                   "metrics": lambda text: HAS_VERDICT.sub(r"\1 0", text),
                   "markdown": lambda text: text.replace("ioassay run", "ioassay run --memory 1")}
        for name, change in changes.items():
            lied = copy.copy(played)
            status, text = played.forms[name]
            lied.forms = played.forms | {name: (status, change(text))}
            self.assertIn("forms", broken(lied), name)
        lied = copy.copy(played)
        lied.status = 1 - played.status
        self.assertIn("forms", broken(lied))

    def test_figures_that_do_not_follow_from_bytes_and_time_are_found(self):
        paced = READ | {"rate": 2000}
        touched = {"kernel": "first-touch", "isa": "scalar", "working_set": "4194304B",
                   "pages": "base"}
        played = play.play(asked("ext4", WRITE, paced, touched), PROGRAM, PLACE)
        self.assertNotIn("figures", broken(played))
        for change in (doubled_rows, more_than_due, fewer_faults, held_wider, durable_sooner):
            lied = called_sound(played)
            lied.trials = copy.deepcopy(played.trials)
            change(lied)
            self.assertIn("figures", broken(lied), change.__name__)

    def test_words_that_the_table_denies_are_found(self):
        played = play.play(asked("ext4", READ, built_in="depth"), PROGRAM, PLACE)
        self.assertNotIn("sentences", broken(played))
        status, text = played.forms["text"]
        # A wrong number may by chance be one of the many in the assessment, but not each.
        changes = {"told": (r"is \d\S* k/s\?? at depth",
                            [f"is {digit}.{digit}7 k/s at depth" for digit in range(1, 10)]),
                   "listed": (r"also all \d+ other rows", ["also all 77 other rows"]),
                   "flags": (r"Remedy: ", ["Remedy: --no-such-flag "])}
        for name, (pattern, all_instead) in changes.items():
            if not re.search(pattern, text):
                continue
            found = []
            for instead in all_instead:
                lied = copy.copy(played)
                lied.forms = played.forms | {"text": (status, re.sub(pattern, instead, text))}
                found += getattr(words, name)(lied)
            self.assertTrue(found, name)

    def test_findings_whose_figures_are_others_are_found(self):
        said = {"WideInterval": "the upper end of the interval is 7.0 times the lower",
                "TooShort": "a trial lasts 9.00 s: the threads' start is a part of that",
                "Stalled": "1 of 9 operations took 10.0 ms or more, up to 9.00 s, and together 2 %",
                "Imbalanced": "some threads were idle (imbalance 93 %): the slowest decides",
                "Throttled": "'/a' limits reads of loop9 to 9.00 GB/s (1 GiB/s), and it used 99 %",
                "Foreign": "others read up to 900 times as much from the device as this case "
                           "(in 8 of 7 trials)"}
        limit = question.Limit("own", "read_bps", 20 << 20)
        played = play.play(asked("ext4", READ, limit=limit), PROGRAM, PLACE)
        for code, message in said.items():
            lied = called_sound(played)
            lied.said["cases"][0]["findings"] = [{"code": code, "severity": "note",
                                                  "message": message, "remedy": None}]
            self.assertTrue(list(words.figured(lied)), code)
            self.assertEqual(bool(list(words.neighbors(lied))), code == "Foreign")

    def test_caches_that_are_called_memory_are_found(self):
        loop = {"kernel": "read", "working_set": "65536B"}
        played = play.play(asked("tmpfs", loop), PROGRAM, PLACE)
        self.assertNotIn("served", broken(played))
        lied = called_sound(played)
        lied.said["cases"][0]["is_ceiling"] = True
        self.assertIn("served", broken(lied))
        lied = called_sound(played)
        lied.said["cases"][0]["served_by"] = "ram"
        self.assertIn("served", broken(lied))

    def test_a_verdict_without_its_reason_is_found(self):
        lied = copy.copy(play.play(asked("ext4", READ), PROGRAM, PLACE))
        lied.said = copy.deepcopy(lied.said)
        lied.said["cases"][0]["verdict"] = "void"
        lied.said["cases"][0]["findings"] = []
        self.assertIn("verdicts", broken(lied))


def doubled_rows(lied):
    for row in lied.said["cases"]:
        row["throughput"]["median"] *= 2


def more_than_due(lied):
    for row in lied.said["cases"]:
        for trial in lied.trials[row["id"]]:
            trial.ops *= 3


def fewer_faults(lied):
    for trials in lied.trials.values():
        for trial in trials:
            trial.evidence["minor_faults"] = 0


def durable_sooner(lied):
    for row in lied.said["cases"]:
        if row["writing"]:
            row["writing"]["acknowledged"]["median"] /= 2


def held_wider(lied):
    for row in lied.said["cases"]:
        row["throughput"]["holds"] = "from invocation to invocation"


def doubled(table):
    """The CSV with all throughputs doubled."""
    head, *lines = table.splitlines()
    place = head.split(",").index("throughput_bytes_per_second")
    for number, line in enumerate(lines):
        cells = line.split(",")
        cells[place] = str(2 * float(cells[place] or 0))
        lines[number] = ",".join(cells)
    return "\n".join([head, *lines])


class Arithmetic(unittest.TestCase):
    def test_a_page_says_what_was_asked(self):
        """The kept questions have numbers of earlier hunts."""
        options = main.options_of(["program", "place", "--seed", "5", "--questions", "3"])
        for end, expected in ((float("inf"), "questions 5 to 7 and {} that are kept"),
                              (0, "{} that are kept")):
            tally = main.Tally()
            kept = len(list(main.questions(options, end, tally))) - len(tally.drawn)
            self.assertEqual(tally.asked(), expected.format(kept))
        self.assertEqual(main.Tally().asked(), "no question")

    """What needs no storage."""

    def test_speeds_are_apart_only_if_all_pairs_say_so(self):
        self.assertTrue(speeds.apart([1.6, 2, 3, 1.7]))
        self.assertTrue(speeds.apart([0.5, 0.6, 0.1, 0.3]))
        self.assertFalse(speeds.apart([1.6, 2, 3, 1.4]))
        self.assertFalse(speeds.apart([1.6, 0.5]))
        self.assertFalse(speeds.apart([]))

    def test_a_row_that_depends_on_others_is_found(self):
        row = {"id": "a", "role": "asked", "throughput": {"median": 1}, "writing": None,
               "served_by": "device", "findings": [], "case": {"cache": "direct", "engine": "pread",
                                                               "block": 65536, "op": None}}
        question_of_two = asked("ext4", READ, WARM)

        def hold(change):
            answers = lambda other, _: row | change if len(other.cases) == 1 else row
            found = alone.held(random.Random(1))(question_of_two, {"cases": [row]}, answers, None)
            return [fault.law for fault in found]

        denied = {"code": "DirectIgnored", "severity": "void"}
        self.assertEqual(hold({"served_by": "page-cache"}), ["alone"])
        self.assertEqual(hold({"findings": [denied]}), ["alone"])
        self.assertEqual(hold({"findings": [denied | {"code": "Contended"}]}), [])

    def test_a_slow_plain_program_is_found(self):
        row = {"id": "a", "role": "asked", "verdict": "sound", "throughput": {"median": 2e9},
               "case": {"engine": "pread", "cache": "warm", "block": 65536, "depth": 1,
                        "threads": 1, "size": 1 << 20, "pattern": "sequential", "touch": "sum",
                        "time_s": 0.01, "op": None}}
        with tempfile.TemporaryDirectory(dir=PLACE) as folder:
            plain = speeds.build(folder)

            def hold(figure, slowed):
                row["throughput"]["median"] = figure
                found = speeds.held(random.Random(1), plain, slowed)
                return list(found(asked("tmpfs", WARM), {"cases": [row]}, lambda *_: row, folder))

            path = os.path.join(folder, "file")
            with open(path, "wb") as file:
                file.write(bytes(1 << 20))
            usual = speeds.naive(plain, row["case"], path)
            self.assertEqual([fault.law for fault in hold(usual, 1e3)], ["speeds"])
            row["case"] = {"kernel": "copy", "working_set": 1 << 20, "isa": "avx2", "threads": 1,
                           "time_s": 0.01}
            usual = speeds.naive(plain, row["case"], path)
            self.assertEqual([fault.law for fault in hold(usual, 1e3)], ["speeds"])

    def test_a_question_is_determined_by_its_number_and_can_be_kept(self):
        for seed in range(200):
            drawn = [question.draw(random.Random(seed), seed) for _ in range(2)]
            self.assertEqual(drawn[0], drawn[1])
            self.assertEqual(question.Question.of_json(drawn[0].to_json()), drawn[0])
            self.assertNotIn(drawn[0], list(drawn[0].simpler()))

    def test_what_is_kept_can_be_read(self):
        self.assertIsInstance(main.kept(), list)


if __name__ == "__main__":
    unittest.main()
