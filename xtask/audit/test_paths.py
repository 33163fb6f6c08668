"""Tests of what the audit says of paths, machines and what changed in a run.

`IOASSAY` is the program whose answers are falsified.
"""

import copy
import csv
import io
import itertools
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import links
import machine
import main
import mutations
import odd_paths
import path
import told
import vitals
from record import Record
from verdicts import OF_RUN

RECORDS = Path(__file__).parents[2] / "records"
SURVEY = str(RECORDS / "2026-11-21-survey.jsonl")
OF_COMMANDS = str(RECORDS / "2026-11-28-judge-sums.jsonl")
SEEDS = 50


def hop(kind, name, *below, **facts):
    return {"name": name, "kind": kind, "below": list(below), **facts}


def speed(rate=None, lanes=None):
    return {"rate": rate, "lanes": lanes}


def link(name, rate, *below, lanes=None, bus="PCIe", most=None):
    most = most or speed()
    return hop("link", name, *below, bus=bus, now=speed(rate, lanes), device_most=most,
               port_most=most)


def disk(name, *below, temperature=None, **facts):
    return hop("disk", name, *below, physical_block=None, alignment_offset=None, rotational=None,
               temperature=temperature, temperature_most=70_000, **facts)


def interface(name, megabits):
    return hop("interface", name, speed=megabits, full_duplex=None, server="::1", bonded=[],
               bond_mode=None)


def array(level, *below, action="idle"):
    return hop("array", "md0", *below, level=level, degraded=None, action=action)


def btrfs(operation, *below):
    return hop("file-system", "/", *below, file_system="btrfs", options=[], source="/dev/sda",
               missing=None, operation=operation)


def mapped(maker, *below):
    return hop("mapped", "dm-0", *below, maker=maker)


def look(*tops, at_ms=0, drives=(), throttles=None, errors=None):
    return {"at_ms": at_ms, "paths": list(tops), "drives": list(drives), "throttles": throttles,
            "memory_errors": errors, "idle_states": []}


def part(before, after, invocation=0):
    return {"invocation": invocation, "before": before, "after": after}


def smart(name, **counts):
    page = {"critical_warning": 0, "temperature_k": None, "spare_percent": 100, "used_percent": 0,
            "media_errors": 0, "warning_minutes": 0, "critical_minutes": 0,
            "slowed_times": [0, 0], "slowed_s": [0, 0], **counts}
    return {"name": name, "smart": page, "capped": None}


def caps(name, iops_us):
    times = {"iops_us": iops_us, "throughput_us": 0}
    return {"name": name, "smart": None, "capped": {"volume": None, "instance": times}}


def throttled(core, cpus=2):
    return {"cpus": cpus, "core": core, "package": 0, "core_ms": None}


def erred(corrected, controllers=1):
    return {"controllers": controllers, "corrected": corrected, "uncorrected": 0}


def controller(name, *channels, driver="Skylake Socket#0 IMC#0", corrected=0):
    return {"name": name, "driver": driver, "corrected": corrected, "uncorrected": 0,
            "modules": [{"name": f"dimm{at}", "label": None, "channel": channel, "size": None,
                         "technology": None} for at, channel in enumerate(channels)]}


def odd_run(mutant):
    """A run with everything odd that is about no row, whose direct reads are faster than the link
    that rested when it began, and not near the disk."""
    header = mutant.header
    header["host"]["hypervisor"] = None
    header["host"]["platform"] = {
        "controllers": [controller("mc0", 0, 1, corrected=3), controller("mc1", 0)],
        "processors": {"aes": False, "xts_drivers": ["xts(ecb(aes-generic))"]}}

    def top(rate, temperature, operation):
        most = speed(16_000, 2)
        bridge = link("0000:00:01.0", rate, hop("node", "node 1"), lanes=1, most=most)
        sda = disk("sda", bridge, temperature=temperature)
        sda |= {"physical_block": 4096, "rotational": True, "cache_off": True}
        part_of_it = hop("partition", "sda1", sda, start=512)
        broken = {**array("raid0", part_of_it), "degraded": 1}
        slow = link("usb1", None, bus="USB", lanes=None)
        slow |= {"driver": "usb-storage", "queues": True, "below": [mapped("LVM snapshot", broken)]}
        return btrfs(operation, mapped("dm-crypt", slow))

    header["storage"]["path"] = top(2_500, 30_000, None)
    further = {**header["storage"], "directory": "/other", "path": disk("sda")}
    header["further_storages"] = [further]
    before = look(top(2_500, 30_000, None), drives=[caps("nvme0n1", 5)], throttles=throttled(1),
                  errors=erred(1))
    after = look(top(8_000, 75_000, "balance"), drives=[caps("nvme0n1", 9)],
                 throttles=throttled(2), errors=erred(2), at_ms=60_000)
    mutant.lines.insert(-1, {"vitals": part(before, after)})
    for trial in mutant.done(1.0):
        for span in trial["outcome"]["done"]["spans"]:
            span["start_seat"] = span["end_seat"] = {"cpu": 0, "node": 0}


class Falsified(unittest.TestCase):
    """The audit must find what is falsified in an odd run."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        mutant = mutations.Mutant(SURVEY, 0)
        # `done` leaves some trials out.
        mutant.done = lambda _: [one for one in mutant.trials if "done" in one["outcome"]]
        odd_run(mutant)
        cls.record = os.path.join(folder.name, "odd.jsonl")
        mutant.write(cls.record)
        cls.said = main.said_by(os.environ["IOASSAY"], cls.record)

    def check(self, paths, change):
        answer = copy.deepcopy(self.said)
        change(answer)
        found = [mismatch[0] for mismatch in main.audit(self.record, answer).mismatches]
        self.assertEqual(found, paths)

    def case(self, code):
        """The number of the first case with a finding."""
        return next(number for number, one in enumerate(self.said["cases"])
                    if any(found["code"] == code for found in one["findings"]))

    def test_a_true_answer_passes_and_has_every_kind(self):
        self.check([], lambda answer: None)
        self.assertLessEqual({*OF_RUN, "CrossNode", "FasterThanLink"},
                             {one["code"] for one in self.said["findings"]})

    def test_each_finding_that_is_missing_is_found(self):
        for code in OF_RUN:
            def take_out(answer):
                answer["findings"] = [one for one in answer["findings"] if one["code"] != code]
            self.check([f"findings.{code}"], take_out)
        for code in ("CrossNode", "FasterThanLink"):
            number = self.case(code)

            def take_out_of_row(answer):
                row = answer["cases"][number]
                row["findings"] = [one for one in row["findings"] if one["code"] != code]
            self.check([f"cases[{number}].findings.{code}"], take_out_of_row)

    def test_each_finding_that_is_made_up_is_found(self):
        said = main.said_by(os.environ["IOASSAY"], SURVEY)
        for code in OF_RUN:
            answer = copy.deepcopy(said)
            answer["findings"].append({"code": code, "severity": "note", "message": "",
                                       "remedy": "", "cases": [], "baselines": []})
            found = [mismatch[0] for mismatch in main.audit(SURVEY, answer).mismatches]
            self.assertEqual(found, [f"findings.{code}"])

    def test_each_number_of_a_message_that_is_changed_is_found(self):
        record = Record.read(self.record)
        known, names = told.of_run(record), told.names(record)
        changed = []
        for one in self.said["findings"]:
            code, message = one["code"], one["message"]
            if code not in known:
                continue
            self.assertTrue(told.agree(message, known[code], names), message)
            for match in told.matches(message, names):
                more = "2 times" if match[1] is None else str(float(match[1]) + 1)
                start, end = match.span(0 if match[1] is None else 1)
                other = message[:start] + more + message[end:]
                self.assertFalse(told.agree(other, known[code], names), other)
                changed.append((code, other))
        self.assertEqual({code for code, _ in changed},
                         {"Capped", "ChannelsEmpty", "Degraded", "HardwareErrors", "Hot",
                          "LinkDowngraded", "MemoryErrors", "Misaligned"})
        # The audit looks at them.
        code, other = changed[0]

        def change(answer):
            for one in answer["findings"]:
                one["message"] = other if one["code"] == code else one["message"]
        self.check([f"findings.{code}.message"], change)

    def test_a_row_held_against_a_false_link_is_found(self):
        number = self.case("FasterThanLink")
        # PCIe 3.0 with one lane, as it was when it was used.
        self.assertAlmostEqual(self.said["cases"][number]["link"]["bytes_per_second"], 984.615e6,
                               delta=1e3)
        for name, other in (("bytes_per_second", 1e9), ("share", 1.5), ("share_low", None),
                            ("hops", ["0000:00:02.0"])):
            def change(answer):
                answer["cases"][number]["link"][name] = other
            place = f"cases[{number}].link.{name}" + ("[0]" if name == "hops" else "")
            self.check([place], change)

    def test_a_link_that_is_told_as_it_rested_is_found(self):
        def change(answer):
            at = answer["storage"]["path"]
            while at["name"] != "0000:00:01.0":
                at = at["below"][0]
            at["now"]["rate"] = 2_500
        paths = [mismatch[0] for mismatch in self.mismatches(change)]
        self.assertEqual(len(paths), 1)
        self.assertRegex(paths[0], r"^storage\.path\..*now\.rate$")

    def test_a_false_fact_of_what_was_seen_is_found(self):
        def change(answer):
            answer["vitals"][0]["after"]["throttles"]["core"] += 1
        self.check(["vitals[0].after.throttles.core"], change)

    def mismatches(self, change):
        answer = copy.deepcopy(self.said)
        change(answer)
        return main.audit(self.record, answer).mismatches

    def test_a_table_has_the_same_of_links(self):
        command = [os.environ["IOASSAY"], "report", self.record, "--csv"]
        output = subprocess.run(command, check=False, capture_output=True, text=True).stdout
        told = {row["case"]: row["links_bytes_per_second"]
                for row in csv.DictReader(io.StringIO(output))}
        of_links = {one["id"]: one["link"] for one in self.said["cases"]}
        self.assertTrue(any(of_links.values()))
        for name, most in told.items():
            use = of_links[name]
            self.assertEqual(float(most) if most else None, use and use["bytes_per_second"])


class Read(unittest.TestCase):
    def test_a_line_of_what_was_seen_is_read_and_no_trial_is_lost_with_it(self):
        *lines, end = Path(SURVEY).read_text(encoding="utf-8").splitlines()
        seen = json.dumps({"vitals": part(look(), look(at_ms=1))})
        for told, expected in ((seen, 1), (seen[:40], 0)):
            record = Record([*lines, told, end])
            self.assertEqual((len(record.vitals), record.unread), (expected, 0))
        # Nothing counts after the end.
        record = Record([*lines, end, seen])
        self.assertEqual((len(record.vitals), record.unread), (0, 1))


class Mutated(unittest.TestCase):
    """ioassay and the audit must judge mutated paths alike."""

    def test_paths_are_judged_alike(self):
        codes, above, linked = set(), set(), set()
        with tempfile.TemporaryDirectory() as folder:
            for record, seed in itertools.product((SURVEY, OF_COMMANDS), range(SEEDS)):
                mutant = mutations.Mutant(record, seed)
                odd_paths.paths(mutant)
                at = os.path.join(folder, f"{seed}.jsonl")
                mutant.write(at)
                answer = main.said_by(os.environ["IOASSAY"], at)
                self.assertEqual(main.audit(at, answer).mismatches, [], f"{record}, {seed}")
                codes |= {one["code"] for one in answer["findings"]}
                linked |= {one["id"] for one in answer["cases"]
                           if "command" in one["case"] and one["link"]}
                above |= {one["severity"] for one in answer["findings"]
                          if one["code"] == "FasterThanLink"}
        self.assertLessEqual({*OF_RUN, "CrossNode", "FasterThanLink"}, codes)
        self.assertEqual(above, {"doubt", "void"})
        self.assertTrue(linked, "a command has its share of a link")


class Laws(unittest.TestCase):
    """What the audit takes for the law, from made-up facts."""

    def carries(self, expected, top):
        found = links.narrowest(top)
        self.assertEqual(found and (round(found[0] / 1e6), found[1]), expected)

    def changes(self, *parts, is_guest=False):
        return vitals.changes(list(parts), is_guest)

    def test_a_link_carries_what_its_standard_says(self):
        known = [("PCIe", 2_500, 1, 250), ("PCIe", 16_000, 4, 7877), ("PCIe", 64_000, 1, 7375),
                 ("SATA", 6_000, None, 600), ("SAS", 12_000, 4, 4800), ("SAS", 22_500, 1, 2400),
                 ("USB", 480, None, 60), ("USB", 10_000, None, 1212),
                 ("Fibre Channel", 16_000, None, 1700)]
        for bus, rate, lanes, expected in known:
            self.carries((expected, ["a"]), link("a", rate, lanes=lanes, bus=bus))
        unknown = [("PCIe", 7_000, 4), ("PCIe", 8_000, None), ("SATA", None, 1),
                   ("SAS", 6_000, None), ("USB", 20, None), ("UFS", 6_000, 1),
                   ("Fibre Channel", 10, 1)]
        for bus, rate, lanes in unknown:
            self.carries(None, link("a", rate, lanes=lanes, bus=bus))
        self.carries((125, ["eth0"]), interface("eth0", 1_000))
        self.carries(None, interface("eth0", None))

    def test_disks_side_by_side_carry_the_sum_and_what_they_share_only_once(self):
        def of(name, rate, root):
            above = link("root", root, lanes=1)
            return disk(name, link(f"ata-{name}", rate, above, bus="SATA"))
        two = lambda root, rate=6_000: array("raid0", of("sda", 6_000, root), of("sdb", rate, root))
        self.carries((1200, ["ata-sda", "ata-sdb"]), two(16_000))
        self.carries((985, ["root"]), two(8_000))
        # Without one of them, the sum is unknown.
        far = array("raid0", of("sda", 6_000, None), disk("sdb", link("ata-sdb", None, bus="SATA")))
        self.carries(None, far)

    def test_a_network_that_all_share_carries_its_own_only_once(self):
        over = lambda name: disk(name, interface("eth0", 10_000))
        self.carries((1250, ["eth0"]), array("raid0", over("nvme0n1"), over("nvme1n1")))

    def test_a_lost_path_shares_nothing(self):
        def of(name, root, **facts):
            return disk(name, link(f"port-{name}", 12_000, link(root, 8_000, lanes=1), lanes=1,
                                   bus="SAS"), **facts)
        lost = of("sdc", "hba2", state="offline")
        up = of("sda", "hba1"), of("sdb", "hba1")
        self.carries((985, ["hba1"]), mapped("multipath", *up, lost))

    def test_what_is_spread_over_groups_shares_links_of_its_own(self):
        over = lambda name, root: disk(name, link(root, 8_000, lanes=1))
        group = array("raid0", over("sda", "hba1"), over("sdb", "hba1"))
        self.carries((1969, ["hba1", "hba2"]), mapped("LVM", group, over("sdc", "hba2")))

    def test_a_path_in_use_has_its_fastest_links_and_hottest_disks(self):
        top = lambda rate, heat, lanes=4: disk("sda", link("a", rate, lanes=lanes),
                                               temperature=heat)
        parts = [part(look(top(2_500, None)), look(top(8_000, 60_000)))]
        self.assertEqual(vitals.in_use(top(5_000, 50_000), parts), top(8_000, 60_000))
        self.assertEqual(vitals.in_use(top(None, None), parts), top(8_000, 60_000))
        # With other lanes, it is another link.
        self.assertEqual(vitals.in_use(top(2_500, None, 2), parts), top(2_500, 60_000, 2))
        self.assertEqual(vitals.in_use(top(2_500, None), []), top(2_500, None))

    def test_only_counters_that_are_known_and_grew_tell_what_happened(self):
        def check(code, *values):
            grew, same = values
            self.assertEqual(self.changes(part(same, grew)), [code])
            for before, after in ((same, same), (grew, same), (same, look()), (look(), grew)):
                self.assertEqual(self.changes(part(before, after)), [])
        drive = lambda **counts: look(drives=[smart("nvme0n1", **counts)])
        check("Hot", drive(slowed_times=[0, 1]), drive())
        check("Hot", drive(slowed_s=[1, 0]), drive())
        check("Hot", drive(warning_minutes=1), drive())
        check("Hot", look(throttles=throttled(2)), look(throttles=throttled(1)))
        check("HardwareErrors", drive(media_errors=1), drive())
        check("HardwareErrors", look(errors=erred(2)), look(errors=erred(1)))
        check("Capped", look(drives=[caps("nvme0n1", 9)]), look(drives=[caps("nvme0n1", 5)]))
        # Of others, nothing is told.
        other = look(drives=[smart("nvme1n1", media_errors=5)])
        self.assertEqual(self.changes(part(drive(), other)), [])
        more = part(look(throttles=throttled(1)), look(throttles=throttled(2, cpus=4)))
        self.assertEqual(self.changes(more), [])

    def test_a_hypervisor_makes_errors_of_memory_up(self):
        errors = part(look(errors=erred(1)), look(errors=erred(2)))
        self.assertEqual(self.changes(errors, is_guest=True), [])

    def test_what_moves_data_begins_and_ends(self):
        def told(before, after):
            return self.changes(part(look(before), look(after)))
        self.assertEqual(told(array("raid1"), array("raid1", action="resync")), ["Rebuilding"])
        self.assertEqual(told(array("raid1", action="check"), array("raid1")), ["Rebuilding"])
        self.assertEqual(told(array("raid1", action="frozen"), array("raid1")), [])
        self.assertEqual(told(btrfs("balance"), btrfs("balance paused")), ["Rebuilding"])
        # These move nothing.
        self.assertEqual(told(btrfs(None), btrfs("balance paused")), [])
        self.assertEqual(told(btrfs(None), btrfs("swap activate")), [])

    def test_what_began_between_two_invocations_is_told(self):
        calm, busy = look(array("raid1")), look(array("raid1", action="check"))
        self.assertEqual(self.changes(part(calm, calm), part(busy, busy, 1)), ["Rebuilding"])
        self.assertEqual(self.changes(part(busy, busy), part(busy, busy, 1)), [])

    def odd(self, tops=(), hypervisor=None, controllers=(), **processors):
        platform = {"controllers": list(controllers), "processors": processors}
        return machine.oddities({"hypervisor": hypervisor, "platform": platform}, list(tops))

    def test_controllers_are_held_against_their_kind(self):
        other = "Skylake Socket#1 IMC#0"
        full, empty = controller("mc0", 0, 1), controller("mc1", 1, 1, driver=other)
        self.assertEqual(self.odd(controllers=[full, empty]), ["ChannelsEmpty"])
        self.assertEqual(self.odd(controllers=[full, full]), [])
        self.assertEqual(self.odd(controllers=[empty]), [])
        self.assertEqual(self.odd(controllers=[full, empty], hypervisor="kvm"), [])
        self.assertEqual(self.odd(controllers=[full, controller("mc1", 0, driver="ie31200")]), [])
        self.assertEqual(self.odd(controllers=[full, controller("mc1", None)]), [])
        self.assertEqual(self.odd(controllers=[controller("mc0", 0, corrected=1)]),
                         ["MemoryErrors"])

    def test_a_number_of_a_message_is_what_it_rounds(self):
        def agree(message, *numbers):
            return told.agree(message, numbers, ["nvme0n1", "0000:01:00.0"])
        said = "the link of 0000:01:00.0 is PCIe 3.0 x2 (1.97 GB/s), in slot 7, of nvme0n1"
        self.assertTrue(agree(said, 3, 2, 1.969e9))
        for numbers in ((3, 2), (3, 2, 1.98e9), (4, 2, 1.969e9), (3, 1, 1.969e9)):
            self.assertFalse(agree(said, *numbers))
        self.assertTrue(agree("in this run: once, for 12 s, this raid5: 25.0 % of 1.50 MiB",
                              1, 12, 0.25, 3 << 19))
        self.assertEqual(told.speed("SAS", speed(12_000, 4)), [12, 4, 4.8e9])
        self.assertEqual(told.speed("USB", speed(480)), [480, 60e6])
        self.assertEqual(told.speed("PCIe", speed(8_000)), [3])

    def test_aes_is_computed_by_generic_code_alone_below_any_path(self):
        slow = {"aes": False, "xts_drivers": ["xts(ecb(aes-generic))"]}
        crypt, plain = mapped("dm-crypt", disk("sda")), disk("sdb")
        self.assertEqual(self.odd([crypt], **slow), ["SoftwareAes"])
        self.assertEqual(self.odd([plain, crypt], **slow), ["SoftwareAes"])
        self.assertEqual(self.odd([plain], **slow), [])
        for faster in ({"aes": None}, {"aes": True}, {"xts_drivers": []},
                       {"xts_drivers": ["xts(ecb(aes-generic))", "xts-aes-ce"]}):
            self.assertEqual(self.odd([crypt], **{**slow, **faster}), [])

    def test_paths_share_disks_and_links_whose_speed_is_known(self):
        of = lambda name, rate: disk(name, link("ata1", rate, bus="SATA"))
        shared = lambda *tops, is_guest=False: links.is_shared(tops, is_guest)
        self.assertTrue(shared(of("sda", None), of("sda", None)))
        self.assertTrue(shared(of("sda", 6_000), of("sdb", 6_000)))
        self.assertFalse(shared(of("sda", None), of("sdb", None)))
        self.assertFalse(shared(of("sda", 6_000), of("sdb", 6_000), is_guest=True))
        self.assertTrue(shared(of("sda", 6_000), of("sda", 6_000), is_guest=True))
        self.assertFalse(shared(of("sda", 6_000)))

    def test_functions_behind_one_port_share_its_link(self):
        of = lambda name, function, port: disk(
            name, {**link(function, 8_000, lanes=2), "port": port})
        one, other = of("a", "0000:01:00.0", "0000:00:01.0"), of("b", "0000:01:00.1", "0000:00:01.0")
        apart = of("b", "0000:01:00.1", "0000:00:02.0")
        self.assertTrue(links.is_shared((one, other), False))
        self.assertFalse(links.is_shared((one, apart), False))
        narrow = lambda *disks: round(links.narrowest(array("raid0", *disks))[0] / 1e6)
        self.assertEqual((narrow(one, other), narrow(one, apart)), (1969, 3938))

    def test_a_link_above_what_an_end_can_carries_nothing(self):
        wrong = link("0000:01:00.0", 16_000, lanes=2, most=speed(8_000, 2))
        self.assertIsNone(links.carries(wrong))
        self.assertEqual(path.of_hop(wrong, (), False, ()), [])
        self.assertIsNotNone(links.carries(link("a", 8_000, lanes=2, most=speed(8_000, 2))))

    def test_what_two_ways_lead_to_counts_once(self):
        sda = disk("sda", link("0000:01:00.0", 8_000, lanes=2))
        twice = array("raid0", mapped("LVM", sda), hop("again", "sda"))
        self.assertEqual(round(links.narrowest(twice)[0] / 1e6), 1969)
        self.assertIsNone(links.narrowest(array("raid0", sda, hop("again", "sdb"))))
        split = {**sda, "physical_block": 4096}
        parts = [hop("partition", f"sda{n}", below, start=512)
                 for n, below in enumerate((split, hop("again", "sda")))]
        self.assertEqual(path.oddities([array("raid0", *parts)], False, False), ["Misaligned"] * 2)

    def test_nodes_are_known_only_if_those_of_each_disk_are(self):
        near = disk("sda", hop("node", "node 1"))
        self.assertEqual(path.nodes_of_disks(array("raid0", near)), {"node 1"})
        self.assertIsNone(path.nodes_of_disks(array("raid0", near, disk("sdb"))))
        self.assertIsNone(path.nodes_of_disks(interface("eth0", 1_000)))


if __name__ == "__main__":
    unittest.main()
