"""Mutated records, so that the audit meets situations that no run here produces.

Each mutation changes the lines of a record at random, with a seed. The result describes no real
machine, but ioassay and the audit must judge it alike.
"""

import copy
import json
import random

MIB = 1 << 20


class Mutant:
    """The lines of a record, for mutation."""

    def __init__(self, path, seed):
        with open(path, encoding="utf-8") as file:
            self.lines = [json.loads(line) for line in file if line.strip()]
        self.random = random.Random(f"{path.rsplit('/', 1)[-1]} {seed}")
        self.header = self.lines[0]["header"]
        self.trials = [line["trial"] for line in self.lines if "trial" in line]
        self.told = []

    def mutate(self, count):
        for one in self.random.sample(MUTATIONS, count):
            one(self)
            self.told.append(one.__name__)
        return self

    def some(self, share=0.6):
        """The trials of some cases: most of them or a few."""
        cases = {trial["case"] for trial in self.trials}
        cases = {case for case in cases if self.random.random() < share}
        part = self.random.choice((0.15, 0.6, 1.0))
        return [trial for trial in self.trials
                if trial["case"] in cases and self.random.random() < part]

    def done(self, share=0.6):
        return [trial for trial in self.some(share) if "done" in trial["outcome"]]

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in self.lines)


def moved(trial):
    return sum(span["bytes"] for span in trial["outcome"]["done"]["spans"])


def length(trial):
    spans = trial["outcome"]["done"]["spans"]
    return max(1, max(span["end_ns"] for span in spans) - min(span["start_ns"] for span in spans))


def more_rounds(mutant):
    """Repeats rounds up to four times, with different times."""
    rounds = 1 + max(trial["round"] for trial in mutant.trials)
    last = mutant.lines.pop() if "end" in mutant.lines[-1] else None
    for number in range(1, mutant.random.randint(2, 4)):
        for trial in list(mutant.trials):
            if trial["round"] < rounds:
                again = copy.deepcopy(trial)
                again["round"] += number * rounds
                mutant.lines.append({"trial": again})
    mutant.trials = [line["trial"] for line in mutant.lines if "trial" in line]
    slower(mutant)
    if last:
        mutant.lines.append(last)


def fewer_rounds(mutant):
    most = mutant.random.randint(1, 8)
    mutant.lines = [line for line in mutant.lines
                    if "trial" not in line or line["trial"]["round"] < most]
    mutant.trials = [line["trial"] for line in mutant.lines if "trial" in line]


def slower(mutant):
    """Slows trials down at random, some after a step."""
    step = mutant.random.choice((1.0, 1.0, 2.0))
    after = mutant.random.randint(1, 9)
    for trial in mutant.done(1.0):
        factor = mutant.random.lognormvariate(0, 0.1) * (step if trial["round"] >= after else 1)
        for span in trial["outcome"]["done"]["spans"]:
            span["end_ns"] = span["start_ns"] + int((span["end_ns"] - span["start_ns"]) * factor)
            if span.get("synced_ns") is not None:
                span["synced_ns"] = max(span["synced_ns"], span["end_ns"])


def failed(mutant):
    for trial in mutant.some(0.4):
        word = mutant.random.choice(("failed", "unavailable"))
        trial["outcome"] = {word: {"reason": mutant.random.choice(("no", "never"))}}


def counters_unknown(mutant):
    names = ["task_read_bytes", "device_read_bytes", "device_reads", "device_write_bytes",
             "device_writes", "device_flushes", "task_write_bytes", "cpu_ns", "run_delay_ns",
             "steal_ns", "machine_cpu_ns", "throttled_ns", "swapped_bytes", "huge_bytes",
             "dirty_before", "residency_before", "residency_after", "minor_faults"]
    for name in mutant.random.sample(names, 4):
        for trial in mutant.some():
            trial["evidence"][name] = None


def counters_of_nothing(mutant):
    names = ["task_read_bytes", "device_read_bytes", "device_write_bytes", "device_flushes",
             "device_reads"]
    for name in mutant.random.sample(names, 2):
        for trial in mutant.some():
            trial["evidence"][name] = 0


def read_by_others(mutant):
    share = mutant.random.choice((0.03, 0.1, 0.5, 5.0))
    way = mutant.random.choice(("read", "write"))
    for trial in mutant.done():
        name = f"device_{way}_bytes"
        more = int(share * moved(trial)) + mutant.random.choice((0, 20 * MIB))
        trial["evidence"][name] = (trial["evidence"].get(name) or 0) + more


def read_more(mutant):
    share = mutant.random.choice((0.02, 0.5, 1.0, 1.2))
    for trial in mutant.done():
        trial["evidence"]["task_read_bytes"] = int(share * moved(trial))
        trial["evidence"]["device_read_bytes"] = int(share * moved(trial))


def called_less(mutant):
    share = mutant.random.choice((0.0, 0.005, 0.5, 0.995, 1.1))
    for trial in mutant.done():
        trial["evidence"]["task_rchar_bytes"] = int(share * moved(trial))


def written_less(mutant):
    share = mutant.random.choice((0.0, 0.005, 0.5, 0.995))
    for trial in mutant.done():
        trial["evidence"]["device_write_bytes"] = int(share * moved(trial))


def flushed_less(mutant):
    share = mutant.random.choice((0.0, 0.5, 0.95))
    for trial in mutant.some():
        told = trial["evidence"].get("device_flushes") or 0
        trial["evidence"]["device_flushes"] = int(share * told)


def stolen(mutant):
    share = mutant.random.choice((0.02, 0.06, 0.2))
    for trial in mutant.some():
        machine = trial["evidence"].get("machine_cpu_ns") or 0
        trial["evidence"]["steal_ns"] = int(share * machine)


def held_back(mutant):
    share = mutant.random.choice((0.02, 0.06, 0.5))
    for trial in mutant.some():
        trial["evidence"]["throttled_ns"] = int(share * trial["evidence"]["window_ns"])


def waited(mutant):
    share = mutant.random.choice((0.12, 0.3, 0.9))
    for trial in mutant.done():
        trial["evidence"]["run_delay_ns"] = int(share * length(trial))


def computed(mutant):
    share = mutant.random.choice((0.01, 0.95, 2.0))
    for trial in mutant.done():
        trial["evidence"]["cpu_ns"] = int(share * length(trial))


def swapped(mutant):
    for trial in mutant.done(0.4):
        trial["evidence"]["swapped_bytes"] = int(mutant.random.choice((0.001, 0.1))
                                                 * moved(trial))


def cached_otherwise(mutant):
    share = mutant.random.choice((0.0, 0.5, 0.9985, 1.0))
    name = mutant.random.choice(("residency_before", "residency_after"))
    for trial in mutant.some():
        seen = trial["evidence"].get(name)
        if seen:
            seen["cached"] = int(share * seen["pages"])


def dirty(mutant):
    for trial in mutant.some():
        trial["evidence"]["dirty_before"] = mutant.random.choice((8, 100, 1000)) * MIB
        seen = trial["evidence"].get("residency_before")
        if seen:
            seen["dirty"] = mutant.random.choice((0, seen["pages"]))


def pages_otherwise(mutant):
    share = mutant.random.choice((0.0, 0.5, 1.0))
    for trial in mutant.some():
        trial["evidence"]["huge_bytes"] = int(share * 128 * MIB)


def wrong_digest(mutant):
    for trial in mutant.done(0.2):
        span = trial["outcome"]["done"]["spans"][0]
        # A command has none.
        if span.get("digest") is not None:
            span["digest"] ^= 1
        if trial.get("read_back"):
            trial["read_back"]["digest"] ^= mutant.random.choice((0, 1))


def no_sync(mutant):
    for trial in mutant.done(0.5):
        for span in trial["outcome"]["done"]["spans"]:
            if mutant.random.random() < 0.5:
                span["synced_ns"] = None


def loaded_first(mutant):
    share = mutant.random.choice((0.02, 0.3, 0.9))
    for trial in mutant.done(0.4):
        for span in trial["outcome"]["done"]["spans"]:
            span["load_ns"] = int(share * (span["end_ns"] - span["start_ns"]))


def stalls(mutant):
    for trial in mutant.done(0.5):
        told = trial["outcome"]["done"]["latencies"]
        if told["counts"]:
            ns = max(told["max_ns"], mutant.random.choice((20, 2000)) * 1_000_000)
            told["counts"].append([ns, mutant.random.randint(1, 5)])
            told["max_ns"] = ns


def medium(mutant):
    if mutant.header.get("storage"):
        mutant.header["storage"]["medium"] = mutant.random.choice(("ram", "unseen", "block"))


def devices(mutant):
    storage = mutant.header.get("storage")
    for device in storage["devices"] if storage else []:
        device["write_cache"] = mutant.random.choice(("write back", "write through", None))
        device["fua"] = mutant.random.choice((True, False, None))
        device["loop_direct"] = mutant.random.choice((True, False, None))
        if device["loop_direct"] is not None:
            below = {key: value for key, value in device.items() if key != "file"}
            below |= {"name": "below", "loop_direct": None}
            system, journals = mutant.random.choice(("ext4", "xfs")), (True, False, None)
            device["file"] = {"file_system": system, "devices": [below], "disks": ["below"],
                              "journals_data": mutant.random.choice(journals)}
        ways = ("disk_read_bytes", "disk_write_bytes", "shared_bytes")
        way = mutant.random.choice(ways)
        share = mutant.random.choice((0.0, 0.3, 1.0, 3.0))
        flushes = mutant.random.choice((0, 1_000_000, None))
        for trial in mutant.done():
            trial["evidence"][way] = int(share * moved(trial))
            trial["evidence"]["disk_flushes"] = flushes
        device["is_virtual"] = mutant.random.choice((True, False))


def file_system(mutant):
    storage = mutant.header.get("storage")
    if storage:
        storage["file_system"] = mutant.random.choice(("btrfs", "ext4", "xfs"))
        storage["mount_options"] = mutant.random.choice(("rw", "rw,nodatasum", "rw,nodatacow"))
        storage["free"] = storage["capacity"] // mutant.random.choice((2, 10))
        accepted = {"accepted": {"offset_align": 512,
                                 "bypasses": mutant.random.choice((True, False, None))}}
        storage["direct"] = mutant.random.choice(("refused", accepted))


def layers(mutant):
    """A mirror, a stripe or parity below the file system, with some layers that do not count."""
    storage = mutant.header.get("storage")
    if storage:
        def times():
            least = mutant.random.choice((0, 1, 1, 2))
            return {"least": least, "most": mutant.random.choice((None, least, least or 1))}
        def truth():
            return mutant.random.choice((True, False, None))
        storage["layers"] = [
            {"nodes": nodes, "reads": times(), "writes": times(),
             "counts": {"reads": truth(), "writes": truth(), "flushes": truth()}}
            for nodes in (["sda", "sdb"], ["vda"])[:mutant.random.randint(1, 2)]]
        storage["barriers_off"] = mutant.random.choice(
            ([], [], ["ext4 at '/' (nobarrier)"], ["overlay at '/' (fsync=volatile)"],
             ["loop1 (write through)"]))


def weak_parts(mutant):
    """Parts in memory, or of unknown devices, of a storage whose rest is on disks."""
    if mutant.header.get("storage"):
        mutant.header["storage"]["weak_parts"] = [
            {"device": mutant.random.choice(("loop2", "zram0", None)),
             "holds": mutant.random.choice(("data", "journal")),
             "is_copied": mutant.random.random() < 0.3}
            for _ in range(mutant.random.randint(1, 2))]


def limits(mutant):
    storage = mutant.header.get("storage")
    if storage:
        what = mutant.random.choice(("read bytes", "written bytes", "reads", "writes"))
        allowed = 10 ** mutant.random.randint(3, 10)
        storage["limits"] = [{"device": "vda", "what": what, "group": "/g", "a_second": allowed}]
        # It may be set, changed or lifted during the run.
        for trial in mutant.done() if mutant.random.random() < 0.5 else []:
            changed = [dict(storage["limits"][0], a_second=allowed * factor) for factor in (1, 2)]
            device = storage["devices"][0]["name"] if storage["devices"] else "vda"
            changed.append(dict(changed[0], device=device, group="/"))
            trial["evidence"]["limits"] = mutant.random.sample(changed, mutant.random.randint(0, 3))
        share = mutant.random.choice((None, 0.5, 0.9, 1.1, 3.0))
        for trial in mutant.done() if share else []:
            used = int(share * allowed * trial["evidence"]["window_ns"] / 1e9)
            names = ("read_bytes", "write_bytes", "reads", "writes")
            trial["evidence"]["group_traffic"] = [
                {"group": "/g", "device": "vda"} | dict.fromkeys(names, used)]


def machine(mutant):
    host = mutant.header["host"]
    host["cores"] = mutant.random.choice((1, 2, 8))
    host["last_level_cache"] = mutant.random.choice((8, 32, 256)) * MIB
    caches = ([], [32 << 10, MIB, 256 * MIB], [32 << 10, 64 * MIB], [32 << 10, 32 * MIB])
    host["caches"] = mutant.random.choice(caches)
    host["cpu_quota"] = mutant.random.choice((None, 0.5, 2.0))


def holes(mutant):
    for one in mutant.header.get("fixtures", []):
        if one.get("layout"):
            share = mutant.random.choice((0.0, 0.005, 0.1, 0.8))
            one["layout"]["unwritten"] = int(share * one["size"])
            one["layout"]["encoded"] = mutant.random.choice((0, one["size"] // 2))


def axes(mutant):
    """Changes the axes of cases."""
    choices = {"advice": ("none", "random", "willneed", "populate", "touch-ahead", "hugepage"),
               "cache": ("warm", "cold", "direct", "dontcache", "as-is"),
               "pages": ("huge", "base"),
               "touch": ("page", "sum"), "sync": ("none", "fdatasync", "sync-file-range"),
               "allocation": ("none", "overwrite", "append"), "fill": ("random", "zero"),
               "isa": ("auto", "avx2"), "share": ("contiguous", "interleaved"),
               "every": ("0", "1", "16"), "peer": ("rust", "c")}
    name = mutant.random.choice(sorted(choices))
    for planned in mutant.header["plan"]["cases"]:
        for axis in planned["case"]:
            if axis[0] == name and mutant.random.random() < 0.5:
                axis[1] = mutant.random.choice(choices[name])


def damaged(mutant):
    mutant.lines = mutant.lines[:mutant.random.randint(len(mutant.lines) // 2,
                                                       len(mutant.lines))]
    # Trials that appear twice, or after the end.
    told = [line for line in mutant.lines if "trial" in line]
    for line in mutant.random.sample(told, min(len(told), 3)):
        at = mutant.random.randint(1, len(mutant.lines))
        mutant.lines.insert(at, json.loads(json.dumps(line)))
    mutant.trials = [line["trial"] for line in mutant.lines if "trial" in line]


def invocations(mutant):
    """Splits the rounds into several invocations, some of which differ."""
    count, made = mutant.random.randint(2, 6), mutant.random.randint(100, 5_000)
    rounds = 1 + max((trial["round"] for trial in mutant.trials), default=0)
    mutant.header["plan"].update(invocations=count, rounds=rounds)
    first = mutant.header.get("fixtures", [])
    full = [{**one, "layout": {"unwritten": one["size"] // 3, "encoded": 0, "extents": None}}
            for one in first]
    fixtures = mutant.random.choice(([], first, full))
    # The first invocations get the remaining rounds.
    each, more = divmod(rounds, count)
    dealt = [number for number in range(count) for _ in range(each + (number < more))]
    levels = [mutant.random.lognormvariate(0, 0.2) for _ in range(count)]
    for trial in mutant.trials:
        trial["invocation"] = number = dealt[trial["round"]]
        for span in (trial["outcome"].get("done") or {"spans": []})["spans"]:
            length = int((span["end_ns"] - span["start_ns"]) * levels[number])
            span["end_ns"] = span["start_ns"] + length
            if span.get("synced_ns") is not None:
                span["synced_ns"] = max(span["synced_ns"], span["end_ns"])
    at = 0
    for number in range(1, count):
        at += mutant.random.randint(made, 60_000)
        mutant.lines.append({"invocation": {"number": number, "at_ms": at, "made_ms": made,
                                            "fixtures": fixtures}})


def campaign(mutant):
    """Makes the last rounds further ones, in which some cases are missing."""
    invocations(mutant)
    plan = mutant.header["plan"]
    rounds = plan["rounds"]
    plan.update(budget={"secs": mutant.random.randint(1, 9_000), "nanos": 0},
                rounds=mutant.random.randint(1, rounds))
    missing = {mutant.random.randrange(len(plan["cases"])) for _ in plan["cases"][::2]}

    def is_measured(line):
        trial = line.get("trial")
        return not trial or trial["round"] < plan["rounds"] or trial["case"] not in missing

    mutant.lines = [line for line in mutant.lines if is_measured(line)]
    mutant.trials = [line["trial"] for line in mutant.lines if "trial" in line]


def seats(mutant):
    """Places threads on one of two CPUs or nodes, with the slower rounds on one of them, even
    slower. Some threads move, and some do not report their place."""
    factor = mutant.random.choice((1.0, 1.1, 1.5, 4.0))
    moves, untold = mutant.random.choice((0, 0, 0.05)), mutant.random.choice((0, 0, 0.01))
    by_node = mutant.random.random() < 0.5
    lengths = {}
    for trial in mutant.done(1.0):
        lengths.setdefault(trial["case"], []).append(length(trial))
    for trial in mutant.done(1.0):
        of_case = sorted(lengths.get(trial["case"], [0]))
        where = int(length(trial) > of_case[len(of_case) // 2 - 1])
        for span in trial["outcome"]["done"]["spans"]:
            if where:
                span["end_ns"] = span["start_ns"] + int(
                    (span["end_ns"] - span["start_ns"]) * factor)
                if span.get("synced_ns") is not None:
                    span["synced_ns"] = max(span["synced_ns"], span["end_ns"])
            for end in ("start_seat", "end_seat"):
                now = where ^ (mutant.random.random() < moves)
                cpu = 16 * now + mutant.random.randint(0, 3) if by_node else now
                span[end] = {"cpu": cpu, "node": cpu // 16}
                if mutant.random.random() < untold:
                    span[end] = None


def looked_at(mutant):
    """Requests and adds more rounds than there are before the first look."""
    mutant.header["plan"]["rounds"] = 30
    more_rounds(mutant)


def other_goals(mutant):
    """Goals that some figures meet and others miss."""
    known = ("p50<2us", "p99<1ms", "p99.9<100us", "p99.99<1s", "sync p50<200us", "sync p99<5ms",
             "throughput>500MB/s", "throughput>10GB/s", "iops>20000/s", "cpu<5us")
    mutant.header["plan"]["fit"] = [{"must": must} for must in mutant.random.sample(known, 5)]


MUTATIONS = [campaign, invocations, looked_at, seats, more_rounds, fewer_rounds, slower, failed, counters_unknown, counters_of_nothing,
             read_by_others, read_more, called_less, written_less, flushed_less, stolen, held_back, waited,
             computed, swapped, cached_otherwise, dirty, pages_otherwise, wrong_digest, no_sync,
             loaded_first, stalls, medium, devices, weak_parts, file_system, layers, limits, machine, holes,
             axes, damaged, other_goals]
